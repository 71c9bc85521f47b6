# SPDX-License-Identifier: MIT
"""What HolisticTraceAnalysis makes of traces, as JSON on stdout.
usage: read_with_hta.py [--times] TRACE...    --times: busy and idle times, too"""

import json
import logging
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else times become whole microseconds
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def read(path, times):
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir="/", include_last_profiler_step=True)
    types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=100000)
    frame = analysis.t.get_trace(0)
    more = {}
    if times:
        more["busy"] = analysis.get_temporal_breakdown(visualize=False).to_dict("records")
        idle, _ = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
        more["idle"] = idle.to_dict("records")
    return {
        **more,
        "events": len(frame),
        "types": types.to_dict("records"),
        "kernels": kernels.to_dict("records"),
    }


out, sys.stdout = sys.stdout, sys.stderr
with_times = sys.argv[1] == "--times"
paths = sys.argv[2:] if with_times else sys.argv[1:]
result = [read(path, with_times) for path in map(os.path.abspath, paths)]
json.dump(result, out, default=str)
