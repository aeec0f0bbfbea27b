/* SPDX-License-Identifier: MIT */
#include "slot.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- the system: threads and memory ----------------------------------------------------------- */

#if defined(__linux__)
static uint32_t thread_number(void)
{
    return (uint32_t)gettid();
}

/* A number may be that of a newer thread by now: then the answer errs on the safe side. */
static bool thread_is_gone(uint32_t number)
{
    return tgkill(getpid(), (pid_t)number, 0) != 0 && errno == ESRCH;
}

/* Emulators say yes and do nothing, so the answer is not worth a look. */
static void wipe_on_fork(void *memory, size_t size)
{
    (void)madvise(memory, size, MADV_WIPEONFORK);
}
#else
static uint32_t thread_number(void)
{
    return 0;
}

static bool thread_is_gone(uint32_t number)
{
    (void)number;
    return false;
}

static void wipe_on_fork(void *memory, size_t size)
{
    (void)memory;
    (void)size;
}
#endif

/* --- chunks ----------------------------------------------------------------------------------- */

static uint32_t chunk_slots(uint32_t chunk)
{
    return SLOT_CHUNK_FIRST << chunk;
}

static size_t chunk_bytes(uint32_t chunk)
{
    return chunk_slots(chunk) * sizeof(struct slot);
}

static uint32_t chunk_count(const struct slot_table *table)
{
    uint32_t count = 0;

    while (count < SLOT_CHUNKS && atomic_load(&table->chunks[count]) != NULL)
        count++;
    return count;
}

/* Adds the chunk of that number, unless another thread has; false if there is no memory for it. */
static bool chunk_add(struct slot_table *table, uint32_t chunk)
{
    struct slot *none = NULL;

    if (chunk == SLOT_CHUNKS)
        return false;
    const size_t bytes = chunk_bytes(chunk);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    wipe_on_fork(memory, bytes);
    if (!atomic_compare_exchange_strong(&table->chunks[chunk], &none, memory))
        munmap(memory, bytes);
    return true;
}

void slot_table_init(struct slot_table *table)
{
    for (uint32_t i = 0; i < SLOT_CHUNKS; i++)
        atomic_init(&table->chunks[i], NULL);
}

void slot_table_release(struct slot_table *table)
{
    for (uint32_t i = 0; i < SLOT_CHUNKS; i++) {
        struct slot *slots = atomic_load(&table->chunks[i]);
        if (slots != NULL)
            munmap(slots, chunk_bytes(i));
    }
}

struct slot *slot_at(const struct slot_table *table, uint32_t number)
{
    for (uint32_t chunk = 0; chunk < SLOT_CHUNKS; chunk++) {
        struct slot *slots = atomic_load(&table->chunks[chunk]);
        if (slots == NULL)
            return NULL;
        if (number < chunk_slots(chunk))
            return &slots[number];
        number -= chunk_slots(chunk);
    }
    return NULL;
}

/* --- owners ----------------------------------------------------------------------------------- */

uint64_t slot_owner(uint64_t word)
{
    static _Atomic uint32_t count;
    const uint32_t number = thread_number();

    if (word != 0 && word >> 32 == number)
        return word;
    return (uint64_t)number << 32 | (atomic_fetch_add(&count, 1) + 1u);
}

struct slot *slot_find(const struct slot_table *table, uint64_t owner)
{
    struct slot *slot;

    for (uint32_t i = 0; (slot = slot_at(table, i)) != NULL; i++)
        if (atomic_load_explicit(&slot->owner, memory_order_relaxed) == owner)
            return slot;
    return NULL;
}

/* Makes the slot the new owner's if it is still the old one's. */
static bool slot_take(struct slot *slot, uint64_t from, uint64_t to)
{
    if (!atomic_compare_exchange_strong(&slot->owner, &from, to))
        return false;
    atomic_store(&slot->process, (uint64_t)getpid());
    atomic_store(&slot->state, to);
    return true;
}

/* A slot that nobody owns. */
static struct slot *slot_claim_free(const struct slot_table *table, uint64_t owner)
{
    struct slot *slot;

    for (uint32_t i = 0; (slot = slot_at(table, i)) != NULL; i++)
        if (atomic_load(&slot->owner) == 0 && slot_take(slot, 0, owner))
            return slot;
    return NULL;
}

/*
 * An idle slot of a thread that is gone. A thread that ended with a pin held keeps its slot, and
 * the pin is counted. A parent's slot is none: the thread that forked may have it, under another
 * number now.
 */
static struct slot *slot_claim_gone(const struct slot_table *table, uint64_t owner)
{
    const uint64_t process = (uint64_t)getpid();
    struct slot *slot;

    for (uint32_t i = 0; (slot = slot_at(table, i)) != NULL; i++) {
        uint64_t old = atomic_load(&slot->owner);
        if (atomic_load(&slot->state) == old && atomic_load(&slot->process) == process &&
            thread_is_gone((uint32_t)(old >> 32)) && slot_take(slot, old, owner))
            return slot;
    }
    return NULL;
}

struct slot *slot_claim(struct slot_table *table, uint64_t owner)
{
    for (;;) {
        /* Counted before the search: a chunk that another thread adds meanwhile is searched too. */
        const uint32_t chunks = chunk_count(table);
        struct slot *slot = slot_claim_free(table, owner);
        if (slot == NULL)
            slot = slot_claim_gone(table, owner);
        if (slot != NULL || !chunk_add(table, chunks))
            return slot;
    }
}
