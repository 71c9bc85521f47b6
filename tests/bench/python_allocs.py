# SPDX-License-Identifier: MIT
"""python_allocs.py TURNS: wall-clock nanoseconds a turn of a loop over dicts, lists, tuples, floats
and strings, most of which are dropped soon. Prints one JSON line. PYTHONMALLOC=malloc makes an
allocation of each."""

import json
import sys
import time

KEYS = 5003


def work(turns):
    table = {}
    for i in range(turns):
        table[i % KEYS] = [str(i), (i, i / 3), {"at": float(i)}]
        if i % 16 == 0:
            [x * 1.5 for x in range(20)]


def main():
    turns = int(sys.argv[1])
    work(KEYS)
    start = time.perf_counter_ns()
    work(turns)
    print(json.dumps({"ns": (time.perf_counter_ns() - start) / turns}))


if __name__ == "__main__":
    main()
