# SPDX-License-Identifier: MIT
"""The same with the agent as without: output, errors, exit status, signals, open descriptors."""

import glob
import os
import shutil
import signal
import sys

import tap

WORKLOADS = os.environ["WORKLOADS"]
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")

DESCRIPTORS = """import os
def target(f):
    return os.readlink('/proc/self/fd/' + f).split(':')[0]
print(sorted((int(f), target(f)) for f in os.listdir('/proc/self/fd') if int(f) != 3))
"""


def need(program):
    path = program if "/" in program else shutil.which(program)
    if not path or not os.path.exists(path):
        raise tap.Skip(f"{program} is not here")
    return path


def compare(command, **more):
    """Run twice, compare everything a caller can see."""
    command = [need(command[0])] + command[1:]
    bare = tap.run(command, tap.clean_environment(**more))
    with tap.folder() as out:
        recorded = tap.run(command, tap.recorded_environment(out, **more))
        tap.equal(recorded.returncode, bare.returncode, "exit status")
        tap.equal(recorded.stdout, bare.stdout, "stdout")
        tap.equal(recorded.stderr, bare.stderr, "stderr")
        return bare, tap.process_folders(out)


def same(*command, **more):
    compare(list(command), **more)


def same_and_recorded(*command, **more):
    _, folders = compare(list(command), **more)
    tap.equal(len(folders), 1, "process folders")


def ends_by(number, *command):
    bare, _ = compare(list(command))
    tap.equal(bare.returncode, -number, "signal of the bare run")


def static_program_leaves_nothing():
    _, folders = compare([os.path.join(WORKLOADS, "static")])
    tap.equal(folders, [], "process folders")


def git_log():
    with tap.folder() as repository:
        script = (
            "git init -q . && git config user.email a@b && git config user.name n && "
            "echo x > f && git add f && export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' && "
            "export GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' && git commit -qm m && "
            "git log --format=%H%n%s && git status --short && rm -rf .git f"
        )
        same("bash", "-c", f"cd {repository} && {script}")


def gcc_builds():
    with tap.folder() as place:
        source = os.path.join(place, "a.c")
        with open(source, "w") as f:
            f.write('#include <stdio.h>\nint main(void) { puts("built"); return 3; }\n')
        same(
            "bash",
            "-c",
            f"gcc -O1 -o {place}/a {source} && {place}/a; echo $?; sha256sum < {place}/a",
        )


def torch_runs():
    program = (
        "import torch; torch.manual_seed(1); torch.set_num_threads(2)\n"
        "x = torch.randn(64, 64, requires_grad=True); y = (x @ x).relu().sum(); y.backward()\n"
        "print(float(y), float(x.grad.sum()), torch.stack([x, x]).shape)\n" + DESCRIPTORS
    )
    if tap.run([PYTHON, "-c", "import torch"], tap.clean_environment()).returncode:
        raise tap.Skip("no torch")
    same(PYTHON, "-c", program)


def resolver_allocates():
    """In the lookup of the next functions, where none of them is known yet."""
    with tap.folder() as out:
        behind = os.path.join(WORKLOADS, "next_by_resolver.so")
        command = [os.path.join(WORKLOADS, "family")]
        bare = tap.run(command, tap.clean_environment())
        done = tap.run(command, tap.recorded_environment(out, LD_PRELOAD=behind))
        tap.equal(
            (done.returncode, done.stdout, done.stderr), (0, bare.stdout, b""), "the program"
        )


def lives_under_its_filter(*arguments):
    """The recording ends before a filter that kills for any system call of ours, and is whole."""
    command = [os.path.join(WORKLOADS, "filtered"), *arguments]
    for alloc in ("count", "sample:4k", "count+sample:4k", "all"):
        bare, _ = compare(command, TPAGENT_ALLOC=alloc)
        tap.equal(bare.returncode, 3, "exit status of the bare run")
        with tap.folder() as out:
            tap.run(command, tap.recorded_environment(out, TPAGENT_ALLOC=alloc))
            done = tap.run([tap.TPREPORT, "info", out], tap.clean_environment())
            assert b"ended (seccomp)" in done.stdout, done


