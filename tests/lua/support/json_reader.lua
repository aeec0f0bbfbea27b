-- SPDX-License-Identifier: MIT
-- The strict reader of JSON that the commands use.
return require "qkern.commands.support.json_reader"
