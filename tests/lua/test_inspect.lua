-- SPDX-License-Identifier: MIT
-- qkern inspect.
local maker = require "gguf_maker"
local reader = require "json_reader"
local t = require "testing"
local qk = require "qkern"

t.test("the sample's header, tensor and totals are shown", function()
    local out = t.succeed("inspect", t.sample)
    t.contains(out, "GGUF version 3, 522720 bytes (510.47 KiB)")
    t.contains(out, "voice.af_heart  F32   256 x 1 x 510  522240        32.00")
    t.contains(out, "all         1   130560  522240        32.00")
    local info = reader.decode(t.succeed("inspect", t.sample, "--json"))
    t.equal(info.bytes, 522720)
    t.equal(info.total.weights, 130560)
    t.equal(info.tensors[1].name, "voice.af_heart")
    t.equal(table.concat(info.tensors[1].shape, ","), "256,1,510")
    t.equal(info.tensors[1].bits_per_weight, 32)
    t.equal(info.types[1].type, "F32")
end)

local long = {type = "i32"}
for i = 1, 1000 do long[i] = i end

local file = t.write(t.path "all.gguf", maker.file({
    {"a.u8", "u8", 255}, {"a.i8", "i8", -128}, {"a.u16", "u16", 65535}, {"a.i16", "i16", -32768},
    {"a.u32", "u32", 4294967295}, {"a.i32", "i32", -2147483648}, {"a.f32", "f32", 0.1},
    {"a.true", "bool", true}, {"a.false", "bool", false}, {"a.u64", "u64", -1},
    {"a.i64", "i64", math.mininteger}, {"a.f64", "f64", 0.1}, {"a.nan", "f32", 0 / 0},
    {"a.inf", "f64", math.huge}, {"a.text", "string", "x\27[2J\n\\ä\u{202e}"},
    {"a.bytes", "string", "\xff\xfe"}, {"a.long", "array", long},
    {"a.nested", "array", {type = "array", {type = "u64", -1, 1}, {type = "string", "s"}}},
    {"a.empty", "array", {type = "f32"}},
}, {{"字.weight", 0, {2, 3}, maker.floats(6, function(i) return i end)},
    {"bad\u{9b}\n", 2, {32}, ("\0"):rep(18)}, {"n", 26, {}, "\1\0\0\0"}}))

