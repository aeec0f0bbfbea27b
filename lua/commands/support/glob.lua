-- SPDX-License-Identifier: MIT
-- Globs over names: * any text, ? one character, [a-z] one of a set, [!a-z] one that is not in it,
-- a backslash before a character for itself, also in a set.
local glob = {}

local STAR = {}
local ANY = {negated = true, ranges = {}}

local function code(character)
    return utf8.codepoint(character)
end

-- The code point of a character in a set, at i or after a backslash there, and where it is; nil at
-- the end.
local function member(characters, i)
    if characters[i] == "\\" then i = i + 1 end
    return characters[i] and code(characters[i]), i
end

-- The set that begins at characters[i], a "[", and where it ends; nil if it has no end.
local function parse_set(characters, i)
    local set, first = {ranges = {}}, i + 1
    if characters[first] == "!" or characters[first] == "^" then
        set.negated, first = true, first + 1
    end
    local j = first
    while characters[j] do
        if characters[j] == "]" and j > first then return set, j end
        local low, high
        low, j = member(characters, j)
        high = low
        if characters[j + 1] == "-" and characters[j + 2] ~= "]" then
            high, j = member(characters, j + 2)
        end
        if not high then return nil end
        table.insert(set.ranges, {low, high})
        j = j + 1
    end
end

local function literal(character)
    return {ranges = {{code(character), code(character)}}}
end

-- The pattern as a list of STAR and sets; nil if a set has no end.
local function parse(pattern)
    local characters, tokens, i = {}, {}, 1
    for character in pattern:gmatch(utf8.charpattern) do characters[#characters + 1] = character end
    while characters[i] do
        local c, token = characters[i], nil
        if c == "*" then
            token = STAR
        elseif c == "?" then
            token = ANY
        elseif c == "[" then
            token, i = parse_set(characters, i)
            if not token then return nil end
        elseif c == "\\" and characters[i + 1] then
            i = i + 1
            token = literal(characters[i])
        end
        tokens[#tokens + 1] = token or literal(c)
        i = i + 1
    end
    return tokens
end

local function accepts(token, character)
    for _, range in ipairs(token.ranges) do
        if range[1] <= character and character <= range[2] then return not token.negated end
    end
    return token.negated
end

-- Whether the tokens match all of the code points. Only the last star is ever tried again, longer
-- by one: what an earlier one could match instead, that one can, too. So the time is at most the
-- product of both lengths.
local function matches(tokens, codes)
    local i, k, star, resume = 1, 1, nil, nil
    while i <= #codes do
        local token = tokens[k]
        if token == STAR then
            star, resume = k, i
            k = k + 1
        elseif token and accepts(token, codes[i]) then
            i, k = i + 1, k + 1
        elseif star then
            resume = resume + 1
            i, k = resume, star + 1
        else
            return false
        end
    end
    while tokens[k] == STAR do k = k + 1 end
    return k > #tokens
end

-- A function that tells whether a name matches; nil and the reason if the pattern is wrong.
function glob.compile(pattern)
    if not utf8.len(pattern) then return nil, "not UTF-8" end
    local tokens = parse(pattern)
    if not tokens then return nil, "unterminated [; a backslash before it stands for the character" end
    return function(name)
        local codes = {}
        for _, character in utf8.codes(name) do codes[#codes + 1] = character end
        return matches(tokens, codes)
    end
end

return glob
