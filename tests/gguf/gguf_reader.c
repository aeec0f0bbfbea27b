/* SPDX-License-Identifier: MIT */
/* What the reader hands out of files built in memory, and what it refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support.h"

static qkern_gguf_value value_of(const qkern_gguf *g, const char *key)
{
    qkern_gguf_pair pair = {.struct_size = sizeof pair};
    qkern_error error = QKERN_ERROR_INIT;

    if (qkern_gguf_pair_find(g, key, &pair, &error) != QKERN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(pair.key_bytes, strlen(key));
    assert_memory_equal(pair.key, key, strlen(key));
    return pair.value;
}

/* A file with one value of each type; integers at their limits. */
static void build_every_type(build *b, uint32_t version)
{
    build_header(b, version, 0, 13);
    build_key(b, "u8", QKERN_GGUF_UINT8);
    build_u8(b, UINT8_MAX);
    build_key(b, "i8", QKERN_GGUF_INT8);
    build_u8(b, 0x80);
    build_key(b, "u16", QKERN_GGUF_UINT16);
    build_u16(b, UINT16_MAX);
    build_key(b, "i16", QKERN_GGUF_INT16);
    build_u16(b, 0x8000);
    build_key(b, "u32", QKERN_GGUF_UINT32);
    build_u32(b, UINT32_MAX);
    build_key(b, "i32", QKERN_GGUF_INT32);
    build_u32(b, 0x80000000u);
    build_key(b, "f32", QKERN_GGUF_FLOAT32);
    build_f32(b, -1.5f);
    build_key(b, "bool", QKERN_GGUF_BOOL);
    build_u8(b, 1);
    build_key(b, "string", QKERN_GGUF_STRING);
    build_u64(b, 5);
    build_bytes(b, "a\0\xff\nz", 5); /* any byte */
    build_key(b, "array", QKERN_GGUF_ARRAY);
    build_array(b, QKERN_GGUF_INT16, 3);
    build_u16(b, 1);
    build_u16(b, 0xffff);
    build_u16(b, 0x8000);
    build_key(b, "u64", QKERN_GGUF_UINT64);
    build_u64(b, UINT64_MAX);
    build_key(b, "i64", QKERN_GGUF_INT64);
    build_u64(b, UINT64_C(1) << 63);
    build_key(b, "f64", QKERN_GGUF_FLOAT64);
    build_f64(b, 1e300);
}

static void expect_integer(const qkern_gguf *g, const char *key, uint32_t type, uint32_t bytes,
                           int64_t expected)
{
    qkern_gguf_value v = value_of(g, key);
    qkern_error error = QKERN_ERROR_INIT;
    uint64_t u = 77;
    int64_t i = 77;

    assert_int_equal(v.struct_size, sizeof v);
    assert_int_equal(v.value_type, type);
    assert_int_equal(v.element_type, type);
    assert_int_equal(v.count, 1);
    assert_int_equal(v.bytes, bytes);
    assert_string_equal(qkern_gguf_value_name(type), key);
    assert_int_equal(qkern_gguf_value_i64(&v, &i, NULL), QKERN_OK);
    assert_true(i == expected);
    if (expected >= 0) {
        assert_int_equal(qkern_gguf_value_u64(&v, &u, NULL), QKERN_OK);
        assert_true(u == (uint64_t)expected);
    } else {
        assert_int_equal(qkern_gguf_value_u64(&v, &u, &error), QKERN_E_LIMIT);
        assert_non_null(strstr(error.message, "is negative"));
        assert_true(u == 77);
    }
}

