-- SPDX-License-Identifier: MIT
-- qkern info: CPU features, plugins, and the kernels chosen.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local json = require "qkern.commands.support.json"
local options = require "qkern.commands.support.options"
local text = require "qkern.commands.support.text"

local info = {
    name = "info",
    arguments = "[TYPE]",
    operands = {0, 1},
    summary = "CPU features, plugins, the kernel chosen for each type, and why",
    help = [[
Shows which CPU features there are and where each answer came from, which plugins were found with
the reason for or against each, and which plugin serves each entry point of each element type. With
a TYPE, only why that plugin serves each of its entry points, and why the others do not.
]],
    options = {{"--json", nil, "print it as JSON, with the reasons for every choice"}},
}

local function plugin_label(plugin)
    return ("%s %s"):format(plugin.name, plugin.version)
end

local function place_of(plugin)
    return plugin.path ~= "" and plugin.path or plugin.origin
end

-- Why number `number` of the plugins, which is usable, serves no entry point; nil if it does. A
-- plugin wins by its tier, and of the same tier the one that was found first.
local function idle_reason(number, plugins, chosen)
    local same, others
    for _, choice in ipairs(chosen) do
        for _, winner in pairs(choice.entries) do
            if winner == number then return nil end
            local w, p = plugins[winner], plugins[number]
            same = same or winner < number and w.tier == p.tier and w.name == p.name and w
            others = others or w
        end
    end
    if not others then return nil end
    if same then
        return ("not used: %s of %s was found first"):format(plugin_label(same), place_of(same))
    end
    return "not used: others have the same kernels and a higher tier, or were found first"
end

-- What speaks for or against a plugin, in one line.
local function verdict(number, plugins, chosen)
    local plugin = plugins[number]
    if plugin.ready then
        local offer, idle = plugin.text ~= "" and plugin.text or "usable",
                            idle_reason(number, plugins, chosen)
        return idle and offer .. "; " .. idle or offer
    end
    local reason = plugin.text
    if plugin.expected ~= "" or plugin.found ~= "" then
        reason = ("%s (expected %s, found %s)"):format(reason, plugin.expected, plugin.found)
    end
    return reason
end

-- The kernels chosen for these types: a list of {type = type, entries = {name -> number of the
-- plugin}}, of those types that have any.
local function choices(types)
    local list = {}
    for _, kind in ipairs(types) do
        local entries = {}
        for _, entry in ipairs(qk.entries()) do entries[entry] = qk.choice(kind.name, entry) end
        if next(entries) then list[#list + 1] = {type = kind, entries = entries} end
    end
    return list
end

local function print_text(features, plugins, chosen)
    local out = io.stdout
    out:write(qk._VERSION, "\n\nCPU features\n")
    local rows = {}
    for _, f in ipairs(features) do
        rows[#rows + 1] = {f.name, f.usable and "yes" or f.present and "masked" or "no", f.source,
                           text.printable(f.reason)}
    end
    out:write(text.table({"feature", "usable", "source", "reason"}, rows, "  "))

    out:write("\nPlugins\n")
    rows = {}
    for number, p in ipairs(plugins) do
        rows[#rows + 1] = {
            p.name ~= "" and text.printable(plugin_label(p)) or "-",
            p.name ~= "" and ("%d"):format(p.tier) or "-",
            p.ready and "yes" or "no, " .. p.stage,
            text.printable(place_of(p)),
            text.printable(verdict(number, plugins, chosen)),
        }
    end
    out:write(text.table({"plugin", ">tier", "usable", "from", "reason"}, rows, "  "))

    out:write("\nKernels chosen\n")
    local columns = {"type", table.unpack(qk.entries())}
    rows = {}
    for _, choice in ipairs(chosen) do
        local row = {choice.type.name}
        for _, entry in ipairs(qk.entries()) do
            local number = choice.entries[entry]
            row[#row + 1] = number and text.printable(plugin_label(plugins[number])) or "-"
        end
        rows[#rows + 1] = row
    end
    out:write(text.table(columns, rows, "  "),
              "\n'qkern info TYPE' says why, for each entry point of a type.\n")
end

-- The library's reasons for its choices, an entry point after the other.
local function print_reasons(kind)
    for _, entry in ipairs(qk.entries()) do
        for line in qk.explain(kind.name, entry):gmatch "[^\n]+" do
            io.stdout:write(text.printable(line), "\n")
        end
    end
end

local function print_json(features, plugins, chosen)
    local feature_list, plugin_list, type_list = json.array {}, json.array {}, json.array {}
    for i, f in ipairs(features) do
        feature_list[i] = json.object("name", f.name, "present", f.present, "usable", f.usable,
                                      "source", f.source, "reason", f.reason)
    end
    for i, p in ipairs(plugins) do
        plugin_list[i] = json.object(
            "name", p.name, "version", p.version, "tier", p.tier, "path", p.path,
            "origin", p.origin, "build_id", p.build_id, "needs", json.array(p.needs),
            "usable", p.ready, "stage", p.stage, "status", p.status, "reason", p.text,
            "expected", p.expected, "found", p.found)
    end
    for i, choice in ipairs(chosen) do
        local entries = json.array {}
        for j, entry in ipairs(qk.entries()) do
            local plugin = plugins[choice.entries[entry]]
            entries[j] = json.object("entry", entry, "plugin", plugin and plugin.name,
                                     "version", plugin and plugin.version,
                                     "why", qk.explain(choice.type.name, entry))
        end
        type_list[i] = json.object("type", choice.type.name, "entries", entries)
    end
    json.print(json.object("version", qk._VERSION:match("%S+$"),
        "features", feature_list, "plugins", plugin_list, "kernels", type_list))
end

function info.run(args)
    local kind = args[1] and failure.try(qk.type, args[1])
    if args[1] and not kind then
        options.fail(info, "there is no type %s", args[1])
    elseif kind and not args.json then
        print_reasons(kind)
    else
        local print_report = args.json and print_json or print_text
        print_report(qk.features(), qk.plugins(), choices(kind and {kind} or qk.types()))
    end
    return 0
end

return info
