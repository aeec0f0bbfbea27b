/* SPDX-License-Identifier: MIT */
/* What the scalar plugin offers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <qkern/blocks.h>

#include "kernels/support.h"

/* sizeof is checked here once more against the table of types, for every block that has a struct.
 */
#define ROW(NAME, BLOCK)                                                                           \
    {                                                                                              \
        QKERN_TYPE_##NAME, QKERN_BLOCK_ELEMENTS_##NAME, sizeof(BLOCK), QKERN_DOT_TYPE_##NAME       \
    }
static const struct {
    uint32_t type, elements;
    size_t bytes;
    uint32_t dot_type;
} expected[] = {
    ROW(F32, float),
    ROW(F16, uint16_t),
    ROW(BF16, uint16_t),
    ROW(Q4_0, struct qkern_block_q4_0),
    ROW(Q4_1, struct qkern_block_q4_1),
    ROW(Q5_0, struct qkern_block_q5_0),
    ROW(Q5_1, struct qkern_block_q5_1),
    ROW(Q8_0, struct qkern_block_q8_0),
    ROW(Q8_1, struct qkern_block_q8_1),
    ROW(Q2_K, struct qkern_block_q2_K),
    ROW(Q3_K, struct qkern_block_q3_K),
    ROW(Q4_K, struct qkern_block_q4_K),
    ROW(Q5_K, struct qkern_block_q5_K),
    ROW(Q6_K, struct qkern_block_q6_K),
    ROW(Q8_K, struct qkern_block_q8_K),
};
#define EXPECTED_COUNT (sizeof expected / sizeof expected[0])

static void every_type_has_all_entry_points_and_its_true_size(void **state)
{
    (void)state;
    assert_int_equal(kernel_count(), EXPECTED_COUNT);
    for (size_t i = 0; i < EXPECTED_COUNT; i++) {
        const struct qkern_kernel *k = kernel_of(expected[i].type);
        assert_non_null(k);
        assert_int_equal(k->struct_size, sizeof *k);
        assert_int_equal(k->block_elements, expected[i].elements);
        assert_int_equal(k->block_bytes, expected[i].bytes);
        assert_int_equal(k->dot_type, expected[i].dot_type);
        assert_int_equal(k->reserved, 0);
        assert_non_null(k->quantize);
        assert_non_null(k->dequantize);
        assert_non_null(k->quantize_weighted);
        assert_int_equal(k->vec_dot != NULL, k->dot_type != QKERN_TYPE_NONE);
        if (k->vec_dot != NULL) /* activations can be made, and have blocks of the same length */
            assert_int_equal(k->block_elements, kernel_of(k->dot_type)->block_elements);
    }
}

static void the_scalar_plugin_needs_no_cpu_feature(void **state)
{
    (void)state;
    const struct qkern_manifest *m = qkern_plugin_scalar.manifest;
    assert_string_equal(m->name, "scalar");
    assert_int_equal(m->tier, QKERN_TIER_SCALAR);
    assert_int_equal(m->arch, QKERN_ARCH_THIS);
    for (int w = 0; w < QKERN_FEATURE_WORDS; w++)
        assert_int_equal(m->features[w], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_all_entry_points_and_its_true_size),
        cmocka_unit_test(the_scalar_plugin_needs_no_cpu_feature),
    };
    return RUN_KERNEL_TESTS(tests, NULL, NULL);
}
