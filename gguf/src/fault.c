/* SPDX-License-Identifier: MIT */
#include "fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "name.h"

qkern_status fault_set(fault *f, qkern_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    /* cppcheck-suppress ctuuninitvar ; the fault is filled here, not read */
    vsnprintf(f->text, sizeof f->text, format, arguments);
    va_end(arguments);
    f->status = status;
    return status;
}

qkern_status fault_errno(fault *f, const char *what)
{
    return fault_set(f, errno == ENOMEM ? QKERN_E_MEMORY : QKERN_E_IO, "%s: %s", what,
                     strerror(errno));
}

qkern_status fault_memory(fault *f, const char *what)
{
    return fault_set(f, QKERN_E_MEMORY, "out of memory for %s", what);
}

const char *quote(char *buffer, size_t size, const void *bytes, uint64_t count)
{
    static const char digits[] = "0123456789abcdef";
    static const char more[] = "...";
    const uint8_t *p = bytes;
    /* What cannot be shown need not be judged. */
    bool utf8 = name_is_utf8(p, count <= size ? count : utf8_cut(p, size));
    size_t used = 0;
    size_t fits = 0; /* as far as `more` still fits behind */

    for (uint64_t i = 0; i < count; i++) {
        bool plain = p[i] >= 0x20 && p[i] != 0x7f && (p[i] < 0x80 || utf8);
        size_t need = plain ? 1 : 4;

        if (used + need >= size) {
            memcpy(buffer + fits, more, sizeof more);
            return buffer;
        }
        if (plain) {
            buffer[used] = (char)p[i];
        } else {
            buffer[used] = '\\';
            buffer[used + 1] = 'x';
            buffer[used + 2] = digits[p[i] >> 4];
            buffer[used + 3] = digits[p[i] & 15];
        }
        used += need;
        bool whole = i + 1 == count || !utf8 || (p[i + 1] & 0xc0) != 0x80;
        if (used + sizeof more <= size && whole)
            fits = used;
    }
    buffer[used] = '\0';
    return buffer;
}

void label_set(label *l, const char *path)
{
    size_t length = strlen(path);
    size_t room = sizeof l->text - 4;

    if (length <= room) {
        quote(l->text, sizeof l->text, path, length);
        return;
    }
    const char *tail = path + (length - room);
    while ((*tail & 0xc0) == 0x80)
        tail++;
    memcpy(l->text, "...", 3);
    quote(l->text + 3, sizeof l->text - 3, tail, strlen(tail));
}
