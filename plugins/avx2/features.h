/* SPDX-License-Identifier: MIT */
/* The features of AVX2 code, which those that build on it name too: word 0 of the manifest. */
#ifndef QKERN_AVX2_FEATURES_H
#define QKERN_AVX2_FEATURES_H

#include <qkern/features.h>

#define AVX2_FEATURES                                                                              \
    (QKERN_X86_SSE2 | QKERN_X86_SSE3 | QKERN_X86_SSSE3 | QKERN_X86_SSE4_1 | QKERN_X86_SSE4_2 |     \
     QKERN_X86_POPCNT | QKERN_X86_AVX | QKERN_X86_F16C | QKERN_X86_BMI2 | QKERN_X86_AVX2)

#endif
