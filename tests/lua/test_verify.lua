-- SPDX-License-Identifier: MIT
-- qkern verify: right plugins pass, a wrong one is shown with its first difference, and what cannot
-- be checked is skipped with the reason.
local qk = require "qkern"
local reader = require "json_reader"
local t = require "testing"

-- The command line, with the plugins made for the tests of the checker.
local function line(...)
    return t.line("verify", ...)
end

local function verify(...)
    return t.shell(line(...))
end

local function wrong(name)
    return t.wrong_plugins .. "/" .. name .. ".so"
end

local function fails(message, ...)
    local status, out, err = verify(...)
    t.equal(status, 2, err)
    t.equal(out, "")
    t.contains(err, message)
end

t.test("the built-in kernels are right, and the last line says how many were checked", function()
    local status, out, err = verify("scalar", "--types", "q8_0,Q8_1,Q8_0")
    t.equal(err, "")
    t.equal(status, 0)
    t.contains(out, "built in\n")
    t.contains(out, "\nplugin                  type  quantize  dequantize  vec_dot  "
        .. "quantize_weighted  vec_dot_rows\n")
    t.contains(out, "\nscalar 0.1.0            Q8_0  ok        ok          ok       "
        .. "ok                 ok\n")
    t.contains(out, "\nscalar 0.1.0, built in  Q8_1  ok        ok                   ok\n")
    -- the file and what is built in
    t.equal(out:match "[^\n]*\n$", "16 of 16 kernels checked, 0 skipped\n")
    t.contains(out, "\nseed 1, 1 round\n")
end)

t.test("a wrong kernel has status 1 and is shown with its first difference", function()
    local status, out, err = verify(wrong "dropped_tail", "--seed", "7")
    t.equal(status, 1, err)
    t.equal(err, "")
    t.contains(out, "dropped_tail 1.0  Q8_0  WRONG     WRONG       WRONG    -                  -\n")
    t.contains(out, "\nfirst difference of each wrong kernel\n  dropped_tail 1.0: Q8_0 quantize: "
        .. "length (step lengths): block 4, from its byte 0 on: expected ")
    t.contains(out, "Q8_0 vec_dot: length (step lengths): the result: expected ")
    t.contains(out, "(n = 160; random codes, all scales 1; weights flush before a guard page")
    t.contains(out, "\nseed 7, 1 round\n3 of 71 kernels checked, 68 skipped (dropped_tail 1.0: 68 not "
        .. "in the plugin), 3 wrong\n")
end)

t.test("a crash and its neighbours are all judged", function()
    local status, out = verify(wrong "crashes")
    t.equal(status, 1)
    t.contains(out, "crashes 1.0  Q8_0  ok        WRONG       WRONG    WRONG              -\n")
    t.contains(out, "Q8_0 quantize_weighted: crash (step lengths): Aborted")
    t.contains(out, "4 of 71 kernels checked, 67 skipped (crashes 1.0: 67 not in the plugin), 3 wrong\n")
end)

