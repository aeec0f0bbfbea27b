/* SPDX-License-Identifier: MIT */
/*
 * Failures that quantization kernels had in the field, as tests of the whole class each. (Other
 * classes have tests of their own: half conversion in test_half.c, unaligned rows in test_memory.c,
 * FTZ and DAZ in test_undefined.c. Row lengths that are not whole blocks are refused by the host.)
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <qkern/blocks.h>

#include "kernels/support.h"
#include "verify/contract.h"

#define N_MAX 4096
#define ROW_MAX (4 * N_MAX)

static uint8_t weights[ROW_MAX], activations[ROW_MAX];
static float values[N_MAX], results[N_MAX], importance[N_MAX];

static const uint16_t f16_one = 0x3c00;

static int has_minimum(uint32_t type)
{
    return type == QKERN_TYPE_Q4_1 || type == QKERN_TYPE_Q5_1 || type == QKERN_TYPE_Q2_K ||
           type == QKERN_TYPE_Q4_K || type == QKERN_TYPE_Q5_K;
}

static void check_contract(const struct qkern_kernel *k, uint64_t n)
{
    const float found = k->vec_dot(n, weights, activations);
    const float expected = contract_dot(k->type, n, weights, activations);
    if (!same_float(found, expected))
        fail_msg("%s, n = %llu: %a, expected %a", type_name(k->type), (unsigned long long)n,
                 (double)found, (double)expected);
}

#define ROWS 11 /* more than any kernel does together */

/* Rows that begin a block later each. */
static void check_contract_of_rows(const struct qkern_kernel *k, uint64_t n)
{
    float found[ROWS];
    k->vec_dot_rows(n, ROWS, found, weights, k->block_bytes, activations);
    for (int r = 0; r < ROWS; r++) {
        const float expected =
            contract_dot(k->type, n, weights + (size_t)r * k->block_bytes, activations);
        if (!same_float(found[r], expected))
            fail_msg("%s, n = %llu, row %d: %a, expected %a", type_name(k->type),
                     (unsigned long long)n, r, (double)found[r], (double)expected);
    }
}

/* Activations of scale 1 whose codes are all `code`. */
static void fill_activations(uint32_t type, uint64_t n, int8_t code)
{
    const struct qkern_kernel *k = kernel_of(type);
    const float one = 1.0f;
    const int16_t sum = (int16_t)(16 * code);
    memset(activations, code, row_size(k, n));
    for (uint64_t b = 0; b < n / k->block_elements; b++) {
        uint8_t *at = activations + b * k->block_bytes;
        if (type == QKERN_TYPE_Q8_K) {
            memcpy(at, &one, 4);
            for (int g = 0; g < 16; g++)
                memcpy(((struct qkern_block_q8_K *)at)->bsums[g], &sum, 2);
        } else {
            memcpy(at, &f16_one, 2);
        }
        if (type == QKERN_TYPE_Q8_1) {
            const uint16_t s = contract_to_f16((float)(32 * code));
            memcpy(at + 2, &s, 2);
        }
    }
}

/* Row 1. */
static void minus_128_times_minus_128_is_positive(void **state)
{
    (void)state;
    fill_activations(QKERN_TYPE_Q8_0, 64, -128);
    memcpy(weights, activations, 68);
    assert_true(kernel_of(QKERN_TYPE_Q8_0)->vec_dot(64, weights, activations) == 1048576.0f);
}

/* Row 2. */
static void nibble_0_times_minus_128_is_positive(void **state)
{
    (void)state;
    fill_activations(QKERN_TYPE_Q8_0, 32, -128);
    memset(weights, 0, 18);
    memcpy(weights, &f16_one, 2);
    assert_true(kernel_of(QKERN_TYPE_Q4_0)->vec_dot(32, weights, activations) == 32768.0f);
}

