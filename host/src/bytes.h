/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a file that is not trusted: a descriptor, memory, or a window of either. Whatever a
 * file says of its own offsets and lengths is checked here, against the end, before a byte is read.
 */
#ifndef QKERN_HOST_BYTES_H
#define QKERN_HOST_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "finding.h"

struct bytes {
    const char *what;      /* "file", "note segment": what the window is, for findings; static */
    const uint8_t *memory; /* NULL: read from descriptor */
    int descriptor;
    uint64_t start; /* of the window within the file */
    uint64_t size;  /* of the window */
};

/*
 * Copies `length` bytes at `offset` of the window. QKERN_E_FORMAT if they are not all inside it, or
 * if the file has become shorter; QKERN_E_IO if reading fails. `what` names them in the finding.
 */
qkern_status bytes_read(const struct bytes *bytes, uint64_t offset, void *to, size_t length,
                        const char *what, struct finding *finding);

/* Narrows to a window, named `what`. QKERN_E_FORMAT if it is not inside. */
qkern_status bytes_window(const struct bytes *bytes, uint64_t offset, uint64_t size,
                          const char *what, struct bytes *window, struct finding *finding);

/* Integers in the byte order named, at any alignment. */
static inline uint16_t bytes_le16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t bytes_le32(const uint8_t *at)
{
    return bytes_le16(at) | (uint32_t)bytes_le16(at + 2) << 16;
}

static inline uint64_t bytes_le64(const uint8_t *at)
{
    return bytes_le32(at) | (uint64_t)bytes_le32(at + 4) << 32;
}

static inline uint32_t bytes_be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint64_t bytes_be64(const uint8_t *at)
{
    return (uint64_t)bytes_be32(at) << 32 | bytes_be32(at + 4);
}

/* Lower-case hexadecimal, terminated; text has room for 2 * length + 1. */
void bytes_hex(const uint8_t *from, size_t length, char *text);

#endif
