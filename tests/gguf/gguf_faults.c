/* SPDX-License-Identifier: MIT */
/*
 * Every call of the system and the allocator that reader and writer make fails once, the first time
 * it is made, the second, and so on: each failure must come back as a status and a message, leave
 * the target as it was and no temporary file, and lose no memory (for the sanitizers to see).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gguf/src/output.h"
#include "support.h"

/* X(call): those that the linker leads through here */
#define CALLS(X)                                                                                   \
    X(malloc)                                                                                      \
    X(calloc)                                                                                      \
    X(realloc)                                                                                     \
    X(strdup)                                                                                      \
    X(getentropy)                                                                                  \
    X(open)                                                                                        \
    X(openat)                                                                                      \
    X(fstat)                                                                                       \
    X(fstatat)                                                                                     \
    X(fchmod)                                                                                      \
    X(mmap)                                                                                        \
    X(write)                                                                                       \
    X(fsync)                                                                                       \
    X(renameat)

#define NUMBER(CALL) CALL_##CALL,
enum call { CALLS(NUMBER) CALL_LIMIT };
#undef NUMBER

static struct plan {
    enum call call;
    int countdown; /* the call that brings it to 0 fails; negative: none does */
    int error;
} plan = {CALL_LIMIT, -1, 0};
static bool fixed_entropy; /* if set, getentropy gives 0, 1, 2, ... */
static int write_part;     /* if set, write takes no more than so many bytes */

static bool fails(enum call call)
{
    if (plan.call != call || plan.countdown < 0 || plan.countdown-- > 0)
        return false;
    errno = plan.error;
    return true;
}

static void plan_set(enum call call, int nth, int error)
{
    plan = (struct plan){call, nth, error};
}

/* Whether the planned failure happened; ends the plan. */
static bool plan_end(void)
{
    bool happened = plan.countdown < 0;

    plan.countdown = -1;
    plan.call = CALL_LIMIT;
    return happened;
}

/* The linker also looks at what libqkern's shared object calls, and wants these visible to it. */
#define VISIBLE __attribute__((visibility("default")))

/* Defines the replacement of a call, which fails with FAILURE or does what the call does. */
#define WRAP(TYPE, CALL, PARAMETERS, ARGUMENTS, FAILURE)                                           \
    TYPE __real_##CALL PARAMETERS;                                                                 \
    VISIBLE TYPE __wrap_##CALL PARAMETERS;                                                         \
    TYPE __wrap_##CALL PARAMETERS                                                                  \
    {                                                                                              \
        if (fails(CALL_##CALL))                                                                    \
            return FAILURE;                                                                        \
        return __real_##CALL ARGUMENTS;                                                            \
    }

WRAP(void *, malloc, (size_t bytes), (bytes), NULL)
WRAP(void *, calloc, (size_t count, size_t bytes), (count, bytes), NULL)
WRAP(void *, realloc, (void *old, size_t bytes), (old, bytes), NULL)
WRAP(char *, strdup, (const char *text), (text), NULL)

VISIBLE int __wrap_getentropy(void *out, size_t bytes);
int __real_getentropy(void *out, size_t bytes);
int __wrap_getentropy(void *out, size_t bytes)
{
    if (fails(CALL_getentropy))
        return -1;
    if (!fixed_entropy)
        return __real_getentropy(out, bytes);
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)out)[i] = (uint8_t)i;
    return 0;
}

WRAP(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1)
WRAP(int, openat, (int folder, const char *path, int flags, mode_t mode),
     (folder, path, flags, mode), -1)
WRAP(int, fstat, (int fd, struct stat *out), (fd, out), -1)
WRAP(int, fstatat, (int folder, const char *path, struct stat *out, int flags),
     (folder, path, out, flags), -1)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
WRAP(void *, mmap, (void *at, size_t bytes, int protection, int flags, int fd, off_t offset),
     (at, bytes, protection, flags, fd, offset), MAP_FAILED)
WRAP(int, fsync, (int fd), (fd), -1)
WRAP(int, renameat, (int from_folder, const char *from, int to_folder, const char *to),
     (from_folder, from, to_folder, to), -1)