/* Rows 1 to 5: every weight byte pattern that makes extremes, against every extreme activation. */
static void integer_sums_are_exact_at_all_extremes(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x00, 0xff, 0x0f, 0xf0, 0x55, 0xaa, 0x7f, 0x80, 0x81};
    static const int8_t codes[] = {127, -127, -128, 1, 0};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        if (k->vec_dot == NULL || !is_quantized(k))
            continue;
        for (size_t p = 0; p < sizeof bytes; p++)
            for (size_t c = 0; c < sizeof codes; c++) {
                struct numbers r = {1};
                fill_blocks(&r, k, 4096, weights); /* for its scale fields */
                for (uint64_t b = 0; b < 4096 / k->block_elements; b++) {
                    uint8_t *at = weights + b * k->block_bytes, kept[2][2];
                    /* Everything but the scale fields, which are at either end. */
                    memcpy(kept[0], at, 2);
                    memcpy(kept[1], at + k->block_bytes - 2, 2);
                    memset(at, bytes[p], k->block_bytes);
                    if (k->type == QKERN_TYPE_Q2_K || k->type == QKERN_TYPE_Q3_K ||
                        k->type == QKERN_TYPE_Q6_K)
                        memcpy(at + k->block_bytes - 2, kept[1], 2);
                    else
                        memcpy(at, kept[0], 2);
                    if (has_minimum(k->type) && k->type != QKERN_TYPE_Q2_K)
                        memcpy(at + 2, &f16_one, 2);
                    if (k->type == QKERN_TYPE_Q2_K)
                        memcpy(((struct qkern_block_q2_K *)at)->d, &f16_one, 2);
                }
                fill_activations(k->dot_type, 4096, codes[c]);
                check_contract(k, k->block_elements);
                check_contract(k, 4096);
                check_contract_of_rows(k, 4096 - (ROWS - 1) * k->block_elements);
            }
    }
}

/* Row 5. */
static void q4_K_extremes_give_the_exact_sum(void **state)
{
    (void)state;
    struct qkern_block_q4_K *b = (void *)weights;
    memset(b, 0xff, sizeof *b); /* nibbles 15, scales 63, minimums 63 */
    memcpy(b->d, &f16_one, 2);
    memset(b->dmin, 0, 2);
    fill_activations(QKERN_TYPE_Q8_K, 256, 127);
    const struct qkern_kernel *k = kernel_of(QKERN_TYPE_Q4_K);
    assert_true(k->vec_dot(256, weights, activations) == 256.0f * 63 * 15 * 127);
    memcpy(b->dmin, &f16_one, 2);
    assert_true(k->vec_dot(256, weights, activations) ==
                256.0f * 63 * 15 * 127 - 63.0f * 16 * 16 * 127);
}

/* Row 6. The raw kernel stores what IEEE says; the host's checked call refuses it. */
static void q8_1_sum_that_overflows_f16_is_stored_as_infinity(void **state)
{
    (void)state;
    struct qkern_block_q8_1 b;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int e = 0; e < 32; e++)
            values[e] = (float)sign * 1e5f;
        kernel_of(QKERN_TYPE_Q8_1)->quantize(32, values, &b);
        assert_int_equal(b.d[0] | b.d[1] << 8, contract_to_f16(1e5f / 127.0f));
        assert_int_equal(b.s[0] | b.s[1] << 8, sign < 0 ? 0xfc00 : 0x7c00);
        for (int e = 0; e < 32; e++)
            assert_int_equal(b.qs[e], sign * 127);
    }
}

/* Row 7. */
static void small_scales_are_multiplied_in_f32(void **state)
{
    (void)state;
    struct numbers r = {7};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        const struct qkern_kernel *ka = kernel_of(k->dot_type);
        if (ka == NULL)
            continue;
        for (int e = 0; e < 1024; e++)
            values[e] = fabsf(number_gaussian(&r)) * 1e-2f;
        k->quantize(1024, values, weights);
        for (int e = 0; e < 1024; e++)
            values[e] = fabsf(number_gaussian(&r)) * 1e-3f;
        ka->quantize(1024, values, activations);
        assert_true(k->vec_dot(1024, weights, activations) > 1e-4f);
        check_contract(k, 1024);
    }
}

/* Row 8. */
static void q8_0_rounds_ties_away_from_zero(void **state)
{
    (void)state;
    struct qkern_block_q8_0 b;
    for (int i = 0; i < 31; i++)
        values[i] = (i % 2 ? 1.0f : -1.0f) * ((float)i + 0.5f);
    values[31] = 127.0f;
    kernel_of(QKERN_TYPE_Q8_0)->quantize(32, values, &b);
    for (int i = 0; i < 31; i++)
        assert_int_equal(b.qs[i], (i % 2 ? 1 : -1) * (i + 1));
    assert_int_equal(b.qs[31], 127);

    /* Just below a tie: adding a half in f32 would round up. */
    for (int i = 0; i < 31; i++)
        values[i] = (i % 2 ? 1.0f : -1.0f) * nextafterf((float)i + 0.5f, 0.0f);
    kernel_of(QKERN_TYPE_Q8_0)->quantize(32, values, &b);
    for (int i = 0; i < 31; i++)
        assert_int_equal(b.qs[i], (i % 2 ? 1 : -1) * i);
}

