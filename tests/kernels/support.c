/* SPDX-License-Identifier: MIT */
/* See support.h. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include <qkern.h>
#include <qkern/blocks.h>

#define KERNELS_MAX 64

static struct qkern_kernel kernels[KERNELS_MAX];

/* Ends the test: what is to be tested is not there, which is no reason to skip. */
static void missing(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* The record of a plugin among those of the build. */
static uint32_t record_named(const qkern *q, const char *name, qkern_record *record)
{
    for (uint32_t i = 0; i < qkern_record_count(q); i++) {
        *record = (qkern_record){.struct_size = sizeof *record};
        if (qkern_record_get(q, i, record, NULL) == QKERN_OK && strcmp(record->name, name) == 0)
            return i;
    }
    missing(name, "no such plugin in " QKERN_TEST_PLUGIN_DIR);
    return 0;
}

static void take_entries(struct qkern_kernel *to, const struct qkern_kernel *from)
{
    to->quantize = from->quantize != NULL ? from->quantize : to->quantize;
    to->dequantize = from->dequantize != NULL ? from->dequantize : to->dequantize;
    to->vec_dot = from->vec_dot != NULL ? from->vec_dot : to->vec_dot;
    to->quantize_weighted =
        from->quantize_weighted != NULL ? from->quantize_weighted : to->quantize_weighted;
    to->vec_dot_rows = from->vec_dot_rows != NULL ? from->vec_dot_rows : to->vec_dot_rows;
}

int kernels_found(void)
{
    const char *name = getenv("QKERN_TEST_PLUGIN");
    static const char *const folder[] = {QKERN_TEST_PLUGIN_DIR};
    qkern_options options = QKERN_OPTIONS_INIT;
    options.flags = QKERN_OPEN_NO_ENVIRONMENT | QKERN_OPEN_NO_SEARCH;
    options.plugin_path_count = 1;
    options.plugin_paths = folder;

    if (kernel_count() > KERNELS_MAX)
        missing("scalar", "more kernels than KERNELS_MAX");
    for (uint32_t i = 0; i < kernel_count(); i++)
        kernels[i] = *qkern_plugin_scalar.kernels[i];
    if (name == NULL)
        return 1;

    qkern *q; /* open as long as the process lives: its kernels are used */
    qkern_error error = QKERN_ERROR_INIT;
    if (qkern_open(&options, &q, &error) != QKERN_OK)
        missing(name, error.message);
    qkern_record record;
    const uint32_t index = record_named(q, name, &record);
    if (record.stage == QKERN_STAGE_NEEDS) {
        printf("skipped: %s: %s\n", name, record.text);
        return 0;
    }
    if (record.stage != QKERN_STAGE_READY)
        missing(name, record.text);
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k;
        if (qkern_record_kernel(q, index, kernels[i].type, &k, NULL) == QKERN_OK)
            take_entries(&kernels[i], k);
    }
    return 1;
}

uint32_t kernel_count(void)
{
    return qkern_plugin_scalar.kernel_count;
}

const struct qkern_kernel *kernel_at(uint32_t index)
{
    return &kernels[index];
}

const struct qkern_kernel *kernel_of(uint32_t type)
{
    for (uint32_t i = 0; i < kernel_count(); i++)
        if (kernels[i].type == type)
            return &kernels[i];
    return NULL;
}

const char *type_name(uint32_t type)
{
#define NAME(NAME, NUMBER, ELEMENTS, BYTES, DOT) [NUMBER] = #NAME,
    static const char *const names[QKERN_TYPE_LIMIT] = {QKERN_TYPES(NAME)};
#undef NAME
    return type < QKERN_TYPE_LIMIT && names[type] != NULL ? names[type] : "?";
}

const struct qkern_kernel *kernel_named(const char *name)
{
    for (uint32_t i = 0; i < kernel_count(); i++)
        if (strcasecmp(type_name(kernels[i].type), name) == 0)
            return &kernels[i];
    return NULL;
}

uint64_t number_u64(struct numbers *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

float number_gaussian(struct numbers *r)
{
    const double u = ((double)(number_u64(r) >> 11) + 1.0) * 0x1p-53; /* (0, 1] */
    const double v = (double)(number_u64(r) >> 11) * 0x1p-53;
    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}

float number_any_finite(struct numbers *r)
{
    for (;;) {
        const float v = from_bits((uint32_t)number_u64(r));
        if (isfinite(v))
            return v;
    }
}

void fill_gaussian(struct numbers *r, uint64_t n, float *x)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = number_gaussian(r);
}

