/* SPDX-License-Identifier: MIT */
/* What kernels work on. */
#include "workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum {
    DISTINCT_ROWS = 64,           /* quantizing more takes longer than it is worth */
    DISTINCT_ELEMENTS = 64 * 4096 /* the same for long rows */
};

static qkern_status fail(qkern_error *error, qkern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static qkern_status fail(qkern_error *error, qkern_status status, const char *format, ...)
{
    va_list arguments;
    if (error == NULL)
        return status;
    error->status = (uint32_t)status;
    error->index = QKERN_NO_INDEX;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

/* --- sizes ------------------------------------------------------------------------------------ */

static bool reads_floats(uint32_t entry)
{
    return entry == QKERN_ENTRY_QUANTIZE || entry == QKERN_ENTRY_QUANTIZE_WEIGHTED;
}

static bool reads_activations(uint32_t entry)
{
    return entry == QKERN_ENTRY_VEC_DOT || entry == QKERN_ENTRY_VEC_DOT_ROWS;
}

struct sizes {
    uint64_t blocks;
    uint64_t floats;
    uint64_t activations;
};

static qkern_status sizes_get(const qkern_type_info *type, uint32_t entry, uint64_t n,
                              struct sizes *sizes, qkern_error *error)
{
    *sizes = (struct sizes){.floats = n * sizeof(float)};
    if (n == 0)
        return fail(error, QKERN_E_LENGTH, "a row of no elements cannot be timed");
    qkern_status status = qkern_row_bytes(type->type, n, &sizes->blocks, error);
    if (status != QKERN_OK || !reads_activations(entry))
        return status;
    if (type->dot_type == QKERN_TYPE_NONE)
        return fail(error, QKERN_E_TYPE, "rows of %s are never weights of a dot product",
                    type->name);
    return qkern_row_bytes(type->dot_type, n, &sizes->activations, error);
}

static struct bench_shape shape_of(uint32_t entry, const struct sizes *sizes)
{
    switch (entry) {
    case QKERN_ENTRY_QUANTIZE:
        return (struct bench_shape){sizes->floats, sizes->blocks};
    case QKERN_ENTRY_QUANTIZE_WEIGHTED:
        return (struct bench_shape){sizes->floats, sizes->floats + sizes->blocks};
    case QKERN_ENTRY_DEQUANTIZE:
        return (struct bench_shape){sizes->blocks, sizes->floats};
    default:
        return (struct bench_shape){sizes->blocks, sizes->activations};
    }
}

qkern_status bench_shape_get(uint32_t type, uint32_t entry, uint64_t n, struct bench_shape *shape,
                             qkern_error *error)
{
    qkern_type_info info = {.struct_size = sizeof info};
    struct sizes sizes;
    qkern_status status = qkern_type_get(type, &info, error);
    if (status == QKERN_OK)
        status = sizes_get(&info, entry, n, &sizes, error);
    if (status == QKERN_OK)
        *shape = shape_of(entry, &sizes);
    return status;
}

/* --- data ------------------------------------------------------------------------------------- */

const struct qkern_kernel *bench_kernel_find(const qkern *q, const char *plugin, uint32_t type)
{
    const uint32_t count = qkern_record_count(q);
    for (uint32_t i = 0; i < count; i++) {
        qkern_record record = {.struct_size = sizeof record};
        const struct qkern_kernel *kernel = NULL;
        if (qkern_record_get(q, i, &record, NULL) == QKERN_OK &&
            record.stage == QKERN_STAGE_READY && record.status == (uint32_t)QKERN_OK &&
            strcmp(record.name, plugin) == 0)
            return qkern_record_kernel(q, i, type, &kernel, NULL) == QKERN_OK ? kernel : NULL;
    }
    return NULL;
}

/* Memory at a multiple of BENCH_ALIGNMENT, with slack of zeros; NULL if there is none. */
static void *allocate(uint64_t bytes)
{
    const uint64_t rounded =
        (bytes + BENCH_SLACK + BENCH_ALIGNMENT - 1) / BENCH_ALIGNMENT * BENCH_ALIGNMENT;
    uint8_t *p = rounded > bytes && rounded <= SIZE_MAX / 2
                     ? aligned_alloc(BENCH_ALIGNMENT, (size_t)rounded)
                     : NULL;
    if (p != NULL)
        memset(p + bytes, 0, (size_t)(rounded - bytes));
    return p;
}

/* The bytes of out: a row, or a float for each row of a call. */
static uint64_t out_bytes_of(uint32_t entry, const struct sizes *sizes)
{
    switch (entry) {
    case QKERN_ENTRY_QUANTIZE:
    case QKERN_ENTRY_QUANTIZE_WEIGHTED:
        return sizes->blocks;
    case QKERN_ENTRY_DEQUANTIZE:
        return sizes->floats;
    default:
        return BENCH_ROWS_PER_CALL * sizeof(float);
    }
}

/* Writes the distinct rows. `x` has room for them as floats. */
static qkern_status make_rows(struct bench_workload *w, const qkern *q, uint64_t *random, float *x,
                              qkern_error *error)
{
    const struct qkern_kernel *k = bench_kernel_find(q, BENCH_REFERENCE, w->type.type);
    bench_random_gaussian(random, w->distinct * w->n, x);
    if (reads_floats(w->entry))
        return QKERN_OK; /* x is the rows */
    if (k == NULL || k->quantize == NULL)
        return fail(error, QKERN_E_NOT_FOUND, "no scalar kernel makes rows of %s to work on",
                    w->type.name);
    for (uint64_t r = 0; r < w->distinct; r++)
        k->quantize(w->n, x + r * w->n, w->data + r * w->row_bytes);
    return QKERN_OK;
}

static qkern_status make_activations(struct bench_workload *w, const qkern *q, uint64_t *random,
                                     float *x, qkern_error *error)
{
    const struct qkern_kernel *k = bench_kernel_find(q, BENCH_REFERENCE, w->type.dot_type);
    if (k == NULL || k->quantize == NULL)
        return fail(error, QKERN_E_NOT_FOUND, "no scalar kernel makes activations for %s",
                    w->type.name);
    bench_random_gaussian(random, w->n, x);
    k->quantize(w->n, x, w->activations);
    return QKERN_OK;
}

static void make_importance(struct bench_workload *w, uint64_t *random)
{
    bench_random_gaussian(random, w->n, w->importance);
    for (uint64_t i = 0; i < w->n; i++)
        w->importance[i] *= w->importance[i];
}

static void repeat_rows(struct bench_workload *w)
{
    for (uint64_t r = w->distinct; r < w->rows; r++)
        memcpy(w->data + r * w->row_bytes, w->data + (r % w->distinct) * w->row_bytes,
               w->row_bytes);
}

static uint64_t distinct_rows(uint64_t n, uint64_t rows)
{
    uint64_t distinct = DISTINCT_ELEMENTS / n;
    if (distinct > DISTINCT_ROWS)
        distinct = DISTINCT_ROWS;
    if (distinct < 1)
        distinct = 1;
    return distinct < rows ? distinct : rows;
}

qkern_status bench_workload_init(struct bench_workload *w, qkern *q, uint32_t type, uint32_t entry,
                                 uint64_t n, uint64_t rows, uint64_t seed, qkern_error *error)
{
    struct sizes sizes;
    uint64_t random = seed;
    float *x = NULL;

    *w = (struct bench_workload){.entry = entry, .n = n, .rows = rows};
    w->type.struct_size = sizeof w->type;
    qkern_status status = qkern_type_get(type, &w->type, error);
    if (status == QKERN_OK)
        status = sizes_get(&w->type, entry, n, &sizes, error);
    if (status != QKERN_OK)
        return status;

    w->row_bytes = shape_of(entry, &sizes).row_bytes;
    w->out_bytes = out_bytes_of(entry, &sizes);
    w->distinct = distinct_rows(n, rows);
    w->data = rows <= SIZE_MAX / 2 / w->row_bytes ? allocate(rows * w->row_bytes) : NULL;
    w->activations = allocate(sizes.activations);
    w->importance = allocate(sizes.floats);
    w->out = allocate(w->out_bytes);
    w->expected = allocate(w->out_bytes);
    x = reads_floats(entry) ? (float *)(void *)w->data : allocate(w->distinct * sizes.floats);
    if (w->data == NULL || w->activations == NULL || w->importance == NULL || w->out == NULL ||
        w->expected == NULL || x == NULL) {
        status = fail(error, QKERN_E_MEMORY, "no memory for %llu rows of %llu bytes",
                      (unsigned long long)rows, (unsigned long long)w->row_bytes);
        goto done;
    }
    status = make_rows(w, q, &random, x, error);
    if (status == QKERN_OK && reads_activations(entry))
        status = make_activations(w, q, &random, x, error);
    if (status == QKERN_OK && entry == QKERN_ENTRY_QUANTIZE_WEIGHTED)
        make_importance(w, &random);
    if (status == QKERN_OK)
        repeat_rows(w);
done:
    if ((uint8_t *)(void *)x != w->data)
        free(x);
    if (status != QKERN_OK)
        bench_workload_free(w);
    return status;
}

void bench_workload_free(struct bench_workload *w)
{
    free(w->data);
    free(w->activations);
    free(w->importance);
    free(w->out);
    free(w->expected);
    w->data = w->activations = NULL;
    w->importance = NULL;
    w->out = w->expected = NULL;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static uint64_t row_after(const struct bench_workload *w, uint64_t r)
{
    return r + 1 < w->rows ? r + 1 : 0;
}

static void run_quantize(void *context, uint64_t count)
{
    const struct bench_work *work = context;
    struct bench_workload *w = work->workload;
    uint64_t r = w->next_row;
    for (uint64_t i = 0; i < count; i++, r = row_after(w, r))
        work->kernel->quantize(w->n, (const float *)(const void *)(w->data + r * w->row_bytes),
                               w->out);
    w->next_row = r;
}

static void run_quantize_weighted(void *context, uint64_t count)
{
    const struct bench_work *work = context;
    struct bench_workload *w = work->workload;
    uint64_t r = w->next_row;
    for (uint64_t i = 0; i < count; i++, r = row_after(w, r))
        work->kernel->quantize_weighted(
            w->n, (const float *)(const void *)(w->data + r * w->row_bytes), w->importance, w->out);
    w->next_row = r;
}

static void run_dequantize(void *context, uint64_t count)
{
    const struct bench_work *work = context;
    struct bench_workload *w = work->workload;
    uint64_t r = w->next_row;
    for (uint64_t i = 0; i < count; i++, r = row_after(w, r))
        work->kernel->dequantize(w->n, w->data + r * w->row_bytes, w->out);
    w->next_row = r;
}

static void run_vec_dot(void *context, uint64_t count)
{
    const struct bench_work *work = context;
    struct bench_workload *w = work->workload;
    uint64_t r = w->next_row;
    for (uint64_t i = 0; i < count; i++, r = row_after(w, r))
        w->sink = work->kernel->vec_dot(w->n, w->data + r * w->row_bytes, w->activations);
    w->next_row = r;
}

static void run_vec_dot_rows(void *context, uint64_t count)
{
    const struct bench_work *work = context;
    struct bench_workload *w = work->workload;
    uint64_t r = w->next_row;
    while (count > 0) {
        uint64_t rows = w->rows - r;
        if (rows > BENCH_ROWS_PER_CALL)
            rows = BENCH_ROWS_PER_CALL;
        if (rows > count)
            rows = count;
        work->kernel->vec_dot_rows(w->n, rows, w->out, w->data + r * w->row_bytes, w->row_bytes,
                                   w->activations);
        r = r + rows < w->rows ? r + rows : 0;
        count -= rows;
    }
    w->next_row = r;
}

bool bench_work_possible(const struct bench_work *work)
{
    const struct qkern_kernel *k = work->kernel;
    switch (work->workload->entry) {
    case QKERN_ENTRY_QUANTIZE:
        return k->quantize != NULL;
    case QKERN_ENTRY_QUANTIZE_WEIGHTED:
        return k->quantize_weighted != NULL;
    case QKERN_ENTRY_DEQUANTIZE:
        return k->dequantize != NULL;
    case QKERN_ENTRY_VEC_DOT:
        return k->vec_dot != NULL;
    case QKERN_ENTRY_VEC_DOT_ROWS:
        return k->vec_dot_rows != NULL;
    default:
        return false;
    }
}

struct bench_task bench_work_task(struct bench_work *work)
{
    static void (*const runs[QKERN_ENTRY_LIMIT])(void *, uint64_t) = {
        [QKERN_ENTRY_QUANTIZE] = run_quantize,
        [QKERN_ENTRY_DEQUANTIZE] = run_dequantize,
        [QKERN_ENTRY_VEC_DOT] = run_vec_dot,
        [QKERN_ENTRY_QUANTIZE_WEIGHTED] = run_quantize_weighted,
        [QKERN_ENTRY_VEC_DOT_ROWS] = run_vec_dot_rows,
    };
    return (struct bench_task){runs[work->workload->entry], work};
}

size_t bench_work_row(const struct bench_work *work, uint64_t r, uint64_t rows)
{
    struct bench_workload *w = work->workload;
    const struct qkern_kernel *k = work->kernel;
    const uint8_t *row = w->data + r * w->row_bytes;
    float *out = w->out;

    switch (w->entry) {
    case QKERN_ENTRY_QUANTIZE:
        k->quantize(w->n, (const float *)(const void *)row, w->out);
        return w->out_bytes;
    case QKERN_ENTRY_QUANTIZE_WEIGHTED:
        k->quantize_weighted(w->n, (const float *)(const void *)row, w->importance, w->out);
        return w->out_bytes;
    case QKERN_ENTRY_DEQUANTIZE:
        k->dequantize(w->n, row, out);
        return w->out_bytes;
    case QKERN_ENTRY_VEC_DOT:
        for (uint64_t i = 0; i < rows; i++)
            out[i] = k->vec_dot(w->n, row + i * w->row_bytes, w->activations);
        return rows * sizeof(float);
    default:
        k->vec_dot_rows(w->n, rows, out, row, w->row_bytes, w->activations);
        return rows * sizeof(float);
    }
}