static void values_are_those_of_the_file(void **state)
{
    build b = {0};
    guarded memory;
    uint64_t u = 77;
    int64_t i = 77;
    double d = 77;
    qkern_error error = QKERN_ERROR_INIT;

    (void)state;
    build_every_type(&b, 3);
    qkern_gguf *g = open_build(&b, &memory);
    expect_integer(g, "u8", QKERN_GGUF_UINT8, 1, UINT8_MAX);
    expect_integer(g, "i8", QKERN_GGUF_INT8, 1, INT8_MIN);
    expect_integer(g, "u16", QKERN_GGUF_UINT16, 2, UINT16_MAX);
    expect_integer(g, "i16", QKERN_GGUF_INT16, 2, INT16_MIN);
    expect_integer(g, "u32", QKERN_GGUF_UINT32, 4, UINT32_MAX);
    expect_integer(g, "i32", QKERN_GGUF_INT32, 4, INT32_MIN);
    expect_integer(g, "bool", QKERN_GGUF_BOOL, 1, 1);
    expect_integer(g, "i64", QKERN_GGUF_INT64, 8, INT64_MIN);

    qkern_gguf_value v = value_of(g, "u64");
    assert_int_equal(qkern_gguf_value_u64(&v, &u, NULL), QKERN_OK);
    assert_true(u == UINT64_MAX);
    assert_int_equal(qkern_gguf_value_i64(&v, &i, &error), QKERN_E_LIMIT);
    assert_non_null(strstr(error.message, "18446744073709551615 does not fit 63 bits"));
    assert_true(i == 77);
    assert_int_equal(qkern_gguf_value_f64(&v, &d, &error), QKERN_E_LIMIT);
    assert_non_null(strstr(error.message, "18446744073709551615 is beyond 2^53"));
    assert_true(d == 77);
    v = value_of(g, "i64");
    assert_int_equal(qkern_gguf_value_f64(&v, &d, &error), QKERN_E_LIMIT);
    assert_non_null(strstr(error.message, "-9223372036854775808 is beyond 2^53"));

    v = value_of(g, "f32");
    assert_int_equal(qkern_gguf_value_f64(&v, &d, NULL), QKERN_OK);
    assert_true(d == -1.5);
    assert_int_equal(qkern_gguf_value_u64(&v, &u, &error), QKERN_E_TYPE);
    assert_non_null(strstr(error.message, "the value is f32, expected an integer"));
    assert_int_equal(qkern_gguf_value_i64(&v, &i, &error), QKERN_E_TYPE);
    v = value_of(g, "f64");
    assert_int_equal(qkern_gguf_value_f64(&v, &d, NULL), QKERN_OK);
    assert_true(d == 1e300);
    v = value_of(g, "i32");
    assert_int_equal(qkern_gguf_value_f64(&v, &d, NULL), QKERN_OK);
    assert_true(d == INT32_MIN);
    v = value_of(g, "u8");
    assert_int_equal(qkern_gguf_value_f64(&v, &d, NULL), QKERN_OK);
    assert_true(d == 255);

    v = value_of(g, "string");
    assert_int_equal(v.bytes, 5);
    assert_memory_equal(v.data, "a\0\xff\nz", 5);
    assert_int_equal(qkern_gguf_value_u64(&v, &u, &error), QKERN_E_TYPE);
    assert_int_equal(qkern_gguf_value_i64(&v, &i, &error), QKERN_E_TYPE);
    assert_int_equal(qkern_gguf_value_f64(&v, &d, &error), QKERN_E_TYPE);
    assert_non_null(strstr(error.message, "the value is string, expected a number"));

    v = value_of(g, "array");
    assert_int_equal(v.value_type, QKERN_GGUF_ARRAY);
    assert_int_equal(v.element_type, QKERN_GGUF_INT16);
    assert_int_equal(v.count, 3);
    assert_int_equal(v.bytes, 6);
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);
}

static void version_2_reads_like_version_3(void **state)
{
    build two = {0}, three = {0};
    guarded memory[2];
    qkern_gguf_header header = {.struct_size = sizeof header};

    (void)state;
    build_every_type(&two, 2);
    build_every_type(&three, 3);
    qkern_gguf *old = open_build(&two, &memory[0]);
    qkern_gguf *new = open_build(&three, &memory[1]);
    assert_true(walk(old) == walk(new));
    assert_int_equal(qkern_gguf_header_get(old, &header, NULL), QKERN_OK);
    assert_int_equal(header.version, 2);
    assert_int_equal(header.metadata_count, 13);
    assert_int_equal(header.tensor_count, 0);
    assert_int_equal(header.alignment, 32);
    assert_int_equal(header.file_bytes, two.size);
    assert_int_equal(header.data_offset, (two.size + 31) / 32 * 32);
    assert_int_equal(qkern_gguf_header_get(new, &header, NULL), QKERN_OK);
    assert_int_equal(header.version, 3);
    qkern_gguf_close(old);
    qkern_gguf_close(new);
    guarded_free(&memory[0]);
    guarded_free(&memory[1]);
    build_free(&two);
    build_free(&three);
}

static void value_types_have_names(void **state)
{
    (void)state;
    assert_string_equal(qkern_gguf_value_name(QKERN_GGUF_UINT8), "u8");
    assert_string_equal(qkern_gguf_value_name(QKERN_GGUF_FLOAT64), "f64");
    assert_null(qkern_gguf_value_name(13));
    assert_null(qkern_gguf_value_name(UINT32_MAX));
}

