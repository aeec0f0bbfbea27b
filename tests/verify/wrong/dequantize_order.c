/* SPDX-License-Identifier: MIT */
/* d * (scale * code) in place of (d * scale) * code. */
#include "right.h"

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    const struct qkern_block_q6_K *b = blocks;
    for (uint64_t i = 0; i < n; i += K_ELEMENTS, b++) {
        const struct k_scales s = q6_K_scales(b);
        uint8_t code[K_ELEMENTS];
        q6_K_codes(b, code);
        for (int e = 0; e < K_ELEMENTS; e++) {
            const int32_t whole = s.scale[e / 16] * (code[e] - 32);
            y[i + (uint64_t)e] = s.d * (float)whole;
        }
    }
}

static const struct qkern_kernel q6_K = {QKERN_KERNEL_HEAD(Q6_K), .dequantize = dequantize};
WRONG_PLUGIN(0, &q6_K)
