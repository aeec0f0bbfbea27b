/* SPDX-License-Identifier: MIT */
/* qkern_matvec: the bits of qkern_vec_dot, on any threads of the caller's; and what it refuses. */
#include <pthread.h>

#include "host/support.h"

#define N 512
#define ROWS 50
#define PADDING 24
#define ROW_BYTES_MAX (N * 4 + PADDING)

static struct {
    qkern *q;
    qkern_error error;
    qkern_matrix matrix;
    uint64_t row_bytes, activations_bytes;
    float x[N], out[ROWS + 1], expected[ROWS];
    unsigned char weights[ROWS * ROW_BYTES_MAX], activations[N * 4];
} t;

static int setup(void **state)
{
    const qkern_error fresh = QKERN_ERROR_INIT;
    static const char *const paths[] = {QKERN_TEST_PLUGIN_DIR};
    qkern_options options = QKERN_OPTIONS_INIT;

    (void)state;
    options.flags = QKERN_OPEN_NO_SEARCH | QKERN_OPEN_NO_ENVIRONMENT;
    options.plugin_paths = paths;
    options.plugin_path_count = 1;
    assert_int_equal(qkern_open(&options, &t.q, NULL), QKERN_OK);
    t.error = fresh;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return qkern_close(t.q, NULL) == QKERN_OK ? 0 : -1;
}

static void fill(unsigned seed)
{
    for (unsigned i = 0; i < N; i++)
        t.x[i] = (float)((int)((i + seed) * 2654435761u >> 20) - 2048) / 512;
}

/* A matrix of ROWS rows, `padding` bytes after each, a row of activations, and what to expect. */
static void matrix_make(uint32_t type, uint64_t padding)
{
    const qkern_matrix none = QKERN_MATRIX_INIT;
    qkern_type_info info = {.struct_size = sizeof info};

    assert_int_equal(qkern_type_get(type, &info, NULL), QKERN_OK);
    assert_int_equal(qkern_row_bytes(type, N, &t.row_bytes, NULL), QKERN_OK);
    assert_int_equal(qkern_row_bytes(info.dot_type, N, &t.activations_bytes, NULL), QKERN_OK);
    t.matrix = none;
    t.matrix.type = type;
    t.matrix.n = N;
    t.matrix.rows = ROWS;
    t.matrix.row_stride = t.row_bytes + padding;
    t.matrix.weights = t.weights;
    t.matrix.weights_bytes = ROWS * t.matrix.row_stride;
    memset(t.weights, 0xff, sizeof t.weights);
    fill(77);
    assert_int_equal(
        qkern_quantize(t.q, info.dot_type, N, t.x, t.activations, t.activations_bytes, NULL),
        QKERN_OK);
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned char *row = t.weights + r * t.matrix.row_stride;
        fill(r * 1013);
        assert_int_equal(qkern_quantize(t.q, type, N, t.x, row, t.row_bytes, NULL), QKERN_OK);
        assert_int_equal(qkern_vec_dot(t.q, type, N, row, t.row_bytes, t.activations,
                                       t.activations_bytes, &t.expected[r], NULL),
                         QKERN_OK);
    }
}

/* Asks for fewer rows of the matrix. */
static void rows_set(uint64_t rows)
{
    t.matrix.rows = rows;
    t.matrix.weights_bytes = rows * t.matrix.row_stride;
}

static void out_clear(void)
{
    memset(t.out, 0x55, sizeof t.out);
}

static void assert_untouched(void)
{
    for (size_t i = 0; i < sizeof t.out; i++)
        assert_int_equal(((const unsigned char *)t.out)[i], 0x55);
}

/* The rows of the matrix have the expected bits, and nothing beyond them is written. */
static void assert_out(void)
{
    const size_t bytes = t.matrix.rows * sizeof(float);

    assert_memory_equal(t.out, t.expected, bytes);
    for (size_t i = bytes; i < sizeof t.out; i++)
        assert_int_equal(((const unsigned char *)t.out)[i], 0x55);
    out_clear();
}

static qkern_status matvec(const qkern_pool *pool)
{
    return qkern_matvec(t.q, &t.matrix, t.activations, t.activations_bytes, t.out, pool, &t.error);
}

