-- SPDX-License-Identifier: MIT
-- qkern bench: what is measured, cell by cell.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local progress = require "qkern.commands.support.progress"
local text = require "qkern.commands.support.text"
local verify = require "qkern.commands.verify"

local measure = {}

measure.LEAST_ROUNDS = 9 -- the interval is then between the second and the eighth timing

local PIN_SECONDS = 0.05

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

-- The plugin whose kernels are what the others are held to.
local REFERENCE = "scalar"

-- What `qkern verify` finds wrong in the plugins, of the types that are to be timed: a function of
-- a plugin's name, a type and an entry point that gives the reason, or nil.
local function find_wrong(run, cells, show)
    local reasons, types, seen = {}, {}, {}
    for _, cell in ipairs(cells) do
        if not seen[cell.type] then types[#types + 1] = cell.type end
        seen[cell.type] = true
    end
    for _, record in ipairs(run.plugins) do
        if record.name ~= REFERENCE then
            local plugin = {name = record.name, version = record.version, path = record.path}
            verify.judge(plugin, {types = types, seed = run.seed, times = 1, terminal = show})
            local found = {all = plugin.reason}
            for _, kernel in ipairs(plugin.kernels) do
                if kernel.result == "wrong" then
                    found[kernel.type .. " " .. kernel.entry] =
                        ("%s: %s"):format(kernel.failure.kind, kernel.failure.text)
                end
            end
            reasons[record.name] = found
        end
    end
    return function(name, kind, entry)
        local found = reasons[name] or {}
        return found.all or found[kind .. " " .. entry]
    end
end

-- Runs something with the methods of a cell. `shown` takes a unit for each round.
local function run_trial(trial, shown, what)
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
        local result = run_trial(cell, shown, "limits " .. set.name)
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
    local rounds = math.max(measure.LEAST_ROUNDS,
                            math.floor(math.min(run.seconds, PIN_SECONDS) * 1e9 / run.batch))
    local pin <close> = qk.bench.pin {seed = run.seed, batch = run.batch, rounds = rounds}
    return run_trial(pin, shown, "pins")
end

-- The least time of the cell's readers: what its data takes to be read at all.
local function read_time(result)
    local least
    for _, limit in ipairs(result.limits) do
        if limit.kind == "read" and (not least or limit.least < least) then least = limit.least end
    end
    return least
end

-- The plugins that may be timed in the cell, and for each of all, in their order, what there is to
-- say of it before: a reason against it, or nothing.
local function admit(run, cell, wrong)
    local admitted, results = {}, {}
    for i, plugin in ipairs(run.plugins) do
        local reason = wrong(plugin.name, cell.type, cell.entry)
        results[i] = {plugin = plugin, timed = false, missing = false, reason = reason}
        if not reason then admitted[#admitted + 1] = plugin end
    end
    return admitted, results
end

local function measure_cell(run, cell, wrong, shown)
    local admitted, results = admit(run, cell, wrong)
    local trial <close> = new_cell(run, cell.type, cell.entry, cell.rows, admitted)
    local result = run_trial(trial, shown,
                             ("%s %s %s"):format(cell.type, cell.entry, cell.set.name))
    local read, next_figures = read_time(result), 1
    for i, known in ipairs(results) do
        if not known.reason then
            local figures = result.plugins[next_figures]
            next_figures, results[i], figures.plugin = next_figures + 1, figures, known.plugin
            if figures.timed then
                figures.rate = result.row_bytes / figures.least -- GB/s
                figures.share = read and read / figures.least
            end
        end
    end
    cell.limits, cell.row_bytes, cell.rounds = result.limits, result.row_bytes, result.rounds
    cell.results = results
end

local function picture(self, what)
    return ("%3d %%  %s"):format(self.total > 0 and self.done * 100 // self.total or 100,
                                 text.printable(what))
end

-- Measures what `run` asks for. Raises a usage error if there is nothing to measure, or if the core
-- that it names is not to be had.
function measure.all(run, show)
    local cells, notes = plan(run)
    if #cells == 0 then
        failure.raise(failure.USAGE, "nothing to time" .. (notes[1] and ": " .. notes[1] or ""))
    end
    local core, reason = qk.bench.pin_core(run.core)
    if not core and run.core then
        failure.raise(failure.USAGE, ("--core %d: %s"):format(run.core, reason))
    end
    local wrong = find_wrong(run, cells, show)
    local shown <close> = progress.new((#cells + #run.sets) * run.rounds, show, picture)
    local report = {run = run, cells = cells, notes = notes, core = core, core_reason = reason,
                    clock = qk.bench.clock(), caches = qk.bench.caches()}
    report.limits = measure_limits(run, shown)
    report.pin = measure_pin(run, progress.new(0, false))
    for _, cell in ipairs(cells) do measure_cell(run, cell, wrong, shown) end
    return report
end

return measure
