/* SPDX-License-Identifier: MIT */
/* Rounds ties to even, as the hardware does. */
#include "common/extremes.h"
#include "right.h"

static void quantize(uint64_t n, const float *x, void *blocks)
{
    block_q8_0 *b = blocks;
    for (uint64_t i = 0; i < n; i += 32, b++) {
        const float d = absmax(32, x + i) / 127.0f, id = reciprocal(d);
        store_scale(b->d, d);
        for (int e = 0; e < 32; e++)
            b->qs[e] = (int8_t)rne(clamp_f32(x[i + (uint64_t)e] * id, -127.0f, 127.0f));
    }
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .quantize = quantize};
WRONG_PLUGIN(0, &q8_0)
