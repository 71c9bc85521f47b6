#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing is lost and nothing counted twice: traces of everything odd (work without a launch, many
kernels under one launch, crossing ranges, no length, equal times, negative durations, equal ids),
whose sums in reports equal the sums over the input. Prints TAP. usage: run_attribution.py TPREPORT
[SEED]"""

import collections
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

UNIT = {"s": 1e6, "ms": 1e3, "us": 1.0}


def span(cat, name, ts, dur, tid=1, **arguments):
    pid = 0 if cat == "kernel" else 1
    entry = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return {**entry, "args": {key.replace("_", " "): value for key, value in arguments.items()}}


def operator(name, ts, dur, number=0, tid=1):
    return span("cpu_op", name, ts, dur, tid, **({"External_id": number} if number else {}))


def call(name, ts, dur, number=0, correlation=0, tid=1):
    return span("cuda_runtime", name, ts, dur, tid, External_id=number, correlation=correlation)


def kernel(name, ts, dur, number=0, correlation=0, stream=7):
    return span(
        "kernel", name, ts, dur, stream, External_id=number, correlation=correlation, stream=stream
    )


class Reports:
    def __init__(self, program, entries, folder):
        self.program, self.entries = program, entries
        self.path = pathlib.Path(folder) / "trace.json"
        document = {"baseTimeNanoseconds": 0, "traceEvents": entries}
        self.path.write_text(json.dumps(document))

    def text(self, *words):
        done = subprocess.run(
            [self.program, *words, str(self.path)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, *words):
        return json.loads(self.text(*words, "--row-limit=none", "--format=json"))["rows"]

    def check_footer(self, what, wanted):
        """The table's last lines: equal to the digits that it prints."""
        found = re.search(rf"^Self {what} time total: (-?[\d.]+)([mu]?s)$", self.text(), re.M)
        unit = UNIT[found[2]]
        assert abs(float(found[1]) * unit - wanted) <= 5.1e-4 * unit, (found[0], wanted)

    def input(self, cat):
        return [e for e in self.entries if e["cat"] == cat]


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6)


def sums(entries, key=lambda e: e["name"]):
    total = collections.Counter()
    for entry in entries:
        total[key(entry)] += entry["dur"]
    return total


# ---- what must hold for every trace ----


def check_device(r):
    kernels = r.input("kernel")
    wanted = sums(kernels)
    rows = {x["key"]: x for x in r.rows("averages") if x["device_type"] == "CUDA"}
    assert set(rows) == set(wanted), "names"
    for name, row in rows.items():
        assert near(row["self_device_time_total"], wanted[name]), name
        assert row["count"] == sum(e["name"] == name for e in kernels), name
    total = sum(wanted.values())
    if any(x["self_device_time_total"] > 0 for x in r.rows("averages")):  # else no such columns
        r.check_footer("CUDA", total)


def check_kernels_report(r):
    kernels = r.input("kernel")
    report = json.loads(r.text("kernels", "--format=json"))
    positive = sums(e for e in kernels if e["dur"] > 0)
    if not positive:
        return
    rows = {x["name"]: x["total_us"] for x in report["rows"]}
    assert set(rows) == set(positive) and all(near(rows[n], positive[n]) for n in rows), rows
    skipped = re.search(r"Skipped: (\d+) without .*, (\d+) with", r.text("kernels"))
    counts = tuple(map(int, skipped.groups())) if skipped else (0, 0)
    assert counts == (
        sum(e["dur"] == 0 for e in kernels),
        sum(e["dur"] < 0 for e in kernels),
    ), counts


def check_launches(r):
    """The line of work without a launch has all of it and nothing else."""
    ids = {e["args"].get("External id") for e in r.input("cpu_op")} - {None, 0}
    calls = {e["args"]["correlation"] for e in r.input("cuda_runtime")}
    alone = [
        e
        for e in r.input("kernel")
        if e["args"]["External id"] not in ids and e["args"]["correlation"] not in calls
    ]
    marked = [x for x in r.rows("events") if x.get("no_launch_recorded")]
    assert sums(alone) == sums(
        {"name": x["name"], "dur": round(x["self_device_time_total"], 3)} for x in marked
    ), "no launch"
    lines = re.findall(r"(\d+)  \(no launch recorded\)$", r.text("tree"), re.M)
    assert sum(map(int, lines)) == len(alone), (lines, len(alone))


