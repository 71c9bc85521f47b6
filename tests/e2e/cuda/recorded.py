# SPDX-License-Identifier: MIT
"""Programs on the simulated CUDA under the agent, and what their recordings hold."""

import collections
import glob
import json
import os
import shutil
import sys

for _folder in ("..", "../../decoder", "../../viewers"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), _folder))
import tap  # noqa: E402
import tptrace  # noqa: E402

os.environ.pop("LD_LIBRARY_PATH", None)  # meson names the stand-ins of all versions there
CUDA = "/usr/local/cuda"
SIMCUDA = os.environ["SIMCUDA"]
PROGRAMS = os.environ["CUDA_PROGRAMS"]
LOST = ("dropped", "no_room", "no_time", "invalid", "buffers")
SCRIPT = "kernel _Z5scalePff 5000; kernel _Z3sum* 700; set SET_NS 1000"
NAMES = {"name", "kernel", "geometry", "source"}


class Event(dict):
    """A record: its columns, its kind, its track; `inside` names the ranges open around it."""

    __getattr__ = dict.__getitem__


class Process:
    def __init__(self, directory):
        if not os.path.exists(os.path.join(directory, "names.tpn")):  # it never had an event
            with open(os.path.join(directory, "meta.jsonl")) as file:
                self.meta, self.events = [json.loads(line) for line in file], []
            return
        self.decoded = tptrace.Process(directory)
        self.meta = self.decoded.meta
        self.events = []
        opened = collections.defaultdict(list)
        for track, record in self.decoded.records():
            name = record.kind.name
            event = Event(record.values, what=name, track=track, ticks=record.ticks)
            for key in NAMES & set(event):
                event[key] = self.decoded.name(event[key]) if event[key] else None
            event["inside"] = tuple(opened[track])
            if name == "api_begin":
                opened[track].append(event["name"])
            elif name == "api_end":
                opened[track].pop()
            self.events.append(event)
        tap.equal(self.decoded.damage, [], "damage")

    def all(self, what, **having):
        return [
            e for e in self.events if e.what == what and all(e[k] == v for k, v in having.items())
        ]

    def lines(self, what):
        return [line for line in self.meta if line["t"] == what]

    def line(self, what):
        """The last one counts."""
        found = self.lines(what)
        return found[-1] if found else None


class Run:
    def __init__(self, code, out, err, processes, reported):
        self.code, self.out, self.err, self.processes = code, out, err, processes
        self.reported = reported  # what tpreport printed, stdout and stderr, when asked for

    @property
    def only(self):
        tap.equal(len(self.processes), 1, "processes")
        return self.processes[0]


def libraries(version="13"):
    return os.path.join(SIMCUDA, "driver") + ":" + os.path.join(SIMCUDA, version)


def environment(out, version="13", **variables):
    variables.setdefault("SIMCUDA_CLOCK", "virtual")
    variables.setdefault("LD_LIBRARY_PATH", libraries(version))
    given = {k: v for k, v in variables.items() if v is not None}
    return tap.recorded_environment(out, **given)


def reported(folder, arguments):
    found = glob.glob(os.path.join(folder, "tpagent-*"))
    done = tap.run([tap.TPREPORT, *arguments, *found], tap.clean_environment())
    return done.stdout.decode(), done.stderr.decode()


def run(command, version="13", timeout=120, code=0, report=None, **variables):
    with tap.folder() as out:
        done = tap.run(command, environment(out, version, **variables), timeout=timeout)
        if code is not None and done.returncode != code:
            raise AssertionError(f"status {done.returncode}: {done.stderr.decode()}")
        folders = sorted(glob.glob(os.path.join(out, "tpagent-*/*/*/meta.jsonl")))
        found = [Process(os.path.dirname(path)) for path in folders]
        printed = reported(out, report) if report is not None else None
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode(), found, printed)


def program(name):
    return os.path.join(PROGRAMS, name)


def nvcc_program(scratch, source, *options):
    """Built from a file of this folder."""
    nvcc = shutil.which("nvcc") or os.path.join(CUDA, "bin/nvcc")
    if not os.path.exists(nvcc):
        raise tap.Skip("no nvcc")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), source)
    built = os.path.join(scratch, os.path.splitext(os.path.basename(source))[0])
    command = [nvcc, "-cudart", "shared", *options, "-o", built, source]
    done = tap.run(command, tap.clean_environment())
    if done.returncode:
        raise tap.Skip("nvcc: " + done.stderr.decode()[-200:])
    return built


def calls(scenario, count=10, **more):
    return run([program("cuda_calls"), scenario, str(count)], **more)


def more(scenario, count=10, **variables):
    return run([program("cuda_more"), scenario, str(count)], **variables)


def length(event):
    return event.end - event.start


def counts(events, *keys):
    return collections.Counter(
        tuple(e[k] for k in keys) if len(keys) > 1 else e[keys[0]] for e in events
    )


def nothing_lost(process):
    lost = process.line("cuda_lost")
    tap.equal([lost[k] for k in LOST], [0] * 5, "losses")
    tap.equal(lost["unknown"], {}, "unknown kinds")
    tap.equal(process.lines("drop"), [], "drop lines")


def api_names(process):
    """Of either way."""
    return counts(process.all("cuda_api") + process.all("cuda_begin"), "name")


def work_of(events):
    """Events of devices, of a trace."""
    return [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]


class Recording:
    """A program's recording, kept while its reports are made."""

    def __init__(self, folder, command, status=0, **variables):
        variables.setdefault("SIMCUDA_INLINE", SCRIPT)
        variables.setdefault("TPAGENT_CUPTI_CLOCK", "cupti")
        done = tap.run(command, environment(folder, **variables), timeout=120)
        tap.equal(done.returncode, status, f"status of {command}: {done.stderr.decode()}")
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        self.said = ""  # by the last report, on stderr
        (self.path,) = glob.glob(os.path.join(folder, "tpagent-*"))

    def process(self):
        """Its records."""
        (meta,) = glob.glob(os.path.join(self.path, "*/*/meta.jsonl"))
        return Process(os.path.dirname(meta))

    def text(self, *arguments, status=(0, 3)):
        done = tap.run([tap.TPREPORT, *arguments, self.path], tap.clean_environment())
        self.said = done.stderr.decode()
        assert done.returncode in status, f"{arguments}: {done.returncode}: {self.said}"
        return done.stdout.decode()

    def rows(self, *arguments):
        return json.loads(self.text(*arguments, "--format=json"))["rows"]

    def table(self):
        return {r["key"]: r for r in self.rows("averages", "--row-limit=-1")}

    def kernels(self):
        return {r["name"]: (r["count"], round(r["total_us"] * 1000)) for r in self.rows("kernels")}

    def gpu(self):
        return json.loads(self.text("gpu", "--format=json"))["devices"]

    def trace(self, *arguments):
        return json.loads(self.text("trace", *arguments))

    def work(self):
        return work_of(self.trace()["traceEvents"])


class Chosen(tap.Tap):
    """With words on the command line: only the claims that hold one of them."""

    def check(self, name, function, *arguments, **named):
        if not sys.argv[1:] or any(word in name for word in sys.argv[1:]):
            super().check(name, function, *arguments, **named)
