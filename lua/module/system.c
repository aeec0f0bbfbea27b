/* SPDX-License-Identifier: MIT */
/* What scripts need of the system and Lua does not have. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "module.h"

/* qk.clock(): seconds from a fixed point in the past; not the time of day, never set back. */
static int system_clock(lua_State *L)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    lua_pushnumber(L, (lua_Number)now.tv_sec + (lua_Number)now.tv_nsec * 1e-9);
    return 1;
}

/* qk.processors(): how many of them this process may run on. */
static int system_processors(lua_State *L)
{
    long count = 0;
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        count = CPU_COUNT(&set);
#endif
    if (count < 1)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    lua_pushinteger(L, count < 1 ? 1 : (lua_Integer)count);
    return 1;
}

struct folder {
    DIR *stream; /* NULL once closed */
};

static int folder_close(lua_State *L)
{
    struct folder *folder = luaL_checkudata(L, 1, FOLDER_CLASS);
    DIR *stream = folder->stream;

    folder->stream = NULL;
    if (stream != NULL)
        closedir(stream);
    return 0;
}

/* Raises what errno says of a folder. */
__attribute__((noreturn)) static void folder_raise(lua_State *L, const char *path)
{
    error_raise_text(L, errno == ENOMEM ? QKERN_E_MEMORY : QKERN_E_IO, QKERN_NO_INDEX, "%s: %s",
                     path, strerror(errno));
}

/* qk.files(path): the names in a folder, in any order. */
static int system_files(lua_State *L)
{
    const char *path = cstring_check(L, 1);
    struct folder *folder = lua_newuserdatauv(L, sizeof *folder, 0);
    const struct dirent *entry;

    folder->stream = NULL;
    luaL_setmetatable(L, FOLDER_CLASS);
    lua_toclose(L, -1);
    folder->stream = opendir(path);
    if (folder->stream == NULL)
        folder_raise(L, path);
    lua_newtable(L);
    while (errno = 0, (entry = readdir(folder->stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        lua_pushstring(L, entry->d_name);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
    if (errno != 0)
        folder_raise(L, path);
    return 1;
}

/* qk.file_size(path): of a regular file; nil and the reason if there is none. Opens nothing. */
static int system_file_size(lua_State *L)
{
    const char *path = cstring_check(L, 1);
    struct stat facts;

    if (stat(path, &facts) != 0) {
        lua_pushnil(L);
        lua_pushfstring(L, "%s: %s", path, strerror(errno));
        return 2;
    }
    if (!S_ISREG(facts.st_mode)) {
        lua_pushnil(L);
        lua_pushfstring(L, "%s: not a regular file", path);
        return 2;
    }
    lua_pushinteger(L, (lua_Integer)facts.st_size);
    return 1;
}

static const luaL_Reg folder_metamethods[] = {
    {"__gc", folder_close}, {"__close", folder_close}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"clock", system_clock},
                                     {"processors", system_processors},
                                     {"files", system_files},
                                     {"file_size", system_file_size},
                                     {NULL, NULL}};

void system_register(lua_State *L)
{
    class_register(L, FOLDER_CLASS, folder_metamethods, NULL);
    luaL_setfuncs(L, functions, 0);
}
