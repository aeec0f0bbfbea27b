/* SPDX-License-Identifier: MIT */
/*
 * Errors of the library as Lua errors: a table with
 *   status   "QKERN_E_LENGTH"
 *   code     its number
 *   message  one line
 *   index    the first offending element, counted from 0 as in the message; nil if there is none
 * whose tostring is the message.
 */
#include <stdarg.h>
#include <stdio.h>

#include "module.h"

int error_raise(lua_State *L, const qkern_error *error)
{
    lua_createtable(L, 0, 4);
    lua_pushstring(L, qkern_status_name((qkern_status)error->status));
    lua_setfield(L, -2, "status");
    lua_pushinteger(L, error->status);
    lua_setfield(L, -2, "code");
    lua_pushstring(L, error->message);
    lua_setfield(L, -2, "message");
    if (error->index != QKERN_NO_INDEX) {
        lua_pushinteger(L, (lua_Integer)error->index);
        lua_setfield(L, -2, "index");
    }
    luaL_setmetatable(L, ERROR_CLASS);
    for (;;)
        lua_error(L); /* does not return, but is not declared so */
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
    error_raise(L, &error);
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
