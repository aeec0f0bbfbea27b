/* SPDX-License-Identifier: MIT */
/*
 * Kernels: the entry points of one element type.
 *
 * Rules for every entry point (the reasons are in abi/README.md):
 *  - Pure: no allocation, globals, TLS, threads, locks, I/O, errno, locale, or calls out of the
 * plugin other than to libc's memory functions and libm.
 *  - Reentrant: any number of threads, any time, also in a signal handler; so an entry point, with
 * all that it calls, uses at most 64 KiB of stack.
 *  - FP state (MXCSR, FPCR), the direction flag and callee-saved registers are as before on return.
 *  - Rows of blocks may start at any byte address. Arrays of float are aligned as C aligns a float.
 *  - Not one byte is read or written outside the rows given.
 *  - Memory-safe on every input, also NaN, Inf and blocks with any bytes.
 *  - n counts elements and is a multiple of the type's block; 0 is allowed. The host checks both.
 *  - Inputs and outputs do not overlap.
 *  - Results follow the numeric contract to the bit (abi/README.md). Where a result is a NaN, any
 * NaN is right.
 */
#ifndef QKERN_KERNEL_H
#define QKERN_KERNEL_H

#include <stdint.h>

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Quantizes n elements of x to n / block_elements blocks. Blocks are independent, so n may span
 * rows.
 */
typedef void (*qkern_quantize_fn)(uint64_t n, const float *x, void *blocks);

/* Writes the n values that the blocks stand for. */
typedef void (*qkern_dequantize_fn)(uint64_t n, const void *blocks, float *y);

/*
 * The dot product of n weights, blocks of this type, and n activations, blocks of its dot type.
 */
typedef float (*qkern_vec_dot_fn)(uint64_t n, const void *weights, const void *activations);

/*
 * Quantizes one row of n elements, where the error of element i counts importance[i] times (finite,
 * not negative). n is the row's length: some types use the mean square of the whole row. A type
 * whose format has no use for importance writes what quantize writes.
 */
typedef void (*qkern_quantize_weighted_fn)(uint64_t n, const float *x, const float *importance,
                                           void *blocks);

/*
 * The dot products of many rows of weights with one row of activations, n elements each: the inner
 * loop of a matrix-vector product. out[r], for r < rows, gets the bits that vec_dot gives for the
 * row at weights + r * row_stride. The stride counts bytes, and is at least the size of a row;
 * nothing is read between two rows. rows may be 0.
 */
typedef void (*qkern_vec_dot_rows_fn)(uint64_t n, uint64_t rows, float *out, const void *weights,
                                      uint64_t row_stride, const void *activations);

/*
 * One element type's entry points. A field counts only if struct_size covers it and it is not NULL;
 * a host fills each missing entry point from the next best plugin that has it. The first five
 * fields are mandatory. Fields are only ever appended.
 */
struct qkern_kernel {
    uint32_t struct_size; /* sizeof(struct qkern_kernel) as compiled */
    uint32_t type;        /* QKERN_TYPE_... */
    uint32_t block_elements;
    uint32_t block_bytes;
    uint32_t dot_type; /* QKERN_TYPE_NONE if there is no vec_dot */
    uint32_t reserved; /* 0 */
    qkern_quantize_fn quantize;
    qkern_dequantize_fn dequantize;
    qkern_vec_dot_fn vec_dot;
    qkern_quantize_weighted_fn quantize_weighted;
    qkern_vec_dot_rows_fn vec_dot_rows; /* since 1.1 */
};

/* The part of struct qkern_kernel that must be there. */
#define QKERN_KERNEL_SIZE_MIN 24u

/*
 * Initialises the first six fields from the table in types.h. Name the others, and those that a
 * later minor appends stay NULL without a warning: {QKERN_KERNEL_HEAD(Q4_0), .vec_dot = dot}
 */
#define QKERN_KERNEL_HEAD(NAME)                                                                    \
    (uint32_t)sizeof(struct qkern_kernel), QKERN_TYPE_##NAME, QKERN_BLOCK_ELEMENTS_##NAME,         \
        QKERN_BLOCK_BYTES_##NAME, QKERN_DOT_TYPE_##NAME, 0

#ifdef __cplusplus
}
#endif

#endif
