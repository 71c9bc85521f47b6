# SPDX-License-Identifier: MIT
"""Records and callbacks: ids, order, buffers."""

import sys

import sim

# Calls and callbacks


def enter_and_exit_share_a_word():
    run = sim.scenario("launches", 2, do="kinds=5 calls=2:211,1:307")
    calls = run.all("callback", domain=2)
    sim.equal([c.site for c in calls], [0, 1, 0, 1])
    sim.true(all(c.data == 1000 + c.correlation for c in run.all("callback")), "another word")
    sim.equal({c.symbol for c in calls}, {"_Z5firstv"})
    sim.equal([c.result for c in calls], [-1, 0, -1, 0])


def what_is_not_enabled_is_not_called():
    run = sim.scenario("launches", 2, do="calls=2:20")
    sim.equal(run.all("callback"), [])


def one_driver_call_can_be_recorded_alone():
    run = sim.scenario("launches", 2, do="driverapi=307 kinds=10")
    sim.equal([c.name for c in run.all("driver")], ["cuLaunchKernel"] * 2)
    sim.equal(run.all("runtime"), [])


def without_api_records_there_are_no_ids():
    run = sim.scenario("launches", 2, do="kinds=10")
    sim.equal([k.correlation for k in run.all("kernel")], [0, 0])


def failed_calls_have_their_error():
    run = sim.scenario("wrong")
    sim.equal(run.out, "98 1 1\n")
    results = {c.name: c.result for c in run.all("runtime")}
    sim.equal(results["cudaFree_v3020"], 1)
    sim.equal(sorted(c.result for c in run.all("runtime", cbid=211)), [1, 98])
    sim.equal(run.all("kernel"), [])


def external_ids_come_before_their_call():
    run = sim.scenario("launches", 2, do="kinds=5,10,39 external=5:77")
    work = [line for line in run.lines if line.word in ("runtime", "external")]
    for external, call in zip(work[::2], work[1::2]):
        sim.equal((external.word, external.kind, external.id), ("external", 5, 77))
        sim.equal(call.correlation, external.correlation)


def an_untold_call_leaves_its_work_and_external_id():
    plain = sim.scenario("launches", 2, do="kinds=4,5,10,39 external=5:77")
    more = {"SIMCUDA_UNTOLD": "cudaLaunchKernel"}
    run = sim.scenario("launches", 2, do="kinds=4,5,10,39 external=5:77", **more)
    strip = lambda kernels: [(k.name, k.start, k.correlation) for k in kernels]
    sim.equal(strip(run.all("kernel")), strip(plain.all("kernel")))
    launches = {k.correlation for k in plain.all("kernel")}
    calls = [c.correlation for word in ("runtime", "driver") for c in run.all(word)]
    sim.equal(launches & set(calls), set())
    sim.true(launches <= {x.correlation for x in run.all("external")}, run.all("external"))


# Order and buffers


def records_of_device_work(order):
    run = sim.scenario("launches", 3, SIMCUDA_ORDER=order)
    words = [line.word for line in sim.calls_and_kernels(run)]
    expected = {
        "api": ["runtime", "kernel"] * 3 + ["runtime"],
        "device": ["kernel", "runtime"] * 3 + ["runtime"],
        "late": ["runtime"] * 3 + ["kernel"] * 3 + ["runtime"],
    }
    sim.equal(words, expected[order])


def shuffled_records_are_all_there():
    def starts(**more):
        run = sim.scenario("launches", 500, **more)
        return [line.start for line in sim.calls_and_kernels(run)]

    plain = starts()
    orders = [starts(SIMCUDA_ORDER="shuffle", SIMCUDA_SEED=seed) for seed in (3, 5, 5)]
    for order in orders:
        sim.equal(sorted(order), sorted(plain))
        sim.true(order != plain, "in order")
    sim.true(orders[0] != orders[1], "the seed changes nothing")
    sim.equal(orders[1], orders[2])


def records_are_split_over_buffers():
    run = sim.scenario("launches", 10, SIMCUDA_RECORDS_PER_BUFFER=3)
    sim.equal([b.records for b in run.all("buffer")], [3, 3, 3, 3, 3, 3, 3])
    sim.equal(len(run.all("kernel")), 10)


def a_small_buffer_is_filled_to_its_last_record():
    run = sim.scenario("launches", 100, do="kinds=10 size=2160")
    sim.equal([b.records for b in run.all("buffer")], [10] * 10)


