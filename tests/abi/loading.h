/* SPDX-License-Identifier: MIT */
/* What the tests share that load a plugin and compare its kernels with the scalar ones. */
#ifndef QKERN_TESTS_ABI_LOADING_H
#define QKERN_TESTS_ABI_LOADING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <qkern.h>
#include <qkern/blocks.h>

static inline qkern *instance_open(const qkern_options *options)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern *q = NULL;

    if (qkern_open(options, &q, &error) != QKERN_OK)
        fail_msg("qkern_open: %s", error.message);
    return q;
}

/* The record of a plugin by its name, and its number. */
static inline qkern_record record_find(const qkern *q, const char *name, uint32_t *index)
{
    qkern_record record = {0};

    for (uint32_t i = 0; i < qkern_record_count(q); i++) {
        record.struct_size = sizeof record;
        assert_int_equal(qkern_record_get(q, i, &record, NULL), QKERN_OK);
        if (strcmp(record.name, name) == 0) {
            *index = i;
            return record;
        }
    }
    fail_msg("no plugin '%s' among %u records", name, qkern_record_count(q));
    abort(); /* not reached: fail_msg leaves the test */
}

static inline uint32_t record_ready(const qkern *q, const char *name)
{
    uint32_t index = 0;
    qkern_record record = record_find(q, name, &index);

    if (record.status != QKERN_OK || record.stage != QKERN_STAGE_READY)
        fail_msg("%s: %s (expected %s, found %s)", name, record.text, record.expected,
                 record.found);
    return index;
}

static inline const struct qkern_kernel *kernel_of(const qkern *q, const char *name, uint32_t type)
{
    const struct qkern_kernel *kernel = NULL;

    assert_int_equal(qkern_record_kernel(q, record_ready(q, name), type, &kernel, NULL), QKERN_OK);
    assert_non_null(kernel);
    return kernel;
}

#define COMPARED_BLOCKS 67u /* not a multiple of four: also partial sums left alone */
#define COMPARED_ELEMENTS (32u * COMPARED_BLOCKS)

/*
 * Rows of Q8_0 with every code byte, -128 included, and scales of every kind that is finite:
 * subnormal, zero, negative, large.
 */
static inline void fill_q8_0(struct qkern_block_q8_0 *blocks, uint32_t seed)
{
    uint8_t *bytes = (uint8_t *)blocks;

    for (size_t i = 0; i < COMPARED_BLOCKS * sizeof *blocks; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    for (size_t b = 0; b < COMPARED_BLOCKS; b++)
        if ((blocks[b].d[1] & 0x7c) == 0x7c)
            blocks[b].d[1] &= 0xbf;
}

/* dequantize and vec_dot of Q8_0 have the bits of the scalar kernels. */
static inline void compare_q8_0(const qkern *q, const char *name)
{
    static struct qkern_block_q8_0 weights[COMPARED_BLOCKS], activations[COMPARED_BLOCKS];
    static float expected[COMPARED_ELEMENTS], found[COMPARED_ELEMENTS];
    const struct qkern_kernel *scalar = kernel_of(q, "scalar", QKERN_TYPE_Q8_0);
    const struct qkern_kernel *kernel = kernel_of(q, name, QKERN_TYPE_Q8_0);

    fill_q8_0(weights, 1);
    fill_q8_0(activations, 2);
    scalar->dequantize(COMPARED_ELEMENTS, weights, expected);
    kernel->dequantize(COMPARED_ELEMENTS, weights, found);
    assert_memory_equal(expected, found, sizeof expected);
    for (uint64_t n = 0; n <= COMPARED_ELEMENTS; n += 32) {
        expected[0] = scalar->vec_dot(n, weights, activations);
        found[0] = kernel->vec_dot(n, weights, activations);
        assert_memory_equal(expected, found, sizeof *expected);
    }
}

/* vec_dot_rows of Q8_0 has the bits of the scalar vec_dot, row by row, and leaves the gaps alone.
 */
static inline void compare_q8_0_rows(const qkern *q, const char *name)
{
    enum { BLOCKS = 13, ROWS = 5 };
    static struct qkern_block_q8_0 weights[COMPARED_BLOCKS], activations[COMPARED_BLOCKS];
    const struct qkern_kernel *scalar = kernel_of(q, "scalar", QKERN_TYPE_Q8_0);
    float out[ROWS + 1] = {0};

    fill_q8_0(weights, 3);
    fill_q8_0(activations, 4);
    kernel_of(q, name, QKERN_TYPE_Q8_0)
        ->vec_dot_rows(32 * (BLOCKS - 1), ROWS, out, weights, BLOCKS * sizeof *weights,
                       activations);
    for (uint64_t r = 0; r < ROWS; r++) {
        float expected = scalar->vec_dot(32 * (BLOCKS - 1), weights + r * BLOCKS, activations);
        assert_memory_equal(&expected, &out[r], sizeof expected);
    }
    assert_memory_equal(&out[ROWS], &(float){0}, sizeof(float));
}

/* The kernel that is chosen for an entry point is this plugin's. */
static inline void assert_chosen(const qkern *q, const char *name, uint32_t type, uint32_t entry)
{
    uint32_t chosen = 0;

    assert_int_equal(qkern_choice_get(q, type, entry, &chosen, NULL), QKERN_OK);
    assert_int_equal(chosen, record_ready(q, name));
}

#endif
