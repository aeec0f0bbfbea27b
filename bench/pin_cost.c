/* SPDX-License-Identifier: MIT */
/* What a call through a pin costs over a direct one. */
#include "pin_cost.h"

#include <stdio.h>

enum { DIRECT, PINNED, CANDIDATES, BLOCK = 32 };

static void run_direct(void *context, uint64_t count)
{
    struct bench_pin_cost *cost = context;
    struct bench_workload *w = &cost->workload;
    const struct qkern_kernel *const volatile kernel = cost->work.kernel; /* read at each call */
    for (uint64_t i = 0; i < count; i++)
        w->sink = kernel->vec_dot(BLOCK, w->data, w->activations);
}

static void run_pinned(void *context, uint64_t count)
{
    struct bench_pin_cost *cost = context;
    struct bench_workload *w = &cost->workload;
    for (uint64_t i = 0; i < count; i++) {
        qkern_pin pin;
        qkern_pin_begin(cost->q, &pin);
        w->sink = qkern_pin_kernel(&pin, QKERN_TYPE_Q8_0)->vec_dot(BLOCK, w->data, w->activations);
        qkern_pin_end(&pin);
    }
}

/* The plugin's own table of what a pin gives: it lives as long as the instance. */
static const struct qkern_kernel *chosen_kernel(const qkern *q)
{
    const struct qkern_kernel *kernel = NULL;
    uint32_t record;
    if (qkern_choice_get(q, QKERN_TYPE_Q8_0, QKERN_ENTRY_VEC_DOT, &record, NULL) != QKERN_OK ||
        qkern_record_kernel(q, record, QKERN_TYPE_Q8_0, &kernel, NULL) != QKERN_OK)
        return NULL;
    return kernel;
}

qkern_status bench_pin_cost_init(struct bench_pin_cost *cost, qkern *q, struct bench_clock clock,
                                 uint64_t seed, uint64_t batch_ns, uint32_t round_limit,
                                 qkern_error *error)
{
    *cost = (struct bench_pin_cost){.q = q};
    qkern_status status = bench_workload_init(&cost->workload, q, QKERN_TYPE_Q8_0,
                                              QKERN_ENTRY_VEC_DOT, BLOCK, 1, seed, error);
    if (status != QKERN_OK)
        return status;
    cost->work = (struct bench_work){&cost->workload, chosen_kernel(q)};
    if (cost->work.kernel == NULL ||
        !bench_trial_init(&cost->trial, clock, seed, CANDIDATES, round_limit)) {
        bench_workload_free(&cost->workload);
        if (error != NULL) {
            error->status = QKERN_E_MEMORY;
            snprintf(error->message, sizeof error->message, "no memory for the timings");
        }
        return QKERN_E_MEMORY;
    }
    bench_trial_set(&cost->trial, DIRECT, (struct bench_task){run_direct, cost}, batch_ns);
    bench_trial_set(&cost->trial, PINNED, (struct bench_task){run_pinned, cost}, batch_ns);
    return QKERN_OK;
}

void bench_pin_cost_free(struct bench_pin_cost *cost)
{
    bench_trial_free(&cost->trial);
    bench_workload_free(&cost->workload);
}

struct bench_summary bench_pin_cost_summary(struct bench_pin_cost *cost)
{
    return bench_trial_difference(&cost->trial, PINNED, DIRECT);
}
