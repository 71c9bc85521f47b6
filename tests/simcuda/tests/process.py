# SPDX-License-Identifier: MIT
"""A process with the simulation: entry, exit, fork, linking, other users of CUPTI."""

import os
import sys

import sim

TOOLKITS = ["11.0", "12", "13"]
PROFILING = sim.program("profiling")


# Entry and exit


def the_injection_runs_before_the_first_call_is_seen():
    run = sim.scenario("launches", 3, do="kinds=5,10 calls=2:211")
    sim.equal(len(run.all("runtime", cbid=211)), 3)
    sim.equal(len(run.all("callback", cbid=211)), 6)


def an_exit_handler_of_the_injection_runs_before_the_drivers():
    run = sim.scenario("launches", 1, SIMCUDA_SAY_EXIT=1)
    sim.equal(run.one("exit").flush, 0)
    sim.equal(run.err, "simcuda: driver exit\n")


def a_process_that_ends_by(how, code):
    run = sim.scenario("ends", how, code=code)
    sim.equal(run.all("exit"), [])


def a_child_forked_before_init_is_as_new():
    run = sim.scenario("forks", "early")
    sim.equal(run.out, "0\nchild 0\n")


def a_child_forked_after_init_gets_an_error():
    run = sim.scenario("forks", "late")
    sim.equal(run.out, "3\nchild 0\n")


def cupti_in_a_forked_child_is_misuse():
    run = sim.scenario("forks", "late", do="kinds=10 noatfork", SIMCUDA_MISUSE="warn")
    sim.true("misuse: cuptiActivityFlushAll called in a child" in run.err, run.err)


def a_runtime_opened_with_RTLD_LOCAL_is_seen():
    code = (
        "import ctypes\n"
        "cudart = ctypes.CDLL('libcudart.so.13')\n"
        "address = ctypes.c_void_p()\n"
        "assert not cudart.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(4096))\n"
        "assert not cudart.cudaMemset(address, 0, ctypes.c_size_t(4096))\n"
        "assert not cudart.cudaFree(address)\n"
    )
    run = sim.run([sys.executable, "-c", code], "kinds=5,2,49")
    sim.equal(run.one("memset").bytes, 4096)
    sim.equal(len(run.all("memory")), 2)


def a_runtime_can_be_closed_and_opened_again():
    code = (
        "import ctypes, _ctypes\n"
        "for bytes in (100, 200):\n"
        "    cudart = ctypes.CDLL('libcudart.so.13')\n"
        "    address = ctypes.c_void_p()\n"
        "    assert not cudart.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(bytes))\n"
        "    _ctypes.dlclose(cudart._handle)\n"
        "    assert 'libcudart' not in open('/proc/self/maps').read()\n"
    )
    run = sim.run([sys.executable, "-c", code], "kinds=5,49 calls=2:20")
    sim.equal([m.bytes for m in run.all("memory")], [100, 200])


def a_static_runtime_is_seen():
    run = sim.run([sim.program("static"), "4"], "kinds=5,10")
    sim.equal(len(run.all("kernel")), 8)


def a_library_with_a_runtime_of_its_own_is_seen():
    math = sim.program("libsimmath.so")
    run = sim.scenario("library", 3, math, do="kinds=5,10")
    kernels = run.all("kernel")
    sim.equal([k.name for k in kernels], ["_Z5firstv", "_Z4gemmv"] * 3)
    launches = run.all("runtime", cbid=211)
    sim.equal([k.correlation for k in kernels], [c.correlation for c in launches])
    sim.equal(len({k.stream for k in kernels}), 1)


def functions_found_by_name_are_seen(toolkit):
    run = sim.scenario("by_name", do="kinds=4,10,49", toolkit=toolkit)
    sim.equal(run.one("kernel").name, "by_name")
    sim.equal(len(run.all("driver", name="cuLaunchKernel")), 1)


# Subscribers


def a_second_subscriber_gets_39_and_the_name():
    run = sim.scenario("launches", 1, do="second")
    sim.equal([s.result for s in run.all("subscribe")], [0, 39])
    sim.equal(run.all("subscribe")[1].holder, "client")


def another_tool_holds_cupti():
    run = sim.scenario("launches", 1, SIMCUDA_CUPTI_HOLDER="nsys")
    sim.equal((run.all("subscribe")[0].result, run.all("subscribe")[0].holder), (39, "nsys"))


def subscription_can_fail(error):
    run = sim.scenario("launches", 1, SIMCUDA_SUBSCRIBE=error)
    sim.equal(run.all("subscribe")[0].result, error)


def an_old_driver_says_15():
    run = sim.scenario("launches", 1, SIMCUDA_DRIVER_VERSION=12040)
    sim.equal(run.all("subscribe")[0].result, 15)
    older = sim.scenario("launches", 1, toolkit="12", SIMCUDA_DRIVER_VERSION=12040)
    sim.equal(len(older.all("kernel")), 1)


