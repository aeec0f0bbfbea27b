/* SPDX-License-Identifier: MIT */
/*
 * A block of a K type, taken apart. In all of them
 *
 *   value of element e = (d * scale[g]) * code[e] - (dmin * min[g]),    g its group
 *
 * where Q3_K and Q6_K have no minimum. The shape of a type says how large its groups are and which
 * numbers the parts may be.
 */
#ifndef QKERN_COMMON_KBLOCK_H
#define QKERN_COMMON_KBLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <qkern/blocks.h>

#include "bytes.h"
#include "klayout.h"

#define K_GROUPS_MAX 16

struct k_shape {
    int group;     /* elements in a group: 16 or 32 */
    int low;       /* least code */
    int high;      /* greatest code */
    bool has_min;  /* a minimum for each group */
    int scale_max; /* greatest scale and min of a type with minimum */
};

static const struct k_shape q2_K_shape = {16, 0, 3, true, 15};
static const struct k_shape q3_K_shape = {16, -4, 3, false, 0};
static const struct k_shape q4_K_shape = {32, 0, 15, true, 63};
static const struct k_shape q5_K_shape = {32, 0, 31, true, 63};
static const struct k_shape q6_K_shape = {16, -32, 31, false, 0};

struct k_scales {
    float d;    /* as stored */
    float dmin; /* as stored; 0 without minimum */
    int32_t scale[K_GROUPS_MAX];
    int32_t min[K_GROUPS_MAX]; /* 0 without minimum */
};

static inline struct k_scales q2_K_scales(const struct qkern_block_q2_K *b)
{
    struct k_scales s = {.d = load_f16(b->d), .dmin = load_f16(b->dmin)};
    for (int g = 0; g < 16; g++) {
        s.scale[g] = b->scales[g] & 15;
        s.min[g] = b->scales[g] >> 4;
    }
    return s;
}

static inline struct k_scales q3_K_scales(const struct qkern_block_q3_K *b)
{
    struct k_scales s = {.d = load_f16(b->d)};
    k_scales_unpack(b->scales, s.scale);
    for (int g = 0; g < 16; g++)
        s.scale[g] -= 32;
    return s;
}

static inline struct k_scales q4_K_scales(const struct qkern_block_q4_K *b)
{
    struct k_scales s = {.d = load_f16(b->d), .dmin = load_f16(b->dmin)};
    k_scales_min_unpack(b->scales, s.scale, s.min);
    return s;
}

static inline struct k_scales q5_K_scales(const struct qkern_block_q5_K *b)
{
    struct k_scales s = {.d = load_f16(b->d), .dmin = load_f16(b->dmin)};
    k_scales_min_unpack(b->scales, s.scale, s.min);
    return s;
}

static inline struct k_scales q6_K_scales(const struct qkern_block_q6_K *b)
{
    struct k_scales s = {.d = load_f16(b->d)};
    for (int g = 0; g < 16; g++)
        s.scale[g] = b->scales[g];
    return s;
}

/* Codes as stored, from 0; shape.low is to be added. */

static inline void q2_K_codes(const struct qkern_block_q2_K *b, uint8_t code[K_ELEMENTS])
{
    k_pairs_unpack(b->qs, code);
}

static inline void q3_K_codes(const struct qkern_block_q3_K *b, uint8_t code[K_ELEMENTS])
{
    k_pairs_unpack(b->qs, code);
    k_high_bits_unpack(b->hmask, 2, code);
}

static inline void q4_K_codes(const struct qkern_block_q4_K *b, uint8_t code[K_ELEMENTS])
{
    k_nibbles_unpack(b->qs, code);
}

static inline void q5_K_codes(const struct qkern_block_q5_K *b, uint8_t code[K_ELEMENTS])
{
    k_nibbles_unpack(b->qs, code);
    k_high_bits_unpack(b->qh, 4, code);
}

static inline void q6_K_codes(const struct qkern_block_q6_K *b, uint8_t code[K_ELEMENTS])
{
    k_sixes_unpack(b->ql, b->qh, code);
}

#endif
