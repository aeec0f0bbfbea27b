/* SPDX-License-Identifier: MIT */
#include "numbers.h"

#include <math.h>
#include <string.h>

uint64_t number_u64(struct numbers *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t number_below(struct numbers *r, uint32_t limit)
{
    return (uint32_t)((number_u64(r) >> 32) * limit >> 32);
}

float number_gaussian(struct numbers *r)
{
    const double u = ((double)(number_u64(r) >> 11) + 1.0) * 0x1p-53; /* (0, 1] */
    const double v = (double)(number_u64(r) >> 11) * 0x1p-53;
    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}

float number_any_finite(struct numbers *r)
{
    for (;;) {
        const float v = from_bits((uint32_t)number_u64(r));
        if (isfinite(v))
            return v;
    }
}

void fill_gaussian(struct numbers *r, uint64_t n, float *x)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = number_gaussian(r);
}

void fill_bytes(struct numbers *r, size_t size, void *bytes)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)number_u64(r);
}

uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return bits;
}

float from_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

bool same_float(float a, float b)
{
    return bits_of(a) == bits_of(b) || (isnan(a) && isnan(b));
}
