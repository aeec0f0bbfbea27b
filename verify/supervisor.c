/* SPDX-License-Identifier: MIT */
/*
 * A run: the worker's lines become events. When a kernel has brought the worker down, it is started
 * again for those that follow.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "child.h"
#include "host/src/error.h"
#include "protocol.h"
#include "verify.h"

#define KERNELS_MAX 4096
#define STEP_SECONDS 20.0 /* of the processor; the longest takes a hundredth of that */
#define WALL_FACTOR 10.0  /* so much longer on the clock: machines are shared */
#define GRACE_SECONDS 2.0 /* from the polite signal to the other one */
#define IDLE_MILLISECONDS 100
#define FIELDS_MAX 24
#define WORDS_ADDED 11

struct planned {
    uint32_t type;
    uint32_t entry;
    char *reason; /* why it is skipped; NULL if it is not */
};

struct verify_run {
    char *words_memory; /* all words, one after the other */
    const char *words[CHILD_WORDS_MAX + WORDS_ADDED + 1];
    char first[24]; /* the word for the kernel to begin with */
    double step_seconds;

    struct child child;
    struct planned plan[KERNELS_MAX];
    uint32_t planned;
    uint32_t seen;    /* of the plan, by this worker */
    uint32_t skipped; /* of the plan, up to where skipped ones are told */
    uint32_t next;    /* the first kernel without an outcome */

    bool greeted;                  /* the protocol's first line has come */
    bool loaded;                   /* "plugin" has come */
    bool announced;                /* VERIFY_PLUGIN was told */
    bool ended;                    /* "end" has come */
    bool finished;                 /* everything has its outcome, and no worker runs */
    bool told;                     /* this worker's last kernel has its outcome */
    bool asked, killed;            /* signals that were sent for want of time */
    double since, since_processor; /* when the step began */
    char *held;                    /* a line that waits for VERIFY_PLUGIN to be told */

    char name[QKERN_NAME_SIZE], version[QKERN_NAME_SIZE];
    char step[64];
    char text[VERIFY_TEXT_BYTES];
    struct verify_failure failure;
};

/* --- start ------------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A list of words that is built in memory allocated once. */
struct word_list {
    verify_run *run;
    uint32_t count;
    size_t used, size;
};

static void word_add(struct word_list *list, const char *word)
{
    const size_t size = strlen(word) + 1;

    if (list->run->words_memory != NULL) {
        memcpy(list->run->words_memory + list->used, word, size);
        list->run->words[list->count] = list->run->words_memory + list->used;
    }
    list->used += size;
    list->count++;
}

static void number_add(struct word_list *list, const char *option, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    word_add(list, option);
    word_add(list, text);
}

static void words_add(struct word_list *list, const struct verify_options *options,
                      const char *worker, const char *types)
{
    if (options->worker != NULL)
        for (const char *const *word = options->worker; *word != NULL; word++)
            word_add(list, *word);
    else
        word_add(list, worker);
    number_add(list, WORKER_SEED, options->seed);
    number_add(list, WORKER_REPEAT, options->repeat);
    if (options->plugin != NULL) {
        word_add(list, WORKER_PLUGIN);
        word_add(list, options->plugin);
    }
    if (types != NULL) {
        word_add(list, WORKER_TYPES);
        word_add(list, types);
    }
    word_add(list, WORKER_FIRST); /* its value is put behind, anew for each start */
}

/* "2,12": freed by the caller; NULL if there is no memory. */
static char *types_join(const struct verify_options *options)
{
    char *text = calloc(options->type_count + 1, 12);
    size_t used = 0;

    for (uint32_t i = 0; text != NULL && i < options->type_count; i++)
        used += (size_t)sprintf(text + used, "%s%" PRIu32, i == 0 ? "" : ",", options->types[i]);
    return text;
}

