# SPDX-License-Identifier: MIT
"""Variables: help, mistakes, limits of the place; what is said, and that the program runs on."""

import os
import resource
import subprocess

import tap

PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
HELLO = [PYTHON, "-c", "print('hello')"]


def hello(out, **variables):
    done = tap.run(HELLO, tap.recorded_environment(out, **variables))
    tap.equal((done.returncode, done.stdout), (0, b"hello\n"), "the program")
    return done.stderr.decode().splitlines()


def one_line(expected, **variables):
    with tap.folder() as out:
        tap.equal(hello(out, **variables), [expected], "stderr")
        tap.equal(len(tap.process_folders(out)), 1, "process folders")


def only_first_process_warns():
    with tap.folder() as out:
        done = tap.run(
            ["bash", "-c", "/bin/true; /bin/true; echo x"],
            tap.recorded_environment(out, TPAGENT_SOURCE="x"),
        )
        tap.equal(done.stderr.decode().count("unknown variable"), 1, "lines")


def none_is_inert():
    with tap.folder() as out:
        program = [
            PYTHON,
            "-c",
            "import os; parts = ('TPAGENT_RUN', 'INJECTION', 'ITT')\n"
            "print(sorted(k for k in os.environ if any(p in k for p in parts)))",
        ]
        done = tap.run(program, tap.recorded_environment(out, TPAGENT_SOURCES="none"))
        tap.equal((done.stdout, done.stderr), (b"[]\n", b""), "output")
        tap.equal(os.listdir(out), [], "folder")


def help_lists_every_variable():
    with tap.folder() as out:
        lines = hello(out, TPAGENT_HELP="1", TPAGENT_MAX_SIZE="3m")
        text = "\n".join(lines)
        for name in (
            "TPAGENT_OUT",
            "TPAGENT_SOURCES",
            "TPAGENT_ALLOC",
            "TPAGENT_SHAPES",
            "TPAGENT_WHEN_BIG",
            "TPAGENT_LOG",
        ):
            assert name + "=" in text, name
        assert "TPAGENT_MAX_SIZE=3145728" in text, text


def missing_folders_are_made():
    for words in ("new", "a/b/c", "a/b/c/d//e/"):
        with tap.folder() as out:
            place = os.path.join(out, words)
            tap.equal(hello(place), [], "stderr")
            tap.equal(len(tap.process_folders(place)), 1, "process folders")
            while not os.path.samefile(place, out):
                tap.equal(os.stat(place).st_mode & 0o7777, 0o700, place)
                place = os.path.dirname(place)


def many_make_them_at_once():
    """Those of one user: none of them refuses what another one has made."""
    with tap.folder() as out:
        place = os.path.join(out, *"abcdefgh")
        jobs = [
            subprocess.Popen(
                [os.path.join(os.environ["WORKLOADS"], "die"), "exit", "1"],
                env=tap.recorded_environment(place),
                stderr=subprocess.PIPE,
            )
            for _ in range(16)
        ]
        tap.equal([job.communicate()[1] for job in jobs], [b""] * 16, "stderr")
        tap.equal(len(tap.process_folders(place)), 16, "process folders")


def cannot_make(place, level, why, **more):
    done = tap.run(HELLO, tap.recorded_environment(place), **more)
    tap.equal((done.returncode, done.stdout), (0, b"hello\n"), "the program")
    line = f"tpagent: no recording: cannot make {level}: {why}\n"
    tap.equal(done.stderr.decode(), line, place)


def level_that_fails_is_named():
    cannot_make("/proc/no/such/place", "/proc/no", "No such file or directory")
    with tap.folder() as out:
        with open(out + "/file", "w", encoding="utf-8"):
            pass
        os.symlink("nothing", out + "/link")
        os.mkdir(out + "/shut", 0o755)
        cannot_make(out + "/file", out + "/file", "Not a directory")
        cannot_make(out + "/file/b/c", out + "/file", "Not a directory")
        cannot_make(out + "/link/b/c", out + "/link", "No such file or directory")
        tap.equal(sorted(os.listdir(out)), ["file", "link", "shut"], "the folder")
        if os.getuid():
            raise tap.Skip("only root can become another user")
        os.chmod(out, 0o755)
        cannot_make(out + "/shut/b/c", out + "/shut/b", "Permission denied", user=65534)


