/* SPDX-License-Identifier: MIT */
/* Limits of AVX-512F. */
#include <immintrin.h>

#include "limits.h"

static __m512i load(const uint8_t *p)
{
    return _mm512_load_si512(p);
}

uint64_t bench_read_avx512(const uint8_t *in, uint8_t *other, size_t bytes)
{
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    size_t i = 0;
    (void)other;
    for (; i + 512 <= bytes; i += 512) {
        a = _mm512_or_si512(a, load(in + i));
        b = _mm512_or_si512(b, load(in + i + 64));
        c = _mm512_or_si512(c, load(in + i + 128));
        d = _mm512_or_si512(d, load(in + i + 192));
        a = _mm512_or_si512(a, load(in + i + 256));
        b = _mm512_or_si512(b, load(in + i + 320));
        c = _mm512_or_si512(c, load(in + i + 384));
        d = _mm512_or_si512(d, load(in + i + 448));
    }
    for (; i < bytes; i += 64)
        a = _mm512_or_si512(a, load(in + i));
    return (uint64_t)_mm512_reduce_or_epi64(
        _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d)));
}

uint64_t bench_copy_avx512(const uint8_t *in, uint8_t *other, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 256)
        for (size_t k = 0; k < 4; k++)
            _mm512_store_si512(other + i + 64 * k, load(in + i + 64 * k));
    return other[bytes / 2];
}
