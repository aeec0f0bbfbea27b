/* SPDX-License-Identifier: MIT */
/*
 * Every allocation fails once: the call says so, nothing leaks, nothing is set. The linker sends
 * the library's calls of the allocators here (--wrap); that is the whole seam.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/support.h"

static long countdown = -1; /* allocations until one fails; below 0: none does */

static bool fails_now(void)
{
    if (countdown < 0 || countdown-- > 0)
        return false;
    errno = ENOMEM;
    return true;
}

#define WRAP(RESULT, NAME, PARAMETERS, ARGUMENTS)                                                  \
    RESULT __real_##NAME PARAMETERS;                                                               \
    RESULT __wrap_##NAME PARAMETERS;                                                               \
    RESULT __wrap_##NAME PARAMETERS                                                                \
    {                                                                                              \
        return fails_now() ? NULL : __real_##NAME ARGUMENTS;                                       \
    }
WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t count, size_t size), (count, size))
WRAP(void *, realloc, (void *memory, size_t size), (memory, size))
WRAP(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
WRAP(char *, strdup, (const char *text), (text))
WRAP(char *, strndup, (const char *text, size_t size), (text, size))
WRAP(DIR *, fdopendir, (int descriptor), (descriptor))

int __wrap_asprintf(char **out, const char *format, ...);
int __wrap_asprintf(char **out, const char *format, ...)
{
    if (fails_now())
        return -1;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(out, format, arguments);
    va_end(arguments);
    return length;
}

static bool mapping_fails;

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int descriptor, off_t offset)
{
    if (!mapping_fails)
        return __real_mmap(at, size, protection, flags, descriptor, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

/* As on a system that does not wipe memory on fork. */
int __wrap_madvise(void *, size_t, int);
int __wrap_madvise(void *memory, size_t size, int advice)
{
    (void)memory;
    (void)size;
    (void)advice;
    errno = EINVAL;
    return -1;
}

static int lowest_free_descriptor(void)
{
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);

    close(descriptor);
    return descriptor;
}

/* Leaks of memory are for the sanitizer and valgrind to find; descriptors and mappings for us. */
static void opening_survives_the_failure_of_each_allocation(void **state)
{
    struct world *world = *state;
    qkern_options options = QKERN_OPTIONS_INIT;
    qkern *const before = (qkern *)(uintptr_t)8;
    const int descriptor = lowest_free_descriptor();
    long failed = 0;

    world_add(world, "high", "a.so");
    world_add(world, "low", "b.so");
    world_add(world, "unresolved", "c.so");
    world_write(world, "d.so", "text", 4);
    world->features = "-popcnt";
    world->max_isa = HIGH_NAME;
#if !defined(__x86_64__)
    world->features = NULL;
#endif
    world->plugin_path = "/nonexistent/one:relative:";
    world->around.beside = NULL; /* found out, which allocates too */
    const char *const paths[] = {"/nonexistent/two"};
    options.plugin_paths = paths;
    options.plugin_path_count = 1;
    for (;; failed++) {
        qkern *q = before;
        countdown = failed;
        qkern_status status = instance_open(&options, &world->around, &q, &world->error);
        bool all_passed = countdown >= 0;
        countdown = -1;
        if (all_passed) {
            assert_int_equal(status, QKERN_OK);
            assert_record(q, "/a.so", QKERN_STAGE_READY, QKERN_OK, "");
            world_close(q);
            break;
        }
        assert_int_equal(status, QKERN_E_MEMORY);
        assert_part(world->error.message, "out of memory");
        assert_ptr_equal(q, before);
        assert_int_equal(lowest_free_descriptor(), descriptor);
        assert_false(is_mapped("/a.so"));
    }
    assert_true(failed > 40);
}

static void a_weighted_row_that_cannot_be_checked_is_not_written(void **state)
{
    struct world *world = *state;
    static float x[4096], importance[4096];
    static unsigned char out[4 * 4096];

    memset(out, 0x55, sizeof out);
    qkern *q = world_open(world, NULL);
    countdown = 0;
    qkern_status status = qkern_quantize_weighted(q, QKERN_TYPE_F32, 4096, x, importance, out,
                                                  sizeof out, &world->error);
    countdown = -1;
    assert_int_equal(status, QKERN_E_MEMORY);
    assert_part(world->error.message, "16384 bytes to check the row in");
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], 0x55);
    assert_int_equal(
        qkern_quantize_weighted(q, QKERN_TYPE_F32, 4096, x, importance, out, sizeof out, NULL),
        QKERN_OK);
    assert_int_equal(out[sizeof out - 1], 0);
    world_close(q);
}

