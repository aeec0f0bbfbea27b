/* SPDX-License-Identifier: MIT */
/*
 * Errors of the library as Lua errors: a table with
 *   status   "QKERN_E_LENGTH"
 *   code     its number
 *   message  one line
 *   index    the first offending element, counted from 1; nil if there is none
 * whose tostring is the message.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

/* How much of a text is the name of a C function: "qkern_quantize: " as the one that speaks, or the
 * beginning of "qkern_gguf_writer_begin", whose rest is the method's name; else 0. */
static size_t c_name_length(const char *text)
{
    static const char method[] = "qkern_gguf_writer_";
    size_t length = 0;

    if (strncmp(text, "qkern_", 6) != 0)
        return 0;
    while (text[length] == '_' || isalnum((unsigned char)text[length]))
        length++;
    if (strncmp(text + length, ": ", 2) == 0)
        return length + 2;
    return strncmp(text, method, sizeof method - 1) == 0 ? sizeof method - 1 : 0;
}

/* How much of a text stands before the number of an element or block: "x[39]", "block 0". */
static size_t counter_length(const char *text)
{
    static const char *const counters[] = {"[", "element ", "block "};

    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        size_t length = strlen(counters[i]);
        if (strncmp(text, counters[i], length) == 0 && isdigit((unsigned char)text[length]))
            return length;
    }
    return 0;
}

/*
 * Pushes the library's message as a caller in Lua knows things: without the names of C functions,
 * and, if the error has an index, with elements and blocks counted from 1.
 */
static void push_message(lua_State *L, const qkern_error *error)
{
    const char *text = error->message;
    bool indexed = error->index != QKERN_NO_INDEX;
    luaL_Buffer out;

    luaL_buffinit(L, &out);
    while (*text != '\0') {
        bool at_word = text == error->message || text[-1] == ' ';
        size_t counter = indexed ? counter_length(text) : 0;
        if (at_word && c_name_length(text) > 0) {
            text += c_name_length(text);
        } else if (counter > 0) {
            char number[24];
            char *end;
            luaL_addlstring(&out, text, counter);
            uint64_t count = strtoull(text + counter, &end, 10) + 1;
            snprintf(number, sizeof number, "%" PRIu64, count);
            luaL_addstring(&out, number);
            text = end;
        } else {
            luaL_addchar(&out, *text++);
        }
    }
    luaL_pushresult(&out);
}

/* Raises the error with the message on top of the stack. */
__attribute__((noreturn)) static void raise_message(lua_State *L, const qkern_error *error)
{
    lua_createtable(L, 0, 4);
    lua_insert(L, -2);
    lua_setfield(L, -2, "message");
    lua_pushstring(L, qkern_status_name((qkern_status)error->status));
    lua_setfield(L, -2, "status");
    lua_pushinteger(L, error->status);
    lua_setfield(L, -2, "code");
    if (error->index != QKERN_NO_INDEX) {
        lua_pushinteger(L, (lua_Integer)error->index + 1);
        lua_setfield(L, -2, "index");
    }
    luaL_setmetatable(L, ERROR_CLASS);
    for (;;)
        lua_error(L); /* does not return, but is not declared so */
}

int error_raise(lua_State *L, const qkern_error *error)
{
    push_message(L, error);
    raise_message(L, error);
}

int error_raise_text(lua_State *L, qkern_status status, uint64_t index, const char *format, ...)
{
    qkern_error error = QKERN_ERROR_INIT;
    va_list arguments;

    error.status = status;
    error.index = index;
    va_start(arguments, format);
    vsnprintf(error.message, sizeof error.message, format, arguments);
    va_end(arguments);
    lua_pushstring(L, error.message);
    raise_message(L, &error);
}

static int error_tostring(lua_State *L)
{
    lua_getfield(L, 1, "message");
    return 1;
}

/* qk.is_error(value): whether it is an error of the library. */
static int error_is(lua_State *L)
{
    luaL_checkany(L, 1);
    bool is = lua_istable(L, 1) && lua_getmetatable(L, 1);
    if (is) {
        luaL_getmetatable(L, ERROR_CLASS);
        is = lua_rawequal(L, -1, -2);
    }
    lua_pushboolean(L, is);
    return 1;
}

static const luaL_Reg metamethods[] = {{"__tostring", error_tostring}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"is_error", error_is}, {NULL, NULL}};

void errors_register(lua_State *L)
{
    class_register(L, ERROR_CLASS, metamethods, NULL);
    luaL_setfuncs(L, functions, 0);
}
