#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of torch 2.x against tpreport on the traces of the same runs; prints TAP.
usage: run_torch2.py TPREPORT. TPAGENT_TEST_PYTHON names an interpreter that has torch 2.x."""

import difflib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
VENVS = [HERE.parents[1] / "build-torch/bin/python", sys.executable]


def find_torch():
    given = os.environ.get("TPAGENT_TEST_PYTHON")
    for python in [given] if given else VENVS:
        probe = [
            str(python),
            "-c",
            "import torch; raise SystemExit(int(torch.__version__.split('.')[0]) < 2)",
        ]
        try:
            if subprocess.run(probe, capture_output=True, timeout=300).returncode == 0:
                return str(python)
        except OSError:
            pass
    return None


def command(groups, arguments):
    words = ["averages"]
    for key, value in {**groups, **arguments}.items():
        name = "--" + key.replace("_", "-")
        words.append(name if value is True else f"{name}={value}")
    return words


def compare(program, place, table, words):
    trace = next(place.glob("trace.json*"))
    done = subprocess.run([program, *words, str(trace)], capture_output=True, timeout=120)
    want = (place / f"{table}.txt").read_text()
    got = done.stdout.decode()
    if done.returncode == 0 and got == want:
        return None
    lines = difflib.unified_diff(
        want.splitlines(), got.splitlines(), "torch", "tpreport", lineterm="", n=0
    )
    return "\n".join([f"exit {done.returncode} {done.stderr.decode()}", *list(lines)[:8]])


def main():
    program = os.path.abspath(sys.argv[1])
    python = find_torch()
    if not python:
        print("1..0 # SKIP no torch 2.x found; TPAGENT_TEST_PYTHON can name a Python that has it")
        return 0
    number = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run(
            [python, str(HERE / "record_torch2.py"), folder],
            check=True,
            capture_output=True,
            timeout=600,
        )
        tables = json.loads((root / "meta.json").read_text())["tables"]
        jobs = [(table, command(*arguments)) for table, arguments in tables.items()]
        jobs.append(("events", ["events", "--top-level-events-only", "--row-limit=-1"]))
        jobs.append(("stacks", ["stacks"]))
        for place in sorted(p for p in root.iterdir() if p.is_dir()):
            for table, words in jobs:
                if not (place / f"{table}.txt").exists():  # stacks, of those that have some
                    continue
                number += 1
                problem = compare(program, place, table, words)
                failed += bool(problem)
                print(f"{'not ok' if problem else 'ok'} {number} - {place.name}: {table}")
                if problem:
                    print("# " + problem.replace("\n", "\n# "))
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