static void arrays_yield_their_elements_in_order(void **state)
{
    build b = {0};
    guarded memory;
    qkern_gguf_value element = {.struct_size = sizeof element};
    qkern_gguf_value inner = {.struct_size = sizeof inner};
    qkern_error error = QKERN_ERROR_INIT;
    uint64_t at = 0, inner_at = 0;
    uint64_t u;

    (void)state;
    build_header(&b, 3, 0, 3);
    build_key(&b, "words", QKERN_GGUF_ARRAY);
    build_array(&b, QKERN_GGUF_STRING, 3);
    build_string(&b, "first");
    build_string(&b, "");
    build_string(&b, "last");
    build_key(&b, "rows", QKERN_GGUF_ARRAY);
    build_array(&b, QKERN_GGUF_ARRAY, 3);
    build_array(&b, QKERN_GGUF_UINT16, 2);
    build_u16(&b, 10);
    build_u16(&b, 11);
    build_array(&b, QKERN_GGUF_STRING, 0);
    build_array(&b, QKERN_GGUF_BOOL, 1);
    build_u8(&b, 0);
    build_key(&b, "none", QKERN_GGUF_ARRAY);
    build_array(&b, QKERN_GGUF_FLOAT64, 0);
    qkern_gguf *g = open_build(&b, &memory);

    qkern_gguf_value words = value_of(g, "words");
    static const char *const expected[] = {"first", "", "last"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(qkern_gguf_array_next(&words, &at, &element, NULL), QKERN_OK);
        assert_int_equal(element.value_type, QKERN_GGUF_STRING);
        assert_int_equal(element.bytes, strlen(expected[i]));
        assert_memory_equal(element.data, expected[i], element.bytes);
    }
    assert_int_equal(qkern_gguf_array_next(&words, &at, &element, &error), QKERN_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "the array ends here"));
    assert_memory_equal(element.data, "last", 4);

    qkern_gguf_value rows = value_of(g, "rows");
    at = 0;
    assert_int_equal(rows.count, 3);
    assert_int_equal(qkern_gguf_array_next(&rows, &at, &element, NULL), QKERN_OK);
    assert_int_equal(element.value_type, QKERN_GGUF_ARRAY);
    assert_int_equal(element.element_type, QKERN_GGUF_UINT16);
    assert_int_equal(element.count, 2);
    assert_int_equal(qkern_gguf_array_next(&element, &inner_at, &inner, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_array_next(&element, &inner_at, &inner, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_value_u64(&inner, &u, NULL), QKERN_OK);
    assert_int_equal(u, 11);
    assert_int_equal(qkern_gguf_array_next(&rows, &at, &element, NULL), QKERN_OK);
    assert_int_equal(element.element_type, QKERN_GGUF_STRING);
    assert_int_equal(element.count, 0);
    assert_int_equal(qkern_gguf_array_next(&rows, &at, &element, NULL), QKERN_OK);
    assert_int_equal(element.element_type, QKERN_GGUF_BOOL);
    assert_int_equal(qkern_gguf_array_next(&rows, &at, &element, NULL), QKERN_E_NOT_FOUND);

    qkern_gguf_value none = value_of(g, "none");
    at = 0;
    assert_int_equal(none.count, 0);
    assert_int_equal(qkern_gguf_array_next(&none, &at, &element, NULL), QKERN_E_NOT_FOUND);
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);
}

static void array_next_checks_what_it_is_given(void **state)
{
    const uint8_t numbers[4] = {1, 0, 2, 0};
    qkern_gguf_value array = {sizeof array, QKERN_GGUF_ARRAY, QKERN_GGUF_UINT16, 0, 2, 4, numbers};
    qkern_gguf_value element = {.struct_size = sizeof element};
    qkern_gguf_value bad;
    qkern_error error = QKERN_ERROR_INIT;
    uint64_t at = 0;

    (void)state;
    assert_int_equal(qkern_gguf_array_next(NULL, &at, &element, &error), QKERN_E_ARGUMENT);
    assert_non_null(strstr(error.message, "the value is NULL"));
    assert_int_equal(qkern_gguf_array_next(&array, NULL, &element, &error), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_array_next(&array, &at, NULL, &error), QKERN_E_ARGUMENT);
    assert_int_equal(at, 0);
    bad = (qkern_gguf_value){.struct_size = 0};
    assert_int_equal(qkern_gguf_array_next(&array, &at, &bad, &error), QKERN_E_ARGUMENT);
    assert_non_null(strstr(error.message, "struct_size is 0, set it to sizeof(qkern_gguf_value)"));
    bad = array;
    bad.struct_size = 8;
    assert_int_equal(qkern_gguf_array_next(&bad, &at, &element, &error), QKERN_E_ARGUMENT);
    assert_non_null(strstr(error.message, "struct_size of the value is 8"));
    bad = array;
    bad.value_type = 13;
    assert_int_equal(qkern_gguf_array_next(&bad, &at, &element, &error), QKERN_E_ARGUMENT);
    bad.value_type = QKERN_GGUF_UINT16;
    assert_int_equal(qkern_gguf_array_next(&bad, &at, &element, &error), QKERN_E_TYPE);
    assert_non_null(strstr(error.message, "the value is u16, not an array"));
    bad = array;
    bad.element_type = 99;
    assert_int_equal(qkern_gguf_array_next(&bad, &at, &element, &error), QKERN_E_FORMAT);
    bad = array;
    bad.bytes = 1;
    assert_int_equal(qkern_gguf_array_next(&bad, &at, &element, &error), QKERN_E_FORMAT);
    assert_non_null(strstr(error.message, "u16 takes 2 bytes, but only 1 bytes are left"));
    at = 5;
    assert_int_equal(qkern_gguf_array_next(&array, &at, &element, &error), QKERN_E_ARGUMENT);
    assert_non_null(strstr(error.message, "the position is 5, beyond the 4 bytes"));
    assert_int_equal(at, 5);
}

/* One key whose value is arrays within arrays; the innermost holds a u8. */
static void build_nested(build *b, uint32_t depth)
{
    build_header(b, 3, 0, 1);
    build_key(b, "deep", QKERN_GGUF_ARRAY);
    for (uint32_t i = 1; i < depth; i++)
        build_array(b, QKERN_GGUF_ARRAY, 1);
    build_array(b, QKERN_GGUF_UINT8, 1);
    build_u8(b, 42);
}

