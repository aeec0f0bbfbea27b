/* SPDX-License-Identifier: MIT */
/* vec_dot and vec_dot_rows of the K types with AVX-VNNI. */
#include "avxvnni/dot_bytes.h"

#include "avx2/kquants_dots.h"
