#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs both README commands on a Debian 12 that has nothing but git, in a clone of this repository.
#
#   sudo scripts/check-fresh.sh [--root FOLDER] [--keep] [COMMAND...]
#
# Makes the system with debootstrap in FOLDER/base (default /var/tmp/qkern-fresh) if it is not there
# yet, and works in a copy of it, FOLDER/work, which is removed at the end unless --keep is given.
# COMMAND: other scripts than the two. The mirror is that of this machine's own apt.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

folder=/var/tmp/qkern-fresh
keep=0
commands=()
while [ $# -gt 0 ]; do
    case $1 in
    --root)
        folder=${2:?--root needs a folder}
        shift
        ;;
    --keep) keep=1 ;;
    -h | --help)
        sed -n '3,9s/^#\( \|$\)//p' "$0"
        exit 0
        ;;
    -*) fail "'$1' is not an option; see --help" ;;
    *) commands+=("$1") ;;
    esac
    shift
done
[ ${#commands[@]} -gt 0 ] || commands=("scripts/try.sh" "scripts/test.sh")
[ "$(id -u)" -eq 0 ] || fail "needs root, for chroot and mounts; start it with sudo"
command -v debootstrap >/dev/null || fail "needs debootstrap; install it with apt-get"
command -v git >/dev/null || fail "needs git"
if [ -n "$(git -c safe.directory="$PWD" status --porcelain)" ]; then
    echo "note: what is not committed is not part of the clone"
fi

# Where this machine's apt gets Debian from. apt-get knows all forms of sources files.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' |
    awk '$2 == "bookworm" && $3 == "Debian" {print $1; exit}')
mirror=${mirror:-http://deb.debian.org/debian}

if [ ! -f "$folder/base/.complete" ]; then
    say "Making a Debian 12 system from $mirror"
    rm -rf "$folder/base"
    mkdir -p "$folder"
    debootstrap --variant=minbase bookworm "$folder/base" "$mirror"
    # apt as on this machine: the Debian sources, proxies, and the certificates they may need.
    cp /etc/resolv.conf "$folder/base/etc/resolv.conf"
    printf 'deb %s bookworm main\n' "$mirror" >"$folder/base/etc/apt/sources.list"
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' |
        awk '$2 ~ /^bookworm-(updates|security)$/ && $3 == "Debian" {print "deb", $1, $2, "main"}' |
        sort -u >>"$folder/base/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::(http|https)(::[^ ]*)?::(Proxy|CaInfo|Verify)' \
        >"$folder/base/etc/apt/apt.conf.d/90host" || true
    mkdir -p "$folder/base/usr/local/share/ca-certificates"
    cp /usr/local/share/ca-certificates/*.crt "$folder/base/usr/local/share/ca-certificates/" \
        2>/dev/null || true
    chroot "$folder/base" apt-get -q update
    chroot "$folder/base" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y --no-install-recommends install git ca-certificates
    touch "$folder/base/.complete"
fi

work=$folder/work
release() {
    local mount
    for mount in "$work/dev" "$work/proc"; do
        if mountpoint -q "$mount"; then
            umount -R "$mount"
        fi
    done
}
clean() {
    release
    # Never remove anything while one of the machine's own file systems is mounted below.
    if [ $keep -eq 0 ] && ! grep -q " $work/" /proc/self/mounts; then
        rm -rf "$work"
    fi
}
trap clean EXIT

say "Cloning into a copy of the system: $work"
release
rm -rf "$work"
cp -a "$folder/base" "$work"
mount -t proc proc "$work/proc"
mkdir -p "$work/dev/shm" "$work/dev/pts"
mount --rbind /dev "$work/dev"
mount --make-rslave "$work/dev"
git -c safe.directory="*" clone -q "file://$PWD" "$work/root/qkern"

for command in "${commands[@]}"; do
    start=$SECONDS
    say "$command"
    chroot "$work" env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        QKERN_FUZZ_SECONDS="${QKERN_FUZZ_SECONDS:-20}" \
        sh -c "cd /root/qkern && $command" || fail "'$command' failed on the fresh system"
    say "$command: passed in $((SECONDS - start)) s"
done
