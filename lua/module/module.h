/* SPDX-License-Identifier: MIT */
/*
 * The qkern module for Lua 5.4: what its files share.
 *
 * Rules of the module: whatever must be freed belongs to a userdata before the next call that can
 * raise; no call into Lua is made while a pin is held; an object that is closed raises.
 */
#ifndef QKERN_LUA_MODULE_H
#define QKERN_LUA_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

#include <qkern.h>
#include <qkern_gguf.h>

/* The names of the metatables. */
#define ARRAY_CLASS "qkern.array"
#define BENCH_CELL_CLASS "qkern.bench_cell"
#define BENCH_PIN_CLASS "qkern.bench_pin"
#define BUFFER_CLASS "qkern.buffer"
#define CONVERTER_CLASS "qkern.converter"
#define ERROR_CLASS "qkern.error"
#define FOLDER_CLASS "qkern.folder"
#define GGUF_CLASS "qkern.gguf"
#define INSTANCE_CLASS "qkern.instance"
#define KERNEL_CLASS "qkern.kernel"
#define MAPPING_CLASS "qkern.mapping"
#define VERIFICATION_CLASS "qkern.verification"
#define WRITER_CLASS "qkern.gguf_writer"

int luaopen_qkern(lua_State *L);

/* Each creates its metatables and adds its functions to the module table on top of the stack. */
void errors_register(lua_State *L);
void system_register(lua_State *L);
void types_register(lua_State *L);
void instance_register(lua_State *L);
void buffers_register(lua_State *L);
void kernels_register(lua_State *L);
void gguf_register(lua_State *L);
void writer_register(lua_State *L);
void convert_register(lua_State *L);
void bench_register(lua_State *L);
void verify_register(lua_State *L);

/*
 * Creates the metatable of a class with its metamethods and methods; methods may be NULL. Leaves
 * the stack as it was.
 */
void class_register(lua_State *L, const char *name, const luaL_Reg *metamethods,
                    const luaL_Reg *methods);

/* Argument `arg` as a string for C, which cannot hold a zero byte. */
const char *cstring_check(lua_State *L, int arg);

/* --- errors ----------------------------------------------------------------------------------- */

/*
 * Raises an error of the library as a table with status, code, message and index, the last two as
 * Lua counts: from 1. Does not return.
 */
int error_raise(lua_State *L, const qkern_error *error) __attribute__((noreturn));
/* The same from its parts: index from 0, or QKERN_NO_INDEX; the message as it is. */
int error_raise_text(lua_State *L, qkern_status status, uint64_t index, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

/* --- types ------------------------------------------------------------------------------------ */

/* The element type named by argument `arg`, a name or a number; raises if there is none. */
void type_check(lua_State *L, int arg, qkern_type_info *out);
/* Its name, for numbers that came from the library: "F32"; "?" if it is none. */
const char *type_name(uint32_t type);

/* --- the instance ----------------------------------------------------------------------------- */

/* The state's instance, opened when first needed; pushes the userdata that owns it. */
qkern *instance_push(lua_State *L);

/* The entry point named by argument `arg`, QKERN_ENTRY_...; raises if there is none. */
uint32_t entry_check(lua_State *L, int arg);

/* --- mapped files and buffers ----------------------------------------------------------------- */

/* Owns an open reader; buffers over the file refer to it, so that it outlives them. */
struct mapping {
    qkern_gguf *file; /* NULL once finalized */
};

struct buffer {
    uint32_t type; /* QKERN_TYPE_NONE for plain bytes */
    bool read_only;
    uint64_t elements;
    uint64_t bytes;
    uint8_t *data;
    const struct mapping *mapping; /* NULL if the memory is the buffer's own */
};

/* Pushes a new buffer of zeros. For plain bytes, elements are bytes. */
struct buffer *buffer_push(lua_State *L, uint32_t type, uint64_t elements);
/* Pushes a read-only buffer over memory of the mapping at index `owner`. */
struct buffer *buffer_push_mapped(lua_State *L, uint32_t type, uint64_t elements, uint64_t bytes,
                                  const uint8_t *data, int owner);
/* Argument `arg` as a buffer whose memory is there; raises otherwise. */
struct buffer *buffer_check(lua_State *L, int arg);
/* The same, of a given element type. */
struct buffer *buffer_check_type(lua_State *L, int arg, uint32_t type);

/*
 * Argument `arg` as an open reader. Pushes the mapping that keeps it alive, and stores its tensor
 * number `tensor_arg` (from 1) if `tensor` is not NULL.
 */
qkern_gguf *gguf_check(lua_State *L, int arg);
qkern_gguf *gguf_check_tensor(lua_State *L, int arg, int tensor_arg, qkern_gguf_tensor *tensor);

/* Argument `arg` as a writer that is neither committed nor aborted; raises otherwise. */
qkern_gguf_writer *writer_check(lua_State *L, int arg);

#endif
