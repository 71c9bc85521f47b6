# SPDX-License-Identifier: MIT
"""Call stacks of allocations in signal handlers end there: what was interrupted, at any
instruction, is not taken for a caller."""

import json
import os

import tap

WORKLOADS = os.environ["WORKLOADS"]


def stacks(program, restorer, stack, thread):
    with tap.folder() as out:
        command = [os.path.join(WORKLOADS, program), restorer, stack, *thread]
        done = tap.run(command, tap.recorded_environment(out, TPAGENT_ALLOC="all"))
        if done.returncode == 77:
            raise tap.Skip("no handlers with a return of their own on this machine")
        tap.equal((done.returncode, done.stdout, done.stderr), (0, b"1\n", b""), command)
        done = tap.run(
            [tap.TPREPORT, "memory", "--format", "json", "--row-limit=-1", out],
            tap.clean_environment(),
        )
        tap.equal(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["stacks"]


def end_at_the_handler(program, restorer, stack):
    for thread in ([], ["thread"]):
        rows = stacks(program, restorer, stack, thread)
        found = [row["stack"] for row in rows if row["stack"][0] in ("take", "on_signal")]
        # on another stack than the thread's only what called malloc is known
        whole = ["take", "on_signal"] if stack in ("same", "part") else ["take"]
        tap.equal(found, [whole], f"stacks of {program} {restorer} {stack} {thread}")
        (allocations,) = (row["allocations"] for row in rows if row["stack"] == whole)
        assert allocations >= 300, allocations


def main():
    t = tap.Tap()
    for program in "handlers", "handlers_fp":
        for restorer in "libc", "bare", "told":
            for stack in "same", "part", "static", "mapped":
                name = f"{program}, return {restorer}, stack {stack}"
                t.check(name, end_at_the_handler, program, restorer, stack)
    t.end()


if __name__ == "__main__":
    main()
