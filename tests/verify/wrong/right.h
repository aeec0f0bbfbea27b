/* SPDX-License-Identifier: MIT */
/*
 * What the wrong plugins start from: the scalar kernels, which are linked into each of them, and
 * the dot product of Q8_0 with its parts as macros' arguments. Each plugin breaks one thing.
 */
#ifndef QKERN_TESTS_WRONG_RIGHT_H
#define QKERN_TESTS_WRONG_RIGHT_H

#include <stdint.h>
#include <string.h>

#include <qkern/blocks.h>
#include <qkern/plugin.h>

#include "common/bytes.h"
#include "common/kblock.h"
#include "common/kernels.h"
#include "common/round.h"
#include "common/step.h"

#if defined(__x86_64__)
#define ON_X86(...) __VA_ARGS__
#define ON_ARM(...)
#else
#define ON_X86(...)
#define ON_ARM(...) __VA_ARGS__
#endif

/* A plugin of these kernels that needs the features of word 0. */
#define WRONG_PLUGIN(FEATURES, ...)                                                                \
    static const struct qkern_kernel *const kernels[] = {__VA_ARGS__};                             \
    QKERN_PLUGIN(kernels, NULL, QKERN_MANIFEST(WRONG_NAME, "1.0", 0, 10, FEATURES, 0))

typedef struct qkern_block_q8_0 block_q8_0;

/* The integer sum of a block. */
static inline int32_t right_sum(const block_q8_0 *w, const block_q8_0 *x)
{
    int32_t sum = 0;
    for (int e = 0; e < 32; e++)
        sum += w->qs[e] * x->qs[e];
    return sum;
}

/* vec_dot of Q8_0 with another sum of a block. */
static inline float q8_0_dot_of_sums(uint64_t n, const block_q8_0 *w, const block_q8_0 *x,
                                     int32_t (*sum)(const block_q8_0 *, const block_q8_0 *))
{
    float p[STEP_PARTIALS] = {0};
    for (uint64_t u = 0; u < n / 32; u++)
        p[u % STEP_PARTIALS] += step_scale(load_f16(w[u].d), load_f16(x[u].d), sum(&w[u], &x[u]));
    return partials_total(p);
}

#endif
