# SPDX-License-Identifier: MIT
"""Python's frames in the stacks of allocations: TPAGENT_TEST_PYTHONS names more interpreters."""

import ctypes
import json
import os
import platform
import re
import shutil
import subprocess
import sys

import tap

WORKLOADS = os.environ["WORKLOADS"]
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(os.path.dirname(HERE), "workloads", "python_stacks.py")
PYTHON = os.environ.get("PYTHON", sys.executable)
OTHERS = os.environ.get("TPAGENT_TEST_PYTHONS", "").split()
MODULE = "<module>"


def line_of(text):
    with open(SCRIPT) as file:
        (number,) = [i for i, line in enumerate(file, 1) if text in line]
    return number


def frame(text, name):
    return f"{SCRIPT}({line_of(text)}): {name}"


def main_frame(text):
    return [frame(text, "main"), frame("else main()", MODULE)]


def version(python):
    done = subprocess.run(
        [python, "-c", "import sys; print(sys.version_info[1])"],
        stdout=subprocess.PIPE,
        check=True,
    )
    return int(done.stdout)


def record(out, python, *words, **variables):
    done = tap.run([python, SCRIPT, *words], tap.recorded_environment(out, **variables))
    tap.equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), "the program")


def stacks(out):
    done = subprocess.run(
        [tap.TPREPORT, "memory", "--format", "json", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    tap.equal(done.returncode, 0, done.stderr.decode())
    return json.loads(done.stdout)["stacks"]


def python_part(stack):
    return [f for f in stack if re.search(r"\(-?\d+\): ", f)]


def by_size(found):
    """The Python frames of blocks of so many MiB."""
    sizes = {}
    for row in found:
        if row["allocated_bytes"] >> 20:
            size = row["allocated_bytes"] // row["allocations"] >> 20
            sizes.setdefault(size, []).append(python_part(row["stack"]))
    return sizes


def without_class(name, minor):
    return name if minor >= 11 else name.rpartition(".")[2]


def expected(minor):
    """Python frames by MiB; of asyncio and threading only ours."""

    def named(text, name):
        return frame(text, without_class(name, minor))

    take = frame("    libc.malloc(size)", "take")
    return {
        1: [take, named("take(1 <<", "Model.forward"), *main_frame("Model().forward()")],
        2: [named("held.malloc(2 <<", "Model.steps"), *main_frame("for _ in Model()")],
        3: [named("held.malloc(3 <<", "Model.steps"), *main_frame("for _ in Model()")],
        4: [
            frame("held.malloc(4 <<", "höhe"),
            *[frame("höhe(n - 1)", "höhe")] * 3,
            *main_frame("    höhe(3)"),
        ],
        5: [
            take,
            frame("take(5 <<", "inner"),
            frame("await inner()", "outer"),
            *main_frame("asyncio.run("),
        ],
        6: [take, frame("take(6 <<", "key"), *main_frame("sorted([1]")],
        7: [take, frame("take(7 <<", "by_callback"), *main_frame("ctypes.cast(callback")],
        8: [named("held.malloc(8 <<", "Last.__del__"), *main_frame("    del last")],
        9: [take, named("take(9 <<", "main.<locals>.<lambda>")],
        12: ["/odd\udcff/é.py(1): <module>", *main_frame("exec(code")],
    }


def every_kind(python):
    minor = version(python)
    with tap.folder() as out:
        record(out, python, TPAGENT_ALLOC="all", TPAGENT_STACKS="32")
        found = stacks(out)
    sizes = by_size(found)
    for size, frames in expected(minor).items():
        (seen,) = [s for s in sizes[size] if s]
        ours = [f for f in seen if SCRIPT in f or f.startswith("/odd")]
        tap.equal(ours, readable(frames), f"{size} MiB")
    made = [python_part(row["stack"]) for row in found]
    made = [frames for frames in made if frames and re.match(r"<string>\(2\): made", frames[0])]
    tap.equal(len(made), 200, "functions that were made at run time")
    for i in range(100, 300):
        wanted = [f"<string>(2): made{i}", "<string>(3): <module>", *main_frame("    exec(f")]
        assert wanted in made, (wanted, made[:3])
    print(f"# Python 3.{minor}: {len(found)} stacks, {len(sizes)} sizes")


def readable(frames):
    """Bytes that are no UTF-8 become U+FFFD in JSON."""
    return [f.replace("\udcff", "\ufffd") for f in frames]


def depth_is_obeyed():
    for depth, wanted in (("0", 0), ("1", 1), ("3", 3)):
        with tap.folder() as out:
            record(out, PYTHON, TPAGENT_ALLOC="all", TPAGENT_STACKS=depth)
            found = [python_part(row["stack"]) for row in stacks(out)]
            tap.equal(max(map(len, found)), wanted, f"frames with TPAGENT_STACKS={depth}")


def gaps_are_marked():
    gap = "(native functions left out)"
    for depth, wanted in ((1, True), (32, False)):
        with tap.folder() as out:
            record(out, PYTHON, TPAGENT_ALLOC="all", TPAGENT_STACKS=str(depth))
            rows = [r["stack"] for r in stacks(out) if r["allocated_bytes"] >> 20 == 4]
            (stack,) = [s for s in rows if python_part(s)]
            tap.equal(stack.index(gap) if gap in stack else None, 1 if wanted else None, stack)


def samples_have_them():
    with tap.folder() as out:
        record(out, PYTHON, TPAGENT_ALLOC="sample:64k", TPAGENT_STACKS="32")
        seen = [f for f in by_size(stacks(out))[4] if f]
        tap.equal(seen, [expected(11)[4]], "stacks of 4 MiB")


def interpreter_goes(python):
    for _ in range(5):
        with tap.folder() as out:
            done = tap.run(
                [python, SCRIPT, "end"],
                tap.recorded_environment(out, TPAGENT_ALLOC="all", PYTHONMALLOC="malloc"),
            )
            tap.equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), "the program")


