# SPDX-License-Identifier: MIT
"""Eight processes with threads that come and go and storms of forks, some of them killed at random
and begun anew, on a small disk, for SOAK_SECONDS (60): afterwards every recording is readable, and
the agent's memory is as it was at the start. `SOAK_SECONDS=1800 meson test --suite soak -t 100` is
the long version."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import tap  # noqa: E402

SOAK = os.path.join(os.environ["WORKLOADS"], "soak")
SECONDS = int(os.environ.get("SOAK_SECONDS", "60"))
PROCESSES = 8
DISK = "600m"
SUMMARY_KIB = 16 << 10  # what it may touch of its buffers


def small_disk(place):
    """Whether @place is a file system of its own now."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=1777", "tmpfs", place]
    return subprocess.run(mount, capture_output=True).returncode == 0


def tpreport(*words):
    return tap.run([tap.TPREPORT, *words], tap.clean_environment(), timeout=600)


class Job:
    """One of the eight places: a process, and what became of those before it."""

    def __init__(self, number, top, draw):
        self.folder = os.path.join(top, str(number))
        self.draw, self.lines, self.child, self.log = draw, [], None, None
        os.mkdir(self.folder)

    def start(self, until):
        environment = tap.recorded_environment(
            self.folder, TPAGENT_MAX_SIZE="4m", TPAGENT_RING_TOTAL="8m", TPAGENT_MIN_FREE="32m"
        )
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8")  # not on the disk that fills up
        left = max(1, int(until - time.monotonic()))
        self.child = subprocess.Popen(
            [SOAK, str(left), str(self.draw.randrange(1 << 30))],
            env=environment,
            cwd=self.folder,
            stdout=self.log,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def stop(self):
        """Nothing of it goes on when the test has failed."""
        if self.child and self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.communicate()

    def end(self, kill):
        if kill:
            os.killpg(self.child.pid, signal.SIGKILL)
        errors = self.child.communicate()[1].decode()
        expected = -signal.SIGKILL if kill else 0
        tap.equal(self.child.returncode, expected, "status: " + errors)
        lines = errors.splitlines()  # the disk may fill up: one line says so
        assert not lines or len(lines) == 1 and "No space left" in lines[0], errors
        self.log.seek(0)
        self.lines.append([list(map(int, line.split())) for line in self.log.read().splitlines()])
        self.log.close()


def read_one(path, totals):
    done = tpreport("info", "--format", "json", path)
    if done.returncode == 1 and b"no recording" in done.stderr:
        return  # killed before it was one
    assert done.returncode in (0, 3), done
    for process in json.loads(done.stdout)["processes"]:
        for key in ("damaged_blocks", "damaged_bytes", "missing_slots", "unreadable_files"):
            tap.equal(process[key], 0, f"{key} of {path}: {process}")
        totals["processes"] += 1
        totals["died"] += process["state"] == "died"
        totals["records"] += process["records"]
        totals["dropped"] += process["lost_records"] + process["dropped_records"]
        totals["in memory"] += process["memory_slots"]
    done = tpreport("check", path)
    assert done.returncode in (0, 3), done.stdout.decode()[:1500]
    if done.returncode == 3:
        assert b"intact, but something was lost" in done.stdout, done.stdout.decode()[:1500]
    done = tpreport("recover", path)
    if b"No space left" not in done.stderr:
        tap.equal((done.returncode, done.stderr), (0, b""), done.stdout)
    totals["recordings"] += 1


def keep(path):
    """A copy elsewhere, to look for the reason: the small disk goes. Return: where."""
    place = os.path.join(tempfile.mkdtemp(prefix="tpagent-soak-"), os.path.basename(path))
    shutil.copytree(path, place, symlinks=True)
    return place


def read_all(folder, totals):
    """Every recording of a job; then it goes, as a user would clear up."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.startswith("tpagent-"):
            continue
        try:
            read_one(path, totals)
        except Exception:
            print("# kept in", keep(path))
            raise
        if os.path.isdir(path):
            shutil.rmtree(path)


def flat(lines):
    """Memory of a process that lived long: its last third is no more than its second, but for what
    the summary takes, once, when the first segment goes."""
    values = [line[1] for line in lines]
    if len(values) < 12:
        return None
    third = len(values) // 3
    second, last = max(values[third : 2 * third]), max(values[2 * third :])
    assert last <= second * 1.25 + SUMMARY_KIB + 2048, values
    return second, last


def run(jobs, draw, until, totals):
    """Until all have ended. Return: how many groups were killed."""
    killed = 0
    for job in jobs:
        job.start(until)
    while True:
        rest = draw.uniform(0.5, max(1.0, SECONDS / 30))
        if time.monotonic() + rest > until - 10:  # what is killed would end by itself
            break
        time.sleep(rest)
        job = draw.choice(jobs[PROCESSES // 2 :])  # the others live to the end
        job.end(kill=True)
        killed += 1
        read_all(job.folder, totals)
        job.start(until)
    for job in jobs:
        job.end(kill=False)
        read_all(job.folder, totals)
    return killed


def soak(top):
    seed = int(os.environ.get("TEST_SEED", time.time_ns() % 1000000))
    draw = random.Random(seed)
    print(f"# TEST_SEED={seed}, {SECONDS} s, {PROCESSES} processes")
    totals = dict.fromkeys(
        ("recordings", "processes", "died", "records", "dropped", "in memory"), 0
    )
    until = time.monotonic() + SECONDS
    jobs = [Job(number, top, draw) for number in range(PROCESSES)]
    try:
        killed = run(jobs, draw, until, totals)
    finally:
        for job in jobs:
            job.stop()
    print(f"# {killed} groups killed; " + ", ".join(f"{totals[key]} {key}" for key in totals))
    grown = [flat(lines) for job in jobs for lines in job.lines]
    grown = [pair for pair in grown if pair]
    print("# KiB in the second and the last third of a life:", grown[:PROCESSES])
    assert totals["records"] and totals["died"], totals


def main():
    t = tap.Tap()
    with tap.folder() as top:
        mounted = small_disk(top)
        print("#", f"a disk of {DISK}" if mounted else "no small disk can be mounted here")
        try:
            t.check("every recording is readable, memory is flat", soak, top)
        finally:
            if mounted:
                subprocess.run(["umount", "-l", top], check=True)
    t.end()


if __name__ == "__main__":
    main()
