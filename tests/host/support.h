/* SPDX-License-Identifier: MIT */
/* A small world for libqkern to be opened in: a CPU, an environment, a folder of plugins. */
#ifndef QKERN_TESTS_HOST_SUPPORT_H
#define QKERN_TESTS_HOST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <qkern.h>

#include "host/arch.h"
#include "host/src/instance.h"

enum world_cpu { CPU_WITH_NOTHING, CPU_LOW, CPU_HIGH };

struct world {
    struct surroundings around;
    struct cpu_source cpu;
    struct environment_source environment;
    enum world_cpu level;
    const char *features, *max_isa, *plugin_path; /* the QKERN_ variables, NULL: not set */
    char folder[256];                             /* fresh, empty, private; becomes `installed` */
    qkern_error error;
};

/* cmocka setup and teardown: *state is a world with a CPU_HIGH and an empty environment. */
int world_setup(void **state);
int world_teardown(void **state);

/* A path in the world's folder, in one of a few static buffers. */
const char *world_path(const struct world *world, const char *name);

/* Copies a test plugin, "NAME.so" of the build, into the world's folder under another name. */
void world_add(const struct world *world, const char *plugin, const char *name);

/* Writes a file of those bytes, mode 0644, into the world's folder. */
void world_write(const struct world *world, const char *name, const void *bytes, size_t size);

/* Opens in the world; options may be NULL. The status is asserted to be OK. */
qkern *world_open(struct world *world, const qkern_options *options);

/* Closes; the status is asserted to be OK. */
void world_close(qkern *q);

/* The record whose path ends so; asserted to be there. "": the last one, the built-in plugin. */
qkern_record record_of(const qkern *q, const char *path_end);

/* Whether there is such a record. */
bool record_exists(const qkern *q, const char *path_end);

/* Asserts where an attempt ended, why, and that the text has a part. */
void assert_record(const qkern *q, const char *path_end, uint32_t stage, qkern_status status,
                   const char *text_part);

/* Asserts that a text has a part. */
void assert_part(const char *text, const char *part);

/* Whether a file whose path ends so is mapped into this process. */
bool is_mapped(const char *path_end);

/* The record that serves F32's entry point. */
uint32_t choice_of(const qkern *q, uint32_t entry);

#endif
