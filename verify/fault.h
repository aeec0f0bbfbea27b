/* SPDX-License-Identifier: MIT */
/* Signals that a kernel causes, made into a report of what it did. */
#ifndef QKERN_VERIFY_FAULT_H
#define QKERN_VERIFY_FAULT_H

#include "judge.h"

/*
 * From now on a fault in a call of this judge's kernel is reported, and ends the process with
 * WORKER_RESTART; so does FAULT_TIME_SIGNAL. Anything else ends it as it always does. False if
 * there is no memory.
 */
bool fault_watch(struct judge *j);

#endif
