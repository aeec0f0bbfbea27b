/* SPDX-License-Identifier: MIT */
/* The parts inside: hash and index, UTF-8, what stands in messages. */
#include <stdio.h>
#include <string.h>

#include "gguf/src/fault.h"
#include "gguf/src/index.h"
#include "gguf/src/mapping.h"
#include "gguf/src/name.h"
#include "gguf/src/reader.h"
#include "support.h"

static void siphash_gives_the_values_of_its_authors(void **state)
{
    const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    uint8_t input[64];

    (void)state;
    for (int i = 0; i < 64; i++)
        input[i] = (uint8_t)i;
    assert_true(siphash(key, input, 0) == 0x726fdb47dd0e0e31u);
    assert_true(siphash(key, input, 1) == 0x74f839c593dc67fdu);
    assert_true(siphash(key, input, 15) == 0xa129ca6149be45e5u);
    assert_true(siphash(key, input, 63) == 0x958a324ceb064572u);
}

typedef struct named {
    span name;
    char text[24];
} named;

static void names_that_collide_are_told_apart(void **state)
{
    enum { COUNT = 64 };
    static named records[COUNT];
    name_index index;
    fault f;
    unsigned candidate = 0;

    (void)state;
    assert_int_equal(index_init(&index, sizeof(named), &f), QKERN_OK);
    index.key[0] = index.key[1] = 0; /* known, so that names can be chosen */
    assert_int_equal(index_reserve(&index, records, COUNT, &f), QKERN_OK);
    assert_int_equal(index.slot_count, 2 * COUNT);
    for (uint32_t i = 0; i < COUNT; candidate++) {
        named *r = &records[i];

        snprintf(r->text, sizeof r->text, "name-%u", candidate);
        r->name = (span){r->text, strlen(r->text)};
        /* all belong in the last slot, so that probing goes around the end */
        if ((siphash(index.key, r->text, r->name.bytes) & (2 * COUNT - 1)) != 2 * COUNT - 1)
            continue;
        assert_int_equal(index_insert(&index, records, i), INDEX_NONE);
        i++;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(index_find(&index, records, records[i].text, records[i].name.bytes), i);
        assert_int_equal(index_insert(&index, records, i), i);
        /* a name and its beginning are different names */
        assert_int_equal(index_find(&index, records, records[i].text, 4), INDEX_NONE);
    }
    assert_int_equal(index_find(&index, records, "absent", 6), INDEX_NONE);
    /* Growing keeps all. */
    assert_int_equal(index_reserve(&index, records, 10 * COUNT, &f), QKERN_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(index_find(&index, records, records[i].text, records[i].name.bytes), i);
    index_free(&index);
}

static void each_index_has_a_key_of_its_own(void **state)
{
    build b = {0};
    guarded memory[2];

    (void)state;
    build_header(&b, 3, 0, 0);
    qkern_gguf *one = open_build(&b, &memory[0]);
    qkern_gguf *two = open_build(&b, &memory[1]);
    assert_memory_not_equal(one->keys.key, two->keys.key, sizeof one->keys.key);
    assert_memory_not_equal(one->keys.key, one->names.key, sizeof one->keys.key);
    qkern_gguf_close(one);
    qkern_gguf_close(two);
    guarded_free(&memory[0]);
    guarded_free(&memory[1]);
    build_free(&b);
}

static void only_well_formed_utf8_passes(void **state)
{
    static const char *const good[] = {
        "plain",        "\xc2\x80",     "\xdf\xbf",         "\xe0\xa0\x80",     "\xed\x9f\xbf",
        "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xe2\x82\xacz",
    };
    static const char *const bad[] = {
        "\x80",             /* a continuation alone */
        "\xc1\xbf",         /* overlong */
        "\xe0\x9f\xbf",     /* overlong */
        "\xf0\x8f\xbf\xbf", /* overlong */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* beyond U+10FFFF */
        "\xf5\x80\x80\x80", /* no first byte */
        "\xff",             /* no first byte */
        "\xe2\x82",         /* cut */
        "\xc2",             /* cut */
        "\xe2\x82z",        /* third byte */
        "\xf0\x90\x80z",    /* fourth byte */
        "\xc2z",            /* second byte */
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(name_is_utf8((const uint8_t *)good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (name_is_utf8((const uint8_t *)bad[i], strlen(bad[i])))
            fail_msg("sequence %zu passes", i);
}

static void expect_quoted(const void *bytes, uint64_t count, size_t size, const char *expected)
{
    char buffer[64];

    memset(buffer, 'X', sizeof buffer);
    assert_ptr_equal(quote(buffer, size, bytes, count), buffer);
    assert_string_equal(buffer, expected);
    assert_true(strlen(buffer) < size);
    for (size_t i = size; i < sizeof buffer; i++)
        assert_int_equal(buffer[i], 'X');
}

static void quoted_bytes_are_printable_and_fit(void **state)
{
    (void)state;
    expect_quoted("", 0, 8, "");
    expect_quoted("seven77", 7, 8, "seven77");
    expect_quoted("eight888", 8, 8, "eigh...");
    expect_quoted("a\0\n\x7f", 4, 32, "a\\x00\\x0a\\x7f");
    expect_quoted("a\0\0\0", 4, 10, "a\\x00...");
    expect_quoted("caf\xc3\xa9", 5, 32, "caf\xc3\xa9");
    expect_quoted("caf\xc3", 4, 32, "caf\\xc3");
    /* never cut inside a character */
    expect_quoted("aaa\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 12, 10, "aaa\xe2\x82\xac...");
    expect_quoted("aaaa\xe2\x82\xac\xe2\x82\xac", 10, 10, "aaaa...");
    /* what lies beyond is not looked at */
    expect_quoted("aaaaaaaaaaaa\xff", 13, 8, "aaaa...");
    expect_quoted("\x80\x80\x80\x80\x80\x80\x80\x80\x80", 9, 8, "\\x80...");
}

static void a_long_path_shows_its_end(void **state)
{
    char path[600];
    label l;

    (void)state;
    label_set(&l, "models/a.gguf");
    assert_string_equal(l.text, "models/a.gguf");

    memset(path, 'd', sizeof path);
    memcpy(path + sizeof path - 8, "/a.gguf", 8);
    label_set(&l, path);
    assert_int_equal(strlen(l.text), sizeof l.text - 1);
    assert_int_equal(strncmp(l.text, "...ddd", 6), 0);
    assert_string_equal(l.text + strlen(l.text) - 7, "/a.gguf");

    /* The end begins with a whole character. */
    for (size_t i = 0; i + 2 < sizeof path - 8; i += 3)
        memcpy(path + i, "\xe2\x82\xac", 3);
    for (int shift = 0; shift < 3; shift++) {
        label_set(&l, path + shift);
        assert_true(name_is_utf8((const uint8_t *)l.text, strlen(l.text)));
    }
}

static void every_kind_of_file_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(file_kind(0100644), "a file");
    assert_string_equal(file_kind(0040755), "a directory");
    assert_string_equal(file_kind(0120777), "a symbolic link");
    assert_string_equal(file_kind(0), "of an unknown kind");
}

static void pages_outside_the_file_are_not_released(void **state)
{
    static uint8_t memory[3 * 65536];
    const uint8_t *inside = memory + 65536;
    /* Says that it is mapped, though it is not of a file: what is released reads as zero. */
    mapping m = {inside, 65536, true};

    (void)state;
    memset(memory, 7, sizeof memory);
    mapping_release(&m, memory, 65536);         /* before */
    mapping_release(&m, inside, 2 * 65536);     /* beyond the end */
    mapping_release(&m, inside + 65537, 65536); /* behind */
    mapping_release(&m, inside + 65536, 0);     /* empty, at the end */
    mapping_release(&m, inside + 1, 4096);      /* no whole page */
    m.mapped = false;
    mapping_release(&m, inside, 65536); /* the caller's memory */
    for (size_t i = 0; i < sizeof memory; i++)
        assert_int_equal(memory[i], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(siphash_gives_the_values_of_its_authors),
        cmocka_unit_test(names_that_collide_are_told_apart),
        cmocka_unit_test(each_index_has_a_key_of_its_own),
        cmocka_unit_test(only_well_formed_utf8_passes),
        cmocka_unit_test(quoted_bytes_are_printable_and_fit),
        cmocka_unit_test(a_long_path_shows_its_end),
        cmocka_unit_test(every_kind_of_file_has_a_name),
        cmocka_unit_test(pages_outside_the_file_are_not_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
