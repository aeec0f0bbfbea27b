/* SPDX-License-Identifier: MIT */
/*
 * The checker of plugins: judges every kernel of one plugin against the scalar ones, in a child
 * process, so that a kernel that crashes or never returns is a result and not the end.
 *
 * The child is the program qkern-verify (the worker). It loads the plugin with libqkern's own
 * checks, so nothing of a file is mapped that a host would refuse. Here is what starts it, limits
 * its time and reads its results; on Linux it ends with the thread that began the run. No call
 * prints, changes signal handlers or keeps anything global; each run belongs to one thread at a
 * time, any number of runs may go on at once.
 */
#ifndef QKERN_VERIFY_H
#define QKERN_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include <qkern.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VERIFY_NONE UINT64_MAX

/* X(identifier, name, what a kernel of which this is said has done) */
#define VERIFY_KINDS(X)                                                                            \
    X(INTEGER, "integer", "an exact integer is wrong, where all scales are 1")                     \
    X(LENGTH, "length", "right for one block, wrong for some number of them")                      \
    X(BITS, "bits", "bits or bytes are not those of the scalar kernel")                            \
    X(ALIGNMENT, "alignment", "wrong at some address only")                                        \
    X(STRIDE, "stride", "wrong where rows are not one after the other")                            \
    X(REPEAT, "repeat", "the same call does not give the same result twice")                       \
    X(OUTSIDE, "outside", "a byte outside the rows is read or written")                            \
    X(INPUT, "input", "an input is written to")                                                    \
    X(REGISTERS, "registers", "a callee-saved register is changed")                                \
    X(STACK, "stack", "more than 64 KiB of stack, or the caller's stack is touched")               \
    X(FP_STATE, "fp-state", "MXCSR, FPCR or the x87 state is changed")                             \
    X(DIRECTION, "direction", "the direction flag is left set")                                    \
    X(UPPER_HALVES, "upper-halves", "upper halves of vector registers are left in use")            \
    X(CRASH, "crash", "the process was brought down")                                              \
    X(HANG, "hang", "the call does not return")

/* One difference, the first that was found. Texts are "" and numbers VERIFY_NONE if there is none.
 * X(field) */
#define VERIFY_TEXTS(X)                                                                            \
    X(kind)     /* a name of VERIFY_KINDS */                                                       \
    X(step)     /* of the check */                                                                 \
    X(data)     /* what the inputs were */                                                         \
    X(place)    /* where they lay, if that matters */                                              \
    X(expected) /* as a value or as bytes */                                                       \
    X(found)                                                                                       \
    X(text) /* all of it, for a person */

#define VERIFY_NUMBERS(X)                                                                          \
    X(n)                                                                                           \
    X(rows)                                                                                        \
    X(stride)                                                                                      \
    X(row)                                                                                         \
    X(block)   /* in the row */                                                                    \
    X(element) /* in the row */                                                                    \
    X(byte)    /* in the output */

#define VERIFY_TEXT_BYTES 480

struct verify_failure {
#define FIELD(NAME) char NAME[VERIFY_TEXT_BYTES];
    VERIFY_TEXTS(FIELD)
#undef FIELD
#define FIELD(NAME) uint64_t NAME;
    VERIFY_NUMBERS(FIELD)
#undef FIELD
};

enum verify_event_kind {
    VERIFY_IDLE,    /* nothing new: some time has passed, or a signal has come */
    VERIFY_PLUGIN,  /* it is loaded: name, version, kernels */
    VERIFY_REFUSED, /* it is not: name and version as far as known, status, text says why */
    VERIFY_NOTE,    /* text: something that is not checked here */
    VERIFY_STEP,    /* type, entry, text: what is being checked now */
    VERIFY_RIGHT,   /* type, entry, calls, stack */
    VERIFY_WRONG,   /* type, entry, failure */
    VERIFY_SKIPPED, /* type, entry, text: why */
    VERIFY_END      /* all was judged */
};

/* Texts are valid until the next call on the run. */
struct verify_event {
    enum verify_event_kind kind;
    uint32_t type;
    uint32_t entry;   /* QKERN_ENTRY_... */
    uint32_t kernels; /* entry points of the plugin, skipped ones included */
    qkern_status status;
    uint64_t calls; /* of the kernel */
    uint64_t stack; /* the most bytes of stack that one of them used */
    const char *name;
    const char *version;
    const char *text;
    const struct verify_failure *failure;
};

struct verify_options {
    const char *plugin;    /* absolute path of the file; NULL: what is built into libqkern */
    const uint32_t *types; /* NULL: all */
    uint32_t type_count;
    uint64_t seed;       /* of the random data */
    uint32_t repeat;     /* how often the random part runs, each time with other data */
    double step_seconds; /* processor time of a step that is taken for endless; 0: the default */
    const char *const *worker; /* the words that start the worker, NULL-terminated; NULL: the one
                                  beside libqkern, then the installed one */
};

#define VERIFY_OPTIONS_INIT                                                                        \
    {                                                                                              \
        NULL, NULL, 0, 1, 1, 0, NULL                                                               \
    }

typedef struct verify_run verify_run;

/*
 * Starts a run. The options are copied. QKERN_E_ARGUMENT, QKERN_E_MEMORY, QKERN_E_NOT_FOUND if
 * there is no worker, QKERN_E_IO if it cannot be started.
 */
qkern_status verify_begin(const struct verify_options *options, verify_run **out,
                          qkern_error *error);

/*
 * Waits for the next event: a tenth of a second at most, or until a signal comes. A failure ends
 * the run: QKERN_E_FORMAT if the worker does not keep to the protocol, QKERN_E_IO if it ends or is
 * ended from outside before all is judged.
 */
qkern_status verify_next(verify_run *run, struct verify_event *event, qkern_error *error);

/* Ends the run, and the worker if it still runs. NULL is allowed. */
void verify_end(verify_run *run);

/*
 * The whole of it: calls `report` with each event, from the calling thread. A report that returns
 * false ends the run, which is no failure.
 */
typedef bool (*verify_report_fn)(void *context, const struct verify_event *event);
qkern_status verify_plugin(const struct verify_options *options, verify_report_fn report,
                           void *context, qkern_error *error);

#ifdef __cplusplus
}
#endif

#endif
