/* SPDX-License-Identifier: MIT */
/*
 * What is said of a list of timings: least, median, and an interval for the median.
 *
 * The interval is one between two order statistics: with n values drawn independently, the median
 * of what they are drawn from lies between the j-th and the (n + 1 - j)-th of them with
 * probability 1 - 2 P(B < j), B binomial with n trials of one half. That holds for every
 * distribution, also for one with the long tail of timings, and needs no random numbers.
 */
#ifndef QKERN_BENCH_STATISTICS_H
#define QKERN_BENCH_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_CONFIDENCE 0.95

struct bench_summary {
    double least;
    double median;
    double low; /* of the interval for the median */
    double high;
    double coverage; /* its probability; below BENCH_CONFIDENCE if there are fewer than 6 values */
};

/* The number j, from 1, of the order statistics that bound the interval. n is at least 1. */
size_t bench_interval_rank(size_t n, double confidence, double *coverage);

/* Sorts the values, n of them and at least one, and says what they are. */
struct bench_summary bench_summarize(double *values, size_t n);

/*
 * The ratios of two lists, value by value: over[i] / under[i] into ratios. Of two timings of one
 * round both have met the same state of the machine, so that it mostly cancels.
 */
void bench_ratios(size_t n, const double *over, const double *under, double *ratios);

/* The differences likewise: from[i] - what[i]. */
void bench_differences(size_t n, const double *from, const double *what, double *differences);

#endif
