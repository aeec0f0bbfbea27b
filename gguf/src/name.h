/* SPDX-License-Identifier: MIT */
/* The rules for keys and tensor names, which are the same. */
#ifndef QKERN_GGUF_NAME_H
#define QKERN_GGUF_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"

bool name_is_utf8(const uint8_t *bytes, uint64_t count);

/* The largest n <= limit such that the first n of more than `limit` bytes end no sequence early. */
uint64_t utf8_cut(const uint8_t *bytes, uint64_t limit);

/* Not empty, no longer than limit, UTF-8, without NUL. */
qkern_status name_check(const void *bytes, uint64_t count, uint64_t limit, fault *f);

#endif
