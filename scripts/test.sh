#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sets up a Debian 12 system, then builds qkern and passes all tests, in named and timed stages.
#
#   scripts/test.sh                  all stages
#   scripts/test.sh --stage NAME     one stage; may be given several times
#   scripts/test.sh --list           the stages and what they do
#
# The stages work in this tree: each configures and builds the folder of its CMake preset, build/
# (stages release and cpus, with the tests on) or build-NAME/, and writes logs to build-logs/.
# Stops at the first stage that fails. QKERN_FUZZ_SECONDS: how long each fuzzer runs (default 20).
# QKERN_JOBS: how many jobs run at once (default: one for each CPU).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

export QKERN_FUZZ_SECONDS=${QKERN_FUZZ_SECONDS:-20}
jobs=${QKERN_JOBS:-$(nproc)}
logs=build-logs

# What cmake says on standard output is for the log; errors and warnings come on standard error.
# Every warning of the compiler is an error, except with -Og (valgrind, coverage), where gcc's
# "may be used uninitialized" guesses.
configure() { # preset, then arguments of cmake
    cmake --preset "$1" --log-level=WARNING -DQKERN_WERROR=ON "${@:2}" >"$logs/$1-configure.log"
}

build() { # preset, then arguments of cmake --build
    cmake --build --preset "$1" --parallel "$jobs" "${@:2}" >"$logs/$1-build.log" || {
        grep -vE '^\[[0-9]+/[0-9]+\] ' "$logs/$1-build.log" >&2
        return 1
    }
}

run_tests() { # preset, then arguments of ctest
    ctest --preset "$1" --parallel "$jobs" "${@:2}" | tee "$logs/$1-ctest.log"
}

# The project's own files of the named kinds; the frozen headers stay as they were written.
sources() { # glob...
    local glob
    for glob in "$@"; do
        find . -path './build*' -prune -o -path ./out -prune -o -path './tests/abi/frozen-1.*' -prune \
            -o -name "$glob" -type f -print | cut -c 3-
    done
}

# Every stage: a line here, its packages, and a function. They run in this order.
STAGES=(
    "format        every C file has the layout of .clang-format"
    "release       gcc without a warning; all tests"
    "clang         clang without a warning; all tests"
    "tidy          clang-tidy without a finding"
    "cppcheck      cppcheck without a finding"
    "asan          all tests under AddressSanitizer and UndefinedBehaviorSanitizer"
    "tsan          the tests with threads under ThreadSanitizer"
    "valgrind      the unit tests under valgrind's memcheck"
    "fuzz          each fuzzer for QKERN_FUZZ_SECONDS, under ASan and UBSan"
    "coverage      branch coverage of host/ and gguf/ above 90 %"
    "cpus          qkern info tells the truth on the CPUs that QEMU plays, and chooses the right plugins"
    "aarch64       cross build for 64-bit Arm; tests and qkern info under QEMU"
    "aarch64-clang the same by clang, which has other instructions for comparisons with NaN: kernel tests"
)

TEST_PACKAGES=("${BUILD_PACKAGES[@]}" g++ binutils libcmocka-dev lua5.4 clang)
declare -A PACKAGES=(
    [format]="clang-format"
    [release]=""
    [clang]=""
    [tidy]="clang-tidy"
    [cppcheck]="cppcheck"
    [asan]=""
    [tsan]=""
    [valgrind]="valgrind"
    [fuzz]="libclang-rt-14-dev"
    [coverage]="gcovr"
    [cpus]="qemu-user"
    [aarch64]="qemu-user gcc-aarch64-linux-gnu g++-aarch64-linux-gnu liblua5.4-dev:arm64
               libcmocka-dev:arm64"
    [aarch64-clang]="qemu-user gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libcmocka-dev:arm64"
)

stage_format() {
    sources '*.c' '*.h' '*.cpp' | xargs clang-format --dry-run -Werror
}

stage_release() {
    configure release
    build release
    run_tests release
}

stage_clang() {
    configure clang
    build clang
    run_tests clang
}

# Checks and the reasons for what is left out: .clang-tidy.
stage_tidy() {
    configure clang
    build clang
    sources '*.c' |
        grep -Fxf <(sed -n "s|^ *\"file\": \"$(pwd -P)/\(.*\)\".*|\1|p" \
            build-clang/compile_commands.json) |
        xargs -P "$jobs" -n 4 clang-tidy -p build-clang --quiet --warnings-as-errors='*'
}

# The reasons for what is left out: .cppcheck-suppressions.
stage_cppcheck() {
    configure clang
    cppcheck --project=build-clang/compile_commands.json --quiet -j "$jobs" --std=c17 \
        --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
        --suppressions-list=.cppcheck-suppressions --template=gcc
}

