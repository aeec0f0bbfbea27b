/* SPDX-License-Identifier: MIT */
/* Every plugin that is wrong on purpose is caught, and called what it is. */
#include "support.h"

#include <stdio.h>

#define QUANTIZE QKERN_ENTRY_QUANTIZE
#define DEQUANTIZE QKERN_ENTRY_DEQUANTIZE
#define VEC_DOT QKERN_ENTRY_VEC_DOT
#define WEIGHTED QKERN_ENTRY_QUANTIZE_WEIGHTED
#define ROWS QKERN_ENTRY_VEC_DOT_ROWS

/* What is expected of an entry point; kind NULL: it is right. */
struct expectation {
    uint32_t type, entry;
    const char *kind;
    const char *part; /* of the text */
};

struct wrong {
    const char *plugin;
    struct expectation expected[4]; /* the last one has no type but 0 and no kind */
    uint32_t count;
};

#define Q8 QKERN_TYPE_Q8_0

static const struct wrong wrongs[] = {
#if defined(__x86_64__)
    {"saturates", {{Q8, VEC_DOT, "integer", "expected "}}, 1},
    {"sign_trick", {{Q8, VEC_DOT, "integer", "expected "}}, 1},
    {"dirty_uppers", {{Q8, VEC_DOT, "upper-halves", "VZEROUPPER"}}, 1},
    {"leaves_mmx",
     {{Q8, VEC_DOT, "fp-state", "EMMS"}, {Q8, DEQUANTIZE, "direction", "direction flag"}},
     2},
#endif
    {"dropped_tail",
     {{Q8, VEC_DOT, "length", "(n = 160;"},
      {Q8, DEQUANTIZE, "length", "(n = 160;"},
      {Q8, QUANTIZE, "length", "block 4, from its byte 0 on"}},
     3},
    {"swapped_scales", {{QKERN_TYPE_Q4_K, VEC_DOT, "integer", "(n = 256;"}}, 1},
    {"half_even", {{Q8, QUANTIZE, "bits", "block "}}, 1},
    {"fused", {{Q8, VEC_DOT, "bits", "random codes and scales"}}, 1},
    {"another_order", {{Q8, VEC_DOT, "bits", "random codes and scales"}}, 1},
    {"half_arithmetic", {{Q8, VEC_DOT, "bits", "expected "}}, 1},
    {"computes_sum", {{QKERN_TYPE_Q4_1, VEC_DOT, "bits", "random codes and scales"}}, 1},
    {"dequantize_order", {{QKERN_TYPE_Q6_K, DEQUANTIZE, "bits", "y["}}, 1},
    {"aligns", {{Q8, VEC_DOT, "alignment", "weights at a multiple of 64 + 1"}}, 1},
    {"ignores_stride", {{Q8, ROWS, "stride", "out[1]"}}, 1},
    {"reads_behind",
     {{Q8, VEC_DOT, "outside", "1 byte(s) behind the end of weights"},
      {Q8, DEQUANTIZE, "outside", "1 byte(s) behind the end of blocks"},
      {Q8, QUANTIZE, "outside", "1 byte(s) behind the end of x"},
      {Q8, ROWS, "outside", "weights at its byte "}},
     4},
    {"reads_before", {{Q8, VEC_DOT, "outside", "1 byte(s) before the start of activations"}}, 1},
    {"writes_behind",
     {{Q8, QUANTIZE, "outside", "1 byte(s) behind the end of blocks"},
      {Q8, DEQUANTIZE, "outside", "1 byte(s) behind the end of y"}},
     2},
    {"writes_before", {{Q8, QUANTIZE, "outside", "1 byte(s) before the start of blocks"}}, 1},
    {"writes_input", {{Q8, VEC_DOT, "input", "its input activations"}}, 1},
#if defined(__x86_64__)
    {"clobbers", {{Q8, VEC_DOT, "registers", "rbx"}, {Q8, DEQUANTIZE, "registers", "r15"}}, 2},
    {"changes_fp_state",
     {{Q8, VEC_DOT, "fp-state", "MXCSR from 0x1f80 to 0x9fc0"},
      {Q8, DEQUANTIZE, "fp-state", "subnormals flushed"}},
     2},
#else
    {"clobbers", {{Q8, VEC_DOT, "registers", "x19"}, {Q8, DEQUANTIZE, "registers", "d11"}}, 2},
    {"changes_fp_state",
     {{Q8, VEC_DOT, "fp-state", "FPCR from 0x0 to 0x1000000"},
      {Q8, DEQUANTIZE, "fp-state", "subnormals flushed"}},
     2},
#endif
    {"endless",
     {{Q8, QUANTIZE, NULL, NULL},
      {Q8, VEC_DOT, "hang", "does not return (n = 96;"},
      {Q8, DEQUANTIZE, "hang", "does not return (n = 96;"}},
     3},
    {"crashes",
     {{Q8, QUANTIZE, NULL, NULL},
      {Q8, VEC_DOT, "crash", " address 0x1 (n = 32;"},
      {Q8, DEQUANTIZE, "crash", " (n = "},
      {Q8, WEIGHTED, "crash", "Aborted"}},
     4},
    {"much_stack",
     {{Q8, VEC_DOT, "stack", "more than 64 KiB"}, {Q8, DEQUANTIZE, "stack", "its caller"}},
     2},
    {"remembers",
     {{Q8, VEC_DOT, "repeat", "then what is expected"}, {Q8, DEQUANTIZE, "repeat", "right before"}},
     2},
    {"prints", {{Q8, VEC_DOT, NULL, NULL}}, 1},
};

