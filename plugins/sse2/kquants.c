/* SPDX-License-Identifier: MIT */
/* Dequantize of the K types, and all of Q8_K. */
#include "vec.h"

#include "common/lanes_kquants.h"
