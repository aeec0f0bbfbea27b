/* SPDX-License-Identifier: MIT */
#include "pin.h"

#include <stdlib.h>

#include "instance.h"

/* --- the calling thread ----------------------------------------------------------------------- */

/*
 * Static thread-local storage: no call, no allocation and no destructor. It is small enough for
 * what the dynamic loader keeps free for libraries that are loaded later. All of it can be found
 * again: it saves looking for it.
 */
#if defined(__ELF__)
#define THREAD_STATIC __attribute__((tls_model("initial-exec")))
#else
#define THREAD_STATIC
#endif

#define RECENT 2u

static _Thread_local struct {
    uint64_t owner; /* this thread's word in its slots; 0 before its first pin */
    struct {
        uint64_t table; /* an id; 0: none */
        struct slot *slot;
    } recent[RECENT]; /* slots last used, by the table's id */
} thread THREAD_STATIC;

/* The calling thread's slot, found or claimed; NULL if there is no memory. */
static struct slot *thread_slot(struct pin_table *table)
{
    struct slot *slot = thread.owner == 0 ? NULL : slot_find(&table->slots, thread.owner);

    if (slot == NULL) {
        thread.owner = slot_owner(thread.owner);
        slot = slot_claim(&table->slots, thread.owner);
    }
    if (slot != NULL) {
        thread.recent[table->id % RECENT].table = table->id;
        thread.recent[table->id % RECENT].slot = slot;
    }
    return slot;
}

/* --- beginning -------------------------------------------------------------------------------- */

/* What the end of a pin needs. Apart, lest a compiler write both at once, across a cache line. */
static inline void pin_fill(qkern_pin *pin, struct slot *slot, uint64_t owner)
{
    pin->opaque[0] = (uint64_t)(uintptr_t)slot;
    pin->opaque[2] = owner;
}

/* To be read after the slot says that there is a pin. */
static inline const struct qkern_generation *generation_read(const struct pin_table *table)
{
    return atomic_load_explicit(&table->generation, memory_order_seq_cst);
}

