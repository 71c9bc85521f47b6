# SPDX-License-Identifier: MIT
# Every call of tpagent.h, with the agent, with the source off, and without the agent.
"$WORKLOADS/api_ranges" || exit
TPAGENT_SOURCES=-api agent "$WORKLOADS/api_ranges" || exit
dump --summary
rm -r "${TPAGENT_OUT:?}"/*
agent "$WORKLOADS/api_ranges" || exit
dump
