/* SPDX-License-Identifier: MIT */
/*
 * What kernels work on: rows of data in a working set, and the tasks that call an entry point on
 * one row after the other.
 *
 * All tasks on one workload share the place where they are. In a set beyond the caches each batch
 * goes on where the last one ended, whoever's it was, so that nobody reads what another has just
 * fetched.
 */
#ifndef QKERN_BENCH_WORKLOAD_H
#define QKERN_BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qkern.h>

#include "trial.h"

struct bench_workload {
    qkern_type_info type;
    uint32_t entry;
    uint64_t n;           /* elements of a row */
    uint64_t rows;        /* in the set */
    uint64_t distinct;    /* of them; the others repeat these */
    uint64_t row_bytes;   /* of a row that is read: weights, or the floats to be quantized */
    uint64_t out_bytes;   /* of what is written */
    uint8_t *data;        /* rows * row_bytes, at a multiple of BENCH_ALIGNMENT, and slack */
    uint8_t *activations; /* one row, of the dot type */
    float *importance;    /* one row */
    void *out;            /* a row of blocks or floats, or a float for each row */
    void *expected;       /* of the same size, for comparing */
    uint64_t next_row;    /* where the tasks are */
    volatile float sink;  /* takes results, so that no call can be left out */
};

#define BENCH_ALIGNMENT 64u
#define BENCH_SLACK 64u /* bytes behind the data, for readers of whole registers */

/* Rows that vec_dot_rows gets in one call. */
#define BENCH_ROWS_PER_CALL 1024u

/* The bytes of a row that the entry point reads, and of what is in use beside the rows. */
struct bench_shape {
    uint64_t row_bytes;
    uint64_t other_bytes;
};

/*
 * QKERN_E_LENGTH if n is not whole blocks of the type and of its dot type, QKERN_E_TYPE if the type
 * has no dot product.
 */
qkern_status bench_shape_get(uint32_t type, uint32_t entry, uint64_t n, struct bench_shape *shape,
                             qkern_error *error);

/*
 * Makes the data: gaussian values from the seed, quantized by the scalar kernels of the instance.
 * On failure nothing needs to be freed. QKERN_E_MEMORY, and what bench_shape_get says.
 */
qkern_status bench_workload_init(struct bench_workload *w, qkern *q, uint32_t type, uint32_t entry,
                                 uint64_t n, uint64_t rows, uint64_t seed, qkern_error *error);
void bench_workload_free(struct bench_workload *w);

/* A kernel at work on it. */
struct bench_work {
    struct bench_workload *workload;
    const struct qkern_kernel *kernel;
};

/* Whether the kernel has the workload's entry point. */
bool bench_work_possible(const struct bench_work *work);

/* The task whose unit is one row; `work` lives as long as the task is in use. */
struct bench_task bench_work_task(struct bench_work *work);

/*
 * Computes row r (for vec_dot_rows: from row r on, `rows` of them) into workload->out. Returns the
 * bytes that were written.
 */
size_t bench_work_row(const struct bench_work *work, uint64_t r, uint64_t rows);

/* The kernels of the plugin of that name; NULL if it has none for the type, or is not usable. */
const struct qkern_kernel *bench_kernel_find(const qkern *q, const char *plugin, uint32_t type);

#define BENCH_REFERENCE "scalar" /* the plugin that defines every result */

#endif
