/* SPDX-License-Identifier: MIT */
/* The round-trip error published for these formats: 262144 values of N(0, 1), relative RMSE. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kernels/support.h"

#define VALUES 262144

/*
 * Percent. One draw of 262144 values scatters by up to 0.017 points (standard deviation, Q4_0), so
 * the types whose figure is checked to 0.02 points average over 16 draws. For the K types the
 * figure is a bound. Q2_K: published is "about 29.0"; the reference's own bytes, which the golden
 * test proves these to be, have 29.6.
 */
static const struct {
    uint32_t type;
    int draws;
    double low, high;
} published[] = {
    {QKERN_TYPE_Q4_0, 16, 8.57, 8.61},   {QKERN_TYPE_Q4_1, 16, 7.79, 7.83},
    {QKERN_TYPE_Q5_0, 16, 4.26, 4.30},   {QKERN_TYPE_Q5_1, 16, 3.77, 3.81},
    {QKERN_TYPE_Q8_0, 16, 0.530, 0.545}, {QKERN_TYPE_Q2_K, 1, 0, 29.8},
    {QKERN_TYPE_Q3_K, 1, 0, 15.15},      {QKERN_TYPE_Q4_K, 1, 0, 7.4},
    {QKERN_TYPE_Q5_K, 1, 0, 3.7},        {QKERN_TYPE_Q6_K, 1, 0, 1.8},
};

static float x[VALUES], y[VALUES];
static uint8_t q[sizeof x];

static double relative_rmse(const struct qkern_kernel *k, struct numbers *r)
{
    double error = 0, power = 0;
    fill_gaussian(r, VALUES, x);
    k->quantize(VALUES, x, q);
    k->dequantize(VALUES, q, y);
    for (int i = 0; i < VALUES; i++) {
        const double e = (double)y[i] - (double)x[i];
        error += e * e;
        power += (double)x[i] * (double)x[i];
    }
    return 100.0 * sqrt(error / power);
}

static void the_round_trip_error_is_the_published_one(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof published / sizeof published[0]; t++) {
        const struct qkern_kernel *k = kernel_of(published[t].type);
        struct numbers r = {20240607};
        double percent = 0;
        for (int draw = 0; draw < published[t].draws; draw++)
            percent += relative_rmse(k, &r) / published[t].draws;
        print_message("%-5s %7.4f %%\n", type_name(k->type), percent);
        assert_true(percent >= published[t].low);
        assert_true(percent <= published[t].high);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_round_trip_error_is_the_published_one),
    };
    return RUN_KERNEL_TESTS(tests, NULL, NULL);
}
