/* SPDX-License-Identifier: MIT */
/* The entry points of the scalar kernels, one line each; plugin.c puts them in tables. */
#ifndef QKERN_SCALAR_KERNELS_H
#define QKERN_SCALAR_KERNELS_H

#include <stdint.h>

void f32_quantize(uint64_t n, const float *x, void *blocks);
void f32_quantize_weighted(uint64_t n, const float *x, const float *importance, void *blocks);
void f32_dequantize(uint64_t n, const void *blocks, float *y);
float f32_vec_dot(uint64_t n, const void *weights, const void *activations);

#endif
