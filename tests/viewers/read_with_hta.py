# SPDX-License-Identifier: MIT
"""What HolisticTraceAnalysis makes of traces, as JSON on stdout.
usage: read_with_hta.py TRACE..."""

import json
import logging
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else times become whole microseconds
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def read(path):
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir="/", include_last_profiler_step=True)
    types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=100000)
    frame = analysis.t.get_trace(0)
    return {
        "events": len(frame),
        "types": types.to_dict("records"),
        "kernels": kernels.to_dict("records"),
    }


out, sys.stdout = sys.stdout, sys.stderr
result = [read(path) for path in map(os.path.abspath, sys.argv[1:])]
json.dump(result, out, default=str)
