/* SPDX-License-Identifier: MIT */
/*
 * A plugin of ABI 1.1, with vec_dot_rows, built with the headers of that day. Never changed: as long as the major
 * is 1, every host must load it and get the results of its own kernels.
 */
#include <stddef.h>
#include <string.h>

#include <qkern/blocks.h>
#include <qkern/plugin.h>

/* IEEE binary16 to binary32: exact, a signalling NaN becomes quiet. */
static float f16_load(const uint8_t bytes[2])
{
    uint32_t half = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
    uint32_t sign = (half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 31;
    uint32_t fraction = half & 0x3ff;
    uint32_t bits;
    float value;

    if (exponent == 0) { /* zero or subnormal: a multiple of 2^-24 */
        value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    if (exponent == 31)
        bits = sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0);
    else
        bits = sign | (exponent + 127 - 15) << 23 | fraction << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void q8_0_dequantize(uint64_t n, const void *blocks, float *y)
{
    const struct qkern_block_q8_0 *block = blocks;

    for (uint64_t b = 0; b < n / 32; b++) {
        float d = f16_load(block[b].d);
        for (int e = 0; e < 32; e++)
            *y++ = (float)block[b].qs[e] * d;
    }
}

/*
 * A unit is a block: its 32 products are summed exactly (32 * 128 * 128 < 2^31), then comes one
 * float step, and unit u adds to partial u mod 4. This order is the numeric contract; with it the
 * result has the same bits in every plugin.
 */
static float q8_0_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const struct qkern_block_q8_0 *w = weights;
    const struct qkern_block_q8_0 *x = activations;
    float p[4] = {0};

    for (uint64_t u = 0; u < n / 32; u++) {
        int32_t s = 0;
        for (int e = 0; e < 32; e++)
            s += w[u].qs[e] * x[u].qs[e];
        p[u % 4] += (f16_load(w[u].d) * f16_load(x[u].d)) * (float)s;
    }
    return (p[0] + p[2]) + (p[1] + p[3]);
}

static void q8_0_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,
                              uint64_t row_stride, const void *activations)
{
    const uint8_t *row = weights;

    for (uint64_t r = 0; r < rows; r++)
        out[r] = q8_0_vec_dot(n, row + r * row_stride, activations);
}

/* The order of the fields: quantize, dequantize, vec_dot, quantize_weighted, vec_dot_rows. */
static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), NULL, q8_0_dequantize,
                                         q8_0_vec_dot, NULL, q8_0_vec_dot_rows};

static const struct qkern_kernel *const kernels[] = {&q8_0};

/* No CPU feature is needed. */
QKERN_PLUGIN(kernels, NULL, QKERN_MANIFEST("frozen-1.1", "1.1", 0, 60, 0, 0))
