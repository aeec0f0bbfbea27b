/* SPDX-License-Identifier: MIT */
/* Numbers as a GGUF file stores them: little endian, at any address. The loads are bytes.h's. */
#ifndef QKERN_GGUF_LITTLE_ENDIAN_H
#define QKERN_GGUF_LITTLE_ENDIAN_H

#include "bytes.h"

static inline void store_le32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

static inline void store_le64(uint8_t *p, uint64_t value)
{
    store_le32(p, (uint32_t)value);
    store_le32(p + 4, (uint32_t)(value >> 32));
}

#endif
