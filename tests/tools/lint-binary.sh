#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a built file must and must not contain.
#
#   lint-binary.sh plugin|library|program [--built-with COMMAND] [--granted GRANTS] FILE...
#
#   plugin   exports qkern_plugin_v1 alone; needs libc and libm at most; has its manifest; no
#            thread-local storage; no instruction that needs a feature which its manifest does not
#            name. COMMAND, the compiler with its flags, may use the manifest's features and no other
#   library  exports qkern_... alone; needs libc at most; asks for the CPU, but has no instruction
#            that the architecture's first CPU does not have
#   program  the same of instructions alone
#   all      no fused multiply-add; plugin and library: no start-up or exit code, no IFUNC, no
#            executable stack, no text relocations
# GRANTS: features for functions that run only where the CPU has them; see lint-instructions.awk.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
features_header=$here/../../abi/include/qkern/features.h
bad=0

usage() {
    echo "usage: lint-binary.sh plugin|library|program [--built-with COMMAND] [--granted GRANTS] FILE..." >&2
    exit 2
}

complain() {
    echo "$file: $*" >&2
    bad=1
}

# The features of the architecture, each with its word and bit.
feature_list() {
    local list=AARCH64
    [ "$arch" = aarch64 ] || list=X86
    sed -n "/^#define QKERN_${list}_FEATURES(X)/,/^\$/"'{
        s/^ *X([A-Z0-9_]*, "\([^"]*\)", \([0-9]*\), \([0-9]*\)).*/\1 \2 \3/p}' "$features_header"
}

# The features that the manifest of $file names. Its feature words are bytes 32 to 63 of the note.
manifest_features() {
    local bytes word name bit
    bytes=($(awk '$1 == "qkern" {here = 1} here && sub(/.*description data: /, "") {print; exit}' \
        <<<"$notes"))
    [ ${#bytes[@]} -ge 128 ] || return 0
    while read -r name word bit; do
        local value=$((16#${bytes[32 + 4 * word + bit / 8]}))
        [ $((value >> bit % 8 & 1)) -eq 0 ] || echo "$name"
    done < <(feature_list)
}

# Sets `macro` to the one with which a compiler says that it may use a feature.
feature_macro() {
    macro=${1^^}
    case $arch:$1 in
    aarch64:asimd) macro=__ARM_NEON ;;
    aarch64:fp16) macro=__ARM_FEATURE_FP16_VECTOR_ARITHMETIC ;;
    aarch64:fhm) macro=__ARM_FEATURE_FP16_FML ;;
    aarch64:rdm) macro=__ARM_FEATURE_QRDMX ;;
    aarch64:i8mm) macro=__ARM_FEATURE_MATMUL_INT8 ;;
    aarch64:bf16) macro=__ARM_FEATURE_BF16_VECTOR_ARITHMETIC ;;
    aarch64:svei8mm) macro=__ARM_FEATURE_SVE_MATMUL_INT8 ;;
    aarch64:svebf16) macro=__ARM_FEATURE_SVE_BF16 ;;
    aarch64:*) macro=__ARM_FEATURE_$macro ;;
    x86_64:bmi1) macro=__BMI__ ;;
    x86_64:avx-*) macro=__${macro//-/}__ ;;
    *) macro=__${macro//[.-]/_}__ ;;
    esac
}

# The features that the compiler may use.
compiled_features() {
    local macros name rest macro
    macros=$'\n'$(eval "$built_with -dM -E -x c /dev/null")
    while read -r name rest; do
        feature_macro "$name"
        [[ $macros != *$'\n#define '"$macro "* ]] || echo "$name"
    done < <(feature_list)
}

# Drops what every CPU of the architecture has; and what compilers may use along with other features,
# RDM with all that needs Armv8.1, FMA (clang) with AVX-512: the instructions tell that it is not used.
beyond_the_baseline() {
    grep -vxE 'sse2|asimd|rdm|fma' | sort || true
}

