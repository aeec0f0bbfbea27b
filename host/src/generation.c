/* SPDX-License-Identifier: MIT */
#include "generation.h"

#include <stdlib.h>

#include "selection.h"

/* Fills a type's kernel with the chosen entry points. */
static void kernel_merge(struct qkern_generation *generation, const struct record_list *records,
                         const qkern_type_info *type)
{
    struct qkern_kernel *kernel = &generation->kernels[type->type];

    for (uint32_t entry = 0; entry < QKERN_ENTRY_LIMIT; entry++) {
        uint32_t chosen = selection_choose(records, type->type, entry);
        generation->serves[type->type][entry] = chosen;
        if (chosen == GENERATION_NO_RECORD)
            continue;
        kernel->struct_size = (uint32_t)sizeof *kernel;
        kernel->type = type->type;
        kernel->block_elements = type->block_elements;
        kernel->block_bytes = type->block_bytes;
        kernel->dot_type = type->dot_type;
        kernel_take(kernel, &records->items[chosen]->plugin->kernels[type->type], entry);
    }
}

struct qkern_generation *generation_create(const struct record_list *records, uint64_t number)
{
    struct qkern_generation *generation = calloc(1, sizeof *generation);
    qkern_type_info type = {.struct_size = (uint32_t)sizeof type};

    if (generation == NULL)
        return NULL;
    generation->number = number;
    for (uint32_t i = 0; i < QKERN_TYPE_LIMIT; i++)
        if (qkern_type_get(i, &type, NULL) == QKERN_OK)
            kernel_merge(generation, records, &type);
    return generation;
}
