/* SPDX-License-Identifier: MIT */
/* See support.h. */
#include "support.h"

#include <stdlib.h>
#include <strings.h>

const struct qkern_kernel *kernel_named(const char *name)
{
    for (uint32_t i = 0; i < qkern_plugin_scalar.kernel_count; i++)
        if (strcasecmp(type_name(qkern_plugin_scalar.kernels[i]->type), name) == 0)
            return qkern_plugin_scalar.kernels[i];
    return NULL;
}

static struct guarded_row row_new(size_t size)
{
    struct guarded_row row;
    if (!guarded_create(&row.memory, size))
        abort();
    return row;
}

struct guarded_row guarded_after_start(size_t size)
{
    struct guarded_row row = row_new(size);
    row.data = row.memory.start;
    return row;
}

struct guarded_row guarded_before_end(size_t size)
{
    struct guarded_row row = row_new(size);
    row.data = row.memory.end - size;
    return row;
}

void guarded_row_free(struct guarded_row *row)
{
    guarded_free(&row->memory);
}
