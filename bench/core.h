/* SPDX-License-Identifier: MIT */
/* Staying on one core. */
#ifndef QKERN_BENCH_CORE_H
#define QKERN_BENCH_CORE_H

/* The core that runs the caller; -1 if the system does not say. */
int bench_core_current(void);

/*
 * Pins the calling thread to a core. Returns NULL, or the reason why it cannot be: then the thread
 * is where it was.
 */
const char *bench_core_pin(int core);

#endif