def file_size_limit():
    """RLIMIT_FSIZE below a ring: no SIGXFSZ, the program runs on."""
    with tap.folder() as out:
        done = tap.run(
            [
                PYTHON,
                "-c",
                "import threading; t = threading.Thread(target=print, args=('hello',))\n"
                "t.start(); t.join()",
            ],
            tap.recorded_environment(out),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)),
        )
        tap.equal((done.returncode, done.stdout), (0, b"hello\n"), "the program")


def few_descriptors():
    with tap.folder() as out:
        done = tap.run(
            HELLO,
            tap.recorded_environment(out),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)),
        )
        tap.equal(
            done.stdout,
            tap.run(
                HELLO,
                tap.clean_environment(),
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)),
            ).stdout,
            "stdout",
        )


def log_info_names_the_place():
    with tap.folder() as out:
        lines = hello(out, TPAGENT_LOG="info")
        tap.equal(len(lines), 1, "lines")
        assert lines[0].startswith("tpagent: recorded in " + out), lines


def quiet_is_quiet():
    with tap.folder() as out:
        tap.equal(hello(out, TPAGENT_LOG="quiet", TPAGENT_SOURCE="x"), [], "stderr")


def children_join_the_recording():
    with tap.folder() as out:
        done = tap.run(
            ["bash", "-c", "/bin/true; exit 3"],
            tap.recorded_environment(out, TPAGENT_PROGRAMS="nothing:tru*"),
        )
        tap.equal(done.returncode, 3, "status")
        tap.equal(len([d for d in os.listdir(out) if d.startswith("tpagent-")]), 1, "recordings")
        tap.equal(len(tap.process_folders(out)), 2, "process folders")


def children_without_events_leave_nothing():
    with tap.folder() as out:
        tap.run(["bash", "-c", "/bin/true; /bin/ls; echo"], tap.recorded_environment(out))
        tap.equal(len(tap.process_folders(out)), 1, "process folders")


TASKS = """
import os, threading
end = threading.Event()
thread = threading.Thread(target=end.wait)
thread.start()
print(len(os.listdir("/proc/self/task")), "tasks")
end.set()
thread.join()
"""


def children_without_events_have_no_thread():
    with tap.folder() as out:
        command = ["bash", "-c", 'ls /proc/self/task | wc -l; "$@"', "bash", PYTHON, "-c", TASKS]
        done = tap.run(command, tap.recorded_environment(out))
        tap.equal((done.stdout, done.stderr), (b"1\n2 tasks\n", b""), "threads")
        # of bash, and of Python, which it becomes for the last command
        tap.equal(len(tap.process_folders(out)), 2, "process folders")


SECRETS = ("of-an-argument-7f3a", "of-the-environment-91bc", "of-a-file-e4d2")


def files_with(out, text):
    found = []
    for folder, _, names in os.walk(out):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                if text.encode() in file.read():
                    found.append(name)
    return found


def nothing_of_the_user_is_recorded():
    """But arguments where they are asked for."""
    program = "import sys; open(sys.argv[2], 'w').write('x'); print('hello')"
    for variables, expected in (({}, []), ({"TPAGENT_ARGS": "1"}, ["meta.jsonl"])):
        with tap.folder() as out, tap.folder() as other:
            command = [PYTHON, "-c", program, SECRETS[0], os.path.join(other, SECRETS[2])]
            environment = tap.recorded_environment(
                out, MY_TOKEN=SECRETS[1], TPAGENT_ALLOC="all", **variables
            )
            done = tap.run(command, environment)
            tap.equal((done.stdout, done.stderr), (b"hello\n", b""), "the program")
            tap.equal(files_with(out, SECRETS[0]), expected, f"files with an argument {variables}")
            tap.equal(files_with(out, SECRETS[1]), [], "files with a value of the environment")
            tap.equal(files_with(out, SECRETS[2]), expected, "files with a path")
            tap.equal(files_with(out, other), expected, "files with a folder")


def follow_can_be_switched_off():
    with tap.folder() as out:
        tap.run(
            ["bash", "-c", "/bin/true; echo"],
            tap.recorded_environment(out, TPAGENT_PROGRAMS="*", TPAGENT_FOLLOW="0"),
        )
        tap.equal(len(tap.process_folders(out)), 1, "process folders")


