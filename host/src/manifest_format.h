/* SPDX-License-Identifier: MIT */
/* What the manifest reader's files share: one reader for each file format, one judge for all. */
#ifndef QKERN_HOST_MANIFEST_FORMAT_H
#define QKERN_HOST_MANIFEST_FORMAT_H

#include <stdbool.h>

#include "bytes.h"
#include "manifest.h"

/*
 * Each fills *out (which is theirs to spoil) from a file that begins with its magic number. They
 * stop at the first thing that is wrong.
 */
qkern_status manifest_elf(const struct bytes *file, uint32_t arch, struct manifest_file *out,
                          struct finding *finding);
qkern_status manifest_macho(const struct bytes *file, uint32_t arch, struct manifest_file *out,
                            struct finding *finding);
/* A universal file; big-endian, its entries 32 or 64 bits wide. */
qkern_status manifest_universal(const struct bytes *file, uint32_t arch, struct manifest_file *out,
                                struct finding *finding);

/* Copies a manifest out of `descriptor`, a note's descriptor or a section, and judges it. */
qkern_status manifest_judge(const struct bytes *descriptor, uint32_t arch,
                            struct qkern_manifest *out, struct finding *finding);

/* "x86-64", "AArch64"; for a number that none has, "an unknown architecture". */
const char *manifest_arch_name(uint32_t arch);

/* The finding for a file of another machine: "<kind> for <found>; this host is <arch>". */
qkern_status manifest_refuse_machine(struct finding *finding, const char *kind, uint32_t arch,
                                     const char *found);

/* Names of numbers in file headers; the last entry's name is NULL. */
struct manifest_word {
    uint32_t number;
    uint32_t arch; /* QKERN_ARCH_... that it stands for, or QKERN_ARCH_NONE */
    const char *name;
};

/* The entry of a number, or NULL. */
const struct manifest_word *manifest_word_find(const struct manifest_word *words, uint32_t number);

#endif