static void nesting_is_read_to_its_limit_and_refused_beyond(void **state)
{
    build b = {0};
    guarded memory;

    (void)state;
    build_nested(&b, QKERN_GGUF_NESTING_LIMIT);
    qkern_gguf *g = open_build(&b, &memory);
    qkern_gguf_value v = value_of(g, "deep");
    for (uint32_t i = 0; i < QKERN_GGUF_NESTING_LIMIT; i++) {
        qkern_gguf_value element = {.struct_size = sizeof element};
        uint64_t at = 0;

        assert_int_equal(qkern_gguf_array_next(&v, &at, &element, NULL), QKERN_OK);
        v = element;
    }
    assert_int_equal(v.value_type, QKERN_GGUF_UINT8);
    assert_int_equal(*v.data, 42);
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);

    build_nested(&b, QKERN_GGUF_NESTING_LIMIT + 1);
    expect_refused(&b, QKERN_E_LIMIT, "key 'deep': arrays are nested deeper than 8");
    build_free(&b);
}

static void expect_bad_value(uint32_t value_type, const void *bytes, size_t size,
                             const char *message)
{
    build b = {0};

    build_header(&b, 3, 0, 1);
    build_key(&b, "k", value_type);
    build_bytes(&b, bytes, size);
    expect_refused(&b, QKERN_E_FORMAT, message);
    build_free(&b);
}

static void values_that_contradict_the_format_are_refused(void **state)
{
    build b = {0};

    (void)state;
    expect_bad_value(QKERN_GGUF_BOOL, "\2", 1, "key 'k': a bool is 2, expected 0 or 1");
    expect_bad_value(QKERN_GGUF_UINT64, "1234567", 7, "u64 takes 8 bytes, but only 7 bytes");
    expect_bad_value(QKERN_GGUF_STRING, "1234567", 7, "ends within the length of a string");
    expect_bad_value(QKERN_GGUF_ARRAY, "123", 3, "ends within the header of an array");
    expect_bad_value(QKERN_GGUF_ARRAY, "\0\0\0\0\1\0\0", 7, "ends within the header of an array");

    build_array(&b, QKERN_GGUF_BOOL, 3);
    build_bytes(&b, "\0\1\xff", 3);
    expect_bad_value(QKERN_GGUF_ARRAY, b.data, b.size, "a bool is 255, expected 0 or 1");
    build_free(&b);
    /* As many strings as there are bytes for their lengths, but the last one runs out. */
    build_array(&b, QKERN_GGUF_STRING, 2);
    build_string(&b, "");
    build_u64(&b, 1);
    expect_bad_value(QKERN_GGUF_ARRAY, b.data, b.size, "a string of 1 bytes, but only 0 bytes");
    build_free(&b);
    build_array(&b, QKERN_GGUF_ARRAY, 2);
    build_array(&b, QKERN_GGUF_UINT8, 0);
    expect_bad_value(QKERN_GGUF_ARRAY, b.data, b.size,
                     "an array of 2 elements of type array, but only 12 bytes are left");
    build_free(&b);
}

/* --- tensors ---------------------------------------------------------------------------------- */

static qkern_gguf_tensor tensor_of(const qkern_gguf *g, const char *name)
{
    qkern_gguf_tensor t = {.struct_size = sizeof t};
    qkern_error error = QKERN_ERROR_INIT;

    if (qkern_gguf_tensor_find(g, name, &t, &error) != QKERN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(t.name_bytes, strlen(name));
    assert_memory_equal(t.name, name, strlen(name));
    return t;
}

static void shapes_and_sizes_follow_from_the_table(void **state)
{
    build b = {0};
    guarded memory;
    qkern_gguf_header header = {.struct_size = sizeof header};

    (void)state;
    build_header(&b, 3, 3, 0);
    build_tensor(&b, "four", SHAPE(64, 3, 5, 2), QKERN_TYPE_Q4_0, 64);
    build_tensor(&b, "scalar", SHAPE(0), QKERN_TYPE_F64, 32);
    build_tensor(&b, "row", SHAPE(7), QKERN_TYPE_F32, 0);
    build_pad(&b, 32);
    size_t data = b.size;
    build_zeros(&b, 64);
    for (int i = 0; i < 30 * 2 * 18; i++)
        build_u8(&b, (uint8_t)i);
    qkern_gguf *g = open_build(&b, &memory);
    assert_int_equal(qkern_gguf_header_get(g, &header, NULL), QKERN_OK);
    assert_int_equal(header.data_offset, data);

    qkern_gguf_tensor t = tensor_of(g, "four");
    assert_int_equal(t.struct_size, sizeof t);
    assert_int_equal(t.type, QKERN_TYPE_Q4_0);
    assert_int_equal(t.dimensions, 4);
    assert_memory_equal(t.shape, SHAPE(64, 3, 5, 2), 4 * sizeof t.shape[0]);
    assert_int_equal(t.rows, 30);
    assert_int_equal(t.row_bytes, 36);
    assert_int_equal(t.bytes, 1080);
    assert_int_equal(t.offset, 64);
    assert_ptr_equal(t.data, memory.data + data + 64);
    assert_int_equal(t.data[1079], 1079 & 255);

    t = tensor_of(g, "scalar");
    assert_int_equal(t.dimensions, 0);
    assert_memory_equal(t.shape, SHAPE(1, 1, 1, 1), 4 * sizeof t.shape[0]);
    assert_int_equal(t.rows, 1);
    assert_int_equal(t.bytes, 8);

    assert_int_equal(qkern_gguf_tensor_get(g, 0, NULL, NULL), QKERN_E_ARGUMENT);

    t = tensor_of(g, "row");
    assert_int_equal(t.dimensions, 1);
    assert_memory_equal(t.shape, SHAPE(7, 1, 1, 1), 4 * sizeof t.shape[0]);
    assert_int_equal(t.rows, 1);
    assert_int_equal(t.row_bytes, 28);
    walk(g);
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);
}

