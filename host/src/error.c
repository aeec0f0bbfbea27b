/* SPDX-License-Identifier: MIT */
/* Filling in a qkern_error. In a file of its own, because qkern_gguf compiles it in too. */
#include "error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void error_fill(qkern_error *error, qkern_status status, uint64_t index, const char *format, ...)
{
    const size_t message_at = offsetof(qkern_error, message);

    if (error == NULL || error->struct_size <= message_at)
        return;
    size_t room = error->struct_size - message_at;
    if (room > sizeof error->message)
        room = sizeof error->message;

    error->status = (uint32_t)status;
    error->index = index;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, room, format, arguments);
    va_end(arguments);
}
