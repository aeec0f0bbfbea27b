/* SPDX-License-Identifier: MIT */
/*
 * vec_dot and vec_dot_rows of the K types with AVX-512: a quarter of a block fills a vector. What
 * stands once in each block (scales, minimums, stored sums) is done for four blocks at once.
 */
#include <qkern/blocks.h>

#include "common/bytes.h"
#include "common/kernels.h"
#include "common/klayout.h"
#include "dot.h"

/* The f16 at a member of four blocks. */
#define F4_OF(b, member) f4_load_f16((b)[0]->member, (b)[1]->member, (b)[2]->member, (b)[3]->member)

#define QUARTERS 4

/* Lane u from the u-th address. */
ALWAYS_INLINE __m512i lanes_load(const void *a, const void *b, const void *c, const void *d)
{
    const __m256i low =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_128(a, 16)), load_128(b, 16), 1);
    const __m256i high =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_128(c, 16)), load_128(d, 16), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

#define LANES_OF(b, member, at)                                                                    \
    lanes_load((const uint8_t *)(b)[0]->member + (at), (const uint8_t *)(b)[1]->member + (at),     \
               (const uint8_t *)(b)[2]->member + (at), (const uint8_t *)(b)[3]->member + (at))

/* 32 bytes, twice. */
ALWAYS_INLINE __m512i halves_load(const void *p)
{
    return _mm512_broadcast_i64x4(load_256(p, 32));
}

#define HALVES(low, high)                                                                          \
    {                                                                                              \
        TIMES_4(low), TIMES_4(high)                                                                \
    }

/* Activations: four blocks. */

struct q8_K_four {
    const struct qkern_block_q8_K *block[4];
    f4 d;
};

/* If `same`, the four are one. */
ALWAYS_INLINE struct q8_K_four q8_K_load(bool same, const struct qkern_block_q8_K *const x[4])
{
    struct q8_K_four four = {.block = {x[0], x[1], x[2], x[3]}};
    if (same)
        four.d = (f4)_mm_set1_ps(load_f32(x[0]->d));
    else
        four.d = (f4){load_f32(x[0]->d), load_f32(x[1]->d), load_f32(x[2]->d), load_f32(x[3]->d)};
    return four;
}

/* The same with the stored sums: dword u of lane k has sums 2k and 2k + 1 of block u in low, and
 * 2k + 8 and 2k + 9 in high. */
struct q8_K_four_sums {
    struct q8_K_four x;
    __m512i low;
    __m512i high;
};

ALWAYS_INLINE struct q8_K_four_sums q8_K_sums_load(bool same,
                                                   const struct qkern_block_q8_K *const x[4])
{
    struct q8_K_four_sums four = {.x = q8_K_load(same, x)};
    if (same) {
        const w16 low = {TIMES_4(0), TIMES_4(1), TIMES_4(2), TIMES_4(3)};
        const w16 high = {TIMES_4(4), TIMES_4(5), TIMES_4(6), TIMES_4(7)};
        const __m512i sums = _mm512_castsi256_si512(load_256(x[0]->bsums, 32));
        four.low = _mm512_permutexvar_epi32((__m512i)low, sums);
        four.high = _mm512_permutexvar_epi32((__m512i)high, sums);
    } else {
        const w16 turned = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
        four.low = _mm512_permutexvar_epi32((__m512i)turned, LANES_OF(x, bsums, 0));
        four.high = _mm512_permutexvar_epi32((__m512i)turned, LANES_OF(x, bsums, 16));
    }
    return four;
}

/* Sums of products. */

/* Signed scales of four blocks, as int16: those of blocks 0 and 1, and of 2 and 3. */
struct k_scales_16 {
    __m512i of[2];
};

/* Lane u of v: 16 scales of block u. */
ALWAYS_INLINE struct k_scales_16 scales_widen(__m512i v)
{
    return (struct k_scales_16){{_mm512_cvtepi8_epi16(_mm512_castsi512_si256(v)),
                                 _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(v, 1))}};
}

