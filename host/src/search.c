/* SPDX-License-Identifier: MIT */
/* Looking for plugins. */
#include "search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "image.h"
#include "permission.h"

/* A FIFO must not make open wait, nor a terminal become ours; what it is, is checked afterwards. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

struct search {
    const struct loader *loader;
    const char *origin; /* of the place that is being looked at */
    struct {
        dev_t device;
        ino_t inode;
    } seen[SEARCH_FOLDER_LIMIT];
    uint32_t seen_count;
};

static qkern_status out_of_memory(qkern_error *error, const char *path)
{
    return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: searching %s", path);
}

/* Adds a record of a place that cannot be looked at. */
static qkern_status place_refuse(const struct search *search, const char *path,
                                 const struct finding *finding, qkern_error *error)
{
    struct record *record = record_add(search->loader->records, path, search->origin);

    if (record == NULL)
        return out_of_memory(error, path);
    record->stage = QKERN_STAGE_SEARCH;
    record->status = finding->status;
    record->finding = *finding;
    return QKERN_OK;
}

/* --- the names in a folder -------------------------------------------------------------------- */

struct names {
    char **items;
    size_t count, capacity;
};

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

static bool names_add(struct names *names, const char *name)
{
    if (names->count == names->capacity) {
        size_t capacity = names->capacity == 0 ? 16 : 2 * names->capacity;
        char **items = realloc(names->items, capacity * sizeof *items);
        if (items == NULL)
            return false;
        names->items = items;
        names->capacity = capacity;
    }
    names->items[names->count] = strdup(name);
    return names->items[names->count] != NULL && ++names->count != 0;
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool name_is_plugin(const char *name)
{
    size_t length = strlen(name);

    return name[0] != '.' && length > 3 && strcmp(name + length - 3, ".so") == 0;
}

/* Lists the `*.so` names of an open folder, sorted. */
static qkern_status names_read(DIR *folder, struct names *names, struct finding *finding)
{
    const struct dirent *entry;

    for (errno = 0; (entry = readdir(folder)) != NULL; errno = 0) {
        if (!name_is_plugin(entry->d_name))
            continue;
        if (names->count == SEARCH_FILE_LIMIT)
            return finding_set(finding, QKERN_E_LIMIT, "the folder holds more than %u plugins",
                               SEARCH_FILE_LIMIT);
        if (!names_add(names, entry->d_name))
            return finding_set(finding, QKERN_E_MEMORY, "out of memory");
    }
    if (errno != 0)
        return finding_set(finding, QKERN_E_IO, "cannot list: %s", strerror(errno));
    if (names->count == 0)
        return finding_set(finding, QKERN_E_NOT_FOUND, "the folder holds no *.so file");
    qsort(names->items, names->count, sizeof *names->items, name_compare);
    return QKERN_OK;
}

/* --- folders ---------------------------------------------------------------------------------- */

/* Whether the folder was looked at before, under whatever name; remembers it. */
static qkern_status folder_remember(struct search *search, const struct stat *info, bool *seen,
                                    struct finding *finding)
{
    *seen = false;
    for (uint32_t i = 0; i < search->seen_count && !*seen; i++)
        *seen = search->seen[i].device == info->st_dev && search->seen[i].inode == info->st_ino;
    if (*seen)
        return QKERN_OK;
    if (search->seen_count == SEARCH_FOLDER_LIMIT)
        return finding_set(finding, QKERN_E_LIMIT, "more than %u folders to look at",
                           SEARCH_FOLDER_LIMIT);
    search->seen[search->seen_count].device = info->st_dev;
    search->seen[search->seen_count].inode = info->st_ino;
    search->seen_count++;
    return QKERN_OK;
}

/* Tries the files of those names. */
static qkern_status folder_try(struct search *search, int folder, const char *path,
                               const struct names *names, qkern_error *error)
{
    qkern_status status = QKERN_OK;

    for (size_t i = 0; i < names->count && status == QKERN_OK; i++) {
        char *file;
        const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
        if (asprintf(&file, "%s%s%s", path, slash, names->items[i]) < 0)
            return out_of_memory(error, path);
        int descriptor = openat(folder, names->items[i], OPEN_FLAGS);
        status = loader_try_file(search->loader, descriptor, errno, file, search->origin, error);
        free(file);
    }
    return status;
}

/* Looks at an open folder; takes ownership of the descriptor. */
static qkern_status folder_search(struct search *search, int descriptor, const struct stat *info,
                                  const char *path, qkern_error *error)
{
    struct names names = {NULL, 0, 0};
    struct finding finding = {.status = QKERN_OK};
    DIR *folder = NULL;
    bool seen;

    qkern_status status = folder_remember(search, info, &seen, &finding);
    if (status == QKERN_OK && !seen)
        status = permission_check(info, "folder", path, &finding);
    if (status != QKERN_OK || seen)
        goto done;
    folder = fdopendir(descriptor);
    if (folder == NULL) {
        status = finding_set(&finding, errno == ENOMEM ? QKERN_E_MEMORY : QKERN_E_IO,
                             "cannot list: %s", strerror(errno));
        goto done;
    }
    status = names_read(folder, &names, &finding);
    if (status == QKERN_OK)
        status = folder_try(search, descriptor, path, &names, error);
done:
    if (finding.status == QKERN_E_MEMORY)
        status = out_of_memory(error, path);
    else if (finding.status != QKERN_OK)
        status = place_refuse(search, path, &finding, error);
    names_release(&names);
    if (folder != NULL)
        closedir(folder);
    else
        close(descriptor);
    return status;
}

/* --- places ----------------------------------------------------------------------------------- */

/* Looks at a path of a folder or, where that is allowed, of a file. */
static qkern_status place_search(struct search *search, const char *path, bool file_allowed,
                                 qkern_error *error)
{
    char quoted[ERROR_QUOTE_BYTES];
    struct finding finding;
    struct stat info;

    if (path[0] != '/') {
        finding_set(&finding, QKERN_E_ARGUMENT,
                    "not an absolute path: qkern never searches the current directory");
        finding_compare(&finding, "a path that begins with /",
                        path[0] == '\0' ? "an empty path"
                                        : error_quote(quoted, path, strlen(path)));
        return place_refuse(search, path, &finding, error);
    }
    int descriptor = open(path, OPEN_FLAGS);
    int open_errno = errno;
    if (descriptor >= 0 && fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode))
        return folder_search(search, descriptor, &info, path, error);
    if (file_allowed)
        return loader_try_file(search->loader, descriptor, open_errno, path, search->origin, error);
    if (descriptor >= 0) {
        close(descriptor);
        finding_set(&finding, QKERN_E_FORMAT, "is not a folder");
    } else if (open_errno == ENOENT) {
        finding_set(&finding, QKERN_E_NOT_FOUND, "there is no such folder");
    } else {
        finding_set(&finding, QKERN_E_IO, "cannot open: %s", strerror(open_errno));
    }
    return place_refuse(search, path, &finding, error);
}

