/* SPDX-License-Identifier: MIT */
/* Plugins of other days and another language, loaded by today's host. */
#include <stdio.h>

#include "abi/loading.h"

static qkern *open_with(const char *file)
{
    char path[4096];
    const char *const paths[] = {path};
    qkern_options options = QKERN_OPTIONS_INIT;

    snprintf(path, sizeof path, "%s/plugins/%s", QKERN_TEST_BINARY_DIR, file);
    options.flags = QKERN_OPEN_NO_ENVIRONMENT | QKERN_OPEN_NO_SEARCH;
    options.plugin_path_count = 1;
    options.plugin_paths = paths;
    return instance_open(&options);
}

static void close_instance(qkern *q)
{
    assert_int_equal(qkern_close(q, NULL), QKERN_OK);
}

static int is_mapped(const char *file)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[8192];
    int found = 0;

    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps) != NULL)
        found = strstr(line, file) != NULL;
    fclose(maps);
    return found;
}

static void compare_f32_dequantize(const qkern *q, const char *name)
{
    const struct qkern_kernel *kernel = kernel_of(q, name, QKERN_TYPE_F32);
    const float x[3] = {1.5f, -0.0f, 0x1p-149f};
    float expected[3], found[3];

    kernel_of(q, "scalar", QKERN_TYPE_F32)->dequantize(3, x, expected);
    kernel->dequantize(3, x, found);
    assert_memory_equal(expected, found, sizeof expected);
    assert_null(kernel->quantize);
    assert_null(kernel->vec_dot);
    assert_chosen(q, name, QKERN_TYPE_F32, QKERN_ENTRY_DEQUANTIZE);
}

static void a_plugin_of_abi_1_0_still_loads_and_computes(void **state)
{
    (void)state;
    qkern *q = open_with("frozen-1.0.so");
    compare_q8_0(q, "frozen");
    assert_chosen(q, "frozen", QKERN_TYPE_Q8_0, QKERN_ENTRY_VEC_DOT);
    assert_chosen(q, "scalar", QKERN_TYPE_Q8_0, QKERN_ENTRY_QUANTIZE);
    assert_chosen(q, "scalar", QKERN_TYPE_Q8_0, QKERN_ENTRY_VEC_DOT_ROWS);
    close_instance(q);
}

static void a_plugin_of_abi_1_1_still_loads_and_computes_rows(void **state)
{
    (void)state;
    qkern *q = open_with("frozen-1.1.so");
    compare_q8_0(q, "frozen-1.1");
    compare_q8_0_rows(q, "frozen-1.1");
    assert_chosen(q, "frozen-1.1", QKERN_TYPE_Q8_0, QKERN_ENTRY_VEC_DOT_ROWS);
    close_instance(q);
}

static void a_plugin_in_cxx_loads_and_computes(void **state)
{
    (void)state;
    if (!QKERN_TEST_HAVE_CXX) {
        print_message("skipped: built without a C++ compiler\n");
        skip();
    }
    qkern *q = open_with("cxx.so");
    compare_f32_dequantize(q, "cxx");
    close_instance(q);
}

static void a_plugin_with_larger_structs_and_an_unknown_extension_loads(void **state)
{
    (void)state;
    qkern *q = open_with("future.so");
    compare_f32_dequantize(q, "future");
    close_instance(q);
}

/* Opens with one file, expects its record to say why it is refused, and that nothing was mapped. */
static void expect_refusal(const char *name, uint32_t stage, qkern_status status, const char *word)
{
    char file[64];
    uint32_t index = 0;

    snprintf(file, sizeof file, "%s.so", name);
    qkern *q = open_with(file);
    qkern_record record = record_find(q, name, &index);
    assert_int_equal(record.stage, stage);
    assert_int_equal(record.status, status);
    if (strstr(record.text, word) == NULL && strstr(record.found, word) == NULL)
        fail_msg("'%s' is not in: %s (found %s)", word, record.text, record.found);
    assert_false(is_mapped(file));
    close_instance(q);
}

static void unknown_feature_bits_are_refused_by_name_of_the_bit(void **state)
{
    (void)state;
    expect_refusal("future-features", QKERN_STAGE_NEEDS, QKERN_E_FEATURE, "word 7");
}

static void a_plugin_that_needs_a_newer_minor_is_refused(void **state)
{
    (void)state;
    expect_refusal("future-minor", QKERN_STAGE_NEEDS, QKERN_E_ABI, "1.9");
}

static void a_plugin_of_another_major_is_refused(void **state)
{
    (void)state;
    qkern *q = open_with("future-major.so");
    qkern_record record = {.struct_size = sizeof record};
    assert_int_equal(qkern_record_count(q), 2);
    assert_int_equal(qkern_record_get(q, 0, &record, NULL), QKERN_OK);
    assert_int_equal(record.stage, QKERN_STAGE_MANIFEST);
    assert_int_equal(record.status, QKERN_E_ABI);
    assert_string_not_equal(record.expected, "");
    assert_string_not_equal(record.found, "");
    assert_false(is_mapped("future-major.so"));
    close_instance(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_of_abi_1_0_still_loads_and_computes),
        cmocka_unit_test(a_plugin_of_abi_1_1_still_loads_and_computes_rows),
        cmocka_unit_test(a_plugin_in_cxx_loads_and_computes),
        cmocka_unit_test(a_plugin_with_larger_structs_and_an_unknown_extension_loads),
        cmocka_unit_test(unknown_feature_bits_are_refused_by_name_of_the_bit),
        cmocka_unit_test(a_plugin_that_needs_a_newer_minor_is_refused),
        cmocka_unit_test(a_plugin_of_another_major_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
