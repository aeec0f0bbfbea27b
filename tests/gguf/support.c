/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void build_free(build *b)
{
    free(b->data);
    *b = (build){0};
}

void build_bytes(build *b, const void *data, size_t bytes)
{
    if (b->size + bytes > b->room) {
        b->room = 2 * (b->size + bytes);
        b->data = realloc(b->data, b->room);
        assert_non_null(b->data);
    }
    if (bytes > 0)
        memcpy(b->data + b->size, data, bytes);
    b->size += bytes;
}

static void build_number(build *b, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        build_bytes(b, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

void build_u8(build *b, uint8_t value)
{
    build_number(b, value, 1);
}

void build_u16(build *b, uint16_t value)
{
    build_number(b, value, 2);
}

void build_u32(build *b, uint32_t value)
{
    build_number(b, value, 4);
}

void build_u64(build *b, uint64_t value)
{
    build_number(b, value, 8);
}

void build_f32(build *b, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    build_u32(b, bits);
}

void build_f64(build *b, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    build_u64(b, bits);
}

void build_string(build *b, const char *text)
{
    build_u64(b, strlen(text));
    build_bytes(b, text, strlen(text));
}

void build_zeros(build *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        build_u8(b, 0);
}

void build_pad(build *b, size_t alignment)
{
    build_zeros(b, (alignment - b->size % alignment) % alignment);
}

void build_header(build *b, uint32_t version, uint64_t tensors, uint64_t pairs)
{
    build_bytes(b, "GGUF", 4);
    build_u32(b, version);
    build_u64(b, tensors);
    build_u64(b, pairs);
}

void build_key(build *b, const char *key, uint32_t value_type)
{
    build_string(b, key);
    build_u32(b, value_type);
}

void build_array(build *b, uint32_t element_type, uint64_t count)
{
    build_u32(b, element_type);
    build_u64(b, count);
}

void build_tensor(build *b, const char *name, const uint64_t *shape, uint32_t type, uint64_t offset)
{
    uint32_t dimensions = 0;

    while (shape[dimensions] != 0)
        dimensions++;
    build_string(b, name);
    build_u32(b, dimensions);
    for (uint32_t i = 0; i < dimensions; i++)
        build_u64(b, shape[i]);
    build_u32(b, type);
    build_u64(b, offset);
}

guarded guarded_copy(const void *data, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (size + page - 1) / page * page;
    guarded g = {.size = size, .pages_size = room + page};

    g.pages = mmap(NULL, g.pages_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.pages != MAP_FAILED);
    g.data = g.pages + room - size;
    if (size > 0)
        memcpy(g.data, data, size);
    assert_int_equal(mprotect(g.pages + room, page, PROT_NONE), 0);
    return g;
}

void guarded_free(guarded *g)
{
    munmap(g->pages, g->pages_size);
}

qkern_gguf *open_build(const build *b, guarded *memory)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf *g = NULL;

    *memory = guarded_copy(b->data, b->size);
    if (qkern_gguf_open_memory("built", memory->data, memory->size, &g, &error) != QKERN_OK)
        fail_msg("refused: %s", error.message);
    return g;
}

void expect_refused(const build *b, qkern_status status, const char *text)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf *untouched = (qkern_gguf *)(void *)&error;
    qkern_gguf *g = untouched;
    guarded memory = guarded_copy(b->data, b->size);

    assert_int_equal(qkern_gguf_open_memory("built", memory.data, memory.size, &g, &error), status);
    assert_ptr_equal(g, untouched);
    assert_int_equal(error.status, status);
    assert_int_equal(strncmp(error.message, "built: ", 7), 0);
    if (strstr(error.message, text) == NULL)
        fail_msg("'%s' does not hold '%s'", error.message, text);
    guarded_free(&memory);
}

static uint64_t sum(uint64_t before, const void *data, uint64_t bytes)
{
    const uint8_t *p = data;

    for (uint64_t i = 0; i < bytes; i++)
        before = before * 31 + p[i];
    return before;
}

static uint64_t walk_value(const qkern_gguf_value *value, uint64_t before)
{
    qkern_gguf_value element = {.struct_size = sizeof element};
    uint64_t position = 0;
    uint64_t count = 0;

    before = sum(before, value->data, value->bytes);
    if (value->value_type != QKERN_GGUF_ARRAY)
        return before;
    while (qkern_gguf_array_next(value, &position, &element, NULL) == QKERN_OK) {
        assert_int_equal(element.value_type, value->element_type);
        before = walk_value(&element, before);
        count++;
    }
    assert_int_equal(count, value->count);
    assert_int_equal(position, value->bytes);
    return before;
}

static char *text_of(const char *data, uint64_t bytes)
{
    char *text = malloc((size_t)bytes + 1);

    assert_non_null(text);
    memcpy(text, data, (size_t)bytes);
    text[bytes] = '\0';
    return text;
}