/*
 * Lane k of a quarter q has the elements 64 * q + 16 * k and following: in groups of 16 those of
 * group 4 * q + k, in groups of 32 of group 2 * q + k / 2. Quarters are packed in twos, so the
 * scales must be: in lane k four times that of the first, then four times that of the second.
 */
#define SCALES_AT(a, b) TIMES_4(a), TIMES_4(b)
#define SCALES_16(g)                                                                               \
    {                                                                                              \
        SCALES_AT(g, (g) + 4), SCALES_AT((g) + 1, (g) + 5), SCALES_AT((g) + 2, (g) + 6),           \
            SCALES_AT((g) + 3, (g) + 7)                                                            \
    }
#define SCALES_32(g)                                                                               \
    {                                                                                              \
        SCALES_AT(g, (g) + 2), SCALES_AT(g, (g) + 2), SCALES_AT((g) + 1, (g) + 3),                 \
            SCALES_AT((g) + 1, (g) + 3)                                                            \
    }

/* The scales of the packed quarters 2 * h and 2 * h + 1 of block u, in groups of 16 or 32. */
ALWAYS_INLINE __m512i scales_spread(const struct k_scales_16 *s, int u, int h, int group)
{
    const h32 at[2][2][2] = {{{SCALES_16(0), SCALES_16(8)}, {SCALES_16(16), SCALES_16(24)}},
                             {{SCALES_32(0), SCALES_32(4)}, {SCALES_32(16), SCALES_32(20)}}};
    return _mm512_permutexvar_epi16((__m512i)at[group / 32][u % 2][h], s->of[u / 2]);
}

/* The codes of an activation block, and what sums with them start from: minus the offset of the
 * weights' codes times the activation codes that a dword gets. */
struct q8_K_codes {
    __m512i quarter[QUARTERS];
    __m512i start[QUARTERS];
};

ALWAYS_INLINE struct q8_K_codes q8_K_codes_load(const struct qkern_block_q8_K *x, int offset)
{
    const __m512i zero = _mm512_setzero_si512();
    struct q8_K_codes c;
    for (int q = 0; q < QUARTERS; q++) {
        c.quarter[q] = load_512(x->qs + 64 * q, 64);
        c.start[q] = zero;
        if (offset != 0)
            c.start[q] =
                _mm512_sub_epi32(zero, _mm512_dpbusd_epi32(zero, bytes_512(offset), c.quarter[q]));
    }
    return c;
}

/*
 * Sixteen pieces of the sum of one block. Before the scales come in, a dword is at most 4 * 32 *
 * 128 in magnitude, which fits into 16 bits.
 */
ALWAYS_INLINE __m512i block_sum(const __m512i codes[QUARTERS], const struct q8_K_codes *x,
                                __m512i scales_low, __m512i scales_high)
{
    __m512i s[QUARTERS];
    for (int q = 0; q < QUARTERS; q++)
        s[q] = _mm512_dpbusd_epi32(x->start[q], codes[q], x->quarter[q]);
    const __m512i sum = _mm512_madd_epi16(_mm512_packs_epi32(s[0], s[1]), scales_low);
    return _mm512_dpwssd_epi32(sum, _mm512_packs_epi32(s[2], s[3]), scales_high);
}

/* NAME_sums: of count blocks, all against the same activations if they are `same`. */
#define SUMS(name, group, offset)                                                                  \
    ALWAYS_INLINE i4 name##_sums(int count, bool same,                                             \
                                 const struct qkern_block_##name *const w[4],                      \
                                 const struct q8_K_four *x, const struct k_scales_16 *scales)      \
    {                                                                                              \
        __m512i s[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),    \
                        _mm512_setzero_si512()};                                                   \
        struct q8_K_codes xs;                                                                      \
        if (same) {                                                                                \
            xs = q8_K_codes_load(x->block[0], offset);                                             \
            for (int q = 0; q < QUARTERS; q++)                                                     \
                xs.quarter[q] = in_register(xs.quarter[q]);                                        \
        }                                                                                          \
        for (int u = 0; u < count; u++) {                                                          \
            __m512i codes[QUARTERS];                                                               \
            name##_quarters(w[u], codes);                                                          \
            if (!same)                                                                             \
                xs = q8_K_codes_load(x->block[u], offset);                                         \
            s[u] = block_sum(codes, &xs, scales_spread(scales, u, 0, group),                       \
                             scales_spread(scales, u, 1, group));                                  \
        }                                                                                          \
        return lanes_total(lanes_added(s));                                                        \
    }

