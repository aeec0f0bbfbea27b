/* SPDX-License-Identifier: MIT */
/* Loads and stores at any address. All formats are little endian, as every supported CPU is. */
#ifndef QKERN_COMMON_BYTES_H
#define QKERN_COMMON_BYTES_H

#include <stdint.h>
#include <string.h>

#include "half.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blocks are stored little endian");

static inline uint16_t load_u16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_u16(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline int16_t load_i16(const void *p)
{
    int16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_i16(void *p, int16_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline uint32_t load_u32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_u32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline float load_f32(const void *p)
{
    return f32_from_bits(load_u32(p));
}

static inline void store_f32(void *p, float v)
{
    store_u32(p, f32_bits(v));
}

static inline float load_f16(const void *p)
{
    return f32_from_f16(load_u16(p));
}

static inline float load_bf16(const void *p)
{
    return f32_from_bf16(load_u16(p));
}

/*
 * Stores a block's scale, minimum or sum as f16 and returns the stored value. A NaN is stored as
 * 0x7e00: the sign of a NaN that arithmetic makes differs between x86 and Arm.
 */
static inline float store_scale(void *p, float v)
{
    const uint16_t h = v == v ? f16_from_f32(v) : F16_NAN;
    store_u16(p, h);
    return f32_from_f16(h);
}

#endif
