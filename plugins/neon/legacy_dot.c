/* SPDX-License-Identifier: MIT */
/* vec_dot and vec_dot_rows of the types of 32 elements a block. */
#define ROWS_TOGETHER 4
#define PREFETCH_BYTES 4096

#include "dot.h"

#include "neon/sums_legacy.h"

#include "common/dots_legacy.h"
