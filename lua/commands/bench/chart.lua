-- SPDX-License-Identifier: MIT
-- Bars: in the terminal, and as an SVG file. A full bar is the fastest of its cell.
local text = require "qkern.commands.support.text"

local chart = {}

-- --- in the terminal -----------------------------------------------------------------------------

local EIGHTHS = {"▏", "▎", "▍", "▌", "▋", "▊", "▉"}

-- Whether the locale in these environment variables is one of UTF-8.
function chart.is_unicode(getenv)
    for _, name in ipairs {"LC_ALL", "LC_CTYPE", "LANG"} do
        local value = getenv(name)
        if value and value ~= "" then return value:lower():find "utf%-?8" ~= nil end
    end
    return false
end

-- Whether colours are wanted: only on a terminal, and not if NO_COLOR is set.
function chart.is_coloured(screen, getenv)
    local no_colour, term = getenv "NO_COLOR", getenv "TERM"
    return screen and (no_colour == nil or no_colour == "") and term ~= nil and term ~= ""
        and term ~= "dumb"
end

-- A bar of at most `width` columns for a share of 0 to 1. style: {unicode, colour}.
function chart.bar(share, width, style)
    share = math.max(0, math.min(1, share))
    local bar
    if style.unicode then
        local eighths = math.floor(share * width * 8 + 0.5)
        bar = ("█"):rep(eighths // 8) .. (EIGHTHS[eighths % 8] or "")
        if bar == "" then bar = EIGHTHS[1] end
    else
        bar = ("#"):rep(math.max(1, math.floor(share * width + 0.5)))
    end
    if not style.colour then return bar end
    return (share == 1 and "\27[32m" or "\27[36m") .. bar .. "\27[0m"
end

-- --- SVG -----------------------------------------------------------------------------------------

local ESCAPES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}

-- A string as XML, which has no control characters.
local function xml(s)
    return (text.printable(s):gsub('[&<>"]', ESCAPES))
end

local BAR, STEP, GAP, TOP = 14, 18, 14, 46 -- heights, in pixels
local LABEL, LENGTH, WIDTH = 190, 400, 800 -- where bars begin, how long they are, all of it

local HEAD = [[
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">
<title>%s</title>
<style>
svg { background: #ffffff; font: 12px sans-serif; }
text { fill: #1f2328; } .cell { font-weight: bold; } .note { fill: #59636e; }
.bar { fill: #8c959f; } .best { fill: #1a7f37; }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; }
text { fill: #e6edf3; } .note { fill: #9198a1; }
.bar { fill: #6e7681; } .best { fill: #3fb950; }
}
</style>
]]

-- The chart of cells: lists of {title, bars = {{label, share, value}}}; value is text beside the
-- bar. A bar with a share of 1 is drawn as the best.
function chart.svg(title, cells)
    local out, y = {}, TOP
    local function put(format, ...) out[#out + 1] = format:format(...) end
    put('<text x="10" y="24" class="cell">%s</text>\n', xml(title))
    for _, cell in ipairs(cells) do
        put('<text x="10" y="%d" class="cell">%s</text>\n', y + BAR - 2, xml(cell.title))
        y = y + STEP
        for _, bar in ipairs(cell.bars) do
            put('<text x="%d" y="%d" text-anchor="end">%s</text>\n', LABEL - 8, y + BAR - 3,
                xml(bar.label))
            local length = bar.share and LENGTH * bar.share or 0
            if bar.share then
                put('<rect x="%d" y="%d" width="%.1f" height="%d" class="%s"/>\n', LABEL, y,
                    length, BAR, bar.share == 1 and "best" or "bar")
            end
            put('<text x="%.1f" y="%d" class="note">%s</text>\n', LABEL + length + 6, y + BAR - 3,
                xml(bar.value))
            y = y + STEP
        end
        y = y + GAP
    end
    return HEAD:format(WIDTH, y, WIDTH, y, xml(title)) .. table.concat(out) .. "</svg>\n"
end

return chart
