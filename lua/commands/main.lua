-- SPDX-License-Identifier: MIT
-- The command line of the qkern executable: finds the command, runs it, and says what went wrong.
-- Returns a function (arg, stderr_is_terminal, stdout_is_terminal) -> exit status; arg[0] is the
-- program's name.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local options = require "qkern.commands.support.options"
local text = require "qkern.commands.support.text"

local COMMANDS = {"info", "inspect", "quantize", "golden", "verify", "bench"}

-- What else there is a help text of: scripts.
local RUN = {
    name = "run",
    arguments = "SCRIPT [ARGS]",
    summary = "run a Lua script, with the module as the global qk",
    help = [[
Runs a Lua 5.4 script; 'qkern -e CODE [ARGS]' runs a piece of code likewise. The module is the
global qk, the arguments are in arg and in ... . The exit status is 1 if the script raises an error
or is not Lua, 2 if it cannot be read, and whatever it gives to os.exit.
]],
    options = {},
}

local ROWS = {
    {"-e CODE [ARGS]", "run a piece of Lua code likewise"},
    {"help [COMMAND]", "show this text, or that of a command, as COMMAND --help does"},
    {"-h, --help", "show this text"},
    {"-v, --version", "print the version"},
}

local function load_command(name)
    return require("qkern.commands." .. name)
end

-- The description of a command; nil if there is none of that name.
local function find_command(word)
    if word == "run" or word == "-e" then return RUN end
    for _, name in ipairs(COMMANDS) do
        if name == word then return load_command(name) end
    end
end

