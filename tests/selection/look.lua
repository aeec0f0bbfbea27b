-- SPDX-License-Identifier: MIT
-- Whether qkern info reports the plugins that were expected, and what their kernels compute.
-- qkern run look.lua INFO.json BYTES PLUGIN,...: the report of `qkern info --json` on this CPU, a file
-- to write the results of the chosen kernels to, and the plugins expected to be usable, best first.
local json_reader = require "qkern.commands.support.json_reader"

local report_path, bytes_path, expected = table.unpack(arg)
local report
do
    local file <close> = assert(io.open(report_path))
    report = assert(json_reader.decode(file:read "a"))
end

local failures = 0
local function fail(...)
    failures = failures + 1
    print("  " .. string.format(...))
end

-- Plugins are usable if they are expected, and only then.
local ranking, rank = {}, {}
for name in expected:gmatch "[^,]+" do
    ranking[#ranking + 1] = name
    rank[name] = #ranking
end
local usable = {}
for _, plugin in ipairs(report.plugins) do
    if plugin.usable then usable[plugin.name] = true end
    if plugin.usable and not rank[plugin.name] then
        fail("%s is usable, which was not expected", plugin.name)
    elseif not plugin.usable and rank[plugin.name] and not usable[plugin.name] and
        plugin.origin ~= "built in" then
        fail("%s is not usable: %s", plugin.name, plugin.reason)
    end
end
for _, name in ipairs(ranking) do
    if not usable[name] then fail("%s is not usable, or was not found", name) end
end

-- The best of the expected plugins that have the entry point.
local function best(type, entry)
    for _, name in ipairs(ranking) do
        local found, kernel = pcall(qk.kernel, type, name)
        if found and kernel:has(entry) then return name end
    end
end

local chosen, choices = {}, 0
for _, kernel in ipairs(report.kernels) do
    for _, choice in ipairs(kernel.entries) do
        local name = best(kernel.type, choice.entry)
        local plugin = choice.plugin ~= json_reader.null and choice.plugin or nil
        choices = choices + 1
        if plugin then chosen[plugin] = true end
        if (plugin or "none") ~= (name or "none") then
            fail("%s %s: expected %s, found %s", kernel.type, choice.entry, name or "none",
                 plugin or "none")
        end
    end
end
if choices == 0 then fail "there are no kernels" end
if ranking[1] and not chosen[ranking[1]] then fail("%s serves nothing", ranking[1]) end

-- The same data each time, and what the chosen kernels make of it.
local state = 1
local function row(n)
    local x = qk.f32(n)
    for i = 1, n do
        state = (state * 6364136223846793005 + 1442695040888963407)
        x[i] = (state >> 40) / (1 << 22) - 2
    end
    return x
end
local out <close> = assert(io.open(bytes_path, "wb"))
local weights, activations = row(512), row(512)
for _, kernel in ipairs(report.kernels) do
    local w = qk.quantize(kernel.type, weights)
    out:write(kernel.type, w:tobytes(), qk.dequantize(w):tobytes())
    local dot = qk.type(kernel.type).dot_type
    if dot then out:write(string.pack("<f", qk.vec_dot(w, qk.quantize(dot, activations)))) end
end

os.exit(failures == 0, true)
