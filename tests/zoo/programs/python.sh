# SPDX-License-Identifier: MIT
# package: python3 python3-numpy
# needs: python3
# records: python3
cat >work.py <<'END'
import concurrent.futures, hashlib, json, multiprocessing, os, signal, sqlite3, subprocess, sys
import tempfile, threading, zlib

def square(x):
    return x * x

def main():
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, sum(pool.map(square, range(1000))))
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        print(sum(threads.map(lambda n: len(zlib.compress(b"x" * n)), range(0, 20000, 100))))
    base = sqlite3.connect(":memory:")
    base.execute("create table t(a, b)")
    base.executemany("insert into t values(?, ?)", [(i, str(i)) for i in range(20000)])
    print(base.execute("select sum(a), max(b) from t").fetchone())
    print(hashlib.sha256(json.dumps(list(range(100000))).encode()).hexdigest())
    print(subprocess.run(["sh", "-c", "echo from sh; exit 3"], capture_output=True))
    got = []
    signal.signal(signal.SIGALRM, lambda *a: got.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    print("alarms", got)
    pid = os.fork()
    if not pid:
        os._exit(7)
    print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    with tempfile.TemporaryFile() as file:
        file.write(b"a" * 100000)
        print(file.tell(), sorted(map(int, os.listdir("/proc/self/fd")))[:3])
    print(threading.active_count(), file=sys.stderr)

if __name__ == "__main__":
    main()
END
python3 work.py
python3 -c 'import sys; sys.exit(41)' || echo "status $?"
python3 -c 'import os; os.abort()' 2>&1 || echo "status $?"
