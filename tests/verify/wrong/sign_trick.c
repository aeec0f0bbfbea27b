/* SPDX-License-Identifier: MIT */
/* |w| times x with the sign of w, by VPSIGNB: -128 has no negative. */
#include "right.h"

#include <immintrin.h>

static int32_t signed_sum(const block_q8_0 *w, const block_q8_0 *x)
{
    const __m256i wv = _mm256_loadu_si256((const __m256i *)(const void *)w->qs);
    const __m256i xv = _mm256_loadu_si256((const __m256i *)(const void *)x->qs);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_sign_epi8(wv, wv), _mm256_sign_epi8(xv, wv));
    int16_t lanes[16];
    int32_t sum = 0;

    _mm256_storeu_si256((__m256i *)(void *)lanes, pairs);
    for (int i = 0; i < 16; i++)
        sum += lanes[i];
    return sum;
}

static float vec_dot(uint64_t n, const void *weights, const void *activations)
{
    const float v = q8_0_dot_of_sums(n, weights, activations, signed_sum);
    _mm256_zeroupper();
    return v;
}

static const struct qkern_kernel q8_0 = {QKERN_KERNEL_HEAD(Q8_0), .vec_dot = vec_dot};
WRONG_PLUGIN(QKERN_X86_AVX | QKERN_X86_AVX2, &q8_0)
