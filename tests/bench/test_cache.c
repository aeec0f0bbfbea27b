/* SPDX-License-Identifier: MIT */
/* Sizes of caches and of working sets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/cache.h"
#include "bench/core.h"
#include "bench/working_set.h"
#include "host/vetting/cmocka_all.h"

#define KIB(N) ((uint64_t)(N) << 10)
#define MIB(N) ((uint64_t)(N) << 20)

static void sizes_are_read_with_their_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"1", 1},           {"4096", 4096},     {"48K", KIB(48)},
        {"48k", KIB(48)},   {"48KiB", KIB(48)}, {"512kb", KIB(512)},
        {"2M", MIB(2)},     {"2MiB", MIB(2)},   {"3G", MIB(3072)},
        {"1GB", MIB(1024)}, {"7B", 7},          {"8589934591G", UINT64_C(8589934591) << 30}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t bytes = 0;
        assert_true(bench_size_parse(rows[i].text, &bytes));
        assert_true(bytes == rows[i].bytes);
    }
}

static void what_is_no_size_is_refused_and_changes_nothing(void **state)
{
    static const char *const texts[] = {
        "",    "K",   "0",   "0K", "-1",   "1.5M",         " 1",
        "1 K", "12X", "1KK", "+1", "0x10", "17179869184G", "99999999999999999999",
        "1T"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t bytes = 42;
        assert_false(bench_size_parse(texts[i], &bytes));
        assert_true(bytes == 42);
    }
}

static void write_text(const char *folder, int index, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/index%d", folder, index);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void write_cache(const char *folder, int index, const char *level, const char *type,
                        const char *size)
{
    write_text(folder, index, "level", level);
    write_text(folder, index, "type", type);
    write_text(folder, index, "size", size);
}

static void the_data_caches_are_read_from_sysfs(void **state)
{
    const char *folder = QKERN_TEST_BINARY_DIR "/sysfs";
    (void)state;
    mkdir(folder, 0777);
    write_cache(folder, 0, "1\n", "Data\n", "80K\n");
    write_cache(folder, 1, "1\n", "Instruction\n", "96K\n");
    write_cache(folder, 2, "2\n", "Unified\n", "3M\n");
    write_cache(folder, 3, "3\n", "Unified\n", "97280K\n");
    write_cache(folder, 4, "4\n", "Unified\n", "1G\n");
    write_cache(folder, 5, "0\n", "Unified\n", "1G\n");
    const struct bench_caches caches = bench_caches_read_from(folder);
    assert_true(caches.level[0].bytes == KIB(80));
    assert_true(caches.level[1].bytes == MIB(3));
    assert_true(caches.level[2].bytes == KIB(97280));
    for (int i = 0; i < 3; i++)
        assert_string_equal(caches.level[i].source, "sysfs");
}

static void without_any_source_sizes_are_assumed_and_said_to_be(void **state)
{
    const struct bench_caches caches = bench_caches_read_from(NULL);
    (void)state;
    assert_true(caches.level[0].bytes == KIB(32));
    assert_true(caches.level[1].bytes == MIB(1));
    assert_true(caches.level[2].bytes == MIB(32));
    for (int i = 0; i < 3; i++)
        assert_string_equal(caches.level[i].source, "assumed");
}

static void this_machine_has_a_size_for_each_level_and_says_where_it_is_from(void **state)
{
    const struct bench_caches caches = bench_caches_read();
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(caches.level[i].bytes > 0);
        assert_true(strlen(caches.level[i].source) > 0);
    }
}

static struct bench_caches caches_of(uint64_t l1, uint64_t l2, uint64_t l3)
{
    return (struct bench_caches){{{l1, "test"}, {l2, "test"}, {l3, "test"}}};
}

static void rows_fill_the_caches_as_the_rules_say(void **state)
{
    const struct bench_caches caches = caches_of(KIB(48), MIB(1), MIB(32));
    (void)state;
    /* 36 KiB without 4352 bytes of activations, in rows of 2304. */
    assert_true(bench_set_rows(BENCH_SET_L1, &caches, 2304, 4352) == (36864 - 4352) / 2304);
    assert_true(bench_set_rows(BENCH_SET_L2, &caches, 2304, 4352) == (524288 - 4352) / 2304);
    assert_true(bench_set_rows(BENCH_SET_L3, &caches, 2304, 4352) == 4096);
    assert_true(bench_set_rows(BENCH_SET_DRAM, &caches, 2304, 4352) == MIB(256) / 2304);
}

