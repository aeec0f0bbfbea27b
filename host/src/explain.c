/* SPDX-License-Identifier: MIT */
/* What was chosen, and why. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "instance.h"
#include "selection.h"

const char *qkern_entry_name(uint32_t entry)
{
#define NAME(IDENTIFIER, VALUE, TEXT) [VALUE] = TEXT,
    static const char *const names[QKERN_ENTRY_LIMIT] = {QKERN_ENTRIES(NAME)};
#undef NAME

    return entry < QKERN_ENTRY_LIMIT ? names[entry] : "unknown entry point";
}

/* Checks q, type and entry, and looks up the choice in the current generation. */
static qkern_status choice_find(const qkern *q, uint32_t type, uint32_t entry, const char *function,
                                qkern_type_info *info, uint32_t *chosen, qkern_error *error)
{
    qkern_pin pin;

    if (q == NULL || entry >= QKERN_ENTRY_LIMIT)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: %s", function,
                         q == NULL ? "q is NULL" : "there is no such entry point");
    info->struct_size = (uint32_t)sizeof *info;
    qkern_status status = qkern_type_get(type, info, error);
    if (status != QKERN_OK)
        return status;
    /* Constant is what the caller sees of the instance; its pins are counted all the same. */
    pin_begin((struct pin_table *)(uintptr_t)&q->pins, &pin);
    *chosen = pin.generation->serves[type][entry];
    qkern_pin_end(&pin);
    return QKERN_OK;
}

qkern_status qkern_choice_get(const qkern *q, uint32_t type, uint32_t entry, uint32_t *record,
                              qkern_error *error)
{
    qkern_type_info info;
    uint32_t chosen = GENERATION_NO_RECORD;

    if (record == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "qkern_choice_get: record is NULL");
    qkern_status status = choice_find(q, type, entry, "qkern_choice_get", &info, &chosen, error);
    if (status != QKERN_OK)
        return status;
    if (chosen == GENERATION_NO_RECORD)
        return error_set(error, QKERN_E_NOT_FOUND, QKERN_NO_INDEX, "no plugin has %s of %s",
                         qkern_entry_name(entry), info.name);
    *record = chosen;
    return QKERN_OK;
}

/* A text that is cut to a buffer, while its whole length is counted. */
struct text {
    char *buffer;
    size_t size;
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void text_add(struct text *text, const char *format,
                                                           ...)
{
    size_t used = text->length < text->size ? text->length : text->size;
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(used < text->size ? text->buffer + used : NULL, text->size - used,
                           format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += (size_t)length;
}

/* "avx2 0.1.0", or nothing for a place or file whose manifest could not be read. */
static void text_add_name(struct text *text, const struct record *record)
{
    if (record->name[0] != '\0')
        text_add(text, "%s %s ", record->name, record->version);
}

/* A place where there is nothing to choose from says nothing about a choice. */
static bool record_is_empty_place(const struct record *record)
{
    return record->stage == QKERN_STAGE_SEARCH && record->status == QKERN_E_NOT_FOUND;
}

static const char *place_of(const struct record *record)
{
    return record->path[0] != '\0' ? record->path : record->origin;
}

qkern_status qkern_explain(const qkern *q, uint32_t type, uint32_t entry, char *buffer, size_t size,
                           size_t *needed, qkern_error *error)
{
    struct text text = {buffer, size, 0};
    qkern_type_info info;
    uint32_t chosen = GENERATION_NO_RECORD;

    if (buffer == NULL && size > 0)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "qkern_explain: buffer is NULL, but size is not 0");
    qkern_status status = choice_find(q, type, entry, "qkern_explain", &info, &chosen, error);
    if (status != QKERN_OK)
        return status;

    const struct record_list *records = &q->records;
    text_add(&text, "%s %s: ", info.name, qkern_entry_name(entry));
    if (chosen == GENERATION_NO_RECORD) {
        text_add(&text, "no plugin has it\n");
    } else {
        const struct record *record = records->items[chosen];
        text_add_name(&text, record);
        text_add(&text, "(tier %u, %s)\n", record->tier, place_of(record));
    }
    for (uint32_t i = 0; i < records->count; i++) {
        char reason[sizeof(struct finding) + 64];
        if (i == chosen || record_is_empty_place(records->items[i]))
            continue;
        selection_reason(records, chosen, i, &info, entry, reason, sizeof reason);
        text_add(&text, "  not ");
        text_add_name(&text, records->items[i]);
        text_add(&text, "(%s): %s\n", place_of(records->items[i]), reason);
    }
    if (needed != NULL)
        *needed = text.length + 1;
    return QKERN_OK;
}
