/* SPDX-License-Identifier: MIT */
/* The CPU that runs the test, compared with what the Linux kernel says of it in /proc/cpuinfo. */
#include "feature_list.h"

/* Our names and the kernel's. Those for which the kernel prints none are not compared. */
static const struct {
    const char *ours, *kernel;
} names[] = {
#if defined(__x86_64__)
    {"sse2", "sse2"},
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"popcnt", "popcnt"},
    {"movbe", "movbe"},
    {"avx", "avx"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"bmi1", "bmi1"},
    {"bmi2", "bmi2"},
    {"lzcnt", "abm"},
    {"avx2", "avx2"},
    {"avx-vnni", "avx_vnni"},
    {"gfni", "gfni"},
    {"vaes", "vaes"},
    {"avx512f", "avx512f"},
    {"avx512cd", "avx512cd"},
    {"avx512bw", "avx512bw"},
    {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
    {"amx-tile", "amx_tile"},
    {"amx-int8", "amx_int8"},
    {"amx-bf16", "amx_bf16"},
#else
    {"asimd", "asimd"},     {"fp16", "asimdhp"},    {"fhm", "asimdfhm"},    {"rdm", "asimdrdm"},
    {"dotprod", "asimddp"}, {"i8mm", "i8mm"},       {"bf16", "bf16"},       {"sve", "sve"},
    {"sve2", "sve2"},       {"svei8mm", "svei8mm"}, {"svebf16", "svebf16"}, {"sme", "sme"},
    {"sme2", "sme2"},
#endif
};

#if defined(__x86_64__)
#define KERNEL_KEY "flags"
#else
#define KERNEL_KEY "Features"
#endif

/* The kernel's words with a space before and after each; false if there is no such line. */
static bool kernel_words(char *words, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;

    if (file == NULL)
        return false;
    while (!found && fgets(words, (int)size, file) != NULL)
        found = strncmp(words, KERNEL_KEY, strlen(KERNEL_KEY)) == 0 && strchr(words, ':') != NULL;
    fclose(file);
    if (!found)
        return false;
    words[strcspn(words, "\n")] = ' ';
    return true;
}

static void what_the_kernel_reports_is_usable_and_no_register_it_does_not_save(void **state)
{
    static char words[16384];
    struct cpu_features features;

    (void)state;
    if (!kernel_words(words, sizeof words)) {
        print_message("skipped: /proc/cpuinfo has no line \"" KERNEL_KEY "\"\n");
        skip();
    }
    features_detect(cpu_source_native(), &features);
    assert_int_equal(features.arch, QKERN_ARCH_THIS);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct feature_state *feature = feature_find(&features, names[i].ours);
        char word[64];

        snprintf(word, sizeof word, " %s ", names[i].kernel);
        const bool in_kernel = strstr(words, word) != NULL;
        if (in_kernel && !feature->usable)
            fail_msg("/proc/cpuinfo has %s, but %s is unusable: %s", names[i].kernel, feature->name,
                     feature->reason);
        /* A hypervisor may hide a bit from the kernel and not from programs; but registers that
         * the kernel does not know it does not save. */
        if (feature->usable && !in_kernel && strstr(feature->source, "XCR0") != NULL)
            fail_msg("%s is usable, but /proc/cpuinfo does not have %s", feature->name,
                     names[i].kernel);
    }
}

static void the_baseline_of_the_architecture_is_usable(void **state)
{
    struct cpu_features features;

    (void)state;
    features_detect(cpu_source_native(), &features);
    assert_int_equal(features.words[0] & 1, 1); /* SSE2 and ASIMD are bit 0 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_kernel_reports_is_usable_and_no_register_it_does_not_save),
        cmocka_unit_test(the_baseline_of_the_architecture_is_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