void fill_bytes(struct numbers *r, size_t size, void *bytes)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)number_u64(r);
}

/* Where a block keeps f16 scales; Q8_K's f32 scale and its sums are a case of their own. */
struct scale_fields {
    uint32_t type;
    size_t offset[2];
    int count;
};

static const struct scale_fields scale_fields[] = {
    {QKERN_TYPE_F16, {0}, 1},
    {QKERN_TYPE_Q4_0, {0}, 1},
    {QKERN_TYPE_Q4_1, {0, 2}, 2},
    {QKERN_TYPE_Q5_0, {0}, 1},
    {QKERN_TYPE_Q5_1, {0, 2}, 2},
    {QKERN_TYPE_Q8_0, {0}, 1},
    {QKERN_TYPE_Q8_1, {0, 2}, 2},
    {QKERN_TYPE_Q2_K,
     {offsetof(struct qkern_block_q2_K, d), offsetof(struct qkern_block_q2_K, dmin)},
     2},
    {QKERN_TYPE_Q3_K, {offsetof(struct qkern_block_q3_K, d)}, 1},
    {QKERN_TYPE_Q4_K, {0, 2}, 2},
    {QKERN_TYPE_Q5_K, {0, 2}, 2},
    {QKERN_TYPE_Q6_K, {offsetof(struct qkern_block_q6_K, d)}, 1},
};

static void fill_block_q8_K(struct numbers *r, struct qkern_block_q8_K *b)
{
    const float d = number_gaussian(r) * 0.01f;
    memcpy(b->d, &d, 4);
    for (int k = 0; k < 16; k++) {
        int sum = 0;
        for (int e = 16 * k; e < 16 * k + 16; e++)
            sum += b->qs[e];
        const int16_t s = (int16_t)sum;
        memcpy(b->bsums[k], &s, 2);
    }
}

void fill_blocks(struct numbers *r, const struct qkern_kernel *k, uint64_t n, void *blocks)
{
    if (k->type == QKERN_TYPE_F32) {
        float *x = malloc(n * sizeof *x + 1);
        fill_gaussian(r, n, x);
        memcpy(blocks, x, n * sizeof *x);
        free(x);
        return;
    }
    fill_bytes(r, row_size(k, n), blocks);
    for (uint64_t i = 0; i < n / k->block_elements; i++) {
        uint8_t *b = (uint8_t *)blocks + i * k->block_bytes;
        if (k->type == QKERN_TYPE_Q8_K)
            fill_block_q8_K(r, (struct qkern_block_q8_K *)b);
        if (k->type == QKERN_TYPE_BF16)
            b[1] = (uint8_t)((b[1] & 0x80) | 0x3e | (b[1] & 1));
        for (size_t t = 0; t < sizeof scale_fields / sizeof scale_fields[0]; t++)
            for (int f = 0; scale_fields[t].type == k->type && f < scale_fields[t].count; f++) {
                uint8_t *high = b + scale_fields[t].offset[f] + 1;
                *high = (uint8_t)((*high & 0x83) | 0x20); /* 2^-7 .. 2^-6, any sign */
            }
    }
}

static struct guarded guarded_new(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t inside = (size + page - 1) / page * page;
    struct guarded g = {.map_size = inside + 2 * page};
    g.map = mmap(NULL, g.map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED ||
        (inside > 0 && mprotect((uint8_t *)g.map + page, inside, PROT_READ | PROT_WRITE) != 0))
        abort();
    g.data = (uint8_t *)g.map + page;
    return g;
}

struct guarded guarded_after_start(size_t size)
{
    return guarded_new(size);
}

struct guarded guarded_before_end(size_t size)
{
    struct guarded g = guarded_new(size);
    g.data = (uint8_t *)g.map + g.map_size - (size_t)sysconf(_SC_PAGESIZE) - size;
    return g;
}

void guarded_free(struct guarded *g)
{
    munmap(g->map, g->map_size);
}

uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return bits;
}

float from_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

int same_float(float a, float b)
{
    return bits_of(a) == bits_of(b) || (isnan(a) && isnan(b));
}
