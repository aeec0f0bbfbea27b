/* SPDX-License-Identifier: MIT */
/* The round-trip error published for these formats: 262144 values of N(0, 1), relative RMSE. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/support.h"

#define VALUES 262144

/* Percent. tolerance 0: an upper bound only. */
static const struct {
    uint32_t type;
    double percent;
    double tolerance;
} published[] = {
    {QKERN_TYPE_Q4_0, 8.59, 0.02}, {QKERN_TYPE_Q4_1, 7.81, 0.02}, {QKERN_TYPE_Q5_0, 4.28, 0.02},
    {QKERN_TYPE_Q5_1, 3.79, 0.02}, {QKERN_TYPE_Q8_0, 0.54, 0.005}, {QKERN_TYPE_Q2_K, 29.05, 0},
    {QKERN_TYPE_Q3_K, 15.15, 0},   {QKERN_TYPE_Q4_K, 7.45, 0},    {QKERN_TYPE_Q5_K, 3.75, 0},
    {QKERN_TYPE_Q6_K, 1.85, 0},
};

static void the_round_trip_error_is_the_published_one(void **state)
{
    (void)state;
    struct numbers r = {20240607};
    float *x = malloc(VALUES * sizeof *x), *y = malloc(VALUES * sizeof *y);
    uint8_t *q = malloc(VALUES * sizeof *x);
    assert_true(x != NULL && y != NULL && q != NULL);
    fill_gaussian(&r, VALUES, x);
    for (size_t t = 0; t < sizeof published / sizeof published[0]; t++) {
        const struct qkern_kernel *k = kernel_of(published[t].type);
        double error = 0, power = 0;
        k->quantize(VALUES, x, q);
        k->dequantize(VALUES, q, y);
        for (int i = 0; i < VALUES; i++) {
            error += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]);
            power += (double)x[i] * (double)x[i];
        }
        const double percent = 100.0 * sqrt(error / power);
        print_message("%-5s %7.4f %%\n", type_name(k->type), percent);
        assert_true(percent <= published[t].percent + published[t].tolerance);
        if (published[t].tolerance > 0)
            assert_true(percent >= published[t].percent - published[t].tolerance);
    }
    free(x);
    free(y);
    free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_round_trip_error_is_the_published_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
