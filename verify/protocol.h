/* SPDX-License-Identifier: MIT */
/*
 * What the worker tells its supervisor: lines of fields with a tab between, the first of which says
 * what the line is. In a field a tab, a line's end and a backslash are \t, \n and \\.
 *
 *   qkern-verify REVISION                first line
 *   plugin NAME VERSION PATH             it was loaded; PATH is empty for what is built in
 *   refused NAME VERSION STATUS TEXT     it was not, and nothing follows but "end"
 *   note TEXT                            what is not checked here
 *   kernel NUMBER TYPE ENTRY REASON      the plan, ascending from 0; with a reason it is skipped
 *   step NUMBER NAME                     what is checked from now on
 *   right NUMBER CALLS STACK
 *   wrong NUMBER KIND STEP KEY=VALUE...  the keys of struct verify_failure
 *   end                                  last line
 *
 * A worker that a kernel has brought down ends after its "wrong" with WORKER_RESTART; it is then
 * started again for the kernels that follow.
 */
#ifndef QKERN_VERIFY_PROTOCOL_H
#define QKERN_VERIFY_PROTOCOL_H

#define PROTOCOL_NAME "qkern-verify"
#define PROTOCOL_REVISION "1"

/* Options of the worker, each followed by its value. */
#define WORKER_PLUGIN "--plugin" /* an absolute path; without it, what is built in */
#define WORKER_FIRST "--first"   /* the number of the first kernel to check */
#define WORKER_TYPES "--types"   /* numbers with commas between */
#define WORKER_SEED "--seed"
#define WORKER_REPEAT "--repeat"

/* By which the supervisor asks for the report of a call that takes too long. */
#define WORKER_TIME_SIGNAL SIGXCPU

/* Exit statuses */
#define WORKER_DONE 0
#define WORKER_FAILED 1 /* its reason is on standard error */
#define WORKER_USAGE 2
#define WORKER_RESTART 3

#endif
