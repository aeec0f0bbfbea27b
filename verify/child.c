/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <link.h>
#endif

#include "host/src/error.h"

#define WORKER_BESIDE "qkern/qkern-verify" /* as the folder qkern/plugins is */

/* --- the program ------------------------------------------------------------------------------ */

/* The file that holds libqkern: the library, or the program that it is linked into. */
static bool libqkern_path(char path[PATH_MAX])
{
    Dl_info info;
    const char *found = NULL;

#if defined(__linux__)
    struct link_map *map = NULL;
    if (dladdr1((const void *)(uintptr_t)qkern_version, &info, (void **)&map, RTLD_DL_LINKMAP) !=
            0 &&
        map != NULL)
        found = map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe";
#else
    if (dladdr((const void *)(uintptr_t)qkern_version, &info) != 0)
        found = info.dli_fname;
#endif
    return found != NULL && realpath(found, path) != NULL;
}

qkern_status child_find(char **out, qkern_error *error)
{
    char library[PATH_MAX];
    char *beside = NULL;

    *out = NULL;
    if (libqkern_path(library) && asprintf(&beside, "%.*s" WORKER_BESIDE,
                                           (int)(strrchr(library, '/') - library + 1), library) < 0)
        return error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: a path");
    if (beside != NULL && access(beside, X_OK) == 0) {
        *out = beside;
        return QKERN_OK;
    }
    if (access(QKERN_INSTALLED_WORKER, X_OK) == 0) {
        free(beside);
        *out = strdup(QKERN_INSTALLED_WORKER);
        return *out != NULL
                   ? QKERN_OK
                   : error_set(error, QKERN_E_MEMORY, QKERN_NO_INDEX, "out of memory: a path");
    }
    error_set(error, QKERN_E_NOT_FOUND, QKERN_NO_INDEX,
              "the program that checks plugins is missing: there is no %s%s%s",
              beside != NULL ? beside : "", beside != NULL ? " and no " : "",
              QKERN_INSTALLED_WORKER);
    free(beside);
    return QKERN_E_NOT_FOUND;
}

/* --- the start -------------------------------------------------------------------------------- */

