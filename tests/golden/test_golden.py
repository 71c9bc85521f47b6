#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Both decoders read the recordings of every released minor version and refuse what is bad.

test_golden.py LIST_RECORDING
"""

import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "decoder"))
import test_decoders  # noqa: E402
import tptrace  # noqa: E402


def run(lister, path):
    return subprocess.run(
        [lister, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
    )


def good_cases(lister):
    for listing in sorted(here.glob("v1/*.listing")):
        path = listing.with_suffix("")
        found = list(path.glob("*/*/meta.jsonl"))
        process = found[0].parent if found else path.with_suffix(".tpt")
        same = run(lister, process).stdout == listing.read_text()
        yield "%s reads as it always did" % path.name, same
        if found:
            same = test_decoders.compare(lister, process)
            yield "%s reads the same with both decoders" % path.name, same


def is_refused(path, kinds):
    """Does the second decoder find that something is wrong?"""
    try:
        data = path.read_bytes()
        if path.suffix == ".tpr":
            tptrace.Ring(data)
        elif path.suffix == ".tpn":
            tptrace.read_names(data)
        else:
            _, size, uuid, _ = tptrace.read_file_header(data, b"TPTRACE\n")
            for at, block in tptrace.walk(data, size, uuid):
                if not isinstance(block, tptrace.Block):
                    return True
                tptrace.read_block(data, at, block, kinds)
        return False
    except tptrace.Damage:
        return True


def bad_cases(lister):
    schema = tptrace.Process(next(here.glob("v1/recording/*/*/meta.jsonl")).parent).kinds
    lines = (here / "bad/expected.txt").read_text().splitlines()
    expected = dict(line.split(": ", 1) for line in lines)
    for path in sorted(here.glob("bad/*.tp?")):
        found = run(lister, path)
        message = found.stderr.strip()
        wanted = "%s: %s" % (path.name, expected.pop(path.name, "no message"))
        same = found.returncode == 1 and message == wanted
        if not same:
            print("# " + message)
        yield "%s is refused with its message" % path.name, same
        yield "%s is refused by the second decoder" % path.name, is_refused(path, schema)
    yield "no expected message without its file", not expected


def main():
    lister = sys.argv[1]
    results = list(good_cases(lister)) + list(bad_cases(lister))
    print("1..%d" % len(results))
    for number, (name, passed) in enumerate(results, 1):
        print("%s %d - %s" % ("ok" if passed else "not ok", number, name))
    return 0 if all(passed for _, passed in results) else 1


if __name__ == "__main__":
    sys.exit(main())