static void assert_refused(qkern_status found, qkern_status expected, const char *part)
{
    assert_string_equal(qkern_status_name(found), qkern_status_name(expected));
    assert_int_equal(t.error.status, expected);
    assert_part(t.error.message, part);
    assert_untouched();
}

/* --- pools ------------------------------------------------------------------------------------ */

struct job {
    void (*task)(void *arg, uint32_t index);
    void *arg;
    uint32_t first, step, tasks;
};

static void *job_run(void *argument)
{
    const struct job *job = argument;

    for (uint32_t i = job->first; i < job->tasks; i += job->step)
        job->task(job->arg, i);
    return NULL;
}

/* `pool` is a number of threads, count, each with every count-th task. */
static void threads_run(void *pool, uint32_t tasks, void (*task)(void *arg, uint32_t index),
                        void *arg)
{
    const uint32_t count = *(const uint32_t *)pool;
    pthread_t threads[8];
    struct job jobs[8];

    assert_true(count <= 8);
    for (uint32_t i = 0; i < count; i++) {
        jobs[i] = (struct job){task, arg, i, count, tasks};
        assert_int_equal(pthread_create(&threads[i], NULL, job_run, &jobs[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* All in the calling thread, the last task first. */
static void backwards_run(void *pool, uint32_t tasks, void (*task)(void *arg, uint32_t index),
                          void *arg)
{
    (void)pool;
    while (tasks > 0)
        task(arg, --tasks);
}

/* Leaves out the last task, and runs one that there is not. */
static void lazy_run(void *pool, uint32_t tasks, void (*task)(void *arg, uint32_t index), void *arg)
{
    (void)pool;
    for (uint32_t i = 0; i + 1 < tasks; i++)
        task(arg, i);
    task(arg, tasks);
}

static qkern_pool pool_of(uint32_t tasks,
                          void (*run)(void *, uint32_t, void (*)(void *, uint32_t), void *),
                          void *data)
{
    qkern_pool pool = QKERN_POOL_INIT;

    pool.tasks = tasks;
    pool.run = run;
    pool.pool = data;
    return pool;
}

/* --- what works ------------------------------------------------------------------------------- */

static void every_row_has_the_bits_of_vec_dot(void **state)
{
    static const uint64_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, ROWS};
    static const uint64_t paddings[] = {0, 1, PADDING};
    uint32_t types = 0;

    (void)state;
    out_clear();
    for (uint32_t type = 0; type < QKERN_TYPE_LIMIT; type++) {
        uint32_t record;
        if (qkern_choice_get(t.q, type, QKERN_ENTRY_VEC_DOT_ROWS, &record, NULL) != QKERN_OK)
            continue;
        types++;
        for (size_t p = 0; p < sizeof paddings / sizeof paddings[0]; p++) {
            matrix_make(type, paddings[p]);
            for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                rows_set(rows[i]);
                assert_int_equal(matvec(NULL), QKERN_OK);
                assert_out();
            }
        }
    }
    assert_int_equal(types, 13); /* all that libqkern has, but Q8_1 and Q8_K */
}

static void the_bits_do_not_depend_on_the_threads(void **state)
{
    static const uint32_t threads[] = {1, 2, 7};
    static const uint32_t tasks[] = {1, 2, 3, 7, 64, 1000};
    static const uint64_t rows[] = {0, 1, 15, 16, 17, ROWS};

    (void)state;
    out_clear();
    matrix_make(QKERN_TYPE_Q4_K, 0);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        rows_set(rows[r]);
        for (size_t k = 0; k < sizeof tasks / sizeof tasks[0]; k++) {
            qkern_pool pool = pool_of(tasks[k], backwards_run, NULL);
            assert_int_equal(matvec(&pool), QKERN_OK);
            assert_out();
            for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
                uint32_t count = threads[i];
                pool = pool_of(tasks[k], threads_run, &count);
                assert_int_equal(matvec(&pool), QKERN_OK);
                assert_out();
            }
        }
    }
}

struct lent {
    uint32_t part, parts;
    qkern_status status;
};

static void *part_run(void *argument)
{
    struct lent *lent = argument;

    lent->status = qkern_matvec_part(t.q, &t.matrix, t.activations, t.activations_bytes, t.out,
                                     lent->part, lent->parts, NULL);
    return NULL;
}

static void lent_threads_compute_a_part_each(void **state)
{
    static const uint32_t counts[] = {1, 2, 7};

    (void)state;
    out_clear();
    matrix_make(QKERN_TYPE_Q8_0, 2);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        pthread_t threads[7];
        struct lent lent[7];
        for (uint32_t i = 0; i < counts[c]; i++) {
            lent[i] = (struct lent){i, counts[c], QKERN_E_BUSY};
            assert_int_equal(pthread_create(&threads[i], NULL, part_run, &lent[i]), 0);
        }
        for (uint32_t i = 0; i < counts[c]; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(lent[i].status, QKERN_OK);
        }
        assert_out();
    }
}

