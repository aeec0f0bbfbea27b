-- SPDX-License-Identifier: MIT
-- What the commands share: text for the terminal, JSON, command lines.
local json = require "qkern.commands.support.json"
local options = require "qkern.commands.support.options"
local text = require "qkern.commands.support.text"
local reader = require "json_reader"
local t = require "testing"

t.test("what is not printable is escaped without ambiguity", function()
    t.equal(text.printable("plain text"), "plain text")
    t.equal(text.printable("a\27[31mb\n\t\r\0\127"), "a\\x1b[31mb\\n\\t\\r\\x00\\x7f")
    t.equal(text.printable("back\\slash"), "back\\\\slash")
    t.equal(text.printable("ä字😀"), "ä字😀")
    t.equal(text.printable("a\xffb\xc3"), "a\\xffb\\xc3")
    t.equal(text.printable("\xed\xa0\x80"), "\\xed\\xa0\\x80", "a surrogate")
    t.equal(text.printable("\xc0\x80"), "\\xc0\\x80", "an overlong form")
    t.equal(text.printable("x\u{202e}y\u{9b}z"), "x\\u{202e}y\\u{9b}z")
    t.equal(text.printable(""), "")
end)

t.test("tables line up also with wide and combining characters", function()
    t.equal(text.table({"name", ">n"}, {{"ä", "1"}, {"字字", "22"}, {"e\u{301}", "333"}}),
            "name    n\nä       1\n字字   22\ne\u{301}     333\n")
end)

t.test("a value is cut to a width of columns", function()
    t.equal(text.cut("abcdefgh", 8), "abcdefgh")
    t.equal(text.cut("abcdefghi", 8), "abcde...")
    t.equal(text.cut("字字字字字", 8), "字字...")
end)

