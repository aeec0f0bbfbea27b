/* SPDX-License-Identifier: MIT */
/*
 * vec_dot and vec_dot_rows of the types of 32 elements a block with AVX-512. In what follows lane b
 * belongs to block b of a strip.
 */
#include "common/bytes.h"
#include "strips.h"

/*
 * Scales of sixteen units, f16: word 4 * b + j is that of block b in strip j. Behind them, from
 * word 16, the minimums or sums in the same order.
 */
struct heads {
    __m512i words;
};

/*
 * A strip is loaded into two registers that may overlap, front and back. Where something stands in
 * them is said in bytes or words of front, and for what is taken from back in those of the register
 * that would follow front.
 */
struct strip {
    __m512i front;
    __m512i back;
};

#define BACK_BYTE(v) ((v) + 64)
#define BACK_WORD(v) ((v) + 32)

/* Loads the first count of four blocks; back starts at byte `at`. */
ALWAYS_INLINE struct strip strip_load(ptrdiff_t count, const void *blocks, ptrdiff_t block,
                                      ptrdiff_t at)
{
    const ptrdiff_t size = count * block;
    return (struct strip){in_register(load_512(blocks, size)),
                          in_register(load_512((const uint8_t *)blocks + at, size - at))};
}

ALWAYS_INLINE __m512i words_taken(const struct strip *s, h32 at)
{
    return _mm512_permutex2var_epi16(s->front, (__m512i)at, s->back);
}

ALWAYS_INLINE __m512i bytes_taken(const struct strip *s, b64 at)
{
    return _mm512_permutex2var_epi8(s->front, (__m512i)at, s->back);
}

/* Words a, b, c, d for blocks 0 to 3, each four times. */
#define HEADS_AT(a, b, c, d) TIMES_4(a), TIMES_4(b), TIMES_4(c), TIMES_4(d)

/* Adds those of strip j, which stand in each dword's place. */
ALWAYS_INLINE void heads_add(struct heads *h, int j, __m512i words)
{
    h->words = j == 0 ? words : _mm512_mask_mov_epi16(h->words, 0x11111111u << j, words);
}

ALWAYS_INLINE __m512 heads_first(const struct heads *h)
{
    return _mm512_cvtph_ps(_mm512_castsi512_si256(h->words));
}

ALWAYS_INLINE __m512 heads_second(const struct heads *h)
{
    return _mm512_cvtph_ps(_mm512_extracti64x4_epi64(h->words, 1));
}

/* Activations. */

struct q8_strip {
    __m512i low;   /* lane b: elements 0 to 15 of block b */
    __m512i high;  /* 16 to 31 */
    __m512i start; /* of the sums of products */
};

/* Four strips, and the scales and sums of their units. */
struct q8_sixteen {
    struct q8_strip strip[STRIPS];
    struct heads heads;
};

/* A strip that four rows are multiplied with: lane b of d and s belongs to block b. */
struct q8_four {
    struct q8_strip strip;
    __m512 d;
    __m512 s; /* of Q8_1; unused with Q8_0 */
};

/*
 * Codes of four Q8_0 or Q8_1 blocks. The second half of blocks 1 and 3 does not fit into front and
 * back. start is 0.
 */
#define Q8_LANE(v) FROM_4(v), FROM_4((v) + 4)
#define Q8_LOW(first, block)                                                                       \
    {                                                                                              \
        Q8_LANE(first), Q8_LANE((first) + (block)), Q8_LANE(BACK_WORD(first)),                     \
            Q8_LANE(BACK_WORD((first) + (block)))                                                  \
    }
#define Q8_HIGH(first)                                                                             \
    {                                                                                              \
        Q8_LANE((first) + 8), Q8_LANE(0), Q8_LANE(BACK_WORD((first) + 8)), Q8_LANE(0)              \
    }

ALWAYS_INLINE struct q8_strip q8_codes(const struct strip *s, h32 low, h32 high, ptrdiff_t count,
                                       const int8_t *second, const int8_t *fourth)
{
    const __m512i three =
        _mm512_inserti32x4(words_taken(s, high), load_128(second, 16 * (count - 1)), 1);
    return (struct q8_strip){.low = words_taken(s, low),
                             .high =
                                 _mm512_inserti32x4(three, load_128(fourth, 16 * (count - 3)), 3),
                             .start = _mm512_setzero_si512()};
}

ALWAYS_INLINE struct q8_strip q8_0_load(ptrdiff_t count, const struct qkern_block_q8_0 *x,
                                        __m512i *heads)
{
    const h32 at = {HEADS_AT(0, 17, BACK_WORD(0), BACK_WORD(17))};
    const h32 low = Q8_LOW(1, 17);
    const h32 high = Q8_HIGH(1);
    const struct strip s = strip_load(count, x, sizeof *x, 2 * sizeof *x);
    *heads = words_taken(&s, at);
    return q8_codes(&s, low, high, count, x[1].qs + 16, x[3].qs + 16);
}

