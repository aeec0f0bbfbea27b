-- SPDX-License-Identifier: MIT
-- qkern bench: times the kernels of several plugins against each other, and against the limits of
-- the core. A timing is never a reason to fail.
local qk = require "qkern"
local baseline = require "qkern.commands.bench.baseline"
local chart = require "qkern.commands.bench.chart"
local compare = require "qkern.commands.bench.compare"
local measure = require "qkern.commands.bench.measure"
local report = require "qkern.commands.bench.report"
local failure = require "qkern.commands.support.failure"
local files = require "qkern.commands.support.files"
local json = require "qkern.commands.support.json"
local json_reader = require "qkern.commands.support.json_reader"
local named = require "qkern.commands.support.named"
local options = require "qkern.commands.support.options"

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
is as the first plugin's, with an interval of 95 %. A kernel that 'qkern verify' finds wrong is not
timed, nor one whose bits are not those of the scalar plugin on the data at hand.

Sets: l1, l2, l3 (a matrix beyond the L2 cache), dram (one beyond the L3 cache); NAME=SIZE gives
another size, as in l3=64M. The exit status does not depend on any timing.
]],
    options = {
        named.TYPES,
        {"--plugins", "LIST", "only these plugins; the first is what the others are compared with"},
        {"--entries", "LIST", "entry points, or all; default: vec_dot"},
        {"--sets", "LIST", "working sets: l1,l2,l3,dram, or all; default: l1"},
        {"--n", "N", "elements of a row; default: 4096"},
        {"--seconds", "S", "time for each kernel of a cell; default: 0.05"},
        {"--core", "N", "the core to run on; default: where it is"},
        {"--seed", "N", "of the data and of the order; default: 1"},
        {"--json", nil, "print it as JSON"},
        {"--compare", "OLD", "say what is faster or slower than in a report made with --json"},
        {"--svg", "FILE", "draw the bars into a file as well"},
        {"--baseline", nil, "beside ggml's times, scaled to this core, and the project's targets"},
    },
}

local DEFAULT_SECONDS, BATCH_NS = 0.05, 2000000
local BASELINE_ROW = 4096 -- elements of the rows that the baseline was measured with

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
    if list == "all" then return qk.entries() end
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
    if list == "all" then list = table.concat(names, ",") end
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
    local names = named.types(bench, "--types", list)
    if names then return names end
    names = {}
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
    run.batch = math.max(1, math.min(BATCH_NS, math.floor(ns / measure.LEAST_ROUNDS)))
    run.rounds = math.max(measure.LEAST_ROUNDS, math.floor(ns / run.batch))
    return run
end

-- The report to be compared with; nil if none is.
local function read_old(path, run)
    if not path then return nil end
    local old, reason = compare.read(files.read(path))
    if not old then failure.raise(failure.USAGE, path .. ": " .. reason) end
    if old.n ~= run.n then
        failure.raise(failure.USAGE, ("%s: its rows have %s elements, here they have %d"):format(
            path, tostring(old.n), run.n), ("--n %s makes them equal"):format(tostring(old.n)))
    end
    return old
end

local function comparison_json(outcome)
    local rows = json.array {}
    for i, row in ipairs(outcome.rows) do
        rows[i] = json.object("type", row.type, "entry", row.entry, "set", row.set,
                              "plugin", row.plugin, "old_ns", row.old, "scale", row.scale,
                              "new_ns", row.new, "times", row.ratio, "verdict", row.verdict)
    end
    return json.object("cells", rows, "only_old", outcome.only_old, "only_new", outcome.only_new)
end

local function judgement_json(judgement)
    local rows, checks = json.array {}, json.array {}
    for i, row in ipairs(judgement.rows) do
        rows[i] = json.object("type", row.type, "entry", row.entry, "set", row.set,
                              "plugin", row.plugin, "quantity", row.quantity, "ns", row.ours,
                              "ggml_ns", row.ggml, "scaled_by", row.by, "factor", row.factor,
                              "times", row.ratio, "target", row.target, "met", row.met,
                              "other_by", row.other_by, "other_times", row.other_ratio)
    end
    for i, check in ipairs(judgement.checks) do
        checks[i] = json.object("what", check.what, "value", check.value, "target", check.target,
                                "at_most", check.at_most or false, "met", check.met)
    end
    return json.object("cells", rows, "targets", checks)
end

function bench.run(args)
    local run = read_options(args)
    local old = read_old(args.compare, run)
    if args.baseline and run.n ~= BASELINE_ROW then
        options.fail(bench, "--baseline is of rows of %d elements", BASELINE_ROW)
    end

    local measured = measure.all(run, args.terminal)
    local document = json_reader.decode(json.encode(report.document(measured)))
    local outcome = old and compare.reports(old, document)
    local judgement = args.baseline
        and baseline.judge(document, baseline.parse(qk.bench.baseline()))

    if args.json then
        local more = {}
        if outcome then table.move({"compare", comparison_json(outcome)}, 1, 2, 1, more) end
        if judgement then
            table.move({"baseline", judgement_json(judgement)}, 1, 2, #more + 1, more)
        end
        json.print(report.document(measured, table.unpack(more)))
    else
        report.print(measured, {unicode = chart.is_unicode(os.getenv),
                                colour = chart.is_coloured(args.screen, os.getenv)})
        if judgement then io.stdout:write(baseline.text(judgement, report.figure)) end
        if outcome then io.stdout:write(compare.text(outcome, args.compare, report.figure)) end
    end
    if args.svg then files.write(args.svg, report.svg(measured)) end
    return 0
end

return bench
