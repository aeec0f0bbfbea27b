/* SPDX-License-Identifier: MIT */
/* One call of a kernel in guarded memory, and everything that can be wrong with it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "facts.h"
#include "judge.h"
#include "report.h"

#define MARGIN 256 /* bytes on either side of an output that are watched */

/* --- entry points ----------------------------------------------------------------------------- */

static const struct {
    const char *names[BUFFERS];
    bool floats[BUFFERS];
} entries[QKERN_ENTRY_LIMIT] = {
    [QKERN_ENTRY_QUANTIZE] = {{"x", "", "blocks"}, {true, false, false}},
    [QKERN_ENTRY_DEQUANTIZE] = {{"blocks", "", "y"}, {false, false, true}},
    [QKERN_ENTRY_VEC_DOT] = {{"weights", "activations", ""}, {false, false, true}},
    [QKERN_ENTRY_QUANTIZE_WEIGHTED] = {{"x", "importance", "blocks"}, {true, true, false}},
    [QKERN_ENTRY_VEC_DOT_ROWS] = {{"weights", "activations", "out"}, {false, false, true}},
};

const char *buffer_name(uint32_t entry, enum buffer b)
{
    return entries[entry].names[b];
}

bool buffer_is_floats(uint32_t entry, enum buffer b)
{
    return entries[entry].floats[b];
}

static bool is_dot(const struct judge *j)
{
    return j->entry == QKERN_ENTRY_VEC_DOT || j->entry == QKERN_ENTRY_VEC_DOT_ROWS;
}

static size_t stripe_run(const struct judge *j)
{
    return j->stripe_pages * page_size();
}

static uint64_t stride_of(const struct judge *j, const struct trial *t)
{
    if (t->striped)
        return 2 * stripe_run(j);
    return t->stride != 0 ? t->stride : row_size(j->kernel, t->n);
}

static void sizes_set(struct judge *j, const struct trial *t)
{
    const size_t blocks = row_size(j->kernel, t->n), floats = (size_t)t->n * sizeof(float);

    j->size[IN0] = blocks;
    j->size[IN1] = is_dot(j) ? row_size(j->activations, t->n) : floats;
    j->size[OUT] = is_dot(j) ? (size_t)t->rows * sizeof(float) : blocks;
    if (j->entry == QKERN_ENTRY_VEC_DOT_ROWS)
        j->size[IN0] = t->rows == 0 ? 0 : (size_t)((t->rows - 1) * stride_of(j, t)) + blocks;
    if (j->entry == QKERN_ENTRY_DEQUANTIZE)
        j->size[OUT] = floats;
    if (buffer_is_floats(j->entry, IN0))
        j->size[IN0] = floats;
    if (buffer_name(j->entry, IN1)[0] == '\0')
        j->size[IN1] = 0;
}

static void arguments_set(const struct judge *j, const struct trial *t, uint64_t arguments[6])
{
    const uint64_t in0 = (uint64_t)(uintptr_t)j->at[IN0], in1 = (uint64_t)(uintptr_t)j->at[IN1],
                   out = (uint64_t)(uintptr_t)j->at[OUT];
    const uint64_t lists[QKERN_ENTRY_LIMIT][6] = {
        [QKERN_ENTRY_QUANTIZE] = {t->n, in0, out},
        [QKERN_ENTRY_DEQUANTIZE] = {t->n, in0, out},
        [QKERN_ENTRY_VEC_DOT] = {t->n, in0, in1},
        [QKERN_ENTRY_QUANTIZE_WEIGHTED] = {t->n, in0, in1, out},
        [QKERN_ENTRY_VEC_DOT_ROWS] = {t->n, t->rows, out, in0, stride_of(j, t), in1},
    };
    memcpy(arguments, lists[j->entry], sizeof lists[0]);
}

void trial_expect(struct judge *j, const struct trial *t)
{
    const struct qkern_kernel *k = j->kernel;
    const void *in0 = j->source[IN0], *in1 = j->source[IN1];
    void *out = j->expected;

    switch (j->entry) {
    case QKERN_ENTRY_QUANTIZE:
        k->quantize(t->n, in0, out);
        return;
    case QKERN_ENTRY_QUANTIZE_WEIGHTED:
        k->quantize_weighted(t->n, in0, in1, out);
        return;
    case QKERN_ENTRY_DEQUANTIZE:
        k->dequantize(t->n, in0, out);
        return;
    default:
        for (uint64_t r = 0; r < t->rows; r++)
            ((float *)out)[r] = k->vec_dot(t->n, j->source[IN0] + r * row_size(k, t->n), in1);
    }
}

