-- SPDX-License-Identifier: MIT
-- Errors that a command raises for the person who called it: a message and an exit status.
local failure = {}

local class = {__tostring = function(self) return self.message end}

failure.FAILED = 1 -- a failure was found, or the operation failed
failure.USAGE = 2  -- a wrong command line, or an input that cannot be read

-- Raises. With `hint`, a second line that says what to do.
function failure.raise(exit, message, hint)
    error(setmetatable({exit = exit, message = message, hint = hint}, class), 0)
end

function failure.is(value)
    return getmetatable(value) == class
end

-- Calls f(...), which reads an input: an error of the library in it has status 2.
function failure.reading(f, ...)
    local qk = require "qkern"
    local results = table.pack(pcall(f, ...))
    if results[1] then return table.unpack(results, 2, results.n) end
    if qk.is_error(results[2]) then failure.raise(failure.USAGE, results[2].message) end
    error(results[2], 0)
end

return failure
