/* SPDX-License-Identifier: MIT */
/*
 * A barrier that one thread makes all threads of the process execute: membarrier(2). With it,
 * readers that run all the time need none of their own, and a writer that comes seldom pays.
 */
#ifndef QKERN_HOST_BARRIER_H
#define QKERN_HOST_BARRIER_H

#include <stdbool.h>

/* Asked of a source, so that tests can play a kernel without membarrier, or that forbids it. */
struct barrier_source {
    int (*membarrier)(void *context, int command); /* as membarrier(2): 0, or -1 */
    void *context;
};

/* The system that runs. Static, constant. */
const struct barrier_source *barrier_native(void);

/* Registers the process and tries the barrier; false if there is none. */
bool barrier_prepare(const struct barrier_source *source);

/* The barrier. false: it could not be had, although it was prepared. */
bool barrier_run(const struct barrier_source *source);

#endif
