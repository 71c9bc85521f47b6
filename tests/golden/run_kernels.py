#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernels report over golden inputs; prints TAP. usage: run_kernels.py [--write] TPREPORT GOLDEN TRACES"""

import collections
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys

FORMATS = [
    "text",
    "json",
    "csv",
    "nsys-kernels",
    "nsys-api",
    "ascend-kernel_details",
    "ascend-operator_details",
]
PREFIXES = ("Memcpy", "Memset")
# Kernels and their time, as told where the traces come from.
KINETO = {
    "cuda_simple_add": (79, 10728),
    "triton_driver_launch": (1, 1.76),
    "rocm_minitoy_train": (14, 110.881),
    "h100_bert_small": (60, 307.197),
    "torch_compile_triton": (12, None),
}
TOO_LONG = {("kineto_h100_bert_small", "ascend-operator_details")}


def inputs(golden, traces):
    lists, own = golden / "eventlist", golden / "kernels"
    cases = {
        name: lists / name / "case.json"
        for name in (
            "cuda_kernels",
            "random_cuda_a",
            "legacy_cuda",
            "nested_cpu",
            "random_cpu_messy",
        )
    }
    cases["ascend_l2"] = traces / "ascend_kernel_details_l2.csv"
    cases["ascend_first"] = own / "ascend_first" / "kernel_details.csv"
    cases["ascend_latest"] = own / "ascend_latest" / "kernel_details.csv"
    cases["ascend_operators"] = own / "ascend_operators" / "operator_details.csv"
    cases["ascend_run"] = own / "ascend_run"
    cases |= {f"kineto_{name}": traces / f"kineto_{name}.json.gz" for name in KINETO}
    return {name: path for name, path in cases.items() if path.exists()}


def run(program, path, form, *words):
    return subprocess.run(
        [program, "kernels", "--format", form, *words, str(path)], capture_output=True, timeout=60
    )


# ---- bytes ----


def check_bytes(program, path, expected, form, write):
    done = run(program, path, form, "--repeat=4", "--merge-numbered")
    got = done.stdout if done.returncode in (0, 3) else b"exit %d\n" % done.returncode
    if write:
        expected.write_bytes(got)
    want = expected.read_bytes()
    return None if got == want else f"differs: {got[:100]!r}, not {want[:100]!r}; {done.stderr!r}"


# ---- the numbers, computed another way ----


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def differ_rows(rows, durations):
    """The report's rows against a dict from name to durations in microseconds."""
    if {r["name"] for r in rows} != set(durations):
        return f"names {sorted(r['name'] for r in rows)}, not {sorted(durations)}"
    everything = sum(map(sum, durations.values()))
    for row in rows:
        values = durations[row["name"]]
        want = {
            "total_us": sum(values),
            "count": len(values),
            "average_us": sum(values) / len(values),
            "median_us": statistics.median(values),
            "minimum_us": min(values),
            "maximum_us": max(values),
            "stddev_us": statistics.stdev(values) if len(values) > 1 else 0.0,
            "share_percent": 100 * sum(values) / everything,
            "per_repeat_us": sum(values),
        }
        wrong = [k for k in want if not near(row[k], want[k])]
        if wrong:
            return f"{row['name']}: {wrong[0]} is {row[wrong[0]]}, not {want[wrong[0]]}"
    totals = [r["total_us"] for r in rows]
    return (
        None if totals == sorted(totals, reverse=True) else "rows are not in order of their totals"
    )


def device_durations(events):
    durations = collections.defaultdict(list)
    for event in events:
        elapsed = (
            event["end_us"] - event["start_us"]
            if event.get("use_device") and not event.get("is_async")
            else 0
        )
        if (
            event.get("device_type", "CPU") != "CPU"
            and not event.get("is_user_annotation")
            and not event["name"].startswith(PREFIXES)
            and elapsed > 0
        ):
            durations[event["name"]].append(elapsed)
    return dict(durations)


def differ_totals(report, folder):
    """Host time, and device time by name, against what the reference said."""
    want = json.loads((folder / "self_cpu_time_total.txt").read_text())
    if not near(report["totals"]["self_cpu_time_total"], want):
        return f"host time {report['totals']['self_cpu_time_total']}, not {want}"
    sums = collections.Counter()
    for row in json.loads((folder / "avg.json").read_text()):
        if row["device_type"] != "CPU" and not row["is_user_annotation"]:
            sums[row["key"]] += row["self_device_time_total"]
    if report["rows_are"] == "kernels":
        for row in report["rows"]:
            if not near(row["total_us"], sums[row["name"]]):
                return f"{row['name']}: {row['total_us']}, the reference has {sums[row['name']]}"
    return None


