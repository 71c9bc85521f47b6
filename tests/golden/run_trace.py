#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces that tpreport writes: valid, complete, nested on each row; read again they give the tables of
their input. Prints TAP. usage: run_trace.py TPREPORT MAKE_SAMPLE FOLDER... (inputs in them;
MAKE_SAMPLE makes a recording)"""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

REPORTS = [
    [
        "averages",
        "--row-limit=-1",
        "--group-by-input-shapes",
        "--group-by-stack-n=3",
        "--group-by-overload-name",
        "--include-python-functions",
    ],
    ["averages", "--format=csv"],
    ["events", "--row-limit=-1"],
    ["events", "--format=repr"],
    ["tree"],
    ["total"],
    ["trace", "--style=list"],
    ["stacks"],
    ["kernels"],
]
PATTERNS = [
    "*/case.json",
    "*/events.json.gz",
    "*/raw.json.gz",
    "*/trace.json*",
    "*.json",
    "*.json.gz",
    "ascend_*.csv",
]
ORDER = [
    "schemaVersion",
    "deviceProperties",
    "distributedInfo",
    "displayTimeUnit",
    "baseTimeNanoseconds",
    "traceEvents",
    "traceName",
]
NAMES = {"process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index"}


def run(program, words, path):
    return subprocess.run([program, *map(str, words), str(path)], capture_output=True, timeout=120)


def crossings(entries):
    """Slices that do not nest with one that is open on their row."""
    rows = {}
    for e in entries:
        if e["ph"] == "X" and e.get("cat") != "Trace" and "tpreport" in e:
            start = round(e["ts"] * 1000)
            rows.setdefault((e["pid"], e["tid"]), []).append(
                (start, -start - round(e["dur"] * 1000))
            )
    for row, spans in rows.items():
        ends = []
        for start, end in ((s, -e) for s, e in sorted(spans)):
            while ends and ends[-1] <= start:
                ends.pop()
            if ends and end > ends[-1]:
                yield row, start, end
            ends.append(end)


def check_document(path, lines):
    document = json.loads(gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes())
    keys = [k for k in document if k in ORDER]
    assert keys == [k for k in ORDER if k in document], list(document)
    assert document["schemaVersion"] == 1 and document["displayTimeUnit"] == "ms", keys
    entries = document["traceEvents"]
    for e in entries:
        assert e["ph"] in "XMistfbneC" and isinstance(e["name"], str), e
        if e["ph"] == "M" and "tpreport" not in e:
            assert e["name"] in NAMES, e
        if e["ph"] == "X":
            assert e["dur"] >= 0 and "cat" in e and "pid" in e and "tid" in e and "ts" in e, e
        if e["ph"] == "f" and e.get("cat") in ("ac2g", "fwdbwd"):
            assert e["bp"] == "e", e
    crossed = list(crossings(entries))
    assert not crossed, crossed[:3]
    assert sum("tpreport" in e for e in entries) == lines, (lines, "events")
    return document


def check(program, path, folder):
    first = run(program, ["events", "--format=json"], path)
    if first.returncode == 1 and run(program, ["trace"], path).returncode == 1:
        return None  # a case for an error, or an input without times
    exports = [folder / "trace.json.gz", folder / "trace.json"]
    for export in exports:
        done = run(program, ["trace", "-o", export], path)
        assert done.returncode == 0, done
    lines = len(json.loads(first.stdout)["rows"]) if first.returncode != 1 else None
    if lines is not None:
        check_document(exports[0], lines)
    for words in REPORTS:
        want, got = run(program, words, path), run(program, words, exports[0])
        if want.returncode == 1:
            assert got.returncode == 1, words
            continue
        a, b = want.stdout.decode(), got.stdout.decode()
        if path.suffix == ".csv" and ("--format=csv" in words or words == ["total"]):
            continue  # averaged in the order of the file, and to the nanosecond
        if path.suffix == ".csv" or words == ["kernels"]:  # equal rows stand as they came in
            a, b = (
                "\n".join(sorted(t for t in text.splitlines() if "Profiler:" not in t))
                for text in (a, b)
            )
        if a != b:
            differ = [f"{x}\n# {y}" for x, y in zip(a.splitlines(), b.splitlines()) if x != y]
            raise AssertionError(
                " ".join(words) + ":\n# " + "\n# ".join(differ[:3]) + got.stderr.decode()[:300]
            )
    again = folder / "again.json"
    assert run(program, ["trace", "-o", again], exports[1]).returncode == 0
    a, b = (
        sorted(json.dumps(e, sort_keys=True) for e in json.loads(f.read_text())["traceEvents"])
        for f in (exports[1], again)
    )
    differ = [f"{x}\n# {y}" for x, y in zip(a, b) if x != y]
    assert a == b, "written again it differs:\n# " + "\n# ".join(differ[:3])
    return None


def main():
    program, failed = os.path.abspath(sys.argv[1]), 0
    paths = sorted(
        {
            p
            for root in sys.argv[3:]
            for pattern in PATTERNS
            for p in pathlib.Path(root).glob(pattern)
            if p.name != "meta.json"
        }
    )
    sample = pathlib.Path(tempfile.mkdtemp()) / "sample"
    subprocess.run([sys.argv[2], str(sample)], check=True, timeout=60)
    paths.append(sample)
    for number, path in enumerate(paths, 1):
        problem = None
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(program, path, pathlib.Path(folder))
            except Exception as error:
                problem = error
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {number} - {path.parent.name}/{path.name}")
        if problem:
            print(f"# {str(problem) or repr(problem):.1500}")
    shutil.rmtree(sample.parent)
    print(f"1..{len(paths)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
