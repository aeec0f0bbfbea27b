#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lint-binary.sh finds each defect that it is there to find: a plugin with one defect at a time.
# lint-selftest.sh SOURCE-FOLDER WORK-FOLDER C-COMPILER
set -euo pipefail

top=$1 work=$2 compiler=$3
rm -rf "$work"
mkdir -p "$work"
lint=$(dirname "$0")/lint-binary.sh
flags=(-std=gnu17 -O2 -ffp-contract=off -fPIC -fvisibility=hidden -I "$top/abi/include")
link=(-shared -nostartfiles -Wl,-Bsymbolic)
bad=0

judge() { # words to expect, then arguments of lint-binary.sh
    local words=$1 output
    if output=$("$lint" "${@:2}" 2>&1); then
        [ "$words" = "nothing to object" ] && return
        echo "expected a complaint with '$words', found none" >&2
        bad=1
    elif ! grep -qF "$words" <<<"$output"; then
        echo "expected a complaint with '$words', found: $output" >&2
        bad=1
    fi
}

# expect WORDS DEFECT-SOURCE [compiler arguments]: the defect is added to the template plugin.
expect() {
    { cat "$top/plugins/template/template.c"; printf '%s\n' "$2"; } >"$work/plugin.c"
    "$compiler" "${flags[@]}" -c "$work/plugin.c" -o "$work/plugin.o"
    "$compiler" "${link[@]}" -o "$work/plugin.so" "$work/plugin.o" "${@:3}"
    judge "$1" plugin "$work/plugin.so"
}

# code ATTRIBUTES BODY: a function that stays.
code() {
    printf '__attribute__((used%s)) static void code(void) { %s }\n' "${1:+, $1}" "$2"
}

# instructions [DIRECTIVE]: a plugin that names no feature, with the instructions on standard input,
# each after the features that it needs; for each feature, as many are counted as there are.
instructions() {
    local features feature instruction output expected
    local -A count=()
    printf '.section .note.GNU-stack, "", %%progbits\n.text\n%s\n' "${1-}" >"$work/many.s"
    while read -r features instruction; do
        echo "$instruction" >>"$work/many.s"
        for feature in ${features//,/ }; do count[$feature]=$((${count[$feature]-0} + 1)); done
    done
    "$compiler" "${flags[@]}" -c "$top/plugins/template/template.c" -o "$work/template.o"
    "$compiler" "${link[@]}" "$work/template.o" "$work/many.s" -o "$work/many.so"
    output=$("$lint" plugin "$work/many.so" 2>&1) || true
    for feature in "${!count[@]}"; do
        case $feature in
        fused) expected="fused multiply-add instructions" ;;
        unknown) expected="that the table of instructions does not have" ;;
        *) expected="that need $feature, which is not declared" ;;
        esac
        grep -qF "$expected (${count[$feature]}): " <<<"$output" && continue
        echo "expected a complaint with '$expected (${count[$feature]})', found: $output" >&2
        bad=1
    done
}

# features MASK0 MASK1 DEFECT-SOURCE [flags]: the template with the flags, and a manifest that names
# the features.
features() {
    sed "s/, 0, 0))$/, $1, $2))/" "$top/plugins/template/template.c" >"$work/named.c"
    grep -qF "$1, $2))" "$work/named.c" || { echo "the template has no masks to replace" >&2; exit 1; }
    printf '%s\n' "$3" >>"$work/named.c"
    "$compiler" "${flags[@]}" "${link[@]}" "${@:4}" "$work/named.c" -o "$work/named.so"
}

expect "nothing to object" ""
expect "to export qkern_plugin_v1 alone" '__attribute__((visibility("default"))) int other;'
expect "has start-up or exit code" \
    '__attribute__((constructor)) void start(void); static volatile int started;
    void start(void) { started = 1; }'
expect "has thread-local storage" '_Thread_local volatile int counter; int *f(void);
    __attribute__((used)) int *f(void) { return (int *)&counter; }'
expect "has an IFUNC" 'static int g(void) { return 1; } static void *r(void) { return (void *)g; }
    int h(void) __attribute__((ifunc("r"))); __attribute__((used)) static int k(void) { return h(); }'
expect "asks for an executable stack" '' -Wl,-z,execstack
expect "needs more than it may" '' -Wl,--no-as-needed -lgcc_s

fused='__attribute__((used TARGET)) static float m(float a, float b, float c)
    { return __builtin_fmaf(a, b, c); }'
case $("$compiler" -dumpmachine) in
x86_64*)
    expect "fused multiply-add" "${fused/TARGET/, target(\"fma\")}"
    instructions <<'END'
