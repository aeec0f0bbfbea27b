/* SPDX-License-Identifier: MIT */
/* Which plugin serves, and the explanation. */
#include "host/support.h"

/* The name of the plugin that serves F32's entry point. */
static const char *server(const qkern *q, uint32_t entry)
{
    qkern_record record = {.struct_size = (uint32_t)sizeof record};

    assert_int_equal(qkern_record_get(q, choice_of(q, entry), &record, NULL), QKERN_OK);
    return record.name;
}

static void assert_all_from(struct world *world, const char *name)
{
    qkern *q = world_open(world, NULL);

    for (uint32_t entry = 0; entry < QKERN_ENTRY_LIMIT; entry++)
        assert_string_equal(server(q, entry), name);
    world_close(q);
}

static void the_highest_tier_that_the_cpu_can_run_serves(void **state)
{
    struct world *world = *state;

    world_add(world, "low", "a-low.so");
    world_add(world, "high", "b-high.so");
    assert_all_from(world, "high");
    world->level = CPU_LOW;
    assert_all_from(world, "low");
    world->level = CPU_WITH_NOTHING;
    assert_all_from(world, "scalar");
}

static void masks_and_caps_take_plugins_away(void **state)
{
    struct world *world = *state;

    world_add(world, "low", "a-low.so");
    world_add(world, "high", "b-high.so");
    world->features = "-" HIGH_NAME;
    assert_all_from(world, "low");
    world->features = NULL;
    world->max_isa = LOW_ISA;
    assert_all_from(world, "low");
    world->max_isa = "scalar";
    assert_all_from(world, "scalar");
}

static void of_equal_tiers_the_first_found_serves(void **state)
{
    struct world *world = *state;

    world_add(world, "high", "b.so");
    world_add(world, "high-too", "a.so");
    assert_all_from(world, "high-too");
}

/* Corpus row 23: a NULL entry point is filled by the next best plugin, and never called. */
static void each_entry_point_comes_from_the_best_plugin_that_has_it(void **state)
{
    struct world *world = *state;
    const float x[2] = {1, 2};
    float y[2] = {0, 0}, result = 0;

    world_add(world, "partial", "a.so");
    world_add(world, "low", "b.so");
    qkern *q = world_open(world, NULL);
    assert_string_equal(server(q, QKERN_ENTRY_QUANTIZE), "low");
    assert_string_equal(server(q, QKERN_ENTRY_DEQUANTIZE), "low");
    assert_string_equal(server(q, QKERN_ENTRY_VEC_DOT), "partial");
    assert_string_equal(server(q, QKERN_ENTRY_QUANTIZE_WEIGHTED), "low");
    assert_int_equal(qkern_dequantize(q, QKERN_TYPE_F32, 2, x, 8, y, NULL), QKERN_OK);
    assert_float_equal(y[1], 2, 0);
    assert_int_equal(qkern_vec_dot(q, QKERN_TYPE_F32, 2, x, 8, x, 8, &result, NULL), QKERN_OK);
    assert_float_equal(result, 7, 0);

    qkern_pin pin = {0};
    assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
    const struct qkern_kernel *kernel = qkern_pin_kernel(&pin, QKERN_TYPE_F32);
    assert_non_null(kernel);
    assert_int_equal(kernel->struct_size, sizeof *kernel);
    assert_int_equal(kernel->type, QKERN_TYPE_F32);
    assert_int_equal(kernel->block_elements, 1);
    assert_int_equal(kernel->block_bytes, 4);
    assert_int_equal(kernel->dot_type, QKERN_TYPE_F32);
    assert_float_equal(kernel->vec_dot(2, x, x), 7, 0);
    qkern_pin_end(&pin);

    /* The same kernel of one plugin alone has what that plugin has. */
    assert_int_equal(
        qkern_record_kernel(q, choice_of(q, QKERN_ENTRY_VEC_DOT), QKERN_TYPE_F32, &kernel, NULL),
        QKERN_OK);
    assert_null(kernel->quantize);
    assert_null(kernel->dequantize);
    assert_null(kernel->quantize_weighted);
    assert_float_equal(kernel->vec_dot(2, x, x), 7, 0);
    world_close(q);
}

