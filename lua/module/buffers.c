/* SPDX-License-Identifier: MIT */
/*
 * Buffers: typed memory with bounds, either the buffer's own or a part of a mapped file or of
 * another buffer. What a buffer looks into is its user value, so that it stays alive.
 *
 * Elements are counted from 1, as Lua counts.
 */
#include <string.h>

#include "module.h"

#define BUFFER_ALIGNMENT 64u
#define BUFFER_BYTES_LIMIT ((uint64_t)1 << 46) /* more than any machine has; sums cannot wrap */

static const char *buffer_type_name(uint32_t type)
{
    return type == QKERN_TYPE_NONE ? "bytes" : type_name(type);
}

static uint64_t bytes_of_elements(lua_State *L, uint32_t type, uint64_t elements)
{
    qkern_error error = QKERN_ERROR_INIT;
    uint64_t bytes = elements;

    if (type != QKERN_TYPE_NONE && qkern_row_bytes(type, elements, &bytes, &error) != QKERN_OK)
        error_raise(L, &error);
    if (bytes > BUFFER_BYTES_LIMIT)
        error_raise_text(L, QKERN_E_LIMIT, QKERN_NO_INDEX, "a buffer of %llu bytes is too large",
                         (unsigned long long)bytes);
    return bytes;
}

struct buffer *buffer_push(lua_State *L, uint32_t type, uint64_t elements)
{
    uint64_t bytes = bytes_of_elements(L, type, elements);
    struct buffer *b = lua_newuserdatauv(L, sizeof *b + (size_t)bytes + BUFFER_ALIGNMENT - 1, 1);
    uintptr_t data = (uintptr_t)(b + 1);

    data = (data + BUFFER_ALIGNMENT - 1) & ~(uintptr_t)(BUFFER_ALIGNMENT - 1);
    *b = (struct buffer){.type = type, .elements = elements, .bytes = bytes};
    b->data = (uint8_t *)data;
    memset(b->data, 0, (size_t)bytes);
    luaL_setmetatable(L, BUFFER_CLASS);
    return b;
}

struct buffer *buffer_push_mapped(lua_State *L, uint32_t type, uint64_t elements, uint64_t bytes,
                                  const uint8_t *data, int owner)
{
    owner = lua_absindex(L, owner);
    struct buffer *b = lua_newuserdatauv(L, sizeof *b, 1);
    *b = (struct buffer){.type = type, .read_only = true, .elements = elements, .bytes = bytes};
    b->data = (uint8_t *)(uintptr_t)data; /* read_only guards what the cast takes away */
    b->mapping = lua_touserdata(L, owner);
    lua_pushvalue(L, owner);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, BUFFER_CLASS);
    return b;
}

struct buffer *buffer_check(lua_State *L, int arg)
{
    struct buffer *b = luaL_checkudata(L, arg, BUFFER_CLASS);
    if (b->mapping != NULL && b->mapping->file == NULL)
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "the file that this buffer looks into is closed");
    return b;
}

struct buffer *buffer_check_type(lua_State *L, int arg, uint32_t type)
{
    struct buffer *b = buffer_check(L, arg);
    if (b->type != type)
        error_raise_text(L, QKERN_E_TYPE, QKERN_NO_INDEX,
                         "argument #%d: expected a buffer of %s, found one of %s", arg,
                         buffer_type_name(type), buffer_type_name(b->type));
    return b;
}

static uint64_t count_check(lua_State *L, int arg)
{
    lua_Integer n = luaL_checkinteger(L, arg);
    luaL_argcheck(L, n >= 0, arg, "a count is not negative");
    return (uint64_t)n;
}

