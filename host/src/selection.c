/* SPDX-License-Identifier: MIT */
#include "selection.h"

#include <stdio.h>

uint32_t selection_choose(const struct record_list *records, uint32_t type, uint32_t entry)
{
    uint32_t chosen = GENERATION_NO_RECORD;

    for (uint32_t i = 0; i < records->count; i++) {
        const struct record *record = records->items[i];
        if (record->plugin == NULL || !kernel_has(&record->plugin->kernels[type], entry))
            continue;
        if (chosen == GENERATION_NO_RECORD || record->tier > records->items[chosen]->tier)
            chosen = i;
    }
    return chosen;
}

void selection_reason(const struct record_list *records, uint32_t chosen, uint32_t other,
                      const qkern_type_info *type, uint32_t entry, char *text, size_t size)
{
    const struct record *record = records->items[other];

    if (record->plugin == NULL && record->finding.expected[0] == '\0')
        snprintf(text, size, "%s", record->finding.text);
    else if (record->plugin == NULL)
        snprintf(text, size, "%s (expected %s, found %s)", record->finding.text,
                 record->finding.expected, record->finding.found);
    else if (record->plugin->kernels[type->type].struct_size == 0)
        snprintf(text, size, "has no kernel for %s", type->name);
    else if (!kernel_has(&record->plugin->kernels[type->type], entry))
        snprintf(text, size, "has a kernel for %s, but without %s", type->name,
                 qkern_entry_name(entry));
    else if (record->tier == records->items[chosen]->tier)
        snprintf(text, size, "tier %u too, but found later", record->tier);
    else
        snprintf(text, size, "tier %u is lower than %u", record->tier,
                 records->items[chosen]->tier);
}
