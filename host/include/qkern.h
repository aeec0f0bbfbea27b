/* SPDX-License-Identifier: MIT */
/*
 * libqkern: block-quantized kernels, chosen for this CPU at run time.
 *
 * An instance (struct qkern) finds plugins, reads their manifests, loads those that this CPU can
 * run and chooses for each element type and entry point the best kernel. The scalar kernels are
 * linked in, so every supported type always works.
 *
 * Two ways to compute:
 *  - The checked calls (qkern_quantize, ...) verify every argument and the data before they write.
 *  - A pin (qkern_pin_begin) gives the chosen kernels themselves, for inner loops: nothing is
 * checked.
 *
 * Conventions. Every call that can fail returns a qkern_status and takes a `struct qkern_error *`
 * as its last argument, which may be NULL (qkern_pin_begin alone has none); on failure it is
 * filled, outputs are untouched. The library never prints, aborts, changes signal handlers, the FP
 * state or anything else process-wide. All calls on one instance may be made from any thread at any
 * time, except qkern_close. Strings that are returned are NUL-terminated UTF-8, owned by the
 * instance and valid until it is closed.
 *
 * Structs that the caller fills or receives start with struct_size; set it with sizeof, or use the
 * initialiser given. They grow at the end only.
 *
 * FP environment: results are defined for round-to-nearest-even with denormals kept, the state in
 * which a C program starts. A host application that has set FTZ, DAZ or another rounding mode in a
 * thread gets other bits for subnormal values in that thread; see docs/numerics.md.
 */
#ifndef QKERN_H
#define QKERN_H

#include <stddef.h>
#include <stdint.h>

#include <qkern/plugin.h>
#include <qkern/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(QKERN_BUILD_SHARED)
#define QKERN_API __attribute__((visibility("default")))
#else
#define QKERN_API
#endif

#define QKERN_VERSION "0.1.0"

/* The version of the library that runs, in the form of QKERN_VERSION. */
QKERN_API const char *qkern_version(void);

/* --- status and error ------------------------------------------------------------------------- */

/* X(identifier, value, what it means). Values are part of the ABI and are never reused. */
#define QKERN_STATUSES(X)                                                                          \
    X(OK, 0, "done")                                                                               \
    X(E_ARGUMENT, 1, "an argument is NULL, out of range or contradicts another")                   \
    X(E_TYPE, 2, "not an element type, or not one with a kernel for this")                         \
    X(E_LENGTH, 3, "a row length is not a whole number of blocks")                                 \
    X(E_SIZE, 4, "a buffer's size does not fit the row length")                                    \
    X(E_ALIGNMENT, 5, "an array of float is not aligned as a float")                               \
    X(E_OVERLAP, 6, "input and output overlap")                                                    \
    X(E_NONFINITE, 7, "the input holds a NaN or an infinity")                                      \
    X(E_OVERFLOW, 8, "a scale, minimum, sum or element does not fit its stored format")            \
    X(E_DATA, 9, "a block contradicts itself")                                                     \
    X(E_BUSY, 10, "in use")                                                                        \
    X(E_MEMORY, 11, "out of memory")                                                               \
    X(E_IO, 12, "the operating system refused to read or write")                                   \
    X(E_PERMISSION, 13, "a file or folder that others can write")                                  \
    X(E_FORMAT, 14, "not a well-formed file of the kind expected")                                 \
    X(E_ARCH, 15, "for another architecture")                                                      \
    X(E_ABI, 16, "for another version of the plugin ABI")                                          \
    X(E_FEATURE, 17, "needs a CPU feature that is missing or masked")                              \
    X(E_LOAD, 18, "the dynamic loader refused it")                                                 \
    X(E_ENVIRONMENT, 19, "an environment variable cannot be understood")                           \
    X(E_LIMIT, 20, "beyond a documented limit")                                                    \
    X(E_NOT_FOUND, 21, "no such thing")

#define QKERN_STATUS_CONSTANT(IDENTIFIER, VALUE, TEXT) QKERN_##IDENTIFIER = VALUE,
typedef enum qkern_status { QKERN_STATUSES(QKERN_STATUS_CONSTANT) } qkern_status;
#undef QKERN_STATUS_CONSTANT

/* "QKERN_E_LENGTH"; "unknown status" for a number that is none. */
QKERN_API const char *qkern_status_name(qkern_status status);
/* What it means, as in the table above. */
QKERN_API const char *qkern_status_text(qkern_status status);

