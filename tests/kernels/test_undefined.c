/* SPDX-License-Identifier: MIT */
/* What docs/numerics.md defines where the formats' reference does not. */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <qkern/blocks.h>

#include "kernels/support.h"
#include "plugins/common/round.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define N 512

static float values[N], importance[N], results[N];
static uint8_t blocks[4 * N], others[4 * N];

static uint16_t u16_at(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

/* Rounding helpers */

static void rne_takes_the_low_23_bits_on_any_input(void **state)
{
    (void)state;
    static const struct {
        float v;
        int32_t expected;
    } table[] = {
        {0.5f, 0},
        {1.5f, 2},
        {-0.5f, 0},
        {-2.5f, -2},
        {2.4999998f, 2},
        {4194303.0f, 4194303},
        {-4194303.0f, -4194303},
        {4194304.0f, -4194304}, /* 2^24: the sum has the next exponent and an empty fraction */
        {INFINITY, -4194304},
        {-INFINITY, -4194304},
        {FLT_MAX, 4194303},
        {-FLT_MAX, 4194303},
        {NAN, 0},
        {FLT_TRUE_MIN, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_int_equal(rne(table[i].v), table[i].expected);

    struct numbers r = {1};
    for (int i = 0; i < 200000; i++) {
        const float v = from_bits((uint32_t)number_u64(&r));
        assert_in_range(rne(v) + 4194304, 0, 8388607);
        if (fabsf(v) <= 4194303.0f)
            assert_int_equal(rne(v), (int)nearbyintf(v));
    }
}

static void rha_is_roundf(void **state)
{
    (void)state;
    struct numbers r = {2};
    for (int i = 0; i < 200000; i++) {
        float v = number_gaussian(&r) * 40.0f;
        if (i % 2)
            v = from_bits((uint32_t)((int)bits_of((float)(i % 300) / 2 - 75) + i / 2 % 5 - 2));
        if (fabsf(v) < 0x1p30f)
            assert_int_equal(rha(v), (int)roundf(v));
    }
}

static void nan_is_clamped_to_the_lower_bound(void **state)
{
    (void)state;
    assert_true(clamp_f32(NAN, -3.0f, 7.0f) == -3.0f);
    assert_true(clamp_f32(-NAN, 0.0f, 7.0f) == 0.0f);
    assert_true(clamp_f32(INFINITY, -3.0f, 7.0f) == 7.0f);
    assert_true(clamp_f32(-INFINITY, -3.0f, 7.0f) == -3.0f);
    assert_true(clamp_f32(2.5f, -3.0f, 7.0f) == 2.5f);
}

static void the_reciprocal_of_a_scale_is_always_finite(void **state)
{
    (void)state;
    assert_true(reciprocal(0.0f) == 0.0f);
    assert_true(reciprocal(-0.0f) == 0.0f);
    assert_true(reciprocal(NAN) == 0.0f);
    assert_true(reciprocal(0x1p-128f) == 0.0f);
    assert_true(reciprocal(-0x1p-128f) == 0.0f);
    assert_true(reciprocal(0x1p-128f + FLT_TRUE_MIN) > 0x1p127f);
    assert_true(reciprocal(INFINITY) == 0.0f);
    assert_true(reciprocal(-4.0f) == -0.25f);
}

/* Finite input */

static void blocks_too_small_to_scale_decode_to_zero(void **state)
{
    (void)state;
    struct numbers r = {3};
    static const float sizes[] = {0x1p-149f, 0x1p-140f, 0x1p-130f, 0x1p-127f, 0x1p-124f};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        if (k->type == QKERN_TYPE_F32 || k->type == QKERN_TYPE_BF16)
            continue;
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (int e = 0; e < N; e++) {
                values[e] = number_gaussian(&r) * sizes[s];
                importance[e] = 1.0f;
            }
            for (int weighted = 0; weighted < 2; weighted++) {
                if (weighted)
                    k->quantize_weighted(N, values, importance, blocks);
                else
                    k->quantize(N, values, blocks);
                k->dequantize(N, blocks, results);
                for (int e = 0; e < N; e++)
                    assert_true(fabsf(results[e]) <= 8.0f * sizes[s]);
            }
        }
    }
}

/* |d| <= 2^-128: id = 0, so the codes are those of x = 0. */
static void legacy_blocks_whose_scale_has_no_inverse_have_the_codes_of_zero(void **state)
{
    (void)state;
    /* Type, bytes before the codes, their value. Q5_0's codes are 16: high bits set, nibbles 0. */
    static const struct {
        uint32_t type;
        size_t skip;
        uint8_t code, high;
    } table[] = {
        {QKERN_TYPE_Q4_0, 2, 0x88, 0}, {QKERN_TYPE_Q4_1, 4, 0, 0}, {QKERN_TYPE_Q5_0, 6, 0, 0xff},
        {QKERN_TYPE_Q5_1, 8, 0, 0},    {QKERN_TYPE_Q8_0, 2, 0, 0}, {QKERN_TYPE_Q8_1, 4, 0, 0},
    };
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++) {
        const struct qkern_kernel *k = kernel_of(table[t].type);
        for (int e = 0; e < 32; e++)
            values[e] = (float)(e - 16) * 0x1p-135f;
        k->quantize(32, values, blocks);
        assert_int_equal(u16_at(blocks) & 0x7fff, 0);
        for (size_t b = table[t].skip; b < k->block_bytes; b++)
            assert_int_equal(blocks[b], table[t].code);
        for (size_t b = table[t].skip - 4; table[t].skip >= 6 && b < table[t].skip; b++)
            assert_int_equal(blocks[b], table[t].high);
    }
}

