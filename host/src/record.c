/* SPDX-License-Identifier: MIT */
/* Records, and the part of the public interface that reads them. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#include "copy_out.h"
#include "error.h"
#include "instance.h"
#include "plugin.h"

struct record *record_add(struct record_list *list, const char *path, const char *origin)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? 8 : 2 * list->capacity;
        struct record **items = realloc(list->items, capacity * sizeof *items);
        if (items == NULL)
            return NULL;
        list->items = items;
        list->capacity = capacity;
    }
    struct record *record = calloc(1, sizeof *record);
    if (record == NULL)
        return NULL;
    record->origin = origin;
    record->path = strdup(path);
    if (record->path == NULL) {
        free(record);
        return NULL;
    }
    list->items[list->count++] = record;
    return record;
}

void record_describe(struct record *record, const struct qkern_manifest *manifest)
{
    record->tier = manifest->tier;
    memcpy(record->features, manifest->features, sizeof record->features);
    memcpy(record->name, manifest->name, sizeof record->name);
    memcpy(record->version, manifest->version, sizeof record->version);
}

void record_release_all(struct record_list *list)
{
    while (list->count > 0) {
        struct record *record = list->items[--list->count];
        plugin_release(record->plugin);
        free(record->path);
        free(record);
    }
    free(list->items);
    *list = (struct record_list){NULL, 0, 0};
}

const char *qkern_stage_name(uint32_t stage)
{
#define NAME(IDENTIFIER, VALUE, TEXT) [VALUE] = TEXT,
    static const char *const names[] = {QKERN_STAGES(NAME)};
#undef NAME

    return stage < sizeof names / sizeof names[0] ? names[stage] : "unknown stage";
}

uint32_t qkern_record_count(const qkern *q)
{
    return q == NULL ? 0 : q->records.count;
}

/* The record of that number; NULL, with an error that says how many there are, if there is none. */
static const struct record *record_at(const qkern *q, uint32_t index, const char *function,
                                      qkern_error *error)
{
    if (index < q->records.count)
        return q->records.items[index];
    error_fill(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: there is no record %u, only 0 to %u",
               function, index, q->records.count - 1);
    return NULL;
}

qkern_status qkern_record_get(const qkern *q, uint32_t index, qkern_record *out, qkern_error *error)
{
    if (q == NULL || out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "qkern_record_get: %s is NULL",
                         q == NULL ? "q" : "out");
    const struct record *record = record_at(q, index, "qkern_record_get", error);
    if (record == NULL)
        return QKERN_E_ARGUMENT;

    qkern_record view = {
        .stage = record->stage,
        .status = (uint32_t)record->status,
        .tier = record->tier,
        .path = record->path,
        .origin = record->origin,
        .name = record->name,
        .version = record->version,
        .build_id = record->build_id,
        .text = record->finding.text,
        .expected = record->finding.expected,
        .found = record->finding.found,
    };
    memcpy(view.features, record->features, sizeof view.features);
    return copy_out(&view, sizeof view, out, "qkern_record", error);
}

qkern_status qkern_record_kernel(const qkern *q, uint32_t record, uint32_t type,
                                 const struct qkern_kernel **out, qkern_error *error)
{
    qkern_type_info info = {.struct_size = (uint32_t)sizeof info};

    if (q == NULL || out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "qkern_record_kernel: %s is NULL",
                         q == NULL ? "q" : "out");
    const struct record *found = record_at(q, record, "qkern_record_kernel", error);
    if (found == NULL)
        return QKERN_E_ARGUMENT;
    qkern_status status = qkern_type_get(type, &info, error);
    if (status != QKERN_OK)
        return status;
    if (found->plugin == NULL)
        return error_set(error, QKERN_E_NOT_FOUND, QKERN_NO_INDEX,
                         "record %u is of a plugin that was not loaded: %s", record,
                         found->finding.text);
    const struct qkern_kernel *kernel = &found->plugin->kernels[type];
    if (kernel->struct_size == 0)
        return error_set(error, QKERN_E_NOT_FOUND, QKERN_NO_INDEX, "%s %s has no kernel for %s",
                         found->name, found->version, info.name);
    *out = kernel;
    return QKERN_OK;
}
