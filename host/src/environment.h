/* SPDX-License-Identifier: MIT */
/* The QKERN_ variables, read once, through one function that tests can replace. */
#ifndef QKERN_HOST_ENVIRONMENT_H
#define QKERN_HOST_ENVIRONMENT_H

#include <qkern.h>

/* Where variables come from. The value need not outlive the call of environment_read. */
struct environment_source {
    const char *(*get)(void *context, const char *name); /* NULL if not set */
    void *context;
};

/* The process's own environment; empty in secure-execution mode. Static, constant. */
const struct environment_source *environment_native(void);

/* Copies of the variables; NULL for one that is not set or empty. */
struct environment {
    char *features;    /* QKERN_FEATURES */
    char *max_isa;     /* QKERN_MAX_ISA */
    char *plugin_path; /* QKERN_PLUGIN_PATH */
};

/* Reads all of them. QKERN_E_MEMORY; *out can be released in any case. */
qkern_status environment_read(const struct environment_source *source, struct environment *out,
                              qkern_error *error);

void environment_release(struct environment *environment);

#endif
