# SPDX-License-Identifier: MIT
"""What the lint tests share: the tree's files, and TAP on stdout."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_results = []


def files(*endings, under=()):
    """Paths from the root of the files that belong to the project, sorted."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
    )
    names = listed.stdout.split("\n") if listed.returncode == 0 else _walk()
    return sorted(
        name
        for name in names
        if name
        and (not endings or name.endswith(endings))
        and (not under or name.startswith(tuple(under)))
        and os.path.isfile(os.path.join(ROOT, name))
    )


def _walk():
    """For an unpacked release, which has no git: everything but what a build leaves."""
    for folder, folders, names in os.walk(ROOT):
        below = os.path.relpath(folder, ROOT)
        folders[:] = [
            f
            for f in folders
            if f != "__pycache__" and not (below == "." and f[:5] in ("build", ".git"))
        ]
        if below == "subprojects":
            folders[:] = [f for f in folders if f == "packagefiles"]
        for name in names:
            yield os.path.normpath(os.path.join(below, name))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def check(claim, problems):
    """One subtest: the claim holds when there is no problem."""
    problems = list(problems)
    _results.append(not problems)
    print(f"{'not ok' if problems else 'ok'} {len(_results)} - {claim}")
    for problem in problems[:50]:
        print(f"# {problem}")
        print(problem, file=sys.stderr)
    if len(problems) > 50:
        print(f"# and {len(problems) - 50} more")
    sys.stdout.flush()


def skip(claim, why):
    _results.append(True)
    print(f"ok {len(_results)} - {claim} # SKIP {why}")


def done():
    print(f"1..{len(_results)}")
    sys.exit(0 if all(_results) else 1)