def check_host(r):
    """Self times are what the tree leaves of the durations; the tree only nests what lies inside."""
    rows = [x for x in r.rows("events") if x["device_type"] == "CPU"]
    everything = r.rows("events")
    durations = sum(e["dur"] for e in r.input("cpu_op") + r.input("cuda_runtime"))
    inside = folded = 0.0
    for row in rows:
        parent = row["cpu_parent"]
        if parent is None or parent < 0:
            continue
        outer = everything[parent]
        inside += row["cpu_time_total"]
        assert outer["start_us"] <= row["start_us"] < outer["end_us"], row
        assert row["end_us"] <= outer["end_us"] and outer["thread"] == row["thread"], row
    folded = durations - sum(x["cpu_time_total"] for x in rows)
    assert near(folded, 0) or len(rows) < len(r.input("cpu_op") + r.input("cuda_runtime"))
    total = durations - folded - inside
    assert near(sum(x["self_cpu_time_total"] for x in rows), total)
    assert near(sum(x["self_cpu_time_total"] for x in r.rows("averages")), total)
    r.check_footer("CPU", total)


CHECKS = [check_device, check_kernels_report, check_launches, check_host]


# ---- the traces ----


def self_times(r):
    return {x["key"]: x["self_cpu_time_total"] for x in r.rows("averages")}


def check_graph(r):
    row = next(x for x in r.rows("averages") if x["key"] == "replay")
    assert near(row["self_device_time_total"], 5 + 6 + 7), row
    assert len(next(x for x in r.rows("events") if x["key"] == "replay")["kernels"]) == 3


def check_crossing(r):
    assert self_times(r) == {"first": 100, "second": 70, "in both": 30}, self_times(r)


def check_equal(r):
    assert self_times(r) == {"outer": 0, "inner": 10, "twin": 5}, self_times(r)


def check_zero(r):
    assert self_times(r) == {"a": 10, "start": 0, "end": 0, "inside": 0}, self_times(r)
    lines = r.text("tree").splitlines()
    assert any(x.endswith("  end") and not x.endswith("    end") for x in lines), lines


def check_negative(r):
    assert self_times(r)["back"] == -50


NAMED = {
    "work without a launch": (
        [operator("op", 0, 10, 1), kernel("far", 20, 5, 0, 77), kernel("farther", 30, 6, 9, 78)],
        lambda r: None,
    ),
    "work of a call without an operator": (
        [call("launch", 0, 2, 0, 5), kernel("k", 5, 5, 0, 5)],
        lambda r: None,
    ),
    "kernels of one graph launch": (
        [operator("replay", 0, 20, 1), call("cudaGraphLaunch", 5, 3, 1, 9)]
        + [kernel(f"k{n}", 10 * n, 4 + n, 1, 9) for n in (1, 2, 3)],
        check_graph,
    ),
    "crossing ranges": (
        [operator("first", 0, 100), operator("second", 50, 100), operator("in both", 60, 30)],
        check_crossing,
    ),
    "equal times": (
        [operator("outer", 0, 10), operator("inner", 0, 10)] + [operator("twin", 20, 5, tid=2)],
        check_equal,
    ),
    "no length": (
        [operator("a", 0, 10), operator("start", 0, 0), operator("inside", 5, 0)]
        + [operator("end", 10, 0)],
        check_zero,
    ),
    "negative durations": (
        [operator("op", 0, 100, 1), operator("back", 200, -50, 2)]
        + [kernel("k", 10, 5, 1, 4), kernel("k", 30, -3, 1, 5), kernel("none", 40, 0, 1, 6)],
        check_negative,
    ),
    "equal ids": (
        [operator(name, ts, 10, 1) for name, ts in (("a", 0), ("b", 20), ("c", 40))]
        + [call("launch", 2, 1, 1, 1)]
        + [kernel(f"k{n}", n, 2, 1, 1) for n in range(12)],
        lambda r: None,
    ),
}


def random_trace(source):
    entries, pick = [], source.randrange
    for number in range(pick(1, 30)):
        start = pick(100)
        length = source.choice([0, 1, 5, 10, 50, -2])
        entries.append(operator(f"op{pick(6)}", start, length, pick(5) and number, 1 + pick(2)))
    for _ in range(pick(10)):
        entries.append(call(f"call{pick(2)}", pick(100), pick(4), pick(30), pick(12), 1 + pick(2)))
    for _ in range(pick(20)):
        length = source.choice([0, 1, 3, 8, -4])
        entries.append(kernel(f"k{pick(4)}", pick(200), length, pick(40), pick(20), pick(2)))
    source.shuffle(entries)
    return entries


def main():
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    source = random.Random(seed)
    cases = [(name, entries, [*CHECKS, check]) for name, (entries, check) in NAMED.items()]
    cases += [(f"random {n} of seed {seed}", random_trace(source), CHECKS) for n in range(60)]
    failed = 0
    for number, (name, entries, checks) in enumerate(cases, 1):
        problem = None
        with tempfile.TemporaryDirectory() as folder:
            reports = Reports(program, entries, folder)
            for check in checks:
                try:
                    check(reports)
                except Exception as error:
                    problem = f"{check.__name__}: {error!r:.500}"
                    break
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {number} - {name}")
        if problem:
            print(f"# {problem}")
    print(f"1..{len(cases)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