def pprof_has_files_and_lines():
    with tap.folder() as out:
        record(out, PYTHON, TPAGENT_ALLOC="all", TPAGENT_STACKS="32")
        profile = os.path.join(out, "profile.pb.gz")
        done = tap.run(
            [tap.TPREPORT, "memory", "--format", "pprof", "-o", profile, out],
            tap.clean_environment(),
        )
        if b"protobuf-c" in done.stderr:
            raise tap.Skip("built without protobuf-c")
        if not shutil.which("go"):
            raise tap.Skip("go is not installed")
        top = tap.run(
            ["go", "tool", "pprof", "-sample_index=alloc_space", "-lines", "-traces", profile],
            tap.clean_environment(HOME=out),
        )
        place = f"höhe {SCRIPT}:{line_of('held.malloc(4 <<')}".encode()
        assert place in top.stdout, top


LEAK = """
import os
kept = []
def leaky():
    kept.append(bytearray(5000))
def main():
    for _ in range(1000):
        leaky()
main()
os._exit(0)
"""


def leaks_name_functions_of_python():
    with tap.folder() as out:
        environment = tap.recorded_environment(out, TPAGENT_ALLOC="all")
        done = tap.run([PYTHON, "-c", LEAK], environment)
        tap.equal((done.returncode, done.stderr), (0, b""), "the program")
        text = tap.run([tap.TPREPORT, "memory", out], tap.clean_environment()).stdout.decode()
        _, suspects = text.split("\nSuspected leaks")
        (line,) = [s for s in suspects.splitlines() if s.split()[:1] == ["1000"]]
        assert "<string>(5): leaky < <string>(8): main" in line, line


def text_shows_the_end_of_long_frames():
    with tap.folder() as out:
        record(out, PYTHON, TPAGENT_ALLOC="all", TPAGENT_STACKS="32")
        for width in (20, 30):
            command = [tap.TPREPORT, "memory", "--row-limit", "none"]
            command += ["--max-src-column-width", str(width), out]
            text = tap.run(command, tap.clean_environment()).stdout.decode()
            wanted = "..." + frame("    höhe(3)", "main")[-width:]
            assert any(line.endswith("  " + wanted) for line in text.splitlines()), wanted


