/* SPDX-License-Identifier: MIT */
/* The QKERN_ variables. */
#include "environment.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

/* A set-user-ID program must not run what its caller's environment names. */
static const char *native_get(void *context, const char *name)
{
    (void)context;
    return secure_getenv(name);
}

const struct environment_source *environment_native(void)
{
    static const struct environment_source native = {native_get, NULL};
    return &native;
}

qkern_status environment_read(const struct environment_source *source, struct environment *out,
                              qkern_error *error)
{
    const struct {
        const char *name;
        char **value;
    } variables[] = {
        {"QKERN_FEATURES", &out->features},
        {"QKERN_MAX_ISA", &out->max_isa},
        {"QKERN_PLUGIN_PATH", &out->plugin_path},
    };

    *out = (struct environment){NULL, NULL, NULL};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = source->get(source->context, variables[i].name);
        if (value == NULL || value[0] == '\0')
            continue;
        *variables[i].value = strdup(value);
        if (*variables[i].value == NULL)
            return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: copying %s",
                             variables[i].name);
    }
    return QKERN_OK;
}

void environment_release(struct environment *environment)
{
    free(environment->features);
    free(environment->max_isa);
    free(environment->plugin_path);
}
