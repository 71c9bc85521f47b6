# SPDX-License-Identifier: MIT
"""Living with CUDA and CUPTI: fork, deaths, other tools, errors, libraries that come and go."""

import os
import random
import time

import recorded
import tap
from recorded import (
    CUDA,
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
            of_cuda = [e.what for e in child.events if e.what.startswith(("gpu", "cuda"))]
            tap.equal(of_cuda, [], "CUDA in the child")
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


def test_killed_in_a_flush():
    """SIGKILL inside of a flush, when so many records were read: these are there, in their order,
    and what is missing is said."""

    def kernels(process):
        return [(k.name, k.start, k.end, k.correlation) for k in process.all("gpu_kernel")]

    count, there = 200, {}
    late = {"SIMCUDA_ORDER": "late"}  # kernels behind all of their calls
    whole = kernels(calls("settled", count, code=7, **late).only)
    tap.equal(len(whole), count, "kernels of a whole run")
    for read in (0, 100, 420, 520, 600):
        done = calls("settled", count, code=-9, report=[], SIMCUDA_KILL_IN_FLUSH=read, **late)
        p, (table, said) = done.only, done.reported
        there[read] = kernels(p)
        tap.equal(there[read], whole[: len(there[read])], f"kernels, {read} records read")
        tap.equal(len(p.all("cuda_call")), count + 1, "calls that began")
        missing = count + 1 - len(p.all("cuda_api"))
        assert "died without an end line; what its rings held was read" in said, said
        assert "those that CUPTI had not handed over are lost" in said, said
        calls_have = "call has" if missing == 1 else "calls have"
        assert f"{missing} CUDA {calls_have} no record of CUPTI's" in said, said
        total = f"Self CUDA time total: {len(there[read]) / 100:.3f}ms"
        assert total in table if len(there[read]) > 100 else True, table
    tap.equal((there[0], there[100]), ([], []), "kernels where only calls were read")
    tap.equal([len(there[n]) - len(there[420]) for n in (520, 600)], [100, 180], "further kernels")


def test_killed_in_a_periodic_flush():
    """The same on CUPTI's own thread, each second."""
    done = calls("killed", 30000000, code=-9, report=["info"], SIMCUDA_KILL_IN_FLUSH=1000)
    p = done.only
    kernels = p.all("gpu_kernel")
    ids = [e.correlation for e in p.all("cuda_call")]
    # of a launch: the driver's call, the runtime's, the kernel; before them a device and such
    assert 320 < len(kernels) < len(ids), (len(kernels), len(ids))
    tap.equal({length(k) for k in kernels}, {10000}, "lengths")
    tap.equal([k.correlation for k in kernels], ids[: len(kernels)], "the oldest ones")
    assert "died without an end line" in "".join(done.reported), done.reported


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
    """A CUPTI that the driver is too old for: the next older one."""
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
    # a runtime inside of the program has no neighbours: where a toolkit lies
    static = [os.path.join(recorded.SIMCUDA, "tests", "static"), "3"]
    ours = os.path.join(recorded.SIMCUDA, "13", "libcupti.so.13")
    for variable, place, name in (
        ("CUDA_HOME", "extras/CUPTI/lib64", "libcupti.so"),
        ("CUDA_HOME", "lib64", "libcupti.so.13"),  # no files for developers
        ("CUDA_PATH", "extras/CUPTI/lib64", "libcupti.so.13"),
        ("CUDA_PATH", "lib64", "libcupti.so"),
    ):
        with tap.folder() as home:
            os.makedirs(os.path.join(home, place))
            os.symlink(ours, os.path.join(home, place, name))
            homes = {"CUDA_HOME": "", "CUDA_PATH": "", variable: home}
            p = run(static, LD_LIBRARY_PATH=only_driver, **homes).only
            tap.equal(p.line("cuda")["library"], os.path.join(home, place, name), "in a toolkit")


def test_one_copy():
    """One that Python has mapped is the one: no other is loaded beside it."""
    older = os.path.join(recorded.SIMCUDA, "12", "libcupti.so.12")
    code = f"""
import ctypes
kept = ctypes.CDLL({older!r})
cuda = ctypes.CDLL("libcudart.so.13")
p = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(64)) == 0
print(sorted({{line.split()[-1] for line in open("/proc/self/maps") if "libcupti" in line}}))
"""
    done = run([os.environ["PYTHON"], "-c", code])
    tap.equal(done.out.strip(), repr([older]), "mapped")
    line = done.only.line("cuda")
    tap.equal((line["mode"], line["library"]), ("cupti", older), "the one that is used")


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
        ways = {"TPAGENT_CUDA": "off"}, {"TPAGENT_CUDA": "hooks"}, {"TPAGENT_SOURCES": "-cuda"}
        for off in ways:
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
    both = recorded.libraries() + ":" + os.path.join(recorded.SIMCUDA, "12")
    plain = tap.run(with_both, tap.clean_environment(LD_LIBRARY_PATH=both))
    done = run(with_both, TPAGENT_CUDA="hooks", LD_LIBRARY_PATH=both)
    tap.equal((done.out, done.err), (plain.stdout.decode(), ""), "output")
    tap.equal(api_names(done.only)["cudaLaunchKernel"], 18, "launches")
    names = counts([e for e in done.only.all("cuda_begin") if e.kernel], "kernel")
    tap.equal(names, {"_Z5scalePff": 18}, "kernels")


def test_two_runtimes():
    """A call reaches the runtime that its caller needs, whichever was there first, with all that
    its version takes."""
    plugins = [program("libwaits12.so"), program("libwaits13.so")]
    for order, wanted in ((plugins, "1012\n1013\n"), (plugins[::-1], "1013\n1012\n")):
        command = [program("plugin_host"), *order]
        preloaded = ":".join(order)  # both mapped from the first call on
        for variables in ({}, {"LD_PRELOAD": preloaded}):
            variables["LD_LIBRARY_PATH"] = recorded.PROGRAMS
            done = run(command, TPAGENT_CUDA="hooks", **variables)
            tap.equal((done.out, done.err), (2 * wanted, ""), "who answered")
            wanted_calls = {"cudaDeviceSynchronize": 4, "cudaMemcpyBatchAsync": 4}
            tap.equal(api_names(done.only), wanted_calls, "calls")
            copies = done.only.all("cuda_begin", name="cudaMemcpyBatchAsync")
            tap.equal([e.bytes for e in copies], [30] * 4, "bytes")


def test_looked_up():
    """Hooks do not see calls by address, and say so."""
    for way in ("auto", "hooks"):
        done = run([program("looked_up")], TPAGENT_CUDA=way)
        tap.equal(done.out, "0 0\n0 0\n", "output")
        told = (
            [] if way == "auto" else ["tpagent: cuda: the driver is loaded, but no call came by"]
        )
        tap.equal([line.split(": a runtime")[0] for line in done.err.splitlines()], told, "said")
        if way == "auto":
            tap.equal(api_names(done.only), {"cudaMalloc": 2, "cudaFree": 2}, "calls")


def test_nvcc():
    with tap.folder() as scratch:
        built = nvcc_program(scratch, "vectors.cu")
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
                {
                    "cudaMalloc": 3,
                    "cudaFree": 3,
                    "cudaLaunchKernel": 6,
                    "cudaDeviceSynchronize": 1,
                },
                f"calls, {way}",
            )


