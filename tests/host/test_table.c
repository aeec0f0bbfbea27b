/* SPDX-License-Identifier: MIT */
/* Entries and kernel tables, as static plugins: what is refused, and what is never read. */
#include <sys/mman.h>
#include <unistd.h>

#include "host/support.h"

#include "host/plugins/kernels.h"
#include "host/src/plugin.h"

/* A static plugin that tests bend. */
struct bend {
    struct qkern_manifest manifest;
    struct qkern_kernel f32, second;
    const struct qkern_kernel *kernels[PLUGIN_KERNEL_LIMIT + 1];
    struct qkern_plugin entry;
};

static const struct qkern_kernel f32_kernel = {QKERN_KERNEL_HEAD(F32), MARK_ENTRIES};

static void bend_init(struct bend *bend)
{
    const struct qkern_manifest manifest =
        QKERN_MANIFEST("bent", "0.9", 0, HIGH_TIER, LOW_FEATURE, 0);

    *bend = (struct bend){.manifest = manifest, .f32 = f32_kernel};
    bend->kernels[0] = &bend->f32;
    bend->kernels[1] = &bend->second;
    bend->entry = (struct qkern_plugin){(uint32_t)sizeof bend->entry, 1, &bend->manifest,
                                        bend->kernels, NULL};
}

static qkern *open_with(struct world *world, const struct qkern_plugin *entry)
{
    qkern_options options = QKERN_OPTIONS_INIT;
    const struct qkern_plugin *const plugins[] = {entry};

    options.flags = QKERN_OPEN_NO_SEARCH;
    options.static_plugins = plugins;
    options.static_plugin_count = 1;
    return world_open(world, &options);
}

/* Opens with the plugin and asserts what became of it; "" for expected or found: not looked at. */
static void assert_outcome(struct world *world, const struct bend *bend, uint32_t stage,
                           qkern_status status, const char *text, const char *expected,
                           const char *found)
{
    qkern *q = open_with(world, &bend->entry);
    qkern_record record = {.struct_size = (uint32_t)sizeof record};

    assert_int_equal(qkern_record_count(q), 2);
    assert_int_equal(qkern_record_get(q, 0, &record, NULL), QKERN_OK);
    assert_string_equal(record.origin, "static");
    assert_string_equal(record.path, "");
    assert_part(record.text, text);
    assert_string_equal(qkern_stage_name(record.stage), qkern_stage_name(stage));
    assert_string_equal(qkern_status_name((qkern_status)record.status), qkern_status_name(status));
    if (expected[0] != '\0')
        assert_string_equal(record.expected, expected);
    if (found[0] != '\0')
        assert_string_equal(record.found, found);
    /* Whatever it was: the built-in kernels are there, and a refused plugin serves nothing. */
    assert_int_equal(choice_of(q, QKERN_ENTRY_VEC_DOT), status == QKERN_OK ? 0 : 1);
    world_close(q);
}

static void a_static_plugin_serves(void **state)
{
    struct bend bend;

    bend_init(&bend);
    assert_outcome(*state, &bend, QKERN_STAGE_READY, QKERN_OK, "offers 1 element type", "", "");
}

static void a_static_plugin_goes_through_the_same_needs(void **state)
{
    struct world *world = *state;
    struct bend bend;

    bend_init(&bend);
    bend.manifest.abi_minor_needed = 3;
    assert_outcome(world, &bend, QKERN_STAGE_NEEDS, QKERN_E_ABI, "needs a newer libqkern",
                   "ABI 1.1 or older", "ABI 1.3");
    bend_init(&bend);
    bend.manifest.features[0] |= HIGH_FEATURE;
    world->level = CPU_LOW;
    assert_outcome(world, &bend, QKERN_STAGE_NEEDS, QKERN_E_FEATURE, HIGH_NAME, "", "");
    world->level = CPU_HIGH;
    bend_init(&bend);
    world->max_isa = LOW_ISA;
    assert_outcome(world, &bend, QKERN_STAGE_NEEDS, QKERN_E_FEATURE, "above the cap",
                   "tier 100 or lower", "tier 200");
}

