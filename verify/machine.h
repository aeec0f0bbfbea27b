/* SPDX-License-Identifier: MIT */
/*
 * Calling a kernel on a stack of its own, and looking at what it left behind: callee-saved
 * registers, stack, FP state, direction flag, upper halves of vector registers.
 */
#ifndef QKERN_VERIFY_MACHINE_H
#define QKERN_VERIFY_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include <qkern.h>

#include "call_frame.h"
#include "facts.h"
#include "guarded.h"

/* What an entry point may use, with all that it calls (qkern/kernel.h). */
#define STACK_BUDGET ((size_t)64 << 10)

/* The FP state that a call is made in. */
enum fp_mode {
    FP_DEFAULT,
    FP_FLUSH,       /* FTZ and DAZ, FPCR.FZ */
    FP_TOWARD_ZERO, /* rounding */
    FP_MODES
};

extern const char *const fp_mode_names[FP_MODES];

struct machine {
    struct guarded stack; /* the budget, then a page that belongs to the caller */
    uintptr_t stack_top;
    size_t stack_budget;
    uint64_t upper;       /* UPPER_... */
    uint16_t x87_control; /* as it is found after a call that does nothing */
    uint64_t calls;
    struct call_frame frame;
};

/* What a call left changed: a kind of the protocol, and a sentence that begins with a verb. */
struct remains {
    const char *kind; /* NULL: nothing */
    char text[200];
};

/* False if there is no memory. q tells the features of the CPU. */
bool machine_open(struct machine *m, const qkern *q);

/* Calls f(arguments...). The result is that of a function that returns a float. */
float machine_call(struct machine *m, entry_fn f, const uint64_t arguments[6], enum fp_mode mode,
                   struct remains *remains);

/* Forgets how much of the stack was used; how much since then, in bytes. */
void machine_stack_forget(const struct machine *m);
size_t machine_stack_used(const struct machine *m);

#endif
