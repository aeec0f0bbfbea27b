/* SPDX-License-Identifier: MIT */
/* Statuses and their names. */
#include <qkern.h>

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
