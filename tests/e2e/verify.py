# SPDX-License-Identifier: MIT
"""tpreport check: what is wrong is told with file, offset and reason; what a process that runs or
was killed leaves is not wrong."""

import os
import shutil
import signal
import subprocess
import time

import tap

STRESS = os.path.join(os.environ["WORKLOADS"], "stress")


def check(path):
    done = tap.run([tap.TPREPORT, "check", path], tap.clean_environment())
    return done.returncode, (done.stdout + done.stderr).decode()


def whole(path):
    status, text = check(path)
    tap.equal((status, text.splitlines()[-1].rsplit(": ", 1)[1]), (0, "whole"), text)


def start(out, threads, pairs, **variables):
    environment = tap.recorded_environment(out, TPAGENT_WHEN_FULL="wait", **variables)
    return subprocess.Popen([STRESS, str(threads), str(pairs)], env=environment)


def ended(out):
    tap.equal(start(out, 2, 20000).wait(), 0, "status")


def killed(out):
    child = start(out, 2, 1 << 40, TPAGENT_MAX_SIZE="1m")
    while not any("000001.tpt" in os.listdir(folder) for folder in tap.process_folders(out)):
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()


def intact(make):
    with tap.folder() as out:
        make(out)
        whole(out)
        (process,) = tap.process_folders(out)
        whole(process)
        shutil.copytree(process, out + "/copy/alone")
        whole(out + "/copy/alone")


def a_running_one():
    with tap.folder() as out:
        child = start(out, 2, 1 << 40, TPAGENT_MAX_SIZE="2m")
        try:
            for _ in range(12):
                time.sleep(0.05)
                if tap.process_folders(out):
                    whole(out)
        finally:
            child.kill()
            child.wait()


def killed_at_start():
    """Whatever a death in its first milliseconds leaves is whole, or no recording yet."""
    seen = set()
    for i in range(40):
        with tap.folder() as out:
            child = start(out, 1, 1 << 40)
            time.sleep(i * 0.0004)
            child.kill()
            child.wait()
            status, text = check(out) if os.listdir(out) else (0, "nothing")
            if status == 1 and "no recording" in text:
                status, text = 0, "no process: no recording yet"
            tap.equal(status, 0, text)
            seen.add(text.split(": ")[-1].strip())
    print("#", seen)


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)


def get(path):
    with open(path, "rb") as file:
        return file.read()


NOISE = bytes(range(1, 200))

# How a file may be damaged: from its bytes to others; None deletes it.
DAMAGES = {
    "empty": lambda data: b"",
    "cut in half": lambda data: data[: len(data) // 2],
    "cut by a byte": lambda data: data[:-1],
    "garbage": lambda data: NOISE * 3,
    "garbage behind": lambda data: data + NOISE,
    "deleted": None,
}


def told(out, path, damage, where=None):
    """check names the file, with an offset, a reason and status 1 or 3."""
    data = get(path)
    try:
        if damage:
            put(path, damage(data))
        else:
            os.remove(path)
        done = tap.run([tap.TPREPORT, "check", where or out], tap.clean_environment())
        text = (done.stdout + done.stderr).decode()
        lines = [line for line in text.splitlines() if os.path.basename(path) in line]
        assert done.returncode in (1, 3) and lines, (done.returncode, text)
        assert not damage or any("at byte " in line for line in lines), text
        table = tap.run([tap.TPREPORT, out], tap.clean_environment())
        assert table.returncode in (0, 1, 3), table
    finally:
        put(path, data)


def names_cut_everywhere(out, process):
    path = os.path.join(process, "names.tpn")
    size = os.path.getsize(path)
    for cut in (1, 8, 63, 64, 70, 100, 4095, 4096, 65536, size - 4096, size - 1):
        told(out, path, lambda data, cut=cut: data[:cut])


def small_files(make, names, but=()):
    with tap.folder() as out:
        make(out)
        (process,) = tap.process_folders(out)
        run = os.path.dirname(os.path.dirname(process))
        for name in names:
            path = os.path.join(run if name == "run.json" else process, name)
            for what, damage in DAMAGES.items():
                if (name, what) not in but:
                    told(run, path, damage)
        if make is ended:
            names_cut_everywhere(out, process)
        whole(out)


def garbage_among_names(make):
    """Written into the room that nobody has claimed."""
    with tap.folder() as out:
        make(out)
        (process,) = tap.process_folders(out)
        told(
            out,
            os.path.join(process, "names.tpn"),
            lambda data: data[:-5000] + NOISE + data[len(NOISE) - 5000 :],
        )


def recording_without_meta():
    with tap.folder() as out:
        ended(out)
        (process,) = tap.process_folders(out)
        meta = os.path.join(process, "meta.jsonl")
        told(out, meta, None, process)
        data = get(meta).split(b"\n")
        assert data[0].startswith(b'{"t":"start"') and data[-2].startswith(b'{"t":"end"'), data
        told(out, meta, lambda _: b"\n".join(data[1:]))
        told(out, meta, lambda _: b"\n".join(data[:-2] + [b""]))


def empty_name_is_not_missing():
    """A NULL message has the id 0, which needs no record."""
    with tap.folder() as out:
        program = os.path.join(os.environ["WORKLOADS"], "nvtx_ranges")
        if not os.path.exists(program):
            raise tap.Skip("no NVTX headers")
        done = tap.run([program], tap.recorded_environment(out))
        tap.equal(done.returncode, 0, "status")
        whole(out)


def main():
    t = tap.Tap()
    t.check("a process that ended is whole, alone and moved, too", intact, ended)
    t.check("a killed process is whole, alone and moved, too", intact, killed)
    t.check("a running process is whole", a_running_one)
    t.check("a process killed in its first milliseconds is whole", killed_at_start)
    t.check(
        "small files of a process that ended: cut, garbage, deleted",
        small_files,
        ended,
        ["run.json", "meta.jsonl", "names.tpn"],
        [("run.json", "cut by a byte")],  # its newline
    )
    t.check(
        "small files of a killed process: cut, garbage, deleted",
        small_files,
        killed,
        ["run.json", "names.tpn"],
        [
            ("run.json", "cut by a byte"),
            ("names.tpn", "cut in half"),  # pages that nobody has used yet
        ],
    )
    t.check("garbage behind the names of a process that ended", garbage_among_names, ended)
    t.check("garbage behind the names of a killed process", garbage_among_names, killed)
    t.check("meta.jsonl without its first or last line, or gone", recording_without_meta)
    t.check("a range without a name is no missing name", empty_name_is_not_missing)
    t.end()


if __name__ == "__main__":
    main()
