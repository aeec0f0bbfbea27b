/* SPDX-License-Identifier: MIT */
#include "copy_out.h"

#include <string.h>

#include "error.h"

qkern_status copy_out(const void *from, size_t size, void *out, const char *name,
                      qkern_error *error)
{
    uint32_t room;

    memcpy(&room, out, sizeof room);
    if (room < sizeof room)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "%s: struct_size is %u, set it to sizeof(%s)", name, room, name);
    memcpy(out, from, room < size ? room : size);
    memcpy(out, &room, sizeof room);
    return QKERN_OK;
}
