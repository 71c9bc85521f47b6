# SPDX-License-Identifier: MIT
# Sourced by ./quickstart and ./check: find the tools that they need, install what is missing.
# shellcheck disable=SC2034,SC2154
# Needs $log (a file) and $program (a name for messages) from the script that sources it.

say() {
    printf '%s: %s\n' "$program" "$*"
}

die() {
    printf '%s: %s\n' "$program" "$*" >&2
    exit 1
}

# step WHAT COMMAND...: run it quietly; when it fails say so and show the end of what it printed.
step() {
    local what=$1 status=0
    shift
    printf '\n== %s: %s\n' "$what" "$*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null || status=$?
    [ $status = 0 ] && return 0
    tail -n 25 "$log" >&2
    die "$what failed (exit status $status); all of its output is in $log"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        return 127
    fi
}

# Packages still to install. `want CONDITION... -- PACKAGE...` adds some unless the condition holds.
missing=()
want() {
    local condition=()
    while [ "$1" != -- ]; do
        condition+=("$1")
        shift
    done
    shift
    "${condition[@]}" >/dev/null 2>&1 || missing+=("$@")
}

install_missing() {
    [ ${#missing[@]} = 0 ] && return 0
    command -v apt-get >/dev/null ||
        die "needs these Debian packages, or what they are called here: ${missing[*]}"
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
        die "must be root, or have sudo, to install: ${missing[*]}"
    say "installing ${missing[*]}"
    step 'apt-get update' as_root apt-get -q update
    step 'apt-get install' as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y --no-install-recommends install "${missing[@]}"
    missing=()
    hash -r
}

new_enough_meson() {
    local version
    version=$("$1" --version 2>/dev/null) || return 1
    [ "${version%%.*}" -ge 1 ] 2>/dev/null
}

# Sets $meson. The system's comes first: another may belong to a Python that has nothing else.
find_meson() {
    local candidate
    for candidate in /usr/bin/meson "$(command -v meson)" "$1/meson-venv/bin/meson"; do
        if [ -x "$candidate" ] && new_enough_meson "$candidate"; then
            meson=$candidate
            return 0
        fi
    done
    return 1
}

# find_or_get_meson DIRECTORY: the distribution's, or, where that is older than 1.0, by pip into
# DIRECTORY.
find_or_get_meson() {
    find_meson "$1" && return 0
    missing+=(meson)
    install_missing
    find_meson "$1" && return 0
    want /usr/bin/python3 -c 'import venv, ensurepip' -- python3-venv
    install_missing
    say "this system's meson is older than 1.0: taking a newer one with pip"
    step 'python3 -m venv' /usr/bin/python3 -m venv "$1/meson-venv"
    step 'pip install meson' "$1/meson-venv/bin/python" -m pip install -q meson
    find_meson "$1" || die "no meson of version 1.0 or newer"
}

# What the agent and tpreport are built with.
want_build_packages() {
    want command -v gcc -- gcc
    want test -e /usr/include/stdlib.h -- libc6-dev
    want command -v ninja -- ninja-build
    want command -v pkg-config -- pkg-config
    want pkg-config --exists libzstd -- libzstd-dev
    want pkg-config --exists libxxhash -- libxxhash-dev
    want pkg-config --exists yajl -- libyajl-dev
    want pkg-config --exists zlib -- zlib1g-dev
    want pkg-config --exists libprotobuf-c -- libprotobuf-c-dev
    want command -v protoc-c -- protobuf-c-compiler
    want pkg-config --exists libdw -- libdw-dev
    want test -x /usr/bin/python3 -- python3
}

has_torch() {
    [ -n "$1" ] && "$1" -c 'import torch' >/dev/null 2>&1 </dev/null
}
