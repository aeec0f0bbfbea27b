/* SPDX-License-Identifier: MIT */
/* Element types: what the tables of qkern/types.h say of them. */
#include "module.h"

void type_check(lua_State *L, int arg, qkern_type_info *out)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_status status;

    *out = (qkern_type_info){.struct_size = sizeof *out};
    if (lua_isinteger(L, arg)) {
        lua_Integer number = lua_tointeger(L, arg);
        luaL_argcheck(L, number >= 0 && number <= INT32_MAX, arg, "not a type number");
        status = qkern_type_get((uint32_t)number, out, &error);
    } else {
        status = qkern_type_find(luaL_checkstring(L, arg), out, &error);
    }
    if (status != QKERN_OK)
        error_raise(L, &error);
}

const char *type_name(uint32_t type)
{
    qkern_type_info info = {.struct_size = sizeof info};
    return qkern_type_get(type, &info, NULL) == QKERN_OK ? info.name : "?";
}

static void type_push(lua_State *L, const qkern_type_info *info)
{
    lua_createtable(L, 0, 5);
    lua_pushstring(L, info->name);
    lua_setfield(L, -2, "name");
    lua_pushinteger(L, info->type);
    lua_setfield(L, -2, "number");
    lua_pushinteger(L, info->block_elements);
    lua_setfield(L, -2, "block_elements");
    lua_pushinteger(L, info->block_bytes);
    lua_setfield(L, -2, "block_bytes");
    if (info->dot_type != QKERN_TYPE_NONE) {
        lua_pushstring(L, type_name(info->dot_type));
        lua_setfield(L, -2, "dot_type");
    }
}

/* qk.type(name or number): a table of name, number, block_elements, block_bytes, dot_type. */
static int type_get(lua_State *L)
{
    qkern_type_info info;
    type_check(L, 1, &info);
    type_push(L, &info);
    return 1;
}

/* qk.types(): all of them, by number. */
static int type_list(lua_State *L)
{
    lua_newtable(L);
    for (uint32_t type = 0; type < QKERN_TYPE_LIMIT; type++) {
        qkern_type_info info = {.struct_size = sizeof info};
        if (qkern_type_get(type, &info, NULL) != QKERN_OK)
            continue; /* a retired number */
        type_push(L, &info);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
    return 1;
}

static const luaL_Reg functions[] = {{"type", type_get}, {"types", type_list}, {NULL, NULL}};

void types_register(lua_State *L)
{
    luaL_setfuncs(L, functions, 0);
}
