-- SPDX-License-Identifier: MIT
-- The command line of the qkern executable: finds the command, runs it, and says what went wrong.
-- Returns a function (arg, stderr_is_terminal) -> exit status; arg[0] is the program's name.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local options = require "qkern.commands.support.options"
local text = require "qkern.commands.support.text"

local COMMANDS = {"info", "inspect", "quantize", "golden"}

local RUN_ROWS = {
    {"run SCRIPT [ARGS]", "run a Lua script, with the module as the global qk"},
    {"-e CODE [ARGS]", "run a piece of Lua code likewise"},
    {"--version", "print the version"},
    {"--help", "show this text; qkern COMMAND --help shows that of a command"},
}

local function load_command(name)
    return require("qkern.commands." .. name)
end

local function usage()
    local rows = {}
    for _, name in ipairs(COMMANDS) do
        local command = load_command(name)
        rows[#rows + 1] = {(name .. " " .. command.arguments):gsub(" $", ""), command.summary}
    end
    table.move(RUN_ROWS, 1, #RUN_ROWS, #rows + 1, rows)
    local list = text.table({"command", "meaning"}, rows, "  "):gsub("^[^\n]*\n", "")
    return "usage: qkern COMMAND [ARGS]\n\n" .. list
end

-- What is said of an error, and the exit status. `who` begins the message.
local function explain(who, err)
    if failure.is(err) then
        local hint = err.hint and "\n" .. err.hint or ""
        return ("%s: %s%s"):format(who, text.printable(err.message), hint), err.exit
    end
    if qk.is_error(err) then
        local exit = err.status == "QKERN_E_ENVIRONMENT" and failure.USAGE or failure.FAILED
        return ("%s: %s"):format(who, text.printable(err.message)), exit
    end
    if type(err) == "string" and err:find("interrupted$") then
        return who .. ": interrupted", failure.FAILED
    end
    return debug.traceback(("%s: %s"):format(who, tostring(err)), 2), failure.FAILED
end

-- Calls f; on an error prints what `explainer` makes of it. Returns the exit status.
local function protected(explainer, f, ...)
    local exit = 0
    local function handle(err)
        local message
        message, exit = explainer(err)
        io.stdout:flush()
        io.stderr:write(message, "\n")
    end
    local ok, status = xpcall(f, handle, ...)
    if ok then return status end
    return exit
end

local function run_command(name, args, terminal)
    local command = load_command(name)
    return protected(function(err) return explain("qkern " .. name, err) end, function()
        local values = options.parse(command, args)
        if values.help then
            io.stdout:write(options.help(command))
            return 0
        end
        values.terminal = terminal
        return command.run(values)
    end)
end

-- Runs a chunk as the stand-alone interpreter does: an error is shown with its traceback.
local function run_chunk(args, load_chunk)
    local function show(err)
        if type(err) ~= "string" then
            local meta = getmetatable(err)
            local readable = type(meta) == "table" and meta.__tostring or qk.is_error(err)
            err = readable and tostring(err) or ("(error object is a %s value)"):format(type(err))
        end
        return debug.traceback("qkern: " .. err, 3), failure.FAILED
    end
    _G.arg, _G.qk = args, qk
    local chunk, message = load_chunk()
    if not chunk then
        io.stderr:write("qkern: ", message, "\n")
        return failure.FAILED
    end
    return protected(show, function()
        chunk(table.unpack(args))
        return 0
    end)
end

local function unknown(word)
    local near = text.nearest(word, {"run", table.unpack(COMMANDS)})
    local hint = near and ("did you mean 'qkern %s'?"):format(near)
        or word:find("%.lua$") and ("to run a script: qkern run %s"):format(text.printable(word))
        or "'qkern --help' lists the commands"
    io.stderr:write(("qkern: unknown %s %s\n%s\n"):format(
        word:sub(1, 1) == "-" and "option" or "command", text.printable(word), hint))
    return failure.USAGE
end

local function need(arg, what)
    if arg[2] then return true end
    io.stderr:write(("qkern: %s needs %s\n'qkern --help' shows how\n"):format(arg[1], what))
    return false
end

return function(arg, terminal)
    local word = arg[1]
    if not word then
        io.stderr:write(usage(), "\nThe interactive console is not part of this version.\n")
        return failure.USAGE
    elseif word == "--help" or word == "-h" or word == "help" then
        io.stdout:write(usage())
        return 0
    elseif word == "--version" or word == "-v" then
        io.stdout:write(qk._VERSION, "\n")
        return 0
    elseif word == "run" then
        if not need(arg, "a SCRIPT") then return failure.USAGE end
        local args = {[-1] = "run", [0] = arg[2], table.unpack(arg, 3)}
        return run_chunk(args, function() return loadfile(args[0]) end)
    elseif word == "-e" then
        if not need(arg, "CODE") then return failure.USAGE end
        local args = {[0] = arg[0], table.unpack(arg, 3)}
        return run_chunk(args, function() return load(arg[2], "=(command line)") end)
    end
    for _, name in ipairs(COMMANDS) do
        if name == word then return run_command(name, {table.unpack(arg, 2)}, terminal) end
    end
    return unknown(word)
end
