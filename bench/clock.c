/* SPDX-License-Identifier: MIT */
/* Time, and what it costs to ask for it. */
#include "clock.h"

#include <stddef.h>
#include <time.h>

enum { COST_PAIRS = 1000, COARSEST_STEP = 10000 /* ns */ };

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t thread_now(void *context)
{
    (void)context;
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t monotonic_now(void *context)
{
    (void)context;
    return read_clock(CLOCK_MONOTONIC);
}

/* Whether time passes for it in small steps. */
static int is_fine(uint64_t (*now)(void *context))
{
    const uint64_t began = monotonic_now(NULL), start = now(NULL);
    uint64_t t = start;
    while (t == start && monotonic_now(NULL) - began < 100u * COARSEST_STEP)
        t = now(NULL);
    return t > start && t - start <= COARSEST_STEP;
}

void bench_clock_measure_cost(struct bench_clock *clock)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < COST_PAIRS; i++) {
        const uint64_t start = clock->now(clock->context);
        const uint64_t difference = clock->now(clock->context) - start;
        if (difference < least)
            least = difference;
    }
    clock->cost = least;
}

uint64_t bench_clock_since(const struct bench_clock *clock, uint64_t start)
{
    const uint64_t elapsed = clock->now(clock->context) - start;
    return elapsed > clock->cost ? elapsed - clock->cost : 0;
}

struct bench_clock bench_clock_open(void)
{
    struct bench_clock clock = {monotonic_now, NULL, 0, "monotonic time"};
    if (is_fine(thread_now)) {
        clock.now = thread_now;
        clock.name = "processor time of the thread";
    }
    bench_clock_measure_cost(&clock);
    return clock;
}
