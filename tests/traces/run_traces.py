#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces from public repositories: kernel sums, counts and busy times, where another tool's
answers lie beside a trace those. Prints TAP. usage: run_traces.py TPREPORT (the traces are
beside this file)"""

import csv
import gzip
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import tap

# From INDEX.md and the files themselves: kernels, their sum in us, entries that make events.
KNOWN = {
    "kineto_cuda_simple_add.json.gz": (79, 10728, None),
    "kineto_triton_driver_launch.json.gz": (1, 1.76, 7),
    "kineto_rocm_minitoy_train.json.gz": (14, 110.881, 112),
    "kineto_h100_bert_small.json.gz": (60, 307.197, None),
    "kineto_torch_compile_triton.json.gz": (12, None, None),
    "kineto_backward_thread.json": (1, None, 7),
    "chrome_flow_events_v1.json": (0, 0, None),
}
CATEGORIES = {
    "cpu_op",
    "user_annotation",
    "python_function",
    "cuda_runtime",
    "cuda_driver",
    "overhead",
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "gpu_user_annotation",
    "cuda_sync",
}
FILTERED = {"aten::is_leaf", "aten::output_nr", "aten::_version"}


def report(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads(done.stdout)["rows"]


def near(a, b, tolerance=2e-3):  # another tool's microseconds went through floats of 32 bits
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=tolerance)


def entries(path):
    text = (gzip.open(path) if path.suffix == ".gz" else open(path, "rb")).read()
    document = json.loads(text, strict=False)
    return document["traceEvents"] if isinstance(document, dict) else document


def busy_us(spans):
    total, end = 0.0, -math.inf
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def check_known(program, path, kernels, kernel_us, events):
    rows = report(program, "events", "--format=json", path)
    mine = [r for r in rows if r["activity_type"] == "kernel"]
    assert len(mine) == kernels, (len(mine), kernels)
    total = sum(r["self_device_time_total"] for r in mine)
    assert kernel_us is None or near(total, kernel_us), (total, kernel_us)
    complete = [e for e in entries(path) if e.get("ph") == "X" and e["name"] not in FILTERED]
    used = [e for e in complete if e.get("cat") in CATEGORIES] or complete
    listed = [r for r in rows if r["name"] != "[memory]"]
    folded = len(used) - len(listed)  # equal names in one another are one event in the list
    assert events is None or len(used) == events, (len(used), events)
    assert 0 <= folded <= len(used) / 10 and all(r["count"] == 1 for r in rows), folded
    names = {e["name"] for e in used if not e["name"].startswith("ProfilerStep#")}
    assert names == {
        r["trace_name"] for r in listed if not r["name"].startswith("ProfilerStep")
    }, "names"


def check_sums_agree(program, path):
    """The rows of a report sum to what the input holds."""
    averages = report(program, "averages", "--format=json", path)
    events = report(program, "events", "--format=json", path)
    for key in ("self_cpu_time_total", "self_device_time_total", "count"):
        assert near(
            sum(r[key] for r in averages),
            sum(r[key] for r in events if not r["is_python_function"]),
        ), key
    device = {}
    for entry in entries(path):
        if entry.get("ph") == "X" and entry.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            device[entry["name"]] = device.get(entry["name"], 0) + float(entry["dur"])
    for name, us in device.items():
        row = next(r for r in averages if r["key"] == name and r["device_type"] == "CUDA")
        assert near(row["self_device_time_total"], us), name


def expected(name):
    with open(HERE / f"kineto_h100_bert_small.expected_{name}.csv", newline="") as stream:
        return list(csv.DictReader(stream))


def check_kernel_summary(program, path):
    rows = report(program, "events", "--format=json", path)
    kernels = [r for r in rows if r["activity_type"] == "kernel"]
    sums, counts = {}, {}
    for parent in rows:  # kernels by the operator that they are credited to
        for kernel in parent["kernels"]:
            key = parent["name"], kernel["name"]
            sums.setdefault(key, []).append(kernel["duration"])
    for line in expected("kernel_summary"):
        mine = sums[line["Parent cpu_op"], line["Kernel name"]]
        assert len(mine) == int(line["Kernel duration (µs)_count"]), line
        for name, value in (
            ("sum", sum(mine)),
            ("min", min(mine)),
            ("max", max(mine)),
            ("mean", sum(mine) / len(mine)),
        ):
            assert near(value, float(line[f"Kernel duration (µs)_{name}"])), (name, line)
        stream = [r for r in kernels if r["name"] == line["Kernel name"]]
        assert {r["device_resource_id"] for r in stream} == {int(line["Kernel stream"])}, line
        counts[line["Kernel name"]] = counts.get(line["Kernel name"], 0) + len(mine)
    for row in report(program, "averages", "--format=json", path):
        if row["device_type"] == "CUDA" and row["key"] in counts:
            assert row["count"] == counts[row["key"]], row["key"]
    assert sum(counts.values()) == len(kernels)


def check_ops_summary(program, path):
    rows = {
        r["key"]: r
        for r in report(program, "averages", "--format=json", path)
        if r["device_type"] == "CPU"
    }
    for line in expected("ops_summary"):
        row = rows[line["name"]]
        assert near(
            row["self_device_time_total"], float(line["total_direct_kernel_time_sum"])
        ), line
        assert near(row["device_time_total"], float(line["total_subtree_kernel_time_sum"])), line


def check_gpu_timeline(program, path):
    rows = report(program, "events", "--format=json", path)
    line = {r["type"]: float(r["time ms"]) * 1000 for r in expected("gpu_timeline")}
    spans = {
        kind: [(r["start_us"], r["end_us"]) for r in rows if r["activity_type"] in kinds]
        for kind, kinds in {
            "kernel": ["kernel"],
            "all": ["kernel", "gpu_memcpy", "gpu_memset"],
        }.items()
    }
    assert near(busy_us(spans["kernel"]), line["computation_time"])
    assert near(busy_us(spans["all"]), line["busy_time"])
    extent = max(e for _, e in spans["all"]) - min(s for s, _ in spans["all"])
    assert near(extent, line["total_time"]) and near(
        extent - busy_us(spans["all"]), line["idle_time"]
    )


def check_stacks(program, path):
    """Operators have the Python calls around them as their stack, of which a report can group."""
    calls = [
        (e["tid"], float(e["ts"]), float(e["ts"]) + float(e["dur"]), e["name"])
        for e in entries(path)
        if e.get("cat") == "python_function"
    ]
    rows = report(program, "events", "--stacks", "--format=json", path)
    operators = [r for r in rows if r["activity_type"] == "cpu_op" and r["scope"] == 0]
    base = next(float(e["ts"]) for e in entries(path) if e["name"].startswith("Iteration Start"))
    for row in operators:
        start, end = row["start_us"] + base, row["end_us"] + base
        around = [
            call
            for call in calls
            if call[0] == row["thread"] and call[1] <= start + 1e-3 and end <= call[2] + 1e-3
        ]
        around.sort(key=lambda call: (call[1], -call[2]), reverse=True)
        assert row["stack"] == [call[3] for call in around], row
    assert sum(len(r["stack"]) > 5 for r in operators) > 100
    groups = report(program, "--group-by-stack-n=2", "--format=json", path)
    assert all(len(g["stack"]) <= 2 for g in groups)
    plain = report(program, "--format=json", path)
    assert not any(g["stack"] for g in plain)
    count = {}
    for group in groups:
        count[group["key"]] = count.get(group["key"], 0) + group["count"]
    assert len(groups) > len(plain)
    for row in plain:
        assert sum(r["count"] for r in plain if r["key"] == row["key"]) == count[row["key"]], row


def main():
    program, t = sys.argv[1], tap.Tap()
    for name, known in KNOWN.items():
        t.check(f"{name}: kernels, events, names", check_known, program, HERE / name, *known)
        t.check(f"{name}: sums", check_sums_agree, program, HERE / name)
    h100 = HERE / "kineto_h100_bert_small.json.gz"
    for check in (check_kernel_summary, check_ops_summary, check_gpu_timeline, check_stacks):
        t.check(f"{h100.name}: {check.__name__[6:]}", check, program, h100)
    t.end()


if __name__ == "__main__":
    main()
