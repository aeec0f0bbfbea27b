/* SPDX-License-Identifier: MIT */
/* What the kernel tests share, beside what they share with the checker: see verify/. */
#ifndef QKERN_TESTS_KERNELS_SUPPORT_H
#define QKERN_TESTS_KERNELS_SUPPORT_H

#include "verify/blocks.h"
#include "verify/facts.h"
#include "verify/guarded.h"
#include "verify/numbers.h"

/* The kernel of a type by its name, "q4_K" in any case; NULL if the plugin has none. */
const struct qkern_kernel *kernel_named(const char *name);

/* size bytes that end at a page without access, or start behind one. */
struct guarded_row {
    uint8_t *data;
    struct guarded memory;
};

struct guarded_row guarded_before_end(size_t size);
struct guarded_row guarded_after_start(size_t size);
void guarded_row_free(struct guarded_row *row);

#endif
