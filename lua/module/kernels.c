/* SPDX-License-Identifier: MIT */
/*
 * Kernels as objects: the chosen ones of a type, or those of one plugin. Sizes and types of the
 * buffers are checked, their contents are not, so that what the reference does with odd values can
 * be looked at. qk.quantize, qk.dequantize and qk.vec_dot are the library's checked calls.
 */
#include <stdalign.h>
#include <string.h>

#include "module.h"

struct kernel {
    uint32_t type;
    bool chosen;                      /* else of one plugin */
    qkern *q;                         /* alive as long as the user value, its instance */
    const struct qkern_kernel *table; /* of the plugin */
};

/* The entry points to call; of the chosen kernel under a pin that the caller ends. */
static struct qkern_kernel kernel_table(const struct kernel *k, qkern_pin *pin)
{
    const struct qkern_kernel *table = k->table;

    if (k->chosen && qkern_pin_begin(k->q, pin) == QKERN_OK)
        table = qkern_pin_kernel(pin, k->type);
    if (table == NULL)
        return (struct qkern_kernel){.type = k->type};
    return *table;
}

/* Argument 1 as a kernel; sets the number of arguments. Raises if its instance is closed. */
static struct kernel *kernel_check(lua_State *L, int arguments)
{
    struct kernel *k = luaL_checkudata(L, 1, KERNEL_CLASS);
    lua_settop(L, arguments);
    instance_push(L);
    return k;
}

static int entry_missing(lua_State *L, const struct kernel *k, const char *entry)
{
    return error_raise_text(L, QKERN_E_NOT_FOUND, QKERN_NO_INDEX, "no %s for %s here", entry,
                            type_name(k->type));
}

/* The number of a plugin that is a candidate, by its name; raises with the reason if it is none. */
static uint32_t plugin_find(lua_State *L, const qkern *q, const char *name)
{
    qkern_record refused = {.name = NULL};
    uint32_t count = qkern_record_count(q);

    if (name[0] == '\0') /* which is the name in records of folders and files that are no plugins */
        error_raise_text(L, QKERN_E_NOT_FOUND, QKERN_NO_INDEX,
                         "the name of a plugin is not empty; see 'qkern info'");

    for (uint32_t i = 0; i < count; i++) {
        qkern_record record = {.struct_size = sizeof record};
        if (qkern_record_get(q, i, &record, NULL) != QKERN_OK || strcmp(record.name, name) != 0)
            continue;
        if (record.stage == QKERN_STAGE_READY && record.status == (uint32_t)QKERN_OK)
            return i;
        refused = record;
    }
    if (refused.name != NULL)
        error_raise_text(L, (qkern_status)refused.status, QKERN_NO_INDEX,
                         "plugin %s (%s) is not usable: %s", name, refused.path, refused.text);
    error_raise_text(L, QKERN_E_NOT_FOUND, QKERN_NO_INDEX,
                     "no plugin is named %s; see 'qkern info'", name);
}

/* qk.kernel(type): the chosen entry points. qk.kernel(type, plugin): those of one plugin. */
static int kernel_new(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_type_info type;

    type_check(L, 1, &type);
    const char *plugin = luaL_optstring(L, 2, NULL);
    qkern *q = instance_push(L);
    struct kernel *k = lua_newuserdatauv(L, sizeof *k, 1);
    *k = (struct kernel){.type = type.type, .chosen = plugin == NULL, .q = q};
    lua_insert(L, -2);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, KERNEL_CLASS);

    if (!k->chosen) {
        uint32_t record = plugin_find(L, q, plugin);
        if (qkern_record_kernel(q, record, type.type, &k->table, &error) != QKERN_OK)
            error_raise(L, &error);
        return 1;
    }
    qkern_pin pin = {0};
    bool found = qkern_pin_begin(q, &pin) == QKERN_OK && qkern_pin_kernel(&pin, type.type) != NULL;
    qkern_pin_end(&pin);
    if (!found)
        error_raise_text(L, QKERN_E_NOT_FOUND, QKERN_NO_INDEX, "no plugin has a kernel for %s",
                         type.name);
    return 1;
}

