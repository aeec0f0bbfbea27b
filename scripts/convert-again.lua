-- SPDX-License-Identifier: MIT
-- Converts the tensors of a GGUF file as `qkern quantize` does, again and again, for who measures it:
-- the start of the program, which takes longer than a small file, then counts only once.
--
--   time build/bin/qkern run scripts/convert-again.lua FILE TYPE THREADS TIMES
--
-- The output is written and thrown away.
local qk = require "qkern"

local file, kind, threads, times = table.unpack(arg)
if not times then
    io.stderr:write("usage: qkern run scripts/convert-again.lua FILE TYPE THREADS TIMES\n")
    os.exit(2)
end

local g <close> = qk.gguf(file)
local converter <close> = qk.converter(math.tointeger(threads))
for _ = 1, math.tointeger(times) do
    local w <close> = qk.gguf_writer(file:match "[^/]*$" .. ".tmp-" .. kind)
    for i = 1, g:header().tensor_count do
        local tensor = g:tensor(i)
        w:add_tensor(tensor.name, kind, tensor.shape)
    end
    w:begin()
    for i = 1, g:header().tensor_count do
        converter:start(g, i, kind)
        while converter:step(w) do end
    end
    w:abort()
end
print(("%d times %s to %s by %s, %d threads"):format(times, file:match "[^/]*$", kind,
    qk.plugins()[qk.choice(kind, "quantize")].name, threads))
