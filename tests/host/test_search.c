/* SPDX-License-Identifier: MIT */
/* Where plugins are looked for, and who may write there. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/src/search.h"
#include "host/support.h"

/* A second folder within the world's. */
static const char *inner_folder(struct world *world, mode_t mode)
{
    const char *path = world_path(world, "inner");

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static void clear_inner(struct world *world)
{
    unlink(world_path(world, "inner/low.so"));
    unlink(world_path(world, "inner/a.so"));
    rmdir(world_path(world, "inner"));
}

static void places_are_looked_at_in_order(void **state)
{
    struct world *world = *state;
    qkern_options options = QKERN_OPTIONS_INIT;

    world_add(world, "low", "option.so");
    world_add(world, "low", "installed.so");
    inner_folder(world, 0755);
    world_add(world, "low", "inner/a.so");
    const char *const paths[] = {world_path(world, "option.so")};
    options.plugin_paths = paths;
    options.plugin_path_count = 1;
    world->plugin_path = world_path(world, "inner");
    qkern *q = world_open(world, &options);

    static const struct {
        const char *end, *origin;
    } expected[] = {
        {"/option.so", "option"},       {"/inner/a.so", "QKERN_PLUGIN_PATH"},
        {"/beside", "beside libqkern"}, {"/installed.so", "installed"},
        {"/option.so", "installed"},    {"", "built in"},
    };
    assert_int_equal(qkern_record_count(q), 6);
    for (uint32_t i = 0; i < 6; i++) {
        qkern_record record = {.struct_size = (uint32_t)sizeof record};
        assert_int_equal(qkern_record_get(q, i, &record, NULL), QKERN_OK);
        assert_string_equal(record.origin, expected[i].origin);
        assert_part(record.path, expected[i].end);
    }
    world_close(q);
    clear_inner(world);
}

static void no_search_looks_only_at_what_is_given(void **state)
{
    struct world *world = *state;
    qkern_options options = QKERN_OPTIONS_INIT;

    world_add(world, "low", "low.so");
    world_add(world, "high", "high.so");
    const char *const paths[] = {world_path(world, "low.so")};
    world->plugin_path = world->folder;
    options.flags = QKERN_OPEN_NO_SEARCH;
    options.plugin_paths = paths;
    options.plugin_path_count = 1;
    qkern *q = world_open(world, &options);
    assert_int_equal(qkern_record_count(q), 2);
    assert_record(q, "/low.so", QKERN_STAGE_READY, QKERN_OK, "");
    world_close(q);
}

static void files_of_a_folder_are_tried_by_name(void **state)
{
    struct world *world = *state;
    qkern_record record = {.struct_size = (uint32_t)sizeof record};
    static const char *const names[] = {"b.so", "a.so", "C.so", "a1.so"};
    static const char *const sorted[] = {"/C.so", "/a.so", "/a1.so", "/b.so"};

    for (size_t i = 0; i < 4; i++)
        world_write(world, names[i], "x", 1);
    world_write(world, "ignored.txt", "x", 1);
    world_write(world, ".so", "x", 1);
    world_write(world, ".hidden.so", "x", 1);
    world_write(world, "lib.so.1", "x", 1);
    qkern *q = world_open(world, NULL);
    assert_int_equal(qkern_record_count(q), 6);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(qkern_record_get(q, 1 + i, &record, NULL), QKERN_OK);
        assert_part(record.path, sorted[i]);
    }
    world_close(q);
}

static void a_folder_reached_twice_is_looked_at_once(void **state)
{
    struct world *world = *state;
    char list[2048];

    world_add(world, "low", "low.so");
    assert_int_equal(symlink(world->folder, world_path(world, "again")), 0);
    snprintf(list, sizeof list, "%s:%s/:%s/again", world->folder, world->folder, world->folder);
    world->plugin_path = list;
    qkern *q = world_open(world, NULL);
    assert_int_equal(qkern_record_count(q), 3);
    assert_string_equal(record_of(q, "/low.so").origin, "QKERN_PLUGIN_PATH");
    world_close(q);
}

