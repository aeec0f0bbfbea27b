/* SPDX-License-Identifier: MIT */
/*
 * vec_dot_rows of the types with sixteen groups of 16, by SMMLA.
 *
 * SMMLA multiplies two rows of eight bytes with two columns of eight. With one row of activations
 * only the two sums on the diagonal are of use; here these are the sums of two groups:
 *
 *   w  { group g, group g + 1 } x { group g, group g + 1 }  gives  { g, -, -, g + 1 }
 *
 * twice, for the inner and the outer eight elements of both. The inner ones lie side by side; the
 * outer ones of the activations are put together once for all rows. What is gained over SDOT is
 * that four groups come into one register and take their scales in one multiplication.
 */
#include "common/dots.h"
#include "neon/kcodes.h"

#define ROWS_TOGETHER 8
#define PREFETCH_BYTES 4096

/* The first and the last eight of 32 bytes. */
ALWAYS_INLINE uint8x16_t outer_bytes(const void *p)
{
    const uint8_t *bytes = p;
    return vcombine_u8(vld1_u8(bytes), vld1_u8(bytes + 24));
}

ALWAYS_INLINE uint8x16_t inner_bytes(const void *p)
{
    const uint8_t *bytes = p;
    return vld1q_u8(bytes + 8);
}

struct pairs {
    const struct qkern_block_q8_K *block;
    int8x16_t outer[8]; /* of each 32 codes */
};

struct pairs_four {
    struct pairs unit[4];
    f4 d;
};

ALWAYS_INLINE struct pairs_four pairs_load(int count, const struct qkern_block_q8_K *const x[4])
{
    struct pairs_four four;
    for (int u = 0; u < 4; u++) {
        four.d[u] = load_f32(x[u]->d);
        four.unit[u].block = x[u];
        for (int k = 0; u < count && k < 8; k++)
            four.unit[u].outer[k] = codes(outer_bytes(x[u]->qs + 32 * k));
    }
    return four;
}

/* Groups g and g + 1, in lanes 0 and 3. */
ALWAYS_INLINE int32x4_t pair_dot(int8x16_t inner, int8x16_t outer, const struct pairs *x, int k)
{
    const int32x4_t s =
        vmmlaq_s32(vdupq_n_s32(0), inner, codes(inner_bytes(x->block->qs + 32 * k)));
    return vmmlaq_s32(s, outer, x->outer[k]);
}

/* Lanes 0 and 3 of both. */
ALWAYS_INLINE int32x4_t four_groups(int32x4_t a, int32x4_t b)
{
    const uint8x16_t at = {0, 1, 2, 3, 12, 13, 14, 15, 16, 17, 18, 19, 28, 29, 30, 31};
    const uint8x16x2_t both = {{vreinterpretq_u8_s32(a), vreinterpretq_u8_s32(b)}};
    return vreinterpretq_s32_u8(vqtbl2q_u8(both, at));
}

/* The planes of 32 bytes: 128 elements, groups 8 * half to 8 * half + 7. */
ALWAYS_INLINE k_acc pairs_sum(k_acc s, const struct k_planes *inner, const struct k_planes *outer,
                              const struct pairs *x, const struct k_lanes *scale, int half)
{
    for (int p = 0; p < 4; p += 2) {
        const int k = 4 * half + p;
        const int32x4_t groups = four_groups(pair_dot(inner->p[p], outer->p[p], x, k),
                                             pair_dot(inner->p[p + 1], outer->p[p + 1], x, k + 1));
        s += groups * scale->group[k / 2];
    }
    return s;
}

ALWAYS_INLINE k_acc q2_K_sum(const struct qkern_block_q2_K *w, const struct pairs *x)
{
    const struct k_lanes scale = q2_K_lanes(w);
    k_acc s = k_acc_zero();
    for (int half = 0; half < 2; half++) {
        const uint8_t *q = w->qs + 32 * half;
        const struct k_planes inner = q2_K_planes(inner_bytes(q));
        const struct k_planes outer = q2_K_planes(outer_bytes(q));
        s = pairs_sum(s, &inner, &outer, x, &scale, half);
    }
    return vshrq_n_s32(s, Q2_K_SHIFT);
}

ALWAYS_INLINE k_acc q2_K_min(const struct qkern_block_q2_K *w, const struct pairs *x)
{
    return q2_K_minimums(w, x->block->bsums);
}

ALWAYS_INLINE k_acc q3_K_sum(const struct qkern_block_q3_K *w, const struct pairs *x)
{
    const struct k_lanes scale = q3_K_lanes(w);
    const uint8x16_t inner_clear = vmvnq_u8(inner_bytes(w->hmask));
    const uint8x16_t outer_clear = vmvnq_u8(outer_bytes(w->hmask));
    k_acc s = k_acc_zero();
    for (int half = 0; half < 2; half++) {
        const uint8_t *q = w->qs + 32 * half;
        const struct k_planes inner = q3_K_planes(inner_bytes(q), inner_clear, half);
        const struct k_planes outer = q3_K_planes(outer_bytes(q), outer_clear, half);
        s = pairs_sum(s, &inner, &outer, x, &scale, half);
    }
    return vshrq_n_s32(s, Q3_K_SHIFT);
}

ALWAYS_INLINE k_acc q6_K_sum(const struct qkern_block_q6_K *w, const struct pairs *x)
{
    const struct k_lanes scale = k_lanes_signed(vld1q_s8(w->scales));
    k_acc s = k_acc_zero();
    for (int half = 0; half < 2; half++) {
        const uint8_t *low = w->ql + 64 * half, *high = w->qh + 32 * half;
        const struct k_planes inner =
            q6_K_planes(inner_bytes(low), inner_bytes(low + 32), inner_bytes(high));
        const struct k_planes outer =
            q6_K_planes(outer_bytes(low), outer_bytes(low + 32), outer_bytes(high));
        s = pairs_sum(s, &inner, &outer, x, &scale, half);
    }
    return vshrq_n_s32(s, Q6_K_SHIFT);
}

#define K_TYPES(MINIMUM, SCALE) MINIMUM(q2_K) SCALE(q3_K) SCALE(q6_K)
#define K_DOTS(name, activation, FOUR, LOAD, VALUE)                                                \
    DOTS_WALK(name, activation, FOUR, LOAD, VALUE)                                                 \
    DOTS_OF_ROWS(name, activation)
#define K_FOUR pairs_four
#define K_LOAD pairs_load
#define K_UNIT(x, u) (&(x)->unit[u])

#include "common/dots_kquants.h"
