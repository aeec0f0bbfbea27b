-- SPDX-License-Identifier: MIT
-- A strict reader of JSON (RFC 8259): refuses everything that the grammar does not allow, also text
-- that is not UTF-8, lone surrogates and repeated keys. null is json_reader.null.
local reader = {null = setmetatable({}, {__tostring = function() return "null" end})}

local value

local function fail(s, i, what)
    error(("JSON: %s at byte %d: %q"):format(what, i, s:sub(i, i + 20)), 0)
end

local function space(s, i)
    return s:find("[^ \t\r\n]", i) or #s + 1
end

local PLAIN = {['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r",
               t = "\t"}

local function escape(s, i)
    local plain = PLAIN[s:sub(i + 1, i + 1)]
    if plain then return plain, i + 2 end
    local hex = s:match("^\\u(%x%x%x%x)", i)
    if not hex then fail(s, i, "bad escape") end
    local code = tonumber(hex, 16)
    if code < 0xd800 or code > 0xdfff then return utf8.char(code), i + 6 end
    local low = s:match("^\\u([dD][c-fC-F]%x%x)", i + 6)
    if code > 0xdbff or not low then fail(s, i, "lone surrogate") end
    return utf8.char(0x10000 + ((code - 0xd800) << 10) + tonumber(low, 16) - 0xdc00), i + 12
end

local function text(s, i)
    local pieces = {}
    i = i + 1
    while true do
        local stop = s:find('["\\%c]', i) or fail(s, i, "string without an end")
        pieces[#pieces + 1] = s:sub(i, stop - 1)
        local c = s:sub(stop, stop)
        if c == '"' then return table.concat(pieces), stop + 1 end
        if c ~= "\\" then
            if c ~= "\127" then fail(s, stop, "control character") end
            pieces[#pieces + 1], i = c, stop + 1
        else
            pieces[#pieces + 1], i = escape(s, stop)
        end
    end
end

local function number(s, i)
    local body = s:match("^-?[0-9]+", i) or fail(s, i, "no value")
    if body:find("^-?0[0-9]") then fail(s, i, "leading zero") end
    local stop = i + #body
    local fraction = s:match("^%.[0-9]+", stop)
    stop = stop + #(fraction or "")
    local exponent = s:match("^[eE][+-]?[0-9]+", stop)
    stop = stop + #(exponent or "")
    local decimal = s:sub(i, stop - 1)
    return tonumber(decimal), stop
end

local function list(s, i)
    local result = {}
    i = space(s, i + 1)
    if s:sub(i, i) == "]" then return result, i + 1 end
    while true do
        result[#result + 1], i = value(s, i)
        i = space(s, i)
        local c = s:sub(i, i)
        if c == "]" then return result, i + 1 end
        if c ~= "," then fail(s, i, "expected , or ]") end
        i = i + 1
    end
end

local function object(s, i)
    local result = {}
    i = space(s, i + 1)
    if s:sub(i, i) == "}" then return result, i + 1 end
    while true do
        i = space(s, i)
        if s:sub(i, i) ~= '"' then fail(s, i, "expected a key") end
        local key
        key, i = text(s, i)
        if result[key] ~= nil then fail(s, i, "repeated key") end
        i = space(s, i)
        if s:sub(i, i) ~= ":" then fail(s, i, "expected :") end
        result[key], i = value(s, i + 1)
        i = space(s, i)
        local c = s:sub(i, i)
        if c == "}" then return result, i + 1 end
        if c ~= "," then fail(s, i, "expected , or }") end
        i = i + 1
    end
end

local WORDS = {["true"] = true, ["false"] = false, null = reader.null}

function value(s, i)
    i = space(s, i)
    local c = s:sub(i, i)
    if c == "{" then return object(s, i) end
    if c == "[" then return list(s, i) end
    if c == '"' then return text(s, i) end
    local word = s:match("^%l+", i)
    if word then
        if WORDS[word] == nil then fail(s, i, "no value") end
        return WORDS[word], i + #word
    end
    return number(s, i)
end

function reader.decode(s)
    local ok, bad = utf8.len(s)
    if not ok then fail(s, bad, "not UTF-8") end
    local result, i = value(s, 1)
    if space(s, i) <= #s then fail(s, i, "text after the value") end
    return result
end

return reader
