# SPDX-License-Identifier: MIT
"""event_list.py FILE: the reference's own EventList over the events that tpreport wrote as JSON, a
line each; - is standard input.

Prints the CPU nanoseconds an event for the tree, key_averages() and table(), and those for making
the objects; reading the file is not counted.
"""

import json
import sys
import time

from torch.autograd.profiler_util import EventList, FunctionEvent


def read_events(file):
    """One event at a time: a million as dictionaries would not fit."""
    for line in file:
        line = line.strip().rstrip(",")
        if line.startswith("{") and '"start_us"' in line:
            yield json.loads(line)


def make_event(number, row):
    return FunctionEvent(
        id=number,
        name=row["name"],
        trace_name=row["name"],
        thread=row["thread"],
        start_us=row["start_us"],
        end_us=row["end_us"],
        input_shapes=row.get("input_shapes") or [],
        stack=[],
        cpu_memory_usage=row.get("cpu_memory_usage", 0),
    )


def main():
    events = EventList(use_cuda=False, profile_memory=True, with_flops=False)
    made = 0
    file = sys.stdin if sys.argv[1] == "-" else open(sys.argv[1], encoding="utf-8")
    for number, row in enumerate(read_events(file)):
        start = time.process_time_ns()
        events.append(make_event(number, row))
        made += time.process_time_ns() - start
    start = time.process_time_ns()
    events._build_tree()
    count = len(events)
    text = events.key_averages().table(sort_by="cpu_time_total", row_limit=100)
    cost = time.process_time_ns() - start
    answer = {"events": count, "ns": cost / count, "make_ns": made / count}
    print(json.dumps({**answer, "lines": text.count("\n")}))


if __name__ == "__main__":
    main()
