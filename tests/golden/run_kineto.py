#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Raw records, recorded runs and Kineto traces through the command line; prints TAP.
usage: run_kineto.py TPREPORT CASES"""

import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from run_eventlist import command, compare

# Old tables wrote their units so; two blanks keep the cells' width where a unit has grown.
OLD_UNITS = [("Kb", "KB"), ("Mb", "MB"), ("Gb", "GB"), ("b", "B")]
TORCH113 = {
    "table_avg.txt": ["averages", "--row-limit=-1"],
    "table_avg_sorted.txt": ["averages", "--sort-by=self_cpu_time_total", "--row-limit=10"],
    "table_avg_shapes.txt": [
        "averages",
        "--group-by-input-shapes",
        "--sort-by=cpu_time_total",
        "--row-limit=40",
    ],
    "table_avg_stack3.txt": [
        "averages",
        "--group-by-stack-n=3",
        "--sort-by=self_cpu_memory_usage",
        "--row-limit=30",
    ],
    "table_events_top.txt": ["events", "--top-level-events-only", "--row-limit=-1"],
    "stacks_cpu.txt": ["stacks", "--metric=self_cpu_time_total"],
}


def run(program, words, path):
    return subprocess.run([program, *words, str(path)], capture_output=True, timeout=60)


def cases(program, root):
    """(name, problem or None) of every case that has records, both from them and from its trace."""
    for folder in sorted(p.parent for p in root.glob("*/case.json")):
        case = json.loads((folder / "case.json").read_text())
        inputs = [("records", folder / "case.json")]
        if "trace" in case:
            inputs.append(("trace", root / case["trace"]))
        for output in case["outputs"]:
            if output["op"] == "parsed":  # before the tree is built: a unit test
                continue
            for source, path in inputs:
                done = run(program, command(output), path)
                yield f"{folder.name}: {output['name']} from {source}", compare(
                    output, (folder / output["file"]).read_bytes(), done
                )


def new_units(text):
    for old, new in OLD_UNITS:
        text = re.sub(rf"(\d) {old}(?= )", rf"\1 {new}", text)
    return text


def shown_stacks(text, most):
    """A table whose rows show at most so many entries of their stacks."""
    lines, shown = [], 0
    for line in text.splitlines(keepends=True):
        is_more = line.startswith(
            " " * 60
        )  # no name: a further entry, or the blank line behind them
        shown = shown + 1 if is_more and line.strip() else 1
        if not is_more or not line.strip() or shown <= most:
            lines.append(line)
    return "".join(lines)


def recorded(program, root):
    for folder in sorted(p.parent for p in root.glob("*/events.json.gz")):
        for name, words in TORCH113.items():
            done = run(program, words, folder / "events.json.gz")
            want, got = (folder / name).read_text(), done.stdout.decode()
            if name.startswith("table"):
                want = new_units(want)
            if name == "table_events_top.txt":
                got = shown_stacks(got, 5)
            yield f"{folder.name}: {name}", (
                None if want == got else f"bytes differ: {done.stderr.decode()}"
            )
        trace = gzip.open(folder / "trace.json.gz", "rb").read()
        done = run(program, ["trace", "--style=list"], folder / "events.json.gz")
        yield f"{folder.name}: trace", None if done.stdout == trace else "bytes differ"


def however_it_is_packed_it_reads_the_same(program, trace, folder):
    plain = gzip.open(trace).read()
    (folder / "plain").write_bytes(plain)
    (folder / "twice.gz").write_bytes(gzip.compress(plain[:9999]) + gzip.compress(plain[9999:]))
    want = run(program, [], trace)
    assert want.returncode == 0 and not want.stderr, want
    paths = [folder / "plain", folder / "twice.gz"]
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", folder / "plain", "-o", folder / "x.zst"], check=True)
        paths.append(folder / "x.zst")
    for path in paths:
        assert run(program, [], path).stdout == want.stdout, path
    for data in (plain, trace.read_bytes()):
        piped = subprocess.run([program, "-"], input=data, capture_output=True, timeout=60)
        assert piped.stdout == want.stdout, piped


def a_killed_writers_file_is_printed_and_the_status_is_3(program, trace, folder):
    whole = gzip.open(trace).read()
    packed = trace.read_bytes()
    for data in (whole[: whole.rindex(b'"kernel"')], packed[: len(packed) - 40]):
        (folder / "cut").write_bytes(data)
        done = run(program, [], folder / "cut")
        assert done.returncode == 3 and done.stdout, done
        assert (
            b"its writer was stopped" in done.stderr and done.stderr.count(b"\n") == 1
        ), done.stderr


def broken_files_give_one_line_with_file_byte_and_line(program, trace, folder):
    whole = gzip.open(trace).read()
    at = whole.index(b'"cudaLaunchKernel"')
    for data in (whole[:at] + b'"\x01' + whole[at + 1 :], whole[:at] + b"}" + whole[at:]):
        (folder / "broken").write_bytes(data)
        done = run(program, [], folder / "broken")
        assert done.returncode == 1 and not done.stdout, done
        assert re.fullmatch(
            rb"tpreport: .*/broken: at byte \d+: line \d+: found .*, expected .*\n", done.stderr
        ), done
    damaged = bytearray(trace.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    (folder / "damaged.gz").write_bytes(damaged)
    done = run(program, [], folder / "damaged.gz")
    assert done.returncode in (1, 3) and done.stderr, done


def settings_follow_the_command_line(program, trace, _):
    trace = trace.with_name("mi250_toy_train.json.gz")
    text = run(program, [], trace).stdout.decode()
    assert "Self CUDA" in text and "CPU Mem" not in text and "FLOPs" not in text
    text = run(program, ["--memory", "--flops", "--device=xpu"], trace).stdout.decode()
    assert "Self XPU" in text and "CPU Mem" in text and "FLOPs" in text, text
    assert (
        "Self" in text
        and "CUDA" not in run(program, ["--device=none"], trace).stdout.decode().split("\n")[1]
    )


BEHAVIOUR = [
    however_it_is_packed_it_reads_the_same,
    a_killed_writers_file_is_printed_and_the_status_is_3,
    broken_files_give_one_line_with_file_byte_and_line,
    settings_follow_the_command_line,
]


def behaviour(program, root):
    for test in BEHAVIOUR:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(program, root / "traces/alexnet_cuda.json.gz", pathlib.Path(folder))
                yield test.__name__, None
            except Exception as problem:
                yield test.__name__, repr(problem)[:500].replace("\n", " ")


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    number = failed = 0
    for name, problem in [
        *cases(program, root),
        *recorded(program, root),
        *behaviour(program, root),
    ]:
        number += 1
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {number} - {name}")
        if problem:
            print(f"# {problem}")
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
