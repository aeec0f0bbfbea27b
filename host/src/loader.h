/* SPDX-License-Identifier: MIT */
/*
 * Trying one plugin: a fixed sequence of steps, each of which may end the attempt, and a record of
 * how far it came and why.
 *
 * Nothing of a plugin file is mapped, and so none of its code runs, before the manifest in the file
 * says that this host and this CPU meet its needs.
 */
#ifndef QKERN_HOST_LOADER_H
#define QKERN_HOST_LOADER_H

#include <qkern.h>

#include "cpu_features.h"
#include "record.h"

/* What all attempts of one qkern_open share. */
struct loader {
    const struct cpu_features *features;
    const char *cap_name; /* value of QKERN_MAX_ISA, NULL if there is no cap */
    uint32_t cap;
    const char *descriptor_folder; /* "/proc/self/fd": where open files have a path */
    struct record_list *records;
};

/*
 * Tries the file that `descriptor` is open on (-1: opening failed with open_errno); takes ownership
 * of the descriptor. QKERN_OK whatever becomes of the attempt: that is in its record. Fails with
 * QKERN_E_MEMORY only.
 */
qkern_status loader_try_file(const struct loader *loader, int descriptor, int open_errno,
                             const char *path, const char *origin, qkern_error *error);

/*
 * Tries a plugin that is linked in, in the same way from the NEEDS stage on. One that is built into
 * libqkern is a candidate also if a file has its name, so that there is always a reference.
 */
qkern_status loader_try_static(const struct loader *loader, const struct qkern_plugin *entry,
                               const char *origin, bool built_in, qkern_error *error);

#endif
