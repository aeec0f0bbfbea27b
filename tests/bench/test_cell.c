/* SPDX-License-Identifier: MIT */
/* Cells: the data, what is timed and what is not, and the cost of a pin. */
#include <math.h>
#include <string.h>

#include "bench/baseline.h"
#include "bench/cell.h"
#include "bench/pin_cost.h"
#include "host/vetting/cmocka_all.h"

static qkern *open_here(void)
{
    qkern *q = NULL;
    const qkern_options options = {
        (uint32_t)sizeof options, QKERN_OPEN_NO_SEARCH, 0, 0, NULL, NULL};
    assert_int_equal(qkern_open(&options, &q, NULL), QKERN_OK);
    return q;
}

/* --- wrong kernels ---------------------------------------------------------------------------- */

static const struct qkern_kernel *right; /* the scalar kernel that the wrong ones are made of */

static void quantize_wrong(uint64_t n, const float *x, void *blocks)
{
    right->quantize(n, x, blocks);
    ((uint8_t *)blocks)[n / right->block_elements * right->block_bytes - 1] ^= 1;
}

static void weighted_wrong(uint64_t n, const float *x, const float *importance, void *blocks)
{
    right->quantize_weighted(n, x, importance, blocks);
    ((uint8_t *)blocks)[0] ^= 1;
}

static void dequantize_wrong(uint64_t n, const void *blocks, float *y)
{
    right->dequantize(n, blocks, y);
    y[n - 1] = nextafterf(y[n - 1], INFINITY);
}

static float vec_dot_wrong(uint64_t n, const void *weights, const void *activations)
{
    return nextafterf(right->vec_dot(n, weights, activations), INFINITY);
}

static void rows_wrong(uint64_t n, uint64_t rows, float *out, const void *weights,
                       uint64_t row_stride, const void *activations)
{
    right->vec_dot_rows(n, rows, out, weights, row_stride, activations);
    out[rows - 1] = nextafterf(out[rows - 1], INFINITY);
}

static const struct qkern_kernel wrong = {
    QKERN_KERNEL_HEAD(Q4_0),  .quantize = quantize_wrong,          .dequantize = dequantize_wrong,
    .vec_dot = vec_dot_wrong, .quantize_weighted = weighted_wrong, .vec_dot_rows = rows_wrong};

static void one_wrong_bit_in_any_entry_point_is_found(void **state)
{
    qkern *q = open_here();
    (void)state;
    right = bench_kernel_find(q, BENCH_REFERENCE, QKERN_TYPE_Q4_0);
    assert_non_null(right);
    for (uint32_t entry = 0; entry < QKERN_ENTRY_LIMIT; entry++) {
        struct bench_workload w;
        char reason[200] = "";
        assert_int_equal(bench_workload_init(&w, q, QKERN_TYPE_Q4_0, entry, 256, 10, 1, NULL),
                         QKERN_OK);
        struct bench_work good = {&w, right}, bad = {&w, &wrong};
        assert_true(bench_vetted(&good, right, reason, sizeof reason));
        assert_string_equal(reason, "");
        assert_false(bench_vetted(&bad, right, reason, sizeof reason));
        assert_non_null(strstr(reason, "as the scalar kernel writes"));
        assert_false(bench_vetted(&good, NULL, reason, sizeof reason));
        assert_non_null(strstr(reason, "nothing to compare with"));
        bench_workload_free(&w);
    }
    qkern_close(q, NULL);
}

/* --- data ------------------------------------------------------------------------------------- */

