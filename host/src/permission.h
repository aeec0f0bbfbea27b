/* SPDX-License-Identifier: MIT */
/* Who can write a file or folder that code is loaded from. */
#ifndef QKERN_HOST_PERMISSION_H
#define QKERN_HOST_PERMISSION_H

#include <sys/stat.h>

#include "finding.h"

/*
 * QKERN_E_PERMISSION, with the command that mends it, if somebody other than root and the effective
 * user owns it, or group or others can write it. An access control list that lets others write
 * shows in the group's bits. `what` is "file" or "folder".
 */
qkern_status permission_check(const struct stat *info, const char *what, const char *path,
                              struct finding *finding);

#endif
