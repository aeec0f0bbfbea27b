/* SPDX-License-Identifier: MIT */
/*
 * Reading a plugin's manifest and build-id out of its file, without mapping or running anything.
 *
 * ELF: PT_NOTE program headers, as the kernel and the loader see them; section headers may be
 * stripped. Mach-O: section __TEXT,__qkern and LC_UUID, thin files and the fitting slice of
 * universal ones. In both, every segment that loading would map must be inside the file, because a
 * mapping of what a truncated file lacks ends in SIGBUS.
 */
#ifndef QKERN_HOST_MANIFEST_H
#define QKERN_HOST_MANIFEST_H

#include <qkern.h>

#include "finding.h"

struct manifest_file {
    struct qkern_manifest manifest; /* a copy; strings are terminated */
    char build_id[129];             /* lower-case hexadecimal, "" if there is none */
};

/* Bounds on what is read of a hostile file. */
#define MANIFEST_PROGRAM_HEADER_LIMIT 256u
#define MANIFEST_NOTE_BYTES_LIMIT 65536u /* of all PT_NOTE segments together */
#define MANIFEST_LOAD_COMMAND_LIMIT 1024u
#define MANIFEST_LOAD_COMMAND_BYTES_LIMIT 1048576u
#define MANIFEST_SLICE_LIMIT 32u

/*
 * Reads from an open descriptor; its offset is not used and not changed. `arch` selects the slice
 * of a universal Mach-O file. On failure: QKERN_E_FORMAT (not a plugin file: the text says what it
 * is instead), QKERN_E_ARCH (another architecture, width or byte order), QKERN_E_ABI (another
 * manifest version or ABI major), QKERN_E_IO. What the manifest asks for is not judged here beyond
 * that.
 */
qkern_status manifest_read(int descriptor, uint32_t arch, struct manifest_file *out,
                           struct finding *finding);

/* The same from memory. */
qkern_status manifest_read_memory(const void *data, size_t size, uint32_t arch,
                                  struct manifest_file *out, struct finding *finding);

#endif
