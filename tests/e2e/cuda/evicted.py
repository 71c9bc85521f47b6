# SPDX-License-Identifier: MIT
"""Work of a device whose records were evicted is credited to the ranges that launched it, as if
nothing had been: by several threads, on several streams, by graphs, and in any order of records.
"""

import glob
import json
import os
import shutil
import subprocess

from recorded import Recording, program, tap

EVICT = os.environ["EVICT"]
STEPS = 1500  # of each of two threads
SCALE, SUM, SET = 5.0, 0.7, 1.064  # us
ONE = {  # of one step: calls, own and all device time
    "forward": (2, 2 * SCALE + SUM, 3 * SCALE + SUM),
    "replay": (1, SCALE + SUM, SCALE + SUM),
    "step": (1, SET, 3 * SCALE + 2 * SUM + SET),
}
SETTINGS = {"TPAGENT_WHEN_FULL": "wait", "TPAGENT_RING": "64k"}


def record(out, count, **variables):
    command = [program("cuda_more"), "train", str(count)]
    return Recording(out, command, **{**SETTINGS, **variables})


def rows_of(recording, *words):
    report = json.loads(recording.text(*words, "--format=json"))
    rows = {row["key"]: row for row in report["rows"] if row["device_type"] == "CPU"}
    return rows, report["recording"]["processes"][0]


def device_times(rows):
    return {
        key: (row["count"], row["self_device_time_total"], row["device_time_total"])
        for key, row in rows.items()
        if row["device_time_total"]
    }


def as_the_program_says(rows, steps):
    """The times of the script, to the nanosecond."""
    for name, (calls, own, total) in ONE.items():
        row = rows[name]
        tap.equal(row["count"], steps * calls, f"{name}: count")
        tap.equal(round(row["self_device_time_total"], 3), round(steps * own, 3), f"{name}: own")
        tap.equal(round(row["device_time_total"], 3), round(steps * total, 3), f"{name}: all")
    train = rows["train"]
    expected = round(steps * ONE["step"][2], 3)
    tap.equal((train["count"], train["self_device_time_total"]), (2, 0), "around the steps")
    tap.equal(round(train["device_time_total"], 3), expected, "around the steps: all")


def evict(path, blocks):
    (process,) = glob.glob(os.path.join(path, "*/*/meta.jsonl"))
    command = [EVICT, str(blocks), os.path.dirname(process)]
    return int(subprocess.run(command, capture_output=True, check=True).stdout)


def cut_in(recording, folder, part):
    """A copy, of whose blocks the first are evicted."""
    whole, probe = recording.path, os.path.join(folder, "probe")
    shutil.copytree(whole, probe)
    blocks = evict(probe, 0)
    shutil.rmtree(probe)
    recording.path = os.path.join(folder, "cut")
    shutil.copytree(whole, recording.path)
    evict(recording.path, max(1, int(blocks * part)))
    rows, process = rows_of(recording)
    shutil.rmtree(recording.path)
    recording.path = whole
    return rows, process


def credited(**variables):
    with tap.folder() as out, tap.folder() as copies:
        recording = record(out, STEPS, **variables)
        whole, process = rows_of(recording)
        tap.equal(process["evicted_slots"], 0, "evicted")
        as_the_program_says(whole, 2 * STEPS)
        for part in (0.1, 0.3, 0.5, 0.7, 0.9, 1):
            rows, process = cut_in(recording, copies, part)
            assert process["evicted_slots"] or process["summary"]["slots"], (part, process)
            tap.equal(device_times(rows), device_times(whole), f"{part} evicted")
            tap.equal(process["cuda"]["without_launch"], 0, f"{part} evicted: without a launch")
        assert "CUDA calls that were evicted count" in recording.said, recording.said


def two_threads():
    credited()


def whole_graphs():
    credited(TPAGENT_CUDA_GRAPHS="graph")


def in_any_order():
    for order in ("device", "late", "shuffle"):
        credited(SIMCUDA_ORDER=order)


def of_two_ids():
    """The call of the driver inside of the runtime's has an id of its own."""
    for nested in ("runtime", "driver"):
        credited(SIMCUDA_NESTED=nested)


def by_the_agent():
    """It evicts while the program runs; what it does not credit it counts."""
    steps = 60000
    with tap.folder() as out:
        recording = record(out, steps, TPAGENT_MAX_SIZE="1m")
        rows, process = rows_of(recording)
        evicted, kept = process["evicted_slots"], process["records"]
        assert evicted > kept, (evicted, kept)
        lost_us = process["cuda"]["without_launch_ns"] / 1000
        print(f"# {evicted} slots evicted, {kept} records kept, {lost_us} us without a launch")
        own = sum(row["self_device_time_total"] for row in rows.values())
        expected = 2 * steps * ONE["step"][2]
        assert abs(own + lost_us - expected) < 1e-3 * expected, (own, lost_us, expected)
        assert lost_us < 1e-3 * expected, (lost_us, expected)
        kept_rows, _ = rows_of(recording, "--kept-only")
        assert device_times(kept_rows).get("step", (0, 0, 0))[2] < 0.7 * expected, kept_rows


def main():
    t = tap.Tap()
    t.check("two threads, four streams, a graph", two_threads)
    t.check("a record for each graph", whole_graphs)
    t.check("records in any order", in_any_order)
    t.check("two ids for a call", of_two_ids)
    t.check("by the agent", by_the_agent)
    t.end()


if __name__ == "__main__":
    main()
