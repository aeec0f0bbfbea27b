-- SPDX-License-Identifier: MIT
-- Types and plugins that options name. What is not there is a usage error with the reason.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local options = require "qkern.commands.support.options"

local named = {}

-- The option of the commands that take types.
named.TYPES = {"--types", "LIST", "only these types: Q4_0,Q4_K"}

-- The words of "a,b,c" as a list; a usage error if there are none.
function named.words(command, option, list, what)
    local words = {}
    for word in list:gmatch("[^,]+") do words[#words + 1] = word end
    if #words == 0 then options.fail(command, "%s names no %s", option, what) end
    return words
end

-- The names of types in a list, each once; nil if there is no list.
function named.types(command, option, list)
    if not list then return nil end
    local names, seen = {}, {}
    for _, word in ipairs(named.words(command, option, list, "type")) do
        local kind = failure.try(qk.type, word)
        if not kind then options.fail(command, "%s: there is no type %s", option, word) end
        if not seen[kind.name] then names[#names + 1] = kind.name end
        seen[kind.name] = true
    end
    return names
end

-- The record of the plugin of that name, which can be used.
function named.plugin(command, option, name)
    if name == "" then options.fail(command, "%s needs the name of a plugin", option) end
    local reason = "no plugin is named " .. name
    for _, plugin in ipairs(qk.plugins()) do
        if plugin.name == name then
            if plugin.ready then return plugin end
            reason = ("plugin %s (%s) is not usable: %s"):format(name, plugin.path, plugin.text)
        end
    end
    options.fail(command, "%s: %s", option, reason)
end

return named