static qkern_status words_make(verify_run *run, const struct verify_options *options,
                               qkern_error *error)
{
    qkern_status status = QKERN_OK;
    char *worker = NULL, *types = NULL;

    if (options->worker == NULL)
        status = child_find(&worker, error);
    if (status == QKERN_OK && options->types != NULL && (types = types_join(options)) == NULL)
        status = error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: a run");
    if (status == QKERN_OK) {
        struct word_list list = {.run = run};
        words_add(&list, options, worker, types); /* counts */
        run->words_memory = malloc(list.used);
        list = (struct word_list){.run = run};
        if (run->words_memory != NULL) {
            words_add(&list, options, worker, types);
            run->words[list.count] = run->first;
            run->words[list.count + 1] = NULL;
        } else {
            status = error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: a run");
        }
    }
    free(worker);
    free(types);
    return status;
}

static void step_begin(verify_run *run)
{
    run->since = now();
    run->since_processor = child_seconds(&run->child);
    run->asked = run->killed = false;
}

static qkern_status worker_start(verify_run *run, qkern_error *error)
{
    snprintf(run->first, sizeof run->first, "%" PRIu32, run->next);
    run->seen = 0;
    run->greeted = run->loaded = run->ended = run->told = false;
    run->step[0] = '\0';
    const qkern_status status = child_start(&run->child, run->words, error);
    if (status == QKERN_OK)
        step_begin(run);
    return status;
}

static qkern_status options_check(const struct verify_options *options, verify_run **out,
                                  qkern_error *error)
{
    uint32_t words = 0;

    if (options == NULL || out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "verify_begin: %s is NULL",
                         options == NULL ? "options" : "out");
    if (options->plugin != NULL && options->plugin[0] != '/')
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "verify_begin: the plugin's path '%.256s' is not absolute",
                         options->plugin);
    if (options->repeat == 0)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "verify_begin: repeat is 0, which would check nothing");
    if (options->types != NULL && options->type_count == 0)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "verify_begin: the list of types is empty");
    while (options->worker != NULL && options->worker[words] != NULL)
        words++;
    if (options->worker != NULL && (words == 0 || words > CHILD_WORDS_MAX))
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "verify_begin: the worker has %" PRIu32 " words; 1 to %d are right", words,
                         CHILD_WORDS_MAX);
    return QKERN_OK;
}

qkern_status verify_begin(const struct verify_options *options, verify_run **out,
                          qkern_error *error)
{
    qkern_status status = options_check(options, out, error);

    if (status != QKERN_OK)
        return status;
    verify_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: a run");
    run->step_seconds = options->step_seconds > 0 ? options->step_seconds : STEP_SECONDS;
    status = words_make(run, options, error);
    if (status == QKERN_OK)
        status = worker_start(run, error);
    if (status == QKERN_OK)
        *out = run;
    else
        verify_end(run);
    return status;
}

void verify_end(verify_run *run)
{
    int status;

    if (run == NULL)
        return;
    child_signal(&run->child, SIGKILL);
    child_reap(&run->child, true, &status);
    for (uint32_t i = 0; i < run->planned; i++)
        free(run->plan[i].reason);
    free(run->words_memory);
    free(run->held);
    free(run);
}

/* --- lines ------------------------------------------------------------------------------------ */

struct fields {
    uint32_t count;
    char *text[FIELDS_MAX];
};

/* Takes a line apart, in its own memory. */
static struct fields fields_split(char *line)
{
    struct fields fields = {.count = 1, .text = {line}};
    char *to = line;