/* Begins a pin that is the only one of its slot. */
static inline const struct qkern_generation *slot_begin(struct pin_table *table, struct slot *slot)
{
    /* Epoch before generation: whoever reads a new epoch reads no old generation. */
    uint64_t epoch = atomic_load_explicit(&table->epoch, memory_order_acquire);

    if (table->ordered) {
        atomic_store_explicit(&slot->state, epoch, memory_order_seq_cst);
    } else {
        atomic_store_explicit(&slot->state, epoch, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
    }
    return generation_read(table);
}

/*
 * All but the common case: a pin inside another, another instance meanwhile, the first pin of the
 * thread, or the first after a fork.
 */
static __attribute__((noinline, cold)) void pin_begin_rarely(struct pin_table *table,
                                                             qkern_pin *pin)
{
    struct slot *slot = thread.recent[table->id % RECENT].slot;

    if (thread.recent[table->id % RECENT].table != table->id ||
        atomic_load_explicit(&slot->owner, memory_order_relaxed) != thread.owner)
        slot = thread_slot(table);
    if (slot == NULL) {
        pin_fill(pin, &table->shared, 0);
        atomic_fetch_add(&table->shared.nested, 1);
        pin->generation = generation_read(table);
        return;
    }
    pin_fill(pin, slot, thread.owner);
    if (atomic_load_explicit(&slot->state, memory_order_relaxed) == thread.owner) {
        pin->generation = slot_begin(table, slot);
        return;
    }
    /* The outer pin's epoch stands for this one too, which may have a newer generation. */
    uint64_t nested = atomic_load_explicit(&slot->nested, memory_order_relaxed);
    atomic_store_explicit(&slot->nested, nested + 1, memory_order_relaxed);
    pin->generation = generation_read(table);
}

/*
 * The pin is filled before the slot's state is looked at: else compilers take the state for the
 * owner, which it is equal to, and each pin waits for the end of the one before.
 */
static inline void pin_begin_here(struct pin_table *table, qkern_pin *pin)
{
    struct slot *slot = thread.recent[table->id % RECENT].slot;

    pin_fill(pin, slot, thread.owner);
    if (thread.recent[table->id % RECENT].table == table->id &&
        atomic_load_explicit(&slot->state, memory_order_relaxed) == thread.owner)
        pin->generation = slot_begin(table, slot);
    else
        pin_begin_rarely(table, pin);
}

void pin_begin(struct pin_table *table, qkern_pin *pin)
{
    pin_begin_here(table, pin);
}

qkern_status qkern_pin_begin(qkern *q, qkern_pin *pin)
{
    if (q == NULL || pin == NULL)
        return QKERN_E_ARGUMENT;
    pin_begin_here(&q->pins, pin);
    return QKERN_OK;
}

/* --- ending ----------------------------------------------------------------------------------- */

/* A pin beside another, or one in the shared slot, or one from before a fork. */
static __attribute__((noinline, cold)) void pin_end_rarely(struct slot *slot, uint64_t owner)
{
    if (owner == 0) {
        atomic_fetch_sub(&slot->nested, 1);
        return;
    }
    if (atomic_load_explicit(&slot->owner, memory_order_relaxed) != owner)
        return; /* the parent's pin: the child's slots were wiped */
    uint64_t nested = atomic_load_explicit(&slot->nested, memory_order_relaxed);
    atomic_store_explicit(&slot->nested, nested - 1, memory_order_release);
}

void qkern_pin_end(qkern_pin *pin)
{
    if (pin == NULL || pin->generation == NULL)
        return;
    struct slot *slot = (struct slot *)(uintptr_t)pin->opaque[0];
    const uint64_t owner = pin->opaque[2];

    pin->generation = NULL;
    if (atomic_load_explicit(&slot->owner, memory_order_relaxed) == owner &&
        atomic_load_explicit(&slot->nested, memory_order_relaxed) == 0)
        atomic_store_explicit(&slot->state, owner, memory_order_release);
    else
        pin_end_rarely(slot, owner);
}

/* --- what a pin gives ------------------------------------------------------------------------- */

const struct qkern_kernel *qkern_pin_kernel(const qkern_pin *pin, uint32_t type)
{
    if (pin == NULL || pin->generation == NULL || type >= QKERN_TYPE_LIMIT)
        return NULL;
    const struct qkern_kernel *kernel = &pin->generation->kernels[type];
    return kernel->struct_size == 0 ? NULL : kernel;
}

uint64_t qkern_pin_generation(const qkern_pin *pin)
{
    return pin == NULL || pin->generation == NULL ? 0 : pin->generation->number;
}

/* --- the table -------------------------------------------------------------------------------- */

void pin_table_init(struct pin_table *table, const struct qkern_generation *generation,
                    const struct barrier_source *barrier)
{
    static _Atomic uint64_t count;

    table->id = atomic_fetch_add(&count, 1) + 1;
    table->barrier = barrier;
    table->ordered = !barrier_prepare(barrier);
    atomic_init(&table->generation, generation);
    atomic_init(&table->epoch, SLOT_HELD | generation->number);
    atomic_init(&table->shared.owner, UINT64_MAX); /* nobody's word */
    atomic_init(&table->shared.state, 0);
    atomic_init(&table->shared.nested, 0);
    slot_table_init(&table->slots);
}

void pin_table_release(struct pin_table *table)
{
    slot_table_release(&table->slots);
    free((void *)(uintptr_t)atomic_load(&table->generation));
}

uint64_t pin_table_held(const struct pin_table *table)
{
    uint64_t held = atomic_load(&table->shared.nested);
    const struct slot *slot;

    /* If the barrier fails, pins that began a moment ago in another thread may be missed. */
    if (!table->ordered)
        barrier_run(table->barrier);
    for (uint32_t i = 0; (slot = slot_at(&table->slots, i)) != NULL; i++)
        held += atomic_load(&slot->nested) + ((atomic_load(&slot->state) & SLOT_HELD) != 0);
    return held;
}
