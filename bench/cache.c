/* SPDX-License-Identifier: MIT */
/* How large the caches of this machine are. */
#include "cache.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SYSFS_FOLDER "/sys/devices/system/cpu/cpu0/cache"

enum { INDEX_LIMIT = 16, LINE = 64 };

bool bench_size_parse(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *unit;
        unsigned shift;
    } units[] = {{"", 0},    {"B", 0},    {"K", 10}, {"KB", 10}, {"KiB", 10}, {"M", 20},
                 {"MB", 20}, {"MiB", 20}, {"G", 30}, {"GB", 30}, {"GiB", 30}};
    uint64_t value = 0;

    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text); text++) {
        if (value > (UINT64_MAX >> 4) / 10)
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcasecmp(text, units[i].unit) != 0)
            continue;
        if (value == 0 || value > UINT64_MAX >> units[i].shift)
            return false;
        *bytes = value << units[i].shift;
        return true;
    }
    return false;
}

/* The first line of folder/indexN/name; false if there is none. */
static bool read_line(const char *folder, int index, const char *name, char *line)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "r") : NULL;

    if (file == NULL)
        return false;
    const bool found = fgets(line, LINE, file) != NULL;
    fclose(file);
    if (found)
        line[strcspn(line, "\n")] = '\0';
    return found;
}

static void read_sysfs(const char *folder, struct bench_caches *caches)
{
    char level[LINE], type[LINE], size[LINE];

    for (int i = 0; i < INDEX_LIMIT; i++) {
        if (!read_line(folder, i, "level", level) || !read_line(folder, i, "type", type) ||
            !read_line(folder, i, "size", size) || strcmp(type, "Instruction") == 0)
            continue;
        const long number = strtol(level, NULL, 10);
        uint64_t bytes;
        if (number >= 1 && number <= 3 && bench_size_parse(size, &bytes))
            caches->level[number - 1] = (struct bench_cache){bytes, "sysfs"};
    }
}

/* Level 1 to 3; 0 if the system does not say. */
static long read_sysconf(int level)
{
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    return sysconf(names[level]);
#else
    (void)level;
    return 0;
#endif
}

struct bench_caches bench_caches_read_from(const char *folder)
{
    static const uint64_t assumed[] = {UINT64_C(32) << 10, UINT64_C(1) << 20, UINT64_C(32) << 20};
    struct bench_caches caches = {{{0, NULL}}};

    if (folder != NULL)
        read_sysfs(folder, &caches);
    for (int i = 0; i < 3; i++) {
        if (caches.level[i].bytes > 0)
            continue;
        const long bytes = folder != NULL ? read_sysconf(i) : 0;
        caches.level[i] = bytes > 0 ? (struct bench_cache){(uint64_t)bytes, "sysconf"}
                                    : (struct bench_cache){assumed[i], "assumed"};
    }
    return caches;
}

struct bench_caches bench_caches_read(void)
{
    return bench_caches_read_from(SYSFS_FOLDER);
}