static void the_other_calls_do_not_allocate(void **state)
{
    struct world *world = *state;
    static float x[4096];
    static unsigned char out[4 * 4096];
    float result = 1;
    char text[4096];
    qkern_pin pin = {0};

    qkern *q = world_open(world, NULL);
    countdown = 0;
    assert_int_equal(qkern_quantize(q, QKERN_TYPE_F32, 4096, x, out, sizeof out, NULL), QKERN_OK);
    assert_int_equal(qkern_dequantize(q, QKERN_TYPE_F32, 4096, out, sizeof out, x, NULL), QKERN_OK);
    assert_int_equal(
        qkern_vec_dot(q, QKERN_TYPE_F32, 4096, x, sizeof x, x, sizeof x, &result, NULL), QKERN_OK);
    assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
    qkern_pin_end(&pin);
    assert_int_equal(qkern_explain(q, 0, 0, text, sizeof text, NULL, NULL), QKERN_OK);
    bool none = countdown == 0;
    countdown = -1;
    assert_true(none);
    world_close(q);
}

static void pins_are_counted_where_there_is_no_memory_for_slots(void **state)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern *q = world_open(*state, NULL);
    qkern_pin pin, nested, later;

    mapping_fails = true;
    assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
    assert_int_equal(qkern_pin_begin(q, &nested), QKERN_OK);
    assert_non_null(qkern_pin_kernel(&nested, QKERN_TYPE_F32));
    mapping_fails = false;
    assert_null(slot_at(&q->pins.slots, 0));
    assert_int_equal(qkern_pin_begin(q, &later), QKERN_OK);
    assert_non_null(slot_at(&q->pins.slots, 0));
    qkern_pin_end(&nested);
    assert_int_equal(qkern_close(q, &error), QKERN_E_BUSY);
    assert_part(error.message, "2 pins are held");
    qkern_pin_end(&later);
    assert_int_equal(qkern_close(q, &error), QKERN_E_BUSY);
    assert_part(error.message, "1 pin is held");
    qkern_pin_end(&pin);
    world_close(q);
}

static void *pin_once(void *q)
{
    qkern_pin pin;

    if (qkern_pin_begin(q, &pin) == QKERN_OK)
        qkern_pin_end(&pin);
    return NULL;
}

/* What the child finds: 0, or the number of what does not hold. Its own pins are right, and threads
 * that come and go do not take the slot of the thread that forked. */
static int child_run(qkern *q, qkern_pin *inherited)
{
    qkern_pin pin;

    if (pin_table_held(&q->pins) != 1)
        return 1;
    qkern_pin_end(inherited);
    if (pin_table_held(&q->pins) != 0)
        return 2;
    for (uint32_t i = 0; i < 2 * SLOT_CHUNK_FIRST; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, pin_once, q) != 0 || pthread_join(thread, NULL) != 0)
            return 3;
    }
    if (qkern_pin_begin(q, &pin) != QKERN_OK ||
        atomic_load(&slot_at(&q->pins.slots, 0)->state) != atomic_load(&q->pins.epoch))
        return 4;
    if (qkern_close(q, NULL) != QKERN_E_BUSY)
        return 5;
    qkern_pin_end(&pin);
    return qkern_close(q, NULL) == QKERN_OK ? 0 : 6;
}

static void where_fork_wipes_nothing_the_parents_pins_are_held_in_the_child_too(void **state)
{
    qkern *q = world_open(*state, NULL);
    qkern_pin pin;
    int status = -1;

    assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(child_run(q, &pin));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    qkern_pin_end(&pin);
    world_close(q);
}

#define TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(opening_survives_the_failure_of_each_allocation),
        TEST(a_weighted_row_that_cannot_be_checked_is_not_written),
        TEST(the_other_calls_do_not_allocate),
        TEST(pins_are_counted_where_there_is_no_memory_for_slots),
        TEST(where_fork_wipes_nothing_the_parents_pins_are_held_in_the_child_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
