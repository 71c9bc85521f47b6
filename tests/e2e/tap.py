# SPDX-License-Identifier: MIT
"""Test Anything Protocol for scripts: a claim is a line that meson counts."""

import os
import subprocess
import sys
import tempfile
import traceback

AGENT = os.environ.get("AGENT", "")
TPREPORT = os.environ.get("TPREPORT", "")


class Skip(Exception):
    """Raised inside a claim: what is missing on this machine."""


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def check(self, name, function, *arguments, **named):
        """Run one claim; it fails by an exception."""
        self.count += 1
        try:
            function(*arguments, **named)
            print(f"ok {self.count} - {name}")
        except Skip as skip:
            print(f"ok {self.count} - {name} # SKIP {skip}")
        except Exception:
            self.failed += 1
            print(f"not ok {self.count} - {name}")
            # on stderr: of a TAP program's stdout meson shows nothing
            print(f"{name}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        sys.stdout.flush()

    def end(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


def clean_environment(**more):
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("TPAGENT_") and k != "LD_PRELOAD"
    }
    environment.update({k: str(v) for k, v in more.items()})
    return environment


def recorded_environment(out, **more):
    """The environment of a program that is recorded into the folder @out."""
    environment = clean_environment(**more)
    environment["LD_PRELOAD"] = AGENT + (":" + more["LD_PRELOAD"] if "LD_PRELOAD" in more else "")
    environment["TPAGENT_OUT"] = out
    return environment


def run(command, environment, timeout=120, **more):
    return subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
        **more,
    )


def folder():
    return tempfile.TemporaryDirectory(prefix="tpagent-test-")


def process_folders(out):
    """Folders of process instances of all recordings in @out."""
    found = []
    for recording in sorted(os.listdir(out)):
        top = os.path.join(out, recording)
        if not os.path.isfile(os.path.join(top, "run.json")):
            continue
        for host in sorted(os.listdir(top)):
            if os.path.isdir(os.path.join(top, host)):
                found += [
                    os.path.join(top, host, p) for p in sorted(os.listdir(os.path.join(top, host)))
                ]
    return found


def equal(got, expected, what):
    if got != expected:
        raise AssertionError(f"{what}: got {got!r}, expected {expected!r}")
