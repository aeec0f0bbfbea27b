-- SPDX-License-Identifier: MIT
-- qkern quantize: converts the tensors of a GGUF file to another element type.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"
local glob = require "qkern.commands.support.glob"
local json = require "qkern.commands.support.json"
local options = require "qkern.commands.support.options"
local progress = require "qkern.commands.support.progress"
local text = require "qkern.commands.support.text"

local quantize = {
    name = "quantize",
    arguments = "IN OUT",
    operands = {2, 2},
    summary = "convert the tensors of a GGUF file to another type",
    help = [[
Writes to OUT what is in IN with its tensors converted to type T. Tensors of one dimension and of
integers are copied unchanged. Where a row is not whole blocks of T, another type is taken: Q5_0 for
Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K and Q8_K, Q4_0 for Q2_K and Q3_K, and F16 where that does not fit
either; the report says so. OUT appears only when it is complete, and may be IN. The bytes do not
depend on the number of threads.

A GLOB is matched against whole tensor names: * stands for any text, ? for one character, [a-z] for
one of a set, [!a-z] for one that is not in it, \ before one of these for itself, in a set, too.
--keep wins over --only.

Importance weights are not used: kernels for them are there for programs (quantize_weighted in
'qkern info'), but no option reads weights from a file.
]],
    options = {
        {"--type", "T", "element type of the output", required = true},
        {"--threads", "N", "threads that convert; default: the processors there are"},
        {"--only", "GLOB", "convert only the tensors that match", repeated = true},
        {"--keep", "GLOB", "copy the tensors that match unchanged", repeated = true},
        {"--json", nil, "print the report as JSON"},
        {"--quiet", nil, "print no report and no progress"},
    },
}

-- What is taken where a row is not whole blocks; then F16.
local FALLBACKS = {Q2_K = "Q4_0", Q3_K = "Q4_0", Q4_K = "Q5_0", Q5_K = "Q5_1", Q6_K = "Q8_0",
                   Q8_K = "Q8_0"}

-- general.file_type, as ggml numbers them. Q8_1 and Q8_K have none.
local FILE_TYPES = {F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q8_0 = 7, Q5_0 = 8, Q5_1 = 9, Q2_K = 10,
                    Q3_K = 11, Q4_K = 14, Q5_K = 16, Q6_K = 18, BF16 = 32}

local QUANTIZATION_VERSION = 2

local INTEGERS = {I8 = true, I16 = true, I32 = true, I64 = true}

local THREAD_LIMIT = 1024
local COPY_ELEMENTS = 1 << 20 -- of a tensor that is copied, at a time; whole blocks of any type

-- Marks the tensors that one of the globs matches. A glob that matches none is a mistake.
local function match_globs(option, globs, tensors)
    local matched = {}
    for _, pattern in ipairs(globs or {}) do
        local match, reason = glob.compile(pattern)
        if not match then options.fail(quantize, "%s %s: %s", option, pattern, reason) end
        local any = false
        for i, t in ipairs(tensors) do
            if match(t.name) then matched[i], any = true, true end
        end
        if not any then
            options.fail(quantize, "%s %s matches no tensor of the file", option, pattern)
        end
    end
    return matched
end

local function has(kind, entry)
    return qk.choice(kind, entry) ~= nil
end

