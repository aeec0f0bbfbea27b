/* SPDX-License-Identifier: MIT */
/* The steps of dequantize: `source` holds blocks. */
#include <string.h>

#include "blocks.h"
#include "contract.h"
#include "corpus.h"
#include "facts.h"
#include "judge.h"

/* The values by the formula, element by element. */
static void contract_expect(struct judge *j, const struct trial *t)
{
    for (uint64_t e = 0; e < t->n; e++) {
        const uint8_t *block =
            j->source[IN0] + e / j->kernel->block_elements * j->kernel->block_bytes;
        const float v = contract_value(j->type, block, (int)(e % j->kernel->block_elements));
        memcpy(j->expected + e * sizeof v, &v, sizeof v);
    }
}

static bool step_integers(struct judge *j)
{
    judge_step(j, "integers");
    for (uint32_t blocks = 1; blocks <= 2; blocks++)
        for (uint32_t p = 0; p < pattern_count; p++)
            for (int minimum = 0; minimum <= blocks_have_minimum(j->kernel); minimum++) {
                struct trial t = trial_of((uint64_t)blocks * j->kernel->block_elements, "integer");
                judge_data(j, "%s, all scales 1%s", patterns[p].name,
                           minimum ? ", the minimum's alone" : "");
                pattern_fill(&patterns[p], &j->numbers, row_size(j->kernel, t.n), j->source[IN0]);
                blocks_scale(j->kernel, t.n, j->source[IN0], minimum ? 0.0f : 1.0f,
                             minimum ? 1.0f : 0.0f);
                contract_expect(j, &t);
                if (!trial_run(j, &t))
                    return false;
            }
    return true;
}

static bool step_lengths(struct judge *j)
{
    uint32_t count;
    const uint32_t *counts = block_counts(j, &count);

    judge_step(j, "lengths");
    for (uint32_t i = 0; i < count; i++) {
        struct trial t =
            trial_of((uint64_t)counts[i] * j->kernel->block_elements, length_kind(counts[i]));
        judge_data(j, "random codes, all scales 1");
        fill_blocks(&j->numbers, j->kernel, t.n, j->source[IN0]);
        blocks_scale(j->kernel, t.n, j->source[IN0], 1.0f, 0.0f);
        contract_expect(j, &t);
        if (!trial_run(j, &t))
            return false;
    }
    return true;
}

static bool step_bits(struct judge *j)
{
    uint32_t count;
    const uint32_t *counts = block_counts(j, &count);

    judge_step(j, "bits");
    for (uint32_t round = 0; round < 4 * j->repeat; round++)
        for (uint32_t i = 0; i < count; i++) {
            struct trial t = trial_of((uint64_t)counts[i] * j->kernel->block_elements, "bits");
            if (round % 2 == 0) {
                judge_data(j, "random codes and scales");
                fill_blocks(&j->numbers, j->kernel, t.n, j->source[IN0]);
            } else {
                judge_data(j, "random codes, any scales (subnormal, zero, infinite, NaN)");
                fill_blocks_any(&j->numbers, j->kernel, t.n, j->source[IN0]);
            }
            trial_expect(j, &t);
            if (!trial_run(j, &t))
                return false;
        }
    return true;
}

static bool make(struct judge *j, uint64_t n, uint64_t rows)
{
    (void)rows;
    judge_data(j, "random codes and scales");
    fill_blocks(&j->numbers, j->kernel, n, j->source[IN0]);
    return true;
}

bool steps_dequantize(struct judge *j)
{
    return (!is_quantized(j->kernel) || step_integers(j)) && step_lengths(j) && step_bits(j) &&
           corpus_dequantize(j) && step_alignment(j, make) && step_memory(j, make) &&
           step_state(j, make);
}
