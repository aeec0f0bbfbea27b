/* SPDX-License-Identifier: MIT */
/*
 * Reading GGUF files. The mapping is an object of its own: readers and buffers refer to it, so it
 * goes when the last of them is collected.
 */
#include <string.h>

#include "module.h"

/* A reader's user values: its mapping, until it is closed; and the numbers of its tensors by name,
 * a table that is made when first needed. */
enum { MAPPING_VALUE = 1, NAMES_VALUE, USER_VALUES = NAMES_VALUE };

struct reader {
    bool open;
};

static int mapping_close(lua_State *L)
{
    struct mapping *m = luaL_checkudata(L, 1, MAPPING_CLASS);
    qkern_gguf *file = m->file;

    m->file = NULL;
    qkern_gguf_close(file);
    return 0;
}

/* qk.gguf(path) */
static int reader_open(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    const char *path = cstring_check(L, 1);
    struct reader *reader = lua_newuserdatauv(L, sizeof *reader, USER_VALUES);

    reader->open = false;
    luaL_setmetatable(L, GGUF_CLASS);
    struct mapping *m = lua_newuserdatauv(L, sizeof *m, 0);
    m->file = NULL;
    luaL_setmetatable(L, MAPPING_CLASS);
    if (qkern_gguf_open(path, &m->file, &error) != QKERN_OK)
        error_raise(L, &error);
    lua_setiuservalue(L, -2, MAPPING_VALUE);
    reader->open = true;
    return 1;
}

qkern_gguf *gguf_check(lua_State *L, int arg)
{
    const struct reader *reader = luaL_checkudata(L, arg, GGUF_CLASS);
    const struct mapping *m = NULL;

    if (reader->open && lua_getiuservalue(L, arg, MAPPING_VALUE) == LUA_TUSERDATA)
        m = lua_touserdata(L, -1);
    if (m == NULL || m->file == NULL)
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "the GGUF file is closed");
    return m->file;
}

/* g:close(): of no more use. The file stays mapped for the buffers that look into it. */
static int reader_close(lua_State *L)
{
    struct reader *reader = luaL_checkudata(L, 1, GGUF_CLASS);
    reader->open = false;
    lua_pushnil(L);
    lua_setiuservalue(L, 1, MAPPING_VALUE);
    return 0;
}

static void set_integer(lua_State *L, const char *key, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, key);
}

static void header_get(lua_State *L, const qkern_gguf *g, qkern_gguf_header *header)
{
    qkern_error error = QKERN_ERROR_INIT;

    *header = (qkern_gguf_header){.struct_size = sizeof *header};
    if (qkern_gguf_header_get(g, header, &error) != QKERN_OK)
        error_raise(L, &error);
}

/* g:header(): version, metadata_count, tensor_count, alignment, data_offset, file_bytes. */
static int reader_header(lua_State *L)
{
    qkern_gguf_header header;

    header_get(L, gguf_check(L, 1), &header);
    lua_createtable(L, 0, 6);
    set_integer(L, "version", header.version);
    set_integer(L, "metadata_count", header.metadata_count);
    set_integer(L, "tensor_count", header.tensor_count);
    set_integer(L, "alignment", header.alignment);
    set_integer(L, "data_offset", header.data_offset);
    set_integer(L, "file_bytes", header.file_bytes);
    return 1;
}

static void push_float(lua_State *L, const qkern_gguf_value *value)
{
    if (value->value_type == QKERN_GGUF_FLOAT32) {
        float number;
        memcpy(&number, value->data, sizeof number);
        lua_pushnumber(L, (lua_Number)number);
    } else {
        double number;
        memcpy(&number, value->data, sizeof number);
        lua_pushnumber(L, (lua_Number)number);
    }
}