static void a_static_plugin_s_manifest_is_judged_as_one_in_a_file(void **state)
{
    struct bend bend;

    bend_init(&bend);
    bend.manifest.arch = OTHER_ARCH;
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_ARCH, "manifest", "", "");
    bend_init(&bend);
    bend.manifest.pointer_bits = 32;
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_ARCH, "pointer_bits", "64", "32");
    bend_init(&bend);
    bend.manifest.abi_major = 2;
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_ABI, "abi_major", "1", "2");
    bend_init(&bend);
    memset(bend.manifest.name, 'a', sizeof bend.manifest.name);
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_FORMAT, "name does not end", "",
                   "");
}

static void two_static_plugins_of_one_name(void **state)
{
    struct world *world = *state;
    qkern_options options = QKERN_OPTIONS_INIT;
    struct bend bend;

    bend_init(&bend);
    const struct qkern_plugin *const plugins[] = {&bend.entry, &bend.entry};
    options.flags = QKERN_OPEN_NO_SEARCH;
    options.static_plugins = plugins;
    options.static_plugin_count = 2;
    qkern *q = world_open(world, &options);
    qkern_record record = {.struct_size = (uint32_t)sizeof record};
    assert_int_equal(qkern_record_get(q, 1, &record, NULL), QKERN_OK);
    assert_int_equal(record.stage, QKERN_STAGE_NEEDS);
    assert_string_equal(record.text, "shadowed by static, which was found first");
    world_close(q);
}

static void an_entry_without_its_mandatory_part_is_refused(void **state)
{
    struct bend bend;

    bend_init(&bend);
    bend.entry.struct_size = QKERN_PLUGIN_SIZE_MIN - 1;
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_FORMAT, "entry's struct_size",
                   "at least 24", "23");
    bend_init(&bend);
    bend.entry.manifest = NULL;
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_FORMAT, "manifest is NULL", "", "");
    bend_init(&bend);
    bend.manifest.struct_size = 127;
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_FORMAT, "manifest's struct_size",
                   "at least 128", "127");
    bend_init(&bend);
    bend.entry.kernels = NULL;
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_FORMAT, "has no kernels", "", "");
    bend_init(&bend);
    bend.entry.kernel_count = 0;
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_FORMAT, "has no kernels", "", "");
    bend_init(&bend);
    bend.entry.kernel_count = PLUGIN_KERNEL_LIMIT + 1;
    assert_outcome(*state, &bend, QKERN_STAGE_MANIFEST, QKERN_E_LIMIT, "too many kernels",
                   "at most 1024", "1025");
}

static void the_smallest_entry_is_enough(void **state)
{
    struct bend bend;

    bend_init(&bend);
    bend.entry.struct_size = QKERN_PLUGIN_SIZE_MIN;
    assert_outcome(*state, &bend, QKERN_STAGE_READY, QKERN_OK, "offers 1", "", "");
    bend.entry.struct_size = UINT32_MAX;
    bend.f32.struct_size = UINT32_MAX;
    assert_outcome(*state, &bend, QKERN_STAGE_READY, QKERN_OK, "offers 1", "", "");
}