/* k:has(entry): whether it has the entry point. */
static int kernel_has(lua_State *L)
{
    const struct kernel *k = kernel_check(L, 2);
    uint32_t entry = entry_check(L, 2);
    qkern_pin pin = {0};
    struct qkern_kernel table = kernel_table(k, &pin);
    qkern_pin_end(&pin);
    const bool has[QKERN_ENTRY_LIMIT] = {
        [QKERN_ENTRY_QUANTIZE] = table.quantize != NULL,
        [QKERN_ENTRY_DEQUANTIZE] = table.dequantize != NULL,
        [QKERN_ENTRY_VEC_DOT] = table.vec_dot != NULL,
        [QKERN_ENTRY_QUANTIZE_WEIGHTED] = table.quantize_weighted != NULL,
        [QKERN_ENTRY_VEC_DOT_ROWS] = table.vec_dot_rows != NULL,
    };

    lua_pushboolean(L, has[entry]);
    return 1;
}

/* Argument `arg` as a buffer of aligned floats. */
static const struct buffer *floats_check(lua_State *L, int arg)
{
    const struct buffer *x = buffer_check_type(L, arg, QKERN_TYPE_F32);
    if ((uintptr_t)x->data % alignof(float) != 0)
        error_raise_text(L, QKERN_E_ALIGNMENT, QKERN_NO_INDEX,
                         "argument #%d: the file has these floats at an unaligned address", arg);
    return x;
}

/* k:quantize(x), k:quantize(x, importance): blocks of k's type. */
static int kernel_quantize(lua_State *L)
{
    const struct kernel *k = kernel_check(L, 3);
    const struct buffer *x = floats_check(L, 2);
    bool weighted = !lua_isnil(L, 3);
    const struct buffer *importance = weighted ? floats_check(L, 3) : NULL;

    if (weighted && importance->elements != x->elements)
        error_raise_text(L, QKERN_E_SIZE, QKERN_NO_INDEX, "%llu importances for %llu elements",
                         (unsigned long long)importance->elements, (unsigned long long)x->elements);
    struct buffer *out = buffer_push(L, k->type, x->elements);
    qkern_pin pin = {0};
    struct qkern_kernel table = kernel_table(k, &pin);
    bool has = weighted ? table.quantize_weighted != NULL : table.quantize != NULL;
    if (has && weighted)
        table.quantize_weighted(x->elements, (const float *)(const void *)x->data,
                                (const float *)(const void *)importance->data, out->data);
    else if (has)
        table.quantize(x->elements, (const float *)(const void *)x->data, out->data);
    qkern_pin_end(&pin);
    return has ? 1 : entry_missing(L, k, weighted ? "quantize_weighted" : "quantize");
}

/* k:dequantize(blocks): a buffer of floats. */
static int kernel_dequantize(lua_State *L)
{
    const struct kernel *k = kernel_check(L, 2);
    const struct buffer *blocks = buffer_check_type(L, 2, k->type);
    struct buffer *y = buffer_push(L, QKERN_TYPE_F32, blocks->elements);
    qkern_pin pin = {0};
    struct qkern_kernel table = kernel_table(k, &pin);
    bool has = table.dequantize != NULL;

    if (has)
        table.dequantize(blocks->elements, blocks->data, (float *)(void *)y->data);
    qkern_pin_end(&pin);
    return has ? 1 : entry_missing(L, k, "dequantize");
}

static void lengths_check(lua_State *L, const struct buffer *w, const struct buffer *a)
{
    if (w->elements != a->elements)
        error_raise_text(L, QKERN_E_SIZE, QKERN_NO_INDEX, "%llu weights and %llu activations",
                         (unsigned long long)w->elements, (unsigned long long)a->elements);
}

