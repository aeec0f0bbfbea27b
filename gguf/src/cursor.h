/* SPDX-License-Identifier: MIT */
/*
 * A place in a range of bytes. All that a file says about itself is read through these takes; each
 * takes wholly or, if the range is too short, not at all.
 */
#ifndef QKERN_GGUF_CURSOR_H
#define QKERN_GGUF_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "little_endian.h"

typedef struct cursor {
    const uint8_t *at;
    uint64_t left;
} cursor;

static inline bool cursor_take(cursor *c, uint64_t bytes, const uint8_t **out)
{
    if (bytes > c->left)
        return false;
    *out = c->at;
    c->at += bytes;
    c->left -= bytes;
    return true;
}

static inline bool cursor_u32(cursor *c, uint32_t *out)
{
    const uint8_t *p;

    if (!cursor_take(c, 4, &p))
        return false;
    *out = bytes_le32(p);
    return true;
}

static inline bool cursor_u64(cursor *c, uint64_t *out)
{
    const uint8_t *p;

    if (!cursor_take(c, 8, &p))
        return false;
    *out = bytes_le64(p);
    return true;
}

#endif
