-- SPDX-License-Identifier: MIT
-- Builds GGUF files byte by byte, independently of the library.
local maker = {}

local TYPES = {u8 = 0, i8 = 1, u16 = 2, i16 = 3, u32 = 4, i32 = 5, f32 = 6, bool = 7, string = 8,
               array = 9, u64 = 10, i64 = 11, f64 = 12}
local FORMATS = {u8 = "<B", i8 = "<b", u16 = "<I2", i16 = "<i2", u32 = "<I4", i32 = "<i4",
                 f32 = "<f", u64 = "<i8", i64 = "<i8", f64 = "<d", string = "<s8"}

local function encode(kind, value)
    if kind == "bool" then return string.char(value and 1 or 0) end
    if kind ~= "array" then return string.pack(FORMATS[kind], value) end
    local pieces = {string.pack("<I4I8", TYPES[value.type], #value)}
    for i, element in ipairs(value) do pieces[i + 1] = encode(value.type, element) end
    return table.concat(pieces)
end

-- A string of n values f(i), i from 0, as little-endian floats.
function maker.floats(n, f)
    local pieces = {}
    for i = 0, n - 1 do pieces[i + 1] = string.pack("<f", f(i)) end
    return table.concat(pieces)
end

local function pad(s, alignment)
    return s .. ("\0"):rep(-#s % alignment)
end

-- metadata: a list of {key, kind, value}; tensors: a list of {name, type number, shape, data}.
-- An array value is a list with the field type.
function maker.file(metadata, tensors)
    local alignment, offset = 32, 0
    local pieces = {"GGUF", string.pack("<I4I8I8", 3, #tensors, #metadata)}
    for _, pair in ipairs(metadata) do
        pieces[#pieces + 1] = string.pack("<s8I4", pair[1], TYPES[pair[2]])
            .. encode(pair[2], pair[3])
    end
    local data = {}
    for _, t in ipairs(tensors) do
        pieces[#pieces + 1] = string.pack("<s8I4", t[1], #t[3])
        for _, extent in ipairs(t[3]) do pieces[#pieces + 1] = string.pack("<I8", extent) end
        pieces[#pieces + 1] = string.pack("<I4I8", t[2], offset)
        data[#data + 1] = pad(t[4], alignment)
        offset = offset + #data[#data]
    end
    return pad(table.concat(pieces), alignment) .. table.concat(data)
end

-- Writes a file with one F32 tensor, "w", of `bytes` bytes: zeros, which take no place on the disk,
-- and the last value 1.
function maker.sparse(path, bytes)
    local row = 4096
    local header = "GGUF" .. string.pack("<I4I8I8", 3, 1, 0)
        .. string.pack("<s8I4I8I8I4I8", "w", 2, row, bytes // 4 // row, 0, 0)
    header = pad(header, 32)
    local file = assert(io.open(path, "wb"))
    file:write(header)
    file:seek("set", #header + bytes - 4)
    file:write(string.pack("<f", 1))
    assert(file:close())
    return path
end

-- Writes a file with one pair of metadata, "k": an array of n zeros of a type of `size` bytes, or
-- of n empty strings. They take no place on the disk.
function maker.sparse_array(path, kind, size, n)
    local file = assert(io.open(path, "wb"))
    file:write("GGUF", string.pack("<I4I8I8", 3, 0, 1), string.pack("<s8I4", "k", TYPES.array),
               string.pack("<I4I8", TYPES[kind], n))
    file:seek("cur", size * n - 1)
    file:write(("\0"):rep(64))
    assert(file:close())
    return path
end

return maker
