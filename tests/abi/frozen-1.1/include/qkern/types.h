/* SPDX-License-Identifier: MIT */
/*
 * Element types: numbers, names, sizes and dot types.
 *
 * Types are numbered as ggml numbers them, so the number in a GGUF file is the number here. A
 * number that ggml has retired (4, 5, 31 to 33, 36 to 38) is never used again.
 *
 * The dot type belongs to the type, never to the instruction set: a row of activations quantized
 * under one plugin is multiplied under any other.
 *
 * Source: the block formats of ggml, described in docs/formats.md.
 */
#ifndef QKERN_TYPES_H
#define QKERN_TYPES_H

#include <stdint.h>

/* "No such type": the dot type of a type that is itself only ever an activation. */
#define QKERN_TYPE_NONE 0x7fffffff

/*
 * X(name, number, elements in a block, bytes in a block, number of the dot type)
 */
#define QKERN_TYPES(X)                                                                             \
    X(F32, 0, 1, 4, 0)                                                                             \
    X(F16, 1, 1, 2, 1)                                                                             \
    X(Q4_0, 2, 32, 18, 8)                                                                          \
    X(Q4_1, 3, 32, 20, 9)                                                                          \
    X(Q5_0, 6, 32, 22, 8)                                                                          \
    X(Q5_1, 7, 32, 24, 9)                                                                          \
    X(Q8_0, 8, 32, 34, 8)                                                                          \
    X(Q8_1, 9, 32, 36, QKERN_TYPE_NONE)                                                            \
    X(Q2_K, 10, 256, 84, 15)                                                                       \
    X(Q3_K, 11, 256, 110, 15)                                                                      \
    X(Q4_K, 12, 256, 144, 15)                                                                      \
    X(Q5_K, 13, 256, 176, 15)                                                                      \
    X(Q6_K, 14, 256, 210, 15)                                                                      \
    X(Q8_K, 15, 256, 292, QKERN_TYPE_NONE)                                                         \
    X(IQ2_XXS, 16, 256, 66, 15)                                                                    \
    X(IQ2_XS, 17, 256, 74, 15)                                                                     \
    X(IQ3_XXS, 18, 256, 98, 15)                                                                    \
    X(IQ1_S, 19, 256, 50, 15)                                                                      \
    X(IQ4_NL, 20, 32, 18, 8)                                                                       \
    X(IQ3_S, 21, 256, 110, 15)                                                                     \
    X(IQ2_S, 22, 256, 82, 15)                                                                      \
    X(IQ4_XS, 23, 256, 136, 15)                                                                    \
    X(I8, 24, 1, 1, QKERN_TYPE_NONE)                                                               \
    X(I16, 25, 1, 2, QKERN_TYPE_NONE)                                                              \
    X(I32, 26, 1, 4, QKERN_TYPE_NONE)                                                              \
    X(I64, 27, 1, 8, QKERN_TYPE_NONE)                                                              \
    X(F64, 28, 1, 8, QKERN_TYPE_NONE)                                                              \
    X(IQ1_M, 29, 256, 56, 15)                                                                      \
    X(BF16, 30, 1, 2, 30)                                                                          \
    X(TQ1_0, 34, 256, 54, 15)                                                                      \
    X(TQ2_0, 35, 256, 66, 15)                                                                      \
    X(MXFP4, 39, 32, 17, 8)                                                                        \
    X(NVFP4, 40, 64, 36, 8)                                                                        \
    X(Q1_0, 41, 128, 18, 8)                                                                        \
    X(Q2_0, 42, 64, 18, 8)

/*
 * For each type NAME: QKERN_TYPE_NAME, QKERN_BLOCK_ELEMENTS_NAME, QKERN_BLOCK_BYTES_NAME and
 * QKERN_DOT_TYPE_NAME. Constants only; fields that hold them are uint32_t.
 */
#define QKERN_TYPE_CONSTANTS(NAME, NUMBER, ELEMENTS, BYTES, DOT)                                   \
    QKERN_TYPE_##NAME = NUMBER, QKERN_BLOCK_ELEMENTS_##NAME = ELEMENTS,                            \
    QKERN_BLOCK_BYTES_##NAME = BYTES, QKERN_DOT_TYPE_##NAME = DOT,
enum qkern_type_constants {
    QKERN_TYPES(QKERN_TYPE_CONSTANTS)
    /* All type numbers are below this one. It grows within a major: size no stored array by it. */
    QKERN_TYPE_LIMIT = 43
};
#undef QKERN_TYPE_CONSTANTS

#endif
