/* SPDX-License-Identifier: MIT */
/* The CPU that runs the test, compared with what the Linux kernel says of it in /proc/cpuinfo. */
#include <stdlib.h>

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

/* The rest of the first line of /proc/cpuinfo with this key; "" if there is none. */
static const char *kernel_line(const char *key, char *line, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    const size_t length = strlen(key);

    while (file != NULL && fgets(line, (int)size, file) != NULL) {
        if (strncmp(line, key, length) != 0 || line[length + strspn(line + length, " \t")] != ':')
            continue;
        fclose(file);
        line[strcspn(line, "\n")] = ' '; /* so that each word has a space before and after it */
        return strchr(line, ':') + 1;
    }
    if (file != NULL)
        fclose(file);
    line[0] = '\0';
    return line;
}

/*
 * Whether this program sees the CPU that the kernel describes. Under emulators such as valgrind it
 * does not.
 */
static bool same_cpu(const struct cpu_source *source)
{
#if defined(__x86_64__)
    uint32_t registers[4];
    char line[4096];

    source->cpuid(source->context, 1, 0, registers);
    const unsigned long base = registers[0] >> 8 & 15;
    const unsigned long family = base + (base == 15 ? registers[0] >> 20 & 255 : 0);
    const unsigned long model = (registers[0] >> 4 & 15) | (registers[0] >> 12 & 0xf0);

    return strtoul(kernel_line("cpu family", line, sizeof line), NULL, 10) == family &&
           strtoul(kernel_line("model", line, sizeof line), NULL, 10) == model &&
           strtoul(kernel_line("stepping", line, sizeof line), NULL, 10) == (registers[0] & 15);
#else
    return source != NULL;
#endif
}

static void what_the_kernel_reports_is_usable_and_no_register_it_does_not_save(void **state)
{
    static char line[16384];
    const char *words = kernel_line(KERNEL_KEY, line, sizeof line);
    struct cpu_features features;

    (void)state;
    if (words[0] == '\0' || !same_cpu(cpu_source_native())) {
        print_message("skipped: /proc/cpuinfo does not describe the CPU that this program sees\n");
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
