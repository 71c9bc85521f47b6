# SPDX-License-Identifier: MIT
"""Others in the process: a runtime inside of the program, other clients of CUPTI, PyTorch's
allocator."""

import glob
import json
import os
import subprocess

import recorded
import tap
from recorded import Chosen, api_names, calls, counts, nothing_lost, program, run

UNSEEN = (
    "the driver is loaded, but no call came by: a runtime inside of the program or the driver's"
    " functions by address, which only CUPTI sees"
)
SIMULATED = os.path.join(recorded.SIMCUDA, "tests")


def test_allocator():
    """Blocks of PyTorch's caching allocator, in both forms of what it reports, and each goes on."""
    form = [
        "{0} 1 512 512 2097152 1:0",
        "{0} 1 512 1024 2097152 1:0",
        "{0} 1 512 1536 2097152 1:0",
        "{0} 1 512 2048 2097152 1:0",
        "{0} 1 -512 1536 2097152 1:0",
        "{0} 1 -512 1024 2097152 1:0",
        "{0} 1 4096 4096 0 0:-1",
    ]
    said = "".join(line.format(name) + "\n" for name in ("new", "old") for line in form)
    command = [program("plugin_host"), program("libc10_cuda.so")]
    libraries = recorded.libraries() + ":" + recorded.PROGRAMS
    plain = tap.run(command, tap.clean_environment(LD_LIBRARY_PATH=libraries))
    tap.equal(plain.stdout.decode(), (said + "0\n") * 2, "output without the agent")
    for way in ("cupti", "hooks", "off"):
        done = run(command, TPAGENT_CUDA=way, LD_LIBRARY_PATH=libraries)
        tap.equal((done.out, done.err), ((said + "0\n") * 2, ""), f"output, {way}")
        found = counts(done.only.all("memory"), "inside", "device_type", "device_index", "bytes")
        wanted = {
            (("tensors",), 1, 0, 512): 16,
            (("half of them go",), 1, 0, (1 << 64) - 512): 8,
        }
        tap.equal(found, wanted if way != "off" else {}, f"blocks, {way}")
        segments = done.only.all("cuda_memory", operation=1)
        tap.equal([m.bytes for m in segments], [2 << 20] * 2 if way != "off" else [], "segments")


def simulated(name):
    return os.path.join(SIMULATED, name)


def test_pytorch():
    """The same with PyTorch's libc10: both profilers count the same bytes."""
    python = os.environ.get("TPAGENT_TEST_PYTHON") or os.environ["PYTHON"]
    if tap.run([python, "-c", "import torch"], tap.clean_environment()).returncode:
        raise tap.Skip("no torch for " + python)
    code = """
import ctypes, glob, json, os, torch
from torch.autograd.profiler import record_function
from torch.profiler import profile, ProfilerActivity
forms = ["_ZN3c1027reportMemoryUsageToProfilerEPvl%sNS_6DeviceE" % form for form in ("mm", "ll")]
c10 = ctypes.CDLL(os.path.join(torch.__path__[0], "lib/libc10.so"))
form = next(form for form in forms if hasattr(c10, form))
tell = getattr(ctypes.CDLL(None), form, None) or getattr(c10, form)
tell.restype = None
tell.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint16]
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
    with record_function("outer"):
        tell(0x7000, 1024, 1024, 4096, 1)
        with record_function("inner"):
            tell(0x8000, 512, 1536, 4096, 1)
            tell(0x7000, -1024, 512, 4096, 1)
        torch.ones(1000)
found = {}
for row in profiled.key_averages():
    device = "device" if hasattr(row, "device_memory_usage") else "cuda"
    found[row.key] = [getattr(row, prefix + device + "_memory_usage") for prefix in ("", "self_")]
    found[row.key] += [row.cpu_memory_usage]
print(json.dumps({key: found[key] for key in ("outer", "inner", "aten::ones")}))
"""
    plain = tap.run([python, "-c", code], tap.clean_environment())
    wanted = json.loads(plain.stdout)
    tap.equal(wanted["outer"][:2], [512, 1024], "bytes of the outer range, by PyTorch")
    with tap.folder() as out:
        done = tap.run([python, "-c", code], tap.recorded_environment(out))
        tap.equal(json.loads(done.stdout), wanted, "PyTorch's own figures below the agent")
        report = tap.run(
            [tap.TPREPORT, "--format", "json", *glob.glob(out + "/tpagent-*")],
            tap.clean_environment(),
        )
        rows = {row["key"]: row for row in json.loads(report.stdout)["rows"]}
        for name, bytes_used in wanted.items():
            keys = "device_memory_usage", "self_device_memory_usage"
            tap.equal([rows[name][key] for key in keys], bytes_used[:2], f"bytes of {name}")
        assert b"the framework's own allocator" in report.stderr, report.stderr
        report = tap.run([tap.TPREPORT, "gpu", *glob.glob(out + "/tpagent-*")], {})
        assert b"Memory of device 0, by the framework's allocator\n" in report.stdout, report


