# SPDX-License-Identifier: MIT
"""Programs on the simulation, and what a client of CUPTI got of them."""

import os
import re
import subprocess
import sys
import tempfile
import traceback

SIMCUDA = os.environ["SIMCUDA"]
CLIENT = os.environ["SIM_CLIENT"]
REAL_CUPTI = "/usr/local/cuda/lib64/libcupti.so.13"


class Failed(Exception):
    pass


class Line:
    """One line of the client: a word, then name=value pairs; numbers are ints."""

    def __init__(self, text):
        self.text = text
        parts = text.split(" ")
        self.word = parts[0]
        self.values = {}
        for part in parts[1:]:
            name, equal, value = part.partition("=")
            if equal:
                self.values[name] = int(value) if re.fullmatch(r"-?\d+", value) else value

    def __getattr__(self, name):
        return self.values[name]


class Run:
    """What a program printed, how it ended, and the client's lines."""

    def __init__(self, code, out, err, lines):
        self.code, self.out, self.err, self.lines = code, out, err, lines

    def all(self, word, **having):
        return [
            each
            for each in self.lines
            if each.word == word and all(each.values.get(k) == v for k, v in having.items())
        ]

    def one(self, word, **having):
        found = self.all(word, **having)
        if len(found) != 1:
            raise Failed(f"{len(found)} lines {word} {having}, expected 1")
        return found[0]


def program(name):
    return os.path.join(SIMCUDA, "tests", name)


def environment(toolkit="13", driver=True, **more):
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("TPAGENT_", "SIMCUDA_", "CLIENT_", "CUDA_", "LD_PRELOAD"))
    }
    folders = ([os.path.join(SIMCUDA, "driver")] if driver else []) + [
        os.path.join(SIMCUDA, toolkit)
    ]
    clean["LD_LIBRARY_PATH"] = ":".join(folders)
    clean.update({k: str(v) for k, v in more.items()})
    return clean


def run(command, do=None, toolkit="13", driver=True, code=0, timeout=60, **more):
    """Run @command (a list) with the client; @do is CLIENT_DO. @code None: any exit status."""
    with tempfile.TemporaryDirectory(prefix="simcuda-") as folder:
        out = os.path.join(folder, "client")
        env = environment(toolkit, driver, **more)
        env.setdefault("CUDA_INJECTION64_PATH", CLIENT)
        env["CLIENT_OUT"] = out
        env.setdefault("CLIENT_CUPTI", f"libcupti.so.{toolkit}")
        if do is not None:
            env["CLIENT_DO"] = do
        done = subprocess.run(
            command,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            text=True,
        )
        lines = []
        if os.path.exists(out):
            with open(out) as file:
                lines = [Line(text.rstrip("\n")) for text in file]
    if code is not None and done.returncode != code:
        raise Failed(f"exit status {done.returncode}: {done.stderr}")
    return Run(done.returncode, done.stdout, done.stderr, lines)


def toolkit_of(api):
    return "11.0" if api < 19 else "12" if api < 130000 else "13"


def scenario(name, *arguments, do="kinds=5,10", toolkit="13", **more):
    """A scenario with the virtual clock, built for @toolkit."""
    more.setdefault("SIMCUDA_CLOCK", "virtual")
    command = [program(f"scenarios-{toolkit}"), name, *map(str, arguments)]
    return run(command, do, toolkit, **more)


def calls_and_kernels(of):
    return [line for line in of.lines if line.word in ("runtime", "kernel")]


def length(line):
    return line.end - line.start


class Tap:
    """Test Anything Protocol: a claim is a function."""

    def __init__(self):
        self.count = self.failed = 0

    def check(self, claim, *arguments):
        self.count += 1
        name = claim.__name__.replace("_", " ") + "".join(f" {a}" for a in arguments)
        try:
            skipped = claim(*arguments)
            print(f"ok {self.count} - {name}" + (f" # SKIP {skipped}" if skipped else ""))
        except Exception:  # every failure is a line, and the next claim is tried
            self.failed += 1
            print(f"not ok {self.count} - {name}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
        sys.stdout.flush()

    def end(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


def equal(got, expected, what=""):
    if got != expected:
        raise Failed(f"{what}: got {got!r}, expected {expected!r}")


def true(claim, what=""):
    if not claim:
        raise Failed(what)
