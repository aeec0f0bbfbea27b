/* SPDX-License-Identifier: MIT */
/*
 * qkern-bench-pin: nanoseconds of a kernel call through a pin over a direct call of the same
 * kernel, and of the steps alone. usage: qkern-bench-pin
 *
 * Batches of CPU time on a pinned core, the candidates in turn; the least of each. The kernel is
 * the chosen one for a short row, so that what is measured is not hidden behind it.
 */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include <qkern.h>

#define CALLS 20000
#define BATCHES 400

static qkern *q;
static const struct qkern_kernel *kernel;
static float w[16], a[16];
static volatile float sink;

static void direct_call(void)
{
    sink = kernel->vec_dot(1, w, a);
}

static void pinned_call(void)
{
    qkern_pin pin;

    qkern_pin_begin(q, &pin);
    sink = qkern_pin_kernel(&pin, QKERN_TYPE_F32)->vec_dot(1, w, a);
    qkern_pin_end(&pin);
}

/* A pin in a pin: what a checked call inside of one's own pin costs. */
static void nested_call(void)
{
    qkern_pin outer, pin;

    qkern_pin_begin(q, &outer);
    qkern_pin_begin(q, &pin);
    sink = qkern_pin_kernel(&pin, QKERN_TYPE_F32)->vec_dot(1, w, a);
    qkern_pin_end(&pin);
    qkern_pin_end(&outer);
}

static void begin_and_end(void)
{
    qkern_pin pin;

    qkern_pin_begin(q, &pin);
    qkern_pin_end(&pin);
}

static double batch(void (*call)(void))
{
    struct timespec start, end;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    for (int i = 0; i < CALLS; i++)
        call();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
           CALLS;
}

int main(void)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } candidates[] = {
        {"direct call", direct_call},
        {"call through a pin", pinned_call},
        {"call through a pin in a pin", nested_call},
        {"begin and end alone", begin_and_end},
    };
    enum { COUNT = sizeof candidates / sizeof candidates[0] };
    double least[COUNT];
    qkern_error error = QKERN_ERROR_INIT;
    cpu_set_t core;
    qkern_pin pin;

    CPU_ZERO(&core);
    CPU_SET((unsigned)sched_getcpu(), &core);
    sched_setaffinity(0, sizeof core, &core);
    if (qkern_open(NULL, &q, &error) != QKERN_OK) {
        fprintf(stderr, "qkern-bench-pin: %s\n", error.message);
        return 1;
    }
    qkern_pin_begin(q, &pin);
    kernel = qkern_pin_kernel(&pin, QKERN_TYPE_F32);
    qkern_pin_end(&pin);
    for (int i = 0; i < COUNT; i++)
        least[i] = batch(candidates[i].call);
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < COUNT; i++) {
            double time = batch(candidates[i].call);
            if (time < least[i])
                least[i] = time;
        }
    for (int i = 0; i < COUNT; i++)
        printf("%-28s %6.2f ns, %+6.2f\n", candidates[i].name, least[i], least[i] - least[0]);
    return qkern_close(q, &error) == QKERN_OK ? 0 : 1;
}
