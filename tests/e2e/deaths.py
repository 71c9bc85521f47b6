# SPDX-License-Identifier: MIT
"""Every way to end, every way to make a process: what was recorded is in the report, once."""

import json
import os
import random
import signal
import subprocess
import time

import tap

WORKLOADS = os.environ["WORKLOADS"]
DIE = os.path.join(WORKLOADS, "die")
STRESS = os.path.join(WORKLOADS, "stress")
MANY = 30000  # enough for blocks and a ring's rest


def tpreport(*words):
    return tap.run([tap.TPREPORT, *words], tap.clean_environment())


def processes(out):
    done = tpreport("info", "--format", "json", out)
    tap.equal(done.returncode, 0, done.stdout)
    return json.loads(done.stdout)["processes"]


def counts(out):
    done = tpreport("--format", "json", out)
    tap.equal(done.returncode, 0, done.stderr)
    return {row["key"]: row["count"] for row in json.loads(done.stdout)["rows"]}


def check(out):
    done = tpreport("check", out)
    tap.equal(done.returncode, 0, done.stdout.decode()[-1000:])


def die(out, way, ranges, status=0, **more):
    done = tap.run([DIE, way, str(ranges)], tap.recorded_environment(out), **more)
    tap.equal((done.returncode, done.stderr), (status, b""), "status")


def ends(way, status, state):
    for ranges in (0, 1, 10, MANY):
        with tap.folder() as out:
            die(out, way, ranges, status)
            check(out)
            got = counts(out)
            tap.equal((got.get("range", 0), got["last"]), (ranges, 1), "ranges")
            (process,) = processes(out)
            tap.equal((process["state"], process["unfinished"]), (state, 1), "state")


def makes(way, instances, ranges_each=None):
    """@instances folders, each of whose processes made all ranges."""
    for ranges in (1, 10, MANY):
        with tap.folder() as out:
            die(out, way, ranges)
            check(out)
            tap.equal(counts(out)["range"], ranges * instances, "ranges")
            found = processes(out)
            tap.equal(len(found), instances, "processes")
            for process in found:
                tap.equal(process["records"] // 2, ranges, "ranges of each")
            if way.startswith("exec"):
                tap.equal(len({p["pid"] for p in found}), 1, "pids")


def oom_group():
    """A memory cgroup of our own, or a reason for none."""
    for top, limit in (
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ("/sys/fs/cgroup", "memory.max"),
    ):
        group = os.path.join(top, f"tpagent-test-{os.getpid()}")
        try:
            os.mkdir(group)
            with open(os.path.join(group, limit), "w") as file:
                file.write(str(100 << 20))
            return group
        except OSError as problem:
            why = problem
            if os.path.isdir(group):
                os.rmdir(group)
    raise tap.Skip(f"no memory cgroup can be made: {why}")


def out_of_memory():
    group = oom_group()

    def enter():
        with open(os.path.join(group, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))

    try:
        with tap.folder() as out:
            die(out, "oom", MANY, -signal.SIGKILL, preexec_fn=enter)
            check(out)
            tap.equal(counts(out)["range"], MANY, "ranges")
    finally:
        os.rmdir(group)


TURNS = int(os.environ.get("TPAGENT_TEST_GROUP_KILLS", "40"))

FAMILY = f"""
import os, subprocess, sys
children = [subprocess.Popen([{STRESS!r}, '2', str(1 << 40), 'calls%d' % i]) for i in range(3)]
print('running', flush=True)
[c.wait() for c in children]
"""


def killed_groups():
    """kill -9 of a whole process group under load, at random moments."""
    seed = int(os.environ.get("TEST_SEED", time.time_ns() % 1000000))
    print(f"# TEST_SEED={seed}")
    draw = random.Random(seed)
    records = killed = 0
    for _ in range(TURNS):
        with tap.folder() as out:
            environment = tap.recorded_environment(
                out, TPAGENT_WHEN_FULL="wait", TPAGENT_MAX_SIZE="1m"
            )
            parent = subprocess.Popen(
                [os.environ.get("PYTHON", "/usr/bin/python3"), "-c", FAMILY],
                env=environment,
                cwd=out,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            parent.stdout.readline()
            time.sleep(draw.random() * 0.1)
            os.killpg(parent.pid, signal.SIGKILL)
            parent.communicate()
            check(out)
            for process in processes(out):
                for key in (
                    "missing_slots",
                    "damaged_blocks",
                    "ends_without_begin",
                    "unknown_records",
                    "names_missing",
                    "dropped_records",
                    "lost_records",
                ):
                    tap.equal(process[key], 0, key)
                tap.equal(process["state"], "died", "state")
                records += process["records"]
                killed += 1
    print(f"# {TURNS} groups, {killed} processes killed, {records} records, 0 lost")


def main():
    t = tap.Tap()
    t.check("exit", ends, "exit", 0, "ended")
    t.check("_exit", ends, "_exit", 0, "ended")
    t.check("_exit in a signal handler", ends, "handler", signal.SIGUSR1, "ended")
    t.check("abort", ends, "abort", -signal.SIGABRT, "died")
    t.check("SIGSEGV", ends, "segv", -signal.SIGSEGV, "died")
    t.check("SIGKILL", ends, "kill", -signal.SIGKILL, "died")
    t.check("the kernel is out of memory", out_of_memory)
    t.check("execve: the same pid goes on", makes, "exec", 2)
    t.check("execve with a trimmed environment", makes, "exec_trimmed", 2)
    t.check("execve without an environment: only what was before", makes, "exec_cleared", 1)
    t.check("a daemon, whose parents go first", makes, "daemon", 2)
    t.check("fork in fork in fork", makes, "fork", 4)
    t.check("vfork and exec, vfork and a failed exec", makes, "vfork", 2)
    t.check("posix_spawn", makes, "spawn", 2)
    t.check("posix_spawn with a trimmed environment", makes, "spawn_trimmed", 2)
    t.check("posix_spawn without an environment", makes, "spawn_cleared", 1)
    t.check("clone, without libc's handlers", makes, "clone", 2)
    t.check(f"kill -9 of {TURNS} process groups under load", killed_groups)
    t.end()


if __name__ == "__main__":
    main()
