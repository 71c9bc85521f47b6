# SPDX-License-Identifier: MIT
# A handler that records interrupts records: what was refused is counted, and nothing is mispaired.
# A begin that comes while its thread gets its ring is counted; the end that belongs to it is not,
# as there is nowhere to remember it.
agent "$WORKLOADS/signals" "${STRESS_PAIRS:-1000000}" >out || exit
"$PYTHON" "$HERE/signals.py"
