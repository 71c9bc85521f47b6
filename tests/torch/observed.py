# SPDX-License-Identifier: MIT
"""Operator by operator: what the agent records against what a C++ observer sees.

The observer is a second callback of the same torch, built against its headers; both write down
every operator of tests/torch/workload.py, and after calibration the two must be equal in every
field, per process and thread. Names of ranges come out as the program gave them.
"""

import collections
import glob
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("TPAGENT_TEST_PYTHON") or os.environ.get("PYTHON", "/usr/bin/python3")
DUMP = os.environ["DUMP"]
MARK = "observer on"
FIELDS = ("name", "overload", "sequence", "forward thread", "scope", "shapes", "inputs")


def build_observer(folder):
    if tap.run([PYTHON, "-c", "import torch"], tap.clean_environment()).returncode:
        raise tap.Skip("no torch for " + PYTHON)
    if not shutil.which("g++"):
        raise tap.Skip("no g++")
    library = os.path.join(folder, "observer.so")
    script = os.path.join(HERE, "..", "observer", "build.sh")
    done = tap.run(["sh", script, PYTHON, library], tap.clean_environment(), timeout=600)
    if done.returncode:
        if b"record_function.h" in done.stderr or b"StopIteration" in done.stderr:
            raise tap.Skip("no headers of torch for " + PYTHON)
        raise AssertionError(done.stderr.decode()[-2000:])
    return library


def after_mark(rows):
    marks = [i for i, row in enumerate(rows) if row[1] == MARK]
    return rows[marks[0] :] if marks else rows


def seen_by_observer(prefix):
    threads = collections.OrderedDict()
    for path in glob.glob(prefix + ".*"):
        pid = path.rsplit(".", 1)[1]
        with open(path, encoding="utf-8", errors="replace") as file:
            rows = [line.rstrip("\n").split("\t")[1:] for line in file if line.startswith("B\t")]
        for row in after_mark(rows):
            threads.setdefault((pid, row[0]), []).append(tuple(row[1:]))
    return threads


def fields_of(record):
    return (
        str(record["framework_thread"]),
        record["operator"],
        record["name"],
        str(record["sequence_nr"]),
        str(record["forward_thread"]),
        str(record["scope"]),
        record["shapes"] or "-",
        record["inputs"] or "-",
        record["flags"],
    )


def recorded(out):
    done = tap.run([DUMP, "--json", out], tap.clean_environment(), timeout=600)
    tap.equal(done.returncode, 0, "dump_recording")
    processes = collections.OrderedDict()
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        if line.startswith("{"):
            record = json.loads(line)
            if record.get("kind") == "op_begin":
                processes.setdefault(record["process"], []).append((record["ticks"], record))
    threads, flagged = collections.OrderedDict(), 0
    for process, records in processes.items():
        pid = os.path.basename(process).split("-")[0]
        records.sort(key=lambda pair: pair[0])
        for row in after_mark([fields_of(record) for _, record in records]):
            flagged += row[-1] != 0
            threads.setdefault((pid, row[0]), []).append(row[1:-1])
    return threads, flagged


class Comparison:
    def __init__(self):
        self.wrong = collections.Counter()
        self.examples = {}

    def differs(self, what, ours, theirs):
        self.wrong[what] += 1
        self.examples.setdefault(what, f"{ours} / {theirs}")

    def text(self):
        return "; ".join(
            f"{n} x {what}: {self.examples[what]}" for what, n in self.wrong.most_common(10)
        )


def compare(ours, theirs):
    result = Comparison()
    for key in sorted(set(ours) | set(theirs)):
        a, b = ours.get(key, []), theirs.get(key, [])
        if len(a) != len(b):
            result.differs(f"operators of pid {key[0]} thread {key[1]}", len(a), len(b))
        for x, y in zip(a, b):
            for field, mine, other in zip(FIELDS, x, y):
                if mine != other:
                    result.differs((field, y[0]), mine, other)
    return result


def all_equal():
    with tap.folder() as folder:
        observer = build_observer(folder)
        out, prefix = os.path.join(folder, "out"), os.path.join(folder, "observer")
        command = [PYTHON, "-W", "ignore", os.path.join(HERE, "workload.py"), observer, prefix]
        environment = tap.recorded_environment(out, TPAGENT_SHAPES="all", TPAGENT_WHEN_FULL="wait")
        done = tap.run(command, environment, timeout=900)
        tap.equal(done.returncode, 0, "workload: " + done.stderr.decode()[-2000:])
        for line in done.stdout.decode().splitlines():
            print("# left out:", line)
        ours, flagged = recorded(out)
        theirs = seen_by_observer(prefix)
        operators = sum(len(rows) for rows in theirs.values())
        names = {row[0] for rows in theirs.values() for row in rows}
        print(
            f"# {operators} operators, {len(names)} names, {len(theirs)} threads, {flagged} flagged"
        )
        result = compare(ours, theirs)
        tap.equal(result.text(), "", "differences")
        tap.equal(flagged, 0, "operators without details after calibration")
        assert operators > 500, operators


# A name of each length around what fits where it is looked for, and of characters that are signs
# to somebody.
NAMES = [
    *("n" * length for length in (15, 16, 17, 700, 768, 1023, 1024, 10240)),
    "quo\"te's",
    "tab\there",
    "line\nbreak",
    "control \x01 \x7f",
    "semi;colon",
    "back\\slash",
    "é 中 \U0001f600",
    "</script>",
    "%s%n",
    "a,b",
]
NAMED = """
import json, sys, torch
for name in json.loads(sys.argv[1]):
    with torch.autograd.profiler.record_function(name):
        torch.ones(1)
"""


def names_are_whole():
    if tap.run([PYTHON, "-c", "import torch"], tap.clean_environment()).returncode:
        raise tap.Skip("no torch for " + PYTHON)
    with tap.folder() as out:
        command = [PYTHON, "-W", "ignore", "-c", NAMED, json.dumps(NAMES)]
        done = tap.run(command, tap.recorded_environment(out))
        tap.equal((done.returncode, done.stderr), (0, b""), "the program")
        done = tap.run([tap.TPREPORT, "--format=json", out], tap.clean_environment())
        tap.equal(done.returncode, 0, done.stderr)
        told = {row["key"] for row in json.loads(done.stdout)["rows"]}
        missing = [(len(name), name[:20]) for name in NAMES if name not in told]
        tap.equal(missing, [], "names that are not told")


def main():
    t = tap.Tap()
    t.check("every operator after calibration is equal in every field", all_equal)
    t.check("long and odd names of ranges are told as they are", names_are_whole)
    t.end()


if __name__ == "__main__":
    main()