ssize_t __real_write(int fd, const void *data, size_t bytes);
VISIBLE ssize_t __wrap_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes)
{
    if (fails(CALL_write))
        return plan.error == 0 ? 0 : -1;
    if (write_part > 0 && bytes > (size_t)write_part)
        bytes = (size_t)write_part;
    return __real_write(fd, data, bytes);
}

#define OLD "what was there before"
#define MODEL QKERN_TEST_SOURCE_DIR "/gguf/malformed/off_order.gguf"

/* A whole run of reader and writer: copies a model over a file, and sets a key. */
static qkern_status run(const char *path, qkern_error *error)
{
    qkern_status status = model_copy(MODEL, path, error);
    qkern_gguf_writer *w = NULL;

    if (status != QKERN_OK)
        return status;
    status = qkern_gguf_writer_create(path, &w, error);
    if (status == QKERN_OK)
        status = qkern_gguf_writer_set_string(w, "key", "value", error);
    if (status == QKERN_OK)
        status = qkern_gguf_writer_set_string(w, "key", "other", error);
    if (status == QKERN_OK)
        status = qkern_gguf_writer_begin(w, error);
    if (status == QKERN_OK)
        status = qkern_gguf_writer_commit(w, error);
    else
        qkern_gguf_writer_abort(w);
    return status;
}

/* Makes the call fail at each place; returns at how many. */
static int fail_everywhere(enum call call, int error_number, qkern_status expected,
                           const char *message)
{
    for (int nth = 0;; nth++) {
        const char *folder = scratch_folder();
        const char *path = path_in(folder, "out.gguf");
        qkern_error error = QKERN_ERROR_INIT;

        file_write(path, OLD, strlen(OLD));
        plan_set(call, nth, error_number);
        qkern_status status = run(path, &error);
        bool happened = plan_end();
        assert_int_equal(folder_entries(folder), 1);
        scratch_remove(NULL);
        if (!happened) {
            assert_int_equal(status, QKERN_OK);
            return nth;
        }
        assert_int_equal(status, expected);
        assert_int_equal(error.status, expected);
        if (strstr(error.message, message) == NULL)
            fail_msg("failure %d: '%s' does not hold '%s'", nth, error.message, message);
    }
}

static void memory_that_runs_out_is_reported_everywhere(void **state)
{
    (void)state;
    assert_true(fail_everywhere(CALL_malloc, ENOMEM, QKERN_E_MEMORY, "out of memory") >= 12);
    assert_true(fail_everywhere(CALL_calloc, ENOMEM, QKERN_E_MEMORY, "out of memory") >= 8);
    assert_true(fail_everywhere(CALL_realloc, ENOMEM, QKERN_E_MEMORY, "out of memory") >= 3);
    assert_true(fail_everywhere(CALL_strdup, ENOMEM, QKERN_E_MEMORY, "out of memory") >= 4);
}

static void failing_system_calls_are_reported_everywhere(void **state)
{
    (void)state;
    assert_int_equal(
        fail_everywhere(CALL_getentropy, EIO, QKERN_E_IO, "no random numbers: Input/output error"),
        8);
    assert_int_equal(fail_everywhere(CALL_open, EMFILE, QKERN_E_IO, ": Too many open files"), 3);
    assert_int_equal(fail_everywhere(CALL_openat, EROFS, QKERN_E_IO,
                                     "cannot create a temporary file in its folder: Read-only"),
                     2);
    assert_int_equal(fail_everywhere(CALL_fstat, EIO, QKERN_E_IO,
                                     "cannot ask for its kind and size: Input/output error"),
                     1);
    assert_int_equal(fail_everywhere(CALL_fstatat, EACCES, QKERN_E_IO,
                                     "cannot look at the target: Permission denied"),
                     2);
    assert_int_equal(fail_everywhere(CALL_fchmod, EPERM, QKERN_E_IO,
                                     "cannot set the permissions of the temporary file"),
                     2);
    assert_int_equal(
        fail_everywhere(CALL_mmap, ENOMEM, QKERN_E_MEMORY, "cannot map it: Cannot allocate"), 1);
    assert_int_equal(fail_everywhere(CALL_mmap, ENODEV, QKERN_E_IO, "cannot map it: No such"), 1);
}

