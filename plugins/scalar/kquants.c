/* SPDX-License-Identifier: MIT */
/*
 * Dequantize of the K types, and all of Q8_K, whose rows they are multiplied with. Quantizing to
 * Q2_K .. Q6_K, which is a search, is in kquants_quantize.c.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "common/extremes.h"
#include "common/kblock.h"
#include "common/kernels.h"
#include "common/round.h"

/* Dequantize */

ALWAYS_INLINE void k_values(struct k_shape shape, const struct k_scales *s,
                            const uint8_t *restrict code, float *restrict y)
{
    for (int g = 0; g < K_ELEMENTS / shape.group; g++) {
        const float d = s->d * (float)s->scale[g];
        const float m = shape.has_min ? s->dmin * (float)s->min[g] : 0.0f;
        for (int e = g * shape.group; e < (g + 1) * shape.group; e++) {
            const float v = d * (float)(code[e] + shape.low);
            y[e] = shape.has_min ? v - m : v;
        }
    }
}

#define K_DEQUANTIZE(name)                                                                         \
    void name##_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)             \
    {                                                                                              \
        const struct qkern_block_##name *b = blocks;                                               \
        for (uint64_t i = 0; i < n; i += K_ELEMENTS, b++) {                                        \
            const struct k_scales s = name##_scales(b);                                            \
            uint8_t code[K_ELEMENTS];                                                              \
            name##_codes(b, code);                                                                 \
            k_values(name##_shape, &s, code, y + i);                                               \
        }                                                                                          \
    }

K_DEQUANTIZE(q2_K)
K_DEQUANTIZE(q3_K)
K_DEQUANTIZE(q4_K)
K_DEQUANTIZE(q5_K)
K_DEQUANTIZE(q6_K)

/* Q8_K (docs/formats.md section 3) */

/*
 * The extreme element m becomes code -127. Where -127 / m is not finite, for m = 0 and |m| below
 * about 2^-121, the block is one of zeros.
 */
void q8_K_quantize(uint64_t n, const float *restrict x, void *restrict blocks)
{
    struct qkern_block_q8_K *b = blocks;
    for (const float *end = x + n; x < end; x += K_ELEMENTS, b++) {
        const float s = -127.0f / signed_absmax(K_ELEMENTS, x);
        if (!(fabsf(s) <= FLT_MAX)) {
            memset(b, 0, sizeof *b);
            continue;
        }
        store_f32(b->d, 1.0f / s);
        for (int e = 0; e < K_ELEMENTS; e++)
            b->qs[e] = (int8_t)rne_clamped(s * x[e], -127, 127);
        for (int k = 0; k < K_ELEMENTS / 16; k++) {
            int sum = 0;
            for (int e = 16 * k; e < 16 * k + 16; e++)
                sum += b->qs[e];
            store_i16(b->bsums[k], (int16_t)sum);
        }
    }
}

void q8_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q8_K *b = blocks;
    for (; n > 0; n -= K_ELEMENTS, b++, y += K_ELEMENTS) {
        const float d = load_f32(b->d);
        for (int e = 0; e < K_ELEMENTS; e++)
            y[e] = d * (float)b->qs[e];
    }
}
