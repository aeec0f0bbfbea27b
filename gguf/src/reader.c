/* SPDX-License-Identifier: MIT */
/* The public calls on an open file. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "copy_out.h"
#include "error.h"
#include "value.h"

/* Ends an open: hands the reader out, or takes it down and tells why. */
static qkern_status open_end(qkern_gguf *g, qkern_status status, const fault *f, qkern_gguf **out,
                             qkern_error *error)
{
    if (status == QKERN_OK) {
        *out = g;
        return QKERN_OK;
    }
    error_set(error, status, QKERN_NO_INDEX, "%s: %s", g->name.text, f->text);
    qkern_gguf_close(g);
    return status;
}

/* *g stays NULL on failure. */
static qkern_status open_begin(const char *call, const char *name, qkern_gguf **g, qkern_gguf **out,
                               qkern_error *error)
{
    if (name == NULL || out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: %s is NULL", call,
                         name == NULL ? "the name" : "the output");
    *g = calloc(1, sizeof **g);
    if (*g == NULL)
        return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "%s: out of memory", call);
    label_set(&(*g)->name, name);
    return QKERN_OK;
}

qkern_status qkern_gguf_open(const char *path, qkern_gguf **out, qkern_error *error)
{
    qkern_gguf *g = NULL;
    qkern_status status = open_begin("qkern_gguf_open", path, &g, out, error);
    fault f;

    if (g == NULL)
        return status;
    status = mapping_open(&g->file, path, &f);
    if (status == QKERN_OK)
        status = parse(g, &f);
    return open_end(g, status, &f, out, error);
}

qkern_status qkern_gguf_open_memory(const char *name, const void *data, size_t size,
                                    qkern_gguf **out, qkern_error *error)
{
    static const char call[] = "qkern_gguf_open_memory";
    qkern_gguf *g = NULL;
    fault f;

    if (data == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: the data is NULL", call);
    qkern_status status = open_begin(call, name, &g, out, error);
    if (g == NULL)
        return status;
    g->file = (mapping){data, size, false};
    return open_end(g, parse(g, &f), &f, out, error);
}

void qkern_gguf_close(qkern_gguf *g)
{
    if (g == NULL)
        return;
    index_free(&g->keys);
    index_free(&g->names);
    free(g->pairs);
    free(g->tensors);
    mapping_close(&g->file);
    free(g);
}

static qkern_status null_error(const char *call, const char *what, qkern_error *error)
{
    return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: %s is NULL", call, what);
}

qkern_status qkern_gguf_header_get(const qkern_gguf *g, qkern_gguf_header *out, qkern_error *error)
{
    static const char call[] = "qkern_gguf_header_get";

    if (g == NULL || out == NULL)
        return null_error(call, g == NULL ? "the reader" : "the output", error);
    qkern_gguf_header header = {
        .version = g->version,
        .metadata_count = g->pair_count,
        .tensor_count = g->tensor_count,
        .alignment = g->alignment,
        .data_offset = g->data_offset,
        .file_bytes = g->file.bytes,
    };
    return copy_out(&header, sizeof header, out, "qkern_gguf_header", error);
}

static qkern_status pair_copy(const pair *p, qkern_gguf_pair *out, const char *call,
                              qkern_error *error)
{
    qkern_gguf_pair view = {.key = p->key.data, .key_bytes = p->key.bytes};

    if (out == NULL)
        return null_error(call, "the output", error);
    value_view(p->value_type, p->encoded, p->encoded_bytes, &view.value);
    return copy_out(&view, sizeof view, out, "qkern_gguf_pair", error);
}

static qkern_status tensor_copy(const qkern_gguf *g, const tensor *t, qkern_gguf_tensor *out,
                                const char *call, qkern_error *error)
{
    qkern_gguf_tensor view = {
        .type = t->type,
        .dimensions = t->dimensions,
        .rows = t->rows,
        .row_bytes = t->row_bytes,
        .bytes = t->bytes,
        .offset = t->offset,
        .name = t->name.data,
        .name_bytes = t->name.bytes,
        .data = g->file.data + g->data_offset + t->offset,
    };

    if (out == NULL)
        return null_error(call, "the output", error);
    memcpy(view.shape, t->shape, sizeof view.shape);
    return copy_out(&view, sizeof view, out, "qkern_gguf_tensor", error);
}

static qkern_status index_check(const qkern_gguf *g, const char *call, const char *what,
                                uint64_t number, uint64_t count, qkern_error *error)
{
    if (number < count)
        return QKERN_OK;
    return error_set(error, QKERN_E_NOT_FOUND, QKERN_NO_INDEX, "%s: %s: no %s %llu, there are %llu",
                     g->name.text, call, what, (unsigned long long)number,
                     (unsigned long long)count);
}

static qkern_status not_found(const qkern_gguf *g, const char *what, const char *name,
                              qkern_error *error)
{
    char quoted[QUOTE_BYTES];

    return error_set(error, QKERN_E_NOT_FOUND, QKERN_NO_INDEX, "%s: no %s '%s'", g->name.text, what,
                     quote(quoted, sizeof quoted, name, strlen(name)));
}

qkern_status qkern_gguf_pair_get(const qkern_gguf *g, uint64_t index, qkern_gguf_pair *out,
                                 qkern_error *error)
{
    static const char call[] = "qkern_gguf_pair_get";

    if (g == NULL)
        return null_error(call, "the reader", error);
    qkern_status status = index_check(g, call, "metadata pair", index, g->pair_count, error);
    if (status != QKERN_OK)
        return status;
    return pair_copy(&g->pairs[index], out, call, error);
}

qkern_status qkern_gguf_pair_find(const qkern_gguf *g, const char *key, qkern_gguf_pair *out,
                                  qkern_error *error)
{
    static const char call[] = "qkern_gguf_pair_find";

    if (g == NULL || key == NULL)
        return null_error(call, g == NULL ? "the reader" : "the key", error);
    uint32_t item = index_find(&g->keys, g->pairs, key, strlen(key));
    if (item == INDEX_NONE)
        return not_found(g, "key", key, error);
    return pair_copy(&g->pairs[item], out, call, error);
}

qkern_status qkern_gguf_tensor_get(const qkern_gguf *g, uint64_t index, qkern_gguf_tensor *out,
                                   qkern_error *error)
{
    static const char call[] = "qkern_gguf_tensor_get";

    if (g == NULL)
        return null_error(call, "the reader", error);
    qkern_status status = index_check(g, call, "tensor", index, g->tensor_count, error);
    if (status != QKERN_OK)
        return status;
    return tensor_copy(g, &g->tensors[index], out, call, error);
}

qkern_status qkern_gguf_tensor_find(const qkern_gguf *g, const char *name, qkern_gguf_tensor *out,
                                    qkern_error *error)
{
    static const char call[] = "qkern_gguf_tensor_find";

    if (g == NULL || name == NULL)
        return null_error(call, g == NULL ? "the reader" : "the name", error);
    uint32_t item = index_find(&g->names, g->tensors, name, strlen(name));
    if (item == INDEX_NONE)
        return not_found(g, "tensor", name, error);
    return tensor_copy(g, &g->tensors[item], out, call, error);
}

void qkern_gguf_release(const qkern_gguf *g, const uint8_t *data, uint64_t bytes)
{
    if (g != NULL)
        mapping_release(&g->file, data, bytes);
}
