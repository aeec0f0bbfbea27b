#!/usr/bin/env lua5.4
-- SPDX-License-Identifier: MIT
-- Instructions per block of the kernels of Arm plugins, from their disassembly.
--
--   count-instructions.lua table FOLDER   a table of all counts, for docs/performance.md
--   count-instructions.lua check FOLDER   that each 16 products take one SDOT or SMMLA, and no more
--
-- FOLDER has the plugins, qkern-neon.so and so on. QKERN_OBJDUMP: the objdump to use.
--
-- What is counted is the steady state: the deepest nest of loops of a function. A count is the sum,
-- over the loops of the nest, of the instructions that are in the loop and in none within, each
-- divided by the blocks that one turn of it does.

-- plugins/common/dots.h does four units at once, and so many rows:
local ROWS = {neon = 4, dotprod = 4, i8mm = 8, floats = 2}

-- Blocks of a turn, from the innermost loop out; loops beyond are not counted. `depth` is that of
-- the whole nest, by which one sees whether the compiler has unrolled the loop over rows.
local function turns(type, entry, plugin, depth)
    local rows = entry == "vec_dot_rows" and ROWS[type.family] or ROWS[plugin]
    if type.family == "floats" then
        return {entry == "vec_dot" and 1 or rows}
    elseif type.family == "legacy" then
        return entry == "vec_dot" and {4} or depth == 2 and {4 * rows} or {4, 4 * rows}
    else -- one unit after the other
        return entry == "vec_dot" and {1, 4} or {1, 4, 4 * rows}
    end
end

local types = {}
for family, names in pairs {floats = "f32 f16 bf16", legacy = "q4_0 q4_1 q5_0 q5_1 q8_0",
                            kquants = "q2_K q3_K q4_K q5_K q6_K"} do
    for name in names:gmatch "%S+" do
        types[name] = {family = family, elements = family == "floats" and 16 or
                                                   family == "legacy" and 32 or 256}
    end
end
local order = "f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 q2_K q3_K q4_K q5_K q6_K"

local function fail(...)
    io.stderr:write("count-instructions.lua: ", string.format(...), "\n")
    os.exit(1)
end

-- The functions of a file: name -> {{at =, op =, rest =, to = target of a branch}, ...}
local function disassemble(path)
    local objdump = os.getenv "QKERN_OBJDUMP" or "aarch64-linux-gnu-objdump"
    local pipe = assert(io.popen(("%s -d --no-show-raw-insn '%s'"):format(objdump, path)))
    local functions, current = {}, nil
    for line in pipe:lines() do
        local name = line:match "^%x+ <([%w_]+)>:"
        local at, op, rest = line:match "^%s*(%x+):\t(%S+)%s*(.*)"
        if name then
            current = {}
            functions[name] = current
        elseif at and current then
            local branch = op:match "^b%.?%l*$" or op:match "^cbn?z$" or op:match "^tbn?z$"
            current[#current + 1] = {
                at = tonumber(at, 16), op = op, rest = rest,
                to = branch and op ~= "bl" and tonumber(rest:match "(%x+) <" or "", 16) or nil}
        end
    end
    if not pipe:close() or not next(functions) then
        fail("%s could not be disassembled with %s", path, objdump)
    end
    return functions
end

