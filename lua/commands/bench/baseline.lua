-- SPDX-License-Identifier: MIT
-- qkern bench --baseline: a report beside ggml's times, and what this project has set itself to
-- reach. The report is a document as --json writes it and json_reader reads it.
--
-- ggml's times are of another machine. They are scaled by a limit that was measured on both: what
-- the limit takes here over what it took there.
local text = require "qkern.commands.support.text"

local baseline = {}

-- Which of ggml's builds a plugin stands beside, and the dot product whose time scales it.
local BUILDS = {
    avx2 = {isa = "avx2", dot = "dot_maddubs"},
    avxvnni = {isa = "avx2", dot = "dot_maddubs"},
    avx512 = {isa = "avx512", dot = "dot_dpbusd_512"},
}

local SIMPLE_DOT = "dot_maddubs" -- scales what ggml has no instruction sets for

-- A matrix of the baseline is bound by memory if it took at most so many times what reading takes.
local MEMORY_BOUND = 1.25

-- --- the table -----------------------------------------------------------------------------------

-- The text of baseline.tsv as values by type and quantity.
function baseline.parse(content)
    local values = {}
    for line in content:gmatch "[^\n]+" do
        if line:sub(1, 1) ~= "#" then
            local kind, quantity, value = line:match "^(%S+)\t(%S+)\t(%S+)\t%S+$"
            values[kind] = values[kind] or {}
            values[kind][quantity] = assert(tonumber(value), line)
        end
    end
    return values
end

-- --- targets -------------------------------------------------------------------------------------

local function set_of(list)
    local set = {}
    for name in list:gmatch "%S+" do set[name] = true end
    return set
end

local LEGACY = set_of "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1"
local NO_SEARCH = set_of "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1 Q8_K"
local ACTIVATIONS = set_of "Q8_0 Q8_1 Q8_K"
local K_TARGETS = {Q2_K = 10, Q4_K = 10, Q5_K = 10, Q3_K = 6, Q6_K = 6} -- avx2
local K_FACTOR = {avx2 = 1, avx512 = 1.5}

-- The least ratio that a plugin is to reach for a type; nil if none is set.
local TARGETS = {
    vec_dot = function() return 1 end,
    dequantize = function() return 5 end,
    dequantize_simd = function() return 5 end,
    quantize = function(plugin, kind)
        if NO_SEARCH[kind] then return 5 end
        return K_TARGETS[kind] and K_TARGETS[kind] * K_FACTOR[plugin]
    end,
    quantize_simd = function(_, kind) return ACTIVATIONS[kind] and 1 end,
}

local AIMED = {avx2 = true, avx512 = true} -- plugins with targets against ggml

-- Of the geometric mean over types: entry, set, target by plugin.
local MEANS = {
    {"vec_dot", "l1", {avx2 = 1.15, avx512 = 1.5}},
    {"vec_dot_rows", "l3", {avx2 = 1.3, avx512 = 1.5}},
}

-- Of the share of the read bandwidth: entry, set, plugin, target by type.
local SHARES = {
    {"vec_dot_rows", "l3", "avx512", {Q8_0 = 0.8, Q4_0 = 0.6, Q4_K = 0.6}},
    {"vec_dot_rows", "dram", "avx2", {Q8_0 = 0.8, Q4_0 = 0.65, Q4_K = 0.65}},
    {"vec_dot_rows", "dram", "avx512", {Q8_0 = 0.8, Q4_0 = 0.65, Q4_K = 0.65}},
}

local COPY_TIMES = 2   -- dequantize of legacy types takes at most so many times what copying takes
local SSE2_TIMES = 2   -- over scalar, on the geometric mean
local PIN_NS = 3       -- that a pin may add to a call

-- --- scaling -------------------------------------------------------------------------------------

-- A limit of a cell by its name, in ns; for "copy" the fastest of the copies.
local function limit_ns(cell, name)
    local least
    for _, limit in ipairs(cell.limits) do
        local wanted = limit.name == name or name == "copy" and limit.kind == "copy"
        if wanted and (not least or limit.ns < least) then least = limit.ns end
    end
    return least
