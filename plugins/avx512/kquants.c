/* SPDX-License-Identifier: MIT */
/* Dequantize of the K types, and all of Q8_K. */
#include "vec.h"

#define DEQUANTIZES_BY_TABLE
#include "common/lanes_kquants.h"
#include "tables.h"

void q2_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const vf codes = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    const struct qkern_block_q2_K *b = blocks;
    for (const float *end = y + n; y < end; y += K_ELEMENTS, b++) {
        const vb scales = vb_load(b->scales);
        const struct factors d = multiplied(vb_bits(scales, 0, 15), vf_set_f16(b->d));
        const struct factors m = multiplied(vb_bits(scales, 4, 15), vf_set_f16(b->dmin));
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const __m512i q = indices(b->qs + 16 * k);
#pragma GCC unroll 4
            for (int p = 0; p < 4; p++) {
                const int g = 8 * (k / 2) + 2 * p + k % 2;
                const vf values = codes * vf_set(d.of[g]) - vf_set(m.of[g]);
                vf_store(y + 16 * g, _mm512_permutevar_ps(values, moved_right(q, 2 * p)));
            }
        }
    }
}

/* Bit 3 of an index is of another code, so there are the eight values twice. */
void q3_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const vf codes = {-4, -3, -2, -1, 0, 1, 2, 3, -4, -3, -2, -1, 0, 1, 2, 3};
    const struct qkern_block_q3_K *b = blocks;
    for (const float *end = y + n; y < end; y += K_ELEMENTS, b++) {
        const struct factors d = multiplied(q3_K_scale_bytes(b), vf_set_f16(b->d));
        const __m512i third[2] = {indices(b->hmask), indices(b->hmask + 16)};
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const __m512i q = indices(b->qs + 16 * k);
#pragma GCC unroll 4
            for (int p = 0; p < 4; p++) {
                const int g = 8 * (k / 2) + 2 * p + k % 2;
                const __m512i high = moved_right(third[k % 2], 4 * (k / 2) + p - 2);
                vf_store(y + 16 * g, _mm512_permutexvar_ps(with_bit(moved_right(q, 2 * p), high, 2),
                                                           codes * vf_set(d.of[g])));
            }
        }
    }
}

void q4_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_K *b = blocks;
    for (const float *end = y + n; y < end; b++) {
        const struct scales_and_minimums f = scale_min_factors(b->scales, b->d, b->dmin);
#pragma GCC unroll 4
        for (int g = 0; g < 8; g += 2, y += 64) {
            const vf low = sixteen_from(0) * vf_set(f.d.of[g]) - vf_set(f.m.of[8 + g]);
            const vf high = sixteen_from(0) * vf_set(f.d.of[g + 1]) - vf_set(f.m.of[8 + g + 1]);
            for (int l = 0; l < 32; l += 16)
                nibbles_look_up(b->qs + 16 * g + l, low, high, y + l, y + 32 + l);
        }
    }
}

void q5_K_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_K *b = blocks;
    for (const float *end = y + n; y < end; y += K_ELEMENTS, b++) {
        const struct scales_and_minimums f = scale_min_factors(b->scales, b->d, b->dmin);
        const __m512i fifth[2] = {indices(b->qh), indices(b->qh + 16)};
#pragma GCC unroll 8
        for (int g = 0; g < 8; g++) {
            const vf dg = vf_set(f.d.of[g]), mg = vf_set(f.m.of[8 + g]);
            const struct thirty_two t = {sixteen_from(0) * dg - mg, sixteen_from(16) * dg - mg};
            for (int l = 0; l < 2; l++) {
                const __m512i q = indices(b->qs + 32 * (g / 2) + 16 * l);
                fives_look_up(moved_right(q, 4 * (g % 2)), moved_right(fifth[l], g - 4), t,
                              y + 32 * g + 16 * l);
            }
        }
    }
}