ALWAYS_INLINE struct q8_strip q8_1_load(ptrdiff_t count, const struct qkern_block_q8_1 *x,
                                        __m512i *heads)
{
    const h32 at = {HEADS_AT(0, 18, BACK_WORD(0), BACK_WORD(18)),
                    HEADS_AT(1, 19, BACK_WORD(1), BACK_WORD(19))};
    const h32 low = Q8_LOW(2, 18);
    const h32 high = Q8_HIGH(2);
    const struct strip s = strip_load(count, x, sizeof *x, 2 * sizeof *x);
    *heads = words_taken(&s, at);
    return q8_codes(&s, low, high, count, x[1].qs + 16, x[3].qs + 16);
}

/*
 * For weights whose code `offset` stands for 0: in each dword minus offset times the eight
 * activation codes that it will get.
 */
ALWAYS_INLINE __m512i dot_start(const struct q8_strip *x, int offset)
{
    const __m512i zero = _mm512_setzero_si512();
    if (offset == 0)
        return zero;
    const __m512i s = _mm512_dpbusd_epi32(zero, bytes_512(offset), x->low);
    return _mm512_sub_epi32(zero, _mm512_dpbusd_epi32(s, bytes_512(offset), x->high));
}

/* Weights: codes from 0, of the low and the high sixteen elements of each block. */

struct codes {
    __m512i low;
    __m512i high;
};

ALWAYS_INLINE __m512i dot(const struct codes *w, const struct q8_strip *x)
{
    return _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(x->start, w->low, x->low), w->high, x->high);
}

ALWAYS_INLINE struct codes nibbles(__m512i qs)
{
    return (struct codes){
        .low = _mm512_and_si512(qs, bytes_512(15)),
        .high = _mm512_and_si512(_mm512_srli_epi16(qs, 4), bytes_512(15)),
    };
}

/* Four blocks whose heads and codes all stand in the first 64 bytes, but for the codes of block 3.
 */
ALWAYS_INLINE struct codes q4_codes(struct heads *h, int j, h32 at, b64 qs, __m512i front,
                                    __m128i last)
{
    heads_add(h, j, _mm512_permutexvar_epi16((__m512i)at, front));
    return nibbles(_mm512_inserti32x4(_mm512_permutexvar_epi8((__m512i)qs, front), last, 3));
}

ALWAYS_INLINE struct codes q4_0_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q4_0 *w)
{
    const h32 at = {HEADS_AT(0, 9, 18, 27)};
    const b64 qs = {FROM_16(2), FROM_16(20), FROM_16(38), TIMES_16(0)};
    return q4_codes(h, j, at, qs, in_register(load_512(w, count * (ptrdiff_t)sizeof *w)),
                    load_128(w[3].qs, 16 * (count - 3)));
}

ALWAYS_INLINE struct codes q4_1_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q4_1 *w)
{
    const h32 at = {HEADS_AT(0, 10, 20, 30), HEADS_AT(1, 11, 21, 31)};
    const b64 qs = {FROM_16(4), FROM_16(24), FROM_16(44), TIMES_16(0)};
    return q4_codes(h, j, at, qs, in_register(load_512(w, count * (ptrdiff_t)sizeof *w)),
                    load_128(w[3].qs, 16 * (count - 3)));
}

/*
 * The fifth bits of a block, a word of 32 bits, stand in each half of its lane twice. A rotation
 * of the half by e - 4 brings bit e of the word to bit 4 of byte e % 16.
 */
ALWAYS_INLINE struct codes fifth_bits_added(struct codes w, __m512i qh)
{
#define LOW_LANE FROM_4(60), FROM_4(0), FROM_4(4), FROM_4(8)
    const b64 low = {LOW_LANE, LOW_LANE, LOW_LANE, LOW_LANE};
    const b64 high = {FROM_16(12), FROM_16(12), FROM_16(12), FROM_16(12)};
#undef LOW_LANE
    return (struct codes){
        .low = or_masked(w.low, _mm512_multishift_epi64_epi8((__m512i)low, qh), 16),
        .high = or_masked(w.high, _mm512_multishift_epi64_epi8((__m512i)high, qh), 16),
    };
}

#define TWICE_FROM_4(v) FROM_4(v), FROM_4(v), FROM_4(v), FROM_4(v)

ALWAYS_INLINE struct codes q5_codes(struct heads *h, int j, h32 at, b64 qh, b64 qs, struct strip s)
{
    heads_add(h, j, words_taken(&s, at));
    return fifth_bits_added(nibbles(bytes_taken(&s, qs)), bytes_taken(&s, qh));
}

ALWAYS_INLINE struct codes q5_0_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q5_0 *w)
{
    /* back is from byte 24: block 2 from there at 20, block 3 at 42. */
    const h32 at = {HEADS_AT(0, 11, BACK_WORD(10), BACK_WORD(21))};
    const b64 qh = {TWICE_FROM_4(2), TWICE_FROM_4(24), TWICE_FROM_4(BACK_BYTE(22)),
                    TWICE_FROM_4(BACK_BYTE(44))};
    const b64 qs = {FROM_16(6), FROM_16(28), FROM_16(BACK_BYTE(26)), FROM_16(BACK_BYTE(48))};
    return q5_codes(h, j, at, qh, qs, strip_load(count, w, sizeof *w, 24));
}

