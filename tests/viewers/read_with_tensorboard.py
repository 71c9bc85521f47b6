# SPDX-License-Identifier: MIT
"""What TensorBoard's profiler plugin makes of traces, as JSON on stdout.
usage: read_with_tensorboard.py TRACE..."""

import json
import os
import shutil
import sys
import tempfile

from torch_tb_profiler.profiler.data import RunProfileData


def read(path):
    ending = ".json.gz" if path.endswith(".gz") else ".json"
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "worker.1700000000000.pt.trace" + ending)
        shutil.copy(path, copy)
        data = RunProfileData.parse("worker", 0, copy, None)
        data.process()
    kernels = {}
    if data.kernel_stat is not None:
        kernels = {str(k): int(row["count"]) for k, row in data.kernel_stat.iterrows()}
    return {
        "events": len(data.events),
        "operators": {op.name: op.calls for op in data.op_list_groupby_name or []},
        "kernels": kernels,
    }


out, sys.stdout = sys.stdout, sys.stderr
result = [read(path) for path in sys.argv[1:]]
json.dump(result, out)
