/* SPDX-License-Identifier: MIT */
/* The limits of a core. */
#include "limits.h"

#include <string.h>

static uint64_t copy_libc(const uint8_t *in, uint8_t *other, size_t bytes)
{
    memcpy(other, in, bytes);
    return other[bytes / 2];
}

const struct bench_limit bench_limits[] = {
#if defined(__x86_64__)
    {"read_sse2", "read, SSE2 loads", BENCH_LIMIT_READ, {"sse2"}, bench_read_sse2},
    {"read_avx2", "read, AVX2 loads", BENCH_LIMIT_READ, {"avx2"}, bench_read_avx2},
    {"read_avx512", "read, AVX-512 loads", BENCH_LIMIT_READ, {"avx512f"}, bench_read_avx512},
    {"dot_maddubs",
     "u8 x i8 dot of 4096, maddubs + madd, 256 bit",
     BENCH_LIMIT_DOT,
     {"avx2"},
     bench_dot_maddubs},
    {"dot_dpbusd_avxvnni",
     "the same, dpbusd of AVX-VNNI, 256 bit",
     BENCH_LIMIT_DOT,
     {"avx2", "avx-vnni"},
     bench_dot_dpbusd_avxvnni},
    {"dot_dpbusd_256",
     "the same, dpbusd of AVX-512, 256 bit",
     BENCH_LIMIT_DOT,
     {"avx512f", "avx512vl", "avx512vnni"},
     bench_dot_dpbusd_256},
    {"dot_dpbusd_512",
     "the same, dpbusd, 512 bit",
     BENCH_LIMIT_DOT,
     {"avx512f", "avx512vl", "avx512vnni"},
     bench_dot_dpbusd_512},
    {"copy_libc", "copy of a row of 4096 f32, memcpy", BENCH_LIMIT_COPY, {NULL}, copy_libc},
    {"copy_avx2", "the same, AVX2", BENCH_LIMIT_COPY, {"avx2"}, bench_copy_avx2},
    {"copy_avx512", "the same, AVX-512", BENCH_LIMIT_COPY, {"avx512f"}, bench_copy_avx512},
#elif defined(__aarch64__)
    {"read_neon", "read, NEON loads", BENCH_LIMIT_READ, {"asimd"}, bench_read_neon},
    {"dot_sdot", "i8 x i8 dot of 4096, sdot", BENCH_LIMIT_DOT, {"dotprod"}, bench_dot_sdot},
    {"copy_libc", "copy of a row of 4096 f32, memcpy", BENCH_LIMIT_COPY, {NULL}, copy_libc},
    {"copy_neon", "the same, NEON", BENCH_LIMIT_COPY, {"asimd"}, bench_copy_neon},
#endif
};
const uint32_t bench_limit_count = sizeof bench_limits / sizeof bench_limits[0];

static bool feature_usable(const qkern *q, const char *name)
{
    const uint32_t count = qkern_feature_count(q);
    for (uint32_t i = 0; i < count; i++) {
        qkern_feature feature = {.struct_size = sizeof feature};
        if (qkern_feature_get(q, i, &feature, NULL) == QKERN_OK && strcmp(feature.name, name) == 0)
            return feature.usable != 0;
    }
    return false;
}

bool bench_limit_usable(const struct bench_limit *limit, const qkern *q)
{
    for (size_t i = 0; i < sizeof limit->features / sizeof limit->features[0]; i++)
        if (limit->features[i] != NULL && !feature_usable(q, limit->features[i]))
            return false;
    return true;
}

size_t bench_limit_bytes(const struct bench_limit *limit)
{
    return limit->kind == BENCH_LIMIT_DOT ? BENCH_LIMIT_DOT_BYTES : BENCH_LIMIT_COPY_BYTES;
}