/* Row 9. */
static void codes_use_the_f32_scale_when_the_stored_one_is_zero(void **state)
{
    (void)state;
    struct qkern_block_q8_0 b;
    for (int i = 0; i < 32; i++)
        values[i] = 1e-7f * (float)(i % 9 - 4);
    const float d = 4e-7f / 127.0f, id = 1.0f / d;
    kernel_of(QKERN_TYPE_Q8_0)->quantize(32, values, &b);
    assert_int_equal(b.d[0] | b.d[1], 0);
    for (int i = 0; i < 32; i++)
        assert_int_equal(b.qs[i], (int)roundf(values[i] * id));
    assert_int_equal(b.qs[0], -127);
}

/* The bytes of one block of Q4_1 (levels 15) or Q5_1 (31), from the formula. */
static void minimum_block(const float *x, int levels, uint8_t *block)
{
    float lo = FLT_MAX, hi = -FLT_MAX;
    for (int e = 0; e < 32; e++) {
        if (x[e] < lo)
            lo = x[e];
        if (x[e] > hi)
            hi = x[e];
    }
    const float d = (hi - lo) / (float)levels, id = d != 0 ? 1.0f / d : 0.0f;
    const uint16_t hd = contract_to_f16(d), hm = contract_to_f16(lo);
    uint8_t *qs = block + (levels == 15 ? 4 : 8);
    memset(block, 0, levels == 15 ? 20 : 24);
    memcpy(block, &hd, 2);
    memcpy(block + 2, &hm, 2);
    for (int e = 0; e < 32; e++) {
        const float scaled = (x[e] - lo) * id;
        int code = (int)(scaled + 0.5f);
        code = code > levels ? levels : code;
        qs[e % 16] |= (uint8_t)((code & 15) << (e < 16 ? 0 : 4));
        if (code > 15)
            block[4 + e / 8] |= (uint8_t)(1 << e % 8);
    }
}

/* Row 10. */
static void extremes_are_found_at_every_pair_of_positions(void **state)
{
    (void)state;
    static const uint32_t types[2] = {QKERN_TYPE_Q4_1, QKERN_TYPE_Q5_1};
    for (int t = 0; t < 2; t++)
        for (int low = 0; low < 32; low++)
            for (int high = 0; high < 32; high++) {
                if (low == high)
                    continue;
                struct numbers r = {(uint64_t)(32 * low + high)};
                uint8_t found[24] = {0}, expected[24] = {0};
                for (int e = 0; e < 32; e++)
                    values[e] = (float)(number_u64(&r) >> 40) * 0x1p-24f - 0.5f;
                values[low] = -2.0f;
                values[high] = 3.0f;
                kernel_of(types[t])->quantize(32, values, found);
                minimum_block(values, t == 0 ? 15 : 31, expected);
                assert_memory_equal(found, expected, 24);
            }
}

/* As row 10 for the types with one extreme, of either sign, and with an equal one before it. */
static void the_first_of_equal_extremes_gives_the_sign(void **state)
{
    (void)state;
    static const uint32_t types[3] = {QKERN_TYPE_Q4_0, QKERN_TYPE_Q5_0, QKERN_TYPE_Q8_K};
    for (int t = 0; t < 3; t++) {
        const struct qkern_kernel *k = kernel_of(types[t]);
        const int n = (int)k->block_elements;
        for (int at = 0; at < n; at++)
            for (int sign = -1; sign <= 1; sign += 2) {
                struct numbers r = {(uint64_t)at};
                for (int e = 0; e < n; e++)
                    values[e] = (float)(number_u64(&r) >> 40) * 0x1p-24f - 0.5f;
                values[at] = (float)sign;
                values[n - 1] = at < n - 1 ? (float)-sign : values[n - 1];
                k->quantize((uint64_t)n, values, weights);
                k->dequantize((uint64_t)n, weights, results);
                /* d has the opposite sign of the first, which gets the most negative code. */
                const int negative = weights[k->type == QKERN_TYPE_Q8_K ? 3 : 1] >> 7;
                assert_int_equal(negative, sign > 0);
                assert_float_equal(results[at], (float)sign, 1e-6);
            }
    }
}