/* --- reports ---------------------------------------------------------------------------------- */

static void place_describe(const struct judge *j, const struct trial *t, char *text)
{
    for (int b = 0; b < BUFFERS; b++) {
        const char *name = buffer_name(j->entry, (enum buffer)b);
        const struct place place = t->places[b];
        if (name[0] == '\0')
            continue;
        failure_say(text, "%s%s ", text[0] == '\0' ? "" : ", ", name);
        if (place.how == PLACE_OFFSET)
            failure_say(text, "at a multiple of 64 + %" PRIu32, place.offset);
        else
            failure_say(text, "%s a guard page",
                        place.how == PLACE_END ? "flush before" : "right behind");
    }
}

void judge_report(struct judge *j, const char *kind, struct verify_failure *f)
{
    const struct trial *t = j->trial;

    failure_say(f->kind, "%s", kind);
    failure_say(f->step, "%s", j->step);
    if (t != NULL) {
        failure_say(f->data, "%s", j->data);
        place_describe(j, t, f->place);
        f->n = t->n;
        failure_say(f->text, " (n = %" PRIu64, t->n);
        if (j->entry == QKERN_ENTRY_VEC_DOT_ROWS) {
            f->rows = t->rows;
            f->stride = stride_of(j, t);
            failure_say(f->text, ", %" PRIu64 " rows, stride %" PRIu64, f->rows, f->stride);
        }
        failure_say(f->text, "; %s; %s%s%s)", f->data, f->place, t->mode == FP_DEFAULT ? "" : "; ",
                    fp_mode_names[t->mode]);
    }
    report_wrong(j->number, f);
}

