# cmake -D OUTPUT=scripts.c -D ROOT=folder -D SCRIPTS=a.lua;b/c.lua -P EmbedScripts.cmake
# Writes the table of console/scripts.h. A script's name for require is its path under ROOT.
set(arrays "")
set(rows "")
set(number 0)
foreach(script IN LISTS SCRIPTS)
  file(READ "${ROOT}/${script}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  # lines of 12 bytes, so that no tool chokes on the file
  string(REGEX REPLACE "(....................................................................................)"
         "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "\\.lua$" "" name "${script}")
  string(REPLACE "/" "." name "${name}")
  string(APPEND arrays "static const char text_${number}[] = {\n${bytes}0};\n")
  string(APPEND rows
    "    {\"qkern.commands.${name}\", text_${number}, sizeof text_${number} - 1},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "/* SPDX-License-Identifier: MIT */
/* Generated from lua/commands; do not edit. */
#include \"scripts.h\"

${arrays}
const struct script scripts[] = {
${rows}};
const size_t script_count = ${number};
")
