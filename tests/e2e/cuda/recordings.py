# SPDX-License-Identifier: MIT
"""CUDA programs, unmodified, on the simulation: the recording says what its script says."""

import recorded
import tap
from recorded import (
    Chosen,
    api_names,
    calls,
    counts,
    length,
    more,
    nothing_lost,
    nvcc_program,
    program,
    run,
)

SCRIPT = (
    "kernel _Z5scalePff 5000 registers 40 shared 1024; kernel _Z3sum* 700; api cudaMalloc 7000"
)


def test_two_streams():
    p = calls("streams", 50, SIMCUDA_INLINE=SCRIPT).only
    kernels = p.all("gpu_kernel")
    tap.equal(counts(kernels, "name"), {"_Z5scalePff": 50, "_Z3sumPKfPf": 50}, "kernels")
    tap.equal({length(k) for k in kernels if k.name == "_Z5scalePff"}, {5000}, "lengths of scale")
    tap.equal({length(k) for k in kernels if k.name == "_Z3sumPKfPf"}, {700}, "lengths of sum")
    geometry = counts(kernels, "name", "geometry")
    tap.equal(
        geometry,
        {
            ("_Z5scalePff", "[[64,2,1],[256,1,1],40,1024,128,0]"): 50,
            ("_Z3sumPKfPf", "[[1,1,1],[32,1,1],32,0,0,0]"): 50,
        },
        "geometry",
    )
    streams = counts(kernels, "name", "stream")
    tap.equal(len(streams), 2, f"streams {streams}")
    launches = p.all("cuda_api", name="cudaLaunchKernel")
    tap.equal({length(c) for c in launches}, {2000}, "lengths of launches")
    tap.equal(len({c.correlation for c in launches}), 100, "launches")
    tap.equal(
        {k.correlation for k in kernels}, {c.correlation for c in launches}, "kernels and launches"
    )
    # a kernel begins after its launch, and when its stream is free
    by_id = {c.correlation: c for c in launches}
    assert all(k.start >= by_id[k.correlation].start + 3000 for k in kernels)
    tap.equal(p.line("cuda")["mode"], "cupti", "mode")
    tap.equal(p.line("cuda")["api"], 130001, "version")
    tap.equal(len(p.lines("cuda_device")), 1, "devices")
    assert len(p.lines("cuda_clock")) >= 2
    tap.equal(p.line("cuda_lost")["until"], max(k.end for k in kernels), "complete until")
    nothing_lost(p)


def test_two_devices():
    p = calls("devices", 7, SIMCUDA_DEVICES=2).only
    tap.equal(counts(p.all("gpu_kernel"), "device"), {0: 7, 1: 7}, "kernels by device")
    peer = p.all("gpu_memcpy")
    tap.equal(
        [(c.copy_kind, c.bytes, c.source_device, c.target_device) for c in peer],
        [(10, 4096, 2, 1)],
        "peer copies",
    )
    tap.equal(sorted(line["device"] for line in p.lines("cuda_device")), [0, 1], "devices")
    made = counts(p.all("cuda_memory"), "operation", "device")
    tap.equal(made, {(1, 0): 1, (1, 1): 1, (2, 0): 1, (2, 1): 1}, "memory by device")
    nothing_lost(p)


def every_call_lies_in_its_range(**more):
    p = calls("ranges", 20, **more).only
    found = collections_of_ranges(p)
    tap.equal(
        found,
        {("_Z5scalePff", ("step", "forward")): 40, ("_Z3sumPKfPf", ("step",)): 20},
        "kernels by range",
    )
    return p


def collections_of_ranges(p):
    """Kernel names by the ranges in which they were launched, in either way."""
    at = {e.correlation: e.inside for e in p.all("cuda_call")}
    found = {}
    for kernel in p.all("gpu_kernel"):
        key = kernel.name, at[kernel.correlation]
        found[key] = found.get(key, 0) + 1
    for launch in p.all("cuda_begin"):
        if launch.kernel:
            key = launch.kernel, launch.inside
            found[key] = found.get(key, 0) + 1
    return found


def test_ranges():
    nothing_lost(every_call_lies_in_its_range())
    every_call_lies_in_its_range(TPAGENT_CUDA="hooks")