/* Row 11. */
static void every_number_of_blocks_gives_the_contracts_bits(void **state)
{
    (void)state;
    struct numbers r = {11};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        if (k->vec_dot == NULL)
            continue;
        const uint64_t most = k->block_elements == 1 ? 70 : k->block_elements == 32 ? 33 : 9;
        for (uint64_t blocks = 0; blocks <= most; blocks++) {
            const uint64_t n = blocks * k->block_elements;
            fill_blocks(&r, k, n + (ROWS - 1) * k->block_elements, weights);
            fill_blocks(&r, kernel_of(k->dot_type), n, activations);
            check_contract(k, n);
            check_contract_of_rows(k, n);
        }
    }
}

/* Any bytes at all: scales that are NaN, infinite or 0, sums that are not those of the codes. */
static void any_bytes_give_the_contracts_bits(void **state)
{
    (void)state;
    struct numbers r = {20};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        for (uint64_t round = 0; k->vec_dot != NULL && round < 40; round++) {
            const uint64_t blocks = round % 10, n = blocks * k->block_elements;
            fill_bytes(&r, row_size(k, n + ROWS * k->block_elements), weights);
            fill_bytes(&r, row_size(kernel_of(k->dot_type), n), activations);
            check_contract(k, n);
            check_contract_of_rows(k, n);
        }
    }
}

static void every_number_of_blocks_quantizes_as_its_blocks_do(void **state)
{
    (void)state;
    struct numbers r = {12};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        const uint64_t elements = k->block_elements;
        fill_gaussian(&r, 9 * elements, values);
        for (uint64_t b = 0; b < 9; b++) {
            k->quantize(elements, values + b * elements, activations + b * k->block_bytes);
            k->quantize((b + 1) * elements, values, weights);
            assert_memory_equal(weights, activations, (b + 1) * k->block_bytes);
        }
    }
}

/* Row 12. */
static void every_group_is_multiplied_by_its_own_scale(void **state)
{
    (void)state;
    struct numbers r = {13};
    const struct qkern_kernel *ka = kernel_of(QKERN_TYPE_Q8_K);
    for (int i = 0; i < 256; i++)
        values[i] = (float)(i - 128) / 128.0f;
    ka->quantize(256, values, activations);
    const struct qkern_block_q8_K *a = (void *)activations;
    float da;
    memcpy(&da, a->d, 4);

    for (int type = 0; type < 2; type++) {
        const struct qkern_kernel *k = kernel_of(type == 0 ? QKERN_TYPE_Q4_K : QKERN_TYPE_Q5_K);
        fill_bytes(&r, k->block_bytes, weights);
        memcpy(weights, &f16_one, 2);
        memcpy(weights + 2, &f16_one, 2);
        blocks_alternate_scales(weights + 4);
        k->dequantize(256, weights, results);
        int64_t s = 0, m = 0;
        for (int e = 0; e < 256; e++) {
            const int g = e / 32, scale = g % 2 ? 63 : 1, min = g % 2 ? 0 : 63;
            const int code = (int)((results[e] + (float)min) / (float)scale);
            assert_true(code >= 0 && code <= (type == 0 ? 15 : 31));
            assert_true(results[e] == (float)(scale * code - min));
            s += scale * code * a->qs[e];
            m += min * a->qs[e];
        }
        const float expected = da * (float)s - da * (float)m;
        assert_int_equal(bits_of(k->vec_dot(256, weights, activations)), bits_of(expected));
    }
}

/* All layouts: each byte pattern decodes to what the formula says. */
static void dequantize_follows_the_layout_on_random_blocks(void **state)
{
    (void)state;
    struct numbers r = {14};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        const uint64_t n = 8 * (uint64_t)k->block_elements;
        for (int round = 0; round < 20; round++) {
            /* Any bytes, scales included, then moderate scales. */
            if (round % 2)
                fill_blocks(&r, k, n, weights);
            else
                fill_bytes(&r, row_size(k, n), weights);
            k->dequantize(n, weights, results);
            for (uint64_t e = 0; e < n; e++) {
                const uint8_t *block = weights + e / k->block_elements * k->block_bytes;
                const float expected = contract_value(k->type, block, (int)(e % k->block_elements));
                assert_true(same_float(results[e], expected));
            }
        }
    }
}

