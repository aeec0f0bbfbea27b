-- SPDX-License-Identifier: MIT
-- qkern verify: judges every kernel of plugins in a process of their own.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local json = require "qkern.commands.support.json"
local named = require "qkern.commands.support.named"
local options = require "qkern.commands.support.options"
local text = require "qkern.commands.support.text"

local verify = {
    name = "verify",
    arguments = "[PLUGIN...]",
    operands = {0, math.maxinteger},
    summary = "judge every kernel of plugins, chosen or not",
    help = [[
Holds every entry point of every type of each PLUGIN, a name or a path, to the scalar kernels: exact
integers, then bits, on inputs that have broken kernels before, at every length and address, between
guard pages; and that registers, FP state and stack are left as they were. Without a PLUGIN, of all
that are found. It happens in a process of its own, so that a crash or an endless loop is a result.
The exit status is 1 if a kernel is wrong, and 2 if nothing could be checked.
]],
    options = {
        {"--seed", "N", "of the random data; 1 if it is not given"},
        {"--repeat", "N", "how often the random part is run, each time with other data"},
        named.TYPES,
        {"--json", nil, "print it as JSON"},
    },
}

local CLEAR = "\r\27[K"

-- --- what is judged ------------------------------------------------------------------------------

local function place_of(plugin)
    return plugin.path ~= "" and plugin.path or plugin.origin
end

-- What `qkern info` lists and is a plugin, usable or not: not a folder.
local function is_plugin(record)
    return record.name ~= "" or record.stage ~= "search"
end

