# SPDX-License-Identifier: MIT
# A handler that records interrupts records: what was refused is counted, and nothing is mispaired.
# A begin that comes while its thread gets its ring is counted; the end that belongs to it is not,
# as there is nowhere to remember it.
agent "$WORKLOADS/signals" "${STRESS_PAIRS:-1000000}" >out || exit
dump --summary | "$PYTHON" -c '
import glob, os, re, sys
counts = dict((k, int(v)) for k, v in (w.split("=") for w in sys.stdin.read().split() if "=" in w))
early = 0
for name in glob.glob(os.environ["TPAGENT_OUT"] + "/*/*/*/meta.jsonl"):
    counted = re.findall(r"\"count\":(\d+),\"reason\":\"no ring", open(name).read())
    early += sum(int(n) for n in counted)
calls = int(open("out").read().split()[1])
seen = counts["begins"] + counts["ends"] + counts["dropped"]
print("all there or counted:", seen + early == calls)
kinds = "tracks missing twice unmatched open open_differs damaged".split()
print({k: counts[k] for k in kinds})
print(counts, calls, early, file=sys.stderr)'
