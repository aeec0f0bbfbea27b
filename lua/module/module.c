/* SPDX-License-Identifier: MIT */
/* The entry of the qkern module. */
#include <string.h>

#include "module.h"

void class_register(lua_State *L, const char *name, const luaL_Reg *metamethods,
                    const luaL_Reg *methods)
{
    luaL_newmetatable(L, name);
    luaL_setfuncs(L, metamethods, 0);
    if (methods != NULL) {
        lua_newtable(L);
        luaL_setfuncs(L, methods, 0);
        lua_setfield(L, -2, "__index");
    }
    lua_pushboolean(L, 0); /* what getmetatable gives to scripts: finalizers are not for them */
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

const char *cstring_check(lua_State *L, int arg)
{
    size_t length;
    const char *name = luaL_checklstring(L, arg, &length);
    luaL_argcheck(L, strlen(name) == length, arg, "a zero byte inside the string");
    return name;
}

__attribute__((visibility("default"))) int luaopen_qkern(lua_State *L)
{
    luaL_checkversion(L);
    lua_newtable(L);
    lua_pushfstring(L, "qkern %s", qkern_version());
    lua_setfield(L, -2, "_VERSION");
    errors_register(L);
    system_register(L);
    types_register(L);
    instance_register(L);
    buffers_register(L);
    kernels_register(L);
    gguf_register(L);
    writer_register(L);
    convert_register(L);
    bench_register(L);
    verify_register(L);
    return 1;
}
