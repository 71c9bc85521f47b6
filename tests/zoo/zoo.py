# SPDX-License-Identifier: MIT
"""Real programs do real work without the agent and below it, and nobody can tell which is which.

Each programs/NAME.sh is run in an empty folder by bash: without the agent; below it as it is by
default; with every process recorded and every allocation; with every process and a sample of the
allocations. Output, exit status and the files it leaves must be the same, no process may stay
behind, and each recording must be whole to `tpreport check`. The head of a script says
what it takes:

    # package: Debian packages, as tests/zoo/install takes them
    # needs: commands or files without which it is skipped
    # user: whom it runs as where we are root
    # records: programs that must be found in the recording where every process is recorded

`zoo.py NAME...` runs some of them; TEST_ZOO=NAME,... does for meson.
"""

import ctypes
import difflib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import tap  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
SECONDS = 300  # for one run of one program
WAIT_FOR_STRAYS = 5

EVERY = {"TPAGENT_PROGRAMS": "*", "TPAGENT_MIN_FREE": "64m"}
WAYS = {
    "by default": {},
    "every allocation": {**EVERY, "TPAGENT_ALLOC": "all"},
    "sampled": {**EVERY, "TPAGENT_ALLOC": "sample:512k"},
}


class Animal:
    """A program of the zoo: its script, and the head of it."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)[: -len(".sh")]
        self.head = {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                word, colon, rest = line.lstrip("# ").partition(":")
                if (
                    line.startswith("# ")
                    and colon
                    and word in ("package", "needs", "user", "records")
                ):
                    self.head.setdefault(word, []).extend(rest.split())
                elif not line.startswith("#"):
                    break

    def missing(self):
        return [need for need in self.head.get("needs", []) if not self.is_here(need)]

    @staticmethod
    def is_here(need):
        return bool(glob.glob(need) if "/" in need else shutil.which(need))


def strays():
    """Processes that the last run left behind; they are ours now, since we reap orphans."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return []
        if not pid:
            break
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def name_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return f"{pid} ({file.read().replace(chr(0), ' ').strip()[:120]})"
    except OSError:
        return f"{pid} (gone)"


def no_strays():
    until = time.monotonic() + WAIT_FOR_STRAYS
    while strays() and time.monotonic() < until:
        time.sleep(0.05)
    left = [name_of(pid) for pid in strays()]
    for pid in strays():
        os.kill(pid, signal.SIGKILL)
    return left


def files_below(top):
    """Paths of all that lies below @top; no contents, they may hold the time."""
    found = []
    for folder, folders, files in os.walk(top):
        found += [os.path.relpath(os.path.join(folder, name), top) for name in folders + files]
    return sorted(found)


def run_once(animal, place, environment):
    """What a run shows to whoever looks: (exit status, stdout, stderr, files, strays)."""
    work = os.path.join(place, "work")
    os.mkdir(work, 0o755)
    user = animal.head.get("user") if os.getuid() == 0 else None
    if user:
        shutil.chown(work, *user, *user)
        user = {"user": user[0], "group": user[0], "extra_groups": []}
    environment.update(ZOO=HERE, HOME=work, LC_ALL="C.UTF-8", TZ="UTC", TMPDIR=work)
    out, err = (open(os.path.join(place, name), "w+b") for name in ("stdout", "stderr"))
    with out, err:
        script = subprocess.Popen(
            ["bash", animal.path],
            env=environment,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            **user or {},
        )
        try:
            status = script.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = f"still running after {SECONDS} s"
            os.killpg(script.pid, signal.SIGKILL)
            script.wait()
        left = no_strays()
        shown = []
        for file in (out, err):
            file.seek(0)
            text = file.read().decode(errors="replace")
            shown.append(re.sub(r"(line \d+:) +\d+ ", r"\1 PID ", text))  # bash, of a signal
    files = files_below(work)
    shutil.rmtree(work)
    return {"exit status": status, "stdout": shown[0], "stderr": shown[1],
            "files": "\n".join(files), "processes left behind": "\n".join(left)}  # fmt: skip


