# SPDX-License-Identifier: MIT
"""Threads have the names that they had last, however short they lived and whoever gave them."""

import json
import os
import signal

import tap

WORKLOADS = os.environ["WORKLOADS"]
NAMED = os.path.join(WORKLOADS, "named")
WAYS = ["self", "behind", "again", "prctl", "syscall", "creator", "creator later"]


def tpreport(*words):
    done = tap.run([tap.TPREPORT, *words], tap.clean_environment())
    tap.equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout) if "json" in words else done.stdout.decode()


def names(out):
    """Of threads, with the one that the process began with."""
    (process,) = tpreport("info", "--format", "json", out)["processes"]
    return sorted(thread["name"] for thread in process["threads"])


def of_short_threads():
    with tap.folder() as out:
        done = tap.run([NAMED], tap.recorded_environment(out))
        tap.equal((done.returncode, done.stderr), (0, b""), "the program")
        tap.equal(names(out), sorted(WAYS * 8 + ["inherited"]), "names of threads")
        for way in WAYS + ["inherited"]:
            rows = tpreport("events", "--format", "json", "--thread", way, out)["rows"]
            tap.equal([row["name"] for row in rows], [way] * (8 if way in WAYS else 1), way)


def of_killed_ones():
    """Also of what the agent's thread had no time to look at."""
    for recovered in (False, True):
        with tap.folder() as out:
            done = tap.run([NAMED, "kill"], tap.recorded_environment(out))
            tap.equal(done.returncode, -signal.SIGKILL, "status")
            if recovered:
                tpreport("recover", out)
            got = names(out)
            for way in WAYS[:5]:
                tap.equal(got.count(way), 8, way)
            tap.equal(len(got), 8 * len(WAYS), "threads")


def main():
    t = tap.Tap()
    t.check("names of threads that are gone at once", of_short_threads)
    t.check("names of threads that were killed", of_killed_ones)
    t.end()


if __name__ == "__main__":
    main()
