/* SPDX-License-Identifier: MIT */
/* What the kernel tests share: the kernels under test, seeded numbers, buffers with guard pages. */
#ifndef QKERN_TESTS_KERNELS_SUPPORT_H
#define QKERN_TESTS_KERNELS_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include <qkern/plugin.h>

/* The scalar plugin as it is linked into the test. */
extern const struct qkern_plugin qkern_plugin_scalar;

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

/* The kernel of a type, NULL if there is none. */
const struct qkern_kernel *kernel_of(uint32_t type);
const struct qkern_kernel *kernel_named(const char *name); /* "q4_K": any case */
const char *type_name(uint32_t type);

static inline size_t row_size(const struct qkern_kernel *k, uint64_t n)
{
    return (size_t)(n / k->block_elements * k->block_bytes);
}

/* Seeded numbers (splitmix64, Box-Muller). */
struct numbers {
    uint64_t state;
};

uint64_t number_u64(struct numbers *r);
float number_gaussian(struct numbers *r);
float number_any_finite(struct numbers *r); /* random bits, not NaN or infinity */
void fill_gaussian(struct numbers *r, uint64_t n, float *x);
void fill_bytes(struct numbers *r, size_t size, void *bytes);

/* Random blocks of a type whose scale fields are moderate numbers. */
void fill_blocks(struct numbers *r, const struct qkern_kernel *k, uint64_t n, void *blocks);

/* size bytes that end at a page without access, or start behind one. */
struct guarded {
    uint8_t *data;
    void *map;
    size_t map_size;
};

struct guarded guarded_before_end(size_t size);
struct guarded guarded_after_start(size_t size);
void guarded_free(struct guarded *g);

uint32_t bits_of(float v);
float from_bits(uint32_t bits);

/* Equal bits, or both NaN. */
int same_float(float a, float b);

#endif
