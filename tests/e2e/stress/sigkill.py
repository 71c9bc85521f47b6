# SPDX-License-Identifier: MIT
"""Kill a program that records at twenty random moments; count what is there afterwards."""

import os
import random
import shutil
import struct
import subprocess
import time

import counts

THREADS = 3
TURNS = 20


def run_and_kill(wait):
    environment = dict(os.environ, LD_PRELOAD=os.environ["AGENT"])
    if wait:
        environment["TPAGENT_WHEN_FULL"] = "wait"
    program = subprocess.Popen(
        [os.environ["WORKLOADS"] + "/stress", str(THREADS), "1000000000", "calls"], env=environment
    )
    time.sleep(random.choice((0.02, 0.1, 0.3)) * (0.5 + random.random()))
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
        if not is_right(numbers, calls, turn % 2 == 0):
            print("turn", turn, "seed", seed, "calls", calls, numbers["text"])
            wrong += 1
    print(wrong, "of", TURNS, "turns wrong")


main()