sse3 haddps %xmm1, %xmm0
ssse3 pshufb %xmm1, %xmm0
sse4.1 pmulld %xmm1, %xmm0
sse4.2 pcmpgtq %xmm1, %xmm0
popcnt popcntl %eax, %eax
movbe movbe (%rax), %ecx
lzcnt lzcntl %eax, %eax
bmi1 andn %eax, %eax, %eax
bmi2 shlx %eax, %eax, %eax
avx vpaddd %xmm1, %xmm1, %xmm0
avx vaddps %ymm1, %ymm1, %ymm0
avx2 vpaddd %ymm1, %ymm1, %ymm0
avx2 vbroadcastss %xmm0, %ymm0
f16c vcvtph2ps %xmm0, %ymm0
avx-vnni {vex} vpdpbusd %ymm1, %ymm1, %ymm0
avx512f vpaddd %zmm1, %zmm1, %zmm0
avx512f kmovw %eax, %k1
avx512f vaddss %xmm17, %xmm1, %xmm0
avx512f,avx512vl vpaddd %ymm17, %ymm1, %ymm0
avx512bw vpaddb %zmm1, %zmm1, %zmm0
avx512dq vpmullq %zmm1, %zmm1, %zmm0
avx512vbmi vpermb %zmm1, %zmm1, %zmm0
avx512vnni vpdpbusd %zmm1, %zmm1, %zmm0
avx512bf16 vdpbf16ps %zmm1, %zmm1, %zmm0
avx512fp16 vaddph %zmm1, %zmm1, %zmm0
detection cpuid
fused vfmadd231ps %xmm1, %xmm1, %xmm0
fused vfnmsub213ss %xmm17, %xmm1, %xmm0
fused vfmaddsub132pd %zmm1, %zmm1, %zmm0
unknown fninit
END
    avx2='QKERN_X86_SSE3 | QKERN_X86_SSSE3 | QKERN_X86_SSE4_1 | QKERN_X86_SSE4_2 | QKERN_X86_POPCNT | '
    avx2+='QKERN_X86_AVX | QKERN_X86_AVX2'
    features "$avx2" 0 "" -mavx2
    judge "nothing to object" plugin --built-with "$compiler -mavx2" "$work/named.so"
    judge "the compiler may use [avx avx2 f16c popcnt" \
        plugin --built-with "$compiler -mavx2 -mf16c" "$work/named.so"
    judge "the manifest names [avx avx2 popcnt sse3 sse4.1 sse4.2 ssse3], the compiler may use []" \
        plugin --built-with "$compiler" "$work/named.so"
    features "$avx2" 0 "$(code "" '__asm__ volatile("vpaddd %zmm1, %zmm1, %zmm0");')" -mavx2
    judge "instructions that need avx512f, which is not declared (1): vpaddd zmm0,zmm1,zmm1 in code" \
        plugin "$work/named.so"
    printf '%s\nint main(void) { return 0; }\n' "$(code "" '__asm__ volatile("vzeroupper");')" \
        >"$work/program.c"
    "$compiler" "$work/program.c" -o "$work/program"
    judge "instructions that need avx, which is not declared (1): vzeroupper in code" \
        program "$work/program"
    judge "nothing to object" program --granted "code=avx2 avx" "$work/program"
    judge "which is not declared" program --granted "cod=avx" "$work/program"
    ;;
aarch64*)
    expect "fused multiply-add" "${fused/TARGET/}"
    instructions '.arch armv8.6-a+sve2+fp16+fp16fml' <<'END'
dotprod sdot v0.4s, v1.16b, v2.16b
dotprod udot v0.4s, v1.16b, v2.4b[1]
i8mm smmla v0.4s, v1.16b, v2.16b
i8mm usdot v0.4s, v1.16b, v2.16b
bf16 bfdot v0.4s, v1.8h, v2.8h
fp16 fadd v0.8h, v1.8h, v2.8h
fp16 scvtf h0, w0
rdm sqrdmlah v0.4s, v1.4s, v2.4s
lse ldadd w0, w1, [x2]
crc crc32b w0, w0, w1
sve add z0.s, z1.s, z2.s
fused fmla v0.4s, v1.4s, v2.4s
fused fnmsub s0, s1, s2, s3
unknown wfi
END
    expect "nothing to object" "$(code "" '__asm__ volatile("fcvtl v0.4s, v1.4h");')"
    features QKERN_AARCH64_DOTPROD 0 "" -march=armv8.2-a+dotprod
    judge "nothing to object" plugin --built-with "$compiler -march=armv8.2-a+dotprod" "$work/named.so"
    judge "the manifest names [dotprod], the compiler may use [dotprod i8mm]" \
        plugin --built-with "$compiler -march=armv8.2-a+dotprod+i8mm" "$work/named.so"
    judge "the manifest names [dotprod], the compiler may use []" \
        plugin --built-with "$compiler" "$work/named.so"
    ;;
esac
exit $bad
