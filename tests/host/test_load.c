/* SPDX-License-Identifier: MIT */
/* Files that are plugins, files that are not, and what may not be mapped. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/src/image.h"
#include "host/support.h"

#include <qkern/manifest.h>

#define MARKER QKERN_TEST_BINARY_DIR "/constructor-ran"

static void a_good_plugin_is_ready_and_serves(void **state)
{
    struct world *world = *state;
    float y = 0;

    world_add(world, "high", "a.so");
    qkern *q = world_open(world, NULL);
    qkern_record record = record_of(q, "/a.so");
    assert_int_equal(record.stage, QKERN_STAGE_READY);
    assert_int_equal(record.status, QKERN_OK);
    assert_int_equal(record.tier, HIGH_TIER);
    assert_int_equal(record.features[0], LOW_FEATURE | HIGH_FEATURE);
    assert_int_equal(record.features[1], 0);
    assert_string_equal(record.name, "high");
    assert_string_equal(record.version, "1.2");
    assert_string_equal(record.text, "offers 1 element type");
    assert_string_equal(record.expected, "");
    assert_string_equal(record.found, "");
    assert_int_equal(strlen(record.build_id), 40);
    assert_int_equal(strspn(record.build_id, "0123456789abcdef"), 40);
    assert_true(is_mapped("/a.so"));
    assert_int_equal(qkern_dequantize(q, QKERN_TYPE_F32, 1, &(float){0}, 4, &y, NULL), QKERN_OK);
    assert_float_equal(y, 3, 0);
    world_close(q);
    assert_false(is_mapped("/a.so"));
}

static void a_plugin_without_a_build_id_is_good(void **state)
{
    struct world *world = *state;

    world_add(world, "no-build-id", "a.so");
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_READY, QKERN_OK, "");
    assert_string_equal(record_of(q, "/a.so").build_id, "");
    world_close(q);
}

static void an_address_that_is_in_no_object_is_not_found(void **state)
{
    struct image image;
    int here = 0;

    (void)state;
    assert_false(image_find(&here, &image));
    assert_true(image_find((const void *)(uintptr_t)image_find, &image));
}

/* Corpus row 20. The last part shows that the marker would be seen. */
static void a_plugin_for_another_cpu_is_never_mapped(void **state)
{
    struct world *world = *state;

    unlink(MARKER);
    world_add(world, "constructor", "a.so");
    world->level = CPU_LOW;
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_NEEDS, QKERN_E_FEATURE, HIGH_NAME);
    assert_string_equal(record_of(q, "/a.so").name, "constructor");
    assert_false(is_mapped("/a.so"));
    assert_int_equal(access(MARKER, F_OK), -1);
    world_close(q);

    world->level = CPU_HIGH;
    world->features = "-" HIGH_NAME;
    q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_NEEDS, QKERN_E_FEATURE, "QKERN_FEATURES");
    assert_int_equal(access(MARKER, F_OK), -1);
    world_close(q);

    world->features = NULL;
    world->max_isa = LOW_ISA;
    q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_NEEDS, QKERN_E_FEATURE,
                  "tier 200 is above the cap QKERN_MAX_ISA=" LOW_ISA " (tier 100)");
    assert_string_equal(record_of(q, "/a.so").expected, "tier 100 or lower");
    assert_string_equal(record_of(q, "/a.so").found, "tier 200");
    assert_int_equal(access(MARKER, F_OK), -1);
    world_close(q);

    world->max_isa = NULL;
    q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_READY, QKERN_OK, "");
    assert_int_equal(access(MARKER, F_OK), 0);
    world_close(q);
    unlink(MARKER);
}