/* A model of several buffers' length over an old file, so that writes fail at every stage. */
static qkern_status write_large(const char *path, qkern_error *error)
{
    static uint8_t data[3 * 1000 * 1000];
    const uint64_t shape[] = {1000 * 1000};
    qkern_gguf_writer *w = NULL;
    qkern_status status = qkern_gguf_writer_create(path, &w, error);
    static const char *const names[] = {"a", "b", "c"};

    for (int i = 0; i < 3 && status == QKERN_OK; i++)
        status = qkern_gguf_writer_add_tensor(w, names[i], 1, QKERN_TYPE_I8, 1, shape, error);
    if (status == QKERN_OK)
        status = qkern_gguf_writer_begin(w, error);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 11);
    for (size_t at = 0; at < sizeof data && status == QKERN_OK; at += 200000)
        status = qkern_gguf_writer_write(w, data + at, 200000, error);
    if (status == QKERN_OK)
        return qkern_gguf_writer_commit(w, error);
    qkern_gguf_writer_abort(w);
    return status;
}

static void expect_old(const char *path)
{
    size_t size;
    uint8_t *data = file_read(path, &size);

    assert_int_equal(size, strlen(OLD));
    assert_memory_equal(data, OLD, size);
    free(data);
}

/* The same for a failure after which the target must be untouched. */
static int fail_large_everywhere(enum call call, int error_number, const char *message)
{
    for (int nth = 0;; nth++) {
        const char *folder = scratch_folder();
        const char *path = path_in(folder, "out.gguf");
        qkern_error error = QKERN_ERROR_INIT;

        file_write(path, OLD, strlen(OLD));
        plan_set(call, nth, error_number);
        qkern_status status = write_large(path, &error);
        bool happened = plan_end();
        assert_int_equal(folder_entries(folder), 1);
        if (happened) {
            assert_int_equal(status, QKERN_E_IO);
            if (strstr(error.message, message) == NULL)
                fail_msg("failure %d: '%s' does not hold '%s'", nth, error.message, message);
            if (strstr(error.message, "in place") == NULL)
                expect_old(path);
        }
        scratch_remove(NULL);
        if (!happened) {
            assert_int_equal(status, QKERN_OK);
            return nth;
        }
    }
}

static void a_full_disk_leaves_the_target_at_every_write(void **state)
{
    (void)state;
    assert_true(fail_large_everywhere(CALL_write, ENOSPC,
                                      "out.gguf: cannot write: No space left on device") > 10);
    assert_true(fail_large_everywhere(CALL_write, 0, "the system takes no more bytes") > 10);
}

/*
 * The table is written through the buffer; a long value moves every field of what follows across
 * the buffer's end in turn.
 */
static void a_full_disk_is_noticed_wherever_the_buffer_ends(void **state)
{
    const uint64_t shape[] = {2, 2, 2, 2};
    const char *folder = scratch_folder();
    const char *path = path_in(folder, "out.gguf");
    char *value = malloc(OUTPUT_BUFFER_BYTES);

    (void)state;
    assert_non_null(value);
    memset(value, 'v', OUTPUT_BUFFER_BYTES);
    for (size_t less = 40; less < 240; less++) {
        qkern_error error = QKERN_ERROR_INIT;
        qkern_gguf_writer *w = NULL;

        value[OUTPUT_BUFFER_BYTES - less] = '\0';
        assert_int_equal(qkern_gguf_writer_create(path, &w, NULL), QKERN_OK);
        assert_int_equal(qkern_gguf_writer_set_string(w, "long", value, NULL), QKERN_OK);
        assert_int_equal(qkern_gguf_writer_set_string(w, "key", "value", NULL), QKERN_OK);
        assert_int_equal(qkern_gguf_writer_add_tensor(w, "name", 4, QKERN_TYPE_F32, 4, shape, NULL),
                         QKERN_OK);
        value[OUTPUT_BUFFER_BYTES - less] = 'v';
        plan_set(CALL_write, 0, ENOSPC);
        qkern_status status = qkern_gguf_writer_begin(w, &error);
        if (status == QKERN_OK) /* all of the table still fitted the buffer */
            status = qkern_gguf_writer_write(w, value, 64, &error);
        if (status == QKERN_OK)
            status = qkern_gguf_writer_commit(w, &error);
        else
            qkern_gguf_writer_abort(w);
        assert_true(plan_end());
        assert_int_equal(status, QKERN_E_IO);
        assert_non_null(strstr(error.message, "cannot write: No space left on device"));
        assert_int_equal(folder_entries(folder), 0);
    }
    free(value);
}

