# SPDX-License-Identifier: MIT
import sys

import counts

with open("out", encoding="utf-8") as file:
    calls = int(file.read().split()[1])
numbers = counts.counts()
seen = numbers["begins"] + numbers["ends"] + numbers["dropped"] + numbers["early"]
print("all there or counted:", seen == calls)
print("tracks", numbers["tracks"])
counts.print_faults(numbers)
print(numbers, calls, file=sys.stderr)
