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


EXEC_BY = os.path.join(WORKLOADS, "exec_by")
EXECS = "execve execv execvp execvpe execl execlp execle fexecve execveat syscall bare".split()


def exec_by(out, how, *program, **variables):
    return tap.run([EXEC_BY, how, *program], tap.recorded_environment(out, **variables))


def told(out, status=0):
    """The lines above a report, each process's state, and where it went on."""
    found = processes(out)
    check(out)
    done = tpreport(out)
    tap.equal(done.returncode, status, done.stderr)
    states = [(process["state"], process.get("went_on_in")) for process in found]
    return done.stderr.decode().splitlines(), states, found


def folder_names(out):
    return [os.path.basename(path) for path in tap.process_folders(out)]


def becomes_another_program():
    """By each function, and it is told which recording goes on."""
    for how in EXECS:
        with tap.folder() as out:
            done = exec_by(out, how, DIE, "exit", "3")
            tap.equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), how)
            lines, states, found = told(out)
            pid, head = found[0]["pid"], f"process {found[0]['pid']} (exec_by)"
            if how == "bare":
                tap.equal(states, [("exec", None)], how)
                which = "of which nothing is recorded"
                head = head.replace(f"process {pid} (exec_by)", "")
            else:
                _, then = sorted(folder_names(out))
                tap.equal(states, [("exec", then), ("ended", None)], how)
                which = f"die in {then}"
            line = f"went on as another program (exec), {which}; what its rings held was read"
            tap.equal(lines[0], "tpreport: " + (head and head + ": ") + line, how)
            tap.equal(counts(out)["before"], 1, "ranges before " + how)
            recovered = tpreport("recover", out)
            tap.equal(recovered.returncode, 0, recovered.stderr)
            line = line.replace("held was read", "held was recovered")
            tap.equal(told(out)[0][0], "tpreport: " + (head and head + ": ") + line, how)


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


def becomes_one_without_the_agent():
    """It lives, and is not taken for what was recorded."""
    with tap.folder() as out:
        child = subprocess.Popen(
            [EXEC_BY, "bare", "/bin/sleep", "100"], env=tap.recorded_environment(out)
        )
        try:
            while comm(child.pid) != "sleep":
                time.sleep(0.01)
            tap.equal(told(out)[1], [("exec", None)], "state")
            done = tpreport("recover", out)
            assert b"of 1 ring are now" in done.stdout, done
        finally:
            child.kill()
            child.wait()
        tap.equal(told(out)[1], [("exec", None)], "state")


def exec_in_threads():
    with tap.folder() as out:
        tap.equal(exec_by(out, "execve,thread", DIE, "exit", "3").returncode, 0, "status")
        tap.equal([state for state, _ in told(out)[1]], ["exec", "ended"], "states")


def failed_execs():
    """The process is as it was, whatever comes behind."""
    for how in EXECS:
        for end, state in ({}, "ended"), ({"DIE": "1"}, "died"):
            with tap.folder() as out:
                done = exec_by(out, how + ("" if end else ",quiet"), "/no/such", **end)
                error = b"Invalid argument" if how == "fexecve" else b"No such file or directory"
                tap.equal(done.stdout, error + b"\n", how)
                lines, states, found = told(out)
                tap.equal((states, len(found)), ([(state, None)], 1), how)
                tap.equal(counts(out)["behind"], 1, "ranges behind " + how)
                assert ("died without an end line" in "".join(lines)) == (state == "died"), lines


def exec_without_events():
    """The recording ends there, and nothing is left of it; or goes on where it fails."""
    with tap.folder() as out, tap.folder() as rings:
        exec_by(out, "execv,quiet", "/bin/true", TPAGENT_RING_DIR=rings)
        lines, states, found = told(out)
        _, then = sorted(folder_names(out))
        wanted = ([], [("ended", then), ("ended", None)], [])
        tap.equal((lines, states, os.listdir(rings)), wanted, "told")
        tap.equal(found[0]["end_reason"], "exec", "reason")
    with tap.folder() as out:
        exec_by(out, "execv,quiet", DIE, "exit", "3")
        _, then = sorted(folder_names(out))
        tap.equal(told(out)[1], [("ended", then), ("ended", None)], "states")
        info = tpreport("info", out).stdout.decode()
        assert f"ended (exec), " in info and f", went on as die in {then}\n" in info, info


def exec_in_vfork_child():
    for end, state in ({}, "ended"), ({"DIE": "1"}, "died"):
        with tap.folder() as out:
            exec_by(out, "execv,vfork", DIE, "exit", "3", **end)
            states = sorted(told(out)[1])
            tap.equal(states, sorted([(state, None), ("ended", None)]), "states")
            tap.equal(counts(out)["behind"], 1, "ranges behind")


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
    t.check("exec by each function: what the process became is told", becomes_another_program)
    t.check("exec of a program without the agent", becomes_one_without_the_agent)
    t.check("exec beside other threads", exec_in_threads)
    t.check("exec that fails", failed_execs)
    t.check("exec before the first event", exec_without_events)
    t.check("exec in a vfork child is not its parent's", exec_in_vfork_child)
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
