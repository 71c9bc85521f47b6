# SPDX-License-Identifier: MIT
"""What goes wrong with records, and the clocks they have."""

import time

import sim

# Faults


def every_nth_device_record_is_dropped_and_counted():
    run = sim.scenario("launches", 100, SIMCUDA_DROP_EVERY=7)
    sim.equal(len(run.all("kernel")), 100 - 14)
    sim.equal(run.one("exit").dropped, 14)
    sim.equal(len(run.all("runtime", cbid=211)), 100)


def every_nth_device_record_has_no_time():
    run = sim.scenario("launches", 20, SIMCUDA_ZERO_EVERY=5)
    sim.equal(len(run.all("kernel", start=0, end=0)), 4)


def every_nth_device_record_ends_before_it_starts():
    run = sim.scenario("launches", 20, SIMCUDA_REVERSED_EVERY=4)
    sim.equal(len([k for k in run.all("kernel") if k.end < k.start]), 5)


def zero_times_with_a_timestamp_callback_only():
    switches = {"SIMCUDA_ZERO_EVERY": 2, "SIMCUDA_ZERO_ONLY_CALLBACK": 1}
    sim.equal(len(sim.scenario("launches", 20, **switches).all("kernel", start=0)), 0)
    with_clock = sim.scenario("launches", 20, do="clock kinds=5,10", **switches)
    sim.equal(len(with_clock.all("kernel", start=0)), 10)


def overhead_is_told():
    switches = {"SIMCUDA_OVERHEAD_EVERY": 4, "SIMCUDA_OVERHEAD_NS": 700}
    run = sim.scenario("launches", 19, do="kinds=5,17", **switches)
    sim.equal([(o.kind, sim.length(o)) for o in run.all("overhead")], [(5 << 16, 700)] * 5)


def cupti_gives_up_and_says_so():
    run = sim.scenario("launches", 20, do="kinds=5,10 domain=6", SIMCUDA_FATAL_AFTER=8)
    sim.equal(run.one("callback", domain=6).cbid, 1)
    sim.equal((len(run.all("kernel")), len(run.all("runtime"))), (8, 8))


def a_flush_can_take_long():
    begin = time.monotonic()
    run = sim.scenario("launches", 1, SIMCUDA_FLUSH_DELAY_MS=200)
    sim.true(time.monotonic() - begin > 0.2, "did not wait")
    sim.equal(len(run.all("kernel")), 1)


def a_process_is_killed_in_a_flush(records):
    do = "lines kinds=5,10"
    run = sim.scenario("launches", 20, do=do, code=-9, SIMCUDA_KILL_IN_FLUSH=records)
    sim.equal(len(sim.calls_and_kernels(run)), records)


def a_name_pointer_is_used_again_after_unload():
    run = sim.scenario("unload", do="kinds=10")
    sim.equal([k.name for k in run.all("kernel")], ["of_the_first", "of_the_second"])
    sim.equal(len({k.name_at for k in run.all("kernel")}), 1)


def a_kept_pointer_is_stale_after_unload():
    run = sim.scenario("unload", do="kinds=10", SIMCUDA_STALE_NAMES=1)
    sim.true(all(k.name.startswith("????") for k in run.all("kernel")), "still there")


# Clocks


def times_are_of_CLOCK_REALTIME():
    before = time.time_ns()
    run = sim.scenario("launches", 2, SIMCUDA_CLOCK="real")
    for line in sim.calls_and_kernels(run):
        sim.true(before <= line.start <= time.time_ns() + 10**9, line.text)
    sim.equal({sim.length(k) for k in run.all("kernel")}, {10000})


def a_timestamp_callback_gives_all_times():
    before = time.monotonic_ns()
    run = sim.scenario("launches", 10, do="clock kinds=5,10")
    after = time.monotonic_ns()
    sim.true(run.one("exit").clock_calls >= 2 * 11, "hardly called")
    for call in run.all("runtime"):
        sim.true(before <= call.start <= call.end <= after, call.text)
    sim.equal({sim.length(k) for k in run.all("kernel")}, {10000})


def device_work_is_in_units_of_the_callback():
    run = sim.scenario("launches", 5, do="clock kinds=10", SIMCUDA_UNITS_PER_US=2500)
    sim.equal({sim.length(k) for k in run.all("kernel")}, {25000})


def the_clock_steps(step):
    run = sim.scenario("launches", 20, SIMCUDA_STEP_NS=step, SIMCUDA_STEP_AFTER=10)
    starts = [c.start for c in run.all("runtime")]
    jumps = {b - a for a, b in zip(starts, starts[1:])}
    sim.equal(jumps, {2000, 2000 + step})
    late = [k.start - c.start for k, c in zip(run.all("kernel"), run.all("runtime"))]
    sim.equal(late, [3000 + 8000 * i for i in range(20)])


def waits_can_be_real():
    begin = time.monotonic()
    sim.scenario(
        "launches",
        1,
        SIMCUDA_CLOCK="real",
        SIMCUDA_WAIT=1,
        SIMCUDA_INLINE="kernel * 200000000",
    )
    sim.true(time.monotonic() - begin > 0.2, "did not wait")


tap = sim.Tap()
tap.check(every_nth_device_record_is_dropped_and_counted)
tap.check(every_nth_device_record_has_no_time)
tap.check(every_nth_device_record_ends_before_it_starts)
tap.check(zero_times_with_a_timestamp_callback_only)
tap.check(overhead_is_told)
tap.check(cupti_gives_up_and_says_so)
tap.check(a_flush_can_take_long)
tap.check(a_process_is_killed_in_a_flush, 0)
tap.check(a_process_is_killed_in_a_flush, 11)
tap.check(a_name_pointer_is_used_again_after_unload)
tap.check(a_kept_pointer_is_stale_after_unload)
tap.check(times_are_of_CLOCK_REALTIME)
tap.check(a_timestamp_callback_gives_all_times)
tap.check(device_work_is_in_units_of_the_callback)
tap.check(the_clock_steps, 1000000000)
tap.check(the_clock_steps, -1000000000)
tap.check(waits_can_be_real)
tap.end()
