-- SPDX-License-Identifier: MIT
-- The qkern module itself. Run by the qkern executable and by a stock Lua 5.4 alike.
local qk = require "qkern"
local maker = require "gguf_maker"
local t = require "testing"

local function values(n)
    return maker.floats(n, function(i) return (i * 29 % 67 - 33) / 32 end)
end

t.test("buffers have the size of their type and begin as zeros", function()
    local b = qk.f32(3)
    t.equal(#b, 3)
    t.equal(b.type, "F32")
    t.equal(b.nbytes, 12)
    t.equal(b:tobytes(), ("\0"):rep(12))
    b = qk.blocks("q4_K", 512)
    t.equal(b.type, "Q4_K")
    t.equal(#b, 512)
    t.equal(b.nbytes, 288)
    t.equal(#qk.bytes(0), 0)
    t.equal(tostring(b), "qkern buffer: Q4_K[512], 288 bytes")
end)

t.test("buffers are filled from tables and strings", function()
    t.equal(qk.f32({1, -2.5}):hex(), "0000803f000020c0")
    t.equal(qk.f32("\0\0\128\63")[1], 1.0)
    t.equal(#qk.blocks("Q8_0", ("x"):rep(68)), 64)
    t.equal(qk.bytes("\1\255")[2], 255)
    t.raises("element 2 of the table is a string", qk.f32, {1, "x"})
    t.raises("5 bytes are not a whole number of F32 blocks of 4 bytes", qk.f32, "12345")
    t.raises("not a whole number of Q4_0 blocks of 18 bytes", qk.blocks, "Q4_0", "12345")
    t.equal(t.raises("", qk.blocks, "Q4_0", 33).status, "QKERN_E_LENGTH")
    t.equal(t.raises("", qk.blocks, "Q9", 32).status, "QKERN_E_TYPE")
    t.raises("not negative", qk.f32, -1)
    t.equal(t.raises("", qk.f32, math.maxinteger).status, "QKERN_E_LIMIT")
end)

t.test("elements are indexed from 1 and bounds are checked", function()
    local b = qk.f32 {1, 2, 3}
    b[2] = 7
    t.equal(b[2], 7.0)
    t.raises("index 0 is not in a buffer of 3", function() return b[0] end)
    t.raises("index 4 is not in a buffer of 3", function() b[4] = 1 end)
    t.raises("number expected", function() b[1] = "x" end)
    t.raises("not a byte", function() qk.bytes(1)[1] = 256 end)
    t.raises("not those of Q8_0", function() return qk.blocks("Q8_0", 32)[1] end)
    t.equal(b.nothing, nil)
end)

t.test("a slice looks into its buffer and keeps it alive", function()
    local slice = qk.f32({1, 2, 3, 4}):slice(2, 2)
    collectgarbage()
    t.equal(#slice, 2)
    t.equal(slice[1], 2.0)
    local b = qk.f32 {1, 2, 3, 4}
    b:slice(2, 2):slice(2, 1)[1] = 9
    t.equal(b[3], 9.0)
    t.equal(#b:slice(5, 0), 0)
    t.raises("not inside a buffer of 4", b.slice, b, 3, 3)
    t.raises("not inside", b.slice, b, 0, 1)
    t.raises("not inside", b.slice, b, 6, 0)
    t.raises("not inside", b.slice, b, 2, math.maxinteger)
    local blocks = qk.blocks("Q8_0", 96)
    t.equal(blocks:slice(33, 32).nbytes, 34)
    t.equal(t.raises("", blocks.slice, blocks, 2, 32).status, "QKERN_E_LENGTH")
end)

t.test("types are known by name and number", function()
    local kind = qk.type "q4_k"
    t.equal(kind.name .. kind.number .. " " .. kind.block_elements .. " " .. kind.block_bytes
            .. kind.dot_type, "Q4_K12 256 144Q8_K")
    t.equal(qk.type(12).name, "Q4_K")
    t.equal(qk.type("Q8_K").dot_type, nil)
    t.equal(#qk.types(), 35)
    t.equal(t.raises("", qk.type, 4).status, "QKERN_E_TYPE")
    t.raises("not a type number", qk.type, -1)
end)

t.test("errors of the library are tables with status, code, message and index", function()
    local x = qk.f32(64)
    x[40] = 0 / 0
    local err = t.raises("", qk.quantize, "Q8_0", x)
    t.equal(qk.is_error(err), true)
    t.equal(err.status, "QKERN_E_NONFINITE")
    t.equal(err.code, 7)
    t.equal(err.index, 40)
    t.equal(tostring(err), err.message)
    t.equal(qk.is_error "text", false)
    t.equal(qk.is_error {}, false)
end)

t.test("the checked calls and the kernels give the same", function()
    local x, a = qk.f32(values(512)), qk.f32(values(512))
    for _, kind in ipairs {"F32", "F16", "BF16", "Q4_0", "Q5_1", "Q8_0", "Q2_K", "Q6_K"} do
        local k, dot = qk.kernel(kind), qk.kernel(qk.type(kind).dot_type)
        local w, b = qk.quantize(kind, x), dot:quantize(a)
        t.equal(k:quantize(x):tobytes() == w:tobytes(), true, kind)
        t.equal(k:dequantize(w):tobytes() == qk.dequantize(w):tobytes(), true, kind)
        t.equal(k:vec_dot(w, b), qk.vec_dot(w, b), kind)
        t.equal(qk.kernel(kind, "scalar"):vec_dot(w, b), qk.vec_dot(w, b), kind)
    end
end)

t.test("kernels refuse wrong types, sizes and what is not there", function()
    local k = qk.kernel "Q4_0"
    t.equal(k:has "vec_dot", true)
    t.equal(qk.kernel("Q8_K"):has "vec_dot", false)
    t.raises("invalid option", k.has, k, "nothing")
    t.raises("expected a buffer of F32, found one of bytes", k.quantize, k, qk.bytes(32))
    t.raises("expected a buffer of Q4_0, found one of Q8_0", k.dequantize, k, qk.blocks("Q8_0", 32))
    t.raises("expected a buffer of Q8_0, found one of Q4_0", k.vec_dot, k, qk.blocks("Q4_0", 32),
             qk.blocks("Q4_0", 32))
    t.raises("32 weights and 64 activations", k.vec_dot, k, qk.blocks("Q4_0", 32),
             qk.blocks("Q8_0", 64))
    t.raises("31 importances for 32 elements", k.quantize, k, qk.f32(32), qk.f32(31))
    t.equal(t.raises("", k.quantize, k, qk.f32(33)).status, "QKERN_E_LENGTH")
    t.equal(t.raises("", qk.kernel, "IQ4_NL").status, "QKERN_E_NOT_FOUND")
    t.raises("no plugin is named nothing", qk.kernel, "Q4_0", "nothing")
    t.raises("the name of a plugin is not empty", qk.kernel, "Q4_0", "")
    for _, f in ipairs {qk.dequantize, function(b) return qk.vec_dot(b, b) end} do
        t.raises("argument #1: expected a buffer of an element type, found one of bytes", f,
                 qk.bytes(34))
    end
    t.raises("no vec_dot for Q8_K", qk.kernel("Q8_K").vec_dot, qk.kernel "Q8_K",
             qk.blocks("Q8_K", 256), qk.blocks("Q8_K", 256))
end)

t.test("importance weights reach the weighted quantizer", function()
    local x, ones = qk.f32(values(256)), qk.f32(256)
    for i = 1, 256 do ones[i] = i % 5 end
    local k = qk.kernel "Q4_0"
    t.equal(k:quantize(x, ones):tobytes() ~= k:quantize(x):tobytes(), true)
end)

local path = t.write(t.path "module.gguf", maker.file(
    {{"general.name", "string", "m"}, {"list", "array", {type = "u16", 1, 2, 3}}},
    {{"a", 0, {32, 4}, values(128)}, {"b", 0, {2}, values(2)}}))

t.test("a GGUF file is read", function()
    local g = qk.gguf(path)
    t.equal(g:header().version, 3)
    t.equal(g:header().tensor_count, 2)
    t.equal(g:metadata "general.name", "m")
    t.equal(g:metadata "nothing", nil)
    t.equal(g:metadata("list").type, "u16")
    t.equal(g:metadata("list")[3], 3)
    local key, kind, value = g:pair(2, 1)
    t.equal(key .. kind .. #value .. value.count, "listarray13")
    t.equal(g:find "b", 2)
    t.equal(g:find "c", nil)
    t.equal(g:find "b", 2)
    t.equal(g:tensor(1).rows, 4)
    t.equal(g:tensor(1).elements, 128)
    t.equal(g:data(1):tobytes() == values(128), true)
    t.raises("absent", qk.gguf, t.path "absent")
    t.raises("zero byte", qk.gguf, "a\0b")
end)

t.test("an array of the metadata is read piece by piece", function()
    local g = qk.gguf(t.write(t.path "arrays.gguf", maker.file({
        {"n", "array", {type = "i8", 1, -2, 3}}, {"e", "array", {type = "f32"}}, {"s", "u8", 1},
        {"b", "array", {type = "bool", false, true}},
        {"a", "array", {type = "array", {type = "u64", -1},
                        {type = "string", "x", ("y"):rep(1 << 16), "z"}}},
    }, {})))
    local a = g:array(1)
    t.equal(a:type() .. #a, "i83")
    t.equal(table.concat(a:take(2), " "), "1 -2")
    t.equal(table.concat(a:take(math.maxinteger), " "), "3")
    t.equal(a:take(1), nil)
    t.equal(a:take(1), nil)
    t.equal(g:array(2):take(9), nil)
    t.equal(#g:array(2), 0)
    t.equal(g:array(4):take(9)[1], false)
    local outer = g:array(5)
    g:close()
    g = nil
    collectgarbage()
    local inner = outer:take(9)
    outer = nil
    collectgarbage()
    t.equal(#inner, 2)
    t.equal(inner[1]:type() .. inner[1]:take(1)[1], "u64-1")
    t.equal(#inner[2]:take(9), 2, "no more after a long string")
    t.equal(inner[2]:take(9)[1], "z")
    t.raises("expected at least 1", a.take, a, 0)
    g = qk.gguf(t.path "arrays.gguf")
    t.raises("metadata pair 3 is u8, not an array", g.array, g, 3)
    t.raises("metadata pair 6 of 5: there is none", g.array, g, 6)
end)

t.test("the size of a file is that of a regular file alone", function()
    t.equal(qk.file_size(t.write(t.path "sized", "12345")), 5)
    local size, reason = qk.file_size(t.path "absent")
    t.equal(size, nil)
    t.equal(reason, t.path "absent" .. ": No such file or directory")
    for _, other in ipairs {t.work, "/dev/null"} do
        size, reason = qk.file_size(other)
        t.equal(size, nil)
        t.equal(reason, other .. ": not a regular file")
    end
end)

t.test("numbers in messages are counted from 1, as those in calls", function()
    local g, c = qk.gguf(path), qk.converter(1)
    for _, i in ipairs {3, 0, -1, math.mininteger, math.maxinteger} do
        for _, call in ipairs {{"tensor", g.tensor, g, i}, {"tensor", g.data, g, i},
                               {"metadata pair", g.pair, g, i},
                               {"tensor", c.start, c, g, i, "Q8_0"}} do
            local what = ("%s %d of 2: there is none"):format(call[1], i)
            local err = t.raises(what, table.unpack(call, 2))
            t.equal(err.status, "QKERN_E_NOT_FOUND")
        end
    end
    local x = qk.f32(values(512))
    x[300] = 1 / 0
    local err = t.raises("x[300] is ", qk.quantize, "Q8_0", x)
    t.equal(err.index, 300)
    x[300] = 3e38
    err = t.raises("of the Q8_0 block at element 289 does not fit", qk.quantize, "Q8_0", x)
    t.equal(err.index, 289)
    local blocks = ("\0\0" .. ("\1"):rep(32)):rep(2) .. "\0\x7e" .. ("\1"):rep(32)
    err = t.raises("of Q8_0 block 3 is not", qk.dequantize, qk.blocks("Q8_0", blocks))
    t.equal(err.index, 65)
    local w <close> = qk.gguf_writer(t.path "counted.gguf")
    t.raises("extent 2 of the shape is 0", w.add_tensor, w, "t", "F32", {1, 0})
end)

t.test("messages have no names of C functions", function()
    local x, w = qk.f32(64), qk.gguf_writer(t.path "names.gguf")
    x[1] = 0 / 0
    local begun <close> = qk.gguf_writer(t.path "begun.gguf")
    begun:begin()
    local function failing(f, ...)
        local message = tostring(t.raises("", f, ...))
        if message:find "qkern_%l" then error(message) end
        return message
    end
    t.equal(failing(qk.quantize, "Q8_0", x), "x[1] is NaN, not a finite number")
    t.equal(failing(qk.quantize, "IQ4_NL", x), "no plugin has quantize of IQ4_NL")
    t.equal(failing(qk.vec_dot, qk.blocks("Q8_1", 32), qk.blocks("Q8_1", 32)),
            "no plugin has vec_dot of Q8_1")
    t.equal(failing(qk.vec_dot, qk.blocks("Q8_0", 64), qk.blocks("Q8_0", 32)),
            "64 weights and 32 activations")
    t.contains(failing(qk.dequantize, qk.bytes(1)), "element type, found one of bytes")
    t.contains(failing(qk.vec_dot, qk.bytes(1), qk.bytes(1)), "element type, found one of bytes")
    t.contains(failing(w.write, w, "x"), "names.gguf: call begin first")
    t.contains(failing(w.commit, w), "names.gguf: call begin first")
    for _, call in ipairs {{"begin"}, {"remove", "k"}, {"set_u32", "k", 1}, {"set_string", "k", ""},
                           {"copy_metadata", qk.gguf(path)}, {"add_tensor", "t", "F32", {1}}} do
        t.contains(failing(begun[call[1]], begun, table.unpack(call, 2)),
                   "begun.gguf: too late after begin")
    end
    failing(begun.write, begun, "x")
    failing(qk.gguf, t.path "absent")
    failing(qk.kernel, "IQ4_NL", "scalar")
    failing(qk.blocks, "Q4_0", 31)
end)

t.test("a buffer over a file cannot be written and keeps the file mapped", function()
    local data
    do
        local g <close> = qk.gguf(path)
        data = g:data(1):slice(33, 32)
    end
    collectgarbage()
    collectgarbage()
    t.equal(data:tobytes(), values(128):sub(129, 256))
    t.raises("a buffer over a file cannot be written", function() data[1] = 0 end)
end)

t.test("a closed reader raises, and may be closed again", function()
    local g = qk.gguf(path)
    g:close()
    g:close()
    t.raises("the GGUF file is closed", g.header, g)
    t.raises("the GGUF file is closed", g.data, g, 1)
    t.equal(tostring(g), "qkern GGUF file (closed)")
end)

t.test("release takes buffers over that file only", function()
    local g = qk.gguf(path)
    g:release(g:data(1))
    t.equal(g:data(1):tobytes() == values(128), true)
    t.raises("does not look into this file", g.release, g, qk.f32(1))
    t.raises("does not look into this file", g.release, g, qk.gguf(path):data(1))
end)

t.test("a written file is what was given, and is absent until committed", function()
    local out = t.path "written.gguf"
    local w <close> = qk.gguf_writer(out)
    w:copy_metadata(qk.gguf(path))
    w:set_string("general.name", "other")
    w:set_u32("n", 5)
    t.equal(w:remove "list", true)
    t.equal(w:remove "list", false)
    w:add_tensor("t", "Q8_0", {32, 2})
    w:begin()
    w:write(("x"):rep(34))
    w:write(qk.bytes(("y"):rep(34)))
    t.equal(t.exists(out), false)
    w:commit()
    t.raises("the GGUF writer is finished", w.begin, w)
    local g = qk.gguf(out)
    t.equal(g:metadata "general.name", "other")
    t.equal(g:metadata "n", 5)
    t.equal(g:header().metadata_count, 2)
    t.equal(g:data(1):tobytes(), ("x"):rep(34) .. ("y"):rep(34))
end)

t.test("a writer that is dropped leaves nothing", function()
    local function nothing()
        t.equal(t.exists(t.path "dropped.gguf"), false)
        t.nothing_left_behind()
    end
    do
        local w <close> = qk.gguf_writer(t.path "dropped.gguf")
        w:begin()
    end
    nothing()
    qk.gguf_writer(t.path "dropped.gguf"):begin()
    collectgarbage()
    collectgarbage()
    nothing()
    local w = qk.gguf_writer(t.path "dropped.gguf")
    w:abort()
    t.raises("finished", w.write, w, "")
    nothing()
    local incomplete = qk.gguf_writer(t.path "dropped.gguf")
    incomplete:add_tensor("t", "F32", {4})
    incomplete:begin()
    t.raises("", incomplete.commit, incomplete)
    t.raises("finished", incomplete.commit, incomplete)
    nothing()
end)

t.test("the writer refuses wrong arguments", function()
    local w <close> = qk.gguf_writer(t.path "arguments.gguf")
    t.raises("unsigned 32-bit", w.set_u32, w, "k", -1)
    t.raises("unsigned 32-bit", w.set_u32, w, "k", 1 << 32)
    t.raises("too many dimensions", w.add_tensor, w, "t", "F32", {1, 1, 1, 1, 1})
    t.raises("extent 1 of the shape is -1, expected at least 1", w.add_tensor, w, "t", "F32", {-1})
    t.equal(t.raises("", w.add_tensor, w, "t", "Q4_0", {31}).status, "QKERN_E_LENGTH")
    t.raises("zero byte", w.set_u32, w, "a\0b", 1)
end)

t.test("a converter gives the bytes and errors of the library's calls", function()
    local g, out = qk.gguf(path), t.path "converted.gguf"
    local w <close> = qk.gguf_writer(out)
    local c <close> = qk.converter(3)
    w:add_tensor("a", "Q8_0", {32, 4})
    w:begin()
    t.equal(c:step(w), nil, "nothing was started")
    c:start(g, 1, "Q8_0")
    t.equal(c:step(w), 512)
    t.equal(c:step(w), nil)
    w:commit()
    t.equal(qk.gguf(out):data(1):tobytes(), qk.quantize("Q8_0", g:data(1)):tobytes())
    local rmse, largest = c:result()
    t.equal(rmse > 0 and rmse < 0.01 and largest > 0, true)
    t.equal(t.raises("", c.start, c, g, 1, "Q4_K").status, "QKERN_E_LENGTH")
    t.raises("", c.start, c, g, 9, "Q8_0")
    c:close()
    t.raises("the converter is closed", c.result, c)
    t.raises("1 to 1024", qk.converter, 0)
    t.raises("1 to 1024", qk.converter, 1025)
end)

t.test("a converter keeps its file alive", function()
    local w <close> = qk.gguf_writer(t.path "alive.gguf")
    local c = qk.converter(2)
    do
        local g <close> = qk.gguf(path)
        c:start(g, 1, "Q4_0")
    end
    collectgarbage()
    collectgarbage()
    w:add_tensor("a", "Q4_0", {32, 4})
    w:begin()
    t.equal(c:step(w), 512)
end)

t.test("metatables are out of reach, so that no finalizer is called by hand", function()
    for _, object in ipairs {qk.f32(1), qk.gguf(path), qk.kernel "F32", qk.converter(1)} do
        t.equal(getmetatable(object), false)
        t.raises("", setmetatable, object, {})
    end
    t.raises("qkern.buffer expected", qk.f32(1).tobytes, qk.gguf(path))
    t.raises("qkern.gguf expected", qk.gguf(path).header, {})
end)

t.test("choices and their reasons are there", function()
    local plugin = qk.plugins()[qk.choice("Q4_0", "quantize")]
    t.equal(plugin.ready, true)
    t.contains(qk.explain("Q4_0", "quantize"), "Q4_0 quantize: " .. plugin.name)
    t.equal(qk.explain("Q4_0", "quantize"):find "%z", nil)
    t.equal(qk.choice("IQ4_NL", "quantize"), nil)
    t.equal(qk.choice("Q8_K", "vec_dot"), nil)
    t.raises("invalid option", qk.choice, "Q4_0", "nothing")
    t.equal(table.concat(qk.entries(), " "), "quantize dequantize vec_dot quantize_weighted vec_dot_rows")
end)

t.test("kernels tell which entry points they have", function()
    for _, entry in ipairs(qk.entries()) do
        t.equal(qk.kernel("Q4_0"):has(entry), true)
        t.equal(qk.kernel("Q8_K"):has(entry), entry:find "dot" == nil)
    end
end)

t.test("the clock runs and there is a processor", function()
    local before = qk.clock()
    t.equal(qk.clock() >= before, true)
    t.equal(qk.processors() >= 1, true)
    t.raises("absent", qk.files, t.path "absent")
end)

t.test("a command runs in this interpreter", function()
    local out = t.path "command.gguf"
    local run = require("qkern.commands.quantize").run
    t.equal(run {path, out, type = "Q8_0", quiet = true, threads = "2"}, 0)
    t.equal(qk.gguf(out):tensor(1).type, "Q8_0")
end)

-- When the state is closed, objects made later are finalized first: what this one looks at is
-- closed by then, which must raise and nothing else.
do
    local last = setmetatable({}, {__gc = function(self)
        for _, look in ipairs(self) do
            local ok, err = pcall(look)
            if ok or not tostring(err):find("closed", 1, true) then
                io.stderr:write("a finalizer used what is closed: ", tostring(err), "\n")
                os.exit(1)
            end
        end
    end})
    local buffer, reader, converter = qk.gguf(path):data(1), qk.gguf(path), qk.converter(2)
    last[1] = function() buffer:tobytes() end
    last[2] = function() buffer:slice(1, 1) end
    last[3] = function() reader:header() end
    last[4] = function() converter:result() end
    _G.last = last
end

t.finish()
