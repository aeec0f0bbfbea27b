/* SPDX-License-Identifier: MIT */
/* Candidates, timed against each other. */
#include "trial.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"

#define COUNT_LIMIT (UINT64_C(1) << 40) /* ends the search for a task that takes no time */

bool bench_trial_init(struct bench_trial *trial, struct bench_clock clock, uint64_t seed,
                      uint32_t candidate_count, uint32_t round_limit)
{
    const size_t rounds = round_limit > 0 ? round_limit : 1;
    const size_t candidates = candidate_count > 0 ? candidate_count : 1;

    *trial = (struct bench_trial){.clock = clock,
                                  .random = seed,
                                  .candidate_count = candidate_count,
                                  .round_limit = round_limit};
    trial->candidates = calloc(candidates, sizeof trial->candidates[0]);
    trial->order = calloc(candidates, sizeof trial->order[0]);
    trial->scratch = calloc(rounds * (candidates + 1), sizeof trial->scratch[0]);
    if (trial->candidates == NULL || trial->order == NULL || trial->scratch == NULL) {
        bench_trial_free(trial);
        return false;
    }
    for (uint32_t c = 0; c < candidate_count; c++)
        trial->candidates[c].samples = trial->scratch + rounds * (c + 1);
    return true;
}

void bench_trial_free(struct bench_trial *trial)
{
    free(trial->candidates);
    free(trial->order);
    free(trial->scratch);
    *trial = (struct bench_trial){.candidate_count = 0};
}

void bench_trial_set(struct bench_trial *trial, uint32_t candidate, struct bench_task task,
                     uint64_t batch_ns)
{
    trial->candidates[candidate].task = task;
    trial->candidates[candidate].batch_ns = batch_ns;
    trial->candidates[candidate].count = 1;
}

static uint64_t run_batch(const struct bench_trial *trial, const struct bench_candidate *c)
{
    const uint64_t start = trial->clock.now(trial->clock.context);
    c->task.run(c->task.context, c->count);
    return bench_clock_since(&trial->clock, start);
}

/* Makes the next batch longer if this one was too short. */
static void lengthen(struct bench_candidate *c, uint64_t elapsed)
{
    if (elapsed >= c->batch_ns || c->count >= COUNT_LIMIT)
        return;
    /* An eighth more than what would just do; at most twice, for a short time tells little. */
    const uint64_t needed =
        elapsed > 0 ? (uint64_t)((double)c->count * 1.125 * (double)c->batch_ns / (double)elapsed)
                    : UINT64_MAX;
    c->count = needed < 2 * c->count ? needed + 1 : 2 * c->count;
}

void bench_trial_warm_up(struct bench_trial *trial, uint32_t candidate)
{
    struct bench_candidate *c = &trial->candidates[candidate];
    uint64_t before;
    do {
        before = c->count;
        lengthen(c, run_batch(trial, c));
    } while (c->count != before);
}

bool bench_trial_round(struct bench_trial *trial)
{
    if (trial->round_count >= trial->round_limit)
        return false;
    bench_random_order(&trial->random, trial->candidate_count, trial->order);
    for (uint32_t i = 0; i < trial->candidate_count; i++) {
        struct bench_candidate *c = &trial->candidates[trial->order[i]];
        const uint64_t elapsed = run_batch(trial, c);
        c->samples[trial->round_count] = (double)elapsed / (double)c->count;
        trial->spent_ns += elapsed;
        lengthen(c, elapsed);
    }
    trial->round_count++;
    return true;
}

struct bench_summary bench_trial_summary(struct bench_trial *trial, uint32_t candidate)
{
    memcpy(trial->scratch, trial->candidates[candidate].samples,
           trial->round_count * sizeof trial->scratch[0]);
    return bench_summarize(trial->scratch, trial->round_count);
}

struct bench_summary bench_trial_ratio(struct bench_trial *trial, uint32_t over, uint32_t under)
{
    bench_ratios(trial->round_count, trial->candidates[over].samples,
                 trial->candidates[under].samples, trial->scratch);
    return bench_summarize(trial->scratch, trial->round_count);
}

struct bench_summary bench_trial_difference(struct bench_trial *trial, uint32_t from, uint32_t what)
{
    bench_differences(trial->round_count, trial->candidates[from].samples,
                      trial->candidates[what].samples, trial->scratch);
    return bench_summarize(trial->scratch, trial->round_count);
}
