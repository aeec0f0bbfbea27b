/* SPDX-License-Identifier: MIT */
/*
 * Quantize to Q2_K .. Q6_K, over the primitives of lanes.h, in the three steps of
 * plugins/scalar/kquants_quantize.c:
 *
 *   1. search: a group in each lane                      (lanes_search.h)
 *   2. round the scales of a block: a block in each lane
 *   3. compute the codes: elements side by side
 */
#ifndef QKERN_COMMON_LANES_KQUANTIZE_H
#define QKERN_COMMON_LANES_KQUANTIZE_H

#include "kblock.h"
#include "kernels.h"
#include "lanes.h"
#include "lanes_search.h"

/* Enough to fill the lanes in every step, a multiple of LANES. */
#define BATCH_BLOCKS 16
#define BATCH_GROUPS (BATCH_BLOCKS * K_GROUPS_MAX)

/* Group g of block k is at [k * groups + g], where a block has so many groups. */
struct batch {
    /* Step 1; unset is what the type does not have. */
    float scale[BATCH_GROUPS];
    float min[BATCH_GROUPS];
    float weight[BATCH_GROUPS]; /* the sum of the group's weights; only with importance */
    float s[BATCH_GROUPS];
    float lo[BATCH_GROUPS];
    bool codes_lost; /* they are no function of s and lo: q3_K_search */

    /* Step 2 */
    int32_t rounded_scale[BATCH_GROUPS];
    int32_t rounded_min[BATCH_GROUPS];
    float d[BATCH_BLOCKS];
    float dmin[BATCH_BLOCKS];
};

/* Step 1 */

#define SEARCHED (TURNS * LANES) /* groups at once */

/* The mean square of each of the blocks, times factor. */
ALWAYS_INLINE void mean_squares(int blocks, float factor, const float *x,
                                float sigma2[BATCH_BLOCKS])
{
    for (int first = 0; first < blocks; first += LANES, x += LANES * K_ELEMENTS) {
        vf sum = vf_set(0.0f);
        for (int e = 0; e < K_ELEMENTS; e += LANES) {
            vf v[LANES];
            lanes_load(1, LANES, blocks - first, K_ELEMENTS, x + e, v);
            for (int i = 0; i < LANES; i++)
                sum = sum + v[i] * v[i];
        }
        vf_store(sigma2 + first, vf_set(factor) * sum / vf_set((float)K_ELEMENTS));
    }
}

/* The importance weights of groups from `first`, the number of a group in the batch. */
ALWAYS_INLINE void group_weights(int n, int first, int groups, const float *sigma2,
                                 const float *importance, const vf *x, vf *w, struct batch *f)
{
    lanes_load(TURNS, n, groups - first, n, importance, w);
    for (int t = 0; t < TURNS; t++) {
        float lane[LANES];
        for (int g = 0; g < LANES; g++) {
            const int group = first + t * LANES + g;
            lane[g] = sigma2[(group < groups ? group : first) * n / K_ELEMENTS];
        }
        lanes_importance_weights(n, x + t * n, vf_load(lane), w + t * n);
        vf_store(f->weight + first + t * LANES, lanes_sum_in_order(n, w + t * n));
    }
}

ALWAYS_INLINE struct lanes_found found_at(struct batch *f, int first)
{
    return (struct lanes_found){f->scale + first, f->min + first, f->s + first, f->lo + first};
}

/* With minimum: Q2_K, Q4_K, Q5_K. Without importance they weigh by magnitude. */

ALWAYS_INLINE void minimum_search(struct k_shape shape, struct qkx_steps steps, bool add_rms,
                                  int blocks, const float *x, struct batch *f)
{
    const int n = shape.group, groups = blocks * K_ELEMENTS / n;
    for (int first = 0; first < groups; first += SEARCHED, x += SEARCHED * n) {
        vf v[TURNS * SEARCH_MAX], w[TURNS * SEARCH_MAX];
        lanes_load(TURNS, n, groups - first, n, x, v);
        for (int t = 0; t < TURNS; t++) {
            vf base = vf_set(0.0f);
            if (add_rms) {
                for (int i = t * n; i < (t + 1) * n; i++)
                    base = base + v[i] * v[i];
                base = vf_sqrt(base / vf_set((float)n));
            }
            for (int i = t * n; i < (t + 1) * n; i++)
                w[i] = base + vf_abs(v[i]);
        }
        lanes_qkx(TURNS, n, shape.high, v, w, steps, found_at(f, first));
    }
}

