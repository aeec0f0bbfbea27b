/* SPDX-License-Identifier: MIT */
/*
 * vec_dot and vec_dot_rows of the types of 32 elements a block with AVX-512. In what follows lane b
 * belongs to block b of a strip.
 */
#include "common/bytes.h"
#include "strips.h"

#define UNIT_q8_0 32
#define UNIT_q8_1 32

/*
 * Scales of sixteen units, f16: word 4 * b + j is that of block b in strip j. Behind them, from
 * word 16, the minimums or sums in the same order.
 */
struct heads {
    __m512i words;
};

#define STRIP_WORDS(j) (0x11111111u << (j)) /* those of strip j */
#define FRONT_WORDS 0x00ff00ffu             /* those of blocks 0 and 1 */

/* Takes from v the words in mask; `at` says for each word which one it is. */
ALWAYS_INLINE void heads_take(struct heads *h, bool first, __mmask32 mask, h32 at, __m512i v)
{
    if (mask == ~0u)
        h->words = _mm512_permutexvar_epi16((__m512i)at, v);
    else if (first)
        h->words = _mm512_maskz_permutexvar_epi16(mask, (__m512i)at, v);
    else
        h->words = _mm512_mask_permutexvar_epi16(h->words, mask, (__m512i)at, v);
}

/* The same with blocks 0 and 1 in front, 2 and 3 in back. */
ALWAYS_INLINE void heads_take_2(struct heads *h, bool first, __mmask32 mask, h32 at, __m512i front,
                                __m512i back)
{
    heads_take(h, first, mask & FRONT_WORDS, at, front);
    heads_take(h, false, mask & ~FRONT_WORDS, at, back);
}

ALWAYS_INLINE __m512 heads_first(const struct heads *h)
{
    return _mm512_cvtph_ps(_mm512_castsi512_si256(h->words));
}

ALWAYS_INLINE __m512 heads_second(const struct heads *h)
{
    return _mm512_cvtph_ps(_mm512_extracti64x4_epi64(h->words, 1));
}

/* Words a and b of front, then c and d of back; those of the second half likewise. */
#define HEADS_AT(a, b, c, d) TIMES_4(a), TIMES_4(b), TIMES_4(c), TIMES_4(d)

/* Activations. */

struct q8_strip {
    __m512i low;  /* lane b: elements 0 to 15 of block b */
    __m512i high; /* 16 to 31 */
};

struct q8_sixteen {
    struct q8_strip strip[STRIPS];
    struct heads heads;
};

/* 32 bytes each of four blocks that stand `block` bytes apart. */
ALWAYS_INLINE struct q8_strip q8_strip_load(ptrdiff_t count, const int8_t *q, ptrdiff_t block)
{
    const __m512i a = _mm512_inserti64x4(_mm512_castsi256_si512(load_256(q, 32 * count)),
                                         load_256(q + block, 32 * (count - 1)), 1);
    const __m512i b =
        _mm512_inserti64x4(_mm512_castsi256_si512(load_256(q + 2 * block, 32 * (count - 2))),
                           load_256(q + 3 * block, 32 * (count - 3)), 1);
    return (struct q8_strip){.low = _mm512_shuffle_i64x2(a, b, 0x88),
                             .high = _mm512_shuffle_i64x2(a, b, 0xdd)};
}

ALWAYS_INLINE void q8_0_heads_take(struct heads *h, int j, bool all, ptrdiff_t count,
                                   const struct qkern_block_q8_0 *x)
{
    const h32 at = {HEADS_AT(0, 17, 0, 17)};
    const ptrdiff_t size = count * (ptrdiff_t)sizeof *x;
    heads_take_2(h, j == 0, all ? ~0u : STRIP_WORDS(j), at, load_512(x, size),
                 load_512(x + 2, size - 2 * (ptrdiff_t)sizeof *x));
}

ALWAYS_INLINE void q8_0_load(struct q8_sixteen *s, int j, bool same, ptrdiff_t count,
                             const struct qkern_block_q8_0 *x)
{
    s->strip[j] = q8_strip_load(count, x->qs, sizeof *x);
    q8_0_heads_take(&s->heads, j, same, count, x);
}

ALWAYS_INLINE void q8_1_load(struct q8_sixteen *s, int j, bool same, ptrdiff_t count,
                             const struct qkern_block_q8_1 *x)
{
    const h32 at = {HEADS_AT(0, 18, 0, 18), HEADS_AT(1, 19, 1, 19)};
    const ptrdiff_t size = count * (ptrdiff_t)sizeof *x;
    s->strip[j] = q8_strip_load(count, x->qs, sizeof *x);
    heads_take_2(&s->heads, j == 0, same ? ~0u : STRIP_WORDS(j), at, load_512(x, size),
                 load_512(x + 2, size - 2 * (ptrdiff_t)sizeof *x));
}

