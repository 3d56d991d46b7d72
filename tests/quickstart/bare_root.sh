#!/bin/sh
# bare_root.sh - quickstart.sh in Debian 12 roots that debootstrap makes.
#
#   sh tests/quickstart/bare_root.sh FOLDER [APT.CONF]
#
# Three roots below FOLDER, main archive only: root itself (which has to add the
# security archive), a user with sudo, and the first root again with its
# packages there, a fresh clone and no network. Prints time and size of each,
# then the line of the check; exits 1 if one did not end in a checked result.
# Run as root, with debootstrap; takes the mirror that this system uses, and
# APT.CONF into the roots where that mirror needs one. Some 5 GB and 15 minutes.
set -eu

folder=$1
conf=${2-}
source=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' |
    sed -n 's/^bookworm //p' | head -n 1)

make_root() {
    [ ! -d "$folder/pristine" ] || return 0
    debootstrap --variant=minbase bookworm "$folder/making" "$mirror" >&2
    cp /etc/resolv.conf "$folder/making/etc/"
    [ -z "$conf" ] || cp "$conf" "$folder/making/etc/apt/apt.conf.d/99mirror"
    mv "$folder/making" "$folder/pristine"
}

megabytes() {
    du -xsm "$1" | cut -f 1
}

# clone ROOT OWNER: this checkout's HEAD as ROOT/kiln
clone() {
    rm -rf "$1/kiln"
    git clone -q "$source" "$1/kiln"
    chroot "$1" chown -R "$2" /kiln
}

# try NAME ROOT COMMAND...: what it took, and whether a checked result came out
try() {
    name=$1 root=$2
    shift 2
    before=$(megabytes "$root")
    start=$(date +%s)
    "$@" </dev/null >"$folder/$name.log" 2>&1 || true
    printf '%s: %d s, %d MB\n' "$name" $(($(date +%s) - start)) \
        $(($(megabytes "$root") - before))
    grep '^check     ok' "$folder/$name.log" || {
        tail -n 5 "$folder/$name.log"
        failed=1
    }
}

failed=0
mkdir -p "$folder"
make_root
rm -rf "$folder/root" "$folder/user"
cp -a "$folder/pristine" "$folder/root"
clone "$folder/root" root
try bare-root "$folder/root" chroot "$folder/root" sh /kiln/quickstart.sh

cp -a "$folder/pristine" "$folder/user"
chroot "$folder/user" sh -c 'apt-get update -q && apt-get install -y -q sudo &&
    useradd -m user && echo "user ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/user
    ' >"$folder/user-setup.log" 2>&1
clone "$folder/user" user
try user-with-sudo "$folder/user" \
    chroot "$folder/user" su user -c 'sh /kiln/quickstart.sh'

clone "$folder/root" root
try offline "$folder/root" \
    unshare -n chroot "$folder/root" sh /kiln/quickstart.sh
exit $failed