static void rows_are_quantized_from_the_seed_and_repeat_after_the_distinct_ones(void **state)
{
    qkern *q = open_here();
    struct bench_workload w, again, other;
    (void)state;
    assert_int_equal(
        bench_workload_init(&w, q, QKERN_TYPE_Q4_K, QKERN_ENTRY_VEC_DOT, 4096, 200, 3, NULL),
        QKERN_OK);
    assert_int_equal(
        bench_workload_init(&again, q, QKERN_TYPE_Q4_K, QKERN_ENTRY_VEC_DOT, 4096, 200, 3, NULL),
        QKERN_OK);
    assert_int_equal(
        bench_workload_init(&other, q, QKERN_TYPE_Q4_K, QKERN_ENTRY_VEC_DOT, 4096, 200, 4, NULL),
        QKERN_OK);
    assert_int_equal(w.row_bytes, 16 * 144);
    assert_int_equal(w.distinct, 64);
    assert_memory_equal(w.data, again.data, w.rows * w.row_bytes);
    assert_memory_not_equal(w.data, other.data, w.row_bytes);
    assert_memory_not_equal(w.data, w.data + w.row_bytes, w.row_bytes);
    assert_memory_equal(w.data, w.data + 64 * w.row_bytes, 64 * w.row_bytes);
    assert_memory_equal(w.data, w.data + 192 * w.row_bytes, 8 * w.row_bytes);
    assert_int_equal(qkern_check_blocks(QKERN_TYPE_Q4_K, 4096, w.data, w.row_bytes, NULL),
                     QKERN_OK);
    assert_int_equal(qkern_check_blocks(QKERN_TYPE_Q8_K, 4096, w.activations, 16 * 292, NULL),
                     QKERN_OK);
    bench_workload_free(&w);
    bench_workload_free(&again);
    bench_workload_free(&other);
    qkern_close(q, NULL);
}

static void lengths_and_types_that_cannot_be_timed_are_refused(void **state)
{
    qkern *q = open_here();
    qkern_error error = QKERN_ERROR_INIT;
    struct bench_workload w;
    struct bench_shape shape;
    (void)state;
    assert_int_equal(bench_shape_get(QKERN_TYPE_Q4_K, QKERN_ENTRY_VEC_DOT, 32, &shape, &error),
                     QKERN_E_LENGTH);
    assert_int_equal(bench_shape_get(QKERN_TYPE_Q4_0, QKERN_ENTRY_VEC_DOT, 0, &shape, &error),
                     QKERN_E_LENGTH);
    assert_int_equal(bench_shape_get(QKERN_TYPE_Q8_K, QKERN_ENTRY_VEC_DOT, 256, &shape, &error),
                     QKERN_E_TYPE);
    assert_int_equal(bench_shape_get(4, QKERN_ENTRY_VEC_DOT, 256, &shape, &error), QKERN_E_TYPE);
    assert_int_equal(
        bench_workload_init(&w, q, QKERN_TYPE_IQ4_NL, QKERN_ENTRY_VEC_DOT, 256, 1, 1, &error),
        QKERN_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "IQ4_NL"));
    assert_int_equal(bench_workload_init(&w, q, QKERN_TYPE_Q4_0, QKERN_ENTRY_VEC_DOT, 256,
                                         UINT64_MAX / 200, 1, &error),
                     QKERN_E_MEMORY);
    assert_int_equal(bench_shape_get(QKERN_TYPE_Q4_0, QKERN_ENTRY_DEQUANTIZE, 64, &shape, NULL),
                     QKERN_OK);
    assert_int_equal(shape.row_bytes, 36);
    assert_int_equal(shape.other_bytes, 256);
    qkern_close(q, NULL);
}

/* Tasks go on where the last one has left off, whoever's it was, and around. */
static void tasks_share_their_place_in_the_data(void **state)
{
    qkern *q = open_here();
    (void)state;
    for (uint32_t entry = 0; entry < QKERN_ENTRY_LIMIT; entry++) {
        struct bench_workload w;
        assert_int_equal(bench_workload_init(&w, q, QKERN_TYPE_Q8_0, entry, 64, 5, 1, NULL),
                         QKERN_OK);
        struct bench_work work = {&w, bench_kernel_find(q, BENCH_REFERENCE, QKERN_TYPE_Q8_0)};
        const struct bench_task task = bench_work_task(&work), same = bench_work_task(&work);
        task.run(task.context, 3);
        assert_int_equal(w.next_row, 3);
        same.run(same.context, 4);
        assert_int_equal(w.next_row, 2);
        task.run(task.context, 13);
        assert_int_equal(w.next_row, 0);
        bench_workload_free(&w);
    }
    qkern_close(q, NULL);
}

/* --- cells ------------------------------------------------------------------------------------ */

static struct bench_cell_options cell_options(const char *const *plugins, uint32_t count)
{
    return (struct bench_cell_options){.type = QKERN_TYPE_Q6_K, /* rows that are no whole lines */
                                       .entry = QKERN_ENTRY_VEC_DOT_ROWS,
                                       .n = 256,
                                       .rows = 7,
                                       .seed = 1,
                                       .batch_ns = 1000,
                                       .round_limit = BENCH_ROUNDS_LEAST,
                                       .clock = bench_clock_open(),
                                       .plugins = plugins,
                                       .plugin_count = count};
}