    for (const char *from = line; *from != '\0'; from++) {
        if (*from == '\t' && fields.count < FIELDS_MAX) {
            *to++ = '\0';
            fields.text[fields.count++] = to;
        } else if (*from == '\\' && from[1] != '\0') {
            from++;
            *to++ = (char)(*from == 't' ? '\t' : *from == 'n' ? '\n' : *from);
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return fields;
}

static bool number_read(const char *text, uint64_t limit, uint64_t *number)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && *number < limit;
}

static bool text_copy(char *to, size_t size, const char *from)
{
    const int length = snprintf(to, size, "%s", from);
    return length >= 0 && (size_t)length < size;
}

/* The name of the kernel that is checked, for messages. */
static void kernel_name(const verify_run *run, char *text, size_t size)
{
    qkern_type_info type = {.struct_size = (uint32_t)sizeof type, .name = "?"};

    if (run->step[0] == '\0' || run->next >= run->planned) {
        snprintf(text, size, "before it checked anything");
        return;
    }
    qkern_type_get(run->plan[run->next].type, &type, NULL);
    snprintf(text, size, "in %s %s, step %s", type.name,
             qkern_entry_name(run->plan[run->next].entry), run->step);
}

/* Each reader of a line: false if it is not as the protocol has it. `told` says that there is an
 * event. */
typedef bool (*read_fn)(verify_run *run, const struct fields *fields, struct verify_event *event,
                        bool *told);

static bool plugin_read(verify_run *run, const struct fields *fields, struct verify_event *event,
                        bool *told)
{
    (void)event, (void)told;
    run->loaded = true;
    return text_copy(run->name, sizeof run->name, fields->text[1]) &&
           text_copy(run->version, sizeof run->version, fields->text[2]);
}

static bool refused_read(verify_run *run, const struct fields *fields, struct verify_event *event,
                         bool *told)
{
    uint64_t status;

    if (!number_read(fields->text[3], INT32_MAX, &status) || run->loaded ||
        !text_copy(run->name, sizeof run->name, fields->text[1]) ||
        !text_copy(run->version, sizeof run->version, fields->text[2]))
        return false;
    snprintf(run->text, sizeof run->text, "%s", fields->text[4]);
    event->kind = VERIFY_REFUSED;
    event->status = (qkern_status)status;
    *told = true;
    return true;
}

static bool note_read(verify_run *run, const struct fields *fields, struct verify_event *event,
                      bool *told)
{
    if (run->next > 0)
        return true;
    snprintf(run->text, sizeof run->text, "%s", fields->text[1]);
    event->kind = VERIFY_NOTE;
    *told = true;
    return true;
}

static bool kernel_read(verify_run *run, const struct fields *fields, struct verify_event *event,
                        bool *told)
{
    uint64_t number, type, entry;

    (void)event, (void)told;
    if (!number_read(fields->text[1], KERNELS_MAX, &number) || number != run->seen ||
        !number_read(fields->text[2], QKERN_TYPE_LIMIT, &type) ||
        !number_read(fields->text[3], QKERN_ENTRY_LIMIT, &entry) || !run->loaded)
        return false;
    run->seen++;
    struct planned *planned = &run->plan[number];
    if (run->announced) /* another worker, the same plan */
        return number < run->planned && planned->type == type && planned->entry == entry;
    *planned = (struct planned){(uint32_t)type, (uint32_t)entry, NULL};
    run->planned++;
    if (fields->text[4][0] != '\0')
        planned->reason = strdup(fields->text[4]);
    return fields->text[4][0] == '\0' || planned->reason != NULL;
}

/* The number of a kernel that is to be checked next. */
static bool current_read(verify_run *run, const char *text)
{
    uint64_t number;

    while (run->next < run->planned && run->plan[run->next].reason != NULL)
        run->next++;
    return number_read(text, run->planned, &number) && number == run->next;
}

static void event_place(const verify_run *run, struct verify_event *event)
{
    event->type = run->plan[run->next].type;
    event->entry = run->plan[run->next].entry;
}

static bool step_read(verify_run *run, const struct fields *fields, struct verify_event *event,
                      bool *told)
{
    if (!current_read(run, fields->text[1]) ||
        !text_copy(run->step, sizeof run->step, fields->text[2]))
        return false;
    step_begin(run);
    run->told = false;
    snprintf(run->text, sizeof run->text, "%s", run->step);
    event->kind = VERIFY_STEP;
    event_place(run, event);
    *told = true;
    return true;
}

static void outcome_tell(verify_run *run, struct verify_event *event, enum verify_event_kind kind,
                         bool *told)
{
    event->kind = kind;
    event_place(run, event);
    run->next++;
    run->told = true;
    run->step[0] = '\0';
    *told = true;
}

static bool right_read(verify_run *run, const struct fields *fields, struct verify_event *event,
                       bool *told)
{
    if (!current_read(run, fields->text[1]) ||
        !number_read(fields->text[2], UINT64_MAX, &event->calls) ||
        !number_read(fields->text[3], UINT64_MAX, &event->stack))
        return false;
    outcome_tell(run, event, VERIFY_RIGHT, told);
    return true;
}

static void failure_clear(struct verify_failure *failure)
{
#define CLEAR(NAME) failure->NAME[0] = '\0';
    VERIFY_TEXTS(CLEAR)
#undef CLEAR
#define CLEAR(NAME) failure->NAME = VERIFY_NONE;
    VERIFY_NUMBERS(CLEAR)
#undef CLEAR
}

/* "key=value" into the field of that name. */
static bool pair_read(struct verify_failure *failure, char *pair)
{
    char *value = strchr(pair, '=');

    if (value == NULL)
        return false;
    *value++ = '\0';
#define READ(NAME)                                                                                 \
    if (strcmp(pair, #NAME) == 0)                                                                  \
        return text_copy(failure->NAME, sizeof failure->NAME, value);
    VERIFY_TEXTS(READ)
#undef READ
#define READ(NAME)                                                                                 \
    if (strcmp(pair, #NAME) == 0)                                                                  \
        return number_read(value, VERIFY_NONE, &failure->NAME);
    VERIFY_NUMBERS(READ)
#undef READ
    return false;
}

static bool kind_is_known(const char *kind)
{
#define KNOWN(IDENTIFIER, NAME, TEXT)                                                              \
    if (strcmp(kind, NAME) == 0)                                                                   \
        return true;
    VERIFY_KINDS(KNOWN)
#undef KNOWN
    return false;
}

static bool wrong_read(verify_run *run, const struct fields *fields, struct verify_event *event,
                       bool *told)
{
    if (!current_read(run, fields->text[1]))
        return false;
    failure_clear(&run->failure);
    for (uint32_t i = 2; i < fields->count; i++)
        if (!pair_read(&run->failure, fields->text[i]))
            return false;
    if (!kind_is_known(run->failure.kind))
        return false;
    event->failure = &run->failure;
    outcome_tell(run, event, VERIFY_WRONG, told);
    return true;
}

static bool end_read(verify_run *run, const struct fields *fields, struct verify_event *event,
                     bool *told)
{
    (void)fields, (void)event, (void)told;
    run->ended = true;
    return true;
}

/* X(first field, least and greatest count of fields, whether it belongs to the plan) */
#define LINES(X)                                                                                   \
    X(plugin, 4, 4)                                                                                \
    X(refused, 5, 5)                                                                               \
    X(note, 2, 2)                                                                                  \
    X(kernel, 5, 5)                                                                                \
    X(step, 3, 3)                                                                                  \
    X(right, 4, 4)                                                                                 \
    X(wrong, 3, FIELDS_MAX)                                                                        \
    X(end, 1, 1)

static bool fields_read(verify_run *run, const struct fields *fields, struct verify_event *event,
                        bool *told)
{
    static const struct {
        const char *name;
        uint32_t least, most;
        read_fn read;
    } lines[] = {
#define LINE(NAME, LEAST, MOST) {#NAME, LEAST, MOST, NAME##_read},
        LINES(LINE)
#undef LINE
    };

    if (!run->greeted) {
        run->greeted = fields->count == 2 && strcmp(fields->text[0], PROTOCOL_NAME) == 0 &&
                       strcmp(fields->text[1], PROTOCOL_REVISION) == 0;
        return run->greeted;
    }
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && !run->ended; i++)
        if (strcmp(fields->text[0], lines[i].name) == 0)
            return fields->count >= lines[i].least && fields->count <= lines[i].most &&
                   lines[i].read(run, fields, event, told);
    return false;
}

static qkern_status line_read(verify_run *run, char *line, struct verify_event *event, bool *told,
                              qkern_error *error)
{
    char quoted[ERROR_QUOTE_BYTES], where[96];

    error_quote(quoted, line, strlen(line));
    kernel_name(run, where, sizeof where);
    const struct fields fields = fields_split(line);
    if (fields_read(run, &fields, event, told))
        return QKERN_OK;
    return error_set(error, QKERN_E_FORMAT, QKERN_NO_INDEX,
                     "the checking process %s does not keep to the protocol (%s): expected %s, "
                     "found '%s'",
                     run->words[0], where,
                     run->greeted ? "a line of revision " PROTOCOL_REVISION
                                  : PROTOCOL_NAME " " PROTOCOL_REVISION,
                     quoted);
}

/* --- the end of a worker ---------------------------------------------------------------------- */

/* Signals that a kernel causes; the others come from outside. */
static bool signal_is_a_fault(int number)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (number == faults[i])
            return true;
    return false;
}

/* A failure of the kernel that was being checked, which the worker could not report itself. */
static void collapse_tell(verify_run *run, const char *kind, const char *text,
                          struct verify_event *event, bool *told)
{
    failure_clear(&run->failure);
    snprintf(run->failure.kind, sizeof run->failure.kind, "%s", kind);
    snprintf(run->failure.step, sizeof run->failure.step, "%s", run->step);
    snprintf(run->failure.text, sizeof run->failure.text, "%s", text);
    event->failure = &run->failure;
    outcome_tell(run, event, VERIFY_WRONG, told);
}

static qkern_status unexpected_end(const verify_run *run, const char *how, qkern_error *error)
{
    char where[96];
    char complaint[CHILD_COMPLAINT_BYTES];
    size_t length;

    kernel_name(run, where, sizeof where);
    snprintf(complaint, sizeof complaint, "%s", run->child.complaint);
    for (length = strlen(complaint); length > 0 && complaint[length - 1] == '\n'; length--)
        complaint[length - 1] = '\0';
    return error_set(error, QKERN_E_IO, QKERN_NO_INDEX, "the checking process %s %s %s%s%s",
                     run->words[0], how, where, complaint[0] != '\0' ? ": " : "", complaint);
}

/* All kernels up to the end have an outcome. */
static bool plan_is_done(verify_run *run)
{
    while (run->next < run->planned && run->plan[run->next].reason != NULL)
        run->next++;
    return run->next == run->planned;
}

/* Another worker for the rest, if there is any. */
static qkern_status go_on(verify_run *run, qkern_error *error)
{
    run->finished = plan_is_done(run);
    return run->finished ? QKERN_OK : worker_start(run, error);
}

/* What the end of the worker means: an event, a new worker, or a failure of the run. */
static qkern_status end_understand(verify_run *run, enum child_end end, int status,
                                   struct verify_event *event, bool *told, qkern_error *error)
{
    const bool checking = run->step[0] != '\0' && !run->told;
    char how[96];

    if (run->ended) {
        if (run->loaded && !plan_is_done(run))
            return unexpected_end(run, "has left out a kernel", error);
        run->finished = true;
        return QKERN_OK;
    }
    const bool timed_out =
        run->killed || (run->asked && end == CHILD_ENDED && WIFSIGNALED(status) &&
                        WTERMSIG(status) == WORKER_TIME_SIGNAL);
    if (timed_out && checking) {
        collapse_tell(run, "hang", "does not return", event, told);
        return go_on(run, error);
    }
    if (end == CHILD_ENDED && WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        if (signal_is_a_fault(number) && checking) {
            snprintf(how, sizeof how, "brings the process down: %s", strsignal(number));
            collapse_tell(run, "crash", how, event, told);
            return go_on(run, error);
        }
        snprintf(how, sizeof how, "was ended by signal %d (%s)%s,", number, strsignal(number),
                 timed_out ? " for want of time" : "");
        return unexpected_end(run, how, error);
    }
    if (end == CHILD_ENDED && WIFEXITED(status) && WEXITSTATUS(status) == WORKER_RESTART &&
        run->told)
        return go_on(run, error);
    if (end == CHILD_ENDED && WIFEXITED(status))
        snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
    else
        snprintf(how, sizeof how, "ended, nobody knows how,");
    return unexpected_end(run, how, error);
}

/* A step that takes too long is ended: first so that the worker can say where it is. */
static void time_check(verify_run *run)
{
    const double processor = child_seconds(&run->child) - run->since_processor;
    const double wall = now() - run->since;

    if (run->child.pid == 0 || run->killed)
        return;
    if (!run->asked && (processor > run->step_seconds || wall > WALL_FACTOR * run->step_seconds)) {
        child_signal(&run->child, WORKER_TIME_SIGNAL);
        run->asked = true;
        run->since = now();
    } else if (run->asked && wall > GRACE_SECONDS) {
        child_signal(&run->child, SIGKILL);
        run->killed = true;
    }
}

/* --- events ----------------------------------------------------------------------------------- */

/* What is to be told before the next line: the plugin, when its plan is whole, and what is left
 * out of it. */
static bool plan_tell(verify_run *run, const char *line, struct verify_event *event)
{
    static const char part_of_plan[] = "kernel\t", note[] = "note\t";

    if (!run->announced && run->loaded &&
        strncmp(line, part_of_plan, sizeof part_of_plan - 1) != 0 &&
        strncmp(line, note, sizeof note - 1) != 0) {
        run->announced = true;
        event->kind = VERIFY_PLUGIN;
        return true;
    }
    for (; run->announced && run->skipped < run->planned; run->skipped++) {
        const struct planned *planned = &run->plan[run->skipped];
        if (planned->reason == NULL)
            continue;
        event->kind = VERIFY_SKIPPED;
        event->type = planned->type;
        event->entry = planned->entry;
        snprintf(run->text, sizeof run->text, "%s", planned->reason);
        run->skipped++;
        return true;
    }
    return false;
}

/* Reads what has come, until there is an event or nothing more. */
static qkern_status lines_read(verify_run *run, struct verify_event *event, bool *told,
                               qkern_error *error)
{
    qkern_status status = QKERN_OK;

    while (status == QKERN_OK && !*told) {
        char *line = run->held;
        if (line == NULL) {
            status = child_line(&run->child, &line, error);
            if (status != QKERN_OK || line == NULL)
                return status;
        }
        *told = plan_tell(run, line, event);
        if (*told && run->held == NULL) {
            run->held = strdup(line);
            if (run->held == NULL)
                return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: a run");
        }
        if (*told)
            return QKERN_OK;
        status = line_read(run, line, event, told, error);
        free(run->held);
        run->held = NULL;
    }
    return status;
}

qkern_status verify_next(verify_run *run, struct verify_event *event, qkern_error *error)
{
    bool told = false;

    *event = (struct verify_event){.kind = VERIFY_IDLE,
                                   .kernels = 0,
                                   .name = run->name,
                                   .version = run->version,
                                   .text = run->text};
    run->text[0] = '\0';
    qkern_status status = lines_read(run, event, &told, error);
    if (status == QKERN_OK && !told && !child_is_silent(&run->child) &&
        child_wait(&run->child, IDLE_MILLISECONDS))
        status = lines_read(run, event, &told, error);
    if (status == QKERN_OK && !told && !run->finished && child_is_silent(&run->child)) {
        int how = 0;
        const enum child_end end = child_reap(&run->child, false, &how);
        if (end == CHILD_RUNNING)
            poll(NULL, 0, 1);
        else
            status = end_understand(run, end, how, event, &told, error);
    }
    if (status == QKERN_OK && !told && run->finished)
        event->kind = VERIFY_END;
    else if (status == QKERN_OK && !told)
        time_check(run);
    event->kernels = run->planned;
    return status;
}

qkern_status verify_plugin(const struct verify_options *options, verify_report_fn report,
                           void *context, qkern_error *error)
{
    struct verify_event event = {.kind = VERIFY_IDLE};
    verify_run *run = NULL;
    qkern_status status = verify_begin(options, &run, error);
    bool wanted = true;

    while (status == QKERN_OK && wanted && event.kind != VERIFY_END) {
        status = verify_next(run, &event, error);
        wanted = status != QKERN_OK || event.kind == VERIFY_IDLE || report(context, &event);
    }
    verify_end(run);
    return status;
}
