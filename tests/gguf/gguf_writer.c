/* SPDX-License-Identifier: MIT */
/* What the writer writes, what it refuses, and what is left on the disk in each case. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gguf/src/output.h"
#include "support.h"

#define OLD "what was there before"

static qkern_gguf_writer *create(const char *path)
{
    qkern_gguf_writer *w = NULL;
    qkern_error error = QKERN_ERROR_INIT;

    if (qkern_gguf_writer_create(path, &w, &error) != QKERN_OK)
        fail_msg("%s", error.message);
    return w;
}

static void add(qkern_gguf_writer *w, const char *name, const uint64_t *shape, uint32_t type)
{
    uint32_t dimensions = 0;
    qkern_error error = QKERN_ERROR_INIT;

    while (shape[dimensions] != 0)
        dimensions++;
    if (qkern_gguf_writer_add_tensor(w, name, strlen(name), type, dimensions, shape, &error) !=
        QKERN_OK)
        fail_msg("%s", error.message);
}

static void expect_file(const char *path, const void *data, size_t size)
{
    size_t found;
    uint8_t *content = file_read(path, &found);

    assert_int_equal(found, size);
    assert_memory_equal(content, data, size);
    free(content);
}

static void the_file_is_what_was_asked_for_byte_for_byte(void **state)
{
    const char *folder = scratch_folder();
    const char *path = path_in(folder, "new.gguf");
    qkern_gguf_writer *w = create(path);
    build b = {0};

    (void)state;
    /* Nothing at the target yet, one temporary file beside it. */
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(folder_entries(folder), 1);
    assert_int_equal(qkern_gguf_writer_set_string(w, "name", "old value", NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_set_u32(w, "general.alignment", 64, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_set_u32(w, "gone", 1, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_set(w, "bytes", QKERN_GGUF_ARRAY,
                                           "\0\0\0\0\2\0\0\0\0\0\0\0\7\x8", 14, NULL),
                     QKERN_OK);
    add(w, "matrix", SHAPE(32, 2), QKERN_TYPE_Q8_0);
    /* Replaced where it stands; a removed key leaves no trace. */
    assert_int_equal(qkern_gguf_writer_set_string(w, "name", "", NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_remove(w, "gone", NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_set_u32(w, "last", 7, NULL), QKERN_OK);
    add(w, "scalar", SHAPE(0), QKERN_TYPE_I8);
    add(w, "cube", SHAPE(2, 3, 2), QKERN_TYPE_I16);
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);

    uint8_t data[68 + 1 + 24];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i + 1);
    /* Calls need not end where tensors do. */
    assert_int_equal(qkern_gguf_writer_write(w, data, 10, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_write(w, NULL, 0, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_write(w, data + 10, 60, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_write(w, data + 70, sizeof data - 70, NULL), QKERN_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(qkern_gguf_writer_commit(w, NULL), QKERN_OK);
    assert_int_equal(folder_entries(folder), 1);

    build_header(&b, 3, 3, 4);
    build_key(&b, "name", QKERN_GGUF_STRING);
    build_string(&b, "");
    build_key(&b, "general.alignment", QKERN_GGUF_UINT32);
    build_u32(&b, 64);
    build_key(&b, "bytes", QKERN_GGUF_ARRAY);
    build_array(&b, QKERN_GGUF_UINT8, 2);
    build_u8(&b, 7);
    build_u8(&b, 8);
    build_key(&b, "last", QKERN_GGUF_UINT32);
    build_u32(&b, 7);
    build_tensor(&b, "matrix", SHAPE(32, 2), QKERN_TYPE_Q8_0, 0);
    build_tensor(&b, "scalar", SHAPE(0), QKERN_TYPE_I8, 128);
    build_tensor(&b, "cube", SHAPE(2, 3, 2), QKERN_TYPE_I16, 192);
    build_pad(&b, 64);
    build_bytes(&b, data, 68);
    build_pad(&b, 64);
    build_bytes(&b, data + 68, 1);
    build_pad(&b, 64);
    build_bytes(&b, data + 69, 24);
    build_pad(&b, 64);
    expect_file(path, b.data, b.size);
    build_free(&b);
}

static void a_file_without_anything_can_be_written(void **state)
{
    const char *path = path_in(scratch_folder(), "empty.gguf");
    qkern_gguf_writer *w = create(path);
    build b = {0};
    qkern_gguf *g;

    (void)state;
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_commit(w, NULL), QKERN_OK);
    build_header(&b, 3, 0, 0);
    build_pad(&b, 32);
    expect_file(path, b.data, b.size);
    build_free(&b);
    assert_int_equal(qkern_gguf_open(path, &g, NULL), QKERN_OK);
    qkern_gguf_close(g);
}

/* Parts of all sizes around the buffer's reach the file in order. */
static void data_of_any_size_arrives_in_order(void **state)
{
    static const size_t parts[] = {1,
                                   OUTPUT_BUFFER_BYTES - 1,
                                   OUTPUT_BUFFER_BYTES,
                                   7,
                                   OUTPUT_BUFFER_BYTES + 1,
                                   OUTPUT_BUFFER_BYTES / 2,
                                   OUTPUT_BUFFER_BYTES / 2,
                                   3 * OUTPUT_BUFFER_BYTES,
                                   100};
    const char *path = path_in(scratch_folder(), "large.gguf");
    qkern_gguf_writer *w = create(path);
    size_t total = 0, at = 0;
    qkern_gguf *g;
    qkern_gguf_tensor t = {.struct_size = sizeof t};

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        total += parts[i];
    uint8_t *data = malloc(total);
    assert_non_null(data);
    for (size_t i = 0; i < total; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    add(w, "t", SHAPE(total), QKERN_TYPE_I8);
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        assert_int_equal(qkern_gguf_writer_write(w, data + at, parts[i], NULL), QKERN_OK);
        at += parts[i];
    }
    assert_int_equal(qkern_gguf_writer_commit(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_open(path, &g, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_tensor_get(g, 0, &t, NULL), QKERN_OK);
    assert_int_equal(t.bytes, total);
    assert_memory_equal(t.data, data, total);
    qkern_gguf_close(g);
    free(data);
}

static void many_keys_and_tensors_are_kept_in_order(void **state)
{
    enum { COUNT = 5000 };
    const char *path = path_in(scratch_folder(), "many.gguf");
    qkern_gguf_writer *w = create(path);
    qkern_gguf *g;
    char name[32];

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "key.%u", i);
        assert_int_equal(qkern_gguf_writer_set_u32(w, name, i, NULL), QKERN_OK);
        snprintf(name, sizeof name, "tensor.%u", i);
        add(w, name, SHAPE(8), QKERN_TYPE_F32);
    }
    for (uint32_t i = 0; i < COUNT; i += 10) {
        snprintf(name, sizeof name, "key.%u", i);
        assert_int_equal(qkern_gguf_writer_remove(w, name, NULL), QKERN_OK);
    }
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t data[8] = {i};
        assert_int_equal(qkern_gguf_writer_write(w, data, sizeof data, NULL), QKERN_OK);
    }
    assert_int_equal(qkern_gguf_writer_commit(w, NULL), QKERN_OK);

    assert_int_equal(qkern_gguf_open(path, &g, NULL), QKERN_OK);
    for (uint32_t i = 0, at = 0; i < COUNT; i++) {
        qkern_gguf_pair pair = {.struct_size = sizeof pair};
        qkern_gguf_tensor t = {.struct_size = sizeof t};
        uint64_t value;
        uint32_t stored;

        if (i % 10 != 0) {
            assert_int_equal(qkern_gguf_pair_get(g, at++, &pair, NULL), QKERN_OK);
            assert_int_equal(qkern_gguf_value_u64(&pair.value, &value, NULL), QKERN_OK);
            assert_int_equal(value, i);
        }
        snprintf(name, sizeof name, "tensor.%u", i);
        assert_int_equal(qkern_gguf_tensor_get(g, i, &t, NULL), QKERN_OK);
        assert_int_equal(t.name_bytes, strlen(name));
        assert_memory_equal(t.name, name, strlen(name));
        memcpy(&stored, t.data, sizeof stored);
        assert_int_equal(stored, i);
    }
    qkern_gguf_close(g);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void expect_set_refused(qkern_gguf_writer *w, const char *key, uint32_t value_type,
                               const char *encoded, size_t bytes, qkern_status status,
                               const char *message)
{
    qkern_error error = QKERN_ERROR_INIT;

    assert_int_equal(qkern_gguf_writer_set(w, key, value_type, encoded, bytes, &error), status);
    if (strstr(error.message, message) == NULL)
        fail_msg("'%s' does not hold '%s'", error.message, message);
    assert_non_null(strstr(error.message, "out.gguf: key '"));
}

static void expect_add_refused(qkern_gguf_writer *w, const char *name, uint64_t name_bytes,
                               const uint64_t *shape, uint32_t dimensions, uint32_t type,
                               qkern_status status, const char *message)
{
    qkern_error error = QKERN_ERROR_INIT;

    assert_int_equal(
        qkern_gguf_writer_add_tensor(w, name, name_bytes, type, dimensions, shape, &error), status);
    if (strstr(error.message, message) == NULL)
        fail_msg("'%s' does not hold '%s'", error.message, message);
}

static void what_the_reader_would_refuse_is_refused_and_changes_nothing(void **state)
{
    const char *path = path_in(scratch_folder(), "out.gguf");
    qkern_gguf_writer *w = create(path);
    qkern_error error = QKERN_ERROR_INIT;
    build b = {0};

    (void)state;
    assert_int_equal(qkern_gguf_writer_set_u32(w, "k", 1, NULL), QKERN_OK);
    expect_set_refused(w, "", QKERN_GGUF_UINT8, "1", 1, QKERN_E_FORMAT, "is empty");
    expect_set_refused(w, "\xff", QKERN_GGUF_UINT8, "1", 1, QKERN_E_FORMAT, "is not UTF-8");
    expect_set_refused(w, "k", 13, "1", 1, QKERN_E_FORMAT, "the value type is 13");
    expect_set_refused(w, "k", QKERN_GGUF_BOOL, "2", 1, QKERN_E_FORMAT, "a bool is 50");
    expect_set_refused(w, "k", QKERN_GGUF_UINT16, "1", 1, QKERN_E_FORMAT, "u16 takes 2 bytes");
    expect_set_refused(w, "k", QKERN_GGUF_UINT16, "123", 3, QKERN_E_FORMAT,
                       "1 bytes stand after the value");
    expect_set_refused(w, "general.alignment", QKERN_GGUF_UINT8, "1", 1, QKERN_E_FORMAT,
                       "the value is u8, expected u32");
    expect_set_refused(w, "general.alignment", QKERN_GGUF_UINT32, "\3\0\0\0", 4, QKERN_E_FORMAT,
                       "the value is 3, expected a power of two from 8");
    expect_set_refused(w, "general.alignment", QKERN_GGUF_UINT32, "\0\0\0\x40", 4, QKERN_E_LIMIT,
                       "the limit is 1048576");
    assert_int_equal(qkern_gguf_writer_remove(w, "absent", &error), QKERN_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "out.gguf: key 'absent': no such key to remove"));

    add(w, "t", SHAPE(1), QKERN_TYPE_F32);
    expect_add_refused(w, "", 0, SHAPE(1), 1, QKERN_TYPE_F32, QKERN_E_FORMAT, "is empty");
    expect_add_refused(w, "a\0b", 3, SHAPE(1), 1, QKERN_TYPE_F32, QKERN_E_FORMAT,
                       "tensor 'a\\x00b': holds a NUL byte");
    expect_add_refused(w, "t", 1, SHAPE(1), 1, QKERN_TYPE_F32, QKERN_E_ARGUMENT,
                       "tensor 't': has been added already");
    expect_add_refused(w, "u", 1, SHAPE(1, 0), 2, QKERN_TYPE_F32, QKERN_E_FORMAT,
                       "dimension 1 is 0");
    expect_add_refused(w, "u", 1, SHAPE(1, 1, 1, 1, 1), 5, QKERN_TYPE_F32, QKERN_E_LIMIT,
                       "has 5 dimensions");
    expect_add_refused(w, "u", 1, SHAPE(33), 1, QKERN_TYPE_Q4_0, QKERN_E_LENGTH,
                       "Q4_0: a row of 33 elements is not whole blocks of 32");
    expect_add_refused(w, "u", 1, SHAPE(32), 1, 4, QKERN_E_TYPE, "4 is not the number of a type");

    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_write(w, "data", 4, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_commit(w, NULL), QKERN_OK);
    build_header(&b, 3, 1, 1);
    build_key(&b, "k", QKERN_GGUF_UINT32);
    build_u32(&b, 1);
    build_tensor(&b, "t", SHAPE(1), QKERN_TYPE_F32, 0);
    build_pad(&b, 32);
    build_bytes(&b, "data", 4);
    build_pad(&b, 32);
    expect_file(path, b.data, b.size);
    build_free(&b);
}

static void null_arguments_are_refused(void **state)
{
    const char *path = path_in(scratch_folder(), "out.gguf");
    qkern_gguf_writer *w = create(path);
    qkern_gguf_writer *out = NULL;

    (void)state;
    assert_int_equal(qkern_gguf_writer_create(NULL, &out, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_create(path, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_set(NULL, "k", 0, "1", 1, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_set(w, NULL, 0, "1", 1, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_set(w, "k", 0, NULL, 1, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_set_u32(NULL, "k", 0, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_set_string(w, "k", NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_remove(w, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_remove(NULL, "k", NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_copy_metadata(w, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_copy_metadata(NULL, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_add_tensor(w, NULL, 1, 0, 0, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_add_tensor(w, "t", 1, 0, 1, NULL, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_add_tensor(NULL, "t", 1, 0, 0, NULL, NULL),
                     QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_begin(NULL, NULL), QKERN_E_ARGUMENT);
    add(w, "t", SHAPE(1), QKERN_TYPE_F32);
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_write(w, NULL, 4, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_write(NULL, "data", 4, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_commit(NULL, NULL), QKERN_E_ARGUMENT);
    qkern_gguf_writer_abort(NULL);
    qkern_gguf_writer_abort(w);
}

static void calls_out_of_order_are_refused(void **state)
{
    const char *folder = scratch_folder();
    const char *path = path_in(folder, "out.gguf");
    qkern_gguf_writer *w = create(path);
    qkern_error error = QKERN_ERROR_INIT;

    (void)state;
    add(w, "t", SHAPE(1), QKERN_TYPE_F32);
    assert_int_equal(qkern_gguf_writer_write(w, "data", 4, &error), QKERN_E_ARGUMENT);
    assert_non_null(strstr(error.message, "call qkern_gguf_writer_begin first"));
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_set_u32(w, "k", 1, &error), QKERN_E_ARGUMENT);
    assert_non_null(strstr(error.message, "too late after qkern_gguf_writer_begin"));
    assert_int_equal(qkern_gguf_writer_remove(w, "k", &error), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_add_tensor(w, "u", 1, 0, 0, NULL, &error), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_begin(w, &error), QKERN_E_ARGUMENT);
    qkern_gguf_writer_abort(w);

    /* A commit without begin frees the writer and leaves nothing. */
    w = create(path);
    assert_int_equal(qkern_gguf_writer_commit(w, &error), QKERN_E_ARGUMENT);
    assert_int_equal(folder_entries(folder), 0);
}

static void copied_metadata_may_not_meet_a_key_that_is_there(void **state)
{
    const char *path = path_in(scratch_folder(), "out.gguf");
    qkern_gguf_writer *w = create(path);
    qkern_error error = QKERN_ERROR_INIT;
    build b = {0};
    guarded memory;

    (void)state;
    build_header(&b, 3, 0, 2);
    build_key(&b, "a", QKERN_GGUF_UINT8);
    build_u8(&b, 1);
    build_key(&b, "k", QKERN_GGUF_UINT8);
    build_u8(&b, 2);
    qkern_gguf *g = open_build(&b, &memory);
    assert_int_equal(qkern_gguf_writer_set_u32(w, "k", 1, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_copy_metadata(w, g, &error), QKERN_E_ARGUMENT);
    assert_non_null(strstr(error.message, "key 'k': is in the writer already"));
    /* Nothing was copied, and one can go on. */
    assert_int_equal(qkern_gguf_writer_remove(w, "a", NULL), QKERN_E_NOT_FOUND);
    assert_int_equal(qkern_gguf_writer_remove(w, "k", NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_copy_metadata(w, g, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_commit(w, NULL), QKERN_OK);
    build_pad(&b, 32);
    expect_file(path, b.data, b.size);
    qkern_gguf_close(g);
    guarded_free(&memory);
    build_free(&b);
}

static void counts_end_at_their_limits(void **state)
{
    const char *path = path_in(scratch_folder(), "out.gguf");
    qkern_gguf_writer *w = create(path);
    qkern_error error = QKERN_ERROR_INIT;
    char name[32];

    (void)state;
    for (uint32_t i = 0; i < QKERN_GGUF_METADATA_LIMIT; i++) {
        snprintf(name, sizeof name, "%u", i);
        if (qkern_gguf_writer_set_u32(w, name, i, NULL) != QKERN_OK)
            fail_msg("key %u is refused", i);
        if (qkern_gguf_writer_add_tensor(w, name, strlen(name), QKERN_TYPE_I8, 0, NULL, NULL) !=
            QKERN_OK)
            fail_msg("tensor %u is refused", i);
    }
    assert_int_equal(qkern_gguf_writer_set_u32(w, "more", 0, &error), QKERN_E_LIMIT);
    assert_non_null(strstr(error.message, "would be pair 1048577, the limit is 1048576"));
    assert_int_equal(qkern_gguf_writer_add_tensor(w, "more", 4, QKERN_TYPE_I8, 0, NULL, &error),
                     QKERN_E_LIMIT);
    assert_non_null(strstr(error.message, "would be tensor 1048577, the limit is 1048576"));
    assert_int_equal(qkern_gguf_writer_set_u32(w, "17", 0, NULL), QKERN_OK); /* one that is there */
    qkern_gguf_writer_abort(w);
}

static void sizes_that_wrap_together_are_refused(void **state)
{
    const char *folder = scratch_folder();
    qkern_gguf_writer *w = create(path_in(folder, "out.gguf"));
    qkern_error error = QKERN_ERROR_INIT;

    (void)state;
    add(w, "one", SHAPE(INT64_MAX / 2), QKERN_TYPE_I8);
    add(w, "two", SHAPE(INT64_MAX / 2), QKERN_TYPE_I8);
    assert_int_equal(qkern_gguf_writer_begin(w, &error), QKERN_E_LIMIT);
    assert_non_null(strstr(error.message, "tensors 1 to 2 together does not fit 63 bits"));
    assert_int_equal(qkern_gguf_writer_begin(w, &error), QKERN_E_ARGUMENT);
    assert_non_null(strstr(error.message, "only qkern_gguf_writer_abort is left"));
    qkern_gguf_writer_abort(w);

    /* One that just fits, so that the padding behind it is what goes beyond. */
    w = create(path_in(folder, "out.gguf"));
    add(w, "one", SHAPE(INT64_MAX - QKERN_GGUF_ALIGNMENT_LIMIT), QKERN_TYPE_I8);
    add(w, "two", SHAPE(1), QKERN_TYPE_I8);
    assert_int_equal(qkern_gguf_writer_begin(w, &error), QKERN_E_LIMIT);
    qkern_gguf_writer_abort(w);
    assert_int_equal(folder_entries(folder), 0);
}

static void data_must_be_neither_more_nor_less(void **state)
{
    const char *folder = scratch_folder();
    const char *path = path_in(folder, "out.gguf");
    qkern_error error = QKERN_ERROR_INIT;

    (void)state;
    file_write(path, OLD, strlen(OLD));
    qkern_gguf_writer *w = create(path);
    add(w, "one", SHAPE(4), QKERN_TYPE_I8);
    add(w, "two", SHAPE(4), QKERN_TYPE_I8);
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_write(w, "12345", 5, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_commit(w, &error), QKERN_E_SIZE);
    assert_non_null(strstr(error.message, "tensor 'two': lacks 3 bytes of data, of 3"));
    expect_file(path, OLD, strlen(OLD));

    w = create(path);
    add(w, "one", SHAPE(4), QKERN_TYPE_I8);
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_write(w, "12345", 5, &error), QKERN_E_SIZE);
    assert_non_null(strstr(error.message, "5 bytes of data, but"));
    assert_non_null(strstr(error.message, "lack only 4"));
    /* and that is final */
    assert_int_equal(qkern_gguf_writer_write(w, "1234", 4, &error), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_gguf_writer_commit(w, &error), QKERN_E_ARGUMENT);
    expect_file(path, OLD, strlen(OLD));
    assert_int_equal(folder_entries(folder), 1);
}

/* --- where it goes ---------------------------------------------------------------------------- */

static void write_small(const char *path)
{
    qkern_gguf_writer *w = create(path);

    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_commit(w, NULL), QKERN_OK);
}

static void expect_create_refused(const char *path, qkern_status status, const char *message)
{
    qkern_gguf_writer *w = NULL;
    qkern_error error = QKERN_ERROR_INIT;

    assert_int_equal(qkern_gguf_writer_create(path, &w, &error), status);
    assert_null(w);
    if (strstr(error.message, message) == NULL)
        fail_msg("'%s' does not hold '%s'", error.message, message);
}

static void targets_that_cannot_be_are_refused_at_once(void **state)
{
    const char *folder = scratch_folder();
    const char *path;
    char name[300];

    (void)state;
    expect_create_refused(folder, QKERN_E_IO, "is a directory, expected a file or nothing");
    expect_create_refused(path_in(folder, ""), QKERN_E_ARGUMENT, "the path names no file");
    expect_create_refused("", QKERN_E_ARGUMENT, "the path names no file");
    expect_create_refused("/", QKERN_E_ARGUMENT, "the path names no file");
    expect_create_refused(path_in(folder, "absent/out.gguf"), QKERN_E_IO,
                          "cannot open its folder: No such file or directory");
    expect_create_refused("/dev/full", QKERN_E_IO, "is a character device, expected a file");
    path = path_in(folder, "fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_create_refused(path, QKERN_E_IO, "is a FIFO, expected a file or nothing");
    path = path_in(folder, "dangling");
    assert_int_equal(symlink("nowhere", path), 0);
    expect_create_refused(path, QKERN_E_IO, "cannot follow the symbolic link: No such file");
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    expect_create_refused(path_in(folder, name), QKERN_E_IO,
                          "cannot look at the target: File name");
    file_write(path_in(folder, "file"), OLD, strlen(OLD));
    expect_create_refused(path_in(folder, "file/out.gguf"), QKERN_E_IO,
                          "cannot open its folder: Not a directory");
    assert_int_equal(folder_entries(folder), 3);
}

static void a_symbolic_link_is_written_through(void **state)
{
    const char *folder = scratch_folder();
    const char *elsewhere = scratch_folder();
    char target[1024];
    char link[1024];
    struct stat info;

    (void)state;
    snprintf(target, sizeof target, "%s", path_in(elsewhere, "real.gguf"));
    snprintf(link, sizeof link, "%s", path_in(folder, "link.gguf"));
    file_write(target, OLD, strlen(OLD));
    assert_int_equal(symlink(target, link), 0);
    qkern_gguf_writer *w = create(link);
    assert_int_equal(folder_entries(folder), 1);
    assert_int_equal(folder_entries(elsewhere), 2); /* so that the rename stays on one disk */
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_commit(w, NULL), QKERN_OK);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(target, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_int_equal(info.st_size, 32);
    assert_int_equal(folder_entries(elsewhere), 1);
}

static mode_t mode_of(const char *path)
{
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

static void permissions_are_the_targets_or_a_new_files(void **state)
{
    const char *path = path_in(scratch_folder(), "out.gguf");
    mode_t before = umask(027);

    (void)state;
    write_small(path);
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(chmod(path, 0666), 0); /* more than the umask gives */
    write_small(path);
    assert_int_equal(mode_of(path), 0666);
    assert_int_equal(chmod(path, 0600), 0);
    write_small(path);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(umask(before), 027); /* which the library has not touched */
}

static void a_path_without_a_folder_is_in_the_current_one(void **state)
{
    const char *folder = scratch_folder();
    int before = open(".", O_RDONLY | O_DIRECTORY);

    (void)state;
    assert_true(before >= 0);
    assert_int_equal(chdir(folder), 0);
    qkern_gguf_writer *w = create("plain.gguf");
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    /* It stays there when the process goes elsewhere. */
    assert_int_equal(fchdir(before), 0);
    close(before);
    assert_int_equal(qkern_gguf_writer_commit(w, NULL), QKERN_OK);
    assert_int_equal(access(path_in(folder, "plain.gguf"), R_OK), 0);
    assert_int_equal(folder_entries(folder), 1);
}

static void a_path_in_the_root_folder_is_understood(void **state)
{
    (void)state;
    expect_create_refused("/dev", QKERN_E_IO, "/dev: is a directory, expected a file or nothing");
}

/* --- what goes wrong on the way --------------------------------------------------------------- */

static void abort_leaves_the_target_and_no_temporary_file(void **state)
{
    const char *folder = scratch_folder();
    const char *path = path_in(folder, "out.gguf");

    (void)state;
    file_write(path, OLD, strlen(OLD));
    qkern_gguf_writer_abort(create(path));
    assert_int_equal(folder_entries(folder), 1);

    qkern_gguf_writer *w = create(path);
    add(w, "t", SHAPE(100), QKERN_TYPE_I8);
    assert_int_equal(qkern_gguf_writer_set_u32(w, "k", 1, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_writer_write(w, OLD, 10, NULL), QKERN_OK);
    qkern_gguf_writer_abort(w);
    assert_int_equal(folder_entries(folder), 1);
    expect_file(path, OLD, strlen(OLD));
}

static void a_process_that_dies_leaves_the_target(void **state)
{
    const char *path = path_in(scratch_folder(), "out.gguf");
    int status;

    (void)state;
    file_write(path, OLD, strlen(OLD));
    pid_t child = fork();
    if (child == 0) {
        static const uint8_t data[1 << 20];
        qkern_gguf_writer *w = create(path);

        add(w, "t", SHAPE(sizeof data), QKERN_TYPE_I8);
        if (qkern_gguf_writer_begin(w, NULL) != QKERN_OK ||
            qkern_gguf_writer_write(w, data, sizeof data, NULL) != QKERN_OK)
            _exit(1);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    expect_file(path, OLD, strlen(OLD));
    /* The next one is not disturbed by what was left. */
    write_small(path);
    assert_int_equal(mode_of(path) & 0600, 0600);
}

/* A limit on the size of files, in a process of its own. */
static int write_beyond_the_limit(const char *path)
{
    static const uint8_t data[1 << 20];
    const struct rlimit limit = {600000, 600000};
    qkern_gguf_writer *w = create(path);
    qkern_error error = QKERN_ERROR_INIT;

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    add(w, "t", SHAPE(sizeof data), QKERN_TYPE_I8);
    if (qkern_gguf_writer_begin(w, NULL) != QKERN_OK)
        return 2;
    if (qkern_gguf_writer_write(w, data, sizeof data, &error) != QKERN_E_IO)
        return 3;
    if (strstr(error.message, "out.gguf: cannot write: File too large") == NULL)
        return 4;
    qkern_gguf_writer_abort(w);
    return 0;
}

static void a_file_that_may_grow_no_more_leaves_the_target(void **state)
{
    const char *folder = scratch_folder();
    const char *path = path_in(folder, "out.gguf");
    int status;

    (void)state;
    file_write(path, OLD, strlen(OLD));
    pid_t child = fork();
    if (child == 0)
        _exit(write_beyond_the_limit(path));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    expect_file(path, OLD, strlen(OLD));
    assert_int_equal(folder_entries(folder), 1);
}

static void a_target_that_became_a_folder_makes_commit_fail(void **state)
{
    const char *folder = scratch_folder();
    char inner[1024];
    qkern_error error = QKERN_ERROR_INIT;

    (void)state;
    snprintf(inner, sizeof inner, "%s", path_in(folder, "inner"));
    assert_int_equal(mkdir(inner, 0700), 0);
    qkern_gguf_writer *w = create(path_in(inner, "out.gguf"));
    assert_int_equal(qkern_gguf_writer_begin(w, NULL), QKERN_OK);
    /* A folder has taken the target's place meanwhile. */
    assert_int_equal(mkdir(path_in(inner, "out.gguf"), 0700), 0);
    assert_int_equal(qkern_gguf_writer_commit(w, &error), QKERN_E_IO);
    assert_non_null(
        strstr(error.message, "cannot rename the temporary file to it: Is a directory"));
    assert_int_equal(folder_entries(inner), 1);
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_teardown(NAME, scratch_remove)
    const struct CMUnitTest tests[] = {
        TEST(the_file_is_what_was_asked_for_byte_for_byte),
        TEST(a_file_without_anything_can_be_written),
        TEST(data_of_any_size_arrives_in_order),
        TEST(many_keys_and_tensors_are_kept_in_order),
        TEST(what_the_reader_would_refuse_is_refused_and_changes_nothing),
        TEST(null_arguments_are_refused),
        TEST(calls_out_of_order_are_refused),
        TEST(copied_metadata_may_not_meet_a_key_that_is_there),
        TEST(counts_end_at_their_limits),
        TEST(sizes_that_wrap_together_are_refused),
        TEST(data_must_be_neither_more_nor_less),
        TEST(targets_that_cannot_be_are_refused_at_once),
        TEST(a_symbolic_link_is_written_through),
        TEST(permissions_are_the_targets_or_a_new_files),
        TEST(a_path_without_a_folder_is_in_the_current_one),
        TEST(a_path_in_the_root_folder_is_understood),
        TEST(abort_leaves_the_target_and_no_temporary_file),
        TEST(a_process_that_dies_leaves_the_target),
        TEST(a_file_that_may_grow_no_more_leaves_the_target),
        TEST(a_target_that_became_a_folder_makes_commit_fail),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
