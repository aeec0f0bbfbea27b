-- SPDX-License-Identifier: MIT
-- Writing JSON (RFC 8259). The text is always valid UTF-8: a string that is not is written as the
-- object {"bytes": "its bytes in hexadecimal"}. Numbers that JSON does not have are the strings
-- "NaN", "Infinity" and "-Infinity".
local text = require "qkern.commands.support.text"

local json = {}

json.null = setmetatable({}, {__name = "json.null"})

local array_class, object_class, raw_class = {}, {}, {}

-- Marks a list, so that an empty one is written as [].
function json.array(list)
    return setmetatable(list, array_class)
end

-- An object with its keys in the order given: json.object("a", 1, "b", 2). A nil is written as
-- null.
function json.object(...)
    return setmetatable(table.pack(...), object_class)
end

-- The number with that text.
function json.number(decimal)
    return setmetatable({decimal}, raw_class)
end

local ESCAPES = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t"}

local function escape(character)
    return ESCAPES[character] or ("\\u%04x"):format(character:byte())
end

local function encode_string(s)
    if not utf8.len(s) then
        local hex = s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
        return ('{"bytes": "%s"}'):format(hex)
    end
    return '"' .. s:gsub('[%z\1-\31\127"\\]', escape) .. '"'
end

local function encode_number(value)
    if math.type(value) == "integer" then return ("%d"):format(value) end
    if value ~= value then return '"NaN"' end
    if value == math.huge then return '"Infinity"' end
    if value == -math.huge then return '"-Infinity"' end
    return text.float(value, "f64")
end

local write

local function write_items(out, open, close, count, item, indent)
    if count == 0 then
        out[#out + 1] = open .. close
        return
    end
    local inner = indent .. "  "
    for i = 1, count do
        out[#out + 1] = (i == 1 and open or ",") .. "\n" .. inner
        item(i, inner)
    end
    out[#out + 1] = "\n" .. indent .. close
end

local WRITERS = {
    [array_class] = function(out, value, indent)
        write_items(out, "[", "]", #value, function(i, inner)
            write(out, value[i], inner)
        end, indent)
    end,
    [object_class] = function(out, value, indent)
        write_items(out, "{", "}", value.n // 2, function(i, inner)
            out[#out + 1] = encode_string(value[2 * i - 1]) .. ": "
            write(out, value[2 * i], inner)
        end, indent)
    end,
    [raw_class] = function(out, value) out[#out + 1] = value[1] end,
}

function write(out, value, indent)
    local kind = type(value)
    if kind == "string" then out[#out + 1] = encode_string(value)
    elseif kind == "number" then out[#out + 1] = encode_number(value)
    elseif kind == "boolean" then out[#out + 1] = tostring(value)
    elseif kind == "nil" or value == json.null then out[#out + 1] = "null"
    else WRITERS[getmetatable(value)](out, value, indent) end
end

-- The value as JSON text, with a final newline.
function json.encode(value)
    local out = {}
    write(out, value, "")
    out[#out + 1] = "\n"
    return table.concat(out)
end

return json