/* The minimums are words in the order of the stored sums. 16 * 63 * 32768 at most. */
ALWAYS_INLINE i4 minimum_sums(const struct q8_K_four_sums *x, __m512i low, __m512i high)
{
    return lanes_total(_mm512_dpwssd_epi32(_mm512_madd_epi16(x->low, low), x->high, high));
}

/* A lane of minimums in the order of q8_K_four_sums: bytes a and b of each block's lane, as words.
 */
#define WORDS(a, b) (a), 0, (b), 0
#define MINS_LANE(a, b)                                                                            \
    WORDS(a, b), WORDS((a) + 16, (b) + 16), WORDS((a) + 32, (b) + 32), WORDS((a) + 48, (b) + 48)

ALWAYS_INLINE __m512i bytes_to_words(b64 at, __m512i v)
{
    return _mm512_maskz_permutexvar_epi8(0x5555555555555555, (__m512i)at, v);
}

/* Four d, four dmin. */
ALWAYS_INLINE __m256 scales_of_blocks(h32 at, __m512i v)
{
    return _mm256_cvtph_ps(_mm512_castsi512_si128(_mm512_permutexvar_epi16((__m512i)at, v)));
}

/* Codes: the quarters of a block. */

/* Two bits each. */
ALWAYS_INLINE void pairs(const uint8_t qs[64], __m512i codes[QUARTERS])
{
    const d8 first = HALVES(0, 2);
    const d8 second = HALVES(4, 6);
    for (int q = 0; q < QUARTERS; q++) {
        const __m512i shift = (__m512i)(q % 2 == 0 ? first : second);
        codes[q] = _mm512_and_si512(_mm512_srlv_epi64(halves_load(qs + 32 * (q / 2)), shift),
                                    bytes_512(3));
    }
}

/* Four bits each. */
ALWAYS_INLINE void nibbles(const uint8_t qs[128], __m512i codes[QUARTERS])
{
    const d8 shift = HALVES(0, 4);
    for (int q = 0; q < QUARTERS; q++)
        codes[q] = _mm512_and_si512(_mm512_srlv_epi64(halves_load(qs + 32 * q), (__m512i)shift),
                                    bytes_512(15));
}

/* Bits 2q and 2q + 1 of the bytes are bit `at` of the codes of the halves of quarter q. */
ALWAYS_INLINE void high_bits_add(const uint8_t bits[32], int at, __m512i codes[QUARTERS])
{
    const __m512i v = halves_load(bits);
    for (int q = 0; q < QUARTERS; q++) {
        const uint64_t left = (uint64_t)(64 + at - 2 * q);
        const d8 shift = HALVES(left, left - 1);
        codes[q] = or_masked(codes[q], _mm512_rolv_epi64(v, (__m512i)shift), 1 << at);
    }
}

ALWAYS_INLINE void q2_K_quarters(const struct qkern_block_q2_K *w, __m512i codes[QUARTERS])
{
    pairs(w->qs, codes);
}

ALWAYS_INLINE void q3_K_quarters(const struct qkern_block_q3_K *w, __m512i codes[QUARTERS])
{
    pairs(w->qs, codes);
    high_bits_add(w->hmask, 2, codes);
}

ALWAYS_INLINE void q4_K_quarters(const struct qkern_block_q4_K *w, __m512i codes[QUARTERS])
{
    nibbles(w->qs, codes);
}

