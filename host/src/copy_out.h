/* SPDX-License-Identifier: MIT */
/* Filling in a struct of the caller's, which may be older or newer than ours. */
#ifndef QKERN_HOST_COPY_OUT_H
#define QKERN_HOST_COPY_OUT_H

#include <qkern.h>

/*
 * Copies as much of `from` as out's struct_size, its first field, covers, and keeps that size.
 * QKERN_E_ARGUMENT, naming the struct, if it does not even cover itself.
 */
qkern_status copy_out(const void *from, size_t size, void *out, const char *name,
                      qkern_error *error);

#endif
