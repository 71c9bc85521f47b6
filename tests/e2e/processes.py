# SPDX-License-Identifier: MIT
"""Every process of a PyTorch job has a folder and is in one report; deaths lose nothing."""

import json
import os
import random
import signal
import subprocess
import time

import tap

PYTHON = os.environ.get("TPAGENT_TEST_PYTHON") or os.environ.get("PYTHON", "/usr/bin/python3")
ONE_ADD = "import torch; torch.ones(2) + 1"


def info(out):
    """What the newest recording in @out holds."""
    done = tap.run([tap.TPREPORT, "info", "--format", "json", out], tap.clean_environment())
    if done.returncode not in (0, 3):
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout)


def table(out, *options):
    done = tap.run(
        [tap.TPREPORT, "--format", "json", "--row-limit=-1", *options, out],
        tap.clean_environment(),
    )
    if done.returncode not in (0, 3):
        raise AssertionError(done.stderr.decode())
    return {row["key"]: row for row in json.loads(done.stdout)["rows"]}


def check(out, expected=0):
    done = tap.run([tap.TPREPORT, "check", out], tap.clean_environment())
    tap.equal(done.returncode, expected, "tpreport check: " + done.stdout.decode()[-500:])


def need_torch():
    if tap.run([PYTHON, "-c", "import torch"], tap.clean_environment()).returncode:
        raise tap.Skip("no torch for " + PYTHON)


def record(out, program, *arguments, **variables):
    done = tap.run([PYTHON, "-c", program, *arguments], tap.recorded_environment(out, **variables))
    if done.returncode:
        raise AssertionError(done.stderr.decode())
    tap.equal(done.stderr, b"", "stderr")
    return done


def adds_in(program, processes, adds):
    """@program runs so many `aten::add` in so many processes that run operators."""
    need_torch()
    with tap.folder() as out:
        record(out, program)
        found = [p for p in info(out)["processes"] if p["kinds"].get("op_begin")]
        tap.equal(len(found), processes, "processes with operators")
        tap.equal(len({p["directory"] for p in found}), processes, "folders")
        tap.equal(table(out)["aten::add"]["count"], adds, "calls of aten::add")
        for p in found:
            one = table(out, "--pid", str(p["pid"]))
            assert one["aten::add"]["count"] <= adds, one
        check(out)


SUBPROCESS = f"""
import subprocess, sys
{ONE_ADD}
subprocess.run([sys.executable, '-c', {ONE_ADD!r}], check=True)
"""

FORK = f"""
import os
{ONE_ADD}
pid = os.fork()
if pid == 0:
    {ONE_ADD}
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""

FORK_FIRST = f"""
import os, torch
pid = os.fork()
if pid == 0:
    torch.ones(2) + 1
    pid = os.fork()
    if pid == 0:
        torch.ones(2) + 1
        os._exit(0)
    os._exit(os.waitpid(pid, 0)[1])
assert os.waitpid(pid, 0)[1] == 0
torch.ones(2) + 1
"""

LOADER = """
import torch
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self): return 40
    def __getitem__(self, i): return torch.ones(2) + i
assert sum(len(b) for b in DataLoader(Data(), batch_size=4, num_workers=2)) == 40
torch.ones(2) + 1
"""

SPAWN = """
import multiprocessing as mp, os, sys
code = '''
import torch
def work(i):
    return float((torch.ones(2) + i).sum())
'''
if __name__ == '__main__':
    import tempfile
    with tempfile.TemporaryDirectory() as d:
        open(d + '/workmod.py', 'w').write(code)
        main = d + '/main.py'
        open(main, 'w').write('''
import multiprocessing as mp, sys, workmod
if __name__ == "__main__":
    with mp.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(workmod.work, range(6)) == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
        pool.close()
        pool.join()
''')
        import subprocess
        for method in ('spawn', 'forkserver', 'fork'):
            subprocess.run([sys.executable, main, method], check=True, cwd=d,
                           env=dict(os.environ, PYTHONPATH=d))
"""


def three_start_methods():
    need_torch()
    with tap.folder() as out:
        record(out, SPAWN)
        tap.equal(table(out)["aten::add"]["count"], 18, "calls of aten::add")
        check(out)


COMPILED = """
import torch
@torch.compile
def f(x):
    return (x.sin() + x.cos()).sum()