static void a_kernel_of_one_plugin_that_is_not_there_is_an_error(void **state)
{
    struct world *world = *state;
    const struct qkern_kernel *const before = (const struct qkern_kernel *)(uintptr_t)8;
    const struct qkern_kernel *kernel = before;

    world_add(world, "high", "a.so");
    qkern *q = world_open(world, NULL);
    const uint32_t high = choice_of(q, QKERN_ENTRY_VEC_DOT);
    assert_int_equal(qkern_record_kernel(NULL, 0, 0, &kernel, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "q is NULL");
    assert_int_equal(qkern_record_kernel(q, 0, 0, NULL, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "out is NULL");
    assert_int_equal(qkern_record_kernel(q, 99, 0, &kernel, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "there is no record 99");
    assert_int_equal(qkern_record_kernel(q, high, 4, &kernel, &world->error), QKERN_E_TYPE);
    assert_int_equal(qkern_record_kernel(q, 0, 0, &kernel, &world->error), QKERN_E_NOT_FOUND);
    assert_part(world->error.message, "not loaded: there is no such folder");
    assert_int_equal(qkern_record_kernel(q, high, QKERN_TYPE_Q8_0, &kernel, &world->error),
                     QKERN_E_NOT_FOUND);
    assert_part(world->error.message, "high 1.2 has no kernel for Q8_0");
    assert_ptr_equal(kernel, before);
    world_close(q);
}

static void a_choice_that_is_not_there_is_an_error(void **state)
{
    struct world *world = *state;
    uint32_t record = 77;

    qkern *q = world_open(world, NULL);
    assert_int_equal(qkern_choice_get(NULL, 0, 0, &record, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "q is NULL");
    assert_int_equal(qkern_choice_get(q, 0, 0, NULL, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "record is NULL");
    assert_int_equal(qkern_choice_get(q, 0, QKERN_ENTRY_LIMIT, &record, &world->error),
                     QKERN_E_ARGUMENT);
    assert_part(world->error.message, "no such entry point");
    assert_int_equal(qkern_choice_get(q, 4, 0, &record, &world->error), QKERN_E_TYPE);
    assert_int_equal(
        qkern_choice_get(q, QKERN_TYPE_I8, QKERN_ENTRY_VEC_DOT, &record, &world->error),
        QKERN_E_NOT_FOUND);
    assert_string_equal(world->error.message, "no plugin has vec_dot of I8");
    assert_int_equal(record, 77);
    world_close(q);
}

static void the_explanation_names_every_candidate_and_the_reason(void **state)
{
    struct world *world = *state;
    char text[8192], expected[8192];
    size_t needed = 0;

    world_add(world, "partial", "a.so");
    world_add(world, "high", "b.so");
    world_add(world, "high-too", "c.so");
    world_add(world, "low", "d.so");
    world_add(world, "newer", "e.so");
    world_write(world, "f.so", "text\n", 5);
    qkern *q = world_open(world, NULL);
    assert_int_equal(qkern_explain(q, QKERN_TYPE_F32, QKERN_ENTRY_QUANTIZE, text, sizeof text,
                                   &needed, &world->error),
                     QKERN_OK);
    const char *folder = world->folder;
    snprintf(expected, sizeof expected,
             "F32 quantize: high 1.2 (tier 200, %s/b.so)\n"
             "  not partial 1.0 (%s/a.so): has a kernel for F32, but without quantize\n"
             "  not high-too 1.2 (%s/c.so): tier 200 too, but found later\n"
             "  not low 1.2 (%s/d.so): tier 100 is lower than 200\n"
             "  not newer 1.2 (%s/e.so): needs a newer libqkern: the plugin uses what ABI 1.1 does "
             "not have (expected ABI 1.1 or older, found ABI 1.7)\n"
             "  not (%s/f.so): a text file, not a plugin\n"
             "  not scalar " QKERN_VERSION " (built in): tier 0 is lower than 200\n",
             folder, folder, folder, folder, folder, folder);
    assert_string_equal(text, expected);
    assert_int_equal(needed, strlen(text) + 1);

    assert_int_equal(
        qkern_explain(q, QKERN_TYPE_I8, QKERN_ENTRY_VEC_DOT, text, sizeof text, NULL, NULL),
        QKERN_OK);
    assert_part(text, "I8 vec_dot: no plugin has it\n");
    assert_part(text, "  not scalar " QKERN_VERSION " (built in): has no kernel for I8\n");
    world_close(q);
}

static void the_explanation_is_cut_to_the_buffer(void **state)
{
    struct world *world = *state;
    char whole[4096], part[4096];
    size_t needed = 0, again = 0;

    qkern *q = world_open(world, NULL);
    assert_int_equal(qkern_explain(q, 0, 0, NULL, 0, &needed, NULL), QKERN_OK);
    assert_int_equal(qkern_explain(q, 0, 0, whole, sizeof whole, NULL, NULL), QKERN_OK);
    assert_int_equal(needed, strlen(whole) + 1);
    for (size_t size = 1; size <= needed; size++) {
        memset(part, 0x55, sizeof part);
        assert_int_equal(qkern_explain(q, 0, 0, part, size, &again, NULL), QKERN_OK);
        assert_int_equal(again, needed);
        assert_memory_equal(part, whole, size - 1);
        assert_int_equal(part[size - 1], 0);
        assert_int_equal(part[size], 0x55);
    }
    assert_int_equal(qkern_explain(q, 0, 0, NULL, 5, &needed, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "buffer is NULL");
    assert_int_equal(qkern_explain(NULL, 0, 0, part, 5, NULL, &world->error), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_explain(q, 4, 0, part, 5, NULL, &world->error), QKERN_E_TYPE);
    assert_int_equal(qkern_explain(q, 0, 9, part, 5, NULL, &world->error), QKERN_E_ARGUMENT);
    world_close(q);
}

static void two_instances_choose_for_themselves(void **state)
{
    struct world *world = *state;

    world_add(world, "low", "a.so");
    world_add(world, "high", "b.so");
    qkern *one = world_open(world, NULL);
    world->level = CPU_LOW;
    qkern *two = world_open(world, NULL);
    assert_string_equal(server(one, 0), "high");
    assert_string_equal(server(two, 0), "low");
    world_close(one);
    float y = 0;
    assert_int_equal(qkern_dequantize(two, QKERN_TYPE_F32, 1, &(float){0}, 4, &y, NULL), QKERN_OK);
    assert_float_equal(y, 2, 0);
    assert_false(is_mapped("/b.so"));
    assert_true(is_mapped("/a.so"));
    world_close(two);
    assert_false(is_mapped("/a.so"));
}

#define TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_highest_tier_that_the_cpu_can_run_serves),
        TEST(masks_and_caps_take_plugins_away),
        TEST(of_equal_tiers_the_first_found_serves),
        TEST(each_entry_point_comes_from_the_best_plugin_that_has_it),
        TEST(a_kernel_of_one_plugin_that_is_not_there_is_an_error),
        TEST(a_choice_that_is_not_there_is_an_error),
        TEST(the_explanation_names_every_candidate_and_the_reason),
        TEST(the_explanation_is_cut_to_the_buffer),
        TEST(two_instances_choose_for_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