uint64_t walk(const qkern_gguf *g)
{
    qkern_gguf_header header = {.struct_size = sizeof header};
    uint64_t total = 0;

    assert_int_equal(qkern_gguf_header_get(g, &header, NULL), QKERN_OK);
    for (uint64_t i = 0; i < header.metadata_count; i++) {
        qkern_gguf_pair pair = {.struct_size = sizeof pair};
        qkern_gguf_pair found = {.struct_size = sizeof found};

        assert_int_equal(qkern_gguf_pair_get(g, i, &pair, NULL), QKERN_OK);
        char *key = text_of(pair.key, pair.key_bytes);
        assert_int_equal(qkern_gguf_pair_find(g, key, &found, NULL), QKERN_OK);
        assert_ptr_equal(found.key, pair.key);
        free(key);
        total = walk_value(&pair.value, sum(total, pair.key, pair.key_bytes));
    }
    for (uint64_t i = 0; i < header.tensor_count; i++) {
        qkern_gguf_tensor tensor = {.struct_size = sizeof tensor};
        qkern_gguf_tensor found = {.struct_size = sizeof found};

        assert_int_equal(qkern_gguf_tensor_get(g, i, &tensor, NULL), QKERN_OK);
        char *name = text_of(tensor.name, tensor.name_bytes);
        assert_int_equal(qkern_gguf_tensor_find(g, name, &found, NULL), QKERN_OK);
        assert_ptr_equal(found.name, tensor.name);
        free(name);
        assert_true(header.data_offset + tensor.offset + tensor.bytes <= header.file_bytes);
        total = sum(sum(total, tensor.name, tensor.name_bytes), tensor.data, tensor.bytes);
    }
    return total;
}

uint8_t *file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    build b = {0};
    uint8_t part[65536];
    size_t bytes;

    if (file == NULL)
        fail_msg("cannot open %s", path);
    build_bytes(&b, "", 1); /* so that an empty file is no NULL */
    b.size = 0;
    while ((bytes = fread(part, 1, sizeof part, file)) > 0)
        build_bytes(&b, part, bytes);
    fclose(file);
    *size = b.size;
    return b.data;
}

void file_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL)
        fail_msg("cannot create %s", path);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char scratch[16][512];
static int scratch_count;

const char *scratch_folder(void)
{
    assert_true(scratch_count < 16);
    char *folder = scratch[scratch_count];
    snprintf(folder, sizeof scratch[0], "%s/scratch-XXXXXX", QKERN_TEST_BINARY_DIR);
    assert_non_null(mkdtemp(folder));
    scratch_count++;
    return folder;
}

const char *path_in(const char *folder, const char *name)
{
    static char paths[4][1024];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

int folder_entries(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = 0;

    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

static void folder_remove(const char *folder)
{
    DIR *directory = opendir(folder);

    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char path[1024];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_type == DT_DIR)
            folder_remove(path);
        else
            unlink(path);
    }
    if (directory != NULL)
        closedir(directory);
    rmdir(folder);
}

int scratch_remove(void **state)
{
    (void)state;
    while (scratch_count > 0)
        folder_remove(scratch[--scratch_count]);
    return 0;
}

static qkern_status tensors_add(qkern_gguf_writer *w, const qkern_gguf *g, uint64_t count,
                                qkern_error *error)
{
    qkern_status status = QKERN_OK;

    for (uint64_t i = 0; i < count && status == QKERN_OK; i++) {
        qkern_gguf_tensor t = {.struct_size = sizeof t};

        assert_int_equal(qkern_gguf_tensor_get(g, i, &t, NULL), QKERN_OK);
        status = qkern_gguf_writer_add_tensor(w, t.name, t.name_bytes, t.type, t.dimensions,
                                              t.shape, error);
    }
    return status;
}

static qkern_status tensors_write(qkern_gguf_writer *w, const qkern_gguf *g, uint64_t count,
                                  qkern_error *error)
{
    qkern_status status = QKERN_OK;

    for (uint64_t i = 0; i < count && status == QKERN_OK; i++) {
        qkern_gguf_tensor t = {.struct_size = sizeof t};

        assert_int_equal(qkern_gguf_tensor_get(g, i, &t, NULL), QKERN_OK);
        status = qkern_gguf_writer_write(w, t.data, t.bytes, error);
        qkern_gguf_release(g, t.data, t.bytes);
    }
    return status;
}

qkern_status model_copy(const char *from, const char *to, qkern_error *error)
{
    qkern_gguf *g = NULL;
    qkern_gguf_writer *w = NULL;
    qkern_gguf_header header = {.struct_size = sizeof header};
    qkern_status status = qkern_gguf_open(from, &g, error);

    if (status == QKERN_OK)
        status = qkern_gguf_header_get(g, &header, error);
    if (status == QKERN_OK)
        status = qkern_gguf_writer_create(to, &w, error);
    if (status == QKERN_OK)
        status = qkern_gguf_writer_copy_metadata(w, g, error);
    if (status == QKERN_OK)
        status = tensors_add(w, g, header.tensor_count, error);
    if (status == QKERN_OK)
        status = qkern_gguf_writer_begin(w, error);
    if (status == QKERN_OK)
        status = tensors_write(w, g, header.tensor_count, error);
    if (status == QKERN_OK)
        status = qkern_gguf_writer_commit(w, error);
    else
        qkern_gguf_writer_abort(w);
    qkern_gguf_close(g);
    return status;
}
