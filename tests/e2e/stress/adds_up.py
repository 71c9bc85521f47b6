# SPDX-License-Identifier: MIT
import counts

numbers = counts.counts()
print("calls", numbers["begins"] + numbers["ends"] + numbers["dropped"])
print("records `lost` say no more than the end:", numbers["lost"] <= numbers["dropped"])
counts.print_faults(numbers)