static void there_is_always_a_row_however_long(void **state)
{
    const struct bench_caches caches = caches_of(KIB(32), KIB(256), MIB(8));
    (void)state;
    assert_true(bench_set_rows(BENCH_SET_L1, &caches, MIB(1), 0) == 1);
    assert_true(bench_set_rows(BENCH_SET_L1, &caches, 16384, KIB(64)) == 1);
    assert_true(bench_set_rows(BENCH_SET_L2, &caches, MIB(1), MIB(4)) == 1);
    assert_true(bench_set_rows(BENCH_SET_DRAM, &caches, MIB(1024), 0) == 1);
}

static void a_matrix_exceeds_the_cache_below_it(void **state)
{
    static const uint64_t row_bytes[] = {18, 1344, 2304, 4352, 16384};
    static const uint64_t l2[] = {KIB(256), MIB(1), MIB(64)};
    (void)state;
    for (size_t r = 0; r < 5; r++)
        for (size_t c = 0; c < 3; c++) {
            const struct bench_caches caches = caches_of(KIB(32), l2[c], MIB(32));
            const uint64_t rows = bench_set_rows(BENCH_SET_L3, &caches, row_bytes[r], 0);
            assert_true(rows >= 4096 && rows * row_bytes[r] > 4 * l2[c]);
        }
    assert_true(bench_set_bytes(BENCH_SET_DRAM,
                                &(struct bench_caches){{{1, ""}, {1, ""}, {MIB(96), ""}}}) ==
                MIB(384));
    const struct bench_caches huge = caches_of(KIB(32), MIB(1), MIB(508));
    assert_true(bench_set_bytes(BENCH_SET_DRAM, &huge) == MIB(512));
}

static void sets_have_names_and_rules(void **state)
{
    (void)state;
    assert_string_equal(bench_set_name(BENCH_SET_L1), "l1");
    assert_string_equal(bench_set_name(BENCH_SET_DRAM), "dram");
    assert_string_equal(bench_set_name(BENCH_SET_LIMIT), "?");
    assert_string_equal(bench_set_rule(BENCH_SET_LIMIT), "?");
    for (uint32_t set = 0; set < BENCH_SET_LIMIT; set++)
        assert_true(strlen(bench_set_rule(set)) > 10);
}

static void a_core_that_is_not_there_is_refused_with_a_reason(void **state)
{
    (void)state;
    assert_non_null(bench_core_pin(-1));
    assert_non_null(bench_core_pin(1 << 30));
    const int core = bench_core_current();
    if (core < 0)
        return; /* the system does not say, and pins nobody */
    const char *reason = bench_core_pin(core);
    if (reason != NULL)
        assert_true(strlen(reason) > 0);
    else
        assert_int_equal(bench_core_current(), core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_with_their_units),
        cmocka_unit_test(what_is_no_size_is_refused_and_changes_nothing),
        cmocka_unit_test(the_data_caches_are_read_from_sysfs),
        cmocka_unit_test(without_any_source_sizes_are_assumed_and_said_to_be),
        cmocka_unit_test(this_machine_has_a_size_for_each_level_and_says_where_it_is_from),
        cmocka_unit_test(rows_fill_the_caches_as_the_rules_say),
        cmocka_unit_test(there_is_always_a_row_however_long),
        cmocka_unit_test(a_matrix_exceeds_the_cache_below_it),
        cmocka_unit_test(sets_have_names_and_rules),
        cmocka_unit_test(a_core_that_is_not_there_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
