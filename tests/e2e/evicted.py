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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../decoder"))
import tpsummary  # noqa: E402
import tptrace  # noqa: E402

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
    for row in json.loads(report(*words, "--format=json", expect=(0, 3)).stdout)["rows"]:
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


def words_of(record):
    """A record of the second decoder's as the words of its slots."""
    words = [0] * (4 * record.kind.slots)
    words[0] = record.kind.id << 56 | record.ticks & (1 << 56) - 1
    for column in record.kind.columns:
        words[column.word] |= record.values[column.name] << column.shift
    for name, word, shift in (
        ("alloc_calls", 1, 32),
        ("allocated_bytes", 2, 0),
        ("freed_bytes", 3, 0),
    ):
        words[word] |= record.values[name] << shift
    return tuple(words)


def second_decoder(recording, cut, what):
    """It reads the summary, too, and what is open there is what the first kept blocks say."""
    process = tptrace.Process(process_dir(recording))
    slots = {kind.id: kind.slots for kind in process.kinds.values()}
    summary = tpsummary.read(process.directory / "summary.tps", slots)
    assert summary.first_segment == cut + 1, (what, summary.first_segment)
    assert summary.totals["blocks"] == cut, (what, summary.totals)
    ranges = 0
    for row in summary.rows:
        assert sum(row.buckets.values()) == row.count, (what, row)
        ranges += row.count if process.kinds[row.record[0] >> 56].role == "begin" else 0
    assert ranges == summary.totals["ranges"], (what, ranges, summary.totals)
    open_ = {track.track: track for track in summary.tracks}
    seen = set()
    for path in sorted(process.directory.glob("*.tpt")):
        for _, block, opened, _, _ in process.blocks(path):
            if block.track in seen:
                continue
            seen.add(block.track)
            frames = []
            if block.track in open_:
                assert open_[block.track].next_slot == block.first_slot, (what, block)
                frames = [frame.record for frame in open_[block.track].frames]
            assert frames == [words_of(record) for record in opened], (what, block.track)


GROUPS = ([], ["--group-by-input-shapes"], ["--group-by-overload-name"])


KERNEL_SLACK = {
    "total_us": 0,
    "minimum_us": 0,
    "maximum_us": 0,
    "average_us": 0,
    "median_us": 1 / 100,
    "stddev_us": 1 / 50,
}


def kernels_of(*words):
    done = report("kernels", *words, "--format=json")
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}, done.stderr


def same_kernels(whole, cut, what):
    """Sums and extremes are exact to the clock's rounding, what lies between to the sketch's."""
    assert set(whole) == set(cut), (what, whole, cut)
    for name, row in whole.items():
        found = cut[name]
        assert row["count"] == found["count"], (what, row, found)
        for key, slack in KERNEL_SLACK.items():
            apart = abs(row[key] - found[key])
            rounding = 0.002 * (row["count"] if key == "total_us" else 1)
            assert apart <= slack * abs(row[key]) + rounding, (what, key, row, found)


def work_of_a_device(folder, seed):
    whole = folder / "whole" / "run"
    whole.parent.mkdir()
    subprocess.run([MAKE_RANDOM, str(seed), whole, "cuda"], check=True)
    expected, _ = kernels_of(whole)
    calls = sum(row["count"] for row in expected.values())
    rows = rows_of(whole)
    assert calls > 50, expected
    probe = folder / "probe" / "run"
    shutil.copytree(whole, probe)
    blocks = evict(probe, 0)
    for cut in range(2, blocks + 1, 3):
        recording = folder / str(cut) / "run"
        shutil.copytree(whole, recording)
        evict(recording, cut)
        what = f"seed {seed}, {cut} of {blocks} blocks"
        same_rows(rows, rows_of(recording), what)
        found, head = kernels_of(recording)
        same_kernels(expected, found, what)
        assert "known in sums only (running summary)" in head, head
        if cut == 2 + blocks // 6 * 3:
            kept, head = kernels_of("--kept-only", recording)
            assert sum(row["count"] for row in kept.values()) < calls, (what, kept)
            assert "not shown here" in head and "sums only" not in head, head
        shutil.rmtree(recording.parent)


DEVICE = ("device_time_total", "self_device_time_total")