static void push_scalar(lua_State *L, const qkern_gguf_value *value)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_status status = QKERN_OK;
    uint64_t natural = 0;
    int64_t integer = 0;

    switch (value->value_type) {
    case QKERN_GGUF_STRING:
        lua_pushlstring(L, (const char *)value->data, (size_t)value->bytes);
        return;
    case QKERN_GGUF_BOOL:
        lua_pushboolean(L, value->data[0] != 0);
        return;
    case QKERN_GGUF_FLOAT32:
    case QKERN_GGUF_FLOAT64:
        push_float(L, value);
        return;
    case QKERN_GGUF_UINT64: /* beyond 2^63 - 1 it wraps, as Lua's integers do */
        status = qkern_gguf_value_u64(value, &natural, &error);
        integer = (int64_t)natural;
        break;
    default:
        status = qkern_gguf_value_i64(value, &integer, &error);
        break;
    }
    if (status != QKERN_OK)
        error_raise(L, &error);
    lua_pushinteger(L, (lua_Integer)integer);
}

/* NOLINTBEGIN(misc-no-recursion): the reader refuses deep nesting, QKERN_GGUF_NESTING_LIMIT */
static void push_value(lua_State *L, const qkern_gguf_value *value, lua_Integer limit);

/*
 * An array: a list of its first `limit` elements, with the fields type, of its elements, and count,
 * of all of them.
 */
static void push_array(lua_State *L, const qkern_gguf_value *array, lua_Integer limit)
{
    uint64_t cursor = 0;

    luaL_checkstack(L, 4, "arrays within arrays");
    lua_createtable(L, 0, 2);
    lua_pushstring(L, qkern_gguf_value_name(array->element_type));
    lua_setfield(L, -2, "type");
    set_integer(L, "count", array->count);
    for (lua_Integer i = 1; i <= limit; i++) {
        qkern_error error = QKERN_ERROR_INIT;
        qkern_gguf_value element = {.struct_size = sizeof element};
        qkern_status status = qkern_gguf_array_next(array, &cursor, &element, &error);
        if (status == QKERN_E_NOT_FOUND)
            return;
        if (status != QKERN_OK)
            error_raise(L, &error);
        push_value(L, &element, limit);
        lua_rawseti(L, -2, i);
    }
}

static void push_value(lua_State *L, const qkern_gguf_value *value, lua_Integer limit)
{
    if (value->value_type == QKERN_GGUF_ARRAY)
        push_array(L, value, limit);
    else
        push_scalar(L, value);
}
/* NOLINTEND(misc-no-recursion) */

/* Argument `arg` as a number from 1 to `count` of a `what`; returns it counted from 0. */
static uint64_t number_check(lua_State *L, int arg, const char *what, uint64_t count)
{
    lua_Integer number = luaL_checkinteger(L, arg);

    if (number < 1 || (uint64_t)number > count)
        error_raise_text(L, QKERN_E_NOT_FOUND, QKERN_NO_INDEX,
                         "%s %lld of %llu: there is none; they are counted from 1", what,
                         (long long)number, (unsigned long long)count);
    return (uint64_t)number - 1;
}

/* Stores metadata pair number `arg` of the reader at index 1, whose mapping it pushes. */
static void pair_check(lua_State *L, int arg, qkern_gguf_pair *pair)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_header header;
    const qkern_gguf *g = gguf_check(L, 1);

    header_get(L, g, &header);
    uint64_t i = number_check(L, arg, "metadata pair", header.metadata_count);
    *pair = (qkern_gguf_pair){.struct_size = sizeof *pair};
    if (qkern_gguf_pair_get(g, i, pair, &error) != QKERN_OK)
        error_raise(L, &error);
}

/* g:pair(i [, limit]): key, type and value of metadata number i; at most `limit` of an array. */
static int reader_pair(lua_State *L)
{
    qkern_gguf_pair pair;
    lua_Integer limit = luaL_optinteger(L, 3, LUA_MAXINTEGER - 1);

    pair_check(L, 2, &pair);
    lua_pushlstring(L, pair.key, (size_t)pair.key_bytes);
    lua_pushstring(L, qkern_gguf_value_name(pair.value.value_type));
    push_value(L, &pair.value, limit);
    return 3;
}

/* An array of the metadata that is read piece by piece. Its user value is the mapping. */
struct array {
    qkern_gguf_value value;
    uint64_t position; /* of the next element */
};

/* Pushes one over memory of the mapping at index `owner`. */
static void array_push(lua_State *L, const qkern_gguf_value *value, int owner)
{
    owner = lua_absindex(L, owner);
    struct array *array = lua_newuserdatauv(L, sizeof *array, 1);

    *array = (struct array){.value = *value};
    luaL_setmetatable(L, ARRAY_CLASS);
    lua_pushvalue(L, owner);
    lua_setiuservalue(L, -2, 1);
}

