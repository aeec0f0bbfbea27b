/* SPDX-License-Identifier: MIT */
#include "guarded.h"

#include <sys/mman.h>
#include <unistd.h>

size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

bool guarded_create(struct guarded *g, size_t size)
{
    const size_t guard = round_up(GUARD_BYTES, page_size());
    const size_t inside = round_up(size, page_size());
    const size_t whole = inside + 2 * guard;
    uint8_t *map = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (map == MAP_FAILED)
        return false;
    *g = (struct guarded){map + guard, map + guard + inside, map, whole};
    if (inside > 0 && mprotect(g->start, inside, PROT_READ | PROT_WRITE) != 0) {
        guarded_free(g);
        return false;
    }
    return true;
}

void guarded_free(struct guarded *g)
{
    munmap(g->map, g->map_size);
    *g = (struct guarded){NULL, NULL, NULL, 0};
}

bool guarded_stripe(const struct guarded *g, size_t pages)
{
    const size_t run = pages * page_size();

    for (uint8_t *at = g->start + run; at < g->end; at += 2 * run)
        if (mprotect(at, run, PROT_NONE) != 0)
            return false;
    return true;
}

bool guarded_holds(const struct guarded *g, uintptr_t address)
{
    return address >= (uintptr_t)g->map && address < (uintptr_t)g->map + g->map_size;
}
