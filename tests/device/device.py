#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What run.sh runs: programs on a GPU under the agent, and their recordings against what they did.

    device.py --build BUILD [--only GROUP]... [--rounds N] [--seconds N] [--simulated SIMCUDA]

Prints what was measured and a line for each check; the last line is "N passed, N failed". A group
that breaks, or finds no time left, is a failed check. --simulated: on the stand-ins in that folder
of a build, with little work, to try this script itself.
"""

import argparse
import collections
import glob
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TRAIN = os.path.join(HERE, "train.py")
LEAVE = os.path.join(HERE, "leave.py")
SECONDS = 440  # for everything; what is not done by then has failed
ROUNDS_AT_LEAST = 3
LOST = ("dropped", "no_room", "no_time", "invalid", "buffers")


class OutOfTime(Exception):
    pass


class Recording:
    """What a run left: its folder, what its program printed, how it ended."""

    def __init__(self, device, folder, process, wall_s):
        self.device, self.folder, self.wall_s = device, folder, wall_s
        self.status, self.output, self.errors = process.returncode, process.stdout, process.stderr
        self.said = {}
        for line in process.stdout.splitlines():
            if line.startswith("{"):
                self.said = json.loads(line)

    def records(self):
        """Of all processes, as dump_recording prints them."""
        if not self.processes():
            return
        with subprocess.Popen(
            [self.device.own("dump_recording"), "--json", *self.processes()],
            stdout=subprocess.PIPE,
            text=True,
        ) as dump:
            for line in dump.stdout:
                if line.startswith("{"):
                    yield json.loads(line)

    def count(self, kind):
        return sum(1 for record in self.records() if record["kind"] == kind)

    def processes(self):
        return sorted(glob.glob(os.path.join(self.folder, "tpagent-*", "*", "*-*")))

    def lines(self, kind):
        """Of meta.jsonl, those of a type, a list a process."""
        found = []
        for directory in self.processes():
            found.append([])
            with open(os.path.join(directory, "meta.jsonl"), encoding="utf-8") as file:
                for line in file:
                    try:
                        value = json.loads(line)
                    except ValueError:
                        continue  # a torn tail
                    if value.get("t") == kind:
                        found[-1].append(value)
        return found

    def cuda(self):
        """The newest `cuda` line of the process that has one."""
        return next((lines[-1] for lines in self.lines("cuda") if lines), {})

    def lost(self):
        """Records that are missing, by reason; none is an empty one."""
        total = collections.Counter()
        for lines in self.lines("cuda_lost"):
            for key in LOST if lines else ():
                total[key] += lines[-1].get(key, 0)
        for line in sum(self.lines("drop"), []):
            total[line.get("reason", "drop")] += line["count"]
        return +total

    def bytes(self):
        return sum(
            os.path.getsize(os.path.join(top, name))
            for top, _, names in os.walk(self.folder)
            for name in names
            if name.endswith((".tpt", ".tpn"))
        )

    def kernels(self):
        """(count, ns) of all kernels, by tpreport: neither copies nor memsets."""
        found = subprocess.run(
            [self.device.built("tools/tpreport/tpreport"), "kernels", "--format", "json"]
            + glob.glob(os.path.join(self.folder, "tpagent-*")),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        rows = [
            row
            for row in json.loads(found.stdout)["rows"]
            if not row["name"].startswith(("Memcpy", "Memset"))
        ]
        return sum(r["count"] for r in rows), sum(r["total_us"] for r in rows) * 1e3


class Device:
    def __init__(self, options):
        self.options = options
        self.scratch = tempfile.mkdtemp(prefix="tpagent-device-")
        self.passed = self.failed = 0
        self.end = time.monotonic() + options.seconds
        self.library = None  # libcupti, once the agent has found it
        self.kinds_of_runtime = ("shared",) if options.simulated else ("shared", "static")

    def built(self, name):
        return os.path.join(self.options.build, name)

    def own(self, name):
        return self.built(os.path.join("device", name))

    def check(self, good, text, found=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
        print(
            f"{'ok' if good else 'NOT OK'}  {text}{f': {found}' if found != '' else ''}",
            flush=True,
        )
        return good

    def equal(self, text, found, expected):
        return self.check(found == expected, text, f"{found} of {expected}")

    def note(self, text):
        print(f"    {text}", flush=True)

    def left_s(self):
        return self.end - time.monotonic()

    def libraries(self):
        """Where programs find CUDA's runtime, besides the loader's own places."""
        if self.options.simulated:
            return [os.path.join(self.options.simulated, part) for part in ("driver", "13")]
        wheels = [os.path.join(path, "nvidia", "*", "lib") for path in sys.path if path]
        return [os.environ.get("LD_LIBRARY_PATH", "")] + sum(map(glob.glob, wheels), [])

    def run(self, command, agent=True, own_libraries=True, **variables):
        """Runs a program, recorded or not; one that hangs has failed."""
        if self.left_s() < 5:
            raise OutOfTime
        folder = tempfile.mkdtemp(dir=self.scratch)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TPAGENT_")}
        if own_libraries or self.options.simulated:
            environment["LD_LIBRARY_PATH"] = ":".join(filter(None, self.libraries()))
        if self.options.simulated:  # whose CUPTI is not one that PyTorch has mapped
            cupti = os.path.join(self.options.simulated, "13/libcupti.so.13")
            environment.update(SIMCUDA_CLOCK="real", TPAGENT_CUPTI=cupti)
        environment.update(variables)
        if agent:
            environment.update(LD_PRELOAD=self.built("agent/libtpagent.so"), TPAGENT_OUT=folder)
        begin = time.monotonic()
        process = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=max(1, min(120, self.left_s())),
            check=False,
        )
        return Recording(self, folder, process, time.monotonic() - begin)

    def program(self, kind, *arguments, **more):
        return self.run([self.own(f"cuda_calls_{kind}"), *map(str, arguments)], **more)

    def python(self, script, *arguments, **more):
        command = [sys.executable, script, *map(str, arguments)]
        if self.options.simulated:
            command += ["--simulated", os.path.join(self.options.simulated, "13/libcudart.so.13")]
        return self.run(command, own_libraries=False, **more)

    # groups of checks, in the order in which they run

    def machine(self):
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        shown = "no nvidia-smi"
        if shutil.which(query[0]):
            shown = subprocess.run(
                query, capture_output=True, text=True, check=False
            ).stdout.strip()
        self.note(f"{shown}, {platform.machine()}, {os.cpu_count()} cores")
        held = os.environ.get("CUDA_INJECTION64_PATH")
        self.check(not held, "CUDA_INJECTION64_PATH is free", held or "")

    def injection(self):
        """The driver called us inside cuInit, in a plain program and in Python."""
        runs = {kind: self.program(kind, "launch", 500) for kind in self.kinds_of_runtime}
        runs["torch"] = self.python(LEAVE, "sys.exit")
        for name, recording in runs.items():
            said = recording.cuda()
            self.equal(f"injection, {name}: CUPTI is ours", said.get("mode"), "cupti")
            self.check(
                "why" not in said, f"injection, {name}: nothing to remark", said.get("why", "")
            )
            self.note(f"injection, {name}: {said.get('library')}, API {said.get('api')}")
        self.library = runs["shared"].cuda().get("library")

    def kinds(self):
        for kind in self.kinds_of_runtime:
            recording = self.program(kind, "kinds")
            with_ = f"kinds, {kind} runtime"
            if not self.check(
                recording.status == 0 and recording.said,
                f"{with_}: runs",
                recording.errors.strip()[-300:],
            ):
                continue
            self.check_kinds(with_, recording)
            self.check_memory(with_, recording)
            self.check_ids(with_, recording)
        recording = self.program("shared", "kinds", TPAGENT_CUDA="hooks")
        launched = sum(1 for r in recording.records() if r["kind"] == "cuda_begin" and r["kernel"])
        self.equal("kinds, hooks: launches by name", launched, recording.said.get("by_name"))

    def check_kinds(self, with_, recording):
        said, seen = recording.said, collections.Counter()
        threads, copied = set(), 0
        for record in recording.records():
            seen[record["kind"]] += 1
            if record["kind"] == "cuda_api":
                seen["by the driver" if record["domain"] == 1 else "by the runtime"] += 1
                threads.add(record["thread"])
            elif record["kind"] == "gpu_memcpy":
                copied += record["bytes"]
        self.equal(f"{with_}: kernels", seen["gpu_kernel"], said["kernels"])
        self.equal(f"{with_}: copies", seen["gpu_memcpy"], said["copies"])
        self.equal(f"{with_}: bytes copied", copied, said["copied_bytes"])
        self.equal(f"{with_}: memsets", seen["gpu_memset"], said["memsets"])
        missing = set(said["threads"]) - threads
        self.check(not missing, f"{with_}: thread ids are gettid's", f"missing {missing}")
        for kind in ("cuda_sync", "cuda_memory", "by the driver", "by the runtime", "cuda_call"):
            self.check(seen[kind], f"{with_}: {kind} records", seen[kind])
        for line in ("cuda_device", "cuda_context", "cuda_stream", "cuda_clock"):
            count = sum(map(len, recording.lines(line)))
            self.check(count, f"{with_}: {line} lines", count)
        self.check(not recording.lost(), f"{with_}: nothing lost", dict(recording.lost()))
        self.note(f"{with_}: records {dict(seen)}")

    def check_memory(self, with_, recording):
        """Device memory: what is asked for comes, and what comes goes."""
        live, allocated, strange = {}, 0, 0
        for record in recording.records():
            if record["kind"] != "cuda_memory" or record["memory_kind"] != 3:
                continue
            if record["operation"] == 1:
                live[record["address"]] = record["bytes"]
                allocated += record["bytes"]
            elif record["operation"] == 2:
                strange += live.pop(record["address"], None) is None
        wanted = recording.said["allocated_bytes"]
        self.check(allocated >= wanted, f"{with_}: device memory", f"{allocated} of {wanted}")
        self.check(
            allocated - sum(live.values()) >= wanted and not strange,
            f"{with_}: device memory is freed",
            f"live {sum(live.values())}, frees of nothing {strange}",
        )

    def check_ids(self, with_, recording):
        """One id or two for a runtime's call and the driver's in it, and whose a kernel has."""
        calls = [r for r in recording.records() if r["kind"] == "cuda_api"]
        runtime = sorted(
            (r["thread"], r["start"], r["end"], r["correlation"])
            for r in calls
            if r["domain"] == 2
        )
        nested = collections.Counter()
        for call in calls:
            if call["domain"] == 1:
                around = [
                    r[3]
                    for r in runtime
                    if r[0] == call["thread"] and r[1] <= call["start"] and call["end"] <= r[2]
                ]
                nested["own id" if around and call["correlation"] not in around else "alone"] += 1
        of = {r["correlation"]: r["domain"] for r in calls}
        kernels = collections.Counter(
            of.get(r["correlation"]) for r in recording.records() if r["kind"] == "gpu_kernel"
        )
        self.check(None not in kernels, f"{with_}: every kernel has its call", dict(kernels))
        self.note(
            f"{with_}: driver's calls {dict(nested)}; kernels by domain of id {dict(kernels)}"
        )

    def clocks(self):
        """Each kernel begins behind its call, on both clocks."""
        launches = self.options.launches
        for clock in ("tsc", "cupti"):
            recording = self.program(
                "shared", "launch", launches, TPAGENT_CUDA="cupti", TPAGENT_CUPTI_CLOCK=clock
            )
            begins, kernels = {}, []
            for record in recording.records():
                if record["kind"] == "cuda_api":
                    begins.setdefault(record["correlation"], record["start"])
                elif record["kind"] == "gpu_kernel":
                    kernels.append((record["correlation"], record["start"], record["end"]))
            lost, with_ = recording.lost(), f"launch, clock {clock}"
            timed = [k for k in kernels if k[2] > k[1]]
            joined = [(begins[id_], start) for id_, start, _ in timed if id_ in begins]
            self.equal(
                f"{with_}: kernels recorded, or counted as lost ({dict(lost)})",
                len(kernels) + lost["dropped"] + lost["no_room"],
                launches + 1,
            )
            self.equal(f"{with_}: kernels with their call", len(joined), len(timed))
            early = sum(1 for api, start in joined if start < api)
            self.equal(f"{with_}: kernels that begin before their call", early, 0)
            without = len(kernels) - len(timed)
            self.check(without <= len(kernels) // 100, f"{with_}: kernels without time", without)
            self.equal(f"{with_}: is the clock", recording.cuda().get("clock"), CLOCK_NAMES[clock])
            size = recording.bytes() / (launches + 1)
            self.check(size <= 14, f"{with_}: bytes a launch, at most 14", f"{size:.1f}")

    def cost(self):
        """ns a launch: alone, with CUPTI's callbacks and records at nobody's service, with us."""
        client = {"CUDA_INJECTION64_PATH": self.own("libclient.so"), "CLIENT_OUT": os.devnull}
        client["CLIENT_CUPTI"] = self.library or "libcupti.so"
        wanted = {
            "none": (False, {}),
            "empty callbacks": (False, {**client, "CLIENT_DO": "count domain=2"}),
            "CUPTI's records": (False, {**client, "CLIENT_DO": "count kinds=5,10"}),
            "both": (False, {**client, "CLIENT_DO": "count domain=2 kinds=5,10"}),
            "agent, cupti": (True, {"TPAGENT_CUDA": "cupti"}),
            "agent, hooks": (True, {"TPAGENT_CUDA": "hooks"}),
        }
        cost = collections.defaultdict(list)
        for _ in range(3):
            for name, (agent, more) in wanted.items():
                run = self.program("shared", "launch", self.options.launches, agent=agent, **more)
                if run.status or not run.said:
                    self.check(False, f"launch, {name}", run.errors.strip()[-300:])
                    continue
                cost[name].append(run.said["ns_per_launch"])
        middle = {name: statistics.median(values) for name, values in cost.items()}
        for name, value in middle.items():
            self.note(
                f"launch, {name}: {value:.0f} ns, {1e9 / value:,.0f} a second, "
                f"added {value - middle['none']:.0f} ns"
            )
        self.equal("launch: every way was measured", sorted(middle), sorted(wanted))

    def graphs(self):
        nodes, times = self.options.nodes, self.options.graphs
        recording = self.program("shared", "graph", nodes, times)
        lost, (counted, _) = recording.lost(), recording.kernels()
        self.equal(
            f"graph: nodes recorded, without time or counted as lost ({dict(lost)})",
            counted + lost["no_time"] + lost["dropped"] + lost["no_room"],
            nodes * times,
        )
        rate = lost["no_time"] / (nodes * times)
        self.check(rate <= 0.01, "graph: nodes without time", f"{rate:.3%} of {nodes * times}")
        whole = self.program("shared", "graph", nodes, times, TPAGENT_CUDA_GRAPHS="graph")
        self.equal("graph: one record a launch on request", whole.count("gpu_graph"), times)

    def exits(self):
        for how in ("return", "exit", "_exit", "term", "abort"):
            bare, recording = (self.program("shared", "exit", how, agent=a) for a in (False, True))
            self.same_end(f"exit by {how}", bare, recording)
            self.equal(f"exit by {how}: kernels", recording.count("gpu_kernel"), 50)
        for how, status in (("sys.exit", 7), ("os._exit", 7), ("term", -15), ("abort", -6)):
            recording = self.python(LEAVE, how)
            self.equal(f"Python, {how}: status", recording.status, status)
            found = recording.count("gpu_kernel")
            wanted = recording.said.get("kernels")
            self.equal(f"Python, {how}: kernels", found, wanted)

    def same_end(self, what, bare, recording):
        self.equal(
            f"{what}: same status and output",
            (recording.status, recording.output),
            (bare.status, bare.output),
        )

    def fork(self):
        recording = self.program("shared", "fork")
        self.equal("fork after the first launch: status", recording.status, 0)
        self.equal("fork: the child's status", recording.said.get("child"), 5)
        self.equal("fork: kernels", recording.count("gpu_kernel"), 2)

    def tools(self):
        """Others that want CUDA for themselves: the program ends as it does without us."""
        report = os.path.join(self.scratch, "nsys")
        around = {
            "compute-sanitizer": ["compute-sanitizer"],
            "nsys": ["nsys", "profile", "-o", report, "--force-overwrite", "true"],
        }
        for name, command in around.items():
            if not shutil.which(name):
                self.note(f"{name} is not here: not tried")
                continue
            command = [*command, self.own("cuda_calls_shared"), "exit", "return"]
            bare, recording = (self.run(command, agent=agent) for agent in (False, True))
            self.equal(f"{name} around it: status", recording.status, bare.status)
            self.check('{"kernels": 50}' in recording.output, f"{name} around it: output")
            self.note(f"{name}: {recording.cuda()} {recording.errors.strip()[-300:]}")

    def workers(self):
        steps = self.options.steps
        bare, recording = (
            self.python(TRAIN, "resnet", steps, "--workers", 2, agent=a) for a in (False, True)
        )
        self.equal("forked loader workers: status", (bare.status, recording.status), (0, 0))
        losses = [run.said.get("loss") for run in (recording, bare)]
        self.equal("forked loader workers: the same loss", *losses)

    def profiler(self):
        """torch.profiler in a program that we record: who has the kernels."""
        alone = self.python(TRAIN, "resnet", self.options.steps, "--profile", agent=False)
        theirs = alone.said.get("kernels")
        self.check(theirs, "torch.profiler alone: kernels", theirs or alone.errors.strip()[-300:])
        both = self.python(TRAIN, "resnet", self.options.steps, "--profile")
        self.equal("torch.profiler under the agent: status", both.status, 0)
        self.equal("torch.profiler under the agent: our kernels", both.kernels()[0], theirs)
        self.note(f"torch.profiler under the agent sees {both.said.get('kernels')} of {theirs}")
        self.note(f"its complaints: {both.errors.strip()[-300:]}")
        beside = self.python(
            TRAIN, "resnet", self.options.steps, "--profile", TPAGENT_CUDA="hooks"
        )
        self.equal("torch.profiler beside hooks: its kernels", beside.said.get("kernels"), theirs)

    MODELS = {"resnet": 40, "transformer": 60}
    WAYS = {
        "none": (False, [], {}),
        "cupti": (True, [], {}),
        "hooks": (True, [], {"TPAGENT_CUDA": "hooks"}),
        "profiler": (False, ["--profile"], {}),
    }

    def torch(self):
        runs, rounds, longest = collections.defaultdict(list), 0, 0
        while rounds < self.options.rounds and self.left_s() > longest * 1.2 + 5:
            begin = time.monotonic()
            for model, steps in self.MODELS.items():
                steps = self.options.steps if self.options.simulated else steps
                for way, (agent, more, variables) in self.WAYS.items():
                    run = self.python(TRAIN, model, steps, *more, agent=agent, **variables)
                    runs[model, way].append(run)
                    if way != "cupti":
                        shutil.rmtree(run.folder)  # nobody reads it, and disks are small
            longest = max(longest, time.monotonic() - begin)
            rounds += 1
        least = min(ROUNDS_AT_LEAST, self.options.rounds)
        self.check(rounds >= least, f"training: rounds, at least {least}", rounds)
        for model in self.MODELS if rounds else ():
            self.compare(model, {way: runs[model, way] for way in self.WAYS})

    def compare(self, model, runs):
        failed = [run for way in runs for run in runs[way] if run.status != 0 or not run.said]
        if not self.check(
            not failed, f"{model}: all runs end well", failed[0].errors[-300:] if failed else ""
        ):
            return
        bare = {run.said["loss"] for run in runs["none"]}
        losses = {run.said["loss"] for way in ("cupti", "hooks") for run in runs[way]}
        if len(bare) == 1:
            self.equal(f"{model}: the loss with and without the agent", losses, bare)
        else:
            self.note(f"{model}: its loss differs from run to run without the agent: {bare}")
        ours = [run.kernels() for run in runs["cupti"]]
        counts = {count for count, _ in ours}
        self.equal(f"{model}: kernels", counts, {run.said["kernels"] for run in runs["profiler"]})
        our_ns = statistics.median(ns for _, ns in ours)
        their_ns = statistics.median(run.said["device_ns"] for run in runs["profiler"])
        self.check(
            their_ns and abs(our_ns / their_ns - 1) <= 0.03,
            f"{model}: device time within 3 %",
            f"{our_ns / 1e6:.3f} ms, torch.profiler {their_ns / 1e6:.3f} ms",
        )
        wall = {way: statistics.median(run.said["wall_s"] for run in runs[way]) for way in runs}
        for way in ("cupti", "hooks", "profiler"):
            self.note(f"{model}: wall time, {way}: {wall[way] / wall['none']:.3f} of none")
        last = runs["cupti"][-1]
        self.note(f"{model}: {last.bytes() / max(max(counts), 1):.1f} bytes a kernel, all records")
        lost = sum((run.lost() for run in runs["cupti"]), collections.Counter())
        self.check(not lost, f"{model}: nothing lost", dict(lost))

    GROUPS = (
        "machine",
        "injection",
        "kinds",
        "clocks",
        "cost",
        "graphs",
        "exits",
        "fork",
        "workers",
        "profiler",
        "tools",
        "torch",
    )

    def all(self):
        for name in self.GROUPS:
            if self.options.only and name not in self.options.only:
                continue
            begin = time.monotonic()
            try:
                getattr(self, name)()
            except OutOfTime:
                self.check(False, name, "no time was left for all of it")
            except Exception:  # whatever it is, the others are tried, and this one has failed
                self.check(False, name, traceback.format_exc())
            self.note(f"({name} took {time.monotonic() - begin:.0f} s)")


CLOCK_NAMES = {"tsc": "ticks", "cupti": "cupti"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", action="append", choices=Device.GROUPS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--simulated")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    little = bool(options.simulated)
    options.launches, options.steps = (20000, 2) if little else (100000, 10)
    options.nodes, options.graphs = (10, 50) if little else (100, 10000)
    device = Device(options)
    try:
        device.all()
    finally:
        shutil.rmtree(device.scratch, ignore_errors=True)
    print(f"{device.passed} passed, {device.failed} failed")
    return 1 if device.failed else 0


if __name__ == "__main__":
    sys.exit(main())
