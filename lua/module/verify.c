/* SPDX-License-Identifier: MIT */
/* The checker of plugins as an object that gives one event after the other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <verify.h>

#include "module.h"

#define WORKER_WORDS_MAX 32

struct verification {
    verify_run *run; /* NULL once it has ended */
    struct verify_options options;
    uint32_t types[QKERN_TYPE_LIMIT];
    char *path;   /* of the plugin; absolute */
    char *worker; /* the words of QKERN_VERIFY_WORKER */
};

static int verification_close(lua_State *L)
{
    struct verification *v = luaL_checkudata(L, 1, VERIFICATION_CLASS);

    verify_end(v->run);
    v->run = NULL;
    free(v->path);
    free(v->worker);
    v->path = v->worker = NULL;
    return 0;
}

/* The field of the table at 1 as a count; `otherwise` if it is nil. */
static lua_Integer count_field(lua_State *L, const char *key, lua_Integer otherwise)
{
    int is_integer;

    if (lua_getfield(L, 1, key) == LUA_TNIL) {
        lua_pop(L, 1);
        return otherwise;
    }
    const lua_Integer value = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || value < 0)
        luaL_error(L, "field '%s': a count expected", key);
    lua_pop(L, 1);
    return value;
}

static void types_read(lua_State *L, struct verification *v)
{
    if (lua_getfield(L, 1, "types") != LUA_TNIL) {
        luaL_checktype(L, -1, LUA_TTABLE);
        const lua_Unsigned count = lua_rawlen(L, -1);
        for (lua_Unsigned i = 1; i <= count && i <= QKERN_TYPE_LIMIT; i++) {
            qkern_type_info type;
            lua_rawgeti(L, -1, (lua_Integer)i);
            type_check(L, lua_gettop(L), &type);
            v->types[v->options.type_count++] = type.type;
            lua_pop(L, 1);
        }
        v->options.types = v->types;
    }
    lua_pop(L, 1);
}

static void worker_from_environment(lua_State *L, struct verification *v,
                                    const char *words[WORKER_WORDS_MAX + 1])
{
    const char *value = secure_getenv("QKERN_VERIFY_WORKER");
    char *rest;
    int count = 0;

    if (value == NULL)
        return;
    v->worker = strdup(value);
    if (v->worker == NULL)
        luaL_error(L, "not enough memory");
    for (char *word = strtok_r(v->worker, " \t\n", &rest); word != NULL;
         word = strtok_r(NULL, " \t\n", &rest)) {
        if (count == WORKER_WORDS_MAX)
            luaL_error(L, "QKERN_VERIFY_WORKER: more than %d words", WORKER_WORDS_MAX);
        words[count++] = word;
    }
    words[count] = NULL;
    if (count > 0)
        v->options.worker = words;
}

/* The words that start the worker. They live as long as the table, which is on the stack. */
static void worker_read(lua_State *L, struct verification *v,
                        const char *words[WORKER_WORDS_MAX + 1])
{
    if (lua_getfield(L, 1, "worker") == LUA_TNIL) {
        lua_pop(L, 1);
        worker_from_environment(L, v, words);
        return;
    }
    luaL_checktype(L, -1, LUA_TTABLE);
    const lua_Unsigned count = lua_rawlen(L, -1);
    if (count > WORKER_WORDS_MAX)
        luaL_error(L, "field 'worker': more than %d words", WORKER_WORDS_MAX);
    for (lua_Unsigned i = 1; i <= count; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        words[i - 1] = cstring_check(L, lua_gettop(L));
        lua_pop(L, 1);
    }
    words[count] = NULL;
    v->options.worker = words;
    lua_pop(L, 1);
}

static void plugin_read(lua_State *L, struct verification *v)
{
    if (lua_getfield(L, 1, "plugin") != LUA_TNIL) {
        const char *path = cstring_check(L, lua_gettop(L));
        v->path = realpath(path, NULL);
        if (v->path == NULL)
            error_raise_text(L, QKERN_E_IO, QKERN_NO_INDEX, "%s: %s", path, strerror(errno));
        v->options.plugin = v->path;
    }
    lua_pop(L, 1);
}

