# SPDX-License-Identifier: MIT
"""torch_cost.py adds MODE CHUNKS: CPU nanoseconds an operator in a loop of x + y on eight floats.

Every second chunk is observed. MODE plain, shapes: by torch.profiler. agent: by what is preloaded,
which in the other chunks is kept from seeing operators. none: not at all. The chunks are short and
their lowest quarter counts, so that neighbours on the machine matter little. Prints one JSON line:
what the loop costs its thread, what observing adds to it, and, for agent, what other threads of the
process do for it.

torch_cost.py mlp STEPS: training steps of a small net, for a recording.
"""

import json
import os
import sys
import time

import torch

CHUNK = 2000
WARM = 200
LONG = 200000


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
    run(WARM)
    start = time.thread_time_ns()
    run(CHUNK)
    return (time.thread_time_ns() - start) / CHUNK


def observed(run, mode):
    if mode == "agent":
        torch.autograd._enable_record_function(True)
        cost = timed(run)
        torch.autograd._enable_record_function(False)
        time.sleep(0.001)  # the drain's turn
        return cost
    profiler = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=mode == "shapes"
    )
    profiler.start()
    cost = timed(run)
    torch.autograd._disable_profiler()  # and not stop(), whose conversion is not part of the loop
    return cost


def other_threads(run):
    """CPU nanoseconds an operator that the other threads of the process spend meanwhile."""
    torch.autograd._enable_record_function(True)
    process, thread = time.process_time_ns(), time.thread_time_ns()
    run(LONG)
    time.sleep(0.1)
    return (time.process_time_ns() - process - time.thread_time_ns() + thread) / LONG


def low_quarter(values):
    return sorted(values)[len(values) // 4]


def measure(mode, chunks):
    run = adds()
    run(CHUNK)
    if mode == "agent":
        torch.autograd._enable_record_function(False)
    plain, other = [], []
    for _ in range(chunks):
        plain.append(timed(run))
        if mode != "none":
            other.append(observed(run, mode))
    result = {"loop_ns": low_quarter(plain)}
    if other:
        result["added_ns"] = low_quarter(other) - low_quarter(plain)
    if mode == "agent":
        result["others_ns"] = other_threads(run)
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