/* Each element of out is written by one part, whatever the number of parts. */
static void parts_are_disjoint_and_complete(void **state)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 100, UINT32_MAX};

    (void)state;
    matrix_make(QKERN_TYPE_Q4_0, 0);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        unsigned writers[ROWS] = {0};
        for (uint32_t part = 0; part < counts[c] && part < 200; part++) {
            out_clear();
            assert_int_equal(qkern_matvec_part(t.q, &t.matrix, t.activations, t.activations_bytes,
                                               t.out, part, counts[c], &t.error),
                             QKERN_OK);
            for (unsigned r = 0; r < ROWS; r++) {
                static const unsigned char clear[4] = {0x55, 0x55, 0x55, 0x55};
                if (memcmp(&t.out[r], clear, 4) == 0)
                    continue;
                writers[r]++;
                assert_memory_equal(&t.out[r], &t.expected[r], 4);
            }
        }
        for (unsigned r = 0; r < ROWS; r++)
            assert_int_equal(writers[r], 1);
    }
}

static void the_padding_of_the_last_row_may_be_missing(void **state)
{
    (void)state;
    out_clear();
    matrix_make(QKERN_TYPE_Q4_0, 7);
    for (uint64_t missing = 0; missing <= 7; missing++) {
        t.matrix.weights_bytes = ROWS * t.matrix.row_stride - missing;
        assert_int_equal(matvec(NULL), QKERN_OK);
        assert_out();
    }
}

static void rows_of_no_elements_give_zeros(void **state)
{
    static const float zeros[3];
    uint32_t count = 2;
    qkern_pool pool = pool_of(3, threads_run, &count);

    (void)state;
    t.matrix = (qkern_matrix){.struct_size = sizeof t.matrix, .type = QKERN_TYPE_Q4_K, .rows = 3};
    out_clear();
    assert_int_equal(qkern_matvec(t.q, &t.matrix, NULL, 0, t.out, NULL, NULL), QKERN_OK);
    assert_memory_equal(t.out, zeros, sizeof zeros);
    assert_memory_equal(&t.out[3], "UUUU", 4);
    out_clear();
    assert_int_equal(qkern_matvec(t.q, &t.matrix, NULL, 0, t.out, &pool, NULL), QKERN_OK);
    assert_memory_equal(t.out, zeros, sizeof zeros);
    assert_memory_equal(&t.out[3], "UUUU", 4);
    out_clear();
    assert_refused(qkern_matvec(t.q, &t.matrix, NULL, 0, NULL, NULL, &t.error), QKERN_E_ARGUMENT,
                   "qkern_matvec: out is NULL");
    t.matrix.rows = 0;
    assert_int_equal(qkern_matvec(t.q, &t.matrix, NULL, 0, NULL, NULL, NULL), QKERN_OK);
}

/* Weights are not looked at; what is not finite in them comes out. */
static void weights_are_not_checked(void **state)
{
    (void)state;
    out_clear();
    matrix_make(QKERN_TYPE_Q8_0, 0);
    memcpy(t.weights + 3 * t.row_bytes, "\x00\x7c", 2); /* the first scale of row 3: infinity */
    assert_int_equal(matvec(NULL), QKERN_OK);
    assert_memory_equal(t.out, t.expected, 3 * sizeof(float));
    assert_false(t.out[3] - t.out[3] == 0); /* an infinity or a NaN */
    assert_memory_equal(t.out + 4, t.expected + 4, (ROWS - 4) * sizeof(float));
}

/* --- what is refused -------------------------------------------------------------------------- */