def same(got, expected):
    for what, value in expected.items():
        if got[what] == value:
            continue
        lines = difflib.unified_diff(
            str(value).splitlines(),
            str(got[what]).splitlines(),
            "without",
            "below",
            lineterm="",
            n=1,
        )
        raise AssertionError(
            what + ":\n" + "\n".join(list(lines)[:60]) + "\n" + got["stderr"][-1500:]
        )


def recordings(out):
    return sorted(
        path for path in glob.glob(os.path.join(out, "tpagent-*")) if os.path.isdir(path)
    )


def programs_of(recording):
    done = tap.run([tap.TPREPORT, "info", "--format", "json", recording], tap.clean_environment())
    assert done.returncode in (0, 3), done
    return {process["program"] for process in json.loads(done.stdout)["processes"]}


def readable(out):
    """Every recording is intact; of those where a ring was full, that is said."""
    found = recordings(out)
    assert found, "no recording"
    for recording in found:
        done = tap.run([tap.TPREPORT, "check", recording], tap.clean_environment(), timeout=600)
        text = (done.stdout + done.stderr).decode()[-1500:]
        assert done.returncode == 0 or done.returncode == 3 and "intact, but" in text, text


def without(animal, place):
    bare = run_once(animal, place, tap.clean_environment())
    tap.equal(bare["processes left behind"], "", "processes left behind without the agent")
    assert bare["exit status"] == 0, bare
    return bare


def below(animal, place, variables, bare):
    out = os.path.join(place, "out")
    os.mkdir(out)
    os.chmod(out, 0o1777)  # for programs that run as somebody else
    try:
        same(run_once(animal, place, tap.recorded_environment(out, **variables)), bare)
        readable(out)
        if "TPAGENT_PROGRAMS" in variables:
            seen = set().union(*map(programs_of, recordings(out)))
            unseen = set(animal.head.get("records", [])) - seen
            assert not unseen, f"not recorded: {unseen}, only {seen}"
    finally:
        shutil.rmtree(out)


def visit(tap_stream, animal):
    """Whether the program passed, or None where it is not here."""
    missing = animal.missing()
    if missing:
        text = (
            f"{', '.join(missing)} is not here: apt-get install {' '.join(animal.head['package'])}"
        )

        def skip():
            raise tap.Skip(text)

        tap_stream.check(animal.name, skip)
        return None
    failed = tap_stream.failed
    with tempfile.TemporaryDirectory(prefix="zoo-") as place:
        os.chmod(place, 0o755)
        results = []
        tap_stream.check(animal.name + ": without", lambda: results.append(without(animal, place)))
        if results:
            for way, variables in WAYS.items():
                name = f"{animal.name}: {way}"
                tap_stream.check(name, below, animal, place, variables, results[0])
    return tap_stream.failed == failed


def main(names):
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    t = tap.Tap()
    animals = [Animal(path) for path in sorted(glob.glob(os.path.join(HERE, "programs", "*.sh")))]
    known = {animal.name for animal in animals}
    unknown = set(names) - known
    if unknown:
        sys.exit(
            f"zoo.py: no {', '.join(sorted(unknown))} here; there are {' '.join(sorted(known))}"
        )
    results = {a.name: visit(t, a) for a in animals if not names or a.name in names}
    passed = sorted(name for name, result in results.items() if result)
    absent = sorted(name for name, result in results.items() if result is None)
    print(f"# programs passed: {len(passed)} of {len(results) - len(absent)}; {' '.join(passed)}")
    print(f"# not here: {len(absent)}; {' '.join(absent)}")
    t.end()


if __name__ == "__main__":
    main(sys.argv[1:] or list(filter(None, os.environ.get("TEST_ZOO", "").split(","))))
