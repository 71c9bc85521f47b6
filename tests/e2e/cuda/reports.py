# SPDX-License-Identifier: MIT
"""Reports of CUDA recordings: every view against sums over the simulation's script."""

import collections
import json
import math
import os
import subprocess

import recorded
import tap
from recorded import program

SCRIPT = "kernel _Z5scalePff 5000; kernel _Z3sum* 700; set SET_NS 1000"
SCALE, SUM = "scale(float*, float)", "sum(float const*, float*)"
FILL = "Memset (Device)"
FILL_NS = 1000 + 4096 // 64


class Recording:
    """A program's recording, kept while its reports are made."""

    def __init__(self, folder, command, **variables):
        variables.setdefault("SIMCUDA_INLINE", SCRIPT)
        variables.setdefault("TPAGENT_CUPTI_CLOCK", "cupti")
        done = tap.run(command, recorded.environment(folder, **variables), timeout=120)
        tap.equal(done.returncode, 0, f"status of {command}: {done.stderr.decode()}")
        (self.path,) = [
            os.path.join(folder, d) for d in os.listdir(folder) if d.startswith("tpagent-")
        ]

    def text(self, *arguments):
        done = subprocess.run(
            [tap.TPREPORT, *arguments, self.path], capture_output=True, timeout=120
        )
        tap.equal(done.returncode in (0, 3), True, f"{arguments}: {done.stderr.decode()}")
        return done.stdout.decode()

    def rows(self, *arguments):
        return json.loads(self.text(*arguments, "--format=json"))["rows"]

    def table(self):
        return {r["key"]: r for r in self.rows("averages", "--row-limit=-1")}

    def kernels(self):
        return {r["name"]: (r["count"], round(r["total_us"] * 1000)) for r in self.rows("kernels")}

    def gpu(self):
        return json.loads(self.text("gpu", "--format=json"))["devices"]

    def trace(self, *arguments):
        return json.loads(self.text("trace", *arguments))

    def work(self):
        return work_of(self.trace()["traceEvents"])


def recording(folder, scenario, count, where="cuda_calls", **variables):
    return Recording(folder, [program(where), scenario, str(count)], **variables)


def device_ns(table, name):
    return round(table[name]["device_time_total"] * 1000)