def test_static_runtime():
    """A runtime inside of the program: CUPTI sees all; what cannot be hooked is said."""
    homeless = {"CUDA_HOME": "", "CUDA_PATH": ""}  # whose CUPTI is not the simulation's
    p = run([simulated("static"), "20"], **homeless).only
    kernels = counts(p.all("gpu_kernel"), "name")
    tap.equal(kernels, {"_Z5scalePff": 20, "_Z3sumPKfPf": 20}, "kernels")
    tap.equal(api_names(p)["cudaLaunchKernel"], 40, "launches")
    tap.equal([c.bytes for c in p.all("gpu_memcpy")], [1 << 20, 1 << 20], "bytes copied")
    nothing_lost(p)
    done = run([simulated("static"), "20"], TPAGENT_CUDA="hooks")
    tap.equal(done.out, "40 launches; what went there came back\n", "output")
    tap.equal(done.err, f"tpagent: cuda: {UNSEEN}\n", "stderr")
    tap.equal([api_names(p) for p in done.processes], [{}] * len(done.processes), "calls")
    # what the driver gives by dlsym and cuGetProcAddress is out of reach, what is imported is not
    p = run([program("cuda_more"), "driver", "5"], TPAGENT_CUDA="hooks").only
    tap.equal(api_names(p)["cuLaunchKernel"], 5, "imported driver calls")


def test_some_pass_hooks_by():
    """Some calls come by name, others by address or from a runtime inside of a library: what is
    seen is right, what is not is said."""
    command = [program("cuda_more"), "by_address", "5"]
    p = run(command).only
    tap.equal(api_names(p)["cudaMalloc"], 5, "allocations by CUPTI")
    done = run(command, TPAGENT_CUDA="hooks", report=[])
    tap.equal((done.out, done.err), ("1 devices\n", ""), "output")
    tap.equal(api_names(done.only), {"cudaGetDeviceCount": 1}, "calls by name")
    assert "no launch, copy or allocation came by" in done.only.line("cuda")["why"]
    assert "no launch, copy or allocation came by" in done.reported[1], done.reported
    command = [simulated("scenarios-13"), "library", "3", simulated("libsimmath.so")]
    p = run(command).only
    kernels = counts(p.all("gpu_kernel"), "name")
    tap.equal(kernels, {"_Z5firstv": 3, "_Z4gemmv": 3}, "kernels by CUPTI")
    done = run(command, TPAGENT_CUDA="hooks", report=[])
    kernels = counts([e for e in done.only.all("cuda_begin") if e.kernel], "kernel")
    tap.equal(kernels, {"_Z5firstv": 3}, "launches by name")
    tap.equal(done.only.line("cuda")["why"], "TPAGENT_CUDA=hooks", "why")
    assert "calls by address and of libraries with a runtime inside pass by" in done.reported[1]


def test_second_subscriber():
    """A profiler that comes after us is refused by CUPTI, and goes on; our records are whole."""
    done = run([simulated("profiling"), "kineto", "30"])
    tap.equal(done.out, "subscribe 39\n", "output")
    p = done.only
    tap.equal(p.line("cuda")["mode"], "cupti", "mode")
    tap.equal(counts(p.all("gpu_kernel"), "name"), {"_Z8profiledv": 1}, "kernels")
    nothing_lost(p)


def profiling(how, count=30, **more):
    """A client of CUPTI beside us, which does not subscribe."""
    command = [simulated("profiling"), how, str(count)]
    done = run(command, report=["total"], **more)
    return command[0], done, done.only, done.reported[1]


def test_replaced_callbacks():
    """One that takes CUPTI's buffers: it gets all, we say who it was; nothing is there twice."""
    client, done, p, said = profiling("replace")
    tap.equal(done.out, "kernels 30 calls 31\n", "output")
    who = f"{client} takes CUPTI's buffers: device records end here"
    tap.equal(done.err, f"tpagent: cuda: {who}\n", "stderr")
    tap.equal((p.line("cuda")["mode"], p.line("cuda")["why"]), ("cupti", who), "the cuda line")
    tap.equal(len(p.all("gpu_kernel")), 1, "kernels from before")
    tap.equal(p.all("cuda_begin"), [], "calls seen by hooks")
    launches = len(p.all("cuda_api", name="cudaLaunchKernel"))
    tap.equal(launches, 1, "launches from before")
    assert f"CUDA: {who}" in said, said
    # a launch and its wait came before; 30 launches and the wait behind them did not
    assert "31 CUDA calls have no record of CUPTI's" in said, said


