/* SPDX-License-Identifier: MIT */
/* Limits of SSE2, which every x86-64 CPU has. */
#include <emmintrin.h>

#include "limits.h"

static __m128i load(const uint8_t *p)
{
    return _mm_load_si128((const __m128i *)(const void *)p);
}

uint64_t bench_read_sse2(const uint8_t *in, uint8_t *other, size_t bytes)
{
    __m128i a = _mm_setzero_si128(), b = a, c = a, d = a;
    (void)other;
    for (size_t i = 0; i < bytes; i += 64) {
        a = _mm_or_si128(a, load(in + i));
        b = _mm_or_si128(b, load(in + i + 16));
        c = _mm_or_si128(c, load(in + i + 32));
        d = _mm_or_si128(d, load(in + i + 48));
    }
    a = _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d));
    return (uint64_t)_mm_cvtsi128_si64(_mm_or_si128(a, _mm_unpackhi_epi64(a, a)));
}
