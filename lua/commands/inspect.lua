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
weight. Long names and values are cut; --json has them whole. Strings from the file are shown with
control characters and bytes that are not UTF-8 escaped (\n, \x1b, \u{202e}, \\).
]],
    options = {{"--json", nil, "print it as JSON, complete"}},
}

local ARRAY_SHOWN = 8  -- elements of an array
local VALUE_WIDTH = 72 -- columns of a value
local NAME_WIDTH = 72  -- columns of a key or a tensor's name

local function show_scalar(value, kind)
    if kind == "string" then return '"' .. text.brief(value, VALUE_WIDTH) .. '"' end
    if kind == "bool" then return tostring(value) end
    if math.type(value) == "integer" then return text.integer(value, kind) end
    return text.float(value, kind)
end

-- An array is read here. No more is made of it than is shown: the rest of arrays within arrays is
-- cut off later.
local function show_value(value, kind)
    if kind ~= "array" then return show_scalar(value, kind) end
    local shown, bytes = {}, 0
    for i, element in ipairs(value:take(ARRAY_SHOWN) or {}) do
        shown[i] = show_value(element, value:type())
        bytes = bytes + #shown[i]
        if bytes > text.bytes_within(VALUE_WIDTH) then break end
    end
    if #value > #shown then shown[#shown + 1] = "..." end
    return ("[%s]"):format(table.concat(shown, ", "))
end

-- "string", "array of u32, 3"
local function show_kind(value, kind)
    if kind ~= "array" then return kind end
    return ("array of %s, %d"):format(value:type(), #value)
end

-- Key, type and value of metadata number i; an array is one of g:array.
local function pair_of(g, i)
    local key, kind, value = g:pair(i, 0)
    return key, kind, kind == "array" and g:array(i) or value
end

local function bits_per_weight(bytes, elements)
    return elements > 0 and ("%.2f"):format(bytes * 8 / elements) or "-"
end

local function add(sum, tensor)
    sum.tensors = sum.tensors + 1
    sum.elements = sum.elements + tensor.elements
    sum.bytes = sum.bytes + tensor.bytes
end

-- Tensors, elements and bytes of each type, in the order of first use, and of all.
local function totals(g, header)
    local list, by_name = {}, {}
    local total = {type = "all", tensors = 0, elements = 0, bytes = 0}
    for i = 1, header.tensor_count do
        local t = g:tensor(i)
        local sum = by_name[t.type]
        if not sum then
            sum = {type = t.type, tensors = 0, elements = 0, bytes = 0}
            by_name[t.type] = sum
            list[#list + 1] = sum
        end
        add(sum, t)
        add(total, t)
    end
    return list, total
end

local function print_text(path, g)
    local out, header = io.stdout, g:header()
    out:write(("%s: GGUF version %d, %d bytes (%s), alignment %d, data at %d\n"):format(
        text.printable(path), header.version, header.file_bytes, text.size(header.file_bytes),
        header.alignment, header.data_offset))

    local rows = {}
    for i = 1, header.metadata_count do
        local key, kind, value = pair_of(g, i)
        rows[i] = {text.brief(key, NAME_WIDTH), show_kind(value, kind),
                   text.cut(show_value(value, kind), VALUE_WIDTH)}
    end
    out:write(("\nMetadata: %d\n"):format(#rows))
    if #rows > 0 then out:write(text.table({"key", "type", "value"}, rows, "  ")) end

    rows = {}
    for i = 1, header.tensor_count do
        local t = g:tensor(i)
        rows[i] = {text.brief(t.name, NAME_WIDTH), t.type, text.shape(t.shape),
                   ("%d"):format(t.bytes), bits_per_weight(t.bytes, t.elements)}
    end
    out:write(("\nTensors: %d\n"):format(#rows))
    if #rows > 0 then
        out:write(text.table({"name", "type", "shape", ">bytes", ">bits/weight"}, rows, "  "))
    end

    local types, total = totals(g, header)
    rows = {}
    types[#types + 1] = total
    for i, sum in ipairs(types) do
        rows[i] = {
            sum.type, ("%d"):format(sum.tensors), ("%d"):format(sum.elements),
            ("%d"):format(sum.bytes), bits_per_weight(sum.bytes, sum.elements)}
    end
    out:write("\nTotals\n", text.table(
        {"type", ">tensors", ">weights", ">bytes", ">bits/weight"}, rows, "  "))
end

local BATCH = 4096 -- elements of an array that are read at a time

local json_array

-- An element, or the value of a pair, for json.
local function json_value(value, kind)
    if kind == "array" then return json_array(value) end
    return type(value) == "number" and json.number(json.number_text(value, kind)) or value
end

-- An array that is read while it is written. One of numbers is read as texts; in those of integers,
-- except u64, the integers do for them.
function json_array(array)
    local kind = array:type()
    if kind == "string" or kind == "bool" or kind == "array" then
        local list, i = {}, 0
        return json.each(function()
            i = i + 1
            if i > #list then list, i = array:take(BATCH), 1 end
            if list then return json_value(list[i], kind) end
        end)
    end
    local exact = kind == "u64" or kind == "f32" or kind == "f64"
    return json.texts(function()
        local list = array:take(BATCH)
        for i = 1, exact and list and #list or 0 do list[i] = json.number_text(list[i], kind) end
        return list
    end)
end

-- An array of JSON of item(1) to item(count).
local function json_list(count, item)
    local i = 0
    return json.each(function()
        i = i + 1
        if i <= count then return item(i) end
    end)
end

local function json_pair(g, i)
    local key, kind, value = pair_of(g, i)
    return json.object("key", key, "type", kind,
                       "element_type", kind == "array" and value:type() or nil,
                       "value", json_value(value, kind))
end

local function json_tensor(g, i)
    local t = g:tensor(i)
    return json.object(
        "name", t.name, "type", t.type, "shape", json.array(t.shape), "weights", t.elements,
        "offset", t.offset, "bytes", t.bytes,
        "bits_per_weight", t.elements > 0 and t.bytes * 8 / t.elements or nil)
end

local function print_json(path, g)
    local header = g:header()
    local types, total = totals(g, header)
    json.print(json.object(
        "file", path, "version", header.version, "bytes", header.file_bytes,
        "alignment", header.alignment, "data_offset", header.data_offset,
        "metadata", json_list(header.metadata_count, function(i) return json_pair(g, i) end),
        "tensors", json_list(header.tensor_count, function(i) return json_tensor(g, i) end),
        "types", json_list(#types, function(i)
            local sum = types[i]
            return json.object("type", sum.type, "tensors", sum.tensors, "weights", sum.elements,
                               "bytes", sum.bytes)
        end),
        "total", json.object(
            "tensors", total.tensors, "weights", total.elements, "bytes", total.bytes,
            "bits_per_weight", total.elements > 0 and total.bytes * 8 / total.elements or nil)))
end

function inspect.run(args)
    local g <close> = failure.reading(qk.gguf, args[1])
    local print_report = args.json and print_json or print_text
    print_report(args[1], g)
    return 0
end

return inspect
