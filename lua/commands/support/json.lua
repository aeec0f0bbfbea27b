-- SPDX-License-Identifier: MIT
-- Writing JSON (RFC 8259). The text is always valid UTF-8: a string that is not is written as the
-- object {"bytes": "its bytes in hexadecimal"}. Numbers that JSON does not have are the strings
-- "NaN", "Infinity" and "-Infinity".
local failure = require "qkern.commands.support.failure"
local text = require "qkern.commands.support.text"

local json = {}

json.null = setmetatable({}, {__name = "json.null"})

local array_class, object_class, raw_class, each_class, texts_class = {}, {}, {}, {}, {}

-- Marks a list, so that an empty one is written as [].
function json.array(list)
    return setmetatable(list, array_class)
end

-- An array whose items `next_item` gives, one at each call, and nil at the end. They are asked for
-- while it is written, so that it is never whole in memory.
function json.each(next_item)
    return setmetatable({next_item}, each_class)
end

-- The same of numbers: at each call `next_list` gives a list of texts.
function json.texts(next_list)
    return setmetatable({next_list}, texts_class)
end

-- An object with its keys in the order given: json.object("a", 1, "b", 2). A nil is written as
-- null.
function json.object(...)
    return setmetatable(table.pack(...), object_class)
end

-- The text of a number of a type of GGUF files, also of one that is not finite.
function json.number_text(value, kind)
    if math.type(value) == "integer" then return text.integer(value, kind) end
    if value ~= value then return '"NaN"' end
    if value == math.huge then return '"Infinity"' end
    if value == -math.huge then return '"-Infinity"' end
    return text.float(value, kind)
end

-- The number with that text.
function json.number(decimal)
    return setmetatable({decimal}, raw_class)
end

local ESCAPES = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t"}

local function escape(character)
    return ESCAPES[character] or ("\\u%04x"):format(character:byte())
end

local function hex(character)
    return ("%02x"):format(character:byte())
end

local PIECE = 1 << 16 -- bytes of a string that are escaped at a time

-- Cutting within a character is right: only bytes that are characters are escaped.
local function write_string(put, s)
    local pattern, replacement, open, close = '[%z\1-\31\127"\\]', escape, '"', '"'
    if not utf8.len(s) then
        pattern, replacement, open, close = ".", hex, '{"bytes": "', '"}'
    end
    put(open)
    for i = 1, #s, PIECE do
        put((s:sub(i, i + PIECE - 1):gsub(pattern, replacement)))
    end
    put(close)
end

local write

-- items(begin, indent, separator) writes the items, and calls begin() before each.
local function write_items(put, open, close, indent, items)
    local separator = "\n" .. indent .. "  "
    local before = open .. separator
    items(function()
        put(before)
        before = "," .. separator
    end, indent .. "  ", separator)
    put(before == open .. separator and open .. close or "\n" .. indent .. close)
end

local WRITERS = {
    [array_class] = function(put, list, indent)
        write_items(put, "[", "]", indent, function(begin, inner)
            for i = 1, #list do
                begin()
                write(put, list[i], inner)
            end
        end)
    end,
    [object_class] = function(put, object, indent)
        write_items(put, "{", "}", indent, function(begin, inner)
            for i = 1, object.n, 2 do
                begin()
                write_string(put, object[i])
                put ": "
                write(put, object[i + 1], inner)
            end
        end)
    end,
    [each_class] = function(put, each, indent)
        write_items(put, "[", "]", indent, function(begin, inner)
            for item in each[1] do
                begin()
                write(put, item, inner)
            end
        end)
    end,
    [texts_class] = function(put, texts, indent)
        write_items(put, "[", "]", indent, function(begin, _, separator)
            for list in texts[1] do
                begin()
                put(table.concat(list, "," .. separator))
            end
        end)
    end,
    [raw_class] = function(put, value) put(value[1]) end,
}

function write(put, value, indent)
    local kind = type(value)
    if kind == "string" then write_string(put, value)
    elseif kind == "number" then put(json.number_text(value, "f64"))
    elseif kind == "boolean" then put(tostring(value))
    elseif kind == "nil" or value == json.null then put "null"
    else WRITERS[getmetatable(value)](put, value, indent) end
end

-- Calls put(text) with the pieces of the value as JSON text, with a final newline.
local function encode(put, value)
    write(put, value, "")
    put "\n"
end

-- The value as JSON text.
function json.encode(value)
    local out = {}
    encode(function(piece) out[#out + 1] = piece end, value)
    return table.concat(out)
end

-- Writes the value to standard output while it is encoded. What cannot be written is a failure,
-- whose reason the executable tells.
function json.print(value)
    local out = io.stdout
    encode(function(piece)
        if not out:write(piece) then failure.raise(failure.FAILED, "the report is not complete") end
    end, value)
end

return json
