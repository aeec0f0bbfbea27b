/* SPDX-License-Identifier: MIT */
/* The steps of vec_dot and vec_dot_rows: `source` holds the rows of weights, and the activations.
 */
#include <string.h>

#include "blocks.h"
#include "contract.h"
#include "corpus.h"
#include "facts.h"
#include "judge.h"

static bool is_rows(const struct judge *j)
{
    return j->entry == QKERN_ENTRY_VEC_DOT_ROWS;
}

static size_t rows_size(const struct judge *j, uint64_t n, uint64_t rows)
{
    return (size_t)rows * row_size(j->kernel, n);
}

/* --- the integer layer ------------------------------------------------------------------------ */

/* What is expected comes from the formulas, element by element, and not from the scalar kernel. */
static void contract_expect(struct judge *j, const struct trial *t)
{
    for (uint64_t r = 0; r < t->rows; r++) {
        const float v = contract_dot(j->type, t->n, j->source[IN0] + r * row_size(j->kernel, t->n),
                                     j->source[IN1]);
        memcpy(j->expected + r * sizeof v, &v, sizeof v);
    }
}

/* Every pattern of weights against every one of activations, with scales of 1: first without
 * minimum, then the minimum alone. */
static bool integers_of_codes(struct judge *j, uint64_t blocks)
{
    struct trial t = trial_of(blocks * j->kernel->block_elements, "integer");

    t.rows = is_rows(j) ? 3 : 1;
    for (uint32_t w = 0; w < pattern_count; w++)
        for (uint32_t a = 0; a < pattern_count; a++)
            for (int minimum = 0; minimum <= blocks_have_minimum(j->kernel); minimum++) {
                judge_data(j, "weights %s, activations %s, all scales 1%s", patterns[w].name,
                           patterns[a].name, minimum ? ", the minimum's alone" : "");
                pattern_fill(&patterns[w], &j->numbers, rows_size(j, t.n, t.rows), j->source[IN0]);
                pattern_fill(&patterns[a], &j->numbers, row_size(j->activations, t.n),
                             j->source[IN1]);
                blocks_scale(j->kernel, t.n * t.rows, j->source[IN0], minimum ? 0.0f : 1.0f,
                             minimum ? 1.0f : 0.0f);
                blocks_scale(j->activations, t.n, j->source[IN1], 1.0f, 0.0f);
                contract_expect(j, &t);
                if (!trial_run(j, &t))
                    return false;
            }
    return true;
}

/* An element of a float type that is a small integer. */
static void put_integer(uint32_t type, uint8_t *to, int value)
{
    const float f = (float)value;
    const uint32_t bits = bits_of(f);
    const uint16_t half = type == QKERN_TYPE_F16 ? contract_to_f16(f) : (uint16_t)(bits >> 16);

    if (type == QKERN_TYPE_F32)
        memcpy(to, &f, sizeof f);
    else
        memcpy(to, &half, sizeof half);
}

static bool integers_of_floats(struct judge *j)
{
    uint32_t count;
    const uint32_t *counts = block_counts(j, &count);

    for (uint32_t i = 0; i < count; i++) {
        struct trial t = trial_of(counts[i], counts[i] <= 1 ? "integer" : "length");
        t.rows = is_rows(j) ? 3 : 1;
        judge_data(j, "elements that are integers from -8 to 8");
        for (uint64_t e = 0; e < t.n * t.rows; e++)
            put_integer(j->type, j->source[IN0] + e * j->kernel->block_bytes,
                        (int)number_below(&j->numbers, 17) - 8);
        for (uint64_t e = 0; e < t.n; e++)
            put_integer(j->type, j->source[IN1] + e * j->kernel->block_bytes,
                        (int)number_below(&j->numbers, 17) - 8);
        contract_expect(j, &t);
        if (!trial_run(j, &t))
            return false;
    }
    return true;
}

static bool step_integers(struct judge *j)
{
    judge_step(j, "integers");
    return is_quantized(j->kernel) ? integers_of_codes(j, 1) && integers_of_codes(j, 2)
                                   : integers_of_floats(j);
}

/* --- lengths ---------------------------------------------------------------------------------- */

