/* SPDX-License-Identifier: MIT */
#include "name.h"

#include <stddef.h>
#include <string.h>

/*
 * Well-formed sequences by their first byte. Only the second byte's range differs between the rows:
 * it shuts out overlong forms, surrogates and what is beyond U+10FFFF.
 */
static const struct sequence {
    uint8_t first_low, first_high, second_low, second_high, bytes;
} sequences[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

static const struct sequence *sequence_of(uint8_t first)
{
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++)
        if (first >= sequences[i].first_low && first <= sequences[i].first_high)
            return &sequences[i];
    return NULL;
}

bool name_is_utf8(const uint8_t *bytes, uint64_t count)
{
    for (uint64_t at = 0; at < count;) {
        const struct sequence *s = sequence_of(bytes[at]);

        if (s == NULL || s->bytes > count - at)
            return false;
        if (s->bytes > 1 && (bytes[at + 1] < s->second_low || bytes[at + 1] > s->second_high))
            return false;
        for (uint64_t i = 2; i < s->bytes; i++)
            if ((bytes[at + i] & 0xc0) != 0x80)
                return false;
        at += s->bytes;
    }
    return true;
}

uint64_t utf8_cut(const uint8_t *bytes, uint64_t limit)
{
    uint64_t cut = limit;

    while (cut > 0 && limit - cut < 3 && (bytes[cut] & 0xc0) == 0x80)
        cut--;
    return cut;
}

qkern_status name_check(const void *bytes, uint64_t count, uint64_t limit, fault *f)
{
    if (count == 0)
        return fault_set(f, QKERN_E_FORMAT, "is empty");
    if (count > limit)
        return fault_set(f, QKERN_E_LIMIT, "has %llu bytes, the limit is %llu",
                         (unsigned long long)count, (unsigned long long)limit);
    if (memchr(bytes, 0, (size_t)count) != NULL)
        return fault_set(f, QKERN_E_FORMAT, "holds a NUL byte");
    if (!name_is_utf8(bytes, count))
        return fault_set(f, QKERN_E_FORMAT, "is not UTF-8");
    return QKERN_OK;
}
