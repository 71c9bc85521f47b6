# SPDX-License-Identifier: MIT
"""Killed while the disk takes nothing more: what hooks had written is there, or it is counted."""

import contextlib
import json
import os
import random
import signal
import struct
import subprocess
import time

import small_disk
import tap

TOLD = os.path.join(os.environ["WORKLOADS"], "told")


class Told:
    """The workload; what it was told to record is counted here: two records a range."""

    def __init__(self, out, **variables):
        environment = tap.recorded_environment(out, TPAGENT_MIN_FREE="0", **variables)
        self.child = subprocess.Popen(
            [TOLD], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.made = 0

    def do(self, what, count):
        self.child.stdin.write(f"{what} {count}\n".encode())
        self.child.stdin.flush()
        tap.equal(self.child.stdout.readline(), b"ok\n", "answer")
        self.made += 2 * count

    def settle(self):
        """The agent's own thread has seen all of it."""
        time.sleep(0.3)

    def end(self, kill):
        if kill:
            self.child.send_signal(signal.SIGKILL)
        self.child.communicate(None if kill else b"end\n")
        tap.equal(self.child.returncode, -signal.SIGKILL if kill else 0, "status")


def info(out):
    done = tap.run([tap.TPREPORT, "info", "--format", "json", out], tap.clean_environment())
    assert done.returncode in (0, 3), done
    (process,) = json.loads(done.stdout)["processes"]
    return process


def count_lost(process):
    keys = ("lost_records", "dropped_records", "memory_slots")
    return sum(process.get(key, 0) for key in keys)


def adds_up(process, made):
    """Slots of these ranges are records; `lost` records are extra ones, two slots each."""
    tap.equal(process["missing_slots"], 0, "missing slots")
    kinds = process["kinds"]
    seen = kinds.get("api_begin", 0) + kinds.get("api_end", 0)
    spare = 2 * kinds.get("lost", 0)
    lost = count_lost(process) + process["evicted_slots"]
    assert made <= seen + lost <= made + spare, (seen, lost, made)


def a_file_stays(kill):
    """A thread whose ring is a file does not go on in one that is none."""
    with small_disk.mounted("24m") as out:
        told = Told(out)
        told.do("main", 100)
        told.do("thread", 100)
        told.settle()
        small_disk.fill(out)
        told.do("main", 500000)
        told.settle()
        told.do("main", 500000)
        told.end(kill)
        process = info(out)
        adds_up(process, told.made)
        tap.equal(process["memory_slots"], 0, "slots in memory")
        assert process["lost_records"], process


def room_again():
    """The disk is full for a while only: the thread's next ring may be a file, the one before it
    was none."""
    with small_disk.mounted("24m") as out:
        told = Told(out)
        told.do("main", 100)
        told.do("thread", 100)
        told.settle()
        small_disk.fill(out)
        told.do("main", 100000)
        told.settle()
        told.do("main", 100000)
        os.unlink(out + "/filler")
        for _ in range(4):
            told.settle()
            told.do("main", 2000)
        told.end(True)
        process = info(out)
        adds_up(process, told.made)
        tap.equal(process["memory_slots"], 0, "slots in memory")


def rings_in_memory(kill):
    """Threads that come when the disk is full."""
    with small_disk.mounted("24m") as out:
        told = Told(out)
        told.do("main", 100)
        told.do("thread", 100)
        told.settle()
        small_disk.fill(out)
        for _ in range(30):
            told.do("thread", 400)
        told.end(kill)
        process = info(out)
        adds_up(process, told.made)
        assert process["memory_slots"], process


def rings_in_memory_elsewhere():
    """Blocks have room, rings have none: only what is in no block yet goes with the process."""
    with small_disk.mounted("64k") as rings, tap.folder() as out:
        small_disk.fill(rings)
        told = Told(out, TPAGENT_RING_DIR=rings, TPAGENT_WHEN_FULL="wait")
        told.do("main", 100000)
        told.do("thread", 100000)
        told.end(True)
        process = info(out)
        adds_up(process, told.made)
        assert 0 < process["memory_slots"] < 5000, process


@contextlib.contextmanager
def silenced(out):
    """Nothing can be added to the process's meta.jsonl."""
    (folder,) = tap.process_folders(out)
    path = os.path.join(folder, "meta.jsonl")
    os.rename(path, path + ".kept")
    os.symlink("/", path)
    yield
    os.unlink(path)
    os.rename(path + ".kept", path)


def gone_threads_untold():
    """What the rings of threads had no room for is in no ring any more when the thread is gone."""
    with tap.folder() as out:
        told = Told(out, TPAGENT_RING_TOTAL="600k")
        told.do("main", 100)
        with silenced(out):
            for _ in range(20):
                told.do("gone", 100000)
                told.settle()
            told.end(True)
        process = info(out)
        adds_up(process, told.made)
        assert process["lost_records"], process


def evicted_untold():
    """Segments go although meta.jsonl takes no line about it."""
    with tap.folder() as out:
        told = Told(out, TPAGENT_MAX_SIZE="1m", TPAGENT_WHEN_FULL="wait")
        told.do("main", 100)
        with silenced(out):
            told.do("gone", 100)
            told.do("main", 3000000)
            told.end(True)
        process = info(out)
        adds_up(process, told.made)
        assert process["evicted_slots"], process


def discarded_untold():
    """keep-first: what came after the limit is in no block and in no ring."""
    with tap.folder() as out:
        told = Told(out, TPAGENT_MAX_SIZE="1m", TPAGENT_WHEN_BIG="keep-first",
                    TPAGENT_WHEN_FULL="wait")  # fmt: skip
        told.do("main", 100)
        with silenced(out):
            told.do("gone", 4000000)
            told.do("main", 4000000)
            told.end(True)
        process = info(out)
        adds_up(process, told.made)
        assert process["dropped_records"], process


def no_rings_untold():
    """Threads that got no ring at all."""
    with tap.folder() as out:
        told = Told(out, TPAGENT_RING_TOTAL="300k", TPAGENT_WHEN_FULL="wait")
        told.do("main", 100)
        with silenced(out):
            for _ in range(20):
                told.do("thread", 100)
            told.end(True)
        process = info(out)
        kinds = process["kinds"]
        seen = kinds["api_begin"] + kinds["api_end"]
        # the end of a range whose thread got no ring is not counted: there is nowhere to
        assert seen + process["dropped_records"] <= told.made, process
        assert seen + 2 * process["dropped_records"] >= told.made, process


def names_untold():
    with small_disk.mounted("24m") as out:
        told = Told(out)
        told.do("names", 100)
        told.do("gone", 100)
        told.settle()
        small_disk.fill(out)
        told.do("names", 4000)
        told.end(True)
        done = tap.run([tap.TPREPORT, out], tap.clean_environment())
        tap.equal(done.returncode, 3, "status")
        assert b" names of ranges or whole stacks dropped: no room" in done.stderr, done.stderr


VALUES = (0, 1, 2, 3000, 1 << 40, 1 << 61, 2**64 - 1)


def lies():
    """Whatever stands in the header of names.tpn: no crash, and damage is no number."""
    seed = int(os.environ.get("TEST_SEED", time.time_ns() % 1000000))
    print(f"# TEST_SEED={seed}")
    draw = random.Random(seed)
    with tap.folder() as out, small_disk.mounted("64k") as rings:
        small_disk.fill(rings)
        told = Told(out, TPAGENT_RING_DIR=rings)
        told.do("thread", 500)
        told.do("thread", 500)
        told.end(True)
        tap.equal(info(out)["memory_slots"], 2000, "slots in memory")
        (folder,) = tap.process_folders(out)
        path = os.path.join(folder, "names.tpn")
        with open(path, "rb") as file:
            whole = file.read()
        for _ in range(150):
            bytes_ = bytearray(whole)
            for _ in range(draw.randrange(1, 4)):
                at = draw.choice([64 + 8 * draw.randrange(8), 512 + 8 * draw.randrange(140)])
                bytes_[at : at + 8] = struct.pack("<Q", draw.choice(VALUES))
            with open(path, "wb") as file:
                file.write(bytes_)
            process = info(out)
            for key, value in process.items():
                assert not isinstance(value, int) or value < 1 << 62, (key, value)


def main():
    t = tap.Tap()
    for kill in (True, False):
        how = "killed" if kill else "ended"
        t.check(f"{how}: a thread keeps its ring in a file", a_file_stays, kill)
        t.check(f"{how}: threads that begin on a full disk", rings_in_memory, kill)
    t.check("killed: a disk that has room again", room_again)
    t.check("killed: rings have no room, blocks have", rings_in_memory_elsewhere)
    t.check("killed: threads that are gone, nothing says so", gone_threads_untold)
    t.check("killed: segments evicted, nothing says so", evicted_untold)
    t.check("killed: over keep-first's limit, nothing says so", discarded_untold)
    t.check("killed: threads without a ring, nothing says so", no_rings_untold)
    t.check("killed: no room for names", names_untold)
    t.check("counters that lie", lies)
    t.end()


if __name__ == "__main__":
    main()
