#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tpreport as a program: exit statuses, streams, files. Prints TAP. usage: run_cli.py TPREPORT"""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
EVENTS = [
    {"id": i, "name": f"op{i % 50}", "start_us": i * 10.0, "end_us": i * 10.0 + 5}
    for i in range(5000)
]


def run(*words, **more):
    more = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "timeout": 30,
        "text": True,
        **more,
    }
    return subprocess.run([PROGRAM, *map(str, words)], **more)


def a_whole_report_exits_with_0(case):
    done = run(case)
    assert done.returncode == 0 and done.stdout and not done.stderr, done


def usage_exits_with_2_and_one_line(case):
    for words in (
        ["--sort-bye=x"],
        ["--format=xml"],
        ["--sort-by=nonsense"],
        ["--max-name-column-width=0"],
        ["stacks", "--metric=x"],
        ["trace", "--style=x"],
        ["tree", "--format=repr"],
    ):
        done = run(*words, case)
        assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1, (
            words,
            done,
        )
        assert done.stderr.startswith("tpreport: "), done


def errors_exit_with_1_and_name_the_file(case):
    broken = case.with_name("broken.json")
    broken.write_text(case.read_text()[:-40])
    for path, text in (
        (broken, "at byte"),
        (case.with_name("absent"), "No such file"),
        (case.parent / "empty", "no recording in this directory"),
    ):
        done = run(path)
        assert done.returncode == 1 and not done.stdout, done
        assert str(path) in done.stderr and text in done.stderr, done


def without_input_the_folder_of_TPAGENT_OUT_is_looked_at(case):
    done = run(env={**os.environ, "TPAGENT_OUT": str(case.parent / "empty")})
    assert done.returncode == 1 and str(case.parent / "empty") in done.stderr, done
    done = run(env={"PATH": "/"}, cwd=case.parent / "empty")
    assert done.returncode == 1 and ".: no recording" in done.stderr, done


