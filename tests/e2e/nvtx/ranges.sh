# SPDX-License-Identifier: MIT
# Every NVTX call, in order; long names are told by their length.
[ -x "$WORKLOADS/nvtx_ranges" ] || skip "no NVTX headers"
agent "$WORKLOADS/nvtx_ranges" || exit
dump | sed -E 's/(x{100})x*/\1.../; s/(y{100})y*/\1.../; s/(α{50})α*/\1.../'
dump --json | "$PYTHON" -c '
import json, sys
for line in sys.stdin:
    if line[0] == "{":
        name = json.loads(line).get("name") or ""
        if len(name) > 100:
            print(name[0], len(name))'
grep -h -E '"t":"(thread|category)"' "$TPAGENT_OUT"/*/*/*/meta.jsonl | sed 's/"tid":[0-9]*/"tid":N/'
grep -h '"name":"nvtx"' "$TPAGENT_OUT"/*/*/*/meta.jsonl
