/* SPDX-License-Identifier: MIT */
/*
 * The collection of hostile and odd files: malformed/MANIFEST.tsv says what every reader must do,
 * malformed/DECISIONS.tsv what this one does, with status and message (docs/gguf.md says why). And
 * files cut short at every byte.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define FOLDER QKERN_TEST_SOURCE_DIR "/gguf/malformed"

typedef struct row {
    char file[64];
    char decision[16];
    char status[32];
    char message[256];
} row;

/* Takes the next field of a line of tab-separated values. */
static void field(const char **rest, char *out, size_t size)
{
    size_t length = strcspn(*rest, "\t\n");

    assert_true(length < size);
    memcpy(out, *rest, length);
    out[length] = '\0';
    *rest += length + ((*rest)[length] != '\0');
}

/* The next row of a table whose columns begin as `row` does; false at the end. */
static bool row_read(FILE *table, row *out)
{
    char line[1024];
    const char *rest = line;

    if (fgets(line, sizeof line, table) == NULL)
        return false;
    field(&rest, out->file, sizeof out->file);
    field(&rest, out->decision, sizeof out->decision);
    field(&rest, out->status, sizeof out->status);
    field(&rest, out->message, sizeof out->message);
    return true;
}

static FILE *table_open(const char *name)
{
    char path[1024];
    row header;

    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    FILE *table = fopen(path, "r");
    if (table == NULL)
        fail_msg("cannot open %s", path);
    assert_true(row_read(table, &header));
    assert_string_equal(header.file, "file");
    return table;
}

static void every_row_is_decided_as_the_manifest_demands(void **state)
{
    FILE *manifest = table_open("MANIFEST.tsv");
    FILE *decisions = table_open("DECISIONS.tsv");
    row demanded, decided;
    int rows = 0;

    (void)state;
    for (; row_read(manifest, &demanded); rows++) {
        const char *expect = demanded.status; /* the manifest's third column */

        assert_true(row_read(decisions, &decided));
        assert_string_equal(decided.file, demanded.file);
        if (strcmp(expect, "policy") != 0)
            assert_string_equal(decided.decision, expect);
        if (strcmp(decided.decision, "accept") != 0)
            assert_string_equal(decided.decision, "reject");
    }
    assert_false(row_read(decisions, &decided));
    fclose(manifest);
    fclose(decisions);

    DIR *folder = opendir(FOLDER);
    int files = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        files += strstr(entry->d_name, ".gguf") != NULL;
    closedir(folder);
    assert_int_equal(rows, files);
}

static void decision_check(const row *decided, const char *how, qkern_status status,
                           const qkern_error *error, const qkern_gguf *g)
{
    if (strcmp(decided->status, qkern_status_name(status)) != 0)
        fail_msg("%s (%s): %s %s, expected %s", decided->file, how, qkern_status_name(status),
                 error->message, decided->status);
    if (status == QKERN_OK)
        walk(g);
    else if (strstr(error->message, decided->message) == NULL ||
             strstr(error->message, decided->file) == NULL)
        fail_msg("%s (%s): '%s', expected '%s'", decided->file, how, error->message,
                 decided->message);
}

static void every_file_is_treated_as_decided(void **state)
{
    FILE *decisions = table_open("DECISIONS.tsv");
    row decided;

    (void)state;
    while (row_read(decisions, &decided)) {
        char path[1024];
        size_t size;
        qkern_error error = QKERN_ERROR_INIT;
        qkern_gguf *g = NULL;

        snprintf(path, sizeof path, "%s/%s", FOLDER, decided.file);
        qkern_status status = qkern_gguf_open(path, &g, &error);
        decision_check(&decided, "mapped", status, &error, g);
        qkern_gguf_close(g);

        uint8_t *data = file_read(path, &size);
        guarded memory = guarded_copy(data, size);
        free(data);
        g = NULL;
        status = qkern_gguf_open_memory(decided.file, memory.data, size, &g, &error);
        decision_check(&decided, "in memory", status, &error, g);
        qkern_gguf_close(g);
        guarded_free(&memory);
    }
    fclose(decisions);
}

/* --- files cut short -------------------------------------------------------------------------- */

