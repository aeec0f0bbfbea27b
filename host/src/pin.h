/* SPDX-License-Identifier: MIT */
/* Pins: which generations are in use. */
#ifndef QKERN_HOST_PIN_H
#define QKERN_HOST_PIN_H

#include <stdatomic.h>

#include "generation.h"

#define PIN_STRIPES 64u /* a power of two */

/*
 * Counters of held pins, each in a cache line of its own so that threads seldom share one. A pin
 * remembers its counter, so that it is taken from the one it was added to. When generations are
 * replaced while the program runs, each stripe gets a counter per epoch parity beside this one, and
 * a pin's remaining opaque words say which; the interface stays.
 */
struct pin_stripe {
    _Alignas(64) _Atomic uint64_t held;
};

struct pin_table {
    struct pin_stripe stripes[PIN_STRIPES];
    _Atomic(const struct qkern_generation *) generation;
};

/* NULL if out of memory; freed by pin_table_release, which frees the generation too. */
struct pin_table *pin_table_create(const struct qkern_generation *generation);
void pin_table_release(struct pin_table *table);

/* How many pins are held. Exact only while no thread begins or ends one. */
uint64_t pin_table_held(const struct pin_table *table);

void pin_begin(struct pin_table *table, qkern_pin *pin);

#endif
