# SPDX-License-Identifier: MIT
"""CUDA programs, unmodified, on the simulation: what the recording says equals what its script says."""

import ctypes
import os
import random
import shutil
import sys
import time

import recorded
import tap
from recorded import calls, counts, length, more, program, run

CUDA = "/usr/local/cuda"
SCRIPT = "kernel _Z5scalePff 5000 registers 40 shared 1024; kernel _Z3sum* 700; api cudaMalloc 7000"
LOST = ("dropped", "no_room", "no_time", "invalid", "buffers")


def nothing_lost(process):
    lost = process.line("cuda_lost")
    tap.equal([lost[k] for k in LOST], [0] * 5, "losses")
    tap.equal(lost["unknown"], {}, "unknown kinds")
    tap.equal(process.lines("drop"), [], "drop lines")


def api_names(process):
    """Of either way."""
    return counts(process.all("cuda_api") + process.all("cuda_begin"), "name")


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
        p = calls("streams", 30, SIMCUDA_ORDER=order, SIMCUDA_RECORDS_PER_BUFFER=5, SIMCUDA_SEED=3).only
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
        p = calls("streams", 10, SIMCUDA_INLINE=SCRIPT, SIMCUDA_CUPTI_API=api,
                  TPAGENT_CUPTI_CLOCK="cupti").only
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
    cupti = calls(scenario, count, TPAGENT_CUDA="cupti", **more)
    hooks = calls(scenario, count, TPAGENT_CUDA="hooks", **more)
    plain = tap.run(
        [program("cuda_calls"), scenario, str(count)],
        tap.clean_environment(LD_LIBRARY_PATH=recorded.libraries(), SIMCUDA_CLOCK="virtual", **more),
    )
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
    p = calls(
        "many",
        3000,
        TPAGENT_CUDA_BUFFERS="2m",
        SIMCUDA_RECORDS_PER_BUFFER=20,
        timeout=200,
    ).only
    lost = p.line("cuda_lost")
    kernels = p.all("gpu_kernel")
    api = p.all("cuda_api", name="cudaLaunchKernel")
    assert {length(k) for k in kernels} <= {10000}
    missing = 3000 - len(kernels) + 3000 - len(api)
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
    tap.equal([(m.memory_kind, m.bytes, m.flags) for m in made if m.memory_kind == 3],
              [(3, 1000, 1)] * 4, "asynchronous allocations")
    assert all(m.pool and m.pool_type == 1 for m in made if m.memory_kind == 3)
    freed = p.all("cuda_memory", operation=2)
    tap.equal(sorted((m.address, m.bytes) for m in made), sorted((m.address, m.bytes) for m in freed),
              "frees")
    assert p.all("cuda_memory", operation=5), "the pool was trimmed"
    nothing_lost(p)
    hooks = more("pools", 4, TPAGENT_CUDA="hooks").only
    tap.equal(api_names(hooks), api_names(p), "calls")
    got = hooks.all("cuda_memory", operation=1)
    tap.equal([(m.memory_kind, m.bytes, m.flags) for m in got],
              [(3, 1000, 3)] * 4 + [(2, 10000, 2)], "allocations seen by hooks")


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
        states = [line["state"] for line in p.lines("capture")]
        tap.equal(states, ["closed", "open", "closed"], "window")


def test_fork_after_init():
    for way in ("cupti", "hooks"):
        done = calls("fork_after", 5, TPAGENT_CUDA=way, SIMCUDA_MISUSE="abort")
        tap.equal((done.out, done.err), ("child 0\n", ""), "output")
        parent = max(done.processes, key=lambda p: len(p.events))
        child = min(done.processes, key=lambda p: len(p.events))
        tap.equal(len(done.processes), 2, "processes")
        tap.equal(counts(child.all("api_begin"), "name"), {"child": 1}, "the child's range")
        if way == "cupti":
            tap.equal(len(parent.all("gpu_kernel")), 6, "kernels")
            tap.equal([e.what for e in child.events if e.what.startswith(("gpu", "cuda"))], [], "CUDA in the child")
        else:
            tap.equal(api_names(child), {"cudaMalloc": 1}, "calls of the child")


def test_fork_before_init():
    done = calls("fork_before", 5, SIMCUDA_MISUSE="abort")
    tap.equal((done.out, done.err), ("child 0\n", ""), "output")
    found = sorted(tuple(counts(p.all("gpu_kernel"), "name").items()) for p in done.processes)
    tap.equal(found, [(("_Z3sumPKfPf", 1),), (("_Z5scalePff", 5),)], "kernels of each process")


