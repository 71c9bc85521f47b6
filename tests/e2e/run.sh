#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh SCRIPT: run one end-to-end test in a folder of its own and compare what it prints with its
# .stdout.exact, and its exit status with its .exit (0 without). The script finds:
#   agent PROGRAM...   runs it under the agent        dump [OPTION]   prints the recording
#   skip REASON        ends the test, not run         HERE            the script's folder
#   WORKLOADS          folder of programs             PYTHON          an interpreter
# UPDATE=1 takes what it prints for right.
set -u
script=$(realpath "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/tpagent-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
for name in $(env | sed -n 's/^\(TPAGENT_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
unset NVTX_INJECTION64_PATH INTEL_LIBITTNOTIFY64 LD_PRELOAD
mkdir recording
export TPAGENT_OUT="$work/recording"
export AGENT DUMP WORKLOADS PYTHON
HERE=$(dirname "$script")
export HERE

# shellcheck disable=SC2317 # the script calls them
agent() { LD_PRELOAD="$AGENT" "$@"; }
# shellcheck disable=SC2317
dump() { "$DUMP" "$@" "$TPAGENT_OUT"; }
# shellcheck disable=SC2317
skip() {
    echo "skipped: $*" >&2
    exit 77
}

# shellcheck disable=SC1090
(. "$script") >stdout 2>stderr
status=$?
cat stderr >&2
[ $status -eq 77 ] && exit 77
expected_status=0
[ -f "${script%.sh}.exit" ] && expected_status=$(cat "${script%.sh}.exit")
if [ $status -ne "$expected_status" ]; then
    cat stdout
    echo "exit status $status, expected $expected_status"
    exit 1
fi
exact="${script%.sh}.stdout.exact"
if [ -f "$exact" ]; then
    [ "${UPDATE:-}" ] && cp stdout "$exact"
    diff -u "$exact" stdout || exit 1
fi
exit 0
