#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tests/device/run.sh [BUILD] - the checks that need a GPU, in under eight minutes
#
# Runs the agent under CUDA programs and PyTorch on this machine's GPU and compares what it
# recorded with what was done and with torch.profiler. Needs nvcc, and a python3 with torch that
# sees the GPU. BUILD is a folder with a finished build; without it, one is made where the headers
# of zstd and xxhash are found. The last line is "N passed, N failed"; exit status 1 when anything
# failed, 2 when the checks could not be run.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-}

fail() {
    echo "run.sh: $1" >&2
    exit 2
}

python3 -c 'import torch; raise SystemExit(not torch.cuda.is_available())' ||
    fail "python3 has no torch that sees a GPU"
if [ -z "$build" ]; then
    build=$root/build-device
    if ! printf '#include <zstd.h>\n#include <xxhash.h>\n' | cc -E - >/dev/null 2>&1; then
        fail "no headers of zstd and xxhash here: give a finished build as argument"
    fi
    log=$build.log
    [ -f "$build/build.ninja" ] || meson setup "$build" "$root" >"$log" 2>&1 ||
        fail "meson: see $log"
    ninja -C "$build" agent/libtpagent.so tools/tpreport/tpreport tests/e2e/dump_recording \
        >>"$log" 2>&1 || fail "ninja: see $log"
fi
for part in agent/libtpagent.so tools/tpreport/tpreport tests/e2e/dump_recording; do
    [ -e "$build/$part" ] || fail "$build/$part is not there"
done
exec python3 "$root/tests/device/device.py" --build "$build"
