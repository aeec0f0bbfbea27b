/* SPDX-License-Identifier: MIT */
/* F32, F16 and BF16: types whose block is one element. */
#include <string.h>

#include "kernels.h"

void f32_quantize(uint64_t n, const float *x, void *blocks)
{
    memcpy(blocks, x, n * sizeof *x);
}

void f32_quantize_weighted(uint64_t n, const float *x, const float *importance, void *blocks)
{
    (void)importance;
    f32_quantize(n, x, blocks);
}

void f32_dequantize(uint64_t n, const void *blocks, float *y)
{
    memcpy(y, blocks, n * sizeof *y);
}

/* Element i adds to partial i mod 16; then the upper half is added onto the lower until one is
 * left. */
float f32_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const uint8_t *w = weights;
    const uint8_t *a = activations;
    float p[16] = {0};

    for (uint64_t i = 0; i < n; i++) {
        float wi, ai;
        memcpy(&wi, w + 4 * i, 4);
        memcpy(&ai, a + 4 * i, 4);
        p[i % 16] += wi * ai;
    }
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            p[i] += p[i + half];
    return p[0];
}
