-- SPDX-License-Identifier: MIT
-- The tables of docs/performance.md from reports of qkern bench --baseline --json:
--
--   build/bin/qkern run scripts/performance-tables.lua REPORT.json...
--
-- A table for each entry point and working set: ns for a row, and in brackets how many times as fast
-- that is as ggml, scaled as the report says. Then the targets, as the reports judge them.
local reader = require "qkern.commands.support.json_reader"

local function read(path)
    local file = assert(io.open(path))
    local report = reader.decode(file:read "a")
    file:close()
    if not report.baseline then error(path .. " was made without --baseline", 0) end
    return report
end

local function has(value) return value ~= nil and value ~= reader.null end

-- "123" or "1.2": three digits.
local function digits(v)
    return v >= 99.95 and ("%.0f"):format(v) or ("%.3g"):format(v)
end

-- times[type, entry, set, plugin]: as fast as ggml so many times; what has a target goes first.
local function times_of(report)
    local times = {}
    for _, cell in ipairs(report.baseline.cells) do
        local key = table.concat({cell.type, cell.entry, cell.set, cell.plugin}, " ")
        if not times[key] or has(cell.target) and not has(times[key].target) then
            times[key] = cell
        end
    end
    return times
end

local function print_row(fields) print("| " .. table.concat(fields, " | ") .. " |") end

local function print_head(fields)
    local rule = {}
    for i = 1, #fields do rule[i] = "---" end
    print_row(fields)
    print_row(rule)
end

-- The cells of one entry point and working set, in the order of the report.
local function print_cells(entry, set, cells, times)
    local plugins, seen = {}, {}
    for _, cell in ipairs(cells) do
        for _, result in ipairs(cell.results) do
            if not seen[result.plugin] then plugins[#plugins + 1] = result.plugin end
            seen[result.plugin] = true
        end
    end
    print(("\n%s, %s:\n"):format(entry, set))
    print_head {"type", table.unpack(plugins)}
    for _, cell in ipairs(cells) do
        local fields, ns = {cell.type}, {}
        for _, result in ipairs(cell.results) do
            if has(result.least_ns) then ns[result.plugin] = result.least_ns end
        end
        for _, plugin in ipairs(plugins) do
            local known = times[table.concat({cell.type, entry, set, plugin}, " ")]
            fields[#fields + 1] = not ns[plugin] and "" or digits(ns[plugin])
                .. (known and plugin ~= "scalar" and (" (%.2f)"):format(known.times) or "")
        end
        print_row(fields)
    end
end

local function print_report(report)
    local groups, order, times = {}, {}, times_of(report)
    for _, cell in ipairs(report.cells) do
        local key = cell.entry .. " " .. cell.set
        if not groups[key] then
            groups[key] = {}
            order[#order + 1] = key
        end
        table.insert(groups[key], cell)
    end
    for _, key in ipairs(order) do
        local first = groups[key][1]
        print_cells(first.entry, first.set, groups[key], times)
    end
end

local function print_targets(reports)
    print "\nTargets:\n"
    print_head {"what", "reached", "target", ""}
    for _, report in ipairs(reports) do
        for _, target in ipairs(report.baseline.targets) do
            print_row {target.what, ("%.2f"):format(target.value),
                       (target.at_most and "at most " or "at least ") .. target.target,
                       target.met and "met" or "missed"}
        end
    end
end

if #arg == 0 then error("which reports? See the head of " .. arg[0], 0) end
local reports = {}
for i, path in ipairs(arg) do reports[i] = read(path) end
for _, report in ipairs(reports) do print_report(report) end
print_targets(reports)