def buffers_are_of_a_thread(toolkit, thread_count):
    run = sim.scenario("threads", 4, 100, toolkit=toolkit)
    sim.equal(len(run.all("kernel")), 400)
    sim.equal(run.one("exit").requests, thread_count)
    sim.equal({c.thread for c in run.all("runtime")}, {int(tid) for tid in run.out.split()})


def per_thread_buffers_can_be_switched_off():
    run = sim.scenario("threads", 4, 100, do="attribute=9:0 kinds=5,10")
    sim.equal(run.one("exit").requests, 1)


def full_buffers_come_back_on_a_worker_thread():
    run = sim.scenario("launches", 2000, do="kinds=5,10 size=65536 await")
    worker = {b.tid for b in run.all("buffer")} - {run.all("runtime")[0].thread}
    sim.equal(len(worker), 1)


def a_period_returns_the_shared_buffer():
    run = sim.run(
        [sys.executable, "-c", SLOW_PROGRAM], "kinds=5 period=20 noflush", "12", PROGRAM_TOOLKIT=12
    )
    sim.equal(len(run.all("runtime", cbid=20)), 1)


SLOW_PROGRAM = (
    "import ctypes, os, time\n"
    "cudart = ctypes.CDLL('libcudart.so.' + os.environ['PROGRAM_TOOLKIT'])\n"
    "cudart.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(64))\n"
    "time.sleep(0.3)\n"
)


def a_period_leaves_a_threads_half_full_buffer():
    run = sim.run(
        [sys.executable, "-c", SLOW_PROGRAM], "kinds=5 period=20 noflush", "13", PROGRAM_TOOLKIT=13
    )
    sim.equal(run.all("runtime"), [])


def a_forced_flush_can_return_empty_buffers():
    run = sim.scenario("launches", 1, do="kinds=10 flushtwice", SIMCUDA_EMPTY_BUFFERS=1)
    sim.true(run.all("buffer", records=0), "none")


def work_that_a_forced_flush_finds_running_has_no_end():
    run = sim.scenario(
        "ends", "launched", do="kinds=10", SIMCUDA_ORDER="late", SIMCUDA_INLINE="kernel * 999999"
    )
    sim.equal(run.one("kernel").end, 0)


def a_slow_request_loses_nothing():
    run = sim.scenario("threads", 4, 50, do="kinds=5,10 slow=20")
    sim.equal(len(run.all("kernel")), 200)


def a_NULL_buffer_drops_from_api_27_on():
    run = sim.scenario("launches", 10, do="kinds=10 null=2", SIMCUDA_RECORDS_PER_BUFFER=1)
    got, lost = len(run.all("kernel")), run.one("exit").dropped
    sim.equal(got + lost, 10)
    sim.true(lost, "nothing lost")


def a_NULL_buffer_crashes_before():
    run = sim.scenario("launches", 1, do="kinds=10 null=1", SIMCUDA_CUPTI_API=26, code=-6)
    sim.true("NULL buffer" in run.err, run.err)


tap = sim.Tap()
tap.check(enter_and_exit_share_a_word)
tap.check(what_is_not_enabled_is_not_called)
tap.check(one_driver_call_can_be_recorded_alone)
tap.check(without_api_records_there_are_no_ids)
tap.check(failed_calls_have_their_error)
tap.check(external_ids_come_before_their_call)
tap.check(an_untold_call_leaves_its_work_and_external_id)
for each in ("api", "device", "late"):
    tap.check(records_of_device_work, each)
tap.check(shuffled_records_are_all_there)
tap.check(records_are_split_over_buffers)
tap.check(a_small_buffer_is_filled_to_its_last_record)
tap.check(buffers_are_of_a_thread, "13", 4)
tap.check(buffers_are_of_a_thread, "12", 1)
tap.check(per_thread_buffers_can_be_switched_off)
tap.check(full_buffers_come_back_on_a_worker_thread)
tap.check(a_period_returns_the_shared_buffer)
tap.check(a_period_leaves_a_threads_half_full_buffer)
tap.check(a_forced_flush_can_return_empty_buffers)
tap.check(work_that_a_forced_flush_finds_running_has_no_end)
tap.check(a_slow_request_loses_nothing)
tap.check(a_NULL_buffer_drops_from_api_27_on)
tap.check(a_NULL_buffer_crashes_before)
tap.end()
