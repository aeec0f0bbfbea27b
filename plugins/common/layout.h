/* SPDX-License-Identifier: MIT */
/* Where the types of 32 elements a block keep their codes; the K types are in klayout.h. */
#ifndef QKERN_COMMON_LAYOUT_H
#define QKERN_COMMON_LAYOUT_H

#include <stdint.h>

#include "bytes.h"

#define ELEMENTS 32

/* Codes in memory: byte j has the low four bits of element j and of element j + 16. */

static inline void nibbles_pack(const int32_t q[ELEMENTS], uint8_t qs[16])
{
    for (int j = 0; j < 16; j++)
        qs[j] = (uint8_t)((q[j] & 15) | (q[j + 16] & 15) << 4);
}

static inline void nibbles_unpack(const uint8_t qs[16], uint8_t q[ELEMENTS])
{
    for (int j = 0; j < 16; j++) {
        q[j] = qs[j] & 15;
        q[j + 16] = qs[j] >> 4;
    }
}

/* The fifth bit of element e is bit e of a 32-bit word. */

static inline void fifth_bits_pack(const int32_t q[ELEMENTS], uint8_t qh[4])
{
    uint32_t word = 0;
    for (int e = 0; e < ELEMENTS; e++)
        word |= (uint32_t)(q[e] >> 4 & 1) << e;
    store_u32(qh, word);
}

static inline void fifth_bits_unpack(const uint8_t qh[4], uint8_t q[ELEMENTS])
{
    const uint32_t word = load_u32(qh);
    for (int e = 0; e < ELEMENTS; e++)
        q[e] = (uint8_t)(q[e] | (word >> e & 1) << 4);
}

#endif