static void null_arguments_are_named(void **state)
{
    uint32_t count = 1;
    qkern_pool pool = pool_of(1, NULL, &count);

    (void)state;
    matrix_make(QKERN_TYPE_Q4_0, 0);
    out_clear();
    assert_refused(
        qkern_matvec(NULL, &t.matrix, t.activations, t.activations_bytes, t.out, NULL, &t.error),
        QKERN_E_ARGUMENT, "qkern_matvec: q is NULL");
    assert_refused(
        qkern_matvec(t.q, NULL, t.activations, t.activations_bytes, t.out, NULL, &t.error),
        QKERN_E_ARGUMENT, "qkern_matvec: matrix is NULL");
    assert_refused(qkern_matvec(t.q, &t.matrix, NULL, t.activations_bytes, t.out, NULL, &t.error),
                   QKERN_E_ARGUMENT, "activations is NULL");
    assert_refused(
        qkern_matvec(t.q, &t.matrix, t.activations, t.activations_bytes, NULL, NULL, &t.error),
        QKERN_E_ARGUMENT, "out is NULL");
    assert_refused(matvec(&pool), QKERN_E_ARGUMENT, "qkern_matvec: pool->run is NULL");
    pool = pool_of(0, threads_run, &count);
    assert_refused(matvec(&pool), QKERN_E_ARGUMENT, "pool->tasks is 0");
    pool = pool_of(1, threads_run, &count);
    pool.struct_size = 8;
    assert_refused(matvec(&pool), QKERN_E_ARGUMENT,
                   "pool->struct_size is 8, set it to sizeof(qkern_pool)");
    t.matrix.weights = NULL;
    assert_refused(matvec(NULL), QKERN_E_ARGUMENT, "matrix->weights is NULL");
    t.matrix.struct_size = 0;
    assert_refused(matvec(NULL), QKERN_E_ARGUMENT,
                   "matrix->struct_size is 0, set it to sizeof(qkern_matrix)");
    assert_int_equal(qkern_matvec(t.q, NULL, NULL, 0, NULL, NULL, NULL), QKERN_E_ARGUMENT);
}

static void there_are_only_so_many_parts(void **state)
{
    (void)state;
    matrix_make(QKERN_TYPE_Q4_0, 0);
    out_clear();
    assert_refused(qkern_matvec_part(t.q, &t.matrix, t.activations, t.activations_bytes, t.out, 3,
                                     3, &t.error),
                   QKERN_E_ARGUMENT, "qkern_matvec_part: there is no part 3 of 3");
    assert_refused(qkern_matvec_part(t.q, &t.matrix, t.activations, t.activations_bytes, t.out, 0,
                                     0, &t.error),
                   QKERN_E_ARGUMENT, "there is no part 0 of 0");
    assert_refused(
        qkern_matvec_part(t.q, NULL, t.activations, t.activations_bytes, t.out, 0, 3, &t.error),
        QKERN_E_ARGUMENT, "qkern_matvec_part: matrix is NULL");
}

static void types_and_lengths_are_checked(void **state)
{
    (void)state;
    matrix_make(QKERN_TYPE_Q4_0, 0);
    out_clear();
    t.matrix.type = QKERN_TYPE_Q8_K;
    assert_refused(matvec(NULL), QKERN_E_TYPE, "qkern_matvec: no plugin has vec_dot_rows of Q8_K");
    t.matrix.type = 4;
    assert_refused(matvec(NULL), QKERN_E_TYPE, "4 is not the number of a type");
    t.matrix.type = QKERN_TYPE_Q4_0;
    t.matrix.n = 100;
    assert_refused(matvec(NULL), QKERN_E_LENGTH, "100 elements");
}

