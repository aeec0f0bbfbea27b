/* SPDX-License-Identifier: MIT */
/*
 * Signals that end the program. A hook belongs to one coroutine, and Lua does not tell which one
 * runs: so the functions that switch between them are here, and keep account of it.
 */
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

#include "signals.h"

enum { GRACE_INSTRUCTIONS = 1000000, GRACE_SECONDS = 5 };

static lua_State *volatile running; /* what the handler stops, or NULL */
static volatile sig_atomic_t caught;
static volatile sig_atomic_t stops; /* how often the error was raised; 2 for more */

static void stop(lua_State *L, lua_Debug *debug);

/* lua_sethook is made to be called from a signal handler. */
static void stop_soon(lua_State *L)
{
    lua_sethook(L, stop, LUA_MASKCOUNT, stops == 1 ? GRACE_INSTRUCTIONS : 1);
}

static void stop(lua_State *L, lua_Debug *debug)
{
    (void)debug;
    if (stops < 2)
        stops++;
    stop_soon(L);
    luaL_error(L, caught == SIGPIPE ? "broken pipe" : "interrupted");
}

static void handle(int number)
{
    if (caught == 0) {
        caught = number;
        alarm(GRACE_SECONDS);
    }
    if (running != NULL)
        stop_soon(running);
}

/* The alarm is the handler's own, or came from outside and ends the process as it always does. */
static void handle_alarm(int number)
{
    int last = caught != 0 ? caught : number;
    signal(last, SIG_DFL);
    raise(last);
}

static void handle_nothing(int number)
{
    (void)number;
}

void signals_catch(lua_State *L)
{
    static const struct {
        int number;
        void (*handler)(int);
        unsigned flags; /* no SA_RESTART: blocking calls are interrupted */
    } signals[] = {
        {SIGINT, handle, SA_RESETHAND}, {SIGTERM, handle, SA_RESETHAND},
        {SIGHUP, handle, SA_RESETHAND}, {SIGPIPE, handle, 0},
        {SIGALRM, handle_alarm, 0},     {SIGXFSZ, handle_nothing, SA_RESTART},
    };

    running = L;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action = {.sa_handler = signals[i].handler};
        struct sigaction before;
        action.sa_flags = (int)signals[i].flags;
        if (sigaction(signals[i].number, NULL, &before) == 0 &&
            (before.sa_handler != SIG_IGN || signals[i].number == SIGALRM))
            sigaction(signals[i].number, &action, NULL);
    }
}

void signals_leave(void)
{
    running = NULL;
}

int signals_caught(void)
{
    return caught;
}

/* Makes `L` the one to stop; a signal may have arrived before. */
static void switch_to(lua_State *L)
{
    running = L;
    if (caught != 0)
        stop_soon(L);
}

/*
 * Resumes a coroutine with the values above index `base` of L. Returns how many results replace
 * them, or -1 if there is an error object instead.
 */
static int resume(lua_State *L, lua_State *co, int base)
{
    int count = lua_gettop(L) - base;

    if (!lua_checkstack(co, count)) {
        lua_settop(L, base);
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, count);
    switch_to(co);
    int status = lua_resume(co, L, count, &count);
    switch_to(L);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        return -1;
    }
    if (!lua_checkstack(L, count + 1)) {
        lua_pop(co, count);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, count);
    return count;
}

static lua_State *coroutine_check(lua_State *L, int arg)
{
    lua_State *co = lua_tothread(L, arg);
    luaL_argexpected(L, co != NULL, arg, "coroutine");
    return co;
}

/* coroutine.resume(co, ...) */
static int coroutine_resume(lua_State *L)
{
    lua_State *co = coroutine_check(L, 1);
    int count = resume(L, co, 1);

    lua_pushboolean(L, count >= 0);
    lua_replace(L, 1);
    return count >= 0 ? 1 + count : 2;
}

/* What coroutine.wrap returns. A coroutine with an error is closed, as the manual says. */
static int wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    int count = resume(L, co, 0);

    if (count >= 0)
        return count;
    int status = lua_status(co);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_pop(L, 1);
        switch_to(co);
        status = lua_resetthread(co);
        switch_to(L);
        lua_xmove(co, L, 1);
    }
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

/* coroutine.wrap(f) */
static int coroutine_wrap(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushcclosure(L, wrapped, 1);
    return 1;
}

/* coroutine.close(co): the library's own, upvalue 1, which runs what is to be closed in co. */
static int coroutine_close(lua_State *L)
{
    lua_State *co = coroutine_check(L, 1);

    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    switch_to(co);
    int status = lua_pcall(L, 1, LUA_MULTRET, 0);
    switch_to(L);
    return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

void signals_follow_coroutines(lua_State *L)
{
    lua_getglobal(L, LUA_COLIBNAME);
    lua_pushcfunction(L, coroutine_resume);
    lua_setfield(L, -2, "resume");
    lua_pushcfunction(L, coroutine_wrap);
    lua_setfield(L, -2, "wrap");
    lua_getfield(L, -1, "close");
    lua_pushcclosure(L, coroutine_close, 1);
    lua_setfield(L, -2, "close");
    lua_pop(L, 1);
}
