/* SPDX-License-Identifier: MIT */
#include "contract.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <qkern/blocks.h>
#include <qkern/types.h>

#include "facts.h"
#include "numbers.h"

static uint16_t u16_at(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float f32_at(const uint8_t *p)
{
    return from_bits((uint32_t)u16_at(p) | (uint32_t)u16_at(p + 2) << 16);
}

float contract_f16(uint16_t h)
{
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    float v;
    if (exponent == 31 && mantissa != 0)
        v = NAN;
    else if (exponent == 31)
        v = INFINITY;
    else if (exponent == 0)
        v = ldexpf((float)mantissa, -24);
    else
        v = ldexpf((float)(1024 + mantissa), exponent - 25);
    return h & 0x8000 ? -v : v;
}

uint16_t contract_to_f16(float v)
{
    const uint16_t sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v))
        return (uint16_t)(sign | 0x7e00);
    const double magnitude = fabs((double)v);
    /* The greatest f16 that is not greater, counting 2^16 as the step after the last. */
    int low = 0, high = 0x7c00;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if ((double)contract_f16((uint16_t)middle) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    const double below = (double)contract_f16((uint16_t)low);
    const double above = high == 0x7c00 ? 65536.0 : (double)contract_f16((uint16_t)high);
    const double middle = (below + above) / 2;
    const int up = magnitude > middle || (magnitude == middle && (low & 1));
    return (uint16_t)(sign | (up ? high : low));
}

static float f16_at(const uint8_t *p)
{
    return contract_f16(u16_at(p));
}

/* One element of a quantized block: value = (d * scale) * code - (dmin * min), or + m. */
struct part {
    float d;
    float m; /* dmin or m */
    int code;
    int scale;
    int min;
};

static void scale_min_6(const uint8_t *scales, int g, struct part *p)
{
    if (g < 4) {
        p->scale = scales[g] & 63;
        p->min = scales[g + 4] & 63;
    } else {
        p->scale = (scales[g + 4] & 15) | (scales[g - 4] >> 6) << 4;
        p->min = (scales[g + 4] >> 4) | (scales[g] >> 6) << 4;
    }
}

static int nibble_32(const uint8_t *qs, int e)
{
    return e < 16 ? qs[e] & 15 : qs[e - 16] >> 4;
}

static struct part part_of(uint32_t type, const uint8_t *block, int e)
{
    struct part p = {.scale = 1};

    switch (type) {
    case QKERN_TYPE_Q4_0: {
        const struct qkern_block_q4_0 *b = (const void *)block;
        p.d = f16_at(b->d);
        p.code = nibble_32(b->qs, e) - 8;
        break;
    }
    case QKERN_TYPE_Q4_1: {
        const struct qkern_block_q4_1 *b = (const void *)block;
        p.d = f16_at(b->d);
        p.m = f16_at(b->m);
        p.code = nibble_32(b->qs, e);
        break;
    }
    case QKERN_TYPE_Q5_0: {
        const struct qkern_block_q5_0 *b = (const void *)block;
        p.d = f16_at(b->d);
        p.code = (nibble_32(b->qs, e) | (b->qh[e / 8] >> e % 8 & 1) << 4) - 16;
        break;
    }
    case QKERN_TYPE_Q5_1: {
        const struct qkern_block_q5_1 *b = (const void *)block;
        p.d = f16_at(b->d);
        p.m = f16_at(b->m);
        p.code = nibble_32(b->qs, e) | (b->qh[e / 8] >> e % 8 & 1) << 4;
        break;
    }
    case QKERN_TYPE_Q8_0: {
        const struct qkern_block_q8_0 *b = (const void *)block;
        p.d = f16_at(b->d);
        p.code = b->qs[e];
        break;
    }
    case QKERN_TYPE_Q8_1: {
        const struct qkern_block_q8_1 *b = (const void *)block;
        p.d = f16_at(b->d);
        p.m = f16_at(b->s);
        p.code = b->qs[e];
        break;
    }
    case QKERN_TYPE_Q2_K: {
        const struct qkern_block_q2_K *b = (const void *)block;
        p.d = f16_at(b->d);
        p.m = f16_at(b->dmin);
        p.scale = b->scales[e / 16] & 15;
        p.min = b->scales[e / 16] >> 4;
        p.code = b->qs[32 * (e / 128) + e % 32] >> 2 * (e % 128 / 32) & 3;
        break;
    }
    case QKERN_TYPE_Q3_K: {
        const struct qkern_block_q3_K *b = (const void *)block;
        const int g = e / 16;
        p.d = f16_at(b->d);
        p.scale = (g < 8 ? b->scales[g] & 15 : b->scales[g - 8] >> 4) |
                  (b->scales[8 + g % 4] >> 2 * (g / 4) & 3) << 4;
        p.scale -= 32;
        p.code = (b->qs[32 * (e / 128) + e % 32] >> 2 * (e % 128 / 32) & 3) -
                 (b->hmask[e % 32] >> e / 32 & 1 ? 0 : 4);
        break;
    }
    case QKERN_TYPE_Q4_K: {
        const struct qkern_block_q4_K *b = (const void *)block;
        p.d = f16_at(b->d);
        p.m = f16_at(b->dmin);
        scale_min_6(b->scales, e / 32, &p);
        const int byte = b->qs[32 * (e / 64) + e % 32];
        p.code = e % 64 < 32 ? byte & 15 : byte >> 4;
        break;
    }
    case QKERN_TYPE_Q5_K: {
        const struct qkern_block_q5_K *b = (const void *)block;
        p.d = f16_at(b->d);
        p.m = f16_at(b->dmin);
        scale_min_6(b->scales, e / 32, &p);
        const int byte = b->qs[32 * (e / 64) + e % 32];
        p.code = (e % 64 < 32 ? byte & 15 : byte >> 4) | (b->qh[e % 32] >> e / 32 & 1) << 4;
        break;
    }
    case QKERN_TYPE_Q6_K: {
        const struct qkern_block_q6_K *b = (const void *)block;
        const int h = e / 128, l = e % 32, q = e % 128 / 32;
        const int low = b->ql[64 * h + l + 32 * (q & 1)];
        p.d = f16_at(b->d);
        p.scale = b->scales[e / 16];
        p.code = ((q < 2 ? low & 15 : low >> 4) | (b->qh[32 * h + l] >> 2 * q & 3) << 4) - 32;
        break;
    }
    case QKERN_TYPE_Q8_K: {
        const struct qkern_block_q8_K *b = (const void *)block;
        p.d = f32_at(b->d);
        p.code = b->qs[e];
        break;
    }
    default:
        abort();
    }
    return p;
}

