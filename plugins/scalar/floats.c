/* SPDX-License-Identifier: MIT */
/* F32, F16 and BF16: types whose block is one element. */
#include <string.h>

#include "common/bytes.h"
#include "common/f32.h"
#include "common/kernels.h"
#include "common/step.h"

void f16_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    uint8_t *bytes = blocks;
    for (uint64_t i = 0; i < n; i++)
        store_u16(bytes + 2 * i, f16_from_f32(x[i]));
}

void f16_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const uint8_t *bytes = blocks;
    for (uint64_t i = 0; i < n; i++)
        y[i] = load_f16(bytes + 2 * i);
}

void bf16_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    uint8_t *bytes = blocks;
    for (uint64_t i = 0; i < n; i++)
        store_u16(bytes + 2 * i, bf16_from_f32(x[i]));
}

void bf16_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const uint8_t *bytes = blocks;
    for (uint64_t i = 0; i < n; i++)
        y[i] = load_bf16(bytes + 2 * i);
}

/*
 * Element i adds w * x to partial i mod 16. The two loops are one, cut where n stops filling all
 * partials. load reads an element of size bytes.
 */
ALWAYS_INLINE float floats_vec_dot(uint64_t n, const uint8_t *w, const uint8_t *x,
                                   float (*load)(const void *), uint64_t size)
{
    float p[FLOAT_PARTIALS] = {0};
    uint64_t i = 0;

    for (; n - i >= FLOAT_PARTIALS; i += FLOAT_PARTIALS)
        for (uint64_t k = 0; k < FLOAT_PARTIALS; k++)
            p[k] += load(w + (i + k) * size) * load(x + (i + k) * size);
    for (uint64_t k = 0; i + k < n; k++)
        p[k] += load(w + (i + k) * size) * load(x + (i + k) * size);
    return float_partials_total(p);
}

float f32_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    return floats_vec_dot(n, weights, activations, load_f32, 4);
}

float f16_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    return floats_vec_dot(n, weights, activations, load_f16, 2);
}

float bf16_vec_dot(uint64_t n, const void *weights, const void *activations)
{
    return floats_vec_dot(n, weights, activations, load_bf16, 2);
}
