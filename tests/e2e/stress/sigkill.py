# SPDX-License-Identifier: MIT
"""Kill a program that records at a hundred random moments; count what is there afterwards."""

import os
import random
import shutil
import struct
import subprocess
import time

import counts

THREADS = 3
TURNS = 100


def run_and_kill(wait):
    environment = dict(os.environ, LD_PRELOAD=os.environ["AGENT"])
    if wait:
        environment["TPAGENT_WHEN_FULL"] = "wait"
    program = subprocess.Popen(
        [os.environ["WORKLOADS"] + "/stress", str(THREADS), "1000000000", "calls"], env=environment
    )
    time.sleep(random.choice((0.02, 0.05, 0.15)) * (0.5 + random.random()))
    program.kill()
    program.wait()


def calls_made():
    if not os.path.exists("calls"):
        return 0
    with open("calls", "rb") as file:
        calls = sum(struct.unpack("3Q", file.read(24).ljust(24, b"\0")))
    os.remove("calls")
    return calls


def is_right(numbers, calls, wait):
    if any(numbers[key] for key in ("missing", "twice", "unmatched", "open_differs", "damaged")):
        return False
    # a call that was killed may have written its record and not yet have been counted
    seen = numbers["begins"] + numbers["ends"] + numbers["dropped"]
    return 0 <= seen - calls <= THREADS and not (wait and numbers["dropped"])


def reader_complains(wait):
    """Whether tpreport finds the recording less than readable; drops are told by status 3."""
    command = [os.environ["TPREPORT"], "check", os.environ["TPAGENT_OUT"]]
    status = subprocess.run(command, capture_output=True).returncode
    return status != 0 if wait else status not in (0, 3)


def main():
    seed = int(os.environ.get("SEED", "0")) or int(time.time())
    random.seed(seed)
    wrong = 0
    for turn in range(TURNS):
        shutil.rmtree(os.environ["TPAGENT_OUT"])
        os.mkdir(os.environ["TPAGENT_OUT"])
        run_and_kill(turn % 2 == 0)
        calls = calls_made()
        numbers = counts.counts()
        if "begins" not in numbers and calls == 0:
            continue  # before anything had begun
        wait = turn % 2 == 0
        if not is_right(numbers, calls, wait) or reader_complains(wait):
            print("turn", turn, "seed", seed, "calls", calls, numbers["text"])
            wrong += 1
    print(wrong, "of", TURNS, "turns wrong")


main()
