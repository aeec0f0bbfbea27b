/* SPDX-License-Identifier: MIT */
/*
 * What the kernel tests share: the kernels under test, and rows between guard pages. More is shared
 * with the checker: see verify/.
 */
#ifndef QKERN_TESTS_KERNELS_SUPPORT_H
#define QKERN_TESTS_KERNELS_SUPPORT_H

#include "verify/blocks.h"
#include "verify/facts.h"
#include "verify/guarded.h"
#include "verify/numbers.h"

/*
 * Runs a group on the kernels of the plugin that QKERN_TEST_PLUGIN names, scalar if it is not set;
 * on scalar's where the plugin leaves an entry to the next lower one. 77, which is a skip, and the
 * reason is printed, if this CPU cannot run the plugin.
 */
#define RUN_KERNEL_TESTS(tests, setup, teardown)                                                   \
    (kernels_found() ? cmocka_run_group_tests(tests, setup, teardown) : 77)

int kernels_found(void);

uint32_t kernel_count(void);
const struct qkern_kernel *kernel_at(uint32_t index);

/* The kernel of a type, NULL if there is none; by its name, too, "q4_K" in any case. */
const struct qkern_kernel *kernel_of(uint32_t type);
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
