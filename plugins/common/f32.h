/* SPDX-License-Identifier: MIT */
/* A row of F32 is the floats themselves: both ways are a copy. */
#ifndef QKERN_COMMON_F32_H
#define QKERN_COMMON_F32_H

#include <string.h>

#include "kernels.h"

void f32_quantize(uint64_t n, const float *x, void *blocks)
{
    memcpy(blocks, x, n * sizeof *x);
}

void f32_dequantize(uint64_t n, const void *blocks, float *y)
{
    memcpy(y, blocks, n * sizeof *y);
}

#endif
