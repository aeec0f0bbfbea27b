/* SPDX-License-Identifier: MIT */
/*
 * Slots: what each thread writes about its pins on one instance, and no other thread writes.
 *
 * A thread owns a slot from its first pin on the instance on. There is no notice of a thread's end:
 * when slots run out, those of threads that are gone are taken over, and if there are none, more
 * are made. Slots never move and live as long as the instance. No locks, so nothing is left locked
 * in the child of a fork; and there the slots are all free again, for the child has no pins. Where
 * the system does not wipe them, the child sees its parent's, and leaves them alone.
 */
#ifndef QKERN_HOST_SLOT_H
#define QKERN_HOST_SLOT_H

#include <stdatomic.h>
#include <stdint.h>

/* In a cache line of its own, so that no thread waits for another's. */
struct slot {
    _Alignas(64) _Atomic uint64_t owner; /* 0: free */
    /* The owner's word: idle. With SLOT_HELD set: the epoch in which its oldest pin began. */
    _Atomic uint64_t state;
    _Atomic uint64_t nested;  /* pins beside that one */
    _Atomic uint64_t process; /* of the owner */
};

#define SLOT_HELD (UINT64_C(1) << 63)

#define SLOT_CHUNKS 16u
#define SLOT_CHUNK_FIRST 64u /* slots; each further chunk has twice as many */

struct slot_table {
    _Atomic(struct slot *) chunks[SLOT_CHUNKS];
};

void slot_table_init(struct slot_table *table);
void slot_table_release(struct slot_table *table);

/* The slots there are, by number from 0; NULL beyond the last. */
struct slot *slot_at(const struct slot_table *table, uint32_t number);

/*
 * A word for the calling thread to own slots by: its number in the system, which tells whether it
 * still lives, and a count, so that no two threads have the same. `word` is the one it has, or 0;
 * it gets another after a fork, for it has another number then.
 */
uint64_t slot_owner(uint64_t word);

/* The owner's slot; NULL if it has none. */
struct slot *slot_find(const struct slot_table *table, uint64_t owner);

/* A slot for an owner that has none; NULL if there is no memory for it. */
struct slot *slot_claim(struct slot_table *table, uint64_t owner);

#endif
