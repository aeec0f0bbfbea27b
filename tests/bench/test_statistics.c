/* SPDX-License-Identifier: MIT */
/* Least, median, and the interval for the median. */
#include <math.h>

#include "bench/random.h"
#include "bench/statistics.h"
#include "host/vetting/cmocka_all.h"

static void assert_near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("expected %.9g, found %.9g", expected, found);
}

static void least_and_median_are_those_of_the_sorted_values(void **state)
{
    double odd[] = {5, 1, 4, 2, 3}, even[] = {8, 2, 6, 4}, one[] = {7};
    (void)state;
    struct bench_summary s = bench_summarize(odd, 5);
    assert_near(s.least, 1, 0);
    assert_near(s.median, 3, 0);
    s = bench_summarize(even, 4);
    assert_near(s.least, 2, 0);
    assert_near(s.median, 5, 0);
    s = bench_summarize(one, 1);
    assert_near(s.least, 7, 0);
    assert_near(s.median, 7, 0);
    assert_near(s.low, 7, 0);
    assert_near(s.high, 7, 0);
}

/* From tables of the sign test: n, the rank, and 1 - 2 P(B < rank). */
static void the_interval_has_the_ranks_and_the_coverage_of_the_binomial_table(void **state)
{
    static const struct {
        size_t n, rank;
        double coverage;
    } rows[] = {{1, 1, 0},        {2, 1, 0.5},      {5, 1, 0.9375},    {6, 1, 0.96875},
                {8, 1, 0.99219},  {9, 2, 0.96094},  {10, 2, 0.97852},  {15, 4, 0.96484},
                {20, 6, 0.95861}, {25, 8, 0.95671}, {50, 18, 0.96716}, {100, 40, 0.96480}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double coverage;
        assert_int_equal(bench_interval_rank(rows[i].n, 0.95, &coverage), rows[i].rank);
        assert_near(coverage, rows[i].coverage, 0.00001);
    }
}

static void the_interval_reaches_its_confidence_with_as_few_values_as_it_can(void **state)
{
    (void)state;
    for (size_t n = 6; n <= 5000; n += n < 200 ? 1 : 97) {
        double coverage, next;
        const size_t rank = bench_interval_rank(n, 0.95, &coverage);
        assert_true(coverage >= 0.95 && coverage < 1);
        assert_true(rank >= 1 && 2 * rank <= n + 1);
        /* One rank further in would be too few: asking for a little more gives one further out. */
        const size_t stricter = bench_interval_rank(n, coverage + 1e-9, &next);
        assert_true(stricter < rank || rank == 1);
    }
    double coverage;
    const size_t rank = bench_interval_rank(1000000, 0.95, &coverage);
    assert_near((double)rank, 500000 - 1.96 * 500, 2); /* the normal approximation */
    assert_near(coverage, 0.95, 0.001);
}

static void the_interval_holds_the_median_as_often_as_it_says(void **state)
{
    enum { TRIALS = 4000, N = 25 };
    uint64_t random = 3;
    int held = 0;
    (void)state;
    for (int t = 0; t < TRIALS; t++) {
        double x[N];
        for (int i = 0; i < N; i++) /* exponential: a long tail, as timings have; median log 2 */
            x[i] = -log(((double)(bench_random(&random) >> 12) + 0.5) * 0x1p-52);
        const struct bench_summary s = bench_summarize(x, N);
        assert_true(s.least <= s.low && s.low <= s.median && s.median <= s.high);
        held += s.low <= log(2.0) && log(2.0) <= s.high;
    }
    assert_near((double)held / TRIALS, 0.9567, 0.01);
}

static void ratios_and_differences_are_taken_value_by_value(void **state)
{
    const double a[] = {10, 30, 20}, b[] = {5, 10, 40};
    double out[3];
    (void)state;
    bench_ratios(3, a, b, out);
    assert_near(out[0], 2, 0);
    assert_near(out[1], 3, 0);
    assert_near(out[2], 0.5, 0);
    bench_differences(3, a, b, out);
    assert_near(out[0], 5, 0);
    assert_near(out[1], 20, 0);
    assert_near(out[2], -20, 0);
}

static void gaussian_values_have_their_mean_and_variance_and_a_seed_gives_the_same(void **state)
{
    enum { N = 20000 };
    static float x[N], y[N];
    uint64_t first = 7, second = 7, other = 8;
    double sum = 0, squares = 0;
    (void)state;
    bench_random_gaussian(&first, N, x);
    bench_random_gaussian(&second, N, y);
    assert_memory_equal(x, y, sizeof x);
    bench_random_gaussian(&other, N, y);
    assert_memory_not_equal(x, y, sizeof x);
    for (int i = 0; i < N; i++) {
        assert_true(isfinite(x[i]));
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    assert_near(sum / N, 0, 0.03);
    assert_near(squares / N, 1, 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_and_median_are_those_of_the_sorted_values),
        cmocka_unit_test(the_interval_has_the_ranks_and_the_coverage_of_the_binomial_table),
        cmocka_unit_test(the_interval_reaches_its_confidence_with_as_few_values_as_it_can),
        cmocka_unit_test(the_interval_holds_the_median_as_often_as_it_says),
        cmocka_unit_test(ratios_and_differences_are_taken_value_by_value),
        cmocka_unit_test(gaussian_values_have_their_mean_and_variance_and_a_seed_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