ALWAYS_INLINE void q5_K_quarters(const struct qkern_block_q5_K *w, __m512i codes[QUARTERS])
{
    nibbles(w->qs, codes);
    high_bits_add(w->qh, 4, codes);
}

ALWAYS_INLINE void q6_K_quarters(const struct qkern_block_q6_K *w, __m512i codes[QUARTERS])
{
    const d8 first = HALVES(4, 2);
    const d8 second = HALVES(0, 62);
    for (int h = 0; h < 2; h++) {
        const __m512i low = load_512(w->ql + 64 * h, 64);
        const __m512i high = halves_load(w->qh + 32 * h);
        codes[2 * h] = or_masked(_mm512_and_si512(low, bytes_512(15)),
                                 _mm512_rolv_epi64(high, (__m512i)first), 0x30);
        codes[2 * h + 1] = or_masked(_mm512_and_si512(_mm512_srli_epi16(low, 4), bytes_512(15)),
                                     _mm512_rolv_epi64(high, (__m512i)second), 0x30);
    }
}

SUMS(q2_K, 16, 0)
SUMS(q3_K, 16, 4)
SUMS(q4_K, 32, 0)
SUMS(q5_K, 32, 0)
SUMS(q6_K, 16, 32)

/* Q2_K: byte g has scale and minimum of group g. */

ALWAYS_INLINE f4 q2_K_value(int count, bool same, const struct qkern_block_q2_K *const w[4],
                            const struct q8_K_four_sums *x)
{
    const b64 low = {MINS_LANE(0, 1), MINS_LANE(2, 3), MINS_LANE(4, 5), MINS_LANE(6, 7)};
    const b64 high = {MINS_LANE(8, 9), MINS_LANE(10, 11), MINS_LANE(12, 13), MINS_LANE(14, 15)};
    const __m512i both = LANES_OF(w, scales, 0);
    const __m512i min = _mm512_and_si512(_mm512_srli_epi16(both, 4), bytes_512(15));
    const struct k_scales_16 scales = scales_widen(_mm512_and_si512(both, bytes_512(15)));
    const i4 s = q2_K_sums(count, same, w, &x->x, &scales);
    const i4 m = minimum_sums(x, bytes_to_words(low, min), bytes_to_words(high, min));
    return step_k_minimum_4(F4_OF(w, d), x->x.d, s, F4_OF(w, dmin), m);
}

/* Q4_K, Q5_K: klayout.h. A lane has d, dmin, and the twelve bytes. */

ALWAYS_INLINE __m512i scales_min_unpack(__m512i v)
{
    const b64 low = {4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15,
                     4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15,
                     4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15,
                     4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15};
#define HIGH_LANE TIMES_4(128), FROM_4(4), TIMES_4(128), FROM_4(8)
    const b64 high = {HIGH_LANE, HIGH_LANE, HIGH_LANE, HIGH_LANE};
#undef HIGH_LANE
    const w16 shift = {0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4};
    const w16 mask = {0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f,
                      0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f,
                      0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f};
    const __m512i a = _mm512_srlv_epi32(_mm512_shuffle_epi8(v, (__m512i)low), (__m512i)shift);
    const __m512i b = _mm512_srli_epi16(_mm512_shuffle_epi8(v, (__m512i)high), 2);
    return or_masked(_mm512_and_si512(a, (__m512i)mask), b, 0x30);
}

