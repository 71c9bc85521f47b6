# SPDX-License-Identifier: MIT
"""The script for a GPU, on the simulation: it says what is right, and fails where something is
not."""

import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
import tap  # noqa: E402

GROUPS = ("machine", "injection", "kinds", "clocks", "cost", "graphs", "exits", "fork")


def nvcc():
    found = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(found):
        raise tap.Skip("no nvcc")
    return found


def folder_of_a_build(scratch):
    """As run.sh leaves it."""
    os.mkdir(os.path.join(scratch, "device"))
    own = os.path.join(scratch, "device", "cuda_calls_shared")
    source = os.path.join(HERE, "cuda_calls.cu")
    done = tap.run(
        [nvcc(), "-O2", "-cudart", "shared", "-o", own, source], tap.clean_environment()
    )
    if done.returncode:
        raise tap.Skip("nvcc: " + done.stderr.decode()[-200:])
    for path, at in (
        (tap.AGENT, "agent/libtpagent.so"),
        (tap.TPREPORT, "tools/tpreport/tpreport"),
        (os.environ["DUMP"], "device/dump_recording"),
        (os.environ["SIM_CLIENT"], "device/libclient.so"),
    ):
        at = os.path.join(scratch, at)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        os.symlink(path, at)


def device(build, *more):
    command = [sys.executable, os.path.join(HERE, "device.py"), "--build", build]
    command += ["--simulated", os.environ["SIMCUDA"], *more]
    done = tap.run(command, tap.clean_environment(), timeout=500)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def only(*groups):
    return sum((["--only", group] for group in groups), [])


def test_passes(build):
    status, out, err = device(build, *only(*GROUPS))
    tap.equal(([line for line in out.splitlines() if "NOT OK" in line], status), ([], 0), "failed")
    assert out.splitlines()[-1].endswith(" passed, 0 failed"), out
    for group in GROUPS:
        assert f"({group} took" in out, (group, out)
    assert int(out.splitlines()[-1].split()[0]) > 50, out


def test_no_agent(build):
    """Nothing is recorded: nothing but what the programs do themselves is right."""
    agent = os.path.join(build, "agent/libtpagent.so")
    os.rename(agent, agent + ".away")
    try:
        status, out, _ = device(build, *only("injection", "kinds", "clocks", "graphs", "fork"))
    finally:
        os.rename(agent + ".away", agent)
    tap.equal(status, 1, "status")
    for what in (
        "injection, shared: CUPTI is ours",
        "kinds, shared runtime: kernels",
        "launch, clock tsc: kernels recorded",
        "NOT OK  graphs",
        "fork: kernels",
    ):
        assert any("NOT OK" in line and what in line for line in out.splitlines()), (what, out)


def test_no_time(build):
    status, out, _ = device(build, "--seconds", "3", *only("exits", "fork"))
    tap.equal(status, 1, "status")
    assert "NOT OK  exits: no time was left" in out and "NOT OK  fork: no time" in out, out


def test_lost(build):
    """Records that CUPTI drops are not taken for good ones."""
    os.environ["SIMCUDA_DROP_EVERY"] = "50"
    status, out, _ = device(build, *only("kinds", "exits"))
    del os.environ["SIMCUDA_DROP_EVERY"]
    tap.equal(status, 1, "status")
    assert "NOT OK  kinds, shared runtime: kernels" in out, out
    assert "NOT OK  exit by return: kernels" in out, out


def main():
    t = tap.Tap()
    with tap.folder() as build:
        try:
            folder_of_a_build(build)
        except tap.Skip as skip:
            print(f"1..0 # SKIP {skip}")
            return
        t.check("all that needs no torch passes", test_passes, build)
        t.check("without the agent it fails", test_no_agent, build)
        t.check("without time it fails", test_no_time, build)
        t.check("where records are missing it fails", test_lost, build)
    t.end()


if __name__ == "__main__":
    main()
