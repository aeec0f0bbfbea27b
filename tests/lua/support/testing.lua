-- SPDX-License-Identifier: MIT
-- A test runner for Lua scripts, and what drives the qkern executable.
--
-- A test script is run as  qkern run SCRIPT  with the environment that CMakeLists.txt sets:
-- QKERN_TEST_COMMAND (the executable), QKERN_TEST_EMULATOR (what to put before it, or nothing),
-- QKERN_TEST_SANITIZER (of the build, or nothing), QKERN_TEST_BUILD (the build folder),
-- QKERN_TEST_SOURCE (tests/), QKERN_TEST_WORK (a folder of the test's own, emptied at the start),
-- QKERN_TEST_SHARED, QKERN_TEST_PLUGINS (a folder with the plugins made for these tests), QKERN_TEST_WRONG_PLUGINS (one with those
-- of the checker's tests).
local testing = {}

local function environment(name)
    return os.getenv(name) or error("the environment variable " .. name .. " is not set", 0)
end

testing.command = environment "QKERN_TEST_COMMAND"
testing.emulator = environment "QKERN_TEST_EMULATOR"
testing.sanitizer = environment "QKERN_TEST_SANITIZER"
testing.build = environment "QKERN_TEST_BUILD"
testing.source = environment "QKERN_TEST_SOURCE"
testing.work = environment "QKERN_TEST_WORK"
testing.shared = environment "QKERN_TEST_SHARED"
testing.plugins = environment "QKERN_TEST_PLUGINS"
testing.wrong_plugins = environment "QKERN_TEST_WRONG_PLUGINS"

testing.golden = testing.source .. "/golden"
testing.sample = testing.source .. "/../samples/kokoro-voice-af_heart-f32.gguf"

assert(os.execute("find '" .. testing.work .. "' -mindepth 1 -delete"))

local tests = {}

-- Declares a test; it is named after the promise it holds.
function testing.test(name, body)
    tests[#tests + 1] = {name = name, body = body}
end

local function show(value)
    return type(value) == "string" and ("%q"):format(value) or tostring(value)
end

-- Raises unless found == expected.
function testing.equal(found, expected, what)
    if found ~= expected then
        error(("%sexpected %s, found %s"):format(what and what .. ": " or "", show(expected),
                                                 show(found)), 2)
    end
end

-- Raises unless `found` contains the plain text `part`.
function testing.contains(found, part, what)
    if not found:find(part, 1, true) then
        error(("%sexpected %s in:\n%s"):format(what and what .. ": " or "", show(part), found), 2)
    end
end

function testing.lacks(found, part)
    if found:find(part, 1, true) then
        error(("did not expect %s in:\n%s"):format(show(part), found), 2)
    end
end

-- Raises unless f(...) raises an error whose text contains `part`. Returns the error.
function testing.raises(part, f, ...)
    local ok, err = pcall(f, ...)
    if ok then error("expected an error with " .. show(part), 2) end
    if not tostring(err):find(part, 1, true) then
        error(("expected an error with %s, found %s"):format(show(part), tostring(err)), 2)
    end
    return err
end

-- Runs the tests declared; ends the process.
function testing.finish()
    local failed = 0
    for _, t in ipairs(tests) do
        local ok, trace = xpcall(t.body, debug.traceback)
        print((ok and "ok      " or "FAILED  ") .. t.name)
        if not ok then
            failed = failed + 1
            print(trace)
        end
    end
    print(("%d tests, %d failed"):format(#tests, failed))
    os.exit(failed == 0 and 0 or 1, true)
end

-- Ends the process as skipped, with the reason.
function testing.skip(reason)
    print("SKIPPED: " .. reason)
    os.exit(77, true)
end

function testing.exists(path)
    local file = io.open(path, "rb")
    if file then file:close() end
    return file ~= nil
end

function testing.read(path)
    local file = assert(io.open(path, "rb"))
    local content = file:read("a")
    file:close()
    return content
end

function testing.write(path, content)
    local file = assert(io.open(path, "wb"))
    assert(file:write(content))
    assert(file:close())
    return path
end

-- A path in the test's folder.
function testing.path(name)
    return testing.work .. "/" .. name
end

function testing.quote(word)
    return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

-- Runs a shell command; returns its exit status, standard output and standard error.
function testing.shell(command)
    local out, err = testing.path "stdout", testing.path "stderr"
    local _, how, code = os.execute(("{ %s ; } >%s 2>%s"):format(command, testing.quote(out),
                                                                 testing.quote(err)))
    return how == "signal" and 128 + code or code, testing.read(out), testing.read(err)
end

-- Runs a shell command in the foreground, and sends it a signal as soon as the shell command `ready`
-- succeeds: what waits for a fixed time is wrong on some machine. The command must be one that a
-- shell can exec; one that has not ended a minute later is killed. Returns the same as shell.
function testing.signalled(signal, ready, command)
    local process = testing.path "process"
    os.remove(process)
    local inner = ("echo $$ >%s; exec %s"):format(testing.quote(process), command)
    local watch = ("while ! test -s %s; do sleep 0.02; done; pid=$(cat %s); "
        .. "while ! { %s; } && kill -0 $pid; do sleep 0.02; done; kill -s %s $pid; "
        .. "i=0; while kill -0 $pid && test $((i += 1)) -lt 600; do sleep 0.1; done; "
        .. "kill -s KILL $pid"):format(
        testing.quote(process), testing.quote(process), ready, signal)
    return testing.shell(("{ { %s; } </dev/null >/dev/null 2>&1 & }; sh -c %s; status=$?; wait; "
        .. "(exit $status)"):format(watch, testing.quote(inner)))
end

-- The words of a command line of qkern, quoted.
function testing.line(...)
    local words = {testing.emulator, testing.quote(testing.command)}
    for _, word in ipairs {...} do words[#words + 1] = testing.quote(word) end
    return table.concat(words, " ")
end

-- Runs qkern with arguments.
function testing.qkern(...)
    return testing.shell(testing.line(...))
end

-- The same, for what must succeed without a word on standard error; returns standard output.
function testing.succeed(...)
    local status, out, err = testing.qkern(...)
    if status ~= 0 or err ~= "" then
        error(("exit status %d\n%s%s"):format(status, out, err), 2)
    end
    return out
end

-- The names in a folder that begin with `prefix`.
function testing.names(folder, prefix)
    local names = {}
    for _, name in ipairs(require "qkern".files(folder)) do
        if name:sub(1, #prefix) == prefix then names[#names + 1] = name end
    end
    table.sort(names)
    return names
end

-- Raises if the test's folder holds a temporary file of the writer of GGUF files.
function testing.nothing_left_behind()
    testing.equal(table.concat(testing.names(testing.work, ".qkern-"), " "), "", "left behind")
end

-- The SHA-256 of each string, in order.
function testing.sha256(strings)
    local command = {"cd " .. testing.quote(testing.work) .. " && sha256sum"}
    for i, s in ipairs(strings) do
        local name = ("hash-%05d"):format(i)
        testing.write(testing.path(name), s)
        command[#command + 1] = name
    end
    local status, out, err = testing.shell(table.concat(command, " "))
    if status ~= 0 then error(err) end
    local sums = {}
    for sum in out:gmatch("(%x+)  [^\n]+\n") do sums[#sums + 1] = sum end
    for i = 1, #strings do os.remove(testing.path(("hash-%05d"):format(i))) end
    return sums
end

return testing
