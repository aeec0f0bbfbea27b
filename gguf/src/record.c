/* SPDX-License-Identifier: MIT */
#include "record.h"

#include <string.h>

#include "error.h"

qkern_status record_copy(void *out, const void *from, uint32_t from_size, const char *call,
                         qkern_error *error)
{
    uint32_t size;

    if (out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: the output is NULL", call);
    memcpy(&size, out, sizeof size);
    if (size < sizeof size)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "%s: struct_size of the output is %u, set it to its sizeof", call, size);
    memcpy((char *)out + sizeof size, (const char *)from + sizeof size,
           (size < from_size ? size : from_size) - sizeof size);
    return QKERN_OK;
}
