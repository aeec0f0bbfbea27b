/* SPDX-License-Identifier: MIT */
/* Seeded random numbers: the same on every machine. */
#ifndef QKERN_BENCH_RANDOM_H
#define QKERN_BENCH_RANDOM_H

#include <stdint.h>

/* The next of the sequence that *state stands for (splitmix64). Any state may be a seed. */
uint64_t bench_random(uint64_t *state);

/* An order of the numbers 0 to count - 1, each order as likely as any other. */
void bench_random_order(uint64_t *state, uint32_t count, uint32_t *order);

/* Normally distributed values, mean 0 and variance 1. */
void bench_random_gaussian(uint64_t *state, uint64_t count, float *x);

#endif
