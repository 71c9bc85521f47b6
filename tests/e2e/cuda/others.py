# SPDX-License-Identifier: MIT
"""Others in the process: a runtime inside of the program, other clients of CUPTI, PyTorch's
allocator."""

import json
import os

import recorded
import tap
from recorded import Chosen, api_names, calls, counts, nothing_lost, program, run

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


def main():
    t = Chosen()
    t.check("PyTorch's caching allocator", test_allocator)
    t.end()


if __name__ == "__main__":
    main()
