#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that format.md says what the code does: its tables of kinds, columns and encodings against
event_kinds.def and event.h, its example file against the golden one.

    format_tables.py SOURCE_ROOT            check
    format_tables.py SOURCE_ROOT --print    the tables as they should be, to paste
"""
import ast
import pathlib
import re
import sys


def rows_of(macro, text):
    """Arguments of each use of an X-macro, strings unquoted."""
    for match in re.finditer(r"^%s\((.*)\)$" % macro, text, re.M):
        fields = re.findall(r'\s*("(?:[^"\\]|\\.)*"|[^,]+)(?:,|$)', match.group(1))
        yield [ast.literal_eval(f) if f.startswith('"') else f.strip() for f in fields]


def expected_tables(root):
    text = (root / "runtime/event/event_kinds.def").read_text()
    header = (root / "runtime/event/event.h").read_text()
    kinds, columns, ids = [], [], {"ALL": "0"}
    for number, macro, name, slots, role, class_, since, meaning in rows_of("TP_KIND", text):
        ids[macro] = number
        kinds.append([number, name, slots, role.lower(), class_.lower(), since, meaning])
    for kind, column, name, word, shift, bits, encoding, unit, since, meaning in rows_of("TP_FIELD", text):
        if kind not in ids:
            sys.exit("event_kinds.def: column %s of kind %s, which stands below it or nowhere" % (name, kind))
        columns.append([ids[kind], column, name, word, shift, bits, encoding.lower().replace("_", " "), unit,
                        since, meaning])
    encodings = [[number, name.lower().replace("_", " ")]
                 for name, number in re.findall(r"TP_ENCODING_(\w+) = (\d+)", header)]
    return {
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


def check_tables(root, lines):
    for marker, (head, rows) in expected_tables(root).items():
        found_head, found = table_after(lines, marker)
        if found_head[:len(head)] != head:
            yield "table of %s: heading is %s, expected %s" % (marker, found_head, head)
        found = [row[:len(head)] for row in found]
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


def check_example(root, lines):
    """The hex of the smallest file: offset, bytes, explanation."""
    golden = (root / "tests/golden/v1/smallest.tpt").read_bytes()
    shown = bytearray()
    for line in lines[lines.index("<!-- smallest -->"):]:
        match = re.match(r"    ([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)(?:  |$)", line)
        if match:
            if int(match.group(1), 16) != len(shown):
                yield "smallest file: %s, expected offset %04x" % (line, len(shown))
            shown += bytes.fromhex(match.group(2))
        elif line.startswith("#") and shown:
            break
    if bytes(shown) != golden:
        at = next((i for i, (a, b) in enumerate(zip(shown, golden)) if a != b), min(len(shown), len(golden)))
        yield "smallest file: differs from tests/golden/v1/smallest.tpt at byte %04x" % at


def main():
    root = pathlib.Path(sys.argv[1])
    if sys.argv[2:] == ["--print"]:
        for marker, (head, rows) in expected_tables(root).items():
            print("<!-- %s -->\n" % marker)
            for row in [head, ["---"] * len(head)] + rows:
                print("| " + " | ".join(row) + " |")
            print()
        return 0
    lines = (root / "runtime/trace/format.md").read_text().splitlines()
    wrong = list(check_tables(root, lines)) + list(check_example(root, lines))
    for message in wrong:
        print("format.md: " + message)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
