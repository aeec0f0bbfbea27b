/* SPDX-License-Identifier: MIT */
/*
 * qkern-bench-scalar: nanoseconds per row of 4096 for each scalar kernel, beside the limits of the
 * machine, measured in the same run.
 *
 * usage: qkern-bench-scalar [SECONDS] [TYPE]
 *
 * Each figure is taken on a pinned core after a warm-up, over batches of CPU time: the least and
 * the median. SECONDS (default 0.1) is the time for each figure.
 */
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <qkern/plugin.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

extern const struct qkern_plugin qkern_plugin_scalar;

#define ROW 4096
#define ROWS 4 /* differing rows of data, so that no branch learns one by heart */
#define BATCHES_MAX 1024
#define BATCHES_MIN 9
#define BATCH_SECONDS 0.002

/* Something to measure: run(context, i) does row i % ROWS. */
struct task {
    void (*run)(void *context, unsigned i);
    void *context;
};

struct timing {
    double least;
    double median;
};

static double seconds_budget = 0.1;

/* Results go here, so that no computation can be left out. */
static volatile float float_sink;
static volatile int int_sink;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double run_batch(struct task task, unsigned count)
{
    const double start = cpu_seconds();
    for (unsigned i = 0; i < count; i++)
        task.run(task.context, i);
    return cpu_seconds() - start;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of one run. */
static struct timing measure(struct task task)
{
    /* Warm up and find how many runs fill a batch. */
    unsigned count = 1;
    double time = run_batch(task, count);
    while (time < BATCH_SECONDS && count < 1u << 24) {
        count *= 2;
        time = run_batch(task, count);
    }
    static double batches[BATCHES_MAX];
    unsigned done = 0;
    double total = 0;
    while (done < BATCHES_MAX && (done < BATCHES_MIN || total < seconds_budget)) {
        time = run_batch(task, count);
        total += time;
        batches[done++] = 1e9 * time / count;
    }
    qsort(batches, done, sizeof batches[0], compare_doubles);
    return (struct timing){batches[0], batches[done / 2]};
}

static void *allocate(size_t size)
{
    void *p = aligned_alloc(64, (size + 63) / 64 * 64);
    if (p == NULL) {
        fprintf(stderr, "qkern-bench-scalar: out of memory\n");
        exit(1);
    }
    memset(p, 0, size);
    return p;
}

/* Seeded gaussian numbers. */
static void fill_gaussian(uint64_t n, float *x)
{
    static uint64_t state = 1;
    for (uint64_t i = 0; i < n; i++) {
        double u[2];
        for (int k = 0; k < 2; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            u[k] = ((double)(state >> 12) + 0.5) * 0x1p-52;
        }
        x[i] = (float)(sqrt(-2.0 * log(u[0])) * cos(6.283185307179586 * u[1]));
    }
}

/* The limits of the machine */

struct limit_data {
    uint8_t *bytes; /* 24 KiB */
    float *x;
    float *y;
};

static void run_copy(void *context, unsigned i)
{
    const struct limit_data *d = context;
    memcpy(d->y + i % 2 * ROW, d->x, ROW * sizeof(float));
    float_sink = d->y[i % ROW];
}

#if defined(__x86_64__)

#define READ_BYTES (24 * 1024)

__attribute__((target("avx2"))) static void run_read_avx2(void *context, unsigned i)
{
    const struct limit_data *d = context;
    __m256i a = _mm256_set1_epi32((int)i), b = a, c = a, e = a;
    for (int k = 0; k < READ_BYTES; k += 128) {
        a = _mm256_or_si256(a, _mm256_load_si256((const __m256i *)(d->bytes + k)));
        b = _mm256_or_si256(b, _mm256_load_si256((const __m256i *)(d->bytes + k + 32)));
        c = _mm256_or_si256(c, _mm256_load_si256((const __m256i *)(d->bytes + k + 64)));
        e = _mm256_or_si256(e, _mm256_load_si256((const __m256i *)(d->bytes + k + 96)));
    }
    a = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, e));
    int_sink = _mm256_extract_epi32(a, 0);
}

