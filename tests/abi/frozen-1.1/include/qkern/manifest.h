/* SPDX-License-Identifier: MIT */
/*
 * The manifest: what a host must know of a plugin before it maps the file.
 *
 * On ELF it is the descriptor of a note in an allocated section `.note.qkern`, which the linker
 * puts under a PT_NOTE program header: owner name "qkern", type QKERN_NOTE_TYPE. On Mach-O it is
 * the whole content of section `__TEXT,__qkern`. All integers have the file's own byte order; only
 * little-endian files are valid in this major.
 *
 * A host reads it from an open descriptor with bounds-checked reads. It executes nothing, maps
 * nothing and trusts no length in the file.
 */
#ifndef QKERN_MANIFEST_H
#define QKERN_MANIFEST_H

#include <stdint.h>

#include "features.h"

#define QKERN_ABI_MAJOR 1u
#define QKERN_ABI_MINOR 1u /* the newest minor that these headers describe */

#define QKERN_NOTE_OWNER "qkern"
#define QKERN_NOTE_TYPE 1u
#define QKERN_MANIFEST_VERSION 1u

#define QKERN_NAME_SIZE 32

/*
 * 128 bytes, alignment 4, no padding; frozen for the major. A later minor may append fields:
 * struct_size then is larger, and a host reads the part that it knows.
 */
struct qkern_manifest {
    uint32_t struct_size;      /* bytes of this struct as the plugin was compiled; at least 128 */
    uint32_t manifest_version; /* QKERN_MANIFEST_VERSION; another number is refused */
    uint32_t abi_major;        /* QKERN_ABI_MAJOR; another number is refused */
    uint32_t abi_minor_needed; /* the smallest minor that the plugin needs from its host, not the
                                  one that it was compiled with */
    uint32_t arch;             /* QKERN_ARCH_... */
    uint32_t pointer_bits;     /* 32 or 64 */
    uint32_t tier;             /* QKERN_TIER_..., higher is preferred */
    uint32_t reserved;         /* 0 */
    uint32_t features[QKERN_FEATURE_WORDS]; /* every bit set here must be usable on the CPU */
    char name[QKERN_NAME_SIZE];    /* of the plugin: lower-case letters, digits, '-', '_', '.';
                                      NUL-terminated, the rest NUL */
    char version[QKERN_NAME_SIZE]; /* of the plugin: printable ASCII, terminated likewise */
};

/* The ELF note as a whole, for the macro in plugin.h and for tests. */
struct qkern_note {
    uint32_t name_size; /* 6 */
    uint32_t desc_size; /* sizeof(struct qkern_manifest) */
    uint32_t note_type; /* QKERN_NOTE_TYPE */
    char owner[8];      /* "qkern", padded to a multiple of four */
    struct qkern_manifest manifest;
};

#endif