static void needs_that_are_not_met_are_named(void **state)
{
    struct world *world = *state;

    world_add(world, "newer", "newer.so");
    world_add(world, "unknown-feature", "unknown.so");
    world_add(world, "beyond", "beyond.so");
    qkern *q = world_open(world, NULL);
    assert_record(q, "/newer.so", QKERN_STAGE_NEEDS, QKERN_E_ABI, "needs a newer libqkern");
    assert_string_equal(record_of(q, "/newer.so").expected, "ABI 1.1 or older");
    assert_string_equal(record_of(q, "/newer.so").found, "ABI 1.7");
    assert_record(q, "/unknown.so", QKERN_STAGE_NEEDS, QKERN_E_FEATURE, "30");
    assert_record(q, "/beyond.so", QKERN_STAGE_NEEDS, QKERN_E_LIMIT, "tier is out of range");
    assert_string_equal(record_of(q, "/beyond.so").expected, "below 1000000");
    assert_false(is_mapped("/newer.so"));
    assert_false(is_mapped("/unknown.so"));
    assert_false(is_mapped("/beyond.so"));
    world_close(q);
}

static void of_one_name_the_first_found_is_used(void **state)
{
    struct world *world = *state;
    char text[300];

    world_add(world, "high", "a.so");
    world_add(world, "high-again", "b.so");
    qkern *q = world_open(world, NULL);
    snprintf(text, sizeof text, "shadowed by %s", world_path(world, "a.so"));
    assert_record(q, "/a.so", QKERN_STAGE_READY, QKERN_OK, "");
    assert_record(q, "/b.so", QKERN_STAGE_NEEDS, QKERN_E_BUSY, text);
    assert_false(is_mapped("/b.so"));
    world_close(q);
}

static void a_name_is_not_taken_by_a_plugin_that_could_not_be_used(void **state)
{
    struct world *world = *state;

    world_add(world, "high", "a.so");
    world_add(world, "high-again", "b.so");
    assert_int_equal(chmod(world_path(world, "a.so"), 0666), 0);
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_OPEN, QKERN_E_PERMISSION, "");
    assert_record(q, "/b.so", QKERN_STAGE_READY, QKERN_OK, "");
    world_close(q);
}

static void a_file_cannot_take_the_built_in_reference_away(void **state)
{
    struct world *world = *state;

    world_add(world, "scalar-too", "a.so");
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_READY, QKERN_OK, "");
    assert_record(q, "", QKERN_STAGE_READY, QKERN_OK, "");
    assert_string_equal(record_of(q, "").origin, "built in");
    world_close(q);
}

/* Corpus row 21; the manifest reader's own tests have more. */
static void what_is_not_a_plugin_leaves_a_record_that_says_what_it_is(void **state)
{
    struct world *world = *state;

    world_write(world, "text.so", "this is not code\n", 17);
    world_write(world, "empty.so", "", 0);
    assert_int_equal(mkdir(world_path(world, "folder.so"), 0755), 0);
    assert_int_equal(mkfifo(world_path(world, "fifo.so"), 0600), 0);
    assert_int_equal(symlink("nothing", world_path(world, "dangling.so")), 0);
    assert_int_equal(symlink("loop.so", world_path(world, "loop.so")), 0);
    qkern *q = world_open(world, NULL);
    assert_record(q, "/text.so", QKERN_STAGE_MANIFEST, QKERN_E_FORMAT, "text file");
    assert_record(q, "/empty.so", QKERN_STAGE_MANIFEST, QKERN_E_FORMAT, "empty file");
    assert_record(q, "/folder.so", QKERN_STAGE_OPEN, QKERN_E_FORMAT, "is not a file");
    assert_string_equal(record_of(q, "/folder.so").expected, "a regular file");
    assert_string_equal(record_of(q, "/folder.so").found, "a folder");
    assert_record(q, "/fifo.so", QKERN_STAGE_OPEN, QKERN_E_FORMAT, "is not a file");
    assert_string_equal(record_of(q, "/fifo.so").found, "a FIFO");
    assert_record(q, "/dangling.so", QKERN_STAGE_OPEN, QKERN_E_NOT_FOUND, "symbolic link");
    assert_record(q, "/loop.so", QKERN_STAGE_OPEN, QKERN_E_IO, "cannot open: Too many levels");
    world_close(q);
}

