-- SPDX-License-Identifier: MIT
-- qkern golden: passes what is right, finds what is wrong, and names what it cannot read.
local qk = require "qkern"
local maker = require "gguf_maker"
local t = require "testing"

local folder = t.path "golden"

-- A folder with inputs and one file of vectors.
local function vectors(name, content, inputs)
    t.equal((t.shell("rm -rf " .. folder .. " && mkdir " .. folder)), 0)
    t.write(folder .. "/inputs.txt", inputs or t.read(t.golden .. "/inputs.txt"))
    t.write(folder .. "/" .. name, content)
end

local q8_0 = t.read(t.golden .. "/q8_0.txt")

local function replaced(from, to)
    local start, stop = q8_0:find(from, 1, true)
    return q8_0:sub(1, assert(start, from) - 1) .. to .. q8_0:sub(stop + 1)
end

t.test("all vectors of the repository pass, none is skipped", function()
    local out = t.succeed("golden", t.golden)
    t.contains(out, "14 types, 806 cases: 806 passed, 0 failed, 0 skipped\n")
    t.contains(out, "\nQ4_K     69      69       0        0\n")
    t.contains(t.succeed("golden", t.golden, "--plugin", "scalar"),
               "806 cases: 806 passed, 0 failed, 0 skipped")
end)

t.test("--types selects, and a type without vectors is named", function()
    t.contains(t.succeed("golden", t.golden, "--types", "q4_0,Q8_K"),
               "2 types, 120 cases: 120 passed")
    local status, _, err = t.qkern("golden", t.golden, "--types", "F32")
    t.equal(status, 2)
    t.contains(err, "has no file of type F32")
    status, _, err = t.qkern("golden", t.golden, "--types", "Q9")
    t.equal(status, 2)
    t.contains(err, "there is no type Q9")
end)

t.test("a wrong byte fails, and the first mismatch is shown in detail", function()
    local q = q8_0:match("case g1 .-\nq (%x+)")
    local wrong = (q:sub(1, 1) == "0" and "1" or "0") .. q:sub(2)
    vectors("q8_0.txt", replaced("q " .. q, "q " .. wrong))
    local status, out = t.qkern("golden", folder)
    t.equal(status, 1)
    t.contains(out, "Q8_0     64      63       1        0\n")
    t.contains(out, ("q8_0.txt:3: case g1: quantize, block 0: expected %s, found %s"):format(
        wrong:sub(1, 68), q:sub(1, 68)))
    t.contains(out, "63 passed, 1 failed, 0 skipped")
end)

t.test("a wrong value of dequantize fails", function()
    local y = q8_0:match("case g1 .-\ny (%x+)")
    vectors("q8_0.txt", replaced("y " .. y, "y 00000000" .. y:sub(9)))
    local status, out = t.qkern("golden", folder)
    t.equal(status, 1)
    t.contains(out, "case g1: dequantize, element 0: expected 00000000, found " .. y:sub(1, 8))
end)

t.test("a dot product is held to the tolerance", function()
    local dot, dotabs = q8_0:match("case dot_1blk .-\ndot (%x+)\ndotabs (%S+)")
    local value = string.unpack("<f", (dot:gsub("..", function(h)
        return string.char(tonumber(h, 16))
    end)))
    local function with(v)
        local hex = string.pack("<f", v):gsub(".", function(c) return ("%02x"):format(c:byte()) end)
        vectors("q8_0.txt", replaced("dot " .. dot, "dot " .. hex))
        return t.qkern("golden", folder)
    end
    t.equal((with(value + 0.9e-5 * dotabs)), 0)
    local status, out = with(value + 1.2e-5 * dotabs)
    t.equal(status, 1)
    t.contains(out, "case dot_1blk: vec_dot: expected ")
end)

t.test("what is not understood is an error with file and line, never skipped", function()
    local cases = {
        {"kind=quant via=ref", "kind=quint via=ref", ":6", "kind 'quint' is not understood"},
        {"kind=quant via=ref", "kind=quant via=magic", ":", "via=magic is not understood"},
        {"kind=quant via=ref", "kind=quant way=ref", ":3", "'way=ref' is not understood"},
        {"xref g1\n", "xref nothing\n", ":4", "no input is named 'nothing'"},
        {"xref g1\n", "yref g1\n", ":4", "key 'yref' is not understood"},
        {"xref g1\n", "xref g1:512\n", ":4", "input g1 has no 512 values"},
        {"xref g1\n", "", ":", "case g1: no x"},
        {"xref g1\n", "xref g1:32\n", ":", "expected 1024 bytes of x, found 128"},
        {"case g1 n=256", "case g1 n=250", ":", "n=250 is not whole blocks of 32"},
        {"case g1 n=256", "case g1 n=x", ":3", "'n=x': no number"},
        {"case g1 n=256", "case g1 n=256 rows=3", ":", "is not 3 rows of whole blocks"},
        {"id=8", "id=9", ":2", "expected id=8 block=32 bytes=34 for q8_0"},
        {"\ntype q8_0", "\ntype q8_9", ":2", "there is no type q8_9"},
        {"\nq ", "\nq 0", ":5", "not hexadecimal"},
        {"\nend\n", "\n", ":", "is not understood"},
        {"act=q8_0", "act=q8_1", ":", "act=q8_1, but Q8_0 is multiplied with Q8_0"},
        {"dotabs ", "dotabs x", ":", "is no number"},
        {"\ntype q8_0", "\ntyp x", ":2", "expected a type, found 'typ'"},
    }
    for _, case in ipairs(cases) do
        vectors("q8_0.txt", replaced(case[1], case[2]))
        local status, out, err = t.qkern("golden", folder)
        t.equal(status, 2, case[2])
        t.equal(out, "")
        t.contains(err, "qkern golden: " .. folder .. "/q8_0.txt:")
        t.contains(err, case[4])
    end
    vectors("q8_0.txt", q8_0:sub(1, -6))
    local status, _, err = t.qkern("golden", folder)
    t.equal(status, 2)
    t.contains(err, "has no end")
end)

