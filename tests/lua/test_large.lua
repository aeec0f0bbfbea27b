-- SPDX-License-Identifier: MIT
-- A file of 2 GiB is quantized within 256 MiB of resident memory, and one with a large array is
-- inspected within 64 MiB. The files are sparse; they and the outputs are removed afterwards.
local maker = require "gguf_maker"
local qk = require "qkern"
local t = require "testing"

local GIB, LIMIT_KIB = 1 << 30, 256 << 10

local input, output = t.path "large.gguf", t.path "large-out.gguf"

-- Runs the command in a process that then prints its own peak.
local CODE = [[
local input, output, threads = ...
local status = require("qkern.commands.quantize").run {input, output, type = "Q8_0",
                                                       threads = threads, quiet = true}
for line in io.lines "/proc/self/status" do
    local peak = line:match "^VmHWM:%s*(%d+) kB"
    if peak then print(status, peak) end
end
]]

maker.sparse(input, 2 * GIB)
for _, threads in ipairs {1, 7} do
    t.test(("2 GiB of F32 to Q8_0 on %d threads stays within 256 MiB"):format(threads), function()
        local out = t.succeed("-e", CODE, input, output, threads)
        local status, peak = out:match "^(%d+)\t(%d+)\n$"
        print(("peak resident memory on %d threads: %s KiB"):format(threads, peak))
        t.equal(status, "0")
        t.equal(tonumber(peak) < LIMIT_KIB, true)
        local file = assert(io.open(output, "rb"))
        t.equal(file:seek "end" > 2 * GIB // 128 * 34, true)
        file:seek("end", -34)
        local last = file:read(34)
        file:close()
        t.equal(last, string.pack("<I2", 0x2008) .. ("\0"):rep(31) .. "\127")
        os.remove(output)
    end)
end
t.test("the input is removed", function() t.equal(os.remove(input), true) end)

-- Runs the command, then prints its peak on standard error.
local INSPECT = [[
assert(require("qkern.commands.inspect").run {..., json = true} == 0)
for line in io.lines "/proc/self/status" do
    local peak = line:match "^VmHWM:%s*(%d+) kB"
    if peak then io.stderr:write(peak) end
end
]]

if t.sanitizer == "" then
    for _, case in ipairs {{"u8", 1, 20000000, 9}, {"f32", 4, 2000000, 9}, {"u64", 8, 2000000, 9},
                           {"string", 8, 1000000, 10}} do
        local kind, size, n, line = table.unpack(case)
        t.test(("%d %s as JSON stay within 64 MiB and a minute of processor time"):format(n, kind), function()
            local path = maker.sparse_array(t.path "array.gguf", kind, size, n)
            local status, out, err = t.shell("ulimit -t 60; " .. t.line("-e", INSPECT, path)
                .. " | wc -c")
            os.remove(path)
            print(("peak resident memory for %d %s: %s KiB"):format(n, kind, err))
            t.equal(status, 0)
            t.equal(tonumber(err) < 64 << 10, true, err)
            t.equal(tonumber(out) > n * line, true, out)
        end)
    end
else
    print("SKIPPED tests of the memory of inspect: a sanitizer takes more")
end

t.finish()
