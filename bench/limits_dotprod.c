/* SPDX-License-Identifier: MIT */
/* Limits of FEAT_DotProd. */
#include <arm_neon.h>

#include "limits.h"

uint64_t bench_dot_sdot(const uint8_t *in, uint8_t *other, size_t bytes)
{
    int32x4_t sum[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
    for (size_t i = 0; i < bytes; i += 64)
        for (size_t k = 0; k < 4; k++)
            sum[k] = vdotq_s32(sum[k], vreinterpretq_s8_u8(vld1q_u8(in + i + 16 * k)),
                               vreinterpretq_s8_u8(vld1q_u8(other + i + 16 * k)));
    return (uint32_t)vaddvq_s32(vaddq_s32(vaddq_s32(sum[0], sum[1]), vaddq_s32(sum[2], sum[3])));
}