def without_a_driver_each_call_says_999():
    library = os.path.join(sim.SIMCUDA, "13", "libcupti.so.13")
    code = (
        "import ctypes, time\n"
        f"cupti = ctypes.CDLL({library!r})\n"
        "version = ctypes.c_uint32()\n"
        "assert cupti.cuptiGetVersion(ctypes.byref(version)) == 0 and version.value == 130001\n"
        "stamp = ctypes.c_uint64()\n"
        "assert cupti.cuptiGetTimestamp(ctypes.byref(stamp)) == 0\n"
        "assert abs(stamp.value - time.time_ns()) < 10**9\n"
        "results = {cupti.cuptiActivityEnable(10) for _ in range(100)}\n"
        "assert results == {999}, results\n"
    )
    sim.run([sys.executable, "-c", code], driver=False)


def a_program_without_a_driver_gets_its_error():
    run = sim.run([sim.program("example")], code=1, driver=False)
    sim.true("(35)" in run.err, run.err)


def without_a_device_the_runtime_says_so():
    run = sim.run([sim.program("example")], code=1, SIMCUDA_DEVICES=0)
    sim.true("(100)" in run.err, run.err)
    sim.equal(run.lines, [])


def a_profiler_through_imports_gets_all_its_records():
    run = sim.run([PROFILING, "kineto", "50"], CUDA_INJECTION64_PATH="")
    sim.equal(run.out, "kernels 50 calls 51\nout of time 0\n")


def a_profiler_that_comes_second_gets_39():
    run = sim.run([PROFILING, "kineto", "50"], "kinds=5,10")
    sim.equal(run.out, "subscribe 39\n")
    sim.equal(len(run.all("kernel")), 1)


def another_client_takes_the_buffers_over():
    run = sim.run([PROFILING, "replace", "50"], "kinds=5,10")
    sim.equal(run.out, "kernels 51 calls 53\n")
    sim.equal(run.all("kernel"), [])
    sim.equal(run.one("exit").requests, 1)


# Misuse


def what_a_client_must_not_do(words, complaint):
    run = sim.scenario("launches", 2, do=words, code=-6)
    sim.true(run.err.startswith("simcuda: misuse: " + complaint), run.err)


def a_lock_around_a_call_that_a_callback_takes():
    words = "misuse=lock kinds=5 calls=2:211"
    run = sim.scenario("launches", 2000000, do=words, code=-6, SIMCUDA_LOCK=300)
    sim.true("CUPTI's lock" in run.err, run.err)


def a_lock_of_cupti_harms_nobody_else():
    run = sim.scenario("threads", 4, 500, do="kinds=5,4,10 size=8192 period=1", SIMCUDA_LOCK=60000)
    sim.equal(len(run.all("kernel")), 2000)


tap = sim.Tap()
tap.check(the_injection_runs_before_the_first_call_is_seen)
tap.check(an_exit_handler_of_the_injection_runs_before_the_drivers)
tap.check(a_process_that_ends_by, "_exit", 0)
tap.check(a_process_that_ends_by, "abort", -6)
tap.check(a_child_forked_before_init_is_as_new)
tap.check(a_child_forked_after_init_gets_an_error)
tap.check(cupti_in_a_forked_child_is_misuse)
tap.check(a_runtime_opened_with_RTLD_LOCAL_is_seen)
tap.check(a_runtime_can_be_closed_and_opened_again)
tap.check(a_static_runtime_is_seen)
tap.check(a_library_with_a_runtime_of_its_own_is_seen)
for each in TOOLKITS:
    tap.check(functions_found_by_name_are_seen, each)
tap.check(a_second_subscriber_gets_39_and_the_name)
tap.check(another_tool_holds_cupti)
tap.check(subscription_can_fail, 15)
tap.check(subscription_can_fail, 999)
tap.check(an_old_driver_says_15)
tap.check(without_a_driver_each_call_says_999)
tap.check(a_program_without_a_driver_gets_its_error)
tap.check(without_a_device_the_runtime_says_so)
tap.check(a_profiler_through_imports_gets_all_its_records)
tap.check(a_profiler_that_comes_second_gets_39)
tap.check(another_client_takes_the_buffers_over)
tap.check(what_a_client_must_not_do, "misuse=cuda kinds=5 calls=2:211", "cudaMalloc called inside")
tap.check(what_a_client_must_not_do, "misuse=flush kinds=5", "cuptiActivityFlushAll called inside")
tap.check(what_a_client_must_not_do, "misuse=finalize", "cuptiFinalize")
tap.check(what_a_client_must_not_do, "kinds=3", "cuptiActivityEnable of KIND_KERNEL")
tap.check(what_a_client_must_not_do, "kinds=5 size=100", "a buffer of 100 bytes")
tap.check(a_lock_around_a_call_that_a_callback_takes)
tap.check(a_lock_of_cupti_harms_nobody_else)
tap.end()
