#!/bin/sh
# quickstart.sh - from a fresh Debian 12 to a checked kernel.
#
#   sh quickstart.sh         install what is missing, build, run one GEMM
#   sh quickstart.sh test    the same set-up, then the test suite
#
# Works from any directory; the second run installs nothing and rebuilds
# only what changed.
set -eu

build_packages="gcc libc6-dev meson ninja-build pkg-config python3
    python3-numpy llvm-22-dev llvm-22-tools lld-22 libamd-comgr-dev
    libjansson-dev libcmocka-dev libmd-dev"
test_packages="clang-22 libclang-rt-22-dev libamdhip64-dev"

say() {
    printf '==> %s\n' "$*" >&2
}

die() {
    printf 'quickstart: %s\n' "$*" >&2
    exit 2
}

missing_packages() {
    for p in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) ||
            state=none
        [ "$state" = installed ] || printf '%s ' "$p"
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

install_packages() {
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
        die "this is no Debian; install by hand:" $*
    need=$(missing_packages "$@")
    [ -n "$need" ] || return 0
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        die "run as root, or have root run: apt-get install $need"
    fi
    say "installing: $need"
    as_root apt-get update -q || die "apt-get update failed (network?)"
    # LLVM 22 is in bookworm-security.
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends $need ||
        die "apt-get could not install: $need(LLVM 22 needs bookworm-security)"
}

# The pages of `kilnc report` are looked at in a real browser if there is one:
# 208 MB with what it needs, one or two minutes.
install_browser() {
    [ -n "$(missing_packages chromium)" ] || return 0
    (install_packages chromium) ||
        say "no chromium: the test that draws pages skips its drawings"
}

build_kiln() {
    if [ ! -f build/build.ninja ]; then
        say "configuring build/"
        meson setup build
    fi
    say "building"
    ninja -C build
}

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
cd "$here"
case "${1-run}" in
run)
    install_packages $build_packages
    build_kiln
    say "running an MX-FP8 GEMM on the simulated gfx950"
    exec build/kilnc run gemm --a mxfp8 --b mxfp8 --out bf16 \
        -m 512 -n 512 -k 1024 --device sim:gfx950
    ;;
test)
    install_packages $build_packages $test_packages
    install_browser
    build_kiln
    say "testing"
    exec meson test -C build --print-errorlogs
    ;;
*)
    die "unknown argument '$1'; usage: sh quickstart.sh [test]"
    ;;
esac
