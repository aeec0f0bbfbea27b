/* SPDX-License-Identifier: MIT */
/*
 * A cell of the table: one type, entry point and working set; the kernels of several plugins that
 * are timed against each other, and beside them the limits of the core that bear on them. The
 * limits run in the same rounds: the readers read the same data. A cell without plugins has all
 * limits.
 */
#ifndef QKERN_BENCH_CELL_H
#define QKERN_BENCH_CELL_H

#include "limits.h"
#include "trial.h"
#include "vetted.h"
#include "workload.h"

struct bench_cell_options {
    uint32_t type;
    uint32_t entry;
    uint64_t n;
    uint64_t rows;
    uint64_t seed;
    uint64_t batch_ns;
    uint32_t round_limit;
    struct bench_clock clock;
    const char *const *plugins;
    uint32_t plugin_count;
};

/* A plugin's kernel. */
struct bench_contender {
    struct bench_work work;
    bool timed;
    bool missing;       /* it has no such kernel; else, if it is not timed, it is wrong */
    char reason[200];   /* why it is not timed */
    uint32_t candidate; /* its number in the trial */
};

/* A limit at work on the cell's data, or on its own. */
struct bench_yardstick {
    const struct bench_limit *limit;
    struct bench_cell *cell;
    uint32_t candidate;
};

struct bench_cell {
    struct bench_workload workload;
    struct bench_trial trial;
    struct bench_contender *contenders; /* one for each plugin */
    uint32_t contender_count;
    struct bench_yardstick *yardsticks;
    uint32_t yardstick_count;
    uint8_t *limit_in; /* data of limits that do not read the cell's */
    uint8_t *limit_other;
};

/*
 * Makes data and tasks, and compares each kernel with the scalar one. The cell stays where it is
 * until it is freed. On failure nothing needs to be freed: QKERN_E_MEMORY, and what
 * bench_workload_init says.
 */
qkern_status bench_cell_init(struct bench_cell *cell, qkern *q,
                             const struct bench_cell_options *options, qkern_error *error);
void bench_cell_free(struct bench_cell *cell);

/* Warms up candidate number `candidate` of the trial: each once, before the first round. */
void bench_cell_warm_up(struct bench_cell *cell, uint32_t candidate);

/* The first contender that is timed; NULL if none is. Ratios are against it. */
const struct bench_contender *bench_cell_first(const struct bench_cell *cell);

/* Bytes that one run of a yardstick reads: of a reader a row, else what bench_limit_bytes says. */
uint64_t bench_yardstick_bytes(const struct bench_yardstick *yardstick);

#endif