def outermost(api):
    """Without the driver calls whose runtime call, of the same id, came in another buffer."""
    runtime = {e.correlation for e in api if e.domain == 2}
    return [e for e in api if e.domain == 2 or e.correlation not in runtime]


def test_orders():
    """Kernels before their calls, late, shuffled, split over many buffers: the same records."""
    plain = calls("streams", 30).only
    columns = ("name", "start", "end", "correlation", "stream")
    for order in ("api", "device", "late", "shuffle"):
        shuffled = {"SIMCUDA_ORDER": order, "SIMCUDA_RECORDS_PER_BUFFER": 5, "SIMCUDA_SEED": 3}
        p = calls("streams", 30, **shuffled).only
        for what in ("gpu_kernel", "cuda_api"):
            keys = columns if what == "gpu_kernel" else columns[:4]
            got = outermost(p.all(what)) if what == "cuda_api" else p.all(what)
            tap.equal(
                counts(got, *keys), counts(plain.all(what), *keys), f"{what} in order {order}"
            )
        nothing_lost(p)


def test_versions():
    """Every layout of CUPTI: the same numbers."""
    plain = calls("streams", 10, SIMCUDA_INLINE=SCRIPT).only
    for api in (13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 130000, 130001):
        of_version = {"SIMCUDA_CUPTI_API": api, "TPAGENT_CUPTI_CLOCK": "cupti"}
        p = calls("streams", 10, SIMCUDA_INLINE=SCRIPT, **of_version).only
        tap.equal(p.line("cuda")["api"], api, "version")
        columns = ("name", "start", "end", "correlation", "stream", "device")
        tap.equal(
            counts(p.all("gpu_kernel"), *columns),
            counts(plain.all("gpu_kernel"), *columns),
            f"kernels of version {api}",
        )
        tap.equal(api_names(p), api_names(plain), f"calls of version {api}")
        nothing_lost(p)


def test_our_clock():
    """With the timestamp callback all times are ticks of the recording."""
    p = calls("streams", 20, TPAGENT_CUPTI_CLOCK="tsc").only
    tap.equal(p.line("cuda")["clock"], "ticks", "clock")
    by_id = {e.correlation: e for e in p.all("cuda_call")}
    api = p.all("cuda_api")
    assert api
    late = [c for c in api if not c.start <= by_id[c.correlation].ticks + 10_000_000]
    early = [c for c in api if c.end < by_id[c.correlation].ticks - 10_000_000]
    tap.equal((late, early), ([], []), "calls far from where they were made")


def test_nested():
    """A driver call inside a runtime call: one id or two, and either may be the kernel's."""
    for nested, api in (("same", 20), ("runtime", 40), ("driver", 40), ("none", 20)):
        p = calls("streams", 10, SIMCUDA_NESTED=nested).only
        known = {e.correlation for e in p.all("cuda_call")}
        kernels = p.all("gpu_kernel")
        tap.equal(len(kernels), 20, "kernels")
        assert {k.correlation for k in kernels} <= known, nested
        launches = [c for c in p.all("cuda_api") if "Launch" in c.name]
        tap.equal(len(launches), api, f"launch records, nested {nested}")
        nothing_lost(p)


def test_memory():
    p = calls("memory", SIMCUDA_INLINE="api cudaMalloc 3000").only
    made = p.all("cuda_memory", operation=1)
    tap.equal(
        [(m.memory_kind, m.bytes) for m in made if m.memory_kind != 3],
        [(2, 2000), (2, 3000), (5, 4000)],
        "host and managed memory",
    )
    tap.equal([m.bytes for m in made if m.memory_kind == 3][0], 1000, "device memory")
    freed = p.all("cuda_memory", operation=2)
    tap.equal(
        sorted((m.address, m.bytes) for m in made),
        sorted((m.address, m.bytes) for m in freed),
        "what was made was freed",
    )
    copies = [(c.copy_kind, c.bytes) for c in p.all("gpu_memcpy")]
    tap.equal(copies[:2], [(1, 500), (2, 600)], "copies")
    tap.equal([c.bytes for c in p.all("gpu_memcpy")][2:], [700], "copy on the device")
    tap.equal([(s.value, s.bytes) for s in p.all("gpu_memset")], [(7, 1000)], "memsets")
    nothing_lost(p)


