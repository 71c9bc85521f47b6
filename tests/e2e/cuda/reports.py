# SPDX-License-Identifier: MIT
"""Reports of CUDA recordings: every view against sums over the simulation's script."""

import collections
import json
import math
import os
import re

import recorded
import run_viewers
import tap
from recorded import Chosen, Recording, SCRIPT, length, nvcc_program, program, work_of

SCALE, SUM = "scale(float*, float)", "sum(float const*, float*)"
FILL = "Memset (Device)"
FILL_NS = 1000 + 4096 // 64


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


def cpu_ns(table, name):
    return table[name]["count"], round(table[name]["cpu_time_total"] * 1000)


def test_nvcc():
    """A program of nvcc: kernels, copies with their bytes, calls and their times."""
    script = "kernel _Z4oncePi 1234; api cudaLaunchKernel 3000; api cudaMemcpy 9000"
    script += "; api cudaMalloc 5000"
    with tap.folder() as scratch, tap.folder() as folder:
        built = nvcc_program(scratch, "every.cu")
        r = Recording(folder, [built], SIMCUDA_INLINE=script)
        views_agree(r, {"once(int*)": (9, 1234)})
        table = r.table()
        tap.equal(cpu_ns(table, "cudaLaunchKernel"), (5, 5 * 3000), "launches")
        tap.equal(cpu_ns(table, "cudaMalloc"), (4, 4 * 5000), "allocations")
        # to the device 100 bytes and 4 rows of 32, within it 200, from it 4 rows of 16; twice
        copies = collections.Counter(
            (e["name"].split()[1], e["args"]["bytes"], round(e["dur"] * 1000))
            for e in r.work()
            if e["cat"] == "gpu_memcpy"
        )
        sizes = ("HtoD", 100), ("DtoD", 200), ("HtoD", 4 * 32), ("DtoH", 4 * 16)
        wanted = {(way, size, 1000 + size // 16): 2 for way, size in sizes}
        tap.equal(copies, wanted, "copies, bytes, lengths")
        # a blocking copy is over when the bytes are there, and not before its call would be
        count, ns = cpu_ns(table, "cudaMemcpy")
        assert (count, ns >= 2 * 9000) == (2, True), (count, ns)


def test_calls():
    """Calls of a C program and their times; copies and fills with their bytes."""
    script = "api cudaMalloc 7000; api cudaMallocHost 4000; api cudaLaunchKernel 2500; " + SCRIPT
    with tap.folder() as folder:
        r = recording(folder, "streams", 50, SIMCUDA_INLINE=script)
        tap.equal(cpu_ns(r.table(), "cudaLaunchKernel"), (100, 100 * 2500), "launches")
    with tap.folder() as folder:
        r = recording(folder, "memory", 1, SIMCUDA_INLINE=script)
        table = r.table()
        tap.equal(cpu_ns(table, "cudaMalloc"), (1, 7000), "cudaMalloc")
        tap.equal(cpu_ns(table, "cudaMallocHost"), (1, 4000), "cudaMallocHost")
        got = [(e["args"]["bytes"], round(e["dur"] * 1000)) for e in r.work()]
        wanted = [(1000, 1000 + 1000 // 64)] + [(n, 1000 + n // 16) for n in (500, 600, 700)]
        tap.equal(sorted(got), sorted(wanted), "copies and fills")


def test_clock_steps():
    """Real time is set while the program runs: every length is right, and the step is said. The
    recording's own clock knows nothing of it."""
    for step in (10**9, -(10**9)):
        steps = {"SIMCUDA_CLOCK": "real", "SIMCUDA_STEP_NS": step, "SIMCUDA_STEP_AFTER": 50}
        with tap.folder() as folder:
            r = recording(folder, "ranges", 20, **steps)
            tap.equal(r.kernels(), {SCALE: (40, 40 * 5000), SUM: (20, 20 * 700)}, f"by {step}")
            tap.equal(device_ns(r.table(), "forward"), 40 * 5000, f"forward, by {step}")
            said = re.search(r"CUPTI's clock was set .* \(by (-?[\d.]+) s\): when", r.said)
            assert said and abs(float(said[1]) * 1e9 - step) < 0.2e9, r.said
        with tap.folder() as folder:
            r = recording(folder, "ranges", 20, **steps, TPAGENT_CUPTI_CLOCK="tsc")
            counts = {name: count for name, (count, _) in r.kernels().items()}
            tap.equal(counts, {SCALE: 40, SUM: 20}, f"own clock, by {step}")
            assert "CUPTI's clock" not in r.said, r.said


def test_geometry():
    """Grid, block, registers, shared memory of each kernel, and how full that makes the device."""
    script = "kernel _Z5scalePff 5000 registers 40 shared 1024; set MULTIPROCESSORS 16"
    with tap.folder() as folder:
        r = recording(folder, "streams", 10, SIMCUDA_INLINE=script)
        rows = {row["name"]: row for row in r.rows("kernels")}
        wanted = {
            "grid": [64, 2, 1],
            "block": [256, 1, 1],
            "registers": 40,
            "static_shared_bytes": 1024,
            "dynamic_shared_bytes": 128,
            "local_bytes": 0,
        }
        tap.equal(rows[SCALE]["geometry"], wanted, "geometry")
        # 40 registers a thread: six blocks of 256 of the eight that fit by threads
        by_registers = 65536 // (256 * 40)
        tap.equal(rows[SCALE]["occupancy_percent"], by_registers * 256 / 2048 * 100, "occupancy")
        text = r.text("kernels", "--geometry")
        line = "grid 64x2x1, block 256x1x1, 40 registers, 1024 + 128 B shared"
        assert f"{line}, estimated occupancy 75.0%" in text, text


def test_devices():
    with tap.folder() as folder:
        r = recording(folder, "devices", 7, SIMCUDA_DEVICES=2)
        views_agree(r, {SCALE: (14, 5000)})
        got = [(d["device"], d["kernels"], d["kernels_ns"]) for d in r.gpu()]
        tap.equal(got, [(0, 7, 35000), (1, 7, 35000)], "devices")
        tap.equal(sum(d["copies"] for d in r.gpu()), 1, "copies")


def test_contexts():
    """Two contexts of one device, whose default streams are two."""
    with tap.folder() as folder:
        r = recording(folder, "contexts", 4, "cuda_more", SIMCUDA_INLINE="kernel of_both 3000")
        views_agree(r, {"of_both": (12, 3000)})
        kernels = r.process().all("gpu_kernel")
        by_context = collections.Counter(k.context for k in kernels)
        tap.equal(sorted(by_context.values()), [4, 8], "kernels by context")
        table = r.table()
        got = [device_ns(table, name) for name in ("first", "second")]
        tap.equal(got, [8 * 3000, 4 * 3000], "device time by range")
        tap.equal([d["streams"] for d in r.gpu()], [2], "streams")
        in_trace = collections.Counter(e["args"]["context"] for e in r.work())
        tap.equal(in_trace, by_context, "contexts in the trace")


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
            assert "cuLaunchKernel" not in table, f"calls inside of others, order {order}"
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


def captures_are_shown(r):
    """Beside the kernels of graphs, in text and in JSON."""
    lines = r.text("kernels").splitlines()
    row = next(i for i, line in enumerate(lines) if SCALE in line)
    tap.equal(lines[row + 1], "    captured in forward (6 calls, 30.000us)", "below the row")
    found = {k["name"]: k["captured_in"] for k in r.rows("kernels")}
    forward = [{"name": "forward", "count": 6, "total_us": 30.0}]
    loss = [{"name": "loss", "count": 6, "total_us": 4.2}]
    tap.equal(found, {SCALE: forward, SUM: loss}, "kernels in JSON")
    for compact, lines_each in ((), 6), (("--compact",), 1):
        tree = r.text("tree", *compact).splitlines()
        for name, place in (SCALE, "forward"), (SUM, "loss"), (FILL, "loss"):
            told = [line for line in tree if line.endswith(f" {name} (captured in {place})")]
            tap.equal(len(told), lines_each, f"lines of {name} {compact}")
    nodes = r.rows("tree")
    found = collections.Counter((n["name"], n["captured_in"]) for n in nodes if "captured_in" in n)
    tap.equal(found, {(SCALE, "forward"): 6, (SUM, "loss"): 6, (FILL, "loss"): 6}, "tree in JSON")


def test_without_calls():
    """Work of calls that CUPTI tells nothing of: where their external ids say, else of no range; in
    every order of records, and in no view twice or not at all."""
    count, own = 6, 6 * FILL_NS
    for order in ("api", "device", "shuffle"):
        with tap.folder() as folder:
            more = {"SIMCUDA_UNTOLD": "cudaMemsetAsync", "SIMCUDA_ORDER": order}
            r = recording(folder, "external", count, "cuda_more", **more)
            tap.equal(r.process().all("cuda_api", name="cudaMemsetAsync"), [], "calls")
            table = r.table()
            tap.equal(device_ns(table, "step"), count * 5000 + own, f"with an id, {order}")
            tap.equal(device_ns(table, "between"), 0, f"without one, {order}")
            tap.equal(device_ns(table, FILL), 2 * own, f"all of it, {order}")
            for said in (
                f"{count} pieces of device work were placed by external ids: their calls are not",
                f"{count} pieces of device work ({own / 1000:.3f} us) belong to no range: no",
            ):
                assert said in r.said, (said, r.said)
            rows = of_name(r.rows("events"), FILL)
            alone = [row for row in rows if row.get("no_launch_recorded")]
            tap.equal((len(rows), len(alone)), (2 * count, count), f"events, {order}")
            tree = [line.split() for line in r.text("tree").splitlines()]
            lines = [line for line in tree if line[-3:] == ["(no", "launch", "recorded)"]]
            got = sum(float(line[2].removesuffix("us")) for line in lines)
            calls = sum(int(line[-4]) for line in lines)
            tap.equal((round(got * 1000), calls), (own, count), f"tree, {order}")
            text = r.text("stacks", "--format=folded", "--metric=device")
            alone = f"CUDA 0 (no launch recorded);{FILL} {own}"
            assert alone in text.splitlines(), (order, text)
            got = folded(text.replace(alone + "\n", ""))
            wanted = {("step", SCALE): count * 5000, ("step", FILL): own}
            tap.equal(got, wanted, f"stacks, {order}")
            gaps = r.text("gpu", "--row-limit=-1").splitlines()
            ended = [line.split(", ")[-1] for line in gaps if f"  {FILL}, " in line]
            unknown = {"(no launch recorded)", "(call not recorded)"}
            tap.equal(set(ended), unknown, f"who ended gaps, {order}")


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
        captures_are_shown(r)
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


def waits_ns(r):
    return sum(length(e) for e in r.process().all("cuda_sync"))


def of_name(rows, key):
    return [row for row in rows if row["key"] == key]


def device_times(rows, key):
    """Self and total, in ns, of each event of this name."""
    columns = "self_device_time_total", "device_time_total"
    return [tuple(round(row[c] * 1000) for c in columns) for row in of_name(rows, key)]


def footer_ns(text):
    (line,) = [line for line in text.splitlines() if line.startswith("Self CUDA time total: ")]
    return round(float(line.split()[-1].removesuffix("us")) * 1000)


def test_events():
    """A row for each event: kernels as the script has them, ranges with what they launched."""
    with tap.folder() as folder:
        r = recording(folder, "ranges", 20)
        rows = r.rows("events")
        tap.equal(device_times(rows, SCALE), [(5000, 5000)] * 40, SCALE)
        tap.equal(device_times(rows, SUM), [(700, 700)] * 20, SUM)
        tap.equal(device_times(rows, "forward"), [(10000, 10000)] * 20, "forward")
        tap.equal(device_times(rows, "step"), [(14000, 214000)], "step")
        tap.equal(device_times(rows, "cudaLaunchKernel"), [(0, 0)] * 60, "launches")
        waits = [(length(e), length(e)) for e in r.process().all("cuda_sync")]
        tap.equal(device_times(rows, "Context Sync"), waits, "waits")
        for row in of_name(rows, "forward"):
            kernels = [
                (k["name"], k["device"], round(k["duration"] * 1000)) for k in row["kernels"]
            ]
            tap.equal(kernels, [(SCALE, 0, 5000)] * 2, "kernels of a range")
        tap.equal({row["count"] for row in rows}, {1}, "counts")
        text = r.text("events", "--row-limit=-1", "--time-unit=us")
        tap.equal(footer_ns(text), 214000, "the sum below the table")
        lines = [line.split("  ") for line in text.splitlines()]
        tap.equal(sum(SCALE in [cell.strip() for cell in line] for line in lines), 40, "rows")
        top = r.rows("events", "--top-level-events-only")
        tap.equal((len(of_name(top, "step")), of_name(top, "forward")), (1, []), "top level")
        table = r.text("events", "--format=csv").splitlines()
        at = table[0].split(",").index("self_device_time_total")
        got = sum(float(line.rsplit(",", len(table[0].split(",")) - at)[1]) for line in table[1:])
        tap.equal(round(got * 1000), 2 * 214000 + sum(w for w, _ in waits), "CSV")


def test_total():
    """Every row added up: ranges, and the kernels again, and waits."""
    for count in (1, 20):
        with tap.folder() as folder:
            r = recording(folder, "ranges", count)
            kernels, waits = count * (2 * 5000 + 700), waits_ns(r)
            (total,) = r.rows("total")
            own, inclusive = device_times([total], "Total")[0]
            tap.equal(own, 2 * kernels + waits, "self times")
            forward = count * 2 * 5000
            tap.equal(inclusive, kernels + forward + kernels + waits, "times with what is inside")
            events = r.rows("events")
            tap.equal(total["count"], len(events), "count")
            tap.equal(total["device_type"], "CUDA", "of the last event")
            text = r.text("total", "--time-unit=us")
            assert f"{own / 1000:.3f}us" in text, text
    with tap.folder() as folder:
        r = recording(folder, "devices", 7, SIMCUDA_DEVICES=2)
        work = sum(round(e["dur"] * 1000) for e in r.work())
        (total,) = r.rows("total")
        tap.equal(device_times([total], "Total")[0][0], work + waits_ns(r), "two devices")


def folded(text):
    """Weights by path, without process and thread."""
    found = {}
    for line in text.splitlines():
        path, weight = line.rsplit(" ", 1)
        found[tuple(path.split(";")[2:])] = int(weight)
    return found


def test_stacks():
    """The ranges around each kernel, weighed by device time; and launches by count."""
    for order in ("api", "shuffle"):
        with tap.folder() as folder:
            more = {"SIMCUDA_ORDER": order, "SIMCUDA_RECORDS_PER_BUFFER": 7}
            r = recording(folder, "ranges", 20, **more)
            wanted = {("step", SUM): 20 * 700, ("step", "forward", SCALE): 40 * 5000}
            got = folded(r.text("stacks", "--format=folded", "--metric=device"))
            tap.equal(got, wanted, f"device time, order {order}")
            got = folded(r.text("stacks", "--format=folded", "--metric=count"))
            tap.equal(got[("step", "forward", SCALE)], 40, "kernels")
            tap.equal(got[("step", "cudaLaunchKernel")], 20, "launches")
            cpu = sum(round(row["self_cpu_time_total"] * 1000) for row in r.rows("events"))
            got = folded(r.text("stacks", "--format=folded"))
            assert abs(sum(got.values()) - cpu) <= len(got), (got, cpu)
            tap.equal(r.text("stacks"), "", "stacks of Python")
            assert "no stacks of Python; --format folded" in r.said, r.said
    with tap.folder() as folder:
        r = recording(folder, "graph", 6, where="cuda_more")
        got = folded(r.text("stacks", "--format=folded", "--metric=device"))
        wanted = {("replay", SCALE): 30000, ("replay", SUM): 4200, ("replay", FILL): 6 * FILL_NS}
        tap.equal(got, wanted, "of graphs")
    with tap.folder() as folder:
        r = recording(folder, "live", 3)
        metric = "--metric=self_device_memory_usage"
        got = folded(r.text("stacks", "--format=folded", metric))
        wanted = {("weights",): 6512, ("step", "scratch"): 21000, ("step", "batch"): 300}
        tap.equal(got, wanted, "device memory; of the steps themselves it is less than nothing")


def test_allocations():
    """`memory` is of the host: of a program that uses CUDA it has the program's own, by range, and
    nothing of the device."""
    with tap.folder() as folder:
        r = recording(folder, "memory", 1, TPAGENT_ALLOC="all")
        report = json.loads(r.text("memory", "--format=json", "--row-limit=-1"))
        device = {m.address for m in r.process().all("cuda_memory", memory_kind=3)}
        allocated = r.process().all("alloc")
        mine = [e for e in allocated if e.address in device]
        tap.equal((len(device), mine), (2, []), "device memory")
        total = report["total"]
        got = total["allocations"], total["allocated_bytes"]
        tap.equal(got, (len(allocated), sum(e.bytes for e in allocated)), "all of them")
        (row,) = [row for row in report["stacks"] if row["stack"][:1] == ["memory"]]
        wanted = {"allocations": 1, "frees": 1, "live_blocks": 0, "live_bytes": 0}
        tap.equal({k: row[k] for k in wanted}, wanted, "the buffer that the program copies from")
        assert 4096 <= row["allocated_bytes"] < 4200, row
        assert "Allocations" in r.text("memory")


def test_viewers():
    """HolisticTraceAnalysis and TensorBoard's plugin find the script's kernels in our traces."""
    python = run_viewers.find_python()
    if not python:
        raise tap.Skip("no Python with HolisticTraceAnalysis and torch-tb-profiler")
    cases = [
        ("cuda_calls", "ranges", 50, {SCALE: (100, 5000), SUM: (50, 700)}),
        ("cuda_calls", "devices", 7, {SCALE: (14, 5000)}),
        ("cuda_more", "graph", 6, {SCALE: (6, 5000), SUM: (6, 700), FILL: (6, FILL_NS)}),
    ]
    for where, scenario, count, wanted in cases:
        with tap.folder() as folder:
            r = recording(folder, scenario, count, where=where, SIMCUDA_DEVICES=2)
            trace = os.path.join(folder, "trace.json.gz")
            r.text("trace", "-o", trace)
            (hta,), _ = run_viewers.read_with(python, "read_with_hta.py", [trace])
            got = {k["name"]: round(k["sum (us)"] * 1000) for k in hta["kernels"]}
            got = {name: ns for name, ns in got.items() if not name.startswith("Memcpy")}
            sums = {name: number * ns for name, (number, ns) in wanted.items()}
            tap.equal(got, sums, f"HTA, {scenario}")
            (board,), _ = run_viewers.read_with(python, "read_with_tensorboard.py", [trace])
            counts = {name: number for name, (number, _) in wanted.items() if name != FILL}
            tap.equal(board["kernels"], counts, f"TensorBoard, {scenario}")


def test_check():
    """Every byte of recordings of CUDA; status 3 where something of CUPTI's is missing."""
    cases = [
        ("ranges", 0, {}),
        ("streams", 0, {"SIMCUDA_ORDER": "shuffle"}),
        ("ranges", 0, {"TPAGENT_CUDA": "hooks"}),
        ("ranges", 3, {"SIMCUDA_DROP_EVERY": 10}),
        ("ranges", 3, {"SIMCUDA_ZERO_EVERY": 10}),
        ("ranges", 3, {"SIMCUDA_FATAL_AFTER": 20}),
        ("ranges", 3, {"SIMCUDA_FLUSH_DELAY_MS": 5000}),
    ]
    for scenario, status, more in cases:
        with tap.folder() as folder:
            r = recording(folder, scenario, 50, **more)
            text = r.text("check", status=(status,))
            wanted = "something was lost" if status else ": whole"
            assert wanted in text, (more, text)
            r.text("averages", status=(status,))
    with tap.folder() as folder:
        r = recording(folder, "settled", 50, status=-9, SIMCUDA_KILL_IN_FLUSH=60)
        text = r.text("check", status=(3,))
        assert "CUDA calls have no record of CUPTI's" in text, text


def test_live():
    """What is live at the end, with the range that allocated it, whoever freed the rest; by range
    what it took minus what it gave back."""
    count = 6
    weights = sum(1000 * i for i in range(1, count + 1)) + 512
    own = {"weights": weights, "scratch": count * 7000, "batch": 300, "step": -count * 7000}
    total = {**own, "step": 300}
    for way in ("cupti", "hooks"):
        with tap.folder() as folder:
            r = recording(folder, "live", count, TPAGENT_CUDA=way)
            memory = json.loads(r.text("gpu", "--format=json"))["memory"]
            got = {o["operator"]: (o["blocks"], o["bytes"]) for o in memory["live"]}
            tap.equal(got, {"weights": (count + 1, weights), "batch": (1, 300)}, f"live, {way}")
            (device,) = memory["devices"]
            got = [device[f"{k}_bytes"] for k in ("allocated", "freed", "peak", "live")]
            freed = count * 7000 + (count - 1) * 300
            wanted = [freed + weights + 300, freed, weights + 7000 + 300, weights + 300]
            tap.equal(got, wanted, f"over time, {way}")
            tap.equal(memory["by"], "cuda", f"by, {way}")
            text = r.text("gpu")
            assert "Memory of device 0, by cudaMalloc and its like\n" in text, text
            said = "device memory is what cudaMalloc and its like allocated\n"
            assert said in r.said, r.said
            table = r.table()
            for name in own:
                got = [table[name][k + "device_memory_usage"] for k in ("self_", "")]
                # an interposed call is a range, which has the bytes itself
                wanted = own[name] if way == "cupti" else 0
                tap.equal(got, [wanted, total[name]], f"bytes of {name}, {way}")
            got = sum(row["self_device_memory_usage"] for row in table.values())
            tap.equal(got, weights + 300, f"bytes of all, {way}")


def main():
    t = Chosen()
    t.check("two streams: every view has the script's kernels", test_streams)
    t.check("a program of nvcc: every figure is the script's", test_nvcc)
    t.check("calls and their times, bytes of copies", test_calls)
    t.check("steps of CUPTI's clock", test_clock_steps)
    t.check("launch geometry and occupancy", test_geometry)
    t.check("two devices, each with its own", test_devices)
    t.check("two contexts of one device", test_contexts)
    t.check("ranges, with records in any order", test_ranges)
    t.check("hooks: launches without device times", test_hooks)
    t.check("graphs, by node and whole", test_graphs)
    t.check("work of calls that nobody tells of", test_without_calls)
    t.check("dropped records", test_dropped)
    t.check("single events", test_events)
    t.check("the total", test_total)
    t.check("stacks of ranges, by device time and memory", test_stacks)
    t.check("allocations of the host", test_allocations)
    t.check("what trace viewers read", test_viewers)
    t.check("check", test_check)
    t.check("memory of two devices", test_memory)
    t.check("memory that is live at the end, with who allocated it", test_live)
    t.end()


if __name__ == "__main__":
    main()