/* g:array(i): the array that is the value of metadata number i. */
static int reader_array(lua_State *L)
{
    qkern_gguf_pair pair;

    pair_check(L, 2, &pair); /* leaves the mapping on top */
    if (pair.value.value_type != QKERN_GGUF_ARRAY)
        error_raise_text(L, QKERN_E_TYPE, QKERN_NO_INDEX, "metadata pair %lld is %s, not an array",
                         (long long)lua_tointeger(L, 2),
                         qkern_gguf_value_name(pair.value.value_type));
    array_push(L, &pair.value, -1);
    return 1;
}

/* The array at index 1, whose mapping it pushes. */
static struct array *array_check(lua_State *L)
{
    struct array *array = luaL_checkudata(L, 1, ARRAY_CLASS);
    const struct mapping *m = NULL;

    if (lua_getiuservalue(L, 1, 1) == LUA_TUSERDATA)
        m = lua_touserdata(L, -1);
    if (m == NULL || m->file == NULL)
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "the file that this array looks into is closed");
    return array;
}

/* a:type(): of its elements. */
static int array_type(lua_State *L)
{
    lua_pushstring(L, qkern_gguf_value_name(array_check(L)->value.element_type));
    return 1;
}

/* #a: how many elements it has. */
static int array_length(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)array_check(L)->value.count);
    return 1;
}

/* How much of strings is taken at a time, in bytes. */
enum { TAKE_BYTES = 1 << 16 };

/*
 * a:take(n): a list of the next elements, at most n, and fewer if they are long strings; nil at the
 * end. An element that is an array is one of this kind, too.
 */
static int array_take(lua_State *L)
{
    struct array *array = array_check(L);
    int owner = lua_gettop(L);
    lua_Integer limit = luaL_checkinteger(L, 2);
    lua_Integer taken = 0;
    uint64_t bytes = 0;

    luaL_argcheck(L, limit >= 1, 2, "expected at least 1");
    lua_newtable(L);
    while (taken < limit && bytes < TAKE_BYTES) {
        qkern_error error = QKERN_ERROR_INIT;
        qkern_gguf_value element = {.struct_size = sizeof element};
        uint64_t position = array->position;
        qkern_status status = qkern_gguf_array_next(&array->value, &position, &element, &error);
        if (status == QKERN_E_NOT_FOUND)
            break;
        if (status != QKERN_OK)
            error_raise(L, &error);
        if (element.value_type == QKERN_GGUF_ARRAY)
            array_push(L, &element, owner);
        else
            push_scalar(L, &element);
        lua_rawseti(L, -2, ++taken);
        array->position = position;
        bytes += element.value_type == QKERN_GGUF_STRING ? element.bytes : 0;
    }
    if (taken == 0)
        lua_pushnil(L);
    return 1;
}

/* g:metadata(key): the value of a key, or nil. */
static int reader_metadata(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_pair pair = {.struct_size = sizeof pair};
    const char *key = cstring_check(L, 2);
    qkern_status status = qkern_gguf_pair_find(gguf_check(L, 1), key, &pair, &error);

    if (status == QKERN_E_NOT_FOUND) {
        lua_pushnil(L);
        return 1;
    }
    if (status != QKERN_OK)
        error_raise(L, &error);
    push_value(L, &pair.value, LUA_MAXINTEGER - 1);
    return 1;
}

qkern_gguf *gguf_check_tensor(lua_State *L, int arg, int tensor_arg, qkern_gguf_tensor *tensor)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_header header;
    qkern_gguf *g = gguf_check(L, arg);

    header_get(L, g, &header);
    uint64_t i = number_check(L, tensor_arg, "tensor", header.tensor_count);
    *tensor = (qkern_gguf_tensor){.struct_size = sizeof *tensor};
    if (qkern_gguf_tensor_get(g, i, tensor, &error) != QKERN_OK)
        error_raise(L, &error);
    return g;
}

