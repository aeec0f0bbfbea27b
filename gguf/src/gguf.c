/* SPDX-License-Identifier: MIT */
#include <qkern_gguf.h>

const char *qkern_gguf_value_name(uint32_t value_type)
{
    switch (value_type) {
#define NAME(IDENTIFIER, NUMBER, TEXT, BYTES)                                                      \
    case QKERN_GGUF_##IDENTIFIER:                                                                  \
        return TEXT;
        QKERN_GGUF_VALUES(NAME)
#undef NAME
    default:
        return NULL;
    }
}
