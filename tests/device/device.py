#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What run.sh runs: programs on a GPU under the agent, and their recordings against what they did.

    device.py --build BUILD [--only GROUP]... [--rounds N]

Prints what was measured and a line for each check; the last line is "N passed, N failed".
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

HERE = os.path.dirname(os.path.abspath(__file__))
TRAIN = os.path.join(HERE, "train.py")
TRAIN_SECONDS = 280  # after that no further round begins
LAUNCHES = 100000


def find_nvcc():
    """In PATH, or where toolkits lie."""
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    found = [shutil.which("nvcc")] + [os.path.join(home, "bin/nvcc") for home in homes if home]
    return next((path for path in found if path and os.path.exists(path)), "nvcc")


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
        with subprocess.Popen(
            [self.device.built("tests/e2e/dump_recording"), "--json", *self.processes()],
            stdout=subprocess.PIPE,
            text=True,
        ) as dump:
            for line in dump.stdout:
                if line.startswith("{"):
                    yield json.loads(line)

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

    def lost(self):
        """Device records that are missing, by reason."""
        total = collections.Counter()
        for lines in self.lines("cuda_lost"):
            for key in ("dropped", "no_room", "no_time", "invalid") if lines else ():
                total[key] += lines[-1].get(key, 0)
        return total

    def bytes(self):
        return sum(
            os.path.getsize(os.path.join(top, name))
            for top, _, names in os.walk(self.folder)
            for name in names
            if name.endswith((".tpt", ".tpn"))
        )

    def kernels(self):
        """tpreport's report of kernels."""
        found = subprocess.run(
            [
                self.device.built("tools/tpreport/tpreport"),
                "kernels",
                "--format",
                "json",
                *glob.glob(os.path.join(self.folder, "tpagent-*")),
            ],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        return json.loads(found.stdout) if found.stdout else {"rows": [], "totals": {}}


class Device:
    def __init__(self, options):
        self.options = options
        self.scratch = tempfile.mkdtemp(prefix="tpagent-device-")
        self.passed = self.failed = 0

    def built(self, name):
        return os.path.join(self.options.build, name)

    def check(self, good, text, found=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
        print(
            f"{'ok' if good else 'NOT OK'}  {text}{f': {found}' if found != '' else ''}", flush=True
        )
        return good

    def note(self, text):
        print(f"    {text}", flush=True)

    def run(self, command, agent=True, **variables):
        """Runs a program, recorded or not."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TPAGENT_")}
        environment.update(variables)
        if agent:
            environment.update(LD_PRELOAD=self.built("agent/libtpagent.so"), TPAGENT_OUT=folder)
        begin = time.monotonic()
        process = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        return Recording(self, folder, process, time.monotonic() - begin)

    def calls(self, kind):
        return os.path.join(self.scratch, f"cuda_calls_{kind}")

    # groups of checks, in the order in which they run

    def machine(self):
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        shown = "no nvidia-smi"
        if shutil.which(query[0]):
            run = subprocess.run(query, capture_output=True, text=True, check=False)
            shown = run.stdout.strip()
        self.note(f"{shown}, {platform.machine()}, {os.cpu_count()} cores")
        nvcc = find_nvcc()
        home = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
        # the runtime of this nvcc, should the loader not know it
        runtime = ["-Xlinker", f"-rpath={home}/lib64"]
        for kind in ("shared", "static"):
            built = subprocess.run(
                [nvcc, "-O2", *runtime, "-cudart", kind, "-arch=native", "-o", self.calls(kind)]
                + [os.path.join(HERE, "cuda_calls.cu")],
                capture_output=True,
                text=True,
                check=False,
            )
            self.check(built.returncode == 0, f"nvcc -cudart {kind}", built.stderr.strip())

    def kinds(self):
        for kind in ("shared", "static"):
            recording = self.run([self.calls(kind), "kinds"])
            said, seen = recording.said, collections.Counter()
            threads, copied, allocated = set(), 0, collections.Counter()
            apis, devices = collections.defaultdict(set), {}
            for record in recording.records():
                name = record["kind"]
                seen[name] += 1
                if name == "cuda_api":
                    threads.add(record["thread"])
                    apis[record["correlation"]].add(record["domain"])
                elif name == "gpu_memcpy":
                    copied += record["bytes"]
                elif name == "cuda_memory":
                    allocated[record["operation"]] += record["bytes"]
                elif name == "gpu_kernel":
                    devices[record["correlation"]] = record
            with_ = f"kinds, {kind} runtime"
            self.check(recording.status == 0 and said, f"{with_}: runs", recording.errors.strip())
            if not said:
                continue
            for what, found, expected in (
                ("kernels", seen["gpu_kernel"], said["kernels"]),
                ("copies", seen["gpu_memcpy"], said["copies"]),
                ("bytes copied", copied, said["copied_bytes"]),
                ("memsets", seen["gpu_memset"], said["memsets"]),
            ):
                self.check(found == expected, f"{with_}: {what}", f"{found} of {expected}")
            self.check(
                threads >= set(said["threads"]),
                f"{with_}: thread ids are gettid's",
                f"{sorted(threads)} of {said['threads']}",
            )
            self.check(
                allocated[1] >= said["allocated_bytes"] and allocated[2] == allocated[1],
                f"{with_}: device memory, as much freed as allocated",
                f"{allocated[1]} and {allocated[2]} of {said['allocated_bytes']}",
            )
            self.check(seen["cuda_sync"] > 0, f"{with_}: waits", seen["cuda_sync"])
            ids = collections.Counter(len(apis[correlation]) for correlation in devices)
            self.note(f"{with_}: API records (domains) with a kernel's correlation id: {dict(ids)}")
            self.note(f"{with_}: records {dict(seen)}")
            self.note(f"{with_}: {[lines[-1:] for lines in recording.lines('cuda')]}")
        recording = self.run([self.calls("shared"), "kinds"], TPAGENT_CUDA="hooks")
        launched = sum(
            1
            for record in recording.records()
            if record["kind"] == "cuda_begin" and record["kernel"]
        )
        self.check(
            launched == 201, "kinds, hooks: launches with a kernel's name", f"{launched} of 201"
        )

    def launches(self):
        command = [self.calls("shared"), "launch", str(LAUNCHES)]
        cost = collections.defaultdict(list)
        for _ in range(3):
            cost["none"].append(self.run(command, agent=False).said["ns_per_launch"])
            for mode in ("cupti", "hooks"):
                recording = self.run(command, TPAGENT_CUDA=mode)
                cost[mode].append(recording.said["ns_per_launch"])
        middle = {mode: statistics.median(values) for mode, values in cost.items()}
        for mode, value in middle.items():
            self.note(
                f"launch, {mode}: {value:.0f} ns, {1e9 / value:,.0f} a second, "
                f"added {value - middle['none']:.0f} ns"
            )
        for clock in ("tsc", "cupti"):
            recording = self.run(command, TPAGENT_CUDA="cupti", TPAGENT_CUPTI_CLOCK=clock)
            begins, kernels = {}, []
            for record in recording.records():
                if record["kind"] == "cuda_api" and record["domain"] == 2:
                    begins[record["correlation"]] = record["start"]
                elif record["kind"] == "gpu_kernel":
                    kernels.append((record["correlation"], record["start"], record["end"]))
            lost = recording.lost()
            no_time = sum(1 for _, start, end in kernels if end <= start)
            joined = [
                (begins[id_], start) for id_, start, end in kernels if id_ in begins and end > start
            ]
            early = sum(1 for api, start in joined if start < api)
            self.check(
                len(kernels) + lost["dropped"] + lost["no_room"] == LAUNCHES + 1,
                f"launch, clock {clock}: every kernel recorded or counted",
                f"{len(kernels)} of {LAUNCHES + 1}, lost {dict(lost)}",
            )
            self.check(
                len(joined) + no_time == len(kernels),
                f"launch, clock {clock}: every kernel has its call",
            )
            self.check(
                early == 0, f"launch, clock {clock}: no kernel begins before its call", early
            )
            self.check(
                no_time <= len(kernels) // 100,
                f"launch, clock {clock}: kernels without time",
                no_time,
            )
            self.note(
                f"launch, clock {clock}: {recording.bytes() / (LAUNCHES + 1):.1f} bytes a launch"
            )

    def graphs(self):
        nodes, times = 100, 10000
        recording = self.run([self.calls("shared"), "graph", str(nodes), str(times)])
        report, lost = recording.kernels(), recording.lost()
        counted = sum(row["count"] for row in report["rows"])
        self.check(
            counted + lost["no_time"] + lost["dropped"] + lost["no_room"] >= nodes * times,
            "graph: every node recorded or counted",
            f"{counted} of {nodes * times}, lost {dict(lost)}",
        )
        self.note(f"graph: without time {lost['no_time'] / (nodes * times):.3%}")
        whole = self.run(
            [self.calls("shared"), "graph", str(nodes), str(times)], TPAGENT_CUDA_GRAPHS="graph"
        )
        found = sum(1 for record in whole.records() if record["kind"] == "gpu_graph")
        self.check(found == times, "graph: one record a launch on request", f"{found} of {times}")

    def exits(self):
        for how in ("return", "exit", "_exit", "term", "abort"):
            command = [self.calls("shared"), "exit", how]
            bare, recording = self.run(command, agent=False), self.run(command)
            found = sum(1 for record in recording.records() if record["kind"] == "gpu_kernel")
            self.check(
                (recording.status, recording.output) == (bare.status, bare.output),
                f"exit by {how}: same status and output",
                f"{recording.status} and {bare.status}",
            )
            self.check(found == 50, f"exit by {how}: kernels", f"{found} of 50")
        recording = self.run([self.calls("shared"), "fork"])
        found = sum(1 for record in recording.records() if record["kind"] == "gpu_kernel")
        self.check(
            recording.status == 0 and recording.said.get("child") == 5 and found == 2,
            "fork after the first launch",
            f"{recording.said}, {found} kernels",
        )

    def sanitizer(self):
        if not shutil.which("compute-sanitizer"):
            self.note("compute-sanitizer is not here")
            return
        command = ["compute-sanitizer", self.calls("shared"), "kinds"]
        bare, recording = self.run(command, agent=False), self.run(command)
        self.check(recording.status == bare.status, "compute-sanitizer around it", recording.status)
        self.note(f"compute-sanitizer: {recording.errors.strip()[-300:]}")

    def torch(self):
        python, begin = sys.executable, time.monotonic()
        models = {"resnet": "40", "transformer": "60"}
        runs = collections.defaultdict(list)
        for turn in range(self.options.rounds):
            if turn >= 3 and time.monotonic() - begin > TRAIN_SECONDS:
                self.note(f"torch: {turn} rounds in the time there is")
                break
            for model, steps in models.items():
                command = [python, TRAIN, model, steps]
                runs[model, "none"].append(self.run(command, agent=False))
                runs[model, "cupti"].append(self.run(command))
                runs[model, "hooks"].append(self.run(command, TPAGENT_CUDA="hooks"))
                runs[model, "profiler"].append(self.run([*command, "--profile"], agent=False))
        for model in models:
            self.compare(
                model, {mode: runs[model, mode] for mode in ("none", "cupti", "hooks", "profiler")}
            )
        both = self.run([python, TRAIN, "resnet", "10", "--profile"])
        self.check(
            both.status == 0, "torch.profiler under the agent: the program runs", both.errors[-300:]
        )
        self.note(f"torch.profiler under the agent sees {both.said.get('kernels')} kernels")
        both = self.run([python, TRAIN, "resnet", "10", "--profile"], TPAGENT_CUDA="hooks")
        self.check(
            both.said.get("kernels", 0) > 0,
            "torch.profiler beside TPAGENT_CUDA=hooks keeps its kernels",
            both.said.get("kernels"),
        )
        workers = [python, TRAIN, "resnet", "10", "--workers", "2"]
        bare, recording = self.run(workers, agent=False), self.run(workers)
        self.check(
            recording.status == bare.status == 0 and recording.said["loss"] == bare.said["loss"],
            "forked loader workers: same loss",
            recording.errors.strip()[-300:],
        )

    def compare(self, model, runs):
        failed = [one for mode in runs for one in runs[mode] if one.status != 0 or not one.said]
        self.check(
            not failed, f"{model}: all runs end well", failed[0].errors[-300:] if failed else ""
        )
        if failed:
            return
        bare = {one.said["loss"] for one in runs["none"]}
        losses = {one.said["loss"] for mode in ("cupti", "hooks") for one in runs[mode]}
        if len(bare) == 1:
            self.check(losses == bare, f"{model}: the same loss with and without the agent", losses)
        else:
            self.note(f"{model}: its loss differs from run to run without the agent: {bare}")
        reports = [one.kernels() for one in runs["cupti"]]
        ours = {sum(row["count"] for row in report["rows"]) for report in reports}
        theirs = {one.said["kernels"] for one in runs["profiler"]}
        self.check(
            ours == theirs and len(ours) == 1,
            f"{model}: kernels",
            f"{ours}, torch.profiler {theirs}",
        )
        our_ns = statistics.median(report["totals"]["device_time_us"] * 1e3 for report in reports)
        their_ns = statistics.median(one.said["device_ns"] for one in runs["profiler"])
        self.check(
            abs(our_ns / their_ns - 1) <= 0.03,
            f"{model}: device time within 3 %",
            f"{our_ns / 1e6:.3f} ms, torch.profiler {their_ns / 1e6:.3f} ms",
        )
        wall = {mode: statistics.median(one.said["wall_s"] for one in runs[mode]) for mode in runs}
        for mode in ("cupti", "hooks", "profiler"):
            self.note(f"{model}: wall time, {mode}: {wall[mode] / wall['none']:.3f} of none")
        last = runs["cupti"][-1]
        self.note(
            f"{model}: {last.bytes() / max(ours):.1f} bytes a kernel, all records; "
            f"lost {dict(last.lost())}"
        )
        self.check(
            not last.lost()["dropped"] and not last.lost()["no_room"], f"{model}: nothing dropped"
        )

    GROUPS = ("machine", "kinds", "launches", "graphs", "exits", "sanitizer", "torch")

    def all(self):
        for name in self.GROUPS:
            if self.options.only and name not in (*self.options.only, "machine"):
                continue
            begin = time.monotonic()
            try:
                getattr(self, name)()
            except (KeyError, ValueError, OSError, subprocess.SubprocessError) as error:
                self.check(False, name, f"{type(error).__name__}: {error}")
            self.note(f"({name} took {time.monotonic() - begin:.0f} s)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", action="append", choices=Device.GROUPS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    device = Device(options)
    try:
        device.all()
    finally:
        shutil.rmtree(device.scratch, ignore_errors=True)
    print(f"{device.passed} passed, {device.failed} failed")
    return 1 if device.failed else 0


if __name__ == "__main__":
    sys.exit(main())
