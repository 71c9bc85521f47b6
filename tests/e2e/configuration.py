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


def missing_folder_is_made():
    with tap.folder() as out:
        tap.equal(hello(os.path.join(out, "new")), [], "stderr")
        tap.equal(len(tap.process_folders(os.path.join(out, "new"))), 1, "process folders")


def place_that_cannot_be():
    lines = hello("/proc/no/such/place")
    tap.equal(len(lines), 1, "lines")
    assert lines[0].startswith(
        "tpagent: no recording: cannot make a folder in /proc/no/such/place: "
    ), lines


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


def follow_can_be_switched_off():
    with tap.folder() as out:
        tap.run(
            ["bash", "-c", "/bin/true; echo"],
            tap.recorded_environment(out, TPAGENT_PROGRAMS="*", TPAGENT_FOLLOW="0"),
        )
        tap.equal(len(tap.process_folders(out)), 1, "process folders")


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
        "tpagent: TPAGENT_MAX_SIZE=2q is not one of BYTES; nearest: 2g; using 2g",
        TPAGENT_MAX_SIZE="2q",
    )
    t.check(
        "an unknown source gives one line with the nearest",
        one_line,
        "tpagent: TPAGENT_SOURCES: unknown source mallok; nearest: malloc",
        TPAGENT_SOURCES="-mallok",
    )
    t.check("only the first process warns", only_first_process_warns)
    t.check("TPAGENT_SOURCES=none is inert", none_is_inert)
    t.check("TPAGENT_HELP=1 lists every variable as resolved", help_lists_every_variable)
    t.check("a missing folder is made", missing_folder_is_made)
    t.check("a place that cannot be written gives one line", place_that_cannot_be)
    t.check("RLIMIT_FSIZE", file_size_limit)
    t.check("RLIMIT_NOFILE", few_descriptors)
    t.check("TPAGENT_LOG=info says where", log_info_names_the_place)
    t.check("TPAGENT_LOG=quiet says nothing", quiet_is_quiet)
    t.check("children that match TPAGENT_PROGRAMS join the recording", children_join_the_recording)
    t.check("children without events leave nothing", children_without_events_leave_nothing)
    t.check("TPAGENT_FOLLOW=0 leaves children out", follow_can_be_switched_off)
    t.end()


if __name__ == "__main__":
    main()