local function types_with(entry)
    local names = {}
    for _, kind in ipairs(qk.types()) do
        if has(kind.name, entry) then names[#names + 1] = kind.name end
    end
    return table.concat(names, ", ")
end

local function target_type(word)
    local kind = failure.try(qk.type, word)
    if not kind or not has(kind.name, "quantize") then
        local reason = kind and "no plugin can quantize to it" or "no such type"
        options.fail(quantize, "--type %s: %s; there are %s", word, reason, types_with("quantize"))
    end
    return kind.name
end

local function thread_count(word)
    if not word then return math.min(qk.processors(), THREAD_LIMIT) end
    local n = word:find("^%d+$") and math.tointeger(tonumber(word))
    if not n or n < 1 or n > THREAD_LIMIT then
        options.fail(quantize, "--threads %s: expected a number from 1 to %d", word, THREAD_LIMIT)
    end
    return n
end

-- The type that rows of this length get, and what to say if it is not the target.
local function fitting_type(target, row)
    for _, name in ipairs {target, FALLBACKS[target] or "F16", "F16"} do
        local block = qk.type(name).block_elements
        if row % block == 0 then
            if name == target then return name end
            return name, ("rows of %d are not whole %s blocks of %d: %s instead"):format(
                row, target, qk.type(target).block_elements, name)
        end
    end
end

-- Whether a tensor has at most one dimension that is more than 1.
local function is_vector(t)
    return t.rows <= 1
end

-- Decides for a tensor: the type to convert to, nil to copy it; and what to say of it.
local function plan_tensor(t, target, excluded)
    if excluded then return nil, excluded end
    if is_vector(t) then return nil, "one dimension" end
    if INTEGERS[t.type] then return nil, "integers" end
    local to, note = fitting_type(target, t.shape[1])
    if to == t.type then return nil, note end
    if not has(t.type, "dequantize") then
        failure.raise(failure.FAILED,
            ("tensor %s is %s, which no plugin can dequantize"):format(t.name, t.type),
            "--keep GLOB copies a tensor unchanged")
    end
    return to, note
end

-- A list with a plan for each tensor: tensor, number, to (nil to copy), kind (of the output), note.
local function plan_file(g, target, args)
    local tensors = {}
    for i = 1, g:header().tensor_count do tensors[i] = g:tensor(i) end
    local only = match_globs("--only", args.only, tensors)
    local keep = match_globs("--keep", args.keep, tensors)
    local plans = {}
    for i, t in ipairs(tensors) do
        local excluded = keep[i] and "kept" or args.only and not only[i] and "not selected" or nil
        local to, note = plan_tensor(t, target, excluded)
        plans[i] = {tensor = t, number = i, to = to, kind = to or t.type, note = note or ""}
    end
    return plans
end

-- Metadata: copied, except what the conversion changes. Returns what to say of it, a list.
local function write_metadata(w, g, plans, target)
    local notes, quantized = {}, false
    for _, plan in ipairs(plans) do
        quantized = quantized or qk.type(plan.kind).block_elements > 1
    end
    w:copy_metadata(g)
    if FILE_TYPES[target] then
        w:set_u32("general.file_type", FILE_TYPES[target])
    elseif w:remove("general.file_type") then
        notes[#notes + 1] = ("general.file_type removed: it has no number for %s"):format(target)
    end
    if quantized then
        w:set_u32("general.quantization_version", QUANTIZATION_VERSION)
    elseif w:remove("general.quantization_version") then
        notes[#notes + 1] = "general.quantization_version removed: no tensor is quantized"
    end
    return notes
end

local function copy_tensor(w, g, plan, shown)
    local data, first = g:data(plan.number), 1
    while first <= #data do
        local part = data:slice(first, math.min(COPY_ELEMENTS, #data - first + 1))
        w:write(part)
        g:release(part)
        shown:add(part.nbytes, plan.tensor.name)
        first = first + #part
    end
end

local function convert_tensor(w, g, plan, shown, converter)
    converter:start(g, plan.number, plan.to)
    local bytes = converter:step(w)
    while bytes do
        shown:add(bytes, plan.tensor.name)
        bytes = converter:step(w)
    end
    plan.rmse, plan.max_error = converter:result()
end

local function convert_file(g, out, target, plans, threads, show)
    local total = 0
    for _, plan in ipairs(plans) do total = total + plan.tensor.bytes end
    local shown <close> = progress.new(total, show)
    local converter <close> = qk.converter(threads)
    local w <close> = qk.gguf_writer(out)
    local notes = write_metadata(w, g, plans, target)
    for _, plan in ipairs(plans) do
        w:add_tensor(plan.tensor.name, plan.kind, plan.tensor.shape)
    end
    w:begin()
    for _, plan in ipairs(plans) do
        if plan.to then
            convert_tensor(w, g, plan, shown, converter)
        else
            copy_tensor(w, g, plan, shown)
        end
    end
    w:commit()
    return notes
end

-- Which plugin did what: a list of {type, entry, plugin, version}, by type.
local function kernels_used(plans)
    local used = {}
    for _, plan in ipairs(plans) do
        if plan.to then
            used[plan.tensor.type .. " dequantize"] = true
            used[plan.to .. " quantize"] = true
        end
    end
    local list, plugins = {}, qk.plugins()
    for _, kind in ipairs(qk.types()) do
        for _, entry in ipairs {"dequantize", "quantize"} do
            if used[kind.name .. " " .. entry] then
                local plugin = plugins[qk.choice(kind.name, entry)]
                list[#list + 1] = {type = kind.name, entry = entry, plugin = plugin.name,
                                   version = plugin.version}
            end
        end
    end
    return list
end

-- Sizes, without opening the output: it may be one that only others can read.
local function measure_output(out, plans)
    local size, message = qk.file_size(out)
    if not size then failure.raise(failure.FAILED, "the output has gone: " .. message) end
    local totals = {before = 0, after = 0, file_after = size}
    for _, plan in ipairs(plans) do
        local kind = qk.type(plan.kind)
        plan.bytes = plan.tensor.elements // kind.block_elements * kind.block_bytes
        totals.before = totals.before + plan.tensor.bytes
        totals.after = totals.after + plan.bytes
    end
    return totals
end

local function ratio(after, before)
    return before > 0 and ("%.4f"):format(after / before) or "-"
end

local function print_text(report)
    local rows = {}
    for i, plan in ipairs(report.plans) do
        rows[i] = {
            text.printable(plan.tensor.name), plan.tensor.type, plan.kind,
            ("%d"):format(plan.bytes),
            plan.to and ("%.6f"):format(plan.rmse) or "-",
            plan.to and ("%.6g"):format(plan.max_error) or "-", plan.note,
        }
    end
    local totals = report.totals
    rows[#rows + 1] = {"total", "", "", ("%d"):format(totals.after), "", "", ""}
    local out = io.stdout
    out:write(text.table({"tensor", "from", "to", ">bytes", ">rel. RMSE", ">max error", "note"},
                         rows))
    out:write(("\ntensors: %d to %d bytes, ratio %s; file: %d to %d bytes, ratio %s\n"):format(
        totals.before, totals.after, ratio(totals.after, totals.before), totals.file_before,
        totals.file_after, ratio(totals.file_after, totals.file_before)))
    local kernels = {}
    for i, k in ipairs(report.kernels) do
        kernels[i] = text.printable(("%s %s by %s %s"):format(k.type, k.entry, k.plugin, k.version))
    end
    out:write("kernels: ", #kernels > 0 and table.concat(kernels, ", ")
              or "none, every tensor was copied", "\n")
    for _, note in ipairs(report.notes) do out:write("note: ", note, "\n") end
end

local function print_json(report)
    local tensors, kernels = json.array {}, json.array {}
    for i, plan in ipairs(report.plans) do
        tensors[i] = json.object(
            "name", plan.tensor.name, "from", plan.tensor.type, "to", plan.kind,
            "action", plan.to and "converted" or "copied", "shape", json.array(plan.tensor.shape),
            "bytes_before", plan.tensor.bytes, "bytes", plan.bytes, "relative_rmse", plan.rmse,
            "max_error", plan.max_error, "note", plan.note)
    end
    for i, k in ipairs(report.kernels) do
        kernels[i] = json.object("type", k.type, "entry", k.entry, "plugin", k.plugin,
                                 "version", k.version)
    end
    local totals = report.totals
    json.print(json.object(
        "input", report.input, "output", report.output, "type", report.target,
        "threads", report.threads, "tensors", tensors,
        "bytes_before", totals.before, "bytes", totals.after,
        "file_bytes_before", totals.file_before, "file_bytes", totals.file_after,
        "kernels", kernels, "notes", json.array(report.notes)))
end

function quantize.run(args)
    local input, output = args[1], args[2]
    local target, threads = target_type(args.type), thread_count(args.threads)
    if args.quiet and args.json then options.fail(quantize, "--quiet contradicts --json") end

    local g <close> = failure.reading(qk.gguf, input)
    local plans = plan_file(g, target, args)
    local file_before = g:header().file_bytes
    local notes = convert_file(g, output, target, plans, threads, args.terminal and not args.quiet)
    if args.quiet then return 0 end

    local report = {input = input, output = output, target = target, threads = threads,
                    plans = plans, notes = notes, kernels = kernels_used(plans),
                    totals = measure_output(output, plans)}
    report.totals.file_before = file_before
    local print_report = args.json and print_json or print_text
    print_report(report)
    return 0
end

return quantize
