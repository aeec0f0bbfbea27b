-- SPDX-License-Identifier: MIT
-- qkern quantize: what it converts, what it refuses, and what it leaves behind.
local maker = require "gguf_maker"
local qk = require "qkern"
local reader = require "json_reader"
local t = require "testing"

local F32, F16, Q4_0, I32, BF16, IQ4_NL = 0, 1, 2, 26, 30, 20

local function ramp(n)
    return maker.floats(n, function(i) return (i * 37 % 101 - 50) / 64 end)
end

-- Quantizes a file made of these parts; returns the report and the output, opened.
local function quantize(name, metadata, tensors, ...)
    local input = t.write(t.path(name .. ".gguf"), maker.file(metadata, tensors))
    local output = t.path(name .. "-out.gguf")
    local report = reader.decode(t.succeed("quantize", input, output, "--json", ...))
    return report, qk.gguf(output)
end

local function tensor(g, name)
    local number = assert(g:find(name), name)
    return g:tensor(number), g:data(number):tobytes()
end

t.test("each type falls back as GGUF users expect, and the report says so", function()
    local cases = {
        {"Q4_K", 32, "Q5_0"}, {"Q5_K", 64, "Q5_1"}, {"Q6_K", 96, "Q8_0"}, {"Q2_K", 128, "Q4_0"},
        {"Q3_K", 32, "Q4_0"}, {"Q8_K", 32, "Q8_0"}, {"Q4_K", 8, "F16"}, {"Q2_K", 172, "F16"},
        {"Q4_0", 48, "F16"}, {"Q8_1", 1, "F16"}, {"Q4_K", 256, "Q4_K"}, {"BF16", 3, "BF16"},
    }
    for _, case in ipairs(cases) do
        local target, row, expected = table.unpack(case)
        local report, g = quantize("fallback", {}, {{"w", F32, {row, 2}, ramp(2 * row)}},
                                   "--type", target)
        local what = target .. " " .. row
        t.equal(tensor(g, "w").type, expected, what)
        t.equal(report.tensors[1].to, expected, what)
        t.equal(report.tensors[1].note, expected == target and ""
            or ("rows of %d are not whole %s blocks of %d: %s instead"):format(
                row, target, qk.type(target).block_elements, expected))
    end
end)

t.test("tensors of one dimension and of integers are copied unchanged", function()
    local halves = ("\0\60"):rep(64)
    local integers = string.pack("<i4i4i4i4", 1, -2, 3, -4):rep(16)
    local report, g = quantize("copied", {}, {
        {"norm", F32, {64}, ramp(64)}, {"column", F32, {64, 1}, ramp(64)}, {"h", F16, {64}, halves},
        {"ids", I32, {32, 2}, integers}, {"w", F32, {32, 2}, ramp(64)}}, "--type", "Q4_0")
    for _, name in ipairs {"norm", "column"} do
        local info, data = tensor(g, name)
        t.equal(info.type .. tostring(data == ramp(64)), "F32true", name)
    end
    t.equal(tensor(g, "h").type, "F16")
    t.equal(select(2, tensor(g, "ids")), integers)
    t.equal(tensor(g, "w").type, "Q4_0")
    t.equal(report.tensors[1].action, "copied")
    t.equal(report.tensors[1].note, "one dimension")
    t.equal(report.tensors[4].note, "integers")
    t.equal(report.tensors[1].relative_rmse, reader.null)
end)

t.test("the shapes of the tensors stay", function()
    local _, g = quantize("shapes", {}, {{"a", F32, {32, 2, 3, 2}, ramp(384)},
                                         {"b", F32, {32, 1, 4}, ramp(128)}}, "--type", "Q8_0")
    t.equal(table.concat(tensor(g, "a").shape, ","), "32,2,3,2")
    t.equal(table.concat(tensor(g, "b").shape, ","), "32,1,4")
end)

