/* SPDX-License-Identifier: MIT */
/*
 * The qkern executable: a Lua 5.4 state with the qkern module and the scripts of the commands built
 * in. What the commands do is in lua/commands; here is what only a process can do: its arguments,
 * standard streams and exit status; signals are in signals.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "scripts.h"
#include "signals.h"

int luaopen_qkern(lua_State *L);

enum { STATUS_FAILED = 1, STATUS_SIGNAL = 128 };

/*
 * A process may be started with a standard stream closed; the next file opened would take its place
 * and be written to by messages. Holds such places with a descriptor that cannot be used the wrong
 * way round.
 */
static void streams_hold(void)
{
    static const int flags[] = {O_WRONLY, O_RDONLY, O_RDONLY};

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", flags[fd]) != fd)
            exit(STATUS_FAILED);
}

/* What was printed and could not be written is a failure, too. */
static int stdout_finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (signals_caught() == 0)
        fprintf(stderr, "qkern: cannot write to standard output: %s\n", strerror(errno));
    return status == 0 ? STATUS_FAILED : status;
}

/* Searcher of package.preload: upvalue 1 is the script. */
static int script_load(lua_State *L)
{
    const struct script *script = lua_touserdata(L, lua_upvalueindex(1));
    const char *chunk_name = lua_pushfstring(L, "=%s", script->name);

    if (luaL_loadbufferx(L, script->text, script->size, chunk_name, "t") != LUA_OK)
        return lua_error(L);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static void scripts_preload(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_qkern);
    lua_setfield(L, -2, "qkern");
    for (size_t i = 0; i < script_count; i++) {
        lua_pushlightuserdata(L, (void *)(uintptr_t)&scripts[i]);
        lua_pushcclosure(L, script_load, 1);
        lua_setfield(L, -2, scripts[i].name);
    }
    lua_pop(L, 1);
}

/* Not called for want of memory. */
static int traceback(lua_State *L)
{
    const char *message = lua_tostring(L, 1);
    luaL_traceback(L, L, message != NULL ? message : "an error that is no text", 1);
    return 1;
}

/* Runs the dispatcher, qkern.commands.main, with the arguments; returns the exit status. */
static int run(lua_State *L)
{
    int argc = (int)lua_tointeger(L, 1);
    char **argv = lua_touserdata(L, 2);

    luaL_openlibs(L);
    signals_follow_coroutines(L);
    scripts_preload(L);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "qkern.commands.main");
    lua_call(L, 1, 1);
    lua_createtable(L, argc, 1);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i);
    }
    lua_pushboolean(L, isatty(STDERR_FILENO));
    lua_pushboolean(L, isatty(STDOUT_FILENO));
    lua_call(L, 3, 1);
    return 1;
}

/* The exit status that a successful run left on the stack: a failure unless it is a number. */
static int status_take(lua_State *L)
{
    int is_number;
    lua_Integer status = lua_tointegerx(L, -1, &is_number);

    if (is_number && status >= 0 && status < STATUS_SIGNAL)
        return (int)status;
    fprintf(stderr, "qkern: the command did not say whether it has succeeded\n");
    return STATUS_FAILED;
}

static void error_print(lua_State *L)
{
    const char *message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    fprintf(stderr, "qkern: %s\n", message != NULL ? message : "an error in handling an error");
}

int main(int argc, char **argv)
{
    int status = STATUS_FAILED;
    lua_State *L;

    streams_hold();
    L = luaL_newstate();
    if (L == NULL) {
        fprintf(stderr, "qkern: not enough memory\n");
        return STATUS_FAILED;
    }
    signals_catch(L);
    lua_pushcfunction(L, traceback);
    lua_pushcfunction(L, run);
    lua_pushinteger(L, argc);
    lua_pushlightuserdata(L, argv);
    if (lua_pcall(L, 2, 1, 1) == LUA_OK)
        status = status_take(L);
    else if (signals_caught() == 0)
        error_print(L);
    signals_leave();
    status = stdout_finish(status);
    lua_close(L);
    return signals_caught() == 0 ? status : STATUS_SIGNAL + signals_caught();
}
