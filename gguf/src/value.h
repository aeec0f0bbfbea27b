/* SPDX-License-Identifier: MIT */
/* Metadata values in the form in which they stand in a file. */
#ifndef QKERN_GGUF_VALUE_H
#define QKERN_GGUF_VALUE_H

#include <qkern_gguf.h>

#include "cursor.h"
#include "fault.h"

/*
 * Takes a value of this type and checks all of it: types, lengths, counts, nesting, and that every
 * bool is 0 or 1. On failure the cursor stands somewhere inside.
 */
qkern_status value_skip(cursor *c, uint32_t value_type, fault *f);

/* Describes a value that value_skip has passed. */
void value_view(uint32_t value_type, const uint8_t *encoded, uint64_t encoded_bytes,
                qkern_gguf_value *out);

#endif
