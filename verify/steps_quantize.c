/* SPDX-License-Identifier: MIT */
/* The steps of quantize and quantize_weighted: `source` holds values, and their importance. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "corpus.h"
#include "facts.h"
#include "judge.h"

static bool is_weighted(const struct judge *j)
{
    return j->entry == QKERN_ENTRY_QUANTIZE_WEIGHTED;
}

static float *values(struct judge *j)
{
    return (float *)(void *)j->source[IN0];
}

static float *importance(struct judge *j)
{
    return (float *)(void *)j->source[IN1];
}

static void fill_importance(struct judge *j, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const float g = number_gaussian(&j->numbers);
        importance(j)[i] = g * g;
    }
}

/* --- inputs: each returns whether its bytes are promised (docs/numerics.md section 1) ----------
 */

static bool fill_normal(struct judge *j, uint64_t n)
{
    judge_data(j, "gaussian values");
    fill_gaussian(&j->numbers, n, values(j));
    fill_importance(j, n);
    return true;
}

static bool fill_ramp(struct judge *j, uint64_t n)
{
    const float step = 1.0f / (float)(1 + number_below(&j->numbers, 64));

    judge_data(j, "a ramp in steps of %g: ties of rounding", (double)step);
    for (uint64_t i = 0; i < n; i++) {
        values(j)[i] = ((float)(i % 97) - 48.0f) * step;
        importance(j)[i] = (float)(i % 5);
    }
    return true;
}

/* Few different values: equal extremes, zeros of both signs, blocks of one value. */
static bool fill_few(struct judge *j, uint64_t n)
{
    static const float few[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 127.0f, -127.0f};
    const uint32_t kinds = 1 + number_below(&j->numbers, 8);

    judge_data(j, "%u different values", kinds);
    for (uint64_t i = 0; i < n; i++) {
        values(j)[i] = few[number_below(&j->numbers, kinds)];
        importance(j)[i] = number_below(&j->numbers, 3) == 0 ? 0.0f : 1.0f;
    }
    return true;
}

/* Magnitudes from the least to the greatest, one for each block. */
static bool fill_sizes(struct judge *j, uint64_t n)
{
    judge_data(j, "gaussian values times powers of two from 2^-149 to 2^126");
    for (uint64_t i = 0; i < n; i += j->kernel->block_elements) {
        const int power = (int)number_below(&j->numbers, 276) - 149;
        for (uint64_t e = i; e < i + j->kernel->block_elements; e++) {
            const float v = ldexpf(number_gaussian(&j->numbers), power);
            values(j)[e] = fminf(fmaxf(v, -FLT_MAX), FLT_MAX);
            importance(j)[e] = fabsf(number_gaussian(&j->numbers));
        }
    }
    return true;
}

static bool fill_finite(struct judge *j, uint64_t n)
{
    judge_data(j, "random finite bits");
    for (uint64_t i = 0; i < n; i++) {
        values(j)[i] = number_any_finite(&j->numbers);
        importance(j)[i] = fabsf(number_any_finite(&j->numbers));
    }
    return true;
}

/* NaN and infinities among ordinary values: promised without importance for the types without
 * search. */
static bool fill_special(struct judge *j, uint64_t n)
{
    static const uint32_t specials[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
                                        0x7f800001, 0xffffffff, 0x7f7fffff, 0x00000001};
    const uint32_t among = 2 + number_below(&j->numbers, 60);

    judge_data(j, "gaussian values, one of about %u special (NaN, infinite)", among);
    for (uint64_t i = 0; i < n; i++) {
        values(j)[i] = number_below(&j->numbers, among) == 0
                           ? from_bits(specials[number_below(&j->numbers, 8)])
                           : number_gaussian(&j->numbers);
        importance(j)[i] = fabsf(number_gaussian(&j->numbers));
    }
    return !is_weighted(j) && j->kernel->block_elements < 256;
}

/* Nothing but NaN: promised where the extremes of the block ignore it (docs/numerics.md). */
static bool fill_nan(struct judge *j, uint64_t n)
{
    judge_data(j, "nothing but NaN");
    for (uint64_t i = 0; i < n; i++) {
        values(j)[i] = from_bits((i % 2 ? 0xff800001u : 0x7fc00000u) + (uint32_t)i % 999 * 0x101u);
        importance(j)[i] = 1.0f;
    }
    return !is_weighted(j) && (j->kernel->block_elements < 256 || j->type == QKERN_TYPE_Q3_K ||
                               j->type == QKERN_TYPE_Q6_K || j->type == QKERN_TYPE_Q8_K);
}

/* --- steps ------------------------------------------------------------------------------------ */

static bool step_lengths(struct judge *j)
{
    uint32_t count;
    const uint32_t *counts = block_counts(j, &count);

    judge_step(j, "lengths");
    for (uint32_t i = 0; i < count; i++) {
        struct trial t =
            trial_of((uint64_t)counts[i] * j->kernel->block_elements, length_kind(counts[i]));
        t.promised = fill_normal(j, t.n);
        trial_expect(j, &t);
        if (!trial_run(j, &t))
            return false;
    }
    return true;
}

static bool step_bits(struct judge *j)
{
    static bool (*const fills[])(struct judge *, uint64_t) = {
        fill_normal, fill_ramp, fill_few, fill_sizes, fill_finite, fill_special, fill_nan};
    /* Blocks of a trial: not whole vectors of a lane a block. */
    static const uint32_t blocks[] = {1, 5, 8, 11};

    judge_step(j, "bits");
    for (uint32_t round = 0; round < 2 * j->repeat; round++)
        for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++)
            for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
                const uint64_t more = j->kernel->block_elements == 1 ? 37 : 1;
                struct trial t = trial_of(blocks[b] * more * j->kernel->block_elements, "bits");
                t.promised = fills[f](j, t.n);
                trial_expect(j, &t);
                if (!trial_run(j, &t))
                    return false;
            }
    return true;
}

static bool make(struct judge *j, uint64_t n, uint64_t rows)
{
    (void)rows;
    return fill_normal(j, n);
}

bool steps_quantize(struct judge *j)
{
    return step_lengths(j) && step_bits(j) && corpus_quantize(j) && step_alignment(j, make) &&
           step_memory(j, make) && step_state(j, make);
}