NAMELESS = (
    "another client of CUPTI took CUPTI's buffers or switched its records off: device records are"
    " missing"
)


def test_replaced_by_dlsym():
    """The same with functions that dlsym found: nobody saw it come, what is missing is seen."""
    _, done, p, said = profiling("replace-dlsym")
    tap.equal(done.out, "kernels 31 calls 33\n", "output: it gets our buffers, too")
    tap.equal(done.err, f"tpagent: cuda: {NAMELESS}\n", "stderr")
    tap.equal((p.all("gpu_kernel"), p.all("cuda_api")), ([], []), "what is ours")
    tap.equal(len(p.all("cuda_call")), 33, "calls")
    assert f"CUDA: {NAMELESS}" in said and "33 CUDA calls have no record" in said, said


def test_kinds_switched_off():
    """One that switches kinds of records off, for itself and so for all: by imports it is named, by
    dlsym what is missing is said. What came before is there."""
    for how in ("disable", "disable-dlsym"):
        client, done, p, said = profiling(how)
        tap.equal(done.out, "", "output")
        who = (
            f"{client} switched CUPTI's records off: device records are missing from here on"
            if how == "disable"
            else NAMELESS
        )
        tap.equal(done.err, f"tpagent: cuda: {who}\n", "stderr")
        kernels = counts(p.all("gpu_kernel"), "name")
        tap.equal(kernels, {"_Z8profiledv": 31}, f"kernels from before, {how}")
        ids = [e.correlation for e in p.all("cuda_call")]
        tap.equal(len(ids), 64, "calls, which callbacks tell")
        seen = {k.correlation for k in p.all("gpu_kernel")}
        assert seen <= set(ids[:33]), (seen, ids)
        assert f"CUDA: {who}" in said, said
        tap.equal(p.line("cuda")["missing"], 1, "the cuda line")


KERNELLESS = (
    "the newest launches have no records of kernels: another client of CUPTI switched these off,"
    " or CUPTI left them out"
)


def test_kernels_switched_off():
    """One that switches off nothing but kernels, by dlsym: calls go on coming, their kernels do
    not. Launches that are captured, or fail, have no kernel either."""
    _, done, p, said = profiling("disable-kernels-dlsym")
    tap.equal(done.err, f"tpagent: cuda: {KERNELLESS}\n", "stderr")
    tap.equal(len(p.all("gpu_kernel")), 31, "kernels from before")
    tap.equal(len(p.all("cuda_api", name="cudaLaunchKernel")), 61, "launches")
    assert f"CUDA: {KERNELLESS}" in said, said
    for nested in ("same", "runtime", "driver", "none"):
        for scenario in ("captured", "failed"):
            p = run([program("cuda_more"), scenario, "30"], SIMCUDA_NESTED=nested).only
            tap.equal(p.line("cuda").get("missing", 0), 0, f"{scenario}, nested {nested}")
            tap.equal(len(p.all("gpu_kernel")), 1, f"kernels, {scenario}, nested {nested}")


def test_silence():
    """Where one took the buffers unseen and the program goes on, that is said after half a minute:
    it may never end."""
    with tap.folder() as out:
        command = [simulated("profiling"), "linger", "2000"]
        program_runs = subprocess.Popen(
            command,
            env=recorded.environment(out, TPAGENT_WHEN_FULL="wait"),
            stderr=subprocess.PIPE,
        )
        try:
            line = program_runs.stderr.readline().decode()
        finally:
            program_runs.kill()
            program_runs.wait()
        silent = "another client of CUPTI takes CUPTI's buffers: device records end here"
        tap.equal(line, f"tpagent: cuda: {silent}\n", "said while it runs")


def main():
    t = Chosen()
    t.check("PyTorch's own account of device memory is ours", test_pytorch)
    t.check("a statically linked runtime", test_static_runtime)
    t.check("calls that pass hooks by, beside others", test_some_pass_hooks_by)
    t.check("a second subscriber is refused, we are whole", test_second_subscriber)
    t.check("another client takes CUPTI's buffers", test_replaced_callbacks)
    t.check("the same, with functions from dlsym", test_replaced_by_dlsym)
    t.check("another client switches records off", test_kinds_switched_off)
    t.check("another client switches records of kernels off", test_kernels_switched_off)
    t.check("another client has the buffers, and the program goes on", test_silence)
    t.check("PyTorch's caching allocator", test_allocator)
    t.end()


if __name__ == "__main__":
    main()
