/* SPDX-License-Identifier: MIT */
/* Opening and closing. */
#include "instance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "copy_out.h"
#include "error.h"
#include "loader.h"
#include "search.h"

/* The scalar kernels, linked in. */
extern const struct qkern_plugin qkern_plugin_scalar;

/* Copies the caller's options, which may be older or newer than ours, and checks them. */
static qkern_status options_read(const qkern_options *options, qkern_options *out,
                                 qkern_error *error)
{
    const uint32_t known = QKERN_OPEN_NO_ENVIRONMENT | QKERN_OPEN_NO_SEARCH;
    const qkern_options none = QKERN_OPTIONS_INIT;

    *out = none;
    if (options == NULL)
        return QKERN_OK;
    uint32_t size = options->struct_size;
    if (size < sizeof size)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "qkern_options: struct_size is %u, set it to sizeof(qkern_options)", size);
    memcpy(out, options, size < sizeof *out ? size : sizeof *out);
    if ((out->flags & ~known) != 0)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "qkern_options: flags 0x%x has a bit that means nothing", out->flags);
    if ((out->plugin_path_count > 0 && out->plugin_paths == NULL) ||
        (out->static_plugin_count > 0 && out->static_plugins == NULL))
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "qkern_options: %s is NULL, but its count is not 0",
                         out->plugin_path_count > 0 && out->plugin_paths == NULL
                             ? "plugin_paths"
                             : "static_plugins");
    for (uint32_t i = 0; i < out->plugin_path_count; i++)
        if (out->plugin_paths[i] == NULL || out->plugin_paths[i][0] != '/')
            return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                             "qkern_options: plugin_paths[%u] is %s%.256s%s, not an absolute path",
                             i, out->plugin_paths[i] == NULL ? "" : "'",
                             out->plugin_paths[i] == NULL ? "NULL" : out->plugin_paths[i],
                             out->plugin_paths[i] == NULL ? "" : "'");
    for (uint32_t i = 0; i < out->static_plugin_count; i++)
        if (out->static_plugins[i] == NULL)
            return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                             "qkern_options: static_plugins[%u] is NULL", i);
    return QKERN_OK;
}

/* Tries all plugins: those found, the caller's own, the built-in one. */
static qkern_status plugins_try(const struct loader *loader, const qkern_options *options,
                                const struct surroundings *surroundings,
                                const struct environment *environment, qkern_error *error)
{
    const bool search = (options->flags & QKERN_OPEN_NO_SEARCH) == 0;
    struct search_places places = {
        .paths = options->plugin_paths,
        .path_count = options->plugin_path_count,
        .list = search ? environment->plugin_path : NULL,
        .beside = search ? surroundings->beside : NULL,
        .installed = search ? surroundings->installed : NULL,
    };
    char *beside = NULL;
    qkern_status status = QKERN_OK;

    if (search && surroundings->beside == NULL) {
        status = search_beside(&beside, error);
        places.beside = beside;
    }
    if (status == QKERN_OK)
        status = search_run(loader, &places, error);
    free(beside);
    for (uint32_t i = 0; i < options->static_plugin_count && status == QKERN_OK; i++)
        status = loader_try_static(loader, options->static_plugins[i], "static", false, error);
    if (status == QKERN_OK)
        status = loader_try_static(loader, &qkern_plugin_scalar, "built in", true, error);
    return status;
}

/* Frees an instance that nobody uses. */
static void instance_release(qkern *q)
{
    pin_table_release(&q->pins);
    record_release_all(&q->records);
    free(q);
}

/* Applies the variables, tries the plugins, chooses the kernels. */
static qkern_status instance_fill(qkern *q, const qkern_options *options,
                                  const struct surroundings *surroundings,
                                  const struct environment *environment, qkern_error *error)
{
    struct loader loader = {
        .features = &q->features,
        .cap_name = environment->max_isa,
        .descriptor_folder = surroundings->descriptor_folder,
        .records = &q->records,
    };
    qkern_status status = QKERN_OK;

    features_detect(surroundings->cpu, &q->features);
    if (environment->features != NULL)
        status = features_mask(&q->features, environment->features, error);
    if (status == QKERN_OK && environment->max_isa != NULL)
        status = features_tier(q->features.arch, environment->max_isa, &loader.cap, error);
    if (status == QKERN_OK)
        status = plugins_try(&loader, options, surroundings, environment, error);
    if (status != QKERN_OK)
        return status;

    struct qkern_generation *generation = generation_create(&q->records, 1);
    if (generation == NULL)
        return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX,
                         "out of memory: the table of chosen kernels");
    pin_table_init(&q->pins, generation, surroundings->barrier);
    return QKERN_OK;
}

qkern_status instance_open(const qkern_options *options, const struct surroundings *surroundings,
                           qkern **out, qkern_error *error)
{
    struct environment environment = {NULL, NULL, NULL};
    qkern_options wanted;
    qkern *q = NULL;

    if (out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "qkern_open: out is NULL");
    qkern_status status = options_read(options, &wanted, error);
    if (status != QKERN_OK)
        return status;
    if ((wanted.flags & QKERN_OPEN_NO_ENVIRONMENT) == 0)
        status = environment_read(surroundings->environment, &environment, error);
    if (status != QKERN_OK)
        goto done;
    q = aligned_alloc(_Alignof(struct qkern), sizeof *q);
    if (q == NULL) {
        status = error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: an instance");
        goto done;
    }
    memset(q, 0, sizeof *q);
    status = instance_fill(q, &wanted, surroundings, &environment, error);
    if (status == QKERN_OK)
        *out = q;
    else
        instance_release(q);
done:
    environment_release(&environment);
    return status;
}

struct surroundings surroundings_native(void)
{
    return (struct surroundings){
        .cpu = cpu_source_native(),
        .environment = environment_native(),
        .beside = NULL,
        .installed = QKERN_INSTALLED_PLUGINS,
        .descriptor_folder = "/proc/self/fd",
        .barrier = barrier_native(),
    };
}

qkern_status qkern_open(const qkern_options *options, qkern **out, qkern_error *error)
{
    const struct surroundings native = surroundings_native();

    return instance_open(options, &native, out, error);
}

qkern_status qkern_close(qkern *q, qkern_error *error)
{
    if (q == NULL)
        return QKERN_OK;
    uint64_t held = pin_table_held(&q->pins);
    if (held != 0)
        return error_set(error, QKERN_E_BUSY, QKERN_NO_INDEX,
                         "qkern_close: %" PRIu64 " pin%s held: end each with qkern_pin_end", held,
                         held == 1 ? " is" : "s are");
    instance_release(q);
    return QKERN_OK;
}

uint32_t qkern_feature_count(const qkern *q)
{
    return q == NULL ? 0 : q->features.count;
}

qkern_status qkern_feature_get(const qkern *q, uint32_t index, qkern_feature *out,
                               qkern_error *error)
{
    if (q == NULL || out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "qkern_feature_get: %s is NULL",
                         q == NULL ? "q" : "out");
    if (index >= q->features.count)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "qkern_feature_get: there is no feature %u, only %u of them", index,
                         q->features.count);
    const struct feature_state *state = &q->features.list[index];
    const qkern_feature view = {
        .word = state->word,
        .mask = state->mask,
        .present = state->present,
        .usable = state->usable,
        .name = state->name,
        .source = state->source,
        .reason = state->reason,
    };
    return copy_out(&view, sizeof view, out, "qkern_feature", error);
}
