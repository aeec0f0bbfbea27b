/* SPDX-License-Identifier: MIT */
#include "host/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a CPU ------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
static void play_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    const struct world *world = context;

    (void)subleaf;
    memset(registers, 0, 4 * sizeof *registers);
    if (leaf == 0)
        registers[0] = 7;
    if (leaf == 1 && world->level >= CPU_LOW)
        registers[3] = 1u << 26; /* SSE2 */
    if (leaf == 1 && world->level >= CPU_HIGH)
        registers[2] = 1u << 26 | 1u << 27 | 1u << 28; /* XSAVE, OSXSAVE, AVX */
    if (leaf == 7 && world->level >= CPU_HIGH)
        registers[1] = 1u << 5; /* AVX2 */
}

static uint64_t play_xgetbv(void *context, uint32_t index)
{
    (void)context;
    return index == 0 ? 7 : 0;
}
#else
static uint64_t play_auxval(void *context, uint64_t type)
{
    const struct world *world = context;

    if (type != 16) /* AT_HWCAP */
        return 0;
    return world->level == CPU_HIGH ? 1u << 1 | 1u << 20 : world->level == CPU_LOW ? 1u << 1 : 0;
}
#endif

static const char *play_get(void *context, const char *name)
{
    const struct world *world = context;

    return strcmp(name, "QKERN_FEATURES") == 0      ? world->features
           : strcmp(name, "QKERN_MAX_ISA") == 0     ? world->max_isa
           : strcmp(name, "QKERN_PLUGIN_PATH") == 0 ? world->plugin_path
                                                    : NULL;
}

/* --- a world ---------------------------------------------------------------------------------- */

int world_setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    const qkern_error fresh = QKERN_ERROR_INIT;
    world->error = fresh;
    world->level = CPU_HIGH;
    world->cpu = (struct cpu_source)
    {
        .arch = QKERN_ARCH_THIS, .os = CPU_OS_LINUX, .context = world,
#if defined(__x86_64__)
        .cpuid = play_cpuid, .xgetbv = play_xgetbv,
#else
        .auxval = play_auxval,
#endif
    };
    world->environment = (struct environment_source){play_get, world};
    snprintf(world->folder, sizeof world->folder, "%s/world-XXXXXX", QKERN_TEST_BINARY_DIR);
    assert_non_null(mkdtemp(world->folder));
    assert_int_equal(chmod(world->folder, 0755), 0);
    world->around = surroundings_native();
    world->around.cpu = &world->cpu;
    world->around.environment = &world->environment;
    world->around.beside = "/nonexistent/beside";
    world->around.installed = world->folder;
    *state = world;
    return 0;
}

int world_teardown(void **state)
{
    struct world *world = *state;
    DIR *folder = opendir(world->folder);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (unlinkat(dirfd(folder), entry->d_name, 0) != 0)
            unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
    if (folder != NULL)
        closedir(folder);
    rmdir(world->folder);
    free(world);
    return 0;
}

const char *world_path(const struct world *world, const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", world->folder, name);
    return path;
}

void world_write(const struct world *world, const char *name, const void *bytes, size_t size)
{
    int descriptor = open(world_path(world, name), O_CREAT | O_WRONLY, 0644);

    assert_true(descriptor >= 0);
    assert_int_equal(fchmod(descriptor, 0644), 0);
    assert_int_equal(write(descriptor, bytes, size), (ssize_t)size);
    /* Cut last: cutting to nothing first would pull the pages from under code that is loaded. */
    assert_int_equal(ftruncate(descriptor, (off_t)size), 0);
    assert_int_equal(close(descriptor), 0);
}

void world_add(const struct world *world, const char *plugin, const char *name)
{
    static char bytes[1 << 22];
    char path[512];

    snprintf(path, sizeof path, "%s/plugins/%s.so", QKERN_TEST_BINARY_DIR, plugin);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size > 0 && size < sizeof bytes);
    fclose(file);
    world_write(world, name, bytes, size);
}

qkern *world_open(struct world *world, const qkern_options *options)
{
    qkern *q = NULL;
    qkern_status status = instance_open(options, &world->around, &q, &world->error);

    if (status != QKERN_OK)
        print_error("%s: %s\n", qkern_status_name(status), world->error.message);
    assert_int_equal(status, QKERN_OK);
    assert_non_null(q);
    return q;
}

void world_close(qkern *q)
{
    assert_int_equal(qkern_close(q, NULL), QKERN_OK);
}

/* --- records ---------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t text_length = strlen(text), end_length = strlen(end);

    return text_length >= end_length && strcmp(text + text_length - end_length, end) == 0;
}

static bool record_find(const qkern *q, const char *path_end, qkern_record *out)
{
    uint32_t count = qkern_record_count(q);

    for (uint32_t i = path_end[0] == '\0' ? count - 1 : 0; i < count; i++) {
        *out = (qkern_record){.struct_size = (uint32_t)sizeof *out};
        assert_int_equal(qkern_record_get(q, i, out, NULL), QKERN_OK);
        if (ends_with(out->path, path_end))
            return true;
    }
    return false;
}

qkern_record record_of(const qkern *q, const char *path_end)
{
    qkern_record record;

    if (!record_find(q, path_end, &record))
        fail_msg("there is no record of %s", path_end);
    return record;
}

bool record_exists(const qkern *q, const char *path_end)
{
    qkern_record record;

    return record_find(q, path_end, &record);
}

void assert_record(const qkern *q, const char *path_end, uint32_t stage, qkern_status status,
                   const char *text_part)
{
    qkern_record record = record_of(q, path_end);

    if (record.stage != stage || record.status != (uint32_t)status)
        print_error("%s: %s: %s\n", path_end, qkern_stage_name(record.stage), record.text);
    assert_string_equal(qkern_stage_name(record.stage), qkern_stage_name(stage));
    assert_string_equal(qkern_status_name((qkern_status)record.status), qkern_status_name(status));
    assert_part(record.text, text_part);
}

void assert_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, text);
}

bool is_mapped(const char *path_end)
{
    char line[1024];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");

    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        found = ends_with(line, path_end);
    }
    fclose(maps);
    return found;
}

uint32_t choice_of(const qkern *q, uint32_t entry)
{
    uint32_t record = UINT32_MAX;

    assert_int_equal(qkern_choice_get(q, QKERN_TYPE_F32, entry, &record, NULL), QKERN_OK);
    return record;
}