static void a_failing_flush_or_rename_leaves_the_target(void **state)
{
    qkern_error error = QKERN_ERROR_INIT;

    (void)state;
    assert_int_equal(fail_large_everywhere(CALL_renameat, EACCES,
                                           "cannot rename the temporary file to it: Permission"),
                     1);
    assert_int_equal(fail_large_everywhere(CALL_fsync, EIO, "to the disk: Input/output error"), 2);

    /* The second flush is the folder's: the new file is there, and the message says so. */
    const char *path = path_in(scratch_folder(), "out.gguf");
    file_write(path, OLD, strlen(OLD));
    plan_set(CALL_fsync, 1, EIO);
    assert_int_equal(write_large(path, &error), QKERN_E_IO);
    assert_true(plan_end());
    assert_non_null(strstr(error.message, "the new file is complete and in place, but its folder"));
    qkern_gguf *g;
    assert_int_equal(qkern_gguf_open(path, &g, NULL), QKERN_OK);
    qkern_gguf_close(g);

    /* A file system that cannot flush folders is no failure. */
    plan_set(CALL_fsync, 1, EINVAL);
    assert_int_equal(write_large(path, &error), QKERN_OK);
    assert_true(plan_end());
}

static void interrupted_and_short_writes_are_completed(void **state)
{
    static const struct {
        enum call call;
        int nth;
    } interrupted[] = {{CALL_write, 0}, {CALL_write, 3}, {CALL_fsync, 0}, {CALL_fsync, 1}};
    const char *folder = scratch_folder();
    char whole[1024], path[1024];
    size_t size, found;

    (void)state;
    snprintf(whole, sizeof whole, "%s", path_in(folder, "whole.gguf"));
    snprintf(path, sizeof path, "%s", path_in(folder, "parts.gguf"));
    assert_int_equal(write_large(whole, NULL), QKERN_OK);
    uint8_t *expected = file_read(whole, &size);

    write_part = 65537;
    for (size_t i = 0; i < sizeof interrupted / sizeof interrupted[0]; i++) {
        qkern_error error = QKERN_ERROR_INIT;

        plan_set(interrupted[i].call, interrupted[i].nth, EINTR);
        if (write_large(path, &error) != QKERN_OK)
            fail_msg("%s", error.message);
        assert_true(plan_end());
        uint8_t *data = file_read(path, &found);
        assert_int_equal(found, size);
        assert_memory_equal(data, expected, size);
        free(data);
    }
    write_part = 0;
    free(expected);
}

static void a_temporary_name_that_is_taken_is_drawn_again_and_left_alone(void **state)
{
    const char *folder = scratch_folder();
    const char *path = path_in(folder, "out.gguf");
    const char *taken = path_in(folder, ".qkern-0706050403020100.tmp");
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf_writer *w = NULL;

    (void)state;
    plan_set(CALL_openat, 0, EEXIST);
    assert_int_equal(write_large(path, NULL), QKERN_OK);
    assert_true(plan_end());
    assert_int_equal(folder_entries(folder), 1);

    file_write(taken, OLD, strlen(OLD));
    fixed_entropy = true;
    assert_int_equal(qkern_gguf_writer_create(path, &w, &error), QKERN_E_IO);
    fixed_entropy = false;
    assert_non_null(
        strstr(error.message, "cannot create a temporary file in its folder: File exists"));
    expect_old(taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(memory_that_runs_out_is_reported_everywhere, scratch_remove),
        cmocka_unit_test_teardown(failing_system_calls_are_reported_everywhere, scratch_remove),
        cmocka_unit_test_teardown(a_full_disk_leaves_the_target_at_every_write, scratch_remove),
        cmocka_unit_test_teardown(a_full_disk_is_noticed_wherever_the_buffer_ends, scratch_remove),
        cmocka_unit_test_teardown(a_failing_flush_or_rename_leaves_the_target, scratch_remove),
        cmocka_unit_test_teardown(interrupted_and_short_writes_are_completed, scratch_remove),
        cmocka_unit_test_teardown(a_temporary_name_that_is_taken_is_drawn_again_and_left_alone,
                                  scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
