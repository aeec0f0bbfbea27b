/* SPDX-License-Identifier: MIT */
/* Records: what became of each attempt to use a plugin. */
#ifndef QKERN_HOST_RECORD_H
#define QKERN_HOST_RECORD_H

#include <qkern.h>

#include "finding.h"

struct plugin;

struct record {
    uint32_t stage;
    qkern_status status;
    uint32_t tier;
    uint32_t features[QKERN_FEATURE_WORDS];
    char *path;         /* owned, "" if linked in */
    const char *origin; /* static */
    char name[QKERN_NAME_SIZE];
    char version[QKERN_NAME_SIZE];
    char build_id[129];
    struct finding finding;
    struct plugin *plugin; /* owned; NULL unless the stage is READY */
};

/* In the order of the attempts. A record does not move once it is added. */
struct record_list {
    struct record **items;
    uint32_t count;
    uint32_t capacity;
};

/* Adds an empty record; NULL if out of memory. path is copied, origin is static. */
struct record *record_add(struct record_list *list, const char *path, const char *origin);

/* Copies what a manifest says of itself. */
void record_describe(struct record *record, const struct qkern_manifest *manifest);

/* Releases the records and their plugins, the last one first. */
void record_release_all(struct record_list *list);

#endif
