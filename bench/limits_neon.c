/* SPDX-License-Identifier: MIT */
/* Limits of NEON, which every 64-bit Arm CPU has. */
#include <arm_neon.h>

#include "limits.h"

uint64_t bench_read_neon(const uint8_t *in, uint8_t *other, size_t bytes)
{
    uint8x16_t a = vdupq_n_u8(0), b = a, c = a, d = a;
    (void)other;
    for (size_t i = 0; i < bytes; i += 64) {
        a = vorrq_u8(a, vld1q_u8(in + i));
        b = vorrq_u8(b, vld1q_u8(in + i + 16));
        c = vorrq_u8(c, vld1q_u8(in + i + 32));
        d = vorrq_u8(d, vld1q_u8(in + i + 48));
    }
    const uint64x2_t all = vreinterpretq_u64_u8(vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d)));
    return vgetq_lane_u64(all, 0) | vgetq_lane_u64(all, 1);
}

uint64_t bench_copy_neon(const uint8_t *in, uint8_t *other, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        for (size_t k = 0; k < 4; k++)
            vst1q_u8(other + i + 16 * k, vld1q_u8(in + i + 16 * k));
    return other[bytes / 2];
}