ALWAYS_INLINE void minimum_search_weighted(struct k_shape shape, float sigma_factor, int blocks,
                                           const float *x, const float *importance, struct batch *f)
{
    const int n = shape.group, groups = blocks * K_ELEMENTS / n;
    float sigma2[BATCH_BLOCKS];
    mean_squares(blocks, sigma_factor, x, sigma2);
    for (int first = 0; first < groups; first += SEARCHED) {
        vf v[TURNS * SEARCH_MAX], w[TURNS * SEARCH_MAX];
        lanes_load(TURNS, n, groups - first, n, x + first * n, v);
        group_weights(n, first, groups, sigma2, importance + first * n, v, w, f);
        lanes_qkx(TURNS, n, shape.high, v, w, importance_steps, found_at(f, first));
    }
}

#define K_MINIMUM_SEARCH(name, ADD_RMS, SIGMA_FACTOR)                                              \
    static inline void name##_search(int blocks, const float *x, struct batch *f)                  \
    {                                                                                              \
        minimum_search(name##_shape, name##_steps, ADD_RMS, blocks, x, f);                         \
    }                                                                                              \
    static inline void name##_search_weighted(int blocks, const float *x, const float *importance, \
                                              struct batch *f)                                     \
    {                                                                                              \
        minimum_search_weighted(name##_shape, SIGMA_FACTOR, blocks, x, importance, f);             \
    }

K_MINIMUM_SEARCH(q2_K, false, 1.0f)
K_MINIMUM_SEARCH(q4_K, true, 2.0f)
K_MINIMUM_SEARCH(q5_K, true, 2.0f)

/* Without minimum: Q3_K, Q6_K. Without importance they weigh by square. */

/* The groups of `numbers`, so many that they fill Q3_TURNS vectors at most. */
static inline void q3_K_search_moving(int count, const int *numbers, const float *x, float *scale)
{
    const int turns = (count + LANES - 1) / LANES;
    vf v[Q3_TURNS * 16], found[Q3_TURNS];
    for (int t = 0; t < turns; t++) {
        const float *from[LANES];
        for (int g = 0; g < LANES; g++)
            from[g] = x + 16 * numbers[t * LANES + g < count ? t * LANES + g : 0];
        lanes_load_from(16, from, v + t * 16);
    }
    lanes_q3(turns, 16, 4, v, found);
    for (int k = 0; k < count; k++)
        scale[numbers[k]] = found[k / LANES][k % LANES];
}

/* First all groups as far as they go without moving a code, then those in which one may move. */
static inline void q3_K_search(int blocks, const float *x, struct batch *f)
{
    const int groups = blocks * K_ELEMENTS / 16;
    int moving[BATCH_GROUPS], count = 0;
    for (int first = 0; first < groups; first += LANES) {
        vf v[16];
        vm empty;
        struct lanes_q3 start;
        lanes_load(1, 16, groups - first, 16, x + first * 16, v);
        lanes_q3_start(16, 4, v, &start, &empty);
        vf_store(f->scale + first, lanes_q3_scale(&start, empty));
        const uint32_t moves = vm_bits(vm_without(lanes_q3_may_move(16, v, &start), empty));
        for (int g = first; g < first + LANES && g < groups; g++) {
            moving[count] = g;
            count += (int)(moves >> (g - first) & 1);
        }
    }
    for (int k = 0; k < count; k += Q3_TURNS * LANES)
        q3_K_search_moving(at_most((uint64_t)(count - k), Q3_TURNS * LANES), moving + k, x,
                           f->scale);
    f->codes_lost = true;
}

static inline void q3_K_search_weighted(int blocks, const float *x, const float *importance,
                                        struct batch *f)
{
    const int groups = blocks * K_ELEMENTS / 16;
    float sigma2[BATCH_BLOCKS];
    mean_squares(blocks, 2.0f, x, sigma2);
    for (int first = 0; first < groups; first += SEARCHED) {
        vf v[TURNS * 16], w[TURNS * 16];
        lanes_load(TURNS, 16, groups - first, 16, x + first * 16, v);
        group_weights(16, first, groups, sigma2, importance + first * 16, v, w, f);
        lanes_qx(TURNS, 16, 4, true, v, w, found_at(f, first));
    }
}

/* importance: NULL for none. */
ALWAYS_INLINE void q6_K_search_any(int blocks, const float *x, const float *importance,
                                   struct batch *f)
{
    const int groups = blocks * K_ELEMENTS / 16;
    for (int first = 0; first < groups; first += SEARCHED) {
        vf v[TURNS * 16], w[TURNS * 16];
        lanes_load(TURNS, 16, groups - first, 16, x + first * 16, v);
        if (importance != NULL)
            lanes_load(TURNS, 16, groups - first, 16, importance + first * 16, w);
        else
            for (int i = 0; i < TURNS * 16; i++)
                w[i] = v[i] * v[i];
        lanes_qx(TURNS, 16, 32, true, v, w, found_at(f, first));
    }
}

static inline void q6_K_search(int blocks, const float *x, struct batch *f)
{
    q6_K_search_any(blocks, x, NULL, f);
}

static inline void q6_K_search_weighted(int blocks, const float *x, const float *importance,
                                        struct batch *f)
{
    q6_K_search_any(blocks, x, importance, f);
}

/* Step 2, for LANES blocks from `first`, or fewer where the batch ends; the first stands in. */

/* Number g of each block. */
ALWAYS_INLINE vf column_load(int blocks, int groups, int g, const float *from)
{
    float lane[LANES];
    for (int k = 0; k < LANES; k++)
        lane[k] = from[(k < blocks ? k : 0) * groups + g];
    return vf_load(lane);
}

ALWAYS_INLINE void column_store(int groups, int g, vi v, int32_t *to)
{
    int32_t lane[LANES];
    vi_store(lane, v);
    for (int k = 0; k < LANES; k++)
        to[k * groups + g] = lane[k];
}

/* round_scales; returns the ds. */
ALWAYS_INLINE vf lanes_round_scales(int blocks, int groups, int limit, const float *scale,
                                    int32_t *rounded)
{
    vf v[K_GROUPS_MAX], largest = vf_set(0.0f);
    for (int g = 0; g < groups; g++) {
        v[g] = column_load(blocks, groups, g, scale);
        largest = vf_max(v[g], largest);
    }
    const vf highest = vf_set((float)limit);
    const vm some = vf_gt(largest, vf_set(0.0f));
    const vf inverse = vf_select(some, highest / largest, vf_set(0.0f));
    for (int g = 0; g < groups; g++) {
        const vi byte = vi_bits(inverse * v[g] + vf_set(RNE_SHIFT)) & vi_set(255);
        column_store(groups, g, vi_from_f32(vf_min(vf_from_i32(byte), highest)), rounded);
    }
    return vf_select(some, largest / highest, vf_set(0.0f));
}

ALWAYS_INLINE void minimum_round(struct k_shape shape, int blocks, int first, struct batch *f)
{
    const int groups = K_ELEMENTS / shape.group, limit = shape.scale_max, at = first * groups;
    vf_store(f->d + first, lanes_round_scales(blocks - first, groups, limit, f->scale + at,
                                              f->rounded_scale + at));
    vf_store(f->dmin + first,
             lanes_round_scales(blocks - first, groups, limit, f->min + at, f->rounded_min + at));
}

/* search_qp for the scales of the blocks; returns the ds. */
ALWAYS_INLINE vf lanes_search_scales(int blocks, int groups, int limit, const float *scale,
                                     const float *weight, int32_t *rounded)
{
    vf v[K_GROUPS_MAX], w[K_GROUPS_MAX], L[K_GROUPS_MAX];
    for (int g = 0; g < groups; g++) {
        v[g] = column_load(blocks, groups, g, scale);
        w[g] = column_load(blocks, groups, g, weight);
    }
    const vf d = lanes_qp(groups, limit, v, w, L);
    for (int g = 0; g < groups; g++)
        column_store(groups, g, vi_from_f32(L[g]), rounded);
    return d;
}

ALWAYS_INLINE void minimum_round_weighted(struct k_shape shape, int blocks, int first,
                                          struct batch *f)
{
    const int groups = K_ELEMENTS / shape.group, limit = shape.scale_max, at = first * groups;
    vf_store(f->d + first, lanes_search_scales(blocks - first, groups, limit, f->scale + at,
                                               f->weight + at, f->rounded_scale + at));
    vf_store(f->dmin + first, lanes_search_scales(blocks - first, groups, limit, f->min + at,
                                                  f->weight + at, f->rounded_min + at));
}

/*
 * Scales with a sign become -limit .. limit - 1 times d, the extreme one -limit, kept from 0. Where
 * it is 0, or tiny if that `is_none`, there is nothing to scale: they and d are 0.
 */
ALWAYS_INLINE void signed_round(int limit, bool tiny_is_none, int blocks, int first,
                                struct batch *f)
{
    const vf zero = vf_set(0.0f);
    vf v[16];
    vm tiny;
    for (int g = 0; g < 16; g++)
        v[g] = column_load(blocks - first, 16, g, f->scale + 16 * first);
    const vf extreme = lanes_extreme(16, v, &tiny);
    const vm none = tiny_is_none ? tiny : vf_eq(extreme, zero);
    const vf inverse = vf_set(-(float)limit) / extreme;
    for (int g = 0; g < 16; g++) {
        const vi code = lanes_rne_from_low(inverse * v[g], -limit, limit - 1);
        const vf some = vf_select(none, zero, vf_from_i32(code));
        column_store(16, g, vi_from_f32(some), f->rounded_scale + 16 * first);
    }
    vf_store(f->d + first, vf_select(none, zero, vf_set(1.0f) / inverse));
}

static inline void q3_K_round(int blocks, int first, struct batch *f)
{
    signed_round(32, false, blocks, first, f);
}

static inline void q3_K_round_weighted(int blocks, int first, struct batch *f)
{
    vf v[16], w[16];
    float s[LANES], lo[LANES];
    for (int g = 0; g < 16; g++) {
        v[g] = column_load(blocks - first, 16, g, f->scale + 16 * first);
        w[g] = column_load(blocks - first, 16, g, f->weight + 16 * first);
    }
    lanes_qx(1, 16, 32, false, v, w, (struct lanes_found){f->d + first, NULL, s, lo});
    for (int g = 0; g < 16; g++) {
        const vf number = vf_select(vf_eq(v[g], v[g]), v[g], vf_set(0.0f)); /* rne(NaN) is 0 */
        column_store(16, g, lanes_rne_from_low(vf_load(s) * (number - vf_load(lo)), -32, 31),
                     f->rounded_scale + 16 * first);
    }
}

static inline void q6_K_round(int blocks, int first, struct batch *f)
{
    signed_round(128, true, blocks, first, f);
}

static inline void q6_K_round_weighted(int blocks, int first, struct batch *f)
{
    q6_K_round(blocks, first, f);
}

#define K_MINIMUM_ROUND(name)                                                                      \
    static inline void name##_round(int blocks, int first, struct batch *f)                        \
    {                                                                                              \
        minimum_round(name##_shape, blocks, first, f);                                             \
    }                                                                                              \
    static inline void name##_round_weighted(int blocks, int first, struct batch *f)               \
    {                                                                                              \
        minimum_round_weighted(name##_shape, blocks, first, f);                                    \
    }

K_MINIMUM_ROUND(q2_K)
K_MINIMUM_ROUND(q4_K)
K_MINIMUM_ROUND(q5_K)

/* Step 3 */

/* The codes that the search left for group g of a block, whose elements are at x. */
ALWAYS_INLINE void searched_codes(struct k_shape shape, const struct batch *f, int block, int g,
                                  const float *x, uint8_t *code)
{
    const int group = block * (K_ELEMENTS / shape.group) + g;
    if (f->codes_lost) {
        int32_t L[SEARCH_MAX];
        search_q3(16, 4, x, L);
        for (int e = 0; e < 16; e++)
            code[e] = (uint8_t)L[e];
        return;
    }
    const int pair = g * shape.group % 32; /* lanes_codes makes 32 */
    vb q[2];
    lanes_codes(x - pair, vf_set(f->s[group]), vf_set(f->lo[group]), shape.low, shape.high, q);
    for (int e = 0; e < shape.group; e += 16)
        vb_store(code + e, q[(pair + e) / 16]);
}

/* The scale and minimum of each group as stored, multiplied out, and 1 / scale. */
struct factors {
    float scale[K_GROUPS_MAX];
    float min[K_GROUPS_MAX];
    float inverse[K_GROUPS_MAX];
};

/*
 * 32 codes of elements that are e and following in their block: k_requantize. Mostly v * (1 / d) is
 * so far from a half that it rounds to the same code as v / d, for they differ by less than 2^-22
 * times their size; only else is there a division.
 */
ALWAYS_INLINE void codes_of_32(struct k_shape shape, const struct factors *f, int e, const float *x,
                               uint8_t code[32])
{
    vf v[32 / LANES];
    vi q[32 / LANES];
    vm sure = vf_eq(vf_set(0.0f), vf_set(0.0f));
    for (int k = 0; k < 32 / LANES; k++) {
        const int g = (e + k * LANES) / shape.group;
        v[k] = vf_load(x + k * LANES);
        if (shape.has_min)
            v[k] = v[k] + vf_set(f->min[g]);
        const vf near = v[k] * vf_set(f->inverse[g]);
        const vf clamped = lanes_near_clamped(near, shape.low, shape.high);
        sure = vm_and(sure, vf_gt(vf_set(0.4999f), vf_abs(near - clamped)));
        q[k] = vi_from_f32(clamped - vf_set((float)shape.low));
    }
    if (!vm_all(sure))
        for (int k = 0; k < 32 / LANES; k++) {
            const vf d = vf_set(f->scale[(e + k * LANES) / shape.group]);
            q[k] = lanes_rne_from_low(v[k] / d, shape.low, shape.high);
        }
    vb codes[2];
    vb_narrow(q, codes);
    vb_store(code, codes[0]);
    vb_store(code + 16, codes[1]);
}

/*
 * The codes of a block from its stored scales; groups whose scale is 0 keep the search's. offset is
 * what the stored scales have above their value.
 */
ALWAYS_INLINE void block_codes(struct k_shape shape, const struct batch *f, int block, int offset,
                               float d, float dmin, const float *x, uint8_t code[K_ELEMENTS])
{
    const int groups = K_ELEMENTS / shape.group, first = block * groups;
    struct factors factors;
    for (int g = 0; g < groups; g++) {
        factors.scale[g] = d * (float)(f->rounded_scale[first + g] - offset);
        factors.min[g] = shape.has_min ? dmin * (float)f->rounded_min[first + g] : 0.0f;
        factors.inverse[g] = 1.0f / factors.scale[g];
    }
    for (int e = 0; e < K_ELEMENTS; e += 32)
        codes_of_32(shape, &factors, e, x + e, code + e);
    for (int g = 0; g < groups; g++)
        if (factors.scale[g] == 0.0f)
            searched_codes(shape, f, block, g, x + g * shape.group, code + g * shape.group);
}

/* The layouts of klayout.h, sixteen bytes at a time. */

ALWAYS_INLINE void pack_pairs(const uint8_t code[K_ELEMENTS], uint8_t bytes[64])
{
    for (int at = 0; at < 64; at += 16) {
        const uint8_t *c = code + at / 32 * 128 + at % 32;
        vb_store(bytes + at, (vb_load(c) & 3) | vb_left(vb_load(c + 32) & 3, 2) |
                                 vb_left(vb_load(c + 64) & 3, 4) | vb_left(vb_load(c + 96) & 3, 6));
    }
}

ALWAYS_INLINE void pack_nibbles(const uint8_t code[K_ELEMENTS], uint8_t bytes[128])
{
    for (int at = 0; at < 128; at += 16) {
        const uint8_t *c = code + at / 32 * 64 + at % 32;
        vb_store(bytes + at, (vb_load(c) & 15) | vb_left(vb_load(c + 32) & 15, 4));
    }
}

ALWAYS_INLINE void pack_high_bits(const uint8_t code[K_ELEMENTS], int at, uint8_t bytes[32])
{
    for (int l = 0; l < 32; l += 16) {
        vb bits = vb_bits(vb_load(code + l), at, 1);
        for (int k = 1; k < 8; k++)
            bits = bits | vb_left(vb_bits(vb_load(code + 32 * k + l), at, 1), k);
        vb_store(bytes + l, bits);
    }
}

ALWAYS_INLINE void pack_sixes(const uint8_t code[K_ELEMENTS], uint8_t low[128], uint8_t high[64])
{
    for (int at = 0; at < 64; at += 16) {
        const uint8_t *c = code + at / 32 * 128 + at % 32;
        const vb a = vb_load(c), b = vb_load(c + 32), p = vb_load(c + 64), q = vb_load(c + 96);
        uint8_t *l = low + at / 32 * 64 + at % 32;
        vb_store(l, (a & 15) | vb_left(p & 15, 4));
        vb_store(l + 32, (b & 15) | vb_left(q & 15, 4));
        vb_store(high + at, vb_bits(a, 4, 3) | vb_left(vb_bits(b, 4, 3), 2) |
                                vb_left(vb_bits(p, 4, 3), 4) | vb_left(vb_bits(q, 4, 3), 6));
    }
}

static inline void q2_K_store(const struct batch *f, int k, const float *x,
                              struct qkern_block_q2_K *b)
{
    uint8_t code[K_ELEMENTS];
    const float d = store_scale(b->d, f->d[k]), dmin = store_scale(b->dmin, f->dmin[k]);
    for (int g = 0; g < 16; g++)
        b->scales[g] = (uint8_t)(f->rounded_scale[16 * k + g] | f->rounded_min[16 * k + g] << 4);
    block_codes(q2_K_shape, f, k, 0, d, dmin, x, code);
    pack_pairs(code, b->qs);
}

static inline void q3_K_store(const struct batch *f, int k, const float *x,
                              struct qkern_block_q3_K *b)
{
    uint8_t code[K_ELEMENTS];
    const float d = store_scale(b->d, f->d[k]);
    k_scales_pack(f->rounded_scale + 16 * k, b->scales);
    block_codes(q3_K_shape, f, k, 32, d, 0.0f, x, code);
    pack_pairs(code, b->qs);
    pack_high_bits(code, 2, b->hmask);
}

static inline void q4_K_store(const struct batch *f, int k, const float *x,
                              struct qkern_block_q4_K *b)
{
    uint8_t code[K_ELEMENTS];
    const float d = store_scale(b->d, f->d[k]), dmin = store_scale(b->dmin, f->dmin[k]);
    k_scales_min_pack(f->rounded_scale + 8 * k, f->rounded_min + 8 * k, b->scales);
    block_codes(q4_K_shape, f, k, 0, d, dmin, x, code);
    pack_nibbles(code, b->qs);
}

static inline void q5_K_store(const struct batch *f, int k, const float *x,
                              struct qkern_block_q5_K *b)
{
    uint8_t code[K_ELEMENTS];
    const float d = store_scale(b->d, f->d[k]), dmin = store_scale(b->dmin, f->dmin[k]);
    k_scales_min_pack(f->rounded_scale + 8 * k, f->rounded_min + 8 * k, b->scales);
    block_codes(q5_K_shape, f, k, 0, d, dmin, x, code);
    pack_nibbles(code, b->qs);
    pack_high_bits(code, 4, b->qh);
}

static inline void q6_K_store(const struct batch *f, int k, const float *x,
                              struct qkern_block_q6_K *b)
{
    if (f->d[k] == 0.0f) {
        memset(b, 0, sizeof *b);
        return;
    }
    uint8_t code[K_ELEMENTS];
    const float d = store_scale(b->d, f->d[k]);
    for (int g = 0; g < 16; g++)
        b->scales[g] = (int8_t)(f->rounded_scale[16 * k + g] - 128);
    block_codes(q6_K_shape, f, k, 128, d, 0.0f, x, code);
    pack_sixes(code, b->ql, b->qh);
}

#define K_QUANTIZE(name)                                                                           \
    void name##_quantize(uint64_t n, const float *x, void *blocks)                                 \
    {                                                                                              \
        struct qkern_block_##name *b = blocks;                                                     \
        for (uint64_t left = n / K_ELEMENTS; left > 0;) {                                          \
            struct batch f;                                                                        \
            const int count = at_most(left, BATCH_BLOCKS);                                         \
            left -= (uint64_t)count;                                                               \
            f.codes_lost = false;                                                                  \
            name##_search(count, x, &f);                                                           \
            for (int k = 0; k < count; k += LANES)                                                 \
                name##_round(count, k, &f);                                                        \
            for (int k = 0; k < count; k++, x += K_ELEMENTS, b++)                                  \
                name##_store(&f, k, x, b);                                                         \
        }                                                                                          \
    }                                                                                              \
    void name##_quantize_weighted(uint64_t n, const float *x, const float *importance,             \
                                  void *blocks)                                                    \
    {                                                                                              \
        struct qkern_block_##name *b = blocks;                                                     \
        for (uint64_t left = n / K_ELEMENTS; left > 0;) {                                          \
            struct batch f;                                                                        \
            const int count = at_most(left, BATCH_BLOCKS);                                         \
            left -= (uint64_t)count;                                                               \
            f.codes_lost = false;                                                                  \
            name##_search_weighted(count, x, importance, &f);                                      \
            for (int k = 0; k < count; k += LANES)                                                 \
                name##_round_weighted(count, k, &f);                                               \
            importance += count * K_ELEMENTS;                                                      \
            for (int k = 0; k < count; k++, x += K_ELEMENTS, b++)                                  \
                name##_store(&f, k, x, b);                                                         \
        }                                                                                          \
    }

K_QUANTIZE(q2_K)
K_QUANTIZE(q3_K)
K_QUANTIZE(q4_K)
K_QUANTIZE(q5_K)
K_QUANTIZE(q6_K)

#endif