def a_reader_that_leaves_early_is_no_error(case):
    process = subprocess.Popen(
        [PROGRAM, "events", "-n", "none", str(case)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    assert process.wait(30) == 0 and not errors, (process.returncode, errors)


def a_full_disk_is_an_error(case):
    for words in ([case], ["--help"], ["-o", "/dev/full", case]):
        with open("/dev/full", "wb") as full:
            done = run(*words, stdout=full)
        assert done.returncode == 1 and "No space left" in done.stderr, (words, done)


def standard_input_is_an_input(case):
    with open(case) as stream:
        assert run("-", stdin=stream).stdout == run(case).stdout
    piped = run("-", input=case.read_text())
    assert piped.returncode == 0 and piped.stdout == run(case).stdout


def a_file_is_replaced_only_by_a_whole_report(case):
    target = case.with_name("report")
    target.write_text("old")
    assert run("-o", target, case.with_name("absent")).returncode == 1
    assert target.read_text() == "old"
    done = run("--output", target, case)
    assert done.returncode == 0 and not done.stdout and target.read_text() == run(case).stdout
    assert [p.name for p in case.parent.glob("report*")] == ["report"]


def several_inputs_make_one_report(case):
    total = json.loads(run("total", "-f", "json", case, case).stdout)["rows"][0]
    assert total["count"] == 2 * len(EVENTS) and total["cpu_time_total"] == 2 * 5.0 * len(
        EVENTS
    ), total


def an_unknown_time_unit_is_noted_and_printed_as_it_fits(case):
    done = run("--time-unit=minutes", case)
    assert (
        done.returncode == 0 and "minutes" in done.stderr and done.stdout == run(case).stdout
    ), done


def a_command_word_can_be_a_file(case):
    path = case.with_name("tree")
    path.write_bytes(case.read_bytes())
    expected = run(case).stdout
    assert run("./tree", cwd=case.parent).stdout == expected
    assert run("--", "tree", cwd=case.parent).stdout == expected
    assert run("averages", "tree", cwd=case.parent).stdout == expected


def version_and_help_need_no_input(case):
    done = run("--version")
    assert done.returncode == 0 and done.stdout.startswith("tpreport "), done
    done = run("--help", "--sort-by=x")
    assert done.returncode == 0 and "--sort-by KEY" in done.stdout, done


def tables_are_the_same_in_any_locale(case):
    env = {**os.environ, "LC_ALL": "de_DE.UTF-8"}
    assert run(case, env=env).stdout == run(case).stdout


def a_mistyped_command_gets_the_nearest(case):
    for word, nearest in (("averges", "averages"), ("kernel", "kernels"), ("evnets", "events")):
        done = run(word, cwd=case.parent)
        assert done.returncode == 1 and not done.stdout, done
        assert f"{word}: no such file, and no such command; nearest: {nearest}" in done.stderr, done
    for word in ("trace.jsn", "./averges", "quite-something-else"):
        done = run(word, cwd=case.parent)
        assert done.returncode == 1 and "nearest" not in done.stderr, done


def unknown_words_get_the_list_or_the_nearest(case):
    for words, text in (
        (["--sort-by=nonsense"], "self_cpu_time_total"),
        (["--sort-bye=x"], "nearest: --sort-by"),
        (["--sort-bye=x"], "; options: --sort-by --row-limit "),
        (["--format=xml"], "text, json, csv, repr"),
        (["stacks", "--format=xml"], "reference, folded, pprof"),
        (["trace", "--style=x"], "kineto, list"),
        (["stacks", "--metric=x"], "self_privateuse1_time_total"),
        (["stacks", "--metric=count"], "--format folded or pprof"),
        (["kernels", "--profiler=x"], "ascend, device, framework, wallclock"),
        (["--of=x"], "events or averages"),
    ):
        done = run(*words, case)
        assert done.returncode == 2 and text in done.stderr and not done.stdout, (words, done)


def an_empty_selection_says_so_and_what_there_is(case):
    for words in (["--thread=nobody"], ["--from=99999"], ["events", "--to=0"]):
        done = run(*words, case)
        assert done.returncode == 0 and done.stderr.count("\n") == 1, (words, done)
        assert f"no event is selected by {words[-1].split('=')[0]}" in done.stderr, done
        assert "threads 1, times from 0.000 to 0.050 s" in done.stderr, done
    assert not run("--thread=1", case).stderr


def a_recording_further_down_is_named(case):
    folder = case.parent / "up"
    deep = folder / "a" / "b" / "tpagent-1"
    deep.mkdir(parents=True)
    (deep / "run.json").write_text("{}")
    done = run(folder)
    assert done.returncode == 1 and f"further down there is {deep}" in done.stderr, done


def help_has_an_example_of_every_command(case):
    text = run("--help").stdout
    commands = text.split("commands:\n")[1].split("\n\n")[0].splitlines()
    examples = text.split("examples:\n")[1].split("\n\n")[0].splitlines()
    names = [line.split()[0] for line in commands]
    assert len(examples) == len(names) > 8, examples
    for name, example in zip(names, examples):
        words = example.split()
        assert words[0] == "tpreport" and (name == "averages" or words[1] == name), example


def a_byte_order_mark_before_json_is_no_matter(case):
    """For each kind of JSON, plain and compressed; places in messages count its bytes."""
    trace = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    record = {"name": "a", "start_ns": 1000, "end_ns": 3000}
    texts = {
        "list": case.read_text(),
        "trace": json.dumps({"schemaVersion": 1, "traceEvents": [trace]}),
        "records": json.dumps({"raw": [record], "trace_start_ns": 0}),
        "exported": run("trace", case).stdout,
    }
    for name, text in texts.items():
        plain, marked = (case.with_name(f"{name}_{kind}.json") for kind in ("plain", "marked"))
        plain.write_text(text)
        marked.write_bytes(b"\xef\xbb\xbf" + text.encode())
        expected = run(plain)
        assert expected.returncode == 0 and expected.stdout, expected
        packed = case.with_name(f"{name}.json.gz")
        packed.write_bytes(gzip.compress(marked.read_bytes()))
        for path in marked, packed:
            done = run(path)
            assert (done.returncode, done.stdout) == (0, expected.stdout), (path, done)
    broken = case.with_name("broken_mark.json")
    broken.write_bytes(b"\xef\xbb\xbf" + b'[{"id": 1, "start_us": }]')
    done = run(broken)
    assert done.returncode == 1 and "at byte 27" in done.stderr, done


def files_named_gz_are_compressed(case):
    for words in (["trace"], ["averages"], ["stacks", "--format=folded"]):
        plain, packed = case.with_name("out.txt"), case.with_name("out.txt.gz")
        assert run(*words, "-o", plain, case).returncode == 0
        assert run(*words, "-o", packed, case).returncode == 0
        mine, theirs = plain.read_text(), gzip.decompress(packed.read_bytes()).decode()
        assert mine.replace("out.txt", "") == theirs.replace("out.txt.gz", ""), words


TESTS = [
    a_mistyped_command_gets_the_nearest,
    unknown_words_get_the_list_or_the_nearest,
    an_empty_selection_says_so_and_what_there_is,
    a_recording_further_down_is_named,
    help_has_an_example_of_every_command,
    a_byte_order_mark_before_json_is_no_matter,
    files_named_gz_are_compressed,
    a_whole_report_exits_with_0,
    usage_exits_with_2_and_one_line,
    errors_exit_with_1_and_name_the_file,
    without_input_the_folder_of_TPAGENT_OUT_is_looked_at,
    a_reader_that_leaves_early_is_no_error,
    a_full_disk_is_an_error,
    standard_input_is_an_input,
    a_file_is_replaced_only_by_a_whole_report,
    several_inputs_make_one_report,
    an_unknown_time_unit_is_noted_and_printed_as_it_fits,
    a_command_word_can_be_a_file,
    version_and_help_need_no_input,
    tables_are_the_same_in_any_locale,
]


def main():
    failed = 0
    for number, test in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as folder:
            case = pathlib.Path(folder) / "case.json"
            (case.parent / "empty").mkdir()
            case.write_text(json.dumps(EVENTS))
            try:
                test(case)
                print(f"ok {number} - {test.__name__}")
            except Exception as problem:
                failed += 1
                print(f"not ok {number} - {test.__name__}")
                print("# " + repr(problem)[:500].replace("\n", "\n# "))
    print(f"1..{len(TESTS)}")
    return failed > 0


sys.exit(main())
