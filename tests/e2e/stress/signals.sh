# A handler that records interrupts records: what was refused is counted, and nothing is mispaired. A begin that comes
# while its thread gets its ring is counted; the end that belongs to it is not, as there is nowhere to remember it.
agent "$WORKLOADS/signals" ${STRESS_PAIRS:-1000000} >out || exit
dump --summary | "$PYTHON" -c '
import sys
counts = dict((k, int(v)) for k, v in (w.split("=") for w in sys.stdin.read().split() if "=" in w))
early = sum(int(n) for n in sys.argv[1:])
calls = int(open("out").read().split()[1])
print("all there or counted:", counts["begins"] + counts["ends"] + counts["dropped"] + early == calls)
print({k: counts[k] for k in ("tracks", "missing", "twice", "unmatched", "open", "open_differs", "damaged")})
print(counts, calls, early, file=sys.stderr)' $(sed -n 's/.*"count":\([0-9]*\),"reason":"no ring.*/\1/p' "$TPAGENT_OUT"/*/*/*/meta.jsonl)
