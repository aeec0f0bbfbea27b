/* SPDX-License-Identifier: MIT */
/* The CPU and operating system that run, as a cpu_source. */
#include "cpu_features.h"

#include <string.h>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#else
#include <sys/auxv.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
static void native_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    (void)context;
    __cpuid_count(leaf, subleaf, registers[0], registers[1], registers[2], registers[3]);
}

static uint64_t native_xgetbv(void *context, uint32_t index)
{
    uint32_t low, high;

    (void)context;
    /* In assembly, because the intrinsic is allowed only in code compiled for CPUs with XSAVE. */
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(index));
    return (uint64_t)high << 32 | low;
}
#endif

#if defined(__APPLE__)
static bool native_sysctl(void *context, const char *name, int64_t *value)
{
    unsigned char bytes[sizeof(int64_t)];
    size_t size = sizeof bytes;
    int32_t narrow;

    (void)context;
    if (sysctlbyname(name, bytes, &size, NULL, 0) != 0)
        return false;
    switch (size) {
    case sizeof narrow:
        memcpy(&narrow, bytes, sizeof narrow);
        *value = narrow;
        return true;
    case sizeof *value:
        memcpy(value, bytes, sizeof *value);
        return true;
    default:
        return false;
    }
}
#else
static uint64_t native_auxval(void *context, uint64_t type)
{
    (void)context;
    return getauxval((unsigned long)type);
}
#endif

const struct cpu_source *cpu_source_native(void)
{
    static const struct cpu_source native = {
        .arch = QKERN_ARCH_THIS,
#if defined(__x86_64__)
        .cpuid = native_cpuid,
        .xgetbv = native_xgetbv,
#endif
#if defined(__APPLE__)
        .os = CPU_OS_DARWIN,
        .sysctl = native_sysctl,
#else
        .os = CPU_OS_LINUX,
        .auxval = native_auxval,
#endif
    };
    return &native;
}