/* g:tensor(i): name, type, shape, rows, row_bytes, bytes, elements, offset. */
static int reader_tensor(lua_State *L)
{
    qkern_gguf_tensor tensor;

    gguf_check_tensor(L, 1, 2, &tensor);
    lua_createtable(L, 0, 8);
    lua_pushlstring(L, tensor.name, (size_t)tensor.name_bytes);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, type_name(tensor.type));
    lua_setfield(L, -2, "type");
    set_integer(L, "rows", tensor.rows);
    set_integer(L, "row_bytes", tensor.row_bytes);
    set_integer(L, "bytes", tensor.bytes);
    set_integer(L, "elements", tensor.shape[0] * tensor.rows);
    set_integer(L, "offset", tensor.offset);
    lua_createtable(L, (int)tensor.dimensions, 0);
    for (uint32_t d = 0; d < tensor.dimensions; d++) {
        lua_pushinteger(L, (lua_Integer)tensor.shape[d]);
        lua_rawseti(L, -2, (lua_Integer)d + 1);
    }
    lua_setfield(L, -2, "shape");
    return 1;
}

/* Pushes the numbers of the tensors by name. */
static void push_names(lua_State *L, const qkern_gguf *g)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_header header;

    if (lua_getiuservalue(L, 1, NAMES_VALUE) == LUA_TTABLE)
        return;
    header_get(L, g, &header);
    lua_newtable(L);
    for (uint64_t i = 0; i < header.tensor_count; i++) {
        qkern_gguf_tensor tensor = {.struct_size = sizeof tensor};
        if (qkern_gguf_tensor_get(g, i, &tensor, &error) != QKERN_OK)
            error_raise(L, &error);
        lua_pushlstring(L, tensor.name, (size_t)tensor.name_bytes);
        lua_pushinteger(L, (lua_Integer)i + 1);
        lua_rawset(L, -3);
    }
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, NAMES_VALUE);
}

/* g:find(name): the number of a tensor, or nil. */
static int reader_find(lua_State *L)
{
    luaL_checkstring(L, 2);
    push_names(L, gguf_check(L, 1));
    lua_pushvalue(L, 2);
    lua_rawget(L, -2);
    return 1;
}

/* g:data(i): the tensor's elements as a buffer over the file. */
static int reader_data(lua_State *L)
{
    qkern_gguf_tensor tensor;

    gguf_check_tensor(L, 1, 2, &tensor); /* leaves the mapping on top */
    buffer_push_mapped(L, tensor.type, tensor.shape[0] * tensor.rows, tensor.bytes, tensor.data,
                       -1);
    return 1;
}

/* g:release(buffer): what it looks at will not be read again soon; see qkern_gguf_release. */
static int reader_release(lua_State *L)
{
    const struct buffer *b = buffer_check(L, 2);
    const qkern_gguf *g = gguf_check(L, 1);

    if (b->mapping != lua_touserdata(L, -1))
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "the buffer does not look into this file");
    qkern_gguf_release(g, b->data, b->bytes);
    return 0;
}

static int reader_tostring(lua_State *L)
{
    const struct reader *reader = luaL_checkudata(L, 1, GGUF_CLASS);
    lua_pushstring(L, reader->open ? "qkern GGUF file" : "qkern GGUF file (closed)");
    return 1;
}

static const luaL_Reg mapping_metamethods[] = {{"__gc", mapping_close}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {
    {"__close", reader_close}, {"__tostring", reader_tostring}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"close", reader_close},       {"header", reader_header},
                                   {"pair", reader_pair},         {"array", reader_array},
                                   {"metadata", reader_metadata}, {"tensor", reader_tensor},
                                   {"find", reader_find},         {"data", reader_data},
                                   {"release", reader_release},   {NULL, NULL}};
static const luaL_Reg array_metamethods[] = {{"__len", array_length}, {NULL, NULL}};
static const luaL_Reg array_methods[] = {{"type", array_type}, {"take", array_take}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"gguf", reader_open}, {NULL, NULL}};

void gguf_register(lua_State *L)
{
    class_register(L, MAPPING_CLASS, mapping_metamethods, NULL);
    class_register(L, GGUF_CLASS, metamethods, methods);
    class_register(L, ARRAY_CLASS, array_metamethods, array_methods);
    luaL_setfuncs(L, functions, 0);
}