t.test("a folder without vectors or inputs has status 2", function()
    vectors("q8_0.txt", q8_0)
    os.remove(folder .. "/inputs.txt")
    local status, _, err = t.qkern("golden", folder)
    t.equal(status, 2)
    t.contains(err, "cannot read " .. folder .. "/inputs.txt")
    vectors("notes.md", "")
    status, _, err = t.qkern("golden", folder)
    t.equal(status, 2)
    t.contains(err, "has no vectors")
    t.equal((t.qkern("golden", t.path "absent")), 2)
    t.equal((t.qkern("golden", t.path "stdout")), 2)
    vectors("q8_0.txt", q8_0, "input a n=2\nx 00000000\nend\n")
    status, _, err = t.qkern("golden", folder)
    t.equal(status, 2)
    t.contains(err, "inputs.txt:3: input a: expected n=2 values, found 1")
end)

t.test("what is no regular file is refused at once", function()
    for _, name in ipairs {"inputs.txt", "q8_0.txt"} do
        for _, make in ipairs {"mkfifo ", "mkdir ", "ln -s /dev/zero "} do
            vectors("q8_0.txt", q8_0)
            local path = folder .. "/" .. name
            os.remove(path)
            t.equal((t.shell(make .. t.quote(path))), 0)
            local status, out, err = t.shell("timeout 10 " .. t.line("golden", folder))
            t.equal(status, 2, make .. name)
            t.equal(out, "")
            t.equal(err, ("qkern golden: cannot read %s: not a regular file\n"):format(path))
        end
    end
end)

t.test("a type without a kernel is counted as skipped, with the reason", function()
    vectors("iq4_nl.txt", "type iq4_nl id=20 block=32 bytes=18\ncase a n=32 kind=quant via=ref\n"
            .. "xref g1:32\nq " .. ("00"):rep(18) .. "\nend\n")
    local out = t.succeed("golden", folder)
    t.contains(out, "IQ4_NL      1       0       0        1  no kernel\n")
    t.contains(out, "0 passed, 0 failed, 1 skipped")
end)

-- The dot product of 64 floats in the order of the contract.
local function contract(w, a)
    local function f32(x) return (string.unpack("<f", string.pack("<f", x))) end
    local p = {}
    for i = 0, 15 do p[i] = 0 end
    for i = 0, 63 do p[i % 16] = f32(p[i % 16] + f32(w[i + 1] * a[i + 1])) end
    for _, half in ipairs {8, 4, 2, 1} do
        for i = 0, half - 1 do p[i] = f32(p[i] + p[i + half]) end
    end
    return p[0]
end

t.test("a plugin that adds in another order is within the tolerance and is still caught", function()
    local w = qk.f32(maker.floats(64, function(i) return 1 / (i + 3) end))
    local a = qk.f32(maker.floats(64, function(i) return 1 / (2 * i + 1) end))
    local dot = qk.f32 {contract(w, a)}
    vectors("f32.txt", ("type F32 id=0 block=1 bytes=4\ncase d n=64 kind=dot act=F32\n"
        .. "q %s\na %s\ndot %s\ndotabs 0.5\nend\ncase e n=1 kind=quant via=ref\nx 00000000\n"
        .. "q 00000000\nend\n"):format(w:hex(), a:hex(), dot:hex()))
    t.contains(t.succeed("golden", folder), "2 passed, 0 failed, 0 skipped")
    local with_drift = "QKERN_PLUGIN_PATH=" .. t.plugins .. " "
    local status, out = t.shell(with_drift .. t.line("golden", folder, "--plugin", "drift"))
    t.equal(status, 1)
    t.contains(out, "vec_dot against the contract, element 0: expected " .. dot:hex())
    t.contains(out, "F32       2       0       1        1  no quantize")
    -- it has the higher tier, so it is also the chosen one
    status, out = t.shell(with_drift .. t.line("golden", folder))
    t.equal(status, 1)
    t.contains(out, "1 passed, 1 failed, 0 skipped")
end)

t.test("a plugin that is absent or was refused is a usage error with the reason", function()
    local status, _, err = t.qkern("golden", t.golden, "--plugin", "avx9")
    t.equal(status, 2)
    t.contains(err, "--plugin: no plugin is named avx9")
    status, _, err = t.shell("QKERN_PLUGIN_PATH=" .. t.path "absent" .. " "
        .. t.line("golden", t.golden, "--plugin", ""))
    t.equal(status, 2)
    t.contains(err, "--plugin needs the name of a plugin")
    status, _, err = t.shell("QKERN_MAX_ISA=scalar QKERN_PLUGIN_PATH=" .. t.plugins .. " "
        .. t.line("golden", t.golden, "--plugin", "drift"))
    t.equal(status, 2)
    t.contains(err, "--plugin: plugin drift (")
    t.contains(err, "is not usable")
end)

if t.exists(t.shared .. "/golden/inputs.txt") then
    t.test("vectors of types to come are all read, and skipped with a visible count", function()
        local out = t.succeed("golden", t.shared .. "/golden")
        t.contains(out, "29 types, 1867 cases: ")
        t.contains(out, " 0 failed, ")
        t.lacks(out, " 0 skipped")
    end)
else
    print("SKIPPED one test: no golden vectors of other types in " .. t.shared)
end

t.finish()
