# SPDX-License-Identifier: MIT
# Without waiting: what was recorded and what was counted as lost is all that there was.
agent "$WORKLOADS/stress" 8 "${STRESS_PAIRS:-1000000}" || exit
dump --summary | "$PYTHON" -c '
import sys
counts = dict((k, int(v)) for k, v in (w.split("=") for w in sys.stdin.read().split() if "=" in w))
print("calls", counts["begins"] + counts["ends"] + counts["dropped"])
kinds = "tracks missing twice unmatched open open_differs damaged torn".split()
print({k: counts[k] for k in kinds})
print("lost records say less than the end of the process:", counts["lost"] <= counts["dropped"])'
