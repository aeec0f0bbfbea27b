-- SPDX-License-Identifier: MIT
-- qkern bench --compare: two reports, cell by cell. Both are documents as --json writes them and
-- json_reader reads them.
--
-- A kernel counts as faster or slower only if two things agree: the least times differ by more than
-- what is usual between two runs (THRESHOLDS), and the intervals of the medians do not overlap. The
-- old times are first scaled by the limit that bears on the cell, if that differs as much: then the
-- machine is another, or its clock.
local reader = require "qkern.commands.support.json_reader"
local text = require "qkern.commands.support.text"

local compare = {}

-- How much two runs differ without a reason; in a matrix more than in a cache.
local THRESHOLDS = {l1 = 0.04, l2 = 0.04, l3 = 0.08, dram = 0.08}

local FASTER, SLOWER, NOISE = "faster", "slower", "within noise"

-- --- reading a report ----------------------------------------------------------------------------

local FIELDS = {
    cell = {type = "string", entry = "string", set = "string", limits = "table", results = "table"},
    limit = {name = "string", kind = "string", ns = "number"},
    result = {plugin = "string", timed = "boolean"},
    timed = {least_ns = "number", low_ns = "number", high_ns = "number"},
}

local function has_fields(value, fields)
    if type(value) ~= "table" then return false end
    for key, kind in pairs(fields) do
        if type(value[key]) ~= kind then return false end
    end
    return true
end

local function all(list, check)
    for _, item in ipairs(list) do
        if not check(item) then return false end
    end
    return true
end

local function is_result(result)
    return has_fields(result, FIELDS.result)
        and (not result.timed or has_fields(result, FIELDS.timed))
end

local function is_limit(limit) return has_fields(limit, FIELDS.limit) end

local function is_cell(cell)
    return has_fields(cell, FIELDS.cell) and all(cell.limits, is_limit)
        and all(cell.results, is_result)
end

-- The report in a text: nil and the reason if there is none in it.
function compare.read(content)
    local ok, document = pcall(reader.decode, content)
    if not ok then
        if type(document) == "string" and document:find "^JSON: " then return nil, document end
        if type(document) == "string" and document:find "stack overflow" then
            return nil, "JSON: nested too deeply"
        end
        error(document, 0)
    end
    if not has_fields(document, {n = "number", cells = "table"}) or not all(document.cells, is_cell)
    then
        return nil, "it is not a report of qkern bench --json"
    end
    return document
end

-- --- comparing -----------------------------------------------------------------------------------

local function key_of(...)
    return table.concat({...}, "\0")
end

-- The kinds of limits that bear on a cell, the first that there is counts.
local function kind_of_limit(cell)
    if cell.set == "l3" or cell.set == "dram" then return "read" end
    return cell.entry == "dequantize" and "copy" or "dot"
end

-- How much longer the last limit of that kind which both cells have takes in the new one; 1 if it
-- differs no more than the threshold.
local function scale_of(old, new, threshold)
    local kind, before, scale = kind_of_limit(new), {}, 1
    for _, limit in ipairs(old.limits) do before[limit.name] = limit.ns end
    for _, limit in ipairs(new.limits) do
        local ns = before[limit.name]
        if limit.kind == kind and ns and ns > 0 and limit.ns > 0 then scale = limit.ns / ns end
    end
    return math.max(scale, 1 / scale) > 1 + threshold and scale or 1
end

-- The verdict on a result, for an old one whose times are multiplied by `scale`; and the ratio of
-- the least times, above 1 if the new one is faster.
function compare.verdict(old, new, scale, threshold)
    local ratio = old.least_ns * scale / new.least_ns
    if ratio > 1 + threshold and new.high_ns < old.low_ns * scale then return FASTER, ratio end
    if ratio < 1 / (1 + threshold) and new.low_ns > old.high_ns * scale then
        return SLOWER, ratio
    end
    return NOISE, ratio
end

-- {rows, counts by verdict, only_old, only_new}.
function compare.reports(old, new)
    local before, outcome = {}, {rows = {}, only_old = 0, only_new = 0,
                                 counts = {[FASTER] = 0, [SLOWER] = 0, [NOISE] = 0}}
    for _, cell in ipairs(old.cells) do
        for _, result in ipairs(cell.results) do
            if result.timed then
                before[key_of(cell.type, cell.entry, cell.set, result.plugin)] = {cell, result}
                outcome.only_old = outcome.only_old + 1
            end
        end
    end
    for _, cell in ipairs(new.cells) do
        for _, result in ipairs(cell.results) do
            local found = before[key_of(cell.type, cell.entry, cell.set, result.plugin)]
            if result.timed and not found then
                outcome.only_new = outcome.only_new + 1
            elseif result.timed then
                local threshold = THRESHOLDS[cell.set] or 0.08
                local scale = scale_of(found[1], cell, threshold)
                local verdict, ratio = compare.verdict(found[2], result, scale, threshold)
                outcome.only_old = outcome.only_old - 1
                outcome.counts[verdict] = outcome.counts[verdict] + 1
                table.insert(outcome.rows, {
                    type = cell.type, entry = cell.entry, set = cell.set, plugin = result.plugin,
                    old = found[2].least_ns, scale = scale, new = result.least_ns, ratio = ratio,
                    verdict = verdict})
            end
        end
    end
    return outcome
end

-- --- printing ------------------------------------------------------------------------------------

-- The outcome as text. figure(x) writes a number.
function compare.text(outcome, path, figure)
    local rows = {}
    for i, row in ipairs(outcome.rows) do
        rows[i] = {text.printable(row.type), row.entry, row.set, text.printable(row.plugin),
                   figure(row.old), row.scale == 1 and "-" or ("%.2f"):format(row.scale),
                   figure(row.new), ("%.2f"):format(row.ratio), row.verdict}
    end
    local counts = outcome.counts
    local lines = {("\nAgainst %s\n"):format(text.printable(path)),
        text.table({"type", "entry", "set", "plugin", ">old", ">scaled by", ">new", ">times",
                    "verdict"}, rows, "  "),
        ("%d faster, %d slower, %d within noise"):format(counts[FASTER], counts[SLOWER],
                                                         counts[NOISE])}
    if outcome.only_old > 0 then
        lines[#lines + 1] = ("; %d only in the old report"):format(outcome.only_old)
    end
    if outcome.only_new > 0 then
        lines[#lines + 1] = ("; %d only in this one"):format(outcome.only_new)
    end
    return table.concat(lines) .. "\n"
end

return compare
