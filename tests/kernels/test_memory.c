/* SPDX-License-Identifier: MIT */
/* Entry points touch their rows and nothing else, at any address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/support.h"

#define BLOCKS_MAX 9 /* of 32 or 256 elements */
#define FLOATS_MAX 40

/* Every entry point's arguments and results, in ordinary memory. */
struct expected {
    uint64_t n;
    size_t x_size, q_size, a_size;
    float *x, *importance, *y;
    uint8_t *q, *weighted, *blocks, *activations;
    float dot;
};

static void *allocate(size_t size)
{
    void *p = calloc(1, size + 1);
    assert_non_null(p);
    return p;
}

static struct expected expected_new(const struct qkern_kernel *k, uint64_t n, uint64_t seed)
{
    struct numbers r = {seed};
    const struct qkern_kernel *ka = kernel_of(k->dot_type);
    struct expected e = {.n = n, .x_size = n * sizeof(float), .q_size = row_size(k, n)};
    e.a_size = ka != NULL ? row_size(ka, n) : 0;
    e.x = allocate(e.x_size);
    e.importance = allocate(e.x_size);
    e.y = allocate(e.x_size);
    e.q = allocate(e.q_size);
    e.weighted = allocate(e.q_size);
    e.blocks = allocate(e.q_size);
    e.activations = allocate(e.a_size);
    fill_gaussian(&r, n, e.x);
    for (uint64_t i = 0; i < n; i++)
        e.importance[i] = number_gaussian(&r) * number_gaussian(&r) + 1.0f > 0 ? 1.5f : 0.25f;
    fill_blocks(&r, k, n, e.blocks);
    k->quantize(n, e.x, e.q);
    k->quantize_weighted(n, e.x, e.importance, e.weighted);
    k->dequantize(n, e.blocks, e.y);
    if (ka != NULL) {
        fill_blocks(&r, ka, n, e.activations);
        e.dot = k->vec_dot(n, e.blocks, e.activations);
    }
    return e;
}

static void expected_free(struct expected *e)
{
    free(e->x);
    free(e->importance);
    free(e->y);
    free(e->q);
    free(e->weighted);
    free(e->blocks);
    free(e->activations);
}

#define ROWS 11 /* more than any kernel does together */

/* Rows with a gap between them, the last one at the end of its buffer or the first at its start. */
static void check_guarded_rows(const struct qkern_kernel *k, const struct expected *e,
                               struct guarded_row (*make)(size_t))
{
    const size_t stride = e->q_size + 5;
    struct guarded_row w = make((ROWS - 1) * stride + e->q_size), a = make(e->a_size);
    struct guarded_row out = make(ROWS * sizeof(float));
    memcpy(a.data, e->activations, e->a_size);
    for (size_t r = 0; r < ROWS; r++)
        memcpy(w.data + r * stride, e->blocks, e->q_size);
    for (uint64_t rows = 1; rows <= ROWS; rows++) {
        memset(out.data, 0x5a, ROWS * sizeof(float));
        k->vec_dot_rows(e->n, rows, (float *)(void *)out.data, w.data, stride, a.data);
        for (uint64_t r = 0; r < ROWS; r++) {
            uint32_t found;
            memcpy(&found, out.data + r * sizeof found, sizeof found);
            assert_int_equal(found, r < rows ? bits_of(e->dot) : 0x5a5a5a5a);
        }
    }
    guarded_row_free(&w);
    guarded_row_free(&a);
    guarded_row_free(&out);
}

static void check_guarded(const struct qkern_kernel *k, const struct expected *e,
                          struct guarded_row (*make)(size_t))
{
    struct guarded_row x = make(e->x_size), v = make(e->x_size), y = make(e->x_size);
    struct guarded_row q = make(e->q_size), a = make(e->a_size);
    memcpy(x.data, e->x, e->x_size);
    memcpy(v.data, e->importance, e->x_size);

    k->quantize(e->n, (const float *)(void *)x.data, q.data);
    assert_memory_equal(q.data, e->q, e->q_size);
    k->quantize_weighted(e->n, (const float *)(void *)x.data, (const float *)(void *)v.data,
                         q.data);
    assert_memory_equal(q.data, e->weighted, e->q_size);
    memcpy(q.data, e->blocks, e->q_size);
    k->dequantize(e->n, q.data, (float *)(void *)y.data);
    assert_memory_equal(y.data, e->y, e->x_size);
    if (k->vec_dot != NULL) {
        memcpy(a.data, e->activations, e->a_size);
        assert_int_equal(bits_of(k->vec_dot(e->n, q.data, a.data)), bits_of(e->dot));
        check_guarded_rows(k, e, make);
    }
    guarded_row_free(&x);
    guarded_row_free(&v);
    guarded_row_free(&y);
    guarded_row_free(&q);
    guarded_row_free(&a);
}

