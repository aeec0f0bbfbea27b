/* SPDX-License-Identifier: MIT */
/* Least, median, and an interval for the median. */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare_values(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t bench_interval_rank(size_t n, double confidence, double *coverage)
{
    /* The logarithm of P(B = k), since 2^-n is too small a number for a large n; and P(B < j). */
    double log_at_k = -(double)n * log(2.0);
    double below = exp(log_at_k);
    size_t j = 1;
    *coverage = 1 - 2 * below;
    for (size_t k = 1; 2 * (k + 1) <= n + 1; k++) {
        log_at_k += log((double)(n - k + 1) / (double)k);
        below += exp(log_at_k);
        if (1 - 2 * below < confidence)
            break;
        j = k + 1;
        *coverage = 1 - 2 * below;
    }
    return j;
}

struct bench_summary bench_summarize(double *values, size_t n)
{
    struct bench_summary s;
    qsort(values, n, sizeof values[0], compare_values);
    const size_t j = bench_interval_rank(n, BENCH_CONFIDENCE, &s.coverage);
    s.least = values[0];
    s.median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    s.low = values[j - 1];
    s.high = values[n - j];
    return s;
}

void bench_ratios(size_t n, const double *over, const double *under, double *ratios)
{
    for (size_t i = 0; i < n; i++)
        ratios[i] = over[i] / under[i];
}

void bench_differences(size_t n, const double *from, const double *what, double *differences)
{
    for (size_t i = 0; i < n; i++)
        differences[i] = from[i] - what[i];
}
