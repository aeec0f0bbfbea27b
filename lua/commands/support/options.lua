-- SPDX-License-Identifier: MIT
-- The command line of a command, from a description:
--   name, arguments ("IN OUT"), summary, operands {least, most},
--   options: a list of {"--type", "T", "what it means"} or {"--json", nil, "what it means"}, with
--     the fields repeated (a list of values) and required.
local failure = require "qkern.commands.support.failure"
local text = require "qkern.commands.support.text"

local options = {}

local HELP = {"--help", nil, "show this text"}
local HELP_SHORT = "-h"

function options.usage(command)
    local words = {"qkern", command.name}
    if command.arguments ~= "" then words[#words + 1] = command.arguments end
    for _, option in ipairs(command.options) do
        local word = option[2] and option[1] .. " " .. option[2] or option[1]
        if not option.required then word = "[" .. word .. "]" end
        words[#words + 1] = option.repeated and word .. "..." or word
    end
    return table.concat(words, " ")
end

-- The text of `qkern COMMAND --help`.
function options.help(command)
    local rows = {}
    for _, option in ipairs(command.options) do
        rows[#rows + 1] = {option[2] and option[1] .. " " .. option[2] or option[1], option[3]}
    end
    rows[#rows + 1] = {HELP_SHORT .. ", " .. HELP[1], HELP[3]}
    local list = text.table({"option", "meaning"}, rows, "  "):gsub("^[^\n]*\n", "")
    return ("usage: %s\n\n%s\n%s"):format(options.usage(command), command.help, list)
end

-- Raises a usage error of the command.
function options.fail(command, message, ...)
    failure.raise(failure.USAGE, message:format(...),
                  ("try 'qkern %s --help'"):format(command.name))
end

local function find(command, name)
    local names = {}
    for _, option in ipairs(command.options) do
        if option[1] == name then return option end
        names[#names + 1] = option[1]
    end
    local near = text.nearest(name, names)
    options.fail(command, "unknown option %s%s", text.printable(name),
                 near and "; did you mean " .. near .. "?" or "")
end

local function store(command, values, option, value)
    local key = option[1]:sub(3)
    if option.repeated then
        values[key] = values[key] or {}
        table.insert(values[key], value)
    elseif values[key] ~= nil then
        options.fail(command, "%s is given twice", option[1])
    else
        values[key] = value
    end
end

-- args: a list of words. Returns a table: the operands as a list, and a field per option given.
-- {help = true} if --help is among them.
function options.parse(command, args)
    local values, i, only_operands = {}, 1, false
    while i <= #args do
        local word = args[i]
        if only_operands or word == "-" or word:sub(1, 1) ~= "-" then
            values[#values + 1] = word
        elseif word == "--" then
            only_operands = true
        elseif word == HELP[1] or word == HELP_SHORT then
            return {help = true}
        else
            local name, value = word:match("^(%-%-[^=]*)=(.*)$")
            local option = find(command, name or word)
            if not option[2] then
                if value then options.fail(command, "%s takes no value", option[1]) end
                value = true
            elseif not value then
                i = i + 1
                value = args[i]
                if not value then
                    options.fail(command, "%s needs a value: %s", option[1], option[2])
                end
            end
            store(command, values, option, value)
        end
        i = i + 1
    end
    if #values < command.operands[1] or #values > command.operands[2] then
        options.fail(command, "expected %s, found %s",
                     command.arguments ~= "" and command.arguments or "no arguments",
                     text.count(#values, "argument"))
    end
    for _, value in ipairs(values) do
        if value == "-" then
            options.fail(command, "-: streams are not supported; ./- is the file of that name")
        end
    end
    for _, option in ipairs(command.options) do
        if option.required and values[option[1]:sub(3)] == nil then
            options.fail(command, "%s is missing", option[1])
        end
    end
    return values
end

return options
