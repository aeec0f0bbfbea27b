/* SPDX-License-Identifier: MIT */
/*
 * qkern-bench-limits: the limits of this core, without Lua.
 *
 * usage: qkern-bench-limits [SET...]
 *
 * SET is l1, l2, l3 or dram; all of them if none is given.
 */
#include <stdio.h>
#include <string.h>

#include "cell.h"
#include "core.h"
#include "working_set.h"

enum { ROUNDS = 25, BATCH_NS = 2000000, ROW = 4096 };

static void print_limit(const char *set, struct bench_cell *cell, const struct bench_yardstick *y)
{
    const struct bench_summary s = bench_trial_summary(&cell->trial, y->candidate);
    const double bytes = (double)bench_yardstick_bytes(y);
    if (y->limit->kind == BENCH_LIMIT_READ)
        printf("%-5s %-48s %8.1f %8.1f GB/s\n", set, y->limit->text, bytes / s.least,
               bytes / s.median);
    else
        printf("%-5s %-48s %8.1f %8.1f ns\n", "l1", y->limit->text, s.least, s.median);
}

/* The limits of one set; dots and copies, which have data of their own, only if `all`. */
static qkern_status print_set(qkern *q, uint32_t set, bool all, qkern_error *error)
{
    const struct bench_caches caches = bench_caches_read();
    struct bench_shape shape;
    struct bench_cell cell;
    qkern_status status = bench_shape_get(QKERN_TYPE_Q8_0, QKERN_ENTRY_VEC_DOT, ROW, &shape, error);
    if (status != QKERN_OK)
        return status;
    const struct bench_cell_options options = {
        .type = QKERN_TYPE_Q8_0,
        .entry = QKERN_ENTRY_VEC_DOT,
        .n = ROW,
        .rows = bench_set_rows(set, &caches, shape.row_bytes, shape.other_bytes),
        .seed = 1,
        .batch_ns = BATCH_NS,
        .round_limit = ROUNDS,
        .clock = bench_clock_open()};
    status = bench_cell_init(&cell, q, &options, error);
    if (status != QKERN_OK)
        return status;
    for (uint32_t c = 0; c < cell.trial.candidate_count; c++)
        bench_cell_warm_up(&cell, c);
    while (bench_trial_round(&cell.trial)) {
    }
    for (uint32_t i = 0; i < cell.yardstick_count; i++)
        if (all || cell.yardsticks[i].limit->kind == BENCH_LIMIT_READ)
            print_limit(bench_set_name(set), &cell, &cell.yardsticks[i]);
    bench_cell_free(&cell);
    return QKERN_OK;
}

static bool is_wanted(uint32_t set, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], bench_set_name(set)) == 0)
            return true;
    return argc == 1;
}

static bool is_set(const char *word)
{
    for (uint32_t set = 0; set < BENCH_SET_LIMIT; set++)
        if (strcmp(word, bench_set_name(set)) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern *q = NULL;

    for (int i = 1; i < argc; i++)
        if (!is_set(argv[i])) {
            fprintf(stderr, "usage: qkern-bench-limits [l1] [l2] [l3] [dram]\n");
            return 2;
        }
    qkern_status status = qkern_open(NULL, &q, &error);
    const char *reason = bench_core_pin(bench_core_current());
    if (reason != NULL)
        fprintf(stderr, "qkern-bench-limits: not pinned to a core, figures may vary: %s\n", reason);
    bool first = true;
    for (uint32_t set = 0; set < BENCH_SET_LIMIT && status == QKERN_OK; set++) {
        if (!is_wanted(set, argc, argv))
            continue;
        status = print_set(q, set, first, &error);
        first = false;
    }
    if (status != QKERN_OK)
        fprintf(stderr, "qkern-bench-limits: %s\n", error.message);
    qkern_close(q, NULL);
    return status == QKERN_OK ? 0 : 1;
}
