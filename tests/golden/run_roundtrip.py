#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `events --format json` prints is an input that gives the same again: every golden input through it.
Prints TAP. usage: run_roundtrip.py TPREPORT FOLDER..."""

import pathlib
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
    ["tree"],
    ["trace", "--style=list"],
    ["stacks"],
    ["total", "--format=json"],
    ["events", "--format=repr"],
]
PATTERNS = ["*/case.json", "*/events.json.gz", "traces/*.json*", "*.json", "*.json.gz"]


def run(program, words, path):
    return subprocess.run([program, *words, str(path)], capture_output=True, timeout=60)


def check(program, path, folder):
    first = run(program, ["events", "--stacks", "--format=json"], path)  # all that there is
    if first.returncode == 1:  # a case for an error
        return None if first.stderr else "no error"
    copy = pathlib.Path(folder) / "events.json"
    copy.write_bytes(first.stdout)
    second = run(program, ["events", "--format=json"], copy)
    if second.stdout != first.stdout:
        return f"events differ: {second.stderr.decode()}"
    for words in REPORTS:
        words = [*words, "--stacks"]
        if run(program, words, path).stdout != run(program, words, copy).stdout:
            return f"{' '.join(words)} differs"
    return None


def main():
    program, failed = sys.argv[1], 0
    paths = sorted(
        {
            p
            for root in sys.argv[2:]
            for pattern in PATTERNS
            for p in pathlib.Path(root).glob(pattern)
            if p.name != "meta.json"
        }
    )
    for number, path in enumerate(paths, 1):
        with tempfile.TemporaryDirectory() as folder:
            problem = check(program, path, folder)
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {number} - {path.parent.name}/{path.name}")
        if problem:
            print(f"# {problem}")
    print(f"1..{len(paths)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
