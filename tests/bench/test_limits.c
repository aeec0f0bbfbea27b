/* SPDX-License-Identifier: MIT */
/* The limits do the work whose time they stand for. */
#include <string.h>

#include "bench/limits.h"
#include "bench/random.h"
#include "host/vetting/cmocka_all.h"

enum { BYTES = 16384 };

static _Alignas(64) uint8_t in[BYTES], other[BYTES];

static qkern *open_here(void)
{
    qkern *q = NULL;
    const qkern_options options = {
        (uint32_t)sizeof options, QKERN_OPEN_NO_SEARCH, 0, 0, NULL, NULL};
    assert_int_equal(qkern_open(&options, &q, NULL), QKERN_OK);
    return q;
}

static void fill(uint8_t *bytes, uint64_t seed, uint8_t mask)
{
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)bench_random(&seed) & mask;
}

static void readers_read_every_byte(void **state)
{
    qkern *q = open_here();
    int done = 0;
    (void)state;
    for (uint32_t i = 0; i < bench_limit_count; i++) {
        const struct bench_limit *limit = &bench_limits[i];
        if (limit->kind != BENCH_LIMIT_READ || !bench_limit_usable(limit, q))
            continue;
        for (size_t bytes = 64; bytes <= 2048; bytes += 64)
            for (size_t at = 0; at < bytes; at += 8) {
                memset(in, 0, sizeof in);
                in[at] = 0x40;
                assert_true(limit->run(in, NULL, bytes) == 0x40);
                assert_true(limit->run(in, NULL, bytes - 1) == 0x40);
            }
        done++;
    }
    assert_true(done > 0);
    qkern_close(q, NULL);
}

static void dot_products_are_right(void **state)
{
    qkern *q = open_here();
    int32_t expected = 0;
    (void)state;
    fill(in, 1, 0x3f); /* small enough for maddubs not to saturate, and for u8 to be i8 */
    fill(other, 2, 0xff);
    for (size_t i = 0; i < BENCH_LIMIT_DOT_BYTES; i++)
        expected += in[i] * (int8_t)other[i];
    for (uint32_t i = 0; i < bench_limit_count; i++) {
        const struct bench_limit *limit = &bench_limits[i];
        if (limit->kind != BENCH_LIMIT_DOT || !bench_limit_usable(limit, q))
            continue;
        assert_int_equal(bench_limit_bytes(limit), BENCH_LIMIT_DOT_BYTES);
        assert_true((int32_t)(uint32_t)limit->run(in, other, BENCH_LIMIT_DOT_BYTES) == expected);
    }
    qkern_close(q, NULL);
}

static void copies_copy(void **state)
{
    qkern *q = open_here();
    (void)state;
    for (uint32_t i = 0; i < bench_limit_count; i++) {
        const struct bench_limit *limit = &bench_limits[i];
        if (limit->kind != BENCH_LIMIT_COPY || !bench_limit_usable(limit, q))
            continue;
        fill(in, i, 0xff);
        memset(other, 0, sizeof other);
        assert_int_equal(bench_limit_bytes(limit), BYTES);
        limit->run(in, other, BYTES);
        assert_memory_equal(in, other, BYTES);
    }
    qkern_close(q, NULL);
}

static void each_has_a_name_of_its_own_and_known_features(void **state)
{
    qkern *q = open_here();
    (void)state;
    for (uint32_t i = 0; i < bench_limit_count; i++) {
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(bench_limits[i].name, bench_limits[j].name);
        for (size_t k = 0; k < 3 && bench_limits[i].features[k] != NULL; k++) {
            bool known = false;
            for (uint32_t f = 0; f < qkern_feature_count(q); f++) {
                qkern_feature feature = {.struct_size = sizeof feature};
                assert_int_equal(qkern_feature_get(q, f, &feature, NULL), QKERN_OK);
                known = known || strcmp(feature.name, bench_limits[i].features[k]) == 0;
            }
            assert_true(known);
        }
    }
    qkern_close(q, NULL);
}

static void a_feature_that_nobody_has_makes_a_limit_unusable(void **state)
{
    qkern *q = open_here();
    const struct bench_limit limit = {"x", "x", BENCH_LIMIT_READ, {"no-such-feature"}, NULL};
    const struct bench_limit anywhere = {"x", "x", BENCH_LIMIT_READ, {NULL}, NULL};
    (void)state;
    assert_false(bench_limit_usable(&limit, q));
    assert_true(bench_limit_usable(&anywhere, q));
    qkern_close(q, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_read_every_byte),
        cmocka_unit_test(dot_products_are_right),
        cmocka_unit_test(copies_copy),
        cmocka_unit_test(each_has_a_name_of_its_own_and_known_features),
        cmocka_unit_test(a_feature_that_nobody_has_makes_a_limit_unusable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