/* k:vec_dot(weights, activations): a number. */
static int kernel_vec_dot(lua_State *L)
{
    const struct kernel *k = kernel_check(L, 3);
    qkern_type_info type = {.struct_size = sizeof type};
    qkern_error error = QKERN_ERROR_INIT;
    float result = 0;

    if (qkern_type_get(k->type, &type, &error) != QKERN_OK)
        error_raise(L, &error);
    if (type.dot_type == QKERN_TYPE_NONE)
        entry_missing(L, k, "vec_dot");
    const struct buffer *w = buffer_check_type(L, 2, k->type);
    const struct buffer *a = buffer_check_type(L, 3, type.dot_type);
    lengths_check(L, w, a);
    qkern_pin pin = {0};
    struct qkern_kernel table = kernel_table(k, &pin);
    bool has = table.vec_dot != NULL;
    if (has)
        result = table.vec_dot(w->elements, w->data, a->data);
    qkern_pin_end(&pin);
    if (!has)
        entry_missing(L, k, "vec_dot");
    lua_pushnumber(L, (lua_Number)result);
    return 1;
}

/* qk.quantize(type, x) */
static int checked_quantize(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_type_info type;

    type_check(L, 1, &type);
    const struct buffer *x = buffer_check_type(L, 2, QKERN_TYPE_F32);
    qkern *q = instance_push(L);
    struct buffer *out = buffer_push(L, type.type, x->elements);
    if (qkern_quantize(q, type.type, x->elements, (const float *)(const void *)x->data, out->data,
                       out->bytes, &error) != QKERN_OK)
        error_raise(L, &error);
    return 1;
}

/* Argument `arg` as a buffer of an element type: not of plain bytes. */
static const struct buffer *blocks_check(lua_State *L, int arg)
{
    const struct buffer *b = buffer_check(L, arg);
    if (b->type == QKERN_TYPE_NONE)
        error_raise_text(L, QKERN_E_TYPE, QKERN_NO_INDEX,
                         "argument #%d: expected a buffer of an element type, found one of bytes",
                         arg);
    return b;
}

/* qk.dequantize(blocks) */
static int checked_dequantize(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    const struct buffer *blocks = blocks_check(L, 1);
    qkern *q = instance_push(L);
    struct buffer *y = buffer_push(L, QKERN_TYPE_F32, blocks->elements);

    if (qkern_dequantize(q, blocks->type, blocks->elements, blocks->data, blocks->bytes,
                         (float *)(void *)y->data, &error) != QKERN_OK)
        error_raise(L, &error);
    return 1;
}

/* qk.vec_dot(weights, activations) */
static int checked_vec_dot(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    const struct buffer *w = blocks_check(L, 1);
    const struct buffer *a = buffer_check(L, 2);
    qkern *q = instance_push(L);
    qkern_type_info type = {.struct_size = sizeof type};
    float result;

    if (qkern_type_get(w->type, &type, &error) != QKERN_OK)
        error_raise(L, &error);
    if (type.dot_type != QKERN_TYPE_NONE)
        buffer_check_type(L, 2, type.dot_type);
    lengths_check(L, w, a);
    if (qkern_vec_dot(q, w->type, w->elements, w->data, w->bytes, a->data, a->bytes, &result,
                      &error) != QKERN_OK)
        error_raise(L, &error);
    lua_pushnumber(L, (lua_Number)result);
    return 1;
}

static const luaL_Reg metamethods[] = {{NULL, NULL}};
static const luaL_Reg methods[] = {{"has", kernel_has},
                                   {"quantize", kernel_quantize},
                                   {"dequantize", kernel_dequantize},
                                   {"vec_dot", kernel_vec_dot},
                                   {NULL, NULL}};
static const luaL_Reg functions[] = {{"kernel", kernel_new},
                                     {"quantize", checked_quantize},
                                     {"dequantize", checked_dequantize},
                                     {"vec_dot", checked_vec_dot},
                                     {NULL, NULL}};

void kernels_register(lua_State *L)
{
    class_register(L, KERNEL_CLASS, metamethods, methods);
    luaL_setfuncs(L, functions, 0);
}
