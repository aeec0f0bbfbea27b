/* SPDX-License-Identifier: MIT */
/* What a call through a pin costs over a direct one. */
#ifndef QKERN_BENCH_PIN_COST_H
#define QKERN_BENCH_PIN_COST_H

#include "trial.h"
#include "workload.h"

struct bench_pin_cost {
    struct bench_workload workload; /* one block */
    struct bench_work work;
    qkern *q;
    struct bench_trial trial; /* candidate 0 calls directly, 1 through a pin */
};

/*
 * vec_dot of Q8_0 on rows of one block, the shortest call there is: directly through a pointer, and
 * with qkern_pin_begin, qkern_pin_kernel and qkern_pin_end around it. On failure nothing needs to
 * be freed.
 */
qkern_status bench_pin_cost_init(struct bench_pin_cost *cost, qkern *q, struct bench_clock clock,
                                 uint64_t seed, uint64_t batch_ns, uint32_t round_limit,
                                 qkern_error *error);
void bench_pin_cost_free(struct bench_pin_cost *cost);

/* ns that the pin adds: of the differences, round by round. */
struct bench_summary bench_pin_cost_summary(struct bench_pin_cost *cost);

#endif
