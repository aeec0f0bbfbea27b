-- SPDX-License-Identifier: MIT
-- qkern bench: times the kernels of several plugins against each other, and against the limits of
-- the core. A timing is never a reason to fail.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local json = require "qkern.commands.support.json"
local named = require "qkern.commands.support.named"
local options = require "qkern.commands.support.options"
local progress = require "qkern.commands.support.progress"
local text = require "qkern.commands.support.text"

local bench = {
    name = "bench",
    arguments = "",
    operands = {0, 0},
    summary = "time the kernels of all plugins against each other",
    help = [[
Times the kernels of each plugin, those that are not chosen too, and prints nanoseconds for a row of
N elements: the least and the median of many batches. The candidates take turns batch by batch, in
an order drawn anew for each round, pinned to one core. "of read" is the share of the core's
bandwidth when it does nothing but read the same data; "times" says how many times as fast a kernel
is as the first plugin's, with an interval of 95 %. A kernel whose bits are not those of the scalar
plugin is not timed.

Sets: l1, l2, l3 (a matrix beyond the L2 cache), dram (one beyond the L3 cache); NAME=SIZE gives
another size, as in l3=64M. The exit status does not depend on any timing.
]],
    options = {
        {"--types", "LIST", "only these types: Q4_0,Q4_K; default: all with kernels"},
        {"--plugins", "LIST", "only these plugins; the first is what the others are compared with"},
        {"--entries", "LIST", "entry points; default: vec_dot"},
        {"--sets", "LIST", "working sets: l1,l2,l3,dram; default: l1"},
        {"--n", "N", "elements of a row; default: 4096"},
        {"--seconds", "S", "time for each kernel of a cell; default: 0.05"},
        {"--core", "N", "the core to run on; default: where it is"},
        {"--seed", "N", "of the data and of the order; default: 1"},
        {"--json", nil, "print it as JSON"},
    },
}

local DEFAULT_SECONDS, LEAST_ROUNDS, BATCH_NS = 0.05, 9, 2000000
local PIN_SECONDS = 0.05

-- --- the command line ----------------------------------------------------------------------------

local function number_option(args, name, default, least, most)
    local word = args[name]
    if not word then return default end
    local value = tonumber(word)
    if not value or value ~= value or value < least or value > most then
        options.fail(bench, "--%s %s: expected a number from %g to %g", name, word, least, most)
    end
    return value
end

local function integer_option(args, name, default, least, most)
    local word = args[name]
    if not word then return default end
    local value = word:find "^%d+$" and math.tointeger(tonumber(word))
    if not value or value < least or value > most then
        options.fail(bench, "--%s %s: expected a whole number from %d to %d", name, word, least,
                     most)
    end
    return value
end

