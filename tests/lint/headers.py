# SPDX-License-Identifier: MIT
"""headers.py CC...: every header compiles alone; the public one as C99, C11 and C++11, too."""

import os
import shutil
import subprocess
import sys

import lint

PUBLIC = "agent/tpagent.h"
INCLUDES = ["-Iruntime", "-Iagent", "-Itools/tpreport", "-Itools", "-Itests/unit"]


def complaints(command, name):
    run = subprocess.run(
        command + ["-x", "c++" if "++" in command[0] else "c", "-fsyntax-only", "-"],
        input=f'#include "{os.path.join(lint.ROOT, name)}"\n',
        cwd=lint.ROOT,
        capture_output=True,
        text=True,
    )
    return run.stderr.strip().split("\n")[:4] if run.returncode else []


compiler = sys.argv[1:] or ["cc"]
for header in lint.files(".h", under=["agent/", "runtime/", "tools/", "tests/"]):
    if header.startswith("tests/") and "/unit/" not in header:
        continue
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    lint.check(f"{header} compiles alone", complaints(compiler + flags + INCLUDES, header))
if PUBLIC in lint.files(PUBLIC):
    strict = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
    for standard in ("c99", "c11"):
        command = compiler + ["-std=" + standard] + strict
        lint.check(f"{PUBLIC} compiles as {standard}", complaints(command, PUBLIC))
    for standard in ("c++11", "c++17"):
        claim = f"{PUBLIC} compiles as {standard}"
        if shutil.which("g++"):
            lint.check(claim, complaints(["g++", "-std=" + standard] + strict, PUBLIC))
        else:
            lint.skip(claim, "no C++ compiler")
lint.done()
