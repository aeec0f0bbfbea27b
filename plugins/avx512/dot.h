/* SPDX-License-Identifier: MIT */
/* What the dot products have in common with AVX-512. */
#ifndef QKERN_AVX512_DOT_H
#define QKERN_AVX512_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vec.h"

/* Constants by lane; a lane is 128 bits. */
typedef uint8_t b64 __attribute__((vector_size(64)));
typedef uint16_t h32 __attribute__((vector_size(64)));
typedef uint32_t w16 __attribute__((vector_size(64)));
typedef uint64_t d8 __attribute__((vector_size(64)));

#define TIMES_4(v) (v), (v), (v), (v)
#define TIMES_16(v) TIMES_4(v), TIMES_4(v), TIMES_4(v), TIMES_4(v)
#define FROM_4(v) (v), (v) + 1, (v) + 2, (v) + 3
#define FROM_16(v) FROM_4(v), FROM_4((v) + 4), FROM_4((v) + 8), FROM_4((v) + 12)

ALWAYS_INLINE __m512i bytes_512(int v)
{
    return _mm512_set1_epi8((char)v);
}

/* a | (b & mask) */
ALWAYS_INLINE __m512i or_masked(__m512i a, __m512i b, int mask)
{
    return _mm512_ternarylogic_epi64(a, b, bytes_512(mask), 0xf8);
}

/*
 * Loads of at most `size` bytes: what lies behind them is not read, and is 0. Where size is a
 * constant and fills the register they are plain loads.
 */

#define IS_FULL(size, width) (__builtin_constant_p(size) && (size) >= (width))
#define LOW_BITS(size) _bzhi_u64(~(uint64_t)0, (size) > 0 ? (unsigned)(size) : 0)

ALWAYS_INLINE __m128i load_128(const void *p, ptrdiff_t size)
{
    if (IS_FULL(size, 16))
        return _mm_loadu_si128(p);
    return _mm_maskz_loadu_epi8((__mmask16)LOW_BITS(size), p);
}

ALWAYS_INLINE __m256i load_256(const void *p, ptrdiff_t size)
{
    if (IS_FULL(size, 32))
        return _mm256_loadu_si256(p);
    return _mm256_maskz_loadu_epi8((__mmask32)LOW_BITS(size), p);
}

ALWAYS_INLINE __m512i load_512(const void *p, ptrdiff_t size)
{
    if (IS_FULL(size, 64))
        return _mm512_loadu_si512(p);
    return _mm512_maskz_loadu_epi8(LOW_BITS(size), p);
}

/* Loaded once: a compiler may otherwise load anew for each use. */
ALWAYS_INLINE __m512i in_register(__m512i v)
{
    __asm__("" : "+v"(v));
    return v;
}

/* The same pointer, of which a compiler does not know that. Otherwise it keeps one for each row in
 * a loop, and runs out of registers. */
ALWAYS_INLINE const uint8_t *anew(const uint8_t *p)
{
    __asm__("" : "+r"(p));
    return p;
}

#define NEVER_INLINE static __attribute__((noinline))

/* In each lane, dword j is the sum of the four dwords of s[j]. */
ALWAYS_INLINE __m512i lanes_added(const __m512i s[4])
{
    const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(s[0], s[1]),
                                       _mm512_unpackhi_epi32(s[0], s[1])); /* 0 1 0 1 */
    const __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(s[2], s[3]),
                                       _mm512_unpackhi_epi32(s[2], s[3])); /* 2 3 2 3 */
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* The sum of the four lanes. */
ALWAYS_INLINE i4 lanes_total(__m512i v)
{
    const __m256i h = _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    return (i4)_mm_add_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
}

#endif
