/* SPDX-License-Identifier: MIT */
/* Memory between pages without access, so that a byte too far is a fault. */
#ifndef QKERN_VERIFY_GUARDED_H
#define QKERN_VERIFY_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes without access on either side: far strays shall fault, too. */
#define GUARD_BYTES ((size_t)1 << 20)

struct guarded {
    uint8_t *start; /* behind the first guard; page-aligned */
    uint8_t *end;   /* before the second one; page-aligned */
    void *map;
    size_t map_size;
};

/* At least `size` bytes, zero; false if there is no memory. */
bool guarded_create(struct guarded *g, size_t size);
void guarded_free(struct guarded *g);

/*
 * Takes access to every second run of `pages` pages away, from the second one on: rows that begin
 * or end at a run's border have a guard of their own.
 */
bool guarded_stripe(const struct guarded *g, size_t pages);

/* Whether an address is in the guards or the memory between them. */
bool guarded_holds(const struct guarded *g, uintptr_t address);

size_t page_size(void);

#endif
