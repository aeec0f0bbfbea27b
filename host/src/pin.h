/* SPDX-License-Identifier: MIT */
/*
 * Pins: which generations are in use.
 *
 * A reader writes the current epoch into its thread's slot, then reads the pointer to the
 * generation. A writer that has replaced the pointer and then the epoch makes all threads execute a
 * barrier, and looks at the slots: a pin on the old generation that it does not see there began
 * after the barrier, so it reads the new pointer. The writer's barrier is membarrier(2); where
 * there is none, what the reader writes and reads is ordered by itself, which takes some ns more.
 */
#ifndef QKERN_HOST_PIN_H
#define QKERN_HOST_PIN_H

#include "barrier.h"
#include "generation.h"
#include "slot.h"

struct pin_table {
    _Atomic(const struct qkern_generation *) generation;
    _Atomic uint64_t epoch; /* SLOT_HELD and the generation's number */
    uint64_t id;            /* of the table: never used again */
    bool ordered;           /* readers order by themselves */
    const struct barrier_source *barrier;
    /* `nested` counts the pins of threads for whose slot there was no memory. They note no epoch:
       while there are any, nothing is known to be idle. */
    struct slot shared;
    struct slot_table slots;
};

/* Takes the generation over. `barrier` must live as long as the table. */
void pin_table_init(struct pin_table *table, const struct qkern_generation *generation,
                    const struct barrier_source *barrier);
void pin_table_release(struct pin_table *table);

/*
 * How many pins are held. Exact for those that began before this call; threads that begin and end
 * others meanwhile may or may not be counted.
 */
uint64_t pin_table_held(const struct pin_table *table);

void pin_begin(struct pin_table *table, qkern_pin *pin);

#endif
