/* SPDX-License-Identifier: MIT */
/* f16 and bf16: every pattern, and every boundary between two of them. */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/support.h"
#include "verify/contract.h"

/* Values are converted many at once and alone, by what may be different instructions. */
#define COPIES 19

static uint16_t to_half(uint32_t type, float v)
{
    float values[COPIES];
    uint16_t h[COPIES], alone;
    for (int i = 0; i < COPIES; i++)
        values[i] = v;
    kernel_of(type)->quantize(1, &v, &alone);
    kernel_of(type)->quantize(COPIES, values, h);
    for (int i = 0; i < COPIES; i++)
        if (h[i] != alone)
            fail_msg("%a gives %04x alone, %04x in place %d", (double)v, alone, h[i], i);
    return alone;
}

static float from_half(uint32_t type, uint16_t h)
{
    uint16_t halves[COPIES];
    float v[COPIES], alone;
    for (int i = 0; i < COPIES; i++)
        halves[i] = h;
    kernel_of(type)->dequantize(1, &h, &alone);
    kernel_of(type)->dequantize(COPIES, halves, v);
    for (int i = 0; i < COPIES; i++)
        if (bits_of(v[i]) != bits_of(alone))
            fail_msg("%04x gives %a alone, %a in place %d", h, (double)alone, (double)v[i], i);
    return alone;
}

static void all_f16_patterns_decode_as_ieee_says(void **state)
{
    (void)state;
    static uint16_t all[65536];
    static float values[65536];
    for (int h = 0; h < 65536; h++)
        all[h] = (uint16_t)h;
    kernel_of(QKERN_TYPE_F16)->dequantize(65536, all, values);
    for (int h = 0; h < 65536; h++) {
        if ((h & 0x7fff) > 0x7c00) { /* sign and payload kept, quiet */
            const uint32_t expected =
                (uint32_t)(h & 0x8000) << 16 | 0x7fc00000u | (uint32_t)(h & 0x3ff) << 13;
            assert_int_equal(bits_of(values[h]), expected);
            continue;
        }
        assert_int_equal(bits_of(values[h]), bits_of(contract_f16((uint16_t)h)));
    }
}

static void all_f16_patterns_survive_a_round_trip(void **state)
{
    (void)state;
    for (int h = 0; h < 65536; h++) {
        const uint16_t expected =
            (h & 0x7fff) > 0x7c00 ? (uint16_t)((h & 0x8000) | 0x7e00) : (uint16_t)h;
        assert_int_equal(to_half(QKERN_TYPE_F16, from_half(QKERN_TYPE_F16, (uint16_t)h)), expected);
    }
}

/* Around the middle between two neighbours, and around both: last bits -2 .. 2. */
static void f32_to_f16_rounds_to_nearest_even_at_every_boundary(void **state)
{
    (void)state;
    for (int h = 0; h < 0x7c00; h++) {
        const double low = (double)contract_f16((uint16_t)h);
        const double high = h + 1 == 0x7c00 ? 65536.0 : (double)contract_f16((uint16_t)(h + 1));
        const float points[2] = {(float)low, (float)((low + high) / 2)};
        for (int p = 0; p < 2; p++)
            for (int step = -2; step <= 2; step++) {
                const int64_t bits = (int64_t)bits_of(points[p]) + step;
                if (bits < 0)
                    continue;
                for (uint32_t sign = 0; sign < 2; sign++) {
                    const float v = from_bits((uint32_t)bits | sign << 31);
                    const uint16_t found = to_half(QKERN_TYPE_F16, v);
                    if (found != contract_to_f16(v))
                        fail_msg("%a gives %04x, expected %04x", (double)v, found,
                                 contract_to_f16(v));
                }
            }
    }
}

static void f32_to_f16_is_right_on_random_bits(void **state)
{
    (void)state;
    struct numbers r = {1};
    for (int i = 0; i < 300000; i++) {
        const float v = from_bits((uint32_t)number_u64(&r));
        assert_int_equal(to_half(QKERN_TYPE_F16, v), contract_to_f16(v));
    }
}

static void all_bf16_patterns_decode_to_their_bits(void **state)
{
    (void)state;
    for (uint32_t b = 0; b < 65536; b++)
        assert_int_equal(bits_of(from_half(QKERN_TYPE_BF16, (uint16_t)b)), b << 16);
}

static void f32_to_bf16_rounds_to_nearest_even_at_every_boundary(void **state)
{
    (void)state;
    static const uint32_t low_bits[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (uint32_t b = 0; b < 65536; b++)
        for (int i = 0; i < 6; i++) {
            const uint32_t bits = b << 16 | low_bits[i];
            uint32_t expected;
            if ((bits & 0x7fffffff) > 0x7f800000)
                expected = b | 0x40;
            else
                expected = low_bits[i] > 0x8000 || (low_bits[i] == 0x8000 && b & 1) ? b + 1 : b;
            assert_int_equal(to_half(QKERN_TYPE_BF16, from_bits(bits)), (uint16_t)expected);
        }
}

static void half_conversion_does_not_depend_on_the_rounding_mode(void **state)
{
    (void)state;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    struct numbers r = {2};
    for (int i = 0; i < 20000; i++) {
        const float v = i % 2 ? number_gaussian(&r) * 1e-5f : number_any_finite(&r);
        const uint16_t f16 = to_half(QKERN_TYPE_F16, v), bf16 = to_half(QKERN_TYPE_BF16, v);
        const float back = from_half(QKERN_TYPE_F16, (uint16_t)i);
        for (int m = 0; m < 3; m++) {
            fesetround(modes[m]);
            const uint16_t f16_now = to_half(QKERN_TYPE_F16, v);
            const uint16_t bf16_now = to_half(QKERN_TYPE_BF16, v);
            const float back_now = from_half(QKERN_TYPE_F16, (uint16_t)i);
            fesetround(FE_TONEAREST);
            assert_int_equal(f16_now, f16);
            assert_int_equal(bf16_now, bf16);
            assert_int_equal(bits_of(back_now), bits_of(back));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_f16_patterns_decode_as_ieee_says),
        cmocka_unit_test(all_f16_patterns_survive_a_round_trip),
        cmocka_unit_test(f32_to_f16_rounds_to_nearest_even_at_every_boundary),
        cmocka_unit_test(f32_to_f16_is_right_on_random_bits),
        cmocka_unit_test(all_bf16_patterns_decode_to_their_bits),
        cmocka_unit_test(f32_to_bf16_rounds_to_nearest_even_at_every_boundary),
        cmocka_unit_test(half_conversion_does_not_depend_on_the_rounding_mode),
    };
    return RUN_KERNEL_TESTS(tests, NULL, NULL);
}
