/* SPDX-License-Identifier: MIT */
/* What is not the scalar kernel bit by bit is not timed. */
#ifndef QKERN_BENCH_VETTED_H
#define QKERN_BENCH_VETTED_H

#include <stdbool.h>
#include <stddef.h>

#include "workload.h"

/*
 * Compares a kernel with the scalar one on every row that is different, bit by bit. False, and why
 * is in `reason`, if a bit differs or if the scalar plugin has nothing to compare with. It looks at
 * the data that is to be timed and nothing else, in this process: what the checker of plugins
 * (verify/) finds is left out by who makes the cell.
 */
bool bench_vetted(const struct bench_work *candidate, const struct qkern_kernel *scalar,
                  char *reason, size_t reason_size);

#endif
