# SPDX-License-Identifier: MIT
"""Plain facts about the text of source files."""

import os
import re

import lint

SOURCES = (".c", ".h", ".cpp", ".def", ".map", ".py", ".sh", ".bpf.c", "meson.build")
# Rows of a table stay one line each; so do paragraphs of documents and expected outputs.
COMMANDS = "tests/zoo/programs/"  # what users type: a command is a line
NARROW = (".c", ".h", ".cpp", ".py", ".sh", "meson.build", "meson_options.txt")
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|root|home/\w+|opt/tp)/[\w.-]")
DATA = ("tests/golden/", "tests/fuzz/corpus")


def is_script(name):
    return "." not in os.path.basename(name) and lint.read(name).startswith("#!")


def sources():
    for name in lint.files():
        if not name.startswith(DATA) and (name.endswith(SOURCES) or is_script(name)):
            yield name


def without_spdx():
    for name in sources():
        if "SPDX-License-Identifier: MIT" not in "\n".join(lint.read(name).split("\n")[:3]):
            yield f"{name}: no SPDX-License-Identifier in its first lines"


def wide():
    for name in lint.files():
        if name.startswith(DATA) or not (name.endswith(NARROW) or is_script(name)):
            continue
        data = False  # a stretch that clang-format leaves alone
        for number, line in enumerate(lint.read(name).split("\n"), 1):
            if "clang-format o" in line:
                data = "clang-format off" in line
            if len(line) > (160 if name.startswith(COMMANDS) else 100) and not data:
                yield f"{name}:{number}: {len(line)} columns"


def blanks():
    for name in sources():
        text = lint.read(name)
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip() or ("\t" in line and not name.endswith(".map")):
                yield f"{name}:{number}: a tab, or blanks at the end"
        if text and not text.endswith("\n"):
            yield f"{name}: no newline at its end"


def machine_paths():
    for name in lint.files():
        if name.startswith(DATA) or not (
            name.endswith(SOURCES + (".md", ".txt", ".1", ".5", ".7")) or is_script(name)
        ):
            continue
        for number, line in enumerate(lint.read(name).split("\n"), 1):
            if MACHINE_PATH.search(line):
                yield f"{name}:{number}: a path of one machine: {line.strip()}"


def unfinished():
    for name in lint.files(".md", ".1", ".5", ".7"):
        for number, line in enumerate(lint.read(name).split("\n"), 1):
            if re.search(r"\b(TODO|FIXME|XXX|TBD)\b", line):
                yield f"{name}:{number}: unfinished: {line.strip()}"


lint.check("every source file has an SPDX line", without_spdx())
lint.check("no line of a source is wider than 100 columns", wide())
lint.check("no tabs, no blanks at line ends", blanks())
lint.check("no path of one machine", machine_paths())
lint.check("documents are finished", unfinished())
lint.done()