static bool is_instrumented(const struct result *r)
{
    return strstr(r->note, "stack") != NULL;
}

/* The bound on the stack is not checked in an instrumented worker, which says so. */
static bool is_not_judged(const struct result *r, const struct expectation *e)
{
    return is_instrumented(r) && e->kind != NULL && strcmp(e->kind, "stack") == 0 &&
           e->entry == VEC_DOT;
}

static void check(const struct result *r, const struct expectation *e)
{
    const struct outcome *o = outcome_of(r, e->type, e->entry);

    if (is_not_judged(r, e)) {
        print_message("not checked: %s\n", r->note);
        return;
    }
    if (e->kind == NULL) {
        if (o->kind != VERIFY_RIGHT)
            fail_msg("expected right, found %s: %s", o->failure.kind, o->failure.text);
        assert_true(o->calls > 100);
        return;
    }
    assert_int_equal(o->kind, VERIFY_WRONG);
    if (strcmp(o->failure.kind, e->kind) != 0)
        fail_msg("expected %s, found %s: %s", e->kind, o->failure.kind, o->failure.text);
    assert_part(o->failure.text, e->part);
    assert_string_not_equal(o->failure.step, "");
}

static void a_wrong_plugin_is_caught(void **state)
{
    const struct wrong *w = *state;
    struct result *r = run_plugin(w->plugin);

    if (r->refused) {
        print_message("%s: %s\n", w->plugin, r->refused_text);
        assert_int_equal(r->refused_status, QKERN_E_FEATURE);
        free(r);
        skip();
        return;
    }
    assert_string_equal(r->name, w->plugin);
    assert_int_equal(r->count, r->kernels);
    uint32_t judged = 0;
    for (uint32_t i = 0; i < r->count; i++)
        judged += r->outcomes[i].kind != VERIFY_SKIPPED;
    assert_int_equal(judged, w->count);
    for (uint32_t i = 0; i < w->count; i++)
        check(r, &w->expected[i]);
    free(r);
}

/* The first difference, in its parts. */
static void a_difference_is_told_in_its_parts(void **state)
{
    (void)state;
    struct result *r = run_plugin("dropped_tail");
    const struct verify_failure *f = &outcome_of(r, Q8, QUANTIZE)->failure;
    assert_string_equal(f->step, "lengths");
    assert_string_equal(f->data, "gaussian values");
    assert_int_equal(f->n, 160);
    assert_int_equal(f->block, 4);
    assert_int_equal(f->element, 128);
    assert_int_equal(f->byte, 4 * 34);
    assert_int_equal(strlen(f->expected), 32);
    assert_part(f->text, "it is not written");
    assert_true(f->rows == VERIFY_NONE);
    f = &outcome_of(r, Q8, DEQUANTIZE)->failure;
    assert_int_equal(f->element, 128);
    assert_int_equal(f->block, 4);
    assert_part(f->expected, "(0x");
    free(r);
    r = run_plugin("ignores_stride");
    f = &outcome_of(r, Q8, ROWS)->failure;
    assert_int_equal(f->row, 1);
    assert_int_equal(f->rows, 2);
    assert_int_equal(f->stride, 35);
    free(r);
}

/* A seed gives the same difference again. */
static void the_same_seed_finds_the_same(void **state)
{
    (void)state;
    struct verify_options options = options_for("another_order");
    options.seed = 12345;
    struct result *a = run_with(&options), *b = run_with(&options);
    options.seed = 54321;
    struct result *c = run_with(&options);
    const struct outcome *oa = outcome_of(a, Q8, VEC_DOT);
    assert_int_equal(oa->kind, VERIFY_WRONG);
    assert_string_equal(oa->failure.text, outcome_of(b, Q8, VEC_DOT)->failure.text);
    assert_string_not_equal(oa->failure.text, outcome_of(c, Q8, VEC_DOT)->failure.text);
    free(a);
    free(b);
    free(c);
}

static void what_cannot_be_judged_is_skipped_with_the_reason(void **state)
{
    (void)state;
    struct result *r = run_plugin("no_reference");
    const struct outcome *o = outcome_of(r, QKERN_TYPE_IQ4_NL, DEQUANTIZE);
    assert_int_equal(o->kind, VERIFY_SKIPPED);
    assert_string_equal(o->text, "there is no scalar kernel to hold it to");
    assert_int_equal(outcome_of(r, Q8, DEQUANTIZE)->kind, VERIFY_RIGHT);
    o = outcome_of(r, Q8, QUANTIZE);
    assert_int_equal(o->kind, VERIFY_SKIPPED);
    assert_string_equal(o->text, "not in the plugin");
    free(r);
}

int main(void)
{
    const size_t count = sizeof wrongs / sizeof wrongs[0];
    struct CMUnitTest tests[sizeof wrongs / sizeof wrongs[0] + 3];
    static char names[sizeof wrongs / sizeof wrongs[0]][64];

    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "a_wrong_plugin_is_caught: %s", wrongs[i].plugin);
        tests[i] = (struct CMUnitTest)cmocka_unit_test_prestate(a_wrong_plugin_is_caught,
                                                                (void *)(uintptr_t)&wrongs[i]);
        tests[i].name = names[i];
    }
    tests[count] = (struct CMUnitTest)cmocka_unit_test(a_difference_is_told_in_its_parts);
    tests[count + 1] = (struct CMUnitTest)cmocka_unit_test(the_same_seed_finds_the_same);
    tests[count + 2] =
        (struct CMUnitTest)cmocka_unit_test(what_cannot_be_judged_is_skipped_with_the_reason);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