def same_in_both_ways(scenario, count=10, **more):
    return same_of([program("cuda_calls"), scenario, str(count)], **more)


def same_of(command, **more):
    scenario = command[-1]
    cupti = run(command, TPAGENT_CUDA="cupti", **more)
    hooks = run(command, TPAGENT_CUDA="hooks", **more)
    without = {"LD_LIBRARY_PATH": recorded.libraries(), "SIMCUDA_CLOCK": "virtual"}
    plain = tap.run(command, tap.clean_environment(**without, **more))
    for way in (cupti, hooks):
        tap.equal((way.out, way.err), (plain.stdout.decode(), plain.stderr.decode()), "output")
    a, b = cupti.only, hooks.only
    tap.equal(a.line("cuda")["mode"], "cupti", "mode")
    tap.equal(b.line("cuda")["mode"], "hooks", "mode")
    tap.equal(api_names(b), api_names(a), f"calls of {scenario}")
    tap.equal(
        counts([e for e in b.all("cuda_begin") if e.kernel], "kernel"),
        counts(a.all("gpu_kernel"), "name"),
        f"kernels of {scenario}",
    )
    tap.equal(
        counts(b.all("cuda_memory", operation=1), "memory_kind", "bytes"),
        counts(a.all("cuda_memory", operation=1), "memory_kind", "bytes"),
        f"allocations of {scenario}",
    )
    tap.equal(
        len(b.all("cuda_memory", operation=2)), len(a.all("cuda_memory", operation=2)), "frees"
    )
    tap.equal(
        sum(e.bytes for e in b.all("cuda_begin") if "Memcpy" in e.name),
        sum(e.bytes for e in a.all("gpu_memcpy")),
        "bytes copied",
    )
    tap.equal(
        sum(e.bytes for e in b.all("cuda_begin") if "Memset" in e.name),
        sum(e.bytes for e in a.all("gpu_memset")),
        "bytes set",
    )
    results = [e.result for e in a.all("cuda_api")]
    tap.equal(sorted(e.result for e in b.all("cuda_end")), sorted(results), "results")
    return a, b


def test_both_ways():
    same_in_both_ways("streams", 25)
    same_in_both_ways("devices", 3, SIMCUDA_DEVICES=2)
    same_in_both_ways("threads", 30)
    same_in_both_ways("memory")
    a, b = same_in_both_ways("failing")
    tap.equal([e.result for e in b.all("cuda_end")], [2], "result of the call that fails")


def test_every_call():
    """Functions of the runtime as nvcc calls them, on the default stream of all threads and on each
    thread's own: arrays, pools, graphs, copies of rows and blocks."""
    with tap.folder() as scratch:
        for streams in ("legacy", "per-thread"):
            built = nvcc_program(scratch, "every.cu", "--default-stream", streams)
            a, b = same_of([built])
            tap.equal(counts(a.all("gpu_kernel"), "name"), {"_Z4oncePi": 9}, "kernels")
            assert len(api_names(a)) > 40, api_names(a)
            nothing_lost(a)


def test_hooks_are_ranges():
    p = calls("memory", TPAGENT_CUDA="hooks").only
    depth = 0
    for event in p.events:
        if event.what == "cuda_begin":
            tap.equal(depth, 0, "calls inside of calls")
            depth += 1
        elif event.what == "cuda_end":
            depth -= 1
        elif event.what == "cuda_memory":
            tap.equal((depth, event.flags & 2), (1, 2), "memory inside of its call")
    tap.equal(depth, 0, "calls that end")
    live = {}
    for event in p.all("cuda_memory"):
        if event.operation == 1:
            live[event.address] = event.bytes
        else:
            assert live.pop(event.address), event
    tap.equal(live, {}, "live at the end")


