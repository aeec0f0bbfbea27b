/* SPDX-License-Identifier: MIT */
/* Two instruction sets of the architecture that tests are built for, so that tests name neither. */
#ifndef QKERN_TESTS_HOST_ARCH_H
#define QKERN_TESTS_HOST_ARCH_H

#include <qkern/features.h>

#if defined(__x86_64__)
#define LOW_FEATURE QKERN_X86_SSE2
#define HIGH_FEATURE QKERN_X86_AVX2
#define LOW_ISA "sse2"
#define HIGH_NAME "avx2"
#define OTHER_ARCH QKERN_ARCH_AARCH64
#else
#define LOW_FEATURE QKERN_AARCH64_ASIMD
#define HIGH_FEATURE QKERN_AARCH64_DOTPROD
#define LOW_ISA "neon"
#define HIGH_NAME "dotprod"
#define OTHER_ARCH QKERN_ARCH_X86_64
#endif

#define LOW_TIER 100u
#define HIGH_TIER 200u

#endif
