# SPDX-License-Identifier: MIT
"""The man pages and the README name every row of the tables, and nothing that does not exist."""

import os
import re
import shutil
import subprocess

import lint

ROW = re.compile(r"^(TP_\w+)\((.*)\)\s*$", re.MULTILINE)
ARGUMENT = re.compile(r'"(?:[^"\\]|\\.)*"|[^,()"]+(?:\([^()]*\))?')


def rows(table):
    """The rows of an X-macro table: lists of arguments, texts without their quotes."""
    text = re.sub(r"/\*.*?\*/", "", lint.read(table), flags=re.DOTALL)
    text = re.sub(r"\\\n", " ", text)
    joined = re.sub(r",\s*\n\s*", ", ", text)
    joined = re.sub(r'"\s*\n\s*"', "", joined)
    for match in ROW.finditer(joined):
        yield [
            argument.strip().strip('"')
            for argument in ARGUMENT.findall(match.group(2))
            if argument.strip()
        ]


def page(name):
    """A man page's text without its macros and escapes."""
    text = (
        lint.read(name)
        .replace("\\-", "-")
        .replace("\\(hy", "-")
        .replace("\\&", "")
        .replace("\\e", "\\")
    )
    return re.sub(r"\\f[BIRP]", "", text)


def missing(table, document, words):
    if not os.path.isfile(os.path.join(lint.ROOT, document)):
        yield f"{document} is missing"
        return
    text = page(document)
    seen = 0
    for row in rows(table):
        seen += 1
        for word in words(row):
            if not re.search(r"(?<![\w-])" + re.escape(word) + r"(?![\w-])", text):
                yield f"{document} does not name {word} of {os.path.basename(table)}"
    if not seen:
        yield f"{table}: no rows found"


def variable_words(row):
    """TP_VAR(field, name, type, default, values, help): name, choices, default."""
    _, name, kind, fallback, values = row[:5] if len(row) > 5 else [*row[:3], "", row[3]]
    words = [name]
    if kind == "CHOICE":
        words += values.split("|")
    elif fallback and fallback != "." and kind != "BOOL":
        words.append(fallback)
    return words


def option_words(row):
    """TP_OPTION(...): its long name is the first text argument that looks like one."""
    if row[-1] == "NULL":  # without a help text: hidden
        return []
    for argument in row[1:] if len(row) > 1 else row:
        if re.fullmatch(r"[a-z][a-z0-9-]+", argument):
            return ["--" + argument]
    return []


def column_words(row):
    """TP_COLUMN(ID, "name", ...)."""
    return [row[1]]


def unknown_variables(document):
    known = {row[1] for row in rows("agent/env_vars.def")}
    known |= {"TPAGENT_LIB", "TPAGENT_TEST_PYTHON"}
    for name in sorted(set(re.findall(r"\bTPAGENT_[A-Z_]+\b", page(document)))):
        if name not in known and not document.endswith("format.md"):
            yield f"{document} names {name}, which does not exist"


def readme_commands():
    text = lint.read("README.md")
    tops = {name.split("/")[0] for name in lint.files()}
    for block in re.findall(r"^((?:    .*\n|\n)+)", text, re.MULTILINE):
        for line in block.split("\n"):
            match = re.match(r"\s+(?:\$ )?(\./[\w./-]+)", line)
            if match and not os.path.exists(os.path.join(lint.ROOT, match.group(1))):
                yield f"README.md: {match.group(1)} does not exist"
    for path in sorted(set(re.findall(r"[`(]([\w.-]+/[\w./-]*)[`)]", text))):
        if path.split("/")[0] in tops and not os.path.exists(os.path.join(lint.ROOT, path)):
            yield f"README.md: {path} does not exist"
    for path in sorted(set(re.findall(r"\]\(([^):#]+)\)", text))):
        if not os.path.exists(os.path.join(lint.ROOT, path)):
            yield f"README.md: links to {path}, which does not exist"


def groff_warnings(document):
    run = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z", document],
        cwd=lint.ROOT,
        capture_output=True,
        text=True,
    )
    yield from run.stderr.strip().split("\n") if run.stderr.strip() else []


TABLES = [
    ("agent/env_vars.def", "agent/tpagent.7", variable_words),
    ("agent/sources.def", "agent/tpagent.7", lambda row: [row[1]]),
    ("tools/tpreport/options.def", "tools/tpreport/tpreport.1", option_words),
    ("tools/tpreport/columns.def", "tools/tpreport/tpreport.1", column_words),
]
for table, document, words in TABLES:
    if os.path.isfile(os.path.join(lint.ROOT, table)):
        lint.check(f"{document} names every row of {table}", missing(table, document, words))
for document in lint.files(
    ".1", ".5", ".7", "README.md", under=["agent/", "runtime/", "tools/", "README.md"]
):
    lint.check(f"{document} names no variable that does not exist", unknown_variables(document))
    if document.endswith("README.md"):
        continue
    if shutil.which("groff"):
        lint.check(f"groff has no warning for {document}", groff_warnings(document))
    else:
        lint.skip(f"groff has no warning for {document}", "groff is not installed")
lint.check("the commands and paths of README.md exist", readme_commands())
lint.done()
