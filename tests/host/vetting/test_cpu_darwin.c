/* SPDX-License-Identifier: MIT */
/* The Darwin part of cpu_source.c, compiled here against a stand-in of sysctlbyname. */
#include "feature_list.h"

#include "darwin/sys/sysctl.h"

/* cpu_source_native of that compilation. */
const struct cpu_source *cpu_source_darwin(void);

static const struct {
    const char *name;
    int64_t value;
    size_t size;
} entries[] = {
    {"hw.optional.AdvSIMD", 1, 4},          {"hw.optional.arm.FEAT_FP16", 1, 4},
    {"hw.optional.arm.FEAT_FHM", 1, 8},     {"hw.optional.arm.FEAT_RDM", 1, 4},
    {"hw.optional.arm.FEAT_DotProd", 1, 4}, {"hw.optional.arm.FEAT_I8MM", 0, 4},
    {"hw.optional.arm.FEAT_BF16", 0, 8},    {"test.negative", -2, 4},
    {"test.wide", INT64_C(0x123456789), 8}, {"test.odd", 1, 2},
};

int sysctlbyname(const char *name, void *old_value, size_t *old_size, void *new_value,
                 size_t new_size)
{
    assert_null(new_value);
    assert_int_equal(new_size, 0);
    assert_int_equal(*old_size, 8);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcmp(entries[i].name, name) != 0)
            continue;
        memcpy(old_value, &entries[i].value, entries[i].size); /* little-endian */
        *old_size = entries[i].size;
        return 0;
    }
    return -1;
}

static void integers_of_both_widths_are_read(void **state)
{
    static const struct {
        const char *name;
        bool there;
        int64_t value;
    } rows[] = {
        {"hw.optional.AdvSIMD", true, 1},
        {"test.negative", true, -2},
        {"test.wide", true, INT64_C(0x123456789)},
        {"test.odd", false, 77},
        {"no.such.name", false, 77},
    };
    const struct cpu_source *source = cpu_source_darwin();

    (void)state;
    assert_int_equal(source->os, CPU_OS_DARWIN);
    assert_null(source->auxval);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t value = 77;

        assert_int_equal(source->sysctl(source->context, rows[i].name, &value), rows[i].there);
        assert_int_equal(value, rows[i].value);
    }
}

static void an_apple_m1_is_detected_through_sysctlbyname(void **state)
{
    struct cpu_source source = *cpu_source_darwin();
    struct cpu_features features;
    char text[512];

    (void)state;
    source.arch = QKERN_ARCH_AARCH64;
    features_detect(&source, &features);
    assert_string_equal(usable_names(&features, text), "asimd fp16 fhm rdm dotprod");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_both_widths_are_read),
        cmocka_unit_test(an_apple_m1_is_detected_through_sysctlbyname),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
