/* SPDX-License-Identifier: MIT */
/* How large the caches of this machine are. */
#ifndef QKERN_BENCH_CACHE_H
#define QKERN_BENCH_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct bench_cache {
    uint64_t bytes;
    const char *source; /* "sysfs", "sysconf" or "assumed" */
};

/* Of levels 1 (data), 2 and 3. */
struct bench_caches {
    struct bench_cache level[3];
};

/* Reads them from sysfs, else from sysconf, else assumes 32 KiB, 1 MiB and 32 MiB. */
struct bench_caches bench_caches_read(void);

/* The same with the folder that sysfs has for the first core given; NULL for no sysfs. */
struct bench_caches bench_caches_read_from(const char *folder);

/*
 * "48K", "48KiB", "1M", "2GiB", "4096": as bytes, letters in either case. False, and *bytes is
 * untouched, for anything else, for 0 and for what does not fit.
 */
bool bench_size_parse(const char *text, uint64_t *bytes);

#endif
