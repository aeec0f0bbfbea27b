/* SPDX-License-Identifier: MIT */
/*
 * Candidates, timed against each other: in each round every one of them runs one batch, in an order
 * drawn anew. What slows the machine down for a while slows all of them, and the round's ratios
 * show less of it than the timings do.
 */
#ifndef QKERN_BENCH_TRIAL_H
#define QKERN_BENCH_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "statistics.h"

#define BENCH_ROUNDS_LEAST 9u /* the interval is then between the 2nd and the 8th timing */

/* Something to time: run does it `count` times. */
struct bench_task {
    void (*run)(void *context, uint64_t count);
    void *context;
};

struct bench_candidate {
    struct bench_task task;
    uint64_t batch_ns; /* the least duration of a batch */
    uint64_t count;    /* how often a batch runs the task */
    double *samples;   /* ns of one run of the task, a value for each round */
};

struct bench_trial {
    struct bench_clock clock;
    uint64_t random;
    uint32_t candidate_count;
    uint32_t round_count; /* done */
    uint32_t round_limit;
    uint64_t spent_ns; /* in all batches of all rounds */
    struct bench_candidate *candidates;
    uint32_t *order; /* of the last round */
    double *scratch;
};

/* False if there is no memory; then nothing needs to be freed. All candidates are yet to be set. */
bool bench_trial_init(struct bench_trial *trial, struct bench_clock clock, uint64_t seed,
                      uint32_t candidate_count, uint32_t round_limit);
void bench_trial_free(struct bench_trial *trial);

void bench_trial_set(struct bench_trial *trial, uint32_t candidate, struct bench_task task,
                     uint64_t batch_ns);

/* Runs one candidate until its batch takes long enough. */
void bench_trial_warm_up(struct bench_trial *trial, uint32_t candidate);

/* One round; false if the limit is reached. Every candidate has been warmed up. */
bool bench_trial_round(struct bench_trial *trial);

/* Of a candidate's timings, after at least one round. */
struct bench_summary bench_trial_summary(struct bench_trial *trial, uint32_t candidate);

/* Of the ratios of `over` to `under`, round by round. */
struct bench_summary bench_trial_ratio(struct bench_trial *trial, uint32_t over, uint32_t under);

/* Of the differences `from` - `what`, round by round. */
struct bench_summary bench_trial_difference(struct bench_trial *trial, uint32_t from,
                                            uint32_t what);

#endif