end

-- {by, factor} for a limit in ns; nil if it was not measured here.
local function by_time(cell, limits, name)
    local here = limit_ns(cell, name)
    return here and {by = name, factor = here / limits[name]}
end

local function by_bandwidth(cell, limits, isa)
    local here, there = limit_ns(cell, "read_" .. isa), limits[("read_%s_%s"):format(cell.set, isa)]
    return here and {by = "read_" .. isa, factor = there * here / cell.row_bytes}
end

-- What a cell's result is compared with: a list of {quantity, name in the table, scalings}, the
-- scaling that counts first.
local function quantities(cell, plugin, values)
    local limits, build = values.limit, BUILDS[plugin]
    local figures = values[cell.type] or {}
    if cell.entry == "vec_dot" and cell.set == "l1" and build then
        return {{quantity = "vec_dot", name = "vec_dot_" .. build.isa,
                 scalings = {by_time(cell, limits, build.dot)}}}
    elseif cell.entry:find "^vec_dot" and (cell.set == "l3" or cell.set == "dram") and build then
        local quantity = cell.set == "l3" and "matrix" or "dram"
        local name = ("%s_%s"):format(quantity, build.isa)
        local dot, read = by_time(cell, limits, build.dot), by_bandwidth(cell, limits, build.isa)
        if not dot or not read then return {} end
        local floor = cell.row_bytes / limits[("read_%s_%s"):format(cell.set, build.isa)]
        local bound = (figures[name] or 0) <= MEMORY_BOUND * floor
        return {{quantity = quantity, name = name,
                 scalings = bound and {read, dot} or {dot, read}}}
    elseif cell.set == "l1" and cell.entry:find "quantize" then
        local scaling = by_time(cell, limits, cell.entry == "dequantize" and "copy" or SIMPLE_DOT)
        return {{quantity = cell.entry, name = cell.entry, scalings = {scaling}},
                {quantity = cell.entry .. "_simd", name = cell.entry .. "_simd",
                 scalings = {scaling}}}
    end
    return {}
end

local function met(ratio, target)
    if not target then return nil end
    return ratio >= target
end

-- The rows of a result.
local function add_rows(rows, cell, result, values)
    for _, q in ipairs(quantities(cell, result.plugin, values)) do
        local ggml, first, other = (values[cell.type] or {})[q.name], q.scalings[1], q.scalings[2]
        if ggml and first then
            local target = AIMED[result.plugin] and TARGETS[q.quantity]
                and TARGETS[q.quantity](result.plugin, cell.type) or nil
            local ratio = ggml * first.factor / result.least_ns
            rows[#rows + 1] = {
                type = cell.type, entry = cell.entry, set = cell.set, plugin = result.plugin,
                quantity = q.quantity, ours = result.least_ns, ggml = ggml, by = first.by,
                factor = first.factor, scaled = ggml * first.factor, ratio = ratio,
                target = target, met = met(ratio, target), other_by = other and other.by,
                other_ratio = other and ggml * other.factor / result.least_ns}
        end
    end
end

-- --- what is asked of several types, or without ggml ---------------------------------------------

