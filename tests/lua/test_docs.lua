-- SPDX-License-Identifier: MIT
-- Every Lua example of docs/console.md runs, and its assertions hold.
local t = require "testing"

local page = t.read(t.source .. "/../docs/console.md")

t.equal((t.shell(("cd %s && mkdir -p out && ln -sfn %s samples"):format(
    t.quote(t.work), t.quote(t.source .. "/../samples")))), 0)

local count = 0
for code in page:gmatch "\n```lua\n(.-)\n```\n" do
    count = count + 1
    local script = t.write(t.path(("example-%d.lua"):format(count)), code)
    t.test(("example %d: %s"):format(count, code:match "[^\n]+"), function()
        local status, _, err = t.shell(("cd %s && %s"):format(t.quote(t.work), t.line("run", script)))
        t.equal(status, 0, err)
    end)
end
t.test("there are examples", function() t.equal(count >= 6, true) end)

t.finish()
