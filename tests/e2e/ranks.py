# SPDX-License-Identifier: MIT
"""One report over the ranks of a job: by rank and by process, with missing and unfinished ones
named."""

import json
import os
import signal
import stat
import subprocess

import tap

WORKLOADS = os.environ["WORKLOADS"]
DIE = os.path.join(WORKLOADS, "die")
VENV = os.environ.get("TEST_VENV", "")
PYTHONS = [os.environ.get("TPAGENT_TEST_PYTHON"), VENV and VENV + "/bin/python"]
PYTHONS.append(os.environ.get("PYTHON", "/usr/bin/python3"))


def tpreport(*words):
    return tap.run([tap.TPREPORT, *words], tap.clean_environment())


def rows(out, *words):
    done = tpreport("--format", "json", "--row-limit=-1", *words, out)
    assert done.returncode == 0, done
    return json.loads(done.stdout)["rows"], done.stderr.decode()


def job(out, ranks, world, ways):
    """Ranks as a launcher starts them: each with its variables, all with one recording."""
    os.mkdir(out + "/run", 0o700)
    children = []
    for rank, way in zip(ranks, ways):
        environment = tap.recorded_environment(
            out, TPAGENT_RUN_DIR=out + "/run", RANK=rank, WORLD_SIZE=world, TPAGENT_PROGRAMS="*"
        )
        children.append(subprocess.Popen([DIE, way, str(100 + rank)], env=environment))
    return [child.wait() for child in children]


def by_rank_and_process():
    with tap.folder() as out:
        tap.equal(job(out, range(4), 4, ["exit"] * 4), [0] * 4, "status")
        got, errors = rows(out, "--by", "rank")
        counts = {row["node_id"]: row["count"] for row in got if row["key"] == "range"}
        tap.equal(counts, {rank: 100 + rank for rank in range(4)}, "ranges by rank")
        assert "missing" not in errors, errors
        got, _ = rows(out, "--by", "process")
        tap.equal(len({row["node_id"] for row in got}), 4, "processes")
        for command in ("memory", "total", "kernels", "gpu", "info"):
            done = tpreport(command, "--by", "rank", out)
            tap.equal((done.returncode, done.stdout), (2, b""), f"{command} --by rank")
            assert b"--by is for averages, events and tree" in done.stderr, done.stderr
        got, _ = rows(out)
        tap.equal(sum(r["count"] for r in got if r["key"] == "range"), 406, "all")
        tap.equal(tpreport("check", out).returncode, 0, "check")
        with open(out + "/run/run.json", encoding="utf-8") as file:
            tap.equal(json.load(file)["run"], "run", "run.json of a folder made by hand")


def missing_and_unfinished():
    with tap.folder() as out:
        tap.equal(job(out, [0, 3], 5, ["exit", "kill"]), [0, -signal.SIGKILL], "status")
        _, errors = rows(out, "--by", "rank")
        assert "3 of 5 ranks are missing: 1, 2, 4\n" in errors, errors
        assert ", rank 3: died without an end line" in errors, errors
        assert ", rank 3: 1 unfinished range: last" in errors, errors
        _, errors = rows(out, "--rank", "3")
        assert "missing" not in errors, errors


TRAIN = """
import os, torch, torch.distributed as dist
dist.init_process_group('gloo')
x = torch.ones(4)
for _ in range(10):
    dist.all_reduce(x)
for _ in range(dist.get_rank() + 1):
    torch.mm(torch.ones(2, 2), torch.ones(2, 2))
dist.barrier()
dist.destroy_process_group()
"""


def torchrun():
    run = ["-m", "torch.distributed.run", "--standalone"]
    probe = [*run, "--nproc_per_node=1", "--no_python", "true"]
    for python in filter(None, PYTHONS):
        if not tap.run([python, *probe], tap.clean_environment()).returncode:
            break
    else:
        raise tap.Skip("torchrun does not work here, without the agent either")
    with tap.folder() as out:
        with open(out + "/train.py", "w", encoding="utf-8") as file:
            file.write(TRAIN)
        command = [python, *run, "--nproc_per_node=4", out + "/train.py"]
        done = tap.run(command, tap.recorded_environment(out, OMP_NUM_THREADS="1"))
        tap.equal(done.returncode, 0, done.stderr.decode()[-2000:])
        got, errors = rows(out, "--by", "rank")
        counts = {row["node_id"]: row["count"] for row in got if row["key"] == "aten::mm"}
        tap.equal(counts, {rank: rank + 1 for rank in range(4)}, "aten::mm by rank")
        assert "missing" not in errors, errors
        (top,) = [d for d in os.listdir(out) if d.startswith("tpagent-")]
        print("# torchrun:", top, "with", len(tap.process_folders(out)), "processes")


def set_id_program():
    """The loader takes no preloads for it; nothing of it is recorded, and it does what it does."""
    if os.getuid():
        raise tap.Skip("only root can make a set-id program of another user")
    with tap.folder() as out:
        program = os.path.join(out, "die")
        with open(DIE, "rb") as source, open(program, "wb") as copy:
            copy.write(source.read())
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o755 | stat.S_ISUID)
        os.chmod(out, 0o755)
        done = tap.run([program, "exit", "10"], tap.recorded_environment(out))
        tap.equal(done.returncode, 0, "status")
        tap.equal([d for d in os.listdir(out) if d.startswith("tpagent-")], [], "recordings")


def links_are_not_followed():
    """Nothing outside of the recording is opened, whatever lies in it or meta.jsonl says."""
    with tap.folder() as out, tap.folder() as elsewhere:
        tap.run([DIE, "kill", "100"], tap.recorded_environment(out))
        (process,) = tap.process_folders(out)
        os.rename(process + "/names.tpn", elsewhere + "/names.tpn")
        os.symlink(elsewhere + "/names.tpn", process + "/names.tpn")
        done = tpreport("check", out)
        assert done.returncode == 3 and b"names.tpn: " in done.stdout, done
        os.remove(process + "/names.tpn")
        os.rename(elsewhere + "/names.tpn", process + "/names.tpn")
        os.rename(process + "/ring", elsewhere + "/ring")
        os.symlink(elsewhere + "/ring", process + "/ring")
        with open(process + "/meta.jsonl", encoding="utf-8") as file:
            text = file.read()
        for said in (elsewhere + "/ring", "/proc/self/fd", elsewhere):
            with open(process + "/meta.jsonl", "w", encoding="utf-8") as file:
                file.write(text.replace(process + "/ring", said))
            done = tpreport("check", out)
            assert done.returncode == 3 and b"no folder of rings" in done.stdout, done
            shown = json.loads(tpreport("info", "--format", "json", out).stdout)["processes"][0]
            tap.equal(shown["records"], 0, "records of rings that are not the recording's")


def main():
    t = tap.Tap()
    t.check("a row for each rank, for each process", by_rank_and_process)
    t.check("missing and unfinished ranks are named", missing_and_unfinished)
    t.check("torchrun with 4 ranks over gloo", torchrun)
    t.check("a set-id program is not traced", set_id_program)
    t.check("the reader follows no link and no path out of a recording", links_are_not_followed)
    t.end()


if __name__ == "__main__":
    main()