t.test("the JSON is valid and has every part", function()
    local status, out = verify("--json", wrong "dropped_tail", "--repeat", "2")
    t.equal(status, 1)
    local report = reader.decode(out)
    t.equal(report.version, qk._VERSION:match "%S+$")
    t.equal(report.seed, 1)
    t.equal(report.rounds, 2)
    t.equal(report.kernels, 71)
    t.equal(report.checked, 3)
    t.equal(report.skipped, 68)
    t.equal(report.wrong, 3)
    local plugin = report.plugins[1]
    t.equal(plugin.name, "dropped_tail")
    t.equal(plugin.checked, true)
    t.equal(plugin.reason, reader.null)
    t.equal(#plugin.kernels, 71)
    for _, kernel in ipairs(plugin.kernels) do
        if kernel.type == "Q8_0" and kernel.entry == "quantize" then
            t.equal(kernel.result, "wrong")
            local f = kernel.failure
            t.equal(f.kind, "length")
            t.equal(f.step, "lengths")
            t.equal(f.data, "gaussian values")
            t.equal(f.n, 160)
            t.equal(f.block, 4)
            t.equal(f.byte, 136)
            t.equal(f.rows, reader.null)
            t.equal(#f.expected, 32)
            t.contains(f.text, "it is not written")
        elseif kernel.type ~= "Q8_0" or kernel.entry == "vec_dot_rows" then
            t.equal(kernel.result, "skipped")
            t.equal(kernel.reason, "not in the plugin")
        end
    end
    report = reader.decode(select(2, verify("--json", "scalar", "--types", "Q2_K")))
    t.equal(report.wrong, 0)
    local kernel = report.plugins[1].kernels[1]
    t.equal(kernel.result, "right")
    t.equal(kernel.failure, reader.null)
    t.equal(kernel.entry, "quantize") -- its codes stand on the stack
    t.equal(kernel.calls > 100 and kernel.stack_bytes > 256, true)
end)

t.test("without arguments all plugins that are found are judged, also a masked one", function()
    local status, out, err = t.shell("QKERN_MAX_ISA=scalar QKERN_PLUGIN_PATH=" .. t.wrong_plugins
        .. " " .. line("--types", "Q8_0"))
    t.equal(err, "")
    t.equal(status, 0)
    local tier = out:match "\nprints 1.0 +[^\n]*skipped: ([^\n]*)\n"
    t.contains(tier, "QKERN_MAX_ISA")
    t.contains(out, "built in\n")
    t.contains(out, " kernels checked, ")
    t.contains(out:match "[^\n]*\n$", "prints 1.0: " .. tier)
end)

t.test("a plugin that cannot run here is skipped with the reason, and then nothing was checked",
       function()
    local status, out, err = t.shell("QKERN_MAX_ISA=scalar " .. line(wrong "prints"))
    t.equal(err, "")
    t.equal(status, 2)
    t.contains(out, "skipped: ")
    t.equal(out:match "([^\n]* skipped) %(prints 1%.0: [^\n]*QKERN_MAX_ISA[^\n]*%)\n$",
            "0 of 71 kernels checked, 71 skipped")
    local file = t.write(t.path "text.so", "no plugin")
    t.equal((t.shell("chmod 644 " .. t.quote(file))), 0)
    status, out = verify(file)
    t.equal(status, 2)
    t.contains(out, file)
    t.contains(out, "skipped: ")
    t.equal((t.shell("chmod 666 " .. t.quote(file))), 0)
    status, out = verify(file, "scalar", "--types", "F32")
    t.equal(status, 0)
    t.contains(out, "everybody can write the file")
end)

t.test("a wrong command line has status 2 and says what is wrong with it", function()
    fails("avx9 is neither the name of a plugin nor a file: ", "avx9")
    fails("/nonexistent/a.so is neither", "/nonexistent/a.so")
    fails(" is neither the name of a plugin nor a file: ", "")
    fails("--seed: expected a number from 0 to 9223372036854775807, found -1", "--seed", "-1")
    fails("--seed: expected a number", "--seed", "0x1")
    fails("--repeat: expected a number from 1 to 1000000, found 0", "--repeat", "0")
    fails("--types: there is no type Q9", "--types", "Q9")
    fails("--types names no type", "--types", ",")
    fails("unknown option --sed; did you mean --seed?", "--sed", "1")
end)

t.test("without its worker the command says what is missing", function()
    local status, out, err = t.shell("QKERN_VERIFY_WORKER=/nonexistent/worker "
        .. t.line("verify", "scalar"))
    t.equal(status, 1)
    t.equal(out, "")
    t.contains(err, "qkern verify: /nonexistent/worker, which checks plugins, cannot be started: ")
end)

t.test("what disturbs the worker is an error, not a verdict", function()
    local script = t.write(t.path "worker", "#!/bin/sh\necho rubbish\n")
    t.equal((t.shell("chmod 755 " .. t.quote(script))), 0)
    local status, out, err = t.shell("QKERN_VERIFY_WORKER='/bin/sh " .. script .. "' "
        .. t.line("verify", "scalar"))
    t.equal(status, 1)
    t.equal(out, "")
    t.contains(err, "does not keep to the protocol (before it checked anything): expected "
        .. "qkern-verify 1, found 'rubbish'")
end)

if t.emulator == "" then
    t.test("an interrupted check leaves no process behind", function()
        local status = t.signalled("TERM",
            ("pgrep -P $pid >%s"):format(t.quote(t.path "worker-pid")), line(wrong "endless"))
        t.equal(status, 143)
        local pid = t.read(t.path "worker-pid"):match "%d+"
        t.equal((t.shell("i=0; while kill -0 " .. pid .. " 2>/dev/null && [ $((i += 1)) -lt 50 ]; "
            .. "do sleep 0.1; done; ! kill -0 " .. pid)), 0)
    end)

    t.test("the module gives one event after the other", function()
        local kinds, kernels = {}, 0
        do
            local run <close> = qk.verify {plugin = wrong "dropped_tail"}
            for event in run.next, run do
                kinds[event.event] = (kinds[event.event] or 0) + 1
                kernels = event.kernels
                if event.event == "wrong" then t.equal(event.failure.kind, "length") end
            end
        end
        t.equal(kinds.plugin, 1)
        t.equal(kinds.wrong, 3)
        t.equal(kinds.skipped, 68)
        t.equal(kinds.step >= 3, true)
        t.equal(kernels, 71)
        local run = qk.verify {types = {"F32", 1}, seed = 3, times = 2}
        local right = 0
        for event in run.next, run do right = right + (event.event == "right" and 1 or 0) end
        t.equal(right, 10)
        t.raises("No such file or directory", qk.verify, {plugin = "/nonexistent/a.so"})
        t.raises("not the name of a type", qk.verify, {types = {"Q9"}})
        t.raises("list of types is empty", qk.verify, {types = {}})
        t.raises("repeat is 0", qk.verify, {times = 0})
        t.raises("field 'seed': a count expected", qk.verify, {seed = "x"})
        t.raises("field 'seed': a count expected", qk.verify, {seed = -1})
        t.raises("1 to 32 are right", qk.verify, {worker = {}})
        t.raises("table expected", qk.verify)
        local ended = qk.verify {types = {"F32"}}
        do local _ <close> = ended end
        t.raises("the verification has ended", ended.next, ended)
    end)
else
    print("SKIPPED two tests: a worker that needs an emulator cannot be started by its path")
end

t.finish()