def test_real_without_driver():
    """NVIDIA's own runtime where there is no driver: the same errors, one line, no device."""
    library = os.path.join(CUDA, "lib64/libcudart.so.13")
    if not os.path.exists(library):
        raise tap.Skip("no " + library)
    find = [os.environ["PYTHON"], "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"]
    if tap.run(find, tap.clean_environment()).returncode == 0:
        raise tap.Skip("there is a driver")
    with tap.folder() as scratch, tap.folder() as out:
        built = nvcc_program(scratch, "vectors.cu")
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


def main():
    t = Chosen()
    t.check("fork after cuInit", test_fork_after_init)
    t.check("fork before cuInit", test_fork_before_init)
    t.check("_exit flushes", test_fast_exit)
    t.check("Python with ctypes and os._exit", test_python_exit)
    t.check("SIGKILL at random moments", test_killed)
    t.check("SIGKILL in the middle of a flush", test_killed_in_a_flush)
    t.check("SIGKILL in a flush of CUPTI's own thread", test_killed_in_a_periodic_flush)
    t.check("another tool holds CUPTI", test_held)
    t.check("errors of CUPTI, and a file that is not there", test_errors_of_cupti)
    t.check("a CUPTI newer than the driver", test_newer_than_the_driver)
    t.check("which libcupti is taken", test_which_library)
    t.check("never a second libcupti", test_one_copy)
    t.check("a flush that hangs at exit", test_flush_that_hangs)
    t.check("CUPTI meets a fatal error", test_cupti_gives_up)
    t.check("a CUPTI with one lock around all", test_one_lock)
    t.check("CUDA_INJECTION64_PATH belongs to another", test_foreign_injection)
    t.check("CUDA_INJECTION64_PATH is set where it is of use", test_environment_is_set)
    t.check("switched off", test_off)
    t.check("only named by the variable, not preloaded", test_not_preloaded)
    t.check("plugins closed and opened again, two runtimes", test_plugins)
    t.check("two runtimes, each for its own callers", test_two_runtimes)
    t.check("CUDA found by dlopen and dlsym, and closed", test_looked_up)
    t.check("a program of nvcc", test_nvcc)
    t.check("NVIDIA's runtime without a driver", test_real_without_driver)
    t.end()


if __name__ == "__main__":
    main()