/* A buffer from argument `arg`: a number of elements, or a string with the bytes. */
static int buffer_new(lua_State *L, uint32_t type, uint32_t block_elements, uint32_t block_bytes,
                      int arg)
{
    if (lua_type(L, arg) != LUA_TSTRING) {
        buffer_push(L, type, count_check(L, arg));
        return 1;
    }
    size_t size;
    const char *bytes = lua_tolstring(L, arg, &size);
    if (size % block_bytes != 0)
        error_raise_text(L, QKERN_E_SIZE, QKERN_NO_INDEX,
                         "%zu bytes are not a whole number of %s blocks of %u bytes", size,
                         buffer_type_name(type), block_bytes);
    struct buffer *b = buffer_push(L, type, (uint64_t)size / block_bytes * block_elements);
    memcpy(b->data, bytes, size);
    return 1;
}

static int buffer_f32_from_table(lua_State *L)
{
    lua_Integer n = luaL_len(L, 1);
    struct buffer *b = buffer_push(L, QKERN_TYPE_F32, n > 0 ? (uint64_t)n : 0);

    for (lua_Integer i = 1; i <= n; i++) {
        int is_number;
        lua_geti(L, 1, i);
        float value = (float)lua_tonumberx(L, -1, &is_number);
        if (!is_number)
            return luaL_error(L, "element %I of the table is a %s, not a number", (LUAI_UACINT)i,
                              luaL_typename(L, -1));
        memcpy(b->data + 4 * (i - 1), &value, 4);
        lua_pop(L, 1);
    }
    return 1;
}

/* qk.f32(n), qk.f32(table of numbers), qk.f32(string of bytes) */
static int buffer_f32(lua_State *L)
{
    if (lua_istable(L, 1))
        return buffer_f32_from_table(L);
    return buffer_new(L, QKERN_TYPE_F32, 1, 4, 1);
}

/* qk.blocks(type, n), qk.blocks(type, string of bytes) */
static int buffer_blocks(lua_State *L)
{
    qkern_type_info type;
    type_check(L, 1, &type);
    return buffer_new(L, type.type, type.block_elements, type.block_bytes, 2);
}

/* qk.bytes(n), qk.bytes(string) */
static int buffer_bytes(lua_State *L)
{
    return buffer_new(L, QKERN_TYPE_NONE, 1, 1, 1);
}

/* b:tobytes(): all of it as a string. */
static int buffer_tobytes(lua_State *L)
{
    const struct buffer *b = buffer_check(L, 1);
    lua_pushlstring(L, (const char *)b->data, (size_t)b->bytes);
    return 1;
}

/* b:hex(): the same in lower-case hexadecimal. */
static int buffer_hex(lua_State *L)
{
    static const char digits[] = "0123456789abcdef";
    const struct buffer *b = buffer_check(L, 1);
    luaL_Buffer text;
    char *out = luaL_buffinitsize(L, &text, (size_t)b->bytes * 2);

    for (uint64_t i = 0; i < b->bytes; i++) {
        out[2 * i] = digits[b->data[i] >> 4];
        out[2 * i + 1] = digits[b->data[i] & 15];
    }
    luaL_pushresultsize(&text, (size_t)b->bytes * 2);
    return 1;
}

/* b:slice(first, count): whole blocks of it, without copying. */
static int buffer_slice(lua_State *L)
{
    struct buffer *b = buffer_check(L, 1);
    lua_Integer first = luaL_checkinteger(L, 2);
    uint64_t count = count_check(L, 3);

    if (first < 1 || (uint64_t)first - 1 > b->elements ||
        count > b->elements - ((uint64_t)first - 1))
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "a slice of %llu elements from number %lld is not inside a buffer of %llu",
                         (unsigned long long)count, (long long)first,
                         (unsigned long long)b->elements);
    uint64_t start = bytes_of_elements(L, b->type, (uint64_t)first - 1);
    uint64_t bytes = bytes_of_elements(L, b->type, count);

    struct buffer *slice = lua_newuserdatauv(L, sizeof *slice, 1);
    *slice = *b;
    slice->elements = count;
    slice->bytes = bytes;
    slice->data = b->data + start;
    if (lua_getiuservalue(L, 1, 1) == LUA_TNIL) { /* the memory is b's own */
        lua_pop(L, 1);
        lua_pushvalue(L, 1);
    }
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, BUFFER_CLASS);
    return 1;
}

