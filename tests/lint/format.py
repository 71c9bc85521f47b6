# SPDX-License-Identifier: MIT
"""clang-format agrees with every C file, shellcheck with every shell script."""

import collections
import os
import re
import shutil
import subprocess

import lint


def badly_formatted(top):
    names = lint.files(".c", ".h", under=[top + "/"])
    run = subprocess.run(
        ["clang-format", "--dry-run", *names], cwd=lint.ROOT, capture_output=True, text=True
    )
    places = re.findall(r"^(.*?):\d+:\d+: .*Wclang-format-violations", run.stderr, re.MULTILINE)
    for name, count in sorted(collections.Counter(places).items()):
        yield f"{name}: {count} places differ from clang-format"
    if run.returncode:
        yield run.stderr


def shell_scripts():
    for name in lint.files():
        if name.endswith(".sh"):
            yield name
        elif "." not in os.path.basename(name) and lint.read(name)[:20].startswith(
            ("#!/bin/bash", "#!/bin/sh")
        ):
            yield name


def shell_complaints():
    for name in shell_scripts():
        shell = [] if lint.read(name).startswith("#!") else ["-s", "bash"]
        run = subprocess.run(
            ["shellcheck", "-S", "warning", "-f", "gcc", *shell, name],
            cwd=lint.ROOT,
            capture_output=True,
            text=True,
        )
        yield from run.stdout.strip().split("\n") if run.returncode else []


for each in ("agent", "runtime", "tools", "tests"):
    claim = f"{each}/ is formatted as .clang-format says"
    if shutil.which("clang-format"):
        lint.check(claim, badly_formatted(each))
    else:
        lint.skip(claim, "clang-format is not installed")
if shutil.which("shellcheck"):
    lint.check("shellcheck has no warning", shell_complaints())
else:
    lint.skip("shellcheck has no warning", "shellcheck is not installed")
lint.done()
