#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a built shared object must and must not contain. lint-binary.sh plugin|library FILE...
#
#   plugin   exports qkern_plugin_v1 alone; needs libc and libm at most; has its manifest; no
#            thread-local storage
#   library  exports qkern_... alone; needs libc at most
#   both     no start-up or exit code, no IFUNC, no executable stack, no text relocations; and, where nothing but the baseline CPU may be assumed, no FMA
# QKERN_LINT_FMA=allow: for plugins whose manifest asks for FMA.
set -euo pipefail

kind=$1
shift
bad=0

complain() {
    echo "$file: $*" >&2
    bad=1
}

for file in "$@"; do
    [ -f "$file" ] || { complain "no such file"; continue; }

    dynamic=$(readelf -dW "$file") segments=$(readelf -lW "$file") notes=$(readelf -nW "$file")
    symbols=$(readelf -sW "$file")
    exports=$(readelf --dyn-syms -W "$file" |
        awk '$1 ~ /^[0-9]+:$/ && $5 != "LOCAL" && $7 != "UND" {print $8}')
    needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")
    case $kind in
    plugin)
        [ "$exports" = qkern_plugin_v1 ] ||
            complain "expected to export qkern_plugin_v1 alone, exports:" $exports
        allowed='^(libc\.so\.6|libm\.so\.6)$'
        grep -q '^ *qkern ' <<<"$notes" || complain "has no note 'qkern' (manifest)"
        grep -qE '^ +[0-9]+ .*\.note\.qkern' <<<"$segments" ||
            complain ".note.qkern is in no segment, so a host cannot see it"
        ;;
    library)
        [ -n "$exports" ] || complain "exports nothing"
        strays=$(grep -v '^qkern_' <<<"$exports" || true)
        [ -z "$strays" ] || complain "expected to export qkern_... alone, exports also:" $strays
        allowed='^(libc\.so\.6|ld-linux-.*)$'
        ;;
    *)
        echo "usage: lint-binary.sh plugin|library FILE..." >&2
        exit 2
        ;;
    esac
    strays=$(grep -vE "$allowed" <<<"$needed" | grep . || true)
    [ -z "$strays" ] || complain "needs more than it may:" $strays

    # Every shared library gets .init_array and .fini_array from the compiler's own start files,
    # with one entry each (frame_dummy); a plugin is linked without those.
    if [ "$kind" = plugin ]; then
        found=$(grep -oE '\((INIT|FINI|INIT_ARRAY|FINI_ARRAY|PREINIT_ARRAY)\)' <<<"$dynamic" || true)
        [ -z "$found" ] || complain "has start-up or exit code:" $found
        grep -qE '^ +TLS ' <<<"$segments" && complain "has thread-local storage"
    else
        size=$(sed -n 's/.*(INIT_ARRAYSZ) *\([0-9]*\).*/\1/p' <<<"$dynamic")
        [ "${size:-0}" -le 8 ] || complain "has a constructor: INIT_ARRAYSZ is $size"
    fi
    awk '$4 == "IFUNC" && $7 != "UND" {found = 1} END {exit !found}' <<<"$symbols" &&
        complain "has an IFUNC"
    grep -q TEXTREL <<<"$dynamic" && complain "has text relocations"
    grep -q 'GNU_STACK.*RWE' <<<"$segments" && complain "asks for an executable stack"

    if [ "${QKERN_LINT_FMA:-}" != allow ]; then
        case $(readelf -hW "$file") in
        *X86-64*) fma='\<vfn?m(add|sub)' tool=objdump ;;
        *AArch64*) fma='\<(fmadd|fmsub|fnmadd|fnmsub|fmla|fmls)\>' tool=aarch64-linux-gnu-objdump ;;
        *) complain "of an architecture this check does not know" && continue ;;
        esac
        command -v $tool >/dev/null || tool=objdump
        code=$($tool -d --no-show-raw-insn "$file")
        [ "$(wc -l <<<"$code")" -gt 20 ] || complain "could not be disassembled"
        found=$(grep -E "$fma" <<<"$code" | head -n 3 || true)
        [ -z "$found" ] || complain "has fused multiply-add instructions:" "$found"
    fi
done
[ $bad -eq 0 ] && echo "$# files checked as $kind: nothing to object"
exit $bad