#define K_NIBBLES_VALUE(name)                                                                      \
    ALWAYS_INLINE f4 name##_value(int count, bool same,                                            \
                                  const struct qkern_block_##name *const w[4],                     \
                                  const struct q8_K_four_sums *x)                                  \
    {                                                                                              \
        const b64 low = {MINS_LANE(8, 8), MINS_LANE(9, 9), MINS_LANE(10, 10), MINS_LANE(11, 11)};  \
        const b64 high = {MINS_LANE(12, 12), MINS_LANE(13, 13), MINS_LANE(14, 14),                 \
                          MINS_LANE(15, 15)};                                                      \
        const h32 d_at = {0, 8, 16, 24, 1, 9, 17, 25};                                             \
        const __m512i heads = LANES_OF(w, d, 0);                                                   \
        const __m512i both = scales_min_unpack(heads);                                             \
        const __m256 d = scales_of_blocks(d_at, heads);                                            \
        const struct k_scales_16 scales = scales_widen(both);                                      \
        const i4 s = name##_sums(count, same, w, &x->x, &scales);                                  \
        const i4 m = minimum_sums(x, bytes_to_words(low, both), bytes_to_words(high, both));       \
        return step_k_minimum_4((f4)_mm256_castps256_ps128(d), x->x.d, s,                          \
                                (f4)_mm256_extractf128_ps(d, 1), m);                               \
    }

K_NIBBLES_VALUE(q4_K)
K_NIBBLES_VALUE(q5_K)

/* Q3_K: klayout.h. A lane has two bytes of codes, the twelve bytes, and d. */

ALWAYS_INLINE __m512i scales_unpack(__m512i v)
{
#define LOW_LANE FROM_4(2), FROM_4(6), FROM_4(2), FROM_4(6)
#define HIGH_LANE FROM_4(10), FROM_4(10), FROM_4(10), FROM_4(10)
    const b64 low = {LOW_LANE, LOW_LANE, LOW_LANE, LOW_LANE};
    const b64 high = {HIGH_LANE, HIGH_LANE, HIGH_LANE, HIGH_LANE};
#undef LOW_LANE
#undef HIGH_LANE
    const d8 shift = {0, 4, 0, 4, 0, 4, 0, 4};
    const w16 left = {4, 2, 0, 30, 4, 2, 0, 30, 4, 2, 0, 30, 4, 2, 0, 30};
    const __m512i a = _mm512_srlv_epi64(_mm512_shuffle_epi8(v, (__m512i)low), (__m512i)shift);
    const __m512i b = _mm512_rolv_epi32(_mm512_shuffle_epi8(v, (__m512i)high), (__m512i)left);
    return or_masked(_mm512_and_si512(a, bytes_512(15)), b, 0x30);
}

ALWAYS_INLINE f4 q3_K_value(int count, bool same, const struct qkern_block_q3_K *const w[4],
                            const struct q8_K_four *x)
{
    const h32 d_at = {7, 15, 23, 31};
    const __m512i heads = LANES_OF(w, qs, 62);
    const struct k_scales_16 scales =
        scales_widen(_mm512_sub_epi8(scales_unpack(heads), bytes_512(32)));
    const i4 s = q3_K_sums(count, same, w, x, &scales);
    return step_scale_4((f4)_mm256_castps256_ps128(scales_of_blocks(d_at, heads)), x->d, s);
}

ALWAYS_INLINE f4 q6_K_value(int count, bool same, const struct qkern_block_q6_K *const w[4],
                            const struct q8_K_four *x)
{
    const struct k_scales_16 scales = scales_widen(LANES_OF(w, scales, 0));
    return step_scale_4(F4_OF(w, d), x->d, q6_K_sums(count, same, w, x, &scales));
}

/*
 * vec_dot takes four blocks of a row at a time, a partial for each. vec_dot_rows takes one block of
 * four rows at a time: lane r of a partial belongs to row r, and the activations' block stays in
 * registers.
 */
