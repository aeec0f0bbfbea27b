/* SPDX-License-Identifier: MIT */
/* Opening what is on the disk: what is no file, what cannot be read, and letting pages go. */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define SAMPLE QKERN_TEST_SAMPLES_DIR "/kokoro-voice-af_heart-f32.gguf"

static void expect_unopened(const char *path, qkern_status status, const char *message)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern_gguf *g = NULL;

    assert_int_equal(qkern_gguf_open(path, &g, &error), status);
    assert_null(g);
    if (strstr(error.message, message) == NULL)
        fail_msg("'%s' does not hold '%s'", error.message, message);
}

static void what_is_no_file_is_refused_by_its_kind(void **state)
{
    const char *folder = scratch_folder();
    const char *path;

    (void)state;
    expect_unopened(folder, QKERN_E_IO, "is a directory, expected a file");
    expect_unopened("/dev/zero", QKERN_E_IO, "/dev/zero: is a character device, expected a file");
    expect_unopened("/dev/null", QKERN_E_IO, "is a character device");

    path = path_in(folder, "fifo.gguf");
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_unopened(path, QKERN_E_IO, "fifo.gguf: is a FIFO, expected a file"); /* and returns */

    path = path_in(folder, "empty.gguf");
    file_write(path, "", 0);
    expect_unopened(path, QKERN_E_FORMAT, "empty.gguf: is empty, expected a GGUF file");

    path = path_in(folder, "missing.gguf");
    expect_unopened(path, QKERN_E_IO, "missing.gguf: cannot open it: No such file or directory");
    expect_unopened("", QKERN_E_IO, "cannot open it: No such file or directory");

    path = path_in(folder, "loop.gguf");
    assert_int_equal(symlink("loop.gguf", path), 0);
    expect_unopened(path, QKERN_E_IO, "Too many levels of symbolic links");

    path = path_in(folder, "text.gguf");
    file_write(path, "This is not a model at all.\n", 28);
    expect_unopened(path, QKERN_E_FORMAT, "not a GGUF file: starts with 'This', expected 'GGUF'");
    file_write(path, "GGU", 3);
    expect_unopened(path, QKERN_E_FORMAT, "3 bytes, a GGUF file has at least 24");
}

static void a_file_without_read_permission_says_so(void **state)
{
    const char *path = path_in("/tmp", "qkern-test-unreadable-XXXXXX");
    char name[64];

    (void)state;
    snprintf(name, sizeof name, "%s", path);
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0), 0);
    close(fd);
    pid_t child = fork();
    if (child == 0) {
        qkern_error error = QKERN_ERROR_INIT;
        qkern_gguf *g;

        /* root reads everything */
        if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        if (qkern_gguf_open(name, &g, &error) != QKERN_E_IO)
            _exit(3);
        _exit(strstr(error.message, "cannot open it: Permission denied") == NULL ? 4 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(name);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void opening_leaves_no_descriptor(void **state)
{
    qkern_gguf *g;
    int before = open("/dev/null", O_RDONLY);

    (void)state;
    close(before);
    expect_unopened("/dev/zero", QKERN_E_IO, "character device");
    assert_int_equal(qkern_gguf_open(SAMPLE, &g, NULL), QKERN_OK);
    int after = open("/dev/null", O_RDONLY);
    close(after);
    assert_int_equal(after, before);
    qkern_gguf_close(g);
}

/* Pages of [data, data + bytes) that this process has mapped in; /proc/self/pagemap tells. */
static size_t resident_pages(const uint8_t *data, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t count = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY);

    if (fd < 0)
        return SIZE_MAX;
    for (uintptr_t at = (uintptr_t)data / page; at < ((uintptr_t)data + bytes) / page; at++) {
        uint64_t entry = 0;

        if (pread(fd, &entry, sizeof entry, (off_t)(at * sizeof entry)) == sizeof entry)
            count += (size_t)(entry >> 63);
    }
    close(fd);
    return count;
}

static void released_pages_are_gone_and_read_the_same_again(void **state)
{
    qkern_gguf *g;
    qkern_gguf_tensor t = {.struct_size = sizeof t};

    (void)state;
    assert_int_equal(qkern_gguf_open(SAMPLE, &g, NULL), QKERN_OK);
    assert_int_equal(qkern_gguf_tensor_get(g, 0, &t, NULL), QKERN_OK);
    uint64_t before = walk(g);
    size_t resident = resident_pages(t.data, t.bytes);
    if (resident == SIZE_MAX) {
        print_message("skipped: no /proc/self/pagemap to see pages in\n");
        skip();
    }
    assert_true(resident > 100);
    qkern_gguf_release(g, t.data, t.bytes);
    size_t left = resident_pages(t.data, t.bytes);
    /* The tensor's first and last page hold other bytes too and stay. */
    if (left > 1)
        fail_msg("%zu of %zu pages are still there", left, resident);
    assert_true(walk(g) == before);
    qkern_gguf_release(g, t.data - 65536, t.bytes); /* not within the file: no effect */
    qkern_gguf_release(g, t.data, UINT64_MAX);
    assert_true(resident_pages(t.data, t.bytes) > 100);
    qkern_gguf_close(g);
}

static void a_replaced_file_stays_readable(void **state)
{
    const char *path = path_in(scratch_folder(), "model.gguf");
    size_t size;
    uint8_t *data = file_read(SAMPLE, &size);
    qkern_gguf *g;

    (void)state;
    file_write(path, data, size);
    assert_int_equal(qkern_gguf_open(path, &g, NULL), QKERN_OK);
    uint64_t before = walk(g);
    assert_int_equal(unlink(path), 0);
    file_write(path, "other", 5);
    assert_true(walk(g) == before);
    qkern_gguf_close(g);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_no_file_is_refused_by_its_kind, scratch_remove),
        cmocka_unit_test(a_file_without_read_permission_says_so),
        cmocka_unit_test(opening_leaves_no_descriptor),
        cmocka_unit_test(released_pages_are_gone_and_read_the_same_again),
        cmocka_unit_test_teardown(a_replaced_file_stays_readable, scratch_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
