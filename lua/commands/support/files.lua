-- SPDX-License-Identifier: MIT
-- Whole files, read and written.
local qk = require "qkern"
local failure = require "qkern.commands.support.failure"

local files = {}

-- The content of an input; what cannot be read is a usage error. Only of a regular file: opening a
-- FIFO or a device may block or do something.
function files.read(path)
    local size, message = qk.file_size(path)
    local file, content
    if size then file, message = io.open(path, "rb") end
    if file then
        content, message = file:read("a")
        file:close()
    end
    if not content then failure.raise(failure.USAGE, "cannot read " .. tostring(message)) end
    return content
end

-- Removes the file `path` when it is closed, unless that is nil by then.
local temporary = {}
temporary.__close = function(self)
    if self.file then self.file:close() end
    if self.path then os.remove(self.path) end
end

-- Writes the whole file or none: under another name first.
function files.write(path, content)
    local part <close> = setmetatable({}, temporary)
    local name = path .. ".part"
    local file, message = io.open(name, "wb")
    local ok
    if file then
        part.path, part.file = name, file
        ok, message = file:write(content)
        part.file = nil
        local closed, reason = file:close()
        if ok and not closed then ok, message = closed, reason end
        if ok then ok, message = os.rename(name, path) end
        if ok then part.path = nil end
    end
    if not ok then failure.raise(failure.FAILED, ("cannot write %s: %s"):format(path, message)) end
end

return files