/*
 * qk.verify {plugin = path, types = {...}, seed = n, times = n, worker = {...}}: begins to check a
 * plugin, the built-in one if there is no path. Where no worker is given, the words of
 * QKERN_VERIFY_WORKER start it.
 */
static int verification_new(lua_State *L)
{
    const char *words[WORKER_WORDS_MAX + 1];
    qkern_error error = QKERN_ERROR_INIT;

    luaL_checktype(L, 1, LUA_TTABLE);
    struct verification *v = lua_newuserdatauv(L, sizeof *v, 0);
    *v = (struct verification){.run = NULL, .options = VERIFY_OPTIONS_INIT};
    luaL_setmetatable(L, VERIFICATION_CLASS);
    v->options.seed = (uint64_t)count_field(L, "seed", 1);
    const lua_Integer times = count_field(L, "times", 1);
    v->options.repeat = (uint32_t)(times < UINT32_MAX ? times : UINT32_MAX);
    types_read(L, v);
    worker_read(L, v, words);
    plugin_read(L, v);
    if (verify_begin(&v->options, &v->run, &error) != QKERN_OK)
        error_raise(L, &error);
    return 1;
}

static void set_text(lua_State *L, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

static void set_count(lua_State *L, const char *key, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, key);
}

/* Texts and numbers that are there. */
static void push_failure(lua_State *L, const struct verify_failure *failure)
{
    lua_newtable(L);
#define SET(NAME)                                                                                  \
    if (failure->NAME[0] != '\0')                                                                  \
        set_text(L, #NAME, failure->NAME);
    VERIFY_TEXTS(SET)
#undef SET
#define SET(NAME)                                                                                  \
    if (failure->NAME != VERIFY_NONE)                                                              \
        set_count(L, #NAME, failure->NAME);
    VERIFY_NUMBERS(SET)
#undef SET
}

/*
 * v:next(): a table with the field `event`: "idle", "plugin" (name, version, kernels), "refused"
 * (name, version, status, text), "note" (text), and of a kernel, with type and entry, "step"
 * (text), "right" (calls, stack), "wrong" (failure), "skipped" (text); nil at the end.
 */
static int verification_next(lua_State *L)
{
    static const char *const names[] = {
        [VERIFY_IDLE] = "idle",   [VERIFY_PLUGIN] = "plugin",  [VERIFY_REFUSED] = "refused",
        [VERIFY_NOTE] = "note",   [VERIFY_STEP] = "step",      [VERIFY_RIGHT] = "right",
        [VERIFY_WRONG] = "wrong", [VERIFY_SKIPPED] = "skipped"};
    struct verification *v = luaL_checkudata(L, 1, VERIFICATION_CLASS);
    qkern_error error = QKERN_ERROR_INIT;
    struct verify_event event;

    if (v->run == NULL)
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "the verification has ended");
    if (verify_next(v->run, &event, &error) != QKERN_OK)
        error_raise(L, &error);
    if (event.kind == VERIFY_END)
        return 0;
    lua_newtable(L);
    set_text(L, "event", names[event.kind]);
    set_text(L, "text", event.text);
    set_text(L, "name", event.name);
    set_text(L, "version", event.version);
    set_count(L, "kernels", event.kernels);
    if (event.kind == VERIFY_REFUSED)
        set_text(L, "status", qkern_status_name(event.status));
    if (event.kind >= VERIFY_STEP) {
        set_text(L, "type", type_name(event.type));
        set_text(L, "entry", qkern_entry_name(event.entry));
    }
    if (event.kind == VERIFY_RIGHT) {
        set_count(L, "calls", event.calls);
        set_count(L, "stack", event.stack);
    }
    if (event.kind == VERIFY_WRONG) {
        push_failure(L, event.failure);
        lua_setfield(L, -2, "failure");
    }
    return 1;
}

static const luaL_Reg metamethods[] = {
    {"__gc", verification_close}, {"__close", verification_close}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"next", verification_next}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"verify", verification_new}, {NULL, NULL}};

void verify_register(lua_State *L)
{
    class_register(L, VERIFICATION_CLASS, metamethods, methods);
    luaL_setfuncs(L, functions, 0);
}