static void a_path_without_double_slashes_is_shown(void **state)
{
    struct world *world = *state;
    char list[512];

    world_add(world, "low", "low.so");
    snprintf(list, sizeof list, "%s/", world->folder);
    world->plugin_path = list;
    qkern *q = world_open(world, NULL);
    assert_string_equal(record_of(q, "/low.so").path, world_path(world, "low.so"));
    world_close(q);
}

static void empty_and_relative_entries_of_the_path_are_refused(void **state)
{
    struct world *world = *state;
    char list[512];

    snprintf(list, sizeof list, ":.:lib/plugins:%s:", world->folder);
    world->plugin_path = list;
    world_add(world, "low", "low.so");
    qkern *q = world_open(world, NULL);
    static const char *const found[] = {"an empty path", ".", "lib/plugins", NULL, "an empty path"};
    for (uint32_t i = 0; i < 5; i++) {
        qkern_record record = {.struct_size = (uint32_t)sizeof record};
        assert_int_equal(qkern_record_get(q, i, &record, NULL), QKERN_OK);
        if (found[i] == NULL)
            continue;
        assert_int_equal(record.stage, QKERN_STAGE_SEARCH);
        assert_int_equal(record.status, QKERN_E_ARGUMENT);
        assert_part(record.text, "never searches the current directory");
        assert_string_equal(record.found, found[i]);
        assert_string_equal(record.origin, "QKERN_PLUGIN_PATH");
    }
    assert_record(q, "/low.so", QKERN_STAGE_READY, QKERN_OK, "");
    world_close(q);
}

/* Corpus row 22. */
static void a_plugin_planted_in_the_current_directory_is_not_looked_at(void **state)
{
    struct world *world = *state;
    char before[1024], list[] = ":.:./";

    assert_non_null(getcwd(before, sizeof before));
    inner_folder(world, 0755);
    world_add(world, "high", "inner/a.so");
    assert_int_equal(chdir(world_path(world, "inner")), 0);
    world->plugin_path = list;
    qkern *q = world_open(world, NULL);
    assert_int_equal(chdir(before), 0);
    assert_false(record_exists(q, "a.so"));
    assert_false(is_mapped("/inner/a.so"));
    assert_string_equal(record_of(q, "").name, "scalar");
    assert_int_equal(choice_of(q, QKERN_ENTRY_VEC_DOT), qkern_record_count(q) - 1);
    world_close(q);
    clear_inner(world);
}

static void folders_that_others_can_write_are_refused(void **state)
{
    struct world *world = *state;
    static const struct {
        mode_t mode;
        const char *who, *expected, *found;
    } rows[] = {
        {0775, "its group can write the folder: chmod go-w /", "mode 0755", "mode 0775"},
        {0757, "everybody can write the folder: chmod go-w /", "mode 0755", "mode 0757"},
        {01777, "everybody can write the folder: chmod go-w /", "mode 1755", "mode 1777"},
    };

    world_add(world, "high", "a.so");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(chmod(world->folder, rows[i].mode), 0);
        qkern *q = world_open(world, NULL);
        assert_record(q, world->folder, QKERN_STAGE_SEARCH, QKERN_E_PERMISSION, rows[i].who);
        qkern_record record = record_of(q, world->folder);
        assert_string_equal(record.expected, rows[i].expected);
        assert_string_equal(record.found, rows[i].found);
        assert_false(record_exists(q, "/a.so"));
        world_close(q);
    }
    assert_int_equal(chmod(world->folder, 0755), 0);
}

