#!/bin/sh
# SPDX-License-Identifier: MIT
# Copies the headers of today into this folder and seals all of it with SHA256SUMS. Runs once, when
# version 1.1 of the ABI is published; from then on the folder stays as it is.
set -eu
cd "$(dirname "$0")"
mkdir -p include/qkern
cp ../../../abi/include/qkern/*.h include/qkern/
sha256sum plugin.c include/qkern/*.h > SHA256SUMS