static const luaL_Reg methods[] = {
    {"tobytes", buffer_tobytes}, {"hex", buffer_hex}, {"slice", buffer_slice}, {NULL, NULL}};

/* Where element number `arg` of a buffer of floats or bytes is. */
static uint8_t *element_check(lua_State *L, const struct buffer *b, int arg)
{
    lua_Integer i = luaL_checkinteger(L, arg);

    if (b->type != QKERN_TYPE_F32 && b->type != QKERN_TYPE_NONE)
        error_raise_text(L, QKERN_E_TYPE, QKERN_NO_INDEX,
                         "elements of F32 and bytes can be indexed, not those of %s",
                         buffer_type_name(b->type));
    if (i < 1 || (uint64_t)i > b->elements)
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "index %lld is not in a buffer of %llu elements", (long long)i,
                         (unsigned long long)b->elements);
    return b->data + (uint64_t)(i - 1) * (b->type == QKERN_TYPE_F32 ? 4 : 1);
}

/* b[i]; b.type, b.nbytes; methods. Upvalue 1: the methods. */
static int buffer_index(lua_State *L)
{
    struct buffer *b = luaL_checkudata(L, 1, BUFFER_CLASS);

    if (lua_type(L, 2) == LUA_TNUMBER) {
        const uint8_t *element = element_check(L, buffer_check(L, 1), 2);
        if (b->type == QKERN_TYPE_F32) {
            float value;
            memcpy(&value, element, 4);
            lua_pushnumber(L, (lua_Number)value);
        } else {
            lua_pushinteger(L, *element);
        }
        return 1;
    }
    const char *key = luaL_checkstring(L, 2);
    if (strcmp(key, "type") == 0)
        lua_pushstring(L, buffer_type_name(b->type));
    else if (strcmp(key, "nbytes") == 0)
        lua_pushinteger(L, (lua_Integer)b->bytes);
    else
        lua_getfield(L, lua_upvalueindex(1), key);
    return 1;
}

static int buffer_newindex(lua_State *L)
{
    const struct buffer *b = buffer_check(L, 1);
    uint8_t *element = element_check(L, b, 2);

    if (b->read_only)
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "a buffer over a file cannot be written");
    if (b->type == QKERN_TYPE_F32) {
        float value = (float)luaL_checknumber(L, 3);
        memcpy(element, &value, 4);
        return 0;
    }
    lua_Integer value = luaL_checkinteger(L, 3);
    luaL_argcheck(L, value >= 0 && value <= 255, 3, "not a byte");
    *element = (uint8_t)value;
    return 0;
}

static int buffer_len(lua_State *L)
{
    const struct buffer *b = luaL_checkudata(L, 1, BUFFER_CLASS);
    lua_pushinteger(L, (lua_Integer)b->elements);
    return 1;
}

static int buffer_tostring(lua_State *L)
{
    const struct buffer *b = luaL_checkudata(L, 1, BUFFER_CLASS);
    lua_pushfstring(L, "qkern buffer: %s[%I], %I bytes", buffer_type_name(b->type),
                    (LUAI_UACINT)b->elements, (LUAI_UACINT)b->bytes);
    return 1;
}

static const luaL_Reg metamethods[] = {{"__newindex", buffer_newindex},
                                       {"__len", buffer_len},
                                       {"__tostring", buffer_tostring},
                                       {NULL, NULL}};
static const luaL_Reg functions[] = {
    {"f32", buffer_f32}, {"blocks", buffer_blocks}, {"bytes", buffer_bytes}, {NULL, NULL}};

void buffers_register(lua_State *L)
{
    class_register(L, BUFFER_CLASS, metamethods, NULL);
    luaL_getmetatable(L, BUFFER_CLASS);
    luaL_newlib(L, methods);
    lua_pushcclosure(L, buffer_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
}
