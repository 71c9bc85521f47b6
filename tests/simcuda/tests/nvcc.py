# SPDX-License-Identifier: MIT
"""Programs of nvcc: with the shared runtime, and linked to a static one of ours."""

import os
import shutil
import subprocess
import sys
import tempfile

import sim

HERE = os.path.dirname(os.path.abspath(__file__))
NVCC = shutil.which("nvcc") or next(
    (p for p in ["/usr/local/cuda/bin/nvcc"] if os.path.exists(p)), None
)
SCRIPT = "kernel _Z3addPii 5000; kernel _Z4fill* 7000"


def version():
    text = subprocess.run([NVCC, "--version"], stdout=subprocess.PIPE, text=True).stdout
    return int(text.split("release ")[1].split(".")[0])


def compile_object(folder):
    """One object for both programs: compiling takes seconds."""
    done = subprocess.run(
        [NVCC, "-c", "-o", os.path.join(folder, "program.o"), os.path.join(HERE, "program.cu")],
        stderr=subprocess.PIPE,
        text=True,
    )
    sim.equal(done.returncode, 0, done.stderr)


def link(folder, name, *arguments):
    path = os.path.join(folder, name)
    command = [NVCC, "-o", path, os.path.join(folder, "program.o"), *arguments]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    sim.equal(done.returncode, 0, done.stderr)
    return path


def check(program):
    run = sim.run([program], "kinds=5,4,10,1,2,49", SIMCUDA_INLINE=SCRIPT, SIMCUDA_CLOCK="virtual")
    sim.equal(run.out, "Simulated GPU with 108 multiprocessors\n")
    adds = run.all("kernel", name="_Z3addPii")
    shapes = [("4,1,1", "256,1,1")] + [("2,1,1", "128,1,1")] * 2
    sim.equal([(k.grid, k.block) for k in adds], shapes)
    sim.equal({sim.length(k) for k in adds}, {5000})
    fill = run.one("kernel", name="_Z4fillIfEvPT_S0_")
    sim.equal((sim.length(fill), fill.dynamic), (7000, 128))
    launch = run.one("runtime", name="cudaGraphLaunch_v10000")
    sim.equal([k.correlation for k in adds[1:]], [launch.correlation] * 2)
    sim.equal([c.bytes for c in run.all("memcpy")], [4])
    sim.equal([m.bytes for m in run.all("memory", operation=1)], [4096, 128])


def a_program_with_the_shared_runtime(folder):
    check(link(folder, "shared", "-cudart", "shared"))


def a_program_with_a_static_runtime_of_ours(folder):
    archive = os.path.join(sim.SIMCUDA, "13", "libcudart_static.a")
    check(link(folder, "static", "-cudart", "none", archive, "-lpthread", "-ldl"))


if not NVCC or version() != 13:
    print("1..0 # SKIP no nvcc of CUDA 13 here")
    sys.exit(0)
tap = sim.Tap()
with tempfile.TemporaryDirectory(prefix="simcuda-") as build:
    compile_object(build)
    tap.check(a_program_with_the_shared_runtime, build)
    tap.check(a_program_with_a_static_runtime_of_ours, build)
tap.end()
