/* SPDX-License-Identifier: MIT */
/*
 * The classes are numbered as in the corpus of public reports. 11 (odd numbers of blocks) and 15
 * (any address) are steps of their own, 16 (part of a block) is the host's.
 */
#include "corpus.h"

#include <math.h>
#include <string.h>

#include "blocks.h"
#include "contract.h"
#include "facts.h"

typedef bool (*case_fn)(struct judge *j);

static bool corpus_run(struct judge *j, const case_fn *cases, size_t count)
{
    judge_step(j, "corpus");
    for (size_t i = 0; i < count; i++)
        if (!cases[i](j))
            return false;
    return true;
}

/* Expects what the reference makes of `source`. */
static bool reference_trial(struct judge *j, uint64_t n, enum fp_mode mode)
{
    struct trial t = trial_of(n, "bits");
    t.mode = mode;
    trial_expect(j, &t);
    return trial_run(j, &t);
}

/* --- vec_dot: one row, for vec_dot_rows, too ---------------------------------------------------
 */

/* Blocks of scale 1 without minimum, all bytes but the fields `weights`, all codes `activation`. */
static void fill_constant(struct judge *j, uint64_t n, uint8_t weights, uint8_t activation)
{
    memset(j->source[IN0], weights, row_size(j->kernel, n));
    memset(j->source[IN1], activation, row_size(j->activations, n));
    blocks_scale(j->kernel, n, j->source[IN0], 1.0f, 0.0f);
    blocks_scale(j->activations, n, j->source[IN1], 1.0f, 0.0f);
}

static bool literal_trial(struct judge *j, uint64_t n, float expected)
{
    const struct trial t = trial_of(n, "integer");
    memcpy(j->expected, &expected, sizeof expected);
    return trial_run(j, &t);
}

static bool minus_128_squared(struct judge *j)
{
    if (j->type != QKERN_TYPE_Q8_0)
        return true;
    judge_data(j, "corpus row 1: all codes -128");
    fill_constant(j, 64, 0x80, 0x80);
    return literal_trial(j, 64, 1048576.0f);
}

static bool nibble_0_times_minus_128(struct judge *j)
{
    if (j->type != QKERN_TYPE_Q4_0)
        return true;
    judge_data(j, "corpus row 2: nibbles 0, activations -128");
    fill_constant(j, 32, 0x00, 0x80);
    return literal_trial(j, 32, 32768.0f);
}

/* Sums that saturate or wrap in 16 bits, biased weights above 127 against negative activations. */
static bool extremes_over_long_rows(struct judge *j)
{
    static const uint8_t weights[] = {0xff, 0x00, 0x80, 0x7f, 0xf0};
    static const uint8_t activations[] = {127, 0x81, 0x80, 0xff};
    static const uint64_t lengths[] = {256, 4096};

    for (size_t w = 0; is_quantized(j->kernel) && w < sizeof weights; w++)
        for (size_t a = 0; a < sizeof activations; a++)
            for (size_t n = 0; n < 2; n++) {
                const struct trial t = trial_of(lengths[n], "integer");
                judge_data(j, "corpus rows 3, 4, 13: bytes of weights 0x%02x, activations %d",
                           weights[w], (int8_t)activations[a]);
                fill_constant(j, t.n, weights[w], activations[a]);
                const float expected = contract_dot(j->type, t.n, j->source[IN0], j->source[IN1]);
                memcpy(j->expected, &expected, sizeof expected);
                if (!trial_run(j, &t))
                    return false;
            }
    return true;
}

static bool q4_K_extremes(struct judge *j)
{
    if (j->type != QKERN_TYPE_Q4_K)
        return true;
    judge_data(j, "corpus row 5: nibbles 15, scales and minimums 63, activations 127");
    fill_constant(j, 256, 0xff, 127);
    if (!literal_trial(j, 256, 256.0f * 63 * 15 * 127))
        return false;
    blocks_scale(j->kernel, 256, j->source[IN0], 1.0f, 1.0f);
    return literal_trial(j, 256, 256.0f * 63 * 15 * 127 - 63.0f * 16 * 16 * 127);
}

