/* SPDX-License-Identifier: MIT */
/* Where plugins are looked for, in which order. Never the current directory. */
#ifndef QKERN_HOST_SEARCH_H
#define QKERN_HOST_SEARCH_H

#include <qkern.h>

#include "loader.h"

/* More `*.so` files than this in one folder, or more folders than this, are refused. */
#define SEARCH_FILE_LIMIT 1024u
#define SEARCH_FOLDER_LIMIT 256u

struct search_places {
    const char *const *paths; /* absolute paths of files or folders */
    uint32_t path_count;
    const char *list;      /* value of QKERN_PLUGIN_PATH, or NULL */
    const char *beside;    /* NULL: not looked at */
    const char *installed; /* NULL: not looked at */
};

/*
 * Tries the plugins of all places in order, each folder once, its files by name. What cannot be
 * looked at leaves a record. QKERN_E_MEMORY only.
 */
qkern_status search_run(const struct loader *loader, const struct search_places *places,
                        qkern_error *error);

/*
 * The folder `qkern/plugins` beside the object that holds libqkern's code, by where it was loaded
 * from; the caller frees it. A relative path if it was loaded by one; *out is NULL if the place is
 * not known. QKERN_E_MEMORY only.
 */
qkern_status search_beside(char **out, qkern_error *error);

#endif
