/* SPDX-License-Identifier: MIT */
/* Opening and closing: options, variables, and what an instance says of itself. */
#include <errno.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/support.h"

#include <qkern/plugin.h>

#define OPEN(OPTIONS) instance_open(OPTIONS, &world->around, &q, &world->error)

static void without_plugin_folders_the_scalar_kernels_work(void **state)
{
    struct world *world = *state;
    qkern_options options = QKERN_OPTIONS_INIT;
    options.flags = QKERN_OPEN_NO_SEARCH;
    qkern *q = world_open(world, &options);

    assert_int_equal(qkern_record_count(q), 1);
    qkern_record record = record_of(q, "");
    assert_int_equal(record.stage, QKERN_STAGE_READY);
    assert_int_equal(record.status, QKERN_OK);
    assert_string_equal(record.name, "scalar");
    assert_string_equal(record.origin, "built in");
    assert_string_equal(record.path, "");
    assert_string_equal(record.build_id, "");
    assert_string_equal(record.version, QKERN_VERSION);
    assert_part(record.text, "offers");
    const float x[2] = {1.5f, -2.0f};
    float y[2] = {0, 0};
    assert_int_equal(qkern_dequantize(q, QKERN_TYPE_F32, 2, x, 8, y, NULL), QKERN_OK);
    assert_memory_equal(x, y, sizeof x);
    world_close(q);
}

static void qkern_open_works_on_this_machine(void **state)
{
    qkern_options options = QKERN_OPTIONS_INIT;
    qkern *q = NULL;

    (void)state;
    options.flags = QKERN_OPEN_NO_ENVIRONMENT;
    assert_int_equal(qkern_open(&options, &q, NULL), QKERN_OK);
    assert_string_equal(record_of(q, "").origin, "built in");
    assert_true(qkern_feature_count(q) > 0);
    assert_int_equal(qkern_close(q, NULL), QKERN_OK);
}

static void options_may_be_null(void **state)
{
    world_close(world_open(*state, NULL));
}

static void closing_null_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(qkern_close(NULL, NULL), QKERN_OK);
}

/* Asserts a refusal: status, a part of the message, and an untouched out. */
static void assert_refused(struct world *world, const qkern_options *options, qkern_status status,
                           const char *part)
{
    qkern *const before = (qkern *)(uintptr_t)8;
    qkern *q = before;

    assert_int_equal(OPEN(options), status);
    assert_int_equal(world->error.status, status);
    assert_true(world->error.index == QKERN_NO_INDEX);
    assert_part(world->error.message, part);
    assert_ptr_equal(q, before);
}

static void wrong_options_are_named(void **state)
{
    struct world *world = *state;
    const char *const paths[] = {"/absolute", "relative/x.so", NULL, ""};
    const struct qkern_plugin *const plugins[] = {NULL};
    const qkern_options init = QKERN_OPTIONS_INIT;
    qkern_options options = init;

    assert_int_equal(instance_open(NULL, &world->around, NULL, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "out is NULL");
    options.struct_size = 3;
    assert_refused(world, &options, QKERN_E_ARGUMENT, "struct_size is 3");
    options = init;
    options.flags = 8;
    assert_refused(world, &options, QKERN_E_ARGUMENT, "flags 0x8");
    options = init;
    options.plugin_path_count = 1;
    assert_refused(world, &options, QKERN_E_ARGUMENT, "plugin_paths is NULL");
    options = init;
    options.static_plugin_count = 1;
    assert_refused(world, &options, QKERN_E_ARGUMENT, "static_plugins is NULL");
    options = init;
    options.plugin_paths = paths;
    options.plugin_path_count = 2;
    assert_refused(world, &options, QKERN_E_ARGUMENT, "plugin_paths[1] is 'relative/x.so'");
    options.plugin_paths = paths + 2;
    options.plugin_path_count = 1;
    assert_refused(world, &options, QKERN_E_ARGUMENT, "plugin_paths[0] is NULL");
    options.plugin_paths = paths + 3;
    assert_refused(world, &options, QKERN_E_ARGUMENT, "plugin_paths[0] is ''");
    options = init;
    options.static_plugins = plugins;
    options.static_plugin_count = 1;
    assert_refused(world, &options, QKERN_E_ARGUMENT, "static_plugins[0] is NULL");
}

static void only_what_an_options_struct_size_covers_is_read(void **state)
{
    qkern_options options = QKERN_OPTIONS_INIT;

    memset((char *)&options + 8, 0xff, sizeof options - 8);
    options.flags = QKERN_OPEN_NO_SEARCH;
    options.struct_size = 8;
    qkern *q = world_open(*state, &options);
    assert_int_equal(qkern_record_count(q), 1);
    world_close(q);
}

static void a_typing_error_in_a_variable_is_an_error(void **state)
{
    struct world *world = *state;

    world->features = "-nosuchfeature";
    assert_refused(world, NULL, QKERN_E_ENVIRONMENT, "nosuchfeature");
    world->features = NULL;
    world->max_isa = "fastest";
    assert_refused(world, NULL, QKERN_E_ENVIRONMENT, "fastest");
}

static void an_empty_variable_is_as_if_not_set(void **state)
{
    struct world *world = *state;

    world->features = world->max_isa = world->plugin_path = "";
    world_add(world, "high", "a.so");
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_READY, QKERN_OK, "offers 1 element type");
    world_close(q);
}