def test_fast_exit():
    done = calls("_exit", 200, code=7)
    tap.equal((done.out, done.err), ("", ""), "output")
    tap.equal(len(done.only.all("gpu_kernel")), 200, "kernels")
    nothing_lost(done.only)


def test_python_exit():
    library = os.path.join(recorded.SIMCUDA, "13", "libcudart.so.13")
    code = f"""
import ctypes, os
cuda = ctypes.CDLL({library!r})
p = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(1234)) == 0
assert cuda.cudaMemset(p, 0, ctypes.c_size_t(1234)) == 0
os._exit(3)
"""
    p = run([os.environ["PYTHON"], "-c", code], code=3).only
    tap.equal([m.bytes for m in p.all("gpu_memset")], [1234], "memsets")
    tap.equal(api_names(p), {"cudaMalloc": 1, "cudaMemset": 1}, "calls")


def test_killed():
    """SIGKILL at any moment, also in the middle of a conversion: whole records, known names."""
    seed = int(os.environ.get("TPAGENT_TEST_SEED", time.time_ns() % 1000000))
    print(f"# seed {seed}")
    chance = random.Random(seed)
    for _ in range(3):
        done = calls(
            "killed", 1100000 + chance.randrange(300000), code=-9, SIMCUDA_RECORDS_PER_BUFFER=300
        )
        p = done.only
        kernels = p.all("gpu_kernel")
        assert {k.name for k in kernels} <= {"_Z5scalePff", "_Z3sumPKfPf"}
        tap.equal({length(k) for k in kernels}, {10000}, "lengths")
        calls_made = {e.correlation for e in p.all("cuda_call")}
        if not p.all("lost"):
            assert {k.correlation for k in kernels} <= calls_made
        assert p.line("cuda")["mode"] == "cupti"


def test_held():
    """Another tool has CUPTI: one line names it, and the calls are recorded all the same."""
    done = calls("streams", 10, SIMCUDA_CUPTI_HOLDER="Some Profiler")
    tap.equal(
        done.err,
        "tpagent: cuda: CUPTI is held by Some Profiler: calls only, no device times\n",
        "stderr",
    )
    p = done.only
    tap.equal(p.line("cuda")["mode"], "hooks", "mode")
    assert "Some Profiler" in p.line("cuda")["why"]
    tap.equal(p.all("gpu_kernel"), [], "kernels")
    plain = calls("streams", 10, TPAGENT_CUDA="hooks").only
    tap.equal(api_names(p), api_names(plain), "calls")
    # without names (before 13.0), and where only CUPTI is wanted
    done = calls("streams", 10, SIMCUDA_SUBSCRIBE=39, SIMCUDA_CUPTI_API=28)
    assert "held by" in done.err, done.err
    done = calls("streams", 10, SIMCUDA_SUBSCRIBE=39, TPAGENT_CUDA="cupti")
    assert "nothing of CUDA is recorded" in done.err, done.err
    tap.equal(api_names(done.only), {}, "calls")


def test_errors_of_cupti():
    for error in (15, 999, 35):
        done = calls("streams", 3, SIMCUDA_SUBSCRIBE=error)
        assert f"({error})" in done.err and done.err.count("\n") == 1, done.err
        tap.equal(done.only.line("cuda")["mode"], "hooks", "mode")
    done = calls("streams", 3, TPAGENT_CUPTI="/nonexistent/libcupti.so")
    assert "TPAGENT_CUPTI=/nonexistent/libcupti.so" in done.err, done.err
    tap.equal(done.only.line("cuda")["mode"], "hooks", "mode")


def test_newer_than_the_driver():
    """A CUPTI that the driver is too old for: the next older one, and no other error is passed by."""
    both = recorded.libraries() + ":" + os.path.join(recorded.SIMCUDA, "12")
    done = more("driver", 3, SIMCUDA_DRIVER_VERSION=12080, LD_LIBRARY_PATH=both)
    tap.equal(done.err, "", "stderr")
    line = done.only.line("cuda")
    tap.equal((line["mode"], line["api"]), ("cupti", 28), "mode and version")
    tap.equal(len(done.only.all("gpu_kernel")), 3, "kernels")


def test_which_library():
    """TPAGENT_CUPTI; the one that is mapped; the one beside libcudart."""
    older = os.path.join(recorded.SIMCUDA, "12", "libcupti.so.12")
    p = calls("streams", 3, TPAGENT_CUPTI=older).only
    tap.equal((p.line("cuda")["library"], p.line("cuda")["api"]), (older, 28), "library asked for")
    p = calls("streams", 3, LD_PRELOAD=older).only
    tap.equal(p.line("cuda")["api"], 28, "version of the mapped one")
    only_driver = os.path.join(recorded.SIMCUDA, "driver")
    p = calls("streams", 3, LD_LIBRARY_PATH=only_driver).only
    assert p.line("cuda")["library"].endswith("/13/libcupti.so.13"), p.line("cuda")


