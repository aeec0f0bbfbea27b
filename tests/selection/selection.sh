#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# On each machine of machines.txt, qkern chooses the plugins that it should, and they give the bits of
# scalar. Of the plugins, those that are built count. selection.sh BUILD-FOLDER WORK-FOLDER
set -euo pipefail

here=$(dirname "$(readlink -f "$0")") build=$(readlink -f "$1") work=$2
qkern=$build/bin/qkern
case $(readelf -hW "$qkern") in
*X86-64*) arch=x86_64 ;;
*AArch64*) arch=aarch64 ;;
*) echo "$qkern is for an architecture this check does not know" >&2 && exit 1 ;;
esac
emulator=qemu-$arch
native=$([ "$(uname -m)" = $arch ] && echo yes || echo no)
rm -rf "$work"
mkdir -p "$work"
unset QKERN_MAX_ISA QKERN_FEATURES QKERN_PLUGIN_PATH

declare -A built=()
for file in "$build"/lib/qkern/plugins/qkern-*.so; do
    name=${file##*/qkern-}
    built[${name%.so}]=yes
done

# Whether this machine has all that a plugin needs.
native_runs() {
    local need
    for need in $(sed -n "s/^needs $1 //p" "$here/machines.txt"); do
        grep -qwE "^(flags|Features).*[[:space:]]$need" /proc/cpuinfo || return 1
    done
}

# The plugins that are to be usable, of those that are built.
expected() { # cpu plugin...
    local name list=""
    for name in "${@:2}"; do
        [ -n "${built[$name]-}" ] || continue
        if [ "$1" = native ] && ! native_runs "$name"; then continue; fi
        list+=$name,
    done
    echo "${list}scalar"
}

look() { # cpu variables plugins report
    local command=("$qkern") variables=()
    [ "$1" = native ] || command=("$emulator" -cpu "$1" "$qkern")
    [ "$2" = - ] || variables=("$2")
    # QEMU warns of what it cannot emulate; none of that is asked about here.
    env "${variables[@]}" "${command[@]}" info --json 2>"$work/errors" >"$work/info.json" ||
        { cat "$work/errors"; return 1; }
    env "${variables[@]}" "${command[@]}" run "$here/look.lua" "$work/info.json" "$4" "$3" \
        2>"$work/errors" || { grep -v "TCG doesn't support" "$work/errors"; return 1; }
}

if [ $native = yes ]; then reference_cpu=native; else reference_cpu=max; fi
look $reference_cpu QKERN_MAX_ISA=scalar scalar "$work/reference" || exit 1

bad=0 looked=0 skipped=0
while read -r row_arch cpu variables plugins; do
    [ "$row_arch" = $arch ] || continue
    if { [ "$cpu" = native ] && [ $native = no ]; } ||
        { [ "$cpu" != native ] && ! command -v "$emulator" >/dev/null; }; then
        skipped=$((skipped + 1))
        continue
    fi
    list=$(expected "$cpu" $plugins)
    looked=$((looked + 1))
    if ! found=$(look "$cpu" "$variables" "$list" "$work/bytes"); then
        printf 'FAILED: %s, %s: expected %s\n%s\n' "$cpu" "$variables" "$list" "$found"
        bad=1
    elif ! cmp "$work/reference" "$work/bytes"; then
        echo "FAILED: $cpu, $variables: other bits than scalar gives"
        bad=1
    else
        echo "$cpu, $variables: $list"
    fi
done < <(grep -vE '^(#|needs|$)' "$here/machines.txt")
echo "$looked machines looked at, $skipped skipped (no $emulator, or not this machine's architecture)"
[ $looked -gt 0 ] || exit 77
exit $bad
