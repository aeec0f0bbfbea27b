/* SPDX-License-Identifier: MIT */
/* Reads one byte behind the end of a row, in vec_dot of the weights, in the others of the input. */
#include "right.h"

static void look(const void *end)
{
    (void)*(const volatile uint8_t *)end;
}

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    look((const uint8_t *)weights + n / 32 * 34);
    return q8_0_vec_dot(n, weights, activations);
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    look((const uint8_t *)blocks + n / 32 * 34);
    q8_0_dequantize(n, blocks, y);
}

static void quantize(uint64_t n, const float *x, void *blocks)
{
    look(x + n);
    q8_0_quantize(n, x, blocks);
}

/* Between two rows: where they are far apart, nothing need be there. */
static void vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,
                         uint64_t row_stride, const void *activations)
{
    for (uint64_t r = 0; r < rows; r++) {
        const uint8_t *row = (const uint8_t *)weights + r * row_stride;
        if (n > 0 && r + 1 < rows)
            look(row + n / 32 * 34);
        out[r] = q8_0_vec_dot(n, row, activations);
    }
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .quantize = quantize,
                                         .dequantize = dequantize, .vec_dot = vec_dot,
                                         .vec_dot_rows = vec_dot_rows};
WRONG_PLUGIN(0, &q8_0)
