#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the abi component alone, and builds a copy of the template plugin outside the tree
# against nothing else. template.sh BUILD-FOLDER SOURCE-FOLDER WORK-FOLDER C-COMPILER
set -euo pipefail

build=$1 top=$2 work=$3 compiler=$4

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --component abi --prefix "$work/prefix"
find "$work/prefix" -type f | grep -vE '/include/qkern/[a-z]+\.h$|/abi\.md$' && {
    echo "the component abi installs more than its headers and its text" >&2
    exit 1
}
cp -R "$top/plugins/template" "$work/source"
cmake -S "$work/source" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS=-Werror --log-level=WARNING
cmake --build "$work/build"
mkdir "$work/plugins"
cp "$work/build/qkern-template.so" "$work/plugins/"
