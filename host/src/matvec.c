/* SPDX-License-Identifier: MIT */
/* A matrix of weights times a row of activations, whole or in parts, on the caller's threads. */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "call.h"
#include "check.h"
#include "error.h"

/*
 * Parts are whole groups of rows: kernels that take several rows at a time find them, and few cache
 * lines of the output are shared by two threads.
 */
#define GROUP_ROWS 16u

/* A verified call: what each part of it needs to compute its rows. */
struct product {
    struct call call;
    qkern_matrix matrix;
    const void *activations;
    float *out;
};

/* --- arguments -------------------------------------------------------------------------------- */

/* Copies a struct of the caller's, which may be newer than ours: the part that we know. */
static qkern_status struct_read(const char *function, const char *name, const void *from, void *to,
                                size_t size, qkern_error *error)
{
    uint32_t struct_size;

    if (from == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: %s is NULL", function, name);
    memcpy(&struct_size, from, sizeof struct_size);
    if (struct_size < size)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "%s: %s->struct_size is %u, set it to sizeof(qkern_%s)", function, name,
                         struct_size, name);
    memcpy(to, from, size);
    return QKERN_OK;
}

/* Verifies stride and size of the matrix. */
static qkern_status matrix_check(const struct call *call, const qkern_matrix *matrix,
                                 qkern_error *error)
{
    const uint64_t stride = matrix->row_stride, bytes = matrix->weights_bytes;

    if (stride < call->row_bytes)
        return error_set(error, QKERN_E_SIZE, QKERN_NO_INDEX,
                         "%s: matrix->row_stride is %" PRIu64 ", but a row takes %" PRIu64 " bytes",
                         call->function, stride, call->row_bytes);
    if (stride != 0 && matrix->rows > UINT64_MAX / stride)
        return error_set(error, QKERN_E_LIMIT, QKERN_NO_INDEX,
                         "%s: the size of %" PRIu64 " rows, %" PRIu64
                         " bytes apart, overflows 64 bits",
                         call->function, matrix->rows, stride);
    const uint64_t padded = matrix->rows * stride;
    const uint64_t least = matrix->rows == 0 ? 0 : padded - (stride - call->row_bytes);
    if (bytes >= least && bytes <= padded)
        return QKERN_OK;
    return error_set(error, QKERN_E_SIZE, QKERN_NO_INDEX,
                     "%s: matrix->weights_bytes is %" PRIu64 ", but %" PRIu64 " rows, %" PRIu64
                     " bytes apart, take %" PRIu64 "%s",
                     call->function, bytes, matrix->rows, stride, least,
                     least == padded ? "" : ", and the padding of the last row if it is there");
}

/* Verifies the data. With n or rows 0 there is none. */
static qkern_status product_check(const struct product *product, const qkern_type_info *dot,
                                  uint64_t activations_bytes, qkern_error *error)
{
    const struct call *call = &product->call;
    const struct span spans[] = {
        {"matrix->weights", product->matrix.weights, product->matrix.weights_bytes, false},
        {"activations", product->activations, activations_bytes, false},
        {"out", product->out, product->matrix.rows * sizeof(float), true},
    };

    if (product->matrix.rows == 0)
        return QKERN_OK;
    if (call->n == 0)
        return spans_check(&spans[2], 1, call->function, error);
    qkern_status status = spans_check(spans, 3, call->function, error);
    if (status == QKERN_OK)
        status =
            row_check(call->function, "activations", dot, call->n, product->activations, error);
    return status;
}

