/* SPDX-License-Identifier: MIT */
/*
 * What a step of vetting a plugin found wrong, in the form in which a record shows it. Filled by
 * the manifest reader, the loader and selection; owned by the caller; no allocation.
 */
#ifndef QKERN_HOST_FINDING_H
#define QKERN_HOST_FINDING_H

#include <qkern.h>

struct finding {
    qkern_status status;
    char text[512];     /* one line: what is wrong and, where it helps, what to do */
    char expected[128]; /* "" where it means nothing */
    char found[128];
};

/* Sets status and text, clears the rest, and returns status. finding may not be NULL. */
__attribute__((format(printf, 3, 4))) qkern_status
finding_set(struct finding *finding, qkern_status status, const char *format, ...);

/* Adds expected and found, formatted by the caller, cut if too long; returns finding->status. */
qkern_status finding_compare(struct finding *finding, const char *expected, const char *found);

#endif
