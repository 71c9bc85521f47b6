# SPDX-License-Identifier: MIT
"""Capture windows: what opens and closes them, what is recorded then, and that the program sees
nothing of it. Programs are driven command by command, so that signals come where they are meant to.
"""

import json
import os
import signal
import subprocess
import time

import tap

WINDOWS = os.path.join(os.environ["WORKLOADS"], "windows")
PYTHONS = {
    "the system's torch": os.environ.get("PYTHON", "/usr/bin/python3"),
    "the newest torch": os.path.join(os.environ.get("TEST_VENV", ""), "bin/python"),
}
USR2 = int(signal.SIGUSR2)


class Driven:
    """A program that does what it is told."""

    def __init__(self, out, **variables):
        self.child = subprocess.Popen(
            [WINDOWS],
            env=tap.recorded_environment(out, **variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.signal = self.child.send_signal
        self.do("calls")  # it has started

    def do(self, *commands):
        """Answers to commands, each done when the next one is given."""
        answers = []
        for command in commands:
            self.child.stdin.write(command + "\n")
            self.child.stdin.flush()
            answers.append(self.child.stdout.readline().rstrip("\n"))
        return answers

    def range(self, name, thread=None):
        on = f"on {thread} " if thread is not None else ""
        return self.do(f"{on}begin {name}", f"{on}end")

    def end(self):
        """Return: lines on stderr; the program must have ended well."""
        said = self.child.communicate("exit\n", timeout=60)[1].splitlines()
        tap.equal(self.child.returncode, 0, "status")
        return said


def report(out, *words):
    done = tap.run([tap.TPREPORT, *words, "--format", "json", out], tap.clean_environment())
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def counts(out):
    """Calls by name, ranges that end elsewhere as well."""
    return {row["key"]: row["count"] for row in report(out)["rows"]}


def windows(out):
    return [p["capture"]["count"] for p in report(out, "info")["processes"]]


def driven(commands, expected, windows_expected, **variables):
    """Do @commands (functions are called with the program) and compare what was recorded."""
    with tap.folder() as out:
        program = Driven(out, **variables)
        for command in commands:
            if callable(command):
                command(program)
            else:
                answer = program.do(command)
                assert answer != ["unknown"], command
        tap.equal(program.end(), [], "stderr")
        tap.equal(counts(out), expected, "recorded")
        tap.equal(windows(out), [windows_expected], "windows")


def by_range():
    for begin, end in (
        ("begin step", "end"),
        ("push step", "pop"),
        ("task step", "taskend"),
        ("start 0 step", "stop 0"),
        ("nstart 0 step", "nstop 0"),
        ("over 0 step", "overend 0"),
    ):
        inside = [begin, "begin inside", "end", end]
        commands = ["begin before", "end", *inside, "begin between", "end", *inside]
        driven(
            [*commands, "begin after", "end"],
            {"step": 2, "inside": 2},
            2,
            TPAGENT_CAPTURE="range:step",
        )


def a_name_is_the_whole_name():
    commands = ["begin steps", "begin no", "end", "end", "begin ste", "end", "begin step", "end"]
    driven(commands, {"step": 1}, 1, TPAGENT_CAPTURE="range:step")
    driven(commands, {"step": 1, "steps": 1, "no": 1}, 2, TPAGENT_CAPTURE="range:step*")
    driven(commands, {}, 0, TPAGENT_CAPTURE="range:nothing")


def nested_ranges_of_one_name():
    driven(
        ["begin step", "push step", "begin step", "end", "begin a", "end", "pop", "begin b", "end"]
        + ["end", "begin c", "end"],
        {"step": 3, "a": 1, "b": 1},
        1,
        TPAGENT_CAPTURE="range:step",
    )


def on_several_threads():
    """Open as long as one of them is; they end in another order."""
    driven(
        ["on 1 begin step", "on 2 begin step", "on 0 begin a", "on 0 end", "on 1 end"]
        + ["on 0 begin b", "on 0 end", "on 1 begin c", "on 1 end", "on 2 end"]
        + ["on 0 begin d", "on 0 end", "begin e", "end"],
        {"step": 2, "a": 1, "b": 1, "c": 1},
        1,
        TPAGENT_CAPTURE="range:step",
    )


def it_ends_on_another_thread():
    driven(
        ["on 1 start 3 step", "begin a", "end", "on 2 stop 3", "begin b", "end"],
        {"step": 1, "a": 1},
        1,
        TPAGENT_CAPTURE="range:step",
    )


def wait_until(out, true):
    for _ in range(400):
        if true(out):
            return
        time.sleep(0.05)
    raise AssertionError("in 20 seconds")


def closed_windows(out):
    text = ""
    for folder in tap.process_folders(out):
        with open(os.path.join(folder, "meta.jsonl"), encoding="utf-8") as file:
            text += file.read()
    return text.count('"state":"closed"') - 1


def a_thread_ends_inside():
    with tap.folder() as out:
        program = Driven(out, TPAGENT_CAPTURE="range:step")
        program.do("on 1 begin step", "begin a", "end", "on 1 quit")
        wait_until(out, lambda out: closed_windows(out) == 1)
        program.range("b")
        program.end()
        recorded = counts(out)
        tap.equal((recorded["a"], recorded.get("b")), (1, None), "recorded")


def open_ranges_around():
    """A window inside of ranges that began outside of it, again and again, at several depths."""
    around = ["begin outer", "begin middle", "push other"]
    window = ["begin step", "begin inside", "end", "end"]
    deep = ["start 0 step", "begin x", "stop 0", "begin left out", "start 1 step", "begin y"]
    deep += ["stop 1", "begin left out, too", "end", "end", "end", "end"]
    driven(
        around + window + deep + ["end"] + window + ["pop", "end", *window],
        {"step": 5, "inside": 3, "x": 1, "y": 1},
        5,
        TPAGENT_CAPTURE="range:step",
    )


def the_counters_are_whole():
    """Operators' net bytes are the thread's, whatever the window left out before."""
    with tap.folder() as out:
        program = Driven(out, TPAGENT_CAPTURE="range:step")
        program.do("begin outside", "begin x", "end", "begin step", "end", "end")
        program.end()
        (row,) = report(out)["rows"]
        tap.equal(row["cpu_memory_usage"], 0, "bytes")


def a_child_has_its_own_window():
    with tap.folder() as out:
        program = Driven(out, TPAGENT_CAPTURE="range:step")
        program.do("begin step", "fork", "begin of the child", "end")
        tap.equal(program.do("begin step", "begin inside", "end", "end"), ["done"] * 4, "child")
        program.do("begin behind", "end", "exit")
        tap.equal(program.child.stdout.readline(), "parent\n", "parent")
        program.do("begin parent", "end", "end")
        program.end()
        tap.equal(counts(out), {"step": 2, "inside": 1, "parent": 1}, "recorded")
        tap.equal(windows(out), [1, 1], "windows")


def by_signal():
    for name, number in (
        ("USR2", USR2),
        ("SIGUSR1", int(signal.SIGUSR1)),
        (str(USR2), USR2),
        ("RTMIN+3", signal.SIGRTMIN + 3),
        ("SIGRTMAX-1", signal.SIGRTMAX - 1),
    ):

        def kill(program, number=number):
            program.signal(number)
            # only when it has been handled is another command read
            program.do(f"ask {int(number)}")
            time.sleep(0.05)

        driven(
            ["begin a", "end", kill, "begin b", "end", "begin open"]
            + [kill, "end", "begin c", "end", kill, "begin d", "end"],
            {"b": 1, "open": 1, "d": 1},
            2,
            TPAGENT_CAPTURE=f"signal:{name}",
        )


def the_program_sees_the_default():
    with tap.folder() as out:
        program = Driven(out, TPAGENT_CAPTURE="signal:USR2")
        answers = program.do(f"ask {USR2}", f"own {USR2}", f"ask {USR2}", f"default {USR2}")
        tap.equal(answers, ["default", "default", "own", "own"], "sigaction")
        answers = program.do(f"signal {USR2}", f"unsignal {USR2}", f"unsignal {USR2}")
        tap.equal(answers, ["default", "own", "default"], "signal")
        answers = program.do(f"ignore {USR2}", f"ask {USR2}", f"default {USR2}", f"ask {USR2}")
        tap.equal(answers, ["default", "ignored", "ignored", "default"], "ignored")
        program.signal(USR2)  # with the default action that it sees it would be dead
        program.range("a")
        tap.equal(program.end(), [], "stderr")


def the_programs_handler_wins():
    with tap.folder() as out:
        program = Driven(out, TPAGENT_CAPTURE="signal:USR2")
        program.do(f"own {USR2}")
        program.signal(USR2)
        while program.do("calls") != ["1"]:
            time.sleep(0.01)
        program.range("not recorded")
        program.do(f"default {USR2}")
        program.signal(USR2)
        time.sleep(0.1)
        program.range("recorded")
        tap.equal(program.do("calls"), ["1"], "calls of its handler")
        program.end()
        tap.equal(counts(out), {"recorded": 1}, "recorded")
        (process,) = report(out, "info")["processes"]
        tap.equal(["handles the signal" in n for n in process["notes"]], [True], "notes")


def without_a_window_signals_are_the_systems():
    """Same deaths, same answers as without the agent."""
    for variables in ({}, {"TPAGENT_CAPTURE": "signal:USR1"}):
        with tap.folder() as out:
            program = Driven(out, **variables)
            tap.equal(program.do(f"ask {USR2}"), ["default"], "action")
            program.signal(USR2)
            program.child.communicate(timeout=60)
            tap.equal(program.child.returncode, -USR2, "status")


def an_ignored_signal_is_left_alone():
    with tap.folder() as out:
        done = subprocess.run(
            [WINDOWS],
            env=tap.recorded_environment(out, TPAGENT_CAPTURE="signal:USR2"),
            input=f"ask {USR2}\nbegin a\nend\nexit\n",
            capture_output=True,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),
        )
        tap.equal(done.stdout.split("\n")[0], "ignored", "action")
        line = "tpagent: TPAGENT_CAPTURE=signal:USR2: it is ignored from the start; using always\n"
        tap.equal(done.stderr, line, "stderr")
        tap.equal(counts(out), {"a": 1}, "recorded")


def a_child_goes_on_with_the_signal():
    with tap.folder() as out:
        program = Driven(out, TPAGENT_CAPTURE="signal:USR2")
        program.signal(USR2)
        program.do(f"ask {USR2}")
        time.sleep(0.05)
        program.do("fork", "begin of the child", "end", "exit")
        tap.equal(program.child.stdout.readline(), "parent\n", "parent")
        program.signal(USR2)
        program.do(f"ask {USR2}")
        time.sleep(0.05)
        program.range("not")
        program.end()
        tap.equal(counts(out), {"of the child": 1}, "recorded")


def pause(program):
    del program
    time.sleep(0.4)


def by_time():
    """Far apart from the times: the machine may be slow, and then all of it comes later."""
    driven(
        ["begin a", "end", lambda p: time.sleep(2.5), "begin b", "end"],
        {"b": 1},
        1,
        TPAGENT_DELAY="2s",
    )
    driven(["begin a", "end"], {}, 0, TPAGENT_DELAY="1h")
    driven(["begin a", "end"], {"a": 1}, 1, TPAGENT_DURATION="1h")
    driven([pause, "begin a", "end"], {}, 1, TPAGENT_DURATION="1ms")


def each_window_has_its_duration():
    window = ["begin step", pause, "begin late", "end", "end"]
    driven(
        [*window, "begin between", "end", *window],
        {"step": 2},
        2,
        TPAGENT_CAPTURE="range:step",
        TPAGENT_DURATION="50ms",
    )


def a_signal_starts_anew_after_its_duration():
    def kill(program):
        program.signal(USR2)
        program.do(f"ask {USR2}")

    driven(
        [kill, pause, "begin late", "end", kill, pause, "begin late", "end"],
        {},
        2,
        TPAGENT_CAPTURE="signal:USR2",
        TPAGENT_DURATION="50ms",
    )


def a_duration_that_nobody_sees():
    """The process records nothing more, and the window is closed all the same."""
    with tap.folder() as out:
        program = Driven(out, TPAGENT_DURATION="50ms")
        program.do("on 1 begin a", "on 1 end")
        wait_until(out, lambda out: closed_windows(out) == 1)
        program.end()


def a_schedule_of_ranges():
    """wait 1, warmup 1, active 2: steps 2, 3, and with repeat 2 also 6, 7."""
    steps = []
    for i in range(14):
        steps += ["begin step", f"begin s{i}", "end", "end", f"begin g{i}", "end"]
    for schedule, inside, gaps in (
        ("1,1,2,2", (2, 3, 6, 7), (2, 6)),
        ("1,1,2,1", (2, 3), (2,)),
        ("0,0,1,1", (0,), ()),
        ("1,1,2,1,3", (5, 6), (5,)),
        ("1,1,2", (2, 3, 6, 7, 10, 11), (2, 6, 10)),
        ("1,1,2,0", (2, 3, 6, 7, 10, 11), (2, 6, 10)),
    ):
        expected = {"step": len(inside), **{f"s{i}": 1 for i in inside}}
        expected.update({f"g{i}": 1 for i in gaps})
        driven(
            steps,
            expected,
            len(inside) - len(gaps),
            TPAGENT_CAPTURE="range:step",
            TPAGENT_SCHEDULE=schedule,
        )


def a_wrong_value_says_so():
    once = "is not wait,warmup,active[,repeat[,skip_first]] in steps, with active at least 1"
    signals = "names no signal that can be used: USR1, USR2, RTMIN+n or RTMAX-n; using always"
    for name, value, what in (
        ("CAPTURE", "signal:KILL", signals),
        ("CAPTURE", "signal:SEGV", signals),
        ("CAPTURE", "signal:RTMIN+99", signals),
        ("CAPTURE", "signal:9", signals),
        ("CAPTURE", "signal:", signals),
        ("CAPTURE", "range:", "names no range: 1 to 255 bytes; using always"),
        ("DELAY", "10 s", "is no time, such as 500ms, 10s or 2m; using 0s"),
        ("DURATION", "-1s", "is no time, such as 500ms, 10s or 2m; using 0s"),
        ("DURATION", "9999999999h", "is no time, such as 500ms, 10s or 2m; using 0s"),
        ("SCHEDULE", "1,1", once + "; using none"),
        ("SCHEDULE", "1,1,0", once + "; using none"),
        ("SCHEDULE", "1,1,1,1,1,1", once + "; using none"),
        ("SCHEDULE", "a,b,c,d", once + "; using none"),
    ):
        with tap.folder() as out:
            program = Driven(out, **{f"TPAGENT_{name}": value})
            program.range("a")
            said = program.end()
            tap.equal(said, [f"tpagent: TPAGENT_{name}={value} {what}"], value)
            tap.equal(counts(out), {"a": 1}, "recorded")


def a_report_says_what_it_covers():
    with tap.folder() as out:
        program = Driven(out, TPAGENT_CAPTURE="range:step")
        program.do("begin step", "end")
        program.end()
        done = tap.run([tap.TPREPORT, out], tap.clean_environment())
        head = done.stderr.decode()
        start = "tpreport: recorded in 1 capture window (range:step): "
        assert head.startswith(start) and head.count("\n") == 1, head
        (process,) = report(out, "info")["processes"]
        capture = process["capture"]
        (window,) = capture["windows"]
        tap.equal(window["end_ns"] - window["start_ns"], capture["open_ns"], "open")
        assert 0 < capture["open_ns"] < capture["of_ns"], capture
        start_ns = process["start_ns"]
        assert start_ns < window["start_ns"] < window["end_ns"] < start_ns + capture["of_ns"]


def many_windows():
    """More than have lines: the sums count all of them."""
    with tap.folder() as out:
        program = Driven(out, TPAGENT_CAPTURE="range:step")
        program.child.stdin.write("begin step\nend\n" * 2500)
        program.child.stdin.flush()
        for _ in range(5000):
            program.child.stdout.readline()
        program.end()
        tap.equal((counts(out), windows(out)), ({"step": 2500}, [2500]), "recorded")


LOOP = """
import torch
from torch.autograd.profiler import record_function
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(2, 4)
for i in range(8):
    with record_function(%s):
        with record_function("inside %%d" %% i):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
"""


def recorded_steps(python, loop, **variables):
    if not os.path.exists(python) or tap.run([python, "-c", "import torch"], None).returncode:
        raise tap.Skip("no torch here")
    with tap.folder() as out:
        variables["TPAGENT_SOURCES"] = "-cuda"  # without a driver there is a line about it
        done = tap.run([python, "-c", loop], tap.recorded_environment(out, **variables))
        tap.equal((done.returncode, done.stderr), (0, b""), "the program")
        seen = counts(out)
        steps = sorted(int(k.split()[1]) for k in seen if k.startswith("inside "))
        return seen, steps


def torch_steps(python):
    loop = LOOP % '"ProfilerStep#%d" % i'
    for capture, expected in (
        ("range:ProfilerStep#3", [3]),
        ("range:ProfilerStep*", list(range(8))),
        ("range:ProfilerStep#*", list(range(8))),
        ("range:inside 5", [5]),
    ):
        seen, steps = recorded_steps(python, loop, TPAGENT_CAPTURE=capture)
        tap.equal(steps, expected, capture)
        tap.equal(seen["aten::linear"], len(expected), capture)
        if capture != "range:inside 5":
            tap.equal(seen["ProfilerStep*"], len(expected), capture)
    seen, steps = recorded_steps(python, loop, TPAGENT_SCHEDULE="1,1,2,1")
    tap.equal((steps, seen["ProfilerStep*"], seen["aten::linear"]), ([2, 3], 2, 2), "schedule")


def optimizer_steps(python):
    """Without steps of a profiler those of the optimizer count, from the end of the first on."""
    loop = LOOP % '"loop %d" % i'
    seen, steps = recorded_steps(python, loop, TPAGENT_SCHEDULE="1,1,2,1")
    tap.equal(steps, [3, 4], "steps")
    tap.equal((seen["aten::linear"], seen["Optimizer.step#SGD.step"]), (2, 2), "recorded")


def the_range_of_an_operator(python):
    loop = "import torch\nx = torch.ones(4)\nfor i in range(5):\n    x.sum(); x.max()"
    seen, _ = recorded_steps(python, loop, TPAGENT_CAPTURE="range:aten::sum")
    tap.equal((seen["aten::sum"], "aten::max" in seen), (5, False), "recorded")


t = tap.Tap()
t.check("a range of each kind opens the window and is in it", by_range)
t.check("a name is the whole name, unless it ends in a star", a_name_is_the_whole_name)
t.check("ranges of one name in each other are one window", nested_ranges_of_one_name)
t.check("a window is open while one thread has the range open", on_several_threads)
t.check("a range that ends on another thread closes the window", it_ends_on_another_thread)
t.check("a thread that ends inside of the range leaves no window open", a_thread_ends_inside)
t.check("a window inside of ranges that began outside of it", open_ranges_around)
t.check("counters are whole in a window", the_counters_are_whole)
t.check("a forked child has no range open", a_child_has_its_own_window)
t.check("signals open and close in turn", by_signal)
t.check("the program sees the default action", the_program_sees_the_default)
t.check("a handler of the program takes the signal, and gives it back", the_programs_handler_wins)
t.check("other signals do what they do", without_a_window_signals_are_the_systems)
t.check("a signal that is ignored from the start is left alone", an_ignored_signal_is_left_alone)
t.check("a forked child begins with its parent's window", a_child_goes_on_with_the_signal)
t.check("a delay, a duration", by_time)
t.check("each window has its duration", each_window_has_its_duration)
t.check("a signal starts anew after its duration", a_signal_starts_anew_after_its_duration)
t.check("a window is closed when nothing is recorded any more", a_duration_that_nobody_sees)
t.check("a schedule counts ranges", a_schedule_of_ranges)
t.check("a wrong value is told in one line", a_wrong_value_says_so)
t.check("a report says what it covers", a_report_says_what_it_covers)
t.check("many windows are counted", many_windows)
for which, python in PYTHONS.items():
    t.check(f"steps of {which}", torch_steps, python)
    t.check(f"steps by optimizer of {which}", optimizer_steps, python)
    t.check(f"an operator as the range, in {which}", the_range_of_an_operator, python)
t.end()
