-- SPDX-License-Identifier: MIT
-- qkern bench. No test depends on how fast anything is: verdicts are on constructed reports, or on
-- ones in which the old times are a million times as long or as short.
local baseline = require "qkern.commands.bench.baseline"
local chart = require "qkern.commands.bench.chart"
local compare = require "qkern.commands.bench.compare"
local json = require "qkern.commands.support.json"
local reader = require "json_reader"
local t = require "testing"

-- The command line of a short run, with the plugins made for these tests.
local function line(...)
    return "QKERN_PLUGIN_PATH=" .. t.plugins .. " "
        .. t.line("bench", "--seconds", "0.001", ...)
end

local function bench(...)
    local status, out, err = t.shell(line(...))
    t.equal(status, 0, err)
    t.equal(err, "")
    return out
end

local function fails(message, ...)
    local status, out, err = t.shell(line(...))
    t.equal(status, 2, err)
    t.equal(out, "")
    t.contains(err, message)
end

-- --- what is printed -----------------------------------------------------------------------------

local THREE = {"--types", "F32", "--plugins", "scalar,twin,drift"}

t.test("the table lines up and has a row for each plugin, ratios and bars", function()
    local out = bench(table.unpack(THREE))
    local title = out:match "\n(type +entry[^\n]*)\n"
    t.equal(title ~= nil, true, out)
    for _, column in ipairs {"plugin", "least", "median", "GB/s", "of read", "times", "95 %%",
                             "speed"} do
        t.equal(title:find(column) ~= nil, true, column)
    end
    local scalar = out:match "\n(F32 +vec_dot +l1 +scalar [^\n]*)\n"
    local twin = out:match "\n(F32 +vec_dot +l1 +twin [^\n]*)\n"
    t.equal(#scalar:match "^.-%%" , #twin:match "^.-%%")
    t.equal(#scalar:match "^.-%%", select(2, title:find "of read"))
    t.equal(twin:find "%[[%d.]+, [%d.]+%]" ~= nil, true, twin)
    t.contains(out, "Limits of this core")
    t.contains(out, "A call through a pin costs ")
    t.contains(out, "copy of a row of 4096 f32")
end)

t.test("a kernel that is wrong or crashes is not timed, and the table says why", function()
    local words = {"--types", "F32", "--plugins", "drift,crashing,twin,scalar"}
    local out = bench(table.unpack(words))
    local drift = out:match "\n(F32 +vec_dot +l1 +drift [^\n]*)\n"
    local reason = " %- +%- +%- +%- +%- +not timed: %l+: .*expected .*, found "
    t.equal(drift:find(reason) ~= nil, true, drift)
    local crashing = out:match "\n(F32 +vec_dot +l1 +crashing [^\n]*)\n"
    t.equal(crashing:find "not timed: crash: " ~= nil, true, crashing)
    local cell = reader.decode(bench("--json", table.unpack(words))).cells[1]
    for i, name in ipairs {"drift", "crashing", "twin", "scalar"} do
        t.equal(cell.results[i].plugin, name)
        t.equal(cell.results[i].timed, i > 2, name)
        t.equal(cell.results[i].least_ns == reader.null, i <= 2, name)
        t.equal(cell.results[i].reason == reader.null, i > 2, name)
    end
    t.equal(cell.results[3].times, 1.0) -- the first that is timed
end)

t.test("bars are blocks in a locale of UTF-8, ASCII in others, plain in a file", function()
    local out = select(2, t.shell("LC_ALL=C.UTF-8 " .. line(table.unpack(THREE))))
    t.contains(out, "█")
    t.lacks(out, "\27")
    out = select(2, t.shell("LC_ALL=C " .. line(table.unpack(THREE))))
    t.contains(out, "################")
    t.equal(out:find "[\x80-\xff]", nil)
end)

t.test("the JSON is valid and complete", function()
    local report = reader.decode(bench("--json", "--types", "Q4_0,F32", "--entries",
                                       "vec_dot,dequantize", "--sets", "l1,l2=300K", "--seed", "9",
                                       "--n", "512"))
    t.equal(report.version, qk._VERSION:match "%S+$")
    t.equal(report.n, 512)
    t.equal(report.seed, 9)
    t.equal(report.rounds, 9)
    t.equal(report.pinned, report.core ~= reader.null)
    t.equal(report.clock.cost_ns >= 0, true)
    t.equal(#report.caches, 3)
    t.equal(report.pin.low_ns <= report.pin.ns and report.pin.ns <= report.pin.high_ns, true)
    local reads = {}
    for _, limit in ipairs(report.limits) do
        t.equal(limit.ns > 0 and limit.ns <= limit.median_ns, true, limit.name)
        if limit.kind == "read" then reads[limit.set] = true end
    end
    t.equal(reads.l1 and reads.l2, true)
    t.equal(#report.cells, 8)
    local cell = report.cells[5]
    t.equal(cell.type .. " " .. cell.entry .. " " .. cell.set, "Q4_0 vec_dot l2")
    t.equal(cell.row_bytes, 288)
    t.equal(cell.rows, 300 * 1024 // 288)
    for _, c in ipairs(report.cells) do
        t.equal(#c.limits > 0, true)
        for _, r in ipairs(c.results) do
            if r.timed then
                t.equal(r.least_ns > 0 and r.least_ns <= r.low_ns and r.low_ns <= r.median_ns
                        and r.median_ns <= r.high_ns, true)
                t.equal(r.times_low <= r.times and r.times <= r.times_high, true)
                t.equal(math.abs(r.gb_per_s - c.row_bytes / r.least_ns) < 1e-9, true)
            else
                t.equal(r.reason ~= "", true)
            end
        end
    end
end)

t.test("every entry point of every type that scalar has is timed", function()
    local report = reader.decode(bench("--json", "--plugins", "scalar", "--entries", "all",
                                       "--n", "256"))
    local seen = {}
    for _, cell in ipairs(report.cells) do
        t.equal(cell.results[1].timed, true, cell.type .. cell.entry)
        seen[cell.entry] = (seen[cell.entry] or 0) + 1
    end
    t.equal(seen.quantize, 15)
    t.equal(seen.dequantize, 15)
    t.equal(seen.quantize_weighted, 15)
    t.equal(seen.vec_dot, 13)
    t.equal(seen.vec_dot_rows, 13)
end)

t.test("limits of a masked feature are not run, and without a reader is no share", function()
    local ran = 0
    for feature, words in pairs {avx2 = "avx2 maddubs", asimd = "neon"} do
        local status, out = t.shell(("QKERN_FEATURES=-%s "):format(feature)
            .. line("--json", "--types", "Q8_0", "--plugins", "scalar", "--entries", "dequantize"))
        if status ~= 2 then -- the feature is one of this architecture
            ran = ran + 1
            local report = reader.decode(out)
            local has_reader = false
            for _, limits in ipairs {report.limits, report.cells[1].limits} do
                for _, limit in ipairs(limits) do
                    for word in words:gmatch "%w+" do t.lacks(limit.name, word) end
                    has_reader = has_reader or limit.kind == "read"
                end
            end
            t.equal(report.cells[1].results[1].of_read ~= reader.null, has_reader)
        end
    end
    t.equal(ran, 1)
end)

-- --- options -------------------------------------------------------------------------------------

t.test("options that cannot be understood are usage errors that say what is expected", function()
    fails("--types: there is no type Q9", "--types", "Q4_0,Q9")
    fails("--types names no type", "--types", "")
    fails("--plugins: no plugin is named avx9", "--plugins", "scalar,avx9")
    fails("--entries: there is no entry point dot; there are quantize, ", "--entries", "dot")
    fails("--sets: there is no working set l4; there are l1, l2, l3, dram", "--sets", "l1,l4")
    fails("--sets l1=: expected a size as in l1=64M", "--sets", "l1=")
    fails("--sets l2=1.5M: expected a size", "--sets", "l2=1.5M")
    fails("--n x: expected a whole number from 1", "--n", "x")
    fails("--n 0: expected a whole number from 1", "--n", "0")
    fails("--seed -1: expected a whole number from 0", "--seed", "-1")
    fails("--core 1e3: expected a whole number", "--core", "1e3")
    fails("--core 99999: ", "--core", "99999")
    fails("--baseline is of rows of 4096 elements", "--baseline", "--n", "256")
    fails("expected no arguments, found 1 argument", "x")
    for _, seconds in ipairs {"0", "nan", "-1", "x", "1e9"} do
        local status, _, err = t.qkern("bench", "--seconds", seconds)
        t.equal(status, 2)
        t.contains(err, "--seconds " .. seconds .. ": expected a number from")
    end
end)

t.test("what cannot be timed is left out with a note, and nothing left is a usage error", function()
    local out = bench("--types", "Q4_0,Q4_K", "--n", "32")
    t.contains(out, "\nnote: Q4_K vec_dot is left out: ")
    t.contains(out, "\nQ4_0  vec_dot  l1   scalar ")
    fails("nothing to time: Q8_K vec_dot is left out: no plugin has it", "--types", "Q8_K")
end)

t.test("plugins are timed in the order given, each once; by default by tier", function()
    local function plugins(...)
        local names = {}
        local report = reader.decode(bench("--json", "--types", "F32", ...))
        for i, result in ipairs(report.cells[1].results) do names[i] = result.plugin end
        return table.concat(names, " "), report
    end
    t.equal(plugins("--plugins", "twin,scalar,twin"), "twin scalar")
    local names, report = plugins()
    t.equal(names:find "^scalar crashing twin .*drift$", 1, names) -- the build's own in between
    for _, result in ipairs(report.cells[1].results) do
        if result.plugin == "scalar" then t.equal(result.times, 1.0) end
    end
end)

-- --- comparing -----------------------------------------------------------------------------------

-- A report made now, with all its times multiplied.
local function edited(report, factor, widen)
    local copy = reader.decode(report)
    for _, cell in ipairs(copy.cells) do
        for _, result in ipairs(cell.results) do
            if result.timed then
                result.least_ns = result.least_ns * factor
                result.low_ns = widen and 0 or result.low_ns * factor
                result.high_ns = widen and 1e30 or result.high_ns * factor
            end
        end
    end
    local function encode(value)
        if type(value) ~= "table" then return value end
        if value == reader.null then return json.null end
        if #value > 0 or next(value) == nil then
            local list = {}
            for i, item in ipairs(value) do list[i] = encode(item) end
            return json.array(list)
        end
        local pairs_list = {}
        for key, item in pairs(value) do
            pairs_list[#pairs_list + 1] = key
            pairs_list[#pairs_list + 1] = encode(item)
        end
        return json.object(table.unpack(pairs_list))
    end
    return t.write(t.path "old.json", json.encode(encode(copy)))
end

t.test("--compare says faster, slower or within noise, and never fails for it", function()
    local words = {"--types", "F32", "--plugins", "scalar,twin"}
    local report = bench("--json", table.unpack(words))
    for _, case in ipairs {{1e6, false, "faster"}, {1e-6, false, "slower"},
                           {1e6, true, "within noise"}} do
        local old = edited(report, case[1], case[2])
        local out = bench("--compare", old, table.unpack(words))
        t.contains(out, "\nAgainst " .. old .. "\n")
        t.contains(out, ("\n%d faster, %d slower, %d within noise\n"):format(
            case[3] == "faster" and 2 or 0, case[3] == "slower" and 2 or 0,
            case[3] == "within noise" and 2 or 0))
        local compared = reader.decode(bench("--json", "--compare", old, table.unpack(words)))
        t.equal(#compared.compare.cells, 2)
        for _, cell in ipairs(compared.compare.cells) do t.equal(cell.verdict, case[3]) end
    end
    local out = bench("--compare", edited(report, 1e6), "--types", "F32,Q4_0", "--plugins",
                      "scalar")
    t.contains(out, "; 1 only in the old report; 1 only in this one\n")
end)

t.test("a report that cannot be read or understood is a usage error", function()
    fails("cannot read ", "--compare", t.path "absent.json")
    fails("JSON: ", "--compare", t.write(t.path "bad.json", "{"))
    fails("not a report of qkern bench", "--compare", t.write(t.path "other.json", "[1]"))
    fails("not a report of qkern bench", "--compare",
          t.write(t.path "other.json", '{"n": 4096, "cells": [{"type": "F32"}]}'))
    fails("its rows have 256 elements, here they have 4096\n--n 256 makes them equal", "--compare",
          t.write(t.path "short.json", '{"n": 256, "cells": []}'))
    fails("not a regular file", "--compare", t.work)
    fails("JSON: nested too deeply", "--compare", t.write(t.path "deep.json", ("["):rep(1000000)))
end)

-- A report of one result: entry, set, {least, low, high}, limits {{name, kind, ns}}.
local function constructed(entry, set, ns, limits)
    local list = {}
    for i, limit in ipairs(limits or {}) do
        list[i] = {name = limit[1], kind = limit[2], ns = limit[3]}
    end
    return {n = 4096, cells = {{type = "Q4_0", entry = entry, set = set, limits = list, results = {
        {plugin = "avx2", timed = true, least_ns = ns[1], low_ns = ns[2], high_ns = ns[3]}}}}}
end

t.test("a verdict takes a difference beyond the threshold and intervals that are apart", function()
    local function verdict(old, new, set)
        local outcome = compare.reports(constructed("vec_dot", set or "l1", old),
                                        constructed("vec_dot", set or "l1", new))
        return outcome.rows[1].verdict, outcome.rows[1].ratio
    end
    t.equal(verdict({100, 100, 102}, {90, 90, 92}), "faster")
    t.equal(verdict({90, 90, 92}, {100, 100, 102}), "slower")
    t.equal(verdict({100, 100, 102}, {97, 97, 99}), "within noise") -- 3 %
    t.equal(verdict({100, 100, 102}, {90, 90, 101}), "within noise") -- they overlap
    t.equal(verdict({90, 90, 101}, {100, 100, 102}), "within noise")
    t.equal(verdict({100, 100, 102}, {94, 94, 95}, "l2"), "faster")
    t.equal(verdict({100, 100, 102}, {94, 94, 95}, "l3"), "within noise") -- 8 % in a matrix
    t.equal(verdict({100, 100, 102}, {90, 90, 91}, "dram"), "faster")
    t.equal(select(2, verdict({100, 100, 102}, {80, 80, 81})), 1.25)
end)

t.test("old times are scaled by the limit that bears on the cell, where that differs", function()
    local function row(entry, set, kind, old_limit, new_limit)
        return compare.reports(
            constructed(entry, set, {100, 100, 101},
                        {{"other", "none", 1}, {"x", kind, old_limit}}),
            constructed(entry, set, {50, 50, 51}, {{"other", "none", 9}, {"x", kind, new_limit}})
        ).rows[1]
    end
    t.equal(row("vec_dot", "l1", "dot", 40, 20).scale, 0.5)
    t.equal(row("vec_dot", "l1", "dot", 40, 20).verdict, "within noise")
    t.equal(row("vec_dot", "l1", "dot", 40, 39).scale, 1)
    t.equal(row("vec_dot", "l1", "read", 40, 20).scale, 1)
    t.equal(row("vec_dot_rows", "l3", "read", 40, 20).scale, 0.5)
    t.equal(row("vec_dot_rows", "l3", "dot", 40, 20).scale, 1)
    t.equal(row("dequantize", "l1", "copy", 40, 20).scale, 0.5)
    t.equal(row("quantize", "l2", "dot", 40, 160).scale, 4)
    t.equal(row("quantize", "l2", "dot", 40, 160).verdict, "faster")
    t.equal(row("quantize", "l2", "dot", 0, 160).scale, 1)
end)

-- --- the baseline --------------------------------------------------------------------------------

local VALUES = baseline.parse(qk.bench.baseline())

t.test("the baseline has ggml's times and the limits of its core", function()
    t.equal(VALUES.Q4_0.vec_dot_avx2, 204)
    t.equal(VALUES.Q8_0.quantize, 17373)
    t.equal(VALUES.Q8_0.quantize_simd, 1273)
    t.equal(VALUES.Q4_K.dram_avx512, 299)
    t.equal(VALUES.limit.dot_maddubs, 54.6)
    for name, quantities in pairs(VALUES) do
        if name ~= "limit" then t.equal(qk.type(name).name, name) end
        for quantity, value in pairs(quantities) do t.equal(value > 0, true, quantity) end
    end
end)

-- A document of cells: {type, entry, set, row_bytes, {limit = ns}, {plugin = {ns, share}}}.
local function document(pin, ...)
    local cells = {}
    for i, c in ipairs {...} do
        local limits, results = {}, {}
        for name, ns in pairs(c[5]) do
            limits[#limits + 1] = {name = name, kind = name:match "^%l+", ns = ns}
        end
        for plugin, figures in pairs(c[6]) do
            results[#results + 1] = {plugin = plugin, timed = true, least_ns = figures[1],
                                     of_read = figures[2]}
        end
        cells[i] = {type = c[1], entry = c[2], set = c[3], row_bytes = c[4], limits = limits,
                    results = results}
    end
    return {pin = {ns = pin}, cells = cells}
end

local function near(found, expected)
    t.equal(math.abs(found - expected) < 1e-9 * math.abs(expected), true,
            ("expected %.12g, found %.12g"):format(expected, found))
end

t.test("ggml's time is scaled by the limit that both runs measured", function()
    -- maddubs takes half of what it took there, so ggml would take 102 ns
    local judged = baseline.judge(document(2,
        {"Q4_0", "vec_dot", "l1", 2304, {dot_maddubs = 27.3, dot_dpbusd_512 = 22.8},
         {avx2 = {100, 0.1}}}), VALUES)
    local row = judged.rows[1]
    t.equal(row.by, "dot_maddubs")
    near(row.factor, 0.5)
    near(row.scaled, 102)
    near(row.ratio, 1.02)
    t.equal(row.target, 1)
    t.equal(row.met, true)
    -- the 512-bit column has its own limit and its own times
    row = baseline.judge(document(2,
        {"Q4_0", "vec_dot", "l1", 2304, {dot_maddubs = 27.3, dot_dpbusd_512 = 22.8},
         {avx512 = {200, 0.1}}}), VALUES).rows[1]
    t.equal(row.by, "dot_dpbusd_512")
    near(row.ratio, 191 / 200)
    t.equal(row.met, false)
    -- without that limit there is nothing to scale by
    t.equal(#baseline.judge(document(2, {"Q4_0", "vec_dot", "l1", 2304, {}, {avx2 = {1, 1}}}),
                            VALUES).rows, 0)
    -- and a plugin of another instruction set has no column
    t.equal(#baseline.judge(document(2, {"Q4_0", "vec_dot", "l1", 2304, {dot_maddubs = 1},
                                         {sse2 = {1, 1}}}), VALUES).rows, 0)
end)

t.test("a matrix is scaled by bandwidth where memory bound it, with the other beside", function()
    local limits = {dot_maddubs = 54.6, read_avx2 = 16384 / 59.2}
    local row = baseline.judge(document(2, {"F32", "vec_dot_rows", "l3", 16384, limits,
                                            {avx2 = {286.5, 1}}}), VALUES).rows[1]
    t.equal(row.by, "read_avx2") -- 573 ns there, and 553 at that core's limit
    near(row.factor, 0.5)
    near(row.ratio, 1)
    t.equal(row.other_by, "dot_maddubs")
    near(row.other_ratio, 2)
    limits.read_avx2 = 2304 / 59.2
    row = baseline.judge(document(2, {"Q4_0", "vec_dot_rows", "l3", 2304, limits,
                                      {avx2 = {104, 1}}}), VALUES).rows[1]
    t.equal(row.by, "dot_maddubs") -- 208 ns there, and 78 at the limit
    near(row.ratio, 2)
    near(row.other_ratio, 1)
end)

local function check_of(judged, what)
    for _, check in ipairs(judged.checks) do
        if check.what:find(what, 1, true) then return check end
    end
    error("no check of " .. what)
end

t.test("targets over several types and of other kinds are judged", function()
    local dot = {dot_maddubs = 54.6, dot_dpbusd_512 = 22.8, read_avx512 = 1, read_avx2 = 1}
    local judged = baseline.judge(document(3.5,
        {"Q4_0", "vec_dot", "l1", 2304, dot, {avx2 = {102, 0.1}}},   -- 2 times ggml's 204
        {"Q4_1", "vec_dot", "l1", 2560, dot, {avx2 = {380, 0.1}}},   -- half as fast as 190
        {"Q8_0", "vec_dot_rows", "l3", 4352, dot, {avx512 = {100, 0.79}}},
        {"Q4_K", "vec_dot_rows", "dram", 2304, dot, {avx512 = {100, 0.65}}},
        {"Q5_0", "dequantize", "l1", 2816, {copy_libc = 120, copy_avx2 = 100},
         {avx2 = {190, 1}}},
        {"Q4_0", "quantize", "l1", 16384, dot,
         {scalar = {4000, 1}, sse2 = {1000, 1}, avx2 = {900, 1}}},
        {"Q4_K", "quantize", "l1", 16384, dot, {avx512 = {30000, 1}}}), VALUES)
    local mean = check_of(judged, "avx2 vec_dot l1, geometric mean of 2 types")
    near(mean.value, 1)
    t.equal(mean.target, 1.15)
    t.equal(mean.met, false)
    t.equal(check_of(judged, "avx512 Q8_0 vec_dot_rows l3, share").met, false)
    t.equal(check_of(judged, "avx512 Q4_K vec_dot_rows dram, share").met, true)
    local copy = check_of(judged, "avx2 Q5_0 dequantize, times the copy of a row")
    near(copy.value, 1.9)
    t.equal(copy.met, true)
    near(check_of(judged, "sse2 quantize l1").value, 4)
    local pin = check_of(judged, "a call through a pin")
    t.equal(pin.met, false)
    local found = {}
    for _, row in ipairs(judged.rows) do found[row.type .. row.entry .. row.plugin] = row end
    t.equal(found.Q4_0quantizeavx2.target, 5)
    t.equal(found.Q4_Kquantizeavx512.target, 15)
    t.equal(found.Q4_0quantizescalar.target, nil)
    near(found.Q5_0dequantizeavx2.ratio, 3962 * 100 / 88 / 190)
    local printed = baseline.text(judged, function(x) return ("%.1f"):format(x) end)
    t.contains(printed, "\nTargets\n")
    t.contains(printed, "missed")
    t.contains(printed, " met\n")
    t.contains(printed, "at most 3")
end)

t.test("--baseline prints each cell beside ggml's, and JSON has it too", function()
    local words = {"--types", "Q8_0", "--plugins", "scalar", "--entries", "dequantize"}
    local out = bench("--baseline", table.unpack(words))
    t.contains(out, "\nBeside ggml: ")
    t.contains(out, "\n  Q8_0  dequantize  l1   scalar  dequantize ")
    local report = reader.decode(bench("--json", "--baseline", table.unpack(words)))
    t.equal(report.baseline.cells[1].ggml_ns, 599)
    t.equal(report.baseline.cells[1].scaled_by, "copy")
    t.equal(report.baseline.cells[1].target, reader.null)
    t.equal(report.baseline.targets[1].at_most, true)
end)

-- --- charts --------------------------------------------------------------------------------------

-- Raises unless the text is well-formed XML of elements, attributes and text.
local function check_xml(s)
    local open, i, count = {}, 1, 0
    local function check_text(text, what)
        t.equal(text:gsub("&%l+;", ""):find "[<>&]", nil, what .. text)
    end
    while i <= #s do
        local from, to, slash, name, rest = s:find("<(/?)([%a][%w]*)([^<>]*)>", i)
        check_text(s:sub(i, (from or #s + 1) - 1), "text ")
        if not from then break end
        if slash == "/" then
            t.equal(table.remove(open), name)
        else
            count = count + 1
            local attributes, empty = rest:match "^(.-)(/?)$"
            attributes = attributes:gsub('%s+[%a][%w:-]*="([^"<]*)"', function(value)
                check_text(value, "attribute ")
                return ""
            end)
            t.equal(attributes, "", "attributes of " .. name)
            if empty == "" then open[#open + 1] = name end
        end
        i = to + 1
    end
    t.equal(#open, 0)
    return count
end

t.test("--svg writes a file that is well-formed, self-contained, for light and dark", function()
    local file = t.path "bars.svg"
    local out = bench("--svg", file, table.unpack(THREE))
    t.contains(out, "F32   vec_dot  l1 ")
    local svg = t.read(file)
    t.equal(check_xml(svg) > 8, true)
    t.equal(svg:find '^<svg xmlns="http://www.w3.org/2000/svg" ' ~= nil, true)
    t.contains(svg, "prefers-color-scheme: dark")
    t.contains(svg, ">not timed</text>")
    t.contains(svg, 'class="best"')
    t.equal(select(2, svg:gsub("http", "")), 1) -- the name space and nothing that is fetched
    t.equal(t.exists(file .. ".part"), false)
    local status, _, err = t.shell(line("--types", "F32", "--svg", t.path "absent/x.svg"))
    t.equal(status, 1)
    t.contains(err, "cannot write " .. t.path "absent/x.svg")
end)

t.test("names are escaped in an SVG", function()
    local svg = chart.svg("a<b & \"c\"\1", {{title = "<>", bars = {
        {label = "&", share = 1, value = "</svg>"}, {label = "x", value = "not timed"}}}})
    t.equal(check_xml(svg) > 5, true)
    t.contains(svg, "a&lt;b &amp; &quot;c&quot;\\x01")
    t.lacks(svg, "\1")
end)

t.test("a bar is as long as its share, in eighths where there are blocks", function()
    local blocks, ascii = {unicode = true}, {}
    t.equal(chart.bar(1, 4, blocks), "████")
    t.equal(chart.bar(0.5, 4, blocks), "██")
    t.equal(chart.bar(0.53125, 4, blocks), "██▏")
    t.equal(chart.bar(0, 4, blocks), "▏")
    t.equal(chart.bar(2, 4, blocks), "████")
    t.equal(chart.bar(1, 4, ascii), "####")
    t.equal(chart.bar(0.4, 4, ascii), "##")
    t.equal(chart.bar(0, 4, ascii), "#")
    t.equal(chart.bar(1, 2, {colour = true}), "\27[32m##\27[0m")
end)

t.test("blocks and colours are for locales and terminals that have them", function()
    local function environment(values) return function(name) return values[name] end end
    t.equal(chart.is_unicode(environment {LANG = "de_DE.UTF-8"}), true)
    t.equal(chart.is_unicode(environment {LANG = "C.utf8"}), true)
    t.equal(chart.is_unicode(environment {LANG = "de_DE.UTF-8", LC_ALL = "C"}), false)
    t.equal(chart.is_unicode(environment {LC_ALL = "", LC_CTYPE = "en_GB.UTF-8"}), true)
    t.equal(chart.is_unicode(environment {}), false)
    local terminal = environment {TERM = "xterm"}
    t.equal(chart.is_coloured(true, terminal), true)
    t.equal(chart.is_coloured(false, terminal), false)
    t.equal(chart.is_coloured(true, environment {TERM = "dumb"}), false)
    t.equal(chart.is_coloured(true, environment {TERM = "xterm", NO_COLOR = "1"}), false)
    t.equal(chart.is_coloured(true, environment {}), false)
end)

t.test("every option is in the manual page and in the document", function()
    local help = t.succeed("bench", "--help")
    local man = t.read(t.source .. "/../man/qkern.1")
    local page = t.read(t.source .. "/../docs/console.md")
    local section = page:match "\n## qkern bench\n(.-)\n## "
    local count = 0
    for option in help:gmatch "\n  (%-%-%l+)" do
        count = count + 1
        t.contains(man, (option:gsub("%-", "\\-")))
        t.contains(section, "`" .. option)
    end
    t.equal(count, 12)
end)

-- --- the harness for scripts, and its end --------------------------------------------------------

t.test("a cell is used in order, closed, and refuses what it has not", function()
    local options = {type = "F32", entry = "vec_dot", n = 64, rows = 2, batch = 1000, rounds = 9,
                     plugins = {"scalar"}}
    local cell = qk.bench.cell(options)
    t.raises("no round has been run", cell.result, cell)
    t.raises("no such candidate", cell.warm_up, cell, 0)
    t.raises("no such candidate", cell.warm_up, cell, cell:candidates() + 1)
    local rounds = 0
    while cell:round() do rounds = rounds + 1 end
    t.equal(rounds, 9)
    t.equal(cell:result().plugins[1].timed, true)
    do local _ <close> = cell end
    t.raises("the cell is closed", cell.round, cell)
    options.rows = 0
    t.raises("field 'rows': a positive integer expected", qk.bench.cell, options)
    options.rows, options.type = 1, "Q4_K"
    t.raises("64", qk.bench.cell, options)
    options.type, options.rows = "F32", 1 << 50
    if t.sanitizer == "" then -- which ends the process
        t.raises("no memory for ", qk.bench.cell, options)
    end
    t.equal(qk.bench.size "48K", 49152)
    t.equal(qk.bench.size "x", nil)
    t.equal(qk.bench.pin_core(-1), nil)
end)

t.test("a signal ends it at once and leaves no file", function()
    local file = t.path "stopped.svg"
    local words = t.line("bench", "--types", "F32", "--seconds", "60", "--svg", file)
    local status, _, err = t.signalled("INT", "sleep 0.5", words)
    t.equal(status, 130, err)
    t.lacks(err, "traceback")
    t.equal(table.concat(t.names(t.work, "stopped"), " "), "")
end)

t.finish()
