/* SPDX-License-Identifier: MIT */
/*
 * Run under an emulator that plays another CPU. Each argument is NAME=PART: the feature's reason
 * must contain PART, or, if PART is empty, the feature must be usable.
 */
#include "feature_list.h"

static int argument_count;
static char **arguments;

static void the_native_source_tells_the_truth_about_this_cpu(void **state)
{
    struct cpu_features features;

    (void)state;
    features_detect(cpu_source_native(), &features);
    for (int i = 1; i < argument_count; i++) {
        char name[64];
        const size_t length = strcspn(arguments[i], "=");
        const char *part = arguments[i] + length + 1;

        snprintf(name, sizeof name, "%.*s", (int)length, arguments[i]);
        const struct feature_state *feature = feature_find(&features, name);
        print_message("%s: usable %d, \"%s\"\n", name, feature->usable, feature->reason);
        assert_int_equal(feature->usable, part[0] == '\0');
        assert_non_null(strstr(feature->reason, part));
    }
}

int main(int count, char **values)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_native_source_tells_the_truth_about_this_cpu),
    };

    argument_count = count;
    arguments = values;
    if (count < 2) {
        fprintf(stderr, "usage: test_cpu_emulated NAME=PART...\n");
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