# The label large: bounds on memory and files of gigabytes, which say nothing under a sanitizer.
stage_asan() {
    configure asan
    build asan
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
        UBSAN_OPTIONS=print_stacktrace=1 run_tests asan --label-exclude large
}

stage_tsan() {
    configure tsan
    build tsan
    TSAN_OPTIONS=halt_on_error=1 run_tests tsan --tests-regex 'host_pins|host_matvec|test_lua_quantize|test_lua_module'
}

# Left out: test_kernel_undefined, for valgrind does not act on FTZ and DAZ; and what mostly runs other
# programs than the one under valgrind.
stage_valgrind() {
    configure debug -DQKERN_WERROR=OFF "-DCMAKE_CROSSCOMPILING_EMULATOR=valgrind;--quiet;--error-exitcode=99;\
--leak-check=full;--errors-for-leak-kinds=definite,indirect;--track-fds=no"
    build debug
    run_tests debug --label-exclude 'long|large|lint|docs|emulated|lua' \
        --exclude-regex 'test_kernel_undefined|test_kernel_(error|codes)_'
}

stage_fuzz() {
    configure fuzz "-DQKERN_FUZZ_SECONDS=$QKERN_FUZZ_SECONDS"
    build fuzz
    run_tests fuzz --label-regex "^fuzz\$"
}

# Of host/ and gguf/, by their own tests: those of the command also run it as users who may not write the
# counters.
stage_coverage() {
    configure coverage -DQKERN_WERROR=OFF
    build coverage
    find build-coverage -name '*.gcda' -delete
    run_tests coverage --label-exclude 'large|lua|plugins|verify|bench'
    gcovr --root . --filter 'host/src/' --filter 'gguf/src/' --exclude-throw-branches --branches \
        --fail-under-branch 90 build-coverage
}

stage_cpus() {
    configure release
    build release
    tests/tools/info-emulated.sh build
    tests/selection/selection.sh build build/tests/selection/machines
}

stage_aarch64() {
    configure aarch64
    build aarch64
    run_tests aarch64
    tests/tools/info-emulated.sh build-aarch64
}

stage_aarch64-clang() {
    configure aarch64-clang
    build aarch64-clang
    run_tests aarch64-clang --label-regex 'kernels|verify' --exclude-regex 'test_kernel_(error|codes)'
}

stage_names() {
    printf '%s\n' "${STAGES[@]}" | awk '{print $1}'
}

chosen=()
while [ $# -gt 0 ]; do
    case $1 in
    --list)
        printf '%s\n' "${STAGES[@]}" '' \
            "They build in build/ (release, cpus) and build-NAME/ (the others) of this tree."
        exit 0
        ;;
    --stage)
        stage_names | grep -qx -- "${2-}" ||
            fail "--stage: '${2-}' is no stage; there are: $(stage_names | tr '\n' ' ')"
        chosen+=("$2")
        shift
        ;;
    -h | --help)
        sed -n '3,12s/^#\( \|$\)//p' "$0"
        exit 0
        ;;
    *) fail "'$1' is not an option; see --help" ;;
    esac
    shift
done
if [ ${#chosen[@]} -eq 0 ]; then
    mapfile -t chosen < <(stage_names)
fi

packages=()
for stage in "${chosen[@]}"; do
    packages+=(${PACKAGES[$stage]})
done
install_packages "${TEST_PACKAGES[@]}" "${packages[@]}"

mkdir -p "$logs"
times=()
for stage in "${chosen[@]}"; do
    say "Stage $stage: $(printf '%s\n' "${STAGES[@]}" | sed -n "s/^$stage  *//p")"
    start=$SECONDS
    # A subshell with errexit of its own: inside an if or ||, bash would ignore it.
    set +e
    (set -e; "stage_$stage")
    status=$?
    set -e
    times+=("$(printf '%-13s %5d s' "$stage" $((SECONDS - start)))")
    if [ $status -ne 0 ]; then
        printf '\n%s\n' "${times[@]}"
        fail "stage $stage failed; once more, alone: scripts/test.sh --stage $stage"
    fi
done

if [ ${#chosen[@]} -eq ${#STAGES[@]} ]; then
    say "All ${#STAGES[@]} stages passed"
else
    say "Passed: ${chosen[*]} (${#chosen[@]} of ${#STAGES[@]} stages)"
fi
printf '%s\n' "${times[@]}" "$(printf '%-13s %5d s' total $SECONDS)"
# Last, for those who read the count of tests: the summary of the release build's.
if [ -f "$logs/release-ctest.log" ] && [[ " ${chosen[*]} " == *" release "* ]]; then
    grep 'tests passed' "$logs/release-ctest.log"
fi
