/* SPDX-License-Identifier: MIT */
/* What the GGUF tests share: building files in memory, guard pages, scratch folders. */
#ifndef QKERN_TESTS_GGUF_SUPPORT_H
#define QKERN_TESTS_GGUF_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <qkern_gguf.h>

/* --- a file that grows ------------------------------------------------------------------------ */

typedef struct build {
    uint8_t *data;
    size_t size;
    size_t room;
} build;

void build_free(build *b);
void build_bytes(build *b, const void *data, size_t bytes);
void build_u8(build *b, uint8_t value);
void build_u16(build *b, uint16_t value);
void build_u32(build *b, uint32_t value);
void build_u64(build *b, uint64_t value);
void build_f32(build *b, float value);
void build_f64(build *b, double value);
void build_string(build *b, const char *text);
void build_zeros(build *b, size_t bytes);
/* Zeros up to a multiple of the alignment. */
void build_pad(build *b, size_t alignment);

void build_header(build *b, uint32_t version, uint64_t tensors, uint64_t pairs);
/* A key and its value type; the value follows. */
void build_key(build *b, const char *key, uint32_t value_type);
void build_array(build *b, uint32_t element_type, uint64_t count);
/* The shape ends at the first 0. */
void build_tensor(build *b, const char *name, const uint64_t *shape, uint32_t type,
                  uint64_t offset);
#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__, 0})

/* --- opening ---------------------------------------------------------------------------------- */

/* Memory whose end meets a page that cannot be touched. */
typedef struct guarded {
    uint8_t *data;
    size_t size;
    uint8_t *pages;
    size_t pages_size;
} guarded;

guarded guarded_copy(const void *data, size_t size);
void guarded_free(guarded *g);

/* Opens a build, which must be accepted, from guarded memory. */
qkern_gguf *open_build(const build *b, guarded *memory);

/* The build is refused with this status and a message that holds the text. */
void expect_refused(const build *b, qkern_status status, const char *text);

/* Reads every byte that the reader hands out, and finds every key and name; returns a checksum. */
uint64_t walk(const qkern_gguf *g);

/* --- files ------------------------------------------------------------------------------------ */

uint8_t *file_read(const char *path, size_t *size);
void file_write(const char *path, const void *data, size_t size);

/* A new empty folder in the build tree; the text is static. */
const char *scratch_folder(void);
/* "FOLDER/NAME"; the text is static and lives for four calls. */
const char *path_in(const char *folder, const char *name);
/* Entries of the folder, without . and .. */
int folder_entries(const char *folder);

/* A cmocka teardown that removes the folders of scratch_folder, and what is in them. */
int scratch_remove(void **state);

/* Copies a model through reader and writer. */
qkern_status model_copy(const char *from, const char *to, qkern_error *error);

#endif
