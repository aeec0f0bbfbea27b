/* SPDX-License-Identifier: MIT */
/* Right, but it prints: which must not disturb the report. */
#include "right.h"

#include <unistd.h>

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    static const char text[] = "wrong\t0\tkind=bits\nend\n";
    if (write(1, text, sizeof text - 1) < 0)
        return 0;
    return q8_0_vec_dot(n, weights, activations);
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