SPREAD = ("time_min", "time_median", "time_p90", "time_p99", "time_max")


def same_spreads(whole, cut, what):
    """Extremes are exact to the clock's rounding, what lies between to the sketch's."""
    rounded = 0
    for key, row in whole.items():
        found = cut[key]
        if row["time_min"] is None:
            assert found["time_min"] is None, (what, key, row, found)
            continue
        assert row["time_is_exact"], (what, key, row)
        rounded += not found["time_is_exact"]
        for name in SPREAD:
            between = name not in ("time_min", "time_max") and not found["time_is_exact"]
            apart = abs(row[name] - found[name])
            assert apart <= 0.0021 + (row[name] / 100 if between else 0), (what, name, row, found)
        ordered = [found[name] for name in SPREAD]
        assert ordered == sorted(ordered), (what, key, found)
    return rounded


def without_launch(recording):
    (process,) = json.loads(report(recording, "--format=json", expect=(0, 3)).stdout)["recording"][
        "processes"
    ]
    return process["cuda"]["without_launch"], process["cuda"]["without_launch_ns"]


def credited(folder, seed):
    """Ranges have the device times of their calls, whichever of call and work was evicted."""
    whole = folder / "whole" / "run"
    whole.parent.mkdir()
    subprocess.run([MAKE_RANDOM, str(seed), whole, "calls"], check=True)
    expected = [rows_of(whole, *words) for words in GROUPS]
    credited_us = sum(row["device_time_total"] for row in expected[0].values())
    lost = without_launch(whole)
    spreads = rows_of(whole, "--percentiles")
    assert credited_us > 0 and lost[0] > 0, (credited_us, lost)
    probe = folder / "probe" / "run"
    shutil.copytree(whole, probe)
    blocks = evict(probe, 0)
    for cut in range(1 + seed % 2, blocks + 1, 2):
        recording = folder / str(cut) / "run"
        shutil.copytree(whole, recording)
        evict(recording, cut)
        what = f"seed {seed}, {cut} of {blocks} blocks"
        for rows, words in list(zip(expected, GROUPS))[: 1 if cut % 4 else None]:
            found = rows_of(recording, *words)
            same_rows(rows, found, what + str(words))
            for key, row in rows.items():
                for name in DEVICE:
                    assert row[name] == found[key][name], (what, key, name, row, found[key])
        if cut % 5 == 0:
            same_spreads(spreads, rows_of(recording, "--percentiles"), what)
        assert without_launch(recording) == lost, (what, without_launch(recording), lost)
        if cut % 7 == 0:
            second_decoder(recording, cut, what)
        shutil.rmtree(recording.parent)


def cut_everywhere(folder, seed):
    whole = folder / "whole" / "run"
    whole.parent.mkdir()
    subprocess.run([MAKE_RANDOM, str(seed), whole], check=True)
    expected = [rows_of(whole, *words) for words in GROUPS]
    assert sum(row["count"] for row in expected[0].values()) > 100, expected
    total = rows_of("total", whole)
    spreads = rows_of(whole, "--percentiles")
    for key, row in expected[0].items():
        assert {**row, **spreads[key]} == spreads[key], (key, row, spreads[key])
        assert not set(SPREAD) & set(row), row
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
        if cut % 5 == 0:
            rounded = same_spreads(spreads, rows_of(recording, "--percentiles"), what)
            assert rounded or cut < 10, what
        if cut % 8 == 0:
            second_decoder(recording, cut, what)
        if cut % 3 and cut != blocks:
            shutil.rmtree(recording.parent)
            continue
        done = report("check", recording)
        assert done.stdout.splitlines()[-1].endswith(": whole"), (what, done.stdout)
        assert "known in sums only (running summary)" in report(recording).stderr, what
        shutil.rmtree(recording.parent)


def make_whole(folder, seed):
    """A recording, and how many blocks it has."""
    whole, probe = (folder / name / "run" for name in ("whole", "probe"))
    whole.parent.mkdir()
    subprocess.run([MAKE_RANDOM, str(seed), whole], check=True)
    shutil.copytree(whole, probe)
    return whole, evict(probe, 0)


