#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the abi component alone, and builds the template plugin that is in it outside the tree
# against nothing else. template.sh BUILD-FOLDER SOURCE-FOLDER WORK-FOLDER C-COMPILER
set -euo pipefail

build=$1 top=$2 work=$3 compiler=$4

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --component abi --prefix "$work/prefix"
find "$work/prefix" -type f | grep -vE '/include/qkern/[a-z]+\.h$|/doc/.*/' && {
    echo "the component abi installs more than its headers and its documents" >&2
    exit 1
}
template=$(find "$work/prefix" -path '*/plugins/template/template.c')
"$top/tests/tools/doc-links.sh" "${template%/plugins/template/template.c}"
cp -R "${template%/*}" "$work/source"
cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS=-Werror --log-level=WARNING
cmake --build "$work/build"
mkdir "$work/plugins"
cp "$work/build/qkern-template.so" "$work/plugins/"
