-- SPDX-License-Identifier: MIT
-- One line on the terminal that shows how far a long operation is.
local qk = require "qkern"
local text = require "qkern.commands.support.text"

local progress = {}
progress.__index = progress

local INTERVAL = 0.1 -- seconds between two pictures
local CLEAR = "\r\27[K"

-- total: of the units that add() counts, bytes unless `line` is given, which writes the line then.
-- Shows nothing unless `enabled`.
function progress.new(total, enabled, line)
    local now = qk.clock()
    return setmetatable({total = total, done = 0, began = now, shown = now, enabled = enabled,
                         line = line}, progress)
end

-- "1:05", "2:03:04"
local function duration(seconds)
    local s = math.ceil(seconds)
    if s < 3600 then return ("%d:%02d"):format(s // 60, s % 60) end
    return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60)
end

-- The line for `seconds` since the beginning.
function progress:line(what, seconds)
    local rate = self.done / math.max(seconds, 1e-9)
    local left = rate > 0 and duration((self.total - self.done) / rate) .. " left" or ""
    return ("%3d %%  %7.1f MB/s  %s  %s"):format(
        self.total > 0 and self.done * 100 // self.total or 100, rate / 1e6, left,
        text.cut(text.printable(what), 40))
end

function progress:add(amount, what)
    self.done = self.done + amount
    local now = qk.clock()
    if not self.enabled or now - self.shown < INTERVAL then return end
    self.shown = now
    io.stderr:write(CLEAR, self:line(what, now - self.began))
    io.stderr:flush()
end

function progress:finish()
    if self.enabled then io.stderr:write(CLEAR) end
    self.enabled = false
end

progress.__close = progress.finish

return progress