#define K_DOTS(name, FOUR, LOAD)                                                                   \
    float name##_vec_dot(uint64_t n, const void *weights, const void *activations)                 \
    {                                                                                              \
        static const struct qkern_block_##name no_w;                                               \
        static const struct qkern_block_q8_K no_x;                                                 \
        const struct qkern_block_##name *w = weights;                                              \
        const struct qkern_block_q8_K *x = activations;                                            \
        uint64_t units = n / K_ELEMENTS;                                                           \
        f4 p = {0.0f, 0.0f, 0.0f, 0.0f};                                                           \
        for (; units >= 4; units -= 4, w += 4, x += 4) {                                           \
            const struct qkern_block_##name *const ws[4] = {w, w + 1, w + 2, w + 3};               \
            const struct qkern_block_q8_K *const xs[4] = {x, x + 1, x + 2, x + 3};                 \
            const struct FOUR four = LOAD(false, xs);                                              \
            p += name##_value(4, false, ws, &four);                                                \
        }                                                                                          \
        if (units > 0) {                                                                           \
            const struct qkern_block_##name *const ws[4] = {w, units > 1 ? w + 1 : &no_w,          \
                                                            units > 2 ? w + 2 : &no_w, &no_w};     \
            const struct qkern_block_q8_K *const xs[4] = {x, units > 1 ? x + 1 : &no_x,            \
                                                          units > 2 ? x + 2 : &no_x, &no_x};       \
            const struct FOUR four = LOAD(false, xs);                                              \
            p += name##_value((int)units, false, ws, &four);                                       \
        }                                                                                          \
        return f4_partials_total(p);                                                               \
    }                                                                                              \
                                                                                                   \
    static void name##_four_rows(uint64_t units, float *out, const uint8_t *weights,               \
                                 uint64_t row_stride, const struct qkern_block_q8_K *x)            \
    {                                                                                              \
        const struct qkern_block_##name *row[4];                                                   \
        for (uint64_t r = 0; r < 4; r++)                                                           \
            row[r] = (const struct qkern_block_##name *)(weights + r * row_stride);                \
        f4 p[STEP_PARTIALS] = {{0.0f}, {0.0f}, {0.0f}, {0.0f}};                                    \
        for (uint64_t u = 0; u < units; u++) {                                                     \
            const struct qkern_block_##name *const ws[4] = {row[0] + u, row[1] + u, row[2] + u,    \
                                                            row[3] + u};                           \
            const struct qkern_block_q8_K *const xs[4] = {x + u, x + u, x + u, x + u};             \
            for (int r = 0; r < 4; r++)                                                            \
                for (size_t b = 0; b < sizeof *ws[0]; b += 64)                                     \
                    __builtin_prefetch((const uint8_t *)ws[r] + b + 4 * row_stride);               \
            const struct FOUR four = LOAD(true, xs);                                               \
            const f4 sum = p[0] + name##_value(4, true, ws, &four);                                \
            p[0] = p[1];                                                                           \
            p[1] = p[2];                                                                           \
            p[2] = p[3];                                                                           \
            p[3] = sum;                                                                            \
        }                                                                                          \
        f4 by_unit[STEP_PARTIALS];                                                                 \
        for (uint64_t i = 0; i < STEP_PARTIALS; i++)                                               \
            by_unit[(units + i) % STEP_PARTIALS] = p[i];                                           \
        const f4 total = (by_unit[0] + by_unit[2]) + (by_unit[1] + by_unit[3]);                    \
        memcpy(out, &total, sizeof total);                                                         \
    }                                                                                              \
                                                                                                   \
    void name##_vec_dot_rows(uint64_t n, uint64_t rows, float *out, const void *weights,           \
                             uint64_t row_stride, const void *activations)                         \
    {                                                                                              \
        const uint8_t *w = weights;                                                                \
        for (; rows >= 4; rows -= 4, out += 4, w += 4 * row_stride)                                \
            name##_four_rows(n / K_ELEMENTS, out, w, row_stride, activations);                     \
        for (; rows > 0; rows--, out++, w += row_stride)                                           \
            *out = name##_vec_dot(n, w, activations);                                              \
    }

K_DOTS(q2_K, q8_K_four_sums, q8_K_sums_load)
K_DOTS(q3_K, q8_K_four, q8_K_load)
K_DOTS(q4_K, q8_K_four_sums, q8_K_sums_load)
K_DOTS(q5_K, q8_K_four_sums, q8_K_sums_load)
K_DOTS(q6_K, q8_K_four, q8_K_load)
