/* SPDX-License-Identifier: MIT */
/*
 * qk.bench: the harness of bench/ for scripts. What takes long is cut into steps, one call each, so
 * that a signal ends a script between two of them.
 */
#include <string.h>

#include "bench/baseline.h"
#include "bench/cache.h"
#include "bench/cell.h"
#include "bench/core.h"
#include "bench/pin_cost.h"
#include "bench/working_set.h"
#include "module.h"

enum { PLUGIN_LIMIT = 64 };

static void set_number(lua_State *L, const char *key, double value)
{
    lua_pushnumber(L, (lua_Number)value);
    lua_setfield(L, -2, key);
}

static void set_count(lua_State *L, const char *key, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, key);
}

static void set_string(lua_State *L, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

/* Adds least, median and so on to the table on top. */
static void set_summary(lua_State *L, struct bench_summary s)
{
    set_number(L, "least", s.least);
    set_number(L, "median", s.median);
    set_number(L, "low", s.low);
    set_number(L, "high", s.high);
    set_number(L, "coverage", s.coverage);
}

static void append(lua_State *L)
{
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/* --- the machine ------------------------------------------------------------------------------ */

/* qk.bench.sets(): a list of {name, rule}. */
static int set_list(lua_State *L)
{
    lua_newtable(L);
    for (uint32_t i = 0; i < BENCH_SET_LIMIT; i++) {
        lua_createtable(L, 0, 2);
        set_string(L, "name", bench_set_name(i));
        set_string(L, "rule", bench_set_rule(i));
        append(L);
    }
    return 1;
}

/* qk.bench.caches(): a list of {bytes, source}, for the levels 1 to 3. */
static int cache_list(lua_State *L)
{
    const struct bench_caches caches = bench_caches_read();
    lua_newtable(L);
    for (int i = 0; i < 3; i++) {
        lua_createtable(L, 0, 2);
        set_count(L, "bytes", caches.level[i].bytes);
        set_string(L, "source", caches.level[i].source);
        append(L);
    }
    return 1;
}

/* qk.bench.size(text): "64K" as bytes; nil if it is no size. */
static int size_parse(lua_State *L)
{
    uint64_t bytes;
    if (bench_size_parse(cstring_check(L, 1), &bytes) && bytes <= INT64_MAX)
        lua_pushinteger(L, (lua_Integer)bytes);
    else
        lua_pushnil(L);
    return 1;
}

/* qk.bench.pin_core(), qk.bench.pin_core(core): the core; or nil and why not. */
static int core_pin(lua_State *L)
{
    const lua_Integer core = luaL_optinteger(L, 1, bench_core_current());
    const char *reason =
        core < 0 || core > INT32_MAX ? "no core has this number" : bench_core_pin((int)core);
    if (reason == NULL) {
        lua_pushinteger(L, core);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, reason);
    return 2;
}

/* qk.bench.clock(): {name, cost in ns}. */
static int clock_facts(lua_State *L)
{
    const struct bench_clock clock = bench_clock_open();
    lua_createtable(L, 0, 2);
    set_string(L, "name", clock.name);
    set_count(L, "cost", clock.cost);
    return 1;
}

/* qk.bench.baseline(): the text of bench/baseline.tsv. */
static int baseline_text(lua_State *L)
{
    lua_pushstring(L, bench_baseline);
    return 1;
}

/* The set named by argument `arg`. */
static uint32_t set_check(lua_State *L, int arg)
{
    static const char *const names[] = {
#define SET_NAME(IDENTIFIER, VALUE, NAME, RULE) [VALUE] = (NAME),
        BENCH_SETS(SET_NAME)
#undef SET_NAME
            [BENCH_SET_LIMIT] = NULL};
    return (uint32_t)luaL_checkoption(L, arg, NULL, names);
}

/*
 * qk.bench.rows(type, entry, n, set), qk.bench.rows(type, entry, n, bytes): how many rows of n
 * elements make up the set, and the bytes of a row.
 */
static int row_count(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_type_info type;
    struct bench_shape shape;
    uint64_t rows;

    type_check(L, 1, &type);
    const uint32_t entry = entry_check(L, 2);
    const lua_Integer n = luaL_checkinteger(L, 3);
    luaL_argcheck(L, n > 0, 3, "a positive number expected");
    if (bench_shape_get(type.type, entry, (uint64_t)n, &shape, &error) != QKERN_OK)
        error_raise(L, &error);
    if (lua_isinteger(L, 4)) {
        const lua_Integer bytes = lua_tointeger(L, 4);
        luaL_argcheck(L, bytes > 0, 4, "a positive number expected");
        rows = (uint64_t)bytes / shape.row_bytes;
    } else {
        const uint32_t set = set_check(L, 4);
        const struct bench_caches caches = bench_caches_read();
        rows = bench_set_rows(set, &caches, shape.row_bytes, shape.other_bytes);
    }
    lua_pushinteger(L, rows > 0 ? (lua_Integer)rows : 1);
    lua_pushinteger(L, (lua_Integer)shape.row_bytes);
    return 2;
}

/* --- fields of the tables that the next functions take ---------------------------------------- */

/* A positive integer; raises otherwise. */
static uint64_t count_field(lua_State *L, const char *key)
{
    int is_integer;
    lua_getfield(L, 1, key);
    const lua_Integer value = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || value <= 0)
        luaL_error(L, "field '%s': a positive integer expected", key);
    lua_pop(L, 1);
    return (uint64_t)value;
}

static uint64_t seed_field(lua_State *L)
{
    lua_getfield(L, 1, "seed");
    const lua_Integer seed = luaL_optinteger(L, -1, 1);
    lua_pop(L, 1);
    return (uint64_t)seed;
}

static uint32_t rounds_field(lua_State *L)
{
    const uint64_t rounds = count_field(L, "rounds");
    if (rounds > 1u << 20)
        luaL_error(L, "field 'rounds': at most %d", 1 << 20);
    return (uint32_t)rounds;
}

/* --- cells ------------------------------------------------------------------------------------ */

struct cell {
    bool open;
    struct bench_cell cell;
};

static int cell_close(lua_State *L)
{
    struct cell *c = luaL_checkudata(L, 1, BENCH_CELL_CLASS);
    if (c->open)
        bench_cell_free(&c->cell);
    c->open = false;
    return 0;
}

/* Argument 1 as a cell; raises if it, or its instance, is closed. */
static struct bench_cell *cell_check(lua_State *L)
{
    struct cell *c = luaL_checkudata(L, 1, BENCH_CELL_CLASS);
    luaL_argcheck(L, c->open, 1, "the cell is closed");
    instance_push(L);
    lua_pop(L, 1);
    return &c->cell;
}

/* The names in field 'plugins', which stays on the stack with them. */
static uint32_t plugins_field(lua_State *L, const char **names)
{
    lua_getfield(L, 1, "plugins");
    luaL_checktype(L, -1, LUA_TTABLE);
    const int list = lua_gettop(L);
    const lua_Unsigned count = lua_rawlen(L, list);
    if (count > PLUGIN_LIMIT)
        luaL_error(L, "more than %d plugins", PLUGIN_LIMIT);
    luaL_checkstack(L, PLUGIN_LIMIT, NULL);
    for (lua_Unsigned i = 0; i < count; i++) {
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        names[i] = luaL_checkstring(L, -1);
    }
    return (uint32_t)count;
}

/*
 * qk.bench.cell {type, entry, n, rows, seed, batch (ns), rounds (at most), plugins (names)}. Its
 * data is made and each plugin's kernel is compared with the scalar one.
 */
static int cell_new(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    const char *names[PLUGIN_LIMIT];
    qkern_type_info type;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_getfield(L, 1, "type");
    type_check(L, 2, &type);
    lua_getfield(L, 1, "entry");
    struct bench_cell_options options = {
        .type = type.type,
        .entry = entry_check(L, 3),
        .n = count_field(L, "n"),
        .rows = count_field(L, "rows"),
        .seed = seed_field(L),
        .batch_ns = count_field(L, "batch"),
        .round_limit = rounds_field(L),
        .plugins = names,
        .plugin_count = plugins_field(L, names),
        .clock = bench_clock_open(),
    };
    struct cell *c = lua_newuserdatauv(L, sizeof *c, 1);
    c->open = false;
    luaL_setmetatable(L, BENCH_CELL_CLASS);
    qkern *q = instance_push(L);
    lua_setiuservalue(L, -2, 1);
    if (bench_cell_init(&c->cell, q, &options, &error) != QKERN_OK)
        error_raise(L, &error);
    c->open = true;
    return 1;
}

/* c:candidates(): how many there are to be warmed up, one by one. */
static int cell_candidates(lua_State *L)
{
    lua_pushinteger(L, cell_check(L)->trial.candidate_count);
    return 1;
}

/* A candidate's number, argument 2, from 1. */
static uint32_t candidate_check(lua_State *L, const struct bench_trial *trial)
{
    const lua_Integer number = luaL_checkinteger(L, 2);
    luaL_argcheck(L, number >= 1 && number <= trial->candidate_count, 2, "no such candidate");
    return (uint32_t)(number - 1);
}

/* Runs a round; pushes whether there was one left to run, and the seconds of all rounds. */
static int round_push(lua_State *L, struct bench_trial *trial)
{
    lua_pushboolean(L, bench_trial_round(trial));
    lua_pushnumber(L, (lua_Number)trial->spent_ns * 1e-9);
    return 2;
}

/* c:warm_up(i) */
static int cell_warm_up(lua_State *L)
{
    struct bench_cell *cell = cell_check(L);
    bench_cell_warm_up(cell, candidate_check(L, &cell->trial));
    return 0;
}

/* c:round() */
static int cell_round(lua_State *L)
{
    return round_push(L, &cell_check(L)->trial);
}

/* Pushes {timed = false, missing, reason}, or the figures and the ratio to the first. */
static void contender_push(lua_State *L, struct bench_cell *cell, uint32_t i)
{
    const struct bench_contender *c = &cell->contenders[i];
    const struct bench_contender *first = bench_cell_first(cell);

    lua_newtable(L);
    lua_pushboolean(L, c->timed);
    lua_setfield(L, -2, "timed");
    if (!c->timed) {
        lua_pushboolean(L, c->missing);
        lua_setfield(L, -2, "missing");
        set_string(L, "reason", c->reason);
        return;
    }
    set_summary(L, bench_trial_summary(&cell->trial, c->candidate));
    lua_newtable(L);
    set_summary(L, bench_trial_ratio(&cell->trial, first->candidate, c->candidate));
    lua_setfield(L, -2, "ratio");
}

static const char *kind_name(enum bench_limit_kind kind)
{
    static const char *const names[] = {
        [BENCH_LIMIT_READ] = "read", [BENCH_LIMIT_DOT] = "dot", [BENCH_LIMIT_COPY] = "copy"};
    return names[kind];
}

static void yardstick_push(lua_State *L, struct bench_cell *cell, uint32_t i)
{
    const struct bench_yardstick *y = &cell->yardsticks[i];
    lua_newtable(L);
    set_string(L, "name", y->limit->name);
    set_string(L, "text", y->limit->text);
    set_string(L, "kind", kind_name(y->limit->kind));
    set_count(L, "bytes", bench_yardstick_bytes(y));
    set_summary(L, bench_trial_summary(&cell->trial, y->candidate));
}

/*
 * c:result(): {rows, row_bytes, rounds, plugins = a list in the order of the plugins given, limits
 * = a list}. A plugin that is timed has least, median, low, high (ns for a row) and ratio (times as
 * fast as the first that is timed). After at least one round.
 */
static int cell_result(lua_State *L)
{
    struct bench_cell *cell = cell_check(L);
    if (cell->trial.round_count == 0)
        return luaL_error(L, "no round has been run");
    lua_newtable(L);
    set_count(L, "rows", cell->workload.rows);
    set_count(L, "row_bytes", cell->workload.row_bytes);
    set_count(L, "rounds", cell->trial.round_count);
    lua_newtable(L);
    for (uint32_t i = 0; i < cell->contender_count; i++) {
        contender_push(L, cell, i);
        append(L);
    }
    lua_setfield(L, -2, "plugins");
    lua_newtable(L);
    for (uint32_t i = 0; i < cell->yardstick_count; i++) {
        yardstick_push(L, cell, i);
        append(L);
    }
    lua_setfield(L, -2, "limits");
    return 1;
}

/* --- the cost of a pin ------------------------------------------------------------------------ */

struct pin {
    bool open;
    struct bench_pin_cost cost;
};

static int pin_close(lua_State *L)
{
    struct pin *p = luaL_checkudata(L, 1, BENCH_PIN_CLASS);
    if (p->open)
        bench_pin_cost_free(&p->cost);
    p->open = false;
    return 0;
}

static struct bench_pin_cost *pin_check(lua_State *L)
{
    struct pin *p = luaL_checkudata(L, 1, BENCH_PIN_CLASS);
    luaL_argcheck(L, p->open, 1, "it is closed");
    instance_push(L);
    lua_pop(L, 1);
    return &p->cost;
}

/* qk.bench.pin {seed, batch, rounds}: with the methods of a cell. */
static int pin_new(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    const uint64_t seed = seed_field(L), batch_ns = count_field(L, "batch");
    const uint32_t rounds = rounds_field(L);
    struct pin *p = lua_newuserdatauv(L, sizeof *p, 1);
    p->open = false;
    luaL_setmetatable(L, BENCH_PIN_CLASS);
    qkern *q = instance_push(L);
    lua_setiuservalue(L, -2, 1);
    if (bench_pin_cost_init(&p->cost, q, bench_clock_open(), seed, batch_ns, rounds, &error) !=
        QKERN_OK)
        error_raise(L, &error);
    p->open = true;
    return 1;
}

static int pin_candidates(lua_State *L)
{
    lua_pushinteger(L, pin_check(L)->trial.candidate_count);
    return 1;
}

static int pin_warm_up(lua_State *L)
{
    struct bench_pin_cost *cost = pin_check(L);
    bench_trial_warm_up(&cost->trial, candidate_check(L, &cost->trial));
    return 0;
}

static int pin_round(lua_State *L)
{
    return round_push(L, &pin_check(L)->trial);
}

/* p:result(): {least, median, low, high}: ns that the pin adds to a call. */
static int pin_result(lua_State *L)
{
    struct bench_pin_cost *cost = pin_check(L);
    if (cost->trial.round_count == 0)
        return luaL_error(L, "no round has been run");
    lua_newtable(L);
    set_summary(L, bench_pin_cost_summary(cost));
    return 1;
}

static const luaL_Reg cell_metamethods[] = {
    {"__gc", cell_close}, {"__close", cell_close}, {NULL, NULL}};
static const luaL_Reg cell_methods[] = {{"candidates", cell_candidates},
                                        {"warm_up", cell_warm_up},
                                        {"round", cell_round},
                                        {"result", cell_result},
                                        {NULL, NULL}};
static const luaL_Reg pin_metamethods[] = {
    {"__gc", pin_close}, {"__close", pin_close}, {NULL, NULL}};
static const luaL_Reg pin_methods[] = {{"candidates", pin_candidates},
                                       {"warm_up", pin_warm_up},
                                       {"round", pin_round},
                                       {"result", pin_result},
                                       {NULL, NULL}};
static const luaL_Reg functions[] = {{"sets", set_list},
                                     {"caches", cache_list},
                                     {"size", size_parse},
                                     {"pin_core", core_pin},
                                     {"clock", clock_facts},
                                     {"rows", row_count},
                                     {"baseline", baseline_text},
                                     {"cell", cell_new},
                                     {"pin", pin_new},
                                     {NULL, NULL}};

void bench_register(lua_State *L)
{
    class_register(L, BENCH_CELL_CLASS, cell_metamethods, cell_methods);
    class_register(L, BENCH_PIN_CLASS, pin_metamethods, pin_methods);
    luaL_newlib(L, functions);
    lua_setfield(L, -2, "bench");
}
