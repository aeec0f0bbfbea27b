-- SPDX-License-Identifier: MIT
-- The option --types of the commands that have it.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local options = require "qkern.commands.support.options"

local types = {}

types.OPTION = {"--types", "LIST", "only these types: Q4_0,Q4_K"}

-- The names of the types in the list, each once; nil if there is no list.
function types.wanted(command, list)
    if not list then return nil end
    local names, seen = {}, {}
    for word in list:gmatch("[^,]+") do
        local kind = failure.try(qk.type, word)
        if not kind then options.fail(command, "--types: there is no type %s", word) end
        if not seen[kind.name] then names[#names + 1] = kind.name end
        seen[kind.name] = true
    end
    if #names == 0 then options.fail(command, "--types names no type") end
    return names
end

return types