-- Indices of the instructions that may follow instruction i.
local function successors(code, index, i)
    local c, next_ones = code[i], {}
    if c.to and index[c.to] then
        next_ones[1] = index[c.to]
    end
    if c.op ~= "b" and c.op ~= "ret" and c.op ~= "br" and code[i + 1] then
        next_ones[#next_ones + 1] = i + 1
    end
    return next_ones
end

-- Instructions that can be reached from the first one without passing `without`.
local function reached(code, next_of, without)
    local seen, todo = {}, {1}
    while #todo > 0 do
        local i = table.remove(todo)
        if i ~= without and not seen[i] then
            seen[i] = true
            table.move(next_of[i], 1, #next_of[i], #todo + 1, todo)
        end
    end
    return seen
end

-- The natural loops: header -> set of the instructions in it. A branch closes a loop if each way to
-- it leads over its target.
local function natural_loops(code)
    local index, next_of, before = {}, {}, {}
    for i, c in ipairs(code) do
        index[c.at], before[i] = i, {}
    end
    for i in ipairs(code) do
        next_of[i] = successors(code, index, i)
        for _, s in ipairs(next_of[i]) do
            table.insert(before[s], i)
        end
    end
    local loops, all = {}, reached(code, next_of)
    for header in ipairs(code) do
        local others = #before[header] > 1 and reached(code, next_of, header)
        for _, i in ipairs(before[header]) do
            if others and all[i] and not others[i] then
                local body = loops[header] or {[header] = true}
                local todo = {i}
                while #todo > 0 do
                    local j = table.remove(todo)
                    if not body[j] then
                        body[j] = true
                        table.move(before[j], 1, #before[j], #todo + 1, todo)
                    end
                end
                loops[header] = body
            end
        end
    end
    return loops
end

local function size(set)
    local n = 0
    for _ in pairs(set) do
        n = n + 1
    end
    return n
end

-- The loops of the deepest nest, the innermost first.
local function deepest_nest(code)
    local loops, best = natural_loops(code), {}
    for header in pairs(loops) do
        local nest = {}
        for _, body in pairs(loops) do
            if body[header] then
                nest[#nest + 1] = body
            end
        end
        table.sort(nest, function(a, b) return size(a) < size(b) end)
        local deeper = #nest > #best
        if deeper or #nest == #best and #nest > 0 and size(nest[1]) > size(best[1]) then
            best = nest
        end
    end
    return best
end

-- How many instructions of a level of a nest are in no loop within, of those that `counted` takes.
local function own_size(code, nest, level, counted)
    local own = 0
    for i in pairs(nest[level]) do
        if not (level > 1 and nest[level - 1][i]) and (not counted or counted(code[i])) then
            own = own + 1
        end
    end
    return own
end

-- Instructions per block of a dot product; those whose name matches `pattern` only.
local function per_block(code, type, entry, plugin, pattern)
    local nest, sum = deepest_nest(code), 0
    local blocks_of_turn = turns(type, entry, plugin, #nest)
    if #nest ~= #blocks_of_turn + (entry == "vec_dot_rows" and 1 or 0) then
        fail("%s %s: %d loops in each other, expected %d", plugin, entry, #nest,
             #blocks_of_turn + (entry == "vec_dot_rows" and 1 or 0))
    end
    local function counted(c)
        return c.op:match(pattern or "")
    end
    for level, blocks in ipairs(blocks_of_turn) do
        sum = sum + own_size(code, nest, level, counted) / blocks
    end
    return sum
end

-- Instructions per block of dequantize. How many elements a turn of the innermost loop does is seen
-- from the vectors that it stores; the loop around it, if there is one, does a block.
local function dequantize_per_block(code, elements)
    local nest, stored = deepest_nest(code), 0
    if #nest == 0 then
        return nil -- a call of memcpy
    end
    for i in pairs(nest[1]) do
        local c = code[i]
        if not c.rest:find("[sp", 1, true) then
            stored = stored + (c.op == "stp" and c.rest:match "^q" and 8 or
                               c.op:match "^stu?r$" and c.rest:match "^q" and 4 or 0)
        end
    end
    if stored == 0 or #nest > 2 then
        fail("dequantize: %d elements stored, %d loops in each other", stored, #nest)
    end
    return own_size(code, nest, 1) * elements / stored + (nest[2] and own_size(code, nest, 2) or 0)
end

local mode, folder = arg[1], arg[2]
if not folder or (mode ~= "table" and mode ~= "check") then
    fail("usage: count-instructions.lua table|check FOLDER")
end

local entries = {neon = {"vec_dot", "vec_dot_rows"}, dotprod = {"vec_dot", "vec_dot_rows"},
                 i8mm = {"vec_dot_rows"}}
local plugins = {}
for _, plugin in ipairs {"neon", "dotprod", "i8mm"} do
    local path = folder .. "/qkern-" .. plugin .. ".so"
    local file = io.open(path)
    if file then
        file:close()
        plugins[#plugins + 1] = {name = plugin, functions = disassemble(path)}
    end
end
if #plugins == 0 then
    fail("%s has none of the plugins neon, dotprod, i8mm", folder)
end

-- f(plugin, type's name, type, entry, code) for each dot product of each plugin
local function each_dot(f)
    for name in order:gmatch "%S+" do
        for _, plugin in ipairs(plugins) do
            for _, entry in ipairs(entries[plugin.name]) do
                f(plugin, name, types[name], entry, plugin.functions[name .. "_" .. entry])
            end
        end
    end
end

local function cell(count)
    return count and (" %.1f |"):format(count) or " - |"
end

if mode == "table" then
    local head, line, row = "| type |", "| --- |", nil
    for _, plugin in ipairs(plugins) do
        for _, entry in ipairs(entries[plugin.name]) do
            head = head .. (" %s %s |"):format(plugin.name, entry == "vec_dot" and entry or "rows")
            line = line .. " --- |"
        end
    end
    print(head .. " neon dequantize |\n" .. line .. " --- |")
    each_dot(function(plugin, name, type, entry, code)
        local first = plugin == plugins[1] and entry == "vec_dot"
        local last = plugin == plugins[#plugins] and entry == "vec_dot_rows"
        if first then
            row = ("| %s (%d) |"):format(name:upper(), type.elements)
        end
        row = row .. cell(code and per_block(code, type, entry, plugin.name))
        if last then
            local decode = plugins[1].functions[name .. "_dequantize"]
            print(row .. cell(decode and dequantize_per_block(decode, type.elements)))
        end
    end)
else
    local bad, checked = 0, 0
    each_dot(function(plugin, name, type, entry, code)
        if plugin.name ~= "neon" and code then
            local found = per_block(code, type, entry, plugin.name, "^[su]*dot$") +
                per_block(code, type, entry, plugin.name, "^[su]*mmla$")
            checked = checked + 1
            if found ~= type.elements / 16 then
                print(("%s: %s_%s: expected %d SDOT or SMMLA for %d products, found %g"):format(
                    plugin.name, name, entry, type.elements / 16, type.elements, found))
                bad = bad + 1
            end
        end
    end)
    print(("%d dot products checked, %d of them wrong"):format(checked, bad))
    os.exit(bad == 0 and checked > 0)
end
