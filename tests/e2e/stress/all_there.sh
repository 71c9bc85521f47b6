# SPDX-License-Identifier: MIT
# Eight threads, all records wanted: every one is there, in order, paired.
export TPAGENT_WHEN_FULL=wait
agent "$WORKLOADS/stress" 8 "${STRESS_PAIRS:-1000000}" || exit
dump --summary
