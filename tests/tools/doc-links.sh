#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every relative link in the Markdown files of a folder names a file that is there.
# doc-links.sh FOLDER
set -euo pipefail
cd "$1"
count=0 bad=0

while IFS=: read -r document line link; do
    count=$((count + 1))
    target=${link#](}
    target=${target%)}
    if [ ! -e "$(dirname "$document")/${target%%#*}" ]; then
        echo "$document:$line: links to '$target', which is not there" >&2
        bad=1
    fi
done < <(find . -name 'build*' -prune -o -path ./out -prune -o -name '*.md' -print0 |
    xargs -0 grep -noHE '\]\([^)#:]+(#[^)]*)?\)')
echo "$count links"
[ $count -gt 0 ] && [ $bad -eq 0 ]
