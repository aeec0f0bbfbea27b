/* SPDX-License-Identifier: MIT */
/* Quantize to Q2_K .. Q6_K. */
#include "vec.h"

#include "common/lanes_kquantize.h"
