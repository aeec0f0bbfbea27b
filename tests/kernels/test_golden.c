/* SPDX-License-Identifier: MIT */
/* Every golden case of every type that the scalar plugin has. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden_reader.h"
#include "kernels/support.h"
#include "verify/contract.h"

#define GOLDEN_DIR QKERN_TEST_SOURCE_DIR "/golden/"

/* The files, and how many cases each must have: a case that is lost is a failure. */
static const struct {
    const char *file;
    unsigned quant, deq, dot;
} files[] = {
    {"f16.txt", 7, 2, 0},    {"bf16.txt", 3, 1, 0},   {"q4_0.txt", 54, 4, 12},
    {"q4_1.txt", 54, 4, 12}, {"q5_0.txt", 54, 3, 12}, {"q5_1.txt", 54, 3, 12},
    {"q8_0.txt", 48, 4, 12}, {"q8_1.txt", 47, 0, 0},  {"q2_k.txt", 54, 4, 12},
    {"q3_k.txt", 57, 3, 12}, {"q4_k.txt", 54, 3, 12}, {"q5_k.txt", 53, 3, 12},
    {"q6_k.txt", 59, 4, 12}, {"q8_k.txt", 47, 3, 0},
};

static struct golden_inputs inputs;

static const float *floats(const struct golden_bytes *b)
{
    return (const float *)(const void *)b->data;
}

static void check_bytes(const char *file, const struct golden_case *c, const struct qkern_kernel *k,
                        const char *what, const uint8_t *found)
{
    for (size_t i = 0; i < c->q.size; i++)
        if (found[i] != c->q.data[i])
            fail_msg("%s:%u: case %s: %s: block %zu byte %zu is %02x, expected %02x", file, c->line,
                     c->name, what, i / k->block_bytes, i % k->block_bytes, found[i], c->q.data[i]);
}

static void check_quantize(const char *file, const struct golden_case *c,
                           const struct qkern_kernel *k)
{
    const uint64_t n = c->n / c->rows;
    uint8_t *q = malloc(c->q.size);
    assert_non_null(q);
    for (uint64_t row = 0; row < c->rows; row++) {
        const float *x = floats(&c->x) + row * n;
        uint8_t *to = q + row * row_size(k, n);
        if (c->importance.data != NULL)
            k->quantize_weighted(n, x, floats(&c->importance), to);
        else
            k->quantize(n, x, to);
    }
    check_bytes(file, c, k, "quantize", q);
    free(q);
}

static void check_dequantize(const char *file, const struct golden_case *c,
                             const struct qkern_kernel *k)
{
    float *y = malloc(c->y.size);
    assert_non_null(y);
    k->dequantize(c->n, c->q.data, y);
    for (uint64_t i = 0; i < c->n; i++)
        if (!same_float(y[i], floats(&c->y)[i]))
            fail_msg("%s:%u: case %s: dequantize: element %llu is %a, expected %a", file, c->line,
                     c->name, (unsigned long long)i, (double)y[i], (double)floats(&c->y)[i]);
    free(y);
}

static void check_dot(const char *file, const struct golden_case *c, const struct qkern_kernel *k)
{
    const struct qkern_kernel *ka = kernel_named(c->activation);
    if (ka == NULL || ka->type != k->dot_type)
        fail_msg("%s:%u: case %s: act=%s is not the dot type", file, c->line, c->name,
                 c->activation);

    uint8_t *w = c->q.data, *a = c->a.data, *made_w = NULL, *made_a = NULL;
    if (w == NULL) {
        w = made_w = malloc(row_size(k, c->n));
        assert_non_null(w);
        if (c->importance.data != NULL)
            k->quantize_weighted(c->n, floats(&c->x), floats(&c->importance), w);
        else
            k->quantize(c->n, floats(&c->x), w);
    }
    if (a == NULL) {
        a = made_a = malloc(row_size(ka, c->n));
        assert_non_null(a);
        ka->quantize(c->n, floats(&c->a_input), a);
    } else if (c->a.size != row_size(ka, c->n)) {
        fail_msg("%s:%u: case %s: a has %zu bytes", file, c->line, c->name, c->a.size);
    }
    const float dot = k->vec_dot(c->n, w, a);
    const float contract = contract_dot(k->type, c->n, w, a);
    if (!(fabs((double)dot - (double)c->dot) <= 1e-5 * c->dot_magnitude + 1e-30))
        fail_msg("%s:%u: case %s: vec_dot is %a, the reference's %a", file, c->line, c->name,
                 (double)dot, (double)c->dot);
    if (!same_float(dot, contract))
        fail_msg("%s:%u: case %s: vec_dot is %a, the contract's value %a", file, c->line, c->name,
                 (double)dot, (double)contract);
    free(made_w);
    free(made_a);
}

static void the_scalar_kernels_reproduce_every_golden_case(void **state)
{
    (void)state;
    unsigned total = 0;
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        char path[512];
        snprintf(path, sizeof path, "%s%s", GOLDEN_DIR, files[f].file);
        struct golden_reader reader;
        if (!golden_open(&reader, path, &inputs))
            fail_msg("%s", reader.error);
        const struct qkern_kernel *k = kernel_of((uint32_t)reader.type_id);
        if (k == NULL || k->block_elements != reader.block_elements ||
            k->block_bytes != reader.block_bytes || kernel_named(reader.type) != k)
            fail_msg("%s: no kernel for type %s", path, reader.type);

        unsigned count[3] = {0};
        struct golden_case c;
        int got;
        while ((got = golden_next(&reader, &c)) == 1) {
            count[c.kind]++;
            if (c.kind == GOLDEN_QUANT)
                check_quantize(files[f].file, &c, k);
            if (c.kind == GOLDEN_DOT) {
                check_dot(files[f].file, &c, k);
                if (c.x.data != NULL && c.q.data != NULL)
                    check_quantize(files[f].file, &c, k);
            }
            if (c.y.data != NULL)
                check_dequantize(files[f].file, &c, k);
            golden_case_free(&c);
        }
        if (got < 0)
            fail_msg("%s", reader.error);
        golden_close(&reader);
        print_message("%-9s %3u quantize, %3u dequantize, %3u vec_dot\n", files[f].file, count[0],
                      count[1], count[2]);
        assert_int_equal(count[GOLDEN_QUANT], files[f].quant);
        assert_int_equal(count[GOLDEN_DEQ], files[f].deq);
        assert_int_equal(count[GOLDEN_DOT], files[f].dot);
        total += count[0] + count[1] + count[2];
    }
    assert_int_equal(total, 806);
}

static int read_inputs(void **state)
{
    (void)state;
    char error[512];
    if (golden_inputs_read(GOLDEN_DIR "inputs.txt", &inputs, error))
        return 0;
    print_error("%s\n", error);
    return -1;
}

static int free_inputs(void **state)
{
    (void)state;
    golden_inputs_free(&inputs);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scalar_kernels_reproduce_every_golden_case),
    };
    return RUN_KERNEL_TESTS(tests, read_inputs, free_inputs);
}