def check_list(program, folder):
    done = run(program, folder / "case.json", "json")
    case = json.loads((folder / "case.json").read_text())
    if not case["events"]:
        return None if done.returncode == 1 else "an empty list gave a report"
    if done.returncode:
        return done.stderr.decode()
    report = json.loads(done.stdout)
    durations = device_durations(case["events"])
    elapsed = max(e["end_us"] for e in case["events"]) - min(e["start_us"] for e in case["events"])
    if not near(report["totals"]["elapsed_us"], elapsed):
        return f"elapsed {report['totals']['elapsed_us']}, not {elapsed}"
    problem = differ_rows(report["rows"], durations) if durations else None
    if (
        problem
        or not (folder / "self_cpu_time_total.txt").exists()
        or not (folder / "avg.json").exists()
    ):
        return problem
    return differ_totals(report, folder)


def check_kernel_details(program, path, total=None, names=None):
    report = json.loads(run(program, path, "json").stdout)
    durations, skipped, negative = collections.defaultdict(list), 0, 0
    with open(path, encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            value = None if row["Duration(us)"] == "N/A" else float(row["Duration(us)"])
            skipped += not value
            negative += bool(value) and value < 0
            if value and value > 0:
                durations[row["Name"]].append(value)
    if (report["skipped"]["without_duration"], report["skipped"]["negative_duration"]) != (
        skipped,
        negative,
    ):
        return f"skipped {report['skipped']}, not {skipped} and {negative}"
    if total is not None and (
        report["totals"]["device_time_us"] != total or len(report["rows"]) != names
    ):
        return f"{report['totals']} in {len(report['rows'])} rows"
    return differ_rows(report["rows"], durations)


def check_operator_details(program, path):
    report = json.loads(run(program, path, "json", "--profiler=framework").stdout)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    want = sum(float(r["Host Self Duration(us)"]) for r in rows)
    total = sum(float(r["Host Total Duration(us)"]) for r in rows)
    got = report["totals"]
    return (
        None
        if near(got["self_cpu_time_total"], want) and near(got["cpu_time_total"], total)
        else f"{got}"
    )


# ---- other tools' traces ----


def check_trace(program, path, calls, total):
    done = run(program, path, "json")
    if done.returncode:
        return done.stderr.decode()
    report = json.loads(done.stdout)
    totals = report["totals"]
    good = totals["calls"] == calls and (total is None or near(totals["device_time_us"], total))
    return None if good and report["rows_are"] == "kernels" else f"{totals}"


def check_summary(program, path, summary):
    """Kernel by kernel against another tool's summary, whose rows are split by operator and stream."""
    column = "Kernel duration (µs)_"
    want = collections.defaultdict(lambda: [0.0, 0, math.inf, 0.0])
    with open(summary, newline="") as file:
        for row in csv.DictReader(file):
            all_of_it = want[row["Kernel name"]]
            all_of_it[0] += float(row[column + "sum"])
            all_of_it[1] += int(row[column + "count"])
            all_of_it[2] = min(all_of_it[2], float(row[column + "min"]))
            all_of_it[3] = max(all_of_it[3], float(row[column + "max"]))
    rows = json.loads(run(program, path, "json").stdout)["rows"]
    got = {r["name"]: [r["total_us"], r["count"], r["minimum_us"], r["maximum_us"]] for r in rows}
    if set(got) != set(want):
        return f"names differ: {set(got) ^ set(want)}"
    return next(
        (f"{n}: {got[n]}, not {want[n]}" for n in got if not all(map(near, got[n], want[n]))), None
    )


# ---- the program: statuses and what it says on standard error ----

HEADER = b"Name,Type,Start Time(us),Duration(us)\n"
PROGRAM = [  # words, input, status, what standard error says
    ([], HEADER + b"a,T,1,2\n", 0, b""),
    (
        ["--format=csv"],
        HEADER + b"a,T,1,2\nb,T,1,0\nc,T,1,-1\n",
        0,
        b"profiler: ascend; rows: kernels\ntpreport: skipped: 1 without a duration, 1 with a negative one\n",
    ),
    (
        [],
        HEADER + b"a,T,1,2\na,T,1",
        3,
        b"-: at byte 46: line 3 is cut short by the file's end, found 3 of 4 columns\n",
    ),
    ([], HEADER + b'a,T,1,2\n"a', 3, b"line 3 is cut short within quotes, found 1 of 4 columns\n"),
    (
        [],
        HEADER + b"a,T,1,2\na,T,1,2,3\n",
        1,
        b"-: at byte 46: line 3: found 5 columns, expected 4 as in the header\n",
    ),
    (
        [],
        HEADER + b"a,T,1,2us\n",
        1,
        b"-: at byte 44: line 2, column 'Duration(us)': found \"2us\", expected microseconds or N/A\n",
    ),
    (
        [],
        HEADER + b'"a"b,T,1,2\n',
        1,
        b"line 2: found 'b' behind a closing quote, expected a comma",
    ),
    (
        [],
        b"Name,Type,Duration(us)" + b",x" * 5000 + b"\n",
        1,
        b"line 1: more than 1024 columns, expected fewer\n",
    ),
    ([], b"Name,Size\na,1\n", 1, b"expected "),
    ([], HEADER, 1, b"nothing to measure"),
    (
        ["--profiler=framework"],
        HEADER + b"a,T,1,2\n",
        1,
        b"it can serve ascend, device, wallclock\n",
    ),
    (["--profiler=cuda"], HEADER, 2, b"expected one of ascend, device, framework, wallclock\n"),
    (["--repeat=0"], HEADER, 2, b"--repeat: found '0', expected a number of at least 1\n"),
    (["--device-time-attr=time"], HEADER, 2, b"expected one of self_device_time_total, "),
    (["--sort-by=x"], HEADER, 2, b"the nearest first: "),
    (
        ["--format=xml"],
        HEADER,
        2,
        b"there is text, json, csv, nsys-kernels, nsys-api, ascend-kernel_details, "
        b"ascend-operator_details\n",
    ),
    (["--pid=3"], HEADER + b"a,T,1,2\n", 1, b"can't be selected from by process or rank"),
    (["--from=1"], HEADER + b"a,T,1,2\n", 1, b"need a file that can be read twice"),
]


def check_program(program, words, text, status, message):
    done = subprocess.run(
        [program, "kernels", *words, "-"], input=text, capture_output=True, timeout=60
    )
    if (
        done.returncode != status
        or message not in done.stderr
        or bool(done.stderr) != bool(message)
    ):
        return f"exit {done.returncode}, {done.stderr!r}, not {status}, {message!r}"
    return None if bool(done.stdout) == (status in (0, 3)) else f"output: {done.stdout[:80]!r}"


def checks(program, golden, traces, write):
    for number, (words, text, status, message) in enumerate(PROGRAM):
        yield f"program {number}: {' '.join(words)}", lambda: check_program(
            program, words, text, status, message
        )
    for name, path in inputs(golden, traces).items():
        for form in FORMATS:
            if (name, form) in TOO_LONG:
                continue
            yield f"{name}: {form}", lambda: check_bytes(
                program, path, golden / "kernels" / name / form, form, write
            )
    for folder in sorted(p.parent for p in (golden / "eventlist").glob("*/case.json")):
        yield f"{folder.name}: numbers", lambda: check_list(program, folder)
    for name, (calls, total) in KINETO.items():
        path = traces / f"kineto_{name}.json.gz"
        if path.exists():
            yield f"{name}: numbers", lambda: check_trace(program, path, calls, total)
    path, summary = (
        traces / f"kineto_h100_bert_small.{end}"
        for end in ("json.gz", "expected_kernel_summary.csv")
    )
    if path.exists():
        yield "h100_bert_small: kernel by kernel", lambda: check_summary(program, path, summary)
    yield "ascend_l2: numbers", lambda: check_kernel_details(
        program, traces / "ascend_kernel_details_l2.csv", 10061.159, 7
    )
    for name in ("ascend_first", "ascend_latest"):
        yield f"{name}: numbers", lambda: check_kernel_details(
            program, golden / "kernels" / name / "kernel_details.csv"
        )
    yield "ascend_operators: numbers", lambda: check_operator_details(
        program, golden / "kernels/ascend_operators/operator_details.csv"
    )


def main():
    words = sys.argv[1:]
    write = "--write" in words
    program, golden, traces = [w for w in words if w != "--write"]
    number = failed = 0
    for name, check in checks(program, pathlib.Path(golden), pathlib.Path(traces), write):
        number += 1
        problem = check()
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {number} - {name}")
        if problem:
            print(f"# {problem}")
    print(f"1..{number}")
    return failed > 0


sys.exit(main())
