# SPDX-License-Identifier: MIT
"""Disks that are full, read-only or gone, and other limits: the program runs on as without the
agent, one line says so, what was written before is readable, what was lost is counted."""

import contextlib
import json
import os
import resource
import shutil
import subprocess
import time

import small_disk
import tap

WORKLOADS = os.environ["WORKLOADS"]
DIE = os.path.join(WORKLOADS, "die")
STRESS = os.path.join(WORKLOADS, "stress")
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")


def tpreport(*words):
    return tap.run([tap.TPREPORT, *words], tap.clean_environment())


def runs_on(command, out, lines=None, **more):
    """As without the agent, but for at most one line of ours. Return: that line."""
    preexec = more.pop("preexec_fn", None)
    bare = tap.run(command, tap.clean_environment(), preexec_fn=preexec)
    done = tap.run(command, tap.recorded_environment(out, **more), preexec_fn=preexec)
    tap.equal((done.returncode, done.stdout), (bare.returncode, bare.stdout), "the program")
    ours = done.stderr.decode().splitlines()
    tap.equal([line for line in ours if not line.startswith("tpagent: ")], [], "other lines")
    assert len(ours) <= 1 if lines is None else len(ours) == lines, ours
    return ours[0] if ours else ""


def readable(out, status=None):
    done = tpreport("info", "--format", "json", out)
    assert done.returncode in (0, 3), done
    check = tpreport("check", out)
    assert check.returncode in (0, 3) if status is None else check.returncode == status, check
    return json.loads(done.stdout)["processes"]


def full_before_it_begins():
    with small_disk.mounted("64k") as out:
        small_disk.fill(out)
        line = runs_on([DIE, "thread", "1000"], out, 1)
        assert "No space left on device" in line, line


def full_while_it_records():
    """The rings are elsewhere, so that it is the blocks that find no room."""
    with small_disk.mounted("1200k") as out, tap.folder() as rings:
        line = runs_on(
            [DIE, "thread", "2000000"],
            out,
            TPAGENT_RING_DIR=rings,
            TPAGENT_MIN_FREE="0",
            TPAGENT_WHEN_FULL="drop",
        )
        (process,) = readable(out)
        made = 2 * 2 * 2000000 + 1
        seen, lost = process["records"], process["lost_records"] + process["dropped_records"]
        print(f"# {seen} of {made} records, {lost} counted as lost; {line or 'it had room'}")
        assert seen + lost <= made + 10, process
        if seen < made:
            assert lost or "could not be written" in line, (process, line)


def no_room_for_rings():
    """Rings that can't be files are memory, and the recording says so."""
    with small_disk.mounted("64k") as rings, tap.folder() as out:
        small_disk.fill(rings)
        runs_on([DIE, "thread", "1000"], out, 0, TPAGENT_RING_DIR=rings, TPAGENT_WHEN_FULL="wait")
        (process,) = readable(out)
        tap.equal(process["records"], 4001, "records")
        assert any("not crash-safe" in note for note in process["notes"]), process["notes"]


def read_only():
    with small_disk.mounted("1m") as out:
        subprocess.run(["mount", "-o", "remount,ro", out], check=True)
        line = runs_on([DIE, "thread", "1000"], out, 1)
        assert "Read-only file system" in line, line


def quota():
    for tool in ("setquota", "quotaon"):
        if not shutil.which(tool):
            raise tap.Skip(f"{tool} is not here")
    raise tap.Skip("no file system with quotas")


def limited(which, value, status=None):
    with tap.folder() as out:
        runs_on(
            [DIE, "thread", "30000"],
            out,
            preexec_fn=lambda: resource.setrlimit(which, (value, value)),
        )
        if tap.process_folders(out):
            readable(out, status)


def limited_alone(which, value):
    """A process that drains itself: what a write does to its thread it does to the program."""
    with tap.folder() as out:
        line = runs_on(
            [DIE, "return", "20000000"],
            out,
            preexec_fn=lambda: resource.setrlimit(which, (value, value)),
        )
        print("#", line or "no line")
        readable(out)


def shared_memory_of_64_mb():
    """More threads than such a folder has room for rings."""
    with small_disk.mounted("64m") as rings, tap.folder() as out:
        done = tap.run(
            [os.path.join(WORKLOADS, "churn"), "together", "300", "2000"],
            tap.recorded_environment(out, TPAGENT_RING_DIR=rings, TPAGENT_RING_TOTAL="1g"),
        )
        tap.equal((done.returncode, done.stderr), (0, b""), "the program")
        (process,) = readable(out)
        seen, lost = process["records"], process["lost_records"] + process["dropped_records"]
        assert seen + lost <= 1200000 <= seen + 2 * lost, (seen, lost)


