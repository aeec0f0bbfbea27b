/* SPDX-License-Identifier: MIT */
/* Filling in a qkern_error. */
#ifndef QKERN_HOST_ERROR_H
#define QKERN_HOST_ERROR_H

#include <stddef.h>

#include <qkern.h>

/*
 * Fills *error, if it is not NULL, with status, index and a message formatted as by printf, cut if
 * it is too long. Writes no more than error->struct_size covers.
 */
__attribute__((format(printf, 4, 5))) void error_fill(qkern_error *error, qkern_status status,
                                                      uint64_t index, const char *format, ...);

/*
 * The same, with the value of status, so that a failing call ends in `return error_set(...)`. A
 * macro, so that compilers and analysers see which status that is.
 */
#define error_set(ERROR, STATUS, ...) (error_fill(ERROR, STATUS, __VA_ARGS__), error_status(STATUS))

static inline qkern_status error_status(qkern_status status)
{
    return status;
}

/*
 * Text of the caller or of the environment in a form fit for a message: bytes that are not
 * printable ASCII stand as \xNN, and of what does not fit the end becomes "...". Returns buffer.
 */
#define ERROR_QUOTE_BYTES 68u
const char *error_quote(char buffer[ERROR_QUOTE_BYTES], const char *text, size_t length);

#endif
