/* SPDX-License-Identifier: MIT */
/* Stands in for Darwin's header, so that the Darwin part of cpu_source.c is compiled everywhere. */
#ifndef QKERN_TESTS_DARWIN_SYSCTL_H
#define QKERN_TESTS_DARWIN_SYSCTL_H

#include <stddef.h>

int sysctlbyname(const char *name, void *old_value, size_t *old_size, void *new_value,
                 size_t new_size);

#endif
