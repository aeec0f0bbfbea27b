/* SPDX-License-Identifier: MIT */
/*
 * Quantize and dequantize are the scalar kernels', byte for byte and bit for bit, whatever a row
 * looks like: where groups part, tie, vanish or overflow, searches in lanes go other ways than
 * scalar ones.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <qkern/blocks.h>

#include "kernels/support.h"

#define BLOCKS_MAX 33 /* one more than fill two batches */
#define ELEMENTS_MAX (BLOCKS_MAX * 256)
#define BYTES_MAX (BLOCKS_MAX * sizeof(struct qkern_block_q8_K))

static float found_values[ELEMENTS_MAX], expected_values[ELEMENTS_MAX];
static uint8_t found[ELEMENTS_MAX * sizeof(float)], expected[ELEMENTS_MAX * sizeof(float)];

static float gaussian(struct numbers *r, uint64_t i)
{
    (void)i;
    return number_gaussian(r);
}

static float small_integer(struct numbers *r, uint64_t i)
{
    (void)i;
    return (float)(number_u64(r) % 7) - 3.0f;
}

static float any_finite(struct numbers *r, uint64_t i)
{
    (void)i;
    return number_any_finite(r);
}

static float far_below_zero(struct numbers *r, uint64_t i)
{
    (void)i;
    return -fabsf(number_gaussian(r)) - 100.0f;
}

static float mostly_zero(struct numbers *r, uint64_t i)
{
    (void)i;
    const float v = number_gaussian(r);
    return number_u64(r) % 8 == 0 ? v : copysignf(0.0f, v);
}

static float subnormal(struct numbers *r, uint64_t i)
{
    (void)i;
    return from_bits((uint32_t)number_u64(r) & 0x807fffff);
}

static float with_outliers(struct numbers *r, uint64_t i)
{
    (void)i;
    const float v = number_gaussian(r);
    return number_u64(r) % 40 == 0 ? v * 1e4f : v;
}

/* So that groups have a scale of 0 beside others that have one. */
static float unlike_groups(struct numbers *r, uint64_t i)
{
    const float v = number_gaussian(r);
    return i / 16 % 3 == 0 ? v : v * 1e-3f;
}

static float two_values(struct numbers *r, uint64_t i)
{
    (void)i;
    return number_u64(r) % 3 == 0 ? -0.75f : 0.75f;
}

static float power_of_two(struct numbers *r, uint64_t i)
{
    (void)i;
    const float v = from_bits((uint32_t)number_u64(r) & 0xff800000);
    return isfinite(v) ? v : 0.0f;
}

static float whole_or_half(struct numbers *r, uint64_t i)
{
    (void)i;
    return ((float)(number_u64(r) % 509) - 254.0f) / 2.0f;
}

/* Whose squares overflow. */
static float huge_element(struct numbers *r, uint64_t i)
{
    (void)i;
    const uint32_t bits = (uint32_t)number_u64(r);
    return from_bits((bits & 0x807fffff) | ((235 + bits / 4096 % 20) << 23));
}

static const struct kind {
    const char *name;
    float (*element)(struct numbers *, uint64_t);
} kinds[] = {
    {"gaussian", gaussian},
    {"small integers", small_integer},
    {"any finite bits", any_finite},
    {"far below zero", far_below_zero},
    {"mostly zeros", mostly_zero},
    {"subnormal", subnormal},
    {"with outliers", with_outliers},
    {"unlike groups", unlike_groups},
    {"two values", two_values},
    {"powers of two", power_of_two},
    {"whole and half", whole_or_half},
    {"huge", huge_element},
};

static const struct qkern_kernel *scalar_of(uint32_t type)
{
    for (uint32_t i = 0; i < qkern_plugin_scalar.kernel_count; i++)
        if (qkern_plugin_scalar.kernels[i]->type == type)
            return qkern_plugin_scalar.kernels[i];
    return NULL;
}

static void check_bytes(const struct qkern_kernel *k, const char *entry, const struct kind *kind,
                        uint64_t blocks)
{
    for (size_t b = 0; b < sizeof found; b++)
        if (found[b] != expected[b])
            fail_msg("%s %s, %s, %llu blocks: byte %zu of block %zu is %02x, expected %02x",
                     type_name(k->type), entry, kind->name, (unsigned long long)blocks,
                     b % k->block_bytes, b / k->block_bytes, found[b], expected[b]);
}

