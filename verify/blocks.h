/* SPDX-License-Identifier: MIT */
/*
 * Making blocks: byte patterns, and the fields that are no codes. A row is n elements of kernel k's
 * type.
 */
#ifndef QKERN_VERIFY_BLOCKS_H
#define QKERN_VERIFY_BLOCKS_H

#include <stdint.h>

#include <qkern/kernel.h>

#include "numbers.h"

/* Bytes that break kernels. MIXED draws each from the extremes, RANDOM from all. */
enum pattern_source { PATTERN_FIXED, PATTERN_MIXED, PATTERN_RANDOM };

struct pattern {
    const char *name;
    enum pattern_source source;
    uint8_t even, odd;
};

extern const struct pattern patterns[];
extern const uint32_t pattern_count;

void pattern_fill(const struct pattern *p, struct numbers *r, size_t size, uint8_t *bytes);

/* Whether blocks of the type have a minimum. */
bool blocks_have_minimum(const struct qkern_kernel *k);

/*
 * Sets the scale of every block to d and its minimum, where the type has one, to m, which f16 must
 * hold exactly, and the sums that activations store to those of their codes. Float types are left.
 */
void blocks_scale(const struct qkern_kernel *k, uint64_t n, uint8_t *blocks, float d, float m);

/*
 * Makes the sums in Q8_K blocks those of their codes, as the contract has them; a Q8_1 block's sum
 * is used as it is stored, so any is good.
 */
void blocks_sums(const struct qkern_kernel *k, uint64_t n, uint8_t *blocks);

/* Random blocks whose scales are moderate numbers of either sign; Q8_K with right sums. */
void fill_blocks(struct numbers *r, const struct qkern_kernel *k, uint64_t n, void *blocks);

/* Random blocks whose scales are any number, subnormal, zero, infinite or NaN; Q8_K as above. */
void fill_blocks_any(struct numbers *r, const struct qkern_kernel *k, uint64_t n, uint8_t *blocks);

/* Scales 1 and 63, minimums 63 and 0 by turns: the six-bit fields of Q4_K and Q5_K. */
void blocks_alternate_scales(uint8_t scales[12]);

#endif