#define QKERN_NO_INDEX UINT64_MAX

/*
 * What went wrong, written for a person. `message` is one line that names the thing, what was
 * expected and what was found; it is cut at the end if it is too long.
 */
typedef struct qkern_error {
    uint32_t struct_size;
    uint32_t status; /* a qkern_status */
    uint64_t index;  /* the first offending element, else QKERN_NO_INDEX */
    char message[496];
} qkern_error;

#define QKERN_ERROR_INIT                                                                           \
    {                                                                                              \
        (uint32_t)sizeof(qkern_error), 0, QKERN_NO_INDEX,                                          \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* --- element types ---------------------------------------------------------------------------- */

typedef struct qkern_type_info {
    uint32_t struct_size;
    uint32_t type;
    uint32_t block_elements;
    uint32_t block_bytes;
    uint32_t dot_type; /* QKERN_TYPE_NONE if rows of this type are never weights of a vec_dot */
    uint32_t reserved;
    const char *name; /* "Q4_K"; static */
} qkern_type_info;

/* Facts of any ggml type, also of those without a kernel. QKERN_E_TYPE for a retired or unknown
 * one. */
QKERN_API qkern_status qkern_type_get(uint32_t type, qkern_type_info *out, qkern_error *error);

/* By name, letters in either case ("q4_k"). */
QKERN_API qkern_status qkern_type_find(const char *name, qkern_type_info *out, qkern_error *error);

/* Bytes of a row of n elements. QKERN_E_LENGTH if n is not whole blocks, QKERN_E_LIMIT on overflow.
 */
QKERN_API qkern_status qkern_row_bytes(uint32_t type, uint64_t n, uint64_t *bytes,
                                       qkern_error *error);

/* --- instances -------------------------------------------------------------------------------- */

typedef struct qkern qkern;

#define QKERN_OPEN_NO_ENVIRONMENT 1u /* ignore the QKERN_... variables */
#define QKERN_OPEN_NO_SEARCH                                                                       \
    2u /* look only at plugin_paths, static_plugins and what is built in                           \
        */

/*
 * The paths and static plugins are used during qkern_open only, except that static plugins
 * themselves (and their kernels) must live as long as the instance.
 */
typedef struct qkern_options {
    uint32_t struct_size;
    uint32_t flags;
    uint32_t plugin_path_count;
    uint32_t static_plugin_count;
    const char *const *plugin_paths; /* absolute paths of files or folders, looked at first */
    const struct qkern_plugin *const *static_plugins; /* linked into the application */
} qkern_options;

#define QKERN_OPTIONS_INIT                                                                         \
    {                                                                                              \
        (uint32_t)sizeof(qkern_options), 0, 0, 0, NULL, NULL                                       \
    }

/*
 * Finds plugins and chooses kernels. options may be NULL.
 *
 * Search order: options->plugin_paths; QKERN_PLUGIN_PATH (folders, ':' between); the folder
 * `qkern/plugins` beside libqkern; the folder fixed when libqkern was built. Of several plugins of
 * one name the first found is used. The current directory is never searched.
 *
 * QKERN_FEATURES=-avx2,-fma takes features away; QKERN_MAX_ISA=sse2 caps the tier (the names are
 * those of qkern/features.h, letters in either case). In a process in secure-execution mode
 * (set-user-ID and the like) all QKERN_ variables are ignored.
 *
 * A plugin that cannot be used is no error: the reason is in its record (qkern_record_get). Errors:
 * QKERN_E_ARGUMENT, QKERN_E_MEMORY, and QKERN_E_ENVIRONMENT for a variable with an unknown word, so
 * that a typing error does not silently change what runs. *out is set on success only.
 */
QKERN_API qkern_status qkern_open(const qkern_options *options, qkern **out, qkern_error *error);

/*
 * Ends the instance and unmaps its plugins. QKERN_E_BUSY, and nothing happens, while a pin is held.
 * The caller sees to it that no other call on the instance runs or follows. NULL is allowed.
 */
QKERN_API qkern_status qkern_close(qkern *q, qkern_error *error);

/* --- checked calls ---------------------------------------------------------------------------- */

/*
 * In all of these n may be 0: then nothing is read or written, and pointers to data may be NULL
 * (qkern_vec_dot and qkern_matvec give zeros). QKERN_E_TYPE if no plugin has the entry point for
 * the type, or if this version of libqkern has no check for the type's blocks.
 */

/*
 * Quantizes one or more rows of together n elements at x into blocks. out_bytes is exactly what n
 * elements take. Checks, before a byte is written: NULLs, lengths, sizes, alignment, overlap, NaN
 * and Inf (QKERN_E_NONFINITE), and that every stored field and every value that the blocks stand
 * for is finite (QKERN_E_OVERFLOW); error->index is the first offending element (for an overflow,
 * the first element of its block).
 */
QKERN_API qkern_status qkern_quantize(qkern *q, uint32_t type, uint64_t n, const float *x,
                                      void *out, uint64_t out_bytes, qkern_error *error);

/*
 * The same for one row, with an importance for each of its n elements: finite and not negative,
 * else QKERN_E_ARGUMENT with the index.
 */
QKERN_API qkern_status qkern_quantize_weighted(qkern *q, uint32_t type, uint64_t n, const float *x,
                                               const float *importance, void *out,
                                               uint64_t out_bytes, qkern_error *error);

/*
 * Writes the n values that the blocks stand for. Refuses what qkern_check_blocks refuses; for
 * values as the format gives them, infinities included, use the kernel through a pin.
 */
QKERN_API qkern_status qkern_dequantize(qkern *q, uint32_t type, uint64_t n, const void *blocks,
                                        uint64_t blocks_bytes, float *y, qkern_error *error);

/*
 * The dot product of a row of n weights of `type` with a row of n activations of the type's dot
 * type. Both rows are checked as by qkern_check_blocks. The result may be infinite if the sum
 * overflows.
 */
QKERN_API qkern_status qkern_vec_dot(qkern *q, uint32_t type, uint64_t n, const void *weights,
                                     uint64_t weights_bytes, const void *activations,
                                     uint64_t activations_bytes, float *result, qkern_error *error);

/*
 * Verifies a row's data: every stored scale, minimum, sum and element and every value that the
 * blocks stand for is finite (QKERN_E_NONFINITE) and the sums in Q8_K blocks are those of their
 * codes (QKERN_E_DATA). error->index is the first element of the offending block.
 */
QKERN_API qkern_status qkern_check_blocks(uint32_t type, uint64_t n, const void *blocks,
                                          uint64_t blocks_bytes, qkern_error *error);

/* --- a matrix times a vector ------------------------------------------------------------------ */

/*
 * Weights: `rows` rows of n elements, row r at weights + r * row_stride. The weights stay the
 * caller's and may lie at any address, in a mapped file for instance.
 */
typedef struct qkern_matrix {
    uint32_t struct_size;
    uint32_t type;
    uint64_t n; /* elements of a row: whole blocks */
    uint64_t rows;
    uint64_t row_stride; /* bytes from one row to the next, at least those of a row; what lies
                            between two rows is not read */
    const void *weights;
    uint64_t weights_bytes; /* of all rows, with or without the padding of the last */
} qkern_matrix;

#define QKERN_MATRIX_INIT                                                                          \
    {                                                                                              \
        (uint32_t)sizeof(qkern_matrix), 0, 0, 0, 0, NULL, 0                                        \
    }

/*
 * Threads of the caller's: any pool with a "parallel for". run calls task(arg, index) once for each
 * index below tasks, on any threads, in any order, also all on one, and returns when all have
 * returned. A task takes no lock and does not fail. As many tasks as threads give each thread an
 * equal share; some times more let a pool balance threads that are not equally fast.
 */
typedef struct qkern_pool {
    uint32_t struct_size;
    uint32_t tasks; /* at least 1 */
    void (*run)(void *pool, uint32_t tasks, void (*task)(void *arg, uint32_t index), void *arg);
    void *pool; /* given to run */
} qkern_pool;

#define QKERN_POOL_INIT                                                                            \
    {                                                                                              \
        (uint32_t)sizeof(qkern_pool), 0, NULL, NULL                                                \
    }

/*
 * out[r], for each row r of the matrix, becomes the dot product of that row and a row of
 * matrix->n activations of the type's dot type: the same bits as qkern_vec_dot's, whatever computes
 * them. pool NULL: the calling thread alone. Libqkern starts no thread.
 *
 * The arguments and the activations are checked before anything is written, as by qkern_vec_dot.
 * The weights are not looked at, for that would cost as much as the product: check them once, when
 * they are loaded, with qkern_check_blocks. From fields that are not finite come results that are
 * not. weights_bytes that do not fit, or a stride less than a row: QKERN_E_SIZE. If pool->run
 * returned before all tasks were run: QKERN_E_ARGUMENT, and then alone `out` is written in part.
 */
QKERN_API qkern_status qkern_matvec(qkern *q, const qkern_matrix *matrix, const void *activations,
                                    uint64_t activations_bytes, float *out, const qkern_pool *pool,
                                    qkern_error *error);

/*
 * One of `parts` shares of the same product, for threads that are in a parallel region already:
 * each makes the same call with its own number `part`, 0 to parts - 1. The parts write distinct
 * elements of `out`, which is complete when all have returned; libqkern does not wait for the
 * others. Each checks all arguments and activations, so all parts fail alike, and then none writes.
 * Which rows are whose may change with the version.
 */
QKERN_API qkern_status qkern_matvec_part(qkern *q, const qkern_matrix *matrix,
                                         const void *activations, uint64_t activations_bytes,
                                         float *out, uint32_t part, uint32_t parts,
                                         qkern_error *error);

/* --- pins ------------------------------------------------------------------------------------- */

/*
 * A pin holds one generation, an immutable table of chosen kernels, so that everything done under
 * it is done by the same kernels and none of them is unmapped, whatever is published meanwhile.
 * Take one per operation (a matrix-vector product, say), not per row and not for the life of a
 * thread: an old generation is retired only when its last pin has ended.
 *
 * The fields are the library's. A pin lives in memory of the thread that began it, is ended by that
 * thread, and is not copied. Pins nest, in any order, on one instance or several.
 *
 * The child of a fork has the instance and its kernels, but none of the parent's pins: there they
 * are neither used nor ended, and do not keep the instance from being closed. (Where the system
 * cannot wipe memory on fork, as Linux before 4.14, they do.)
 */
typedef struct qkern_pin {
    const struct qkern_generation *generation;
    uint64_t opaque[3];
} qkern_pin;

/*
 * Begins a pin. A few ns, wait-free, no call of the system, nothing written that other threads
 * write. Only a thread's first pin on an instance takes longer: it looks for a place to note the
 * thread's pins in, for which memory may be mapped; if there is none, a counter serves that all
 * such threads share. Threads need not be registered, and may end at any time. Fails only on a NULL
 * argument (QKERN_E_ARGUMENT).
 */
QKERN_API qkern_status qkern_pin_begin(qkern *q, qkern_pin *pin);

/* Ends a pin and clears it. A cleared pin, as after `qkern_pin pin = {0};`, is ignored. */
QKERN_API void qkern_pin_end(qkern_pin *pin);

/*
 * The chosen entry points of a type: a table in which each function comes from the best plugin that
 * has it. NULL if there are none for the type; a NULL field if no plugin has that entry point
 * (vec_dot of Q8_K, say). Valid until the pin ends. Nothing is checked in these functions: see
 * qkern/kernel.h.
 */
QKERN_API const struct qkern_kernel *qkern_pin_kernel(const qkern_pin *pin, uint32_t type);

/* The number of the pinned generation: 1 for the first, then ascending. */
QKERN_API uint64_t qkern_pin_generation(const qkern_pin *pin);

/* --- what was found, what was chosen, and why ----------------------------------------------------
 */

typedef struct qkern_feature {
    uint32_t struct_size;
    uint32_t word; /* of a manifest's feature words */
    uint32_t mask;
    uint32_t present; /* 1 if CPU and operating system both provide it */
    uint32_t usable;  /* 1 if present and not masked */
    uint32_t reserved;
    const char *name;   /* as in qkern/features.h */
    const char *source; /* where the answer came from: "CPUID.7.0:EBX[5], XCR0[2:1]" */
    const char
        *reason; /* why it is not usable: "the operating system does not save ..."; else "" */
} qkern_feature;

/* The features that libqkern knows of this architecture, in the order of qkern/features.h. */
QKERN_API uint32_t qkern_feature_count(const qkern *q);
QKERN_API qkern_status qkern_feature_get(const qkern *q, uint32_t index, qkern_feature *out,
                                         qkern_error *error);

/* X(identifier, value, name): how far an attempt to load a plugin came. */
#define QKERN_STAGES(X)                                                                            \
    X(SEARCH, 0, "search")     /* listing a folder, or a path that was given */                    \
    X(OPEN, 1, "open")         /* opening the file, its permissions */                             \
    X(MANIFEST, 2, "manifest") /* reading the manifest; nothing is mapped up to here */            \
    X(NEEDS, 3, "needs")       /* ABI, architecture, CPU features, tier, name */                   \
    X(LOAD, 4, "load")         /* the dynamic loader */                                            \
    X(TABLE, 5, "table")       /* entry and kernel table */                                        \
    X(READY, 6, "ready")       /* a candidate for selection */

#define QKERN_STAGE_CONSTANT(IDENTIFIER, VALUE, NAME) QKERN_STAGE_##IDENTIFIER = VALUE,
enum qkern_stage { QKERN_STAGES(QKERN_STAGE_CONSTANT) };
#undef QKERN_STAGE_CONSTANT

QKERN_API const char *qkern_stage_name(uint32_t stage);

/*
 * One attempt to use a plugin file, a static plugin, or a folder. status QKERN_OK and stage READY:
 * it is a candidate. Otherwise `stage` is where it ended, `text` says why in one line, and
 * `expected` and `found` are filled where they mean something ("" else). name, version, tier and
 * features are those of the manifest if it could be read.
 */
typedef struct qkern_record {
    uint32_t struct_size;
    uint32_t stage;
    uint32_t status;
    uint32_t tier;
    uint32_t features[QKERN_FEATURE_WORDS];
    const char *path;   /* of the file or folder; "" for plugins that are linked in */
    const char *origin; /* "built in", "static", "option", "QKERN_PLUGIN_PATH", "beside libqkern",
                           "installed" */
    const char *name;
    const char *version;
    const char *build_id; /* lower-case hexadecimal; "" if the file has none */
    const char *text;
    const char *expected;
    const char *found;
} qkern_record;

/* In the order of the attempts; the built-in scalar plugin comes last. */
QKERN_API uint32_t qkern_record_count(const qkern *q);
QKERN_API qkern_status qkern_record_get(const qkern *q, uint32_t index, qkern_record *out,
                                        qkern_error *error);

/* X(identifier, value, name): the entry points of struct qkern_kernel. */
#define QKERN_ENTRIES(X)                                                                           \
    X(QUANTIZE, 0, "quantize")                                                                     \
    X(DEQUANTIZE, 1, "dequantize")                                                                 \
    X(VEC_DOT, 2, "vec_dot")                                                                       \
    X(QUANTIZE_WEIGHTED, 3, "quantize_weighted")                                                   \
    X(VEC_DOT_ROWS, 4, "vec_dot_rows")

#define QKERN_ENTRY_CONSTANT(IDENTIFIER, VALUE, NAME) QKERN_ENTRY_##IDENTIFIER = VALUE,
enum qkern_entry { QKERN_ENTRIES(QKERN_ENTRY_CONSTANT) QKERN_ENTRY_LIMIT = 5 };
#undef QKERN_ENTRY_CONSTANT

QKERN_API const char *qkern_entry_name(uint32_t entry);

/*
 * The record whose plugin serves this entry point in the current generation. QKERN_E_NOT_FOUND if
 * none does, QKERN_E_TYPE for an unknown type.
 */
QKERN_API qkern_status qkern_choice_get(const qkern *q, uint32_t type, uint32_t entry,
                                        uint32_t *record, qkern_error *error);

/*
 * Why: writes text to buffer, NUL-terminated and cut to `size` bytes; *needed is the size that
 * would hold all of it (either may be 0 or NULL). One line for the chosen kernel, then one for each
 * other record with the reason against it; places where no plugin was found are left out. E.g.
 *
 *   Q4_K vec_dot: scalar 0.1.0 (tier 0, built in)
 *     not avx2 0.1.0 (/usr/lib/qkern/plugins/qkern-avx2.so): needs avx2: the operating system does
 * not save its registers (CPUID.1:ECX[27] OSXSAVE is 0)
 */
QKERN_API qkern_status qkern_explain(const qkern *q, uint32_t type, uint32_t entry, char *buffer,
                                     size_t size, size_t *needed, qkern_error *error);

/*
 * The entry points of one plugin alone, READY records only: for tools that compare plugins. Fields
 * that the plugin does not have are NULL. QKERN_E_NOT_FOUND if it has no kernel for the type. Valid
 * until the instance is closed.
 */
QKERN_API qkern_status qkern_record_kernel(const qkern *q, uint32_t record, uint32_t type,
                                           const struct qkern_kernel **out, qkern_error *error);

#ifdef __cplusplus
}
#endif

#endif