static void hex(const uint8_t *bytes, size_t size, char *text)
{
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static float float_at(const uint8_t *bytes, size_t index)
{
    float v;
    memcpy(&v, bytes + index * sizeof v, sizeof v);
    return v;
}

/* An integer has no sign of zero: that of the float is a matter of bits. */
static bool signs_of_zero_are_equal(const struct judge *j)
{
    return strcmp(j->trial->kind, "integer") == 0;
}

/* The first float that is wrong becomes the failure. */
static bool floats_differ(const struct judge *j, const uint8_t *found, struct verify_failure *f)
{
    for (size_t i = 0; i < j->size[OUT] / sizeof(float); i++) {
        const float e = float_at(j->expected, i), v = float_at(found, i);
        if (same_float(e, v) || (signs_of_zero_are_equal(j) && e == v))
            continue;
        failure_say(f->expected, "%.9g (0x%08" PRIx32 ")", (double)e, bits_of(e));
        failure_say(f->found, "%.9g (0x%08" PRIx32 ")", (double)v, bits_of(v));
        f->byte = 4 * i;
        char where[64] = "the result";
        if (j->entry == QKERN_ENTRY_VEC_DOT_ROWS) {
            f->row = i;
            snprintf(where, sizeof where, "out[%zu]", i);
        } else if (j->entry == QKERN_ENTRY_DEQUANTIZE) {
            f->element = i;
            f->block = i / j->kernel->block_elements;
            snprintf(where, sizeof where, "y[%zu]", i);
        }
        failure_say(f->text, "%s: expected %s, found %s", where, f->expected, f->found);
        return true;
    }
    return false;
}

#define SHOWN 16 /* bytes of a block from the first difference on */

static bool blocks_differ(const struct judge *j, const uint8_t *found, struct verify_failure *f)
{
    const size_t block = j->kernel->block_bytes;

    if (memcmp(j->expected, found, j->size[OUT]) == 0)
        return false;
    size_t i = 0;
    while (j->expected[i] == found[i])
        i++;
    const size_t left = block - i % block, shown = left < SHOWN ? left : SHOWN;
    f->byte = i;
    f->block = i / block;
    f->element = f->block * j->kernel->block_elements;
    hex(j->expected + i, shown, f->expected);
    hex(found + i, shown, f->found);
    failure_say(f->text, "block %" PRIu64 ", from its byte %zu on: expected %s, found %s", f->block,
                i % block, f->expected, f->found);
    return true;
}

static bool results_differ(const struct judge *j, const uint8_t *found, struct verify_failure *f)
{
    if (!j->trial->promised)
        return false;
    return buffer_is_floats(j->entry, OUT) ? floats_differ(j, found, f)
                                           : blocks_differ(j, found, f);
}

/* --- layout ----------------------------------------------------------------------------------- */

static uint8_t *place_find(const struct judge *j, const struct trial *t, enum buffer b)
{
    const struct guarded *g = &j->memory[b];
    const struct place place = t->places[b];

    if (b == IN0 && t->striped)
        return place.how == PLACE_START
                   ? j->stripes.start
                   : j->stripes.start + stripe_run(j) - row_size(j->kernel, t->n);
    switch (place.how) {
    case PLACE_END:
        return g->end - j->size[b];
    case PLACE_START:
        return g->start;
    default: /* behind the margin; the start is a multiple of a page */
        return g->start + MARGIN + place.offset;
    }
}

/* Copies an input to its place; rows of weights have their stride, with other bytes between. */
static void input_lay(const struct judge *j, const struct trial *t, enum buffer b)
{
    if (b != IN0 || j->entry != QKERN_ENTRY_VEC_DOT_ROWS) {
        memcpy(j->at[b], j->source[b], j->size[b]);
        return;
    }
    const size_t row = row_size(j->kernel, t->n);
    if (!t->striped)
        memset(j->at[b], 0xee, j->size[b]);
    for (uint64_t r = 0; r < t->rows; r++)
        memcpy(j->at[b] + r * stride_of(j, t), j->source[b] + r * row, row);
}

static bool input_is_unchanged(const struct judge *j, const struct trial *t, enum buffer b)
{
    if (b != IN0 || j->entry != QKERN_ENTRY_VEC_DOT_ROWS)
        return memcmp(j->at[b], j->source[b], j->size[b]) == 0;
    const size_t row = row_size(j->kernel, t->n);
    for (uint64_t r = 0; r < t->rows; r++)
        if (memcmp(j->at[b] + r * stride_of(j, t), j->source[b] + r * row, row) != 0)
            return false;
    return true;
}

/* The memory around an output, as far as it is there. */
struct margin {
    uint8_t *start, *end;
};

static struct margin margin_of(const struct judge *j)
{
    const struct guarded *g = &j->memory[OUT];
    uint8_t *start = j->at[OUT], *end = start + j->size[OUT];

    return (struct margin){
        start - (start - g->start < MARGIN ? start - g->start : MARGIN),
        end + (g->end - end < MARGIN ? g->end - end : MARGIN),
    };
}

/* Another fill in each call, so that what is not written does not look right twice. */
static uint8_t fill_of(const struct judge *j)
{
    return (uint8_t)(j->machine.calls % 2 == 0 ? 0x5a : 0xa6);
}

static void output_lay(const struct judge *j)
{
    const struct margin m = margin_of(j);
    memset(m.start, fill_of(j), (size_t)(m.end - m.start));
}

/* The first byte beside the output that was written to; NULL if there is none. */
static const uint8_t *output_stray(const struct judge *j, uint8_t fill)
{
    const struct margin m = margin_of(j);

    for (const uint8_t *p = m.start; p < m.end; p++) {
        if (p == j->at[OUT])
            p += j->size[OUT];
        if (p < m.end && *p != fill)
            return p;
    }
    return NULL;
}

/* --- the call --------------------------------------------------------------------------------- */

/* Lays everything out and calls. For vec_dot the result is put where the output is. */
static void trial_call(struct judge *j, const struct trial *t, struct remains *remains,
                       uint8_t *fill)
{
    uint64_t arguments[6];

    j->trial = t;
    sizes_set(j, t);
    for (int b = 0; b < BUFFERS; b++)
        j->at[b] = place_find(j, t, (enum buffer)b);
    input_lay(j, t, IN0);
    input_lay(j, t, IN1);
    output_lay(j);
    *fill = fill_of(j);
    arguments_set(j, t, arguments);
    j->calling = true;
    const float result = machine_call(&j->machine, j->function, arguments, t->mode, remains);
    j->calling = false;
    if (j->entry == QKERN_ENTRY_VEC_DOT)
        memcpy(j->at[OUT], &result, sizeof result);
}

static bool side_effects_report(struct judge *j, const struct trial *t,
                                const struct remains *remains, uint8_t fill)
{
    struct verify_failure f = failure_none();

    if (remains->kind != NULL) {
        failure_say(f.text, "%s", remains->text);
        judge_report(j, remains->kind, &f);
        return true;
    }
    const uint8_t *stray = output_stray(j, fill);
    if (stray != NULL) {
        const ptrdiff_t distance = stray - j->at[OUT];
        failure_say(f.text, "writes 0x%02x %td byte(s) %s of %s", *stray,
                    distance < 0 ? -distance : distance - (ptrdiff_t)j->size[OUT] + 1,
                    distance < 0 ? "before the start" : "behind the end",
                    buffer_name(j->entry, OUT));
        judge_report(j, "outside", &f);
        return true;
    }
    for (int b = IN0; b <= IN1; b++)
        if (!input_is_unchanged(j, t, (enum buffer)b)) {
            failure_say(f.text, "writes to its input %s", buffer_name(j->entry, (enum buffer)b));
            judge_report(j, "input", &f);
            return true;
        }
    return false;
}

/* Whether the call, made again, gives something else than `f` says; then that is reported. What was
 * not written at all, and so has another fill, is told in f. */
static bool repeat_report(struct judge *j, const struct trial *t, uint8_t fill,
                          struct verify_failure *f)
{
    struct verify_failure again = failure_none(), report = failure_none();
    const uint8_t first = j->at[OUT][f->byte];
    struct remains remains;
    uint8_t fill_again;

    trial_call(j, t, &remains, &fill_again);
    const bool differ = results_differ(j, j->at[OUT], &again);
    if (differ && again.byte == f->byte && strcmp(again.found, f->found) == 0)
        return false;
    if (differ && again.byte == f->byte && first == fill && j->at[OUT][f->byte] == fill_again) {
        failure_say(f->text, ", which was there before the call: it is not written");
        return false;
    }
    failure_say(report.expected, "%s", f->expected);
    failure_say(report.found, "%s", f->found);
    failure_say(report.text, "two calls with the same input give different results: %s; then %s",
                f->text, differ ? again.text : "what is expected");
    judge_report(j, "repeat", &report);
    return true;
}

/* The same for the first trial, which once was right. */
static bool first_report(struct judge *j)
{
    struct verify_failure f = failure_none();
    struct remains remains;
    uint8_t fill;
    char data[sizeof j->data];

    if (!j->first.kept)
        return false;
    memcpy(data, j->data, sizeof data);
    memcpy(j->source[IN0], j->first.source[IN0], FIRST_BYTES);
    memcpy(j->source[IN1], j->first.source[IN1], FIRST_BYTES);
    memcpy(j->expected, j->first.expected, FIRST_BYTES);
    memcpy(j->data, j->first.data, sizeof data);
    trial_call(j, &j->first.trial, &remains, &fill);
    if (results_differ(j, j->at[OUT], &f)) {
        struct verify_failure report = f;
        report.text[0] = '\0';
        failure_say(report.text, "a call that was right before is not any more: %s", f.text);
        judge_report(j, "repeat", &report);
        return true;
    }
    memcpy(j->data, data, sizeof data);
    return false;
}

static void first_keep(struct judge *j, const struct trial *t)
{
    if (j->first.kept || !t->promised || t->n == 0 || t->mode != FP_DEFAULT ||
        j->size[OUT] > FIRST_BYTES || j->size[IN0] > FIRST_BYTES || j->size[IN1] > FIRST_BYTES)
        return;
    j->first.kept = true;
    j->first.trial = *t;
    memcpy(j->first.source[IN0], j->source[IN0], FIRST_BYTES);
    memcpy(j->first.source[IN1], j->source[IN1], FIRST_BYTES);
    memcpy(j->first.expected, j->expected, FIRST_BYTES);
    memcpy(j->first.data, j->data, sizeof j->data);
}

bool trial_run(struct judge *j, const struct trial *t)
{
    struct verify_failure f = failure_none();
    struct remains remains;
    uint8_t fill;

    trial_call(j, t, &remains, &fill);
    if (side_effects_report(j, t, &remains, fill))
        return false;
    if (!results_differ(j, j->at[OUT], &f)) {
        first_keep(j, t);
        return true;
    }
    if (repeat_report(j, t, fill, &f) || first_report(j))
        return false;
    j->trial = t;
    judge_report(j, t->kind, &f);
    return false;
}

struct trial trial_of(uint64_t n, const char *kind)
{
    return (struct trial){.n = n, .rows = 1, .kind = kind, .promised = true};
}
