/* SPDX-License-Identifier: MIT */
/* Right kernels pass: what is built in, and every plugin of the build that this CPU can run. */
#include "support.h"

#include <dirent.h>
#include <stdio.h>

/* All but the entry points that a plugin leaves to others are judged, and right. */
static void assert_right(const struct result *r, uint32_t least)
{
    uint32_t right = 0;
    uint64_t most = 0;

    assert_int_equal(r->count, r->kernels);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct outcome *o = &r->outcomes[i];
        if (o->kind == VERIFY_WRONG)
            fail_msg("%s: type %u, %s: %s: %s", r->name, o->type, qkern_entry_name(o->entry),
                     o->failure.kind, o->failure.text);
        if (o->kind == VERIFY_SKIPPED) {
            assert_string_equal(o->text, "not in the plugin");
            continue;
        }
        right++;
        assert_true(o->calls > 100);
        most = o->stack > most ? o->stack : most;
    }
    assert_true(right >= least);
    assert_in_range(most, 64, 64 << 10); /* functions that call none may need no stack at all */
}

static void what_is_built_in_is_right(void **state)
{
    (void)state;
    struct verify_options options = VERIFY_OPTIONS_INIT;
    options.worker = worker_words;
    struct result *r = run_with(&options);
    if (r->status != QKERN_OK)
        fail_msg("%s", r->error.message);
    assert_string_equal(r->name, "scalar");
    assert_right(r, 71);
    free(r);
}

static void every_plugin_of_the_build_is_right(void **state)
{
    (void)state;
    DIR *folder = opendir(QKERN_TEST_PLUGIN_DIR);
    const struct dirent *entry;
    char path[512];
    int judged = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        const char *end = strrchr(entry->d_name, '.');
        if (end == NULL || strcmp(end, ".so") != 0)
            continue;
        struct verify_options options = VERIFY_OPTIONS_INIT;
        snprintf(path, sizeof path, "%s/%s", QKERN_TEST_PLUGIN_DIR, entry->d_name);
        options.plugin = path;
        options.worker = worker_words;
        struct result *r = run_with(&options);
        if (r->status != QKERN_OK)
            fail_msg("%s: %s", path, r->error.message);
        if (r->refused) {
            print_message("not judged: %s: %s\n", path, r->refused_text);
            assert_int_equal(r->refused_status, QKERN_E_FEATURE);
        } else {
            assert_right(r, 1);
            judged++;
        }
        free(r);
    }
    closedir(folder);
    assert_true(judged > 0);
}

static void only_the_types_asked_for_are_judged(void **state)
{
    (void)state;
    const uint32_t types[] = {QKERN_TYPE_Q8_1, QKERN_TYPE_Q4_K};
    struct verify_options options = VERIFY_OPTIONS_INIT;
    options.worker = worker_words;
    options.types = types;
    options.type_count = 2;
    options.repeat = 3;
    struct result *r = run_with(&options);
    assert_int_equal(r->status, QKERN_OK);
    assert_int_equal(r->kernels, 8);
    assert_right(r, 8);
    outcome_of(r, QKERN_TYPE_Q4_K, QKERN_ENTRY_VEC_DOT_ROWS);
    outcome_of(r, QKERN_TYPE_Q8_1, QKERN_ENTRY_QUANTIZE);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_built_in_is_right),
        cmocka_unit_test(every_plugin_of_the_build_is_right),
        cmocka_unit_test(only_the_types_asked_for_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
