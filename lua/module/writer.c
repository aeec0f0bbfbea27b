/* SPDX-License-Identifier: MIT */
/*
 * Writing GGUF files. A writer that is dropped, by an error for instance, removes its temporary
 * file: declare it `local w <close>`.
 */
#include "module.h"

struct writer {
    qkern_gguf_writer *w; /* NULL once committed or aborted */
};

static int writer_abort(lua_State *L)
{
    struct writer *writer = luaL_checkudata(L, 1, WRITER_CLASS);
    qkern_gguf_writer *w = writer->w;

    writer->w = NULL;
    qkern_gguf_writer_abort(w);
    return 0;
}

/* qk.gguf_writer(path) */
static int writer_new(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    const char *path = cstring_check(L, 1);
    struct writer *writer = lua_newuserdatauv(L, sizeof *writer, 0);

    writer->w = NULL;
    luaL_setmetatable(L, WRITER_CLASS);
    if (qkern_gguf_writer_create(path, &writer->w, &error) != QKERN_OK)
        error_raise(L, &error);
    return 1;
}

qkern_gguf_writer *writer_check(lua_State *L, int arg)
{
    const struct writer *writer = luaL_checkudata(L, arg, WRITER_CLASS);
    if (writer->w == NULL)
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "the GGUF writer is finished");
    return writer->w;
}

static int check(lua_State *L, qkern_status status, const qkern_error *error)
{
    if (status != QKERN_OK)
        error_raise(L, error);
    return 0;
}

/* w:copy_metadata(g): all of it, byte for byte. */
static int writer_copy_metadata(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_writer *w = writer_check(L, 1);
    const qkern_gguf *g = gguf_check(L, 2);
    return check(L, qkern_gguf_writer_copy_metadata(w, g, &error), &error);
}

/* w:set_u32(key, value) */
static int writer_set_u32(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_writer *w = writer_check(L, 1);
    const char *key = cstring_check(L, 2);
    lua_Integer value = luaL_checkinteger(L, 3);

    luaL_argcheck(L, value >= 0 && value <= UINT32_MAX, 3, "not an unsigned 32-bit number");
    return check(L, qkern_gguf_writer_set_u32(w, key, (uint32_t)value, &error), &error);
}

/* w:set_string(key, value) */
static int writer_set_string(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_writer *w = writer_check(L, 1);
    const char *key = cstring_check(L, 2);
    const char *value = cstring_check(L, 3);
    return check(L, qkern_gguf_writer_set_string(w, key, value, &error), &error);
}

/* w:remove(key): whether it was there. */
static int writer_remove(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_writer *w = writer_check(L, 1);
    qkern_status status = qkern_gguf_writer_remove(w, cstring_check(L, 2), &error);

    if (status != QKERN_E_NOT_FOUND)
        check(L, status, &error);
    lua_pushboolean(L, status == QKERN_OK);
    return 1;
}

/* w:add_tensor(name, type, shape) */
static int writer_add_tensor(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_type_info type;
    uint64_t shape[QKERN_GGUF_DIMENSION_LIMIT];
    size_t name_bytes;
    qkern_gguf_writer *w = writer_check(L, 1);
    const char *name = luaL_checklstring(L, 2, &name_bytes);

    type_check(L, 3, &type);
    luaL_checktype(L, 4, LUA_TTABLE);
    lua_Integer dimensions = luaL_len(L, 4);
    luaL_argcheck(L, dimensions >= 0 && dimensions <= (lua_Integer)QKERN_GGUF_DIMENSION_LIMIT, 4,
                  "too many dimensions");
    for (lua_Integer d = 0; d < dimensions; d++) {
        lua_geti(L, 4, d + 1);
        lua_Integer extent = luaL_checkinteger(L, -1);
        if (extent < 1)
            error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                             "extent %d of the shape is %lld, expected at least 1", (int)d + 1,
                             (long long)extent);
        shape[d] = (uint64_t)extent;
        lua_pop(L, 1);
    }
    return check(L,
                 qkern_gguf_writer_add_tensor(w, name, name_bytes, type.type, (uint32_t)dimensions,
                                              shape, &error),
                 &error);
}

/* w:begin(): metadata and tensors are complete. */
static int writer_begin(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    return check(L, qkern_gguf_writer_begin(writer_check(L, 1), &error), &error);
}

/* w:write(buffer or string): the next bytes of the tensors' data. */
static int writer_write(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_writer *w = writer_check(L, 1);
    const void *data;
    size_t bytes;

    if (lua_type(L, 2) == LUA_TSTRING) {
        data = lua_tolstring(L, 2, &bytes);
    } else {
        const struct buffer *b = buffer_check(L, 2);
        data = b->data;
        bytes = (size_t)b->bytes;
    }
    return check(L, qkern_gguf_writer_write(w, data, bytes, &error), &error);
}

/* w:commit(): the file appears under its name. */
static int writer_commit(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_writer *w = writer_check(L, 1);
    struct writer *writer = lua_touserdata(L, 1);

    writer->w = NULL; /* commit frees it in every case */
    return check(L, qkern_gguf_writer_commit(w, &error), &error);
}

static const luaL_Reg metamethods[] = {
    {"__gc", writer_abort}, {"__close", writer_abort}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"copy_metadata", writer_copy_metadata},
                                   {"set_u32", writer_set_u32},
                                   {"set_string", writer_set_string},
                                   {"remove", writer_remove},
                                   {"add_tensor", writer_add_tensor},
                                   {"begin", writer_begin},
                                   {"write", writer_write},
                                   {"commit", writer_commit},
                                   {"abort", writer_abort},
                                   {NULL, NULL}};
static const luaL_Reg functions[] = {{"gguf_writer", writer_new}, {NULL, NULL}};

void writer_register(lua_State *L)
{
    class_register(L, WRITER_CLASS, metamethods, methods);
    luaL_setfuncs(L, functions, 0);
}
