/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing GGUF files, versions 2 and 3, little endian.
 *
 * The reader maps the file and checks every count, length, offset and size before it uses it; a
 * file that opens has all its tensors inside the file. What the format leaves open is decided in
 * docs/gguf.md. The writer streams tensors into a temporary file beside the target and renames it
 * when complete, so a crash or a full disk leaves the target as it was.
 *
 * Errors as in qkern.h: a status, and a qkern_error that names the file, the key or tensor, what
 * was expected and what was found. Strings in GGUF have a length and may hold any byte; lengths are
 * given beside every pointer. An open reader may be used from many threads; a writer from one at a
 * time.
 */
#ifndef QKERN_GGUF_H
#define QKERN_GGUF_H

#include <stddef.h>
#include <stdint.h>

#include <qkern.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- limits: what is beyond is refused with QKERN_E_LIMIT ------------------------------------- */

#define QKERN_GGUF_METADATA_LIMIT (1u << 20)  /* key-value pairs in a file */
#define QKERN_GGUF_TENSOR_LIMIT (1u << 20)    /* tensors in a file */
#define QKERN_GGUF_KEY_LIMIT 65535u           /* bytes of a key (the format's own limit) */
#define QKERN_GGUF_NAME_LIMIT 65535u          /* bytes of a tensor's name */
#define QKERN_GGUF_DIMENSION_LIMIT 4u         /* dimensions of a tensor */
#define QKERN_GGUF_NESTING_LIMIT 8u           /* arrays within arrays, the outermost counted */
#define QKERN_GGUF_ALIGNMENT_LIMIT (1u << 20) /* general.alignment */

#define QKERN_GGUF_ALIGNMENT_DEFAULT 32u

/* X(identifier, number, name, bytes of a value, 0 if they vary) */
#define QKERN_GGUF_VALUES(X)                                                                       \
    X(UINT8, 0, "u8", 1)                                                                           \
    X(INT8, 1, "i8", 1)                                                                            \
    X(UINT16, 2, "u16", 2)                                                                         \
    X(INT16, 3, "i16", 2)                                                                          \
    X(UINT32, 4, "u32", 4)                                                                         \
    X(INT32, 5, "i32", 4)                                                                          \
    X(FLOAT32, 6, "f32", 4)                                                                        \
    X(BOOL, 7, "bool", 1)                                                                          \
    X(STRING, 8, "string", 0)                                                                      \
    X(ARRAY, 9, "array", 0)                                                                        \
    X(UINT64, 10, "u64", 8)                                                                        \
    X(INT64, 11, "i64", 8)                                                                         \
    X(FLOAT64, 12, "f64", 8)

#define QKERN_GGUF_CONSTANT(IDENTIFIER, NUMBER, NAME, BYTES) QKERN_GGUF_##IDENTIFIER = NUMBER,
enum qkern_gguf_value_type { QKERN_GGUF_VALUES(QKERN_GGUF_CONSTANT) QKERN_GGUF_VALUE_LIMIT = 13 };
#undef QKERN_GGUF_CONSTANT

/* "u32"; NULL for a number that is no value type. */
QKERN_API const char *qkern_gguf_value_name(uint32_t value_type);

/* --- reader ----------------------------------------------------------------------------------- */

typedef struct qkern_gguf qkern_gguf;

/*
 * Opens and checks a file. *out is set on success only. QKERN_E_IO if it cannot be read or is no
 * file, QKERN_E_FORMAT if it is damaged or no GGUF, QKERN_E_LIMIT, QKERN_E_TYPE for a tensor of an
 * unknown element type, QKERN_E_LENGTH for rows that are not whole blocks. A file that is cut short
 * by someone else while it is open raises SIGBUS where the lost part is read; see docs/gguf.md.
 */
QKERN_API qkern_status qkern_gguf_open(const char *path, qkern_gguf **out, qkern_error *error);

/*
 * The same over memory of the caller, which must outlive the reader and not change. `name` stands
 * for the path in messages and is copied.
 */
QKERN_API qkern_status qkern_gguf_open_memory(const char *name, const void *data, size_t size,
                                              qkern_gguf **out, qkern_error *error);

