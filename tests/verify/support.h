/* SPDX-License-Identifier: MIT */
/* What the tests of the checker share: a run, and what came out of it. */
#ifndef QKERN_TESTS_VERIFY_SUPPORT_H
#define QKERN_TESTS_VERIFY_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <verify.h>

#define OUTCOMES_MAX 128

struct outcome {
    uint32_t type, entry;
    enum verify_event_kind kind; /* RIGHT, WRONG, SKIPPED */
    uint64_t calls, stack;
    struct verify_failure failure;
    char text[VERIFY_TEXT_BYTES];
};

struct result {
    qkern_status status;
    qkern_error error;
    bool refused;
    qkern_status refused_status;
    char refused_text[VERIFY_TEXT_BYTES];
    char name[QKERN_NAME_SIZE], version[QKERN_NAME_SIZE];
    char note[VERIFY_TEXT_BYTES];
    uint32_t kernels;
    uint32_t count;
    bool ended;
    struct outcome outcomes[OUTCOMES_MAX];
};

/* The worker as the tests have to start it. */
extern const char *const worker_words[];

/* Options for a plugin made for these tests; its path lives until the next call. */
struct verify_options options_for(const char *plugin);

/* Runs to the end; the result is to be freed. */
struct result *run_with(const struct verify_options *options);
struct result *run_plugin(const char *plugin);

/* The outcome of an entry point; fails if there is none. */
const struct outcome *outcome_of(const struct result *r, uint32_t type, uint32_t entry);

/* Fails unless the part is in the text. */
void assert_part(const char *text, const char *part);

#endif
