# SPDX-License-Identifier: MIT
"""Single allocations: all of them or samples, their stacks, the profile that is made of them."""

import collections
import csv
import ctypes
import gzip
import json
import math
import os
import platform
import random
import signal
import subprocess
import sys
import time

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../decoder"))
import tptrace  # noqa: E402

WORKLOADS = os.environ["WORKLOADS"]
ALLOCS = os.path.join(WORKLOADS, "allocs")
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
HAS_FRAME_INFORMATION = platform.machine() == "x86_64" and hasattr(
    ctypes.CDLL(None), "_dl_find_object"
)


def record(out, command, **variables):
    done = tap.run(command, tap.recorded_environment(out, **variables))
    tap.equal((done.returncode, done.stderr), (0, b""), "status and stderr")
    return done.stdout.decode()


def memory(out, *options, status=0):
    done = subprocess.run(
        [tap.TPREPORT, "memory", "--format", "json", "--no-lines", *options, out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    tap.equal(done.returncode, status, "tpreport's status: " + done.stderr.decode())
    return json.loads(done.stdout)


WHAT_COUNTERS_CALL = {"net_bytes": "live_bytes"}


def counter(report, name, what):
    found = [c for c in report["range_counters"] if c["name"] == name]
    tap.equal(len(found), 1, f"counters of {name}")
    return found[0][what]


def row(report, name):
    found = [r for r in report["ranges"] if r["range"] == name]
    tap.equal(len(found), 1, f"rows of {name}")
    return found[0]


def by_stack(report, *frames):
    """The rows of all stacks that begin with these functions, summed."""
    rows = [s for s in report["stacks"] if s["stack"][: len(frames)] == list(frames)]
    assert rows, f"no stack {frames} among {[s['stack'] for s in report['stacks']]}"
    return {k: sum(r[k] for r in rows) for k in rows[0] if k != "stack"}


def of_all_and_of_every_byte_sampled(check):
    """With a sample every byte each allocation is one, and so is known each free."""

    def each():
        for recorded in ("all", "count+sample:1", "sample:1"):
            check(recorded)

    return each


def agrees_with_counters(report, recorded, name, **wanted):
    """The row's and the counters' numbers are these, if there are counters."""
    for what, number in wanted.items():
        tap.equal(row(report, name)[WHAT_COUNTERS_CALL.get(what, what)], number, what)
        if recorded.startswith("sample"):
            tap.equal(report["range_counters"] + report["thread_counters"], [], "counters")
        else:
            tap.equal(counter(report, name, what), number, f"{what}, counters")


@of_all_and_of_every_byte_sampled
def family_counts_once(recorded):
    with tap.folder() as out:
        record(out, [ALLOCS, "family"], TPAGENT_ALLOC=recorded)
        report = memory(out)
        work = row(report, "work")
        held = {"allocated_bytes": work["allocated_bytes"], "net_bytes": work["live_bytes"]}
        agrees_with_counters(report, recorded, "work", allocations=12, **held)
        tap.equal(work["frees"], 11, "frees")
        tap.equal(work["live_blocks"], 1, "blocks at the end")
        tap.equal(report["unseen_frees"], 0, "addresses allocated twice")
        tap.equal(report["resizes"], 2, "resizes of a block that there was")


def refused_ones_count_nothing():
    for recorded in ("off", "count", "sample:64k", "count+sample:64k"):
        refused_ones_are_refused(recorded)
    of_all_and_of_every_byte_sampled(refused_ones_are_refused)()


def refused_ones_are_refused(recorded):
    with tap.folder() as out:
        said = record(out, [os.path.join(WORKLOADS, "refused")], TPAGENT_ALLOC=recorded)
        tap.equal(said, "", "what was not refused")
        report = memory(out)
        if recorded not in ("off", "sample:64k", "sample:1"):
            tap.equal(counter(report, "work", "allocations"), 101, f"counted, {recorded}")
            tap.equal(counter(report, "work", "net_bytes"), 104, f"net, {recorded}")
        if recorded in ("all", "count+sample:1", "sample:1"):
            work = row(report, "work")
            found = [work[what] for what in ("allocations", "frees", "live_bytes")]
            tap.equal(found, [101, 100, 104], f"recorded, {recorded}")


@of_all_and_of_every_byte_sampled
def stacks_have_names(recorded):
    with tap.folder() as out:
        record(out, [ALLOCS, "leak", "1000"], TPAGENT_ALLOC=recorded)
        report = memory(out)
        leaked = by_stack(report, "take", "take_for_leak", "leak", "main")
        gone = by_stack(report, "take", "leak", "main")
        tap.equal((leaked["allocations"], leaked["live_blocks"]), (1000, 1000), "leaked")
        tap.equal((gone["allocations"], gone["live_blocks"]), (1000, 0), "gone")
        tap.equal(gone["temporary"], 1000, "temporary")
        assert leaked["suspect"] == 1 and gone["suspect"] == 0, (leaked, gone)
        # one of those that go was there when most was live
        tap.equal(leaked["peak_bytes"] + gone["peak_bytes"], 1001 * 1000, "peak")
        shallow = memory(out, "--no-symbols")
        assert any("allocs+0x" in f for s in shallow["stacks"] for f in s["stack"]), shallow[
            "stacks"
        ]


def no_frame_pointers_are_needed():
    aligned = ["take", "plain", "of_any_size", "aligned"]
    expected = {
        1000: ["take", "plain", "main"],
        2000: ["take", "plain", "of_any_size", "main"],
        3000: [*aligned, "aligned_of_any_size", "main"],
        4000: ["take", "plain", "large", "main"],
        5000: ["take", "plain", "compare"],
        6000: [*aligned, "thread"],
    }
    if not HAS_FRAME_INFORMATION:
        raise tap.Skip("this libc does not find call frame information")
    with tap.folder() as out:
        record(out, [os.path.join(WORKLOADS, "frames")], TPAGENT_ALLOC="all")
        found = {s["allocated_bytes"] // 1000: s["stack"] for s in memory(out)["stacks"]}
    for size, frames in expected.items():
        tap.equal(found[size // 1000][: len(frames)], frames, f"{size} bytes")
    assert "through_libc" in found[5] and "main" in found[5], found[5]


def any_order_of_functions():
    if not HAS_FRAME_INFORMATION:
        raise tap.Skip("this libc does not find call frame information")
    seed, count = random.randrange(1 << 31), 20000
    print(f"# seed {seed}")
    with tap.folder() as out:
        paths = record(
            out,
            [os.path.join(WORKLOADS, "frames"), str(seed), str(count)],
            TPAGENT_ALLOC="all",
            TPAGENT_STACKS="64",
            TPAGENT_WHEN_FULL="wait",
        ).split()
        found = collections.Counter()
        for row in memory(out, "--row-limit", "none")["stacks"]:
            names = [f for f in row["stack"] if f not in ("take", "deeper")]
            if row["stack"][0] == "take":
                found["".join(n[0] for n in names[: names.index("at_random")])] += row[
                    "allocations"
                ]
    tap.equal(len(paths), count, "paths")
    wanted = collections.Counter(paths)
    differ = [(p, found[p], wanted[p]) for p in found | wanted if found[p] != wanted[p]]
    tap.equal(differ[:5], [], f"{len(differ)} of {len(wanted)} paths")


def cut_stacks_begin_as_whole_ones():
    if not HAS_FRAME_INFORMATION:
        raise tap.Skip("this libc does not find call frame information")
    seed = random.randrange(1 << 31)
    print(f"# seed {seed}")
    program = [os.path.join(WORKLOADS, "frames"), str(seed), "20000"]
    found = {}
    for depth in (64, 16, 9, 3):
        with tap.folder() as out:
            record(out, program, TPAGENT_ALLOC="all", TPAGENT_STACKS=str(depth))
            found[depth] = collections.Counter()
            for row in memory(out, "--row-limit", "none")["stacks"]:
                if row["stack"][0] == "take":
                    found[depth][tuple(row["stack"][:depth])] += row["allocations"]
    for depth in (16, 9, 3):
        wanted = collections.Counter()
        for stack, count in found[64].items():
            wanted[stack[:depth]] += count
        differ = [(s, found[depth][s], wanted[s]) for s in found[depth] | wanted]
        tap.equal([d for d in differ if d[1] != d[2]][:3], [], f"stacks of {depth}")


def depth_is_obeyed():
    for depth, deepest in (("0", 0), ("1", 1), ("3", 3), ("64", 8)):
        with tap.folder() as out:
            record(out, [ALLOCS, "leak", "10"], TPAGENT_ALLOC="all", TPAGENT_STACKS=depth)
            found = max(len(s["stack"]) for s in memory(out)["stacks"])
            assert found <= deepest and (deepest > 3 or found == deepest), (depth, found)


def times_are_in_order():
    with tap.folder() as out:
        record(out, [ALLOCS, "mix", "3000"], TPAGENT_ALLOC="all")
        process = tptrace.Process(tap.process_folders(out)[0])
        before, coarse, seen = {}, 0, 0
        for track, one in process.records():
            assert one.ticks >= before.get(track, 0), (track, one)
            before[track] = one.ticks
            if one.kind.name in ("alloc", "free"):
                seen += 1
                coarse += one.ticks % 8 == 0
        clock = next(line["clock"] for line in process.meta if line["t"] == "start")
        assert seen > 5000, seen
        tap.equal(coarse == seen, clock == "tsc", f"{coarse} of {seen} in eight ticks of {clock}")


def one_thread_loses_nothing():
    """It writes its ring out itself, with stacks and without."""
    for depth in ("0", "4"):
        with tap.folder() as out:
            record(out, [ALLOCS, "leak", "200000"], TPAGENT_ALLOC="all", TPAGENT_STACKS=depth)
            work = row(memory(out), "work")
            tap.equal(work["allocations"], 400000, f"allocations, {depth} frames")
            tap.equal(work["live_blocks"], 200000, f"blocks at the end, {depth} frames")


def bytes_are_those_of_the_allocator():
    """Of all sizes and kinds, whichever way they are recorded."""
    count = 3000
    for alloc in ("count", "count+sample:64k", "all", "sample:1"):
        with tap.folder() as out:
            held = int(record(out, [ALLOCS, "sizes", str(count)], TPAGENT_ALLOC=alloc))
            report = memory(out)
            # one in four was another one first
            wanted = {"allocations": count + count // 4, "allocated_bytes": held}
            if alloc in ("all", "sample:1"):
                wanted["net_bytes"] = row(report, "work")["live_bytes"]
                agrees_with_counters(report, alloc, "work", **wanted)
            else:
                found = {w: counter(report, "work", w) for w in wanted}
                tap.equal(found, wanted, f"{alloc}: allocations and bytes that were counted")


def busy_program_gets_a_thread():
    """Which writes out what it allocates; not its child, nor a program that allocates little."""
    for count, depth, threads in ((100000, "0", 2), (100000, "4", 2), (1000, "0", 1)):
        with tap.folder() as out:
            said = record(
                out, [ALLOCS, "busy", str(count)], TPAGENT_ALLOC="all", TPAGENT_STACKS=depth
            )
            tap.equal(said, f"{threads} 1\n", f"threads after {count} blocks, and of the child")
            report = memory(out)
            work = row(report, "work")
            tap.equal(work["allocations"], 2 * count + 20, f"allocations, {depth} frames")
            tap.equal(work["live_blocks"], count + 10, f"blocks at the end, {depth} frames")
            tap.equal(work["allocations"], counter(report, "work", "allocations"), "counters")
            tap.equal(work["live_bytes"], counter(report, "work", "net_bytes"), "bytes, counters")


@of_all_and_of_every_byte_sampled
def resizes_in_parts_count_once(recorded):
    """With glibc's realloc, and one that calls malloc and free."""
    count = 50000
    for parts in (None, os.path.join(WORKLOADS, "realloc_in_parts.so")):
        with tap.folder() as out:
            more = {"LD_PRELOAD": parts} if parts else {}
            record(out, [ALLOCS, "resizes", str(count)], TPAGENT_ALLOC=recorded, **more)
            done = tap.run([tap.TPREPORT, "check", out], tap.clean_environment())
            tap.equal((done.returncode, done.stderr), (0, b""), "check")
            report = memory(out)
            work = row(report, "work")
            agrees_with_counters(report, recorded, "work", allocations=count)
            tap.equal((work["frees"], work["live_blocks"]), (count, 0), "frees, left")
            tap.equal(report["unknown_frees"], 0, "frees not joined")


def handlers_count_while_the_thread_is_made():
    with tap.folder() as out:
        preload = os.path.join(WORKLOADS, "signal_at_create.so")
        record(out, [ALLOCS, "leak", "100000"], TPAGENT_ALLOC="all", LD_PRELOAD=preload)
        report = memory(out)
        work = row(report, "work")
        tap.equal(by_stack(report, "on_signal")["allocations"], 10, "in the handler")
        tap.equal(work["allocations"], 200010, "allocations")
        tap.equal(work["allocations"], counter(report, "work", "allocations"), "counters")


def busy_program_may_be_alone():
    """What the kernel allows to one thread only it allows when the agent's has been there."""
    command = [ALLOCS, "alone", "100000"]
    bare = tap.run(command, tap.clean_environment())
    with tap.folder() as out:
        said = record(out, command, TPAGENT_ALLOC="all")
        tap.equal(said, bare.stdout.decode(), "what it was allowed")
        report = memory(out)
        work = row(report, "work")
        tap.equal(work["allocations"], 4 * 200000, "allocations")
        tap.equal(work["allocations"], counter(report, "work", "allocations"), "counters")
        tap.equal(work["live_bytes"], counter(report, "work", "net_bytes"), "bytes, counters")


def blocks_go_from_hand_to_hand():
    """Three threads free what the others allocated, and get each other's addresses again."""
    count = 200000
    with tap.folder() as out:
        stacks = {"TPAGENT_STACKS": "4", "TPAGENT_WHEN_FULL": "wait"}
        record(out, [ALLOCS, "handover", str(count)], TPAGENT_ALLOC="all", **stacks)
        report = memory(out)
        blocks = by_stack(report, "take", "hand_over")
    tap.equal(blocks["allocations"], 3 * count, "allocations")
    tap.equal((report["unknown_frees"], report["unseen_frees"]), (0, 0), "frees not joined")
    tap.equal((blocks["frees"], blocks["live_blocks"]), (3 * count - 64, 64), "frees, left")


def thread_is_made_the_second_time():
    """Where the agent's could not be made before the program's first."""
    preload = os.path.join(WORKLOADS, "no_first_thread.so")
    with tap.folder() as out:
        record(
            out,
            [ALLOCS, "handover", "200000"],
            TPAGENT_ALLOC="all",
            TPAGENT_WHEN_FULL="wait",
            LD_PRELOAD=preload,
        )
        done = tap.run([tap.TPREPORT, "info", out], tap.clean_environment())
        assert b"whole       yes" in done.stdout, done.stdout.decode()


def more_stacks_than_there_is_room_for():
    """Those that are met once are shortened, and ranges keep their names."""
    count = 1100000
    with tap.folder() as out:
        record(out, [ALLOCS, "stacks", str(count)], TPAGENT_ALLOC="all", TPAGENT_STACKS="28")
        report = memory(out, "--sort-by", "allocations", "--row-limit", "100", status=3)
    tap.equal(report["total"]["allocations"], count + 3, "allocations")
    tap.equal(row(report, "late")["allocations"], 3, "allocations in the range that began last")
    shortened = [s for s in report["stacks"] if s["stack"][-1] == "(no room for more frames)"]
    print(f"# {count} stacks, {sum(s['allocations'] for s in shortened)} of them shortened")
    assert shortened and all(len(s["stack"]) == 5 for s in shortened), shortened
    whole = [s for s in report["stacks"] if s["stack"][23:25] == ["turn_left", "stacks"]]
    tap.equal(len(shortened) + len(whole), 100, "stacks of either kind")
    tap.equal([s["allocations"] for s in whole[:2]], [2, 1], "allocations of what is met again")


def heavy_stacks_are_whole_where_there_is_no_room():
    """More stacks of Python than there are names: those that are met once are shortened."""
    width = 100
    cut = "(no room for more frames)"
    script = os.path.join(HERE, "../workloads/many_stacks.py")
    with tap.folder() as out:
        command = [PYTHON, script, str(width)]
        record(out, command, TPAGENT_ALLOC="all", PYTHONMALLOC="malloc")
        report = memory(out, "--row-limit", "none", status=3)
        done = subprocess.run([tap.TPREPORT, "memory", out], stdout=subprocess.PIPE, check=False)
    found = {800: 0, 1 << 20: 0}
    shortened, whole = 0, 0
    for row in report["stacks"]:
        shortened += row["allocations"] if cut in row["stack"] else 0
        whole += "three.py" in " ".join(row["stack"]) and cut not in row["stack"]
        if any(f.endswith(": after_start") for f in row["stack"]):
            size = row["allocated_bytes"] // row["allocations"]
            tap.equal(cut in row["stack"], False, f"shortened of {size} bytes: {row['stack']}")
            for wanted in found:
                found[wanted] += row["allocations"] if 1 <= size / wanted < 1.1 else 0
        assert "names)" not in " ".join(row["stack"]), row
    tap.equal(found, {800: 20000, 1 << 20: 3}, "whole stacks, by size")
    print(f"# {width ** 3} stacks, {whole} of them whole; {shortened} allocations shortened")
    assert whole > 100000 and shortened > 500000, (whole, shortened)
    tap.equal(report["shortened"], shortened, "what the report says")
    line = f"stacks      {shortened} allocations have only the innermost part of their stacks"
    assert line.encode() in done.stdout, done.stdout[:2000]


@of_all_and_of_every_byte_sampled
def frees_of_other_threads_are_joined(recorded):
    with tap.folder() as out:
        record(out, [ALLOCS, "threads", "5000"], TPAGENT_ALLOC=recorded, TPAGENT_WHEN_FULL="wait")
        report = memory(out)
        blocks = by_stack(report, "take", "threads")
        tap.equal(
            (blocks["allocations"], blocks["frees"], blocks["live_blocks"]),
            (5000, 5000, 0),
            "blocks",
        )
        tap.equal(report["unseen_frees"], 0, "frees not seen")


@of_all_and_of_every_byte_sampled
def threads_from_before_the_start(recorded):
    """They allocate while the agent starts; none is left out, nor spoils the recording."""
    for _ in range(8):
        with tap.folder() as out:
            program = [os.path.join(WORKLOADS, "threads_before"), "1000"]
            record(out, program, TPAGENT_ALLOC=recorded, TPAGENT_WHEN_FULL="wait")
            report = memory(out)
            agrees_with_counters(report, recorded, "work", allocations=4000, net_bytes=0)
            tap.equal(row(report, "work")["frees"], 4000, "frees")


def blocks_from_before_are_apart():
    """Freed in the window, allocated before it: in no sum, but counted."""
    with tap.folder() as out:
        record(out, [ALLOCS, "before", "300"], TPAGENT_ALLOC="all", TPAGENT_CAPTURE="range:late")
        report = memory(out)
        late = row(report, "late")
        tap.equal(report["unknown_frees"], 300, "frees of blocks from before")
        tap.equal((late["allocations"], late["frees"]), (600, 300), "in the window")
        tap.equal(report["total"]["live_blocks"], 300, "live at the end")
        tap.equal(counter(report, "late", "net_bytes"), 0, "exact counters know of both")


def threads_and_time_are_told():
    with tap.folder() as out:
        record(out, [ALLOCS, "threads", "5000"], TPAGENT_ALLOC="all", TPAGENT_WHEN_FULL="wait")
        report = memory(out)
        pid, _ = os.path.basename(tap.process_folders(out)[0]).split("-")
        rows = {t["thread"]: t["allocations"] for t in report["threads"]}
        tap.equal(list(rows), [f"allocs ({pid}/{pid})"], "threads that allocate")
        tap.equal(sum(rows.values()), report["total"]["allocations"], "all that they allocate")
        tap.equal(len(report["thread_counters"]), 2, "threads that are counted")
        curve = report["curve"]["most_live_bytes"]
        tap.equal(max(curve), report["peak_bytes"], "the highest point")
        at = report["peak_ns"] // report["curve"]["width_ns"]
        tap.equal(curve.index(max(curve)), at, "where it is")
        text = subprocess.run(
            [tap.TPREPORT, "memory", "--no-lines", out], stdout=subprocess.PIPE, check=True
        ).stdout.decode()
        assert "By thread\n" in text and "Live over time, the most in each stretch\n" in text, text
        assert "#" * 40 + "\n" in text, text


@of_all_and_of_every_byte_sampled
def child_is_a_process_of_its_own(recorded):
    with tap.folder() as out:
        record(out, [ALLOCS, "fork", "300"], TPAGENT_ALLOC=recorded)
        report = memory(out)
        tap.equal(report["processes"], 2, "processes")
        leaked = by_stack(report, "take", "take_for_leak", "leak", "main")
        tap.equal((leaked["allocations"], leaked["live_blocks"]), (600, 600), "leaked in both")


def child_counts_from_its_own_start():
    """Not what its parent had allocated before."""
    for alloc in ("all", "count"):
        with tap.folder() as out:
            record(out, [ALLOCS, "fork", "300"], TPAGENT_ALLOC=alloc)
            counts = sorted(t["allocations"] for t in memory(out)["thread_counters"])
            assert len(counts) == 2 and 600 <= counts[0] <= counts[1] < 700, (alloc, counts)


def temporary_ones_of_samples():
    """Between a sample and its free others were allocated that are no samples."""
    for alloc in ("sample:64k", "count+sample:64k"):
        with tap.folder() as out:
            record(out, [ALLOCS, "mix", "500000"], TPAGENT_ALLOC=alloc)
            total = memory(out)["total"]
            assert total["temporary"] < 0.02 * total["allocations"], (alloc, total)
        with tap.folder() as out:
            record(out, [ALLOCS, "leak", "20000"], TPAGENT_ALLOC=alloc)
            total = memory(out)["total"]
            share = total["temporary"] / total["allocations"]
            assert 0.3 < share < 0.7, (alloc, total)


def busy_children_are_recorded():
    """Without a range; a child that does little leaves nothing."""
    for count, processes in ((300, 1), (3000, 2)):
        with tap.folder() as out:
            record(out, [ALLOCS, "forked", str(count)], TPAGENT_ALLOC="all")
            report = memory(out)
            tap.equal(report["processes"], processes, f"processes with {count} blocks")
            leaked = by_stack(report, "take", "take_for_leak", "leak", "main")["allocations"]
            # with each one another is allocated and freed: 334 go by before it is noticed
            wanted = count if processes == 1 else 2 * count - 334
            assert abs(leaked - wanted) <= 2, (count, leaked)


def exact_bytes(count, seed):
    with tap.folder() as out:
        record(out, [ALLOCS, "mix", count, seed], TPAGENT_ALLOC="count")
        return counter(memory(out), "work", "allocated_bytes")


def samples_agree_with_exact_sums():
    samples_agree("count+sample")
    samples_agree("sample")


def samples_agree(alloc):
    """Sums of samples against the exact ones, over many seeds: as far off as they say, not more."""
    seed = random.randrange(1 << 32)
    print(f"# {alloc}, seed {seed}")
    period, runs = 64 << 10, 40
    outside, scores = 0, []
    for i in range(runs):
        with tap.folder() as out:
            count, this = "4000", str(seed + i)
            record(out, [ALLOCS, "mix", count, this], TPAGENT_ALLOC=f"{alloc}:{period}")
            report = memory(out)
            exact = exact_bytes(count, this)
            if alloc == "sample":
                tap.equal(report["range_counters"], [], "counters")
            else:
                tap.equal(counter(report, "work", "allocated_bytes"), exact, "counters")
            work = row(report, "work")
            tap.equal(report["recorded"], "samples", "recorded")
            tap.equal(report["period_bytes"], period, "period")
            off = work["allocated_bytes"] - exact
            low, high = work["allocated_bytes_low95"], work["allocated_bytes_high95"]
            outside += not low <= exact <= high
            scores.append(off / ((high - low) / 2 / 1.96))
    mean = sum(scores) / runs
    spread = math.sqrt(sum(s * s for s in scores) / runs)
    print(
        f"# outside of 95 %: {outside} of {runs}; mean {mean:+.2f}, spread {spread:.2f} deviations"
    )
    # by chance about once in 100,000: more than 10 of 40 outside, a mean so far off
    assert outside <= 10, outside
    assert abs(mean) < 4.4 / math.sqrt(runs), mean
    assert spread < 1.6, spread


def rows_of_few_samples_know_how_little_they_know():
    """Rows of 1, 2, 5 and 10 samples on average, of blocks of all sizes, over many seeds."""
    seed = random.randrange(1 << 32)
    print(f"# seed {seed}")
    period, runs = 64 << 10, 10
    inside, rows = collections.Counter(), collections.Counter()
    for i in range(runs):
        with tap.folder() as out:
            command = [ALLOCS, "few", str(period), str(seed + i)]
            record(out, command, TPAGENT_ALLOC=f"count+sample:{period}")
            report, head = memory(out, "--row-limit", "none"), head_of(out)
        found = {r["range"]: r for r in report["ranges"]}
        for counted in report["range_counters"]:
            samples, _, number = counted["name"].partition(" ")
            if not number:
                continue
            # what has no row: the limit that the head tells
            least = {"allocated_bytes_low95": 0, "allocated_bytes_high95": 2.996 * period}
            one = found.get(counted["name"], least)
            low, high = one["allocated_bytes_low95"], one["allocated_bytes_high95"]
            rows[samples] += 1
            inside[samples] += low <= counted["allocated_bytes"] <= high
    for samples in ("1", "2", "5", "10"):
        print(f"# {samples}: {inside[samples]} of {rows[samples]} inside")
        tap.equal(rows[samples], 20 * runs, "rows")
        # less than once in 10,000 by chance, were it 95 %
        assert inside[samples] >= 178, (samples, inside)
    assert head["no row"].startswith("whatever has none below allocated less than 191.7"), head


def every_byte_sampled_is_all():
    exact = exact_bytes("2000", "7")
    for alloc in ("count+sample:1", "sample:1"):
        with tap.folder() as out:
            record(out, [ALLOCS, "mix", "2000", "7"], TPAGENT_ALLOC=alloc)
            report = memory(out)
            net = row(report, "work")["live_bytes"]
            agrees_with_counters(report, alloc, "work", allocated_bytes=exact, net_bytes=net)


def names_outlive_a_kill():
    """Of a program without threads, which has ended before the agent's thread came."""
    with tap.folder() as out:
        environment = tap.recorded_environment(out, TPAGENT_ALLOC="all")
        done = tap.run([ALLOCS, "killed", "500"], environment)
        tap.equal(done.returncode, -9, "status")
        leaked = by_stack(memory(out), "take", "take_for_leak", "leak", "main")
        tap.equal(leaked["live_blocks"], 500, "blocks that were live")


def the_program_behind_a_wrapper_is_recorded():
    """env makes way for it: the same process."""
    with tap.folder() as out:
        record(out, ["env", "X=1", ALLOCS, "quiet", "300"], TPAGENT_ALLOC="all")
        report = memory(out)
        tap.equal(report["processes"], 2, "recordings")
        assert by_stack(report, "take", "take_for_leak", "leak")["allocations"] >= 300, report


def counters_without_events_are_told():
    with tap.folder() as out:
        record(out, [ALLOCS, "quiet", "100"])
        tap.equal(memory(out)["recorded"], "counters", "recorded")
        done = subprocess.run([tap.TPREPORT, "memory", out], stdout=subprocess.PIPE, check=True)
        assert done.stdout.startswith(b"recorded    counters, but no range"), done.stdout


def csv_has_a_name_for_each_field():
    with tap.folder() as out:
        record(out, [ALLOCS, "leak", "50"], TPAGENT_ALLOC="sample:1k")
        command = [tap.TPREPORT, "memory", "--format", "csv", out]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        rows = list(csv.reader(done.stdout.decode().splitlines()))
        tap.equal({len(r) for r in rows}, {len(rows[0])}, "fields")
        assert {"allocations_low95", "kept"} < set(rows[0]), rows[0]


def nothing_of_allocations_says_so():
    with tap.folder() as out:
        record(out, [ALLOCS, "leak", "100"], TPAGENT_ALLOC="off")
        report = memory(out)
        tap.equal(
            (report["recorded"], report["range_counters"], report["thread_counters"]),
            ("nothing", [], []),
            "report",
        )
        done = subprocess.run([tap.TPREPORT, "memory", out], stdout=subprocess.PIPE, check=True)
        tap.equal(
            done.stdout,
            b"recorded    no allocations, neither counted nor single ones (TPAGENT_ALLOC)\n",
            "text",
        )


def averages_of_samples_alone_have_no_memory():
    for alloc, has_memory in (("sample:64k", False), ("count+sample:64k", True)):
        with tap.folder() as out:
            record(out, [ALLOCS, "leak", "100"], TPAGENT_ALLOC=alloc)
            done = subprocess.run([tap.TPREPORT, out], stdout=subprocess.PIPE, check=True)
            tap.equal(b"CPU Mem" in done.stdout, has_memory, f"{alloc}: memory columns")


def averages_beside_processes_that_do_not_count():
    """Their ranges add nothing to the columns of memory, which is told."""
    sum_of_others = b"1 process with ranges counted no allocations: 0 bytes of it in CPU Mem\n"
    for alloc, expected in (("sample:64k", sum_of_others), ("off", sum_of_others), ("count", b"")):
        with tap.folder() as out:
            both = f"TPAGENT_ALLOC={alloc} {ALLOCS} leak 100 && {ALLOCS} leak 100 && true"
            record(out, ["sh", "-c", both], TPAGENT_ALLOC="count")
            done = subprocess.run([tap.TPREPORT, out], capture_output=True, check=True)
            assert b"CPU Mem" in done.stdout, done.stdout
            told = [t for t in done.stderr.splitlines(True) if b"allocations" in t]
            tap.equal(b"".join(told), expected and b"tpreport: " + expected, f"beside {alloc}")


def counters_alone_say_so():
    with tap.folder() as out:
        record(out, [ALLOCS, "leak", "100"])
        report = memory(out)
        tap.equal(
            (report["recorded"], report["records"], report["stacks"]),
            ("counters", 0, []),
            "report",
        )
        tap.equal(counter(report, "work", "allocations"), 200, "allocations")
        done = subprocess.run([tap.TPREPORT, "memory", out], stdout=subprocess.PIPE, check=True)
        assert b"no single allocations" in done.stdout, done.stdout


def selections_that_leave_nothing_say_so():
    with tap.folder() as out:
        record(out, [ALLOCS, "fork", "50"], TPAGENT_ALLOC="all")
        (pid, *_), _ = [os.path.basename(p).split("-") for p in tap.process_folders(out)]
        for options, is_empty in (
            (["--pid", pid], False),
            (["--thread", "allocs"], False),
            (["--from", "0"], False),
            (["--step", "1"], True),
            (["--thread", "another"], True),
            (["--from", "3600"], True),
        ):
            done = subprocess.run(
                [tap.TPREPORT, "memory", *options, out], capture_output=True, check=True
            )
            tap.equal(b"no event is selected" in done.stderr, is_empty, f"{options}")


def sources_win():
    with tap.folder() as out:
        record(out, [ALLOCS, "leak", "10"], TPAGENT_ALLOC="all", TPAGENT_SOURCES="-malloc")
        tap.equal(memory(out)["records"], 0, "records")


def killed_process_is_read():
    with tap.folder() as out:
        program = (
            "import os, signal\nx = [bytes(100) for _ in range(20000)]\n"
            "os.kill(os.getpid(), signal.SIGKILL)"
        )
        environment = tap.recorded_environment(out, TPAGENT_ALLOC="all", PYTHONMALLOC="malloc")
        done = tap.run([PYTHON, "-c", program], environment)
        tap.equal(done.returncode, -signal.SIGKILL, "status")
        report = memory(out)
        assert report["total"]["live_blocks"] > 20000, report["total"]
        (process,) = report["recording"]["processes"]
        tap.equal((process["state"], report["recording"]["whole"]), ("died", True), "what is told")


def signals_do_no_harm():
    with tap.folder() as out:
        plain = tap.run([os.path.join(WORKLOADS, "signal_storm")], tap.clean_environment())
        done = tap.run(
            [os.path.join(WORKLOADS, "signal_storm")],
            tap.recorded_environment(out, TPAGENT_ALLOC="all"),
        )
        tap.equal((done.returncode, done.stdout), (plain.returncode, plain.stdout), "the program")


def head_of(out):
    """What stands above the tables, as {label: text}."""
    text = subprocess.run([tap.TPREPORT, "memory", out], stdout=subprocess.PIPE, check=False)
    lines = text.stdout.decode().split("\n\n")[0].splitlines()
    return {line[:12].rstrip(): line[12:] for line in lines}


def whole_recordings_say_so():
    with tap.folder() as out:
        record(out, [ALLOCS, "leak", "300"], TPAGENT_ALLOC="all")
        report, head = memory(out), head_of(out)
    covered = report["coverage"]
    tap.equal(covered["is_from_start"], True, "from the start")
    tap.equal(covered["counted"], report["records"] + covered["before"], "what is counted")
    count = report["records"]
    text = f"{count} allocations, every one from the agent's start on"
    tap.equal(head["recorded"], text, "the head")
    before = f"{covered['before']} allocations that were counted before the agent's start"
    tap.equal(head["not in here"], before, "what came before")
    assert not {"begun late", "unrecorded"} & set(head), head


def units_are_told():
    for alloc in ("all", "sample:100", "count"):
        with tap.folder() as out:
            record(out, [ALLOCS, "leak", "300"], TPAGENT_ALLOC=alloc)
            text = head_of(out)["units"]
        assert text.startswith("1 KB is 1,024 B") and "usable size" in text, text


def children_that_begin_late_are_told():
    for alloc, which in (
        ("all", "1,000th allocation"),
        ("count+sample:100", "fourth sample"),
        ("sample:100", "fourth sample"),
    ):
        with tap.folder() as out:
            record(out, [ALLOCS, "forked", "3000"], TPAGENT_ALLOC=alloc)
            report, head = memory(out), head_of(out)
        covered = report["coverage"]
        tap.equal((covered["begun_late"], covered["is_from_start"]), (1, False), alloc)
        late = covered["begun_late_allocations"]
        if alloc == "sample:100":
            tap.equal((late, "counted" in head), (0, False), "what is not counted")
            assert head["begun late"].endswith(which), head
            continue
        assert 1 <= late < 1000 and covered["begun_late_bytes"] >= 1000 * late, covered
        assert head["begun late"].startswith("1 of 2 processes: ") and which in head["begun late"]
        assert f"at least {late} allocation" in head["begun late"], head
        assert "agent's start on" not in head["recorded"], head
        if alloc == "all":
            tap.equal(covered["counted"], report["records"] + covered["before"], "counted")
            assert covered["before"] > late, covered
        else:
            tap.equal(head["counted"].split()[0], str(covered["counted"]), "exact counters")
            assert covered["counted"] > 12000 - 40, covered


def processes_without_a_recording_are_told():
    """They counted, and had no event of another kind."""
    child = f"{PYTHON} -c 'x = [bytes(100) for _ in range(5000)]'; {ALLOCS} leak 10; true"
    for alloc, told in (
        ("all", True),
        ("count+sample:64k", True),
        ("sample:64k", True),
        ("count", False),
    ):
        with tap.folder() as out:
            environment = {"TPAGENT_ALLOC": alloc, "PYTHONMALLOC": "malloc"}
            record(out, ["sh", "-c", child], **environment)
            (recording,) = (d for d in os.listdir(out) if d.startswith("tpagent-"))
            packed = os.path.join(out, "packed.tar.zst")
            pack = [tap.TPREPORT, "pack", "-o", packed, os.path.join(out, recording)]
            tap.equal(tap.run(pack, tap.clean_environment()).returncode, 0, "pack")
            for place in (os.path.join(out, recording), packed):
                covered, head = memory(place)["coverage"], head_of(place)
                tap.equal(covered["unrecorded_processes"], int(told), f"{alloc}: processes")
                tap.equal("unrecorded" in head, told, f"{alloc}: the head")
                if told:
                    is_counted = alloc != "sample:64k"
                    tap.equal(covered["unrecorded_allocations"] > 5000, is_counted, "counted")
                    tap.equal(covered["unrecorded_bytes"] > 500000, is_counted, "bytes")
                    tap.equal("with at least" in head["unrecorded"], is_counted, "the head")
                    assert "python3" in head["unrecorded"], head
                    assert "TPAGENT_PROGRAMS" in head["unrecorded"], head


def unfollowed_children_are_told():
    with tap.folder() as out:
        command = ["sh", "-c", f"{ALLOCS} leak 10; true"]
        record(out, command, TPAGENT_ALLOC="all", TPAGENT_FOLLOW="0")
        head = head_of(out)
    text = "the programs that were started from here (TPAGENT_FOLLOW=0)"
    tap.equal(head["unrecorded"], text, "the head")


def leaks_of_one_burst_are_shown():
    """And not called leaks, since what a program keeps looks the same. When it came is said."""
    for alloc in ("all", "sample:1"):
        with tap.folder() as out:
            record(out, [ALLOCS, "burst", "200"], TPAGENT_ALLOC=alloc)
            report = memory(out)
            text = subprocess.run(
                [tap.TPREPORT, "memory", out], stdout=subprocess.PIPE, check=True
            )
        rows = {r["stack"][1]: r for r in report["stacks"] if r["stack"][0] == "take"}
        found = {name: (r["suspect"], r["kept"]) for name, r in rows.items()}
        wanted = {"set_up": (False, True), "take_for_leak": (False, True), "step": (False, False)}
        tap.equal(found, wanted, "suspected, kept")
        assert rows["set_up"]["last_ns"] < rows["take_for_leak"]["first_ns"], rows
        lines = text.stdout.decode().split("\nNever freed: ")[1].split("\n\n")[0].splitlines()
        assert "Allocated when" in lines[1] and len(lines) == 4, lines
        for line, name in zip(lines[2:], ("set_up", "take_for_leak")):
            times = f"{rows[name]['first_ns'] / 1e9:.3f}-{rows[name]['last_ns'] / 1e9:.3f} s"
            assert times in line and f"take < {name}" in line and "195.31 KB" in line, line


def imports_are_no_leaks():
    program = "import json, decimal, asyncio\nkept = [bytes(100000) for _ in range(20)]\n"
    program += "for i in range(5000):\n    str(i)\n"
    with tap.folder() as out:
        environment = {"TPAGENT_ALLOC": "all", "PYTHONMALLOC": "malloc"}
        # os._exit: nothing is freed
        record(out, [PYTHON, "-c", program + "import os\nos._exit(0)"], **environment)
        text = subprocess.run([tap.TPREPORT, "memory", out], stdout=subprocess.PIPE, check=False)
    section = text.stdout.decode().split("\nNever freed: ")[1].split("\n\n")[0]
    assert "<string>(2): <listcomp>" in section or "<string>(2): <module>" in section, section
    assert "importlib" not in section, section


def windows_are_told():
    with tap.folder() as out:
        record(out, [ALLOCS, "before", "300"], TPAGENT_ALLOC="all", TPAGENT_CAPTURE="range:late")
        report, head = memory(out), head_of(out)
    tap.equal(head["recorded"], "600 allocations, those in capture windows", "the head")
    covered = report["coverage"]
    left_out = sum(covered[k] for k in ("before", "between", "after"))
    tap.equal(covered["counted"], 600 + left_out, "what is counted")
    assert covered["before"] > 300 and str(covered["before"]) in head["not in here"], head
    with tap.folder() as out:
        record(out, [ALLOCS, "leak", "30"], TPAGENT_ALLOC="all", TPAGENT_CAPTURE="range:none")
        text = "no single allocation, though TPAGENT_ALLOC asked for them"
        assert head_of(out)["recorded"].startswith(text), head_of(out)


def lost_records_are_told():
    with tap.folder() as out:
        slow = {"TPAGENT_WHEN_FULL": "drop", "TPAGENT_RING_TOTAL": "64k"}
        record(out, [ALLOCS, "handover", "100000"], TPAGENT_ALLOC="all", **slow)
        report, head = memory(out, status=3), head_of(out)
    covered = report["coverage"]
    assert covered["between"] or covered["after"] or covered["records_without_ring"], covered
    lost = covered["before"] + covered["between"] + covered["after"]
    tap.equal(covered["counted"], report["records"] + lost, "what is counted")
    tap.equal(head["recorded"], f"{report['records']} allocations, not every one", "the head")
    assert "records were lost" in head["not in here"] or "no ring" in head, head


def other_formats():
    with tap.folder() as out:
        record(out, [ALLOCS, "leak", "50"], TPAGENT_ALLOC="all")

        def output(*options):
            return subprocess.run(
                [tap.TPREPORT, "memory", "--no-lines", *options, out],
                stdout=subprocess.PIPE,
                check=True,
            ).stdout.decode()

        folded = output("--format", "folded", "--sort-by", "live_bytes").splitlines()
        assert any(line.endswith("main;leak;take_for_leak;take 50000") for line in folded), folded
        profile = subprocess.run(
            [tap.TPREPORT, "memory", "--format", "pprof", out], stdout=subprocess.PIPE, check=False
        )
        if profile.returncode == 0:  # else built without protobuf-c
            text = gzip.decompress(profile.stdout)
            for word in (b"inuse_space", b"peak_space", b"take_for_leak", b"leak", b"main"):
                assert word in text, word
        header, *lines = output("--format", "csv").splitlines()
        tap.equal(
            header.split(",")[:4], ["group", "name", "allocations", "allocated_bytes"], "header"
        )
        assert any(line.startswith("range,work,100,") for line in lines), lines
        text = output("--row-limit", "1")
        assert "Suspected leaks" in text and "take < take_for_leak < leak < main" in text, text
        done = subprocess.run(
            [tap.TPREPORT, "memory", "--sort-by", "alloc", out],
            stderr=subprocess.PIPE,
            check=False,
        )
        tap.equal(done.returncode, 2, "status")
        assert b"nearest first: allocations, allocated_bytes, " in done.stderr, done.stderr


CHECK = tap.Tap()
CHECK.check("each of the family is counted and recorded once", family_counts_once)
CHECK.check("what is refused counts nothing", refused_ones_count_nothing)
CHECK.check("stacks are the functions that allocated; leaks are suspected", stacks_have_names)
CHECK.check("functions without frame pointers are seen", no_frame_pointers_are_needed)
CHECK.check("stacks are right whatever came before", any_order_of_functions)
CHECK.check("stacks of few frames begin as whole ones", cut_stacks_begin_as_whole_ones)
CHECK.check("TPAGENT_STACKS limits the depth", depth_is_obeyed)
CHECK.check("times are in order, to eight ticks", times_are_in_order)
CHECK.check("a program with one thread loses nothing", one_thread_loses_nothing)
CHECK.check("bytes are those of the allocator", bytes_are_those_of_the_allocator)
CHECK.check("a busy program without threads gets the agent's", busy_program_gets_a_thread)
CHECK.check("resizes in one and in parts count once", resizes_in_parts_count_once)
CHECK.check("a signal while its thread is made", handlers_count_while_the_thread_is_made)
CHECK.check("a busy program may do what one thread only may", busy_program_may_be_alone)
CHECK.check("blocks that go from thread to thread", blocks_go_from_hand_to_hand)
CHECK.check("a thread that cannot be made at first", thread_is_made_the_second_time)
CHECK.check("more stacks than there is room for", more_stacks_than_there_is_room_for)
CHECK.check(
    "heavy stacks are whole, whatever room there is", heavy_stacks_are_whole_where_there_is_no_room
)
CHECK.check("blocks that another thread frees are freed", frees_of_other_threads_are_joined)
CHECK.check("threads that are there before the agent", threads_from_before_the_start)
CHECK.check("blocks from before the recording are apart", blocks_from_before_are_apart)
CHECK.check("rows of threads, live bytes over time", threads_and_time_are_told)
CHECK.check("a forked child's blocks are its own", child_is_a_process_of_its_own)
CHECK.check("a forked child's counters are its own", child_counts_from_its_own_start)
CHECK.check("temporary allocations among samples", temporary_ones_of_samples)
CHECK.check("a forked child that allocates much is recorded", busy_children_are_recorded)
CHECK.check("sums of samples agree with exact ones", samples_agree_with_exact_sums)
CHECK.check("rows of few samples", rows_of_few_samples_know_how_little_they_know)
CHECK.check("sampling every byte is recording all", every_byte_sampled_is_all)
CHECK.check("a recording of counters says what it lacks", counters_alone_say_so)
CHECK.check("a recording without any says so", nothing_of_allocations_says_so)
CHECK.check("counters that no event tells", counters_without_events_are_told)
CHECK.check("a killed program's functions have names", names_outlive_a_kill)
CHECK.check("a program behind env is recorded", the_program_behind_a_wrapper_is_recorded)
CHECK.check("CSV has a name for each field", csv_has_a_name_for_each_field)
CHECK.check("averages beside samples alone", averages_of_samples_alone_have_no_memory)
CHECK.check("averages beside processes without", averages_beside_processes_that_do_not_count)
CHECK.check("a selection that leaves nothing says so", selections_that_leave_nothing_say_so)
CHECK.check("TPAGENT_SOURCES wins over TPAGENT_ALLOC", sources_win)
CHECK.check("what a killed process had allocated is read", killed_process_is_read)
CHECK.check("handlers that allocate do no harm", signals_do_no_harm)
CHECK.check("a recording from the start on says so", whole_recordings_say_so)
CHECK.check("units are told", units_are_told)
CHECK.check("children whose recording begins late are told", children_that_begin_late_are_told)
CHECK.check("processes without a recording are told", processes_without_a_recording_are_told)
CHECK.check("programs that are not followed are told", unfollowed_children_are_told)
CHECK.check("leaks of one burst are shown", leaks_of_one_burst_are_shown)
CHECK.check("imports are no leaks", imports_are_no_leaks)
CHECK.check("capture windows are told", windows_are_told)
CHECK.check("lost records are told", lost_records_are_told)
CHECK.check("CSV, folded stacks, text, sort keys", other_formats)
CHECK.end()