print(float(f(torch.ones(1000))) > 0)
"""


def compilers_leave_nothing():
    """The shells and compilers that torch.compile starts."""
    need_torch()
    if tap.run([PYTHON, "-c", "import torch; torch.compile"], tap.clean_environment()).returncode:
        raise tap.Skip(PYTHON + " has no torch.compile")
    with tap.folder() as out, tap.folder() as cache, tap.folder() as programs:
        # what stands for the compiler says that it was called, and that it has the agent
        with open(programs + "/g++", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$LD_PRELOAD" >> {programs}/calls\n')
            file.write('exec /usr/bin/g++ "$@"\n')
        os.chmod(programs + "/g++", 0o755)
        done = tap.run(
            [PYTHON, "-c", COMPILED],
            tap.recorded_environment(
                out, TORCHINDUCTOR_CACHE_DIR=cache, CXX=programs + "/g++", MAX_JOBS="2"
            ),
            timeout=250,
        )
        tap.equal((done.returncode, done.stdout), (0, b"True\n"), done.stderr)
        with open(programs + "/calls", encoding="utf-8") as file:
            calls = file.read().splitlines()
        print(f"# {len(calls)} calls of the compiler, {len(tap.process_folders(out))} process")
        assert calls and all(tap.AGENT in call for call in calls), calls
        tap.equal(len(tap.process_folders(out)), 1, "process folders")


THREADS = """
import os, signal, torch
torch.set_num_threads(2)
def names():
    return [open(f"/proc/self/task/{t}/comm").read() for t in os.listdir("/proc/self/task")]
for _ in range(3000):
    torch.ones(2) + 1
print(sum(name != "tpagent\\n" for name in names()))
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    print(float((torch.ones(100000) + 1).sum()), flush=True)
    os._exit(0)
print(os.waitpid(pid, 0)[1])
"""


def no_thread_of_torch_is_started():
    """Those that torch computes with are not there in a forked child, which would wait for them."""
    need_torch()
    bare = tap.run([PYTHON, "-c", THREADS], tap.clean_environment())
    with tap.folder() as out:
        done = record(out, THREADS)
        tap.equal(done.stdout, bare.stdout, "threads, the child's sum, its status")
        assert b"200000.0" in done.stdout, done.stdout


def shim_that_execs_again():
    need_torch()
    with tap.folder() as out:
        shim = os.path.join(out, "python")
        with open(shim, "w") as f:
            f.write(
                f'#!/bin/sh\nwhich env >/dev/null\nexec bash -c \'exec "$0" "$@"\' {PYTHON} "$@"\n'
            )
        os.chmod(shim, 0o755)
        done = tap.run([shim, "-c", ONE_ADD], tap.recorded_environment(out))
        tap.equal(done.returncode, 0, "status")
        tap.equal(table(out)["aten::add"]["count"], 1, "calls of aten::add")


def user_range_and_shapes():
    need_torch()
    with tap.folder() as out:
        record(
            out,
            "import torch\nwith torch.autograd.profiler.record_function('my;\"range\"\\n'):\n"
            "    torch.mm(torch.ones(3, 4), torch.ones(4, 5))\n",
        )
        rows = table(out, "--group-by-input-shapes")
        tap.equal(rows["aten::mm"]["input_shapes"], [[3, 4], [4, 5]], "shapes of aten::mm")
        assert 'my;"range"\n' in rows, list(rows)


def memory_is_exact():
    """An operator that returns n bytes shows them, within what a tensor itself needs."""
    need_torch()
    with tap.folder() as out:
        record(out, "import torch\nkeep = [torch.empty(1 << 18) for _ in range(10)]\n")
        row = table(out)["aten::empty"]
        assert 10 << 20 <= row["cpu_memory_usage"] <= (10 << 20) + 10 * 4500 + 10000, row


def wall_time_without_events():
    """A program that records nothing still says how long it ran, and nothing else."""
    with tap.folder() as out:
        start = time.monotonic()
        tap.run(["/bin/sleep", "0.2"], tap.recorded_environment(out))
        longest = time.monotonic() - start
        kernels = [tap.TPREPORT, "kernels", "--repeat=2", out]
        done = tap.run([*kernels, "--format=json"], tap.clean_environment())
        tap.equal(done.returncode, 0, done.stderr.decode())
        report = json.loads(done.stdout)
        tap.equal((report["profiler"], report["rows"]), ("wallclock", []), "by what, rows")
        elapsed = report["totals"]["elapsed_us"]
        assert 0.2e6 <= elapsed <= longest * 1e6, elapsed
        tap.equal(report["per_repeat"]["elapsed_us"], elapsed / 2, "per repeat")
        done = tap.run([*kernels, "--profiler=device"], tap.clean_environment())
        tap.equal(done.returncode, 1, "exit status")
        assert b"it can serve wallclock" in done.stderr, done.stderr


def unfinished_range(signal_number):
    """A range that is open when the process dies is in the report, marked, with its age."""
    need_torch()
    program = (
        "import torch, os, time\n"
        "with torch.autograd.profiler.record_function('never ends'):\n"
        "    torch.ones(2) + 1\n    time.sleep(0.2)\n    torch.ones(2) + 1\n"
        f"    os.kill(os.getpid(), {int(signal_number)})\n    time.sleep(10)\n"
    )
    with tap.folder() as out:
        done = tap.run([PYTHON, "-c", program], tap.recorded_environment(out))
        tap.equal(done.returncode, -signal_number, "status")
        row = table(out)["never ends"]
        assert row["count"] == 1 and row["cpu_time_total"] > 200000, row
        process = info(out)["processes"][0]
        tap.equal(process["unfinished"], 1, "unfinished ranges")
        done = tap.run([tap.TPREPORT, out], tap.clean_environment())
        assert b"never ends" in done.stdout
        assert b"unfinished" in done.stderr, done.stderr
        tap.equal(done.returncode, 0, "a death is whole")


KILLS = int(os.environ.get("TPAGENT_TEST_TORCH_KILLS", "6"))

WRITERS = """
import threading, torch
torch.set_num_threads(1)
def work():
    x = torch.ones(4)
    while True:
        for _ in range(50):
            x + 1
        with torch.autograd.profiler.record_function('outer'):
            x * 2
threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
[t.start() for t in threads]
print('running', flush=True)
[t.join() for t in threads]
"""


def kill(environment, seconds):
    child = subprocess.Popen(
        [PYTHON, "-c", WRITERS], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdout.readline()
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    child.communicate()


def killed_again_and_again():
    """SIGKILL at random moments: slot numbers have no gap and no duplicate, files are readable."""
    need_torch()
    seed = int(os.environ.get("TPAGENT_TEST_SEED", time.time_ns() % 1000000))
    print(f"# seed {seed}")
    random_ = random.Random(seed)
    records = 0
    for _ in range(KILLS):
        with tap.folder() as out:
            kill(tap.recorded_environment(out, TPAGENT_WHEN_FULL="wait"), random_.random() * 0.15)
            check(out)
            process = info(out)["processes"][0]
            for key in (
                "missing_slots",
                "damaged_blocks",
                "ends_without_begin",
                "unknown_records",
                "names_missing",
                "dropped_records",
            ):
                tap.equal(process[key], 0, key)
            tap.equal(process["state"], "died", "state")
            records += process["records"]
            assert process["slots_from_rings"] > 0, process
    print(f"# {KILLS} kills, {records} records, 0 lost")


def main():
    t = tap.Tap()
    t.check("a subprocess has its own folder", adds_in, SUBPROCESS, 2, 2)
    t.check("a forked child has its own folder", adds_in, FORK, 2, 2)
    t.check(
        "children forked before the first operator, and their children", adds_in, FORK_FIRST, 3, 3
    )
    t.check("DataLoader workers have their own folders", adds_in, LOADER, 3, 41)
    t.check("multiprocessing by spawn, forkserver and fork", three_start_methods)
    t.check("no thread of torch is started", no_thread_of_torch_is_started)
    t.check("torch.compile's compilers leave nothing", compilers_leave_nothing)
    t.check("a shim that execs again", shim_that_execs_again)
    t.check("user ranges with odd names, shapes of operators", user_range_and_shapes)
    t.check("host memory of an operator", memory_is_exact)
    t.check("wall time where nothing was recorded", wall_time_without_events)
    t.check("a range open at SIGKILL", unfinished_range, signal.SIGKILL)
    t.check("a range open at SIGTERM", unfinished_range, signal.SIGTERM)
    t.check(f"{KILLS} SIGKILLs at random moments, three writing threads", killed_again_and_again)
    t.end()


if __name__ == "__main__":
    main()
