/* SPDX-License-Identifier: MIT */
/*
 * A matrix of Q4_0 weights times a vector, three times: on one thread, on the threads of a pool,
 * and in threads that each ask for their part. docs/using-libqkern.md explains it.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <qkern.h>

#define N 256 /* elements of a row */
#define ROWS 1000
#define THREADS 2
#define ROW_BYTES (N / QKERN_BLOCK_ELEMENTS_Q4_0 * QKERN_BLOCK_BYTES_Q4_0)

static uint8_t weights[ROWS * ROW_BYTES];
static uint8_t activations[N / QKERN_BLOCK_ELEMENTS_Q8_0 * QKERN_BLOCK_BYTES_Q8_0];

static int fail(const qkern_error *error)
{
    fprintf(stderr, "matvec: %s\n", error->message);
    return 1;
}

/* --- a pool that has a "parallel for": here one that starts a thread for each task -------------
 */

struct job {
    void (*task)(void *arg, uint32_t index);
    void *arg;
    uint32_t index;
};

static void *job_thread(void *argument)
{
    const struct job *job = argument;
    job->task(job->arg, job->index);
    return NULL;
}

static void pool_run(void *pool, uint32_t tasks, void (*task)(void *arg, uint32_t index), void *arg)
{
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    uint32_t started = 0;

    (void)pool;
    for (; started < tasks; started++) {
        jobs[started] = (struct job){task, arg, started};
        if (pthread_create(&threads[started], NULL, job_thread, &jobs[started]) != 0)
            break;
    }
    for (uint32_t i = started; i < tasks; i++) /* no thread to be had: here */
        task(arg, i);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* --- threads that run already, each with a number of its own ---------------------------------- */

struct worker {
    qkern *q;
    const qkern_matrix *matrix;
    float *out;
    uint32_t part;
    qkern_error error;
};

static void *worker_thread(void *argument)
{
    struct worker *w = argument;
    qkern_matvec_part(w->q, w->matrix, activations, sizeof activations, w->out, w->part, THREADS,
                      &w->error);
    return NULL;
}

static qkern_error workers_run(qkern *q, const qkern_matrix *matrix, float *out)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    const qkern_error none = QKERN_ERROR_INIT;

    for (uint32_t i = 0; i < THREADS; i++)
        workers[i] = (struct worker){q, matrix, out, i, none};
    for (uint32_t i = 1; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, worker_thread, &workers[i]) != 0)
            threads[i] = pthread_self();
    worker_thread(&workers[0]);
    for (uint32_t i = 1; i < THREADS; i++)
        if (pthread_equal(threads[i], pthread_self()))
            worker_thread(&workers[i]);
        else
            pthread_join(threads[i], NULL);
    return workers[0].error; /* all parts check the same and fail alike */
}

int main(void)
{
    static float x[ROWS * N], alone[ROWS], pooled[ROWS], parted[ROWS];
    qkern_error error = QKERN_ERROR_INIT;
    qkern_matrix matrix = QKERN_MATRIX_INIT;
    qkern_pool pool = QKERN_POOL_INIT;
    qkern *q;

    if (qkern_open(NULL, &q, &error) != QKERN_OK)
        return fail(&error);
    for (int i = 0; i < ROWS * N; i++)
        x[i] = sinf((float)i * 0.37f);
    if (qkern_quantize(q, QKERN_TYPE_Q4_0, sizeof x / sizeof x[0], x, weights, sizeof weights,
                       &error) != QKERN_OK ||
        qkern_quantize(q, QKERN_TYPE_Q8_0, N, x, activations, sizeof activations, &error) !=
            QKERN_OK)
        return fail(&error);

    matrix.type = QKERN_TYPE_Q4_0;
    matrix.n = N;
    matrix.rows = ROWS;
    matrix.row_stride = sizeof weights / ROWS;
    matrix.weights = weights;
    matrix.weights_bytes = sizeof weights;
    if (qkern_matvec(q, &matrix, activations, sizeof activations, alone, NULL, &error) != QKERN_OK)
        return fail(&error);

    pool.tasks = THREADS;
    pool.run = pool_run;
    if (qkern_matvec(q, &matrix, activations, sizeof activations, pooled, &pool, &error) !=
        QKERN_OK)
        return fail(&error);

    error = workers_run(q, &matrix, parted);
    if (error.status != QKERN_OK)
        return fail(&error);

    const int same =
        memcmp(alone, pooled, sizeof alone) == 0 && memcmp(alone, parted, sizeof alone) == 0;
    printf("%d rows, row 1: %.4f; on %d threads: %s\n", ROWS, (double)alone[1], THREADS,
           same ? "the same bits" : "OTHER BITS");
    return qkern_close(q, &error) == QKERN_OK && same ? 0 : 1;
}
