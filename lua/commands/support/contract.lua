-- SPDX-License-Identifier: MIT
-- The numeric contract of vec_dot, evaluated from its text (abi/README.md) and from the block
-- layouts, independently of every kernel: slow, and made to be compared with.
--
-- contract.vec_dot(type, weights, activations): the result as four bytes, little endian, for rows
-- given as strings; nil for a type that is not here.
local contract = {}

-- x rounded to f32. The sum or product of two f32 in double precision, rounded once more, is the
-- f32 operation's result: 53 >= 2 * 24 + 2.
local function f32(x)
    return (string.unpack("<f", string.pack("<f", x)))
end

local function half(s, i)
    local bits = string.unpack("<I2", s, i)
    local sign, exponent, mantissa = bits >> 15 == 1 and -1 or 1, bits >> 10 & 31, bits & 1023
    if exponent == 31 then return mantissa == 0 and sign * math.huge or 0 / 0 end
    if exponent == 0 then return sign * mantissa * 2.0 ^ -24 end
    return sign * (1024 + mantissa) * 2.0 ^ (exponent - 25)
end

local function i8(s, i)
    local byte = s:byte(i)
    return byte < 128 and byte or byte - 256
end

-- --- 32 elements against Q8_0 and Q8_1 -----------------------------------------------------------

-- The sum of code(e) times the activation's code e; `at` is where those begin.
local function sum32(code, a, at)
    local sum = 0
    for e = 0, 31 do sum = sum + code(e) * i8(a, at + e) end
    return sum
end

-- Code e, without bit 4, of nibbles that begin at `at`.
local function nibble(w, at, e)
    local byte = w:byte(at + e % 16)
    return e < 16 and byte & 15 or byte >> 4
end

local function scale_only(code_of)
    return function(w, i, a, j)
        local sum = sum32(function(e) return code_of(w, i, e) end, a, j + 2)
        return f32(f32(half(w, i) * half(a, j)) * f32(sum))
    end
end

local function with_minimum(code_of)
    return function(w, i, a, j)
        local sum = sum32(function(e) return code_of(w, i, e) end, a, j + 4)
        local scaled = f32(f32(half(w, i) * half(a, j)) * f32(sum))
        return f32(scaled + f32(half(w, i + 2) * half(a, j + 2)))
    end
end

local function code5(w, high_at, low_at, e)
    return nibble(w, low_at, e) | (string.unpack("<I4", w, high_at) >> e & 1) << 4
end

-- --- 256 elements against Q8_K -------------------------------------------------------------------