static void folders_of_other_users_are_refused(void **state)
{
    struct world *world = *state;

    if (geteuid() != 0) {
        print_message("skipped: only root can give a folder away\n");
        skip();
    }
    world_add(world, "high", "a.so");
    assert_int_equal(chown(world->folder, 12345, 0), 0);
    qkern *q = world_open(world, NULL);
    assert_record(q, world->folder, QKERN_STAGE_SEARCH, QKERN_E_PERMISSION,
                  "belongs to another user, who could change it: chown root /");
    assert_string_equal(record_of(q, world->folder).expected, "owner 0 or 0");
    assert_string_equal(record_of(q, world->folder).found, "owner 12345");
    world_close(q);
    assert_int_equal(chown(world->folder, 0, 0), 0);
}

static void places_that_cannot_be_looked_at_leave_records(void **state)
{
    struct world *world = *state;
    char list[2048];

    world_write(world, "file", "x", 1);
    inner_folder(world, 0755);
    snprintf(list, sizeof list, "%s/file:%s/missing:%s/inner:%s/file/x", world->folder,
             world->folder, world->folder, world->folder);
    world->plugin_path = list;
    qkern *q = world_open(world, NULL);
    assert_record(q, "/file", QKERN_STAGE_SEARCH, QKERN_E_FORMAT, "is not a folder");
    assert_record(q, "/missing", QKERN_STAGE_SEARCH, QKERN_E_NOT_FOUND, "no such folder");
    assert_record(q, "/inner", QKERN_STAGE_SEARCH, QKERN_E_NOT_FOUND, "holds no *.so file");
    assert_record(q, "/file/x", QKERN_STAGE_SEARCH, QKERN_E_IO, "cannot open: Not a directory");
    assert_record(q, "/beside", QKERN_STAGE_SEARCH, QKERN_E_NOT_FOUND, "no such folder");
    world_close(q);
    clear_inner(world);
}

static void too_many_files_or_folders_are_refused(void **state)
{
    struct world *world = *state;
    char name[32];

    for (unsigned i = 0; i <= SEARCH_FILE_LIMIT; i++) {
        snprintf(name, sizeof name, "f%u.so", i);
        world_write(world, name, "x", 1);
    }
    qkern *q = world_open(world, NULL);
    assert_record(q, world->folder, QKERN_STAGE_SEARCH, QKERN_E_LIMIT, "more than 1024 plugins");
    world_close(q);

    static char list[1 << 17];
    size_t used = 0;
    for (unsigned i = 0; i <= SEARCH_FOLDER_LIMIT; i++) {
        snprintf(name, sizeof name, "d%u", i);
        assert_int_equal(mkdir(world_path(world, name), 0755), 0);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s/%s", i == 0 ? "" : ":",
                                 world->folder, name);
    }
    world->plugin_path = list;
    q = world_open(world, NULL);
    assert_record(q, "/d255", QKERN_STAGE_SEARCH, QKERN_E_NOT_FOUND, "holds no *.so file");
    assert_record(q, "/d256", QKERN_STAGE_SEARCH, QKERN_E_LIMIT, "more than 256 folders");
    world_close(q);
}

static void the_folder_beside_libqkern_is_beside_the_code(void **state)
{
    char program[1024], *beside = NULL;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    (void)state;
    assert_true(length > 0);
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    assert_int_equal(search_beside(&beside, NULL), QKERN_OK);
    assert_non_null(beside);
    assert_memory_equal(beside, program, strlen(program));
    assert_string_equal(beside + strlen(program), "/qkern/plugins");
    free(beside);
}

#define TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(places_are_looked_at_in_order),
        TEST(no_search_looks_only_at_what_is_given),
        TEST(files_of_a_folder_are_tried_by_name),
        TEST(a_folder_reached_twice_is_looked_at_once),
        TEST(a_path_without_double_slashes_is_shown),
        TEST(empty_and_relative_entries_of_the_path_are_refused),
        TEST(a_plugin_planted_in_the_current_directory_is_not_looked_at),
        TEST(folders_that_others_can_write_are_refused),
        TEST(folders_of_other_users_are_refused),
        TEST(places_that_cannot_be_looked_at_leave_records),
        TEST(too_many_files_or_folders_are_refused),
        TEST(the_folder_beside_libqkern_is_beside_the_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
