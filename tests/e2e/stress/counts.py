# SPDX-License-Identifier: MIT
"""What a recording's summary counts, against the calls that there were."""

import glob
import os
import re
import subprocess


def counts():
    """The numbers of dump_recording's last line, and `early`: events of threads without a ring."""
    folder = os.environ["TPAGENT_OUT"]
    run = subprocess.run(
        [os.environ["DUMP"], "--summary", folder], capture_output=True, text=True
    )
    numbers = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", run.stdout)}
    numbers["early"] = 0
    for name in glob.glob(folder + "/*/*/*/meta.jsonl"):
        with open(name, encoding="utf-8") as file:
            for found in re.findall(r'"count":(\d+),"reason":"no ring', file.read()):
                numbers["early"] += int(found)
    numbers["text"] = run.stdout + run.stderr
    return numbers


def print_faults(numbers):
    for key in ("missing", "twice", "unmatched", "open", "open_differs", "damaged"):
        print(f"{key} {numbers[key]}")
