# SPDX-License-Identifier: MIT
"""libtpagent_new.so: C++ allocations under other allocators are seen, once each."""

import glob
import json
import os
import shutil
import subprocess

import tap

AGENT_NEW = os.environ["AGENT_NEW"]
SOURCE = os.path.join(os.path.dirname(__file__), "..", "workloads", "news.cpp")
HEADERS = os.environ["HEADERS"]
COUNT = 1000
ALLOCATORS = {
    "glibc": None,
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2*",
}


def find(pattern):
    if not pattern:
        return ""
    for folder in (
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
    ):
        found = sorted(glob.glob(os.path.join(folder, pattern)))
        if found:
            return found[0]
    raise tap.Skip(f"no {pattern} here")


def build(folder):
    if not shutil.which("g++"):
        raise tap.Skip("no g++ here")
    program = os.path.join(folder, "news")
    subprocess.run(
        [
            "g++",
            "-std=c++17",
            "-O1",
            "-fno-omit-frame-pointer",
            "-I",
            HEADERS,
            SOURCE,
            "-o",
            program,
            "-ldl",
        ],
        check=True,
    )
    return program


def memory(out):
    return json.loads(
        subprocess.run(
            [tap.TPREPORT, "memory", "--format", "json", out], stdout=subprocess.PIPE, check=True
        ).stdout
    )


def run(program, out, preloads, **variables):
    environment = tap.recorded_environment(out, **variables)
    environment["LD_PRELOAD"] = ":".join(p for p in preloads if p)
    # Debian's mimalloc, built as C, ends a program for which there is no memory
    small = "mimalloc" in environment["LD_PRELOAD"]
    done = tap.run([program, str(COUNT)] + ["small"] * small, environment)
    tap.equal((done.returncode, done.stderr), (0, b""), "status and stderr")
    tap.equal(done.stdout.splitlines(), [] if small else [b"bad_alloc", b"none"], "output")
    report = memory(out)
    counters = [c for c in report["range_counters"] if c["name"] == "work"]
    return report, counters[0] if counters else None


def seen_with(pattern):
    allocator = find(pattern)
    with tap.folder() as work:
        program = build(work)
        for mode in ("count", "all", "count+sample:1", "sample:1"):
            with tap.folder() as out:
                report, work_row = run(
                    program, out, [tap.AGENT, AGENT_NEW, allocator], TPAGENT_ALLOC=mode
                )
                tap.equal(work_row is None, mode == "sample:1", f"counters, {mode}")
                if work_row:
                    tap.equal(work_row["allocations"], 4 * COUNT + 10, f"allocations, {mode}")
                if mode == "count":
                    continue
                rows = [r for r in report["ranges"] if r["range"] == "work"]
                tap.equal(
                    (rows[0]["allocations"], rows[0]["live_blocks"]),
                    (4 * COUNT + 10, 10),
                    f"records, {mode}",
                )
                leaks = [s for s in report["stacks"] if s["live_blocks"] == 10]
                # where libstdc++'s operator calls malloc its frame is not in the chain
                assert any("leak()" in s["stack"][:2] or not allocator for s in leaks), report[
                    "stacks"
                ]


def told_what_is_missing(pattern):
    allocator = find(pattern)
    with tap.folder() as work:
        program = build(work)
        with tap.folder() as out:
            _, row = run(program, out, [tap.AGENT, allocator])
            assert row["allocations"] <= COUNT, "allocations seen without the second object"
            info = subprocess.run(
                [tap.TPREPORT, "info", out], stdout=subprocess.PIPE, check=True
            ).stdout.decode()
            assert "C++ allocations not visible: operator new belongs to" in info, info


def harmless_without_the_agent():
    with tap.folder() as work:
        program = build(work)
        environment = tap.clean_environment()
        environment["LD_PRELOAD"] = AGENT_NEW
        done = tap.run([program, "10"], environment)
        tap.equal(
            (done.returncode, done.stdout, done.stderr),
            (0, b"bad_alloc\nnone\n", b""),
            "the program",
        )


def late_libstdcxx():
    """A program without libstdc++ that loads a module which needs it, its symbols its own."""
    with tap.folder() as work:
        if not shutil.which("g++"):
            raise tap.Skip("no g++ here")
        module, source = os.path.join(work, "module.so"), os.path.join(work, "module.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(
                '#include <new>\n#include <cstdint>\nextern "C" int go() { delete new int; try {'
                "volatile auto n = SIZE_MAX / 4; if (::operator new(n)) return 1; }"
                "catch (std::bad_alloc &) { return 7; } return 0; }\n"
            )
        subprocess.run(["g++", "-shared", "-fPIC", source, "-o", module], check=True)
        for pattern in ALLOCATORS.values():
            try:
                allocator = find(pattern)
            except tap.Skip:
                continue
            if "mimalloc" in allocator:
                continue
            with tap.folder() as out:
                environment = tap.recorded_environment(out)
                environment["LD_PRELOAD"] = ":".join(
                    p for p in (tap.AGENT, AGENT_NEW, allocator) if p
                )
                python = os.environ.get("PYTHON", "/usr/bin/python3")
                done = tap.run(
                    [python, "-c", f"import ctypes; print(ctypes.CDLL({module!r}).go())"],
                    environment,
                )
                tap.equal(
                    (done.returncode, done.stdout),
                    (0, b"7\n"),
                    f"the program, {pattern}: {done.stderr}",
                )


STEP = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
x, y = torch.randn(16, 32), torch.randn(16, 8)
def step():
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    return float(loss)
for i in range(3):
    step()
with torch.autograd.profiler.record_function("the step"):
    for i in range(20):
        loss = step()
print(loss)
"""


def torch_steps_are_seen_whole():
    """A step of PyTorch allocates as often with any of them."""
    python = os.environ.get("PYTHON", "/usr/bin/python3")
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        raise tap.Skip(f"{python} has no torch")
    seen = {}
    for name, pattern in ALLOCATORS.items():
        try:
            allocator = find(pattern)
        except tap.Skip:
            continue
        with tap.folder() as out:
            environment = tap.recorded_environment(out, OMP_NUM_THREADS="1")
            if allocator:
                environment["LD_PRELOAD"] = ":".join((tap.AGENT, AGENT_NEW, allocator))
            done = tap.run([python, "-c", STEP], environment)
            tap.equal((done.returncode, done.stderr), (0, b""), f"status and stderr with {name}")
            report = memory(out)
            rows = [c for c in report["range_counters"] if c["name"] == "the step"]
            seen[name] = (rows[0]["allocations"], done.stdout)
    print(f"# {seen}")
    if len(seen) < 2:
        raise tap.Skip("no other allocator here")
    tap.equal(len(set(seen.values())), 1, "different numbers of allocations, or outputs")


CHECK = tap.Tap()
for name, library in ALLOCATORS.items():
    CHECK.check(f"with {name} each block is counted and recorded once", seen_with, library)
for name in ("jemalloc", "tcmalloc", "mimalloc"):
    CHECK.check(
        f"with {name} alone the report says what is missing",
        told_what_is_missing,
        ALLOCATORS[name],
    )
CHECK.check("without the agent it only passes on", harmless_without_the_agent)
CHECK.check("libstdc++ that comes later is found, exceptions pass", late_libstdcxx)
CHECK.check("a torch step allocates as often under each", torch_steps_are_seen_whole)
CHECK.end()
