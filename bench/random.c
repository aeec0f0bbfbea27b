/* SPDX-License-Identifier: MIT */
/* Seeded random numbers. */
#include "random.h"

#include <math.h>

uint64_t bench_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void bench_random_order(uint64_t *state, uint32_t count, uint32_t *order)
{
    for (uint32_t i = 0; i < count; i++) {
        /* The bias of the remainder is below 2^-32 for any count that fits in memory here. */
        const uint32_t j = (uint32_t)(bench_random(state) % (i + 1u));
        order[i] = order[j];
        order[j] = i;
    }
}

void bench_random_gaussian(uint64_t *state, uint64_t count, float *x)
{
    for (uint64_t i = 0; i < count; i++) {
        const double u = ((double)(bench_random(state) >> 12) + 0.5) * 0x1p-52;
        const double v = (double)(bench_random(state) >> 12) * 0x1p-52;
        x[i] = (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
    }
}