def unknown_layouts_are_told():
    fake = os.path.join(WORKLOADS, "fake_python.so")
    for fake_version, text in (
        ("3.99.1", b"the layout of this Python is not known"),
        ("3.8.1", b"they could not be read"),
        ("2.7", None),
    ):
        with tap.folder() as out:
            environment = tap.recorded_environment(
                out, TPAGENT_ALLOC="all", FAKE_PYTHON=fake_version, LD_PRELOAD=fake
            )
            command = [os.path.join(WORKLOADS, "allocs"), "leak", "100"]
            done = tap.run(command, environment)
            tap.equal((done.returncode, done.stderr), (0, b""), "the program")
            leaks = [r for r in stacks(out) if r["stack"][:2] == ["take", "take_for_leak"]]
            tap.equal(sum(r["allocations"] for r in leaks), 100, "native stacks")
            report = subprocess.run(
                [tap.TPREPORT, "memory", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            said = report.stdout + report.stderr
            assert (text or b"without Python frames") in said or not text, (fake_version, said)
            assert text or b"Python" not in said, said


EMBEDDED = """
def inner():
    return bytearray(54321)
def outer():
    return inner()
kept = [outer() for _ in range(7)]
"""


def library_of(python):
    words = "import sysconfig as s; v = s.get_config_var; print(v('LIBDIR'), v('INSTSONAME'))"
    done = subprocess.run([python, "-c", words], stdout=subprocess.PIPE, check=True)
    folder, name = done.stdout.decode().split()
    for place in (folder, os.path.join(folder, platform.machine() + "-linux-gnu")):
        if ".so" in name and os.path.exists(os.path.join(place, name)):
            return os.path.join(place, name)
    raise tap.Skip(f"{python} has no shared library")


def loaded_while_it_runs(python):
    """Its frames are read, and after it is gone the program goes on."""
    if platform.machine() != "x86_64" or not hasattr(ctypes.CDLL(None), "_dl_find_object"):
        raise tap.Skip("this libc does not find objects by address")
    command = [os.path.join(WORKLOADS, "embed"), library_of(python), EMBEDDED]
    for more in ({}, *5 * [{"THREADS": "1"}]):
        with tap.folder() as out:
            environment = tap.recorded_environment(
                out, TPAGENT_ALLOC="all", TPAGENT_WHEN_FULL="wait", **more
            )
            done = tap.run(command, environment)
            tap.equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), "the program")
            found = [
                s for s in stacks(out) if s["allocated_bytes"] // s["allocations"] // 10 == 5432
            ]
            tap.equal(sum(s["allocations"] for s in found), 7, "large blocks")
            for stack in found:
                names = [f.split(": ")[1] for f in python_part(stack["stack"])]
                tap.equal(names[:2], ["inner", "outer"], f"frames, {more}")
                assert names[-1] == MODULE, names


def main():
    t = tap.Tap()
    for python in [PYTHON, *OTHERS]:
        name = f"Python 3.{version(python)}"
        t.check(
            f"{name}: functions, generators, coroutines, callbacks, threads", every_kind, python
        )
        t.check(f"{name}: loaded while the program runs", loaded_while_it_runs, python)
        t.check(f"{name}: threads that allocate while it ends", interpreter_goes, python)
    t.check("TPAGENT_STACKS limits Python's frames", depth_is_obeyed)
    t.check("functions left out between native ones and Python's are marked", gaps_are_marked)
    t.check("samples have Python's frames", samples_have_them)
    t.check("pprof has Python's files and lines", pprof_has_files_and_lines)
    t.check("suspected leaks name functions of Python", leaks_name_functions_of_python)
    t.check("text shows the end of Python's frames", text_shows_the_end_of_long_frames)
    t.check("an unknown or a wrong layout is told", unknown_layouts_are_told)
    t.end()


if __name__ == "__main__":
    main()
