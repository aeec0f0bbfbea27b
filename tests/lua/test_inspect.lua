-- SPDX-License-Identifier: MIT
-- qkern inspect.
local maker = require "gguf_maker"
local reader = require "json_reader"
local t = require "testing"

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

t.finish()
