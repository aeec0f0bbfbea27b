/* SPDX-License-Identifier: MIT */
/* See support.h. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <qkern.h>

#define KERNELS_MAX 64

static struct qkern_kernel kernels[KERNELS_MAX];

/* Ends the test: what is to be tested is not there, which is no reason to skip. */
static void missing(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* The record of a plugin among those of the build. */
static uint32_t record_named(const qkern *q, const char *name, qkern_record *record)
{
    for (uint32_t i = 0; i < qkern_record_count(q); i++) {
        *record = (qkern_record){.struct_size = sizeof *record};
        if (qkern_record_get(q, i, record, NULL) == QKERN_OK && strcmp(record->name, name) == 0)
            return i;
    }
    missing(name, "no such plugin in " QKERN_TEST_PLUGIN_DIR);
    return 0;
}

static void take_entries(struct qkern_kernel *to, const struct qkern_kernel *from)
{
    to->quantize = from->quantize != NULL ? from->quantize : to->quantize;
    to->dequantize = from->dequantize != NULL ? from->dequantize : to->dequantize;
    to->vec_dot = from->vec_dot != NULL ? from->vec_dot : to->vec_dot;
    to->quantize_weighted =
        from->quantize_weighted != NULL ? from->quantize_weighted : to->quantize_weighted;
    to->vec_dot_rows = from->vec_dot_rows != NULL ? from->vec_dot_rows : to->vec_dot_rows;
}

int kernels_found(void)
{
    const char *name = getenv("QKERN_TEST_PLUGIN");
    static const char *const folder[] = {QKERN_TEST_PLUGIN_DIR};
    qkern_options options = QKERN_OPTIONS_INIT;
    options.flags = QKERN_OPEN_NO_ENVIRONMENT | QKERN_OPEN_NO_SEARCH;
    options.plugin_path_count = 1;
    options.plugin_paths = folder;

    if (kernel_count() > KERNELS_MAX)
        missing("scalar", "more kernels than KERNELS_MAX");
    for (uint32_t i = 0; i < kernel_count(); i++)
        kernels[i] = *qkern_plugin_scalar.kernels[i];
    if (name == NULL)
        return 1;

    static qkern *q; /* open as long as the process lives: its kernels are used */
    qkern_error error = QKERN_ERROR_INIT;
    if (qkern_open(&options, &q, &error) != QKERN_OK)
        missing(name, error.message);
    qkern_record record;
    const uint32_t index = record_named(q, name, &record);
    if (record.stage == QKERN_STAGE_NEEDS) {
        printf("skipped: %s: %s\n", name, record.text);
        return 0;
    }
    if (record.stage != QKERN_STAGE_READY)
        missing(name, record.text);
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k;
        if (qkern_record_kernel(q, index, kernels[i].type, &k, NULL) == QKERN_OK)
            take_entries(&kernels[i], k);
    }
    return 1;
}

uint32_t kernel_count(void)
{
    return qkern_plugin_scalar.kernel_count;
}

const struct qkern_kernel *kernel_at(uint32_t index)
{
    return &kernels[index];
}

const struct qkern_kernel *kernel_of(uint32_t type)
{
    for (uint32_t i = 0; i < kernel_count(); i++)
        if (kernels[i].type == type)
            return &kernels[i];
    return NULL;
}

const struct qkern_kernel *kernel_named(const char *name)
{
    for (uint32_t i = 0; i < kernel_count(); i++)
        if (strcasecmp(type_name(kernels[i].type), name) == 0)
            return &kernels[i];
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
