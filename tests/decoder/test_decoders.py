#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Both decoders must read the same from generated recordings, line by line.

    test_decoders.py LIST_RECORDING MAKE_RECORDING [SEED...]
    test_decoders.py --list PROCESS_DIR     what the second decoder reads, as list_recording prints
"""
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tptrace  # noqa: E402


def record_line(what, record):
    values = ["%s=%d" % value for value in record.values.items()]
    return " ".join([what, record.kind.name, str(record.ticks)] + values)


def names_lines(process):
    for ident, (kind, flags, name) in sorted(process.names.items()):
        yield "name %d kind %d flags %d %s." % (ident, kind, flags, name.hex())
    yield "names %d damaged %d" % (len(process.names) - 2, process.damaged_names)


def segment_lines(process, path):
    for at, block, opened, records, unknown in process.blocks(path):
        yield ("block %d track %d slots %d+%d ticks %d..%d lost %d flags %d records %d "
               "unknown %d") % (
            at, block.track, block.first_slot, block.slots, block.first_ticks, block.last_ticks,
            block.lost, block.flags & 2, len(records), unknown)
        yield from (record_line("open", record) for record in opened)
        yield from (record_line("record", record) for record in records)


def ring_lines(process, path):
    ring, records = process.ring(path)
    yield "ring %s track %d tid %d slots %d..%d dropped %d" % (
        path.name, ring.track, ring.tid, ring.tail, ring.head, ring.dropped)
    try:
        for record in records:
            yield record_line("record", record)
    except tptrace.Damage as damage:
        yield str(damage)


def lines(directory):
    process = tptrace.Process(directory)
    yield from names_lines(process)
    for path in sorted(process.directory.glob("*.tpt")):
        yield from segment_lines(process, path)
    for path in sorted(process.directory.glob("ring/*.tpr")):
        yield from ring_lines(process, path)


def compare(list_recording, directory):
    """Prints the first differences; returns the number of lines, or None where there are any."""
    listed = subprocess.run([list_recording, str(directory)], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False).stdout.decode()
    both = ("name ", "names ", "ring ", "open ", "record ", "damaged slot ")
    first = [line for line in listed.splitlines() if line.startswith(both) or "track" in line]
    second = list(lines(directory))
    if first == second:
        return len(first)
    for line in list(difflib.unified_diff(first, second, "C", "Python", lineterm="", n=1))[:20]:
        print("# " + line)
    return None


def main():
    if sys.argv[1] == "--list":
        print("\n".join(lines(sys.argv[2])))
        return 0
    list_recording, make_recording, *seeds = sys.argv[1:]
    seeds = seeds or ["1", "2", str(int(time.time()))]
    cases = [(seed, slots) for seed in seeds for slots in (4, 40, 700, 4096)]
    print("1..%d" % len(cases))
    failed = 0
    for number, (seed, slots) in enumerate(cases, 1):
        with tempfile.TemporaryDirectory() as scratch:
            recording = pathlib.Path(scratch) / "recording"
            subprocess.run([make_recording, str(recording), seed, str(slots)], check=True)
            directory = next(recording.glob("*/*/meta.jsonl")).parent
            count = compare(list_recording, directory)
            failed += count is None
            print("%s %d - decoders agree on seed %s, %d slots a block # %s lines" % (
                "not ok" if count is None else "ok", number, seed, slots, count))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
