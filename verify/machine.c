/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* An instrumented plugin takes more stack, for the gaps between its variables. */
#if defined(__SANITIZE_ADDRESS__)
#define STACK_FACTOR 64
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACK_FACTOR 64
#endif
#endif
#ifndef STACK_FACTOR
#define STACK_FACTOR 1
#endif

#define STACK_FILL 0xa5
#define CALLER_BYTES 256 /* above the kernel's frame, watched */

const char *const fp_mode_names[FP_MODES] = {"", "subnormals flushed", "rounding toward zero"};

/* --- what is said ----------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void remain(struct remains *remains, const char *kind,
                                                         const char *format, ...)
{
    va_list arguments;

    remains->kind = kind;
    va_start(arguments, format);
    vsnprintf(remains->text, sizeof remains->text, format, arguments);
    va_end(arguments);
}

/* Compares the callee-saved registers of one kind. */
static void registers_check(const char *const *names, size_t count, const uint64_t *before,
                            const uint64_t *after, struct remains *remains)
{
    for (size_t i = 0; i < count && remains->kind == NULL; i++)
        if (before[i] != after[i])
            remain(remains, "registers",
                   "changes the callee-saved register %s from 0x%016" PRIx64 " to 0x%016" PRIx64,
                   names[i], before[i], after[i]);
}

/* --- the architecture ------------------------------------------------------------------------- */

#if defined(__x86_64__)

#include <cpuid.h>

static const uint64_t fp_state[FP_MODES] = {0x1f80, 0x1f80 | 0x8040, 0x1f80 | 0x6000};
#define FP_STATE_MASK 0xffc0u /* the rest are flags of what has happened */
#define FP_STATE_NAME "MXCSR"

static const char *const saved_names[] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};

#define FLAG_DIRECTION 0x400u
#define IN_USE_UPPER ((1u << 2) | (1u << 6)) /* of ymm0 .. ymm15, of zmm0 .. zmm15 */
#define X87_TAGS_AT 8
#define X87_EMPTY 0xffffu

static bool feature_present(const qkern *q, const char *name)
{
    for (uint32_t i = 0; i < qkern_feature_count(q); i++) {
        qkern_feature feature = {.struct_size = (uint32_t)sizeof feature};
        if (qkern_feature_get(q, i, &feature, NULL) == QKERN_OK && strcmp(feature.name, name) == 0)
            return feature.present != 0;
    }
    return false;
}

/* Leaves an upper half that is not zero. */
static void upper_dirty(void)
{
    __asm__ volatile("vcmpps $15, %%ymm1, %%ymm1, %%ymm1" ::: "xmm1");
}

static void nothing(void)
{
}

static uint64_t in_use_after(struct machine *m, entry_fn f)
{
    const uint64_t none[6] = {0};
    struct remains remains;
    machine_call(m, f, none, FP_DEFAULT, &remains);
    return m->frame.in_use_out & IN_USE_UPPER;
}

/*
 * The CPU knows which registers are in use, zero or not; that is what costs time. Some CPUs and
 * emulators always say yes, so it is tried out; there the halves are read.
 */
static void upper_choose(struct machine *m, const qkern *q)
{
    unsigned eax = 0, ebx, ecx, edx;

    m->upper = 0;
    if (!feature_present(q, "avx"))
        return;
    if (__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) && (eax & 4) != 0) {
        m->upper = UPPER_CLEAN | UPPER_IN_USE;
        if (in_use_after(m, nothing) == 0 && in_use_after(m, upper_dirty) != 0)
            return;
    }
    m->upper = UPPER_CLEAN | UPPER_READ_YMM;
    if (feature_present(q, "avx512f"))
        m->upper |= UPPER_READ_ZMM;
}

static void architecture_learn(struct machine *m, const qkern *q)
{
    const uint64_t none[6] = {0};
    struct remains remains;

    upper_choose(m, q);
    machine_call(m, nothing, none, FP_DEFAULT, &remains);
    memcpy(&m->x87_control, m->frame.x87_out, sizeof m->x87_control);
}

static bool upper_is_dirty(const struct machine *m)
{
    static const uint8_t zeros[sizeof m->frame.upper_out];

    if ((m->upper & UPPER_IN_USE) != 0)
        return (m->frame.in_use_out & IN_USE_UPPER) != 0;
    return memcmp(m->frame.upper_out, zeros, sizeof zeros) != 0;
}

static void architecture_check(const struct machine *m, struct remains *remains)
{
    uint16_t control, tags;

    memcpy(&control, m->frame.x87_out, sizeof control);
    memcpy(&tags, m->frame.x87_out + X87_TAGS_AT, sizeof tags);
    if ((m->frame.flags_out & FLAG_DIRECTION) != 0) {
        remain(remains, "direction", "leaves the direction flag set");
    } else if (tags != X87_EMPTY) {
        remain(remains, "fp-state",
               "leaves x87 or MMX registers in use (tag word 0x%04x, not 0xffff: no EMMS?)", tags);
    } else if (control != m->x87_control) {
        remain(remains, "fp-state", "changes the x87 control word from 0x%04x to 0x%04x",
               m->x87_control, control);
    } else if (upper_is_dirty(m)) {
        remain(remains, "upper-halves",
               "leaves upper halves of vector registers in use (no VZEROUPPER?)");
    }
}