/* Unmaps the file; every pointer from this reader is invalid then. NULL is allowed. */
QKERN_API void qkern_gguf_close(qkern_gguf *g);

typedef struct qkern_gguf_header {
    uint32_t struct_size;
    uint32_t version;
    uint64_t metadata_count;
    uint64_t tensor_count;
    uint64_t alignment;
    uint64_t data_offset; /* in the file, of the data section; beyond its end if there is no data */
    uint64_t file_bytes;
} qkern_gguf_header;

QKERN_API qkern_status qkern_gguf_header_get(const qkern_gguf *g, qkern_gguf_header *out,
                                             qkern_error *error);

/*
 * A value: of a metadata pair, or an element of an array. `data` points at its bytes in the file,
 * little endian and unaligned: of a scalar the number, of a string its characters, of an array its
 * first element. bytes is the extent from there.
 */
typedef struct qkern_gguf_value {
    uint32_t struct_size;
    uint32_t value_type;   /* QKERN_GGUF_... */
    uint32_t element_type; /* of an array; else the value_type itself */
    uint32_t reserved;
    uint64_t count; /* elements of an array; else 1 */
    uint64_t bytes;
    const uint8_t *data;
} qkern_gguf_value;

typedef struct qkern_gguf_pair {
    uint32_t struct_size;
    uint32_t reserved;
    const char *key; /* not NUL-terminated */
    uint64_t key_bytes;
    struct qkern_gguf_value value;
} qkern_gguf_pair;

/* Pair number `index`, in file order. */
QKERN_API qkern_status qkern_gguf_pair_get(const qkern_gguf *g, uint64_t index,
                                           qkern_gguf_pair *out, qkern_error *error);

/* By key, NUL-terminated, in constant time. QKERN_E_NOT_FOUND. */
QKERN_API qkern_status qkern_gguf_pair_find(const qkern_gguf *g, const char *key,
                                            qkern_gguf_pair *out, qkern_error *error);

/*
 * Walks an array: start with *position = 0 and call until QKERN_E_NOT_FOUND (end of the array).
 * Each call yields the next element and advances the position.
 */
QKERN_API qkern_status qkern_gguf_array_next(const qkern_gguf_value *array, uint64_t *position,
                                             qkern_gguf_value *element, qkern_error *error);

/*
 * Scalars as numbers; a bool is 0 or 1. QKERN_E_TYPE if the value is not of that kind (f64 takes
 * integers too), QKERN_E_LIMIT if it does not fit (an f64 must hold an integer exactly).
 */
QKERN_API qkern_status qkern_gguf_value_u64(const qkern_gguf_value *value, uint64_t *out,
                                            qkern_error *error);
QKERN_API qkern_status qkern_gguf_value_i64(const qkern_gguf_value *value, int64_t *out,
                                            qkern_error *error);
QKERN_API qkern_status qkern_gguf_value_f64(const qkern_gguf_value *value, double *out,
                                            qkern_error *error);

typedef struct qkern_gguf_tensor {
    uint32_t struct_size;
    uint32_t type; /* QKERN_TYPE_... */
    uint32_t dimensions;
    uint32_t reserved;
    /* shape[0] is the row length; 1 beyond `dimensions`, which is 0 for a single value. Never 0. */
    uint64_t shape[QKERN_GGUF_DIMENSION_LIMIT];
    uint64_t rows; /* product of the others */
    uint64_t row_bytes;
    uint64_t bytes;   /* rows * row_bytes */
    uint64_t offset;  /* in the data section */
    const char *name; /* not NUL-terminated */
    uint64_t name_bytes;
    const uint8_t *data;
} qkern_gguf_tensor;

/* Tensor number `index`, in file order. */
QKERN_API qkern_status qkern_gguf_tensor_get(const qkern_gguf *g, uint64_t index,
                                             qkern_gguf_tensor *out, qkern_error *error);

/* By name, NUL-terminated, in constant time. QKERN_E_NOT_FOUND. */
QKERN_API qkern_status qkern_gguf_tensor_find(const qkern_gguf *g, const char *name,
                                              qkern_gguf_tensor *out, qkern_error *error);

