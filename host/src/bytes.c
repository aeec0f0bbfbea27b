/* SPDX-License-Identifier: MIT */
/* Bounds-checked reading from a file or memory. */
#include "bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

qkern_status bytes_window(const struct bytes *bytes, uint64_t offset, uint64_t size,
                          const char *what, struct bytes *window, struct finding *finding)
{
    if (offset > bytes->size || size > bytes->size - offset)
        return finding_set(finding, QKERN_E_FORMAT,
                           "the %s is cut short: its %s (offset %" PRIu64 ", %" PRIu64
                           " bytes) goes beyond its end at %" PRIu64,
                           bytes->what, what, offset, size, bytes->size);
    *window = *bytes;
    window->what = what;
    window->start += offset;
    window->size = size;
    return QKERN_OK;
}

qkern_status bytes_read(const struct bytes *bytes, uint64_t offset, void *to, size_t length,
                        const char *what, struct finding *finding)
{
    struct bytes window = *bytes;
    size_t done = 0;

    qkern_status status = bytes_window(bytes, offset, length, what, &window, finding);
    if (status != QKERN_OK)
        return status;
    if (window.memory != NULL) {
        memcpy(to, window.memory + window.start, length);
        return QKERN_OK;
    }
    while (done < length) {
        ssize_t got = pread(window.descriptor, (uint8_t *)to + done, length - done,
                            (off_t)(window.start + done));

        if (got > 0)
            done += (size_t)got;
        else if (got == 0)
            return finding_set(finding, QKERN_E_FORMAT,
                               "the file became shorter while its %s was read", what);
        else if (errno != EINTR)
            return finding_set(finding, QKERN_E_IO, "cannot read its %s: %s", what,
                               strerror(errno));
    }
    return QKERN_OK;
}

void bytes_hex(const uint8_t *from, size_t length, char *text)
{
    for (size_t i = 0; i < length; i++) {
        *text++ = "0123456789abcdef"[from[i] >> 4];
        *text++ = "0123456789abcdef"[from[i] & 15];
    }
    *text = '\0';
}
