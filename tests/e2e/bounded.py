# SPDX-License-Identifier: MIT
"""Memory, rings and disk stay within their bounds, whatever comes and goes; what finds no room is
counted and shown."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import small_disk
import tap

WORKLOADS = os.environ["WORKLOADS"]
CHURN = os.path.join(WORKLOADS, "churn")
STRESS = os.path.join(WORKLOADS, "stress")


def tpreport(*words):
    return tap.run([tap.TPREPORT, *words], tap.clean_environment())


def info(out):
    done = tpreport("info", "--format", "json", out)
    assert done.returncode in (0, 3), done
    (process,) = json.loads(done.stdout)["processes"]
    return process


def churn(out, *words, **variables):
    """Calls, the agent's own memory half-way and at the end, and what the agent adds."""
    command = [CHURN, *map(str, words)]
    bare = tap.run(command, tap.clean_environment())
    done = tap.run(command, tap.recorded_environment(out, **variables))
    tap.equal((done.returncode, done.stderr), (0, b""), "the program")
    lines = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    without = [list(map(int, line.split())) for line in bare.stdout.splitlines()]
    return lines[0][0], lines[1], lines[2], [a - b for a, b in zip(lines[2], without[2])]


def all_or_counted(out, calls):
    """Records that are there and those that were counted as dropped make all calls."""
    process = info(out)
    seen = process["kinds"].get("api_begin", 0) + process["kinds"].get("api_end", 0)
    dropped = process["lost_records"] + process["dropped_records"]
    tap.equal(process["missing_slots"] + process["damaged_blocks"], 0, "missing")
    # the end of a range whose thread got no ring is not counted: there is nowhere to remember it
    assert seen + dropped <= calls <= seen + 2 * dropped, (seen, dropped, calls)
    return process, seen, dropped


def threads_in_sequence():
    with tap.folder() as out:
        calls, early, late, added = churn(out, "sequence", 10000, 10, TPAGENT_WHEN_FULL="wait")
        process, seen, dropped = all_or_counted(out, calls)
        print(
            f"# 10,000 threads: {seen} of {calls} records, {dropped} dropped and counted; memory"
            f" {early[0]} KiB after 5,000, {late[0]} KiB at the end; agent's mappings {late[2]}"
        )
        assert late[0] - early[0] < 1 << 10, (early, late)
        assert late[2] - early[2] < 200, (early, late)
        tap.equal(dropped, 0, "dropped")
        tap.equal(len(process["threads"]), 10000, "threads")


def c11_threads_in_sequence():
    """libc does not call pthread_create by name to make them."""
    with tap.folder() as out:
        calls, early, late, added = churn(out, "c11", 2000, 10, TPAGENT_WHEN_FULL="wait")
        process, seen, dropped = all_or_counted(out, calls)
        assert late[2] - early[2] < 200, (early, late)
        tap.equal((seen, dropped, len(process["threads"])), (calls, 0, 2000), "all there")


def threads_together():
    total = 16 << 20
    with tap.folder() as out:
        child = subprocess.Popen(
            [CHURN, "together", "500", "2000"],
            env=tap.recorded_environment(out, TPAGENT_RING_TOTAL=str(total)),
            stdout=subprocess.PIPE,
        )
        most = 0
        while child.poll() is None:
            sizes = {}  # by number: one may be renamed while the folder is read
            for folder, _, files in os.walk(out):
                for name in files:
                    with contextlib.suppress(FileNotFoundError):
                        if ".tpr" in name:
                            size = os.path.getsize(os.path.join(folder, name))
                            sizes[name.split(".")[0]] = size
            most = max(most, sum(sizes.values()))
            time.sleep(0.005)
        calls = int(child.stdout.readline())
        child.stdout.close()
        tap.equal(child.returncode, 0, "status")
        _, seen, dropped = all_or_counted(out, calls)
        print(
            f"# 500 threads at once: rings of {most >> 10} KiB at most, TPAGENT_RING_TOTAL"
            f" {total >> 10} KiB; {seen} of {calls} records, {dropped} dropped and counted"
        )
        assert 0 < most <= total, most