static bool step_lengths(struct judge *j)
{
    uint32_t count;
    const uint32_t *counts = block_counts(j, &count);

    judge_step(j, "lengths");
    for (uint32_t i = 0; i < count; i++) {
        struct trial t =
            trial_of((uint64_t)counts[i] * j->kernel->block_elements, length_kind(counts[i]));
        t.rows = is_rows(j) ? 2 : 1;
        judge_data(j, "random codes, all scales 1");
        fill_blocks(&j->numbers, j->kernel, t.n * t.rows, j->source[IN0]);
        fill_blocks(&j->numbers, j->activations, t.n, j->source[IN1]);
        blocks_scale(j->kernel, t.n * t.rows, j->source[IN0], 1.0f, 0.0f);
        blocks_scale(j->activations, t.n, j->source[IN1], 1.0f, 0.0f);
        contract_expect(j, &t);
        if (!trial_run(j, &t))
            return false;
    }
    return true;
}

/* --- bits ------------------------------------------------------------------------------------- */

typedef void (*fill_fn)(struct judge *j, uint64_t n, uint64_t rows);

static void fill_moderate(struct judge *j, uint64_t n, uint64_t rows)
{
    judge_data(j, "random codes and scales");
    fill_blocks(&j->numbers, j->kernel, n * rows, j->source[IN0]);
    fill_blocks(&j->numbers, j->activations, n, j->source[IN1]);
}

static void fill_any(struct judge *j, uint64_t n, uint64_t rows)
{
    judge_data(j, "random codes, any scales (subnormal, zero, infinite, NaN)");
    fill_blocks_any(&j->numbers, j->kernel, n * rows, j->source[IN0]);
    fill_blocks_any(&j->numbers, j->activations, n, j->source[IN1]);
}

/* As a model's: gaussian data, quantized by the reference. */
static void fill_quantized(struct judge *j, uint64_t n, uint64_t rows)
{
    float *x = (float *)(void *)j->expected; /* not needed yet */

    judge_data(j, "quantized gaussian values");
    fill_gaussian(&j->numbers, n * rows, x);
    j->kernel->quantize(n * rows, x, j->source[IN0]);
    fill_gaussian(&j->numbers, n, x);
    j->activations->quantize(n, x, j->source[IN1]);
}

static bool step_bits(struct judge *j)
{
    static const fill_fn fills[] = {fill_moderate, fill_quantized, fill_any, fill_any};
    uint32_t count;
    const uint32_t *counts = block_counts(j, &count);

    judge_step(j, "bits");
    for (uint32_t round = 0; round < j->repeat; round++)
        for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++)
            for (uint32_t i = 0; i < count; i++) {
                struct trial t = trial_of((uint64_t)counts[i] * j->kernel->block_elements, "bits");
                t.rows = is_rows(j) ? 1 + i % 5 : 1;
                fills[f](j, t.n, t.rows);
                trial_expect(j, &t);
                if (!trial_run(j, &t))
                    return false;
            }
    return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool step_rows(struct judge *j)
{
    static const uint32_t gaps[] = {0, 1, 2, 7, 14, 30, 64, 4096};
    static const uint32_t blocks[] = {1, 2, 3, 4, 5, 8, 9};

    judge_step(j, "rows");
    for (uint64_t rows = 0; rows <= ROWS_MAX; rows++)
        for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
            const uint64_t n = (uint64_t)blocks[b] * (j->kernel->block_elements == 1 ? 9 : 1) *
                               j->kernel->block_elements;
            struct trial t = trial_of(n, "bits");
            t.rows = rows;
            fill_moderate(j, n, rows);
            trial_expect(j, &t);
            for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
                t.stride = row_size(j->kernel, n) + gaps[g];
                t.kind = gaps[g] == 0 ? "bits" : "stride";
                if (!trial_run(j, &t))
                    return false;
            }
        }
    return true;
}

/* --- all of them ------------------------------------------------------------------------------ */

static bool make(struct judge *j, uint64_t n, uint64_t rows)
{
    fill_moderate(j, n, rows);
    return true;
}

/* Sums in Q8_K blocks that are not those of their codes: no result is promised, only safety. */
static bool make_any(struct judge *j, uint64_t n, uint64_t rows)
{
    judge_data(j, "any bytes");
    fill_bytes(&j->numbers, rows_size(j, n, rows), j->source[IN0]);
    fill_bytes(&j->numbers, row_size(j->activations, n), j->source[IN1]);
    return j->activations->type != QKERN_TYPE_Q8_K;
}

bool steps_dot(struct judge *j)
{
    return step_integers(j) && step_lengths(j) && step_bits(j) && corpus_dot(j) &&
           (!is_rows(j) || step_rows(j)) && step_alignment(j, make) && step_memory(j, make) &&
           step_memory(j, make_any) && step_state(j, make);
}
