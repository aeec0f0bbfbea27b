/* SPDX-License-Identifier: MIT */
/* Seeded numbers (splitmix64, Box-Muller), and the bits of floats. */
#ifndef QKERN_VERIFY_NUMBERS_H
#define QKERN_VERIFY_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct numbers {
    uint64_t state;
};

uint64_t number_u64(struct numbers *r);
uint32_t number_below(struct numbers *r, uint32_t limit); /* limit > 0; nearly uniform */
float number_gaussian(struct numbers *r);
float number_any_finite(struct numbers *r); /* random bits, not NaN or infinity */

void fill_gaussian(struct numbers *r, uint64_t n, float *x);
void fill_bytes(struct numbers *r, size_t size, void *bytes);

uint32_t bits_of(float v);
float from_bits(uint32_t bits);

/* Equal bits, or both NaN. */
bool same_float(float a, float b);

#endif
