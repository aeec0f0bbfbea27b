/* SPDX-License-Identifier: MIT */
/* What the checked calls have in common: their beginning, and the rows that they read. */
#ifndef QKERN_HOST_CALL_H
#define QKERN_HOST_CALL_H

#include "instance.h"

/* What a call is about, once its type and lengths are known to be right. */
struct call {
    const char *function;
    qkern_type_info type;
    uint64_t n;
    uint64_t row_bytes;   /* of n elements of the type */
    uint64_t float_bytes; /* of n floats */
    struct qkern_kernel kernel;
    qkern_pin pin;
};

/*
 * Verifies type and length, and pins the kernels. On success the caller ends the pin; on failure
 * there is none.
 */
qkern_status call_begin(struct call *call, const char *function, qkern *q, uint32_t type,
                        uint64_t n, uint32_t entry, qkern_error *error);

/* Verifies the size of a row of activations and tells their type, the dot type of the call's. */
qkern_status call_activations(const struct call *call, uint64_t activations_bytes,
                              qkern_type_info *dot, qkern_error *error);

/* Verifies a row of blocks and says what is wrong with it. `name` is the parameter's. */
qkern_status row_check(const char *function, const char *name, const qkern_type_info *type,
                       uint64_t n, const void *data, qkern_error *error);

#endif
