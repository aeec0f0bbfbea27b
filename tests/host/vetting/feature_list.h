/* SPDX-License-Identifier: MIT */
/* Reading a struct cpu_features in tests. */
#ifndef QKERN_TESTS_FEATURE_LIST_H
#define QKERN_TESTS_FEATURE_LIST_H

#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"

#include "host/src/cpu_features.h"

/* The usable features' names with a space between, in text. */
static inline const char *usable_names(const struct cpu_features *features, char text[512])
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < features->count; i++)
        if (features->list[i].usable)
            used += (size_t)snprintf(text + used, 512 - used, "%s%s", used > 0 ? " " : "",
                                     features->list[i].name);
    return text;
}

static inline const struct feature_state *feature_find(const struct cpu_features *features,
                                                       const char *name)
{
    for (uint32_t i = 0; i < features->count; i++)
        if (strcmp(features->list[i].name, name) == 0)
            return &features->list[i];
    fail_msg("there is no feature %s", name);
    return NULL;
}

#endif
