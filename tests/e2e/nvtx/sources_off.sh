# SPDX-License-Identifier: MIT
# A source that is not wanted leaves no trace, not even in the environment.
agent env TPAGENT_SOURCES=-nvtx true
TPAGENT_SOURCES=-nvtx agent sh -c 'echo "${NVTX_INJECTION64_PATH-unset}"'