def test_flush_that_hangs():
    """Neither exit nor _exit waits for it; what did not come is said."""
    done = calls("streams", 5, SIMCUDA_FLUSH_DELAY_MS=100000, timeout=60)
    tap.equal((done.out, done.err), ("", ""), "output")
    assert "did not end" in done.only.line("cuda")["why"], done.only.line("cuda")
    tap.equal(len(done.only.all("cuda_call")), 14, "calls")
    done = calls("_exit", 5, code=7, SIMCUDA_FLUSH_DELAY_MS=100000, timeout=60)
    assert "did not end" in done.only.line("cuda")["why"], done.only.line("cuda")


def test_cupti_gives_up():
    p = calls("streams", 50, SIMCUDA_FATAL_AFTER=40).only
    assert "fatal error" in p.line("cuda")["why"], p.line("cuda")
    assert 0 < len(p.all("gpu_kernel")) < 100


def test_one_lock():
    """CUPTI holds its lock around its functions and callbacks: ours take none."""
    p = calls("threads", 300, SIMCUDA_LOCK=5000, SIMCUDA_RECORDS_PER_BUFFER=50).only
    tap.equal(len(p.all("gpu_kernel")), 1201, "kernels")
    nothing_lost(p)


def test_overhead():
    p = calls("streams", 20, SIMCUDA_OVERHEAD_EVERY=5, SIMCUDA_OVERHEAD_NS=500).only
    found = p.all("cuda_overhead")
    assert found and {length(o) for o in found} == {500}, found
    nothing_lost(p)


def test_no_null_buffer():
    """Before 12.9 a refused buffer is a crash: the limit is passed instead."""
    p = calls(
        "many", 2000, SIMCUDA_CUPTI_API=24, TPAGENT_CUDA_BUFFERS="2m", SIMCUDA_RECORDS_PER_BUFFER=20,
        TPAGENT_CUPTI_CLOCK="cupti", TPAGENT_WHEN_FULL="wait",
    ).only
    tap.equal(len(p.all("gpu_kernel")), 2000, "kernels")
    nothing_lost(p)


def test_torch():
    """CUDA calls inside of operators' ranges of torch, from Python."""
    library = os.path.join(recorded.SIMCUDA, "13", "libcudart.so.13")
    code = f"""
import ctypes, torch
from torch.autograd.profiler import record_function
cuda = ctypes.CDLL({library!r})
p = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(4096)) == 0
for _ in range(3):
    with record_function("outer"):
        torch.ones(2) + 1
        with record_function("inner"):
            assert cuda.cudaMemset(p, 0, ctypes.c_size_t(64)) == 0
        torch.ones(2) + 1
        assert cuda.cudaMemset(p, 0, ctypes.c_size_t(32)) == 0
assert cuda.cudaDeviceSynchronize() == 0
"""
    python = os.environ.get("TPAGENT_TEST_PYTHON") or os.environ["PYTHON"]
    if tap.run([python, "-c", "import torch"], tap.clean_environment()).returncode:
        raise tap.Skip("no torch for " + python)
    p = run([python, "-c", code]).only
    opened, at = [], {}
    for event in p.events:
        if event.what == "op_begin":
            opened.append(event.name.split("\0")[0])
        elif event.what == "op_end":
            opened.pop()
        elif event.what == "cuda_call":
            at[event.correlation] = opened[-1] if opened else None
    found = counts([{"bytes": s.bytes, "at": at[s.correlation]} for s in p.all("gpu_memset")], "bytes", "at")
    tap.equal(found, {(64, "inner"): 3, (32, "outer"): 3}, "memsets by operator")


def test_foreign_injection():
    """CUDA_INJECTION64_PATH of another tool stays, and is said; recording begins a little later."""
    with tap.folder() as scratch:
        client = os.environ["SIM_CLIENT"]
        done = calls(
            "streams", 10, CUDA_INJECTION64_PATH="/nonexistent/tool.so", TPAGENT_CUDA="auto"
        )
        assert "CUDA_INJECTION64_PATH belongs to /nonexistent/tool.so" in done.err, done.err
        p = done.only
        tap.equal(p.line("cuda")["mode"], "cupti", "mode")
        tap.equal(len(p.all("gpu_kernel")), 20, "kernels")
        assert "/nonexistent/tool.so" in p.line("cuda")["why"]
        # a tool that is there, and takes CUPTI
        done = calls(
            "streams",
            10,
            CUDA_INJECTION64_PATH=client,
            CLIENT_OUT=os.path.join(scratch, "client"),
        )
        tap.equal(done.only.line("cuda")["mode"], "hooks", "mode")
        assert "held by" in done.err, done.err
        assert os.path.getsize(os.path.join(scratch, "client")) > 0
        tap.equal(api_names(done.only)["cudaLaunchKernel"], 20, "launches")