/* Row 17. */
static void importance_of_zero_gives_finite_blocks(void **state)
{
    (void)state;
    static const float scales[] = {1e-11f, 1.0f, 1e-30f};
    struct numbers r = {17};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        for (int s = 0; s < 3; s++)
            for (int some = 0; some < 2; some++) {
                for (int e = 0; e < 512; e++) {
                    values[e] = number_gaussian(&r) * scales[s];
                    importance[e] = some && e % 3 == 0 ? 1.0f : 0.0f;
                }
                k->quantize_weighted(512, values, importance, weights);
                k->dequantize(512, weights, results);
                for (int e = 0; e < 512; e++)
                    assert_true(isfinite(results[e]));
            }
    }
}

static void types_without_use_for_importance_write_what_quantize_writes(void **state)
{
    (void)state;
    static const uint32_t types[] = {QKERN_TYPE_F32,  QKERN_TYPE_F16,  QKERN_TYPE_BF16,
                                     QKERN_TYPE_Q8_0, QKERN_TYPE_Q8_1, QKERN_TYPE_Q8_K};
    struct numbers r = {18};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        const struct qkern_kernel *k = kernel_of(types[t]);
        fill_gaussian(&r, 1024, values);
        for (int e = 0; e < 1024; e++)
            importance[e] = (float)(e % 7);
        k->quantize(1024, values, weights);
        k->quantize_weighted(1024, values, importance, activations);
        assert_memory_equal(weights, activations, row_size(k, 1024));
    }
}

/* Not of the corpus: what importance is for. */
static void importance_lowers_the_error_where_it_is_high(void **state)
{
    (void)state;
    struct numbers r = {19};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        if (!is_quantized(k) || k->type == QKERN_TYPE_Q8_0 || k->type == QKERN_TYPE_Q8_1 ||
            k->type == QKERN_TYPE_Q8_K)
            continue;
        double error[2] = {0, 0};
        fill_gaussian(&r, 4096, values);
        for (int e = 0; e < 4096; e++)
            importance[e] = e % 4 == 0 ? 100.0f : 0.01f;
        for (int weighted = 0; weighted < 2; weighted++) {
            if (weighted)
                k->quantize_weighted(4096, values, importance, weights);
            else
                k->quantize(4096, values, weights);
            k->dequantize(4096, weights, results);
            for (int e = 0; e < 4096; e += 4)
                error[weighted] += (double)((results[e] - values[e]) * (results[e] - values[e]));
        }
        assert_true(error[1] < error[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minus_128_times_minus_128_is_positive),
        cmocka_unit_test(nibble_0_times_minus_128_is_positive),
        cmocka_unit_test(integer_sums_are_exact_at_all_extremes),
        cmocka_unit_test(q4_K_extremes_give_the_exact_sum),
        cmocka_unit_test(q8_1_sum_that_overflows_f16_is_stored_as_infinity),
        cmocka_unit_test(small_scales_are_multiplied_in_f32),
        cmocka_unit_test(q8_0_rounds_ties_away_from_zero),
        cmocka_unit_test(codes_use_the_f32_scale_when_the_stored_one_is_zero),
        cmocka_unit_test(extremes_are_found_at_every_pair_of_positions),
        cmocka_unit_test(the_first_of_equal_extremes_gives_the_sign),
        cmocka_unit_test(every_number_of_blocks_gives_the_contracts_bits),
        cmocka_unit_test(any_bytes_give_the_contracts_bits),
        cmocka_unit_test(every_number_of_blocks_quantizes_as_its_blocks_do),
        cmocka_unit_test(every_group_is_multiplied_by_its_own_scale),
        cmocka_unit_test(dequantize_follows_the_layout_on_random_blocks),
        cmocka_unit_test(importance_of_zero_gives_finite_blocks),
        cmocka_unit_test(types_without_use_for_importance_write_what_quantize_writes),
        cmocka_unit_test(importance_lowers_the_error_where_it_is_high),
    };
    return RUN_KERNEL_TESTS(tests, NULL, NULL);
}