static void no_byte_outside_the_rows_is_touched(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        const uint64_t most = k->block_elements == 1 ? FLOATS_MAX : BLOCKS_MAX;
        for (uint64_t blocks = 1; blocks <= most; blocks++) {
            struct expected e = expected_new(k, blocks * k->block_elements, blocks);
            check_guarded(k, &e, guarded_before_end);
            check_guarded(k, &e, guarded_after_start);
            expected_free(&e);
        }
    }
}

static void an_empty_row_touches_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        struct guarded_row g = guarded_before_end(0), h = guarded_before_end(0);
        k->quantize(0, (const float *)(void *)g.data, h.data);
        k->quantize_weighted(0, (const float *)(void *)g.data, (const float *)(void *)g.data,
                             h.data);
        k->dequantize(0, g.data, (float *)(void *)h.data);
        if (k->vec_dot != NULL)
            assert_int_equal(bits_of(k->vec_dot(0, g.data, h.data)), 0);
        guarded_row_free(&g);
        guarded_row_free(&h);
    }
}

/* Corpus row 15. */
static void rows_of_blocks_may_start_at_any_byte(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        struct expected e = expected_new(k, 3 * (uint64_t)k->block_elements, 77);
        uint8_t *q = allocate(e.q_size + 128), *a = allocate(e.a_size + 128);
        float *y = allocate(e.x_size);
        for (size_t offset = 0; offset < 64; offset++) {
            uint8_t *qo = q + offset;
            k->quantize(e.n, e.x, qo);
            assert_memory_equal(qo, e.q, e.q_size);
            k->quantize_weighted(e.n, e.x, e.importance, qo);
            assert_memory_equal(qo, e.weighted, e.q_size);
            memcpy(qo, e.blocks, e.q_size);
            k->dequantize(e.n, qo, y);
            assert_memory_equal(y, e.y, e.x_size);
            for (size_t other = 0; k->vec_dot != NULL && other < 64; other++) {
                memcpy(a + other, e.activations, e.a_size);
                assert_int_equal(bits_of(k->vec_dot(e.n, qo, a + other)), bits_of(e.dot));
            }
        }
        free(q);
        free(a);
        free(y);
        expected_free(&e);
    }
}

static void rows_may_be_one_and_the_same(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        if (k->vec_dot_rows == NULL)
            continue;
        struct expected e = expected_new(k, 5 * (uint64_t)k->block_elements, 6);
        float out[5] = {0};
        k->vec_dot_rows(e.n, 5, out, e.blocks, 0, e.activations);
        for (int r = 0; r < 5; r++)
            assert_int_equal(bits_of(out[r]), bits_of(e.dot));
        expected_free(&e);
    }
}

/* Inputs are read only: a write to them would be seen here. */
static void inputs_are_left_as_they_are(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        struct expected e = expected_new(k, 4 * (uint64_t)k->block_elements, 5);
        struct expected same = expected_new(k, 4 * (uint64_t)k->block_elements, 5);
        assert_memory_equal(e.x, same.x, e.x_size);
        assert_memory_equal(e.q, same.q, e.q_size);
        float *y = allocate(e.x_size);
        uint8_t *q = allocate(e.q_size);
        k->quantize(e.n, e.x, q);
        k->dequantize(e.n, e.blocks, y);
        if (k->vec_dot != NULL)
            (void)k->vec_dot(e.n, e.blocks, e.activations);
        assert_memory_equal(e.x, same.x, e.x_size);
        assert_memory_equal(e.blocks, same.blocks, e.q_size);
        assert_memory_equal(e.activations, same.activations, e.a_size);
        free(y);
        free(q);
        expected_free(&e);
        expected_free(&same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_byte_outside_the_rows_is_touched),
        cmocka_unit_test(an_empty_row_touches_nothing),
        cmocka_unit_test(rows_of_blocks_may_start_at_any_byte),
        cmocka_unit_test(rows_may_be_one_and_the_same),
        cmocka_unit_test(inputs_are_left_as_they_are),
    };
    return RUN_KERNEL_TESTS(tests, NULL, NULL);
}
