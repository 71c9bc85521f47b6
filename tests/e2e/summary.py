# SPDX-License-Identifier: MIT
"""What the oldest segments came to stays in the table after they were deleted: the agent's running
summary, with the program's own counts as what must come out."""

import glob
import json
import os
import random
import signal
import subprocess
import time

import tap

WORKLOADS = os.environ["WORKLOADS"]
EVICTED = os.path.join(WORKLOADS, "evicted")
# the kernel's numbers of what is called when a segment goes, on x86-64
CALLS = {"renameat2": 316, "unlinkat": 263}
KILL_AT = os.path.join(WORKLOADS, "kill_at")
STRESS = os.path.join(WORKLOADS, "stress")
SMALL = {"TPAGENT_MAX_SIZE": "1m", "TPAGENT_WHEN_FULL": "wait"}
SEED = int(os.environ.get("TEST_SEED", random.randrange(1 << 30)))


def tpreport(*words, expect=(0,)):
    done = tap.run([tap.TPREPORT, *words], tap.clean_environment())
    assert done.returncode in expect, done
    return done


def table(*words, expect=(0,)):
    done = tpreport("--format", "json", *words, expect=expect)
    rows = json.loads(done.stdout)["rows"]
    return {row["key"]: row for row in rows}, done.stderr.decode()


def counts(rows):
    return {name: row["count"] for name, row in rows.items()}


def record(out, command, **variables):
    settings = {**SMALL, **variables}
    done = tap.run(list(map(str, command)), tap.recorded_environment(out, **settings), cwd=out)
    tap.equal((done.returncode, done.stderr), (0, b""), "the program")
    return done.stdout.decode()


def start(out, command, **variables):
    settings = {**SMALL, **variables}
    return subprocess.Popen(command, env=tap.recorded_environment(out, **settings), cwd=out)


def said(text):
    """The program's own counts."""
    sums = {}
    for line in text.splitlines():
        name, count = line.split("\t")
        sums[name] = sums.get(name, 0) + int(count)
    return sums


def mostly_evicted(out):
    done = tpreport("info", "--format", "json", out)
    processes = json.loads(done.stdout)["processes"]
    for process in processes:
        evicted = process["summary"]["slots"]
        tap.equal(evicted, process["evicted_slots"], "slots counted, slots gone")
    kept = sum(process["records"] for process in processes)
    evicted = sum(process["evicted_slots"] for process in processes)
    assert evicted > kept, (evicted, kept)
    print(f"# {evicted} of {evicted + kept} records evicted")


def nested_and_open():
    with tap.folder() as out:
        expected = said(record(out, [EVICTED, "nested", 320000]))
        mostly_evicted(out)
        rows, head = table(out)
        tap.equal(counts(rows), expected, "counts")
        assert "known in sums only (running summary)" in head, head
        self_times = sum(row["self_cpu_time_total"] for row in rows.values())
        whole = rows["whole run"]["cpu_time_total"]
        # what runs in a range is its own or its children's: nothing twice, nothing lost
        assert abs(self_times - whole) < 1e-6 * whole + 10, (self_times, whole)
        kept, _ = table("--kept-only", out)
        assert counts(kept)["outer"] < expected["outer"] // 2, counts(kept)
        tpreport("check", out)
        total = json.loads(tpreport("total", "--format", "json", out).stdout)["rows"][0]
        tap.equal(total["count"], sum(expected.values()), "total")
        tree = tpreport("tree", out, "--row-limit=1")
        assert b"ranges that are not shown here" in tree.stderr, tree.stderr


def as_without_a_limit():
    with tap.folder() as limited, tap.folder() as unlimited:
        record(limited, [EVICTED, "nested", 320000])
        record(unlimited, [EVICTED, "nested", 320000], TPAGENT_MAX_SIZE="2g")
        few, _ = table(limited)
        all_, _ = table(unlimited)
        tap.equal(counts(few), counts(all_), "counts")
        for name, row in few.items():
            for column in ("cpu_memory_usage", "self_cpu_memory_usage"):
                tap.equal(row[column], all_[name][column], f"{name} {column}")
        assert not glob.glob(os.path.join(unlimited, "*/*/*/summary.tps*"))


def children_of_fork():
    with tap.folder() as out:
        expected = said(record(out, [EVICTED, "fork", 3, 320000]))
        mostly_evicted(out)
        rows, _ = table(out)
        tap.equal(counts(rows), expected, "counts")
        tap.equal(len(glob.glob(os.path.join(out, "*/*/*/summary.tps"))), 4, "summaries")


