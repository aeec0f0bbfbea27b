-- SPDX-License-Identifier: MIT
-- Errors that a command raises for the person who called it: a message and an exit status.
local qk = require "qkern"

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

-- Calls f(...). Returns its result; or nil and the error, if it is one of the library that speaks
-- of the arguments. Any other, and want of memory, is raised.
function failure.try(f, ...)
    local ok, result = pcall(f, ...)
    if ok then return result end
    if not qk.is_error(result) or result.status == "QKERN_E_MEMORY" then error(result, 0) end
    return nil, result
end

-- Calls f(...), which reads an input: an error of the library in it has status 2.
function failure.reading(f, ...)
    local result, err = failure.try(f, ...)
    if err then failure.raise(failure.USAGE, err.message) end
    return result
end

return failure