static void a_range_that_overflows_gives_code_0_and_an_infinite_scale(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        const struct qkern_kernel *k = kernel_of(t == 0 ? QKERN_TYPE_Q4_1 : QKERN_TYPE_Q5_1);
        for (int e = 0; e < 32; e++)
            values[e] = e % 2 ? 3e38f : -3e38f;
        k->quantize(32, values, blocks);
        assert_int_equal(u16_at(blocks), 0x7c00);
        assert_int_equal(u16_at(blocks + 2), 0xfc00);
        for (size_t b = 4; b < k->block_bytes; b++)
            assert_int_equal(blocks[b], 0);
    }
}

static void q8_K_blocks_whose_scale_has_no_inverse_are_zero(void **state)
{
    (void)state;
    static const float sizes[] = {0.0f, -0.0f, 0x1p-149f, -0x1p-130f, 0x1.fcp-122f};
    const struct qkern_kernel *k = kernel_of(QKERN_TYPE_Q8_K);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int e = 0; e < 256; e++)
            values[e] = e == 100 ? sizes[s] : sizes[s] / 2;
        memset(blocks, 0x55, sizeof blocks);
        k->quantize(256, values, blocks);
        for (size_t b = 0; b < k->block_bytes; b++)
            assert_int_equal(blocks[b], 0);
    }
    /* The next larger ones have a scale. */
    for (int e = 0; e < 256; e++)
        values[e] = e == 100 ? 0x1p-120f : 0.0f;
    k->quantize(256, values, blocks);
    assert_int_equal(((const struct qkern_block_q8_K *)(const void *)blocks)->qs[100], -127);
    k->dequantize(256, blocks, results);
    assert_true(fabsf(results[100] / 0x1p-120f - 1.0f) < 1e-6f);
}

/* NaN and infinity */

