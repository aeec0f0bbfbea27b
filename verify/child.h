/* SPDX-License-Identifier: MIT */
/* The worker as a process: where its program is, its start, what it writes, its end. */
#ifndef QKERN_VERIFY_CHILD_H
#define QKERN_VERIFY_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <qkern.h>

#define CHILD_WORDS_MAX 32
#define CHILD_LINE_BYTES 16384
#define CHILD_COMPLAINT_BYTES 240

struct child {
    pid_t pid;              /* 0: there is none */
    int output, complaints; /* pipes; -1 once closed */
    size_t filled;          /* of the line below */
    size_t taken;           /* what was given out of it */
    char line[CHILD_LINE_BYTES + 1];
    size_t complained;
    char complaint[CHILD_COMPLAINT_BYTES]; /* the beginning of what it said on standard error */
};

/*
 * The worker's program: beside libqkern, else where it is installed. *out is to be freed.
 * QKERN_E_NOT_FOUND, QKERN_E_MEMORY.
 */
qkern_status child_find(char **out, qkern_error *error);

/* Starts a process from its NULL-terminated words. QKERN_E_IO. */
qkern_status child_start(struct child *child, const char *const *words, qkern_error *error);

/*
 * The next line, without its end, valid until the next call; NULL if there is none yet.
 * QKERN_E_FORMAT if it is longer than any that the protocol has.
 */
qkern_status child_line(struct child *child, char **line, qkern_error *error);

/*
 * Waits for output; false if there was none within so many milliseconds, or if a signal came.
 * Without output any more, both pipes are closed.
 */
bool child_wait(struct child *child, int milliseconds);
bool child_is_silent(
    const struct child *child); /* it has closed its output, and all was given out */

/* Processor time so far, in seconds; 0 where the system does not tell. */
double child_seconds(const struct child *child);

/* Sends a signal. */
void child_signal(const struct child *child, int number);

/*
 * Takes the status of a process that has ended, and closes everything. With `wait` it waits for the
 * end, else CHILD_RUNNING means that it has not come. CHILD_LOST: somebody else has taken the
 * status.
 */
enum child_end { CHILD_RUNNING, CHILD_ENDED, CHILD_LOST };
enum child_end child_reap(struct child *child, bool wait, int *status);

#endif