/* Nothing of the parent's reaches the worker: signals as a program finds them, no descriptors. */
static int spawn(pid_t *pid, const char *const *words, int output, int complaints)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    int failed;

    sigfillset(&all);
    sigemptyset(&none);
    if ((failed = posix_spawn_file_actions_init(&files)) != 0)
        return failed;
    if ((failed = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return failed;
    }
    failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (failed == 0)
        failed = posix_spawnattr_setsigdefault(&attributes, &all);
    if (failed == 0)
        failed = posix_spawnattr_setsigmask(&attributes, &none);
    if (failed == 0)
        failed = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&files, complaints, STDERR_FILENO);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    if (failed == 0)
        failed = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif
    /* posix_spawn wants words that are not const, and does not change them. */
    if (failed == 0)
        failed = posix_spawnp(pid, words[0], &files, &attributes, (char *const *)(uintptr_t)words,
                              environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static void pipe_close(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

/* A pipe with ends above the standard streams, which may be closed in the parent. */
static bool pipe_open(int ends[2])
{
    int raw[2];

    if (pipe2(raw, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, 3);
    close(raw[0]);
    close(raw[1]);
    if (ends[0] >= 0 && ends[1] >= 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return false;
}

qkern_status child_start(struct child *child, const char *const *words, qkern_error *error)
{
    int output[2], complaints[2], failed;

    *child = (struct child){.output = -1, .complaints = -1};
    if (!pipe_open(output))
        return error_set(error, QKERN_E_IO, QKERN_NO_INDEX, "a pipe: %s", strerror(errno));
    if (!pipe_open(complaints)) {
        failed = errno;
        close(output[0]);
        close(output[1]);
        return error_set(error, QKERN_E_IO, QKERN_NO_INDEX, "a pipe: %s", strerror(failed));
    }
    /* An emulator may lose what posix_spawn says of a program that is not there. */
    failed = strchr(words[0], '/') != NULL && access(words[0], X_OK) != 0
                 ? errno
                 : spawn(&child->pid, words, output[1], complaints[1]);
    close(output[1]);
    close(complaints[1]);
    child->output = output[0];
    child->complaints = complaints[0];
    if (failed == 0) {
        fcntl(child->complaints, F_SETFL, O_NONBLOCK);
        return QKERN_OK;
    }
    child->pid = 0;
    pipe_close(&child->output);
    pipe_close(&child->complaints);
    return error_set(error, failed == ENOENT ? QKERN_E_NOT_FOUND : QKERN_E_IO, QKERN_NO_INDEX,
                     "%s, which checks plugins, cannot be started: %s", words[0], strerror(failed));
}

/* --- output ----------------------------------------------------------------------------------- */

qkern_status child_line(struct child *child, char **line, qkern_error *error)
{
    char *start = child->line + child->taken, *end;

    *line = NULL;
    end = memchr(start, '\n', child->filled - child->taken);
    if (end != NULL) {
        *end = '\0';
        *line = start;
        child->taken = (size_t)(end - child->line) + 1;
        return QKERN_OK;
    }
    child->filled -= child->taken;
    memmove(child->line, start, child->filled);
    child->taken = 0;
    if (child->filled == CHILD_LINE_BYTES)
        return error_set(error, QKERN_E_FORMAT, QKERN_NO_INDEX,
                         "the checking process writes a line of more than %d bytes",
                         CHILD_LINE_BYTES);
    return QKERN_OK;
}

/* The beginning of what it says is kept: there the reason stands. */
static void complaint_read(struct child *child)
{
    char part[CHILD_COMPLAINT_BYTES];
    const ssize_t size = read(child->complaints, part, sizeof part);

    if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN))
        pipe_close(&child->complaints);
    for (ssize_t i = 0; i < size && child->complained + 1 < sizeof child->complaint; i++)
        child->complaint[child->complained++] = (char)(part[i] == '\0' ? '?' : part[i]);
}

bool child_wait(struct child *child, int milliseconds)
{
    struct pollfd pipes[2] = {{.fd = child->output, .events = POLLIN},
                              {.fd = child->complaints, .events = POLLIN}};

    if (poll(pipes, 2, milliseconds) <= 0)
        return false;
    if (pipes[1].revents != 0)
        complaint_read(child);
    if (pipes[0].revents != 0 && child->filled < CHILD_LINE_BYTES) {
        const ssize_t size =
            read(child->output, child->line + child->filled, CHILD_LINE_BYTES - child->filled);
        if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN))
            pipe_close(&child->output);
        child->filled += size > 0 ? (size_t)size : 0;
    }
    return true;
}

bool child_is_silent(const struct child *child)
{
    return child->output < 0;
}

/* --- the process ------------------------------------------------------------------------------ */

double child_seconds(const struct child *child)
{
#if defined(__linux__)
    struct timespec time;
    clockid_t clock;
    if (child->pid > 0 && clock_getcpuclockid(child->pid, &clock) == 0 &&
        clock_gettime(clock, &time) == 0)
        return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
#else
    (void)child;
#endif
    return 0;
}

void child_signal(const struct child *child, int number)
{
    if (child->pid > 0)
        kill(child->pid, number);
}

enum child_end child_reap(struct child *child, bool wait, int *status)
{
    pid_t reaped = -1;

    if (child->pid > 0)
        while ((reaped = waitpid(child->pid, status, wait ? 0 : WNOHANG)) < 0 && errno == EINTR)
            continue;
    if (reaped == 0)
        return CHILD_RUNNING;
    for (size_t before = SIZE_MAX; child->complaints >= 0 && before != child->complained;) {
        before = child->complained; /* what is left in the pipe; it never blocks */
        complaint_read(child);
    }
    child->pid = 0;
    pipe_close(&child->output);
    pipe_close(&child->complaints);
    return reaped > 0 ? CHILD_ENDED : CHILD_LOST;
}