__attribute__((target("avx2"))) static void run_maddubs(void *context, unsigned i)
{
    const struct limit_data *d = context;
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum[4];
    for (int k = 0; k < 4; k++)
        sum[k] = _mm256_set1_epi32((int)i);
    for (int e = 0; e < ROW; e += 128)
        for (int k = 0; k < 4; k++) {
            const __m256i u = _mm256_load_si256((const __m256i *)(d->bytes + e + 32 * k));
            const __m256i s = _mm256_load_si256((const __m256i *)(d->bytes + ROW + e + 32 * k));
            sum[k] = _mm256_add_epi32(sum[k], _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), ones));
        }
    const __m256i total =
        _mm256_add_epi32(_mm256_add_epi32(sum[0], sum[1]), _mm256_add_epi32(sum[2], sum[3]));
    int_sink = _mm256_extract_epi32(total, 0);
}

__attribute__((target("avx512f,avx512vl,avx512vnni"))) static void run_dpbusd(void *context,
                                                                              unsigned i)
{
    const struct limit_data *d = context;
    __m256i sum[8];
    for (int k = 0; k < 8; k++)
        sum[k] = _mm256_set1_epi32((int)i);
    for (int e = 0; e < ROW; e += 256)
        for (int k = 0; k < 8; k++) {
            const __m256i u = _mm256_load_si256((const __m256i *)(d->bytes + e + 32 * k));
            const __m256i s = _mm256_load_si256((const __m256i *)(d->bytes + ROW + e + 32 * k));
            sum[k] = _mm256_dpbusd_epi32(sum[k], u, s);
        }
    for (int k = 1; k < 8; k++)
        sum[0] = _mm256_add_epi32(sum[0], sum[k]);
    int_sink = _mm256_extract_epi32(sum[0], 0);
}

#endif

static void print_limits(void)
{
    struct limit_data d = {allocate(32 * 1024), allocate(ROW * sizeof(float)),
                           allocate(2 * ROW * sizeof(float))};
    fill_gaussian(ROW, d.x);
    memset(d.bytes, 0x25, 32 * 1024);

    printf("limits of this core                    least   median\n");
    struct timing t = measure((struct task){run_copy, &d});
    printf("  copy of 4096 f32, ns              %8.1f %8.1f\n", t.least, t.median);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        t = measure((struct task){run_read_avx2, &d});
        printf("  read of 24 KiB, AVX2, GB/s        %8.1f %8.1f\n", READ_BYTES / t.least,
               READ_BYTES / t.median);
        t = measure((struct task){run_maddubs, &d});
        printf("  u8 x i8 dot of 4096, maddubs, ns  %8.1f %8.1f\n", t.least, t.median);
    }
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl")) {
        t = measure((struct task){run_dpbusd, &d});
        printf("  u8 x i8 dot of 4096, dpbusd, ns   %8.1f %8.1f\n", t.least, t.median);
    }
#endif
    free(d.bytes);
    free(d.x);
    free(d.y);
}

/* Kernels */

struct kernel_data {
    const struct qkern_kernel *kernel;
    size_t row_bytes;
    size_t dot_row_bytes;
    float *x;
    float *importance;
    float *y;
    uint8_t *blocks;
    uint8_t *activations;
    uint8_t *written;
};

static void run_quantize(void *context, unsigned i)
{
    const struct kernel_data *d = context;
    d->kernel->quantize(ROW, d->x + i % ROWS * ROW, d->written);
}

static void run_quantize_weighted(void *context, unsigned i)
{
    const struct kernel_data *d = context;
    d->kernel->quantize_weighted(ROW, d->x + i % ROWS * ROW, d->importance, d->written);
}

static void run_dequantize(void *context, unsigned i)
{
    const struct kernel_data *d = context;
    d->kernel->dequantize(ROW, d->blocks + i % ROWS * d->row_bytes, d->y);
}

static void run_vec_dot(void *context, unsigned i)
{
    const struct kernel_data *d = context;
    float_sink = d->kernel->vec_dot(ROW, d->blocks + i % ROWS * d->row_bytes,
                                    d->activations + i % ROWS * d->dot_row_bytes);
}