def flows_lead_from_calls_to_work(r):
    """Work has one arrow each, which begins where the call of its id does."""
    events = r.trace()["traceEvents"]
    calls = {
        e["args"]["correlation"]: (e["pid"], e["tid"], e["ts"])
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    begins = {e["id"]: e for e in events if e.get("cat") == "ac2g" and e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e.get("cat") == "ac2g" and e["ph"] == "f"}
    tap.equal(set(ends), set(begins), "arrows with both ends")
    got = collections.Counter(
        tuple((e["pid"], e["tid"], e["ts"]) for e in (begins[number], ends[number]))
        for number in begins
    )
    wanted = collections.Counter(
        (calls[e["args"]["correlation"]], (e["pid"], e["tid"], e["ts"])) for e in work_of(events)
    )
    assert wanted
    tap.equal(got, wanted, "arrows")


def work_of(events):
    """Events of devices."""
    return [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]


def covered_ns(events):
    """How long any of them ran."""
    spans = sorted((round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in events)
    total, until = 0, 0
    for start, length in spans:
        total += max(0, start + length - max(start, until))
        until = max(until, start + length)
    return total


def not_kernels_ns(work):
    return sum(round(e["dur"] * 1000) for e in work if e["cat"] != "kernel")


def views_agree(r, kernels):
    """@kernels: name to (count, ns each), of all devices."""
    wanted = {name: (count, count * ns) for name, (count, ns) in kernels.items()}
    tap.equal(r.kernels(), wanted, "kernels")
    total = sum(ns for _, ns in wanted.values())
    tap.equal(sum(d["kernels"] for d in r.gpu()), sum(c for c, _ in wanted.values()), "gpu: count")
    work = r.work()
    tap.equal(
        sum(d["work_ns"] for d in r.gpu()), total + not_kernels_ns(work), "gpu: time of work"
    )
    for device in r.gpu():
        here = [e for e in work if e["args"]["device"] == device["device"]]
        tap.equal(device["busy_ns"], covered_ns(here), "gpu: busy")
        kernels_here = [e for e in here if e["cat"] == "kernel"]
        tap.equal(device["kernels_ns"], covered_ns(kernels_here), "gpu: kernels")
        tap.equal(device["busy_ns"] + device["idle_ns"], device["span_ns"], "gpu: busy and idle")
    lengths = collections.defaultdict(list)
    for e in work:
        if e["cat"] == "kernel":
            lengths[e["name"]].append(round(e["dur"] * 1000))
    tap.equal(
        {name: (len(ns), sum(ns)) for name, ns in lengths.items()}, wanted, "kernels of the trace"
    )
    listed = json.loads(r.text("trace", "--style=list"))
    names = collections.Counter(
        e["name"] for e in (listed if isinstance(listed, list) else listed["traceEvents"])
    )
    for name, (count, _) in wanted.items():
        assert names[name] >= count, (name, names)
    flows_lead_from_calls_to_work(r)


def test_streams():
    with tap.folder() as folder:
        r = recording(folder, "streams", 50)
        views_agree(r, {SCALE: (50, 5000), SUM: (50, 700)})
        tap.equal([d["streams"] for d in r.gpu()], [2], "streams")
        places = {(e["name"], e["args"]["stream"]) for e in r.work()}
        tap.equal(len(places), 2, "a stream each")


def test_devices():
    with tap.folder() as folder:
        r = recording(folder, "devices", 7, SIMCUDA_DEVICES=2)
        views_agree(r, {SCALE: (14, 5000)})
        got = [(d["device"], d["kernels"], d["kernels_ns"]) for d in r.gpu()]
        tap.equal(got, [(0, 7, 35000), (1, 7, 35000)], "devices")
        tap.equal(sum(d["copies"] for d in r.gpu()), 1, "copies")


def test_ranges():
    """The same attribution in the table, the tree and folded stacks."""
    for order in ("api", "device", "late", "shuffle"):
        with tap.folder() as folder:
            more = {"SIMCUDA_ORDER": order, "SIMCUDA_RECORDS_PER_BUFFER": 5, "SIMCUDA_SEED": 3}
            r = recording(folder, "ranges", 20, **more)
            views_agree(r, {SCALE: (40, 5000), SUM: (20, 700)})
            table = r.table()
            tap.equal(device_ns(table, "forward"), 40 * 5000, f"forward, order {order}")
            tap.equal(device_ns(table, "step"), 40 * 5000 + 20 * 700, f"step, order {order}")
            own = round(table["step"]["self_device_time_total"] * 1000)
            tap.equal(own, 20 * 700, f"step itself, order {order}")
            tap.equal(table["cudaLaunchKernel"]["count"], 60, "launches")
            tree = [line.split() for line in r.text("tree").splitlines()]
            (step,) = [line for line in tree if line[-1:] == ["step"]]
            tap.equal(step[2:4], ["214.000us", "14.000us"], "the tree's step")


def test_hooks():
    """Launches and their ranges, no device times."""
    with tap.folder() as folder:
        r = recording(folder, "ranges", 20, TPAGENT_CUDA="hooks")
        table = r.table()
        tap.equal(table["cudaLaunchKernel"]["count"], 60, "launches")
        tap.equal(table["forward"]["count"], 20, "ranges")
        assert not any(row.get("device_time_total") for row in table.values()), table
        assert [line for line in r.text("tree").splitlines() if line.endswith("cudaLaunchKernel")]


def test_graphs():
    """A launch's kernels count for the range that launched it, and say where they were captured."""
    everything = 6 * (5000 + 700 + FILL_NS)
    with tap.folder() as folder:
        r = recording(folder, "graph", 6, where="cuda_more")
        views_agree(r, {SCALE: (6, 5000), SUM: (6, 700)})
        table = r.table()
        tap.equal(device_ns(table, "replay"), everything, "the range of the launches")
        tap.equal([device_ns(table, k) for k in ("forward", "loss")], [0, 0], "where captured")
        found = collections.Counter((e["name"], e["args"]["captured in"]) for e in r.work())
        tap.equal(found, {(SCALE, "forward"): 6, (SUM, "loss"): 6, (FILL, "loss"): 6}, "captured")
    with tap.folder() as folder:
        r = recording(folder, "graph", 6, where="cuda_more", TPAGENT_CUDA_GRAPHS="graph")
        tap.equal(device_ns(r.table(), "replay"), everything, "launches of whole graphs")
        tap.equal([e for e in r.work() if "captured in" in e["args"]], [], "no nodes")


def test_dropped():
    """What is missing is missing in every view, and the rest is right."""
    with tap.folder() as folder:
        r = recording(folder, "ranges", 50, SIMCUDA_DROP_EVERY=10)
        counts = {name: count for name, (count, _) in r.kernels().items()}
        assert 0 < sum(counts.values()) < 150, counts
        views = {SCALE: (counts[SCALE], 5000), SUM: (counts[SUM], 700)}
        wanted = {name: (count, count * ns) for name, (count, ns) in views.items()}
        tap.equal(r.kernels(), wanted, "kernels")
        tap.equal(device_ns(r.table(), "step"), sum(ns for _, ns in wanted.values()), "step")
        (process,) = json.loads(r.text("gpu", "--format=json"))["recording"]["processes"]
        tap.equal(process["cuda"]["dropped"], 150 - sum(counts.values()), "said to be dropped")


def test_memory():
    """Live, peak and total by device; every byte with its sign in the table."""
    with tap.folder() as folder:
        r = recording(folder, "devices", 1, SIMCUDA_DEVICES=2)
        memory = json.loads(r.text("gpu", "--format=json"))["memory"]
        got = [
            (d["device"], d["allocated_bytes"], d["freed_bytes"], d["peak_bytes"], d["live_bytes"])
            for d in memory["devices"]
        ]
        tap.equal(got, [(0, 4096, 4096, 4096, 0), (1, 4096, 4096, 4096, 0)], "memory")
        row = r.table()["[memory]"]
        tap.equal(math.isclose(row["self_device_memory_usage"], 0), True, "what is left")


def main():
    t = tap.Tap()
    t.check("two streams: every view has the script's kernels", test_streams)
    t.check("two devices, each with its own", test_devices)
    t.check("ranges, with records in any order", test_ranges)
    t.check("hooks: launches without device times", test_hooks)
    t.check("graphs, by node and whole", test_graphs)
    t.check("dropped records", test_dropped)
    t.check("memory of two devices", test_memory)
    t.end()


if __name__ == "__main__":
    main()
