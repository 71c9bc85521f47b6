# SPDX-License-Identifier: MIT
"""CUDA from Python: kernels and device memory by PyTorch's operators, and the sums below the
table."""

import collections
import json
import math
import os

import recorded
import tap
from recorded import Chosen, Recording

LIBRARY = os.path.join(recorded.SIMCUDA, "13", "libcudart.so.13")
LENGTHS = {"_Z5scalePff": 5000, "_Z3sumPKfPf": 700}
# operators that others of these lie in, each time
OUTER = {
    "step": ["inner", "sim::launch", "Launched", "LaunchedBackward"],
    "autograd::engine::evaluate_function: LaunchedBackward": ["LaunchedBackward"],
    "thread": ["in the thread"],
}


def python_with_torch():
    python = os.environ.get("TPAGENT_TEST_PYTHON") or os.environ["PYTHON"]
    if tap.run([python, "-c", "import torch"], tap.clean_environment()).returncode:
        raise tap.Skip("no torch for " + python)
    return python


def record(folder, **variables):
    """A recording of launches.py, and what that did: kernels and bytes by operator, live blocks."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launches.py")
    variables.setdefault(
        "SIMCUDA_INLINE", "; ".join(f"kernel {k} {v}" for k, v in LENGTHS.items())
    )
    # a PyTorch for CUDA has mapped NVIDIA's
    variables.setdefault("TPAGENT_CUPTI", os.path.join(os.path.dirname(LIBRARY), "libcupti.so.13"))
    r = Recording(folder, [python_with_torch(), script, LIBRARY], **variables)
    return r, json.loads(r.out)


def with_inner(own):
    total = collections.Counter(own)
    for outer, inner in OUTER.items():
        total[outer] = own[outer] + sum(own[name] for name in inner)
    return total


def launched(done):
    """Counts and ns of kernels by operator, and by kernel."""
    by_operator, by_kernel = collections.Counter(), collections.Counter()
    for key, count in done["kernels"].items():
        operator, kernel = key.rsplit(" ", 1)
        by_operator[operator] += count * LENGTHS[kernel]
        by_kernel[kernel] += count
    return by_operator, by_kernel


def merged(rows):
    """Rows of the table by name: no name may have two."""
    names = collections.Counter(row["key"] for row in rows)
    tap.equal({name: count for name, count in names.items() if count > 1}, {}, "rows of one name")
    return {row["key"]: row for row in rows}


def test_operators():
    """Each launch counts for the innermost operator that is open on its thread, on any thread."""
    with tap.folder() as folder:
        r, done = record(folder)
        own, by_kernel = launched(done)
        total = with_inner(own)
        rows = merged(r.rows("averages", "--row-limit=-1"))
        kernels = {
            "_Z5scalePff": "scale(float*, float)",
            "_Z3sumPKfPf": "sum(float const*, float*)",
        }
        for mangled, name in kernels.items():
            tap.equal(rows[name]["count"], by_kernel[mangled], f"launches of {name}")
        for name, row in rows.items():
            if row["device_type"] != "CPU":
                continue
            got = [round(row[k] * 1000) for k in ("self_device_time_total", "device_time_total")]
            tap.equal(got, [own[name], total[name]], f"device time of {name}")
        assert {name for name in own if name != "nothing"} <= set(rows), rows.keys()


def seconds(text):
    """Of "1.234ms"."""
    for unit, factor in (("us", 1e-6), ("ms", 1e-3), ("s", 1)):
        if text.endswith(unit):
            return float(text[: -len(unit)]) * factor
    raise AssertionError(text)


def footer(text, name):
    (line,) = [line for line in text.splitlines() if line.startswith(f"Self {name} time total: ")]
    return seconds(line.rpartition(" ")[2])


def cpu_seconds(process):
    """How long operators and calls lasted that lie in no other: all others' self times add up to
    these. Calls have CUPTI's times, and stand where their thread made them."""
    clock = [(line["ticks"], line["monotonic_ns"]) for line in process.lines("clock")]
    rate = (clock[-1][1] - clock[0][1]) / (clock[-1][0] - clock[0][0])
    depth, begin, total, outside = collections.Counter(), {}, 0, set()
    for event in process.events:
        if event.what == "op_begin":
            if not depth[event.track]:
                begin[event.track] = event.ticks
            depth[event.track] += 1
        elif event.what == "op_end":
            depth[event.track] -= 1
            if not depth[event.track]:
                total += (event.ticks - begin[event.track]) * rate
        elif event.what == "cuda_call" and not depth[event.track]:
            outside.add(event.correlation)
    tap.equal(sum(depth.values()), 0, "operators that did not end")
    calls = [e for e in process.all("cuda_api") if e.correlation in outside]
    return (total + sum(recorded.length(call) for call in calls)) / 1e9


