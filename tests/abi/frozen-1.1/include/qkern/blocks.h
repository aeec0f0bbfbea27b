/* SPDX-License-Identifier: MIT */
/*
 * The block layouts, byte for byte as ggml stores them.
 *
 * Every field is made of bytes, so that a block may start at any address and sizeof is the stored
 * size. "f16", "f32", "u16" and "i16" name what stands there, little endian; read it with memcpy.
 * e is the number of an element in its block.
 */
#ifndef QKERN_BLOCKS_H
#define QKERN_BLOCKS_H

#include <stdint.h>

#include "types.h"

/* value = (q - 8) * d. qs[j]: low nibble element j, high nibble element j + 16. */
struct qkern_block_q4_0 {
    uint8_t d[2]; /* f16 */
    uint8_t qs[16];
};

/* value = q * d + m. Nibbles as q4_0. */
struct qkern_block_q4_1 {
    uint8_t d[2]; /* f16 */
    uint8_t m[2]; /* f16 */
    uint8_t qs[16];
};

/* value = (q - 16) * d. Low four bits as q4_0; bit 4 is bit e of qh, a 32-bit word. */
struct qkern_block_q5_0 {
    uint8_t d[2]; /* f16 */
    uint8_t qh[4];
    uint8_t qs[16];
};

/* value = q * d + m. Codes as q5_0. */
struct qkern_block_q5_1 {
    uint8_t d[2]; /* f16 */
    uint8_t m[2]; /* f16 */
    uint8_t qh[4];
    uint8_t qs[16];
};

/* value = q * d. */
struct qkern_block_q8_0 {
    uint8_t d[2]; /* f16 */
    int8_t qs[32];
};

/* value = q * d; s = d * (sum of the codes), for the minimum of q4_1 and q5_1. */
struct qkern_block_q8_1 {
    uint8_t d[2]; /* f16 */
    uint8_t s[2]; /* f16 */
    int8_t qs[32];
};

/*
 * value = (d * sc) * q - (dmin * m). Group g = e / 16: sc is the low and m the high nibble of
 * scales[g]. Code: bits 2 * ((e % 128) / 32) of qs[32 * (e / 128) + e % 32].
 */
struct qkern_block_q2_K {
    uint8_t scales[16];
    uint8_t qs[64];
    uint8_t d[2];    /* f16 */
    uint8_t dmin[2]; /* f16 */
};

/*
 * value = (d * (sc - 32)) * (low - (high ? 0 : 4)). low: as q2_K's code. high: bit e / 32 of
 * hmask[e % 32]. sc of group g = e / 16, six bits: the low four are the low nibble of scales[g] for
 * g < 8, else the high nibble of scales[g - 8]; the high two are bits 2 * (g / 4) of scales[8 + g %
 * 4].
 */
struct qkern_block_q3_K {
    uint8_t hmask[32];
    uint8_t qs[64];
    uint8_t scales[12];
    uint8_t d[2]; /* f16 */
};

/*
 * value = (d * sc) * q - (dmin * m). Group g = e / 32. Code: qs[32 * (e / 64) + e % 32], low nibble
 * if e % 64 < 32. sc and m, six bits each: for g < 4 scales[g] & 63 and scales[g + 4] & 63; else
 * (scales[g + 4] & 15) | (scales[g - 4] >> 6) << 4 and (scales[g + 4] >> 4) | (scales[g] >> 6)
 * << 4.
 */
struct qkern_block_q4_K {
    uint8_t d[2];    /* f16 */
    uint8_t dmin[2]; /* f16 */
    uint8_t scales[12];
    uint8_t qs[128];
};

/* As q4_K; bit 4 of the code is bit e / 32 of qh[e % 32]. */
struct qkern_block_q5_K {
    uint8_t d[2];    /* f16 */
    uint8_t dmin[2]; /* f16 */
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t qs[128];
};

/*
 * value = (d * sc) * (q - 32), sc = scales[e / 16]. With h = e / 128, l = e % 32, p = (e % 128) /
 * 32: the low nibble of the code is in ql[64 * h + l + 32 * (p & 1)], low nibble if p < 2; its high
 * two bits are bits 2 * p of qh[32 * h + l].
 */
struct qkern_block_q6_K {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    uint8_t d[2]; /* f16 */
};

/* value = d * q; bsums[k], an i16, is the sum of the codes 16 * k to 16 * k + 15. */
struct qkern_block_q8_K {
    uint8_t d[4]; /* f32 */
    int8_t qs[256];
    uint8_t bsums[16][2]; /* i16 */
};

#endif
