#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the commands of a document, so that none of them rots.
# doc-commands.sh DOCUMENT SOURCE-FOLDER BUILD-FOLDER WORK-FOLDER
#
# Every block fenced with ```sh is run, all in order, in one shell that stops at the first failure.
# The working folder looks like the top of the source tree with the build in build/, and qkern is
# in PATH; what the commands write stays in it. A block is left out if the line before it is
#   <!-- not run here: REASON; run by: WHERE -->
# and is then listed in the output.
set -euo pipefail

document=$1 top=$2 build=$3 work=$4

if grep -nE '^```(bash|shell|console|zsh)' "$document"; then
    echo "$document: fence commands with \`\`\`sh, so that they are run" >&2
    exit 1
fi

rm -rf "$work"
mkdir -p "$work/tree/out"
for entry in "$top"/*; do
    case ${entry##*/} in
    build* | out) ;;
    *) ln -s "$entry" "$work/tree/" ;;
    esac
done
ln -s "$build" "$work/tree/build"

# Writes the script; says on standard error what is left out.
awk -v name="${document##*/}" '
    function quoted(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
    /^```sh *$/ && !inside {
        inside = 1; run = 1; blocks++
        if (before ~ /^<!-- not run here: .*; run by: .* -->$/) {
            run = 0
            print name ":" NR ": left out: " before > "/dev/stderr"
        } else if (before ~ /^<!-- not run/) {
            print name ":" NR - 1 ": expected <!-- not run here: REASON; run by: WHERE -->" > "/dev/stderr"
            exit 1
        }
        text = ""; line = NR
        next
    }
    /^```/ && inside {
        inside = 0
        if (run) print "printf \"%s\\n\" " quoted("-- " name ":" line "\n" text) "\n" text
        next
    }
    inside { text = text $0 "\n" }
    !inside && NF { before = $0 }
    inside { before = "" }
    END {
        if (inside) { print name ": a fence is not closed" > "/dev/stderr"; exit 1 }
        if (!blocks) { print name ": has no commands" > "/dev/stderr"; exit 1 }
    }' "$document" >"$work/commands.sh"

cd "$work/tree"
PATH="$PWD/build/bin:$PATH" bash -euo pipefail "$work/commands.sh"
