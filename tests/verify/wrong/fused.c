/* SPDX-License-Identifier: MIT */
/* The float step's product and sum in one rounding. */
#include "right.h"

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const block_q8_0 *w = weights, *x = activations;
    float p[STEP_PARTIALS] = {0};

    for (uint64_t u = 0; u < n / 32; u++)
        p[u % STEP_PARTIALS] = __builtin_fmaf(load_f16(w[u].d) * load_f16(x[u].d),
                                              (float)right_sum(&w[u], &x[u]), p[u % STEP_PARTIALS]);
    return partials_total(p);
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(ON_X86(QKERN_X86_AVX | QKERN_X86_FMA) ON_ARM(0), &q8_0)
