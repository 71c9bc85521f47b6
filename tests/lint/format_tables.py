# SPDX-License-Identifier: MIT
"""format.md says what the code does: its tables of kinds, columns and encodings are those of
event_kinds.def and event.h, its example file is the golden one. With --print: the tables as they
should be, to paste."""

import ast
import os
import re
import sys

import lint


def rows_of(macro, text):
    """Arguments of each use of an X-macro, strings unquoted."""
    for match in re.finditer(r"^%s\((.*)\)$" % macro, text, re.M):
        fields = re.findall(r'\s*("(?:[^"\\]|\\.)*"|[^,]+)(?:,|$)', match.group(1))
        yield [ast.literal_eval(f) if f.startswith('"') else f.strip() for f in fields]


def expected_tables():
    text = lint.read("runtime/event/event_kinds.def")
    header = lint.read("runtime/event/event.h")
    kinds, columns, ids = [], [], {"ALL": "0"}
    for number, macro, name, slots, role, class_, since, meaning in rows_of("TP_KIND", text):
        ids[macro] = number
        kinds.append([number, name, slots, role.lower(), class_.lower(), since, meaning])
    for kind, column, name, word, shift, bits, encoding, *rest in rows_of("TP_FIELD", text):
        encoding = encoding.lower().replace("_", " ")
        columns.append([ids[kind], column, name, word, shift, bits, encoding, *rest])
    encodings = [
        [number, name.lower().replace("_", " ")]
        for name, number in re.findall(r"TP_ENCODING_(\w+) = (\d+)", header)
    ]
    packed = [
        [number, name.lower()]
        for name, number in re.findall(
            r"TP_PACKED_(\w+) = (\d+)", lint.read("runtime/trace/allocations.h")
        )
    ]
    return {
        "allocations": (["id", "name"], packed),
        "kinds": ("id name slots role class since meaning".split(), kinds),
        "columns": ("kind id name word shift bits encoding unit since meaning".split(), columns),
        "encodings": (["id", "name"], encodings),
    }


def table_after(lines, marker):
    """The cells of the table that follows `<!-- marker -->`."""
    at = lines.index("<!-- %s -->" % marker) + 1
    while not lines[at].startswith("|"):
        at += 1
    rows = []
    while at < len(lines) and lines[at].startswith("|"):
        rows.append([cell.strip() for cell in lines[at].strip().strip("|").split("|")])
        at += 1
    return rows[0], rows[2:]


def check_tables(lines):
    for marker, (head, rows) in expected_tables().items():
        found_head, found = table_after(lines, marker)
        if found_head[: len(head)] != head:
            yield "table of %s: heading is %s, expected %s" % (marker, found_head, head)
        found = [row[: len(head)] for row in found]
        for row in rows:
            if row not in found:
                yield "table of %s: missing or different: %s" % (marker, " | ".join(row))
        for row in found:
            if row not in rows:
                yield "table of %s: not in the code: %s" % (marker, " | ".join(row))
        if not list(check_order(found, rows)) and found != rows:
            yield "table of %s: order differs from the code's" % marker


def check_order(found, rows):
    return (row for row in rows if row not in found)


def check_example(lines):
    """The hex of the smallest file: offset, bytes, explanation."""
    with open(os.path.join(lint.ROOT, "tests/golden/v1/smallest.tpt"), "rb") as file:
        golden = file.read()
    shown = bytearray()
    for line in lines[lines.index("<!-- smallest -->") :]:
        match = re.match(r"    ([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)(?:  |$)", line)
        if match:
            if int(match.group(1), 16) != len(shown):
                yield "smallest file: %s, expected offset %04x" % (line, len(shown))
            shown += bytes.fromhex(match.group(2))
        elif line.startswith("#") and shown:
            break
    if bytes(shown) != golden:
        differ = [i for i, (a, b) in enumerate(zip(shown, golden)) if a != b]
        at = differ[0] if differ else min(len(shown), len(golden))
        yield "smallest file: differs from tests/golden/v1/smallest.tpt at byte %04x" % at


def print_tables():
    for marker, (head, rows) in expected_tables().items():
        print("<!-- %s -->\n" % marker)
        for row in [head, ["---"] * len(head)] + rows:
            print("| " + " | ".join(row) + " |")
        print()


if sys.argv[1:] == ["--print"]:
    print_tables()
else:
    TEXT = lint.read("runtime/trace/format.md").splitlines()
    lint.check("format.md has the code's kinds, columns and encodings", check_tables(TEXT))
    lint.check("format.md explains the smallest golden file byte for byte", check_example(TEXT))
    lint.done()
