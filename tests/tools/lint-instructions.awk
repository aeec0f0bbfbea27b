# SPDX-License-Identifier: MIT
# Which instructions of a disassembly need features that were not declared.
#
#   objdump -d -w [-M intel] FILE |
#       awk -v arch=x86_64 -v declared="avx avx2" -v granted="REGEX=FEATURES;..." \
#           -f lint-instructions.awk instructions-x86_64.txt -
#
# Prints a line for each feature that is needed and not declared: how often, and the first place.
# `granted` declares features for functions whose whole name the expression matches. Exit status 1
# if there are such lines, 2 if there was nothing to look at.

BEGIN {
    FS = "\t"
    count_words = split(declared, words, " ")
    for (i = 1; i <= count_words; i++) has[words[i]] = 1
    has["-"] = 1
    count_grants = split(granted, grants, ";")
    for (i = 1; i <= count_grants; i++) {
        split(grants[i], words, "=")
        grant_name[i] = "^(" words[1] ")$"
        grant_features[i] = " " words[2] " "
    }
}

# The table.
NR == FNR {
    if ($0 ~ /^(#|$)/) next
    count_words = split($0, words, " ")
    rows++
    kind[rows] = words[1]
    feature[rows] = words[2]
    pattern[rows] = "^(" words[3]
    for (i = 4; i <= count_words; i++) pattern[rows] = pattern[rows] "|" words[i]
    pattern[rows] = pattern[rows] ")$"
    next
}

/^[0-9a-f]+ <.*>:$/ {
    place = $0
    sub(/^[^<]*</, "", place)
    sub(/>:$/, "", place)
    next
}

# The instruction's encoding, by the first byte that is no prefix.
function encoding_x86(bytes,    list, n, i) {
    n = split(bytes, list, " ")
    for (i = 1; i <= n; i++)
        if (list[i] !~ /^(66|67|f2|f3|f0|2e|36|3e|26|64|65|4[0-9a-f])$/) break
    return list[i] == "62" ? "evex" : list[i] == "c4" || list[i] == "c5" ? "vex" : "legacy"
}

function kinds_x86(operands,    encoding) {
    encoding = encoding_x86($2)
    if (encoding == "evex") return " evex scalar "
    if (encoding == "vex") return operands ~ /PTR/ ? " vex " : " vex vex-reg "
    return " legacy "
}

function kinds_aarch64(operands) {
    if (operands ~ /(^|[ ,{])z[0-9]+\.|(^|[ ,])p[0-9]+[.\/]/) return " sve any "
    if (operands ~ /(^|[ ,{])h[0-9]+|v[0-9]+\.[48]?h/) return " half any "
    return " any "
}

# The features of an instruction, "unknown" if the table has none.
function needed(mnemonic, kinds, operands,    row, result, parts) {
    for (row = 1; row <= rows; row++)
        if (index(kinds, " " kind[row] " ") && mnemonic ~ pattern[row]) break
    if (row > rows) return "unknown"
    result = feature[row]
    if (split(result, parts, "/") == 2) result = operands ~ /[yY][mM][mM]/ ? parts[2] : parts[1]
    if (kind[row] == "evex" && operands !~ /[zZ][mM][mM]/) result = result " avx512vl"
    return result
}

function granted_here(name,    i) {
    for (i = 1; i <= count_grants; i++)
        if (place ~ grant_name[i] && index(grant_features[i], " " name " ")) return 1
    return 0
}

$1 ~ /^ *[0-9a-f]+:$/ && NF >= 3 {
    text = $3
    if (arch == "aarch64" && NF >= 4) text = $3 " " $4
    sub(/ *(#|\/\/|<).*$/, "", text)
    instructions++
    bare = text
    while (bare ~ /^(rep|repz|repnz|lock|data16|cs|ds|es|ss|fs|gs|addr32|bnd|notrack|rex[.A-Z]*|\{vex\}|\{evex\}) /)
        sub(/^[^ ]+ +/, "", bare)
    mnemonic = bare
    sub(/ .*$/, "", mnemonic)
    operands = substr(bare, length(mnemonic) + 2)
    kinds = arch == "x86_64" ? kinds_x86(operands) : kinds_aarch64(operands)
    # What decides beside the mnemonic: looked up once for each.
    key = mnemonic kinds (operands ~ /[zZ][mM][mM]/ ? "z" : operands ~ /[yY][mM][mM]/ ? "y" : "")
    if (!(key in known)) known[key] = needed(mnemonic, kinds, operands)
    count_words = split(known[key], words, " ")
    for (i = 1; i <= count_words; i++) {
        if (words[i] in has || granted_here(words[i])) continue
        if (!times[words[i]]++) first[words[i]] = text " in " (place == "" ? "?" : place)
    }
}

END {
    if (instructions < 10) {
        print "could not be disassembled: " instructions + 0 " instructions"
        exit 2
    }
    for (name in times) {
        bad = 1
        if (name == "unknown")
            what = "instructions that the table of instructions does not have"
        else if (name == "fused")
            what = "fused multiply-add instructions"
        else
            what = "instructions that need " name ", which is not declared"
        print "has " what " (" times[name] "): " first[name]
    }
    exit bad
}
