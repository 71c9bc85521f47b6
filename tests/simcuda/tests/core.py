# SPDX-License-Identifier: MIT
"""The simulation's own numbers: calls, kernels, copies, sets, memory, waits, order of time."""

import os

import sim

EXAMPLE = [sim.program("example"), "5"]
SCRIPT = "kernel _Z5scalePff 5000 registers 40 shared 1024; kernel _Z3sum* 700; api cudaMalloc 7000"
KINDS = "kinds=5,4,10,1,2,49,38,8,9,37"


def example(do=KINDS, **more):
    return sim.run(EXAMPLE, do, SIMCUDA_INLINE=SCRIPT, SIMCUDA_CLOCK="virtual", **more)


def a_program_runs_as_without_a_client():
    alone = sim.run(EXAMPLE, CUDA_INJECTION64_PATH="")
    sim.equal(alone.out, "10 launches; what went there came back\n")
    sim.equal(example().out, alone.out)
    sim.equal(alone.lines, [])


def kernels_are_as_long_as_the_script_says():
    run = example()
    scale, add = run.all("kernel", name="_Z5scalePff"), run.all("kernel", name="_Z3sumPKfPf")
    sim.equal([sim.length(k) for k in scale], [5000] * 5)
    sim.equal([sim.length(k) for k in add], [700] * 5)
    shapes = {(k.registers, k.static, k.grid, k.block) for k in scale}
    sim.equal(shapes, {(40, 1024, "64,1,1", "256,1,1")})


def api_calls_are_as_long_as_the_script_says():
    run = example()
    sim.equal([sim.length(c) for c in run.all("runtime", name="cudaMalloc_v3020")], [7000, 7000])
    sim.equal({sim.length(c) for c in run.all("runtime", cbid=211)}, {2000})
    sim.equal(len(run.all("runtime", cbid=211)), 10)


def api_calls_of_a_thread_come_one_after_the_other():
    calls = example().all("runtime")
    for first, second in zip(calls, calls[1:]):
        sim.true(first.end <= second.start, second.text)


def a_blocking_copy_lasts_until_the_bytes_are_there():
    run = example()
    sim.equal(run.one("runtime", cbid=31).end, run.all("memcpy")[0].end)


def copies_and_sets_have_bytes_and_lengths():
    run = example()
    to, back = run.all("memcpy")
    sim.equal((to.kind, to.bytes, to.to, sim.length(to)), (1, 1 << 20, 3, 1000 + (1 << 20) // 16))
    sim.equal((back.kind, back.bytes, back.stream, back.values["async"]), (2, 1 << 20, 8, 1))
    zero = run.one("memset")
    sim.equal((zero.bytes, zero.value, sim.length(zero)), (4096, 0, 1000 + 4096 // 64))


def allocations_are_released_with_their_bytes():
    run = example()
    sim.equal([m.bytes for m in run.all("memory", operation=1)], [1 << 20, 4096])
    sim.equal([m.bytes for m in run.all("memory", operation=2)], [4096, 1 << 20])


def waits_last_until_the_work_is_over():
    run = example()
    stream, context = run.all("sync")
    sim.equal((stream.type, stream.stream), (3, 8))
    sim.equal(stream.end, max(k.end for k in run.all("kernel", stream=8)))
    sim.equal((context.type, context.stream), (4, 0xFFFFFFFF))
    sim.equal(context.end, run.all("memcpy")[1].end)
    sim.equal(run.one("runtime", cbid=165).end, context.end)


def work_carries_the_id_of_its_call():
    run = example()
    calls = {c.correlation: c for c in run.all("runtime")}
    for work in run.all("kernel") + run.all("memcpy") + run.all("memset"):
        sim.true(work.start >= calls[work.correlation].start, work.text)


def a_stream_does_one_thing_at_a_time():
    work = example()
    by_stream = {}
    for each in work.all("kernel") + work.all("memcpy") + work.all("memset"):
        by_stream.setdefault(each.stream, []).append(each)
    sim.equal(sorted(by_stream), [7, 8])
    for each in by_stream.values():
        each.sort(key=lambda w: w.start)
        for first, second in zip(each, each[1:]):
            sim.true(first.end <= second.start, second.text)


def the_default_stream_and_blocking_ones_wait_for_each_other():
    kernels = sorted(example().all("kernel"), key=lambda k: k.start)
    sim.equal([k.stream for k in kernels], [7, 8] * 5)
    for first, second in zip(kernels, kernels[1:]):
        sim.true(first.end <= second.start, second.text)


def virtual_times_are_the_same_in_each_run():
    def plain(run):
        lines = run.all("kernel") + run.all("memcpy") + run.all("sync")
        return [line.text.split(" name_at")[0] for line in lines]

    sim.equal(plain(example()), plain(example()))


def driver_calls_lie_inside_runtime_calls():
    run = example()
    runtime = {c.correlation: c for c in run.all("runtime")}
    sim.equal(len(run.all("driver")), len(runtime))
    for call in run.all("driver"):
        outer = runtime[call.correlation]
        sim.true(outer.start <= call.start <= call.end <= outer.end, call.text)


def nested_driver_calls_have_ids_of_their_own(carrier):
    run = example(SIMCUDA_NESTED=carrier)
    ids = {c.correlation for c in run.all("runtime")}
    sim.true(not ids & {c.correlation for c in run.all("driver")}, "an id twice")
    carriers = {c.correlation for c in run.all(carrier)}
    sim.true({k.correlation for k in run.all("kernel")} <= carriers, "another carries it")


def objects_are_told():
    run = example()
    sim.equal(run.one("device").id, 0)
    sim.equal(run.one("context").null_stream, 7)
    sim.equal(sorted(s.stream for s in run.all("stream")), [7, 8])


def the_real_library_walks_the_same_records():
    if not os.path.exists(sim.REAL_CUPTI):
        return "no CUPTI of NVIDIA's here"
    run = example(f"walk={sim.REAL_CUPTI} {KINDS}")
    sim.equal([line.text for line in run.lines if line.word == "walk"], [])
    sim.true("did walk result=0" in [line.text for line in run.lines], "not loaded")
    sim.true(run.all("buffer"), "no buffer")


tap = sim.Tap()
tap.check(a_program_runs_as_without_a_client)
tap.check(kernels_are_as_long_as_the_script_says)
tap.check(api_calls_are_as_long_as_the_script_says)
tap.check(api_calls_of_a_thread_come_one_after_the_other)
tap.check(a_blocking_copy_lasts_until_the_bytes_are_there)
tap.check(copies_and_sets_have_bytes_and_lengths)
tap.check(allocations_are_released_with_their_bytes)
tap.check(waits_last_until_the_work_is_over)
tap.check(work_carries_the_id_of_its_call)
tap.check(a_stream_does_one_thing_at_a_time)
tap.check(the_default_stream_and_blocking_ones_wait_for_each_other)
tap.check(virtual_times_are_the_same_in_each_run)
tap.check(driver_calls_lie_inside_runtime_calls)
tap.check(nested_driver_calls_have_ids_of_their_own, "runtime")
tap.check(nested_driver_calls_have_ids_of_their_own, "driver")
tap.check(objects_are_told)
tap.check(the_real_library_walks_the_same_records)
tap.end()