def test_buffers_run_out():
    """Refused buffers are drops, counted; what remains is right."""
    for launches in (3000, 9000, 27000, 81000):  # a busy machine may let the agent keep up
        p = calls(
            "many",
            launches,
            TPAGENT_CUDA_BUFFERS="2m",
            SIMCUDA_RECORDS_PER_BUFFER=20,
            timeout=200,
        ).only
        lost = p.line("cuda_lost")
        if lost["buffers"]:
            break
    kernels = p.all("gpu_kernel")
    api = p.all("cuda_api", name="cudaLaunchKernel")
    assert {length(k) for k in kernels} <= {10000}
    missing = launches - len(kernels) + launches - len(api)
    assert lost["buffers"] > 0, lost
    assert lost["dropped"] >= missing > 0, (lost, missing)
    known = {e.correlation for e in p.all("cuda_call")}
    assert {k.correlation for k in kernels} <= known


def test_many():
    p = calls("many", 40000, timeout=300, TPAGENT_WHEN_FULL="wait").only
    tap.equal(len(p.all("gpu_kernel")), 40000, "kernels")
    tap.equal(sum(length(k) for k in p.all("gpu_kernel")), 40000 * 10000, "device time")
    tap.equal(len(p.all("cuda_call")), 40041, "calls")
    nothing_lost(p)


def test_faults():
    p = calls("streams", 50, SIMCUDA_ZERO_EVERY=10, SIMCUDA_DROP_EVERY=0).only
    zero = [k for k in p.all("gpu_kernel") if k.start == k.end == 0]
    assert len(zero) == p.line("cuda_lost")["no_time"] > 0, (len(zero), p.line("cuda_lost"))
    p = calls("streams", 50, SIMCUDA_REVERSED_EVERY=10).only
    turned = [k for k in p.all("gpu_kernel") if k.end < k.start]
    assert len(turned) == p.line("cuda_lost")["no_time"] > 0
    p = calls("streams", 50, SIMCUDA_DROP_EVERY=10).only
    missing = 100 - len(p.all("gpu_kernel"))
    assert missing > 0
    tap.equal(p.line("cuda_lost")["dropped"], missing, "dropped")


def test_graphs():
    """By node: every kernel of every launch, with the range in which its node was captured."""
    p = more("graph", 6, SIMCUDA_INLINE=SCRIPT).only
    tap.equal(counts(p.all("gpu_kernel"), "name"), {"_Z5scalePff": 6, "_Z3sumPKfPf": 6}, "kernels")
    tap.equal(len(p.all("gpu_memset")), 6, "memsets")
    launches = {e.correlation for e in p.all("cuda_api", name="cudaGraphLaunch")}
    tap.equal(len(launches), 6, "launches")
    work = p.all("gpu_kernel") + p.all("gpu_memset")
    tap.equal(counts(work, "correlation"), {one: 3 for one in launches}, "work of each launch")
    called_in = {e.correlation: e.inside for e in p.all("cuda_call")}
    tap.equal({called_in[one] for one in launches}, {("replay",)}, "ranges of the launches")
    nodes = {e.node: e for e in p.all("cuda_node")}
    origins = {}
    for kernel in p.all("gpu_kernel"):
        node = nodes[kernel.graph_node]
        origins[kernel.name] = (nodes[node.original] if node.original else node).inside
    tap.equal(origins, {"_Z5scalePff": ("forward",), "_Z3sumPKfPf": ("loss",)}, "where captured")
    assert all(k.graph for k in p.all("gpu_kernel"))
    tap.equal(p.all("gpu_graph"), [], "whole graphs")
    nothing_lost(p)
    whole = more("graph", 6, SIMCUDA_INLINE=SCRIPT, TPAGENT_CUDA_GRAPHS="graph").only
    tap.equal(len(whole.all("gpu_graph")), 6, "whole graphs")
    tap.equal(whole.all("gpu_kernel"), [], "kernels of them")
    tap.equal({g.correlation for g in whole.all("gpu_graph")}, launches, "their launches")
    tap.equal(whole.line("cuda")["graphs"], "graph", "graphs")
    nothing_lost(whole)
    hooks = more("graph", 6, TPAGENT_CUDA="hooks").only
    tap.equal(api_names(hooks), api_names(p), "calls")


