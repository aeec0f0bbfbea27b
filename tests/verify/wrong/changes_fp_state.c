/* SPDX-License-Identifier: MIT */
/* vec_dot switches to flushing subnormals; dequantize restores the default state, not its caller's.
 */
#include "right.h"

#if defined(__x86_64__)
#include <immintrin.h>
static void fp_state_set(uint32_t state)
{
    _mm_setcsr(state);
}
#define FLUSHING 0x9fc0u
#define DEFAULT 0x1f80u
#else
static void fp_state_set(uint64_t state)
{
    __asm__ volatile("msr fpcr, %0" ::"r"(state));
}
#define FLUSHING (1u << 24)
#define DEFAULT 0u
#endif

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    fp_state_set(FLUSHING);
    return q8_0_vec_dot(n, weights, activations);
}

static void dequantize(uint64_t n, const void *blocks, float *y)
{
    q8_0_dequantize(n, blocks, y);
    fp_state_set(DEFAULT);
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .dequantize = dequantize,
                                         .vec_dot = vec_dot};
WRONG_PLUGIN(0, &q8_0)
