/* SPDX-License-Identifier: MIT */
/* An instance, and opening one in a world of the caller's making. */
#ifndef QKERN_HOST_INSTANCE_H
#define QKERN_HOST_INSTANCE_H

#include <qkern.h>

#include "cpu_features.h"
#include "environment.h"
#include "pin.h"
#include "record.h"

struct qkern {
    struct pin_table pins;
    struct cpu_features features;
    struct record_list records;
};

/* What qkern_open takes from the machine, and tests replace. */
struct surroundings {
    const struct cpu_source *cpu;
    const struct environment_source *environment;
    const char *beside;            /* the folder beside libqkern; NULL: find out */
    const char *installed;         /* the folder fixed at build time */
    const char *descriptor_folder; /* where open files have a path */
    const struct barrier_source *barrier;
};

/* This machine's. */
struct surroundings surroundings_native(void);

/* qkern_open is this with surroundings_native(). */
qkern_status instance_open(const qkern_options *options, const struct surroundings *surroundings,
                           qkern **out, qkern_error *error);

#endif