static void no_environment_ignores_all_variables(void **state)
{
    struct world *world = *state;
    qkern_options options = QKERN_OPTIONS_INIT;

    world->features = "-nosuchfeature";
    world->max_isa = "fastest";
    world->plugin_path = "relative";
    options.flags = QKERN_OPEN_NO_ENVIRONMENT;
    qkern *q = world_open(world, &options);
    assert_false(record_exists(q, "relative"));
    world_close(q);
}

/* secure_getenv gives NULL for every variable there; the rest of the program sees no difference. */
static const char *secure_get(void *context, const char *name)
{
    (void)context, (void)name;
    return NULL;
}

static void in_secure_execution_mode_variables_change_nothing(void **state)
{
    struct world *world = *state;

    world->features = "-nosuchfeature";
    world->max_isa = "scalar";
    world->plugin_path = "relative";
    world->environment.get = secure_get;
    world_add(world, "high", "a.so");
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_READY, QKERN_OK, "");
    assert_false(record_exists(q, "relative"));
    world_close(q);
}

/*
 * The same for real: this program again, with a variable that is an error and the rights of another
 * user. Exit status 0: the variable was ignored; 77: not in secure-execution mode; 78, of the
 * child that should become it: not a program that the kernel runs.
 */
static int secure_main(void)
{
    qkern *q = NULL;

    if (getauxval(AT_SECURE) == 0)
        return 77;
    return qkern_open(NULL, &q, NULL) == QKERN_OK ? (int)qkern_close(q, NULL) : 1;
}