static void a_device_is_not_a_plugin(void **state)
{
    qkern_options options = QKERN_OPTIONS_INIT;
    const char *const paths[] = {"/dev/null", "/nonexistent/x.so"};

    options.flags = QKERN_OPEN_NO_SEARCH;
    options.plugin_paths = paths;
    options.plugin_path_count = 2;
    qkern *q = world_open(*state, &options);
    assert_record(q, "/dev/null", QKERN_STAGE_OPEN, QKERN_E_FORMAT, "is not a file");
    assert_string_equal(record_of(q, "/dev/null").found, "a device");
    assert_record(q, "/x.so", QKERN_STAGE_OPEN, QKERN_E_NOT_FOUND, "no such file");
    world_close(q);
}

static void files_that_others_can_write_are_never_mapped(void **state)
{
    struct world *world = *state;

    unlink(MARKER);
    world_add(world, "constructor", "group.so");
    world_add(world, "constructor", "world.so");
    assert_int_equal(chmod(world_path(world, "group.so"), 0664), 0);
    assert_int_equal(chmod(world_path(world, "world.so"), 0646), 0);
    qkern *q = world_open(world, NULL);
    assert_record(q, "/group.so", QKERN_STAGE_OPEN, QKERN_E_PERMISSION,
                  "its group can write the file: chmod go-w /");
    assert_record(q, "/world.so", QKERN_STAGE_OPEN, QKERN_E_PERMISSION,
                  "everybody can write the file: chmod go-w /");
    assert_string_equal(record_of(q, "/world.so").found, "mode 0646");
    assert_int_equal(access(MARKER, F_OK), -1);
    world_close(q);
}

static void files_of_other_users_are_never_mapped(void **state)
{
    struct world *world = *state;

    if (geteuid() != 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    world_add(world, "constructor", "a.so");
    assert_int_equal(chown(world_path(world, "a.so"), 12345, 0), 0);
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_OPEN, QKERN_E_PERMISSION, "belongs to another user");
    assert_int_equal(access(MARKER, F_OK), -1);
    world_close(q);
}

static void what_the_dynamic_loader_says_is_told(void **state)
{
    struct world *world = *state;

    world_add(world, "unresolved", "a.so");
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_LOAD, QKERN_E_LOAD,
                  "the dynamic loader says: undefined symbol: "
                  "qkern_test_function_that_nobody_has");
    assert_false(is_mapped("/a.so"));
    world_close(q);
}

static void without_proc_it_is_said_what_is_missing(void **state)
{
    struct world *world = *state;

    world_add(world, "high", "a.so");
    world->around.descriptor_folder = "/nonexistent/fd";
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_LOAD, QKERN_E_LOAD,
                  "/nonexistent/fd cannot be used (No such file or directory)");
    assert_part(record_of(q, "/a.so").text, "mount /proc");
    world_close(q);
}

static void the_entry_must_be_the_file_s_own(void **state)
{
    struct world *world = *state;

    world_add(world, "noteonly", "a.so");
    world_add(world, "borrowing", "b.so");
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_TABLE, QKERN_E_FORMAT, "does not export qkern_plugin_v1");
    assert_record(q, "/b.so", QKERN_STAGE_TABLE, QKERN_E_FORMAT, "not from itself");
    assert_false(is_mapped("/a.so"));
    assert_false(is_mapped("/b.so"));
    world_close(q);
}

static void the_entry_must_agree_with_the_file(void **state)
{
    struct world *world = *state;

    world_add(world, "disagreeing", "a.so");
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_TABLE, QKERN_E_FORMAT,
                  "the entry's manifest is not the one in the file");
    assert_false(is_mapped("/a.so"));
    world_close(q);
}