static bool small_scales(struct judge *j)
{
    float *x = (float *)(void *)j->expected;

    judge_data(j, "corpus row 7: weights of about 0.01, activations of about 0.001");
    for (int i = 0; i < 1024; i++)
        x[i] = fabsf(number_gaussian(&j->numbers)) * 1e-2f;
    j->kernel->quantize(1024, x, j->source[IN0]);
    for (int i = 0; i < 1024; i++)
        x[i] = fabsf(number_gaussian(&j->numbers)) * 1e-3f;
    j->activations->quantize(1024, x, j->source[IN1]);
    return reference_trial(j, 1024, FP_DEFAULT);
}

static void fill_alternating(struct judge *j)
{
    judge_data(j, "corpus row 12: scales 1 and 63, minimums 63 and 0 by turns");
    fill_bytes(&j->numbers, j->kernel->block_bytes, j->source[IN0]);
    blocks_scale(j->kernel, 256, j->source[IN0], 1.0f, 1.0f);
    blocks_alternate_scales(j->source[IN0] + 4);
}

static bool is_q4_K_or_q5_K(const struct judge *j)
{
    return j->type == QKERN_TYPE_Q4_K || j->type == QKERN_TYPE_Q5_K;
}

static bool alternating_scales_dot(struct judge *j)
{
    float ramp[256];

    if (!is_q4_K_or_q5_K(j))
        return true;
    for (int i = 0; i < 256; i++)
        ramp[i] = (float)(i - 128) / 128.0f;
    fill_alternating(j);
    j->activations->quantize(256, ramp, j->source[IN1]);
    return reference_trial(j, 256, FP_DEFAULT);
}

static bool is_half(const struct judge *j)
{
    return j->type == QKERN_TYPE_F16 || j->type == QKERN_TYPE_BF16;
}

static void put_u16(uint8_t *to, uint32_t value)
{
    const uint16_t v = (uint16_t)value;
    memcpy(to, &v, sizeof v);
}

/* Sixteen patterns at a time, so that an infinity hides no more than these. */
static bool all_halves_dot(struct judge *j)
{
    const uint16_t one = j->type == QKERN_TYPE_F16 ? 0x3c00 : 0x3f80;

    for (uint32_t pattern = 0; is_half(j) && pattern < 65536; pattern += 16) {
        judge_data(j, "corpus row 14: the patterns 0x%04x to 0x%04x times 1", pattern,
                   pattern + 15);
        for (uint32_t i = 0; i < 16; i++) {
            put_u16(j->source[IN0] + 2 * (size_t)i, pattern + i);
            put_u16(j->source[IN1] + 2 * (size_t)i, one);
        }
        if (!reference_trial(j, 16, FP_DEFAULT))
            return false;
    }
    return true;
}

/* Subnormal as f16, not as f32: nothing changes where subnormals are flushed. */
static bool subnormal_scales_dot(struct judge *j)
{
    if (!is_quantized(j->kernel))
        return true;
    judge_data(j, "corpus row 18: weights with a subnormal f16 scale");
    fill_blocks(&j->numbers, j->kernel, 1024, j->source[IN0]);
    fill_blocks(&j->numbers, j->activations, 1024, j->source[IN1]);
    blocks_scale(j->kernel, 1024, j->source[IN0], 0x1.8p-18f, 0x1p-24f);
    return reference_trial(j, 1024, FP_FLUSH);
}

bool corpus_dot(struct judge *j)
{
    static const case_fn cases[] = {
        minus_128_squared, nibble_0_times_minus_128, extremes_over_long_rows, q4_K_extremes,
        small_scales,      alternating_scales_dot,   all_halves_dot,          subnormal_scales_dot,
    };
    return corpus_run(j, cases, sizeof cases / sizeof cases[0]);
}

/* --- dequantize ------------------------------------------------------------------------------- */

static bool alternating_scales_values(struct judge *j)
{
    if (!is_q4_K_or_q5_K(j))
        return true;
    fill_alternating(j);
    return reference_trial(j, 256, FP_DEFAULT);
}

static bool all_halves_values(struct judge *j)
{
    if (!is_half(j))
        return true;
    judge_data(j, "corpus row 14: all 65536 patterns");
    for (uint32_t i = 0; i < 65536; i++)
        put_u16(j->source[IN0] + 2 * (size_t)i, i);
    return reference_trial(j, 65536, FP_DEFAULT) && reference_trial(j, 65536, FP_FLUSH);
}

