-- SPDX-License-Identifier: MIT
-- The executable: its usage, scripts, exit status, signals and streams.
local t = require "testing"

t.test("--version prints the version of the library", function()
    t.equal(t.succeed "--version", require "qkern"._VERSION .. "\n")
    t.contains(t.succeed "--version", "qkern 0.")
end)

t.test("--help lists every command and each has its own", function()
    local help = t.succeed "--help"
    for _, command in ipairs {"info", "inspect", "quantize", "golden"} do
        t.contains(help, "\n  " .. command)
        t.contains(t.succeed(command, "--help"), "usage: qkern " .. command)
    end
    t.contains(help, "run SCRIPT")
end)

t.test("no arguments are a usage error that says that there is no console yet", function()
    local status, out, err = t.qkern()
    t.equal(status, 2)
    t.equal(out, "")
    t.contains(err, "usage: qkern COMMAND")
    t.contains(err, "interactive console is not part of this version")
end)

t.test("unknown words get a hint and status 2", function()
    local function check(word, message, hint)
        local status, out, err = t.qkern(word)
        t.equal(status, 2)
        t.equal(out, "")
        t.equal(err, ("qkern: unknown %s\n%s\n"):format(message, hint))
    end
    check("qantize", "command qantize", "did you mean 'qkern quantize'?")
    check("x.lua", "command x.lua", "to run a script: qkern run x.lua")
    check("--frob", "option --frob", "'qkern --help' lists the commands")
    check("a\27b", "command a\\x1bb", "'qkern --help' lists the commands")
    local status, _, err = t.qkern("info", "--jsno")
    t.equal(status, 2)
    t.equal(err, "qkern info: unknown option --jsno; did you mean --json?\n"
            .. "try 'qkern info --help'\n")
end)

t.test("run gives a script its arguments, the module and its exit status", function()
    local script = t.write(t.path "script.lua", [[
        print(arg[0], #arg, arg[1], arg[2], ...)
        print(qk == require "qkern")
        if arg[1] == "exit" then os.exit(3) end
    ]])
    t.equal(t.succeed("run", script, "a b", ""), script .. "\t2\ta b\t\ta b\t\ntrue\n")
    t.equal((t.qkern("run", script, "exit")), 3)
end)

t.test("an error in a script shows its traceback and has status 1", function()
    local script = t.write(t.path "broken.lua", "local function f()\n error 'oh'\nend\nf()\n")
    local status, out, err = t.qkern("run", script)
    t.equal(status, 1)
    t.equal(out, "")
    t.contains(err, "broken.lua:2: oh\nstack traceback:")
    t.contains(err, "broken.lua:4: in")
    status, _, err = t.qkern("-e",
                             "error(setmetatable({}, {__tostring = function() return 'T' end}))")
    t.equal(status, 1)
    t.contains(err, "qkern: T\n")
    status, _, err = t.qkern("-e", "error {}")
    t.equal(status, 1)
    t.contains(err, "qkern: (error object is a table value)\n")
    status, _, err = t.qkern("-e", "qk.blocks('Q4_0', 5)")
    t.equal(status, 1)
    t.contains(err, "5")
end)

t.test("a script that cannot be loaded has status 1 and says why", function()
    local status, _, err = t.qkern("run", t.path "missing.lua")
    t.equal(status, 1)
    t.contains(err, "missing.lua: No such file")
    status, _, err = t.qkern("-e", "x = = 1")
    t.equal(status, 1)
    t.contains(err, "unexpected symbol near '='")
    status, _, err = t.qkern("run")
    t.equal(status, 2)
    t.contains(err, "run needs a SCRIPT")
    t.equal((t.qkern("-e")), 2)
end)

t.test("-e runs code with arguments", function()
    t.equal(t.succeed("-e", "print(#arg, ...)", "x", "y"), "2\tx\ty\n")
end)

t.test("standard output that cannot be written to is a failure", function()
    local status, _, err = t.shell(t.line("info") .. " >/dev/full")
    t.equal(status, 1)
    t.contains(err, "cannot write to standard output")
    status, _, err = t.shell(t.line("info") .. " >&-")
    t.equal(status, 1)
    t.contains(err, "cannot write to standard output")
end)

t.test("a closed standard output is not taken for the file that is written", function()
    local out = t.path "closed.gguf"
    t.equal((t.shell(t.line("quantize", t.sample, out, "--type", "Q8_0") .. " >&- 2>&-")), 1)
    t.succeed("quantize", t.sample, t.path "open.gguf", "--type", "Q8_0")
    t.equal(t.read(out) == t.read(t.path "open.gguf"), true)
end)

if t.sanitizer ~= "thread" then
    t.test("a signal ends a script with 128 and its number", function()
        local loop = t.line("-e", "while true do end")
        t.equal((t.shell("timeout --preserve-status -k 20 -s INT 0.5 " .. loop)), 130)
        t.equal((t.shell("timeout --preserve-status -k 20 -s TERM 0.5 " .. loop)), 143)
    end)
else
    print("SKIPPED one test: ThreadSanitizer delivers no signal to a loop without calls")
end

if t.sanitizer == "" then
    t.test("memory or threads that are not to be had are an error, not a crash", function()
        local status, _, err = t.shell("ulimit -v 1000000; " .. t.line("-e", "qk.converter(1024)"))
        t.equal(status, 1)
        t.contains(err, "no memory or no threads for converting on 1024 threads")
    end)
else
    print("SKIPPED one test: sanitizers need more address space than the test allows")
end

t.finish()
