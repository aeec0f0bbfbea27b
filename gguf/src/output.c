/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapping.h"

/* --- where the file goes ---------------------------------------------------------------------- */

/* The path itself, or what it leads to if it is a symbolic link, in memory of its own. */
static qkern_status path_resolve(const char *path, char **out, fault *f)
{
    struct stat info;
    bool link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);

    *out = link ? realpath(path, NULL) : strdup(path);
    if (*out != NULL)
        return QKERN_OK;
    if (link)
        return fault_errno(f, "cannot follow the symbolic link");
    return fault_memory(f, "the path");
}

/* Opens the folder of `path` and stores the name in it. */
static qkern_status folder_open(output *o, char *path, fault *f)
{
    char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *folder = slash == NULL ? "." : slash == path ? "/" : path;

    if (*name == '\0')
        return fault_set(f, QKERN_E_ARGUMENT, "the path names no file");
    o->target = strdup(name);
    if (o->target == NULL)
        return fault_memory(f, "the name");
    if (slash != NULL && slash != path)
        *slash = '\0';
    o->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (o->folder < 0)
        return fault_errno(f, "cannot open its folder");
    return QKERN_OK;
}

/* What may be replaced: nothing, or a file. *mode is what a new file is created with. */
static qkern_status target_check(const output *o, mode_t *mode, bool *exists, fault *f)
{
    struct stat info;

    *exists = fstatat(o->folder, o->target, &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!*exists) {
        *mode = 0666;
        return errno == ENOENT ? QKERN_OK : fault_errno(f, "cannot look at the target");
    }
    if (!S_ISREG(info.st_mode))
        return fault_set(f, QKERN_E_IO, "is %s, expected a file or nothing",
                         file_kind(info.st_mode));
    *mode = info.st_mode & 0777;
    return QKERN_OK;
}

static qkern_status temporary_create(output *o, mode_t mode, fault *f)
{
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t random;

        if (getentropy(&random, sizeof random) != 0)
            return fault_errno(f, "no random numbers");
        snprintf(o->temporary, sizeof o->temporary, ".qkern-%016llx.tmp",
                 (unsigned long long)random);
        o->file = openat(o->folder, o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (o->file >= 0)
            return QKERN_OK;
        o->temporary[0] = '\0'; /* what has this name is not ours to remove */
        if (errno != EEXIST)
            break;
    }
    return fault_errno(f, "cannot create a temporary file in its folder");
}

static qkern_status output_open(output *o, char *path, fault *f)
{
    mode_t mode = 0;
    bool exists = false;
    qkern_status status = folder_open(o, path, f);

    if (status == QKERN_OK)
        status = target_check(o, &mode, &exists, f);
    if (status != QKERN_OK)
        return status;
    o->buffer = malloc(OUTPUT_BUFFER_BYTES);
    if (o->buffer == NULL)
        return fault_memory(f, "the buffer");
    status = temporary_create(o, mode, f);
    /* The umask took bits away that the target had. */
    if (status == QKERN_OK && exists && fchmod(o->file, mode) != 0)
        return fault_errno(f, "cannot set the permissions of the temporary file");
    return status;
}

qkern_status output_create(output *o, const char *path, fault *f)
{
    char *resolved = NULL;

    *o = (output){.folder = -1, .file = -1};
    qkern_status status = path_resolve(path, &resolved, f);
    if (status == QKERN_OK)
        status = output_open(o, resolved, f);
    free(resolved);
    if (status != QKERN_OK)
        output_abort(o);
    return status;
}

/* --- writing ---------------------------------------------------------------------------------- */

static qkern_status descriptor_write(int fd, const uint8_t *data, uint64_t bytes, fault *f)
{
    const uint64_t most = UINT64_C(1) << 30; /* systems cut what is near 2^31 */

    while (bytes > 0) {
        ssize_t written = write(fd, data, (size_t)(bytes < most ? bytes : most));

        if (written > 0) {
            data += written;
            bytes -= (uint64_t)written;
        } else if (written == 0) {
            return fault_set(f, QKERN_E_IO, "cannot write: the system takes no more bytes");
        } else if (errno != EINTR) {
            return fault_errno(f, "cannot write");
        }
    }
    return QKERN_OK;
}

static qkern_status output_flush(output *o, fault *f)
{
    size_t used = o->used;

    o->used = 0;
    return descriptor_write(o->file, o->buffer, used, f);
}

qkern_status output_write(output *o, const void *data, uint64_t bytes, fault *f)
{
    o->position += bytes;
    if (bytes > OUTPUT_BUFFER_BYTES - o->used) {
        qkern_status status = output_flush(o, f);

        if (status != QKERN_OK)
            return status;
        if (bytes >= OUTPUT_BUFFER_BYTES)
            return descriptor_write(o->file, data, bytes, f);
    }
    if (bytes > 0)
        memcpy(o->buffer + o->used, data, (size_t)bytes);
    o->used += (size_t)bytes;
    return QKERN_OK;
}

qkern_status output_zeros(output *o, uint64_t bytes, fault *f)
{
    static const uint8_t zeros[4096];
    qkern_status status = QKERN_OK;

    while (bytes > 0 && status == QKERN_OK) {
        uint64_t part = bytes < sizeof zeros ? bytes : sizeof zeros;

        status = output_write(o, zeros, part, f);
        bytes -= part;
    }
    return status;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int file_flush(int fd)
{
    int result;

    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result;
}

/* Some file systems cannot flush a folder and say so with EINVAL; there is nothing to do then. */
static qkern_status folder_flush(const output *o, fault *f)
{
    if (file_flush(o->folder) == 0 || errno == EINVAL)
        return QKERN_OK;
    return fault_set(f, QKERN_E_IO,
                     "the new file is complete and in place, but its folder cannot be flushed to "
                     "the disk: %s",
                     strerror(errno));
}

static qkern_status output_finish(output *o, fault *f)
{
    qkern_status status = output_flush(o, f);

    if (status != QKERN_OK)
        return status;
    if (file_flush(o->file) != 0)
        return fault_errno(f, "cannot flush it to the disk");
    if (renameat(o->folder, o->temporary, o->folder, o->target) != 0)
        return fault_errno(f, "cannot rename the temporary file to it");
    o->temporary[0] = '\0';
    return folder_flush(o, f);
}

qkern_status output_commit(output *o, fault *f)
{
    qkern_status status = output_finish(o, f);

    output_abort(o);
    return status;
}

void output_abort(output *o)
{
    if (o->file >= 0)
        close(o->file);
    if (o->temporary[0] != '\0')
        unlinkat(o->folder, o->temporary, 0);
    if (o->folder >= 0)
        close(o->folder);
    free(o->target);
    free(o->buffer);
    *o = (output){.folder = -1, .file = -1};
}