def older_summary(folder, seed):
    """What went after the summary was last written is evicted and in no total, not missing."""
    whole, blocks = make_whole(folder, seed)
    continued = 0
    for first in range(2, blocks - 1, 3):
        behind, ahead = (folder / f"{first}{which}" / "run" for which in "ab")
        for recording, cut in ((behind, first), (ahead, (first + blocks) // 2)):
            shutil.copytree(whole, recording)
            evict(recording, cut)
        summary = process_dir(behind) / "summary.tps"
        shutil.copy(summary, process_dir(ahead))
        with open(process_dir(ahead) / "meta.jsonl", "a") as meta:
            for segment in range(1, (first + blocks) // 2 + 1):
                meta.write(json.dumps({"t": "evict", "segment": segment}) + "\n")
        (process,) = json.loads(report("info", "--format=json", ahead, expect=(0, 3)).stdout)[
            "processes"
        ]
        assert process["missing_slots"] == 0, (seed, first, process)
        assert process["summary"]["missing_segments"] > 0, (seed, first, process)
        said = report("check", ahead, expect=(0, 3)).stdout
        assert "are missing" not in said, (seed, first, said)
        continued += process["summary"]["open_ranges"] > 0
    assert continued, blocks
    nothing_behind(folder, whole, blocks)


def evicted_while_it_is_read(folder, seed):
    """What is deleted when the reader has it open already is in totals, whoever says it is gone."""
    folder.mkdir()
    whole, blocks = make_whole(folder, seed)
    for first in range(2, blocks - 3, 9):
        recording = folder / f"read_{first}" / "run"
        shutil.copytree(whole, recording)
        evict(recording, first)
        table = report(recording, expect=(0, 3)).stdout
        with open(process_dir(recording) / "meta.jsonl", "a") as meta:
            for segment in range(1, first + 3):
                meta.write(json.dumps({"t": "evict", "segment": segment}) + "\n")
        (process,) = json.loads(report("info", "--format=json", recording, expect=(0, 3)).stdout)[
            "processes"
        ]
        assert process["summary"]["missing_segments"] == 0, (seed, first, process["summary"])
        assert report(recording, expect=(0, 3)).stdout == table, (seed, first)


def nothing_behind(folder, whole, blocks):
    """Whether a range has ended is in segments that went uncounted: it is not unfinished."""
    behind, ahead = (folder / f"all{which}" / "run" for which in "ab")
    for recording, cut in ((behind, blocks // 3), (ahead, blocks)):
        shutil.copytree(whole, recording)
        evict(recording, cut)
    shutil.copy(process_dir(behind) / "summary.tps", process_dir(ahead))
    said = json.loads(report(ahead, "--format=json", expect=(0, 3)).stdout)
    (process,) = said["recording"]["processes"]
    assert process["summary"]["open_ranges"] > 0, process
    kinds = {kind.name: kind for kind in tptrace.Process(process_dir(ahead)).kinds.values()}
    slots = {kind.id: kind.slots for kind in kinds.values()}
    halves = tpsummary.read(process_dir(ahead) / "summary.tps", slots).halves
    begun = sum(half.record[0] >> 56 == kinds["async_begin"].id for half in halves)
    # of start/end ranges alone, which may end on any thread, is nothing known
    assert process["cut_by_gap"] > 0 and process["unfinished"] == begun, (begun, process)


def main():
    t = tap.Tap()
    for seed in range(1, 5):
        with tempfile.TemporaryDirectory() as folder:
            t.check(
                f"seed {seed}: cut behind each block", cut_everywhere, pathlib.Path(folder), seed
            )
    for seed in (21, 22):
        with tempfile.TemporaryDirectory() as folder:
            t.check(f"seed {seed}: an older summary", older_summary, pathlib.Path(folder), seed)
            t.check(
                f"seed {seed}: evicted while it is read",
                evicted_while_it_is_read,
                pathlib.Path(folder, "read"),
                seed,
            )
    for seed in (11, 12):
        with tempfile.TemporaryDirectory() as folder:
            t.check(f"seed {seed}: work of a device", work_of_a_device, pathlib.Path(folder), seed)
    for seed in range(31, 34):
        with tempfile.TemporaryDirectory() as folder:
            t.check(f"seed {seed}: who called", credited, pathlib.Path(folder), seed)
    t.end()


if __name__ == "__main__":
    main()
