-- SPDX-License-Identifier: MIT
-- qkern info.
local reader = require "json_reader"
local t = require "testing"

local TYPES = {"F32", "F16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K", "Q3_K", "Q4_K",
               "Q5_K", "Q6_K", "Q8_K", "BF16"}

t.test("the JSON has every feature with its source, and a reason where it is not usable", function()
    local info = reader.decode(t.succeed("info", "--json"))
    t.equal(info.version, require "qkern"._VERSION:match("%S+$"))
    t.equal(#info.features > 10, true)
    for _, f in ipairs(info.features) do
        t.equal(f.source ~= "", true, f.name)
        t.equal(f.usable == (f.reason == ""), true, f.name)
    end
end)

t.test("the built-in scalar plugin is there and every type has its kernels and a reason", function()
    local info = reader.decode(t.succeed("info", "--json"))
    local last = info.plugins[#info.plugins]
    t.equal(last.name, "scalar")
    t.equal(last.origin, "built in")
    t.equal(last.usable, true)
    t.equal(last.stage, "ready")
    t.equal(#info.kernels, #TYPES)
    for i, kernel in ipairs(info.kernels) do
        t.equal(kernel.type, TYPES[i])
        t.equal(#kernel.entries, #qk.entries())
        for _, entry in ipairs(kernel.entries) do
            if entry.entry:find "^vec_dot" and (kernel.type == "Q8_1" or kernel.type == "Q8_K") then
                t.equal(entry.plugin, reader.null)
            else
                t.contains(entry.why, kernel.type .. " " .. entry.entry .. ": " .. entry.plugin)
            end
        end
    end
end)

t.test("a masked feature is present, not usable, and the reason names the variable", function()
    local status, out = t.shell("QKERN_FEATURES=-sse4.2,-asimd " .. t.line("info", "--json"))
    if status == 2 then -- the names of one architecture only
        local name = reader.decode(t.succeed("info", "--json")).features[1].name
        status, out = t.shell("QKERN_FEATURES=-" .. name .. " " .. t.line("info", "--json"))
    end
    t.equal(status, 0)
    for _, f in ipairs(reader.decode(out).features) do
        if f.present and not f.usable then
            t.contains(f.reason, "QKERN_FEATURES")
            return
        end
    end
    error "no feature is masked"
end)

t.test("a variable that cannot be understood is a usage error", function()
    local status, _, err = t.shell("QKERN_FEATURES=-frob " .. t.line "info")
    t.equal(status, 2)
    t.contains(err, "qkern info: QKERN_FEATURES")
    t.contains(err, "frob")
end)

t.test("a plugin that was refused is listed with the stage and the reason", function()
    local folder = t.path "plugins"
    t.equal((t.shell("mkdir -p " .. folder)), 0)
    t.write(folder .. "/qkern-text.so", "this is no shared object")
    local command = "QKERN_PLUGIN_PATH=" .. folder .. " "
    local status, out = t.shell(command .. t.line("info", "--json"))
    t.equal(status, 0)
    local found
    for _, plugin in ipairs(reader.decode(out).plugins) do
        if plugin.path:find("qkern-text.so", 1, true) then found = plugin end
    end
    t.equal(found.usable, false)
    t.equal(found.origin, "QKERN_PLUGIN_PATH")
    t.equal(found.reason ~= "", true)
    t.equal(found.stage, "manifest")
    status, out = t.shell(command .. t.line "info")
    t.equal(status, 0)
    t.contains(out, "no, manifest")
end)

t.test("with a type, the library's reason for each entry point is printed", function()
    local qk = require "qkern"
    for _, kind in ipairs {"Q4_K", "q4_k", "Q8_K", "IQ4_NL"} do
        local reasons = {}
        for _, entry in ipairs(qk.entries()) do
            reasons[#reasons + 1] = qk.explain(kind, entry)
        end
        t.equal(t.succeed("info", kind), table.concat(reasons))
    end
    t.contains(t.succeed("info", "Q8_K"), "Q8_K vec_dot: no plugin has it")
    local kernels = reader.decode(t.succeed("info", "Q4_K", "--json")).kernels
    t.equal(#kernels, 1)
    t.equal(kernels[1].type, "Q4_K")
    local status, _, err = t.qkern("info", "Q9")
    t.equal(status, 2)
    t.contains(err, "qkern info: there is no type Q9\n")
    status, _, err = t.qkern("info", "Q4_K", "Q5_K")
    t.equal(status, 2)
    t.contains(err, "expected [TYPE], found 2 arguments")
end)

t.test("a plugin that could be used but is not says why", function()
    local info = reader.decode(t.succeed("info", "--json"))
    local used = {}
    for _, kernel in ipairs(info.kernels) do
        for _, entry in ipairs(kernel.entries) do
            used[entry.why:match "^[^\n]-%(tier %d+, (.-)%)\n" or ""] = true
        end
    end
    local out, idle = t.succeed "info", 0
    for _, plugin in ipairs(info.plugins) do
        local place = plugin.path ~= "" and plugin.path or plugin.origin
        if plugin.usable then
            local line
            for l in out:gmatch "[^\n]+" do
                if l:find("yes  +" .. place:gsub("%p", "%%%0") .. " ") then line = l end
            end
            t.equal(line:find("not used: ", 1, true) == nil, used[place] == true, line)
            if not used[place] then idle = idle + 1 end
        end
    end
    local first
    for _, plugin in ipairs(info.plugins) do
        if plugin.name == "scalar" and plugin.usable then first = first or plugin end
    end
    if first.path ~= "" and used[first.path] then
        t.contains(out, ("not used: scalar %s of %s was found first"):format(first.version,
                                                                             first.path))
    end
    t.equal(idle > 0, true)
    t.contains(out, "'qkern info TYPE' says why")
end)

t.test("the text has a line for every feature, plugin and type", function()
    local info, out = reader.decode(t.succeed("info", "--json")), t.succeed "info"
    for _, f in ipairs(info.features) do t.contains(out, "\n  " .. f.name .. " ") end
    for _, p in ipairs(info.plugins) do t.contains(out, p.path) end
    for _, k in ipairs(info.kernels) do t.contains(out, "\n  " .. k.type .. " ") end
    t.contains(out, "Kernels chosen")
end)

t.finish()
