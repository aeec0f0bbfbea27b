-- SPDX-License-Identifier: MIT
-- qkern inspect: what is in a GGUF file.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local json = require "qkern.commands.support.json"
local text = require "qkern.commands.support.text"

local inspect = {
    name = "inspect",
    arguments = "FILE",
    operands = {1, 1},
    summary = "header, metadata and tensors of a GGUF file",
    help = [[
Shows the header, the metadata and the tensors of a GGUF file: type, shape, bytes and bits per
weight. Long values are cut; --json has them whole. Strings from the file are shown with control
characters and bytes that are not UTF-8 escaped (\n, \x1b, \u{202e}, \\).
]],
    options = {{"--json", nil, "print it as JSON, complete"}},
}

local ARRAY_SHOWN = 8  -- elements of an array
local VALUE_WIDTH = 72 -- columns of a value

local function show_scalar(value, kind)
    if kind == "string" then return '"' .. text.printable(value) .. '"' end
    if kind == "bool" then return tostring(value) end
    if math.type(value) == "integer" then return text.integer(value, kind) end
    return text.float(value, kind)
end

local function show_value(value, kind)
    if kind ~= "array" then return show_scalar(value, kind) end
    local shown = {}
    for i, element in ipairs(value) do shown[i] = show_value(element, value.type) end
    if value.count > #value then shown[#shown + 1] = "..." end
    return ("[%s]"):format(table.concat(shown, ", "))
end

-- "string", "array of u32, 3"
local function show_kind(value, kind)
    if kind ~= "array" then return kind end
    return ("array of %s, %d"):format(value.type, value.count)
end

local function bits_per_weight(bytes, elements)
    return elements > 0 and ("%.2f"):format(bytes * 8 / elements) or "-"
end

local function tensors_of(g, header)
    local list, total = {}, {elements = 0, bytes = 0}
    for i = 1, header.tensor_count do
        list[i] = g:tensor(i)
        total.elements = total.elements + list[i].elements
        total.bytes = total.bytes + list[i].bytes
    end
    return list, total
end

-- Tensors, elements and bytes of each type, in the order of first use.
local function totals_by_type(tensors)
    local list, by_name = {}, {}
    for _, t in ipairs(tensors) do
        local sum = by_name[t.type]
        if not sum then
            sum = {type = t.type, tensors = 0, elements = 0, bytes = 0}
            by_name[t.type] = sum
            list[#list + 1] = sum
        end
        sum.tensors = sum.tensors + 1
        sum.elements = sum.elements + t.elements
        sum.bytes = sum.bytes + t.bytes
    end
    return list
end

local function print_text(path, g)
    local out, header = io.stdout, g:header()
    out:write(("%s: GGUF version %d, %d bytes (%s), alignment %d, data at %d\n"):format(
        text.printable(path), header.version, header.file_bytes, text.size(header.file_bytes),
        header.alignment, header.data_offset))

    local rows = {}
    for i = 1, header.metadata_count do
        local key, kind, value = g:pair(i, ARRAY_SHOWN)
        rows[i] = {text.printable(key), show_kind(value, kind),
                   text.cut(show_value(value, kind), VALUE_WIDTH)}
    end
    out:write(("\nMetadata: %d\n"):format(#rows))
    if #rows > 0 then out:write(text.table({"key", "type", "value"}, rows, "  ")) end

    local tensors, total = tensors_of(g, header)
    rows = {}
    for i, t in ipairs(tensors) do
        rows[i] = {text.printable(t.name), t.type, text.shape(t.shape), ("%d"):format(t.bytes),
                   bits_per_weight(t.bytes, t.elements)}
    end
    out:write(("\nTensors: %d\n"):format(#tensors))
    if #rows > 0 then
        out:write(text.table({"name", "type", "shape", ">bytes", ">bits/weight"}, rows, "  "))
    end

    rows = {}
    for _, sum in ipairs(totals_by_type(tensors)) do
        rows[#rows + 1] = {sum.type, ("%d"):format(sum.tensors), ("%d"):format(sum.elements),
                           ("%d"):format(sum.bytes), bits_per_weight(sum.bytes, sum.elements)}
    end
    rows[#rows + 1] = {"all", ("%d"):format(#tensors), ("%d"):format(total.elements),
                       ("%d"):format(total.bytes), bits_per_weight(total.bytes, total.elements)}
    out:write("\nTotals\n", text.table(
        {"type", ">tensors", ">weights", ">bytes", ">bits/weight"}, rows, "  "))
end

local function json_value(value, kind)
    if kind == "array" then
        local list = json.array {}
        for i = 1, #value do list[i] = json_value(value[i], value.type) end
        return list
    end
    if math.type(value) == "integer" then return json.number(text.integer(value, kind)) end
    local finite = type(value) == "number" and value - value == 0
    return finite and json.number(text.float(value, kind)) or value
end

local function print_json(path, g)
    local header = g:header()
    local metadata, tensor_list, type_list = json.array {}, json.array {}, json.array {}
    for i = 1, header.metadata_count do
        local key, kind, value = g:pair(i)
        metadata[i] = json.object("key", key, "type", kind,
                                  "element_type", kind == "array" and value.type or nil,
                                  "value", json_value(value, kind))
    end
    local tensors, total = tensors_of(g, header)
    for i, t in ipairs(tensors) do
        tensor_list[i] = json.object(
            "name", t.name, "type", t.type, "shape", json.array(t.shape), "weights", t.elements,
            "offset", t.offset, "bytes", t.bytes,
            "bits_per_weight", t.elements > 0 and t.bytes * 8 / t.elements or nil)
    end
    for i, sum in ipairs(totals_by_type(tensors)) do
        type_list[i] = json.object("type", sum.type, "tensors", sum.tensors,
                                   "weights", sum.elements, "bytes", sum.bytes)
    end
    io.stdout:write(json.encode(json.object(
        "file", path, "version", header.version, "bytes", header.file_bytes,
        "alignment", header.alignment, "data_offset", header.data_offset, "metadata", metadata,
        "tensors", tensor_list, "types", type_list,
        "total", json.object(
            "tensors", #tensors, "weights", total.elements, "bytes", total.bytes,
            "bits_per_weight", total.elements > 0 and total.bytes * 8 / total.elements or nil))))
end

function inspect.run(args)
    local g <close> = failure.reading(qk.gguf, args[1])
    local print_report = args.json and print_json or print_text
    print_report(args[1], g)
    return 0
end

return inspect
