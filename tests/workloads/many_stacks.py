# SPDX-License-Identifier: MIT
"""A block from each of WIDTH^3 call stacks of Python, then blocks from two stacks in a loop: many
small ones, and large ones that are few. Needs PYTHONMALLOC=malloc."""

import sys

WIDTH = int(sys.argv[1])
SMALL = 20000
LARGE = 3


def wide(name, inner):
    """A function that calls `inner` from the line that it is told."""
    lines = [f"def {name}(line, *lines):", "    if line == 0:", f"        return {inner}(*lines)"]
    for line in range(1, WIDTH):
        lines += [f"    elif line == {line}:", f"        return {inner}(*lines)"]
    return "\n".join(lines) + "\n"


NAMES = {"block": lambda: bytes(900)}
for function, called in (("one", "block"), ("two", "one"), ("three", "two")):
    exec(compile(wide(function, called), f"{function}.py", "exec"), NAMES)


def after_start(count, size):
    for _ in range(count):
        bytes(size)


for first in range(WIDTH):
    for second in range(WIDTH):
        for third in range(WIDTH):
            NAMES["three"](first, second, third)
after_start(SMALL, 800)
for _ in range(LARGE):
    after_start(1, 1 << 20)
