# SPDX-License-Identifier: MIT
"""The layouts of the stand-in CUPTI against the headers of NVIDIA's, where those are installed."""

import os
import re
import subprocess
import tempfile

import sim

HERE = os.path.dirname(os.path.abspath(__file__))


def include_folder():
    """Where cupti.h is; None when it is nowhere."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for root in filter(None, roots):
        for folder in ("include", "extras/CUPTI/include"):
            if os.path.exists(os.path.join(root, folder, "cupti.h")):
                return os.path.join(root, folder)
    return None


def api_version(folder):
    with open(os.path.join(folder, "cupti_version.h")) as file:
        found = re.search(r"CUPTI_API_VERSION\s+(\d+)", file.read())
    return int(found.group(1)) if found else 0


def compile_with(folder, source):
    cuda = os.path.join(os.path.dirname(folder.rstrip("/")), "include")
    command = ["cc", "-std=gnu11", "-fsyntax-only", "-w", "-I", folder, "-I", cuda, source]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True)


def every_offset_is_that_of_the_headers():
    folder = include_folder()
    if not folder:
        return "no CUPTI headers here"
    if api_version(folder) < 130000:
        return f"headers of API {api_version(folder)}"
    done = compile_with(folder, os.path.join(HERE, "headers.c"))
    sim.equal(done.returncode, 0, done.stderr)


def a_wrong_offset_does_not_compile():
    folder = include_folder()
    if not folder or api_version(folder) < 130000:
        return "no CUPTI headers of 13.0 here"
    with open(os.path.join(HERE, "headers.c")) as file:
        text = file.read().replace("KERNEL_start start", "KERNEL_start end")
    text = text.replace('"../cupti/', f'"{os.path.dirname(HERE)}/cupti/')
    with tempfile.NamedTemporaryFile("w", suffix=".c") as wrong:
        wrong.write(text)
        wrong.flush()
        done = compile_with(folder, wrong.name)
    sim.true("KERNEL.start" in done.stderr, "it compiled")


tap = sim.Tap()
tap.check(every_offset_is_that_of_the_headers)
tap.check(a_wrong_offset_does_not_compile)
tap.end()
