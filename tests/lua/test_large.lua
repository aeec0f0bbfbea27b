-- SPDX-License-Identifier: MIT
-- A file of 2 GiB is quantized within 256 MiB of resident memory. The file is sparse; it and the
-- output are removed afterwards.
local t = require "testing"

local GIB, LIMIT_KIB = 1 << 30, 256 << 10

local input, output = t.path "large.gguf", t.path "large-out.gguf"

local function make_input()
    local row, rows = 4096, 2 * GIB // 4 // 4096
    local header = "GGUF" .. string.pack("<I4I8I8", 3, 1, 0)
        .. string.pack("<s8I4I8I8I4I8", "w", 2, row, rows, 0, 0)
    header = header .. ("\0"):rep(-#header % 32)
    local file = assert(io.open(input, "wb"))
    file:write(header)
    file:seek("set", #header + 2 * GIB - 4)
    file:write(string.pack("<f", 1))
    file:close()
end

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

make_input()
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

t.finish()