/* The end of what the file needs: of its last tensor, or without tensors of the table. */
static size_t end_of_content(const qkern_gguf *g, size_t end_of_table)
{
    qkern_gguf_header header = {.struct_size = sizeof header};
    uint64_t end = end_of_table;

    assert_int_equal(qkern_gguf_header_get(g, &header, NULL), QKERN_OK);
    for (uint64_t i = 0; i < header.tensor_count; i++) {
        qkern_gguf_tensor t = {.struct_size = sizeof t};

        assert_int_equal(qkern_gguf_tensor_get(g, i, &t, NULL), QKERN_OK);
        uint64_t tensor_end = header.data_offset + t.offset + t.bytes;
        end = tensor_end > end ? tensor_end : end;
    }
    return (size_t)end;
}

static void cut_everywhere(const char *path, size_t expected_end, bool guard)
{
    size_t size;
    uint8_t *data = file_read(path, &size);
    qkern_gguf *g = NULL;

    assert_int_equal(qkern_gguf_open_memory(path, data, size, &g, NULL), QKERN_OK);
    size_t end = end_of_content(g, 24);
    qkern_gguf_close(g);
    assert_int_equal(end, expected_end);
    assert_true(end <= size);

    for (size_t cut = 0; cut <= size; cut++) {
        qkern_error error = QKERN_ERROR_INIT;
        guarded memory = {.data = data};
        qkern_gguf *opened = NULL;

        if (guard)
            memory = guarded_copy(data, cut);
        qkern_status status = qkern_gguf_open_memory(path, memory.data, cut, &opened, &error);
        if ((status == QKERN_OK) != (cut >= end))
            fail_msg("%s cut to %zu of %zu bytes, content ends at %zu: %s %s", path, cut, size, end,
                     qkern_status_name(status), error.message);
        if (status != QKERN_OK)
            assert_int_equal(status, QKERN_E_FORMAT);
        qkern_gguf_close(opened);
        if (guard)
            guarded_free(&memory);
    }
    free(data);
}

static void a_file_cut_at_any_byte_of_its_content_is_refused(void **state)
{
    static const struct {
        const char *name;
        size_t end;
    } files[] = {
        {"ok_base.gguf", 0x230},
        {"ok_empty.gguf", 24},
        {"ok_no_alignment_key.gguf", 0x210},
        {"ok_v2.gguf", 0x230},
        {"ok_align8.gguf", 0x90},
        {"ok_align64.gguf", 0x110},
        {"ok_trailing_bytes.gguf", 0x230},
        {"ok_last_pad_missing.gguf", 0x230},
        {"arr_nested_2.gguf", 0x250},
        {"off_gap.gguf", 0x250},
        {"off_order.gguf", 0x230},
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[1024];

        snprintf(path, sizeof path, "%s/%s", FOLDER, files[i].name);
        cut_everywhere(path, files[i].end, true);
    }
}

static void the_sample_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    /* It ends with its tensor: the size is a multiple of the alignment. */
    cut_everywhere(QKERN_TEST_SAMPLES_DIR "/kokoro-voice-af_heart-f32.gguf", 522720, false);
}

static void a_file_cut_on_the_disk_is_refused(void **state)
{
    size_t size;
    uint8_t *data = file_read(FOLDER "/ok_base.gguf", &size);
    const char *path = path_in(scratch_folder(), "cut.gguf");

    (void)state;
    for (size_t cut = 0; cut <= size; cut++) {
        qkern_gguf *g = NULL;

        file_write(path, data, cut);
        qkern_status status = qkern_gguf_open(path, &g, NULL);
        assert_int_equal(status, cut >= 0x230 ? QKERN_OK : QKERN_E_FORMAT);
        qkern_gguf_close(g);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_decided_as_the_manifest_demands),
        cmocka_unit_test(every_file_is_treated_as_decided),
        cmocka_unit_test(a_file_cut_at_any_byte_of_its_content_is_refused),
        cmocka_unit_test(the_sample_cut_at_any_byte_is_refused),
        cmocka_unit_test_teardown(a_file_cut_on_the_disk_is_refused, scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
