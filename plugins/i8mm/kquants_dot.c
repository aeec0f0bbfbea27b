/* SPDX-License-Identifier: MIT */
/*
 * vec_dot_rows of Q2_K and Q3_K, types with sixteen groups of 16, by SMMLA.
 *
 * SMMLA multiplies two rows of eight bytes with two columns of eight. With one row of activations
 * only two of the four sums are of use; here these are the sums of two groups:
 *
 *   w { g, g + 1 }      x { g, g + 1 }       gives  { g,  -,     -,     g + 1 }
 *   w { g + 2, g + 3 }  x { g + 3, g + 2 }   gives  { -,  g + 2, g + 3, -     }
 *
 * each twice, for the inner and the outer eight elements of both groups. What is gained over SDOT
 * is that four groups come into one register and take their scales in one multiplication. Weights
 * are loaded so that the inner elements lie side by side; activations are put together once for
 * all rows.
 */
#include "common/dots.h"
#include "neon/kcodes.h"

#define ROWS_TOGETHER 8
#define PREFETCH_BYTES 4096
#define K_UNROLLED /* as in the neon plugin */

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

/* The codes of 64 activations, of groups g to g + 3, as the comment above has them. */
struct pairs_64 {
    int8x16_t outer[2];
    int8x16_t inner_swapped; /* of g + 2 and g + 3; those of g and g + 1 are taken from the block */
};

struct pairs {
    const struct qkern_block_q8_K *block;
    struct pairs_64 codes[4];
};

struct pairs_four {
    struct pairs unit[4];
    f4 d;
};

ALWAYS_INLINE int8x16_t two_eights(const int8_t *a, const int8_t *b)
{
    return vcombine_s8(vld1_s8(a), vld1_s8(b));
}

ALWAYS_INLINE struct pairs_four pairs_load(int count, const struct qkern_block_q8_K *const x[4])
{
    struct pairs_four four;
    for (int u = 0; u < 4; u++) {
        four.d[u] = load_f32(x[u]->d);
        four.unit[u].block = x[u];
        for (int k = 0; u < count && k < 4; k++) {
            const int8_t *q = x[u]->qs + 64 * k;
            four.unit[u].codes[k] =
                (struct pairs_64){{two_eights(q, q + 24), two_eights(q + 32 + 24, q + 32)},
                                  two_eights(q + 32 + 16, q + 32 + 8)};
        }
    }
    return four;
}

/* Groups g, g + 2, g + 3, g + 1: two planes of 32 elements against 64 activations. */
ALWAYS_INLINE int32x4_t pairs_dot(const int8x16_t inner[2], const int8x16_t outer[2],
                                  const struct pairs *x, int k)
{
    const struct pairs_64 *codes64 = &x->codes[k];
    const int8x16_t x_inner = codes(inner_bytes(x->block->qs + 64 * k));
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t first =
        vmmlaq_s32(vmmlaq_s32(zero, inner[0], x_inner), outer[0], codes64->outer[0]);
    const int32x4_t second =
        vmmlaq_s32(vmmlaq_s32(zero, inner[1], codes64->inner_swapped), outer[1], codes64->outer[1]);
    const uint32x4_t diagonal = {UINT32_MAX, 0, 0, UINT32_MAX};
    return vbslq_s32(diagonal, first, second);
}

/* The order of groups in which pairs_dot leaves them, in each four. */
ALWAYS_INLINE int8x16_t pairs_order(int8x16_t scales)
{
    const uint8x16_t order = {0, 2, 3, 1, 4, 6, 7, 5, 8, 10, 11, 9, 12, 14, 15, 13};
    return vqtbl1q_s8(scales, order);
}

/* The planes of 32 bytes: 128 elements, groups 8 * half to 8 * half + 7. */
ALWAYS_INLINE k_acc pairs_sum(k_acc s, const struct k_planes *inner, const struct k_planes *outer,
                              const struct pairs *x, const struct k_lanes *scale, int half)
{
    s += pairs_dot(inner->p, outer->p, x, 2 * half) * scale->group[2 * half];
    return s + pairs_dot(inner->p + 2, outer->p + 2, x, 2 * half + 1) * scale->group[2 * half + 1];
}

ALWAYS_INLINE k_acc q2_K_sum(const struct qkern_block_q2_K *w, const struct pairs *x)
{
    const struct k_lanes scale =
        k_lanes_unsigned(vreinterpretq_u8_s8(pairs_order(codes(q2_K_scales(w)))));
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
    const struct k_lanes scale = k_lanes_signed(pairs_order(q3_K_scales(w)));
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

#define K_TYPES(MINIMUM, SCALE) MINIMUM(q2_K) SCALE(q3_K)
#define K_DOTS(name, activation, FOUR, LOAD, VALUE)                                                \
    DOTS_WALK(name, activation, FOUR, LOAD, VALUE)                                                 \
    DOTS_OF_ROWS(name, activation)
#define K_FOUR pairs_four
#define K_LOAD pairs_load
#define K_UNIT(x, u) (&(x)->unit[u])

#include "common/dots_kquants.h"