static const struct qkern_kernel *kernel_of(uint32_t type)
{
    for (uint32_t i = 0; i < qkern_plugin_scalar.kernel_count; i++)
        if (qkern_plugin_scalar.kernels[i]->type == type)
            return qkern_plugin_scalar.kernels[i];
    return NULL;
}

static const char *type_name(uint32_t type)
{
#define NAME(NAME, NUMBER, ELEMENTS, BYTES, DOT) [NUMBER] = #NAME,
    static const char *const names[QKERN_TYPE_LIMIT] = {QKERN_TYPES(NAME)};
#undef NAME
    return names[type];
}

static void print_kernel(const struct qkern_kernel *k)
{
    const struct qkern_kernel *ka = kernel_of(k->dot_type);
    struct kernel_data d = {.kernel = k};
    d.row_bytes = ROW / k->block_elements * k->block_bytes;
    d.x = allocate(ROWS * ROW * sizeof(float));
    d.importance = allocate(ROW * sizeof(float));
    d.y = allocate(ROW * sizeof(float));
    d.blocks = allocate(ROWS * d.row_bytes);
    d.written = allocate(d.row_bytes);
    fill_gaussian(ROWS * ROW, d.x);
    fill_gaussian(ROW, d.importance);
    for (int i = 0; i < ROW; i++)
        d.importance[i] = d.importance[i] * d.importance[i];
    k->quantize(ROWS * ROW, d.x, d.blocks);
    if (ka != NULL) {
        d.dot_row_bytes = ROW / ka->block_elements * ka->block_bytes;
        d.activations = allocate(ROWS * d.dot_row_bytes);
        fill_gaussian(ROWS * ROW, d.x);
        ka->quantize(ROWS * ROW, d.x, d.activations);
    }

    const struct timing q = measure((struct task){run_quantize, &d});
    const struct timing w = measure((struct task){run_quantize_weighted, &d});
    const struct timing y = measure((struct task){run_dequantize, &d});
    printf("%-5s %9.0f %9.0f %9.0f %9.0f %8.0f %8.0f", type_name(k->type), q.least, q.median,
           w.least, w.median, y.least, y.median);
    if (k->vec_dot != NULL) {
        const struct timing dot = measure((struct task){run_vec_dot, &d});
        printf(" %8.0f %8.0f", dot.least, dot.median);
    }
    printf("\n");
    free(d.x);
    free(d.importance);
    free(d.y);
    free(d.blocks);
    free(d.written);
    free(d.activations);
}

static void pin_to_this_core(void)
{
    const int core = sched_getcpu();
    cpu_set_t set;
    CPU_ZERO(&set);
    if (core >= 0)
        CPU_SET((unsigned)core, &set);
    if (core < 0 || sched_setaffinity(0, sizeof set, &set) != 0)
        fprintf(stderr, "qkern-bench-scalar: cannot pin to a core, figures may vary\n");
}

int main(int argc, char **argv)
{
    char *end = NULL;
    if (argc > 1)
        seconds_budget = strtod(argv[1], &end);
    if (argc > 3 || (argc > 1 && (*end != '\0' || !(seconds_budget > 0)))) {
        fprintf(stderr, "usage: qkern-bench-scalar [SECONDS] [TYPE]\n");
        return 2;
    }
    pin_to_this_core();
    print_limits();
    printf("\nns per row of %d, gaussian data: least and median\n", ROW);
    printf("type           quantize            weighted        dequantize          vec_dot\n");
    bool found = false;
    for (uint32_t i = 0; i < qkern_plugin_scalar.kernel_count; i++) {
        const struct qkern_kernel *k = qkern_plugin_scalar.kernels[i];
        if (argc == 3 && strcasecmp(argv[2], type_name(k->type)) != 0)
            continue;
        print_kernel(k);
        fflush(stdout);
        found = true;
    }
    if (!found) {
        fprintf(stderr, "qkern-bench-scalar: the scalar plugin has no type \"%s\"\n", argv[2]);
        return 2;
    }
    return 0;
}