/* Looks at each folder of a list with ':' between. */
static qkern_status list_search(struct search *search, const char *list, qkern_error *error)
{
    for (;;) {
        size_t length = strcspn(list, ":");
        char *path = strndup(list, length);
        if (path == NULL)
            return out_of_memory(error, "QKERN_PLUGIN_PATH");
        qkern_status status = place_search(search, path, false, error);
        free(path);
        if (status != QKERN_OK || list[length] == '\0')
            return status;
        list += length + 1;
    }
}

qkern_status search_run(const struct loader *loader, const struct search_places *places,
                        qkern_error *error)
{
    struct search search = {.loader = loader, .origin = "option"};
    qkern_status status = QKERN_OK;

    for (uint32_t i = 0; i < places->path_count && status == QKERN_OK; i++)
        status = place_search(&search, places->paths[i], true, error);
    if (status == QKERN_OK && places->list != NULL) {
        search.origin = "QKERN_PLUGIN_PATH";
        status = list_search(&search, places->list, error);
    }
    if (status == QKERN_OK && places->beside != NULL) {
        search.origin = "beside libqkern";
        status = place_search(&search, places->beside, false, error);
    }
    if (status == QKERN_OK && places->installed != NULL) {
        search.origin = "installed";
        status = place_search(&search, places->installed, false, error);
    }
    return status;
}

qkern_status search_beside(char **out, qkern_error *error)
{
    char program[PATH_MAX];
    struct image image;

    *out = NULL;
    if (!image_find((const void *)(uintptr_t)search_beside, &image))
        return QKERN_OK;
    const char *path = image_path(&image);
    if (path[0] == '\0') {
        /* Linked into the program: its path is not what argv[0] claims, but what the kernel says.
         */
        ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
        if (size < 0)
            return QKERN_OK;
        program[size] = '\0';
        path = program;
    }
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 0 : (int)(slash - path + 1);
    if (asprintf(out, "%.*sqkern/plugins", length, path) < 0) {
        *out = NULL;
        return out_of_memory(error, "beside libqkern");
    }
    /* "bin/../lib/qkern/plugins", as a run path gives it, is hard to read in a record. */
    char resolved[PATH_MAX];
    if (realpath(*out, resolved) != NULL && strlen(resolved) <= strlen(*out))
        memcpy(*out, resolved, strlen(resolved) + 1);
    return QKERN_OK;
}