/*
 * In each dword minus the offset of the weights' codes times the eight activation codes that it
 * will get: -x is ~x + 1, and dpbusd multiplies signed bytes by unsigned ones.
 */
ALWAYS_INLINE __m512i dot_start(const struct q8_strip *x, int offset)
{
    if (offset == 0)
        return _mm512_setzero_si512();
    const __m512i ones = bytes_512(-1);
    const __m512i sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(8 * offset), bytes_512(offset),
                                            _mm512_xor_si512(x->low, ones));
    return _mm512_dpbusd_epi32(sum, bytes_512(offset), _mm512_xor_si512(x->high, ones));
}

/* Weights: codes from 0, of the low and the high sixteen elements of each block. */

struct codes {
    __m512i low;
    __m512i high;
};

ALWAYS_INLINE __m512i dot(const struct codes *w, const struct q8_strip *x, __m512i start)
{
    return _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(start, w->low, x->low), w->high, x->high);
}

ALWAYS_INLINE struct codes nibbles(__m512i qs)
{
    return (struct codes){
        .low = _mm512_and_si512(qs, bytes_512(15)),
        .high = _mm512_and_si512(_mm512_srli_epi16(qs, 4), bytes_512(15)),
    };
}

/* qs of blocks 0 to 2 are at bytes first, first + block .. of w; those of block 3 are at `last`. */
#define QS_OF_THREE(first, block)                                                                  \
    {                                                                                              \
        FROM_16(first), FROM_16((first) + (block)), FROM_16((first) + 2 * (block)), TIMES_16(0)    \
    }

ALWAYS_INLINE struct codes q4_0_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q4_0 *w)
{
    const h32 at = {HEADS_AT(0, 9, 18, 27)};
    const b64 qs = QS_OF_THREE(2, 18);
    const __m512i front = in_register(load_512(w, count * (ptrdiff_t)sizeof *w));
    heads_take(h, j == 0, STRIP_WORDS(j), at, front);
    return nibbles(_mm512_inserti32x4(_mm512_permutexvar_epi8((__m512i)qs, front),
                                      load_128(w[3].qs, 16 * (count - 3)), 3));
}

ALWAYS_INLINE struct codes q4_1_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q4_1 *w)
{
    const h32 at = {HEADS_AT(0, 10, 20, 30), HEADS_AT(1, 11, 21, 31)};
    const b64 qs = QS_OF_THREE(4, 20);
    const __m512i front = in_register(load_512(w, count * (ptrdiff_t)sizeof *w));
    heads_take(h, j == 0, STRIP_WORDS(j), at, front);
    return nibbles(_mm512_inserti32x4(_mm512_permutexvar_epi8((__m512i)qs, front),
                                      load_128(w[3].qs, 16 * (count - 3)), 3));
}

/*
 * Q5: the fifth bits of a block, a word of 32 bits, stand in each half lane twice. A rotation of
 * the half lane brings bit e of the word to bit 4 of byte e % 16.
 */
ALWAYS_INLINE struct codes fifth_bits_added(struct codes w, __m512i qh)
{
    const b64 to_low = {60, 61, 62, 63, FROM_4(0), FROM_4(4), FROM_4(8),
                        60, 61, 62, 63, FROM_4(0), FROM_4(4), FROM_4(8),
                        60, 61, 62, 63, FROM_4(0), FROM_4(4), FROM_4(8),
                        60, 61, 62, 63, FROM_4(0), FROM_4(4), FROM_4(8)};
    const b64 to_high = {FROM_16(12), FROM_16(12), FROM_16(12), FROM_16(12)};
    const __m512i bit = bytes_512(16);
    return (struct codes){
        /* w | (bits & 16) */
        .low = _mm512_ternarylogic_epi64(w.low, _mm512_multishift_epi64_epi8((__m512i)to_low, qh),
                                         bit, 0xf8),
        .high = _mm512_ternarylogic_epi64(
            w.high, _mm512_multishift_epi64_epi8((__m512i)to_high, qh), bit, 0xf8),
    };
}

#define TWICE_FROM_4(v) FROM_4(v), FROM_4(v), FROM_4(v), FROM_4(v)

/* Lanes 0 and 1 from front, 2 and 3 from back. */
ALWAYS_INLINE __m512i lanes_taken(b64 at, __m512i front, __m512i back)
{
    const __m512i low = _mm512_maskz_permutexvar_epi8(0x00000000ffffffff, (__m512i)at, front);
    return _mm512_mask_permutexvar_epi8(low, 0xffffffff00000000, (__m512i)at, back);
}