static void run_cell(struct bench_cell *cell)
{
    for (uint32_t c = 0; c < cell->trial.candidate_count; c++)
        bench_cell_warm_up(cell, c);
    while (bench_trial_round(&cell->trial)) {
    }
}

static void a_cell_times_kernels_and_limits_in_the_same_rounds(void **state)
{
    const char *const plugins[] = {"no-such-plugin", "scalar"};
    const struct bench_cell_options options = cell_options(plugins, 2);
    qkern *q = open_here();
    struct bench_cell cell;
    (void)state;
    assert_int_equal(bench_cell_init(&cell, q, &options, NULL), QKERN_OK);
    assert_int_equal(cell.contender_count, 2);
    assert_false(cell.contenders[0].timed);
    assert_true(cell.contenders[0].missing);
    assert_string_equal(cell.contenders[0].reason, "it has no vec_dot_rows for Q6_K");
    assert_true(cell.contenders[1].timed);
    assert_ptr_equal(bench_cell_first(&cell), &cell.contenders[1]);
    run_cell(&cell);
    assert_int_equal(cell.trial.round_count, BENCH_ROUNDS_LEAST);
    const struct bench_summary s = bench_trial_summary(&cell.trial, cell.contenders[1].candidate);
    assert_true(s.least > 0 && s.least <= s.low && s.low <= s.median && s.median <= s.high);
    assert_true(cell.yardstick_count > 0);
    for (uint32_t i = 0; i < cell.yardstick_count; i++) {
        const struct bench_yardstick *y = &cell.yardsticks[i];
        assert_true(y->limit->kind != BENCH_LIMIT_COPY); /* says nothing of a dot product */
        assert_int_equal(bench_yardstick_bytes(y),
                         y->limit->kind == BENCH_LIMIT_READ ? 210 : BENCH_LIMIT_DOT_BYTES);
    }
    bench_cell_free(&cell);
    qkern_close(q, NULL);
}

static void a_cell_without_plugins_has_all_limits_and_no_first(void **state)
{
    const struct bench_cell_options options = cell_options(NULL, 0);
    qkern *q = open_here();
    struct bench_cell cell;
    uint32_t usable = 0;
    (void)state;
    for (uint32_t i = 0; i < bench_limit_count; i++)
        usable += bench_limit_usable(&bench_limits[i], q);
    assert_int_equal(bench_cell_init(&cell, q, &options, NULL), QKERN_OK);
    assert_int_equal(cell.yardstick_count, usable);
    assert_null(bench_cell_first(&cell));
    run_cell(&cell);
    bench_cell_free(&cell);
    qkern_close(q, NULL);
}

static void the_cost_of_a_pin_is_a_difference_of_two_calls(void **state)
{
    qkern *q = open_here();
    struct bench_pin_cost cost;
    (void)state;
    assert_int_equal(bench_pin_cost_init(&cost, q, bench_clock_open(), 1, 1000, 9, NULL), QKERN_OK);
    bench_trial_warm_up(&cost.trial, 0);
    bench_trial_warm_up(&cost.trial, 1);
    while (bench_trial_round(&cost.trial)) {
    }
    const struct bench_summary s = bench_pin_cost_summary(&cost);
    assert_true(isfinite(s.median) && s.low <= s.median && s.median <= s.high);
    bench_pin_cost_free(&cost);
    assert_int_equal(qkern_close(q, NULL), QKERN_OK); /* no pin is left */
}

static void the_baseline_is_built_in(void **state)
{
    (void)state;
    assert_non_null(strstr(bench_baseline, "\nQ4_0\tvec_dot_avx2\t204\tns\n"));
    assert_non_null(strstr(bench_baseline, "\nlimit\tdot_maddubs\t54.6\tns\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_wrong_bit_in_any_entry_point_is_found),
        cmocka_unit_test(rows_are_quantized_from_the_seed_and_repeat_after_the_distinct_ones),
        cmocka_unit_test(lengths_and_types_that_cannot_be_timed_are_refused),
        cmocka_unit_test(tasks_share_their_place_in_the_data),
        cmocka_unit_test(a_cell_times_kernels_and_limits_in_the_same_rounds),
        cmocka_unit_test(a_cell_without_plugins_has_all_limits_and_no_first),
        cmocka_unit_test(the_cost_of_a_pin_is_a_difference_of_two_calls),
        cmocka_unit_test(the_baseline_is_built_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