static int run_child(const char *program)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        execl(program, program, "secure", (char *)NULL);
        _exit(errno == ENOEXEC ? 78 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_set_user_id_program_ignores_the_variables(void **state)
{
    struct world *world = *state;
    static char bytes[1 << 23];
    const char *program = world_path(world, "setuid");

    FILE *self = fopen("/proc/self/exe", "rb");
    assert_non_null(self);
    size_t size = fread(bytes, 1, sizeof bytes, self);
    fclose(self);
    world_write(world, "setuid", bytes, size);
    if (geteuid() != 0 || chown(program, 12345, 0) != 0 || chmod(program, 04755) != 0) {
        print_message("skipped: only root can make a program of another user\n");
        skip();
    }
    assert_int_equal(setenv("QKERN_FEATURES", "-nosuchfeature", 1), 0);
    int status = run_child(program);
    assert_int_equal(unsetenv("QKERN_FEATURES"), 0);
    if (status == 77) {
        print_message("skipped: set-user-ID means nothing in this file system\n");
        skip();
    }
    if (status == 78) {
        print_message("skipped: the kernel cannot run this program by itself: an emulator does, "
                      "which cannot change users\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void the_native_environment_is_the_process_s(void **state)
{
    const struct environment_source *native = environment_native();

    (void)state;
    assert_int_equal(setenv("QKERN_TEST_VARIABLE", "seen", 1), 0);
    assert_string_equal(native->get(native->context, "QKERN_TEST_VARIABLE"), "seen");
    assert_int_equal(unsetenv("QKERN_TEST_VARIABLE"), 0);
    assert_null(native->get(native->context, "QKERN_TEST_VARIABLE"));
}

static void features_are_told_with_source_and_reason(void **state)
{
    struct world *world = *state;
    bool low_seen = false, high_seen = false;

    world->features = "-" HIGH_NAME;
    qkern *q = world_open(world, NULL);
    for (uint32_t i = 0; i < qkern_feature_count(q); i++) {
        qkern_feature feature = {.struct_size = (uint32_t)sizeof feature};
        assert_int_equal(qkern_feature_get(q, i, &feature, NULL), QKERN_OK);
        assert_true(strlen(feature.source) > 0);
        assert_int_equal(feature.usable == 0, strlen(feature.reason) > 0);
        if (feature.word == 0 && feature.mask == LOW_FEATURE) {
            low_seen = true;
            assert_int_equal(feature.usable, 1);
        }
        if (strcmp(feature.name, HIGH_NAME) == 0) {
            high_seen = true;
            assert_int_equal(feature.word, 0);
            assert_int_equal(feature.mask, HIGH_FEATURE);
            assert_int_equal(feature.present, 1);
            assert_int_equal(feature.usable, 0);
            assert_part(feature.reason, "QKERN_FEATURES");
        }
    }
    assert_true(low_seen && high_seen);

    qkern_feature feature = {.struct_size = (uint32_t)sizeof feature};
    assert_int_equal(qkern_feature_get(q, qkern_feature_count(q), &feature, &world->error),
                     QKERN_E_ARGUMENT);
    assert_part(world->error.message, "there is no feature");
    assert_int_equal(qkern_feature_get(q, 0, NULL, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "out is NULL");
    assert_int_equal(qkern_feature_get(NULL, 0, &feature, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "q is NULL");
    assert_int_equal(qkern_feature_count(NULL), 0);
    world_close(q);
}

static void structs_are_filled_only_as_far_as_their_size(void **state)
{
    qkern *q = world_open(*state, NULL);
    struct {
        qkern_record record;
    } small, large;

    memset(&small, 0x55, sizeof small);
    small.record.struct_size = (uint32_t)offsetof(qkern_record, path);
    assert_int_equal(qkern_record_get(q, 0, &small.record, NULL), QKERN_OK);
    assert_int_equal(small.record.struct_size, offsetof(qkern_record, path));
    assert_int_equal(small.record.stage, QKERN_STAGE_SEARCH);
    for (size_t i = offsetof(qkern_record, path); i < sizeof small; i++)
        assert_int_equal(((unsigned char *)&small)[i], 0x55);

    memset(&large, 0x55, sizeof large);
    large.record.struct_size = 4096;
    assert_int_equal(qkern_record_get(q, 0, &large.record, NULL), QKERN_OK);
    assert_int_equal(large.record.struct_size, 4096);
    assert_string_equal(large.record.origin, "beside libqkern");

    qkern_error error = QKERN_ERROR_INIT;
    small.record.struct_size = 2;
    assert_int_equal(qkern_record_get(q, 0, &small.record, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "qkern_record: struct_size is 2");
    qkern_feature feature = {.struct_size = 0};
    assert_int_equal(qkern_feature_get(q, 0, &feature, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "qkern_feature: struct_size is 0");
    world_close(q);
}

static void a_record_that_is_not_there_is_an_error(void **state)
{
    struct world *world = *state;
    qkern *q = world_open(world, NULL);
    qkern_record record = {.struct_size = (uint32_t)sizeof record};

    assert_int_equal(qkern_record_count(NULL), 0);
    assert_int_equal(qkern_record_get(NULL, 0, &record, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "q is NULL");
    assert_int_equal(qkern_record_get(q, 0, NULL, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "out is NULL");
    assert_int_equal(qkern_record_get(q, 3, &record, &world->error), QKERN_E_ARGUMENT);
    assert_part(world->error.message, "there is no record 3, only 0 to 2");
    world_close(q);
}

static void names_of_stages_and_entries(void **state)
{
    (void)state;
    assert_string_equal(qkern_stage_name(QKERN_STAGE_SEARCH), "search");
    assert_string_equal(qkern_stage_name(QKERN_STAGE_READY), "ready");
    assert_string_equal(qkern_stage_name(7), "unknown stage");
    assert_string_equal(qkern_entry_name(QKERN_ENTRY_QUANTIZE), "quantize");
    assert_string_equal(qkern_entry_name(QKERN_ENTRY_QUANTIZE_WEIGHTED), "quantize_weighted");
    assert_string_equal(qkern_entry_name(QKERN_ENTRY_LIMIT), "unknown entry point");
#define STATUS(IDENTIFIER, VALUE, TEXT)                                                            \
    assert_int_equal(QKERN_##IDENTIFIER, VALUE);                                                   \
    assert_string_equal(qkern_status_name(QKERN_##IDENTIFIER), "QKERN_" #IDENTIFIER);              \
    assert_string_equal(qkern_status_text(QKERN_##IDENTIFIER), TEXT);
    QKERN_STATUSES(STATUS)
#undef STATUS
    assert_string_equal(qkern_status_name((qkern_status)99), "unknown status");
    assert_string_equal(qkern_status_text((qkern_status)99), "unknown status");
    assert_string_equal(qkern_version(), QKERN_VERSION);
}

static void types_are_found_by_number_and_name(void **state)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_type_info info = {.struct_size = (uint32_t)sizeof info};
    uint64_t bytes = 77;

    (void)state;
    assert_int_equal(qkern_type_get(QKERN_TYPE_Q4_K, &info, NULL), QKERN_OK);
    assert_string_equal(info.name, "Q4_K");
    assert_int_equal(info.block_elements, 256);
    assert_int_equal(info.block_bytes, 144);
    assert_int_equal(info.dot_type, QKERN_TYPE_Q8_K);
    assert_int_equal(qkern_type_find("q5_1", &info, NULL), QKERN_OK);
    assert_int_equal(info.type, QKERN_TYPE_Q5_1);
    assert_int_equal(qkern_type_find("q5_9", &info, &error), QKERN_E_TYPE);
    assert_part(error.message, "'q5_9'");
    assert_int_equal(qkern_type_find(NULL, &info, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "name is NULL");
    assert_int_equal(qkern_type_find("F32", NULL, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "out is NULL");
    assert_int_equal(qkern_type_get(4, &info, &error), QKERN_E_TYPE);
    assert_part(error.message, "4 is not the number of a type");
    assert_int_equal(qkern_type_get(QKERN_TYPE_LIMIT, &info, &error), QKERN_E_TYPE);
    assert_int_equal(qkern_type_get(0, NULL, &error), QKERN_E_ARGUMENT);
    info.struct_size = 1;
    assert_int_equal(qkern_type_get(0, &info, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "qkern_type_info: struct_size is 1");

    assert_int_equal(qkern_row_bytes(QKERN_TYPE_Q6_K, 512, &bytes, NULL), QKERN_OK);
    assert_int_equal(bytes, 420);
    assert_int_equal(qkern_row_bytes(QKERN_TYPE_Q6_K, 896, &bytes, &error), QKERN_E_LENGTH);
    assert_part(error.message, "896 elements is not whole blocks of 256");
    assert_int_equal(qkern_row_bytes(QKERN_TYPE_F32, UINT64_MAX / 2, &bytes, &error),
                     QKERN_E_LIMIT);
    assert_part(error.message, "overflows");
    assert_int_equal(qkern_row_bytes(4, 1, &bytes, &error), QKERN_E_TYPE);
    assert_int_equal(qkern_row_bytes(0, 1, NULL, &error), QKERN_E_ARGUMENT);
    assert_int_equal(bytes, 420);
}

/* A message must not be able to move a terminal's cursor, whoever wrote the text in it. */
static void messages_show_bytes_that_cannot_be_printed_as_numbers(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"a\nb\x1b[2Jc\x7f", "a\\x0ab\\x1b[2Jc\\x7f"},
        {"\xc3\xa9\x80\xff \t!~", "\\xc3\\xa9\\x80\\xff \\x09!~"},
        {"0123456789012345678901234567890123456789012345678901234567890123456",
         "0123456789012345678901234567890123456789012345678901234567890123456"},
        {"01234567890123456789012345678901234567890123456789012345678901234567",
         "0123456789012345678901234567890123456789012345678901234567890123..."},
        {"012345678901234567890123456789012345678901234567890123456789012\x01",
         "012345678901234567890123456789012345678901234567890123456789012\\x01"},
        {"0123456789012345678901234567890123456789012345678901234567890123\x01",
         "0123456789012345678901234567890123456789012345678901234567890123..."},
    };
    struct world *world = *state;
    qkern *q = NULL;
    qkern_type_info info = {.struct_size = (uint32_t)sizeof info};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[128];

        assert_int_equal(qkern_type_find(rows[i].text, &info, &world->error), QKERN_E_TYPE);
        snprintf(expected, sizeof expected, "'%s' is not the name of a type", rows[i].shown);
        assert_string_equal(world->error.message, expected);

        world->features = rows[i].text;
        assert_int_equal(OPEN(NULL), QKERN_E_ENVIRONMENT);
        snprintf(expected, sizeof expected, "QKERN_FEATURES: \"%s\": write", rows[i].shown);
        assert_part(world->error.message, expected);
        world->features = NULL;

        world->max_isa = rows[i].text;
        assert_int_equal(OPEN(NULL), QKERN_E_ENVIRONMENT);
        snprintf(expected, sizeof expected, "QKERN_MAX_ISA: \"%s\" is not", rows[i].shown);
        assert_part(world->error.message, expected);
        world->max_isa = NULL;

        world->plugin_path = rows[i].text;
        q = world_open(world, NULL);
        assert_string_equal(record_of(q, rows[i].text).found, rows[i].shown);
        world_close(q);
        world->plugin_path = NULL;
    }
}

static void an_error_struct_is_written_only_as_far_as_its_size(void **state)
{
    qkern_error error = QKERN_ERROR_INIT;
    uint64_t bytes;

    (void)state;
    memset(error.message, 0x55, sizeof error.message);
    error.struct_size = (uint32_t)offsetof(qkern_error, message) + 5;
    assert_int_equal(qkern_row_bytes(4, 1, &bytes, &error), QKERN_E_TYPE);
    assert_int_equal(error.status, QKERN_E_TYPE);
    assert_string_equal(error.message, "4 is");
    assert_int_equal(error.message[5], 0x55);
    error.struct_size = (uint32_t)offsetof(qkern_error, message);
    error.status = 0;
    assert_int_equal(qkern_row_bytes(4, 1, &bytes, &error), QKERN_E_TYPE);
    assert_int_equal(error.status, 0);
    error.struct_size = 100000;
    assert_int_equal(qkern_row_bytes(4, 1, &bytes, &error), QKERN_E_TYPE);
    assert_string_equal(error.message, "4 is not the number of a type");
}

#define TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, world_setup, world_teardown)

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "secure") == 0)
        _exit(secure_main()); /* at once: a leak checker cannot look into such a process */
    const struct CMUnitTest tests[] = {
        TEST(without_plugin_folders_the_scalar_kernels_work),
        TEST(qkern_open_works_on_this_machine),
        TEST(options_may_be_null),
        TEST(closing_null_is_allowed),
        TEST(wrong_options_are_named),
        TEST(only_what_an_options_struct_size_covers_is_read),
        TEST(a_typing_error_in_a_variable_is_an_error),
        TEST(an_empty_variable_is_as_if_not_set),
        TEST(no_environment_ignores_all_variables),
        TEST(in_secure_execution_mode_variables_change_nothing),
        TEST(a_set_user_id_program_ignores_the_variables),
        TEST(the_native_environment_is_the_process_s),
        TEST(features_are_told_with_source_and_reason),
        TEST(structs_are_filled_only_as_far_as_their_size),
        TEST(a_record_that_is_not_there_is_an_error),
        TEST(names_of_stages_and_entries),
        TEST(types_are_found_by_number_and_name),
        TEST(messages_show_bytes_that_cannot_be_printed_as_numbers),
        TEST(an_error_struct_is_written_only_as_far_as_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