def test_footer():
    """The sums below the table, in every way to group."""
    with tap.folder() as folder:
        r, done = record(folder)
        own, _ = launched(done)
        cpu = cpu_seconds(r.process())
        groups = [], ["--group-by-input-shapes"], ["--group-by-overload-name"], ["--row-limit=3"]
        for command in (["averages"], ["events"]):
            for more in groups:
                text = r.text(*command, *more, "--row-limit=-1" if not more else more[0])
                what = " ".join(command + more)
                tap.equal(round(footer(text, "CUDA") * 1e9), sum(own.values()), f"CUDA, {what}")
                got = footer(text, "CPU")
                assert math.isclose(got, cpu, rel_tol=1e-3), (what, got, cpu)


def test_memory():
    """Device memory by operator, and what is live at the end with who allocated it: segments, since
    no allocator of PyTorch's told more."""
    with tap.folder() as folder:
        r, done = record(folder)
        own = collections.Counter(done["memory"])
        total = with_inner(own)
        for grouped in ([], ["--group-by-input-shapes"]):
            rows = r.rows("averages", "--row-limit=-1", "--memory", *grouped)
            got = [collections.Counter(), collections.Counter()]
            for row in rows:
                assert row["count"], f"a row of no event: {row}"
                got[0][row["key"]] += row["self_device_memory_usage"]
                got[1][row["key"]] += row["device_memory_usage"]
            for name in set(own) - {"nothing"}:
                found = [counted[name] for counted in got]
                tap.equal(found, [own[name], total[name]], f"bytes of {name}")
        memory = json.loads(r.text("gpu", "--format=json"))["memory"]
        wanted = collections.Counter()
        for operator, size in done["live"].values():
            wanted[operator] += size
        got = {owner["operator"]: owner["bytes"] for owner in memory["live"]}
        tap.equal(got, wanted, "live at the end")
        (device,) = memory["devices"]
        got = {k: device[f"{k}_bytes"] for k in done["bytes"]}
        tap.equal(got, done["bytes"], "over time")
        tap.equal(memory["by"], "segments", "by")
        text = r.text("gpu")
        assert "and its like: segments, which the framework's allocator divides" in text, text
        assert "device memory is segments: what cudaMalloc and its like" in r.said, r.said


def test_hooks_do_not_see():
    """ctypes has CUDA's functions by address, which pass hooks by: that is said."""
    with tap.folder() as folder:
        r, _ = record(folder, TPAGENT_CUDA="hooks")
        calls = set(recorded.api_names(r.process()))
        assert calls <= {"cudaGetDeviceCount"}, calls  # by a PyTorch for CUDA
        if not calls:
            assert "the driver is loaded, but no call came by" in r.err, r.err
        r.text("averages")
        unseen = "no launch, copy or allocation" if calls else "the driver is loaded, but no call"
        assert f"{unseen} came by" in r.said, r.said


def main():
    t = Chosen()
    t.check("kernels by operator", test_operators)
    t.check("the sums below the table", test_footer)
    t.check("device memory by operator, live at the end; segments", test_memory)
    t.check("hooks, and functions by address", test_hooks_do_not_see)
    t.end()


if __name__ == "__main__":
    main()