static bool subnormal_scales_values(struct judge *j)
{
    if (!is_quantized(j->kernel) || j->type == QKERN_TYPE_Q8_K)
        return true;
    judge_data(j, "corpus row 18: subnormal f16 scales");
    fill_blocks(&j->numbers, j->kernel, 1024, j->source[IN0]);
    blocks_scale(j->kernel, 1024, j->source[IN0], 0x1.8p-18f, 0x1p-24f);
    return reference_trial(j, 1024, FP_FLUSH);
}

bool corpus_dequantize(struct judge *j)
{
    static const case_fn cases[] = {alternating_scales_values, all_halves_values,
                                    subnormal_scales_values};
    return corpus_run(j, cases, sizeof cases / sizeof cases[0]);
}

/* --- quantize --------------------------------------------------------------------------------- */

static float *values(struct judge *j)
{
    return (float *)(void *)j->source[IN0];
}

static void fill_importance(struct judge *j, uint64_t n, float value)
{
    for (uint64_t i = 0; i < n; i++)
        ((float *)(void *)j->source[IN1])[i] = value;
}

static bool overflowing_sum(struct judge *j)
{
    if (j->type != QKERN_TYPE_Q8_1)
        return true;
    for (int sign = -1; sign <= 1; sign += 2) {
        judge_data(j, "corpus row 6: 32 values %g, whose sum overflows f16", sign * 1e5);
        fill_importance(j, 32, 1.0f);
        for (int i = 0; i < 32; i++)
            values(j)[i] = (float)sign * 1e5f;
        if (!reference_trial(j, 32, FP_DEFAULT))
            return false;
    }
    return true;
}

/* Ties, and the floats beside them, in blocks of scale 1 for the types of one scale: the extreme
 * element makes it so. */
static bool ties(struct judge *j)
{
    static const struct {
        uint32_t type;
        float extreme;
    } table[] = {{QKERN_TYPE_Q4_0, -8.0f},
                 {QKERN_TYPE_Q5_0, -16.0f},
                 {QKERN_TYPE_Q8_0, 127.0f},
                 {QKERN_TYPE_Q8_1, 127.0f},
                 {QKERN_TYPE_Q8_K, -127.0f}};

    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
        for (int side = -1; j->type == table[k].type && side <= 1; side++) {
            const uint32_t n = j->kernel->block_elements;
            const float extreme = table[k].extreme;
            judge_data(j, "corpus row 8: %s ties of rounding, scale 1",
                       side < 0   ? "just below"
                       : side > 0 ? "just above"
                                  : "at");
            fill_importance(j, n, 1.0f);
            for (uint32_t i = 0; i < n; i++) {
                const float whole = (float)(i % (uint32_t)(fabsf(extreme) - 1.0f));
                const float tie = (i % 2 ? 1.0f : -1.0f) * (whole + 0.5f);
                values(j)[i] = side == 0 ? tie : nextafterf(tie, (float)side * 1000.0f);
            }
            values(j)[n - 1] = extreme;
            if (!reference_trial(j, n, FP_DEFAULT))
                return false;
        }
    return true;
}

static bool scale_below_f16(struct judge *j)
{
    const uint32_t n = j->kernel->block_elements == 1 ? 32 : j->kernel->block_elements;

    judge_data(j, "corpus row 9: multiples of 1e-7, whose scale underflows f16");
    fill_importance(j, n, 1.0f);
    for (uint32_t i = 0; i < n; i++)
        values(j)[i] = 1e-7f * (float)((int)(i % 9) - 4);
    return reference_trial(j, n, FP_DEFAULT);
}

/* The least and the greatest element at each pair of positions of a block of 32, or of the first
 * 32 elements of a larger one. */
