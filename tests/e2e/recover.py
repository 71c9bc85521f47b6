# SPDX-License-Identifier: MIT
"""tpreport recover and pack: the same report before and after, whatever happens to them."""

import json
import os
import shutil
import signal
import subprocess
import time

import tap

WORKLOADS = os.environ["WORKLOADS"]
STRESS = os.path.join(WORKLOADS, "stress")
EVERY = int(os.environ.get("TPAGENT_TEST_EVERY", "9"))  # 1: each system call in turn
KILL_AT = os.path.join(WORKLOADS, "kill_at")


def tpreport(*words):
    return tap.run([tap.TPREPORT, *words], tap.clean_environment())


def killed(out, threads=2, **variables):
    environment = tap.recorded_environment(
        out, TPAGENT_WHEN_FULL="wait", TPAGENT_MAX_SIZE="1m", **variables
    )
    child = subprocess.Popen([STRESS, str(threads), str(1 << 40)], env=environment, cwd=out)
    while not any("000001.tpt" in os.listdir(folder) for folder in tap.process_folders(out)):
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()


def report(path):
    """All that a report says of a recording, but for how it died."""
    done = tpreport("--format", "json", "--row-limit=-1", path)
    tap.equal(done.returncode, 0, done.stderr)
    whole = json.loads(done.stdout)
    processes = whole["recording"]["processes"]
    keys = ("records", "ranges", "unfinished", "missing_slots", "evicted_slots", "lost_records")
    return whole["rows"], [{key: process[key] for key in keys} for process in processes]


def check(path, status=0):
    done = tpreport("check", path)
    tap.equal(done.returncode, status, done.stdout.decode())


def rings(out):
    return [f for _, _, files in os.walk(out) for f in files if f.endswith(".tpr")]


def recover(path, status=0):
    done = tpreport("recover", path)
    tap.equal((done.returncode, done.stderr), (status, b""), done.stdout.decode())
    return done.stdout.decode()


def files_of(out):
    found = {}
    for folder, _, files in os.walk(out):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.relpath(os.path.join(folder, name), out)] = file.read()
    return found


def rings_become_blocks():
    with tap.folder() as out:
        killed(out)
        before = report(out)
        assert rings(out), "no rings"
        text = recover(out)
        assert ".tpt" in text, text
        tap.equal(rings(out), [], "rings")
        tap.equal(report(out), before, "report")
        check(out)
        files = files_of(out)
        assert "nothing to recover" in recover(out)
        tap.equal(files_of(out), files, "files after a second time")


def many_deaths():
    for _ in range(4):
        with tap.folder() as out:
            killed(out, 3)
            before = report(out)
            recover(out)
            tap.equal(report(out), before, "report")
            check(out)


def killed_at_every_call():
    """Killed before a system call, each in turn: the report stays, the next recover ends."""
    seed = int(os.environ.get("TEST_SEED", time.time_ns() % 1000000))
    print(f"# TEST_SEED={seed}")
    with tap.folder() as out, tap.folder() as work:
        killed(out)
        before = report(out)
        turns, runs = seed % EVERY + 1 - EVERY, 0
        while True:
            turns += EVERY
            runs += 1
            shutil.rmtree(work)
            shutil.copytree(out, work)
            status = tap.run(
                [KILL_AT, str(turns), tap.TPREPORT, "recover", work], tap.clean_environment()
            ).returncode
            if status == 1:
                break
            tap.equal(status, 0, "kill_at")
            tap.equal(report(work), before, f"report after {turns} calls")
            recover(work)
            tap.equal((report(work), rings(work)), (before, []), f"recovered after {turns} calls")
            check(work)
        print(f"# killed before {runs - 1} of {turns} system calls, nothing lost")
        assert turns > 50, turns


def torn_tails_go():
    """A block and a line that were cut by the death are in the ring, or were not said."""
    with tap.folder() as out:
        killed(out)
        before = report(out)
        (process,) = tap.process_folders(out)
        last = sorted(f for f in os.listdir(process) if f.endswith(".tpt"))[-1]
        with open(os.path.join(process, last), "ab") as file:
            file.write(b"TPB1\x40\x00\x01")
        with open(os.path.join(process, "meta.jsonl"), "ab") as file:
            file.write(b'{"t":"clock","ticks":12')
        tap.equal(report(out), before, "report")
        recover(out)
        tap.equal(report(out), before, "report")
        check(out)


def rings_elsewhere():
    with tap.folder() as out, tap.folder() as shared:
        killed(out, TPAGENT_RING_DIR=shared)
        before = report(out)
        assert rings(shared) and not rings(out)
        recover(out)
        tap.equal(os.listdir(shared), [], "folder of rings")
        tap.equal(report(out), before, "report")
        check(out)


def running_ones_are_left_alone():
    with tap.folder() as out:
        environment = tap.recorded_environment(out, TPAGENT_MAX_SIZE="1m")
        child = subprocess.Popen([STRESS, "1", str(1 << 40)], env=environment, cwd=out)
        try:
            while not any("000001.tpt" in os.listdir(d) for d in tap.process_folders(out)):
                time.sleep(0.01)
            child.send_signal(signal.SIGSTOP)
            files = sorted(files_of(out))
            assert "runs: left alone" in recover(out)
            tap.equal(sorted(files_of(out)), files, "files")
        finally:
            child.kill()
            child.wait()


def damaged_rings_stay():
    with tap.folder() as out:
        killed(out)
        (process,) = tap.process_folders(out)
        ring = os.path.join(process, "ring", sorted(rings(process))[0])
        with open(ring, "r+b") as file:
            file.seek(20)
            file.write(b"\xff")
        assert "damaged ring stays" in recover(out, 3)
        assert os.path.exists(ring)


def ended_ones_have_nothing():
    with tap.folder() as out:
        tap.run([STRESS, "2", "1000"], tap.recorded_environment(out), cwd=out)
        files = files_of(out)
        assert "nothing to recover" in recover(out)
        tap.equal(files_of(out), files, "files")


def main():
    t = tap.Tap()
    t.check("rings become blocks, once", rings_become_blocks)
    t.check("the same report before and after 4 deaths", many_deaths)
    t.check("recover may be killed before any system call", killed_at_every_call)
    t.check("what the death cut is cut off", torn_tails_go)
    t.check("rings in TPAGENT_RING_DIR", rings_elsewhere)
    t.check("a running process is left alone", running_ones_are_left_alone)
    t.check("a damaged ring stays and is told", damaged_rings_stay)
    t.check("a process that ended has nothing to recover", ended_ones_have_nothing)
    t.end()


if __name__ == "__main__":
    main()
