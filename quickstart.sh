#!/bin/sh
# quickstart.sh - from a bare Debian 12 to a checked kernel.
#
#   sh quickstart.sh [-y]         install what is missing, build kilnc, run one
#                                 GEMM on the simulated GPU
#   sh quickstart.sh [-y] test    install and build what the tests need as well,
#                                 run them, list what they skipped
#
# Works from any directory; the second run installs nothing and rebuilds only
# what changed. LLVM 22 is in Debian's security archive: where apt's sources
# lack it, a terminal is asked whether to add it, -y or a script is not.
set -eu

build_packages="gcc libc6-dev meson ninja-build pkg-config python3
    llvm-22-dev libjansson-dev libmd-dev"
test_packages="python3-numpy llvm-22-tools lld-22 libamd-comgr-dev
    libcmocka-dev clang-22 clang-tools-22 libclang-rt-22-dev libamdhip64-dev
    cmake zsh man-db python3-pip debhelper dh-python lintian"
# What a bare Debian 12 took (tests/quickstart/bare_root.sh, two cores); of the
# tests' packaging tools what apt says of them.
run_cost="220 MB to download, 1.4 GB of disk, 3 to 5 minutes"
test_cost="500 MB to download, 3.2 GB of disk, 20 to 30 minutes"
security_list=/etc/apt/sources.list.d/kiln-security.list
os_release=${OS_RELEASE:-/etc/os-release}

say() {
    printf '==> %s\n' "$*" >&2
}

die() {
    printf 'quickstart: %s\n' "$*" >&2
    exit 2
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# The system's name and version as os-release has them: debian:12, fedora:40.
system_name() {
    (ID=unknown VERSION_ID=
     [ ! -r "$os_release" ] || . "$os_release"
     printf '%s:%s' "$ID" "$VERSION_ID")
}

missing_packages() {
    for p in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) ||
            state=none
        [ "$state" = installed ] || printf '%s ' "$p"
    done
}

# Those that apt could not install, whatever the reason.
unknown_packages() {
    for p in "$@"; do
        LC_ALL=C apt-cache policy "$p" 2>/dev/null |
            grep -q 'Candidate: [^(]' || printf '%s ' "$p"
    done
}

update_lists() {
    as_root apt-get update -q -o APT::Update::Error-Mode=any >&2
}

# The security archive stands beside the main one on the same mirror.
security_uri() {
    apt-get indextargets --format '$(RELEASE) $(REPO_URI)' |
        sed -n 's,^bookworm \(.*[^/]\)/*$,\1-security,p' | head -n 1
}

agreed() {
    [ "$yes" = no ] && [ -t 0 ] || return 0
    printf 'Add this line to %s? [Y/n] ' "$security_list" >&2
    read -r answer
    case $answer in
    '' | [Yy]*) return 0 ;;
    esac
    return 1
}

# Adds Debian's security archive; takes it back where it does not answer.
add_security() {
    uri=$(security_uri)
    [ -n "$uri" ] || die "apt's sources name no bookworm archive to go by:" \
        "add Debian's bookworm-security, which has LLVM 22"
    line="deb $uri bookworm-security main"
    say "LLVM 22 is in Debian's security archive, which apt's sources lack:"
    say "    $line"
    agreed || die "LLVM 22 needs that archive: add it, then run this again"
    printf '%s\n' "$line" | as_root tee "$security_list" >/dev/null
    if update_lists; then
        say "added as $security_list"
    else
        as_root rm -f "$security_list"
        die "no security archive answers at $uri (the line is taken back)"
    fi
}

# Lists that know every package asked for, or one sentence why not.
find_packages() {
    reached=yes
    say "reading apt's package lists"
    update_lists || reached=no
    case $system:$reached:$(unknown_packages "$@") in
    debian:12:yes:*llvm-22* | debian:12:yes:*clang-22* | \
        debian:12:yes:*lld-22*) add_security ;;
    esac
    unknown=$(unknown_packages "$@")
    [ -n "$unknown" ] || return 0
    [ $reached = yes ] ||
        die "no network: apt-get update failed, and without it apt does not" \
            "know: $unknown"
    die "apt's sources have no package: $unknown(Debian 12 has it in main or" \
        "bookworm-security)"
}

