# SPDX-License-Identifier: MIT
# Without waiting: what was recorded and what was counted as lost is all that there was.
agent "$WORKLOADS/stress" 8 "${STRESS_PAIRS:-1000000}" || exit
"$PYTHON" "$HERE/adds_up.py"
