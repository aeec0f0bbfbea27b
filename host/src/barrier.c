/* SPDX-License-Identifier: MIT */
#include "barrier.h"

#include <stddef.h>

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static int native_membarrier(void *context, int command)
{
    (void)context;
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

bool barrier_run(const struct barrier_source *source)
{
    return source->membarrier(source->context, MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

bool barrier_prepare(const struct barrier_source *source)
{
    return source->membarrier(source->context, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
           barrier_run(source);
}
#else
static int native_membarrier(void *context, int command)
{
    (void)context;
    (void)command;
    return -1;
}

bool barrier_run(const struct barrier_source *source)
{
    (void)source;
    return false;
}

bool barrier_prepare(const struct barrier_source *source)
{
    return barrier_run(source);
}
#endif

const struct barrier_source *barrier_native(void)
{
    static const struct barrier_source native = {native_membarrier, NULL};
    return &native;
}
