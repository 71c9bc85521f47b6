# SPDX-License-Identifier: MIT
"""launches.py LIBCUDART: kernels and device memory from Python by ctypes, among PyTorch's operators
on the CPU. Prints which operator was the innermost one around each, as JSON."""

import collections
import json
import sys
import threading

import by_ctypes
import torch
from torch.autograd.profiler import record_function

cuda = by_ctypes.Runtime(sys.argv[1])
done = {
    "kernels": collections.Counter(),
    "memory": collections.Counter(),
    "live": {},  # by address
    "bytes": collections.Counter(),
}


def launch(name, inside, times=1):
    for _ in range(times):
        cuda.launch(name)
        done["kernels"][f"{inside} {name}"] += 1


def count(what, size):
    done["bytes"][what] += size
    live = done["bytes"]["live"] = sum(block[1] for block in done["live"].values())
    done["bytes"]["peak"] = max(done["bytes"]["peak"], live)


def allocate(size, inside):
    address = cuda.allocate(size)
    done["memory"][inside] += size
    done["live"][address.value] = [inside, size]
    count("allocated", size)
    return address


def free(address, inside):
    cuda.free(address)
    _, size = done["live"].pop(address.value)
    done["memory"][inside] -= size
    count("freed", size)


library = torch.library.Library("sim", "DEF")
library.define("launch(Tensor x) -> Tensor")


def launch_operator(x):
    launch("_Z5scalePff", "sim::launch", 2)
    allocate(4096, "sim::launch")
    return x + 1


library.impl("launch", launch_operator, "CPU")


class Launched(torch.autograd.Function):
    """Its backward has an operator of its own, run by the engine."""

    @staticmethod
    def forward(context, x):
        launch("_Z5scalePff", "Launched")
        return x * 2

    @staticmethod
    def backward(context, gradient):
        launch("_Z3sumPKfPf", "LaunchedBackward", 3)
        return gradient * 2


def work_of_thread():
    with record_function("thread"):
        torch.ones(3) + 1
        launch("_Z3sumPKfPf", "thread", 4)
        with record_function("in the thread"):
            launch("_Z5scalePff", "in the thread")


def main():
    torch.set_num_threads(1)
    x = torch.ones(8, requires_grad=True)
    launch("_Z3sumPKfPf", "nothing")
    kept = allocate(100, "nothing")
    for _ in range(5):
        with record_function("step"):
            launch("_Z5scalePff", "step")
            block = allocate(1000, "step")
            with record_function("inner"):
                torch.ones(3) + 1
                launch("_Z3sumPKfPf", "inner")
                free(block, "inner")
            torch.mm(torch.ones(4, 4), torch.ones(4, 4))
            launch("_Z5scalePff", "step")
            torch.ops.sim.launch(torch.ones(2))
            Launched.apply(x).sum().backward()
    thread = threading.Thread(target=work_of_thread)
    thread.start()
    thread.join()
    free(kept, "nothing")
    cuda.synchronize()
    print(json.dumps(done))


if __name__ == "__main__":
    main()
