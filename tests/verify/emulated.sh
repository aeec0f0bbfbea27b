#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The checker works on CPUs that QEMU plays: where the CPU does not tell which registers are in use,
# their upper halves are read. emulated.sh WORKER PLUGIN-FOLDER
set -euo pipefail
worker=$1 plugins=$2 bad=0

command -v qemu-x86_64 >/dev/null || {
    echo "SKIPPED: there is no qemu-x86_64"
    exit 77
}

# expect CPU PLUGIN PATTERN: of a line that the worker writes
expect() {
    local output
    output=$(qemu-x86_64 -cpu "$1" "$worker" --types 8 --plugin "$plugins/$2.so" 2>/dev/null) || true
    if ! grep -qE "$3" <<<"$output"; then
        echo "FAILED: $1, $2: expected a line with $3, found: $output" >&2
        bad=1
    fi
}

expect Haswell dirty_uppers $'^wrong\t2\tkind=upper-halves'
expect Haswell clobbers $'^wrong\t2\tkind=registers'
expect Haswell prints $'^right\t2\t'
expect Nehalem dirty_uppers $'^refused\t.*needs avx'
expect Nehalem prints $'^right\t2\t'
exit $bad