def test_pools():
    p = more("pools", 4).only
    made = p.all("cuda_memory", operation=1)
    device = [(m.memory_kind, m.bytes, m.flags) for m in made if m.memory_kind == 3]
    tap.equal(device, [(3, 1000, 1)] * 4, "asynchronous allocations")
    assert all(m.pool and m.pool_type == 1 for m in made if m.memory_kind == 3)
    freed = p.all("cuda_memory", operation=2)
    places = [sorted((m.address, m.bytes) for m in events) for events in (made, freed)]
    tap.equal(places[0], places[1], "frees")
    assert p.all("cuda_memory", operation=5), "the pool was trimmed"
    nothing_lost(p)
    hooks = more("pools", 4, TPAGENT_CUDA="hooks").only
    tap.equal(api_names(hooks), api_names(p), "calls")
    got = hooks.all("cuda_memory", operation=1)
    tap.equal(
        [(m.memory_kind, m.bytes, m.flags) for m in got],
        [(3, 1000, 3)] * 4 + [(2, 10000, 2)],
        "allocations seen by hooks",
    )


def test_driver():
    """Programs of the driver's interface, such as Triton's; memory that is mapped by hand."""
    p = more("driver", 5).only
    kernels = p.all("gpu_kernel")
    tap.equal(counts(kernels, "name"), {"triton_poi_fused_add_0": 5}, "kernels")
    called_in = {e.correlation: e.inside for e in p.all("cuda_call")}
    tap.equal({called_in[k.correlation] for k in kernels}, {("driver",)}, "ranges")
    tap.equal({e.domain for e in p.all("cuda_api", name="cuLaunchKernel")}, {1}, "domain")
    got = [(m.operation, m.memory_kind, m.bytes, m.flags) for m in p.all("cuda_memory")]
    wanted = [(1, 3, 5000, 0), (1, 3, 4 << 20, 10), (2, 3, 0, 46), (2, 3, 5000, 0)]
    tap.equal(sorted(got), wanted, "memory")
    nothing_lost(p)
    hooks = more("driver", 5, TPAGENT_CUDA="hooks").only
    tap.equal(api_names(hooks), api_names(p), "calls")
    tap.equal(
        counts([e for e in hooks.all("cuda_begin") if e.kernel], "kernel"),
        {"triton_poi_fused_add_0": 5},
        "kernels seen by hooks",
    )
    got = [(m.operation, m.memory_kind, m.bytes, m.flags) for m in hooks.all("cuda_memory")]
    wanted = [(1, 3, 5000, 34), (2, 3, 0, 38), (1, 3, 4 << 20, 10), (2, 3, 0, 46)]
    tap.equal(got, wanted, "memory seen by hooks")


def test_shared():
    """Memory of another process; launches to the default stream of each thread."""
    # hooks know whose memory it is, not how much
    cases = (
        ("cupti", [(1, 7000, 0), (1, 7000, 0), (2, 7000, 0), (2, 7000, 0)]),
        ("hooks", [(1, 7000, 34), (1, 0, 50), (2, 0, 54), (2, 0, 38)]),
    )
    for mode, memory in cases:
        p = more("shared", 5, TPAGENT_CUDA=mode).only
        by = p.all("gpu_kernel") if mode == "cupti" else p.all("cuda_begin")
        name = "name" if mode == "cupti" else "kernel"
        kernels = [e for e in by if e[name]]
        tap.equal(counts(kernels, name), {"of_each_thread": 5}, f"kernels, {mode}")
        got = [(m.operation, m.bytes, m.flags) for m in p.all("cuda_memory")]
        tap.equal(sorted(got), sorted(memory), f"memory, {mode}")
        called = {
            "cuLaunchKernel": 5,
            "cuMemAlloc_v2": 1,
            "cuIpcOpenMemHandle_v2": 1,
            "cuCtxSynchronize": 1,
            "cuIpcCloseMemHandle": 1,
            "cuMemFree_v2": 1,
        }
        tap.equal(dict(api_names(p)), called, f"calls, {mode}")


def test_names_of_modules():
    p = more("modules", 5).only
    wanted = {f"jit_kernel_{i}": 1 for i in range(5)}
    tap.equal(counts(p.all("gpu_kernel"), "name"), wanted, "kernels")