static void infinities_and_nan_give_stated_bytes_in_legacy_types(void **state)
{
    (void)state;
    struct qkern_block_q8_1 q8;
    struct qkern_block_q4_0 q4;

    /* An infinity: scale infinite, its own code the clamp's lower bound, all others zero. */
    for (int e = 0; e < 32; e++)
        values[e] = e == 5 ? -INFINITY : 1.0f;
    kernel_of(QKERN_TYPE_Q8_1)->quantize(32, values, &q8);
    assert_int_equal(u16_at(q8.d), 0x7c00);
    assert_int_equal(u16_at(q8.s), 0xfc00); /* -127 * infinity */
    for (int e = 0; e < 32; e++)
        assert_int_equal(q8.qs[e], e == 5 ? -127 : 0);
    kernel_of(QKERN_TYPE_Q4_0)->quantize(32, values, &q4);
    assert_int_equal(u16_at(q4.d), 0x7c00);
    for (int j = 0; j < 16; j++)
        assert_int_equal(q4.qs[j], j == 5 ? 0x80 : 0x88);

    /* NaN: not seen by the scale, its code is the lower bound. */
    for (int e = 0; e < 32; e++)
        values[e] = e == 7 ? NAN : e == 9 ? 127.0f : 1.0f;
    kernel_of(QKERN_TYPE_Q8_1)->quantize(32, values, &q8);
    assert_int_equal(u16_at(q8.d), 0x3c00);
    for (int e = 0; e < 32; e++)
        assert_int_equal(q8.qs[e], e == 7 ? -127 : e == 9 ? 127 : 1);
}

static void a_nan_scale_is_stored_as_7e00(void **state)
{
    (void)state;
    /* A weighted scale that is infinity / infinity. */
    for (int e = 0; e < 32; e++) {
        values[e] = e % 2 ? 1e30f : -1e30f;
        importance[e] = 1e30f;
    }
    kernel_of(QKERN_TYPE_Q4_0)->quantize_weighted(32, values, importance, blocks);
    assert_int_equal(u16_at(blocks), 0x7e00);
}

/* NaN of any payload is ignored by absmax, so these blocks are defined: they are zero blocks. */
static void blocks_of_nothing_but_nan_are_zero(void **state)
{
    (void)state;
    static const uint32_t types[] = {QKERN_TYPE_Q3_K, QKERN_TYPE_Q6_K, QKERN_TYPE_Q8_K};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        const struct qkern_kernel *k = kernel_of(types[t]);
        for (int e = 0; e < 256; e++)
            values[e] = from_bits((e % 2 ? 0xff800001u : 0x7fc00000u) + (uint32_t)e * 0x101u);
        memset(blocks, 0x55, sizeof blocks);
        k->quantize(256, values, blocks);
        for (size_t b = 0; b < k->block_bytes; b++)
            assert_int_equal(blocks[b], 0);
    }
}

/* Wherever it stands and whatever its payload: the scale is that of the other elements. */
static void one_nan_does_not_count_in_the_scale(void **state)
{
    (void)state;
    static const uint32_t nans[] = {0x7f800001, 0xff800001, 0x7fbfffff, 0x7fc00000, 0xffffffff};
    static const uint32_t types[] = {QKERN_TYPE_Q4_0, QKERN_TYPE_Q4_1, QKERN_TYPE_Q5_0,
                                     QKERN_TYPE_Q5_1, QKERN_TYPE_Q8_0, QKERN_TYPE_Q8_1};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        const struct qkern_kernel *k = kernel_of(types[t]);
        for (int e = 0; e < 32; e++)
            values[e] = e % 2 ? 3.0f : -3.0f;
        k->quantize(32, values, others);
        for (int at = 0; at < 32; at++)
            for (size_t n = 0; n < sizeof nans / sizeof nans[0]; n++) {
                for (int e = 0; e < 32; e++)
                    values[e] = e % 2 ? 3.0f : -3.0f;
                values[at] = from_bits(nans[n]);
                k->quantize(32, values, blocks);
                assert_int_equal(u16_at(blocks) & 0x7fff, u16_at(others) & 0x7fff);
            }
    }
}