def ring_folder_is_named():
    with tap.folder() as out:
        lines = hello(out, TPAGENT_RING_DIR=out + "/nowhere")
        tap.equal(len(lines), 1, "lines")
        assert lines[0].startswith(f"tpagent: not recording: {out}/nowhere/"), lines
        assert lines[0].endswith(": No such file or directory"), lines


# A shell and children that record, each of which finds the same obstacle.
CHILDREN = ["bash", "-c", "for i in 1 2 3 4; do %s -c 'print(1)'; done; exit 4" % PYTHON]


def children_say_one_line(environment):
    done = tap.run(CHILDREN, environment)
    tap.equal((done.returncode, done.stdout), (4, b"1\n" * 4), "the program")
    tap.equal(len(done.stderr.splitlines()), 1, "lines: " + done.stderr.decode())
    return done.stderr.decode()


def told_once_without_a_run():
    children_say_one_line(tap.recorded_environment("/proc/no/place", TPAGENT_PROGRAMS="*"))


def told_once_in_a_run():
    with tap.folder() as out:
        line = children_say_one_line(
            tap.recorded_environment(out, TPAGENT_PROGRAMS="*", TPAGENT_RING_DIR=out + "/nowhere")
        )
        assert "/nowhere/" in line, line


THREAD = "import threading; t = threading.Thread(target=int); t.start(); t.join(); %s"
DIE = "import os, time; time.sleep(0.1); os.kill(os.getpid(), 9)"


def modes_under_every_umask():
    for umask in (0, 0o022, 0o077, 0o277, 0o777):
        for last in ("pass", DIE):
            with tap.folder() as out:
                tap.run(
                    [PYTHON, "-c", THREAD % last],
                    tap.recorded_environment(out),
                    preexec_fn=lambda: os.umask(umask),
                )
                (top,) = os.listdir(out)
                seen = 0
                for folder, _, files in os.walk(os.path.join(out, top)):
                    tap.equal(os.stat(folder).st_mode & 0o7777, 0o700, folder)
                    for name in files:
                        path = os.path.join(folder, name)
                        tap.equal(os.stat(path).st_mode & 0o7777, 0o600, path)
                        seen += 1
                assert seen >= (4 if last == "pass" else 5), seen


def foreign_folders_are_refused():
    with tap.folder() as out:
        os.mkdir(os.path.join(out, "real"))
        os.symlink("real", os.path.join(out, "link"))
        environment = tap.recorded_environment(out, TPAGENT_RUN_DIR=out + "/link")
        done = tap.run(HELLO, dict(environment, TPAGENT_PROGRAMS="*"))
        tap.equal(
            (done.stdout, done.stderr.decode()),
            (b"hello\n", f"tpagent: not recording: {out}/link: Not a directory\n"),
            "a link",
        )
        if os.getuid():
            raise tap.Skip("only root can make another user's folder")
        os.chown(os.path.join(out, "real"), 65534, 65534)
        environment["TPAGENT_RUN_DIR"] = out + "/real"
        done = tap.run(HELLO, dict(environment, TPAGENT_PROGRAMS="*"))
        tap.equal(
            (done.stdout, done.stderr.decode()),
            (b"hello\n", f"tpagent: not recording: {out}/real: belongs to another user\n"),
            "another user's",
        )
        tap.equal(sorted(os.listdir(out)), ["link", "real"], "the folder")
        tap.equal(os.listdir(out + "/real"), [], "that folder")


def refusal_is_said_once():
    """By the first program; its descendants are told."""
    if os.getuid():
        raise tap.Skip("only root can make another user's folder")
    die = os.path.join(os.environ["WORKLOADS"], "die")
    jobs = (
        (
            {"TPAGENT_PROGRAMS": "*"},
            ["bash", "-c", f"{die} return 3; {die} fork 3; {die} spawn 3"],
        ),
        ({}, ["bash", "-c", f"{die} return 3; {die} return 3; {die} fork 3"]),
        ({}, ["sh", "-c", f"bash -c '{die} return 3; true' & {die} exit 3; wait"]),
        ({}, ["/bin/true"]),
        ({}, [die, "fork", "3"]),
        ({}, [die, "spawn", "3"]),
        ({}, [die, "exec", "3"]),
    )
    for variables, command in jobs:
        with tap.folder() as out:
            os.mkdir(os.path.join(out, "real"))
            os.chown(os.path.join(out, "real"), 65534, 65534)
            environment = tap.recorded_environment(out, TPAGENT_RUN_DIR=out + "/real")
            done = tap.run(command, dict(environment, **variables))
            tap.equal((done.returncode, done.stdout), (0, b""), "the program")
            (line,) = done.stderr.decode().splitlines()
            assert line.endswith(f"{out}/real: belongs to another user"), line


