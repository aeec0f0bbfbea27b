/* SPDX-License-Identifier: MIT */
#include "pin.h"

#include <pthread.h>
#include <stdlib.h>

#include "instance.h"

struct pin_table *pin_table_create(const struct qkern_generation *generation)
{
    struct pin_table *table = aligned_alloc(_Alignof(struct pin_table), sizeof *table);

    if (table == NULL)
        return NULL;
    for (uint32_t i = 0; i < PIN_STRIPES; i++)
        atomic_init(&table->stripes[i].held, 0);
    atomic_init(&table->generation, generation);
    return table;
}

void pin_table_release(struct pin_table *table)
{
    if (table == NULL)
        return;
    free((void *)(uintptr_t)atomic_load(&table->generation));
    free(table);
}

uint64_t pin_table_held(const struct pin_table *table)
{
    uint64_t held = 0;

    for (uint32_t i = 0; i < PIN_STRIPES; i++)
        held += atomic_load(&table->stripes[i].held);
    return held;
}

/*
 * A stripe by the calling thread's identity: no thread-local storage, whose first use in a thread
 * may allocate. Thread descriptors are far apart, so the hash takes their upper bits.
 */
static uint32_t stripe_of_thread(void)
{
    uint64_t identity = (uint64_t)(uintptr_t)pthread_self();

    return (uint32_t)((identity >> 6) * 0x9e3779b97f4a7c15u >> 58) % PIN_STRIPES;
}

void pin_begin(struct pin_table *table, qkern_pin *pin)
{
    _Atomic uint64_t *held = &table->stripes[stripe_of_thread()].held;

    /* First the count, then the generation: whoever sees no count sees no use. */
    atomic_fetch_add_explicit(held, 1, memory_order_seq_cst);
    pin->generation = atomic_load_explicit(&table->generation, memory_order_seq_cst);
    pin->opaque[0] = (uint64_t)(uintptr_t)held;
    pin->opaque[1] = 0;
    pin->opaque[2] = 0;
}

qkern_status qkern_pin_begin(qkern *q, qkern_pin *pin)
{
    if (q == NULL || pin == NULL)
        return QKERN_E_ARGUMENT;
    pin_begin(q->pins, pin);
    return QKERN_OK;
}

void qkern_pin_end(qkern_pin *pin)
{
    if (pin == NULL || pin->generation == NULL)
        return;
    _Atomic uint64_t *held = (_Atomic uint64_t *)(uintptr_t)pin->opaque[0];
    *pin = (qkern_pin){0};
    atomic_fetch_sub_explicit(held, 1, memory_order_release);
}

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