local function geometric_mean(list)
    local sum = 0
    for _, x in ipairs(list) do sum = sum + math.log(x) end
    return math.exp(sum / #list)
end

local function add_means(checks, rows)
    for _, mean in ipairs(MEANS) do
        local entry, set, targets = table.unpack(mean)
        for _, plugin in ipairs {"avx2", "avx512"} do
            local ratios = {}
            for _, row in ipairs(rows) do
                if row.entry == entry and row.set == set and row.plugin == plugin then
                    ratios[#ratios + 1] = row.ratio
                end
            end
            if #ratios > 0 then
                local value = geometric_mean(ratios)
                checks[#checks + 1] = {
                    what = ("%s %s %s, geometric mean of %s, times ggml"):format(
                        plugin, entry, set, text.count(#ratios, "type")),
                    value = value, target = targets[plugin], met = value >= targets[plugin]}
            end
        end
    end
end

-- Calls f(cell, result) for everything timed in the report.
local function each_result(document, f)
    for _, cell in ipairs(document.cells) do
        for _, result in ipairs(cell.results) do
            if result.timed then f(cell, result) end
        end
    end
end

local function add_shares(checks, document)
    for _, share in ipairs(SHARES) do
        local entry, set, plugin, targets = table.unpack(share)
        each_result(document, function(cell, result)
            local target = targets[cell.type]
            if cell.entry == entry and cell.set == set and result.plugin == plugin and target then
                checks[#checks + 1] = {
                    what = ("%s %s %s %s, share of the read bandwidth"):format(plugin, cell.type,
                                                                              entry, set),
                    value = result.of_read, target = target, met = result.of_read >= target}
            end
        end)
    end
end

local function add_copies(checks, document)
    each_result(document, function(cell, result)
        local copy = limit_ns(cell, "copy")
        if cell.entry == "dequantize" and cell.set == "l1" and copy and LEGACY[cell.type]
            and AIMED[result.plugin] then
            local value = result.least_ns / copy
            checks[#checks + 1] = {
                what = ("%s %s dequantize, times the copy of a row"):format(result.plugin,
                                                                           cell.type),
                value = value, target = COPY_TIMES, at_most = true, met = value <= COPY_TIMES}
        end
    end)
end

local function add_sse2(checks, document)
    local ratios, entries = {}, {}
    for _, cell in ipairs(document.cells) do
        local least = {}
        for _, result in ipairs(cell.results) do
            least[result.plugin] = result.timed and result.least_ns or nil
        end
        if cell.set == "l1" and least.scalar and least.sse2 then
            if not ratios[cell.entry] then
                ratios[cell.entry] = {}
                entries[#entries + 1] = cell.entry
            end
            table.insert(ratios[cell.entry], least.scalar / least.sse2)
        end
    end
    for _, entry in ipairs(entries) do
        local value = geometric_mean(ratios[entry])
        checks[#checks + 1] = {
            what = ("sse2 %s l1, geometric mean of %s, times scalar"):format(
                entry, text.count(#ratios[entry], "type")),
            value = value, target = SSE2_TIMES, met = value >= SSE2_TIMES}
    end
end

-- {rows, checks}: each cell beside ggml's time, and the other targets.
function baseline.judge(document, values)
    local rows, checks = {}, {}
    each_result(document, function(cell, result) add_rows(rows, cell, result, values) end)
    add_means(checks, rows)
    add_shares(checks, document)
    add_copies(checks, document)
    add_sse2(checks, document)
    local pin = document.pin.ns
    checks[#checks + 1] = {what = "a call through a pin, ns over a direct one", value = pin,
                           target = PIN_NS, at_most = true, met = pin <= PIN_NS}
    return {rows = rows, checks = checks}
end

-- --- printing ------------------------------------------------------------------------------------

local function verdict(is_met)
    if is_met == nil then return "-" end
    return is_met and "met" or "missed"
end

-- The judgement as text. figure(x) writes a number.
function baseline.text(judgement, figure)
    local rows, checks = {}, {}
    for i, row in ipairs(judgement.rows) do
        rows[i] = {row.type, row.entry, row.set, row.plugin, row.quantity, figure(row.ours),
                   figure(row.ggml), row.by, figure(row.scaled), ("%.2f"):format(row.ratio),
                   row.target and ("%g"):format(row.target) or "-", verdict(row.met),
                   row.other_by and ("%.2f by %s"):format(row.other_ratio, row.other_by) or ""}
    end
    for i, check in ipairs(judgement.checks) do
        checks[i] = {check.what, ("%.2f"):format(check.value),
                     (check.at_most and "at most %g" or "at least %g"):format(check.target),
                     verdict(check.met)}
    end
    return "\nBeside ggml: its ns there, and scaled by a limit measured in both runs\n"
        .. text.table({"type", "entry", "set", "plugin", "ggml's", ">ours", ">there", "by",
                       ">scaled", ">times", ">target", "verdict", "other scaling"}, rows, "  ")
        .. "\nTargets\n" .. text.table({"what", ">reached", ">target", "verdict"}, checks, "  ")
end

return baseline
