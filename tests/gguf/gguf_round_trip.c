/* SPDX-License-Identifier: MIT */
/* Reader and writer together: a copied model is the model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#define MALFORMED QKERN_TEST_SOURCE_DIR "/gguf/malformed/"

/* Copies `from`; the copy must have the bytes of `expected`. */
static void expect_copy(const char *from, const char *expected)
{
    const char *copy = path_in(scratch_folder(), "copy.gguf");
    qkern_error error = QKERN_ERROR_INIT;
    size_t size, copy_size;

    if (model_copy(from, copy, &error) != QKERN_OK)
        fail_msg("%s", error.message);
    uint8_t *data = file_read(expected, &size);
    uint8_t *copied = file_read(copy, &copy_size);
    assert_int_equal(copy_size, size);
    assert_memory_equal(copied, data, size);
    free(data);
    free(copied);
}

static void expect_same(const char *path)
{
    expect_copy(path, path);
}

static void copies_of_plain_files_are_identical(void **state)
{
    (void)state;
    expect_same(QKERN_TEST_SAMPLES_DIR "/kokoro-voice-af_heart-f32.gguf");
    expect_same(MALFORMED "ok_base.gguf");
    expect_same(MALFORMED "ok_empty.gguf");
    expect_same(MALFORMED "ok_no_alignment_key.gguf");
    expect_same(MALFORMED "ok_align8.gguf");
    expect_same(MALFORMED "ok_align64.gguf");
    expect_same(MALFORMED "arr_nested_2.gguf");
    expect_same(MALFORMED "q8_scale_nan.gguf");
}

static void copies_of_real_models_are_identical(void **state)
{
    static const char *const models[] = {"kokoro-voice-af_heart-f32.gguf", "magika-v1-f32.gguf",
                                         "stories260K.gguf"};

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const char *path = path_in(QKERN_TEST_SHARED_DIR "/models", models[i]);

        if (access(path, R_OK) != 0) {
            print_message("skipped: %s cannot be read\n", path);
            skip();
        }
        expect_same(path);
    }
}

static void copies_of_odd_files_are_in_plain_layout(void **state)
{
    (void)state;
    expect_copy(MALFORMED "ok_v2.gguf", MALFORMED "ok_base.gguf");
    expect_copy(MALFORMED "ok_trailing_bytes.gguf", MALFORMED "ok_base.gguf");
    expect_copy(MALFORMED "ok_last_pad_missing.gguf", MALFORMED "ok_base.gguf");
}

static void copies_of_scattered_tensors_read_the_same(void **state)
{
    static const char *const files[] = {MALFORMED "off_gap.gguf", MALFORMED "off_order.gguf"};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *copy = path_in(scratch_folder(), "copy.gguf");
        qkern_gguf *before, *after;
        qkern_gguf_tensor t = {.struct_size = sizeof t};

        assert_int_equal(model_copy(files[i], copy, NULL), QKERN_OK);
        assert_int_equal(qkern_gguf_open(files[i], &before, NULL), QKERN_OK);
        assert_int_equal(qkern_gguf_open(copy, &after, NULL), QKERN_OK);
        assert_true(walk(before) == walk(after));
        assert_int_equal(qkern_gguf_tensor_get(after, 0, &t, NULL), QKERN_OK);
        assert_int_equal(t.offset, 0);
        qkern_gguf_close(before);
        qkern_gguf_close(after);
    }
}

static void a_model_can_be_copied_onto_itself(void **state)
{
    const char *path = path_in(scratch_folder(), "model.gguf");
    qkern_error error = QKERN_ERROR_INIT;
    size_t size, copy_size;
    uint8_t *data = file_read(MALFORMED "ok_base.gguf", &size);

    (void)state;
    file_write(path, data, size);
    if (model_copy(path, path, &error) != QKERN_OK)
        fail_msg("%s", error.message);
    uint8_t *copied = file_read(path, &copy_size);
    assert_int_equal(copy_size, size);
    assert_memory_equal(copied, data, size);
    free(data);
    free(copied);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(copies_of_plain_files_are_identical, scratch_remove),
        cmocka_unit_test_teardown(copies_of_real_models_are_identical, scratch_remove),
        cmocka_unit_test_teardown(copies_of_odd_files_are_in_plain_layout, scratch_remove),
        cmocka_unit_test_teardown(copies_of_scattered_tensors_read_the_same, scratch_remove),
        cmocka_unit_test_teardown(a_model_can_be_copied_onto_itself, scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
