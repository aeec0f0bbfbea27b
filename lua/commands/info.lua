-- SPDX-License-Identifier: MIT
-- qkern info: CPU features, plugins, and the kernels chosen.
local qk = require "qkern"
local json = require "qkern.commands.support.json"
local text = require "qkern.commands.support.text"

local info = {
    name = "info",
    arguments = "",
    operands = 0,
    summary = "CPU features, plugins, and the kernel chosen for each type",
    help = [[
Shows which CPU features there are and where each answer came from, which plugins were found with
the reason for or against each, and which plugin serves each entry point of each element type.
]],
    options = {{"--json", nil, "print it as JSON, with the reasons for every choice"}},
}

local function plugin_label(plugin)
    return ("%s %s"):format(plugin.name, plugin.version)
end

-- What speaks for or against a plugin, in one line.
local function verdict(plugin)
    if plugin.ready then return plugin.text ~= "" and plugin.text or "usable" end
    local reason = plugin.text
    if plugin.expected ~= "" or plugin.found ~= "" then
        reason = ("%s (expected %s, found %s)"):format(reason, plugin.expected, plugin.found)
    end
    return reason
end

-- The kernels chosen: a list of {type = type, entries = {name -> number of the plugin}}, of types
-- that have any.
local function choices()
    local list = {}
    for _, kind in ipairs(qk.types()) do
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
    for _, p in ipairs(plugins) do
        rows[#rows + 1] = {
            p.name ~= "" and text.printable(plugin_label(p)) or "-",
            p.name ~= "" and ("%d"):format(p.tier) or "-",
            p.ready and "yes" or "no, " .. p.stage,
            text.printable(p.path ~= "" and p.path or p.origin),
            text.printable(verdict(p)),
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
    out:write(text.table(columns, rows, "  "))
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
                                     "why", plugin and qk.explain(choice.type.name, entry))
        end
        type_list[i] = json.object("type", choice.type.name, "entries", entries)
    end
    io.stdout:write(json.encode(json.object("version", qk._VERSION:match("%S+$"),
        "features", feature_list, "plugins", plugin_list, "kernels", type_list)))
end

function info.run(args)
    local print_report = args.json and print_json or print_text
    print_report(qk.features(), qk.plugins(), choices())
    return 0
end

return info