static void sizes_and_strides_are_checked(void **state)
{
    (void)state;
    matrix_make(QKERN_TYPE_Q4_0, 2);
    out_clear();
    t.matrix.weights_bytes = ROWS * 290 - 3;
    assert_refused(matvec(NULL), QKERN_E_SIZE,
                   "matrix->weights_bytes is 14497, but 50 rows, 290 bytes apart, take 14498, and "
                   "the padding of the last row if it is there");
    t.matrix.weights_bytes = ROWS * 290 + 1;
    assert_refused(matvec(NULL), QKERN_E_SIZE, "matrix->weights_bytes is 14501");
    rows_set(ROWS);
    t.matrix.row_stride = 287;
    assert_refused(matvec(NULL), QKERN_E_SIZE,
                   "qkern_matvec: matrix->row_stride is 287, but a row takes 288 bytes");
    t.matrix.row_stride = 290;
    t.activations_bytes--;
    assert_refused(matvec(NULL), QKERN_E_SIZE, "qkern_matvec: activations_bytes is 543");
    t.activations_bytes++;
    rows_set(0);
    t.matrix.weights_bytes = 1;
    assert_refused(matvec(NULL), QKERN_E_SIZE, "weights_bytes is 1, but 0 rows");
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    matrix_make(QKERN_TYPE_Q4_0, 0);
    out_clear();
    t.matrix.rows = UINT64_MAX / 2;
    assert_refused(matvec(NULL), QKERN_E_LIMIT, "floats overflows 64 bits");
    t.matrix.rows = UINT64_MAX / 8;
    assert_refused(matvec(NULL), QKERN_E_LIMIT,
                   "the size of 2305843009213693951 rows, 288 bytes apart, overflows 64 bits");
    t.matrix.rows = 2;
    t.matrix.row_stride = UINT64_MAX / 2;
    t.matrix.weights_bytes = UINT64_MAX - 1;
    assert_refused(matvec(NULL), QKERN_E_LIMIT, "matrix->weights: 18446744073709551614 bytes");
}

static void out_is_aligned_and_overlaps_nothing(void **state)
{
    float *odd = (float *)(void *)((char *)t.out + 1);

    (void)state;
    matrix_make(QKERN_TYPE_F32, 0);
    out_clear();
    assert_refused(
        qkern_matvec(t.q, &t.matrix, t.activations, t.activations_bytes, odd, NULL, &t.error),
        QKERN_E_ALIGNMENT, "qkern_matvec: out is not aligned");
    t.matrix.weights_bytes = (t.matrix.rows = 1) * t.matrix.row_stride;
    assert_refused(qkern_matvec(t.q, &t.matrix, t.out, t.activations_bytes, t.out, NULL, &t.error),
                   QKERN_E_OVERLAP, "activations and out overlap");
    t.matrix.weights = t.out;
    assert_refused(matvec(NULL), QKERN_E_OVERLAP, "matrix->weights and out overlap");
}

static void activations_are_checked_by_every_part(void **state)
{
    (void)state;
    matrix_make(QKERN_TYPE_Q4_K, 0);
    out_clear();
    t.activations[292 + 4] ^= 1; /* the first code of the second block: its sum is another */
    assert_refused(matvec(NULL), QKERN_E_DATA,
                   "qkern_matvec: activations: the sum of group 0 of Q8_K block 1");
    assert_true(t.error.index == 256);
    for (uint32_t part = 0; part < 100; part++)
        assert_refused(qkern_matvec_part(t.q, &t.matrix, t.activations, t.activations_bytes, t.out,
                                         part, 100, &t.error),
                       QKERN_E_DATA, "qkern_matvec_part: activations: the sum of group 0");
}

static void a_pool_that_leaves_tasks_out_is_found(void **state)
{
    const qkern_pool pool = pool_of(4, lazy_run, NULL);

    (void)state;
    matrix_make(QKERN_TYPE_Q4_0, 0);
    out_clear();
    assert_int_equal(matvec(&pool), QKERN_E_ARGUMENT);
    assert_part(t.error.message, "qkern_matvec: pool->run returned after 3 of 4 tasks");
    assert_part(t.error.message, "out is incomplete");
}

#define TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_row_has_the_bits_of_vec_dot),
        TEST(the_bits_do_not_depend_on_the_threads),
        TEST(lent_threads_compute_a_part_each),
        TEST(parts_are_disjoint_and_complete),
        TEST(the_padding_of_the_last_row_may_be_missing),
        TEST(rows_of_no_elements_give_zeros),
        TEST(weights_are_not_checked),
        TEST(null_arguments_are_named),
        TEST(there_are_only_so_many_parts),
        TEST(types_and_lengths_are_checked),
        TEST(sizes_and_strides_are_checked),
        TEST(sizes_that_overflow_are_refused),
        TEST(out_is_aligned_and_overlaps_nothing),
        TEST(activations_are_checked_by_every_part),
        TEST(a_pool_that_leaves_tasks_out_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
