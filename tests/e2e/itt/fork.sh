# SPDX-License-Identifier: MIT
# Names behind handles in a forked child, which has names of its own.
agent "$WORKLOADS/fork_ranges" || exit
dump | sed 's/^track=[0-9]* slot=[0-9]* //'
