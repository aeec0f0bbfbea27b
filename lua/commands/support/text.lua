-- SPDX-License-Identifier: MIT
-- Text for the terminal: safe strings, numbers, aligned tables.
local text = {}

-- Code points that change how other text is shown, or show nothing: written as \u{...}.
local HIDDEN = {
    {0x80, 0x9f}, {0xad, 0xad}, {0x61c, 0x61c}, {0x200b, 0x200f}, {0x2028, 0x202e},
    {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
}
-- Code points of no width, and of two columns.
local COMBINING = {
    {0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5bd}, {0x610, 0x61a}, {0x64b, 0x65f},
    {0x93c, 0x93c}, {0x941, 0x948}, {0x94d, 0x94d}, {0xe31, 0xe31}, {0xe34, 0xe3a},
    {0xe47, 0xe4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0x302a, 0x302d},
    {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
}
local WIDE = {
    {0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x2e80, 0x303e},
    {0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xa000, 0xa4cf}, {0xa960, 0xa97f},
    {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
}

local function within(ranges, code)
    for _, range in ipairs(ranges) do
        if code < range[1] then return false end
        if code <= range[2] then return true end
    end
    return false
end

local NAMED = {["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\\"] = "\\\\"}

local function escape_ascii(character)
    return NAMED[character] or ("\\x%02x"):format(character:byte())
end

local function escape_unicode(character)
    local code = utf8.codepoint(character)
    if within(HIDDEN, code) then return ("\\u{%x}"):format(code) end
end

-- s with everything escaped that is not printable: control characters, bytes that are not UTF-8
-- (\xNN), code points that reorder or hide text (\u{N}), and the backslash itself.
function text.printable(s)
    if not s:find("[^ -Z%[%]^-~]") then return s end
    local pieces, i = {}, 1
    while i <= #s do
        local length, bad = utf8.len(s, i)
        local valid = s:sub(i, length and #s or bad - 1)
        valid = valid:gsub("[%z\1-\31\127\\]", escape_ascii)
        pieces[#pieces + 1] = valid:gsub("[\xc2-\xf4][\x80-\xbf]+", escape_unicode)
        if length then break end
        pieces[#pieces + 1] = ("\\x%02x"):format(s:byte(bad))
        i = bad + 1
    end
    return table.concat(pieces)
end

-- Columns that a printable string takes on a terminal.
function text.width(s)
    if not s:find("[\x80-\xff]") then return #s end
    local width = 0
    for _, code in utf8.codes(s) do
        if within(WIDE, code) then width = width + 2
        elseif not within(COMBINING, code) then width = width + 1 end
    end
    return width
end

-- The longest beginning of s that takes at most `width` columns.
local function beginning(s, width)
    local used = 0
    for position, code in utf8.codes(s) do
        used = used + text.width(utf8.char(code))
        if used > width then return s:sub(1, position - 1) end
    end
    return s
end

-- s if it takes at most `width` columns, else the beginning that fits with "..." after it.
function text.cut(s, width)
    if text.width(s) <= width then return s end
    return beginning(s, width - 3) .. "..."
end

-- The most bytes that are looked at for so many columns.
function text.bytes_within(width)
    return 8 * width
end

-- What text.cut(text.printable(s), width) gives, without looking at all of a long s. Of one whose
-- characters take next to no columns less is shown.
function text.brief(s, width)
    local limit = text.bytes_within(width)
    if #s <= limit then return text.cut(text.printable(s), width) end
    -- whole characters: at most three bytes of the last one are left out
    local last = limit
    while last > limit - 3 and s:find("^[\x80-\xbf]", last + 1) do last = last - 1 end
    return beginning(text.printable(s:sub(1, last)), width - 3) .. "..."
end

-- Of each type: how to pack it, the digits that every decimal keeps through it, and the least
-- normal number. Below that, fewer digits can be enough.
local FLOATS = {
    f32 = {format = "<f", digits = 6, least = 0x1p-126},
    f64 = {format = "<d", digits = 15, least = 0x1p-1022},
}

-- The shortest decimal that reads back as the same number of that type, "f32" or "f64".
function text.float(value, type)
    if value ~= value then return "nan" end
    if value == math.huge then return "inf" end
    if value == -math.huge then return "-inf" end
    -- "%g" of a negative zero is "-0", which Lua and others read as an integer without a sign.
    if value == 0 then return 1 / value < 0 and "-0.0" or "0" end
    local float = FLOATS[type]
    local bits = string.pack(float.format, value)
    for digits = math.abs(value) < float.least and 1 or float.digits, 16 do
        local decimal = ("%." .. digits .. "g"):format(value)
        if string.pack(float.format, tonumber(decimal)) == bits then return decimal end
    end
    return ("%.17g"):format(value) -- enough for every number
end

-- An integer as it is in a field of that type: Lua's integers above 2^63 - 1 are negative.
function text.integer(value, type)
    if type ~= "u64" or value >= 0 then return ("%d"):format(value) end
    local quotient = (value >> 1) // 5
    return ("%d%d"):format(quotient, value - quotient * 10)
end

local UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}

-- "1.25 MiB"
function text.size(bytes)
    local unit = 1
    while bytes >= 1024 and unit < #UNITS do
        bytes, unit = bytes / 1024, unit + 1
    end
    return (unit == 1 and "%d %s" or "%.2f %s"):format(bytes, UNITS[unit])
end

-- "1 tensor", "2 tensors"
function text.count(n, noun)
    return ("%d %s%s"):format(n, noun, n == 1 and "" or "s")
end

-- "256 x 1 x 510"; "scalar" for no dimensions
function text.shape(extents)
    return #extents == 0 and "scalar" or table.concat(extents, " x ")
end

local function pad(s, width, right)
    local spaces = (" "):rep(width - text.width(s))
    return right and spaces .. s or s .. spaces
end

-- Lines of an aligned table. columns: a list of titles; one that begins with ">" is of numbers, and
-- aligned right. rows: lists of printable strings.
function text.table(columns, rows, indent)
    local titles, right, widths = {}, {}, {}
    for c, title in ipairs(columns) do
        right[c] = title:sub(1, 1) == ">"
        titles[c] = title:gsub("^>", "")
        widths[c] = text.width(titles[c])
        for _, row in ipairs(rows) do widths[c] = math.max(widths[c], text.width(row[c])) end
    end
    local lines = {}
    local function add(row)
        local cells = {}
        for c in ipairs(columns) do cells[c] = pad(row[c], widths[c], right[c]) end
        lines[#lines + 1] = (indent or "") .. table.concat(cells, "  "):gsub(" +$", "")
    end
    add(titles)
    for _, row in ipairs(rows) do add(row) end
    return table.concat(lines, "\n") .. "\n"
end

-- Of `names` the one most like `word`, if it is at most two changes away.
function text.nearest(word, names)
    local best, best_distance
    for _, name in ipairs(names) do
        local before = {}
        for j = 0, #name do before[j] = j end
        for i = 1, #word do
            local now = {[0] = i}
            for j = 1, #name do
                local change = word:byte(i) == name:byte(j) and 0 or 1
                now[j] = math.min(before[j] + 1, now[j - 1] + 1, before[j - 1] + change)
            end
            before = now
        end
        local distance = before[#name]
        if distance <= 2 and distance < #word and (not best or distance < best_distance) then
            best, best_distance = name, distance
        end
    end
    return best
end

return text
