-- SPDX-License-Identifier: MIT
-- The executable: its usage, scripts, exit status, signals and streams.
local qk = require "qkern"
local t = require "testing"

t.test("--version prints the version of the library", function()
    t.equal(t.succeed "--version", require "qkern"._VERSION .. "\n")
    t.contains(t.succeed "--version", "qkern 0.")
end)

t.test("--help lists every command and each has its own", function()
    local help = t.succeed "--help"
    for _, command in ipairs {"info", "inspect", "quantize", "golden", "verify", "bench"} do
        t.contains(help, "\n  " .. command)
        t.contains(t.succeed(command, "--help"), "usage: qkern " .. command)
    end
    t.contains(help, "run SCRIPT")
    t.contains(help, "\n  -h, --help")
    t.contains(help, "\n  -v, --version")
end)

t.test("-h, --help and help give the same text, of the program and of each command", function()
    local all = t.succeed "--help"
    t.equal(t.succeed "-h", all)
    t.equal(t.succeed "help", all)
    t.equal(t.succeed "-v", t.succeed "--version")
    for _, command in ipairs {"info", "inspect", "quantize", "golden", "verify", "bench", "run"} do
        local help = t.succeed(command, "--help")
        t.equal(help:match "^usage: qkern (%l+)", command)
        t.contains(help, "\n  -h, --help")
        t.equal(t.succeed(command, "-h"), help)
        t.equal(t.succeed("help", command), help)
    end
    t.equal(t.succeed("help", "-e"), t.succeed("run", "--help"))
    local status, out, err = t.qkern("help", "inspct")
    t.equal(status, 2)
    t.equal(out, "")
    t.equal(err, "qkern: unknown command inspct\ndid you mean 'qkern inspect'?\n")
end)

t.test("a stream in place of a file is refused, and no file of that name is made", function()
    local folder = "cd " .. t.quote(t.work) .. " && "
    for _, words in ipairs {{"quantize", t.sample, "-", "--type", "Q8_0"},
                            {"quantize", "-", "out.gguf", "--type", "Q8_0"}, {"inspect", "-"},
                            {"golden", "-"}, {"run", "-"}} do
        local status, out, err = t.shell(folder .. t.line(table.unpack(words)))
        t.equal(status, 2, words[1])
        t.equal(out, "")
        t.contains(err, "-: streams are not supported; ./- is the file of that name")
    end
    t.equal(t.exists(t.path "-"), false)
    t.equal((t.shell(folder .. t.line("quantize", t.sample, "./-", "--type", "Q8_0"))), 0)
    t.equal(t.exists(t.path "-"), true)
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
    t.contains(err:match "[^\n]*\n$", "broken.lua:4: in main chunk\n", "the last line")
    status, _, err = t.qkern("-e",
                             "error(setmetatable({}, {__tostring = function() return 'T' end}))")
    t.equal(status, 1)
    t.contains(err, "qkern: T\n")
    status, _, err = t.qkern("-e", "error {}")
    t.equal(status, 1)
    t.contains(err, "qkern: (error object is a table value)\n")
    status, _, err = t.qkern("-e", "error(42)")
    t.equal(status, 1)
    t.contains(err, "qkern: 42\nstack traceback:")
    status, _, err = t.qkern("-e", "qk.blocks('Q4_0', 5)")
    t.equal(status, 1)
    t.contains(err, "5")
end)

t.test("the traceback of an error ends in the script, however deep it is", function()
    local function last(code)
        local status, out, err = t.qkern("-e", code)
        t.equal(status, 1, code)
        t.equal(out, "", code)
        t.lacks(err, "qkern.commands")
        t.lacks(err, "xpcall")
        return err:match "([^\n]*)\n$"
    end
    t.equal(last "error 'x'", "\t(command line):1: in main chunk")
    t.equal(last "error {}", "\t(command line):1: in main chunk")
    t.equal(last "qk.type 'no'", "\t(command line):1: in main chunk")
    t.equal(last "local function f() return 1 + f() end f()", "\t(command line):1: in main chunk")
    t.equal(last "local function f() error 'x' end return f()", "\t(...tail calls...)")
    t.equal(last "error 'line\\n\\tand line'", "\t(command line):1: in main chunk")
end)

t.test("an error in the handling of an error is a failure with a message", function()
    local status, _, err = t.qkern("-e", "debug = nil error 'x'")
    t.equal(status, 1)
    t.contains(err, "qkern: ")
    local object = "setmetatable({}, {__tostring = function() error 'y' end})"
    status, _, err = t.qkern("-e", "error(" .. object .. ")")
    t.equal(status, 1)
    t.contains(err, "qkern: ")
end)

t.test("a script that cannot be read has status 2 and says why", function()
    local status, _, err = t.qkern("run", t.path "missing.lua")
    t.equal(status, 2)
    t.equal(err, "qkern: cannot open " .. t.path "missing.lua" .. ": No such file or directory\n")
    status, _, err = t.qkern("run", t.work)
    t.equal(status, 2)
    t.contains(err, "cannot read " .. t.work .. ": Is a directory")
    status, _, err = t.qkern("run", "-x")
    t.equal(status, 2)
    t.contains(err, "unknown option -x")
end)

