/* SPDX-License-Identifier: MIT */
/* Filling in a qkern_error. In a file of its own, because qkern_gguf compiles it in too. */
#include "error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

const char *error_quote(char buffer[ERROR_QUOTE_BYTES], const char *text, size_t length)
{
    static const char more[] = "...";
    size_t used = 0, fits = 0; /* as far as `more` still fits behind */

    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        char shown[5] = {text[i]};

        if (byte < ' ' || byte > '~')
            snprintf(shown, sizeof shown, "\\x%02x", (unsigned)byte);
        const size_t size = strlen(shown);
        if (used + size >= ERROR_QUOTE_BYTES) {
            memcpy(buffer + fits, more, sizeof more);
            return buffer;
        }
        memcpy(buffer + used, shown, size);
        used += size;
        if (used + sizeof more <= ERROR_QUOTE_BYTES)
            fits = used;
    }
    buffer[used] = '\0';
    return buffer;
}
