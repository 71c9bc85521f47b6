#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every golden event list through the command line; prints TAP. usage: run_eventlist.py TPREPORT CASES"""

import json
import math
import pathlib
import subprocess
import sys

FLAGS = {
    "top_level_events_only",
    "group_by_input_shapes",
    "group_by_overload_name",
    "include_python_functions",
}
# What we answer although the reference refuses (spec: None counts as empty, a share of nothing is NaN).
BETTER = {
    ("error_no_device", "table"),
    ("error_no_device", "table_avg"),
    ("errors", "kernels_but_no_gpu_events"),
    ("error_none", "events"),
    ("error_none", "avg"),
    ("error_none", "avg_dump"),
}


def options(arguments):
    words = []
    for name, value in (arguments or {}).items():
        name = "--" + name.replace("_", "-")
        if name[2:].replace("-", "_") in FLAGS:
            words += [name] if value else []
        else:
            words.append(f"{name}={'none' if value is None else value}")
    return words


def command(output):
    op, groups, args = output["op"], output.get("key_averages"), output.get("args")
    of = [] if groups is None else ["--of=averages"] + options(groups)
    rows = ["events"] if groups is None else ["averages"] + options(groups)
    return {
        "table": lambda: rows + options(args),
        "repr": lambda: rows + ["--format=repr"],
        "key_averages": lambda: rows + ["--format=json"],
        "total_average": lambda: ["total", "--format=json"] + of,
        "self_cpu_time_total": lambda: ["total"] + of,
        "tree": lambda: ["tree", "--format=json"],
        "tree_compact": lambda: ["tree", "--compact", "--format=json"],
        "export_chrome_trace": lambda: ["trace", "--style=list"] + of,
        "export_stacks": lambda: ["stacks"] + options(args) + of,
    }[op]()


def differ(want, got, at=""):
    """Where two JSON values differ, or None. Keys that are only in got are additions."""
    if isinstance(want, float) and isinstance(got, float):
        return (
            None
            if math.isclose(want, got, rel_tol=1e-12, abs_tol=1e-9)
            else f"{at}: {got}, not {want}"
        )
    if type(want) is not type(got):
        return f"{at}: {got!r}, not {want!r}"
    if isinstance(want, dict):
        pairs = [(f"{at}.{k}", v, got[k] if k in got else "missing") for k, v in want.items()]
    elif isinstance(want, list) and len(want) == len(got):
        pairs = [(f"{at}[{i}]", v, got[i]) for i, v in enumerate(want)]
    else:
        return None if want == got else f"{at}: {got!r}, not {want!r}"
    return next((d for d in (differ(v, g, p) for p, v, g in pairs) if d), None)


def compare(output, want, done):
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.decode().strip()}"
    why = b"--time-unit" in done.stderr or (output["op"] == "export_stacks" and not want)
    if done.stderr and not why:
        return f"stderr: {done.stderr.decode().strip()}"
    if output["op"] == "self_cpu_time_total":
        line = next(
            l for l in done.stdout.decode().splitlines() if l.startswith("self_cpu_time_total ")
        )
        return differ(json.loads(want), json.loads(line.split()[1]))
    if output["file"].endswith(".json"):
        return differ(json.loads(want), json.loads(done.stdout)["rows"])
    if output["op"] == "repr":  # the file has no last line end
        want = want.rstrip(b"\n") + b"\n"
    return None if done.stdout == want else f"bytes differ: {done.stdout[:80]!r}"


def check(program, folder, output):
    done = subprocess.run(
        [program, *command(output), str(folder / "case.json")], capture_output=True, timeout=60
    )
    if "raises" not in output:
        return compare(output, (folder / output["file"]).read_bytes(), done)
    if (folder.name, output["name"]) in BETTER:
        return (
            None
            if done.returncode == 0 and done.stdout
            else f"exit {done.returncode}, wanted an answer"
        )
    if done.returncode not in (1, 2) or done.stdout:
        return f"exit {done.returncode}, wanted an error and no output"
    message = output["raises"]["message"]
    return None if message in done.stderr.decode() else f"stderr lacks {message!r}"


def main():
    program, cases = sys.argv[1], pathlib.Path(sys.argv[2])
    number = failed = 0
    for folder in sorted(p.parent for p in cases.glob("*/case.json")):
        for output in json.loads((folder / "case.json").read_text())["outputs"]:
            number += 1
            problem = check(program, folder, output)
            failed += problem is not None
            print(f"{'not ok' if problem else 'ok'} {number} - {folder.name}: {output['name']}")
            if problem:
                print(f"# {problem}")
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
