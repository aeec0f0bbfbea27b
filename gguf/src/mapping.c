/* SPDX-License-Identifier: MIT */
#include "mapping.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char *file_kind(uint32_t mode)
{
    static const struct {
        uint32_t mode;
        const char *name;
    } kinds[] = {
        {S_IFREG, "a file"},          {S_IFDIR, "a directory"},
        {S_IFIFO, "a FIFO"},          {S_IFCHR, "a character device"},
        {S_IFBLK, "a block device"},  {S_IFSOCK, "a socket"},
        {S_IFLNK, "a symbolic link"},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if ((mode & S_IFMT) == kinds[i].mode)
            return kinds[i].name;
    return "of an unknown kind";
}

static qkern_status descriptor_map(int fd, mapping *m, fault *f)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return fault_errno(f, "cannot ask for its kind and size");
    if (!S_ISREG(info.st_mode))
        return fault_set(f, QKERN_E_IO, "is %s, expected a file", file_kind(info.st_mode));
    if (info.st_size == 0)
        return fault_set(f, QKERN_E_FORMAT, "is empty, expected a GGUF file");
    if ((uint64_t)info.st_size > SIZE_MAX)
        return fault_set(f, QKERN_E_LIMIT, "has %llu bytes, more than this process can map",
                         (unsigned long long)info.st_size);
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return fault_errno(f, "cannot map it");
    *m = (mapping){data, (uint64_t)info.st_size, true};
    return QKERN_OK;
}

qkern_status mapping_open(mapping *m, const char *path, fault *f)
{
    /* O_NONBLOCK: a FIFO without a writer must not hold us up. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return fault_errno(f, "cannot open it");
    qkern_status status = descriptor_map(fd, m, f);
    close(fd);
    return status;
}

void mapping_close(mapping *m)
{
    if (m->mapped)
        munmap((void *)(uintptr_t)m->data, (size_t)m->bytes);
    m->mapped = false;
}

void mapping_release(const mapping *m, const uint8_t *data, uint64_t bytes)
{
    uintptr_t begin = (uintptr_t)m->data;
    uintptr_t from = (uintptr_t)data;

    if (!m->mapped || from < begin || from - begin > m->bytes || bytes > m->bytes - (from - begin))
        return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (from + page - 1) & ~(page - 1);
    uintptr_t last = (from + (uintptr_t)bytes) & ~(page - 1);
    if (first < last)
        madvise((void *)first, last - first, MADV_DONTNEED);
}
