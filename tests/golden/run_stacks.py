#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`tpreport stacks`: folded lines and pprof profiles sum to what the input holds, and `go tool pprof`
reads the profiles. Prints TAP. usage: run_stacks.py TPREPORT MAKE_SAMPLE GOLDEN TRACES"""

import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

METRICS = ["cpu", "device", "bytes", "self_device_memory_usage", "count"]
COLUMNS = ["cpu/nanoseconds", "device/nanoseconds", "inuse_space/bytes"]
COLUMNS += ["device_inuse_space/bytes", "calls/count"]


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, timeout=60)
    assert done.returncode == 0, (words, done)
    return done


def folded(program, path, metric):
    lines = {}
    text = run(program, "stacks", "--format=folded", "--metric", metric, path).stdout.decode()
    for line in text.splitlines():
        frames, value = line.rsplit(" ", 1)
        assert frames not in lines and int(value) > 0, line
        lines[frames] = int(value)
    return lines


def expected_sums(rows):
    """Of the events themselves: what the paths must come to, without those below zero."""
    host = [r for r in rows if r["device_type"] == "CPU"]
    kernels = [k for r in host for k in r["kernels"] if not r["is_async"]]
    alone = [
        r
        for r in rows
        if r["device_type"] != "CPU"
        and not r["is_user_annotation"]
        and (not kernels or r.get("no_launch_recorded"))
    ]
    return {
        "cpu": sum(r["self_cpu_time_total"] for r in host) * 1000,
        "device": 1000
        * (sum(k["duration"] for k in kernels) + sum(r["self_device_time_total"] for r in alone)),
        "bytes": sum(r["self_cpu_memory_usage"] for r in host),
        "self_device_memory_usage": sum(r["self_device_memory_usage"] for r in host),
        "count": len(host) + len(kernels) + len(alone),
    }


def left_out(program, path, metric):
    said = run(program, "stacks", "--format=folded", "--metric", metric, path).stderr.decode()
    found = re.search(r"left out, (-\d+) in all", said)
    return int(found.group(1)) if found else 0


def check_folded(program, path):
    rows = json.loads(run(program, "events", "--format=json", "-n", "none", path).stdout)["rows"]
    sums = expected_sums(rows)
    for metric in METRICS:
        total = sum(folded(program, path, metric).values()) + left_out(program, path, metric)
        assert math.isclose(total, sums[metric], abs_tol=len(rows) + 1), (
            metric,
            total,
            sums[metric],
        )
    names = [*(r["name"] for r in rows), *(k["name"] for r in rows for k in r["kernels"])]
    names = {name.replace(";", "_").replace("\n", "_") for name in names}
    last = {frames.rsplit(";", 1)[-1] for frames in folded(program, path, "count")}
    assert not last - names, sorted(last - names)[:5]


def go_raw(profile):
    done = subprocess.run(
        ["go", "tool", "pprof", "-raw", str(profile)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "HOME": str(profile.parent)},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    start = lines.index("Samples:") + 1
    heads = [head.replace("[dflt]", "") for head in lines[start].split()]
    assert heads == COLUMNS, heads
    samples, labels = [], []
    for line in lines[start + 1 :]:
        if line.startswith("Locations"):
            break
        values = re.match(r"^((?: *-?\d+)+): ", line)
        if values:
            samples.append([int(word) for word in values.group(1).split()])
        else:
            labels.append(line.strip())
    default = next(h for h in lines[start].split() if h.endswith("[dflt]"))
    return samples, labels, default.split("/")[0]


def check_pprof(program, path):
    with tempfile.TemporaryDirectory() as folder:
        for metric, default in (("cpu", "cpu"), ("device", "device"), ("count", "calls")):
            profile = pathlib.Path(folder) / "profile.pb.gz"
            run(program, "stacks", "--format=pprof", "--metric", metric, "-o", profile, path)
            assert profile.read_bytes()[:2] == b"\x1f\x8b", "not gzip"
            samples, labels, shown = go_raw(profile)
            assert shown == default, shown
        for column, metric in enumerate(METRICS):
            mine = sum(folded(program, path, metric).values()) + left_out(program, path, metric)
            theirs = sum(sample[column] for sample in samples)
            assert mine == theirs, (metric, mine, theirs)
        assert any("thread:[thread " in label for label in labels), labels[:3]
        top = subprocess.run(
            ["go", "tool", "pprof", "-top", str(profile)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "HOME": folder},
        )
        assert top.returncode == 0 and "flat%" in top.stdout, top


def check_says_why(program, path):
    done = run(program, "stacks", path)
    assert not done.stdout and done.stderr.count(b"--format folded") == 1, done


def check_averages_refused(program, path):
    done = subprocess.run(
        [program, "stacks", "--of=averages", "--format=folded", str(path)], capture_output=True
    )
    assert done.returncode == 1 and b"made of events" in done.stderr, done


def main():
    program, make_sample = map(os.path.abspath, sys.argv[1:3])
    golden, traces = map(pathlib.Path, sys.argv[3:5])
    folder = tempfile.mkdtemp()
    sample = pathlib.Path(folder) / "sample"
    subprocess.run([make_sample, str(sample)], check=True, timeout=60)
    cases = sorted(golden.glob("*/case.json"))
    usable = [
        c
        for c in cases
        if subprocess.run([program, "events", str(c)], capture_output=True).returncode == 0
    ]
    inputs = [*usable, *sorted(traces.glob("*.json.gz")), sample]
    tests = [(f"folded: {p.parent.name}/{p.name}", check_folded, p, None) for p in inputs]
    go = None if shutil.which("go") else "go is not installed"
    few = [golden / "stacks_cuda/case.json", traces / "kineto_h100_bert_small.json.gz", sample]
    tests += [(f"pprof: {p.parent.name}/{p.name}", check_pprof, p, go) for p in few]
    tests.append(("no stacks: it says why", check_says_why, sample, None))
    tests.append(("averages have no ranges", check_averages_refused, sample, None))
    failed = 0
    for number, (name, test, path, skip) in enumerate(tests, 1):
        if skip:
            print(f"ok {number} - {name} # SKIP {skip}")
            continue
        try:
            test(program, path)
            print(f"ok {number} - {name}")
        except Exception as problem:
            failed += 1
            print(f"not ok {number} - {name}\n# {problem!r:.900}")
    shutil.rmtree(folder)
    print(f"1..{len(tests)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