#elif defined(__aarch64__)

static const uint64_t fp_state[FP_MODES] = {0, 1u << 24, 3u << 22};
#define FP_STATE_MASK UINT64_MAX
#define FP_STATE_NAME "FPCR"

static const char *const saved_names[] = {"x19", "x20", "x21", "x22", "x23", "x24",
                                          "x25", "x26", "x27", "x28", "x29"};
static const char *const saved_vector_names[] = {"d8",  "d9",  "d10", "d11",
                                                 "d12", "d13", "d14", "d15"};

static void architecture_learn(struct machine *m, const qkern *q)
{
    (void)q;
    m->upper = 0;
}

static void architecture_check(const struct machine *m, struct remains *remains)
{
    registers_check(saved_vector_names, sizeof saved_vector_names / sizeof saved_vector_names[0],
                    m->frame.saved_vector_in, m->frame.saved_vector_out, remains);
}

#else
#error "verify: write call_enter for this architecture, and what is to be checked after a call"
#endif

/* --- every architecture ----------------------------------------------------------------------- */

bool machine_open(struct machine *m, const qkern *q)
{
    *m = (struct machine){.stack_budget = STACK_BUDGET * STACK_FACTOR};
    if (!guarded_create(&m->stack, m->stack_budget + page_size()))
        return false;
    m->stack_top = (uintptr_t)m->stack.start + m->stack_budget;
    memset(m->stack.start, STACK_FILL, (size_t)(m->stack.end - m->stack.start));
    architecture_learn(m, q);
    return true;
}

void machine_stack_forget(const struct machine *m)
{
    memset(m->stack.start, STACK_FILL, m->stack_budget);
}

size_t machine_stack_used(const struct machine *m)
{
    size_t unused = 0;
    while (unused < m->stack_budget && m->stack.start[unused] == STACK_FILL)
        unused++;
    return m->stack_budget - unused;
}

static void frame_prepare(struct machine *m, entry_fn f, const uint64_t arguments[6],
                          enum fp_mode mode)
{
    struct call_frame *frame = &m->frame;
    uint64_t word = 0x9e3779b97f4a7c15u * ++m->calls; /* another in each call */

    frame->function = (uint64_t)(uintptr_t)f;
    memcpy(frame->arguments, arguments, sizeof frame->arguments);
    frame->stack = m->stack_top;
    for (int i = 0; i < CALL_SAVED_COUNT; i++)
        frame->saved_in[i] = word ^ (uint64_t)i << 56;
    for (int i = 0; i < CALL_SAVED_VECTOR_COUNT; i++)
        frame->saved_vector_in[i] = ~word ^ (uint64_t)i << 56;
    frame->fp_in = fp_state[mode];
    frame->upper = m->upper;
    frame->junk[0] = frame->junk[1] = word | 0x7fc000007fc00000u; /* NaN for who relies on it */
}

static bool caller_is_untouched(const struct machine *m)
{
    const uint8_t *above = m->stack.start + m->stack_budget;
    for (int i = 0; i < CALLER_BYTES; i++)
        if (above[i] != STACK_FILL)
            return false;
    return true;
}

static void remains_find(struct machine *m, struct remains *remains)
{
    const struct call_frame *frame = &m->frame;

    remains->kind = NULL;
    if (frame->stack_out != m->stack_top)
        remain(remains, "stack", "returns with the stack pointer changed by %" PRId64 " bytes",
               (int64_t)(frame->stack_out - m->stack_top));
    if (!caller_is_untouched(m)) {
        remain(remains, "stack", "writes to the stack of its caller");
        memset(m->stack.start + m->stack_budget, STACK_FILL, CALLER_BYTES);
    }
    registers_check(saved_names, sizeof saved_names / sizeof saved_names[0], frame->saved_in,
                    frame->saved_out, remains);
    if (remains->kind == NULL && ((frame->fp_in ^ frame->fp_out) & FP_STATE_MASK) != 0)
        remain(remains, "fp-state", "changes " FP_STATE_NAME " from 0x%" PRIx64 " to 0x%" PRIx64,
               frame->fp_in & FP_STATE_MASK, frame->fp_out & FP_STATE_MASK);
    if (remains->kind == NULL)
        architecture_check(m, remains);
}

float machine_call(struct machine *m, entry_fn f, const uint64_t arguments[6], enum fp_mode mode,
                   struct remains *remains)
{
    const uint32_t *result = (const uint32_t *)&m->frame.result;
    float value;

    frame_prepare(m, f, arguments, mode);
    call_enter(&m->frame);
    remains_find(m, remains);
    memcpy(&value, result, sizeof value);
    return value;
}
