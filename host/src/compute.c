/* SPDX-License-Identifier: MIT */
/* The checked calls: every argument and the data are verified before the output is touched. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "check.h"
#include "error.h"

/* Blocks that are made only to be looked at. At least one block of any type. */
#define SCRATCH_BYTES 4096u

/* --- blocks ----------------------------------------------------------------------------------- */

qkern_status qkern_check_blocks(uint32_t type, uint64_t n, const void *blocks,
                                uint64_t blocks_bytes, qkern_error *error)
{
    static const char function[] = "qkern_check_blocks";
    qkern_type_info info = {.struct_size = (uint32_t)sizeof info};
    uint64_t bytes;

    qkern_status status = qkern_type_get(type, &info, error);
    if (status == QKERN_OK)
        status = qkern_row_bytes(type, n, &bytes, error);
    if (status == QKERN_OK)
        status = size_check(function, "blocks_bytes", bytes, blocks_bytes, error);
    if (status != QKERN_OK)
        return status;
    if (!layout_known(type))
        return error_set(error, QKERN_E_TYPE, QKERN_NO_INDEX,
                         "%s: there is no check for %s in this version", function, info.name);
    if (n == 0)
        return QKERN_OK;
    const struct span spans[] = {{"blocks", blocks, bytes, false}};
    status = spans_check(spans, 1, function, error);
    if (status != QKERN_OK)
        return status;
    return row_check(function, "blocks", &info, n, blocks, error);
}

/* --- quantize --------------------------------------------------------------------------------- */

/* Verifies blocks that were made from x, whose first element is number `first` of the row. */
static qkern_status result_check(const struct call *call, uint64_t first, uint64_t n,
                                 const void *blocks, qkern_error *error)
{
    struct block_fault fault;
    const uint32_t elements = call->type.block_elements;

    if (blocks_check(call->type.type, n / elements, blocks, &fault) == QKERN_OK)
        return QKERN_OK;
    uint64_t index = first + fault.block * elements;
    return error_set(error, QKERN_E_OVERFLOW, index,
                     "%s: %s of the %s block at element %" PRIu64
                     " does not fit: it would be infinite; the values are too large for %s",
                     call->function, fault.field, call->type.name, index, call->type.name);
}

/* Quantizes a row with large values piece by piece into scratch memory, to see whether it fits. */
static qkern_status quantize_rehearse(const struct call *call, const float *x, qkern_error *error)
{
    uint8_t scratch[SCRATCH_BYTES];
    const uint64_t piece =
        (uint64_t)(SCRATCH_BYTES / call->type.block_bytes) * call->type.block_elements;
    qkern_status status = QKERN_OK;

    for (uint64_t first = 0; first < call->n && status == QKERN_OK; first += piece) {
        uint64_t n = call->n - first < piece ? call->n - first : piece;
        call->kernel.quantize(n, x + first, scratch);
        status = result_check(call, first, n, scratch, error);
    }
    return status;
}

static qkern_status quantize_run(const struct call *call, const float *x, void *out,
                                 uint64_t out_bytes, qkern_error *error)
{
    const struct span spans[] = {
        {"x", x, call->float_bytes, true},
        {"out", out, out_bytes, false},
    };
    float largest;

    qkern_status status =
        size_check(call->function, "out_bytes", call->row_bytes, out_bytes, error);
    if (status != QKERN_OK || call->n == 0)
        return status;
    status = spans_check(spans, 2, call->function, error);
    if (status == QKERN_OK)
        status = floats_check(call->function, call->n, x, &largest, error);
    if (status == QKERN_OK && largest > layout_safe_magnitude(call->type.type))
        status = quantize_rehearse(call, x, error);
    if (status != QKERN_OK)
        return status;
    call->kernel.quantize(call->n, x, out);
    return QKERN_OK;
}

qkern_status qkern_quantize(qkern *q, uint32_t type, uint64_t n, const float *x, void *out,
                            uint64_t out_bytes, qkern_error *error)
{
    struct call call;

    qkern_status status =
        call_begin(&call, "qkern_quantize", q, type, n, QKERN_ENTRY_QUANTIZE, error);
    if (status != QKERN_OK)
        return status;
    status = quantize_run(&call, x, out, out_bytes, error);
    qkern_pin_end(&call.pin);
    return status;
}

/*
 * Importances span the whole range of float, so no magnitude is safe; and a type may look at the
 * whole row. So the row is made in scratch memory and copied if it is good.
 */
static qkern_status weighted_make(const struct call *call, const float *x, const float *importance,
                                  void *out, qkern_error *error)
{
    uint8_t scratch[SCRATCH_BYTES];
    void *row = call->row_bytes <= sizeof scratch ? scratch : malloc(call->row_bytes);

    if (row == NULL)
        return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX,
                         "%s: out of memory: %" PRIu64 " bytes to check the row in", call->function,
                         call->row_bytes);
    call->kernel.quantize_weighted(call->n, x, importance, row);
    qkern_status status = result_check(call, 0, call->n, row, error);
    if (status == QKERN_OK)
        memcpy(out, row, call->row_bytes);
    if (row != scratch)
        free(row);
    return status;
}