-- The plugins to time, records, each once; by default all that can be used, the slowest tier first.
local function wanted_plugins(list)
    local records, seen = {}, {}
    local function add(plugin)
        if not seen[plugin.name] then records[#records + 1] = plugin end
        seen[plugin.name] = true
    end
    if list then
        for _, name in ipairs(named.words(bench, "--plugins", list, "plugin")) do
            add(named.plugin(bench, "--plugins", name))
        end
        return records
    end
    for _, plugin in ipairs(qk.plugins()) do
        if plugin.ready then add(plugin) end
    end
    table.sort(records, function(a, b)
        if a.tier ~= b.tier then return a.tier < b.tier end
        return a.name < b.name
    end)
    return records
end

local function wanted_entries(list)
    local known, entries = {}, {}
    for _, entry in ipairs(qk.entries()) do known[entry] = true end
    for i, word in ipairs(named.words(bench, "--entries", list or "vec_dot", "entry point")) do
        if not known[word] then
            options.fail(bench, "--entries: there is no entry point %s; there are %s", word,
                         table.concat(qk.entries(), ", "))
        end
        entries[i] = word
    end
    return entries
end

-- A list of {name, rule, bytes}; bytes only if a size is given.
local function wanted_sets(list)
    local known, names, sets = {}, {}, {}
    for i, set in ipairs(qk.bench.sets()) do known[set.name], names[i] = set, set.name end
    for i, word in ipairs(named.words(bench, "--sets", list or "l1", "working set")) do
        local name, size = word:match "^([^=]*)=?(.*)$"
        if not known[name] then
            options.fail(bench, "--sets: there is no working set %s; there are %s", name,
                         table.concat(names, ", "))
        end
        local bytes = size ~= "" and qk.bench.size(size) or nil
        if word:find("=", 1, true) and not bytes then
            options.fail(bench, "--sets %s: expected a size as in %s=64M", word, name)
        end
        sets[i] = {name = name, rule = bytes and "as given" or known[name].rule, bytes = bytes}
    end
    return sets
end

local function wanted_types(list)
    if list then return named.types(bench, "--types", list) end
    local names = {}
    for i, kind in ipairs(qk.types()) do names[i] = kind.name end
    return names
end

-- What is to be done, from the command line.
local function read_options(args)
    local run = {
        plugins = wanted_plugins(args.plugins),
        entries = wanted_entries(args.entries),
        sets = wanted_sets(args.sets),
        types = wanted_types(args.types),
        n = integer_option(args, "n", 4096, 1, 1 << 24),
        seconds = number_option(args, "seconds", DEFAULT_SECONDS, 0.0001, 3600),
        seed = integer_option(args, "seed", 1, 0, math.maxinteger),
        core = integer_option(args, "core", nil, 0, 1 << 20),
        all_types = not args.types,
    }
    local ns = run.seconds * 1e9
    run.batch = math.max(1, math.min(BATCH_NS, math.floor(ns / LEAST_ROUNDS)))
    run.rounds = math.max(LEAST_ROUNDS, math.floor(ns / run.batch))
    return run
end

-- --- measuring -----------------------------------------------------------------------------------

-- Whether any of the plugins has the entry point for the type.
local function is_there(plugins, kind, entry)
    for _, plugin in ipairs(plugins) do
        local kernel = failure.try(qk.kernel, kind, plugin.name)
        if kernel and kernel:has(entry) then return true end
    end
    return false
end

-- The cells to be measured, and notes on what is left out.
local function plan(run)
    local cells, notes = {}, {}
    for _, set in ipairs(run.sets) do
        for _, entry in ipairs(run.entries) do
            for _, kind in ipairs(run.types) do
                if is_there(run.plugins, kind, entry) then
                    local rows, err = failure.try(qk.bench.rows, kind, entry, run.n,
                                                  set.bytes or set.name)
                    if rows then
                        cells[#cells + 1] = {type = kind, entry = entry, set = set, rows = rows}
                    else
                        notes[#notes + 1] = ("%s %s is left out: %s"):format(kind, entry,
                                                                            err.message)
                    end
                elseif not run.all_types then
                    notes[#notes + 1] = ("%s %s is left out: no plugin has it"):format(kind, entry)
                end
            end
        end
    end
    return cells, notes
end

-- Runs something with the methods of a cell. `shown` takes a unit for each round.
local function measure(trial, shown, what)
    for i = 1, trial:candidates() do trial:warm_up(i) end
    while trial:round() do shown:add(1, what) end
    return trial:result()
end

local function new_cell(run, kind, entry, rows, plugins)
    local names = {}
    for i, plugin in ipairs(plugins) do names[i] = plugin.name end
    return qk.bench.cell {type = kind, entry = entry, n = run.n, rows = rows, seed = run.seed,
                          batch = run.batch, rounds = run.rounds, plugins = names}
end

-- The limits for each set: without plugins a cell has only those.
local LIMIT_TYPE, LIMIT_ENTRY = "Q8_0", "vec_dot"

local function measure_limits(run, shown)
    local list = {}
    for i, set in ipairs(run.sets) do
        local rows = qk.bench.rows(LIMIT_TYPE, LIMIT_ENTRY, 4096, set.bytes or set.name)
        local cell <close> = new_cell({n = 4096, seed = run.seed, batch = run.batch,
                                       rounds = run.rounds}, LIMIT_TYPE, LIMIT_ENTRY, rows, {})
        local result = measure(cell, shown, "limits " .. set.name)
        for _, limit in ipairs(result.limits) do
            if limit.kind == "read" or i == 1 then -- dots and copies have data of their own
                limit.set = limit.kind == "read" and set.name or "l1"
                limit.set_bytes = limit.kind == "read" and result.rows * result.row_bytes or nil
                list[#list + 1] = limit
            end
        end
    end
    return list
end

local function measure_pin(run, shown)
    local rounds = math.max(LEAST_ROUNDS,
                            math.floor(math.min(run.seconds, PIN_SECONDS) * 1e9 / run.batch))
    local pin <close> = qk.bench.pin {seed = run.seed, batch = run.batch, rounds = rounds}
    return measure(pin, shown, "pins")
end

-- The least time of the cell's readers: what its data takes to be read at all.
local function read_time(result)
    local least
    for _, limit in ipairs(result.limits) do
        if limit.kind == "read" and (not least or limit.least < least) then least = limit.least end
    end
    return least
end

local function measure_cell(run, cell, shown)
    local trial <close> = new_cell(run, cell.type, cell.entry, cell.rows, run.plugins)
    local result = measure(trial, shown, ("%s %s %s"):format(cell.type, cell.entry, cell.set.name))
    local read = read_time(result)
    cell.limits, cell.row_bytes, cell.rounds = result.limits, result.row_bytes, result.rounds
    cell.results = result.plugins
    for i, figures in ipairs(cell.results) do
        figures.plugin = run.plugins[i]
        if figures.timed then
            figures.rate = result.row_bytes / figures.least -- GB/s
            figures.share = read and read / figures.least
        end
    end
end

local function picture(self, what)
    return ("%3d %%  %s"):format(self.total > 0 and self.done * 100 // self.total or 100,
                                 text.printable(what))
end

local function measure_all(run, show)
    local cells, notes = plan(run)
    if #cells == 0 then
        failure.raise(failure.USAGE, "nothing to time" .. (notes[1] and ": " .. notes[1] or ""))
    end
    local core, reason = qk.bench.pin_core(run.core)
    if not core and run.core then
        failure.raise(failure.USAGE, ("--core %d: %s"):format(run.core, reason))
    end
    local shown <close> = progress.new((#cells + #run.sets) * run.rounds, show, picture)
    local report = {run = run, cells = cells, notes = notes, core = core, core_reason = reason,
                    clock = qk.bench.clock(), caches = qk.bench.caches()}
    report.limits = measure_limits(run, shown)
    report.pin = measure_pin(run, progress.new(0, false))
    for _, cell in ipairs(cells) do measure_cell(run, cell, shown) end
    return report
end

-- --- the report ----------------------------------------------------------------------------------

-- Three significant digits, more before the point.
local function figure(x)
    return x < 9.995 and ("%.2f"):format(x) or x < 99.95 and ("%.1f"):format(x)
        or ("%.0f"):format(x)
end

local function percent(x)
    return x and ("%.0f %%"):format(100 * x) or "-"
end

local function print_machine(report)
    local out, run = io.stdout, report.run
    out:write(qk._VERSION, ": ns for a row of ", ("%d"):format(run.n), " elements, seed ",
              ("%d"):format(run.seed), ", ", text.count(run.rounds, "round"), " of ",
              ("%g ms\n"):format(run.batch / 1e6))
    out:write(report.core and ("core %d, pinned"):format(report.core)
              or "not pinned: " .. report.core_reason,
              ("; clock: %s, %d ns taken off\n"):format(report.clock.name, report.clock.cost))
    local caches = {}
    for level, cache in ipairs(report.caches) do
        caches[level] = ("L%d %s (%s)"):format(level, text.size(cache.bytes), cache.source)
    end
    out:write("caches: ", table.concat(caches, ", "), "\n")
    for _, set in ipairs(run.sets) do
        out:write(set.name, ": ", set.bytes and text.size(set.bytes) .. ", " or "", set.rule, "\n")
    end
end

local function print_limits(report)
    local rows = {}
    for _, limit in ipairs(report.limits) do
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
    local pin = report.pin
    io.stdout:write(("\nA call through a pin costs %.1f ns more than a direct one [%.1f, %.1f]\n")
                    :format(pin.median, pin.low, pin.high))
end

local function result_row(cell, figures, first)
    local row = {cell.type, cell.entry, cell.set.name, text.printable(figures.plugin.name)}
    if not figures.timed then
        return table.move({"-", "-", "-", "-", "-", "not timed: " .. figures.reason}, 1, 6, 5, row)
    end
    local ratio = figures.ratio
    return table.move({
        figure(figures.least), figure(figures.median), figure(figures.rate),
        percent(figures.share), figures == first and "1" or figure(ratio.median),
        figures == first and "" or ("[%s, %s]"):format(figure(ratio.low), figure(ratio.high)),
    }, 1, 6, 5, row)
end

-- The first that is timed: what the others are compared with.
local function first_timed(cell)
    for _, figures in ipairs(cell.results) do
        if figures.timed then return figures end
    end
end

local COLUMNS = {"type", "entry", "set", "plugin", ">least", ">median", ">GB/s", ">of read",
                 ">times", "95 %"}

local function print_text(report)
    print_machine(report)
    print_limits(report)
    local rows = {}
    for _, cell in ipairs(report.cells) do
        local first = first_timed(cell)
        for _, figures in ipairs(cell.results) do
            if not figures.missing then rows[#rows + 1] = result_row(cell, figures, first) end
        end
    end
    io.stdout:write("\n", text.table(COLUMNS, rows))
    for _, note in ipairs(report.notes) do io.stdout:write("note: ", text.printable(note), "\n") end
end

local function limit_json(limit)
    return json.object("name", limit.name, "kind", limit.kind, "set", limit.set,
                       "set_bytes", limit.set_bytes, "bytes", limit.bytes, "ns", limit.least,
                       "median_ns", limit.median)
end

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

local function report_json(report)
    local run = report.run
    return json.object(
        "version", qk._VERSION:match("%S+$"), "n", run.n, "seed", run.seed, "rounds", run.rounds,
        "batch_ns", run.batch, "core", report.core, "pinned", report.core ~= nil,
        "clock", json.object("name", report.clock.name, "cost_ns", report.clock.cost),
        "caches", list_json(report.caches, function(cache)
            return json.object("bytes", cache.bytes, "source", cache.source)
        end),
        "limits", list_json(report.limits, limit_json),
        "pin", json.object("ns", report.pin.median, "low_ns", report.pin.low,
                           "high_ns", report.pin.high),
        "cells", list_json(report.cells, cell_json), "notes", json.array(report.notes))
end

function bench.run(args)
    local report = measure_all(read_options(args), args.terminal)
    if args.json then
        json.print(report_json(report))
    else
        print_text(report)
    end
    return 0
end

return bench