static void nothing_is_read_or_kept_that_is_not_the_plugin_s_own(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"the entry's manifest is not a constant object of the plugin: it does not lie in",
         "an address in the plugin's memory"},
        {"the entry's manifest is not a constant object of the plugin", ""},
        {"the entry's manifest is not aligned", "a multiple of 4"},
        {"the entry's array of kernels is not a constant object of the plugin", ""},
        {"the entry's array of kernels is not a constant object of the plugin", ""},
        {"the entry's array of kernels is not aligned", "a multiple of 8"},
        {"", ""}, /* more kernels than there are: what stands behind them decides the text */
        {"kernel 0 of the table is not a constant object of the plugin", ""},
        {"kernel 0 of the table is not a constant object of the plugin", ""},
        {"kernel 0 of the table is not aligned", "a multiple of 8"},
        {"F32: vec_dot does not point into the plugin's code", "an address in the plugin's code"},
        {"F32: vec_dot does not point into the plugin's code", ""},
        {"F32: vec_dot does not point into the plugin's code", ""},
        {"the entry: get_extension does not point into the plugin's code", ""},
        {"qkern_plugin_v1 is code, not a constant object: define it with QKERN_PLUGIN", ""},
        {"qkern_plugin_v1 is not a constant object of the plugin: it lies in the memory of no", ""},
        {"qkern_plugin_v1 is not a constant object of the plugin: it lies in the memory of no", ""},
        {"the entry's manifest is not a constant object of the plugin", ""},
        {"not a constant object of the plugin", ""},
        {"the entry's struct_size is too small", "at least 24"},
    };
    struct world *world = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[16];
        snprintf(name, sizeof name, "wild-%zu", i);
        world_add(world, name, "a.so");
        qkern *q = world_open(world, NULL);
        assert_record(q, "/a.so", QKERN_STAGE_TABLE, QKERN_E_FORMAT, rows[i].text);
        if (rows[i].expected[0] != '\0')
            assert_string_equal(record_of(q, "/a.so").expected, rows[i].expected);
        assert_false(is_mapped("/a.so"));
        world_close(q);
    }
}

static const char own[16] = "of this program";

static void an_object_holds_what_lies_inside_one_of_its_segments(void **state)
{
    struct image image;
    const uintptr_t code = (uintptr_t)image_find, data = (uintptr_t)own;
    const void *elsewhere = dlsym(RTLD_NEXT, "getenv");
    int here = 0;

    (void)state;
    assert_true(image_find(own, &image));
    assert_true(image_holds(&image, data, sizeof own, IMAGE_DATA));
    assert_true(image_holds(&image, code, 1, IMAGE_CODE));
    assert_false(image_holds(&image, (uintptr_t)&here, 1, IMAGE_DATA));
    assert_false(image_holds(&image, (uintptr_t)elsewhere, 1, IMAGE_CODE));
    assert_false(image_holds(&image, data, UINT64_MAX, IMAGE_DATA));
    assert_false(image_holds(&image, data, UINT64_MAX - data + 1, IMAGE_DATA));
    assert_false(image_holds(&image, 0, 1, IMAGE_DATA));
    /* The last byte that the segment holds, from wherever one begins. */
    uint64_t size = sizeof own;
    while (image_holds(&image, data, size + 1, IMAGE_DATA))
        size++;
    assert_true(image_holds(&image, data + size - 1, 1, IMAGE_DATA));
    assert_false(image_holds(&image, data + size - 1, 2, IMAGE_DATA));
    assert_false(image_holds(&image, data + 1, size, IMAGE_DATA));
    assert_true(image_is_function(elsewhere));
    assert_false(image_is_function(own));
    assert_false(image_is_function(&here));
}

static void a_plugin_from_the_future_is_used_as_far_as_it_is_known(void **state)
{
    struct world *world = *state;
    float y = 0;

    world_add(world, "future", "a.so");
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_READY, QKERN_OK,
                  "offers 1 element type, and 2 that this libqkern does not know");
    assert_int_equal(qkern_dequantize(q, QKERN_TYPE_F32, 1, &(float){0}, 4, &y, NULL), QKERN_OK);
    assert_float_equal(y, 8, 0);
    qkern_pin pin = {0};
    assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
    assert_int_equal(qkern_pin_kernel(&pin, QKERN_TYPE_F32)->struct_size,
                     sizeof(struct qkern_kernel));
    assert_null(qkern_pin_kernel(&pin, 4711));
    qkern_pin_end(&pin);
    world_close(q);
}

