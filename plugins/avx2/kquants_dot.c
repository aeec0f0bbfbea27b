/* SPDX-License-Identifier: MIT */
/* vec_dot and vec_dot_rows of the K types with AVX2. */
#include "dot_bytes.h"

#include "kquants_dots.h"