static void every_type_number_is_known_or_refused(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < 64; type++) {
        qkern_type_info info = {.struct_size = sizeof info};
        build b = {0};

        build_header(&b, 3, 1, 0);
        build_tensor(&b, "t", SHAPE(256, 2), type, 0);
        build_pad(&b, 32);
        if (qkern_type_get(type, &info, NULL) == QKERN_OK) {
            guarded memory;

            build_zeros(&b, 512 / info.block_elements * info.block_bytes);
            qkern_gguf *g = open_build(&b, &memory);
            qkern_gguf_tensor t = tensor_of(g, "t");
            assert_int_equal(t.type, type);
            assert_int_equal(t.row_bytes, 256 / info.block_elements * info.block_bytes);
            assert_int_equal(t.bytes, 2 * t.row_bytes);
            qkern_gguf_close(g);
            guarded_free(&memory);
            b.size--;
            expect_refused(&b, QKERN_E_FORMAT, "tensor 't': ");
        } else {
            expect_refused(&b, QKERN_E_TYPE, "is not the number of a type");
        }
        build_free(&b);
    }
}

static void expect_bad_tensor(const uint64_t *shape, uint32_t type, uint64_t offset,
                              qkern_status status, const char *message)
{
    build b = {0};

    build_header(&b, 3, 1, 0);
    build_tensor(&b, "t", shape, type, offset);
    build_pad(&b, 32);
    build_zeros(&b, 4096);
    expect_refused(&b, status, message);
    build_free(&b);
}

static void impossible_tensors_are_refused(void **state)
{
    const uint64_t big = UINT64_C(1) << 32;

    (void)state;
    expect_bad_tensor(SHAPE(big, big), QKERN_TYPE_I8, 0, QKERN_E_LIMIT, "does not fit 63 bits");
    expect_bad_tensor(SHAPE(1, INT64_MAX, 2), QKERN_TYPE_I8, 0, QKERN_E_LIMIT,
                      "dimension 2 is 2: the number of elements does not fit 63 bits");
    expect_bad_tensor(SHAPE(1, INT64_MAX), QKERN_TYPE_F64, 0, QKERN_E_LIMIT,
                      "9223372036854775807 rows of 8 bytes: the size does not fit 63 bits");
    expect_bad_tensor(SHAPE(INT64_MAX), QKERN_TYPE_F64, 0, QKERN_E_LIMIT, "overflows 64 bits");
    expect_bad_tensor(SHAPE(1, 1, 1, 1, 1), QKERN_TYPE_F32, 0, QKERN_E_LIMIT,
                      "has 5 dimensions, the limit is 4");
    expect_bad_tensor(SHAPE(32), QKERN_TYPE_F32, 4, QKERN_E_FORMAT,
                      "offset 4 is not a multiple of the alignment 32");
    expect_bad_tensor(SHAPE(1025), QKERN_TYPE_F32, 0, QKERN_E_FORMAT,
                      "4100 bytes at offset 0 end beyond the data section, which has 4096 bytes");
    expect_bad_tensor(SHAPE(0), QKERN_TYPE_Q8_0, 0, QKERN_E_LENGTH,
                      "a row of 1 elements is not whole blocks of 32");
}

static void a_table_cut_within_an_entry_is_refused_by_what_is_missing(void **state)
{
    static const struct {
        size_t bytes; /* of the entry of a tensor "t" of two dimensions */
        const char *message;
    } cuts[] = {
        {7, "tensor 2 of 2: the file ends within the length of its name"},
        {8, "tensor 2 of 2: its name has 1 bytes, but only 0 bytes are left"},
        {9, "tensor 't': the file ends within its number of dimensions"},
        {13, "tensor 't': the file ends within its shape"},
        {21, "tensor 't': the file ends within its shape"},
        {29, "tensor 't': the file ends within its type and offset"},
        {33, "tensor 't': the file ends within its type and offset"},
    };
    build b = {0};

    (void)state;
    build_header(&b, 3, 2, 0);
    build_tensor(&b, "a long name, so that the count is believed", SHAPE(1), QKERN_TYPE_F32, 0);
    size_t entry = b.size;
    build_tensor(&b, "t", SHAPE(1, 1), QKERN_TYPE_F32, 32);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        b.size = entry + cuts[i].bytes;
        expect_refused(&b, QKERN_E_FORMAT, cuts[i].message);
    }
    build_free(&b);
}