t.test("JSON has every value whole and exact", function()
    local info = reader.decode(t.succeed("inspect", file, "--json"))
    local values, kinds = {}, {}
    for _, pair in ipairs(info.metadata) do
        values[pair.key], kinds[pair.key] = pair.value, pair.type
    end
    for key, expected in pairs {["a.u8"] = 255, ["a.i8"] = -128, ["a.u16"] = 65535,
                                ["a.i16"] = -32768, ["a.u32"] = 4294967295,
                                ["a.i32"] = -2147483648, ["a.f32"] = 0.1, ["a.true"] = true,
                                ["a.false"] = false, ["a.u64"] = 18446744073709551615.0,
                                ["a.i64"] = math.mininteger, ["a.f64"] = 0.1, ["a.nan"] = "NaN",
                                ["a.inf"] = "Infinity", ["a.text"] = "x\27[2J\n\\ä\u{202e}"} do
        t.equal(values[key], expected, key)
    end
    t.equal(kinds["a.u64"], "u64")
    t.equal(values["a.bytes"].bytes, "fffe")
    t.equal(#values["a.long"], 1000)
    t.equal(values["a.long"][1000], 1000)
    t.equal(values["a.nested"][1][1], 18446744073709551615.0)
    t.equal(values["a.nested"][2][1], "s")
    t.equal(#values["a.empty"], 0)
    t.equal(info.tensors[1].name, "字.weight")
    t.equal(info.tensors[2].name, "bad\u{9b}\n")
    t.equal(info.tensors[2].bits_per_weight, 4.5)
    t.equal(#info.tensors[3].shape, 0)
    t.equal(info.tensors[3].weights, 1)
end)

t.test("floats of every kind, negative zero too, are there in text and in JSON", function()
    local floats = {-0.0, 0.0, 1.0, -1.5, 0x1p-149, 0x1.fffffep127, 0 / 0, math.huge, -math.huge}
    local metadata = {}
    for _, kind in ipairs {"f32", "f64"} do
        local list = {type = kind}
        for i, value in ipairs(floats) do
            list[i] = value
            metadata[#metadata + 1] = {("%s.%d"):format(kind, i), kind, value}
        end
        metadata[#metadata + 1] = {kind .. ".list", "array", list}
        metadata[#metadata + 1] = {kind .. ".pair", "array", {type = kind, 1, -0.0}}
    end
    local path = t.write(t.path "floats.gguf", maker.file(metadata, {}))
    local function same(found, value, what)
        if value ~= value then return t.equal(found, "NaN", what) end
        if value == math.huge then return t.equal(found, "Infinity", what) end
        if value == -math.huge then return t.equal(found, "-Infinity", what) end
        t.equal(string.pack("<d", found), string.pack("<d", value), what)
    end
    for i, pair in ipairs(reader.decode(t.succeed("inspect", path, "--json")).metadata) do
        local value = metadata[i][3]
        if pair.type == "array" then
            t.equal(#pair.value, #value)
            for k, v in ipairs(value) do
                if pair.element_type == "f64" or v ~= 0x1p-149 and v ~= 0x1.fffffep127 then
                    same(pair.value[k], v, pair.key)
                end
            end
        elseif pair.type == "f32" and value == value then
            if type(pair.value) == "number" then
                t.equal(string.pack("<f", pair.value), string.pack("<f", value), pair.key)
            end
        else
            same(pair.value, value, pair.key)
        end
    end
    local out = t.succeed("inspect", path)
    t.equal(out:find "\n  f32%.1 +f32 +%-0%.0\n" ~= nil, true)
    t.equal(out:find "\n  f64%.1 +f64 +%-0%.0\n" ~= nil, true)
    t.contains(out, "[1, -0.0]\n")
    t.contains(out, "[-0.0, 0, 1, -1.5, 1e-45, 3.4028235e+38, nan, inf, ...]\n")
end)

t.test("long keys, names and strings are cut in text, whole in JSON, and take little time", function()
    local key, name = ("k\27"):rep(32767), ("字"):rep(21000)
    local bytes, deep = ("\xff"):rep(5000000), {type = "u8", 1, 2}
    for _ = 1, 4 do deep = {type = "array", deep, deep, deep, deep, deep, deep, deep, deep} end
    local path = t.write(t.path "long.gguf", maker.file({
        {key, "string", bytes}, {"list", "array", {type = "string", bytes, "x"}},
        {"deep", "array", deep},
    }, {{name, 0, {2}, maker.floats(2, math.sin)}}))
    -- Three seconds of the processor's time, which other processes do not lengthen.
    local status, out, err = t.shell("ulimit -t 3; " .. t.line("inspect", path))
    t.equal(status, 0, err)
    t.equal(#out < 2000, true)
    t.contains(out, "  " .. ("k\\x1b"):rep(13) .. "k\\x1...  string")
    t.contains(out, ("\\xff"):rep(17) .. "...\n")
    t.contains(out, "  " .. ("字"):rep(34) .. "...  F32")
    t.contains(out, "[[[[[1, 2], [1, 2], ")
    if t.sanitizer == "" and t.emulator == "" then -- which would take minutes
        local info = reader.decode(t.succeed("inspect", path, "--json"))
        t.equal(info.metadata[1].key, key)
        t.equal(info.metadata[1].value.bytes, ("ff"):rep(5000000))
        t.equal(info.metadata[2].value[2], "x")
        t.equal(info.metadata[3].value[8][8][8][8][2], 2)
        t.equal(info.tensors[1].name, name)
    end
end)

t.test("text shows no control character of the file and cuts long arrays", function()
    local out = t.succeed("inspect", file)
    t.equal(out:find("[%z\1-\9\11-\31\127]"), nil)
    t.equal(utf8.len(out) ~= nil, true)
    t.contains(out, [["x\x1b[2J\n\\ä\u{202e}"]])
    t.contains(out, [["\xff\xfe"]])
    t.contains(out, "array of i32, 1000")
    t.contains(out, "[1, 2, 3, 4, 5, 6, 7, 8, ...]")
    t.contains(out, "[[18446744073709551615, 1], [\"s\"]]")
    t.contains(out, "18446744073709551615\n")
    t.contains(out, "bad\\u{9b}\\n")
    t.contains(out, "字.weight    F32   2 x 3      24        32.00")
    t.contains(out, "n            I32   scalar      4        32.00")
end)

t.test("a file that cannot be read has status 2 and says why", function()
    local status, out, err = t.qkern("inspect", t.path "absent.gguf")
    t.equal(status, 2)
    t.equal(out, "")
    t.contains(err, "qkern inspect: " .. t.path "absent.gguf")
    status, _, err = t.qkern("inspect", t.write(t.path "cut.gguf", t.read(file):sub(1, 200)))
    t.equal(status, 2)
    t.contains(err, "cut.gguf")
    t.equal((t.qkern("inspect", t.work)), 2)
    t.equal((t.qkern("inspect")), 2)
end)

for _, model in ipairs {"magika-v1-f32.gguf", "stories260K.gguf", "kokoro-voice-af_heart-f32.gguf"} do
    local path = t.shared .. "/models/" .. model
    if t.exists(path) then
        t.test("the JSON of " .. model .. " is valid and has every pair and tensor", function()
            local g <close> = qk.gguf(path)
            local info = reader.decode(t.succeed("inspect", path, "--json"))
            t.equal(#info.metadata, g:header().metadata_count)
            t.equal(#info.tensors, g:header().tensor_count)
            for i, pair in ipairs(info.metadata) do
                local key, kind, value = g:pair(i)
                t.equal(pair.key, key)
                t.equal(pair.type, kind)
                if kind == "array" then
                    t.equal(#pair.value, value.count, key)
                    t.equal(pair.element_type, value.type, key)
                end
            end
            t.succeed("inspect", path)
        end)
    else
        print("SKIPPED one test: no model " .. path)
    end
end

t.finish()