/* Any bits at all: memory-safe, free of undefined behaviour (the sanitizer builds look), pure. */
static void any_input_bits_give_one_result(void **state)
{
    (void)state;
    struct numbers r = {4};
    static const uint32_t specials[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff, 0x7f800001,
                                        0x7f7fffff, 0xff7fffff, 0x00000001, 0x80000001, 0x80000000,
                                        0x00800000, 0x7e967699, 0x00000000, 0x3f800000};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        const struct qkern_kernel *ka = kernel_of(k->dot_type);
        for (int round = 0; round < 60; round++) {
            for (int e = 0; e < N; e++) {
                const uint64_t bits = number_u64(&r);
                const int kind = round % 4;
                values[e] = kind == 0   ? from_bits((uint32_t)bits)
                            : kind == 1 ? number_any_finite(&r)
                            : bits >> 40 & (kind == 2 ? 15u : 16u)
                                ? number_gaussian(&r)
                                : from_bits(specials[(bits >> 8) % 14]);
                importance[e] = round % 3 ? fabsf(number_any_finite(&r)) : (float)(bits & 1);
            }
            k->quantize(N, values, blocks);
            for (uint64_t b = 0; b < N / k->block_elements; b++) {
                uint8_t alone[292];
                k->quantize(k->block_elements, values + b * k->block_elements, alone);
                assert_memory_equal(alone, blocks + b * k->block_bytes, k->block_bytes);
            }
            k->dequantize(N, blocks, results);
            k->quantize_weighted(N, values, importance, blocks);
            memcpy(others, blocks, sizeof others);
            k->quantize_weighted(N, values, importance, blocks);
            assert_memory_equal(others, blocks, row_size(k, N));
            fill_bytes(&r, sizeof blocks, blocks);
            k->dequantize(N, blocks, results);
            if (ka != NULL) {
                fill_bytes(&r, sizeof others, others);
                const float dot = k->vec_dot(N, blocks, others);
                assert_true(same_float(dot, k->vec_dot(N, blocks, others)));
            }
        }
    }
}

/*
 * The bytes of finite input that the reference leaves undefined, as a hash for each type, of
 * quantize and of quantize_weighted. Every plugin, compiler and architecture gives these.
 */
static const struct {
    uint32_t type;
    uint64_t plain, weighted;
} pinned[] = {
    {QKERN_TYPE_Q4_0, 0x693e8163a2c56bbf, 0xf0dd8653f4ce590f},
    {QKERN_TYPE_Q4_1, 0xc68dae454de37462, 0xf9e00732f8f31243},
    {QKERN_TYPE_Q5_0, 0x1256a5441882febb, 0x1d1b0cb894e07880},
    {QKERN_TYPE_Q5_1, 0xafc2456730bc4af2, 0x0fce6e57858a59e7},
    {QKERN_TYPE_Q8_0, 0x5532c8f831f1c6dd, 0x5532c8f831f1c6dd},
    {QKERN_TYPE_Q8_1, 0xc2f1a1776c9a7381, 0xc2f1a1776c9a7381},
    {QKERN_TYPE_Q2_K, 0xc7f7b517fadfdde9, 0xa363e1ae5f774362},
    {QKERN_TYPE_Q3_K, 0x934573015b12ade6, 0x2694ea797ad120c2},
    {QKERN_TYPE_Q4_K, 0x6a61a3b06245d34c, 0xa0d9b5f8c90eb476},
    {QKERN_TYPE_Q5_K, 0x08cefac366b345cf, 0x8c2e180f34fa33ee},
    {QKERN_TYPE_Q6_K, 0x6f437288d192b07f, 0x48ef6ca5db60b898},
    {QKERN_TYPE_Q8_K, 0x4c4ecbdd60a48ee6, 0x4c4ecbdd60a48ee6},
};

static void hash_bytes(uint64_t *hash, size_t size, const uint8_t *bytes)
{
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ bytes[i]) * 0x100000001b3u;
}

/* A uniform number in [-1, 1), made without libm, whose last bits differ between systems. */
static float number_uniform(struct numbers *r)
{
    return (float)(int32_t)(number_u64(r) >> 32) * 0x1p-31f;
}

