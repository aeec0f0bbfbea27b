/* SPDX-License-Identifier: MIT */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

#include <qkern/blocks.h>

#include "contract.h"
#include "facts.h"

/* --- patterns --------------------------------------------------------------------------------- */

const struct pattern patterns[] = {
    {"all low", PATTERN_FIXED, 0x00, 0x00},
    {"all high", PATTERN_FIXED, 0xff, 0xff},
    {"all 0x80", PATTERN_FIXED, 0x80, 0x80},
    {"all 0x7f", PATTERN_FIXED, 0x7f, 0x7f},
    {"all 0x81", PATTERN_FIXED, 0x81, 0x81},
    {"all 0x01", PATTERN_FIXED, 0x01, 0x01},
    {"all 0x0f", PATTERN_FIXED, 0x0f, 0x0f},
    {"all 0xf0", PATTERN_FIXED, 0xf0, 0xf0},
    {"all 0x55", PATTERN_FIXED, 0x55, 0x55},
    {"all 0xaa", PATTERN_FIXED, 0xaa, 0xaa},
    {"alternating 0x00 0xff", PATTERN_FIXED, 0x00, 0xff},
    {"alternating 0xff 0x00", PATTERN_FIXED, 0xff, 0x00},
    {"alternating 0x80 0x7f", PATTERN_FIXED, 0x80, 0x7f},
    {"alternating 0x7f 0x80", PATTERN_FIXED, 0x7f, 0x80},
    {"mixed extremes", PATTERN_MIXED, 0, 0},
    {"random", PATTERN_RANDOM, 0, 0},
};
const uint32_t pattern_count = sizeof patterns / sizeof patterns[0];

