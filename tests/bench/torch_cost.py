# SPDX-License-Identifier: MIT
"""torch_cost.py adds MODE CHUNKS: CPU nanoseconds an operator in a loop of x + y on eight floats.

MODE none: the loop alone, also for whoever preloads something. plain, shapes: torch.profiler in
every second chunk, whose difference from the chunk before is what it adds. Prints one JSON line.

torch_cost.py mlp STEPS: training steps of a small net, for a recording.
"""

import json
import os
import statistics
import sys
import time

import torch

CHUNK = 20000


def adds():
    x, y = torch.ones(8), torch.ones(8)

    def run(count):
        for _ in range(count):
            x + y

    return run


def mlp():
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    inputs, labels = torch.randn(32, 64), torch.randint(0, 10, (32,))
    loss = torch.nn.CrossEntropyLoss()

    def run(count):
        for _ in range(count):
            optimizer.zero_grad()
            loss(net(inputs), labels).backward()
            optimizer.step()

    return run


def timed(run):
    """(CPU of the process, CPU of this thread), nanoseconds an operator."""
    process, thread = time.process_time_ns(), time.thread_time_ns()
    run(CHUNK)
    return (time.process_time_ns() - process) / CHUNK, (time.thread_time_ns() - thread) / CHUNK


def profiled(run, shapes):
    profiler = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=shapes
    )
    profiler.start()
    cost = timed(run)
    torch.autograd._disable_profiler()  # and not stop(), whose conversion is not part of the loop
    return cost


def measure(mode, chunks):
    run = adds()
    run(CHUNK)
    plain, other = [], []
    for _ in range(chunks):
        plain.append(timed(run))
        if mode != "none":
            other.append(profiled(run, mode == "shapes"))
    result = {
        "process_ns": statistics.median(process for process, _ in plain),
        "thread_ns": statistics.median(thread for _, thread in plain),
    }
    if other:
        result["added_ns"] = statistics.median(b[0] - a[0] for a, b in zip(plain, other))
    print(json.dumps(result), flush=True)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if sys.argv[1] == "mlp":
        mlp()(int(sys.argv[2]))
    else:
        measure(sys.argv[2], int(sys.argv[3]))
        if sys.argv[2] != "none":
            os._exit(0)


if __name__ == "__main__":
    main()
