/* SPDX-License-Identifier: MIT */
/* Sixteen bytes, which every SIMD instruction set has. */
#ifndef QKERN_COMMON_LANES_H
#define QKERN_COMMON_LANES_H
#include "bytes.h"
#include <string.h>
ALWAYS_INLINE vb vb_load(const void *p)
{
    vb v;
    memcpy(&v, p, sizeof v);
    return v;
}
ALWAYS_INLINE void vb_store(void *p, vb v)
{
    memcpy(p, &v, sizeof v);
}
#endif