static void forget(void)
{
    memset(found, 0xa5, sizeof found);
    memset(expected, 0xa5, sizeof expected);
}

static void check_kind(const struct qkern_kernel *k, const struct kind *kind, uint64_t blocks,
                       struct numbers *r)
{
    const struct qkern_kernel *scalar = scalar_of(k->type);
    const uint64_t n = blocks * k->block_elements;
    struct guarded_row x_row = guarded_before_end(n * sizeof(float));
    struct guarded_row importance_row = guarded_before_end(n * sizeof(float));
    float *x = (float *)x_row.data, *importance = (float *)importance_row.data;
    for (uint64_t i = 0; i < n; i++) {
        x[i] = kind->element(r, i);
        importance[i] = number_u64(r) % 8 == 0 ? 0.0f : fabsf(number_gaussian(r));
    }
    forget();
    k->quantize(n, x, found);
    scalar->quantize(n, x, expected);
    check_bytes(k, "quantize", kind, blocks);

    forget();
    k->quantize_weighted(n, x, importance, found);
    scalar->quantize_weighted(n, x, importance, expected);
    check_bytes(k, "quantize_weighted", kind, blocks);
    guarded_row_free(&x_row);
    guarded_row_free(&importance_row);
}

/* Each kind in short rows of three lengths, which the types take in turn, and in a long row. */
static void every_kind_of_row_becomes_scalars_bytes(void **state)
{
    (void)state;
    struct numbers r = {71};
    for (uint32_t i = 0; i < kernel_count(); i++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
            for (uint64_t length = 0; length < 3; length++)
                check_kind(kernel_at(i), &kinds[kind], (i + kind + 3 * length) % 9 + 1, &r);
            check_kind(kernel_at(i), &kinds[kind], kind % 2 == 0 ? BLOCKS_MAX : 17, &r);
        }
}

static void any_bytes_become_scalars_values(void **state)
{
    (void)state;
    struct numbers r = {72};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        for (uint64_t blocks = 0; blocks <= BLOCKS_MAX; blocks++) {
            const uint64_t n = blocks * k->block_elements;
            fill_bytes(&r, BYTES_MAX, found);
            k->dequantize(n, found, found_values);
            scalar_of(k->type)->dequantize(n, found, expected_values);
            for (uint64_t e = 0; e < n; e++)
                if (!same_float(found_values[e], expected_values[e]))
                    fail_msg("%s, element %llu: %a, expected %a", type_name(k->type),
                             (unsigned long long)e, (double)found_values[e],
                             (double)expected_values[e]);
        }
    }
}

/* A block's first element makes its scale 1, so that the others are rounded as they are. */
static void check_rounding(const struct qkern_kernel *k, size_t codes_at, float v)
{
    const float x[32] = {[0] = 127.0f, [17] = v, [18] = -v};
    k->quantize(32, x, found);
    const int8_t *q = (const int8_t *)found + codes_at;
    if (q[17] != (int)roundf(v) || q[18] != -(int)roundf(v))
        fail_msg("%s: %a is rounded to %d and %d", type_name(k->type), (double)v, q[17], q[18]);
}

static void halves_are_rounded_away_from_zero_and_what_is_less_is_not(void **state)
{
    (void)state;
    for (int whole = 0; whole < 127; whole++)
        for (int ulp = -3; ulp <= 3; ulp++) {
            const float half = (float)whole + 0.5f;
            const float v = from_bits(bits_of(half) + (uint32_t)ulp);
            check_rounding(kernel_of(QKERN_TYPE_Q8_0), offsetof(struct qkern_block_q8_0, qs), v);
            check_rounding(kernel_of(QKERN_TYPE_Q8_1), offsetof(struct qkern_block_q8_1, qs), v);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_row_becomes_scalars_bytes),
        cmocka_unit_test(any_bytes_become_scalars_values),
        cmocka_unit_test(halves_are_rounded_away_from_zero_and_what_is_less_is_not),
    };
    return RUN_KERNEL_TESTS(tests, NULL, NULL);
}