def filtered_asleep():
    """A child that has recorded nothing when it installs its filter never will: that is told."""
    program = os.path.join(WORKLOADS, "filtered")
    command = ["sh", "-c", f"{program} prctl asleep; {program} syscall asleep; echo $?"]
    bare, _ = compare(command)
    assert bare.stdout.endswith(b"lives\n3\n"), bare
    with tap.folder() as out:
        tap.run(command, tap.recorded_environment(out))
        packed = os.path.join(out, "packed.tar.zst")
        (recording,) = (d for d in os.listdir(out) if d.startswith("tpagent-"))
        tap.run(
            [tap.TPREPORT, "pack", "-o", packed, os.path.join(out, recording)],
            tap.clean_environment(),
        )
        for path in (os.path.join(out, recording), packed):
            done = tap.run([tap.TPREPORT, "info", path], tap.clean_environment())
            line = b"2 processes installed a filter of system calls before their first event"
            assert line in done.stdout and b"filtered" in done.stdout, done
            done = tap.run([tap.TPREPORT, "check", path], tap.clean_environment())
            tap.equal(done.returncode, 0, done.stdout)


C_PROGRAM = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *run(void *p) { for (int i = 0; i < 1000; i++) free(malloc(i)); return p; }
int main(void) {
    pthread_t t; void *p = aligned_alloc(64, 128);
    pthread_create(&t, 0, run, 0); pthread_join(t, 0);
    printf("%d\\n", p != 0); free(p); return 3;
}
"""


def built_otherwise(*compiler):
    """Runs the same, but for the line about allocations that are not visible."""
    need(compiler[0])
    with tap.folder() as place:
        source, program = os.path.join(place, "a.c"), os.path.join(place, "a")
        with open(source, "w", encoding="ascii") as file:
            file.write(C_PROGRAM)
        build = [*compiler, "-o", program, source, "-pthread"]
        if tap.run(build, tap.clean_environment()).returncode:
            raise tap.Skip(" ".join(compiler) + " does not work here")
        bare, folders = compare([program], TPAGENT_LOG="quiet")
        tap.equal(bare.returncode, 3, "exit status of the bare run")
        tap.equal(len(folders), 1, "process folders")


def children_say_nothing():
    """That allocations are not visible is said by the process that the user starts, and by none of
    its children, whose errors somebody may read."""
    jemalloc = glob.glob("/usr/lib/*/libjemalloc.so.2")
    if not jemalloc:
        raise tap.Skip("no libjemalloc.so.2")
    with tap.folder() as out:
        environment = tap.recorded_environment(out)
        environment["LD_PRELOAD"] = jemalloc[0] + ":" + tap.AGENT
        done = tap.run(["bash", "-c", "env true; env false || env true"], environment)
        tap.equal(done.stderr.count(b"host allocations not visible"), 1, done.stderr)
        tap.equal(len(done.stderr.splitlines()), 1, done.stderr)


LATE_LIBRARY = """#include <dirent.h>
#include <stdio.h>
static void __attribute__((destructor)) late(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    while (readdir(tasks)) count++;
    fprintf(stderr, "%d\\n", count - 2);
}
"""


def build_library(place, name, source):
    path = os.path.join(place, name)
    with open(path + ".c", "w", encoding="ascii") as file:
        file.write(source)
    build = ["gcc", "-shared", "-fPIC", "-o", path, path + ".c"]
    done = tap.run([need("gcc"), *build[1:]], tap.clean_environment())
    tap.equal((done.returncode, done.stderr), (0, b""), "gcc")
    return path


def no_thread_stays_behind():
    """What looks behind our destructor, as checkers of leaks do, sees no thread of ours."""
    with tap.folder() as place:
        late = build_library(place, "late.so", LATE_LIBRARY)
        for _ in range(30):
            compare([os.path.join(WORKLOADS, "threads")], LD_PRELOAD=late)


def off_below_race_checkers():
    """Helgrind and DRD tell by a library that they preload."""
    for tool in ("helgrind", "drd"):
        with tap.folder() as place, tap.folder() as out:
            library = build_library(place, f"vgpreload_{tool}-amd64-linux.so", "int none;")
            environment = tap.recorded_environment(out, LD_PRELOAD=library, TPAGENT_PROGRAMS="*")
            done = tap.run(["sh", "-c", "env true; echo ran"], environment)
            tap.equal((done.returncode, done.stdout), (0, b"ran\n"), "the program")
            (line,) = done.stderr.decode().splitlines()
            assert line.startswith("tpagent: not recording: ") and "races" in line, line
            tap.equal(os.listdir(out), [], "recordings")


def main():
    t = tap.Tap()
    program = lambda name: os.path.join(WORKLOADS, name)
    t.check("python prints the same", same_and_recorded, PYTHON, "-c", "print('x' * 100000)")
    t.check(
        "python exits with the same status",
        same_and_recorded,
        PYTHON,
        "-c",
        "import sys; sys.exit(41)",
    )
    t.check(
        "os._exit keeps its status",
        same_and_recorded,
        PYTHON,
        "-c",
        "import os; print(1, flush=True); os._exit(7)",
    )
    t.check("an exception ends the same", same, PYTHON, "-c", "raise ValueError(3)")
    t.check("open descriptors are the same", same, PYTHON, "-c", DESCRIPTORS)
    t.check(
        "open descriptors are the same with threads",
        same,
        PYTHON,
        "-c",
        "import threading, time\n"
        "t = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(4)]\n"
        "[x.start() for x in t]; [x.join() for x in t]\n" + DESCRIPTORS,
    )
    t.check(
        "a subprocess sees the same descriptors",
        same,
        PYTHON,
        "-c",
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', %r], capture_output=True).stdout)"
        % DESCRIPTORS,
    )
    t.check("torch computes the same", torch_runs)
    t.check(
        "bash -c",
        same_and_recorded,
        "bash",
        "-c",
        "echo a; (exit 3); echo $?; ls / | wc -l; exit 5",
    )
    t.check(
        "a pipeline whose reader ends first",
        same,
        "bash",
        "-c",
        "yes | head -n 3; echo ${PIPESTATUS[@]}",
    )
    t.check("git commits and logs", git_log)
    t.check("gcc builds the same program", gcc_builds)
    t.check(
        "perl", same_and_recorded, "perl", "-e", "print join(',', map { $_ * 2 } 1..1000); exit 9"
    )
    t.check("a threaded C program", same_and_recorded, program("threads"))
    t.check("a program with threads that sets its user and group", same, program("set_user"))
    for way in (["syscall"], ["syscall", "threads"], ["prctl"]):
        name = "a filter that kills for system calls: " + " ".join(way)
        t.check(name, lives_under_its_filter, *way)
    t.check("a filter before the first event", filtered_asleep)
    t.check("a program on musl", built_otherwise, "musl-gcc")
    t.check("a program with the thread sanitizer", built_otherwise, "gcc", "-fsanitize=thread")
    t.check("children say nothing of a source that cannot start", children_say_nothing)
    t.check("no thread of ours is there when the process ends", no_thread_stays_behind)
    t.check("off below checkers of races, in one line", off_below_race_checkers)
    t.check("a statically linked program: nothing happens", static_program_leaves_nothing)
    t.check("a program that closes all descriptors", same, program("close_all"))
    t.check(
        "a program that lives after chdir and chroot-like moves",
        same,
        "bash",
        "-c",
        "cd /; pwd; cd /tmp; pwd",
    )
    t.check(
        "death by SIGTERM",
        ends_by,
        signal.SIGTERM,
        PYTHON,
        "-c",
        "import os; os.kill(os.getpid(), 15)",
    )
    t.check(
        "death by SIGKILL",
        ends_by,
        signal.SIGKILL,
        PYTHON,
        "-c",
        "import os; os.kill(os.getpid(), 9)",
    )
    t.check("abort", ends_by, signal.SIGABRT, program("deaths"), "abort")
    t.check("a segmentation fault", ends_by, signal.SIGSEGV, program("deaths"), "segv")
    t.check("_exit in a signal handler", same, program("deaths"), "exit_in_handler")
    t.check("quick_exit", same, program("deaths"), "quick_exit")
    t.check("the last thread ends by pthread_exit", same, program("deaths"), "pthread_exit")
    t.check("exit while other threads run", same, program("deaths"), "busy_threads")
    t.check("threads are cancelled", same, program("deaths"), "cancel")
    t.check("errno is kept", same, program("errno"))
    t.check("the malloc family keeps its contracts", same, program("family"))
    t.check("a resolver allocates while the agent looks for functions", resolver_allocates)
    t.check("forks, vforks, execs and spawns", same, program("forks"))
    t.check("signals at 1 kHz on an alternate stack", same, program("signal_storm"))
    t.check("200 threads with small stacks, 2,000 in sequence", same, program("many_threads"))
    t.end()


if __name__ == "__main__":
    main()
