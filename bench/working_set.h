/* SPDX-License-Identifier: MIT */
/* The working sets: how much data there is to be walked through. */
#ifndef QKERN_BENCH_WORKING_SET_H
#define QKERN_BENCH_WORKING_SET_H

#include <stdint.h>

#include "cache.h"

/* X(identifier, value, name, rule) */
#define BENCH_SETS(X)                                                                              \
    X(L1, 0, "l1", "three quarters of the L1 data cache, at least one row")                        \
    X(L2, 1, "l2", "half of the L2 cache, at least one row")                                       \
    X(L3, 2, "l3", "a matrix of 4096 rows, or as many as exceed the L2 cache four times")          \
    X(DRAM, 3, "dram", "a matrix four times the L3 cache, at least 256 and at most 512 MiB")

#define BENCH_SET_CONSTANT(IDENTIFIER, VALUE, NAME, RULE) BENCH_SET_##IDENTIFIER = VALUE,
enum bench_set { BENCH_SETS(BENCH_SET_CONSTANT) BENCH_SET_LIMIT = 4 };
#undef BENCH_SET_CONSTANT

const char *bench_set_name(uint32_t set);
const char *bench_set_rule(uint32_t set);

/*
 * How many rows of `row_bytes` make up the set, when `other_bytes` are in use beside them: the
 * activations, or the row written.
 */
uint64_t bench_set_rows(uint32_t set, const struct bench_caches *caches, uint64_t row_bytes,
                        uint64_t other_bytes);

/* The bytes of the set, for what has no rows. */
uint64_t bench_set_bytes(uint32_t set, const struct bench_caches *caches);

#endif
