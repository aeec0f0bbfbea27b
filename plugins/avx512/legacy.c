/* SPDX-License-Identifier: MIT */
/* Quantize and dequantize of the types of 32 elements a block. */
#include "vec.h"

#include "common/lanes_legacy.h"
