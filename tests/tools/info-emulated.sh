#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# qkern info tells the truth on CPUs that QEMU plays. info-emulated.sh BUILD-FOLDER
set -euo pipefail

qkern=$1/bin/qkern
bad=0

# on EMULATOR CPU, then for each feature NAME=yes or NAME=no:WORDS, where the reason has the words,
# and for each type TYPE:PLUGIN,PLUGIN,... the plugins that are chosen for its entries.
on() {
    local emulator=$1 cpu=$2 output row fact name answer
    shift 2
    # QEMU warns of what it cannot emulate; none of that is asked about here.
    output=$("$emulator" -cpu "$cpu" "$qkern" info 2> >(grep -v "TCG doesn't support" >&2)) || {
        echo "FAILED: $emulator -cpu $cpu: qkern info failed" >&2
        bad=1
        return
    }
    for fact in "$@"; do
        if [[ $fact == *:*,* && $fact != *=* ]]; then
            row=$(awk -v type="${fact%%:*}" '/^Kernels chosen/ {here = 1}
                here && $1 == type {for (i = 2; i <= NF; i++) if ($i !~ /^[0-9]/) print $i}' \
                <<<"$output" | paste -sd,)
            [ "$row" = "${fact#*:}" ] || {
                echo "FAILED: $emulator -cpu $cpu: expected $fact, found: ${row:-nothing}" >&2
                bad=1
            }
            continue
        fi
        name=${fact%%=*} answer=${fact#*=}
        row=$(awk -v name="$name" '/^CPU features/ {here = 1} /^Plugins/ {here = 0}
            here && $1 == name' <<<"$output")
        if ! grep -qE "^ *$name +${answer%%:*} " <<<"$row" ||
            { [ "$answer" != yes ] && ! grep -qF -- "${answer#*:}" <<<"$row"; }; then
            echo "FAILED: $emulator -cpu $cpu: expected $fact, found: ${row:-nothing}" >&2
            bad=1
        fi
    done
    grep -qE '^ *Q4_K( +[a-z0-9]+ [0-9.]+){5} *$' <<<"$output" || {
        echo "FAILED: $emulator -cpu $cpu: no kernel is chosen for Q4_K" >&2
        bad=1
    }
    echo "$emulator -cpu $cpu: $# facts as they should be"
}

case $(readelf -hW "$qkern") in
*X86-64*)
    on qemu-x86_64 qemu64 sse2=yes sse3=yes avx=no:CPUID avx2=no:CPUID
    on qemu-x86_64 Haswell sse4.2=yes avx=yes f16c=yes fma=yes avx2=yes avx512f=no:CPUID
    on qemu-x86_64 Haswell,-xsave sse4.2=yes avx=no:XSAVE fma=no:XSAVE avx2=no:XSAVE
    on qemu-x86_64 Haswell,-avx2 avx=yes fma=yes avx2=no:CPUID
    on qemu-x86_64 Haswell,-fma avx=yes fma=no:CPUID avx2=yes
    ;;
*AArch64*)
    # quantize, dequantize, vec_dot, quantize_weighted, vec_dot_rows
    neon=neon,neon,neon,neon,neon
    dotprod=neon,neon,dotprod,neon,dotprod
    i8mm=neon,neon,dotprod,neon,i8mm
    on qemu-aarch64 cortex-a53 asimd=yes fp16=no:HWCAP dotprod=no:HWCAP sve=no:HWCAP \
        F32:$neon BF16:$neon Q4_0:$neon Q8_0:$neon Q8_1:neon,neon,-,neon,- Q2_K:$neon Q6_K:$neon
    on qemu-aarch64 cortex-a76 asimd=yes fp16=yes dotprod=yes i8mm=no:HWCAP \
        F16:$neon Q4_0:$dotprod Q5_1:$dotprod Q8_0:$dotprod Q2_K:$dotprod Q3_K:$dotprod
    on qemu-aarch64 neoverse-n1 dotprod=yes i8mm=no:HWCAP F32:$neon Q4_K:$dotprod Q6_K:$dotprod
    on qemu-aarch64 max asimd=yes dotprod=yes i8mm=yes bf16=yes sve=yes sve2=yes \
        F32:$neon Q4_0:$dotprod Q4_K:$dotprod Q6_K:$dotprod Q2_K:$i8mm Q3_K:$i8mm
    on qemu-aarch64 max,sve=off asimd=yes i8mm=yes sve=no:HWCAP sve2=no:HWCAP
    ;;
*)
    echo "$qkern is for an architecture this check does not know" >&2
    exit 1
    ;;
esac
exit $bad
