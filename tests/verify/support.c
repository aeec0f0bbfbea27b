/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <stdio.h>

const char *const worker_words[] = {VERIFY_EMULATOR VERIFY_WORKER, NULL};

struct verify_options options_for(const char *plugin)
{
    static char path[512];
    struct verify_options options = VERIFY_OPTIONS_INIT;

    snprintf(path, sizeof path, "%s/plugins/%s.so", QKERN_TEST_BINARY_DIR, plugin);
    options.plugin = path;
    options.worker = worker_words;
    /* Of processor time; no step of a right kernel takes a tenth of it. Emulators are slow. */
    options.step_seconds = worker_words[1] == NULL ? 1 : 6;
    return options;
}

static bool collect(void *context, const struct verify_event *event)
{
    struct result *r = context;

    switch (event->kind) {
    case VERIFY_PLUGIN:
        snprintf(r->name, sizeof r->name, "%s", event->name);
        snprintf(r->version, sizeof r->version, "%s", event->version);
        r->kernels = event->kernels;
        return true;
    case VERIFY_REFUSED:
        r->refused = true;
        r->refused_status = event->status;
        snprintf(r->refused_text, sizeof r->refused_text, "%s", event->text);
        return true;
    case VERIFY_NOTE:
        snprintf(r->note, sizeof r->note, "%s", event->text);
        return true;
    case VERIFY_RIGHT:
    case VERIFY_WRONG:
    case VERIFY_SKIPPED: {
        assert_true(r->count < OUTCOMES_MAX);
        struct outcome *o = &r->outcomes[r->count++];
        *o = (struct outcome){event->type,  event->entry, event->kind, event->calls,
                              event->stack, {.kind = ""}, ""};
        if (event->kind == VERIFY_WRONG)
            o->failure = *event->failure;
        snprintf(o->text, sizeof o->text, "%s", event->text);
        return true;
    }
    case VERIFY_END:
        r->ended = true;
        return true;
    default:
        return true;
    }
}

struct result *run_with(const struct verify_options *options)
{
    const qkern_error fresh = QKERN_ERROR_INIT;
    struct result *r = calloc(1, sizeof *r);

    assert_non_null(r);
    r->error = fresh;
    r->status = verify_plugin(options, collect, r, &r->error);
    return r;
}

struct result *run_plugin(const char *plugin)
{
    const struct verify_options options = options_for(plugin);
    struct result *r = run_with(&options);

    if (r->status != QKERN_OK)
        print_error("%s: %s\n", qkern_status_name(r->status), r->error.message);
    assert_int_equal(r->status, QKERN_OK);
    assert_true(r->ended);
    return r;
}

const struct outcome *outcome_of(const struct result *r, uint32_t type, uint32_t entry)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->outcomes[i].type == type && r->outcomes[i].entry == entry)
            return &r->outcomes[i];
    fail_msg("nothing is said of type %u, entry %u", type, entry);
    return NULL;
}

void assert_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, text);
}