def test_environment_is_set():
    with tap.folder() as out:
        code = "import os; print(os.environ.get('CUDA_INJECTION64_PATH'))"
        command = [os.environ["PYTHON"], "-c", code]
        done = tap.run(command, tap.recorded_environment(out))
        tap.equal(done.stdout.decode().strip(), os.path.realpath(tap.AGENT), "variable")
        for off in ({"TPAGENT_CUDA": "off"}, {"TPAGENT_CUDA": "hooks"}, {"TPAGENT_SOURCES": "-cuda"}):
            done = tap.run(command, tap.recorded_environment(out, **off))
            tap.equal(done.stdout.decode().strip(), "None", f"variable, {off}")


def test_off():
    for off in ({"TPAGENT_CUDA": "off"}, {"TPAGENT_SOURCES": "-cuda"}):
        p = calls("ranges", 3, **off).only
        tap.equal({e.what for e in p.events}, {"api_begin", "api_end"}, "records")


def test_not_preloaded():
    """A child that lost LD_PRELOAD but not CUDA_INJECTION64_PATH: the agent keeps out."""
    with tap.folder() as out:
        plain = tap.clean_environment(
            LD_LIBRARY_PATH=recorded.libraries(),
            CUDA_INJECTION64_PATH=tap.AGENT,
            TPAGENT_OUT=out,
            TPAGENT_RUN_DIR=os.path.join(out, "run"),
            TPAGENT_SOURCES="-malloc",
            SIMCUDA_CLOCK="virtual",
        )
        done = tap.run([program("cuda_calls"), "memory"], plain)
        tap.equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), "the program")
        tap.equal(os.listdir(out), [], "recordings")


def test_plugins():
    """A library opened and closed, twice; two runtimes in one process, each called by its own."""
    for way in ("cupti", "hooks"):
        done = run([program("plugin_host"), program("libplugin13.so")], TPAGENT_CUDA=way)
        tap.equal((done.out, done.err), ("0\n0\n", ""), "output")
        tap.equal(api_names(done.only)["cudaLaunchKernel"], 8, "launches")
    with_both = [program("plugin_host"), program("libplugin13.so"), program("libplugin12.so")]
    plain = tap.run(
        with_both,
        tap.clean_environment(LD_LIBRARY_PATH=recorded.libraries() + ":" + recorded.SIMCUDA + "/12"),
    )
    done = run(
        with_both,
        TPAGENT_CUDA="hooks",
        LD_LIBRARY_PATH=recorded.libraries() + ":" + recorded.SIMCUDA + "/12",
    )
    tap.equal((done.out, done.err), (plain.stdout.decode(), ""), "output")
    tap.equal(api_names(done.only)["cudaLaunchKernel"], 18, "launches")
    names = counts([e for e in done.only.all("cuda_begin") if e.kernel], "kernel")
    tap.equal(names, {"_Z5scalePff": 18}, "kernels")


def test_looked_up():
    for way in ("auto", "hooks"):
        done = run([program("looked_up")], TPAGENT_CUDA=way)
        tap.equal((done.out, done.err), ("0 0\n0 0\n", ""), "output")
        if way == "auto":
            tap.equal(api_names(done.only), {"cudaMalloc": 2, "cudaFree": 2}, "calls")


def test_threads():
    p = calls("threads", 100).only
    callers = counts(p.all("cuda_api", name="cudaLaunchKernel"), "thread")
    tap.equal(sorted(callers.values()), [1, 100, 100, 100, 100], "launches by thread")
    inside = counts(p.all("cuda_call"), "inside")
    tap.equal(inside[("thread",)], 400, "launches inside of the threads' ranges")
    nothing_lost(p)


def nvcc_program(scratch, **more):
    nvcc = shutil.which("nvcc") or os.path.join(CUDA, "bin/nvcc")
    if not os.path.exists(nvcc):
        raise tap.Skip("no nvcc")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.cu")
    built = os.path.join(scratch, "vectors")
    done = tap.run([nvcc, "-cudart", "shared", "-o", built, source], tap.clean_environment())
    if done.returncode:
        raise tap.Skip("nvcc: " + done.stderr.decode()[-200:])
    return built