# What apt itself says of an installation, in its words.
installed_size() {
    env LC_ALL=C apt-get install --assume-no --no-install-recommends "$@" \
        2>/dev/null |
        sed -n -e 's/^Need to get \(.*\) of archives.*/\1 to download,/p' \
            -e 's/^After this operation, \(.*\) of additional.*/\1 of disk/p' |
        tr '\n' ' '
}

install_packages() {
    need=$(missing_packages "$@")
    [ -n "$need" ] || return 0
    say "to be installed: $need"
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        die "run as root, or have root run: apt-get install $need"
    fi
    find_packages $need
    say "installing: $(installed_size $need)"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends $need >&2 ||
        die "apt-get could not install: $need(its message is above; a failed" \
            "download is the network's)"
}

# Elsewhere nothing is installed: what the build needs has to be there.
check_tools() {
    for tool in cc meson ninja pkg-config python3; do
        command -v $tool >/dev/null || lacking="${lacking-}$tool "
    done
    command -v llvm-config-22 >/dev/null || command -v llvm-config >/dev/null ||
        lacking="${lacking-}llvm-config-22 "
    [ -z "${lacking-}" ] ||
        die "$system is no Debian: install by hand what is lacking:" \
            "$lacking(needed: a C17 compiler, meson 1.0.1, ninja, pkg-config," \
            "python3, LLVM 22 with the AMDGPU target, jansson, libmd; for the" \
            "tests cmocka, numpy, lit, clang 22 and lld 22)"
}

prepare_system() {
    case $system in
    debian:12) ;;
    *) say "$system is untested: kiln is tested on Debian 12" ;;
    esac
    if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
        if [ -n "$(missing_packages "$@")" ]; then
            say "this takes about $cost"
        fi
        install_packages "$@"
    else
        check_tools
    fi
}

# The pages of `kilnc report` are looked at in a real browser if there is one.
install_browser() {
    [ -n "$(missing_packages chromium)" ] || return 0
    (install_packages chromium) ||
        say "no chromium: the test that draws pages skips its drawings"
}

run_example() {
    cost=$run_cost
    prepare_system $build_packages
    [ -f build/build.ninja ] || meson setup build -Dtests=false
    say "building kilnc"
    ninja -C build kilnc
    say "running an MX-FP8 GEMM on the simulated gfx950"
    exec build/kilnc run gemm --a mxfp8 --b mxfp8 --out bf16 \
        -m 512 -n 512 -k 1024 --device sim:gfx950
}

# Configures again, so that the tests of packages that came later exist.
run_tests() {
    cost=$test_cost
    prepare_system $build_packages $test_packages
    ! command -v apt-get >/dev/null || install_browser
    again=
    [ ! -f build/build.ninja ] || again=--reconfigure
    meson setup $again build -Dtests=true
    say "building"
    ninja -C build
    say "testing"
    rm -f build/meson-logs/testlog.* build/tests/lit-*.xml
    status=0
    meson test -C build --print-errorlogs || status=$?
    python=/usr/bin/python3
    [ -x "$python" ] || python=python3
    "$python" tests/count.py --skipped build || status=1
    exit "$status"
}

cd "$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)"
system=$(system_name)
yes=no
if [ "${1-}" = -y ]; then
    yes=yes
    shift
fi
[ $# -le 1 ] || die "too many arguments; usage: sh quickstart.sh [-y] [test]"
case "${1-run}" in
run) run_example ;;
test) run_tests ;;
*) die "unknown argument '$1'; usage: sh quickstart.sh [-y] [test]" ;;
esac
