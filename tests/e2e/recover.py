# SPDX-License-Identifier: MIT
"""tpreport recover and pack: the same report before and after, whatever happens to them."""

import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
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
            (process,) = tap.process_folders(work)
            assert "ring" not in os.listdir(process), turns
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


def empty_folders_of_rings_go():
    """Of a process that died before its first ring; not what somebody else has put there."""
    for name in (None, "1.tpr.new", "somebody's"):
        with tap.folder() as out, tap.folder() as shared:
            environment = tap.recorded_environment(out, TPAGENT_RING_DIR=shared)
            tap.run(["/bin/sh", "-c", "kill -9 $$"], environment)
            (folder,) = os.listdir(shared)
            if name:
                with open(os.path.join(shared, folder, name), "wb"):
                    pass
            before = report(out)
            for _ in range(2):
                assert "nothing to recover" in recover(out)
                stays = [(folder, [name])] if name == "somebody's" else []
                left = [(f, os.listdir(os.path.join(shared, f))) for f in os.listdir(shared)]
                tap.equal(left, stays, "what stays of " + str(name))
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
            os.waitpid(child.pid, os.WUNTRACED)
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


def pack(out, archive, status=0):
    done = tpreport("pack", out, "-o", archive)
    tap.equal((done.returncode, done.stdout), (status, b""), done.stderr.decode())
    return done.stderr.decode()


def packed_is_the_same():
    with tap.folder() as out, tap.folder() as place:
        killed(out)
        before, archive = report(out), os.path.join(place, "a.tar.zst")
        for step in (lambda: None, lambda: recover(out)):  # with rings, and with blocks only
            step()
            pack(out, archive)
            tap.equal(report(archive), before, "report of the archive")
            check(archive)
            tap.equal(os.stat(archive).st_mode & 0o7777, 0o600, "who may read it")
            for command in ("check", "info"):
                done = tap.run([tap.TPREPORT, command, archive], tap.clean_environment())
                assert archive.encode() in done.stdout, done.stdout
                assert b"/tpreport-" not in done.stdout, done.stdout
            pack(out, archive + "2")
            with open(archive, "rb") as one, open(archive + "2", "rb") as two:
                assert one.read() == two.read(), "a second archive differs"
            pack(archive, archive + "3")
            tap.equal(report(archive + "3"), before, "an archive packed again")
        tap.equal(sorted(os.listdir(place)), ["a.tar.zst", "a.tar.zst2", "a.tar.zst3"], "folder")
        assert os.path.getsize(archive) < sum(map(len, files_of(out).values()))
        if not shutil.which("tar") or not shutil.which("zstd"):
            raise tap.Skip("no tar with zstd")
        os.mkdir(place + "/x")
        tap.equal(tap.run(["tar", "xf", archive, "-C", place + "/x"], None).returncode, 0, "tar")
        tap.equal(report(place + "/x"), before, "report of what tar unpacked")
        check(place + "/x")


def running_ones_are_not_packed():
    with tap.folder() as out:
        environment = tap.recorded_environment(out, TPAGENT_MAX_SIZE="1m")
        child = subprocess.Popen([STRESS, "1", str(1 << 40)], env=environment, cwd=out)
        try:
            while not any("000001.tpt" in os.listdir(d) for d in tap.process_folders(out)):
                time.sleep(0.01)
            assert "still runs" in pack(out, out + "/a", 1)
            assert not os.path.exists(out + "/a")
        finally:
            child.kill()
            child.wait()


def damaged_archives():
    """Cut or changed anywhere: an error that names the archive, or a partial report."""
    with tap.folder() as out, tap.folder() as place:
        tap.run([STRESS, "2", "1000"], tap.recorded_environment(out), cwd=out)
        archive = os.path.join(place, "a.tar.zst")
        pack(out, archive)
        with open(archive, "rb") as file:
            whole = file.read()
        # A cut inside the checksum, which is last, leaves all that it is a checksum of.
        for at in range(0, len(whole) - 4, max(1, len(whole) // 60)):
            for bytes_ in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :]):
                with open(archive, "wb") as file:
                    file.write(bytes_)
                done = tap.run([tap.TPREPORT, archive], tap.clean_environment(TMPDIR=place))
                assert done.returncode == 1 and archive.encode() in done.stderr, (at, done)
        tap.equal(os.listdir(place), ["a.tar.zst"], "folder")


def hostile_archives():
    """Names that lead elsewhere, links, devices: nothing is made outside, nothing is followed."""
    with tap.folder() as out, tap.folder() as place:
        tap.run([STRESS, "2", "1000"], tap.recorded_environment(out), cwd=out)
        rows = report(out)
        archive = os.path.join(place, "a.tar")
        (top,) = [d for d in os.listdir(out) if d.startswith("tpagent-")]
        with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
            tar.add(os.path.join(out, top, "run.json"), top + "/run.json")
            for name in ("../run.json", "/tmp/run.json", top + "/../../run.json", "a//run.json"):
                member = tarfile.TarInfo(name)
                member.size = 3
                tar.addfile(member, io.BytesIO(b"bad"))
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
                member = tarfile.TarInfo(top + "/link/000001.tpt")
                member.type, member.linkname = kind, "/etc/passwd"
                tar.addfile(member)
            tar.add(os.path.join(out, top, os.uname().nodename), top + "/host")
        done = tap.run([tap.TPREPORT, archive], tap.clean_environment(TMPDIR=place))
        tap.equal((done.returncode, done.stderr), (0, b""), "status")
        tap.equal(report(archive), rows, "report")
        tap.equal(os.listdir(place), ["a.tar"], "folder")


def main():
    t = tap.Tap()
    t.check("rings become blocks, once", rings_become_blocks)
    t.check("the same report before and after 4 deaths", many_deaths)
    t.check("recover may be killed before any system call", killed_at_every_call)
    t.check("what the death cut is cut off", torn_tails_go)
    t.check("rings in TPAGENT_RING_DIR", rings_elsewhere)
    t.check("an empty folder of rings goes", empty_folders_of_rings_go)
    t.check("a running process is left alone", running_ones_are_left_alone)
    t.check("a damaged ring stays and is told", damaged_rings_stay)
    t.check("a process that ended has nothing to recover", ended_ones_have_nothing)
    t.check("a packed recording gives the same report; tar unpacks it", packed_is_the_same)
    t.check("a recording with a running process is not packed", running_ones_are_not_packed)
    t.check("a damaged archive is an error that names it", damaged_archives)
    t.check("an archive with names that lead elsewhere", hostile_archives)
    t.end()


if __name__ == "__main__":
    main()