static qkern_status weighted_run(const struct call *call, const float *x, const float *importance,
                                 void *out, uint64_t out_bytes, qkern_error *error)
{
    const struct span spans[] = {
        {"x", x, call->float_bytes, true},
        {"importance", importance, call->float_bytes, true},
        {"out", out, out_bytes, false},
    };
    float largest;

    qkern_status status =
        size_check(call->function, "out_bytes", call->row_bytes, out_bytes, error);
    if (status != QKERN_OK || call->n == 0)
        return status;
    status = spans_check(spans, 3, call->function, error);
    if (status == QKERN_OK)
        status = floats_check(call->function, call->n, x, &largest, error);
    if (status == QKERN_OK)
        status = importance_check(call->function, call->n, importance, error);
    if (status != QKERN_OK)
        return status;
    return weighted_make(call, x, importance, out, error);
}

qkern_status qkern_quantize_weighted(qkern *q, uint32_t type, uint64_t n, const float *x,
                                     const float *importance, void *out, uint64_t out_bytes,
                                     qkern_error *error)
{
    struct call call;

    qkern_status status = call_begin(&call, "qkern_quantize_weighted", q, type, n,
                                     QKERN_ENTRY_QUANTIZE_WEIGHTED, error);
    if (status != QKERN_OK)
        return status;
    status = weighted_run(&call, x, importance, out, out_bytes, error);
    qkern_pin_end(&call.pin);
    return status;
}

/* --- dequantize ------------------------------------------------------------------------------- */

static qkern_status dequantize_run(const struct call *call, const void *blocks,
                                   uint64_t blocks_bytes, float *y, qkern_error *error)
{
    const struct span spans[] = {
        {"blocks", blocks, blocks_bytes, false},
        {"y", y, call->float_bytes, true},
    };

    qkern_status status =
        size_check(call->function, "blocks_bytes", call->row_bytes, blocks_bytes, error);
    if (status != QKERN_OK || call->n == 0)
        return status;
    status = spans_check(spans, 2, call->function, error);
    if (status == QKERN_OK)
        status = row_check(call->function, "blocks", &call->type, call->n, blocks, error);
    if (status != QKERN_OK)
        return status;
    call->kernel.dequantize(call->n, blocks, y);
    return QKERN_OK;
}

qkern_status qkern_dequantize(qkern *q, uint32_t type, uint64_t n, const void *blocks,
                              uint64_t blocks_bytes, float *y, qkern_error *error)
{
    struct call call;

    qkern_status status =
        call_begin(&call, "qkern_dequantize", q, type, n, QKERN_ENTRY_DEQUANTIZE, error);
    if (status != QKERN_OK)
        return status;
    status = dequantize_run(&call, blocks, blocks_bytes, y, error);
    qkern_pin_end(&call.pin);
    return status;
}

/* --- vec_dot ---------------------------------------------------------------------------------- */

static qkern_status vec_dot_run(const struct call *call, const void *weights,
                                uint64_t weights_bytes, const void *activations,
                                uint64_t activations_bytes, float *result, qkern_error *error)
{
    const struct span spans[] = {
        {"weights", weights, weights_bytes, false},
        {"activations", activations, activations_bytes, false},
        {"result", result, sizeof *result, true},
    };
    qkern_type_info dot;

    qkern_status status =
        size_check(call->function, "weights_bytes", call->row_bytes, weights_bytes, error);
    if (status == QKERN_OK)
        status = call_activations(call, activations_bytes, &dot, error);
    if (status != QKERN_OK)
        return status;
    if (call->n == 0) {
        status = spans_check(&spans[2], 1, call->function, error);
        if (status == QKERN_OK)
            *result = 0.0f;
        return status;
    }
    status = spans_check(spans, 3, call->function, error);
    if (status == QKERN_OK)
        status = row_check(call->function, "weights", &call->type, call->n, weights, error);
    if (status == QKERN_OK)
        status = row_check(call->function, "activations", &dot, call->n, activations, error);
    if (status != QKERN_OK)
        return status;
    *result = call->kernel.vec_dot(call->n, weights, activations);
    return QKERN_OK;
}

qkern_status qkern_vec_dot(qkern *q, uint32_t type, uint64_t n, const void *weights,
                           uint64_t weights_bytes, const void *activations,
                           uint64_t activations_bytes, float *result, qkern_error *error)
{
    struct call call;

    qkern_status status =
        call_begin(&call, "qkern_vec_dot", q, type, n, QKERN_ENTRY_VEC_DOT, error);
    if (status != QKERN_OK)
        return status;
    status =
        vec_dot_run(&call, weights, weights_bytes, activations, activations_bytes, result, error);
    qkern_pin_end(&call.pin);
    return status;
}
