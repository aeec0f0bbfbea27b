/* SPDX-License-Identifier: MIT */
#include "judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "report.h"

#define MEMORY_BYTES (8 * ELEMENTS_MAX) /* a float or an importance takes 4; rows have strides */

bool judge_open(struct judge *j, const qkern *q, uint64_t seed, uint32_t repeat)
{
    memset(j, 0, sizeof *j);
    j->seed = seed;
    j->repeat = repeat;
    j->stripe_pages = 1;
    for (int b = 0; b < BUFFERS; b++)
        if (!guarded_create(&j->memory[b], MEMORY_BYTES))
            return false;
    j->source[IN0] = calloc(1, MEMORY_BYTES);
    j->source[IN1] = calloc(1, MEMORY_BYTES);
    j->expected = calloc(1, MEMORY_BYTES);
    return j->source[IN0] != NULL && j->source[IN1] != NULL && j->expected != NULL &&
           guarded_create(&j->stripes, (size_t)2 * ROWS_MAX * j->stripe_pages * page_size()) &&
           guarded_stripe(&j->stripes, j->stripe_pages) && machine_open(&j->machine, q);
}

/* The same numbers whichever steps run before: seed, type, entry and the step's name decide. */
static void numbers_restart(struct judge *j)
{
    uint64_t hash = 0xcbf29ce484222325u ^ j->seed;

    hash = (hash ^ j->type) * 0x100000001b3u;
    hash = (hash ^ j->entry) * 0x100000001b3u;
    for (const char *c = j->step; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
    j->numbers = (struct numbers){hash};
}

void judge_step(struct judge *j, const char *name)
{
    j->step = name;
    j->trial = NULL;
    j->data[0] = '\0';
    numbers_restart(j);
    report_step(j->number, name);
}

void judge_data(struct judge *j, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(j->data, sizeof j->data, format, arguments);
    va_end(arguments);
}

void judge_kernel(struct judge *j, uint32_t number, const struct qkern_kernel *kernel,
                  uint32_t entry)
{
    static bool (*const steps[QKERN_ENTRY_LIMIT])(struct judge *) = {
        [QKERN_ENTRY_QUANTIZE] = steps_quantize, [QKERN_ENTRY_DEQUANTIZE] = steps_dequantize,
        [QKERN_ENTRY_VEC_DOT] = steps_dot,       [QKERN_ENTRY_QUANTIZE_WEIGHTED] = steps_quantize,
        [QKERN_ENTRY_VEC_DOT_ROWS] = steps_dot,
    };

    j->number = number;
    j->type = kernel->type;
    j->entry = entry;
    j->function = entry_of(kernel, entry);
    j->kernel = reference_kernel(kernel->type);
    j->activations = reference_kernel(j->kernel->dot_type);
    j->calls_before = j->machine.calls;
    j->first.kept = false;
    machine_stack_forget(&j->machine);
    if (steps[entry](j))
        report_right(number, j->machine.calls - j->calls_before, machine_stack_used(&j->machine));
}

const uint32_t *block_counts(const struct judge *j, uint32_t *count)
{
    static const uint32_t of_one[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,  13,
                                      14, 15, 16, 17, 18, 19, 23, 24, 25, 31, 32,  33,  47,  48,
                                      49, 63, 64, 65, 66, 71, 79, 95, 96, 97, 127, 129, 255, 1031};
    static const uint32_t of_32[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                     13, 15, 16, 17, 19, 23, 31, 32, 33, 63, 65, 129};
    static const uint32_t of_256[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17};

    switch (j->kernel->block_elements) {
    case 1:
        *count = sizeof of_one / sizeof of_one[0];
        return of_one;
    case 256:
        *count = sizeof of_256 / sizeof of_256[0];
        return of_256;
    default:
        *count = sizeof of_32 / sizeof of_32[0];
        return of_32;
    }
}

/* --- steps of every entry point --------------------------------------------------------------- */

/* Steps of the offset: floats lie where C aligns them. */
static uint32_t offset_step(const struct judge *j, enum buffer b)
{
    return buffer_is_floats(j->entry, b) ? (uint32_t)sizeof(float) : 1;
}

/* The second buffer is the other input, or the output where there is one input. */
static enum buffer second_of(const struct judge *j)
{
    return buffer_name(j->entry, IN1)[0] != '\0' ? IN1 : OUT;
}

/* Every offset of both buffers, and every pair of them where a call is cheap. */
static bool pair_is_tried(const struct judge *j, uint32_t first, uint32_t second)
{
    return !buffer_is_floats(j->entry, IN0) ||
           (first / offset_step(j, IN0) + second / offset_step(j, second_of(j))) % 4 == 0;
}

/* Corpus row 15. */
bool step_alignment(struct judge *j, make_fn make)
{
    const uint64_t n =
        (uint64_t)(j->kernel->block_elements == 1 ? 35 : 3) * j->kernel->block_elements;
    const enum buffer second = second_of(j);
    struct trial t = trial_of(n, "alignment");
    uint32_t tried = 0;

    judge_step(j, "alignment");
    t.rows = j->entry == QKERN_ENTRY_VEC_DOT_ROWS ? 3 : 1;
    t.promised = make(j, n, t.rows);
    trial_expect(j, &t);
    for (int b = 0; b < BUFFERS; b++)
        t.places[b].how = PLACE_OFFSET;
    for (uint32_t i = 0; i < 64; i += offset_step(j, IN0))
        for (uint32_t k = 0; k < 64; k += offset_step(j, second)) {
            if (!pair_is_tried(j, i, k))
                continue;
            /* Where the output is the third buffer it goes through all of its own. */
            t.places[OUT].offset = tried % 64 - tried % offset_step(j, OUT);
            tried++;
            t.places[IN0].offset = i;
            t.places[second].offset = k;
            if (!trial_run(j, &t))
                return false;
        }
    return true;
}

/* Every buffer flush before and right behind a guard page, for each of the small block counts. */
bool step_memory(struct judge *j, make_fn make)
{
    const uint64_t most = j->kernel->block_elements == 1 ? 70 : 9;

    judge_step(j, "memory");
    for (uint64_t blocks = 0; blocks <= most; blocks++) {
        struct trial t = trial_of(blocks * j->kernel->block_elements, "bits");
        t.rows = j->entry == QKERN_ENTRY_VEC_DOT_ROWS ? blocks % (ROWS_MAX + 1) : 1;
        t.promised = make(j, t.n, t.rows);
        trial_expect(j, &t);
        for (int how = 0; how < 4; how++) {
            const enum place_how in = how % 2 == 0 ? PLACE_END : PLACE_START;
            t.places[IN0].how = t.places[IN1].how = in;
            t.places[OUT].how = how < 2 ? in : in == PLACE_END ? PLACE_START : PLACE_END;
            t.striped = j->entry == QKERN_ENTRY_VEC_DOT_ROWS && how >= 2;
            if (!trial_run(j, &t))
                return false;
        }
    }
    return true;
}

/* Another rounding mode has other results: only what must not change is looked at then. */
bool step_state(struct judge *j, make_fn make)
{
    const uint64_t n =
        (uint64_t)(j->kernel->block_elements == 1 ? 41 : 5) * j->kernel->block_elements;

    judge_step(j, "state");
    for (int mode = 0; mode < FP_MODES; mode++) {
        struct trial t = trial_of(n, "bits");
        t.rows = j->entry == QKERN_ENTRY_VEC_DOT_ROWS ? 4 : 1;
        t.promised = make(j, n, t.rows) && mode != FP_TOWARD_ZERO;
        t.mode = (enum fp_mode)mode;
        trial_expect(j, &t);
        for (int again = 0; again < 3; again++)
            if (!trial_run(j, &t))
                return false;
    }
    return true;
}