static void metadata_cut_within_a_pair_is_refused_by_what_is_missing(void **state)
{
    build b = {0};

    (void)state;
    build_header(&b, 3, 0, 2);
    build_key(&b, "a long key, so that the count is believed", QKERN_GGUF_UINT8);
    build_u8(&b, 0);
    size_t pair = b.size;
    build_key(&b, "k", QKERN_GGUF_UINT8);
    b.size = pair + 12;
    expect_refused(&b, QKERN_E_FORMAT, "key 'k': the file ends within its value type");
    b.size = pair + 13;
    expect_refused(&b, QKERN_E_FORMAT, "key 'k': u8 takes 1 bytes, but only 0 bytes are left");
    build_free(&b);
}

static void counts_beyond_a_limit_are_refused_even_if_the_bytes_are_there(void **state)
{
    build b = {0};

    (void)state;
    build_header(&b, 3, 0, QKERN_GGUF_METADATA_LIMIT + 1);
    build_zeros(&b, (QKERN_GGUF_METADATA_LIMIT + 1) * 14);
    expect_refused(&b, QKERN_E_LIMIT, "1048577 metadata pairs, the limit is 1048576");
    b.size = 0;
    build_header(&b, 3, QKERN_GGUF_TENSOR_LIMIT + 1, 0);
    build_zeros(&b, (QKERN_GGUF_TENSOR_LIMIT + 1) * 25);
    expect_refused(&b, QKERN_E_LIMIT, "1048577 tensors, the limit is 1048576");
    build_free(&b);
}

/* --- alignment -------------------------------------------------------------------------------- */

static void build_aligned(build *b, uint32_t alignment)
{
    build_header(b, 3, 2, 1);
    build_key(b, "general.alignment", QKERN_GGUF_UINT32);
    build_u32(b, alignment);
    build_tensor(b, "one", SHAPE(3), QKERN_TYPE_I8, 0);
    build_tensor(b, "two", SHAPE(5), QKERN_TYPE_I8, alignment);
    build_pad(b, alignment);
    build_bytes(b, "abc", 3);
    build_pad(b, alignment);
    build_bytes(b, "defgh", 5);
}

static void alignment_is_honoured_and_limited(void **state)
{
    static const uint32_t good[] = {8, 16, 32, 64, 4096, QKERN_GGUF_ALIGNMENT_LIMIT};
    static const uint32_t bad[] = {0, 1, 2, 4, 9, 24, 33, UINT32_MAX};
    build b = {0};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        guarded memory;
        qkern_gguf_header header = {.struct_size = sizeof header};

        build_aligned(&b, good[i]);
        qkern_gguf *g = open_build(&b, &memory);
        assert_int_equal(qkern_gguf_header_get(g, &header, NULL), QKERN_OK);
        assert_int_equal(header.alignment, good[i]);
        assert_int_equal(header.data_offset % good[i], 0);
        assert_memory_equal(tensor_of(g, "one").data, "abc", 3);
        assert_memory_equal(tensor_of(g, "two").data, "defgh", 5);
        qkern_gguf_close(g);
        guarded_free(&memory);
        build_free(&b);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        build_header(&b, 3, 0, 1);
        build_key(&b, "general.alignment", QKERN_GGUF_UINT32);
        build_u32(&b, bad[i]);
        expect_refused(&b, QKERN_E_FORMAT,
                       "key 'general.alignment': the value is "); /* and its number */
        build_free(&b);
    }
    build_header(&b, 3, 0, 1);
    build_key(&b, "general.alignment", QKERN_GGUF_UINT32);
    build_u32(&b, 2 * QKERN_GGUF_ALIGNMENT_LIMIT);
    expect_refused(&b, QKERN_E_LIMIT, "the value is 2097152, the limit is 1048576");
    build_free(&b);
}

static void padding_before_the_data_must_be_zero(void **state)
{
    build b = {0};

    (void)state;
    build_header(&b, 3, 1, 0);
    build_tensor(&b, "t", SHAPE(4), QKERN_TYPE_F32, 0);
    size_t padding = b.size;
    build_pad(&b, 32);
    size_t data = b.size;
    build_zeros(&b, 16);
    assert_true(padding < data);
    for (size_t i = padding; i < data; i++) {
        b.data[i] = 1;
        expect_refused(&b, QKERN_E_FORMAT, "does the header count too few tensors?");
        b.data[i] = 0;
    }
    b.data[data] = 1; /* but the data may be anything */
    guarded memory;
    qkern_gguf_close(open_build(&b, &memory));
    guarded_free(&memory);
    build_free(&b);
}