ALWAYS_INLINE struct codes q5_1_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q5_1 *w)
{
    /* back is from byte 32: block 2 from there at 16, block 3 at 40. */
    const h32 at = {HEADS_AT(0, 12, BACK_WORD(8), BACK_WORD(20)),
                    HEADS_AT(1, 13, BACK_WORD(9), BACK_WORD(21))};
    const b64 qh = {TWICE_FROM_4(4), TWICE_FROM_4(28), TWICE_FROM_4(BACK_BYTE(20)),
                    TWICE_FROM_4(BACK_BYTE(44))};
    const b64 qs = {FROM_16(8), FROM_16(32), FROM_16(BACK_BYTE(24)), FROM_16(BACK_BYTE(48))};
    return q5_codes(h, j, at, qh, qs, strip_load(count, w, sizeof *w, 32));
}

ALWAYS_INLINE struct codes q8_0_codes(struct heads *h, int j, ptrdiff_t count,
                                      const struct qkern_block_q8_0 *w)
{
    __m512i heads;
    const __m512i sign = bytes_512(128);
    const struct q8_strip q = q8_0_load(count, w, &heads);
    heads_add(h, j, heads);
    return (struct codes){.low = _mm512_xor_si512(q.low, sign),
                          .high = _mm512_xor_si512(q.high, sign)};
}

/*
 * NAME_load_strip and NAME_load_four take activations, NAME_sums sums sixteen units: their weights'
 * strip j against strip j, or against the same one if step is 0.
 */
#define LEGACY(name, activation, offset)                                                           \
    ALWAYS_INLINE void name##_load_strip(struct q8_sixteen *x, int j, ptrdiff_t count,             \
                                         const struct qkern_block_##activation *from)              \
    {                                                                                              \
        __m512i heads;                                                                             \
        x->strip[j] = activation##_load(count, from, &heads);                                      \
        x->strip[j].start = dot_start(&x->strip[j], offset);                                       \
        heads_add(&x->heads, j, heads);                                                            \
    }                                                                                              \
    ALWAYS_INLINE void name##_load_four(struct q8_four *x, ptrdiff_t count,                        \
                                        const struct qkern_block_##activation *from)               \
    {                                                                                              \
        struct heads heads;                                                                        \
        x->strip = activation##_load(count, from, &heads.words);                                   \
        x->strip.start = dot_start(&x->strip, offset);                                             \
        x->d = heads_first(&heads);                                                                \
        x->s = heads_second(&heads);                                                               \
    }                                                                                              \
    ALWAYS_INLINE __m512 name##_sums(const ptrdiff_t count[STRIPS],                                \
                                     const struct qkern_block_##name *const w[STRIPS],             \
                                     const struct q8_strip *x, int step, struct heads *heads)      \
    {                                                                                              \
        __m512i s[STRIPS];                                                                         \
        for (int j = 0; j < STRIPS; j++) {                                                         \
            const struct codes codes = name##_codes(heads, j, count[j], w[j]);                     \
            s[j] = dot(&codes, x + step * j);                                                      \
        }                                                                                          \
        return _mm512_cvtepi32_ps(lanes_added(s));                                                 \
    }

/* NAME_value: the values of sixteen units. d and s belong to the activations. */

#define LEGACY_SCALE(name, offset)                                                                 \
    LEGACY(name, q8_0, offset)                                                                     \
    ALWAYS_INLINE __m512 name##_value(const ptrdiff_t count[STRIPS],                               \
                                      const struct qkern_block_##name *const w[STRIPS],            \
                                      const struct q8_strip *x, int step, __m512 d, __m512 s)      \
    {                                                                                              \
        struct heads heads;                                                                        \
        const __m512 sums = name##_sums(count, w, x, step, &heads);                                \
        (void)s;                                                                                   \
        return STEP_SCALE(heads_first(&heads), d, sums);                                           \
    }                                                                                              \
    STRIP_DOTS(name, q8_0)

#define LEGACY_MINIMUM(name, offset)                                                               \
    LEGACY(name, q8_1, offset)                                                                     \
    ALWAYS_INLINE __m512 name##_value(const ptrdiff_t count[STRIPS],                               \
                                      const struct qkern_block_##name *const w[STRIPS],            \
                                      const struct q8_strip *x, int step, __m512 d, __m512 s)      \
    {                                                                                              \
        struct heads heads;                                                                        \
        const __m512 sums = name##_sums(count, w, x, step, &heads);                                \
        return STEP_MINIMUM(heads_first(&heads), d, sums, heads_second(&heads), s);                \
    }                                                                                              \
    STRIP_DOTS(name, q8_1)

LEGACY_SCALE(q4_0, 8)
LEGACY_MINIMUM(q4_1, 0)
LEGACY_SCALE(q5_0, 16)
LEGACY_MINIMUM(q5_1, 0)
LEGACY_SCALE(q8_0, 128)