check_exports() { # allowed libraries
    local strays exports needed
    exports=$(readelf --dyn-syms -W "$file" |
        awk '$1 ~ /^[0-9]+:$/ && $5 != "LOCAL" && $7 != "UND" {print $8}')
    needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")
    if [ "$kind" = plugin ]; then
        [ "$exports" = qkern_plugin_v1 ] ||
            complain "expected to export qkern_plugin_v1 alone, exports:" $exports
    else
        [ -n "$exports" ] || complain "exports nothing"
        strays=$(grep -v '^qkern_' <<<"$exports" || true)
        [ -z "$strays" ] || complain "expected to export qkern_... alone, exports also:" $strays
    fi
    strays=$(grep -vE "$1" <<<"$needed" | grep . || true)
    [ -z "$strays" ] || complain "needs more than it may:" $strays
}

# Every shared library gets .init_array and .fini_array from the compiler's own start files, with
# one entry each (frame_dummy); a plugin is linked without those.
check_start() {
    local found size
    if [ "$kind" = plugin ]; then
        found=$(grep -oE '\((INIT|FINI|INIT_ARRAY|FINI_ARRAY|PREINIT_ARRAY)\)' <<<"$dynamic" || true)
        [ -z "$found" ] || complain "has start-up or exit code:" $found
    else
        size=$(sed -n 's/.*(INIT_ARRAYSZ) *\([0-9]*\).*/\1/p' <<<"$dynamic")
        [ "${size:-0}" -le 8 ] || complain "has a constructor: INIT_ARRAYSZ is $size"
    fi
    awk '$4 == "IFUNC" && $7 != "UND" {found = 1} END {exit found}' <<<"$symbols" ||
        complain "has an IFUNC"
    ! grep -q TEXTREL <<<"$dynamic" || complain "has text relocations"
    ! grep -q 'GNU_STACK.*RWE' <<<"$segments" || complain "asks for an executable stack"
}

check_manifest() {
    grep -q '^ *qkern ' <<<"$notes" || complain "has no note 'qkern' (manifest)"
    grep -qE '^ +[0-9]+ .*\.note\.qkern' <<<"$segments" ||
        complain ".note.qkern is in no segment, so a host cannot see it"
    ! grep -qE '^ +TLS ' <<<"$segments" || complain "has thread-local storage"
    [ -n "$built_with" ] || return 0
    local named compiled
    named=$(manifest_features | beyond_the_baseline)
    compiled=$(compiled_features | beyond_the_baseline)
    [ "$named" = "$compiled" ] ||
        complain "its manifest and the compiler's flags differ:" \
            "the manifest names [$(echo $named)], the compiler may use [$(echo $compiled)]"
}

check_instructions() { # declared features
    local syntax=() tool=objdump found
    case $arch in
    x86_64) syntax=(-M intel) ;;
    aarch64) command -v aarch64-linux-gnu-objdump >/dev/null && tool=aarch64-linux-gnu-objdump ;;
    esac
    if ! found=$("$tool" -d -w "${syntax[@]}" "$file" |
        awk -v arch="$arch" -v declared="$1" -v granted="$granted" \
            -f "$here/lint-instructions.awk" "$here/instructions-$arch.txt" -); then
        while read -r line; do complain "$line"; done <<<"$found"
    fi
}

kind=${1-} built_with="" granted=""
case $kind in
plugin | library | program) shift ;;
*) usage ;;
esac
while [ $# -gt 0 ]; do
    case $1 in
    --built-with) built_with=${2?} ;;
    --granted) granted=${2?} ;;
    -*) usage ;;
    *) break ;;
    esac
    shift 2
done
[ $# -gt 0 ] || usage

for file in "$@"; do
    [ -f "$file" ] || { complain "no such file"; continue; }
    case $(readelf -hW "$file") in
    *X86-64*) arch=x86_64 ;;
    *AArch64*) arch=aarch64 ;;
    *) complain "of an architecture this check does not know" && continue ;;
    esac
    dynamic=$(readelf -dW "$file") segments=$(readelf -lW "$file") notes=$(readelf -nW "$file")
    symbols=$(readelf -sW "$file")
    case $kind in
    plugin)
        check_exports '^(libc\.so\.6|libm\.so\.6)$'
        check_start
        check_manifest
        check_instructions "$(manifest_features | tr '\n' ' ')"
        ;;
    library)
        check_exports '^(libc\.so\.6|ld-linux-.*)$'
        check_start
        check_instructions detection
        ;;
    program) check_instructions "" ;;
    esac
done
[ $bad -eq 0 ] && echo "$# files checked as $kind: nothing to object"
exit $bad
