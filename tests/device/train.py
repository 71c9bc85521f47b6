# SPDX-License-Identifier: MIT
"""train.py MODEL STEPS [OPTION]...: training steps for comparing profilers.

MODEL is resnet or transformer. The same kernels each time: fixed seeds, no search for algorithms.
--profile: torch.profiler around everything, from before the first tensor. --simulated LIBCUDART:
tensors on the CPU, and a kernel of the simulation at each module's forward. Prints one JSON line.
"""

import argparse
import contextlib
import json
import os
import sys
import time

import torch
from torch import nn


class Block(nn.Module):
    """Two convolutions around a shortcut, as in residual nets."""

    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return torch.relu(x + self.body(x))


def resnet():
    net = nn.Sequential(
        nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        *[Block(64) for _ in range(8)],
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 100),
    )
    return net, torch.randn(32, 3, 64, 64)


def transformer():
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    net = nn.Sequential(nn.TransformerEncoder(layer, 4), nn.Flatten(), nn.Linear(64 * 256, 100))
    return net, torch.randn(16, 64, 256)


def train(arguments):
    net, inputs = {"resnet": resnet, "transformer": transformer}[arguments.model]()
    net, inputs = net.to(arguments.device), inputs.to(arguments.device)
    launched = launch_at_modules(net, arguments.simulated) if arguments.simulated else None
    labels = torch.randint(0, 100, (len(inputs),)).to(arguments.device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss = nn.CrossEntropyLoss()
    loader = torch.utils.data.DataLoader(range(arguments.steps), num_workers=arguments.workers)
    begin = None
    for step, _ in enumerate(loader):
        if step == arguments.steps // 4:
            wait(arguments.device)
            begin = time.perf_counter()
        optimizer.zero_grad()
        value = loss(net(inputs), labels)
        value.backward()
        optimizer.step()
    wait(arguments.device)
    return {"loss": value.item(), "wall_s": time.perf_counter() - begin, "launched": launched}


def launch_at_modules(net, library):
    """Counts in a list of one."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/cuda"))
    import by_ctypes

    cuda, launched = by_ctypes.Runtime(library), [0]

    def launch(*_):
        cuda.launch("_Z7forwardv")
        launched[0] += 1

    for module in net.modules():
        module.register_forward_pre_hook(launch)
    return launched


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


NO_KERNELS = ("Memcpy", "Memset", "Context Sync", "Stream ", "Event ", "Lazy ", "Command ")


def length_ns(event):
    return event.duration_ns() if hasattr(event, "duration_ns") else event.duration_us() * 1000


def kernels_of(profiler):
    """Durations in ns of the kernels that the profiler saw: neither copies, memsets nor waits."""
    on_device = [
        event
        for event in profiler.profiler.kineto_results.events()
        if event.device_type() == torch.autograd.DeviceType.CUDA
    ]
    return [
        length_ns(event)
        for event in on_device
        if not event.name().startswith(NO_KERNELS)
        and not (hasattr(event, "is_user_annotation") and event.is_user_annotation())
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=("resnet", "transformer"))
    parser.add_argument("steps", type=int)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--simulated", metavar="LIBCUDART")
    arguments = parser.parse_args()
    if arguments.simulated:
        arguments.device = "cpu"
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    profiler = torch.profiler.profile() if arguments.profile else contextlib.nullcontext()
    with profiler:
        result = train(arguments)
    if arguments.profile:
        durations = kernels_of(profiler)
        if arguments.simulated:  # what torch.profiler cannot see; a kernel takes 10 us there
            durations = [10000] * result["launched"][0]
        result.update(kernels=len(durations), device_ns=sum(durations))
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