/* Verifies everything and pins the kernels. On success the caller ends the pin. */
static qkern_status product_begin(struct product *product, const char *function, qkern *q,
                                  const qkern_matrix *matrix, const void *activations,
                                  uint64_t activations_bytes, float *out, qkern_error *error)
{
    qkern_type_info dot;
    uint64_t out_bytes;

    product->activations = activations;
    product->out = out;
    qkern_status status =
        struct_read(function, "matrix", matrix, &product->matrix, sizeof *matrix, error);
    if (status == QKERN_OK)
        status = float_bytes(function, product->matrix.rows, &out_bytes, error);
    if (status == QKERN_OK)
        status = call_begin(&product->call, function, q, product->matrix.type, product->matrix.n,
                            QKERN_ENTRY_VEC_DOT_ROWS, error);
    if (status != QKERN_OK)
        return status;
    status = matrix_check(&product->call, &product->matrix, error);
    if (status == QKERN_OK)
        status = call_activations(&product->call, activations_bytes, &dot, error);
    if (status == QKERN_OK)
        status = product_check(product, &dot, activations_bytes, error);
    if (status != QKERN_OK)
        qkern_pin_end(&product->call.pin);
    return status;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Where the rows of a part begin; they end where the next part's begin. */
static uint64_t part_begin(uint64_t rows, uint32_t part, uint32_t parts)
{
    const uint64_t groups = rows / GROUP_ROWS + (rows % GROUP_ROWS != 0);
    const uint64_t each = groups / parts, more = groups % parts;
    const uint64_t group = each * part + (part < more ? part : more);

    return group >= groups ? rows : group * GROUP_ROWS;
}

static void product_compute(const struct product *product, uint32_t part, uint32_t parts)
{
    const qkern_matrix *matrix = &product->matrix;
    const uint64_t begin = part_begin(matrix->rows, part, parts);
    const uint64_t end = part_begin(matrix->rows, part + 1, parts);

    if (begin == end)
        return;
    if (product->call.n == 0) {
        memset(product->out + begin, 0, (end - begin) * sizeof(float));
        return;
    }
    product->call.kernel.vec_dot_rows(product->call.n, end - begin, product->out + begin,
                                      (const char *)matrix->weights + begin * matrix->row_stride,
                                      matrix->row_stride, product->activations);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* What the tasks of one call share. */
struct shared {
    const struct product *product;
    uint32_t tasks;
    _Atomic uint32_t done;
};

static void task_run(void *arg, uint32_t index)
{
    struct shared *shared = arg;

    if (index >= shared->tasks)
        return;
    product_compute(shared->product, index, shared->tasks);
    atomic_fetch_add(&shared->done, 1);
}

static qkern_status tasks_run(const struct product *product, const qkern_pool *pool,
                              qkern_error *error)
{
    struct shared shared = {.product = product, .tasks = pool->tasks};

    pool->run(pool->pool, pool->tasks, task_run, &shared);
    const uint32_t done = atomic_load(&shared.done);
    if (done == pool->tasks)
        return QKERN_OK;
    return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                     "%s: pool->run returned after %u of %u tasks: it is to run each task once and "
                     "to return when all are done; out is incomplete",
                     product->call.function, done, pool->tasks);
}

static qkern_status pool_read(const char *function, const qkern_pool *pool, qkern_pool *out,
                              qkern_error *error)
{
    qkern_status status = struct_read(function, "pool", pool, out, sizeof *out, error);

    if (status == QKERN_OK && (out->run == NULL || out->tasks == 0))
        status = error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: pool->%s", function,
                           out->run == NULL ? "run is NULL" : "tasks is 0");
    return status;
}

qkern_status qkern_matvec(qkern *q, const qkern_matrix *matrix, const void *activations,
                          uint64_t activations_bytes, float *out, const qkern_pool *pool,
                          qkern_error *error)
{
    static const char function[] = "qkern_matvec";
    qkern_status status = QKERN_OK;
    struct product product;
    qkern_pool threads;

    if (pool != NULL)
        status = pool_read(function, pool, &threads, error);
    if (status == QKERN_OK)
        status = product_begin(&product, function, q, matrix, activations, activations_bytes, out,
                               error);
    if (status != QKERN_OK)
        return status;
    if (pool == NULL)
        product_compute(&product, 0, 1);
    else
        status = tasks_run(&product, &threads, error);
    qkern_pin_end(&product.call.pin);
    return status;
}

qkern_status qkern_matvec_part(qkern *q, const qkern_matrix *matrix, const void *activations,
                               uint64_t activations_bytes, float *out, uint32_t part,
                               uint32_t parts, qkern_error *error)
{
    static const char function[] = "qkern_matvec_part";
    struct product product;

    if (part >= parts)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "%s: there is no part %u of %u: they are numbered from 0", function, part,
                         parts);
    qkern_status status =
        product_begin(&product, function, q, matrix, activations, activations_bytes, out, error);
    if (status != QKERN_OK)
        return status;
    product_compute(&product, part, parts);
    qkern_pin_end(&product.call.pin);
    return QKERN_OK;
}
