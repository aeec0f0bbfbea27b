/* SPDX-License-Identifier: MIT */
/*
 * Which CPU features may be used, and how that is known.
 *
 * Everything is asked of a cpu_source, so that tests can play any CPU and any operating system,
 * also one of another architecture than the one that runs. Bits only: no family or model numbers,
 * nothing implied by another feature, no probing by SIGILL.
 */
#ifndef QKERN_HOST_CPU_FEATURES_H
#define QKERN_HOST_CPU_FEATURES_H

#include <stdbool.h>

#include <qkern.h>

enum cpu_os { CPU_OS_LINUX, CPU_OS_DARWIN };

/* Questions about a CPU. Those that the architecture or system does not have may be NULL. */
struct cpu_source {
    uint32_t arch; /* QKERN_ARCH_... */
    enum cpu_os os;
    void *context; /* passed to each function */
    /* x86: EAX, EBX, ECX, EDX of a leaf. Asked only for leaves up to the maximum that leaf 0 (or
     * 0x80000000) reports, and subleaves up to the one that leaf 7 reports. */
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t registers[4]);
    /* x86: an extended control register. Asked only when CPUID says OSXSAVE. */
    uint64_t (*xgetbv)(void *context, uint32_t index);
    /* Linux: an entry of the auxiliary vector, 0 if absent. */
    uint64_t (*auxval)(void *context, uint64_t type);
    /* Darwin: an integer by name; false if there is no such name. */
    bool (*sysctl)(void *context, const char *name, int64_t *value);
};

/* The CPU and system that run. Static, constant. */
const struct cpu_source *cpu_source_native(void);

#define FEATURE_LIMIT 64

struct feature_state {
    const char *name; /* static */
    uint32_t word;
    uint32_t mask;
    bool present;       /* CPU and system provide it */
    bool usable;        /* present and not masked */
    const char *source; /* static: which bits were looked at */
    char reason[160];   /* why not usable, "" if usable */
};

struct cpu_features {
    uint32_t arch;
    uint32_t count;
    struct feature_state list[FEATURE_LIMIT]; /* in the order of qkern/features.h */
    uint32_t words[QKERN_FEATURE_WORDS];      /* the usable ones, as in a manifest */
};

void features_detect(const struct cpu_source *source, struct cpu_features *out);

/*
 * Applies QKERN_FEATURES: words separated by commas, each '-' and a feature's name; spaces and
 * empty words are ignored. QKERN_E_ENVIRONMENT for anything else, with the word and the known names
 * in the message; nothing is masked then.
 */
qkern_status features_mask(struct cpu_features *features, const char *specification,
                           qkern_error *error);

/*
 * QKERN_MAX_ISA: the tier of an instruction set's name on this architecture. QKERN_E_ENVIRONMENT,
 * with the known names, for another word.
 */
qkern_status features_tier(uint32_t arch, const char *name, uint32_t *tier, qkern_error *error);

/*
 * Whether all of `needed` is usable. Otherwise writes a line to text that names each missing
 * feature with its reason, or the word and bit of a feature that this libqkern does not know.
 */
bool features_cover(const struct cpu_features *features, const uint32_t needed[QKERN_FEATURE_WORDS],
                    char *text, size_t size);

#endif
