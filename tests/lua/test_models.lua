-- SPDX-License-Identifier: MIT
-- qkern quantize on real models: every tensor has the bytes of ggml's reference. The argument is a
-- folder with the models, or "sample" for the one in the repository.
local qk = require "qkern"
local t = require "testing"

local folder = arg[1] == "sample" and t.source .. "/../samples" or t.shared .. "/models"
local names = arg[1] == "sample" and {"kokoro-voice-af_heart-f32.gguf"}
    or {"magika-v1-f32.gguf", "stories260K.gguf"}

if not t.exists(folder .. "/" .. names[1]) then t.skip("no models in " .. folder) end

local FALLBACK = {Q4_K = "Q5_0", Q5_K = "Q5_1", Q6_K = "Q8_0", Q2_K = "Q4_0", Q3_K = "Q4_0"}

-- expected[file][tensor][type] = {bytes, rmse, sha256}
local expected = {}
for line in io.lines(t.golden .. "/models-expected.tsv") do
    local file, tensor, kind, bytes, rmse, sum =
        line:match("^([^\t#]+)\t([^\t]+)\t([^\t]+)\t(%d+)\t([%d.]+)\t(%x+)$")
    if file then
        expected[file] = expected[file] or {}
        expected[file][tensor] = expected[file][tensor] or {}
        expected[file][tensor][kind] = {bytes = tonumber(bytes), rmse = tonumber(rmse), sum = sum}
    end
end

local reader = require "json_reader"

-- Compares every tensor of the output that has an expectation; returns how many there were.
local function check(name, target, output, report)
    local g, data, wanted = qk.gguf(output), {}, {}
    for i = 1, g:header().tensor_count do
        local info = g:tensor(i)
        local known = expected[name][info.name]
        if known and qk.type(info.type).block_elements > 1 or known and known[info.type] then
            local want = known[info.type]
            local what = ("%s %s to %s: %s"):format(name, info.name, target, info.type)
            t.equal(want ~= nil, true, what)
            t.equal(info.bytes, want.bytes, what)
            t.equal(math.abs(report.tensors[i].relative_rmse - want.rmse) <= 1.5e-6, true,
                    what .. " rmse")
            t.equal(info.type == target or info.type == FALLBACK[target] or info.type == "F16",
                    true, what)
            data[#data + 1] = g:data(i):tobytes()
            wanted[#wanted + 1] = {sum = want.sum, what = what}
        end
    end
    for i, sum in ipairs(t.sha256(data)) do t.equal(sum, wanted[i].sum, wanted[i].what) end
    return #data
end

local TYPES = {"F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K",
               "Q5_K", "Q6_K"}

for _, name in ipairs(names) do
    local input = folder .. "/" .. name
    local count = 0
    for _ in pairs(expected[name]) do count = count + 1 end
    for _, target in ipairs(TYPES) do
        t.test(("%s to %s: every tensor has the reference's bytes"):format(name, target), function()
            local output = t.path(target .. ".gguf")
            local report = reader.decode(t.succeed("quantize", input, output, "--type", target,
                                                   "--json"))
            -- each tensor of the list, in the target type, its fallback or F16
            t.equal(check(name, target, output, report), count)
            t.contains(t.succeed("inspect", output), "GGUF version 3")
            os.remove(output)
        end)
    end
    t.test(name .. ": the same file twice, and on 1, 2 and 7 threads", function()
        local first
        for _, threads in ipairs {1, 1, 2, 7} do
            local output = t.path "again.gguf"
            t.succeed("quantize", input, output, "--type", "Q4_K", "--quiet", "--threads", threads)
            first = first or t.read(output)
            t.equal(t.read(output) == first, true, threads .. " threads")
        end
    end)
end

t.finish()
