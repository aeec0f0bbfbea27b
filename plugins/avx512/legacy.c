/* SPDX-License-Identifier: MIT */
/* Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1: quantize and dequantize. */
#include "vec.h"

#define DEQUANTIZES_BY_TABLE
#include "common/lanes_legacy.h"
#include "tables.h"

void q4_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_0 *b = blocks;
#pragma GCC unroll 4
    for (uint64_t left = n / ELEMENTS; left > 0; left--, y += ELEMENTS, b++) {
        const vf values = sixteen_from(-8) * vf_set_f16(b->d);
        nibbles_look_up(b->qs, values, values, y, y + 16);
    }
}

void q4_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q4_1 *b = blocks;
#pragma GCC unroll 4
    for (uint64_t left = n / ELEMENTS; left > 0; left--, y += ELEMENTS, b++) {
        vf d, m;
        two_set_f16(b->d, &d, &m);
        const vf values = sixteen_from(0) * d + m;
        nibbles_look_up(b->qs, values, values, y, y + 16);
    }
}

/* Bit i of qh is the fifth of element i. */
ALWAYS_INLINE void fives_values(const uint8_t qs[16], const uint8_t qh[4], struct thirty_two t,
                                float *y)
{
    const __m512i q = indices(qs), h = _mm512_set1_epi32((int32_t)load_u32(qh));
    const __m512i to_bit_4 = _mm512_setr_epi32(4, 3, 2, 1, 0, 31, 30, 29, 28, 27, 26, 25, 24, 23,
                                               22, 21); /* left, around the end */
    const __m512i upper = _mm512_add_epi32(to_bit_4, _mm512_set1_epi32(16));
    fives_look_up(q, _mm512_rolv_epi32(h, to_bit_4), t, y);
    fives_look_up(_mm512_srli_epi32(q, 4), _mm512_rolv_epi32(h, upper), t, y + 16);
}

void q5_0_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_0 *b = blocks;
#pragma GCC unroll 4
    for (uint64_t left = n / ELEMENTS; left > 0; left--, y += ELEMENTS, b++) {
        const vf d = vf_set_f16(b->d);
        const struct thirty_two t = {sixteen_from(-16) * d, sixteen_from(0) * d};
        fives_values(b->qs, b->qh, t, y);
    }
}

void q5_1_dequantize(uint64_t n, const void *restrict blocks, float *restrict y)
{
    const struct qkern_block_q5_1 *b = blocks;
#pragma GCC unroll 4
    for (uint64_t left = n / ELEMENTS; left > 0; left--, y += ELEMENTS, b++) {
        vf d, m;
        two_set_f16(b->d, &d, &m);
        const struct thirty_two t = {sixteen_from(0) * d + m, sixteen_from(16) * d + m};
        fives_values(b->qs, b->qh, t, y);
    }
}