@contextlib.contextmanager
def slow_disk(milliseconds):
    """A file system each of whose writes takes that long, one after the other."""
    program = os.path.join(WORKLOADS, "slow_disk")
    if not os.path.exists(program):
        raise tap.Skip("slow_disk is not built: no libfuse3-dev")
    with tap.folder() as below, tap.folder() as place:
        disk = subprocess.Popen(
            [program, below, place, str(milliseconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if disk.stdout.readline() != b"mounted\n":
            raise tap.Skip("FUSE: " + disk.communicate()[1].decode().strip())
        try:
            yield place
        finally:
            subprocess.run(["umount", place], check=True)
            disk.communicate()


def slow_writes():
    """Who records does not wait for the disk: but for what is written at the start and, up to its
    bound, at the end the program takes as long as on a fast one; what finds no room is counted."""
    delay, pairs = 0.2, 1000000
    command = [STRESS, "2", str(pairs)]

    def seconds(out, place):
        begin = time.monotonic()
        done = tap.run(command, tap.recorded_environment(out), cwd=place)
        tap.equal((done.returncode, done.stderr), (0, b""), "the program")
        return time.monotonic() - begin

    with slow_disk(int(delay * 1000)) as slow, tap.folder() as fast, tap.folder() as place:
        on_fast, on_slow = seconds(fast, place), seconds(slow, place)
        (process,) = readable(slow)
        made = 2 * 2 * pairs
        seen = process["kinds"]["api_begin"] + process["kinds"]["api_end"]
        lost, spare = process["lost_records"], 2 * process["kinds"].get("lost", 0)
        print(f"# {on_fast:.1f} s, {on_slow:.1f} s with {delay} s a write, {lost} lost")
        tap.equal(process["missing_slots"] + process["memory_slots"], 0, "missing")
        assert made <= seen + lost <= made + spare, (seen, lost)
        assert lost and on_slow < 3 * on_fast + 2 + 25 * delay, (on_fast, on_slow)


def directory_vanishes():
    program = (
        "import os, shutil, sys, threading, time\n"
        "shutil.rmtree(os.environ['TPAGENT_RUN_DIR'], ignore_errors=True)\n"
        "t = threading.Thread(target=time.sleep, args=(0.05,)); t.start(); t.join()\n"
        "os.system(sys.argv[1] + ' thread 100000')\nprint('done')\n"
    )
    with tap.folder() as out:
        done = tap.run([PYTHON, "-c", program, DIE], tap.recorded_environment(out))
        tap.equal((done.returncode, done.stdout), (0, b"done\n"), "the program")
        assert len(done.stderr.splitlines()) <= 1, done.stderr


def directory_vanishes_under_load():
    with tap.folder() as out, tap.folder() as elsewhere:
        child = subprocess.Popen(
            [STRESS, "2", "3000000"],
            env=tap.recorded_environment(out),
            cwd=elsewhere,
            stderr=subprocess.PIPE,
        )
        time.sleep(0.05)
        for name in os.listdir(out):
            shutil.rmtree(os.path.join(out, name), ignore_errors=True)
        _, errors = child.communicate()
        tap.equal(child.returncode, 0, "status")
        assert len(errors.splitlines()) <= 1, errors


def two_jobs_in_one_place():
    with tap.folder() as out:
        jobs = [
            subprocess.Popen([DIE, "fork", "30000"], env=tap.recorded_environment(out))
            for _ in range(4)
        ]
        tap.equal([job.wait() for job in jobs], [0] * 4, "status")
        found = [d for d in os.listdir(out) if d.startswith("tpagent-")]
        tap.equal(len(found), 4, "recordings")
        for name in found:
            folder = os.path.join(out, name)
            tap.equal(sum(p["records"] for p in readable(folder, 0)), 4 * 60000 + 1, "records")


def main():
    t = tap.Tap()
    t.check("a disk that is full before it begins", full_before_it_begins)
    t.check("a disk that fills up", full_while_it_records)
    t.check("no room for rings", no_room_for_rings)
    t.check("a read-only disk", read_only)
    t.check("a quota", quota)
    t.check("RLIMIT_FSIZE", limited, resource.RLIMIT_FSIZE, 300000)
    t.check("RLIMIT_FSIZE, one thread", limited_alone, resource.RLIMIT_FSIZE, 1200000)
    t.check("RLIMIT_FSIZE of nothing", limited, resource.RLIMIT_FSIZE, 0)
    for mib in (20, 30, 36, 60, 140, 1200):
        t.check(f"RLIMIT_AS of {mib} MiB", limited, resource.RLIMIT_AS, mib << 20)
    t.check("RLIMIT_NOFILE", limited, resource.RLIMIT_NOFILE, 4)
    t.check("a folder for rings of 64 MB", shared_memory_of_64_mb)
    t.check("a slow disk", slow_writes)
    t.check("a recording's folder that vanishes", directory_vanishes)
    t.check("a recording's folder that vanishes under load", directory_vanishes_under_load)
    t.check("four jobs with one TPAGENT_OUT", two_jobs_in_one_place)
    t.end()


if __name__ == "__main__":
    main()
