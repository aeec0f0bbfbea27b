/* SPDX-License-Identifier: MIT */
/*
 * A kernel under judgement: one entry point of one type. The steps (steps_*.c) put inputs into
 * `source` and what shall come out into `expected`, and run trials; a trial lays the inputs out in
 * guarded memory, calls the kernel and compares. The first difference is reported and ends it.
 */
#ifndef QKERN_VERIFY_JUDGE_H
#define QKERN_VERIFY_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "guarded.h"
#include "machine.h"
#include "numbers.h"
#include "verify.h"

#define ELEMENTS_MAX ((uint64_t)128 << 10) /* of a trial, all rows together */
#define ROWS_MAX 9

/* The buffers of a call, in the order of the entry point's arguments as far as it has them. */
enum buffer { IN0, IN1, OUT, BUFFERS };

enum place_how {
    PLACE_END,   /* the last byte is the last one before a guard page */
    PLACE_START, /* the first byte is the first one behind a guard page */
    PLACE_OFFSET /* so many bytes past a multiple of 64 */
};

struct place {
    enum place_how how;
    uint32_t offset;
};

struct trial {
    uint64_t n;
    uint64_t rows;   /* of weights */
    uint64_t stride; /* bytes from one to the next; 0: the size of a row */
    bool striped;    /* each row of weights has guard pages of its own; stride is not used */
    struct place places[BUFFERS];
    enum fp_mode mode;
    const char *kind; /* what it is called if the result is wrong */
    bool promised;    /* else any result is right */
};

#define FIRST_BYTES 4096

struct judge {
    /* of the process */
    struct machine machine;
    struct guarded memory[BUFFERS];
    struct guarded stripes; /* for rows */
    size_t stripe_pages;
    uint8_t *source[2];
    uint8_t *expected;
    uint64_t seed;
    uint32_t repeat;

    /* of the kernel */
    uint32_t number;
    uint32_t type;
    uint32_t entry;
    entry_fn function;
    const struct qkern_kernel *kernel;      /* the reference of the type */
    const struct qkern_kernel *activations; /* the reference of its dot type; NULL if none */
    uint64_t calls_before;
    struct numbers numbers;

    /* of the step and the trial */
    const char *step;
    char data[160]; /* what the inputs are */
    const struct trial *trial;
    uint8_t *at[BUFFERS];
    size_t size[BUFFERS];
    bool calling; /* the kernel runs */

    struct { /* the first trial that was right, for a kernel that changes its mind */
        bool kept;
        struct trial trial;
        char data[160];
        uint8_t source[2][FIRST_BYTES], expected[FIRST_BYTES];
    } first;
};

/* False if there is no memory. */
bool judge_open(struct judge *j, const qkern *q, uint64_t seed, uint32_t repeat);

/* Judges an entry point of a plugin's kernel: all its steps, and the report of the outcome. */
void judge_kernel(struct judge *j, uint32_t number, const struct qkern_kernel *kernel,
                  uint32_t entry);

/* Names what is checked from now on, and restarts the numbers. */
void judge_step(struct judge *j, const char *name);

/* What the inputs are, for a report. */
void judge_data(struct judge *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A trial of one row of n elements, flush before guard pages. */
struct trial trial_of(uint64_t n, const char *kind);

/* Runs the trial; false, after the report, if it found something. */
bool trial_run(struct judge *j, const struct trial *t);

/* What the reference makes of the trial's inputs becomes what is expected. */
void trial_expect(struct judge *j, const struct trial *t);

/* Reports the failure with what is known of step and trial. */
void judge_report(struct judge *j, const char *kind, struct verify_failure *failure);

/* The names of an entry point's buffers; "" where it has none. */
const char *buffer_name(uint32_t entry, enum buffer b);

/* Whether the buffer is an array of floats, which is aligned as such. */
bool buffer_is_floats(uint32_t entry, enum buffer b);

/* --- steps: false if a trial has failed ------------------------------------------------------- */

bool steps_dot(struct judge *j);
bool steps_dequantize(struct judge *j);
bool steps_quantize(struct judge *j); /* with importance or without */

/* Steps of every entry point, over inputs that `make` puts into `source`; returns whether their
 * result is promised. */
typedef bool (*make_fn)(struct judge *j, uint64_t n, uint64_t rows);
bool step_alignment(struct judge *j, make_fn make);
bool step_memory(struct judge *j, make_fn make);
bool step_state(struct judge *j, make_fn make);

/* The block counts that a kernel is asked for, ascending. */
const uint32_t *block_counts(const struct judge *j, uint32_t *count);

/* What it is called if a kernel is wrong for that many blocks, and right for fewer. */
static inline const char *length_kind(uint32_t blocks)
{
    return blocks <= 1 ? "bits" : "length";
}

#endif
