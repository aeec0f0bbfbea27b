/* SPDX-License-Identifier: MIT */
/*
 * Where the K types keep their scales and codes. Codes are unsigned here, as stored; e is the
 * number of an element, g that of a group.
 */
#ifndef QKERN_COMMON_KLAYOUT_H
#define QKERN_COMMON_KLAYOUT_H

#include <stdint.h>

#define K_ELEMENTS 256

/*
 * Q4_K, Q5_K: eight scales and eight minimums of six bits in 12 bytes.
 *
 *   byte g      bits 0..5 scale g      bits 6..7 high bits of scale g + 4      (g = 0..3)
 *   byte g + 4  bits 0..5 minimum g    bits 6..7 high bits of minimum g + 4
 *   byte g + 8  bits 0..3 scale g + 4  bits 4..7 minimum g + 4, low four bits of each
 */
static inline void k_scales_min_unpack(const uint8_t bytes[12], int32_t scale[8], int32_t min[8])
{
    for (int g = 0; g < 4; g++) {
        scale[g] = bytes[g] & 63;
        min[g] = bytes[g + 4] & 63;
        scale[g + 4] = (bytes[g + 8] & 15) | bytes[g] >> 6 << 4;
        min[g + 4] = bytes[g + 8] >> 4 | bytes[g + 4] >> 6 << 4;
    }
}

static inline void k_scales_min_pack(const int32_t scale[8], const int32_t min[8],
                                     uint8_t bytes[12])
{
    for (int g = 0; g < 4; g++) {
        bytes[g] = (uint8_t)(scale[g] | scale[g + 4] >> 4 << 6);
        bytes[g + 4] = (uint8_t)(min[g] | min[g + 4] >> 4 << 6);
        bytes[g + 8] = (uint8_t)((scale[g + 4] & 15) | (min[g + 4] & 15) << 4);
    }
}

/*
 * Q3_K: sixteen scales of six bits in 12 bytes.
 *
 *   byte g      bits 0..3 scale g, bits 4..7 scale g + 8: low four bits        (g = 0..7)
 *   byte 8 + k  bits 2j, 2j + 1: high two bits of scale 4j + k                 (k, j = 0..3)
 */
static inline void k_scales_unpack(const uint8_t bytes[12], int32_t scale[16])
{
    for (int g = 0; g < 16; g++) {
        const int low = bytes[g % 8] >> 4 * (g / 8) & 15;
        const int high = bytes[8 + g % 4] >> 2 * (g / 4) & 3;
        scale[g] = low | high << 4;
    }
}

static inline void k_scales_pack(const int32_t scale[16], uint8_t bytes[12])
{
    for (int g = 0; g < 8; g++)
        bytes[g] = (uint8_t)((scale[g] & 15) | (scale[g + 8] & 15) << 4);
    for (int k = 0; k < 4; k++)
        bytes[8 + k] = (uint8_t)(scale[k] >> 4 | scale[4 + k] >> 4 << 2 | scale[8 + k] >> 4 << 4 |
                                 scale[12 + k] >> 4 << 6);
}

/* Q2_K, Q3_K: two bits of each code. Byte 32h + l: bits 2p, 2p + 1 of element 128h + 32p + l. */
static inline void k_pairs_unpack(const uint8_t bytes[64], uint8_t code[K_ELEMENTS])
{
    for (int h = 0; h < 2; h++)
        for (int p = 0; p < 4; p++)
            for (int l = 0; l < 32; l++)
                code[128 * h + 32 * p + l] = bytes[32 * h + l] >> 2 * p & 3;
}

static inline void k_pairs_pack(const int32_t code[K_ELEMENTS], uint8_t bytes[64])
{
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < 32; l++) {
            const int32_t *c = code + 128 * h + l;
            bytes[32 * h + l] =
                (uint8_t)((c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 | (c[96] & 3) << 6);
        }
}

/* Q4_K, Q5_K: four bits of each code. Byte 32c + l: elements 64c + l (low) and 64c + 32 + l. */
static inline void k_nibbles_unpack(const uint8_t bytes[128], uint8_t code[K_ELEMENTS])
{
    for (int c = 0; c < 4; c++)
        for (int l = 0; l < 32; l++) {
            code[64 * c + l] = bytes[32 * c + l] & 15;
            code[64 * c + 32 + l] = bytes[32 * c + l] >> 4;
        }
}

static inline void k_nibbles_pack(const int32_t code[K_ELEMENTS], uint8_t bytes[128])
{
    for (int c = 0; c < 4; c++)
        for (int l = 0; l < 32; l++)
            bytes[32 * c + l] =
                (uint8_t)((code[64 * c + l] & 15) | (code[64 * c + 32 + l] & 15) << 4);
}

/* Q3_K, Q5_K: one more bit. Bit k of byte l belongs to element 32k + l, and is bit `at` there. */
static inline void k_high_bits_unpack(const uint8_t bytes[32], int at, uint8_t code[K_ELEMENTS])
{
    for (int k = 0; k < 8; k++)
        for (int l = 0; l < 32; l++)
            code[32 * k + l] = (uint8_t)(code[32 * k + l] | (bytes[l] >> k & 1) << at);
}

static inline void k_high_bits_pack(const int32_t code[K_ELEMENTS], int at, uint8_t bytes[32])
{
    for (int l = 0; l < 32; l++)
        bytes[l] = 0;
    for (int k = 0; k < 8; k++)
        for (int l = 0; l < 32; l++)
            bytes[l] = (uint8_t)(bytes[l] | (code[32 * k + l] >> at & 1) << k);
}

/*
 * Q6_K: element 128h + 32p + l has its low four bits in low[64h + 32(p & 1) + l], the low nibble if
 * p < 2, and its high two in bits 2p, 2p + 1 of high[32h + l].
 */
static inline void k_sixes_unpack(const uint8_t low[128], const uint8_t high[64],
                                  uint8_t code[K_ELEMENTS])
{
    for (int h = 0; h < 2; h++)
        for (int p = 0; p < 4; p++)
            for (int l = 0; l < 32; l++) {
                const int nibble = low[64 * h + 32 * (p & 1) + l] >> 4 * (p / 2) & 15;
                const int pair = high[32 * h + l] >> 2 * p & 3;
                code[128 * h + 32 * p + l] = (uint8_t)(nibble | pair << 4);
            }
}

static inline void k_sixes_pack(const int32_t code[K_ELEMENTS], uint8_t low[128], uint8_t high[64])
{
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < 32; l++) {
            const int32_t *c = code + 128 * h + l;
            low[64 * h + l] = (uint8_t)((c[0] & 15) | (c[64] & 15) << 4);
            low[64 * h + 32 + l] = (uint8_t)((c[32] & 15) | (c[96] & 15) << 4);
            high[32 * h + l] =
                (uint8_t)(c[0] >> 4 | c[32] >> 4 << 2 | c[64] >> 4 << 4 | c[96] >> 4 << 6);
        }
}

#endif