-- Two bits of each of 64 bytes that begin at `at`.
local function code2(w, at, e)
    return w:byte(at + 32 * (e // 128) + e % 32) >> 2 * (e % 128 // 32) & 3
end

local function code4(w, at, e)
    local byte = w:byte(at + 32 * (e // 64) + e % 32)
    return e % 64 < 32 and byte & 15 or byte >> 4
end

local function code6(w, i, e)
    local h, l, p = e // 128, e % 32, e % 128 // 32
    local byte = w:byte(i + 64 * h + l + 32 * (p & 1))
    local low = p < 2 and byte & 15 or byte >> 4
    return (low | (w:byte(i + 128 + 32 * h + l) >> 2 * p & 3) << 4) - 32
end

-- Scale and minimum number g of the twelve bytes that begin at `at`.
local function scale_and_minimum(w, at, g)
    local function byte(k) return w:byte(at + k) end
    if g < 4 then return byte(g) & 63, byte(g + 4) & 63 end
    return byte(g + 4) & 15 | (byte(g - 4) >> 6) << 4, byte(g + 4) >> 4 | (byte(g) >> 6) << 4
end

local function scale3(w, at, g)
    local low = g < 8 and w:byte(at + g) & 15 or w:byte(at + g - 8) >> 4
    return (low | (w:byte(at + 8 + g % 4) >> 2 * (g // 4) & 3) << 4) - 32
end

-- The sum over groups of `size` elements of the scale times the sum of code times activation, and
-- the sum of the minimum times the stored sums.
local function sums256(size, code, scales, a, j)
    local scaled, minimums = 0, 0
    for g = 0, 256 // size - 1 do
        local scale, minimum = scales(g)
        local sum = 0
        for e = g * size, (g + 1) * size - 1 do sum = sum + code(e) * i8(a, j + 4 + e) end
        scaled = scaled + scale * sum
        for k = g * size // 16, (g + 1) * size // 16 - 1 do
            minimums = minimums + (minimum or 0) * string.unpack("<i2", a, j + 260 + 2 * k)
        end
    end
    return scaled, minimums
end

-- d_at, dmin_at: where those are in a block; dmin_at is nil if there is no minimum.
local function super_block(size, d_at, dmin_at, code_of, scales_of)
    return function(w, i, a, j)
        local scaled, minimums = sums256(size, function(e) return code_of(w, i, e) end,
                                         function(g) return scales_of(w, i, g) end, a, j)
        local dx = string.unpack("<f", a, j)
        local t = f32(f32(dx * half(w, i + d_at)) * f32(scaled))
        if not dmin_at then return t end
        return f32(t - f32(f32(dx * half(w, i + dmin_at)) * f32(minimums)))
    end
end

-- --- units and partials --------------------------------------------------------------------------

-- By type: bytes of a unit's weights and of its activations, and the unit's value.
local UNITS = {
    Q4_0 = {18, 34, scale_only(function(w, i, e) return nibble(w, i + 2, e) - 8 end)},
    Q5_0 = {22, 34, scale_only(function(w, i, e) return code5(w, i + 2, i + 6, e) - 16 end)},
    Q8_0 = {34, 34, scale_only(function(w, i, e) return i8(w, i + 2 + e) end)},
    Q4_1 = {20, 36, with_minimum(function(w, i, e) return nibble(w, i + 4, e) end)},
    Q5_1 = {24, 36, with_minimum(function(w, i, e) return code5(w, i + 4, i + 8, e) end)},
    Q2_K = {84, 292, super_block(16, 80, 82,
        function(w, i, e) return code2(w, i + 16, e) end,
        function(w, i, g) return w:byte(i + g) & 15, w:byte(i + g) >> 4 end)},
    Q3_K = {110, 292, super_block(16, 108, nil,
        function(w, i, e)
            local high = w:byte(i + e % 32) >> e // 32 & 1
            return code2(w, i + 32, e) - (high == 1 and 0 or 4)
        end,
        function(w, i, g) return scale3(w, i + 96, g) end)},
    Q4_K = {144, 292, super_block(32, 0, 2,
        function(w, i, e) return code4(w, i + 16, e) end,
        function(w, i, g) return scale_and_minimum(w, i + 4, g) end)},
    Q5_K = {176, 292, super_block(32, 0, 2,
        function(w, i, e)
            return code4(w, i + 48, e) | (w:byte(i + 16 + e % 32) >> e // 32 & 1) << 4
        end,
        function(w, i, g) return scale_and_minimum(w, i + 4, g) end)},
    Q6_K = {210, 292, super_block(16, 208, nil, code6,
        function(w, i, g) return i8(w, i + 192 + g) end)},
}

local function float_at(s, i) return (string.unpack("<f", s, i)) end
local function bfloat_at(s, i) return (string.unpack("<f", "\0\0" .. s:sub(i, i + 1))) end

-- By type: bytes of an element, and its value.
local FLOATS = {F32 = {4, float_at}, F16 = {2, half}, BF16 = {2, bfloat_at}}

local function dot_floats(bytes, value, w, a)
    local p = {}
    for i = 0, 15 do p[i] = 0.0 end
    for i = 0, #w // bytes - 1 do
        local product = f32(value(w, i * bytes + 1) * value(a, i * bytes + 1))
        p[i % 16] = f32(p[i % 16] + product)
    end
    for _, upper in ipairs {8, 4, 2, 1} do
        for i = 0, upper - 1 do p[i] = f32(p[i] + p[i + upper]) end
    end
    return p[0]
end

local function dot_units(weight_bytes, activation_bytes, value, w, a)
    local p = {[0] = 0.0, 0.0, 0.0, 0.0}
    for u = 0, #w // weight_bytes - 1 do
        local t = value(w, u * weight_bytes + 1, a, u * activation_bytes + 1)
        p[u % 4] = f32(p[u % 4] + t)
    end
    return f32(f32(p[0] + p[2]) + f32(p[1] + p[3]))
end

function contract.vec_dot(type, weights, activations)
    local float, unit = FLOATS[type], UNITS[type]
    if float then
        return string.pack("<f", dot_floats(float[1], float[2], weights, activations))
    elseif unit then
        return string.pack("<f", dot_units(unit[1], unit[2], unit[3], weights, activations))
    end
end

return contract