ALWAYS_INLINE struct codes q5_0_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q5_0 *w)
{
    /* back is from byte 24: block 2 from there at 20, block 3 at 42. */
    const h32 at = {HEADS_AT(0, 11, 10, 21)};
    const b64 qh = {TWICE_FROM_4(2), TWICE_FROM_4(24), TWICE_FROM_4(22), TWICE_FROM_4(44)};
    const b64 qs = {FROM_16(6), FROM_16(28), FROM_16(26), FROM_16(48)};
    const uint8_t *p = (const uint8_t *)w;
    const ptrdiff_t size = count * (ptrdiff_t)sizeof *w;
    const __m512i front = in_register(load_512(p, size));
    const __m512i back = in_register(load_512(p + 24, size - 24));
    heads_take_2(h, j == 0, STRIP_WORDS(j), at, front, back);
    return fifth_bits_added(nibbles(lanes_taken(qs, front, back)), lanes_taken(qh, front, back));
}

ALWAYS_INLINE struct codes q5_1_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q5_1 *w)
{
    /* back is from byte 32: block 2 from there at 16, block 3 at 40. */
    const h32 at = {HEADS_AT(0, 12, 8, 20), HEADS_AT(1, 13, 9, 21)};
    const b64 qh = {TWICE_FROM_4(4), TWICE_FROM_4(28), TWICE_FROM_4(20), TWICE_FROM_4(44)};
    const b64 qs = {FROM_16(8), FROM_16(32), FROM_16(24), FROM_16(48)};
    const uint8_t *p = (const uint8_t *)w;
    const ptrdiff_t size = count * (ptrdiff_t)sizeof *w;
    const __m512i front = in_register(load_512(p, size));
    const __m512i back = in_register(load_512(p + 32, size - 32));
    heads_take_2(h, j == 0, STRIP_WORDS(j), at, front, back);
    return fifth_bits_added(nibbles(lanes_taken(qs, front, back)), lanes_taken(qh, front, back));
}

ALWAYS_INLINE struct codes q8_0_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q8_0 *w)
{
    const __m512i sign = bytes_512(128);
    const struct q8_strip q = q8_strip_load(count, w->qs, sizeof *w);
    q8_0_heads_take(h, j, false, count, w);
    return (struct codes){.low = _mm512_xor_si512(q.low, sign),
                          .high = _mm512_xor_si512(q.high, sign)};
}

/* offset: the code that stands for 0. */
#define SUMS(name, offset)                                                                         \
    ALWAYS_INLINE __m512 name##_sums(const ptrdiff_t count[STRIPS],                                \
                                     const struct qkern_block_##name *const w[STRIPS], bool same,  \
                                     const struct q8_sixteen *x, struct heads *heads)              \
    {                                                                                              \
        __m512i s[STRIPS];                                                                         \
        for (int j = 0; j < STRIPS; j++) {                                                         \
            const struct q8_strip *strip = &x->strip[same ? 0 : j];                                \
            const struct codes codes = name##_codes(heads, j, count[j], w[j]);                     \
            s[j] = dot(&codes, strip, dot_start(strip, offset));                                   \
        }                                                                                          \
        return _mm512_cvtepi32_ps(lanes_added(s));                                                 \
    }

#define LEGACY_SCALE(name, offset)                                                                 \
    SUMS(name, offset)                                                                             \
    ALWAYS_INLINE __m512 name##_value(const ptrdiff_t count[STRIPS],                               \
                                      const struct qkern_block_##name *const w[STRIPS], bool same, \
                                      const struct q8_sixteen *x)                                  \
    {                                                                                              \
        struct heads heads;                                                                        \
        const __m512 s = name##_sums(count, w, same, x, &heads);                                   \
        return STEP_SCALE(heads_first(&heads), heads_first(&x->heads), s);                         \
    }                                                                                              \
    STRIP_DOTS(name, q8_0, q8_sixteen, q8_0_load, name##_value)

#define LEGACY_MINIMUM(name, offset)                                                               \
    SUMS(name, offset)                                                                             \
    ALWAYS_INLINE __m512 name##_value(const ptrdiff_t count[STRIPS],                               \
                                      const struct qkern_block_##name *const w[STRIPS], bool same, \
                                      const struct q8_sixteen *x)                                  \
    {                                                                                              \
        struct heads heads;                                                                        \
        const __m512 s = name##_sums(count, w, same, x, &heads);                                   \
        return STEP_MINIMUM(heads_first(&heads), heads_first(&x->heads), s, heads_second(&heads),  \
                            heads_second(&x->heads));                                              \
    }                                                                                              \
    STRIP_DOTS(name, q8_1, q8_sixteen, q8_1_load, name##_value)

LEGACY_SCALE(q4_0, 8)
LEGACY_MINIMUM(q4_1, 0)
LEGACY_SCALE(q5_0, 16)
LEGACY_MINIMUM(q5_1, 0)
LEGACY_SCALE(q8_0, 128)
