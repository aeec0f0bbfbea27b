/* SPDX-License-Identifier: MIT */
/* Checks of arguments and data: what stands between a caller's mistake and a kernel. */
#ifndef QKERN_HOST_CHECK_H
#define QKERN_HOST_CHECK_H

#include <stdbool.h>

#include <qkern.h>

/* A buffer of the caller's. */
struct span {
    const char *name; /* of the parameter */
    const void *data;
    uint64_t bytes;
    bool floats; /* an array of float, to be aligned as one */
};

/*
 * Verifies that no span is NULL, that each fits the address space, that arrays of float are
 * aligned, and that the last span, the output, overlaps none of the others. `function` begins the
 * messages.
 */
qkern_status spans_check(const struct span *spans, size_t count, const char *function,
                         qkern_error *error);

/* Verifies that a buffer's size is the one that its row needs. */
qkern_status size_check(const char *function, const char *name, uint64_t needed, uint64_t found,
                        qkern_error *error);

/* Bytes of n floats; QKERN_E_LIMIT if 64 bits do not hold them. */
qkern_status float_bytes(const char *function, uint64_t n, uint64_t *bytes, qkern_error *error);

/*
 * Finds the largest magnitude of n floats, or the first that is NaN or infinite
 * (QKERN_E_NONFINITE).
 */
qkern_status floats_check(const char *function, uint64_t n, const float *x, float *largest,
                          qkern_error *error);

/* Verifies n importances: finite and not negative (QKERN_E_ARGUMENT). */
qkern_status importance_check(const char *function, uint64_t n, const float *importance,
                              qkern_error *error);

/* What is wrong with a row of blocks. */
struct block_fault {
    uint64_t block;
    const char *field; /* what stands there: "the scale d" */
    uint32_t group;    /* for a sum in QKERN_E_DATA: which one */
    int32_t expected, found;
};

/*
 * Verifies blocks of a type that has a layout in the table here (layout_known): QKERN_E_NONFINITE
 * or QKERN_E_DATA, and *fault. No message.
 */
qkern_status blocks_check(uint32_t type, uint64_t blocks, const void *data,
                          struct block_fault *fault);

bool layout_known(uint32_t type);

/*
 * Finite rows whose largest magnitude is at most this quantize to finite blocks; for larger ones
 * the blocks must be looked at. 0 for a type that is not in the table.
 */
float layout_safe_magnitude(uint32_t type);

#endif
