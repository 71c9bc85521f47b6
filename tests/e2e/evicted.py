#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of a recording whose first blocks were evicted, with the running summary, is the table
of the whole one, wherever the cut. TAP on stdout.

usage: evicted.py TPREPORT MAKE_RANDOM EVICT_RECORDING"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tap

PROGRAM, MAKE_RANDOM, EVICT = (os.path.abspath(word) for word in sys.argv[1:4])
EXACT = (
    "count",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "device_memory_usage",
    "self_device_memory_usage",
    "scope",
    "is_async",
    "is_user_annotation",
)
GROUP = ("key", "input_shapes", "overload_name", "device_type", "is_async", "is_user_annotation")
CLOSE = ("cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total")


def report(*words, expect=(0,)):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode in expect, done
    return done


def rows_of(*words):
    """Rows by what makes a group, each what must be equal and what may be rounded."""
    rows = {}
    for row in json.loads(report(*words, "--format=json").stdout)["rows"]:
        key = json.dumps([row.get(name) for name in GROUP])
        assert key not in rows, key
        rows[key] = row
    return rows


def same_rows(whole, cut, what):
    assert list(whole) == list(cut), (what, "order", list(whole), list(cut))
    for key, row in whole.items():
        for name in EXACT:
            assert row.get(name) == cut[key].get(name), (what, key, name, row, cut[key])
        for name in CLOSE:
            expected, found = row.get(name), cut[key].get(name)
            if expected is None:
                assert found is None, (what, key, name)
                continue
            # a nanosecond a range: times are summed in ticks and then converted
            slack = 1e-3 * (2 * row["count"] + 4)
            assert abs(expected - found) <= slack, (what, key, name, expected, found)


def process_dir(recording):
    return next(recording.glob("*/*/meta.jsonl")).parent


def evict(recording, blocks):
    done = subprocess.run([EVICT, str(blocks), process_dir(recording)], capture_output=True)
    assert not done.returncode, done
    return int(done.stdout)


GROUPS = ([], ["--group-by-input-shapes"], ["--group-by-overload-name"])


def cut_everywhere(folder, seed):
    whole = folder / "whole" / "run"
    whole.parent.mkdir()
    subprocess.run([MAKE_RANDOM, str(seed), whole], check=True)
    expected = [rows_of(whole, *words) for words in GROUPS]
    assert sum(row["count"] for row in expected[0].values()) > 100, expected
    total = rows_of("total", whole)
    probe = folder / "probe" / "run"
    shutil.copytree(whole, probe)
    blocks = evict(probe, 0)
    for cut in range(1, blocks + 1):
        recording = folder / str(cut) / "run"
        shutil.copytree(whole, recording)
        evict(recording, cut)
        what = f"seed {seed}, {cut} of {blocks} blocks"
        for rows, words in list(zip(expected, GROUPS))[: 1 if cut % 4 else None]:
            same_rows(rows, rows_of(recording, *words), what + str(words))
        same_rows(total, rows_of("total", recording), what + " total")
        done = report("check", recording)
        assert done.stdout.splitlines()[-1].endswith(": whole"), (what, done.stdout)
        assert "known in sums only (running summary)" in report(recording).stderr, what
        shutil.rmtree(recording.parent)


def main():
    t = tap.Tap()
    for seed in range(1, 7):
        with tempfile.TemporaryDirectory() as folder:
            t.check(
                f"seed {seed}: cut behind each block", cut_everywhere, pathlib.Path(folder), seed
            )
    t.end()


if __name__ == "__main__":
    main()
