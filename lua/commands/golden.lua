-- SPDX-License-Identifier: MIT
-- qkern golden: holds kernels to vectors of the reference; the format is that of
-- tests/golden/README.md.
local qk = require "qkern"
local contract = require "qkern.commands.support.contract"
local failure = require "qkern.commands.support.failure"
local files = require "qkern.commands.support.files"
local named = require "qkern.commands.support.named"
local text = require "qkern.commands.support.text"

local golden = {
    name = "golden",
    arguments = "DIR",
    operands = {1, 1},
    summary = "hold the kernels to the reference's vectors",
    help = [[
Runs the vectors in DIR against the kernels that are chosen here, or those of one plugin. quantize
and dequantize must give the reference's bytes. vec_dot must be within 1e-5 of the sum of the
magnitudes of the reference's value, and have the bits of the numeric contract. A case whose kernel
does not exist is counted as skipped, with the reason. The exit status is 1 if a case failed, and 2
if a file cannot be read or understood.
]],
    options = {
        {"--plugin", "NAME", "judge this plugin's own kernels"},
        named.TYPES,
    },
}

local REFERENCE = "scalar" -- the plugin that defines the types that contract.lua does not have
local TOLERANCE, TINY = 1e-5, 1e-30

-- --- reading -------------------------------------------------------------------------------------

local UNHEX = {}
for byte = 0, 255 do UNHEX[("%02x"):format(byte)] = string.char(byte) end

-- A file with its position, so that an error names the line.
local reader = {}
reader.__index = reader

function reader.open(path)
    local content = files.read(path)
    return setmetatable({path = path, next_line = content:gmatch("([^\n]*)\n?"), line = 0,
                         left = select(2, content:gsub("[^\n]+", ""))}, reader)
end

function reader:fail(message, ...)
    failure.raise(failure.USAGE,
                  ("%s:%d: %s"):format(self.path, self.line, message:format(...)))
end

-- The next record item, key and value; nil at the end. Comments and empty lines are passed over.
function reader:item()
    while self.left > 0 do
        local line = self.next_line()
        self.line = self.line + 1
        if line ~= "" then self.left = self.left - 1 end
        if line ~= "" and line:sub(1, 1) ~= "#" then
            local key, value = line:match("^(%l+) (.+)$")
            if not key and line ~= "end" then
                self:fail("expected 'key value', found '%s'", line)
            end
            return key or "end", value or ""
        end
    end
end

function reader:bytes(value)
    if #value % 2 ~= 0 or value:find("[^0-9a-f]") then self:fail("not hexadecimal: '%s'", value) end
    return (value:gsub("..", UNHEX))
end

-- "NAME a=1 b=2" as the name and a table of the attributes, all of which must be known.
function reader:attributes(value, known)
    local name, rest = value:match("^(%S+)(.*)$")
    local values = {}
    for word in rest:gmatch("%S+") do
        local key, v = word:match("^(%l+)=(.+)$")
        if not key or not known[key] then self:fail("'%s' is not understood", word) end
        if known[key] == "number" then
            v = v:find("^%d+$") and math.tointeger(tonumber(v))
                or self:fail("'%s': no number", word)
        end
        values[key] = v
    end
    return name, values
end

