/* SPDX-License-Identifier: MIT */
/*
 * qkern-verify, the worker: loads one plugin and judges its kernels, one after the other. It is
 * started by the supervisor (verify.h), and speaks as protocol.h says.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "facts.h"
#include "fault.h"
#include "protocol.h"
#include "report.h"

struct wishes {
    const char *plugin;
    const char *types; /* NULL: all */
    uint64_t first;
    uint64_t seed;
    uint64_t repeat;
};

__attribute__((noreturn, format(printf, 2, 3))) static void stop(int status, const char *format,
                                                                 ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, PROTOCOL_NAME ": ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(status);
}

/* --- the command line ------------------------------------------------------------------------- */

static uint64_t number_parse(const char *option, const char *text)
{
    char *end;

    errno = 0;
    const uint64_t number = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-')
        stop(WORKER_USAGE, "%s: '%s' is no number", option, text);
    return number;
}

static struct wishes command_line_parse(int argc, char **argv)
{
    struct wishes wishes = {.seed = 1, .repeat = 1};

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            stop(WORKER_USAGE, "%s needs a value; use 'qkern verify'", argv[i]);
        const char *value = argv[i + 1];
        if (strcmp(argv[i], WORKER_PLUGIN) == 0)
            wishes.plugin = value;
        else if (strcmp(argv[i], WORKER_TYPES) == 0)
            wishes.types = value;
        else if (strcmp(argv[i], WORKER_FIRST) == 0)
            wishes.first = number_parse(argv[i], value);
        else if (strcmp(argv[i], WORKER_SEED) == 0)
            wishes.seed = number_parse(argv[i], value);
        else if (strcmp(argv[i], WORKER_REPEAT) == 0)
            wishes.repeat = number_parse(argv[i], value);
        else
            stop(WORKER_USAGE, "unknown option '%s'; use 'qkern verify'", argv[i]);
    }
    return wishes;
}

static bool type_is_wanted(const struct wishes *wishes, uint32_t type)
{
    for (const char *at = wishes->types; at != NULL && *at != '\0';) {
        char *end;
        if (strtoull(at, &end, 10) == type)
            return true;
        at = *end == ',' ? end + 1 : "";
    }
    return wishes->types == NULL;
}

/* --- the process ------------------------------------------------------------------------------ */

/* The protocol gets a descriptor of its own: what a plugin prints is nobody's business. */
static int output_take(void)
{
    const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    const int nowhere = open("/dev/null", O_WRONLY);

    if (output < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        stop(WORKER_FAILED, "standard output: %s", strerror(errno));
    close(nowhere);
    return output;
}

/* Nobody wants the results of a worker whose supervisor is gone, nor its core. */
static void end_quietly(void)
{
    const struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

/* --- the plugin ------------------------------------------------------------------------------- */

/* The record of the plugin: that of the path given, or the built-in one, which is the last. */
static qkern_record record_find(const qkern *q, uint32_t *index)
{
    qkern_record record = {.struct_size = (uint32_t)sizeof record};
    qkern_error error = QKERN_ERROR_INIT;
    const uint32_t count = qkern_record_count(q);

    *index = count > 1 ? 0 : count - 1;
    if (qkern_record_get(q, *index, &record, &error) != QKERN_OK)
        stop(WORKER_FAILED, "%s", error.message);
    return record;
}

static const struct qkern_kernel *kernel_find(const qkern *q, uint32_t record, uint32_t type)
{
    const struct qkern_kernel *kernel = NULL;
    return qkern_record_kernel(q, record, type, &kernel, NULL) == QKERN_OK ? kernel : NULL;
}

/* Why an entry point is not judged; "" if it is, NULL if there is none to speak of. */
static const char *skip_reason(const struct qkern_kernel *kernel, uint32_t type, uint32_t entry)
{
    const struct qkern_kernel *reference = reference_kernel(type);
    const bool has = kernel != NULL && entry_of(kernel, entry) != NULL;
    const bool known = reference != NULL && entry_of(reference, entry) != NULL;

    if (has)
        return known ? "" : "there is no scalar kernel to hold it to";
    return known ? "not in the plugin" : NULL;
}

static void kernels_judge(struct judge *j, const qkern *q, uint32_t record,
                          const struct wishes *wishes)
{
    for (int plan = 1; plan >= 0; plan--) {
        uint32_t number = 0;
        for (uint32_t type = 0; type < QKERN_TYPE_LIMIT; type++) {
            const struct qkern_kernel *kernel = kernel_find(q, record, type);
            for (uint32_t entry = 0; entry < QKERN_ENTRY_LIMIT; entry++) {
                const char *reason = skip_reason(kernel, type, entry);
                if (reason == NULL || !type_is_wanted(wishes, type))
                    continue;
                if (plan)
                    report_kernel(number, type, entry, reason);
                else if (reason[0] == '\0' && number >= wishes->first)
                    judge_kernel(j, number, kernel, entry);
                number++;
            }
        }
    }
}

int main(int argc, char **argv)
{
    const struct wishes wishes = command_line_parse(argc, argv);
    qkern_options options = QKERN_OPTIONS_INIT;
    qkern_error error = QKERN_ERROR_INIT;
    static struct judge judge;
    qkern *q = NULL;
    uint32_t index;

    end_quietly();
    options.flags = QKERN_OPEN_NO_SEARCH;
    options.plugin_paths = &wishes.plugin;
    options.plugin_path_count = wishes.plugin != NULL ? 1 : 0;
    if (qkern_open(&options, &q, &error) != QKERN_OK)
        stop(WORKER_FAILED, "%s", error.message);
    report_open(output_take());

    const qkern_record record = record_find(q, &index);
    if (record.stage != QKERN_STAGE_READY || record.status != (uint32_t)QKERN_OK) {
        report_refused(&record);
        report_end();
        qkern_close(q, NULL);
        return WORKER_DONE;
    }
    report_plugin(&record);
    if (!judge_open(&judge, q, wishes.seed, (uint32_t)wishes.repeat) || !fault_watch(&judge))
        stop(WORKER_FAILED, "out of memory");
    if (judge.machine.stack_budget != STACK_BUDGET)
        report_note("how much stack is used is not judged: this build is instrumented");
    kernels_judge(&judge, q, index, &wishes);
    report_end();
    qkern_close(q, NULL);
    return WORKER_DONE;
}
