/* SPDX-License-Identifier: MIT */
/*
 * CPU feature bits, architectures and tiers.
 *
 * A manifest names what a plugin's code needs as bits of QKERN_FEATURE_WORDS words; what a bit
 * means depends on the architecture. Every bit stands for itself: AVX-512F does not imply VL, AVX2
 * does not imply FMA, and SME does not imply SVE. A plugin lists every feature that its
 * instructions need.
 *
 * Within a major, bits are only added. A host refuses a manifest with a bit that it does not know.
 */
#ifndef QKERN_FEATURES_H
#define QKERN_FEATURES_H

#include <stdint.h>

#define QKERN_ARCH_NONE 0u
#define QKERN_ARCH_X86_64 1u
#define QKERN_ARCH_AARCH64 2u

/* The architecture that the including file is compiled for. */
#if defined(__x86_64__)
#define QKERN_ARCH_THIS QKERN_ARCH_X86_64
#elif defined(__aarch64__)
#define QKERN_ARCH_THIS QKERN_ARCH_AARCH64
#else
#error "qkern: no architecture number for this target; add one to qkern/features.h"
#endif

#define QKERN_FEATURE_WORDS 8

/*
 * X(identifier, name, word, bit). The name is what QKERN_FEATURES and reports use.
 */
#define QKERN_X86_FEATURES(X)                                                                      \
    X(SSE2, "sse2", 0, 0)                                                                          \
    X(SSE3, "sse3", 0, 1)                                                                          \
    X(SSSE3, "ssse3", 0, 2)                                                                        \
    X(SSE4_1, "sse4.1", 0, 3)                                                                      \
    X(SSE4_2, "sse4.2", 0, 4)                                                                      \
    X(POPCNT, "popcnt", 0, 5)                                                                      \
    X(MOVBE, "movbe", 0, 6)                                                                        \
    X(AVX, "avx", 0, 7)                                                                            \
    X(F16C, "f16c", 0, 8)                                                                          \
    X(FMA, "fma", 0, 9)                                                                            \
    X(BMI1, "bmi1", 0, 10)                                                                         \
    X(BMI2, "bmi2", 0, 11)                                                                         \
    X(LZCNT, "lzcnt", 0, 12)                                                                       \
    X(AVX2, "avx2", 0, 13)                                                                         \
    X(AVX_VNNI, "avx-vnni", 0, 14)                                                                 \
    X(AVX_VNNI_INT8, "avx-vnni-int8", 0, 15)                                                       \
    X(AVX_VNNI_INT16, "avx-vnni-int16", 0, 16)                                                     \
    X(AVX_NE_CONVERT, "avx-ne-convert", 0, 17)                                                     \
    X(AVX_IFMA, "avx-ifma", 0, 18)                                                                 \
    X(GFNI, "gfni", 0, 19)                                                                         \
    X(VAES, "vaes", 0, 20)                                                                         \
    X(AVX512F, "avx512f", 1, 0)                                                                    \
    X(AVX512CD, "avx512cd", 1, 1)                                                                  \
    X(AVX512BW, "avx512bw", 1, 2)                                                                  \
    X(AVX512DQ, "avx512dq", 1, 3)                                                                  \
    X(AVX512VL, "avx512vl", 1, 4)                                                                  \
    X(AVX512IFMA, "avx512ifma", 1, 5)                                                              \
    X(AVX512VBMI, "avx512vbmi", 1, 6)                                                              \
    X(AVX512VBMI2, "avx512vbmi2", 1, 7)                                                            \
    X(AVX512VNNI, "avx512vnni", 1, 8)                                                              \
    X(AVX512BITALG, "avx512bitalg", 1, 9)                                                          \
    X(AVX512VPOPCNTDQ, "avx512vpopcntdq", 1, 10)                                                   \
    X(AVX512BF16, "avx512bf16", 1, 11)                                                             \
    X(AVX512FP16, "avx512fp16", 1, 12)                                                             \
    X(AMX_TILE, "amx-tile", 1, 13)                                                                 \
    X(AMX_INT8, "amx-int8", 1, 14)                                                                 \
    X(AMX_BF16, "amx-bf16", 1, 15)

#define QKERN_AARCH64_FEATURES(X)                                                                  \
    X(ASIMD, "asimd", 0, 0)                                                                        \
    X(FP16, "fp16", 0, 1)                                                                          \
    X(FHM, "fhm", 0, 2)                                                                            \
    X(RDM, "rdm", 0, 3)                                                                            \
    X(DOTPROD, "dotprod", 0, 4)                                                                    \
    X(I8MM, "i8mm", 0, 5)                                                                          \
    X(BF16, "bf16", 0, 6)                                                                          \
    X(SVE, "sve", 0, 7)                                                                            \
    X(SVE2, "sve2", 0, 8)                                                                          \
    X(SVEI8MM, "svei8mm", 0, 9)                                                                    \
    X(SVEBF16, "svebf16", 0, 10)                                                                   \
    X(SME, "sme", 0, 11)                                                                           \
    X(SME2, "sme2", 0, 12)

/*
 * The mask of each feature within its word: QKERN_X86_AVX2 | QKERN_X86_F16C for word 0, and so on.
 * Constants only; fields that hold them are uint32_t.
 */
#define QKERN_X86_MASK(IDENTIFIER, NAME, WORD, BIT) QKERN_X86_##IDENTIFIER = 1 << BIT,
#define QKERN_AARCH64_MASK(IDENTIFIER, NAME, WORD, BIT) QKERN_AARCH64_##IDENTIFIER = 1 << BIT,
enum qkern_feature_masks {
    QKERN_X86_FEATURES(QKERN_X86_MASK) QKERN_AARCH64_FEATURES(QKERN_AARCH64_MASK)
        QKERN_FEATURE_BIT_LIMIT = 31 /* bits 0 to 30 of a word are used, so that a mask is an int */
};
#undef QKERN_X86_MASK
#undef QKERN_AARCH64_MASK

/*
 * Tiers order plugins by expected speed: the host prefers the highest whose needs the CPU meets.
 * The gaps leave room. QKERN_MAX_ISA takes the names here: X(identifier, name, architecture, tier).
 */
#define QKERN_TIERS(X)                                                                             \
    X(SCALAR, "scalar", QKERN_ARCH_NONE, 0)                                                        \
    X(SSE2, "sse2", QKERN_ARCH_X86_64, 100)                                                        \
    X(AVX2, "avx2", QKERN_ARCH_X86_64, 200)                                                        \
    X(AVXVNNI, "avxvnni", QKERN_ARCH_X86_64, 300)                                                  \
    X(AVX512, "avx512", QKERN_ARCH_X86_64, 400)                                                    \
    X(NEON, "neon", QKERN_ARCH_AARCH64, 100)                                                       \
    X(DOTPROD, "dotprod", QKERN_ARCH_AARCH64, 200)                                                 \
    X(I8MM, "i8mm", QKERN_ARCH_AARCH64, 300)

#define QKERN_TIER_CONSTANT(IDENTIFIER, NAME, ARCH, TIER) QKERN_TIER_##IDENTIFIER = TIER,
enum qkern_tier_constants { QKERN_TIERS(QKERN_TIER_CONSTANT) QKERN_TIER_LIMIT = 1000000 };
#undef QKERN_TIER_CONSTANT

#endif
