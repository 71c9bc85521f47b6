# SPDX-License-Identifier: MIT
# package: rustc gcc
# needs: /usr/bin/rustc gcc
# records: rustc work
cat >work.rs <<'END'
use std::collections::HashMap;
use std::process::Command;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
fn main() {
    let shared = Arc::new(Mutex::new(HashMap::new()));
    let (send, receive) = mpsc::channel();
    let threads: Vec<_> = (0..8).map(|n| {
        let (shared, send) = (shared.clone(), send.clone());
        thread::spawn(move || {
            for i in 0..5000 { shared.lock().unwrap().insert((n, i), vec![n as u8; i % 100]); }
            send.send(n * 2).unwrap();
        })
    }).collect();
    for t in threads { t.join().unwrap(); }
    drop(send);
    println!("{} {}", shared.lock().unwrap().len(), receive.iter().sum::<i32>());
    println!("{:?}", Command::new("sh").args(["-c", "echo child; exit 3"]).output().unwrap());
    println!("{:?}", thread::spawn(|| { panic!("in a thread") }).join().is_err());
    std::process::exit(4);
}
END
/usr/bin/rustc -O -o work work.rs || exit 1 # not rustup's, which looks for a toolchain in HOME
./work; echo "$?"
