#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The links of the documents hold where they are installed. doc-links-installed.sh BUILD-FOLDER WORK-FOLDER
set -euo pipefail
rm -rf "$2"
for component in abi docs; do
    cmake --install "$1" --component $component --prefix "$2" >/dev/null
done
documents=$(find "$2" -path '*/docs/README.md')
exec "$(dirname "$0")/doc-links.sh" "${documents%/docs/README.md}"