void pattern_fill(const struct pattern *p, struct numbers *r, size_t size, uint8_t *bytes)
{
    static const uint8_t extremes[8] = {0x00, 0xff, 0x80, 0x7f, 0x01, 0xfe, 0x81, 0x7e};

    for (size_t i = 0; i < size; i++)
        bytes[i] = p->source == PATTERN_MIXED    ? extremes[number_u64(r) >> 61]
                   : p->source == PATTERN_RANDOM ? (uint8_t)number_u64(r)
                   : i % 2                       ? p->odd
                                                 : p->even;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Where a block keeps its scale and its minimum or sum, f16; -1 if it has none. Q8_K's scale is
 * f32. */
struct fields {
    uint32_t type;
    int d, m;
};

#define AT(TYPE, FIELD) (int)offsetof(struct qkern_block_##TYPE, FIELD)
static const struct fields all_fields[] = {
    {QKERN_TYPE_Q4_0, AT(q4_0, d), -1},
    {QKERN_TYPE_Q4_1, AT(q4_1, d), AT(q4_1, m)},
    {QKERN_TYPE_Q5_0, AT(q5_0, d), -1},
    {QKERN_TYPE_Q5_1, AT(q5_1, d), AT(q5_1, m)},
    {QKERN_TYPE_Q8_0, AT(q8_0, d), -1},
    {QKERN_TYPE_Q8_1, AT(q8_1, d), AT(q8_1, s)},
    {QKERN_TYPE_Q2_K, AT(q2_K, d), AT(q2_K, dmin)},
    {QKERN_TYPE_Q3_K, AT(q3_K, d), -1},
    {QKERN_TYPE_Q4_K, AT(q4_K, d), AT(q4_K, dmin)},
    {QKERN_TYPE_Q5_K, AT(q5_K, d), AT(q5_K, dmin)},
    {QKERN_TYPE_Q6_K, AT(q6_K, d), -1},
};
#undef AT

static struct fields fields_of(uint32_t type)
{
    for (size_t i = 0; i < sizeof all_fields / sizeof all_fields[0]; i++)
        if (all_fields[i].type == type)
            return all_fields[i];
    return (struct fields){type, -1, -1};
}

bool blocks_have_minimum(const struct qkern_kernel *k)
{
    return k->type != QKERN_TYPE_Q8_1 && fields_of(k->type).m >= 0;
}

static void put_f16(uint8_t *block, int at, uint16_t h)
{
    if (at >= 0)
        memcpy(block + at, &h, sizeof h);
}

static void sums_q8_K(struct qkern_block_q8_K *b)
{
    for (int g = 0; g < 16; g++) {
        int sum = 0;
        for (int e = 16 * g; e < 16 * g + 16; e++)
            sum += b->qs[e];
        const int16_t s = (int16_t)sum;
        memcpy(b->bsums[g], &s, sizeof s);
    }
}

static void sum_q8_1(struct qkern_block_q8_1 *b, float d)
{
    int sum = 0;
    for (int e = 0; e < 32; e++)
        sum += b->qs[e];
    const uint16_t s = contract_to_f16((float)sum * d);
    memcpy(b->s, &s, sizeof s);
}

void blocks_sums(const struct qkern_kernel *k, uint64_t n, uint8_t *blocks)
{
    for (uint64_t b = 0; k->type == QKERN_TYPE_Q8_K && b < n / k->block_elements; b++)
        sums_q8_K((struct qkern_block_q8_K *)(blocks + b * k->block_bytes));
}

void blocks_scale(const struct qkern_kernel *k, uint64_t n, uint8_t *blocks, float d, float m)
{
    const struct fields fields = fields_of(k->type);
    const uint16_t hd = contract_to_f16(d), hm = contract_to_f16(m);

    for (uint64_t b = 0; b < n / k->block_elements; b++) {
        uint8_t *block = blocks + b * k->block_bytes;
        put_f16(block, fields.d, hd);
        put_f16(block, fields.m, hm);
        if (k->type == QKERN_TYPE_Q8_K)
            memcpy(block, &d, sizeof d);
        if (k->type == QKERN_TYPE_Q8_1)
            sum_q8_1((struct qkern_block_q8_1 *)block, d);
    }
    blocks_sums(k, n, blocks);
}

/* --- random blocks ---------------------------------------------------------------------------- */

/* An f16 whose exponent is made that of 2^-7 .. 2^-6, of any sign. */
static void moderate_f16(uint8_t *block, int at)
{
    if (at >= 0)
        block[at + 1] = (uint8_t)((block[at + 1] & 0x83) | 0x20);
}

void fill_blocks(struct numbers *r, const struct qkern_kernel *k, uint64_t n, void *blocks)
{
    const struct fields fields = fields_of(k->type);
    uint8_t *block = blocks;

    if (k->type != QKERN_TYPE_F32)
        fill_bytes(r, row_size(k, n), blocks);
    for (uint64_t b = 0; b < n / k->block_elements; b++, block += k->block_bytes) {
        moderate_f16(block, k->type == QKERN_TYPE_F16 ? 0 : fields.d);
        moderate_f16(block, fields.m);
        if (k->type == QKERN_TYPE_BF16)
            block[1] = (uint8_t)((block[1] & 0x80) | 0x3e | (block[1] & 1));
        if (k->type == QKERN_TYPE_F32 || k->type == QKERN_TYPE_Q8_K) {
            const float v = number_gaussian(r) * (k->type == QKERN_TYPE_Q8_K ? 0.01f : 1.0f);
            memcpy(block, &v, sizeof v);
        }
    }
    blocks_sums(k, n, blocks);
}

static uint16_t any_f16(struct numbers *r)
{
    static const uint16_t specials[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff,
                                        0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01};
    const uint32_t count = sizeof specials / sizeof specials[0];

    return number_u64(r) >> 62 == 0 ? specials[number_below(r, count)] : (uint16_t)number_u64(r);
}

static float any_f32(struct numbers *r)
{
    static const uint32_t specials[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff,
                                        0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001};
    const uint32_t count = sizeof specials / sizeof specials[0];

    return from_bits(number_u64(r) >> 62 == 0 ? specials[number_below(r, count)]
                                              : (uint32_t)number_u64(r));
}

void fill_blocks_any(struct numbers *r, const struct qkern_kernel *k, uint64_t n, uint8_t *blocks)
{
    const struct fields fields = fields_of(k->type);

    fill_bytes(r, row_size(k, n), blocks);
    for (uint64_t b = 0; b < n / k->block_elements; b++) {
        uint8_t *block = blocks + b * k->block_bytes;
        put_f16(block, k->type == QKERN_TYPE_F16 ? 0 : fields.d, any_f16(r));
        if (fields.m >= 0)
            put_f16(block, fields.m, any_f16(r));
        if (k->type == QKERN_TYPE_F32 || k->type == QKERN_TYPE_Q8_K) {
            const float v = any_f32(r);
            memcpy(block, &v, sizeof v);
        }
    }
    blocks_sums(k, n, blocks);
}

void blocks_alternate_scales(uint8_t scales[12])
{
    memset(scales, 0, 12);
    for (int g = 0; g < 8; g++) {
        const int scale = g % 2 ? 63 : 1, min = g % 2 ? 0 : 63;
        if (g < 4) {
            scales[g] |= (uint8_t)scale;
            scales[g + 4] |= (uint8_t)min;
        } else {
            scales[g + 4] |= (uint8_t)((scale & 15) | (min & 15) << 4);
            scales[g - 4] |= (uint8_t)(scale >> 4 << 6);
            scales[g] |= (uint8_t)(min >> 4 << 6);
        }
    }
}
