#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lint-binary.sh finds each defect that it is there to find: a plugin with one defect at a time.
# lint-selftest.sh SOURCE-FOLDER WORK-FOLDER C-COMPILER
set -euo pipefail

top=$1 work=$2 compiler=$3
rm -rf "$work"
mkdir -p "$work"
flags=(-std=gnu17 -O2 -ffp-contract=off -fPIC -fvisibility=hidden -I "$top/abi/include")
link=(-shared -nostartfiles -Wl,-Bsymbolic)
bad=0

# expect WORDS DEFECT-SOURCE [compiler arguments]: the defect is added to the template plugin.
expect() {
    local words=$1
    { cat "$top/plugins/template/template.c"; printf '%s\n' "$2"; } >"$work/plugin.c"
    "$compiler" "${flags[@]}" -c "$work/plugin.c" -o "$work/plugin.o" "${@:3}"
    "$compiler" "${link[@]}" -o "$work/plugin.so" "$work/plugin.o" "${@:3}"
    if output=$("$(dirname "$0")/lint-binary.sh" plugin "$work/plugin.so" 2>&1); then
        [ "$words" = "nothing to object" ] && return
        echo "expected a complaint with '$words', found none" >&2
        bad=1
    elif ! grep -qF "$words" <<<"$output"; then
        echo "expected a complaint with '$words', found: $output" >&2
        bad=1
    fi
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
case $("$compiler" -dumpmachine) in
x86_64*) expect "fused multiply-add" '__attribute__((target("fma"), used)) static float
    m(float a, float b, float c) { return __builtin_fmaf(a, b, c); }' ;;
aarch64*) expect "fused multiply-add" '__attribute__((used)) static float
    m(float a, float b, float c) { return __builtin_fmaf(a, b, c); }' ;;
esac
exit $bad
