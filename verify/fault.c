/* SPDX-License-Identifier: MIT */
/*
 * The handler uses snprintf and memset, which are not on the list of what a handler may call. It
 * does so only while a kernel runs, which is pure: nothing of this process or of libc was under
 * way.
 */
#include "fault.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "protocol.h"
#include "report.h"

#define HANDLER_STACK_BYTES ((size_t)256 << 10)

static struct judge *watched;

/* "reads" or "writes", where the CPU says it. */
static const char *access_verb(const void *context)
{
#if defined(__x86_64__) && defined(REG_ERR)
    const ucontext_t *c = context;
    return (c->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? "writes" : "reads";
#elif defined(__aarch64__) && defined(ESR_MAGIC)
    const ucontext_t *c = context;
    const uint8_t *at = (const uint8_t *)c->uc_mcontext.__reserved;
    const uint8_t *end = at + sizeof c->uc_mcontext.__reserved;
    while (at + sizeof(struct _aarch64_ctx) <= end) {
        struct _aarch64_ctx head;
        memcpy(&head, at, sizeof head);
        if (head.magic == ESR_MAGIC) {
            struct esr_context esr;
            memcpy(&esr, at, sizeof esr);
            return (esr.esr & 1u << 6) != 0 ? "writes" : "reads";
        }
        if (head.size == 0)
            break;
        at += head.size;
    }
    return "touches";
#else
    (void)context;
    return "touches";
#endif
}

/* Where an address is in relation to a buffer of the call. */
static void buffer_describe(const struct judge *j, enum buffer b, const char *verb,
                            uintptr_t address, struct verify_failure *f)
{
    const uintptr_t start = (uintptr_t)j->at[b], end = start + j->size[b];
    const bool before = address < start;

    if (address >= start && address < end) /* between rows */
        failure_say(f->text, "%s %s at its byte %zu, which is in no row", verb,
                    buffer_name(j->entry, b), (size_t)(address - start));
    else
        failure_say(f->text, "%s %zu byte(s) %s of %s", verb,
                    (size_t)(before ? start - address : address - end + 1),
                    before ? "before the start" : "behind the end", buffer_name(j->entry, b));
}

static const char *segv_describe(const struct judge *j, int number, uintptr_t address,
                                 const char *verb, struct verify_failure *f)
{
    if (guarded_holds(&j->machine.stack, address)) {
        failure_say(f->text, "uses more than %zu KiB of stack", j->machine.stack_budget >> 10);
        return "stack";
    }
    if (j->trial->striped && guarded_holds(&j->stripes, address)) {
        buffer_describe(j, IN0, verb, address, f);
        return "outside";
    }
    for (int b = 0; b < BUFFERS; b++)
        if (guarded_holds(&j->memory[b], address)) {
            buffer_describe(j, (enum buffer)b, verb, address, f);
            return "outside";
        }
    failure_say(f->text, "%s: %s address 0x%" PRIxPTR, strsignal(number), verb, address);
    return "crash";
}

static void handle(int number, siginfo_t *info, void *context)
{
    struct judge *j = watched;
    struct verify_failure f = failure_none();
    const char *kind = "crash";

    if (!j->calling && number == WORKER_TIME_SIGNAL) /* the call has ended meanwhile */
        return;
    if (!j->calling) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    j->calling = false; /* a fault in here ends the process */
    if (number == WORKER_TIME_SIGNAL) {
        kind = "hang";
        failure_say(f.text, "does not return");
    } else if ((number == SIGSEGV || number == SIGBUS) && info->si_code > 0) {
        kind = segv_describe(j, number, (uintptr_t)info->si_addr, access_verb(context), &f);
    } else {
        failure_say(f.text, "%s", strsignal(number));
    }
    judge_report(j, kind, &f);
    _exit(WORKER_RESTART);
}

bool fault_watch(struct judge *j)
{
    static const int signals[] = {SIGSEGV,           SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT,
                                  WORKER_TIME_SIGNAL};
    struct sigaction action = {.sa_sigaction = handle};
    stack_t stack = {.ss_size = HANDLER_STACK_BYTES};

    stack.ss_sp =
        mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) != 0)
        return false;
    watched = j;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV); /* not again, but then it ends */
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            return false;
    return true;
}