def many_threads():
    """Ten thousand, each of which leaves a range open."""
    with tap.folder() as out:
        expected = said(record(out, [EVICTED, "threads", 10000, 300]))
        rows, head = table(out, expect=(0, 3))
        found = counts(rows)
        tap.equal(found["range"], expected["range"], "ranges")
        if "found no room in the running summary" not in head:
            tap.equal(found["never ended"], expected["never ended"], "open ranges")
        else:
            assert found["never ended"] < expected["never ended"], found


def many_names():
    with tap.folder() as out:
        expected = said(record(out, [EVICTED, "names", 40000, 20]))
        rows, head = table(out, "--row-limit=none")
        found = counts(rows)
        tap.equal(sum(found.values()), expected["all"], "all ranges")
        assert found["(too many names)"] > 0, head
        assert "are in the row (too many names)" in head, head
        print(f"# {found['(too many names)']} of {expected['all']} ranges in a row of their own")


def begins_of(calls):
    """What stress has begun when so many calls have returned: three begins, three ends."""
    return 3 * (calls // 6) + min(calls % 6, 3)


def killed(turns=10):
    draw = random.Random(SEED)
    for turn in range(turns):
        with tap.folder() as out:
            child = start(out, [STRESS, "2", "100000000", "calls"])
            # from the first eviction on
            for _ in range(2000):
                if glob.glob(os.path.join(out, "*/*/*/summary.tps*")):
                    break
                time.sleep(0.005)
            time.sleep(draw.random() * 0.05)
            child.send_signal(signal.SIGKILL)
            child.wait()
            with open(os.path.join(out, "calls"), "rb") as file:
                numbers = file.read()
            calls = [int.from_bytes(numbers[i : i + 8], "little") for i in (0, 8)]
            rows, head = table(out)
            found = sum(row["count"] for row in rows.values())
            ranges = [begins_of(c) for c in calls]
            # a call that was under way may have been recorded before it was counted
            low, high = sum(ranges), sum(ranges) + 2
            assert low <= found <= high, (turn, SEED, low, found, head)
            done = tpreport("check", out)
            tap.equal(done.stdout.splitlines()[-1].endswith(b": whole"), True, done.stdout)


def kill_at(out, call):
    """A process that drains on its only thread dies before its system call of that number."""
    command = [KILL_AT, str(call), EVICTED, "nested", "100000000", "progress"]
    done = tap.run(command, tap.recorded_environment(out, **SMALL), cwd=out)
    tap.equal(done.returncode, 0, "killed")
    with open(os.path.join(out, "progress"), "rb") as file:
        return int.from_bytes(file.read(8), "little")


def all_there(out, begun):
    if not begun:
        return
    rows, head = table(out)
    found = counts(rows)
    assert found["outer"] in (begun, begun + 1), (begun, found, head)
    assert 0 <= 3 * found["outer"] - found["inner"] <= 3, found
    tap.equal(found["whole run"], 1, found)
    tap.equal(tpreport("check", out).returncode, 0, "check")


def killed_at_each_call():
    """All that is done when a segment is evicted, interrupted before and between."""
    halfway = 0
    for call in CALLS:
        for nth in range(3, 9):  # rings are renamed and removed, too
            with tap.folder() as out:
                all_there(out, kill_at(out, f"{nth}:{CALLS[call]}"))
                there = glob.glob(os.path.join(out, "*/*/*/0*.tpt"))
                first = min(int(os.path.basename(path)[:6]) for path in there)
                for path in glob.glob(os.path.join(out, "*/*/*/summary.tps")):
                    with open(path, "rb") as file:
                        counted = int.from_bytes(file.read(36)[32:], "little")
                    halfway += first < counted
    print(f"# 12 kills, {halfway} while a segment was counted and there")
    assert halfway >= 3, halfway
    draw = random.Random(SEED)
    for _ in range(20):
        with tap.folder() as out:
            all_there(out, kill_at(out, draw.randrange(2500, 6000)))


def first_segment(out):
    names = glob.glob(os.path.join(out, "*/*/*/*.tpt"))
    return min(int(os.path.basename(name)[:6]) for name in names)


def wait_for(what, seconds=60):
    for _ in range(seconds * 200):
        if what():
            return
        time.sleep(0.005)
    raise AssertionError("waited for too long")


def in_the_way(path):
    """A directory where the new summary is to be made."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return False
    return True


def cannot_be_written():
    """What was evicted since the summary was written last is told; later it is whole again."""
    for again in (False, True):
        with tap.folder() as out:
            command = [EVICTED, "nested", "100000000", "progress"]
            child = start(out, command)
            wait_for(lambda: glob.glob(os.path.join(out, "*/*/*/summary.tps")))
            (path,) = glob.glob(os.path.join(out, "*/*/*/summary.tps"))
            wait_for(lambda: in_the_way(path + ".new"))
            behind = first_segment(out) + 4
            wait_for(lambda: first_segment(out) > behind)
            if again:
                os.rmdir(path + ".new")
                behind = first_segment(out) + 3
                wait_for(lambda: first_segment(out) > behind)
            child.kill()
            child.wait()
            with open(os.path.join(out, "progress"), "rb") as file:
                begun = int.from_bytes(file.read(8), "little")
            rows, head = table(out, expect=(0 if again else 3,))
            found = counts(rows)["outer"]
            assert "the running summary could not be written (errno 21)" in head, head
            if again:
                assert found in (begun, begun + 1), (begun, found, head)
            else:
                assert found < begun, (begun, found)
                assert "evicted segments are in no total" in head, head


def read_while_it_runs():
    """Each time it is what the program had done then."""
    with tap.folder() as out:
        command = [EVICTED, "nested", "1000000000", "progress"]
        child = start(out, command, TPAGENT_MAX_SIZE="8m")
        wait_for(lambda: glob.glob(os.path.join(out, "*/*/*/summary.tps")), 120)

        def begun():
            with open(os.path.join(out, "progress"), "rb") as file:
                return int.from_bytes(file.read(8), "little")

        exact = 0
        for _ in range(6):
            before = begun()
            rows, head = table(out, expect=(0, 3))
            after, found = begun(), counts(rows)
            if "read again" in head:
                continue
            assert before <= found["outer"] + 1 and found["outer"] <= after + 1, (before, found)
            assert 0 <= 3 * found["outer"] - found["inner"] <= 3, found
            exact += 1
        child.kill()
        child.wait()
        assert exact, "it was never read"


def keep_first():
    with tap.folder() as out:
        record(out, [EVICTED, "nested", 320000], TPAGENT_WHEN_BIG="keep-first")
        assert not glob.glob(os.path.join(out, "*/*/*/summary.tps*"))


def damaged():
    """A damaged summary is said, and then the table is of what was kept."""
    with tap.folder() as out:
        record(out, [EVICTED, "nested", 320000])
        (path,) = glob.glob(os.path.join(out, "*/*/*/summary.tps"))
        kept = counts(table("--kept-only", out)[0])
        with open(path, "rb") as file:
            whole = file.read()
        draw = random.Random(SEED)
        broken = [whole[:size] for size in range(0, len(whole), 301)]
        for at in range(0, len(whole), 211):
            bit = 1 << draw.randrange(8)
            broken.append(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        broken.append(whole + bytes(8))
        for bytes_ in broken:
            with open(path, "wb") as file:
                file.write(bytes_)
            rows, head = table(out, expect=(3,))
            tap.equal(counts(rows), kept, "counts")
            assert "summary.tps" in head, head
            assert b"summary.tps" in tpreport("check", out, expect=(3,)).stdout
        os.unlink(path)
        rows, head = table(out)
        tap.equal(counts(rows), kept, "counts")
        assert "slots evicted by the size limit" in head and "running" not in head, head


def packed():
    with tap.folder() as out, tap.folder() as other:
        expected = said(record(out, [EVICTED, "nested", 320000]))
        pack = os.path.join(other, "packed.tpz")
        tpreport("pack", "-o", pack, out)
        tap.equal(counts(table(pack)[0]), expected, "counts")


def recovered():
    """Killed, and what its rings held put into blocks: the same table."""
    with tap.folder() as out:
        child = start(out, [STRESS, "2", "100000000", "calls"])
        while not glob.glob(os.path.join(out, "*/*/*/summary.tps")):
            time.sleep(0.005)
        child.kill()
        child.wait()
        before, _ = table(out)
        tpreport("recover", out)
        after, _ = table(out)
        tap.equal(counts(after), counts(before), "counts")
        tpreport("check", out)


def main():
    t = tap.Tap()
    t.check("nested ranges across the cut: counts and times add up", nested_and_open)
    t.check("the counts of a recording without a limit", as_without_a_limit)
    t.check("children of fork", children_of_fork)
    t.check("10,000 threads that come and go", many_threads)
    t.check("more names than there are rows", many_names)
    t.check("killed while segments are evicted", killed)
    t.check("killed before any system call of an eviction", killed_at_each_call)
    t.check("a summary that cannot be written", cannot_be_written)
    t.check("read while it runs", read_while_it_runs)
    t.check("keep-first makes no summary", keep_first)
    t.check("a damaged summary", damaged)
    t.check("packed", packed)
    t.check("recovered", recovered)
    t.end()


if __name__ == "__main__":
    main()
