/* SPDX-License-Identifier: MIT */
/* The working sets. */
#include "working_set.h"

enum { MATRIX_ROWS = 4096, MATRIX_ROW_BYTES = 4096 /* of the matrix that stands for all types */ };

#define MIB (UINT64_C(1) << 20)
#define DRAM_LEAST (256 * MIB)
#define DRAM_MOST (512 * MIB)

const char *bench_set_name(uint32_t set)
{
#define SET_NAME(IDENTIFIER, VALUE, NAME, RULE) [VALUE] = (NAME),
    static const char *const names[] = {BENCH_SETS(SET_NAME)};
#undef SET_NAME
    return set < BENCH_SET_LIMIT ? names[set] : "?";
}

const char *bench_set_rule(uint32_t set)
{
#define SET_RULE(IDENTIFIER, VALUE, NAME, RULE) [VALUE] = (RULE),
    static const char *const rules[] = {BENCH_SETS(SET_RULE)};
#undef SET_RULE
    return set < BENCH_SET_LIMIT ? rules[set] : "?";
}

static uint64_t at_least(uint64_t value, uint64_t least)
{
    return value > least ? value : least;
}

static uint64_t dram_bytes(const struct bench_caches *caches)
{
    const uint64_t l3 = caches->level[2].bytes;
    return l3 >= DRAM_MOST / 4 ? DRAM_MOST : at_least(4 * l3, DRAM_LEAST);
}

uint64_t bench_set_rows(uint32_t set, const struct bench_caches *caches, uint64_t row_bytes,
                        uint64_t other_bytes)
{
    uint64_t bytes = bench_set_bytes(set, caches);

    if (set == BENCH_SET_L3)
        return at_least(4 * caches->level[1].bytes / row_bytes + 1, MATRIX_ROWS);
    if (set != BENCH_SET_DRAM)
        bytes = bytes > other_bytes ? bytes - other_bytes : 0;
    return at_least(bytes / row_bytes, 1);
}

uint64_t bench_set_bytes(uint32_t set, const struct bench_caches *caches)
{
    switch (set) {
    case BENCH_SET_L1:
        return caches->level[0].bytes / 4 * 3;
    case BENCH_SET_L2:
        return caches->level[1].bytes / 2;
    case BENCH_SET_L3:
        return at_least(4 * caches->level[1].bytes, MATRIX_ROWS * (uint64_t)MATRIX_ROW_BYTES);
    default:
        return dram_bytes(caches);
    }
}