static void tensors_may_lie_in_any_order_but_not_overlap(void **state)
{
    const struct {
        uint64_t offsets[4]; /* of four tensors of 64 bytes */
        const char *overlap; /* NULL: accepted */
    } cases[] = {
        {{0, 64, 128, 192}, NULL},
        {{192, 128, 64, 0}, NULL},
        {{64, 0, 192, 448}, NULL},
        {{0, 64, 96, 192}, "tensor 't2': starts at offset 96, within 't1'"},
        {{192, 0, 64, 224}, "tensor 't3': starts at offset 224, within 't0'"},
        {{0, 64, 128, 128}, "tensor 't3': starts at offset 128, within 't2'"},
        {{128, 0, 192, 32}, "tensor 't3': starts at offset 32, within 't1'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build b = {0};
        guarded memory;

        build_header(&b, 3, 4, 0);
        for (int t = 0; t < 4; t++) {
            char name[] = {'t', (char)('0' + t), '\0'};
            build_tensor(&b, name, SHAPE(16), QKERN_TYPE_F32, cases[i].offsets[t]);
        }
        build_pad(&b, 32);
        build_zeros(&b, 512);
        if (cases[i].overlap == NULL) {
            qkern_gguf_close(open_build(&b, &memory));
            guarded_free(&memory);
        } else {
            expect_refused(&b, QKERN_E_FORMAT, cases[i].overlap);
        }
        build_free(&b);
    }
}

static void a_name_twice_is_refused(void **state)
{
    build b = {0};

    (void)state;
    build_header(&b, 3, 2, 0);
    build_tensor(&b, "same", SHAPE(1), QKERN_TYPE_F32, 0);
    build_tensor(&b, "same", SHAPE(1), QKERN_TYPE_F32, 32);
    build_pad(&b, 32);
    build_zeros(&b, 64);
    expect_refused(&b, QKERN_E_FORMAT, "tensor 'same': stands twice, as tensor 1 and 2");
    build_free(&b);
}

static void names_are_taken_to_their_limit(void **state)
{
    build b = {0};
    guarded memory;
    char *name = malloc(65537);

    (void)state;
    assert_non_null(name);
    memset(name, 'n', 65536);
    name[65535] = '\0';
    build_header(&b, 3, 1, 1);
    build_key(&b, name, QKERN_GGUF_UINT8);
    build_u8(&b, 9);
    build_tensor(&b, name, SHAPE(1), QKERN_TYPE_I8, 0);
    build_pad(&b, 32);
    build_u8(&b, 5);
    qkern_gguf *g = open_build(&b, &memory);
    assert_int_equal(*value_of(g, name).data, 9);
    assert_int_equal(*tensor_of(g, name).data, 5);
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);

    name[65535] = 'n';
    name[65536] = '\0';
    build_header(&b, 3, 1, 0);
    build_tensor(&b, name, SHAPE(1), QKERN_TYPE_I8, 0);
    build_pad(&b, 32);
    build_u8(&b, 5);
    expect_refused(&b, QKERN_E_LIMIT, "has 65536 bytes, the limit is 65535");
    build_free(&b);
    free(name);
}

/* --- size ------------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec now;

    /* of the processor, which other processes do not lengthen */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The time to open a file of so many pairs and to find each; their number is checked. */
static double time_of_pairs(uint32_t count)
{
    build b = {0};
    guarded memory;
    char key[32];

    build_header(&b, 3, 0, count);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "key.%u", i);
        build_key(&b, key, QKERN_GGUF_UINT32);
        build_u32(&b, i);
    }
    double start = seconds();
    qkern_gguf *g = open_build(&b, &memory);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value;

        snprintf(key, sizeof key, "key.%u", i);
        qkern_gguf_value v = value_of(g, key);
        assert_int_equal(qkern_gguf_value_u64(&v, &value, NULL), QKERN_OK);
        assert_int_equal(value, i);
    }
    double time = seconds() - start;
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);
    return time;
}

static void the_time_grows_with_the_number_of_pairs_not_with_its_square(void **state)
{
    double few = time_of_pairs(QKERN_GGUF_METADATA_LIMIT / 16);
    double many = time_of_pairs(QKERN_GGUF_METADATA_LIMIT);

    (void)state;
    print_message("65536 pairs: %.3f s, 1048576 pairs: %.3f s\n", few, many);
    /* Sixteen times as many; squared it would be 256 times. */
    assert_true(many < 100 * few);
}

static void many_tensors_open(void **state)
{
    enum { COUNT = 100000 };
    build b = {0};
    guarded memory;
    char name[32];

    (void)state;
    build_header(&b, 3, COUNT, 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "t%llu", (unsigned long long)i);
        /* a fixed shuffle: 7919 is prime to COUNT */
        build_tensor(&b, name, SHAPE(8), QKERN_TYPE_F32, i * 7919 % COUNT * 32);
    }
    build_pad(&b, 32);
    for (uint64_t i = 0; i < COUNT; i++) {
        build_u64(&b, i);
        build_zeros(&b, 24);
    }
    qkern_gguf *g = open_build(&b, &memory);
    for (uint64_t i = 0; i < COUNT; i += 997) {
        uint64_t stored;

        snprintf(name, sizeof name, "t%llu", (unsigned long long)i);
        qkern_gguf_tensor t = tensor_of(g, name);
        memcpy(&stored, t.data, sizeof stored);
        assert_int_equal(stored, i * 7919 % COUNT);
    }
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);
}

/* --- arguments -------------------------------------------------------------------------------- */

