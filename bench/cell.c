/* SPDX-License-Identifier: MIT */
/* A cell of the table. */
#include "cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_BATCH_SHARE = 4 /* a limit's batch is so much shorter: its loop is simpler */ };

/* --- yardsticks ------------------------------------------------------------------------------- */

static uint64_t align_down(uint64_t offset)
{
    return offset / BENCH_ALIGNMENT * BENCH_ALIGNMENT;
}

/* Reads `count` rows, the cell's own data, from where the other tasks have left off. */
static void run_read(void *context, uint64_t count)
{
    const struct bench_yardstick *y = context;
    struct bench_workload *w = &y->cell->workload;
    uint64_t r = w->next_row;
    while (count > 0) {
        const uint64_t left = w->rows - r;
        const uint64_t rows = left < count ? left : count;
        const uint64_t first = align_down(r * w->row_bytes);
        const uint64_t end = (r + rows) * w->row_bytes;
        w->sink = (float)y->limit->run(w->data + first, NULL, end - first);
        r = r + rows < w->rows ? r + rows : 0;
        count -= rows;
    }
    w->next_row = r;
}

static void run_own_data(void *context, uint64_t count)
{
    const struct bench_yardstick *y = context;
    const size_t bytes = bench_limit_bytes(y->limit);
    for (uint64_t i = 0; i < count; i++)
        y->cell->workload.sink =
            (float)y->limit->run(y->cell->limit_in, y->cell->limit_other, bytes);
}

uint64_t bench_yardstick_bytes(const struct bench_yardstick *yardstick)
{
    return yardstick->limit->kind == BENCH_LIMIT_READ ? yardstick->cell->workload.row_bytes
                                                      : bench_limit_bytes(yardstick->limit);
}

/* Whether a limit says something about an entry point. */
static bool bears_on(enum bench_limit_kind kind, uint32_t entry)
{
    switch (kind) {
    case BENCH_LIMIT_READ:
        return true;
    case BENCH_LIMIT_COPY:
        return entry == QKERN_ENTRY_DEQUANTIZE;
    default:
        return entry != QKERN_ENTRY_DEQUANTIZE;
    }
}

static bool yardsticks_init(struct bench_cell *cell, const qkern *q,
                            const struct bench_cell_options *options)
{
    const bool alone = options->plugin_count == 0;
    cell->limit_in = aligned_alloc(BENCH_ALIGNMENT, BENCH_LIMIT_COPY_BYTES);
    cell->limit_other = aligned_alloc(BENCH_ALIGNMENT, BENCH_LIMIT_COPY_BYTES);
    cell->yardsticks = calloc(bench_limit_count, sizeof cell->yardsticks[0]);
    if (cell->limit_in == NULL || cell->limit_other == NULL || cell->yardsticks == NULL)
        return false;
    memset(cell->limit_in, 0x25, BENCH_LIMIT_COPY_BYTES);
    memset(cell->limit_other, 0x25, BENCH_LIMIT_COPY_BYTES);
    for (uint32_t i = 0; i < bench_limit_count; i++)
        if ((alone || bears_on(bench_limits[i].kind, options->entry)) &&
            bench_limit_usable(&bench_limits[i], q))
            cell->yardsticks[cell->yardstick_count++] =
                (struct bench_yardstick){&bench_limits[i], cell, 0};
    return true;
}

/* --- contenders ------------------------------------------------------------------------------- */

static void contender_init(struct bench_contender *c, struct bench_cell *cell, const qkern *q,
                           const char *plugin)
{
    const uint32_t type = cell->workload.type.type;
    c->work = (struct bench_work){&cell->workload, bench_kernel_find(q, plugin, type)};
    c->missing = c->work.kernel == NULL || !bench_work_possible(&c->work);
    if (c->missing)
        snprintf(c->reason, sizeof c->reason, "it has no %s for %s",
                 qkern_entry_name(cell->workload.entry), cell->workload.type.name);
    else
        c->timed = bench_vetted(&c->work, bench_kernel_find(q, BENCH_REFERENCE, type), c->reason,
                                sizeof c->reason);
}

static bool contenders_init(struct bench_cell *cell, const qkern *q,
                            const struct bench_cell_options *options)
{
    cell->contenders = calloc(options->plugin_count + 1u, sizeof cell->contenders[0]);
    if (cell->contenders == NULL)
        return false;
    cell->contender_count = options->plugin_count;
    for (uint32_t i = 0; i < options->plugin_count; i++)
        contender_init(&cell->contenders[i], cell, q, options->plugins[i]);
    return true;
}

/* --- the trial -------------------------------------------------------------------------------- */

static bool trial_init(struct bench_cell *cell, const struct bench_cell_options *options)
{
    uint32_t count = cell->yardstick_count, next = 0;
    for (uint32_t i = 0; i < cell->contender_count; i++)
        count += cell->contenders[i].timed;
    if (!bench_trial_init(&cell->trial, options->clock, options->seed, count, options->round_limit))
        return false;
    for (uint32_t i = 0; i < cell->contender_count; i++) {
        struct bench_contender *c = &cell->contenders[i];
        if (!c->timed)
            continue;
        c->candidate = next++;
        bench_trial_set(&cell->trial, c->candidate, bench_work_task(&c->work), options->batch_ns);
    }
    for (uint32_t i = 0; i < cell->yardstick_count; i++) {
        struct bench_yardstick *y = &cell->yardsticks[i];
        const struct bench_task task = {
            y->limit->kind == BENCH_LIMIT_READ ? run_read : run_own_data, y};
        y->candidate = next++;
        bench_trial_set(&cell->trial, y->candidate, task, options->batch_ns / LIMIT_BATCH_SHARE);
    }
    return true;
}

qkern_status bench_cell_init(struct bench_cell *cell, qkern *q,
                             const struct bench_cell_options *options, qkern_error *error)
{
    *cell = (struct bench_cell){.contender_count = 0};
    const qkern_status status =
        bench_workload_init(&cell->workload, q, options->type, options->entry, options->n,
                            options->rows, options->seed, error);
    if (status != QKERN_OK)
        return status;
    if (yardsticks_init(cell, q, options) && contenders_init(cell, q, options) &&
        trial_init(cell, options))
        return QKERN_OK;
    bench_cell_free(cell);
    if (error != NULL) {
        error->status = QKERN_E_MEMORY;
        error->index = QKERN_NO_INDEX;
        snprintf(error->message, sizeof error->message, "no memory for the timings");
    }
    return QKERN_E_MEMORY;
}

void bench_cell_free(struct bench_cell *cell)
{
    bench_trial_free(&cell->trial);
    bench_workload_free(&cell->workload);
    free(cell->contenders);
    free(cell->yardsticks);
    free(cell->limit_in);
    free(cell->limit_other);
    *cell = (struct bench_cell){.contender_count = 0};
}

void bench_cell_warm_up(struct bench_cell *cell, uint32_t candidate)
{
    bench_trial_warm_up(&cell->trial, candidate);
}

const struct bench_contender *bench_cell_first(const struct bench_cell *cell)
{
    for (uint32_t i = 0; i < cell->contender_count; i++)
        if (cell->contenders[i].timed)
            return &cell->contenders[i];
    return NULL;
}
