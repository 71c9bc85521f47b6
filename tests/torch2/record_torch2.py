#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Five training loops under torch.profiler: traces and the tables that torch itself prints of them.
usage: record_torch2.py FOLDER (in an interpreter that has torch 2.x)"""

import json
import pathlib
import sys

import torch
from torch import nn
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, record_function, schedule

STEPS = 3


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.head = nn.LSTM(12, 16, 2), nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.cells(x)[0])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)

    def forward(self, x):
        with record_function("## attention ##"):
            return self.layer(self.words(x))


class Products(nn.Module):
    """bmm, baddbmm, addmm, mul, add: operators that have FLOPs, and in-place and scalar ones."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Parameter(torch.randn(4, 5, 6)), nn.Parameter(
            torch.randn(4, 6, 7)
        )
        self.bias = nn.Parameter(torch.randn(4, 5, 7))

    def forward(self, x):
        y = torch.baddbmm(self.bias, self.left, self.right) * x + torch.bmm(self.left, self.right)
        return torch.cat([y, y.mul(2).add_(1)]).sum(0)


MODELS = {
    "mlp": lambda: (
        nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10)),
        torch.randn(16, 20),
    ),
    "cnn": lambda: (
        nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, groups=2, padding="same"),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 4),
        ),
        torch.randn(4, 3, 16, 16),
    ),
    "lstm": lambda: (Sequence(), torch.randn(7, 5, 12)),
    "transformer": lambda: (Attention(), torch.randint(0, 50, (4, 9))),
    "products": lambda: (Products(), torch.randn(4, 5, 7)),
}
OPTIMIZERS = {
    "mlp": torch.optim.SGD,
    "cnn": torch.optim.Adam,
    "lstm": torch.optim.AdamW,
    "transformer": torch.optim.Adam,
    "products": torch.optim.SGD,
}
RECORDINGS = {
    "plain": {},
    "python": {"with_stack": True},
    "overload": {"experimental_config": _ExperimentalConfig(capture_overload_names=True)},
    "stack": {"with_stack": True, "experimental_config": _ExperimentalConfig(verbose=True)},
}
# Arguments of key_averages and of table for each recording; the file names say the same.
TABLES = {
    "none": ({}, {"row_limit": -1}),
    "sorted": ({}, {"sort_by": "self_cpu_time_total", "row_limit": 15}),
    "memory": ({}, {"sort_by": "self_cpu_memory_usage", "row_limit": -1}),
    "shapes": ({"group_by_input_shape": True}, {"row_limit": -1}),
    "overload": ({"group_by_overload_name": True}, {"row_limit": -1}),
    "python": ({"include_python_functions": True}, {"row_limit": -1}),
    "stack-3": ({"group_by_stack_n": 3}, {"row_limit": -1}),
    "stack-all": (
        {"group_by_stack_n": 1000, "group_by_input_shape": True},
        {"row_limit": -1, "max_src_column_width": 40},
    ),
}


def train(name, options):
    torch.manual_seed(0)
    model, x = MODELS[name]()
    optimizer = OPTIMIZERS[name](model.parameters(), lr=0.01)
    with profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,
        profile_memory=True,
        with_flops=True,
        schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        **options,
    ) as profiler:
        for _ in range(STEPS + 1):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            profiler.step()
    return profiler


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in MODELS:
        for recording, options in RECORDINGS.items():
            profiler = train(name, options)
            place = folder / f"{name}-{recording}"
            place.mkdir()
            profiler.export_chrome_trace(
                str(place / "trace.json.gz" if recording == "python" else place / "trace.json")
            )
            for table, (groups, arguments) in TABLES.items():
                if "stack" in table and recording != "stack":
                    continue
                (place / f"{table}.txt").write_text(
                    profiler.key_averages(**groups).table(**arguments)
                )
            (place / "events.txt").write_text(
                profiler.events().table(row_limit=-1, top_level_events_only=True)
            )
            if recording == "stack":
                profiler.export_stacks(str(place / "stacks.txt"), "self_cpu_time_total")
    (folder / "meta.json").write_text(json.dumps({"torch": torch.__version__, "tables": TABLES}))


main()