static void what_is_not_there_is_not_found(void **state)
{
    build b = {0};
    guarded memory;
    qkern_gguf_pair pair = {.struct_size = sizeof pair, .reserved = 55};
    qkern_gguf_tensor tensor = {.struct_size = sizeof tensor, .type = 55};
    qkern_error error = QKERN_ERROR_INIT;

    (void)state;
    build_header(&b, 3, 0, 0);
    qkern_gguf *g = open_build(&b, &memory);
    assert_int_equal(qkern_gguf_pair_find(g, "a\nkey", &pair, &error), QKERN_E_NOT_FOUND);
    assert_string_equal(error.message, "built: no key 'a\\x0akey'");
    assert_int_equal(qkern_gguf_tensor_find(g, "name", &tensor, &error), QKERN_E_NOT_FOUND);
    assert_string_equal(error.message, "built: no tensor 'name'");
    assert_int_equal(qkern_gguf_pair_get(g, 0, &pair, &error), QKERN_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "no metadata pair 0, there are 0"));
    assert_int_equal(qkern_gguf_tensor_get(g, UINT64_MAX, &tensor, &error), QKERN_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "no tensor 18446744073709551615, there are 0"));
    assert_int_equal(pair.reserved, 55);
    assert_int_equal(tensor.type, 55);
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);
}

static void null_arguments_are_refused(void **state)
{
    build b = {0};
    guarded memory;
    qkern_gguf_pair pair = {.struct_size = sizeof pair};
    qkern_gguf_tensor tensor = {.struct_size = sizeof tensor};
    qkern_gguf_header header = {.struct_size = sizeof header};
    qkern_gguf_value value = {.struct_size = sizeof value};
    qkern_gguf *out;
    uint64_t u;
    int64_t i;
    double d;

    (void)state;
    build_every_type(&b, 3);
    qkern_gguf *g = open_build(&b, &memory);
    assert_int_equal(qkern_gguf_open(NULL, &out, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_open("x", NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_open_memory(NULL, b.data, b.size, &out, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_open_memory("x", NULL, 0, &out, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_open_memory("x", b.data, b.size, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_header_get(NULL, &header, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_header_get(g, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_pair_get(NULL, 0, &pair, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_pair_get(g, 0, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_pair_find(NULL, "u8", &pair, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_pair_find(g, NULL, &pair, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_pair_find(g, "u8", NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_tensor_get(NULL, 0, &tensor, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_tensor_find(NULL, "t", &tensor, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_tensor_find(g, NULL, &tensor, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_value_u64(NULL, &u, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_value_i64(NULL, &i, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_value_f64(&value, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_value_f64(NULL, &d, NULL), QKERN_E_ARGUMENT);
    qkern_gguf_release(NULL, b.data, b.size);
    qkern_gguf_release(g, memory.data, memory.size);
    qkern_gguf_close(NULL);
    walk(g);
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);
}

static void older_and_newer_callers_get_what_their_struct_covers(void **state)
{
    build b = {0};
    guarded memory;
    struct {
        qkern_gguf_header header;
        uint64_t appended;
    } newer = {{.struct_size = sizeof newer}, 99};
    qkern_gguf_header older = {.struct_size = offsetof(qkern_gguf_header, alignment),
                               .alignment = 99};
    qkern_gguf_header unset = {0};
    qkern_error error = QKERN_ERROR_INIT;

    (void)state;
    build_every_type(&b, 3);
    qkern_gguf *g = open_build(&b, &memory);
    assert_int_equal(qkern_gguf_header_get(g, &newer.header, NULL), QKERN_OK);
    assert_int_equal(newer.header.struct_size, sizeof newer);
    assert_int_equal(newer.header.file_bytes, b.size);
    assert_int_equal(newer.appended, 99);
    assert_int_equal(qkern_gguf_header_get(g, &older, NULL), QKERN_OK);
    assert_int_equal(older.metadata_count, 13);
    assert_int_equal(older.alignment, 99);
    assert_int_equal(qkern_gguf_header_get(g, &unset, &error), QKERN_E_ARGUMENT);
    assert_non_null(strstr(error.message, "struct_size is 0, set it to sizeof(qkern_gguf_header)"));
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_file),
        cmocka_unit_test(version_2_reads_like_version_3),
        cmocka_unit_test(value_types_have_names),
        cmocka_unit_test(arrays_yield_their_elements_in_order),
        cmocka_unit_test(array_next_checks_what_it_is_given),
        cmocka_unit_test(nesting_is_read_to_its_limit_and_refused_beyond),
        cmocka_unit_test(values_that_contradict_the_format_are_refused),
        cmocka_unit_test(shapes_and_sizes_follow_from_the_table),
        cmocka_unit_test(every_type_number_is_known_or_refused),
        cmocka_unit_test(impossible_tensors_are_refused),
        cmocka_unit_test(a_table_cut_within_an_entry_is_refused_by_what_is_missing),
        cmocka_unit_test(metadata_cut_within_a_pair_is_refused_by_what_is_missing),
        cmocka_unit_test(counts_beyond_a_limit_are_refused_even_if_the_bytes_are_there),
        cmocka_unit_test(alignment_is_honoured_and_limited),
        cmocka_unit_test(padding_before_the_data_must_be_zero),
        cmocka_unit_test(tensors_may_lie_in_any_order_but_not_overlap),
        cmocka_unit_test(a_name_twice_is_refused),
        cmocka_unit_test(names_are_taken_to_their_limit),
        cmocka_unit_test(the_time_grows_with_the_number_of_pairs_not_with_its_square),
        cmocka_unit_test(many_tensors_open),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(older_and_newer_callers_get_what_their_struct_covers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