static void results_on_extreme_finite_input_do_not_drift(void **state)
{
    (void)state;
    static const float sizes[] = {0x1p-149f, 1e-40f, 1e-38f, 3e-37f, 1e-20f, 1e10f,
                                  1e19f,     3e20f,  1e30f,  1e38f,  3.4e38f};
    for (size_t t = 0; t < sizeof pinned / sizeof pinned[0]; t++) {
        const struct qkern_kernel *k = kernel_of(pinned[t].type);
        struct numbers r = {5};
        uint64_t plain = 0xcbf29ce484222325u, weighted = plain;
        for (int round = 0; round < 60; round++) {
            for (int e = 0; e < N; e++) {
                const uint64_t pick = number_u64(&r);
                values[e] = number_uniform(&r) * sizes[round % 11];
                if (round >= 44)
                    values[e] = pick % 3 ? number_any_finite(&r) : values[e];
                importance[e] = fabsf(number_uniform(&r)) * (round % 5 ? 1.0f : 1e30f);
            }
            k->quantize(N, values, blocks);
            hash_bytes(&plain, row_size(k, N), blocks);
            k->quantize_weighted(N, values, importance, blocks);
            hash_bytes(&weighted, row_size(k, N), blocks);
        }
        if (plain != pinned[t].plain || weighted != pinned[t].weighted)
            fail_msg("{QKERN_TYPE_%s, 0x%016llx, 0x%016llx} found", type_name(k->type),
                     (unsigned long long)plain, (unsigned long long)weighted);
    }
}

/* Corpus row 18: the host application changed the FP state. */

#if defined(__x86_64__)

#define FTZ_AND_DAZ 0x8040u

/* The bytes with and without flushing are the same. v NULL: quantize. */
static void check_flushing(const struct qkern_kernel *k, const float *v)
{
    const unsigned csr = _mm_getcsr();
    for (int flush = 0; flush < 2; flush++) {
        uint8_t *to = flush ? others : blocks;
        _mm_setcsr(flush ? csr | FTZ_AND_DAZ : csr);
        if (v != NULL)
            k->quantize_weighted(N, values, v, to);
        else
            k->quantize(N, values, to);
        _mm_setcsr(csr);
    }
    assert_memory_equal(blocks, others, row_size(k, N));
}

/* The ranges that docs/numerics.md gives: wide without search, narrower where squares occur. */
static void flushing_subnormals_leaves_ordinary_blocks_as_they_are(void **state)
{
    (void)state;
    struct numbers r = {6};
    static const float sizes[] = {1.0f, 1e-3f, 0x1p-18f, 0x1p18f, 0x1p-105f, 0x1p105f};
    const float q3_K_least = 0x1p-12f; /* its search compares eighth powers */
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        const int searches = k->block_elements == 256 && k->type != QKERN_TYPE_Q8_K;
        for (int round = 0; round < 24; round++) {
            const int wide = round % 6 >= 4;
            for (int e = 0; e < N; e++) {
                values[e] = number_gaussian(&r) * (k->type == QKERN_TYPE_Q3_K
                                                       ? fmaxf(sizes[round % 6], q3_K_least)
                                                       : sizes[round % 6]);
                importance[e] = fabsf(number_gaussian(&r));
            }
            if (!wide || !searches)
                check_flushing(k, NULL);
            if (!wide)
                check_flushing(k, importance);
        }
    }
}

/* f16 scales become numbers that are never subnormal in f32: f16 subnormals included. */
static void flushing_subnormals_changes_nothing_after_quantizing(void **state)
{
    (void)state;
    struct numbers r = {7};
    const unsigned csr = _mm_getcsr();
    static float flushed[N];
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        const struct qkern_kernel *ka = kernel_of(k->dot_type);
        if (k->type == QKERN_TYPE_F32 || k->type == QKERN_TYPE_BF16 || k->type == QKERN_TYPE_Q8_K)
            continue;
        for (int round = 0; round < 40; round++) {
            fill_bytes(&r, row_size(k, N), blocks);
            if (round % 2) /* all 16-bit fields small: scales are f16 subnormals */
                for (size_t b = 0; b < row_size(k, N); b += k->block_bytes) {
                    blocks[b + 1] &= 0x83;
                    blocks[b + k->block_bytes - 1] &= 0x83;
                }
            k->dequantize(N, blocks, results);
            float dot = 0, dot_flushed = 0;
            if (ka != NULL) {
                fill_blocks(&r, ka, N, others);
                dot = k->vec_dot(N, blocks, others);
            }
            _mm_setcsr(csr | FTZ_AND_DAZ);
            k->dequantize(N, blocks, flushed);
            if (ka != NULL)
                dot_flushed = k->vec_dot(N, blocks, others);
            _mm_setcsr(csr);
            for (int e = 0; e < N; e++)
                assert_true(same_float(results[e], flushed[e]));
            assert_true(same_float(dot, dot_flushed));
        }
    }
}

