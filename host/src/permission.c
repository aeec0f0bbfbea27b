/* SPDX-License-Identifier: MIT */
#include "permission.h"

#include <stdio.h>
#include <unistd.h>

qkern_status permission_check(const struct stat *info, const char *what, const char *path,
                              struct finding *finding)
{
    char expected[64], found[64];

    if (info->st_uid != 0 && info->st_uid != geteuid()) {
        finding_set(finding, QKERN_E_PERMISSION,
                    "the %s belongs to another user, who could change it: chown root %s", what,
                    path);
        snprintf(expected, sizeof expected, "owner 0 or %u", (unsigned)geteuid());
        snprintf(found, sizeof found, "owner %u", (unsigned)info->st_uid);
        return finding_compare(finding, expected, found);
    }
    if ((info->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        finding_set(finding, QKERN_E_PERMISSION, "%s can write the %s: chmod go-w %s",
                    (info->st_mode & S_IWOTH) != 0 ? "everybody" : "its group", what, path);
        snprintf(expected, sizeof expected, "mode %04o",
                 (unsigned)(info->st_mode & 07777 & ~(mode_t)(S_IWGRP | S_IWOTH)));
        snprintf(found, sizeof found, "mode %04o", (unsigned)(info->st_mode & 07777));
        return finding_compare(finding, expected, found);
    }
    return QKERN_OK;
}
