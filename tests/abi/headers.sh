#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles each public header alone, as C99, C17 and C++17, with and without -fshort-enums.
# headers.sh C-COMPILER C++-COMPILER SOURCE-FOLDER. A missing compiler: exit status 77, skipped.
set -euo pipefail

c=$1 cxx=$2 top=$3
includes=(-I "$top/abi/include" -I "$top/host/include" -I "$top/gguf/include")
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror)
count=0 failed=0

command -v "$c" >/dev/null || { echo "skipped: no $c"; exit 77; }
command -v "$cxx" >/dev/null || { echo "skipped: no $cxx"; exit 77; }

mapfile -t headers < <(cd "$top" && ls abi/include/qkern/*.h host/include/*.h gguf/include/*.h)
for header in "${headers[@]}"; do
    name=${header#*/include/}
    for standard in c99 c17 c++17; do
        case $standard in
        c++*) compiler=($cxx -x c++ -Wold-style-cast) ;;
        *) compiler=($c -x c) ;;
        esac
        for enums in "" -fshort-enums; do
            count=$((count + 1))
            printf '#include <%s>\n' "$name" | "${compiler[@]}" -std="$standard" $enums \
                "${warnings[@]}" "${includes[@]}" -fsyntax-only - || {
                echo "FAILED: $name with ${compiler[*]} -std=$standard $enums" >&2
                failed=$((failed + 1))
            }
        done
    done
done
echo "$count compilations of ${#headers[@]} headers with $c and $cxx, $failed failed"
[ "${#headers[@]}" -ge 8 ] && [ "$failed" -eq 0 ]