def test_nvcc():
    with tap.folder() as scratch:
        built = nvcc_program(scratch)
        for way in ("cupti", "hooks"):
            done = run([built], TPAGENT_CUDA=way)
            tap.equal((done.out, done.err), ("done\n", ""), "output")
            p = done.only
            kernels = counts(p.all("gpu_kernel"), "name") or counts(
                [e for e in p.all("cuda_begin") if e.kernel], "kernel"
            )
            tap.equal(kernels, {"_Z3addIfEvPKT_S2_PS0_i": 5, "_Z5clearPf": 1}, f"kernels, {way}")
            tap.equal(
                api_names(p),
                {"cudaMalloc": 3, "cudaFree": 3, "cudaLaunchKernel": 6, "cudaDeviceSynchronize": 1},
                f"calls, {way}",
            )


def test_real_without_driver():
    """NVIDIA's own runtime where there is no driver: the same errors, one line, no device."""
    library = os.path.join(CUDA, "lib64/libcudart.so.13")
    if not os.path.exists(library):
        raise tap.Skip("no " + library)
    try:
        ctypes.CDLL("libcuda.so.1")
        raise tap.Skip("there is a driver")
    except OSError:
        pass
    with tap.folder() as scratch, tap.folder() as out:
        built = nvcc_program(scratch)
        plain = tap.run([built], tap.clean_environment(LD_LIBRARY_PATH=CUDA + "/lib64"))
        assert plain.returncode == 1 and b"cudaErrorInsufficientDriver" in plain.stdout, plain
        for way in ("auto", "cupti", "hooks"):
            done = tap.run(
                [built],
                tap.recorded_environment(out, LD_LIBRARY_PATH=CUDA + "/lib64", TPAGENT_CUDA=way),
            )
            tap.equal((done.returncode, done.stdout), (1, plain.stdout), f"the program, {way}")
            tap.equal(
                done.stderr.decode(),
                "tpagent: cuda: no CUDA driver: CUDA calls fail (35), nothing of a device is"
                " recorded\n",
                "stderr",
            )


class Chosen(tap.Tap):
    """With words on the command line: only the claims that hold one of them."""

    def check(self, name, function, *arguments, **named):
        if not sys.argv[1:] or any(word in name for word in sys.argv[1:]):
            super().check(name, function, *arguments, **named)


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
    t.check("hooks: calls are ranges, memory lies in them", test_hooks_are_ranges)
    t.check("buffers that run out are counted, the rest is right", test_buffers_run_out)
    t.check("40,000 launches, none lost", test_many)
    t.check("no time, reversed time, dropped records", test_faults)
    t.check("graphs, by node and whole", test_graphs)
    t.check("asynchronous allocations and pools, pinned memory", test_pools)
    t.check("the driver's interface, virtual memory", test_driver)
    t.check("a module at the address of another", test_names_of_modules)
    t.check("a capture window by cudaProfilerStart and Stop", test_window)
    t.check("fork after cuInit", test_fork_after_init)
    t.check("fork before cuInit", test_fork_before_init)
    t.check("_exit flushes", test_fast_exit)
    t.check("Python with ctypes and os._exit", test_python_exit)
    t.check("SIGKILL at random moments", test_killed)
    t.check("another tool holds CUPTI", test_held)
    t.check("errors of CUPTI, and a file that is not there", test_errors_of_cupti)
    t.check("a CUPTI newer than the driver", test_newer_than_the_driver)
    t.check("which libcupti is taken", test_which_library)
    t.check("a flush that hangs at exit", test_flush_that_hangs)
    t.check("CUPTI meets a fatal error", test_cupti_gives_up)
    t.check("a CUPTI with one lock around all", test_one_lock)
    t.check("CUPTI's own overhead", test_overhead)
    t.check("no refused buffer before 12.9", test_no_null_buffer)
    t.check("Python: calls inside of torch's operators", test_torch)
    t.check("CUDA_INJECTION64_PATH belongs to another", test_foreign_injection)
    t.check("CUDA_INJECTION64_PATH is set where it is of use", test_environment_is_set)
    t.check("switched off", test_off)
    t.check("only named by the variable, not preloaded", test_not_preloaded)
    t.check("plugins closed and opened again, two runtimes", test_plugins)
    t.check("CUDA found by dlopen and dlsym, and closed", test_looked_up)
    t.check("a program of nvcc", test_nvcc)
    t.check("NVIDIA's runtime without a driver", test_real_without_driver)
    t.end()


if __name__ == "__main__":
    main()