static bool extremes_at_every_pair(struct judge *j)
{
    const uint32_t block = j->kernel->block_elements;

    for (uint32_t low = 0; block >= 32 && low < 32; low++) {
        judge_data(j, "corpus row 10: least element at %u, greatest at each other place", low);
        const uint64_t n = (uint64_t)(block == 32 ? 31 : 2) * block;
        fill_importance(j, n, 1.0f);
        for (uint64_t i = 0; i < n; i++)
            values(j)[i] = (float)(number_u64(&j->numbers) >> 40) * 0x1p-24f - 0.5f;
        for (uint64_t b = 0; b < n / block; b++) {
            const uint64_t high = (low + 1 + (block == 32 ? b : 15 * b)) % 32;
            values(j)[b * block + low] = -2.0f;
            values(j)[b * block + high] = 3.0f;
        }
        if (!reference_trial(j, n, FP_DEFAULT))
            return false;
    }
    return true;
}

/* Of equal magnitude the first wins, whichever sign it has. */
static bool equal_extremes(struct judge *j)
{
    const uint32_t block = j->kernel->block_elements;

    for (uint32_t at = 0; block >= 32 && at + 1 < block; at += block / 32)
        for (int sign = -1; sign <= 1; sign += 2) {
            judge_data(j, "corpus row 10: extremes of equal magnitude, the first at %u", at);
            fill_importance(j, block, 1.0f);
            for (uint32_t i = 0; i < block; i++)
                values(j)[i] = (float)(number_u64(&j->numbers) >> 40) * 0x1p-24f - 0.5f;
            values(j)[at] = (float)sign;
            values(j)[at + 1 + number_below(&j->numbers, block - at - 1)] = (float)-sign;
            if (!reference_trial(j, block, FP_DEFAULT))
                return false;
        }
    return true;
}

/* Of each two neighbours of f16 or bf16: the number between, and the floats beside it. */
static bool halves_at_boundaries(struct judge *j)
{
    const bool f16 = j->type == QKERN_TYPE_F16;
    const uint32_t last = f16 ? 0x7c00 : 0x7f80;

    for (uint32_t sign = 0; is_half(j) && sign < 2; sign++) {
        uint64_t n = 0;
        for (uint32_t h = 0; h < last; h++) {
            const uint32_t low = f16 ? bits_of(contract_f16((uint16_t)h)) : h << 16;
            const uint32_t middle =
                f16 ? bits_of((contract_f16((uint16_t)h) +
                               (h + 1 == last ? 65536.0f : contract_f16((uint16_t)(h + 1)))) /
                              2)
                    : low + 0x8000;
            for (uint32_t beside = 0; beside < 3; beside++)
                values(j)[n++] = from_bits((middle - 1 + beside) | sign << 31);
        }
        judge_data(j, "corpus row 14: every boundary of rounding, %s",
                   sign ? "negative" : "positive");
        fill_importance(j, n, 1.0f);
        if (!reference_trial(j, n, FP_DEFAULT) || !reference_trial(j, n, FP_FLUSH))
            return false;
    }
    return true;
}

static bool importance_of_zero(struct judge *j)
{
    const uint64_t n = 2 * (uint64_t)j->kernel->block_elements;

    if (j->entry != QKERN_ENTRY_QUANTIZE_WEIGHTED)
        return true;
    judge_data(j, "corpus row 17: values of about 1e-11, importance 0");
    for (uint64_t i = 0; i < n; i++)
        values(j)[i] = number_gaussian(&j->numbers) * 1e-11f;
    fill_importance(j, n, 0.0f);
    return reference_trial(j, n, FP_DEFAULT);
}

/* Subnormal values where they are flushed: any bytes, but safely. */
static bool subnormal_values(struct judge *j)
{
    const uint64_t n = 4 * (uint64_t)j->kernel->block_elements;
    struct trial t = trial_of(n, "bits");

    judge_data(j, "corpus row 18: subnormal values");
    for (uint64_t i = 0; i < n; i++)
        values(j)[i] = number_gaussian(&j->numbers) * 1e-40f;
    fill_importance(j, n, 1.0f);
    t.mode = FP_FLUSH;
    t.promised = false;
    return trial_run(j, &t);
}

bool corpus_quantize(struct judge *j)
{
    static const case_fn cases[] = {
        overflowing_sum,    ties,
        scale_below_f16,    extremes_at_every_pair,
        equal_extremes,     halves_at_boundaries,
        importance_of_zero, subnormal_values,
    };
    return corpus_run(j, cases, sizeof cases / sizeof cases[0]);
}
