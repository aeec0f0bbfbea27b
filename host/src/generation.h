/* SPDX-License-Identifier: MIT */
/* A generation: one immutable table of chosen kernels. */
#ifndef QKERN_HOST_GENERATION_H
#define QKERN_HOST_GENERATION_H

#include <qkern.h>

#include "record.h"

#define GENERATION_NO_RECORD UINT32_MAX

struct qkern_generation {
    uint64_t number;
    struct qkern_kernel kernels[QKERN_TYPE_LIMIT]; /* by type; struct_size 0: none */
    /* Which record's plugin an entry point is from, or GENERATION_NO_RECORD. */
    uint32_t serves[QKERN_TYPE_LIMIT][QKERN_ENTRY_LIMIT];
};

/* Chooses among the ready records. NULL if out of memory; the caller frees it. */
struct qkern_generation *generation_create(const struct record_list *records, uint64_t number);

#endif
