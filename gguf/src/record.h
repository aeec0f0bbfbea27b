/* SPDX-License-Identifier: MIT */
/* Handing out structs that start with struct_size. */
#ifndef QKERN_GGUF_RECORD_H
#define QKERN_GGUF_RECORD_H

#include <qkern.h>

/*
 * Copies as much of *from as the caller's struct_size covers, and keeps that size. `call` names the
 * public function for the message. QKERN_E_ARGUMENT if out is NULL or its struct_size is not set.
 */
qkern_status record_copy(void *out, const void *from, uint32_t from_size, const char *call,
                         qkern_error *error);

#endif
