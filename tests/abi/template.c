/* SPDX-License-Identifier: MIT */
/* The template plugin, built against the installed headers alone, as a user would load it. */
#include "abi/loading.h"

static const char *folder;

static void the_template_is_found_and_computes_the_scalar_bits(void **state)
{
    (void)state;
    assert_int_equal(setenv("QKERN_PLUGIN_PATH", folder, 1), 0);
    qkern *q = instance_open(NULL);
    compare_q8_0(q, "template");
    assert_int_equal(qkern_close(q, NULL), QKERN_OK);
}

static void the_template_serves_what_it_has_when_nothing_faster_does(void **state)
{
    (void)state;
    qkern_options options = QKERN_OPTIONS_INIT;
    options.flags = QKERN_OPEN_NO_SEARCH | QKERN_OPEN_NO_ENVIRONMENT;
    options.plugin_path_count = 1;
    options.plugin_paths = &folder;
    qkern *q = instance_open(&options);
    assert_chosen(q, "template", QKERN_TYPE_Q8_0, QKERN_ENTRY_DEQUANTIZE);
    assert_chosen(q, "template", QKERN_TYPE_Q8_0, QKERN_ENTRY_VEC_DOT);
    assert_chosen(q, "scalar", QKERN_TYPE_Q8_0, QKERN_ENTRY_QUANTIZE);
    assert_int_equal(qkern_close(q, NULL), QKERN_OK);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        print_error("usage: abi_template FOLDER\n");
        return 2;
    }
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_template_is_found_and_computes_the_scalar_bits),
        cmocka_unit_test(the_template_serves_what_it_has_when_nothing_faster_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
