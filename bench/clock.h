/* SPDX-License-Identifier: MIT */
/*
 * Time, as nanoseconds from a fixed point in the past, and what it costs to ask for it.
 *
 * A clock is a function with its context, so that tests play any clock.
 */
#ifndef QKERN_BENCH_CLOCK_H
#define QKERN_BENCH_CLOCK_H

#include <stdint.h>

struct bench_clock {
    uint64_t (*now)(void *context);
    void *context;
    uint64_t cost; /* ns that a measurement of nothing shows */
    const char *name;
};

/*
 * The processor time of the calling thread, which does not count what other processes take; where
 * the system counts it in steps of more than 10 us or not at all, the monotonic clock. Its cost is
 * measured.
 */
struct bench_clock bench_clock_open(void);

/* Measures the cost: the least difference of two calls one after the other. */
void bench_clock_measure_cost(struct bench_clock *clock);

/* ns since `start`, without the cost of the clock; 0 if it took no longer than that. */
uint64_t bench_clock_since(const struct bench_clock *clock, uint64_t start);

#endif
