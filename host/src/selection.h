/* SPDX-License-Identifier: MIT */
/* Which plugin serves an entry point: the highest tier; of equal ones the one found first. */
#ifndef QKERN_HOST_SELECTION_H
#define QKERN_HOST_SELECTION_H

#include "generation.h"
#include "plugin.h"

/* The record whose plugin has the entry point and is preferred, or GENERATION_NO_RECORD. */
uint32_t selection_choose(const struct record_list *records, uint32_t type, uint32_t entry);

/*
 * Why record `other` was not chosen where `chosen` was (or GENERATION_NO_RECORD): one line without
 * a newline, for a type and entry point of that name.
 */
void selection_reason(const struct record_list *records, uint32_t chosen, uint32_t other,
                      const qkern_type_info *type, uint32_t entry, char *text, size_t size);

#endif