static void a_descriptor_number_used_again_is_not_mistaken(void **state)
{
    struct world *world = *state;
    qkern *first, *second, *third;

    /* The first keeps "a" mapped, the second drops its own; then "b" gets the numbers "a" had. */
    world_add(world, "low", "a.so");
    first = world_open(world, NULL);
    second = world_open(world, NULL);
    world_close(second);
    world_add(world, "high", "b.so");
    unlink(world_path(world, "a.so"));
    third = world_open(world, NULL);
    assert_record(third, "/b.so", QKERN_STAGE_READY, QKERN_OK, "");
    float y = 0;
    assert_int_equal(qkern_dequantize(third, QKERN_TYPE_F32, 1, &(float){0}, 4, &y, NULL),
                     QKERN_OK);
    assert_float_equal(y, 3, 0);
    world_close(first);
    world_close(third);
}

static void what_is_loaded_must_be_the_file_that_was_checked(void **state)
{
    struct world *world = *state;
    char fd[300], name[16];

    /* A folder in which every descriptor leads to another build of the plugin. */
    world_add(world, "high", "a.so");
    world_add(world, "high-again", "other");
    snprintf(fd, sizeof fd, "%s", world_path(world, "fd"));
    assert_int_equal(mkdir(fd, 0755), 0);
    int folder = open(fd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(symlinkat("../other", folder, name), 0);
    }
    world->around.descriptor_folder = fd;
    qkern *q = world_open(world, NULL);
    assert_record(q, "/a.so", QKERN_STAGE_TABLE, QKERN_E_LOAD,
                  "what the dynamic loader loaded is not the file that was checked");
    assert_string_equal(record_of(q, "/a.so").expected, record_of(q, "/a.so").build_id);
    assert_int_equal(strlen(record_of(q, "/a.so").found), 40);
    assert_false(is_mapped("/other"));
    world_close(q);
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "%d", i);
        unlinkat(folder, name, 0);
    }
    close(folder);
}

static void no_descriptor_stays_open(void **state)
{
    struct world *world = *state;
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);

    close(before);
    world_add(world, "high", "a.so");
    world_add(world, "unresolved", "b.so");
    world_write(world, "c.so", "x", 1);
    qkern *q = world_open(world, NULL);
    int during = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(during);
    assert_int_equal(during, before);
    world_close(q);
}

#define TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_good_plugin_is_ready_and_serves),
        TEST(a_plugin_without_a_build_id_is_good),
        TEST(an_address_that_is_in_no_object_is_not_found),
        TEST(a_plugin_for_another_cpu_is_never_mapped),
        TEST(needs_that_are_not_met_are_named),
        TEST(of_one_name_the_first_found_is_used),
        TEST(a_name_is_not_taken_by_a_plugin_that_could_not_be_used),
        TEST(a_file_cannot_take_the_built_in_reference_away),
        TEST(what_is_not_a_plugin_leaves_a_record_that_says_what_it_is),
        TEST(a_device_is_not_a_plugin),
        TEST(files_that_others_can_write_are_never_mapped),
        TEST(files_of_other_users_are_never_mapped),
        TEST(what_the_dynamic_loader_says_is_told),
        TEST(without_proc_it_is_said_what_is_missing),
        TEST(the_entry_must_be_the_file_s_own),
        TEST(the_entry_must_agree_with_the_file),
        TEST(nothing_is_read_or_kept_that_is_not_the_plugin_s_own),
        TEST(an_object_holds_what_lies_inside_one_of_its_segments),
        TEST(a_plugin_from_the_future_is_used_as_far_as_it_is_known),
        TEST(a_descriptor_number_used_again_is_not_mistaken),
        TEST(what_is_loaded_must_be_the_file_that_was_checked),
        TEST(no_descriptor_stays_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
