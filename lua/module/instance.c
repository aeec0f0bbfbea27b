/* SPDX-License-Identifier: MIT */
/*
 * The state's instance of libqkern, and what it found: CPU features, plugins, choices.
 */
#include "module.h"

struct instance {
    qkern *q; /* NULL once closed */
};

static const char instance_key; /* its address is the instance's key in the registry */

static int instance_close(lua_State *L)
{
    struct instance *instance = luaL_checkudata(L, 1, INSTANCE_CLASS);
    qkern *q = instance->q;

    instance->q = NULL;
    qkern_close(q, NULL); /* no pin outlives a call of this module, so it cannot be busy */
    return 0;
}

qkern *instance_push(lua_State *L)
{
    struct instance *instance;

    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &instance_key) == LUA_TUSERDATA) {
        instance = lua_touserdata(L, -1);
        if (instance->q == NULL)
            error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "the qkern instance is closed");
        return instance->q;
    }
    lua_pop(L, 1);

    qkern_error error = QKERN_ERROR_INIT;
    instance = lua_newuserdatauv(L, sizeof *instance, 0);
    instance->q = NULL;
    luaL_setmetatable(L, INSTANCE_CLASS);
    if (qkern_open(NULL, &instance->q, &error) != QKERN_OK)
        error_raise(L, &error);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &instance_key);
    return instance->q;
}

static void set_string(lua_State *L, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

static void set_boolean(lua_State *L, const char *key, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, key);
}

/* qk.features(): a list of tables of name, present, usable, source, reason. */
static int feature_list(lua_State *L)
{
    qkern *q = instance_push(L);
    uint32_t count = qkern_feature_count(q);

    lua_newtable(L);
    for (uint32_t i = 0; i < count; i++) {
        qkern_error error = QKERN_ERROR_INIT;
        qkern_feature feature = {.struct_size = sizeof feature};
        if (qkern_feature_get(q, i, &feature, &error) != QKERN_OK)
            error_raise(L, &error);
        lua_createtable(L, 0, 5);
        set_string(L, "name", feature.name);
        set_boolean(L, "present", feature.present != 0);
        set_boolean(L, "usable", feature.usable != 0);
        set_string(L, "source", feature.source);
        set_string(L, "reason", feature.reason);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* The names of a manifest's feature bits. Bits of another architecture have no names here. */
static void push_needs(lua_State *L, const qkern *q, const qkern_record *record)
{
    lua_newtable(L);
    if (record->status == QKERN_E_ARCH)
        return;
    uint32_t count = qkern_feature_count(q);
    for (uint32_t i = 0; i < count; i++) {
        qkern_feature feature = {.struct_size = sizeof feature};
        if (qkern_feature_get(q, i, &feature, NULL) != QKERN_OK ||
            (record->features[feature.word] & feature.mask) == 0)
            continue;
        lua_pushstring(L, feature.name);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
}

/*
 * qk.plugins(): a list of what was looked at, in the order of the attempts: tables of name,
 * version, tier, path, origin, build_id, needs (a list of feature names), stage, ready, status,
 * text, expected, found.
 */
static int plugin_list(lua_State *L)
{
    qkern *q = instance_push(L);
    uint32_t count = qkern_record_count(q);

    lua_newtable(L);
    for (uint32_t i = 0; i < count; i++) {
        qkern_error error = QKERN_ERROR_INIT;
        qkern_record record = {.struct_size = sizeof record};
        if (qkern_record_get(q, i, &record, &error) != QKERN_OK)
            error_raise(L, &error);
        lua_createtable(L, 0, 13);
        set_string(L, "name", record.name);
        set_string(L, "version", record.version);
        set_string(L, "path", record.path);
        set_string(L, "origin", record.origin);
        set_string(L, "build_id", record.build_id);
        set_string(L, "stage", qkern_stage_name(record.stage));
        set_string(L, "status", qkern_status_name((qkern_status)record.status));
        set_string(L, "text", record.text);
        set_string(L, "expected", record.expected);
        set_string(L, "found", record.found);
        set_boolean(L, "ready",
                    record.stage == QKERN_STAGE_READY && record.status == (uint32_t)QKERN_OK);
        lua_pushinteger(L, record.tier);
        lua_setfield(L, -2, "tier");
        push_needs(L, q, &record);
        lua_setfield(L, -2, "needs");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

uint32_t entry_check(lua_State *L, int arg)
{
    static const char *const names[] = {
#define ENTRY_NAME(IDENTIFIER, VALUE, NAME) [VALUE] = NAME,
        QKERN_ENTRIES(ENTRY_NAME)
#undef ENTRY_NAME
            [QKERN_ENTRY_LIMIT] = NULL};
    return (uint32_t)luaL_checkoption(L, arg, NULL, names);
}

/* qk.entries(): the names of the entry points. */
static int entry_list(lua_State *L)
{
    lua_newtable(L);
    for (uint32_t i = 0; i < QKERN_ENTRY_LIMIT; i++) {
        lua_pushstring(L, qkern_entry_name(i));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* qk.choice(type, entry): the number in qk.plugins() of the plugin that serves it, or nil. */
static int choice_get(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_type_info type;
    uint32_t record;

    type_check(L, 1, &type);
    uint32_t entry = entry_check(L, 2);
    qkern *q = instance_push(L);
    qkern_status status = qkern_choice_get(q, type.type, entry, &record, &error);
    if (status == QKERN_E_NOT_FOUND) {
        lua_pushnil(L);
        return 1;
    }
    if (status != QKERN_OK)
        error_raise(L, &error);
    lua_pushinteger(L, (lua_Integer)record + 1);
    return 1;
}

/* qk.explain(type, entry): why that plugin and not the others, as text. */
static int choice_explain(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_type_info type;
    size_t needed = 0;
    luaL_Buffer text;

    type_check(L, 1, &type);
    uint32_t entry = entry_check(L, 2);
    qkern *q = instance_push(L);
    if (qkern_explain(q, type.type, entry, NULL, 0, &needed, &error) != QKERN_OK)
        error_raise(L, &error);
    char *space = luaL_buffinitsize(L, &text, needed + 1);
    if (qkern_explain(q, type.type, entry, space, needed + 1, NULL, &error) != QKERN_OK)
        error_raise(L, &error);
    luaL_pushresultsize(&text, needed > 0 ? needed - 1 : 0); /* needed counts the final NUL */
    return 1;
}

static const luaL_Reg metamethods[] = {{"__gc", instance_close}, {NULL, NULL}};

static const luaL_Reg functions[] = {{"features", feature_list},  {"plugins", plugin_list},
                                     {"entries", entry_list},     {"choice", choice_get},
                                     {"explain", choice_explain}, {NULL, NULL}};

void instance_register(lua_State *L)
{
    class_register(L, INSTANCE_CLASS, metamethods, NULL);
    luaL_setfuncs(L, functions, 0);
}
