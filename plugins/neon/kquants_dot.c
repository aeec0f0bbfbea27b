/* SPDX-License-Identifier: MIT */
/* vec_dot and vec_dot_rows of the K types. */
#define ROWS_TOGETHER 4
#define PREFETCH_BYTES 4096
#define K_UNROLLED /* not: twice the code, and no fewer instructions a block */

#include "dot.h"

#include "neon/sums_kquants.h"

#include "common/dots_kquants.h"
