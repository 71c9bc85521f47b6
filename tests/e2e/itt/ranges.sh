# SPDX-License-Identifier: MIT
# Every ITT call, through a stub of our own.
agent "$WORKLOADS/itt_ranges" || exit
dump | awk -f "$HERE/ranges.awk"
grep -h '"t":"thread"' "$TPAGENT_OUT"/*/*/*/meta.jsonl | sed 's/"tid":[0-9]*/"tid":N/'
