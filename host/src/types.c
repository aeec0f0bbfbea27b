/* SPDX-License-Identifier: MIT */
/* The table of element types, made from qkern/types.h. */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "copy_out.h"
#include "error.h"

#define ROW(NAME, NUMBER, ELEMENTS, BYTES, DOT)                                                    \
    [NUMBER] = {(uint32_t)sizeof(qkern_type_info), NUMBER, ELEMENTS, BYTES, DOT, 0, #NAME},
static const qkern_type_info types[QKERN_TYPE_LIMIT] = {QKERN_TYPES(ROW)};
#undef ROW

static const qkern_type_info *type_lookup(uint32_t type)
{
    if (type >= QKERN_TYPE_LIMIT || types[type].name == NULL)
        return NULL;
    return &types[type];
}

static qkern_status type_copy(const qkern_type_info *from, qkern_type_info *out, qkern_error *error)
{
    return copy_out(from, sizeof *from, out, "qkern_type_info", error);
}

qkern_status qkern_type_get(uint32_t type, qkern_type_info *out, qkern_error *error)
{
    if (out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "qkern_type_get: out is NULL");
    const qkern_type_info *found = type_lookup(type);
    if (found == NULL)
        return error_set(error, QKERN_E_TYPE, QKERN_NO_INDEX, "%u is not the number of a type",
                         type);
    return type_copy(found, out, error);
}

qkern_status qkern_type_find(const char *name, qkern_type_info *out, qkern_error *error)
{
    char quoted[ERROR_QUOTE_BYTES];

    if (name == NULL || out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "qkern_type_find: %s is NULL",
                         name == NULL ? "name" : "out");
    for (uint32_t type = 0; type < QKERN_TYPE_LIMIT; type++)
        if (types[type].name != NULL && strcasecmp(types[type].name, name) == 0)
            return type_copy(&types[type], out, error);
    return error_set(error, QKERN_E_TYPE, QKERN_NO_INDEX, "'%s' is not the name of a type",
                     error_quote(quoted, name, strlen(name)));
}

qkern_status qkern_row_bytes(uint32_t type, uint64_t n, uint64_t *bytes, qkern_error *error)
{
    if (bytes == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "qkern_row_bytes: bytes is NULL");
    const qkern_type_info *found = type_lookup(type);
    if (found == NULL)
        return error_set(error, QKERN_E_TYPE, QKERN_NO_INDEX, "%u is not the number of a type",
                         type);
    if (n % found->block_elements != 0)
        return error_set(error, QKERN_E_LENGTH, QKERN_NO_INDEX,
                         "%s: a row of %llu elements is not whole blocks of %u", found->name,
                         (unsigned long long)n, found->block_elements);
    uint64_t blocks = n / found->block_elements;
    if (blocks > UINT64_MAX / found->block_bytes)
        return error_set(error, QKERN_E_LIMIT, QKERN_NO_INDEX,
                         "%s: the size of a row of %llu elements overflows 64 bits", found->name,
                         (unsigned long long)n);
    *bytes = blocks * found->block_bytes;
    return QKERN_OK;
}