def many_names():
    with tap.folder() as out:
        count = 1100000
        calls, early, late, added = churn(out, "names", count, TPAGENT_WHEN_FULL="wait")
        process = info(out)
        (folder,) = tap.process_folders(out)
        size = os.path.getsize(os.path.join(folder, "names.tpn"))
        print(
            f"# {count} names: {process['names']} kept in {size >> 10} KiB, the agent holds"
            f" {added[0]} KiB resident, {added[1]} KiB mapped"
        )
        assert process["names"] <= 1 << 20 and size <= (64 << 20) + (1 << 20), process["names"]
        tap.equal(late[1] - early[1] < 40 << 10, True, f"mapped KiB {early[1]}, {late[1]}")
        done = tpreport(out, "--row-limit=3")
        tap.equal(done.returncode, 3, "status")
        assert b" names of ranges or whole stacks dropped: no room" in done.stderr, done.stderr


def disk_of(out):
    (folder,) = tap.process_folders(out)
    segments = [f for f in os.listdir(folder) if f.endswith(".tpt")]
    return sum(os.path.getsize(os.path.join(folder, f)) for f in segments)


def kept(when_big):
    limit = 1 << 20
    with tap.folder() as out:
        done = tap.run(
            [STRESS, "2", "3000000"],
            tap.recorded_environment(
                out,
                TPAGENT_MAX_SIZE=str(limit),
                TPAGENT_WHEN_BIG=when_big,
                TPAGENT_WHEN_FULL="wait",
            ),
            cwd=out,
        )
        tap.equal(done.returncode, 0, "status")
        size, process = disk_of(out), info(out)
        print(f"# {when_big}: {size >> 10} KiB of {limit >> 10} KiB")
        assert limit // 2 < size <= limit + (128 << 10), size
        done = tpreport("check", out)
        if when_big == "keep-last":
            assert process["evicted_slots"] and not process["missing_slots"], process
            tap.equal(done.returncode, 0, done.stdout)
            assert b"slots evicted by the size limit (TPAGENT_MAX_SIZE)" in done.stdout
            rows = json.loads(tpreport("--format", "json", out).stdout)["rows"]
            tap.equal(sum(row["count"] for row in rows), 2 * 3000000, "ranges of the whole run")
        else:
            assert process["dropped_records"] and not process["evicted_slots"], process
            tap.equal(done.returncode, 3, done.stdout)
            assert b"records dropped: TPAGENT_MAX_SIZE" in done.stdout, done.stdout


def space_is_left():
    """A disk of 4 MiB, 1.5 of which are to stay free; one of the others is for names."""
    with small_disk.mounted("4m") as out, tap.folder() as rings:
        done = tap.run(
            [STRESS, "2", "10000000"],
            tap.recorded_environment(
                out, TPAGENT_MIN_FREE="1536k", TPAGENT_WHEN_FULL="wait", TPAGENT_RING_DIR=rings
            ),
            cwd=rings,
        )
        tap.equal((done.returncode, done.stderr), (0, b""), "the program")
        place = os.statvfs(out)
        left = place.f_bavail * place.f_bsize
        print(f"# {left >> 10} KiB of 4 MiB left free, 1536 were to be")
        assert left >= 1 << 20, left
        done = tpreport(out, "--row-limit=3")
        tap.equal(done.returncode, 0, done.stderr)
        assert b"evicted to leave space on the disk (TPAGENT_MIN_FREE)" in done.stderr, done.stderr
        tap.equal(tpreport("check", out).returncode, 0, "check")


def main():
    t = tap.Tap()
    t.check("10,000 threads in sequence: nothing lost, memory flat", threads_in_sequence)
    t.check("2,000 of C11, too", c11_threads_in_sequence)
    t.check("500 threads at once within TPAGENT_RING_TOTAL", threads_together)
    t.check("more names than there is room for", many_names)
    t.check("TPAGENT_MAX_SIZE, keep-last", kept, "keep-last")
    t.check("TPAGENT_MAX_SIZE, keep-first", kept, "keep-first")
    t.check("TPAGENT_MIN_FREE", space_is_left)
    t.end()


if __name__ == "__main__":
    main()
