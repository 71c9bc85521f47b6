# SPDX-License-Identifier: MIT
"""The agent's rules for unwinding against readelf's tables, at every row of real libraries.

test_unwind.py UNWIND_RULES OBJECT...

An object is a pattern of paths.
"""

import glob

import os
import re
import subprocess
import sys

ROW = re.compile(r"^([0-9a-f]{16}) (\S+) +(.*)$")


def rows(path):
    """By address: CFA, rbp or None, return address; None for what signals' handlers return to."""
    # its status is not 0 for want of a separate file with debug information
    text = subprocess.run(
        ["readelf", "--debug-dump=frames-interp", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout.decode()
    columns, augmentation, entries, found, in_function = [], "", {}, {}, False
    for line in text.splitlines():
        words = line.split()
        if " CIE " in line:
            entries[words[0]] = words[4]
            in_function = False
        elif " FDE " in line:
            augmentation = entries[re.search(r"cie=([0-9a-f]+)", line)[1]]
            start, end = re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", line).groups()
            in_function, start, end = True, int(start, 16), int(end, 16)
        elif words[:2] == ["LOC", "CFA"]:
            columns = words[2:]
        elif in_function and (row := ROW.match(line)):
            address = int(row[1], 16)
            cells = re.sub(r"(r\d+) \(\w+\)", r"\1", row[3]).split()
            values = dict(zip(columns, cells))
            if start <= address < end:
                cells = (row[2], values.get("rbp", "u"), values.get("ra"))
                found[address] = None if "S" in augmentation else cells
    return found


def agrees(rule, row):
    base, offset, frame, below = rule.split()
    if base == "signal" or row is None:
        return base == "signal" and row is None
    cfa, rbp, ra = row
    plain = re.match(r"(rsp|rbp)([+-]\d+)$", cfa)
    saved = re.match(r"c([+-]\d+)$", rbp)
    if base == "end":
        far = plain and not -(1 << 17) <= int(plain[2]) < 1 << 17
        low = saved and not -8192 < int(saved[1]) <= 0
        odd = plain and int(plain[2]) % 8
        return not plain or far or low or odd or ra != "c-8" or not (rbp in "us" or saved)
    if ra != "c-8":
        return False
    if base == "exp":  # what it is made of is not shown
        if cfa != "exp":
            return False
    elif not plain or plain[1] != base or int(plain[2]) != int(offset):
        return False
    if frame == "c":
        return saved is not None and int(saved[1]) == -int(below)
    return {"u": rbp in ("u", "s"), "exp": rbp == "exp"}[frame]


def check(program, path):
    wanted = rows(path)
    addresses = sorted(wanted)
    done = subprocess.run(
        [program, path],
        input="\n".join(f"{a:x}" for a in addresses),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    rules = done.stdout.splitlines()
    assert len(rules) == len(addresses), (len(rules), len(addresses))
    ends = sum(rule.startswith("end") for rule in rules)
    wrong = [(hex(a), r, wanted[a]) for a, r in zip(addresses, rules) if not agrees(r, wanted[a])]
    print(f"# {path}: {len(rules)} rows, {ends} without a rule")
    assert not wrong, f"{len(wrong)} wrong: {wrong[:5]}"
    assert ends * 50 < len(rules) or len(rules) < 1000, ends


def main():
    program = sys.argv[1]
    paths = [path for p in sys.argv[2:] for path in sorted(glob.glob(p))[:1] or [p]]
    failed = 0
    print(f"1..{len(paths)}")
    for number, path in enumerate(paths, 1):
        if not os.path.exists(path):
            print(f"ok {number} - {path} # SKIP it is not there")
            continue
        try:
            check(program, path)
            print(f"ok {number} - {path}")
        except (AssertionError, subprocess.CalledProcessError) as problem:
            failed += 1
            print(f"not ok {number} - {path}")
            print(problem, file=sys.stderr)
    sys.exit(1 if failed else 0)


main()
