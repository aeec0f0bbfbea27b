-- SPDX-License-Identifier: MIT
-- qkern bench: the report, as text and as a document for JSON.
local qk = require "qkern"
local chart = require "qkern.commands.bench.chart"
local json = require "qkern.commands.support.json"
local text = require "qkern.commands.support.text"

local report = {}

-- A number of any size, with about three digits.
function report.figure(x)
    return x < 9.995 and ("%.2f"):format(x) or x < 99.95 and ("%.1f"):format(x)
        or ("%.0f"):format(x)
end

local figure = report.figure

local function percent(x)
    return x and ("%.0f %%"):format(100 * x) or "-"
end

local function print_machine(measured)
    local out, run = io.stdout, measured.run
    out:write(qk._VERSION, ": ns for a row of ", ("%d"):format(run.n), " elements, seed ",
              ("%d"):format(run.seed), ", ", text.count(run.rounds, "round"), " of ",
              ("%.3g ms\n"):format(run.batch / 1e6))
    out:write(measured.core and ("core %d, pinned"):format(measured.core)
              or "not pinned: " .. measured.core_reason,
              ("; clock: %s, %d ns taken off\n"):format(measured.clock.name, measured.clock.cost))
    local caches = {}
    for level, cache in ipairs(measured.caches) do
        caches[level] = ("L%d %s (%s)"):format(level, text.size(cache.bytes), cache.source)
    end
    out:write("caches: ", table.concat(caches, ", "), "\n")
    for _, set in ipairs(run.sets) do
        out:write(set.name, ": ", set.bytes and text.size(set.bytes) .. ", " or "", set.rule, "\n")
    end
end

local function print_limits(measured)
    local rows = {}
    for _, limit in ipairs(measured.limits) do
        local unit, least, median = "ns", limit.least, limit.median
        if limit.kind == "read" then
            unit, least, median = "GB/s", limit.bytes / least, limit.bytes / median
        end
        rows[#rows + 1] = {limit.text, limit.set,
                           limit.set_bytes and text.size(limit.set_bytes) or "-", figure(least),
                           figure(median), unit}
    end
    io.stdout:write("\nLimits of this core\n",
                    text.table({"limit", "set", ">size", ">best", ">median", "unit"}, rows, "  "))
    local pin = measured.pin
    io.stdout:write(("\nA call through a pin costs %.1f ns more than a direct one [%.1f, %.1f]\n")
                    :format(pin.median, pin.low, pin.high))
end

-- The least time of those that are timed.
local function best_time(cell)
    local best
    for _, figures in ipairs(cell.results) do
        if figures.timed and (not best or figures.least < best) then best = figures.least end
    end
    return best
end

-- The first that is timed: what the others are compared with.
local function first_timed(cell)
    for _, figures in ipairs(cell.results) do
        if figures.timed then return figures end
    end
end

local BAR_WIDTH = 16

local COLUMNS = {"type", "entry", "set", "plugin", ">least", ">median", ">GB/s", ">of read",
                 ">times", "95 %", "speed"}

local function result_row(cell, figures, style)
    local row = {cell.type, cell.entry, cell.set.name, text.printable(figures.plugin.name)}
    local function add(...)
        for _, word in ipairs {...} do row[#row + 1] = word end
        return row
    end
    if not figures.timed then
        return add("-", "-", "-", "-", "-", "", "not timed: " .. figures.reason)
    end
    local ratio, is_first = figures.ratio, figures == first_timed(cell)
    return add(figure(figures.least), figure(figures.median), figure(figures.rate),
               percent(figures.share), is_first and "1" or figure(ratio.median),
               is_first and "" or ("[%s, %s]"):format(figure(ratio.low), figure(ratio.high)),
               chart.bar(best_time(cell) / figures.least, BAR_WIDTH, style))
end

-- Prints what was measured. style: as for chart.bar.
function report.print(measured, style)
    print_machine(measured)
    print_limits(measured)
    local rows = {}
    for _, cell in ipairs(measured.cells) do
        for _, figures in ipairs(cell.results) do
            if not figures.missing then rows[#rows + 1] = result_row(cell, figures, style) end
        end
    end
    io.stdout:write("\n", text.table(COLUMNS, rows))
    for _, note in ipairs(measured.notes) do
        io.stdout:write("note: ", text.printable(note), "\n")
    end
end

-- The same as an SVG file's text.
function report.svg(measured)
    local cells = {}
    for i, cell in ipairs(measured.cells) do
        local best, bars = best_time(cell), {}
        for _, figures in ipairs(cell.results) do
            if figures.timed then
                bars[#bars + 1] = {label = figures.plugin.name, share = best / figures.least,
                                   value = ("%s ns, %s GB/s"):format(figure(figures.least),
                                                                     figure(figures.rate))}
            elseif not figures.missing then
                bars[#bars + 1] = {label = figures.plugin.name, value = "not timed"}
            end
        end
        cells[i] = {title = ("%s %s, %s"):format(cell.type, cell.entry, cell.set.name), bars = bars}
    end
    return chart.svg(("%s: rows of %d elements, least time"):format(qk._VERSION, measured.run.n),
                     cells)
end

-- --- JSON ----------------------------------------------------------------------------------------

local function limit_json(limit)
    return json.object("name", limit.name, "kind", limit.kind, "set", limit.set,
                       "set_bytes", limit.set_bytes, "bytes", limit.bytes, "ns", limit.least,
                       "median_ns", limit.median)
end

-- The list with f of each item.
local function list_json(list, f)
    local result = json.array {}
    for i, item in ipairs(list) do result[i] = f(item) end
    return result
end

local function result_json(figures)
    local ratio = figures.ratio or {}
    return json.object(
        "plugin", figures.plugin.name, "version", figures.plugin.version, "timed", figures.timed,
        "reason", figures.reason, "least_ns", figures.least, "median_ns", figures.median,
        "low_ns", figures.low, "high_ns", figures.high, "gb_per_s", figures.rate,
        "of_read", figures.share, "times", ratio.median, "times_low", ratio.low,
        "times_high", ratio.high)
end

local function cell_json(cell)
    return json.object("type", cell.type, "entry", cell.entry, "set", cell.set.name,
                       "rows", cell.rows, "row_bytes", cell.row_bytes,
                       "limits", list_json(cell.limits, limit_json),
                       "results", list_json(cell.results, result_json))
end

-- The document of --json; `more` are further keys and values.
function report.document(measured, ...)
    local run = measured.run
    return json.object(
        "version", qk._VERSION:match("%S+$"), "n", run.n, "seed", run.seed, "rounds", run.rounds,
        "batch_ns", run.batch, "core", measured.core, "pinned", measured.core ~= nil,
        "clock", json.object("name", measured.clock.name, "cost_ns", measured.clock.cost),
        "caches", list_json(measured.caches, function(cache)
            return json.object("bytes", cache.bytes, "source", cache.source)
        end),
        "limits", list_json(measured.limits, limit_json),
        "pin", json.object("ns", measured.pin.median, "low_ns", measured.pin.low,
                           "high_ns", measured.pin.high),
        "cells", list_json(measured.cells, cell_json), "notes", json.array(measured.notes), ...)
end

return report
