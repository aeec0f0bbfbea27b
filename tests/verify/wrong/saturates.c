/* SPDX-License-Identifier: MIT */
/* Weights made unsigned and multiplied with VPMADDUBSW: sums of two products saturate. */
#include "right.h"

#include <immintrin.h>

static int32_t saturated_sum(const block_q8_0 *w, const block_q8_0 *x)
{
    const __m256i wv = _mm256_loadu_si256((const __m256i *)(const void *)w->qs);
    const __m256i xv = _mm256_loadu_si256((const __m256i *)(const void *)x->qs);
    const __m256i biased = _mm256_xor_si256(wv, _mm256_set1_epi8((char)0x80));
    const __m256i pairs = _mm256_maddubs_epi16(biased, xv);
    int16_t lanes[16];
    int32_t sum = 0;

    _mm256_storeu_si256((__m256i *)(void *)lanes, pairs);
    for (int i = 0; i < 16; i++)
        sum += lanes[i];
    for (int e = 0; e < 32; e++)
        sum -= 128 * x->qs[e];
    return sum;
}

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const float v = q8_0_dot_of_sums(n, weights, activations, saturated_sum);
    _mm256_zeroupper();
    return v;
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(QKERN_X86_AVX | QKERN_X86_AVX2, &q8_0)