t.test("every type with kernels is an input, with the values of its blocks", function()
    local x = qk.f32(ramp(512))
    for _, from in ipairs {"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q8_1",
                           "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K"} do
        local blocks = qk.quantize(from, x)
        local source = qk.dequantize(blocks)
        for _, to in ipairs {"Q8_0", "F32", "Q4_K"} do
            local _, g = quantize("input", {}, {{"w", qk.type(from).number, {256, 2},
                                                 blocks:tobytes()}}, "--type", to)
            local expected = from == to and blocks or qk.quantize(to, source)
            t.equal(select(2, tensor(g, "w")) == expected:tobytes(), true, from .. " to " .. to)
        end
    end
end)

t.test("the errors are those of what was written against the source", function()
    local n = 70000 -- more than a piece
    local n32 = n // 32 * 32
    local report, g = quantize("errors", {}, {{"w", F32, {32, n32 // 32}, ramp(n32)}},
                               "--type", "Q4_0")
    local y = qk.dequantize(g:data(1))
    local x, errors, squares, largest = qk.f32(ramp(n32)), 0, 0, 0
    for i = 1, n32 do
        local d = y[i] - x[i]
        errors, squares = errors + d * d, squares + x[i] * x[i]
        largest = math.max(largest, math.abs(d))
    end
    local rmse = (errors / squares) ^ 0.5
    t.equal(math.abs(report.tensors[1].relative_rmse / rmse - 1) < 1e-12, true)
    t.equal(report.tensors[1].max_error, largest)
    t.equal(rmse > 0.01 and rmse < 0.2, true)
end)

t.test("bytes and report do not depend on threads, and a second run gives the same", function()
    local n = 1 << 20
    local input = t.write(t.path "threads.gguf", maker.file({}, {
        {"long", F32, {n, 1, 2}, ramp(n):rep(2)}, {"w", F32, {96, 1000}, ramp(96000)}}))
    local expected, expected_report
    for _, threads in ipairs {1, 2, 7, 7, 1} do
        local output = t.path "threads-out.gguf"
        local report = t.succeed("quantize", input, output, "--type", "Q4_0", "--json",
                                 "--threads", threads):gsub('"threads": %d', "")
        local content = t.read(output)
        expected, expected_report = expected or content, expected_report or report
        t.equal(content == expected, true, threads .. " threads")
        t.equal(report, expected_report)
    end
end)

t.test("file_type and quantization_version are set by ggml's numbers", function()
    local numbers = {F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q8_0 = 7, Q5_0 = 8, Q5_1 = 9, Q2_K = 10,
                     Q3_K = 11, Q4_K = 14, Q5_K = 16, Q6_K = 18, BF16 = 32}
    for target, number in pairs(numbers) do
        local _, g = quantize("keys", {{"a", "u8", 1}, {"general.file_type", "u32", 99},
                                       {"general.quantization_version", "u32", 1}, {"z", "u8", 2}},
                              {{"w", Q4_0, {256, 2}, ("\0"):rep(288)}}, "--type", target)
        t.equal(g:metadata "general.file_type", number, target)
        local floats = target == "F32" or target == "F16" or target == "BF16"
        t.equal(g:metadata "general.quantization_version", not floats and 2 or nil, target)
        t.equal(g:pair(1), "a")
        t.equal(g:pair(2), "general.file_type", "stands where it stood")
    end
end)

t.test("a type without a number removes file_type, and the report says so", function()
    for _, target in ipairs {"Q8_1", "Q8_K"} do
        local report, g = quantize("nokey", {{"general.file_type", "u32", 0}},
                                   {{"w", F32, {256, 2}, ramp(512)}}, "--type", target)
        t.equal(g:metadata "general.file_type", nil)
        t.equal(report.notes[1],
                ("general.file_type removed: it has no number for %s"):format(target))
    end
end)

t.test("other metadata stays, byte for byte and in order", function()
    local metadata = {{"general.name", "string", "x\0y\xff"}, {"list", "array", {type = "string",
                      "a", ""}}, {"n", "u64", -1}, {"f", "f32", 0 / 0}}
    local input = maker.file(metadata, {})
    local output = t.path "metadata-out.gguf"
    t.succeed("quantize", t.write(t.path "metadata.gguf", input), output, "--type", "F32")
    local pairs_of_input = input:sub(25, -1):gsub("%z*$", "")
    t.contains(t.read(output), pairs_of_input)
end)

t.test("--only and --keep select by glob, and --keep wins", function()
    local tensors = {}
    for i, name in ipairs {"blk.0.q", "blk.1.q", "blk.10.k", "out[1]", "ä.w", "a%b"} do
        tensors[i] = {name, F32, {32, 2}, ramp(64)}
    end
    local function converted(...)
        local _, g = quantize("globs", {}, tensors, "--type", "Q8_0", ...)
        local names = {}
        for i = 1, #tensors do
            if g:tensor(i).type == "Q8_0" then names[#names + 1] = g:tensor(i).name end
        end
        return table.concat(names, " ")
    end
    t.equal(converted("--only", "blk.*"), "blk.0.q blk.1.q blk.10.k")
    t.equal(converted("--only", "blk.?.q", "--only", "a%b"), "blk.0.q blk.1.q a%b")
    t.equal(converted("--only", "?.w"), "ä.w", "? is a character, not a byte")
    t.equal(converted("--only", "*[0-9].[!q]"), "blk.10.k")
    t.equal(converted("--only", "out\\[1]"), "out[1]")
    t.equal(converted("--only", "blk*", "--keep", "*.1.*"), "blk.0.q blk.10.k")
    t.equal(converted("--keep", "blk*"), "out[1] ä.w a%b")
    t.equal(converted("--keep", "*"), "")
end)

local sample_out = t.path "refused.gguf"

-- Quantizing must fail and leave the folder as it was.
local function refused(expected_status, message, ...)
    local before = t.write(sample_out, "what was there")
    local status, out, err = t.qkern("quantize", ...)
    t.equal(status, expected_status, err)
    t.equal(out, "")
    t.contains(err, message)
    t.equal(t.read(before), "what was there")
    t.equal(table.concat(t.names(t.work, "refused"), " "), "refused.gguf", "left behind")
    t.nothing_left_behind()
end

t.test("a glob that matches nothing is a mistake, before anything is written", function()
    refused(2, "--only blk.* matches no tensor", t.sample, sample_out, "--type", "Q8_0", "--only",
            "blk.*")
    refused(2, "--keep x[: unterminated [", t.sample, sample_out, "--type", "Q8_0", "--keep",
            "x[")
    refused(2, "--only \\xff: not UTF-8", t.sample, sample_out, "--type", "Q8_0", "--only",
            "\xff")
end)

t.test("a wrong command line has status 2 and says what is there", function()
    refused(2, "--type Q9: no such type; there are F32, F16, Q4_0", t.sample, sample_out, "--type",
            "Q9")
    refused(2, "--type iq4_nl: no plugin can quantize to it", t.sample, sample_out, "--type",
            "iq4_nl")
    refused(2, "--type is missing", t.sample, sample_out)
    refused(2, "expected IN OUT, found 1 argument", t.sample, "--type", "Q8_0")
    for _, threads in ipairs {"0", "-1", "x", "1025", "1.5", ""} do
        refused(2, "expected a number from 1 to 1024", t.sample, sample_out, "--type", "Q8_0",
                "--threads=" .. threads)
    end
    refused(2, "absent.gguf", t.path "absent.gguf", sample_out, "--type", "Q8_0")
    refused(2, "--quiet contradicts --json", t.sample, sample_out, "--type", "Q8_0", "--quiet",
            "--json")
end)

t.test("a tensor that no plugin can dequantize is refused, unless it is kept", function()
    local input = t.write(t.path "foreign.gguf", maker.file({}, {
        {"w", F32, {32, 2}, ramp(64)}, {"x", IQ4_NL, {32, 2}, ("\0"):rep(36)}}))
    refused(1, "tensor x is IQ4_NL, which no plugin can dequantize\n--keep GLOB copies", input,
            sample_out, "--type", "Q8_0")
    local out = t.path "foreign-out.gguf"
    t.succeed("quantize", input, out, "--type", "Q8_0", "--keep", "x")
    t.equal(qk.gguf(out):tensor(2).type, "IQ4_NL")
end)

local function with_value(n, at, value)
    return maker.floats(n, function(i) return i == at and value or i % 7 end)
end

t.test("a NaN, an infinity or an overflow is refused and named, whatever the threads", function()
    local row, rows = 4096, 100
    local at = 77 * row + 1234
    local cases = {{0 / 0, "found a NaN"}, {math.huge, "found +Inf"}, {-math.huge, "found -Inf"}}
    for _, case in ipairs(cases) do
        local input = t.write(t.path "nan.gguf", maker.file({}, {
            {"ok", F32, {32, 2}, ramp(64)},
            {"bad", F32, {row, rows}, with_value(row * rows, at, case[1])}}))
        for _, threads in ipairs {1, 7} do
            refused(1, "tensor bad (F32 to Q8_0): row 77, element 1234 (both from 0): the input "
                    .. "holds a NaN or an infinity; " .. case[2], input, sample_out,
                    "--type", "Q8_0", "--threads", threads)
        end
    end
    local last = t.write(t.path "last.gguf", maker.file({}, {
        {"last", F32, {256, 2}, with_value(512, 511, 0 / 0)}}))
    refused(1, "row 1, element 255 (both from 0): the input holds a NaN or an infinity; "
            .. "found a NaN", last, sample_out, "--type", "Q4_K")
    local input = t.write(t.path "big.gguf", maker.file({}, {
        {"big", F32, {64, 2}, with_value(128, 100, 1e30)}}))
    refused(1, "tensor big (F32 to Q8_0): row 1, element 32 (both from 0): a scale, minimum, "
            .. "sum or element does not fit its stored format; found magnitudes up to 1e+30", input,
            sample_out, "--type", "Q8_0")
    input = t.write(t.path "scale.gguf", maker.file({}, {
        {"s", Q4_0, {32, 4}, ("\0\60" .. ("\1"):rep(16)):rep(3) .. "\0\124" .. ("\1"):rep(16)}}))
    refused(1, "tensor s (Q4_0 to Q8_0): row 3, element 0 (both from 0): ", input,
            sample_out, "--type", "Q8_0")
end)

t.test("an output that cannot be written is refused", function()
    local status, _, err = t.qkern("quantize", t.sample, t.path "no/such/folder.gguf", "--type",
                                   "Q8_0")
    t.equal(status, 1)
    t.contains(err, "no/such")
    t.equal((t.qkern("quantize", t.sample, t.work, "--type", "Q8_0")), 1)
end)

t.test("the output may be the input", function()
    local file, other = t.path "same.gguf", t.path "other.gguf"
    t.write(file, t.read(t.sample))
    t.succeed("quantize", t.sample, other, "--type", "Q4_K")
    t.succeed("quantize", file, file, "--type", "Q4_K")
    t.equal(t.read(file) == t.read(other), true)
    t.write(file, t.read(t.sample))
    local link = t.path "link.gguf"
    t.equal((t.shell(("ln -sf %s %s"):format(t.quote(file), t.quote(link)))), 0)
    t.succeed("quantize", file, link, "--type", "Q4_K")
    t.equal(t.read(link) == t.read(other), true, "through a link")
end)

t.test("a signal removes what was begun and ends with 128 and its number", function()
    local input = maker.sparse(t.path "slow.gguf", 16 << 30) -- takes many seconds
    local begun = "test -n \"$(find " .. t.quote(t.work) .. " -name '.qkern-*')\""
    for signal, status in pairs {INT = 130, TERM = 143} do
        t.write(sample_out, "what was there")
        local command = t.line("quantize", input, sample_out, "--type", "Q2_K", "--threads", 1)
        local found, _, err = t.signalled(signal, begun, command)
        t.equal(found, status, err)
        t.equal(err, "qkern quantize: interrupted\n")
        t.equal(t.read(sample_out), "what was there")
        t.nothing_left_behind()
    end
    os.remove(input)
end)

t.test("a limit to the size of files is an error, and nothing is left behind", function()
    local folder = t.path "limit"
    t.equal((t.shell("mkdir " .. t.quote(folder))), 0)
    local status, _, err = t.shell("ulimit -f 64; "
        .. t.line("quantize", t.sample, folder .. "/out.gguf", "--type", "Q8_0", "--quiet"))
    t.equal(status, 1)
    t.contains(err, "File too large")
    t.equal(#qk.files(folder), 0)
end)

-- Runs the command as somebody who may not read everything.
local plain = {t.shell "test $(id -u) != 0"}
local as_user = plain[1] == 0 and "" or "setpriv --reuid 65534 --regid 65534 --clear-groups "
if (t.shell(as_user .. t.line "--version")) == 0 then
    t.test("an output that may not be read is reported as any other", function()
        local folder = t.path "unreadable"
        local out = folder .. "/out.gguf"
        t.equal((t.shell(("mkdir %s && chmod 777 %s"):format(t.quote(folder), t.quote(folder)))), 0)
        local command = as_user .. t.line("quantize", t.sample, out, "--type", "Q8_0")
        local status, whole = t.shell(command)
        t.equal(status, 0)
        for _, before in ipairs {"chmod 200 ", "umask 0777; rm "} do
            before = before .. t.quote(out)
            local found, report, err = t.shell(("(%s; %s)"):format(before, command))
            t.equal(found, 0, before)
            t.equal(err, "")
            t.equal(report, whole)
            t.equal((t.shell(as_user .. "cat " .. t.quote(out))) ~= 0, true, "it can be read")
        end
    end)
else
    print "SKIPPED one test: this user may read every file, and cannot become another"
end

t.test("the report is aligned and names kernels, totals and ratio", function()
    local out = t.succeed("quantize", t.sample, t.path "report.gguf", "--type", "Q8_0")
    local lines = {}
    for line in out:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    t.equal(lines[1], "tensor          from  to     bytes  rel. RMSE   max error  note")
    t.equal(lines[2]:sub(1, 35), "voice.af_heart  F32   Q8_0  138720 ")
    t.equal(lines[3], "total                       138720")
    t.equal(lines[5], "tensors: 522240 to 138720 bytes, ratio 0.2656; "
            .. "file: 522720 to 139264 bytes, ratio 0.2664")
    t.contains(lines[6], "kernels: F32 dequantize by ")
    t.contains(lines[6], ", Q8_0 quantize by ")
    t.equal(t.succeed("quantize", t.sample, t.path "report.gguf", "--type", "Q8_0", "--quiet"), "")
end)

t.test("progress appears on a terminal, on standard error, and is wiped", function()
    local input = maker.sparse(t.path "progress.gguf", 512 << 20) -- takes more than 0.1 s
    local command = t.line("quantize", input, t.path "progress-out.gguf", "--type", "Q2_K",
                           "--threads", 1)
    local script = "script -qec " .. t.quote(command .. " >/dev/null") .. " /dev/null </dev/null"
    local status, out = t.shell(script)
    t.equal(status, 0)
    t.equal(out:find "^\r\27%[K +%d+ %%  +%d+%.%d MB/s  %d:%d%d left  w" ~= nil, true, out)
    t.equal(out:sub(-4), "\r\27[K")
    os.remove(input)
end)

t.test("progress is a rate and the time that is left", function()
    local progress = require "qkern.commands.support.progress"
    local p = progress.new(200e6, false)
    p:add(50e6, "blk.0.w")
    t.equal(p:line("blk.0\n", 2), " 25 %     25.0 MB/s  0:06 left  blk.0\\n")
    t.equal(p:line("x", 4000):find("3:20:00 left", 1, true) ~= nil, true)
end)

t.finish()