static void flushing_subnormals_gives_finite_results_for_tiny_input(void **state)
{
    (void)state;
    struct numbers r = {8};
    const unsigned csr = _mm_getcsr();
    static const float sizes[] = {1e-20f, 1e-30f, 1e-37f, 1e-38f, 1e-40f, 1e-45f};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        for (int s = 0; s < 6; s++) {
            for (int e = 0; e < N; e++) {
                values[e] = number_gaussian(&r) * sizes[s];
                importance[e] = 1.0f;
            }
            for (int weighted = 0; weighted < 2; weighted++) {
                _mm_setcsr(csr | FTZ_AND_DAZ);
                if (weighted)
                    k->quantize_weighted(N, values, importance, blocks);
                else
                    k->quantize(N, values, blocks);
                k->dequantize(N, blocks, results);
                const unsigned after = _mm_getcsr();
                _mm_setcsr(csr);
                assert_int_equal(after & FTZ_AND_DAZ, FTZ_AND_DAZ);
                for (int e = 0; e < N; e++)
                    assert_true(fabsf(results[e]) <= 8.0f * sizes[s]);
            }
        }
    }
}

#endif

static void other_rounding_modes_are_safe_and_left_alone(void **state)
{
    (void)state;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    struct numbers r = {9};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        for (int m = 0; m < 3; m++) {
            for (int e = 0; e < N; e++)
                values[e] = number_gaussian(&r);
            fesetround(modes[m]);
            k->quantize(N, values, blocks);
            const int after = fegetround();
            fesetround(FE_TONEAREST);
            assert_int_equal(after, modes[m]);
            k->dequantize(N, blocks, results);
            double error = 0, power = 0;
            for (int e = 0; e < N; e++) {
                error += (double)((results[e] - values[e]) * (results[e] - values[e]));
                power += (double)(values[e] * values[e]);
            }
            assert_true(error < power); /* better than all zeros: Q2_K has 0.67 */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rne_takes_the_low_23_bits_on_any_input),
        cmocka_unit_test(rha_is_roundf),
        cmocka_unit_test(nan_is_clamped_to_the_lower_bound),
        cmocka_unit_test(the_reciprocal_of_a_scale_is_always_finite),
        cmocka_unit_test(blocks_too_small_to_scale_decode_to_zero),
        cmocka_unit_test(legacy_blocks_whose_scale_has_no_inverse_have_the_codes_of_zero),
        cmocka_unit_test(a_range_that_overflows_gives_code_0_and_an_infinite_scale),
        cmocka_unit_test(q8_K_blocks_whose_scale_has_no_inverse_are_zero),
        cmocka_unit_test(infinities_and_nan_give_stated_bytes_in_legacy_types),
        cmocka_unit_test(a_nan_scale_is_stored_as_7e00),
        cmocka_unit_test(blocks_of_nothing_but_nan_are_zero),
        cmocka_unit_test(one_nan_does_not_count_in_the_scale),
        cmocka_unit_test(any_input_bits_give_one_result),
        cmocka_unit_test(results_on_extreme_finite_input_do_not_drift),
#if defined(__x86_64__)
        cmocka_unit_test(flushing_subnormals_leaves_ordinary_blocks_as_they_are),
        cmocka_unit_test(flushing_subnormals_changes_nothing_after_quantizing),
        cmocka_unit_test(flushing_subnormals_gives_finite_results_for_tiny_input),
#endif
        cmocka_unit_test(other_rounding_modes_are_safe_and_left_alone),
    };
    return RUN_KERNEL_TESTS(tests, NULL, NULL);
}
