#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sets up a Debian 12 system, builds qkern into build/, and quantizes the bundled sample with the
# kernel that is chosen for this CPU. Safe to run again: what is there is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

case ${1-} in
'') ;;
-h | --help)
    sed -n '3,4s/^# //p' "$0"
    exit 0
    ;;
*) fail "takes no arguments, found '$1'" ;;
esac

install_packages "${BUILD_PACKAGES[@]}"

say "Building into build/"
cmake --preset release -DQKERN_BUILD_TESTS=OFF --log-level=WARNING >/dev/null
cmake --build build

say "Quantizing the sample to Q4_K"
mkdir -p out
build/bin/qkern quantize samples/kokoro-voice-af_heart-f32.gguf out/sample-q4_k.gguf --type Q4_K

say "Plugins and kernels on this CPU (from: build/bin/qkern info)"
build/bin/qkern info | sed -n '/^Plugins/,$p'

say "Done: out/sample-q4_k.gguf. To look at it: build/bin/qkern inspect out/sample-q4_k.gguf"
