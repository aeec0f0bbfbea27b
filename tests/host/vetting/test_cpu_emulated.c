/* SPDX-License-Identifier: MIT */
/*
 * Run under an emulator that plays another CPU. Each argument is NAME=PART: the feature's reason
 * must contain PART, or, if PART is empty, the feature must be usable. Without cmocka, so that it
 * can be built for architectures of which only the compiler is installed.
 */
#include <stdio.h>
#include <string.h>

#include "host/src/cpu_features.h"

/* Whether a feature is as expected; says so. */
static bool expectation_holds(const struct cpu_features *features, const char *expectation)
{
    const size_t length = strcspn(expectation, "=");
    const char *part = expectation + length + (expectation[length] == '=');

    for (uint32_t i = 0; i < features->count; i++) {
        const struct feature_state *feature = &features->list[i];

        if (strlen(feature->name) != length || strncmp(feature->name, expectation, length) != 0)
            continue;
        const bool holds =
            feature->usable == (part[0] == '\0') && strstr(feature->reason, part) != NULL;
        printf("%s %s: usable %d, \"%s\"\n", holds ? "ok" : "WRONG", feature->name, feature->usable,
               feature->reason);
        return holds;
    }
    printf("WRONG: there is no feature %.*s\n", (int)length, expectation);
    return false;
}

int main(int count, char **expectations)
{
    struct cpu_features features;
    int wrong = count < 2;

    features_detect(cpu_source_native(), &features);
    for (int i = 1; i < count; i++)
        wrong += !expectation_holds(&features, expectations[i]);
    return wrong != 0;
}