/*
 * Tells the system that [data, data + bytes), within a tensor, will not be read again soon, so that
 * a pass over a large file keeps a bounded resident size. Only whole pages inside the range are
 * released; reading them again is correct. No effect over open_memory.
 */
QKERN_API void qkern_gguf_release(const qkern_gguf *g, const uint8_t *data, uint64_t bytes);

/* --- writer ----------------------------------------------------------------------------------- */

/*
 * Order of calls: create; set, copy or remove metadata and add tensors, in any order; begin; write
 * the data of the tensors in the order added; commit. What is refused before begin changes nothing;
 * after a failed copy_metadata, begin or write only abort is left. The file is version 3.
 */
typedef struct qkern_gguf_writer qkern_gguf_writer;

/*
 * Creates a temporary file in the folder of `path`. Nothing is at `path` yet, and what is there
 * stays until commit. A symbolic link is followed, and stays. The file gets the permissions of the
 * one it replaces, else those of any new file. QKERN_E_IO if the folder is missing or the target is
 * no file. `path` may be the file that an open reader reads.
 */
QKERN_API qkern_status qkern_gguf_writer_create(const char *path, qkern_gguf_writer **out,
                                                qkern_error *error);

/*
 * All pairs of g, byte for byte and in order, after those already there. QKERN_E_ARGUMENT if a key
 * is there already.
 */
QKERN_API qkern_status qkern_gguf_writer_copy_metadata(qkern_gguf_writer *w, const qkern_gguf *g,
                                                       qkern_error *error);

/*
 * Replaces the value of a key where it stands, or appends the pair. The value of general.alignment
 * is the alignment of the file.
 */
QKERN_API qkern_status qkern_gguf_writer_set_u32(qkern_gguf_writer *w, const char *key,
                                                 uint32_t value, qkern_error *error);
QKERN_API qkern_status qkern_gguf_writer_set_string(qkern_gguf_writer *w, const char *key,
                                                    const char *value, qkern_error *error);
/* Any value, in the form in which it stands in a file. */
QKERN_API qkern_status qkern_gguf_writer_set(qkern_gguf_writer *w, const char *key,
                                             uint32_t value_type, const void *encoded,
                                             uint64_t encoded_bytes, qkern_error *error);
/* QKERN_E_NOT_FOUND if there is no such key. */
QKERN_API qkern_status qkern_gguf_writer_remove(qkern_gguf_writer *w, const char *key,
                                                qkern_error *error);

/* Adds a tensor; its offset follows from those before it. Nothing is kept of the arguments. */
QKERN_API qkern_status qkern_gguf_writer_add_tensor(qkern_gguf_writer *w, const char *name,
                                                    uint64_t name_bytes, uint32_t type,
                                                    uint32_t dimensions, const uint64_t *shape,
                                                    qkern_error *error);

/* Writes header, metadata and tensor table. No metadata or tensor can be added afterwards. */
QKERN_API qkern_status qkern_gguf_writer_begin(qkern_gguf_writer *w, qkern_error *error);

/*
 * Appends data. The bytes of all calls together are the tensors' data, one after the other; the
 * writer adds the padding between them. More than was announced is QKERN_E_SIZE.
 */
QKERN_API qkern_status qkern_gguf_writer_write(qkern_gguf_writer *w, const void *data,
                                               uint64_t bytes, qkern_error *error);

/*
 * Completes the file: checks that all data came (QKERN_E_SIZE), flushes to the disk, renames it to
 * the target, flushes the folder. Frees the writer in every case. On failure the target is as it
 * was and the temporary file is gone, with one exception that the message tells: if only the flush
 * of the folder fails, the new file is in place.
 */
QKERN_API qkern_status qkern_gguf_writer_commit(qkern_gguf_writer *w, qkern_error *error);

/* Removes the temporary file and frees the writer. NULL is allowed. */
QKERN_API void qkern_gguf_writer_abort(qkern_gguf_writer *w);

#ifdef __cplusplus
}
#endif

#endif