t.test("a script that is not Lua has status 1 and says why", function()
    local status, _, err = t.qkern("run", t.write(t.path "wrong.lua", "x = = 1"))
    t.equal(status, 1)
    t.contains(err, "wrong.lua:1: unexpected symbol near '='")
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
    local began, ended = t.path "script-began", t.path "script-ended"
    local when_begun = "test -e " .. t.quote(began)

    -- Runs a script and sends it a signal once it has begun. Returns its status, standard error,
    -- and whether Lua was closed in order, which the end by the alarm does not do.
    local function signalled(signal, code)
        os.remove(began)
        os.remove(ended)
        local mark = ("at_end = setmetatable({}, {__gc = function() io.open(%q, 'w'):close() end}) "
            .. "io.open(%q, 'w'):close(); "):format(ended, began)
        local status, _, err = t.signalled(signal, when_begun, t.line("-e", mark .. code))
        return status, err, t.exists(ended)
    end

    t.test("one signal ends a script wherever it is, and removes what it began", function()
        local fifo = t.path "fifo"
        t.equal((t.shell("mkfifo " .. t.quote(fifo))), 0)
        local spin = "local function spin() while true do end end "
        local writer = ("local w = qk.gguf_writer(%q) "):format(t.path "begun.gguf")
        for _, code in ipairs {
            "while true do end",
            spin .. writer .. "coroutine.wrap(spin)()",
            spin .. writer .. "coroutine.resume(coroutine.create(spin))",
            spin .. "coroutine.wrap(function() local f = coroutine.wrap(spin) f() end)()",
            spin .. writer .. "while true do pcall(spin) end",
            spin .. writer .. "while true do coroutine.resume(coroutine.create(spin)) end",
            spin .. "local f = coroutine.wrap(function() while true do coroutine.yield() end end) "
                .. "while true do f() end",
            spin .. writer .. "local x <close> = setmetatable({}, {__close = spin}) spin()",
            spin .. "local c = coroutine.create(function() local x <close> = setmetatable({}, "
                .. "{__close = spin}) coroutine.yield() end) coroutine.resume(c) coroutine.close(c)",
            spin .. "coroutine.wrap(function() local x <close> = setmetatable({}, "
                .. "{__close = spin}) error 'x' end)()",
            writer .. ("io.open(%q)"):format(fifo),
            ("local f = io.open(%q, 'r+') while true do f:read 'a' end"):format(fifo),
        } do
            for signal, status in pairs {INT = 130, TERM = 143} do
                local found, err, closed = signalled(signal, code)
                t.equal(found, status, code .. err)
                t.equal(closed, true, code)
                t.equal(t.exists(t.path "begun.gguf"), false)
                t.nothing_left_behind()
            end
        end
    end)

    t.test("one signal ends also what no error can stop, some seconds later", function()
        for _, code in ipairs {
            "local function f() while true do end end xpcall(f, f)", -- no hooks in its handler
            "setmetatable({}, {__gc = function() while true do end end}) collectgarbage()",
            "(('a'):rep(99)):find(('.-'):rep(50) .. 'b')",
        } do
            local found, err, closed = signalled("TERM", code)
            t.equal(found, 143, code .. err)
            t.equal(closed, false, code)
        end
    end)
else
    print("SKIPPED two tests: ThreadSanitizer delivers no signal to a loop without calls")
end

t.test("a reader of standard output that goes away ends a script without a word", function()
    local begun = t.path "piped.gguf"
    for _, code in ipairs {"while true do print 'x' end",
                           ("local w = qk.gguf_writer(%q) while true do print 'x' end"):format(begun),
                           "while true do pcall(print, 'x') end"} do
        local _, out, err = t.shell("{ " .. t.line("-e", code) .. "; echo $? >&2; } | head -n 1")
        t.equal(out, "x\n")
        t.equal(err, "141\n", code)
        t.equal(t.exists(begun), false)
        t.nothing_left_behind()
    end
end)

t.test("coroutines are those of the stand-alone interpreter", function()
    local function outcome(...)
        local parts = table.pack(...)
        for i = 1, parts.n do parts[i] = tostring(parts[i]) end
        return table.concat(parts, " ")
    end
    local co = coroutine.create(function(...)
        local a, b = coroutine.yield(...)
        return b, a
    end)
    t.equal(outcome(coroutine.resume(co, 1, nil, 3)), "true 1 nil 3")
    t.equal(outcome(coroutine.resume(co, "a", "b")), "true b a")
    t.equal(outcome(coroutine.resume(co)), "false cannot resume dead coroutine")
    co = coroutine.create(function() error {} end)
    t.equal(outcome(coroutine.resume(co)):find "^false table: " ~= nil, true)
    t.equal(outcome(coroutine.close(co)):find "^false table: " ~= nil, true)
    co = coroutine.running()
    t.equal(outcome(coroutine.resume(co)), "false cannot resume non-suspended coroutine")
    t.raises("cannot close a running coroutine", coroutine.close, co)
    t.raises("coroutine expected", coroutine.resume, 1)
    t.raises("coroutine expected", coroutine.close, 1)
    t.raises("function expected", coroutine.wrap, 1)
    local f = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
    t.equal(outcome(f(), f(), f()), "1 2 3")
    t.equal(outcome(f()), "")
    t.raises("cannot resume dead coroutine", f)
    local closed = false
    f = coroutine.wrap(function()
        local x <close> = setmetatable({}, {__close = function() closed = true end})
        error "oh"
    end)
    t.equal(t.raises("oh", function() f() end):find "^[^\n]*:%d+: [^\n]*:%d+: oh$" ~= nil, true)
    t.equal(closed, true)
    local function nest(n) return n == 0 and "deep" or coroutine.wrap(nest)(n - 1) end
    t.equal(nest(150), "deep")
    t.raises("C stack overflow", nest, 300)
end)

-- Runs qkern with arguments in an address space of so many KiB.
local function limited(kib, ...)
    return t.shell(("ulimit -v %d; "):format(kib) .. t.line(...))
end

if t.sanitizer == "" then
    t.test("memory or threads that are not to be had are an error, not a crash", function()
        local status, _, err = t.shell("ulimit -v 1000000; " .. t.line("-e", "qk.converter(1024)"))
        t.equal(status, 1)
        t.contains(err, "no memory or no threads for converting on 1024 threads")
    end)
end

if t.sanitizer == "" and t.emulator == "" then
    t.test("a script that runs out of memory has status 1 and says so", function()
        local script = t.path "memory.lua"
        for _, code in ipairs {
            "print 'a' print(qk.f32(1 << 40)) print 'b'",
            "local t = {} for i = 1, 1e9 do t[i] = i end",
            "string.rep('x', 1 << 30)", "local s = 'x' while true do s = s .. s end",
            "local f = coroutine.wrap(function() string.rep('x', 1 << 30) end) f()",
            "local x <close> = setmetatable({}, {__close = function() end}) qk.bytes(1 << 40)",
            "error(setmetatable({}, {__tostring = function() return ('x'):rep(1 << 30) end}))",
        } do
            for _, words in ipairs {{"-e", code}, {"run", t.write(script, code)}} do
                local status, out, err = limited(200000, table.unpack(words))
                t.equal(status, 1, code)
                t.equal(err, "qkern: not enough memory\n", code)
                t.lacks(out, "b\n")
            end
        end
        t.equal(select(2, limited(200000, "-e", "print(pcall(string.rep, 'x', 1 << 30))")),
                "false\tnot enough memory\n")
    end)

    t.test("a program that has no memory for its own scripts has failed and says so", function()
        local floor, failures, whole = 2000, 0, t.succeed "help"
        while limited(floor, "help") > 2 do floor = floor + 250 end
        for kib = floor - 250, floor + 250, 8 do
            local status, out, err = limited(kib, "help")
            if status == 1 then
                failures = failures + 1
                t.equal(out, "")
                t.equal(err, "qkern: not enough memory\n")
            elseif status == 0 then
                t.equal(out, whole)
            else
                t.equal(status > 2, true, err) -- the system could not start it
            end
        end
        t.equal(failures > 0, true)
    end)

    t.test("with any amount of memory a command does all of its work or has failed", function()
        local out = t.path "memory.gguf"
        local script = t.write(t.path "words.lua", "print(qk.type('Q4_0').name)")
        local failures = 0
        for _, words in ipairs {
            {"golden", t.golden, "--types", "Q8_K"}, {"info"}, {"info", "Q4_K", "--json"}, {"help"},
            {"inspect", t.sample}, {"run", script}, {"-e", "print(qk.explain('Q4_0', 'vec_dot'))"},
            {"quantize", t.sample, out, "--type", "Q4_0", "--threads", "1"},
        } do
            -- The last line is enough: with less memory a plugin can be refused, which info says.
            local last = t.succeed(table.unpack(words)):match "[^\n]*\n$"
            local begun, file = false, t.exists(out) and t.read(out)
            for kib = 3000, 12000, 500 do
                os.remove(out)
                local status, text, err = limited(kib, table.unpack(words))
                begun = begun or status <= 2 -- else the system could not start the program
                local what = ("%s in %d KiB: "):format(words[1], kib)
                if begun and status == 0 then
                    t.equal(text:match "[^\n]*\n$", last, what)
                    if words[1] == "quantize" then t.equal(t.read(out) == file, true, what) end
                    t.equal(err, "", what)
                elseif begun and status ~= 127 then
                    failures = failures + 1
                    t.equal(status == 1 or status == 2, true, what .. status .. " " .. err)
                    t.equal(err:lower():find "memory" ~= nil, true, what .. err)
                    t.equal(t.exists(out), false, what)
                end
            end
        end
        t.equal(failures > 0, true)
    end)
end

if t.sanitizer ~= "" or t.emulator ~= "" then
    print("SKIPPED tests of little memory: sanitizers and emulators need more than these allow")
end

t.finish()