def test_window():
    """Between cudaProfilerStart and cudaProfilerStop, and nothing else; ranges pair."""
    for way in ("cupti", "hooks"):
        p = calls("window", 4, TPAGENT_CAPTURE="cuda-profiler-api", TPAGENT_CUDA=way).only
        names = api_names(p)
        names = {k: v for k, v in names.items() if "Profiler" not in k}
        tap.equal(names, {"cudaLaunchKernel": 4}, f"calls, {way}")
        tap.equal(counts(p.all("api_begin"), "name"), {"inside": 4}, "ranges")
        tap.equal(len(p.all("api_end")), 4, "ends")
        if way == "cupti":
            tap.equal(counts(p.all("gpu_kernel"), "name"), {"_Z3sumPKfPf": 4}, "kernels")
        states = [line["state"] for line in p.lines("capture") if "state" in line]
        tap.equal(states, ["closed", "open", "closed"], "window")


def test_window_of_ranges():
    """What is launched while the range is open is kept, whenever it ends on the device."""
    for way in ("cupti", "hooks"):
        p = calls("window", 4, TPAGENT_CAPTURE="range:inside", TPAGENT_CUDA=way).only
        names = {k: v for k, v in api_names(p).items() if "Profiler" not in k}
        tap.equal(names, {"cudaLaunchKernel": 4}, f"calls, {way}")
        tap.equal(counts(p.all("api_begin"), "name"), {"inside": 4}, "ranges")
        if way == "cupti":
            tap.equal(counts(p.all("gpu_kernel"), "name"), {"_Z3sumPKfPf": 4}, "kernels")


def test_overhead():
    p = calls("streams", 20, SIMCUDA_OVERHEAD_EVERY=5, SIMCUDA_OVERHEAD_NS=500).only
    found = p.all("cuda_overhead")
    assert found and {length(o) for o in found} == {500}, found
    nothing_lost(p)


def test_no_null_buffer():
    """Before 12.9 a refused buffer is a crash: the limit is passed instead."""
    p = calls(
        "many",
        2000,
        SIMCUDA_CUPTI_API=24,
        SIMCUDA_RECORDS_PER_BUFFER=20,
        TPAGENT_CUDA_BUFFERS="2m",
        TPAGENT_CUPTI_CLOCK="cupti",
        TPAGENT_WHEN_FULL="wait",
    ).only
    tap.equal(len(p.all("gpu_kernel")), 2000, "kernels")
    nothing_lost(p)


def test_threads():
    p = calls("threads", 100).only
    callers = counts(p.all("cuda_api", name="cudaLaunchKernel"), "thread")
    tap.equal(sorted(callers.values()), [1, 100, 100, 100, 100], "launches by thread")
    inside = counts(p.all("cuda_call"), "inside")
    tap.equal(inside[("thread",)], 400, "launches inside of the threads' ranges")
    nothing_lost(p)


def main():
    t = Chosen()
    t.check("two streams: kernels, geometry, calls and times are the script's", test_two_streams)
    t.check("two devices and a copy between them", test_two_devices)
    t.check("every launch lies in its innermost range, both ways", test_ranges)
    t.check("threads: launches by thread and range", test_threads)
    t.check("records out of order, late, in small buffers", test_orders)
    t.check("every version of CUPTI", test_versions)
    t.check("the recording's own clock", test_our_clock)
    t.check("driver calls inside of runtime calls", test_nested)
    t.check("allocations, frees, copies, memsets", test_memory)
    t.check("hooks and CUPTI give the same calls, kernels, memory, results", test_both_ways)
    t.check("functions of the runtime as nvcc calls them, both ways", test_every_call)
    t.check("hooks: calls are ranges, memory lies in them", test_hooks_are_ranges)
    t.check("buffers that run out are counted, the rest is right", test_buffers_run_out)
    t.check("40,000 launches, none lost", test_many)
    t.check("no time, reversed time, dropped records", test_faults)
    t.check("graphs, by node and whole", test_graphs)
    t.check("asynchronous allocations and pools, pinned memory", test_pools)
    t.check("the driver's interface, virtual memory", test_driver)
    t.check("memory of other processes, streams of each thread", test_shared)
    t.check("a module at the address of another", test_names_of_modules)
    t.check("a capture window by cudaProfilerStart and Stop", test_window)
    t.check("a capture window by ranges", test_window_of_ranges)
    t.check("CUPTI's own overhead", test_overhead)
    t.check("no refused buffer before 12.9", test_no_null_buffer)
    t.end()


if __name__ == "__main__":
    main()
