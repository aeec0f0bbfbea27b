/* SPDX-License-Identifier: MIT */
/* Statuses, their names, and the error struct. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *qkern_version(void)
{
    return QKERN_VERSION;
}

const char *qkern_status_name(qkern_status status)
{
    switch (status) {
#define NAME(IDENTIFIER, VALUE, TEXT)                                                              \
    case QKERN_##IDENTIFIER:                                                                       \
        return "QKERN_" #IDENTIFIER;
        QKERN_STATUSES(NAME)
#undef NAME
    }
    return "unknown status";
}

const char *qkern_status_text(qkern_status status)
{
    switch (status) {
#define TEXT_OF(IDENTIFIER, VALUE, TEXT)                                                           \
    case QKERN_##IDENTIFIER:                                                                       \
        return TEXT;
        QKERN_STATUSES(TEXT_OF)
#undef TEXT_OF
    }
    return "unknown status";
}

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
