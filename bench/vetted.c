/* SPDX-License-Identifier: MIT */
/* What is not the scalar kernel bit by bit is not timed. */
#include "vetted.h"

#include <stdio.h>
#include <string.h>

static size_t first_difference(const uint8_t *a, const uint8_t *b, size_t size)
{
    size_t i = 0;
    while (i < size && a[i] == b[i])
        i++;
    return i;
}

bool bench_vetted(const struct bench_work *candidate, const struct qkern_kernel *scalar,
                  char *reason, size_t reason_size)
{
    struct bench_workload *w = candidate->workload;
    struct bench_work reference = {w, scalar};
    const bool many = w->entry == QKERN_ENTRY_VEC_DOT_ROWS;
    /* Rows may lie at any stride; here they are all given in one call. */
    const uint64_t step = many ? w->distinct : 1;

    if (scalar == NULL || !bench_work_possible(&reference)) {
        snprintf(reason, reason_size, "the scalar plugin has nothing to compare with");
        return false;
    }
    for (uint64_t r = 0; r < w->distinct; r += step) {
        const size_t size = bench_work_row(&reference, r, step);
        memcpy(w->expected, w->out, size);
        memset(w->out, 0xa5, size);
        bench_work_row(candidate, r, step);
        const size_t at = first_difference(w->out, w->expected, size);
        if (at == size)
            continue;
        snprintf(reason, reason_size,
                 "row %llu, byte %zu of the result: expected %02x as the scalar kernel writes, "
                 "found %02x",
                 (unsigned long long)(many ? at / sizeof(float) : r),
                 many ? at % sizeof(float) : at, ((const uint8_t *)w->expected)[at],
                 ((const uint8_t *)w->out)[at]);
        return false;
    }
    return true;
}