local function usage()
    local rows = {}
    for _, name in ipairs(COMMANDS) do rows[#rows + 1] = load_command(name) end
    rows[#rows + 1] = RUN
    for i, command in ipairs(rows) do
        rows[i] = {command.name .. " " .. command.arguments, command.summary}
    end
    table.move(ROWS, 1, #ROWS, #rows + 1, rows)
    local list = text.table({"command", "meaning"}, rows, "  "):gsub("^[^\n]*\n", "")
    return "usage: qkern COMMAND [ARGS]\n\n" .. list
end

-- What Lua says when it has no memory. It calls no message handler then.
local NO_MEMORY = "not enough memory"

-- Whether an error says that nobody reads standard output any more: nothing is said of that.
local function is_broken_pipe(err)
    return type(err) == "string" and err:find("broken pipe$") ~= nil
end

-- What is said of an error, if anything, and the exit status. `who` begins the message.
local function explain(who, err)
    if failure.is(err) then
        local hint = err.hint and "\n" .. err.hint or ""
        return ("%s: %s%s"):format(who, text.printable(err.message), hint), err.exit
    end
    if qk.is_error(err) then
        local exit = err.status == "QKERN_E_ENVIRONMENT" and failure.USAGE or failure.FAILED
        return ("%s: %s"):format(who, text.printable(err.message)), exit
    end
    if err == NO_MEMORY then return who .. ": " .. err, failure.FAILED end
    if is_broken_pipe(err) then return nil, failure.FAILED end
    if type(err) == "string" and err:find("interrupted$") then
        return who .. ": interrupted", failure.FAILED
    end
    return debug.traceback(("%s: %s"):format(who, tostring(err)), 2), failure.FAILED
end

-- How many lines a traceback has for the caller and what called it.
local function traceback_length()
    return select(2, debug.traceback("", 2):gsub("\n\t", ""))
end

-- A traceback without its last `count` lines.
local function traceback_cut(traceback, count)
    for _ = 1, count do traceback = traceback:gsub("\n\t[^\n]*$", "") end
    return traceback
end

-- Calls f(...). Returns true and its result; or false and the exit status, after printing what
-- `explainer` makes of the error. That is called where the error is, with it and the number of
-- lines that a traceback has below f, and returns a message or nil, and the exit status.
local function protected(who, explainer, f, ...)
    local below = traceback_length() + 1 -- xpcall's own
    local function handle(err) return {explainer(err, below)} end
    local ok, result = xpcall(f, handle, ...)
    if ok then return true, result end
    -- Without a table there was no memory to call the handler, or it has failed.
    local message, exit = who .. ": " .. tostring(result), failure.FAILED
    if type(result) == "table" then message, exit = result[1], result[2] end
    io.stdout:flush()
    if message then io.stderr:write(message, "\n") end
    return false, exit
end

local function run_command(command, args, terminal, screen)
    local who = "qkern " .. command.name
    local _, status = protected(who, function(err) return explain(who, err) end, function()
        local values = options.parse(command, args)
        if values.help then
            io.stdout:write(options.help(command))
            return 0
        end
        values.terminal, values.screen = terminal, screen
        return command.run(values)
    end)
    return status
end

-- What is said of an error in a script, as the stand-alone interpreter does.
local function explain_chunk(err, below)
    if err == NO_MEMORY then return "qkern: " .. err, failure.FAILED end
    if is_broken_pipe(err) then return nil, failure.FAILED end
    if type(err) == "number" then
        err = tostring(err)
    elseif type(err) ~= "string" then
        local meta = getmetatable(err)
        local readable = type(meta) == "table" and meta.__tostring or qk.is_error(err)
        err = readable and tostring(err) or ("(error object is a %s value)"):format(type(err))
    end
    return traceback_cut(debug.traceback("qkern: " .. err, 3), below), failure.FAILED
end

local function run_chunk(args, chunk)
    _G.arg, _G.qk = args, qk
    local ok, exit = protected("qkern", explain_chunk, chunk, table.unpack(args))
    return ok and 0 or exit
end

-- Says why a chunk could not be loaded. Returns the exit status.
local function load_failed(message, unreadable)
    io.stderr:write("qkern: ", message, "\n")
    return unreadable and failure.USAGE or failure.FAILED
end

local function run_script(args)
    local path = args[0]
    local chunk, message = loadfile(path)
    if chunk then return run_chunk(args, chunk) end
    local unreadable = message:find("cannot open " .. path .. ":", 1, true) == 1
        or message:find("cannot read " .. path .. ":", 1, true) == 1
    return load_failed(message, unreadable)
end

local function run_code(args, code)
    local chunk, message = load(code, "=(command line)")
    if chunk then return run_chunk(args, chunk) end
    return load_failed(message, false)
end

local function unknown(word)
    local near = text.nearest(word, {"run", "help", table.unpack(COMMANDS)})
    local hint = near and ("did you mean 'qkern %s'?"):format(near)
        or word:find("%.lua$") and ("to run a script: qkern run %s"):format(text.printable(word))
        or "'qkern --help' lists the commands"
    io.stderr:write(("qkern: unknown %s %s\n%s\n"):format(
        word:sub(1, 1) == "-" and "option" or "command", text.printable(word), hint))
    return failure.USAGE
end

local function usage_error(message, ...)
    io.stderr:write("qkern: ", message:format(...), "\n'qkern --help' shows how\n")
    return failure.USAGE
end

local function help(word)
    if not word then
        io.stdout:write(usage())
        return 0
    end
    local command = find_command(word)
    if not command then return unknown(word) end
    io.stdout:write(options.help(command))
    return 0
end

local function run(arg)
    local script = arg[2]
    if not script then return usage_error "run needs a SCRIPT" end
    if script == "--help" or script == "-h" then return help "run" end
    if script == "-" then
        return usage_error "run -: streams are not supported; ./- is the file of that name"
    elseif script:sub(1, 1) == "-" then
        return usage_error("run: unknown option %s; a script of that name is ./%s",
                           text.printable(script), text.printable(script))
    end
    return run_script {[-1] = "run", [0] = script, table.unpack(arg, 3)}
end

local function version()
    io.stdout:write(qk._VERSION, "\n")
    return 0
end

local function code(arg)
    if not arg[2] then return usage_error "-e needs CODE" end
    return run_code({[0] = arg[0], table.unpack(arg, 3)}, arg[2])
end

-- The first word, where it is not a command of a file of its own.
local WORDS = {
    ["help"] = function(arg) return help(arg[2]) end,
    ["--help"] = function() return help() end, ["-h"] = function() return help() end,
    ["--version"] = version, ["-v"] = version, ["run"] = run, ["-e"] = code,
}

return function(arg, terminal, screen)
    local word = arg[1]
    if not word then
        io.stderr:write(usage(), "\nThe interactive console is not part of this version.\n")
        return failure.USAGE
    end
    if WORDS[word] then return WORDS[word](arg) end
    local command = find_command(word)
    if not command then return unknown(word) end
    return run_command(command, {table.unpack(arg, 2)}, terminal, screen)
end