local function read_inputs(path)
    local file, inputs = reader.open(path), {}
    for key, value in file.item, file do
        if key ~= "input" then file:fail("expected an input, found '%s'", key) end
        local name, attributes = file:attributes(value, {n = "number"})
        local pieces = {}
        for k, v in file.item, file do
            if k == "end" then break end
            if k ~= "x" then file:fail("key '%s' is not understood", k) end
            pieces[#pieces + 1] = file:bytes(v)
        end
        local x = table.concat(pieces)
        if #x ~= 4 * (attributes.n or -1) then
            file:fail("input %s: expected n=%s values, found %d", name, attributes.n, #x // 4)
        end
        inputs[name] = x
    end
    return inputs
end

-- The vector "NAME" or "NAME:N".
local function referenced(file, inputs, value)
    local name, count = value:match("^([^:]+):?(%d*)$")
    local x = name and inputs[name]
    if not x then file:fail("no input is named '%s'", value) end
    if count == "" then return x end
    if 4 * tonumber(count) > #x then file:fail("input %s has no %s values", name, count) end
    return x:sub(1, 4 * tonumber(count))
end

-- What each key of a case holds.
local HEX_KEYS = {x = true, q = true, y = true, a = true, dot = true}
local INPUT_KEYS = {xref = "x", imref = "importance", axref = "activations"}

local CASE_ATTRIBUTES = {n = "number", kind = "word", via = "word", rows = "number", act = "word"}

-- The keys that a case of each kind must and may have.
local KINDS = {
    quant = {must = {"x", "q"}, may = {y = true, importance = true}},
    deq = {must = {"q", "y"}, may = {}},
    dot = {must = {"q", "a", "dot", "dotabs"}, may = {x = true, importance = true,
                                                      activations = true}},
}

local function check_keys(file, case, data)
    local kind, known = KINDS[case.kind], {}
    if not kind then file:fail("case %s: kind '%s' is not understood", case.name, case.kind) end
    for _, key in ipairs(kind.must) do
        known[key] = true
        if data[key] == nil then file:fail("case %s: no %s", case.name, key) end
    end
    for key in pairs(data) do
        if not known[key] and not kind.may[key] then
            file:fail("case %s: a %s case has no %s", case.name, case.kind, key)
        end
    end
end

local function check_attributes(file, case, kind)
    local block = kind.block_elements
    if not case.n or case.n % block ~= 0 then
        file:fail("case %s: n=%s is not whole blocks of %d", case.name, case.n, block)
    end
    case.rows = case.rows or 1
    if case.rows < 1 or case.n % (case.rows * block) ~= 0 then
        file:fail("case %s: n=%d is not %d rows of whole blocks", case.name, case.n, case.rows)
    end
    local via = case.kind == "quant" and {ref = true, chunk = true} or {}
    if case.via and not via[case.via] then
        file:fail("case %s: via=%s is not understood", case.name, case.via)
    end
    if case.importance and case.via == "ref" then
        file:fail("case %s: the function via=ref takes no importance", case.name)
    end
    if case.kind == "dot" and (case.act or ""):upper() ~= (kind.dot_type or "none"):upper() then
        file:fail("case %s: act=%s, but %s is multiplied with %s", case.name, case.act, kind.name,
                  kind.dot_type)
    end
end

local function check_sizes(file, case, kind)
    local blocks = case.n // kind.block_elements
    local sizes = {x = 4 * case.n, y = 4 * case.n, q = blocks * kind.block_bytes, dot = 4,
                   activations = 4 * case.n}
    if case.kind == "dot" then
        local dot = qk.type(kind.dot_type)
        sizes.a = case.n // dot.block_elements * dot.block_bytes
    end
    for key, size in pairs(sizes) do
        if case[key] and #case[key] ~= size then
            file:fail("case %s: expected %d bytes of %s, found %d", case.name, size, key,
                      #case[key])
        end
    end
end

local function read_case(file, value, kind, inputs)
    local name, case = file:attributes(value, CASE_ATTRIBUTES)
    local data, pieces = {}, {}
    case.name, case.line = name, file.line
    local closed = false
    for key, v in file.item, file do
        if key == "end" then
            closed = true
            break
        elseif HEX_KEYS[key] then
            pieces[key] = pieces[key] or {}
            table.insert(pieces[key], file:bytes(v))
        elseif INPUT_KEYS[key] then
            data[INPUT_KEYS[key]] = referenced(file, inputs, v)
        elseif key == "dotabs" then
            data.dotabs = tonumber(v) or file:fail("case %s: dotabs '%s' is no number", name, v)
        else
            file:fail("key '%s' is not understood", key)
        end
    end
    if not closed then file:fail("case %s has no end", name) end
    for key, list in pairs(pieces) do
        if data[key] then file:fail("case %s has both x and xref", name) end
        data[key] = table.concat(list)
    end
    check_keys(file, case, data)
    for key, v in pairs(data) do case[key] = v end
    check_attributes(file, case, kind)
    check_sizes(file, case, kind)
    return case
end

-- The type of a file and its cases.
local function read_vectors(path, inputs)
    local file = reader.open(path)
    local key, value = file:item()
    if key ~= "type" then file:fail("expected a type, found '%s'", key or "the end of the file") end
    local name, facts = file:attributes(value, {id = "number", block = "number", bytes = "number"})
    local kind = failure.try(qk.type, name)
    if not kind then file:fail("there is no type %s", name) end
    if facts.id ~= kind.number or facts.block ~= kind.block_elements
        or facts.bytes ~= kind.block_bytes then
        file:fail("expected id=%d block=%d bytes=%d for %s", kind.number, kind.block_elements,
                  kind.block_bytes, name)
    end
    local cases = {}
    for k, v in file.item, file do
        if k ~= "case" then file:fail("expected a case, found '%s'", k) end
        cases[#cases + 1] = read_case(file, v, kind, inputs)
    end
    return {path = path, kind = kind, cases = cases}
end

-- --- judging -------------------------------------------------------------------------------------

local function hex(bytes)
    return qk.bytes(bytes):hex()
end

-- nil if the bytes are equal, else where they differ first, in units of `size` bytes.
local function compare_units(what, unit, size, expected, found, same)
    if expected == found then return end
    for i = 1, #expected, size do
        local e, f = expected:sub(i, i + size - 1), found:sub(i, i + size - 1)
        if e ~= f and not (same and same(e, f)) then
            return ("%s, %s %d: expected %s, found %s"):format(what, unit, (i - 1) // size, hex(e),
                                                               hex(f))
        end
    end
end

-- Of floats, any NaN is equal to any NaN.
local function both_nan(e, f)
    local x, y = string.unpack("<f", e), string.unpack("<f", f)
    return x ~= x and y ~= y
end

local function compare_floats(what, expected, found)
    return compare_units(what, "element", 4, expected, found, both_nan)
end

-- The blocks of the case's x, each row with the importance weights if it has any.
local function quantize(kernel, case)
    local x = qk.f32(case.x)
    if not case.importance then return kernel:quantize(x):tobytes() end
    local row, weights = case.n // case.rows, case.importance
    weights = weights:rep((4 * row + #weights - 1) // #weights):sub(1, 4 * row)
    local importance, rows = qk.f32(weights), {}
    for r = 1, case.rows do
        rows[r] = kernel:quantize(x:slice((r - 1) * row + 1, row), importance):tobytes()
    end
    return table.concat(rows)
end

local function check_quantize(kernel, kind, case)
    return compare_units("quantize", "block", kind.block_bytes, case.q, quantize(kernel, case))
end

local function check_dequantize(kernel, kind, case)
    local y = kernel:dequantize(qk.blocks(kind.name, case.q))
    return compare_floats("dequantize", case.y, y:tobytes())
end

local function check_vec_dot(kernel, kind, case, reference)
    local w, a = qk.blocks(kind.name, case.q), qk.blocks(kind.dot_type, case.a)
    local found, expected = kernel:vec_dot(w, a), string.unpack("<f", case.dot)
    local bits = string.pack("<f", found)
    local near = math.abs(found - expected) <= TOLERANCE * case.dotabs + TINY
    if not near and not both_nan(bits, case.dot) then
        return ("vec_dot: expected %s (%.9g) within %.3g, found %s (%.9g)"):format(
            hex(case.dot), expected, TOLERANCE * case.dotabs + TINY, hex(bits), found)
    end
    local bound = contract.vec_dot(kind.name, case.q, case.a)
        or reference and string.pack("<f", reference:vec_dot(w, a))
    return bound and compare_floats("vec_dot against the contract", bound, bits)
end

-- The entry points and checks that a case takes.
local function checks_of(case)
    local list = {}
    if case.x then
        list[1] = {entry = case.importance and "quantize_weighted" or "quantize",
                   check = check_quantize}
    end
    if case.y then list[#list + 1] = {entry = "dequantize", check = check_dequantize} end
    if case.kind == "dot" then list[#list + 1] = {entry = "vec_dot", check = check_vec_dot} end
    return list
end

-- "passed"; "failed" and the mismatch; "skipped" and why.
local function judge_case(kernel, kind, case, reference)
    local checks = checks_of(case)
    for _, c in ipairs(checks) do
        if not kernel:has(c.entry) then return "skipped", "no " .. c.entry end
    end
    for _, c in ipairs(checks) do
        local mismatch = c.check(kernel, kind, case, reference)
        if mismatch then return "failed", mismatch end
    end
    return "passed"
end

-- qk.kernel, or nil if there is none for the type.
local function find_kernel(kind, plugin)
    local kernel, err = failure.try(qk.kernel, kind.name, plugin)
    if err and err.status ~= "QKERN_E_NOT_FOUND" then error(err, 0) end
    return kernel
end

-- The plugin's kernel that judges vec_dot where the contract is not at hand in Lua: nil if the
-- judged kernel is itself the reference, or if there is none.
local function find_reference(kind, plugin)
    local number = qk.choice(kind.name, "vec_dot")
    local judged = plugin or number and qk.plugins()[number].name
    local kernel = judged ~= REFERENCE and find_kernel(kind, REFERENCE)
    return kernel and kernel:has("vec_dot") and kernel or nil
end

local function judge_vectors(vectors, plugin)
    local kind, result = vectors.kind, {passed = 0, failed = 0, skipped = 0, reasons = {}}
    local kernel = find_kernel(kind, plugin)
    local reference = kernel and find_reference(kind, plugin)
    for _, case in ipairs(vectors.cases) do
        local outcome, detail
        if kernel then
            outcome, detail = judge_case(kernel, kind, case, reference)
        else
            outcome, detail = "skipped", plugin and "not in " .. plugin or "no kernel"
        end
        result[outcome] = result[outcome] + 1
        if outcome == "skipped" and not result.reasons[detail] then
            result.reasons[detail] = true
            table.insert(result.reasons, detail)
        elseif outcome == "failed" and not result.mismatch then
            result.mismatch = ("%s:%d: case %s: %s"):format(vectors.path, case.line, case.name,
                                                           detail)
        end
    end
    return result
end

-- --- the command ---------------------------------------------------------------------------------

-- The types of --types by name; nil for all.
local function wanted_types(list)
    local names = named.types(golden, "--types", list)
    if not names then return nil end
    local wanted = {}
    for _, name in ipairs(names) do wanted[name] = true end
    return wanted
end

local function read_folder(path, wanted)
    local names = failure.reading(qk.files, path)
    table.sort(names)
    local inputs, list = read_inputs(path .. "/inputs.txt"), {}
    for _, name in ipairs(names) do
        if name:find("%.txt$") and name ~= "inputs.txt" then
            local vectors = read_vectors(path .. "/" .. name, inputs)
            if not wanted or wanted[vectors.kind.name] then
                list[#list + 1] = vectors
                if wanted then wanted[vectors.kind.name] = "found" end
            end
        end
    end
    for name, state in pairs(wanted or {}) do
        if state ~= "found" then
            failure.raise(failure.USAGE, ("%s has no file of type %s"):format(path, name))
        end
    end
    if #list == 0 then failure.raise(failure.USAGE, path .. " has no vectors") end
    table.sort(list, function(a, b) return a.kind.number < b.kind.number end)
    return list
end

function golden.run(args)
    local wanted = wanted_types(args.types)
    if args.plugin then named.plugin(golden, "--plugin", args.plugin) end
    local list = read_folder(args[1], wanted)

    local rows, mismatches = {}, {}
    local sum = {cases = 0, passed = 0, failed = 0, skipped = 0}
    for i, vectors in ipairs(list) do
        local result = judge_vectors(vectors, args.plugin)
        result.cases = #vectors.cases
        local row = {vectors.kind.name}
        for _, count in ipairs {"cases", "passed", "failed", "skipped"} do
            row[#row + 1] = ("%d"):format(result[count])
            sum[count] = sum[count] + result[count]
        end
        row[#row + 1] = text.printable(table.concat(result.reasons, ", "))
        rows[i] = row
        mismatches[#mismatches + 1] = result.mismatch
    end

    local out = io.stdout
    out:write("kernels: ", text.printable(args.plugin or "those chosen"), "\n")
    out:write(text.table({"type", ">cases", ">passed", ">failed", ">skipped", "why skipped"}, rows))
    if #mismatches > 0 then out:write("\nfirst mismatch of each type\n") end
    for _, mismatch in ipairs(mismatches) do out:write("  ", text.printable(mismatch), "\n") end
    out:write(("\n%s, %s: %d passed, %d failed, %d skipped\n"):format(
        text.count(#list, "type"), text.count(sum.cases, "case"), sum.passed, sum.failed,
        sum.skipped))
    return sum.failed > 0 and 1 or 0
end

return golden
