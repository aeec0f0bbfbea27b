-- SPDX-License-Identifier: MIT
-- What is installed works from there, without the build folder.
local t = require "testing"

local prefix = t.path "a prefix"

t.test("executable, module, scripts and page are installed", function()
    local status, _, err = t.shell(("cmake --install %s --prefix %s"):format(t.quote(t.build),
                                                                            t.quote(prefix)))
    t.equal(status, 0, err)
    for _, name in ipairs {"bin/qkern", "share/man/man1/qkern.1",
                           "share/lua/5.4/qkern/commands/quantize.lua",
                           "share/lua/5.4/qkern/commands/bench/compare.lua",
                           "share/lua/5.4/qkern/commands/support/text.lua"} do
        t.equal(t.exists(prefix .. "/" .. name), true, name)
    end
end)

t.test("the installed executable uses the installed library and plugins", function()
    t.command = prefix .. "/bin/qkern"
    local reader = require "json_reader"
    local installed = {}
    for _, plugin in ipairs(reader.decode(t.succeed("info", "--json")).plugins) do
        if plugin.origin == "beside libqkern" then
            installed[plugin.name] = true
            t.contains(plugin.path, "a prefix")
        end
    end
    t.equal(installed.scalar, true)
    local out = t.path "installed.gguf"
    t.succeed("quantize", t.sample, out, "--type", "Q4_0", "--quiet")
    t.contains(t.succeed("inspect", out), "Q4_0")
end)

if t.emulator ~= "" then
    print("SKIPPED one test: a worker that needs an emulator cannot be started by its path")
    t.finish()
end

t.test("the installed command finds the installed checker", function()
    t.contains(t.succeed("verify", "scalar", "--types", "Q8_0"),
               "\n10 of 10 kernels checked, 0 skipped\n")
end)

t.finish()
