#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The real HolisticTraceAnalysis and the real TensorBoard plugin read what `tpreport trace` writes,
find in it what they find in the original, and HTA's kernel breakdown is that of `tpreport kernels`,
its busy and idle times of a recording are those of `tpreport gpu`.
Prints TAP. usage: run_viewers.py TPREPORT MAKE_SAMPLE GEN_RECORDING TRACES
TPAGENT_TEST_VIEWERS names a Python that has both packages."""

import gzip
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import tap

NAMES = [
    "kineto_cuda_simple_add",
    "kineto_rocm_minitoy_train",
    "kineto_h100_bert_small",
    "kineto_torch_compile_triton",
]


def find_python():
    given = os.environ.get("TPAGENT_TEST_VIEWERS")
    python = given or str(HERE.parents[1] / "build-viewers/bin/python")
    try:
        probe = subprocess.run(
            [python, "-c", "import hta.trace_analysis, torch_tb_profiler"],
            capture_output=True,
            timeout=120,
        )
    except OSError:
        return None
    return python if probe.returncode == 0 else None


def read_with(python, script, paths):
    done = subprocess.run(
        [python, str(HERE / script), *map(str, paths)], capture_output=True, timeout=250
    )
    assert done.returncode == 0, done.stderr.decode()[-600:]
    return json.loads(done.stdout), done.stderr.decode()


def kernels_of(program, path):
    done = subprocess.run(
        [program, "kernels", "--format=json", str(path)], capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def taken_for_kernels(path):
    """HTA takes everything with a stream for work of a device, so Triton's operators as well."""
    with gzip.open(path) as stream:
        entries = json.loads(stream.read(), strict=False)["traceEvents"]
    return {
        e["name"]
        for e in entries
        if e.get("cat") in ("cpu_op", "cuda_runtime", "cuda_driver")
        and "stream" in e.get("args", {})
    }


def same_breakdown(program, path, read):
    found = {row["name"]: row for row in read["kernels"]}
    others = taken_for_kernels(path)
    rows = [row for row in kernels_of(program, path) if row["name"] not in others]
    assert rows, "no kernels"
    for row in rows:
        theirs = found[row["name"]]
        for mine, key in (
            ("total_us", "sum (us)"),
            ("maximum_us", "max (us)"),
            ("minimum_us", "min (us)"),
            ("average_us", "mean (us)"),
        ):
            assert math.isclose(row[mine], theirs[key], rel_tol=1e-9, abs_tol=1e-3), (row, theirs)


def check_hta(program, original, export, read_original, read_export):
    same_breakdown(program, original, read_original)
    same_breakdown(program, export, read_export)
    assert read_original["types"] == read_export["types"], (
        read_original["types"],
        read_export["types"],
    )
    assert [k["name"] for k in read_original["kernels"]] == [
        k["name"] for k in read_export["kernels"]
    ]


def check_tensorboard(read_original, read_export):
    assert read_export["operators"] == read_original["operators"]
    assert read_export["kernels"] == read_original["kernels"]


def check_recording(read, program, sample):
    rows = subprocess.run(
        [program, "averages", "--format=json", "--row-limit=-1", str(sample)],
        capture_output=True,
        timeout=60,
    )
    counts = {r["key"]: r["count"] for r in json.loads(rows.stdout)["rows"]}
    assert read["operators"]["aten::add"] == counts["aten::add"], (read["operators"], counts)


def check_device(read, program, recording, export):
    """Kernels, busy and idle time of a recording of CUDA."""
    same_breakdown(program, export, read)
    done = subprocess.run(
        [program, "gpu", "--format=json", str(recording)], capture_output=True, timeout=60
    )
    (device,) = json.loads(done.stdout)["devices"]
    (busy,) = read["busy"]
    for theirs, ours in (
        ("idle_time(us)", "idle_ns"),
        ("compute_time(us)", "kernels_ns"),
        ("kernel_time(us)", "span_ns"),
    ):
        assert device[ours] > 0
        assert math.isclose(busy[theirs] * 1000, device[ours], rel_tol=1e-9, abs_tol=0.5), (
            busy,
            device,
        )
    idle = sum(row["idle_time"] for row in read["idle"])
    assert math.isclose(idle * 1000, device["idle_ns"], abs_tol=20), (idle, device)
    totals = [
        {row["name"]: (row["count"], row["total_us"]) for row in kernels_of(program, path)}
        for path in (recording, export)
    ]
    assert totals[0] == totals[1]
    assert len(read["kernels"]) == len(totals[0]) == 64


def main():
    program, make_sample, gen_recording = map(os.path.abspath, sys.argv[1:4])
    traces = pathlib.Path(sys.argv[4])
    python = find_python()
    if not python:
        print(
            "1..0 # SKIP no Python with HolisticTraceAnalysis and torch-tb-profiler: ./check --full"
            " makes one where PyPI can be reached, TPAGENT_TEST_VIEWERS can name one"
        )
        return
    t = tap.Tap()
    with tempfile.TemporaryDirectory() as folder:
        originals = [traces / f"{name}.json.gz" for name in NAMES]
        exports = [pathlib.Path(folder) / f"{name}.json.gz" for name in NAMES]
        sample = pathlib.Path(folder) / "sample"
        subprocess.run([make_sample, str(sample)], check=True, timeout=60)
        recording = pathlib.Path(folder) / "recording.json"
        for source, export in [*zip(originals, exports), (sample, recording)]:
            subprocess.run(
                [program, "trace", "-o", str(export), str(source)],
                check=True,
                capture_output=True,
                timeout=60,
            )
        cuda, cuda_trace = pathlib.Path(folder) / "cuda", pathlib.Path(folder) / "cuda.json.gz"
        made = [gen_recording, str(cuda), "200", "1", "2"]
        subprocess.run(made, check=True, capture_output=True, timeout=60)
        trace = [program, "trace", "-o", str(cuda_trace), str(cuda)]
        subprocess.run(trace, check=True, capture_output=True, timeout=60)
        hta, _ = read_with(python, "read_with_hta.py", [*originals, *exports, recording])
        board, _ = read_with(python, "read_with_tensorboard.py", [*originals, *exports, recording])
        for i, name in enumerate(NAMES):
            j = i + len(NAMES)
            t.check(f"HTA: {name}", check_hta, program, originals[i], exports[i], hta[i], hta[j])
            t.check(f"TensorBoard: {name}", check_tensorboard, board[i], board[j])
        (read,), _ = read_with(python, "read_with_hta.py", ["--times", cuda_trace])
        t.check("HTA: a recording of CUDA", check_device, read, program, cuda, cuda_trace)
        t.check("TensorBoard: a recording", check_recording, board[-1], program, sample)
    t.end()


if __name__ == "__main__":
    main()
