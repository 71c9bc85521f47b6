# SPDX-License-Identifier: MIT
"""event_list.py FILE: the reference's own EventList over the events that tpreport wrote as JSON.

Prints the CPU nanoseconds an event for the tree, key_averages() and table(); making the objects is
not counted.
"""

import json
import sys
import time

from torch.autograd.profiler_util import EventList, FunctionEvent


def event_list(rows):
    events = EventList(use_cuda=False, profile_memory=True, with_flops=False)
    for number, row in enumerate(rows):
        events.append(
            FunctionEvent(
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
        )
    return events


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = json.load(file)
    if isinstance(rows, dict):
        rows = rows.get("events") or rows["rows"]
    events = event_list(rows)
    start = time.process_time_ns()
    events._build_tree()
    text = events.key_averages().table(sort_by="cpu_time_total", row_limit=100)
    cost = time.process_time_ns() - start
    print(json.dumps({"events": len(rows), "ns": cost / len(rows), "lines": text.count("\n")}))


if __name__ == "__main__":
    main()