float contract_value(uint32_t type, const uint8_t *block, int e)
{
    if (type == QKERN_TYPE_F32)
        return f32_at(block);
    if (type == QKERN_TYPE_F16)
        return f16_at(block);
    if (type == QKERN_TYPE_BF16)
        return from_bits((uint32_t)u16_at(block) << 16);

    const struct part p = part_of(type, block, e);
    switch (type) {
    case QKERN_TYPE_Q4_1:
    case QKERN_TYPE_Q5_1: {
        const float scaled = (float)p.code * p.d;
        return scaled + p.m;
    }
    case QKERN_TYPE_Q2_K:
    case QKERN_TYPE_Q4_K:
    case QKERN_TYPE_Q5_K: {
        const float ds = p.d * (float)p.scale, dm = p.m * (float)p.min;
        const float scaled = ds * (float)p.code;
        return scaled - dm;
    }
    default: {
        const float ds = p.d * (float)p.scale;
        return ds * (float)p.code;
    }
    }
}

static float contract_dot_floats(uint32_t type, uint64_t n, const uint8_t *w, const uint8_t *a)
{
    const size_t size = type == QKERN_TYPE_F32 ? 4 : 2;
    float p[16] = {0};
    for (uint64_t i = 0; i < n; i++) {
        const float product =
            contract_value(type, w + size * i, 0) * contract_value(type, a + size * i, 0);
        p[i % 16] = p[i % 16] + product;
    }
    for (int i = 0; i < 8; i++)
        p[i] = p[i] + p[i + 8];
    for (int i = 0; i < 4; i++)
        p[i] = p[i] + p[i + 4];
    return (p[0] + p[2]) + (p[1] + p[3]);
}

float contract_dot(uint32_t type, uint64_t n, const uint8_t *weights, const uint8_t *activations)
{
    if (type == QKERN_TYPE_F32 || type == QKERN_TYPE_F16 || type == QKERN_TYPE_BF16)
        return contract_dot_floats(type, n, weights, activations);

    const struct qkern_kernel *k = reference_kernel(type), *ka = reference_kernel(k->dot_type);
    const int elements = (int)k->block_elements;
    float p[4] = {0};

    for (uint64_t u = 0; u < n / k->block_elements; u++) {
        const uint8_t *w = weights + u * k->block_bytes, *a = activations + u * ka->block_bytes;
        const struct part head = part_of(type, w, 0), act = part_of(k->dot_type, a, 0);
        int64_t s = 0, m = 0;
        for (int e = 0; e < elements; e++) {
            const struct part pw = part_of(type, w, e), pa = part_of(k->dot_type, a, e);
            s += (int64_t)pw.scale * pw.code * pa.code;
            if (elements == 256 && e % 16 == 0) {
                const struct qkern_block_q8_K *b = (const void *)a;
                m += (int64_t)pw.min * (int16_t)u16_at(b->bsums[e / 16]);
            }
        }
        if (s > INT32_MAX || s < INT32_MIN || m > INT32_MAX || m < INT32_MIN)
            abort(); /* the formats rule it out */
        const float scale = head.d * act.d;
        float t = scale * (float)s;
        if (type == QKERN_TYPE_Q4_1 || type == QKERN_TYPE_Q5_1) {
            const float minimum = head.m * act.m;
            t = t + minimum;
        }
        if (type == QKERN_TYPE_Q2_K || type == QKERN_TYPE_Q4_K || type == QKERN_TYPE_Q5_K) {
            const float dmin = act.d * head.m;
            const float minimum = dmin * (float)m;
            t = t - minimum;
        }
        p[u % 4] = p[u % 4] + t;
    }
    return (p[0] + p[2]) + (p[1] + p[3]);
}
