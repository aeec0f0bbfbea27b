/* SPDX-License-Identifier: MIT */
#include "finding.h"

#include <stdarg.h>
#include <stdio.h>

qkern_status finding_set(struct finding *finding, qkern_status status, const char *format, ...)
{
    va_list arguments;

    finding->status = status;
    finding->expected[0] = '\0';
    finding->found[0] = '\0';
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    return status;
}

qkern_status finding_compare(struct finding *finding, const char *expected, const char *found)
{
    snprintf(finding->expected, sizeof finding->expected, "%s", expected);
    snprintf(finding->found, sizeof finding->found, "%s", found);
    return finding->status;
}
