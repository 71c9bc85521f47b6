# SPDX-License-Identifier: MIT
"""leave.py HOW [--simulated LIBCUDART]: 50 kernels from Python, then the end: by sys.exit,
os._exit, term (SIGTERM) or abort. Prints one JSON line before it."""

import json
import os
import signal
import sys
import time

KERNELS = 50


def on_a_device():
    import torch

    x = torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    for _ in range(KERNELS - 1):  # the zeros are one
        x.add_(1)
    torch.cuda.synchronize()


def on_the_simulation(path):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/cuda"))
    import by_ctypes

    cuda = by_ctypes.Runtime(path)
    for _ in range(KERNELS):
        cuda.launch("_Z7nothingv")
    cuda.synchronize()


def main():
    how = sys.argv[1]
    if len(sys.argv) > 2:
        on_the_simulation(sys.argv[3])
    else:
        on_a_device()
    print(json.dumps({"kernels": KERNELS}), flush=True)
    if how == "sys.exit":
        sys.exit(7)
    if how == "os._exit":
        os._exit(7)
    time.sleep(2.5)  # what CUPTI has not handed over by then may be lost
    if how == "term":
        os.kill(os.getpid(), signal.SIGTERM)
    os.abort()


if __name__ == "__main__":
    main()
