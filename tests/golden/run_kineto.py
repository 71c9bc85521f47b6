#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Raw records, recorded runs and Kineto traces through the command line; prints TAP.
usage: run_kineto.py TPREPORT CASES"""

import gzip
import json
import pathlib
import re
import subprocess
import sys

from run_eventlist import command, compare

# Old tables wrote their units so; two blanks keep the cells' width where a unit has grown.
OLD_UNITS = [("Kb", "KB"), ("Mb", "MB"), ("Gb", "GB"), ("b", "B")]
TORCH113 = {
    "table_avg.txt": ["averages", "--row-limit=-1"],
    "table_avg_sorted.txt": ["averages", "--sort-by=self_cpu_time_total", "--row-limit=10"],
    "table_avg_shapes.txt": [
        "averages",
        "--group-by-input-shapes",
        "--sort-by=cpu_time_total",
        "--row-limit=40",
    ],
    "table_avg_stack3.txt": [
        "averages",
        "--group-by-stack-n=3",
        "--sort-by=self_cpu_memory_usage",
        "--row-limit=30",
    ],
    "table_events_top.txt": ["events", "--top-level-events-only", "--row-limit=-1"],
    "stacks_cpu.txt": ["stacks", "--metric=self_cpu_time_total"],
}


def run(program, words, path):
    return subprocess.run([program, *words, str(path)], capture_output=True, timeout=60)


def cases(program, root):
    """(name, problem or None) of every case that has records, both from them and from its trace."""
    for folder in sorted(p.parent for p in root.glob("*/case.json")):
        case = json.loads((folder / "case.json").read_text())
        inputs = [("records", folder / "case.json")]
        if "trace" in case:
            inputs.append(("trace", root / case["trace"]))
        for output in case["outputs"]:
            if output["op"] == "parsed":  # before the tree is built: a unit test
                continue
            for source, path in inputs:
                done = run(program, command(output), path)
                yield f"{folder.name}: {output['name']} from {source}", compare(
                    output, (folder / output["file"]).read_bytes(), done
                )


def new_units(text):
    for old, new in OLD_UNITS:
        text = re.sub(rf"(\d) {old}(?= )", rf"\1 {new}", text)
    return text


def shown_stacks(text, most):
    """A table whose rows show at most so many entries of their stacks."""
    lines, shown = [], 0
    for line in text.splitlines(keepends=True):
        is_more = line.startswith(
            " " * 60
        )  # no name: a further entry, or the blank line behind them
        shown = shown + 1 if is_more and line.strip() else 1
        if not is_more or not line.strip() or shown <= most:
            lines.append(line)
    return "".join(lines)


def recorded(program, root):
    for folder in sorted(p.parent for p in root.glob("*/events.json.gz")):
        for name, words in TORCH113.items():
            done = run(program, words, folder / "events.json.gz")
            want, got = (folder / name).read_text(), done.stdout.decode()
            if name.startswith("table"):
                want = new_units(want)
            if name == "table_events_top.txt":
                got = shown_stacks(got, 5)
            yield f"{folder.name}: {name}", (
                None if want == got else f"bytes differ: {done.stderr.decode()}"
            )
        trace = gzip.open(folder / "trace.json.gz", "rb").read()
        done = run(program, ["trace", "--style=list"], folder / "events.json.gz")
        yield f"{folder.name}: trace", None if done.stdout == trace else "bytes differ"


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    number = failed = 0
    for name, problem in [*cases(program, root), *recorded(program, root)]:
        number += 1
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {number} - {name}")
        if problem:
            print(f"# {problem}")
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
