/* SPDX-License-Identifier: MIT */
/*
 * A plugin whose needs are met: its kernel table, verified and copied into memory of the host, so
 * that only fields that the plugin's structs cover are ever read.
 */
#ifndef QKERN_HOST_PLUGIN_H
#define QKERN_HOST_PLUGIN_H

#include <stdbool.h>

#include <qkern.h>

#include "finding.h"
#include "image.h"

/* More kernels than this in one table are refused; there is one a type. */
#define PLUGIN_KERNEL_LIMIT 1024u

struct plugin {
    void *handle;     /* of dlopen; NULL if linked in */
    uint32_t types;   /* how many of the kernels below are there */
    uint32_t unknown; /* kernels of types that this libqkern does not know, left out */
    struct qkern_kernel kernels[QKERN_TYPE_LIMIT]; /* by type; struct_size 0: none */
};

/*
 * Verifies the mandatory part of an entry: its size, a kernel table, and a manifest that has the
 * fixed fields. Reads nothing beyond what its struct_size covers. With an image also that entry,
 * manifest and the array of kernels lie in its memory, each before it is read; NULL for a plugin
 * that is linked in, whose pointers are the application's own. QKERN_E_FORMAT or QKERN_E_LIMIT.
 */
qkern_status plugin_entry_check(const struct qkern_plugin *entry, const struct image *image,
                                struct finding *finding);

/*
 * Verifies the kernel table of a checked entry and copies it. Types that this libqkern does not
 * know are left out: the plugin is newer. QKERN_E_FORMAT for anything that contradicts
 * qkern/types.h or itself and, with an image, for a kernel outside its memory or an entry point
 * outside its code.
 */
qkern_status plugin_table_read(const struct qkern_plugin *entry, const struct image *image,
                               struct plugin *out, struct finding *finding);

/* Unmaps and frees; NULL is allowed. */
void plugin_release(struct plugin *plugin);

/* Whether a kernel has an entry point (QKERN_ENTRY_...). */
bool kernel_has(const struct qkern_kernel *kernel, uint32_t entry);

/* Copies one entry point from one kernel to another. */
void kernel_take(struct qkern_kernel *to, const struct qkern_kernel *from, uint32_t entry);

#endif
