# SPDX-License-Identifier: MIT
"""tally.py [--also-failed N] DIRECTORY...: count the subtests that `meson test` left there.

Prints each failure, then one line alone: "N passed, N failed, N skipped". Exit status 1 when
something failed or nothing ran.
"""

import glob
import json
import os
import sys
import xml.etree.ElementTree as xml

GOOD = {"OK", "EXPECTEDFAIL"}


def subtests(log):
    """Name -> verdicts of the subtests of one testlog."""
    found = {}
    for suite in xml.parse(log[: -len(".json")] + ".junit.xml").getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            verdict = "passed"
            if case.find("skipped") is not None:
                verdict = "skipped"
            elif case.find("failure") is not None or case.find("error") is not None:
                verdict = "failed"
            found.setdefault(suite.get("name"), []).append((case.get("name"), verdict))
    return found


def count(log, build):
    """(passed, failed, skipped) of one testlog; prints what failed."""
    passed = failed = skipped = 0
    details = subtests(log)
    with open(log, encoding="utf-8", errors="replace") as file:
        tests = [json.loads(line) for line in file if line.strip()]
    for test in tests:
        name = test["name"].split(" / ")[-1]
        cases = details.get("tpagent." + test["name"], [])
        bad = [case for case, verdict in cases if verdict == "failed"]
        passed += sum(verdict == "passed" for _, verdict in cases)
        skipped += sum(verdict == "skipped" for _, verdict in cases)
        failed += len(bad)
        for case in bad:
            print(f"failed: {build}: {name}: {case}")
        if cases and test["result"] in GOOD | {"SKIP"} or bad:
            continue
        if test["result"] in GOOD:
            passed += 1
        elif test["result"] == "SKIP":
            skipped += 1
        else:
            failed += 1
            print(f"failed: {build}: {name}: {test['result']}")
    return passed, failed, skipped


def main(directories):
    total = [0, 0, 0]
    if directories[:1] == ["--also-failed"]:
        total[1] = int(directories[1])
        directories = directories[2:]
    for build in directories:
        for log in sorted(glob.glob(os.path.join(build, "meson-logs", "testlog*.json"))):
            total = [a + b for a, b in zip(total, count(log, os.path.basename(build)))]
    print(f"{total[0]} passed, {total[1]} failed" + (f", {total[2]} skipped" if total[2] else ""))
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
