# SPDX-License-Identifier: MIT
# Another tool's injection library is left alone, and one line says so.
[ -x "$WORKLOADS/nvtx_ranges" ] || skip "no NVTX headers"
export NVTX_INJECTION64_PATH=/opt/other/libother.so
agent "$WORKLOADS/nvtx_ranges" >out 2>err
cat err
dump --summary
agent sh -c 'echo $NVTX_INJECTION64_PATH' 2>/dev/null
unset NVTX_INJECTION64_PATH
agent sh -c 'echo $NVTX_INJECTION64_PATH' | sed "s,^$AGENT\$,ours,"
