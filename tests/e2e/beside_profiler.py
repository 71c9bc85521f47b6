# SPDX-License-Identifier: MIT
"""Beside torch.profiler in one process: the same operators and times, and its result unharmed."""

import functools
import json
import os

import tap

PYTHON = os.environ.get("TPAGENT_TEST_PYTHON") or os.environ.get("PYTHON", "/usr/bin/python3")

LOOP = """
import json, sys, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
if sys.argv[1] == 'mlp':
    net = nn.Sequential(nn.Linear(96, 192), nn.ReLU(), nn.Linear(192, 96))
    data = torch.randn(64, 96)
else:
    net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 8, 3))
    data = torch.randn(8, 3, 24, 24)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
def step():
    optimizer.zero_grad()
    loss = (net(data) ** 2).mean()
    loss.backward()
    optimizer.step()
for _ in range(20):
    step()
with torch.autograd.profiler.profile() as prof:
    with torch.autograd.profiler.record_function('window'):
        for _ in range(100):
            step()
rows = prof.key_averages()
print(json.dumps({r.key: [r.count, r.self_cpu_time_total] for r in rows}))
"""


def profiled(environment, model):
    done = tap.run([PYTHON, "-c", LOOP, model], environment)
    if done.returncode:
        if b"No module named 'torch'" in done.stderr:
            raise tap.Skip("no torch for " + PYTHON)
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout.decode().splitlines()[-1])


@functools.lru_cache(maxsize=None)
def counts_are_exact():
    """Without Kineto times are whole microseconds, and short operators are nested at random."""
    program = "import torch; print(torch.profiler.kineto_available())"
    return tap.run([PYTHON, "-c", program], tap.clean_environment()).stdout.strip() == b"True"


def allowed(count):
    """How far apart two counts of an operator may be."""
    return 2 if counts_are_exact() else count + 20


def inside_window(out):
    """(self time in us, calls by name) of what the recording has inside the range `window`."""
    done = tap.run(
        [tap.TPREPORT, "events", "--format", "json", "--row-limit=-1", out],
        tap.clean_environment(),
    )
    tap.equal(done.returncode in (0, 3), True, "tpreport: " + done.stderr.decode())
    rows = json.loads(done.stdout)["rows"]
    (window,) = [r for r in rows if r["key"] == "window"]
    total, calls = 0.0, {}
    for r in rows:
        if r is window or r["thread"] != window["thread"]:
            continue
        if window["start_us"] <= r["start_us"] and r["end_us"] <= window["end_us"]:
            total += r["self_cpu_time_total"]
            calls[r["key"]] = calls.get(r["key"], 0) + 1
    return total, calls


def agrees(model):
    with tap.folder() as out:
        theirs = profiled(tap.recorded_environment(out), model)
        ours, calls = inside_window(out)
        total = sum(time for key, (_, time) in theirs.items() if key != "window")
        print(f"# {model}: self CPU time {ours:.0f} us here, {total:.0f} us by torch.profiler")
        assert abs(ours - total) <= 0.1 * total, (ours, total)
        # where times are whole microseconds the reference nests short operators wrongly at times,
        # and then folds one too many or one too few; one operator of its own lies before the window
        for key, (count, _) in theirs.items():
            if key != "window":
                assert abs(calls.get(key, 0) - count) <= allowed(count), (
                    key,
                    count,
                    calls.get(key),
                )


def unharmed(model):
    # counts of short operators vary from run to run where times are whole microseconds
    bare = profiled(tap.clean_environment(), model)
    with tap.folder() as out:
        recorded = profiled(tap.recorded_environment(out), model)
    tap.equal(sorted(recorded), sorted(bare), "operators")
    for key, (count, _) in bare.items():
        assert abs(recorded[key][0] - count) <= allowed(count), (key, count, recorded[key][0])


def main():
    t = tap.Tap()
    for model in ("mlp", "conv"):
        t.check(f"{model}: total CPU time within 10 % of torch.profiler's", agrees, model)
        t.check(f"{model}: the user's profiler result is unharmed", unharmed, model)
    t.end()


if __name__ == "__main__":
    main()
