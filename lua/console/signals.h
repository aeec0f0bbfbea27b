/* SPDX-License-Identifier: MIT */
/*
 * One signal ends the program, and what it began is removed. SIGINT, SIGTERM, SIGHUP and SIGPIPE
 * raise an error in the Lua code that runs, in whichever coroutine, so that it unwinds:
 *
 *  - at its next instruction, with blocking calls interrupted;
 *  - if the code goes on, because it has caught the error or loops in a __close: once more after
 *    GRACE_INSTRUCTIONS, and from then on at every instruction;
 *  - if the process is still there after GRACE_SECONDS, in a long call of a C function or a __gc,
 *    the signal ends it as it would have without a handler. So does a second SIGINT, SIGTERM or
 *    SIGHUP, at once.
 *
 * SIGXFSZ does nothing: the write fails, as on a full disk. SIGALRM is for the time above; one from
 * outside ends the process as ever.
 *
 * Signals other than that which were ignored when the program was started remain so.
 */
#ifndef QKERN_CONSOLE_SIGNALS_H
#define QKERN_CONSOLE_SIGNALS_H

#include <lua.h>

/* Begins to stop L when a signal arrives. */
void signals_catch(lua_State *L);

/*
 * Replaces those functions of the coroutine library that run a coroutine: the running one is the
 * one to stop.
 */
void signals_follow_coroutines(lua_State *L);

/* From now on a signal stops no Lua code. */
void signals_leave(void);

/* The signal that has arrived, or 0. */
int signals_caught(void);

#endif
