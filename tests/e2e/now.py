# SPDX-License-Identifier: MIT
"""A process that runs, hangs or is stopped is read from outside: what its threads are inside."""

import json
import os
import signal
import subprocess
import time

import tap

HANG = os.path.join(os.environ["WORKLOADS"], "hang")
DEEP = [f"level {i}" for i in range(10)]


def tpreport(*words):
    return tap.run([tap.TPREPORT, *words], tap.clean_environment())


def start(out, count, **variables):
    child = subprocess.Popen(
        [HANG, str(count)],
        env=tap.recorded_environment(out, TPAGENT_WHEN_FULL="wait", **variables),
        stdout=subprocess.PIPE,
    )
    tap.equal(child.stdout.readline(), b"ready\n", "stdout")
    return child


def end(child):
    child.kill()
    child.wait()
    child.stdout.close()


def now(out):
    done = tpreport("tree", "--now", "--format", "json", out)
    tap.equal((done.returncode, done.stderr), (0, b""), "tree --now")
    (process,) = json.loads(done.stdout)["processes"]
    return process


def names_of(process):
    return sorted([r["name"] for r in thread["open"]] for thread in process["threads"])


INSIDE = sorted([["epoch", "collective"], ["waits for a batch"], DEEP])


def each_thread(count, state, stop=None):
    with tap.folder() as out:
        child = start(out, count)
        try:
            if stop:
                child.send_signal(stop)
            if stop == signal.SIGKILL:
                child.wait()
            one = now(out)
            tap.equal((one["state"], names_of(one)), (state, INSIDE), "threads")
            for thread in one["threads"]:
                starts = [r["start_ns"] for r in thread["open"]]
                tap.equal(starts, sorted(starts), "starts")
                assert all(r["age_ns"] >= 0 for r in thread["open"]), thread
            time.sleep(0.2)
            two = now(out)
            tap.equal(names_of(two), INSIDE, "threads later")
            older = two["threads"][0]["open"][0]["age_ns"] - one["threads"][0]["open"][0]["age_ns"]
            if state == "running":
                assert older >= 200000000, older
            else:
                tap.equal(older, 0, "a dead process grows no older")
            text = tpreport("tree", "--now", out).stdout.decode()
            for name in ("epoch", "  collective", "waits for a batch", " " * 18 + "level 9"):
                assert name.strip() in text and name.replace(name.strip(), "") in text, (
                    name,
                    text,
                )
        finally:
            end(child)


def unharmed():
    """Read again and again while it records at full speed: nobody waits, nothing is lost."""
    with tap.folder() as out:
        command = [os.path.join(os.environ["WORKLOADS"], "stress"), "2", "3000000"]
        environment = tap.recorded_environment(out, TPAGENT_WHEN_FULL="wait")
        child = subprocess.Popen(command, env=environment, cwd=out)
        seen = 0
        while child.poll() is None:
            done = tpreport("tree", "--now", out)
            if done.returncode == 1 and b"no recording" in done.stderr:
                continue
            if done.returncode == 3 and b": ended" in done.stdout:
                child.wait()  # meanwhile
                break
            assert done.returncode == 0, done
            seen += 1
        tap.equal(child.returncode, 0, "status")
        done = tpreport("--format", "json", out)
        rows = json.loads(done.stdout)["rows"]
        tap.equal((done.returncode, sum(row["count"] for row in rows)), (0, 6000000), "ranges")
        print(f"# read {seen} times while it ran")
        assert seen, "never read"


def the_table_so_far():
    with tap.folder() as out:
        child = start(out, 50000)
        try:
            done = tpreport("--format", "json", out)
            counts = {row["key"]: row["count"] for row in json.loads(done.stdout)["rows"]}
            tap.equal((counts["step"], counts["epoch"]), (50000, 1), "calls")
            tap.equal(done.returncode, 0, "status")
            assert b"still running: this is what it has done so far" in done.stderr, done.stderr
            assert b"unfinished range" in done.stderr, done.stderr
        finally:
            end(child)


def only_tree_takes_it():
    done = tpreport("events", "--now", "/")
    tap.equal((done.returncode, done.stdout), (2, b""), "status")
    assert b"--now is for tree" in done.stderr, done.stderr


def main():
    t = tap.Tap()
    t.check("a hung process: what each thread is inside", each_thread, 0, "running")
    t.check("the same after a hundred thousand records", each_thread, 50000, "running")
    t.check("a stopped process", each_thread, 50000, "running", signal.SIGSTOP)
    t.check(
        "a killed process: ages at its last record", each_thread, 50000, "died", signal.SIGKILL
    )
    t.check("reading a process does it no harm", unharmed)
    t.check("the table so far, and that it is so", the_table_so_far)
    t.check("--now is refused elsewhere", only_tree_takes_it)
    t.end()


if __name__ == "__main__":
    main()
