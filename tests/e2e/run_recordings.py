#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tpreport on recordings: whole ones, and ones cut or changed at any place. TAP on stdout.

usage: run_recordings.py TPREPORT MAKE_SAMPLE"""

import csv
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

PROGRAM, MAKE_SAMPLE = (os.path.abspath(word) for word in sys.argv[1:3])
SEED = int(os.environ.get("TEST_SEED", random.randrange(1 << 30)))


def run(*words, **more):
    more = {"capture_output": True, "text": True, "timeout": 60, **more}
    return subprocess.run([PROGRAM, *map(str, words)], **more)


def files_of(recording):
    files = (path for path in recording.rglob("*") if path.is_file())
    return sorted(path for path in files if path.name != "run.json")


def a_recording_becomes_the_table(recording):
    done = run(recording, "--sort-by=count")
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert lines[1].split()[0] == "Name" and "CPU Mem" in lines[1], lines[1]
    counts = {words[0]: words[-1] for words in (line.split() for line in lines[3:-2])}
    assert counts == {
        "ProfilerStep*": "220",
        "epoch": "220",
        "aten::add": "220",
        "aten::mm": "220",
        "AllReduce": "440",
    }, counts
    assert "died without an end line" in done.stderr, done.stderr


def streamed_and_listed_rows_agree(recording):
    averages = json.loads(run(recording, "--format=json").stdout)
    events = json.loads(run("events", recording, "--format=json").stdout)
    counts = {}
    for row in events["rows"]:
        counts[row["name"]] = counts.get(row["name"], 0) + 1
    assert {row["key"]: row["count"] for row in averages["rows"]} == counts, counts
    assert averages["recording"]["whole"] is True
    assert [process["state"] for process in averages["recording"]["processes"]] == [
        "ended",
        "died",
    ]
    total = json.loads(run("total", recording, "--format=json").stdout)["rows"][0]
    assert total["count"] == sum(counts.values()), total


def a_process_without_its_meta_is_told(recording):
    metas = sorted(recording.rglob("meta.jsonl"))
    metas[0].unlink()
    done = run(recording)
    assert done.returncode == 3 and "meta.jsonl" in done.stderr and done.stdout, done
    for meta in metas[1:]:
        meta.unlink()
    for words in ([], ["info"], ["trace"]):
        done = run(*words, recording)
        assert done.returncode == 1 and not done.stdout, done
        assert f"{metas[0].parent.name}/meta.jsonl: No such file" in done.stderr, done


def threads_keep_their_numbers(recording):
    rows = json.loads(run("events", recording, "--format=json").stdout)["rows"]
    threads = sorted({row["thread"] for row in rows})
    assert threads and 0 not in threads, threads
    for thread in threads:
        done = run("events", "--format=json", "--thread", thread, recording)
        mine = json.loads(done.stdout)["rows"]
        assert len(mine) == sum(row["thread"] == thread for row in rows), thread
    done = run("--thread=nobody", recording)
    assert f"there are threads {threads[0]}" in done.stderr, done.stderr
    done = run("--step=100000", recording)
    assert "no event is selected by --step 100000" in done.stderr, done.stderr
    assert "steps 0 to " in done.stderr, done.stderr


def events_are_read_back_unchanged(recording):
    def once(pairs):
        assert len(dict(pairs)) == len(pairs), [name for name, value in pairs]
        return dict(pairs)

    first = run("events", recording, "--format=json").stdout
    rows = json.loads(first, object_pairs_hook=once)["rows"]
    copy = recording.parent / "events.json"
    copy.write_text(first)
    again = run("events", copy, "--format=json")
    assert not again.stderr, again.stderr
    assert json.loads(again.stdout)["rows"] == rows
    copy.unlink()
    named = csv.DictReader(run("events", recording, "--format=csv").stdout.splitlines())
    for row, told in zip(rows, named, strict=True):
        for name in ("structured_input_shapes", "input_dtypes"):
            assert json.loads(told[name] or "null") == row[name], (name, row, told)
    assert any(row["structured_input_shapes"] for row in rows)


def info_and_check_find_it_whole(recording):
    done = run("info", recording)
    assert done.returncode == 0 and "whole       yes" in done.stdout and not done.stderr, done
    said = json.loads(run("info", recording, "--format=json").stdout)
    assert [p["program"] for p in said["processes"]] == ["train", "worker"], said
    assert said["processes"][1]["slots_from_rings"] > 0
    assert said["processes"][0]["kinds"]["op_begin"] == 3 * 140
    done = run("check", recording)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].endswith(": whole"), done


def processes_and_ranks_are_chosen(recording):
    for words, count in ((["--pid=4000"], 140), (["--rank=1"], 80), (["--thread=4101"], 40)):
        rows = json.loads(run(recording, *words, "--format=json").stdout)["rows"]
        assert rows[0]["count"] == count, (words, rows[0])
    rows = json.loads(run(recording, "--by=rank", "--format=json").stdout)["rows"]
    assert {row["node_id"] for row in rows} == {0, 1}, rows
    done = run(recording, "--pid=1")
    assert done.returncode == 1 and "none of 2 processes" in done.stderr, done
    assert str(recording) in done.stderr, done
    rows = json.loads(run(recording, "--step=3-4", "--format=json").stdout)["rows"]
    assert rows[0]["count"] == 8, rows[0]


def without_input_the_newest_is_found(recording):
    done = run(cwd=recording.parent, env={})
    assert done.returncode == 0 and "aten::add" in done.stdout, done
    done = run(cwd="/", env={"TPAGENT_OUT": str(recording.parent)})
    assert done.returncode == 0 and "aten::add" in done.stdout, done


def other_inputs_are_refused_by_info(recording):
    other = recording.parent / "events.json"
    other.write_text('{"events": []}')
    done = run("info", other)
    assert done.returncode == 1 and str(other) in done.stderr, done
    assert "a recording" in done.stderr, done


def examine(recording, path, what, must_notice):
    """A damaged recording: an answer, never a crash; the file is named where one is wrong."""
    done = run(recording)
    assert done.returncode in (0, 1, 3), (what, done)
    if done.returncode == 1:
        assert done.stderr.startswith("tpreport: "), (what, done)
    if done.returncode and must_notice:
        assert path.name in done.stderr, (what, done)
    checked = run("check", recording)
    assert checked.returncode in (0, 1, 3), (what, checked)
    if must_notice:
        assert checked.returncode in (1, 3), (what, checked)
        assert path.name in checked.stdout + checked.stderr, (what, checked)


def cut_at_every_97th_byte(recording):
    for path in files_of(recording):
        whole = path.read_bytes()
        killed = any(part.startswith("4100") for part in path.parts)
        for size in range(0, len(whole), 97 if len(whole) < 20000 else 97 * 13):
            path.write_bytes(whole[:size])
            must_notice = path.suffix == ".tpt" and not killed and size
            examine(recording, path, f"{path.name} cut at {size}", must_notice)
        path.write_bytes(whole)


def a_changed_bit_anywhere(recording):
    draw = random.Random(SEED)
    for path in files_of(recording):
        whole = path.read_bytes()
        for at in range(draw.randrange(61), len(whole), 61 if len(whole) < 20000 else 61 * 13):
            bit = 1 << draw.randrange(8)
            path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            what = f"{path.name} byte {at} ^ {bit}, TEST_SEED={SEED}"
            examine(recording, path, what, path.suffix == ".tpt")
        path.write_bytes(whole)


def missing_files_are_said(recording):
    for path in files_of(recording):
        whole = path.read_bytes()
        path.unlink()
        done = run(recording)
        assert done.returncode in (0, 1, 3), (path, done)
        if path.name == "names.tpn":
            assert done.returncode == 3 and "names.tpn" in done.stderr, done
        path.write_bytes(whole)
    empty = recording.parent / "empty"
    empty.mkdir()
    done = run(empty)
    assert done.returncode == 1 and "no recording" in done.stderr, done
    assert str(empty) in done.stderr, done


TESTS = [
    a_recording_becomes_the_table,
    streamed_and_listed_rows_agree,
    a_process_without_its_meta_is_told,
    threads_keep_their_numbers,
    events_are_read_back_unchanged,
    info_and_check_find_it_whole,
    processes_and_ranks_are_chosen,
    without_input_the_newest_is_found,
    other_inputs_are_refused_by_info,
    cut_at_every_97th_byte,
    a_changed_bit_anywhere,
    missing_files_are_said,
]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        sample = pathlib.Path(folder) / "sample"
        subprocess.run([MAKE_SAMPLE, sample], check=True)
        for number, test in enumerate(TESTS, 1):
            recording = pathlib.Path(folder) / str(number) / "run"
            shutil.copytree(sample, recording)
            try:
                test(recording)
                print(f"ok {number} - {test.__name__}", flush=True)
            except Exception as problem:
                failed += 1
                print(f"not ok {number} - {test.__name__}")
                print("# " + repr(problem)[:1500].replace("\n", "\n# "), flush=True)
    print(f"1..{len(TESTS)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