static void a_kernel_that_contradicts_the_types_is_refused(void **state)
{
    struct bend bend;

    bend_init(&bend);
    bend.f32.block_elements = 2;
    assert_outcome(*state, &bend, QKERN_STAGE_TABLE, QKERN_E_FORMAT, "F32: the elements in a block",
                   "1", "2");
    bend_init(&bend);
    bend.f32.block_bytes = 5;
    assert_outcome(*state, &bend, QKERN_STAGE_TABLE, QKERN_E_FORMAT, "F32: the bytes in a block",
                   "4", "5");
    bend_init(&bend);
    bend.f32.dot_type = QKERN_TYPE_F16;
    assert_outcome(*state, &bend, QKERN_STAGE_TABLE, QKERN_E_FORMAT, "F32: the dot type", "0", "1");
    bend_init(&bend);
    bend.kernels[0] = NULL;
    assert_outcome(*state, &bend, QKERN_STAGE_TABLE, QKERN_E_FORMAT,
                   "kernel 0 of the table is NULL", "", "");
    bend_init(&bend);
    bend.f32.struct_size = QKERN_KERNEL_SIZE_MIN - 1;
    assert_outcome(*state, &bend, QKERN_STAGE_TABLE, QKERN_E_FORMAT,
                   "kernel 0 of the table: struct_size", "at least 24", "23");
    bend_init(&bend);
    bend.second = bend.f32;
    bend.entry.kernel_count = 2;
    assert_outcome(*state, &bend, QKERN_STAGE_TABLE, QKERN_E_FORMAT,
                   "F32 is in the kernel table twice", "", "");
    bend_init(&bend);
    const struct qkern_kernel q8_k = {QKERN_KERNEL_HEAD(Q8_K), .vec_dot = mark_vec_dot};
    bend.second = q8_k;
    bend.entry.kernel_count = 2;
    assert_outcome(*state, &bend, QKERN_STAGE_TABLE, QKERN_E_FORMAT, "Q8_K: has a vec_dot,", "",
                   "");
    bend.second.vec_dot = NULL;
    bend.second.vec_dot_rows = mark_vec_dot_rows;
    assert_outcome(*state, &bend, QKERN_STAGE_TABLE, QKERN_E_FORMAT, "Q8_K: has a vec_dot_rows,",
                   "", "");
}

static void types_of_a_later_version_are_left_out(void **state)
{
    struct bend bend;

    bend_init(&bend);
    bend.second = bend.f32;
    bend.second.type = 4; /* retired: never a type of this version */
    bend.second.block_bytes = 1000;
    bend.entry.kernel_count = 2;
    assert_outcome(*state, &bend, QKERN_STAGE_READY, QKERN_OK,
                   "offers 1 element type, and 1 that this libqkern does not know", "", "");
}

/* The kernel ends where a page without access begins, so one byte too far is a crash. */
static void not_a_byte_behind_a_small_kernel_is_read(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct bend bend;

    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    for (uint32_t size = QKERN_KERNEL_SIZE_MIN; size <= sizeof bend.f32; size += 4) {
        char *at = pages + page - size;
        bend_init(&bend);
        bend.f32.struct_size = size;
        memcpy(at, &bend.f32, size);
        bend.kernels[0] = (const struct qkern_kernel *)(const void *)at;
        qkern *q = open_with(*state, &bend.entry);
        /* A field counts only if it is covered as a whole. */
        for (uint32_t entry = 0; entry < QKERN_ENTRY_LIMIT; entry++)
            assert_int_equal(choice_of(q, entry), size >= 24 + 8 * (entry + 1) ? 0 : 1);
        const struct qkern_kernel *kernel = NULL;
        assert_int_equal(qkern_record_kernel(q, 0, QKERN_TYPE_F32, &kernel, NULL), QKERN_OK);
        assert_int_equal(kernel->struct_size, sizeof *kernel);
        world_close(q);
    }
    munmap(pages, 2 * page);
}

#define TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_static_plugin_serves),
        TEST(a_static_plugin_goes_through_the_same_needs),
        TEST(a_static_plugin_s_manifest_is_judged_as_one_in_a_file),
        TEST(two_static_plugins_of_one_name),
        TEST(an_entry_without_its_mandatory_part_is_refused),
        TEST(the_smallest_entry_is_enough),
        TEST(a_kernel_that_contradicts_the_types_is_refused),
        TEST(types_of_a_later_version_are_left_out),
        TEST(not_a_byte_behind_a_small_kernel_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
