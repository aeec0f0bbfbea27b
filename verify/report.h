/* SPDX-License-Identifier: MIT */
/* The worker's side of protocol.h. Each function writes one line at once. */
#ifndef QKERN_VERIFY_REPORT_H
#define QKERN_VERIFY_REPORT_H

#include <stdint.h>

#include "verify.h"

/* Where the lines go: writes the first one. If one cannot be written the process ends. */
void report_open(int descriptor);

void report_plugin(const qkern_record *record);
void report_refused(const qkern_record *record);
void report_note(const char *text);
void report_kernel(uint32_t number, uint32_t type, uint32_t entry, const char *reason);
void report_step(uint32_t number, const char *name);
void report_right(uint32_t number, uint64_t calls, uint64_t stack);
void report_wrong(uint32_t number, const struct verify_failure *failure);
void report_end(void);

/* A failure without anything in it. */
struct verify_failure failure_none(void);

/* Appends to one of its texts, as far as there is room. */
void failure_say(char text[VERIFY_TEXT_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