-- The plugins that the words name; all without words. Each has name, version, and path, "" for the
-- built-in one.
local function find_plugins(words)
    local records, list = qk.plugins(), {}
    local function add_named(name)
        for _, record in ipairs(records) do
            if is_plugin(record) and (not name or record.name == name) then
                list[#list + 1] = {name = record.name, version = record.version,
                                   path = record.path, origin = record.origin}
            end
        end
    end
    if #words == 0 then add_named() end
    for _, word in ipairs(words) do
        local before = #list
        if not word:find("/", 1, true) and word ~= "" then add_named(word) end
        if #list == before then
            local size, message = qk.file_size(word)
            if not size then
                options.fail(verify, "%s is neither the name of a plugin nor a file: %s",
                             text.printable(word), text.printable(message))
            end
            list[#list + 1] = {name = "", version = "", path = word, origin = "argument"}
        end
    end
    return list
end

-- How many entry points of the types there are that could be judged.
local function kernels_of_reference(names)
    local count = 0
    for _, kind in ipairs(names or qk.types()) do
        local kernel = failure.try(qk.kernel, kind.name or kind, "scalar")
        for _, entry in ipairs(kernel and qk.entries() or {}) do
            if kernel:has(entry) then count = count + 1 end
        end
    end
    return count
end

-- --- judging -------------------------------------------------------------------------------------

-- One line on the terminal that shows what is being checked.
local function show_progress(plugin, event, done, terminal)
    if not terminal then return end
    io.stderr:write(CLEAR, ("%3d of %d  %s"):format(done, event.kernels, text.cut(text.printable(
        ("%s: %s %s, %s"):format(plugin.name, event.type, event.entry, event.text)), 60)))
    io.stderr:flush()
end

local HANDLERS = {
    plugin = function(plugin, event)
        plugin.name, plugin.version = event.name, event.version
    end,
    refused = function(plugin, event)
        if event.name ~= "" then plugin.name, plugin.version = event.name, event.version end
        plugin.reason = event.text
    end,
    note = function(plugin, event) table.insert(plugin.notes, event.text) end,
    right = function(plugin, event)
        table.insert(plugin.kernels, {type = event.type, entry = event.entry, result = "right",
                                      calls = event.calls, stack = event.stack})
    end,
    wrong = function(plugin, event)
        table.insert(plugin.kernels, {type = event.type, entry = event.entry, result = "wrong",
                                      failure = event.failure})
    end,
    skipped = function(plugin, event)
        table.insert(plugin.kernels, {type = event.type, entry = event.entry, result = "skipped",
                                      reason = event.text})
    end,
}

-- Puts kernels into the order of types and entry points: skipped ones are told first.
local function sort_kernels(kernels)
    local place = {}
    for i, entry in ipairs(qk.entries()) do place[entry] = i end
    for _, kind in ipairs(qk.types()) do place[kind.name] = 8 * kind.number end
    table.sort(kernels, function(a, b)
        return place[a.type] + place[a.entry] < place[b.type] + place[b.entry]
    end)
end

-- Judges a plugin, which has name, version and path. Fills plugin.kernels and plugin.notes, and
-- plugin.reason if it cannot be loaded here. wishes: types (names; nil for all), seed, times,
-- terminal (whether to show progress).
function verify.judge(plugin, wishes)
    plugin.kernels, plugin.notes = {}, {}
    local run <close> = qk.verify {
        plugin = plugin.path ~= "" and plugin.path or nil, types = wishes.types,
        seed = wishes.seed, times = wishes.times,
    }
    for event in run.next, run do
        if event.event == "step" then
            show_progress(plugin, event, #plugin.kernels, wishes.terminal)
        elseif HANDLERS[event.event] then
            HANDLERS[event.event](plugin, event)
        end
    end
    sort_kernels(plugin.kernels)
end

-- --- reports -------------------------------------------------------------------------------------

-- Name and version, or the name of a file that has none.
local function label(plugin)
    if plugin.name == "" then return text.printable(plugin.path:match "[^/]*$") end
    local built_in = plugin.path == "" and ", built in" or ""
    return text.printable(("%s %s%s"):format(plugin.name, plugin.version, built_in))
end

-- Counts of all, and the reasons why something was skipped, each with what it concerns.
local function count_up(plugins, names)
    local sum = {all = 0, right = 0, wrong = 0, skipped = 0, reasons = {}}
    for _, plugin in ipairs(plugins) do
        local missing = {}
        for _, kernel in ipairs(plugin.kernels) do
            sum.all = sum.all + 1
            sum[kernel.result] = sum[kernel.result] + 1
            if kernel.reason and not missing[kernel.reason] then
                missing[kernel.reason] = 0
                table.insert(missing, kernel.reason)
            end
            if kernel.reason then missing[kernel.reason] = missing[kernel.reason] + 1 end
        end
        for _, reason in ipairs(missing) do
            table.insert(sum.reasons, ("%s: %d %s"):format(label(plugin), missing[reason], reason))
        end
        if plugin.reason then
            local count = kernels_of_reference(names)
            sum.all, sum.skipped = sum.all + count, sum.skipped + count
            table.insert(sum.reasons, ("%s: %s"):format(label(plugin), text.printable(plugin.reason)))
        end
    end
    return sum
end

local CELLS = {right = "ok", wrong = "WRONG", skipped = "-"}

-- Rows of the table: of each type of which an entry point was judged.
local function add_rows(rows, plugin)
    local row
    for _, kernel in ipairs(plugin.kernels) do
        if not row or row.type ~= kernel.type then
            row = {type = kernel.type, label(plugin), kernel.type}
            for _ in ipairs(qk.entries()) do row[#row + 1] = "" end
        end
        for i, entry in ipairs(qk.entries()) do
            if entry == kernel.entry then row[i + 2] = CELLS[kernel.result] end
        end
        if kernel.result ~= "skipped" and not row.added then
            row.added = true
            rows[#rows + 1] = row
        end
    end
end

local function print_tables(plugins)
    local out, rows, places, wrong = io.stdout, {}, {}, {}
    for _, plugin in ipairs(plugins) do
        add_rows(rows, plugin)
        for _, kernel in ipairs(plugin.kernels) do
            if kernel.failure then
                wrong[#wrong + 1] = ("  %s: %s %s: %s (step %s): %s\n"):format(
                    label(plugin), kernel.type, kernel.entry, kernel.failure.kind,
                    kernel.failure.step or "-", text.printable(kernel.failure.text))
            end
        end
        places[#places + 1] = {label(plugin), text.printable(place_of(plugin)),
                               plugin.reason and "skipped: " .. text.printable(plugin.reason) or ""}
    end
    out:write(text.table({"plugin", "from", ""}, places), "\n")
    if #rows > 0 then
        out:write(text.table({"plugin", "type", table.unpack(qk.entries())}, rows), "\n")
    end
    if #wrong > 0 then out:write("first difference of each wrong kernel\n") end
    for _, line in ipairs(wrong) do out:write(line) end
    if #wrong > 0 then out:write("\n") end
    for _, plugin in ipairs(plugins) do
        for _, note in ipairs(plugin.notes) do
            out:write(label(plugin), ": ", text.printable(note), "\n")
        end
    end
end

local function print_text(plugins, sum, wishes)
    print_tables(plugins)
    io.stdout:write(("seed %d, %s\n%d of %d kernels checked, %d skipped%s%s\n"):format(
        wishes.seed, text.count(wishes.times, "round"), sum.right + sum.wrong, sum.all,
        sum.skipped, #sum.reasons > 0 and (" (%s)"):format(table.concat(sum.reasons, "; ")) or "",
        sum.wrong > 0 and (", %d wrong"):format(sum.wrong) or ""))
end

local FAILURE_KEYS = {"kind", "step", "data", "place", "n", "rows", "stride", "row", "block",
                      "element", "byte", "expected", "found", "text"}

local function failure_object(found)
    local pairs_list = {}
    for i, key in ipairs(FAILURE_KEYS) do
        pairs_list[2 * i - 1], pairs_list[2 * i] = key, found[key]
    end
    return json.object(table.unpack(pairs_list, 1, 2 * #FAILURE_KEYS))
end

local function print_json(plugins, sum, wishes)
    local list = json.array {}
    for i, plugin in ipairs(plugins) do
        local kernels = json.array {}
        for j, k in ipairs(plugin.kernels) do
            kernels[j] = json.object("type", k.type, "entry", k.entry, "result", k.result,
                                     "calls", k.calls, "stack_bytes", k.stack, "reason", k.reason,
                                     "failure", k.failure and failure_object(k.failure))
        end
        list[i] = json.object("name", plugin.name, "version", plugin.version, "path", plugin.path,
                              "checked", not plugin.reason, "reason", plugin.reason,
                              "notes", json.array(plugin.notes), "kernels", kernels)
    end
    json.print(json.object(
        "version", qk._VERSION:match("%S+$"), "seed", wishes.seed, "rounds", wishes.times,
        "plugins", list, "kernels", sum.all, "checked", sum.right + sum.wrong,
        "skipped", sum.skipped, "wrong", sum.wrong))
end

-- --- the command ---------------------------------------------------------------------------------

local function count_option(args, name, otherwise, least, most)
    local word = args[name]
    if not word then return otherwise end
    local value = word:find("^%d+$") and math.tointeger(tonumber(word))
    if not value or value < least or value > most then
        options.fail(verify, "--%s: expected a number from %d to %d, found %s", name, least, most,
                     text.printable(word))
    end
    return value
end

function verify.run(args)
    local wishes = {
        seed = count_option(args, "seed", 1, 0, math.maxinteger),
        times = count_option(args, "repeat", 1, 1, 1000000),
        types = named.types(verify, "--types", args.types),
        terminal = args.terminal,
    }
    local plugins = find_plugins(args)
    local clear <close> = setmetatable({}, {__close = function()
        if wishes.terminal then io.stderr:write(CLEAR) end
    end})
    for _, plugin in ipairs(plugins) do verify.judge(plugin, wishes) end
    if wishes.terminal then io.stderr:write(CLEAR) end

    local sum = count_up(plugins, wishes.types)
    local print_report = args.json and print_json or print_text
    print_report(plugins, sum, wishes)
    if sum.wrong > 0 then return 1 end
    return sum.right > 0 and 0 or 2
end

return verify
