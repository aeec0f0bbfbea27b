/* SPDX-License-Identifier: MIT */
/* Takes the rows for one after the other. */
#include "right.h"

static void vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,
                         uint64_t row_stride, const void *activations)
{
    (void)row_stride;
    for (uint64_t r = 0; r < rows; r++)
        out[r] = q8_0_vec_dot(n, (const uint8_t *)weights + r * (n / 32 * 34), activations);
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot_rows = vec_dot_rows};
WRONG_PLUGIN(0, &q8_0)