t.test("of a long string a cell has the beginning, whatever its bytes, in next to no time", function()
    for _, unit in ipairs {"a", "ä", "字", "😀", "\xff", "\0", "\\", "\u{202e}", "e\u{301}",
                           "\xe5\xad"} do
        for _, count in ipairs {1, 3, 20, 71, 72, 73, 200, 575, 576, 577, 3000} do
            for _, lead in ipairs {"", "x", "xy", "xyz"} do
                local s = lead .. unit:rep(count)
                t.equal(text.brief(s, 72), text.cut(text.printable(s), 72), s)
            end
        end
    end
    t.equal(text.brief(("\u{301}"):rep(100000), 72), ("\u{301}"):rep(288) .. "...")
    for _, unit in ipairs {"\xff", "字", "\u{301}", "\0", "a"} do
        local s = unit:rep(5000000)
        local before = os.clock()
        t.equal(#text.brief(s, 72) < 600, true)
        t.equal(os.clock() - before < 0.5, true)
    end
end)

t.test("numbers are the shortest that read back", function()
    t.equal(text.float(string.unpack("<f", string.pack("<f", 1e-5)), "f32"), "1e-05")
    t.equal(text.float(string.unpack("<f", string.pack("<f", 1 / 3)), "f32"), "0.33333334")
    t.equal(text.float(1 / 3, "f64"), "0.3333333333333333")
    t.equal(text.float(0 / 0, "f32"), "nan")
    t.equal(text.float(-math.huge, "f64"), "-inf")
    t.equal(text.integer(-1, "u64"), "18446744073709551615")
    t.equal(text.integer(math.mininteger, "u64"), "9223372036854775808")
    t.equal(text.integer(-1, "i64"), "-1")
    t.equal(text.size(1023), "1023 B")
    t.equal(text.size(1536), "1.50 KiB")
end)

-- The number of `kind` ("f32", "f64") with these bits, an integer.
local function float_of(kind, bits)
    local integers, float = "<I4", "<f"
    if kind == "f64" then integers, float = "<i8", "<d" end
    return (string.unpack(float, string.pack(integers, bits)))
end

local function bits_of(kind, value)
    return kind == "f64" and string.unpack("<i8", string.pack("<d", value))
        or string.unpack("<I4", string.pack("<f", value))
end

-- Raises unless the text of a finite number reads back as the same bits, is a number of JSON, and
-- none with fewer digits reads back.
local function check_float(kind, value)
    local found, bits = text.float(value, kind), bits_of(kind, value)
    t.equal(bits_of(kind, tonumber(found)), bits, found)
    t.equal(bits_of(kind, reader.decode(found)), bits, found)
    local digits = #found:gsub("[eE].*", ""):gsub("[^0-9]", ""):gsub("^0+", ""):gsub("0+$", "")
    for fewer = 1, digits - 1 do
        local short = ("%." .. fewer .. "g"):format(value)
        t.equal(bits_of(kind, tonumber(short)) ~= bits, true, short .. " is shorter than " .. found)
    end
end

t.test("every finite number has the shortest text that reads back to its bits", function()
    t.equal(text.float(-0.0, "f32"), "-0.0")
    t.equal(text.float(-0.0, "f64"), "-0.0")
    t.equal(text.float(0.0, "f64"), "0")
    t.equal(text.float(0, "f64"), "0")
    t.equal(text.float(3, "f64"), "3")
    t.equal(text.float(float_of("f32", 1), "f32"), "1e-45")
    t.equal(text.float(float_of("f64", 1), "f64"), "5e-324")
    local edges = {
        f32 = {0, 0x80000000, 1, 2, 0x7fffff, 0x800000, 0x800001, 0x3f7fffff, 0x3f800000,
               0x3f800001, 0x4b7fffff, 0x4b800000, 0x7f7fffff, 0xff7fffff, 0x80000001},
        f64 = {0, math.mininteger, 1, 2, 0xfffffffffffff, 0x10000000000000, 0x10000000000001,
               0x3fefffffffffffff, 0x3ff0000000000000, 0x3ff0000000000001, 0x433fffffffffffff,
               0x4340000000000000, 0x7fefffffffffffff, -0x10000000000001, math.mininteger + 1},
    }
    math.randomseed(7)
    for kind, list in pairs(edges) do
        for _, bits in ipairs(list) do check_float(kind, float_of(kind, bits)) end
        for exponent = -330, 310 do
            local value = tonumber("1e" .. exponent)
            if kind == "f32" then value = float_of("f32", bits_of("f32", value)) end
            if value - value == 0 then
                check_float(kind, value)
                check_float(kind, -value)
            end
        end
        for n = 0, 62 do
            check_float(kind, float_of(kind, bits_of(kind, (1 << n) + 0.0)))
            check_float(kind, float_of(kind, bits_of(kind, (1 << n) + 1.0)))
        end
        for _ = 1, 5000 do
            local bits = math.random(0)
            local value = float_of(kind, kind == "f32" and bits & 0xffffffff or bits)
            if value - value == 0 then check_float(kind, value) end
            -- and subnormal ones
            value = float_of(kind, bits & (kind == "f32" and 0x7fffff or 0xfffffffffffff))
            check_float(kind, value)
        end
    end
end)

t.test("what is not finite has a text, and in JSON a string", function()
    for _, kind in ipairs {"f32", "f64"} do
        t.equal(text.float(0 / 0, kind), "nan")
        t.equal(text.float(-(0 / 0), kind), "nan")
        t.equal(text.float(math.huge, kind), "inf")
        t.equal(text.float(-math.huge, kind), "-inf")
    end
    t.equal(json.encode(-0.0), "-0.0\n")
end)

t.test("globs match whole names, by character, in time that does not explode", function()
    local glob = require "qkern.commands.support.glob"
    local function match(pattern, name) return glob.compile(pattern)(name) end
    for _, case in ipairs {
        {"", "", true}, {"", "a", false}, {"a", "a", true}, {"a", "ab", false}, {"*", "", true},
        {"*", "any.thing", true}, {"a*", "a", true}, {"*a", "ba", true}, {"*a", "ab", false},
        {"a*b*c", "a1b2b3c", true}, {"a*b*c", "a1c2b", false}, {"**x**", "x", true},
        {"?", "ä", true}, {"?", "", false}, {"??", "ä", false}, {"[a-c]", "b", true},
        {"[a-c]", "d", false}, {"[!a-c]", "d", true}, {"[^a-c]", "a", false}, {"[äö]", "ö", true},
        {"[]a]", "]", true}, {"[a-]", "-", true}, {"[!]]", "x", true}, {"\\[x", "[x", true},
        {"\\*", "*", true}, {"\\*", "x", false}, {"\\", "\\", true},
        {"x[\\]]y", "x]y", true}, {"x[\\]]y", "x\\]y", false}, {"[\\\\]", "\\", true},
        {"[a\\-z]", "-", true}, {"[a\\-z]", "m", false}, {"[\\!a]", "!", true},
        {"[+-\\]]", "A", true}, {"[\\a-\\c]", "b", true}, {"[!\\]]", "]", false},
        {"a.b%", "a.b%", true}, {"a.b", "axb", false}, {"*.[0-9].*", "blk.7.w", true},
    } do
        t.equal(match(case[1], case[2]), case[3], case[1] .. " on " .. case[2])
    end
    for pattern, reason in pairs {["\xff"] = "not UTF-8", ["[x"] = "unterminated [",
                                  ["a[]"] = "unterminated [", ["[!]"] = "unterminated [",
                                  ["[a-"] = "unterminated [", ["[\\]"] = "unterminated [",
                                  ["[\\"] = "unterminated [", ["[a-\\"] = "unterminated ["} do
        local compiled, why = glob.compile(pattern)
        t.equal(compiled, nil, pattern)
        t.contains(why, reason)
    end
    local before = os.clock()
    t.equal(match(("*a"):rep(20) .. "*b", ("a"):rep(3000)), false)
    t.equal(os.clock() - before < 5, true)
end)

t.test("JSON is valid whatever is in it", function()
    local back = reader.decode(json.encode(json.object(
        "text", "a\"b\\c\n\0\127ä", "bytes", "\xff\0", "list", json.array {}, "empty",
        json.object(), "nil", nil, "null", json.null, "nan", 0 / 0, "inf", math.huge, "minus",
        -math.huge, "integer", math.maxinteger, "float", 0.1, "true", true,
        "nested", json.array {json.array {1, 2}, "x"},
        "number", json.number("18446744073709551615"))))
    t.equal(back.text, "a\"b\\c\n\0\127ä")
    t.equal(back.bytes.bytes, "ff00")
    t.equal(#back.list, 0)
    t.equal(next(back.empty), nil)
    t.equal(back["nil"], reader.null)
    t.equal(back.null, reader.null)
    t.equal(back.nan, "NaN")
    t.equal(back.inf, "Infinity")
    t.equal(back.minus, "-Infinity")
    t.equal(back.integer, math.maxinteger)
    t.equal(back.float, 0.1)
    t.equal(back["true"], true)
    t.equal(back.nested[1][2], 2)
    t.equal(back.number, 18446744073709551615.0)
end)

t.test("the reader of the tests refuses what is not JSON", function()
    for _, bad in ipairs {"", "{", "[1,]", "{\"a\":1,}", "01", "1.", "nul", "'a'", "\"\1\"",
                          "\"\\x\"", "\"\\ud800\"", "[1] 2", "{\"a\":1,\"a\":2}", "\"\xff\"",
                          "NaN", "+1"} do
        t.raises("JSON", reader.decode, bad)
    end
end)

t.test("options are parsed, and errors say what to do", function()
    local command = {name = "c", arguments = "A B", operands = {2, 3}, help = "", options = {
        {"--type", "T", "", required = true}, {"--only", "G", "", repeated = true},
        {"--json", nil, ""}}}
    local v = options.parse(command, {"a", "--type=x=y", "--only", "-1", "--only=2", "--",
                                      "--json"})
    t.equal(v[1] .. v[2] .. v.type .. v.only[1] .. v.only[2], "a--jsonx=y-12")
    t.equal(v.json, nil)
    t.equal(options.parse(command, {"--help"}).help, true)
    local function parse(...) return options.parse(command, {...}) end
    t.raises("unknown option --jsn; did you mean --json?", parse, "--jsn")
    t.raises("--type needs a value: T", parse, "a", "b", "--type")
    t.raises("--json takes no value", parse, "--json=1")
    t.raises("--type is given twice", parse, "--type", "1", "--type", "2")
    t.raises("expected A B, found 1 argument", parse, "a", "--type", "1")
    t.raises("expected A B, found 4 arguments", parse, "a", "b", "c", "d", "--type", "1")
    t.equal(#parse("a", "b", "c", "--type", "1"), 3)
    t.raises("-: streams are not supported", parse, "a", "-", "--type", "1")
    t.raises("-: streams are not supported", parse, "--type", "1", "--", "-", "a")
    local err = t.raises("--type is missing", parse, "a", "b")
    t.equal(err.exit, 2)
    t.equal(err.hint, "try 'qkern c --help'")
end)

t.test("the contract of vec_dot agrees with the scalar kernels on random blocks", function()
    local contract = require "qkern.commands.support.contract"
    local qk = require "qkern"
    math.randomseed(20)
    local function random_bytes(n)
        local pieces = {}
        for i = 1, n do pieces[i] = string.char(math.random(0, 255)) end
        return table.concat(pieces)
    end
    -- f16 fields that are finite: their place in a block of each type
    local halves = {F16 = {0}, Q4_0 = {0}, Q4_1 = {0, 2}, Q5_0 = {0}, Q5_1 = {0, 2}, Q8_0 = {0},
                    Q8_1 = {0, 2}, Q2_K = {80, 82}, Q3_K = {108}, Q4_K = {0, 2}, Q5_K = {0, 2},
                    Q6_K = {208}, BF16 = {0}, Q8_K = {}, F32 = {}}
    local function blocks(name, n)
        local kind, pieces = qk.type(name), {}
        for i = 1, n // kind.block_elements do
            local block = random_bytes(kind.block_bytes)
            for _, at in ipairs(halves[name]) do
                block = block:sub(1, at) .. string.pack("<I2", math.random(0, 0x7b) << 8 | i % 256)
                    .. block:sub(at + 3)
            end
            if name == "Q8_K" or name == "F32" then
                block = string.pack("<f", math.random() - 0.5) .. block:sub(5)
            end
            pieces[i] = block
        end
        return table.concat(pieces)
    end
    local count = 0
    for name in pairs(halves) do
        local kind = qk.type(name)
        if kind.dot_type then
            local k = qk.kernel(name, "scalar")
            for n = 256, 2560, 256 do
                local w, a = blocks(name, n), blocks(kind.dot_type, n)
                local found = k:vec_dot(qk.blocks(name, w), qk.blocks(kind.dot_type, a))
                t.equal(string.pack("<f", found), contract.vec_dot(name, w, a), name .. " " .. n)
                count = count + 1
            end
        end
    end
    t.equal(count, 13 * 10)
end)

t.finish()
