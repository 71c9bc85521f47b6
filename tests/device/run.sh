#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tests/device/run.sh [--prepare] [BUILD] - the checks that need a GPU, in under eight minutes
#
# Runs the agent under CUDA programs and PyTorch on this machine's GPU and compares what it
# recorded with what was done and with torch.profiler. Needs a python3 with torch that sees the
# GPU. What is missing in the folder BUILD (default: build-device) is built: the agent where meson
# and the headers of zstd, xxhash and yajl are found, the CUDA programs where nvcc is. --prepare
# only builds, so that BUILD can be carried to a machine that has none of them. The last line is
# "N passed, N failed"; exit status 1 when anything failed, 2 when the checks could not be run.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
prepare=
[ "${1:-}" != --prepare ] || { prepare=1 && shift; }
build=${1:-$root/build-device}
own=$build/device # what only these checks need

fail() {
    echo "run.sh: $1" >&2
    [ ! -s "${2:-}" ] || tail -n 30 "$2" >&2
    exit 2
}

# WHAT COMMAND...: its output is shown if it fails
step() {
    what=$1
    shift
    "$@" >"$own/log" 2>&1 || fail "$what failed: $*" "$own/log"
}

build_agent() {
    command -v meson >/dev/null || fail "no finished build in $build, and no meson to make one"
    printf '#include <zstd.h>\n#include <xxhash.h>\n#include <yajl/yajl_tree.h>\n' |
        cc -E - >/dev/null 2>&1 ||
        fail "no headers of zstd, xxhash and yajl here: carry a BUILD along"
    [ -f "$build/build.ninja" ] ||
        step meson meson setup --buildtype=release -Dtests=false "$build" "$root"
    step ninja ninja -C "$build" agent/libtpagent.so tools/tpreport/tpreport runtime/libtpruntime.a
}

find_nvcc() {
    for nvcc in "$(command -v nvcc || true)" "${CUDA_HOME:-}/bin/nvcc" "${CUDA_PATH:-}/bin/nvcc" \
        /usr/local/cuda/bin/nvcc; do
        [ ! -x "$nvcc" ] || break
        nvcc=
    done
}

build_cuda_program() { # KIND
    find_nvcc
    [ -n "$nvcc" ] || fail "no $own/cuda_calls_$1, and no nvcc to make it"
    home=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    # the runtime of this nvcc, should the loader not know it
    step nvcc "$nvcc" -O2 -Xlinker "-rpath=$home/lib64" -cudart "$1" -arch=all-major \
        -o "$own/cuda_calls_$1" "$root/tests/device/cuda_calls.cu"
}

mkdir -p "$own"
[ -e "$build/agent/libtpagent.so" ] && [ -e "$build/tools/tpreport/tpreport" ] || build_agent
[ -e "$own/dump_recording" ] ||
    step cc cc -O2 -I "$root/runtime" -o "$own/dump_recording" "$root/tests/e2e/dump_recording.c" \
        "$build/runtime/libtpruntime.a" -lzstd -lxxhash
[ -e "$own/libclient.so" ] ||
    step cc cc -O2 -D_GNU_SOURCE -shared -fPIC -o "$own/libclient.so" \
        "$root/tests/simcuda/tests/client.c" -ldl -lpthread
for kind in shared static; do
    [ -e "$own/cuda_calls_$kind" ] || build_cuda_program $kind
done
[ -z "$prepare" ] || exit 0
python3 -c 'import torch; raise SystemExit(not torch.cuda.is_available())' ||
    fail "python3 has no torch that sees a GPU"
exec python3 "$root/tests/device/device.py" --build "$build"