def main():
    t = tap.Tap()
    t.check(
        "an unknown variable gives one line with the nearest",
        one_line,
        "tpagent: unknown variable TPAGENT_SOURCE; nearest: TPAGENT_SOURCES",
        TPAGENT_SOURCE="x",
    )
    t.check(
        "a bad choice gives one line with the nearest",
        one_line,
        "tpagent: TPAGENT_SHAPES=shape is not one of off|shapes|all; nearest: shapes; using shapes",
        TPAGENT_SHAPES="shape",
    )
    t.check(
        "a bad size gives one line",
        one_line,
        "tpagent: TPAGENT_MAX_SIZE=2q is no number of bytes, such as 500m or 2g; using 2g",
        TPAGENT_MAX_SIZE="2q",
    )
    t.check(
        "a size that is too small gives the least, in one line",
        one_line,
        "tpagent: TPAGENT_MAX_SIZE=1 is too small; the least is 1m; using 1m",
        TPAGENT_MAX_SIZE="1",
    )
    t.check(
        "on means the default choice, not the word with the most letters in common",
        one_line,
        "tpagent: TPAGENT_SHAPES=on is not one of off|shapes|all; nearest: shapes; using shapes",
        TPAGENT_SHAPES="on",
    )
    t.check(
        "no means off",
        one_line,
        "tpagent: TPAGENT_ALLOC=no is not one of off|count|sample:BYTES|count+sample:BYTES|all; "
        "nearest: off; using count",
        TPAGENT_ALLOC="no",
    )
    t.check(
        "yes is told to be 1",
        one_line,
        "tpagent: TPAGENT_ARGS=yes is neither 0 nor 1; nearest: 1; using 0",
        TPAGENT_ARGS="yes",
    )
    t.check("a ring folder that is not there is named", ring_folder_is_named)
    t.check("a run that cannot be made is told once, not by every child", told_once_without_a_run)
    t.check("a run that cannot be joined is told once", told_once_in_a_run)
    t.check("modes are 0700 and 0600 whatever the umask", modes_under_every_umask)
    t.check("a link or another user's folder is not joined", foreign_folders_are_refused)
    t.check("that it is not is said once", refusal_is_said_once)
    t.check(
        "an unknown source gives one line with the nearest",
        one_line,
        "tpagent: TPAGENT_SOURCES: unknown source mallok; nearest: malloc",
        TPAGENT_SOURCES="-mallok",
    )
    t.check("only the first process warns", only_first_process_warns)
    t.check("TPAGENT_SOURCES=none is inert", none_is_inert)
    t.check("TPAGENT_HELP=1 lists every variable as resolved", help_lists_every_variable)
    t.check("missing folders are made", missing_folders_are_made)
    t.check("also by many at once", many_make_them_at_once)
    t.check("a level that cannot be made is named", level_that_fails_is_named)
    t.check("RLIMIT_FSIZE", file_size_limit)
    t.check("RLIMIT_NOFILE", few_descriptors)
    t.check("TPAGENT_LOG=info says where", log_info_names_the_place)
    t.check("TPAGENT_LOG=quiet says nothing", quiet_is_quiet)
    t.check("children that match TPAGENT_PROGRAMS join the recording", children_join_the_recording)
    t.check("children without events leave nothing", children_without_events_leave_nothing)
    t.check("nor a thread of ours", children_without_events_have_no_thread)
    t.check("no argument, no value, no path of the user", nothing_of_the_user_is_recorded)
    t.check("TPAGENT_FOLLOW=0 leaves children out", follow_can_be_switched_off)
    t.end()


if __name__ == "__main__":
    main()
