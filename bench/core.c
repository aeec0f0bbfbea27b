/* SPDX-License-Identifier: MIT */
/* Staying on one core. */
#include "core.h"

#include <errno.h>
#include <string.h>

#if defined(__linux__)
#include <sched.h>

int bench_core_current(void)
{
    return sched_getcpu();
}

const char *bench_core_pin(int core)
{
    cpu_set_t set;
    if (core < 0 || core >= CPU_SETSIZE)
        return "no core has this number";
    CPU_ZERO(&set);
    CPU_SET((unsigned)core, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? NULL : strerror(errno);
}

#else

int bench_core_current(void)
{
    return -1;
}

const char *bench_core_pin(int core)
{
    (void)core;
    return "this system does not let a thread choose its core";
}

#endif
