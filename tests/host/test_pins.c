/* SPDX-License-Identifier: MIT */
/*
 * Pins, each promise with both barriers: membarrier(2), and readers that order by themselves. Of
 * the two ThreadSanitizer understands the second alone, and takes the first for atomics that
 * nothing orders; it does not object, for what is freed is ordered by the end of pins.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/support.h"

static void a_pin_gives_the_kernels_of_its_generation(void **state)
{
    qkern *q = world_open(*state, NULL);
    qkern_pin pin = {0};

    assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
    assert_true(qkern_pin_generation(&pin) == 1);
    assert_non_null(qkern_pin_kernel(&pin, QKERN_TYPE_F32));
    assert_null(qkern_pin_kernel(&pin, QKERN_TYPE_I8));
    assert_null(qkern_pin_kernel(&pin, 4));
    assert_null(qkern_pin_kernel(&pin, QKERN_TYPE_LIMIT));
    assert_null(qkern_pin_kernel(&pin, UINT32_MAX));
    qkern_pin_end(&pin);
    world_close(q);
}

static void null_and_cleared_pins_are_harmless(void **state)
{
    qkern *q = world_open(*state, NULL);
    qkern_pin pin = {0};

    assert_int_equal(qkern_pin_begin(NULL, &pin), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_pin_begin(q, NULL), QKERN_E_ARGUMENT);
    qkern_pin_end(NULL);
    qkern_pin_end(&pin);
    assert_null(qkern_pin_kernel(&pin, QKERN_TYPE_F32));
    assert_null(qkern_pin_kernel(NULL, QKERN_TYPE_F32));
    assert_true(qkern_pin_generation(&pin) == 0);
    assert_true(qkern_pin_generation(NULL) == 0);
    assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
    qkern_pin_end(&pin);
    qkern_pin_end(&pin);
    assert_null(pin.generation);
    world_close(q);
}

static void closing_while_a_pin_is_held_does_nothing(void **state)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern *q = world_open(*state, NULL);
    qkern_pin outer = {0}, inner = {0};

    assert_int_equal(qkern_pin_begin(q, &outer), QKERN_OK);
    assert_int_equal(qkern_pin_begin(q, &inner), QKERN_OK);
    assert_int_equal(qkern_close(q, &error), QKERN_E_BUSY);
    assert_string_equal(error.message, "qkern_close: 2 pins are held: end each with qkern_pin_end");
    qkern_pin_end(&outer); /* in any order */
    assert_int_equal(qkern_close(q, &error), QKERN_E_BUSY);
    assert_string_equal(error.message, "qkern_close: 1 pin is held: end each with qkern_pin_end");
    float y = 0;
    assert_int_equal(qkern_dequantize(q, QKERN_TYPE_F32, 1, &(float){3}, 4, &y, NULL), QKERN_OK);
    assert_float_equal(y, 3, 0);
    qkern_pin_end(&inner);
    assert_int_equal(qkern_close(q, &error), QKERN_OK);
}

static void pins_on_two_instances_are_independent(void **state)
{
    qkern *one = world_open(*state, NULL), *two = world_open(*state, NULL);
    qkern_pin pin_one = {0}, pin_two = {0};

    assert_int_equal(qkern_pin_begin(one, &pin_one), QKERN_OK);
    assert_int_equal(qkern_pin_begin(two, &pin_two), QKERN_OK);
    qkern_pin_end(&pin_one);
    assert_int_equal(qkern_close(one, NULL), QKERN_OK);
    assert_int_equal(qkern_close(two, NULL), QKERN_E_BUSY);
    qkern_pin_end(&pin_two);
    assert_int_equal(qkern_close(two, NULL), QKERN_OK);
}

static void checked_calls_leave_no_pin(void **state)
{
    qkern *q = world_open(*state, NULL);
    float x = 1, y = 0;

    assert_int_equal(qkern_quantize(q, QKERN_TYPE_F32, 1, &x, &y, 4, NULL), QKERN_OK);
    assert_int_equal(qkern_quantize(q, QKERN_TYPE_F32, 1, &x, &y, 5, NULL), QKERN_E_SIZE);
    assert_int_equal(qkern_quantize(q, QKERN_TYPE_I8, 1, &x, &y, 1, NULL), QKERN_E_TYPE);
    assert_int_equal(qkern_quantize_weighted(q, QKERN_TYPE_F32, 1, &x, NULL, &y, 4, NULL),
                     QKERN_E_ARGUMENT);
    assert_int_equal(qkern_dequantize(q, QKERN_TYPE_F32, 1, NULL, 4, &y, NULL), QKERN_E_ARGUMENT);
    assert_int_equal(qkern_vec_dot(q, QKERN_TYPE_F32, 1, &x, 4, &x, 5, &y, NULL), QKERN_E_SIZE);
    assert_int_equal(qkern_close(q, NULL), QKERN_OK);
}

/* --- threads and slots ------------------------------------------------------------------------ */

static uint32_t slots_of(const qkern *q)
{
    uint32_t count = 0;

    while (slot_at(&q->pins.slots, count) != NULL)
        count++;
    return count;
}

/* Runs in a thread of its own, to its end. */
static void in_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *pin_once(void *q)
{
    qkern_pin pin;

    if (qkern_pin_begin(q, &pin) == QKERN_OK)
        qkern_pin_end(&pin);
    return NULL;
}

/* The system says for a moment after the join that a thread is there: hence not exactly 64. */
static void slots_of_threads_that_ended_are_used_again(void **state)
{
    qkern *q = world_open(*state, NULL);

    for (uint32_t i = 0; i < 8 * SLOT_CHUNK_FIRST; i++)
        in_thread(pin_once, q);
    assert_in_range(slots_of(q), SLOT_CHUNK_FIRST, 3 * SLOT_CHUNK_FIRST);
    world_close(q);
}

/* Threads that hold a pin all at once: more of them than there are slots at first. */
struct crowd {
    qkern *q;
    pthread_barrier_t all_in, all_out;
};

#define CROWD (SLOT_CHUNK_FIRST + 20u)

static void *hold_in_crowd(void *argument)
{
    struct crowd *crowd = argument;
    qkern_pin pin, nested;

    if (qkern_pin_begin(crowd->q, &pin) != QKERN_OK)
        abort();
    if (qkern_pin_begin(crowd->q, &nested) != QKERN_OK)
        abort();
    pthread_barrier_wait(&crowd->all_in);
    pthread_barrier_wait(&crowd->all_out);
    qkern_pin_end(&pin);
    uintptr_t good = qkern_pin_kernel(&nested, QKERN_TYPE_F32) != NULL;
    qkern_pin_end(&nested);
    return (void *)good;
}

static void there_may_be_more_threads_than_slots(void **state)
{
    qkern_error error = QKERN_ERROR_INIT;
    struct crowd crowd = {.q = world_open(*state, NULL)};
    pthread_t threads[CROWD];

    pthread_barrier_init(&crowd.all_in, NULL, CROWD + 1);
    pthread_barrier_init(&crowd.all_out, NULL, CROWD + 1);
    for (uint32_t i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_in_crowd, &crowd), 0);
    pthread_barrier_wait(&crowd.all_in);
    assert_int_equal(qkern_close(crowd.q, &error), QKERN_E_BUSY);
    assert_string_equal(error.message,
                        "qkern_close: 168 pins are held: end each with qkern_pin_end");
    assert_int_equal(slots_of(crowd.q), 3 * SLOT_CHUNK_FIRST);
    pthread_barrier_wait(&crowd.all_out);
    for (uint32_t i = 0; i < CROWD; i++) {
        void *good = NULL;
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_int_equal((uintptr_t)good, 1);
    }
    pthread_barrier_destroy(&crowd.all_in);
    pthread_barrier_destroy(&crowd.all_out);
    world_close(crowd.q);
}

static void *begin_and_leave(void *q)
{
    static qkern_pin pin;

    if (qkern_pin_begin(q, &pin) != QKERN_OK)
        abort();
    return &pin;
}

/* A mistake, but one that shows. The thread's slot is not given to another. */
static void a_pin_of_a_thread_that_ended_is_still_held(void **state)
{
    qkern_error error = QKERN_ERROR_INIT;
    qkern *q = world_open(*state, NULL);
    pthread_t thread;
    void *pin = NULL;

    assert_int_equal(pthread_create(&thread, NULL, begin_and_leave, q), 0);
    assert_int_equal(pthread_join(thread, &pin), 0);
    for (uint32_t i = 0; i < 2 * SLOT_CHUNK_FIRST; i++)
        in_thread(pin_once, q);
    assert_int_equal(qkern_close(q, &error), QKERN_E_BUSY);
    assert_string_equal(error.message, "qkern_close: 1 pin is held: end each with qkern_pin_end");
    qkern_pin_end(pin);
    world_close(q);
}

/* More instances than a thread keeps the slots of at hand. */
static void pins_on_many_instances_nest_in_any_order(void **state)
{
    enum { COUNT = 5 };
    qkern *q[COUNT];
    qkern_pin outer[COUNT], inner[COUNT];

    for (int i = 0; i < COUNT; i++)
        q[i] = world_open(*state, NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(qkern_pin_begin(q[i], &outer[i]), QKERN_OK);
        for (int i = COUNT; i-- > 0;)
            assert_int_equal(qkern_pin_begin(q[i], &inner[i]), QKERN_OK);
        for (int i = 0; i < COUNT; i++)
            qkern_pin_end(&outer[i]);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(qkern_close(q[i], NULL), QKERN_E_BUSY);
        for (int i = 0; i < COUNT; i++)
            qkern_pin_end(&inner[(i + 2) % COUNT]);
    }
    for (int i = 0; i < COUNT; i++)
        world_close(q[i]);
}

/* The next instance may lie where this one lay; a slot kept at hand is not taken for one of it. */
static void an_instance_is_not_taken_for_one_that_was_closed(void **state)
{
    for (int i = 0; i < 10; i++) {
        qkern *q = world_open(*state, NULL);
        qkern_pin pin;
        assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
        assert_int_equal(qkern_close(q, NULL), QKERN_E_BUSY);
        qkern_pin_end(&pin);
        world_close(q);
    }
}

/* --- fork ------------------------------------------------------------------------------------- */

/* What a child finds: 0, or the line of the assertion that does not hold. */
#define CHILD_ASSERT(CONDITION)                                                                    \
    do {                                                                                           \
        if (!(CONDITION))                                                                          \
            return __LINE__ % 255 + 1;                                                             \
    } while (0)

static int child_run(qkern *q, qkern_pin *inherited)
{
    qkern_pin pin, nested;
    float y = 0;

    /* The parent's pins do not count, and one that is ended all the same does no harm. */
    CHILD_ASSERT(pin_table_held(&q->pins) == 0);
    CHILD_ASSERT(qkern_pin_begin(q, &pin) == QKERN_OK);
    CHILD_ASSERT(pin_table_held(&q->pins) == 1);
    qkern_pin_end(inherited);
    CHILD_ASSERT(pin_table_held(&q->pins) == 1);
    CHILD_ASSERT(qkern_pin_begin(q, &nested) == QKERN_OK);
    CHILD_ASSERT(pin_table_held(&q->pins) == 2);
    CHILD_ASSERT(qkern_dequantize(q, QKERN_TYPE_F32, 1, &(float){3}, 4, &y, NULL) == QKERN_OK);
    CHILD_ASSERT(qkern_close(q, NULL) == QKERN_E_BUSY);
    qkern_pin_end(&nested);
    qkern_pin_end(&pin);
    CHILD_ASSERT(qkern_close(q, NULL) == QKERN_OK);
    return 0;
}

/* Whether the child of a fork finds memory wiped that was to be: emulators do not see to it. */
static bool memory_is_wiped_on_fork(void)
{
    volatile char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int status = -1;

    assert_true(page != MAP_FAILED);
    page[0] = 1;
    (void)madvise((void *)(uintptr_t)page, 4096, MADV_WIPEONFORK);
    pid_t child = fork();
    if (child == 0)
        _exit(page[0]);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    munmap((void *)(uintptr_t)page, 4096);
    return status == 0;
}

/* The slots of threads that the child does not have are free in it. */
static void a_child_of_fork_has_none_of_the_parents_pins(void **state)
{
    if (!memory_is_wiped_on_fork()) {
        print_message("skipped: this system does not wipe memory on fork\n");
        skip();
    }
    qkern *q = world_open(*state, NULL);
    struct crowd crowd = {.q = q};
    pthread_t thread;
    qkern_pin pin;
    int status = -1;

    pthread_barrier_init(&crowd.all_in, NULL, 2);
    pthread_barrier_init(&crowd.all_out, NULL, 2);
    assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
    assert_int_equal(pthread_create(&thread, NULL, hold_in_crowd, &crowd), 0);
    pthread_barrier_wait(&crowd.all_in);
    pid_t child = fork();
    if (child == 0)
        _exit(child_run(q, &pin));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(pin_table_held(&q->pins) == 3); /* in the parent nothing has changed */
    pthread_barrier_wait(&crowd.all_out);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&crowd.all_in);
    pthread_barrier_destroy(&crowd.all_out);
    qkern_pin_end(&pin);
    world_close(q);
}

/* --- the protocol: a writer that replaces the generation beside readers ------------------------
 */

#define GENERATIONS 200
#define READERS 3

struct replaced {
    qkern *q;
    _Atomic bool stop;
    _Atomic uint64_t retired; /* all generations below this number are no longer in use */
};

/* Whoever holds a pin on a generation that was retired before the pin ended tells. */
static void *read_generations(void *argument)
{
    struct replaced *replaced = argument;
    uintptr_t good = 1;

    while (good && !atomic_load_explicit(&replaced->stop, memory_order_relaxed)) {
        qkern_pin pin, nested;
        qkern_pin_begin(replaced->q, &pin);
        uint64_t number = qkern_pin_generation(&pin);
        qkern_pin_begin(replaced->q, &nested);
        good = qkern_pin_generation(&nested) >= number &&
               atomic_load_explicit(&replaced->retired, memory_order_relaxed) <= number;
        qkern_pin_end(&nested);
        good = good && atomic_load_explicit(&replaced->retired, memory_order_relaxed) <= number;
        qkern_pin_end(&pin);
    }
    return (void *)good;
}

/* Whether a pin is held that began before epoch `number`. */
static bool older_is_held(const qkern *q, uint64_t number)
{
    const struct slot *slot;

    for (uint32_t i = 0; (slot = slot_at(&q->pins.slots, i)) != NULL; i++) {
        uint64_t held = atomic_load(&slot->state);
        if ((held & SLOT_HELD) != 0 && held < (SLOT_HELD | number))
            return true;
    }
    return false;
}

/* Publishing is not part of this version; the side of the readers is. */
static void no_pin_outlives_the_grace_period_of_its_generation(void **state)
{
    qkern *q = world_open(*state, NULL);
    struct replaced replaced = {.q = q};
    struct qkern_generation *generations = calloc(GENERATIONS + 2, sizeof *generations);
    const struct qkern_generation *first = atomic_load(&q->pins.generation);
    pthread_t threads[READERS];

    assert_non_null(generations);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_generations, &replaced), 0);
    for (uint64_t number = 2; number < GENERATIONS + 2; number++) {
        generations[number].number = number;
        atomic_store(&q->pins.generation, &generations[number]);
        atomic_store(&q->pins.epoch, SLOT_HELD | number);
        if (!q->pins.ordered)
            assert_true(barrier_run(q->pins.barrier));
        while (older_is_held(q, number))
            sched_yield();
        atomic_store(&replaced.retired, number);
    }
    atomic_store(&replaced.stop, true);
    for (int i = 0; i < READERS; i++) {
        void *good = NULL;
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_int_equal((uintptr_t)good, 1);
    }
    atomic_store(&q->pins.generation, first);
    free(generations);
    world_close(q);
}

/* --- the barriers ----------------------------------------------------------------------------- */

/* Refuses what it is asked from the number in context on. */
static int membarrier_refuse(void *context, int command)
{
    int *left = context;

    (void)command;
    return (*left)-- > 0 ? 0 : -1;
}

static void readers_order_by_themselves_where_membarrier_is_missing_or_forbidden(void **state)
{
    struct world *world = *state;

    for (int allowed = 0; allowed < 3; allowed++) {
        int left = allowed;
        const struct barrier_source source = {membarrier_refuse, &left};
        world->around.barrier = &source;
        qkern *q = world_open(world, NULL);
        assert_int_equal(q->pins.ordered, allowed < 2); /* registering, then a trial */
        qkern_pin pin;
        assert_int_equal(qkern_pin_begin(q, &pin), QKERN_OK);
        /* Forbidden only later: what is held is still seen. */
        assert_int_equal(qkern_close(q, NULL), QKERN_E_BUSY);
        qkern_pin_end(&pin);
        world_close(q);
    }
}

static void membarrier_is_used_where_it_is(void **state)
{
    struct world *world = *state;

    world->around.barrier = barrier_native();
    if (!barrier_prepare(world->around.barrier)) {
        print_message("skipped: this system has no membarrier, or forbids it\n");
        skip();
    }
    qkern *q = world_open(world, NULL);
    assert_false(q->pins.ordered);
    world_close(q);
}

/* --- all at once ------------------------------------------------------------------------------ */

#define THREADS 8
#define ROUNDS 20000

static void *pin_and_compute(void *argument)
{
    qkern *q = argument;
    const float x[4] = {1, 2, 3, 4};
    uintptr_t good = 0;

    for (int i = 0; i < ROUNDS; i++) {
        qkern_pin pin, nested;
        float y[4] = {0}, result = 0;
        if (qkern_pin_begin(q, &pin) != QKERN_OK || qkern_pin_begin(q, &nested) != QKERN_OK)
            break;
        const struct qkern_kernel *kernel = qkern_pin_kernel(&pin, QKERN_TYPE_F32);
        kernel->dequantize(4, x, y);
        qkern_pin_end(&pin);
        good += qkern_pin_generation(&nested) == 1 && y[3] == 4 &&
                qkern_vec_dot(q, QKERN_TYPE_F32, 4, x, 16, y, 16, &result, NULL) == QKERN_OK &&
                result == 30;
        qkern_pin_end(&nested);
    }
    return (void *)good;
}

static void pins_from_many_threads_add_up(void **state)
{
    qkern *q = world_open(*state, NULL);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pin_and_compute, q), 0);
    for (int i = 0; i < THREADS; i++) {
        void *good = NULL;
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_int_equal((uintptr_t)good, ROUNDS);
    }
    assert_int_equal(qkern_close(q, NULL), QKERN_OK);
}

/*
 * The dynamic loader's data is under its own lock, which ThreadSanitizer does not see: it reports
 * the loader's memory that one thread allocated in dlopen and another frees in dlclose.
 */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:ld-linux\n";
}

/* Opens, explains, closes: all calls are safe beside each other, also the first and the last. */
static void *open_and_close(void *argument)
{
    struct world *world = argument;
    char text[2048];
    uintptr_t good = 0;

    for (int i = 0; i < 20; i++) {
        qkern *q = NULL;
        if (instance_open(NULL, &world->around, &q, NULL) != QKERN_OK)
            break;
        good += qkern_explain(q, 0, 0, text, sizeof text, NULL, NULL) == QKERN_OK &&
                strstr(text, "F32 quantize: high 1.2") == text;
        good += qkern_close(q, NULL) == QKERN_OK;
    }
    return (void *)good;
}

static void many_threads_open_and_close_their_own(void **state)
{
    struct world *world = *state;
    pthread_t threads[THREADS];

    world_add(world, "high", "a.so");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, world), 0);
    for (int i = 0; i < THREADS; i++) {
        void *good = NULL;
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_int_equal((uintptr_t)good, 40);
    }
}

static int no_membarrier(void *context, int command)
{
    (void)context;
    (void)command;
    return -1;
}

static int ordered_setup(void **state)
{
    static const struct barrier_source none = {no_membarrier, NULL};
    int failed = world_setup(state);

    ((struct world *)*state)->around.barrier = &none;
    return failed;
}

#define TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, world_setup, world_teardown)
#define BOTH(FUNCTION)                                                                             \
    {#FUNCTION " (membarrier)", FUNCTION, world_setup, world_teardown, NULL},                      \
    {                                                                                              \
#FUNCTION " (ordered)", FUNCTION, ordered_setup, world_teardown, NULL                      \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_pin_gives_the_kernels_of_its_generation),
        BOTH(null_and_cleared_pins_are_harmless),
        BOTH(closing_while_a_pin_is_held_does_nothing),
        BOTH(pins_on_two_instances_are_independent),
        BOTH(checked_calls_leave_no_pin),
        BOTH(slots_of_threads_that_ended_are_used_again),
        BOTH(there_may_be_more_threads_than_slots),
        BOTH(a_pin_of_a_thread_that_ended_is_still_held),
        BOTH(pins_on_many_instances_nest_in_any_order),
        BOTH(an_instance_is_not_taken_for_one_that_was_closed),
        BOTH(a_child_of_fork_has_none_of_the_parents_pins),
        BOTH(no_pin_outlives_the_grace_period_of_its_generation),
        BOTH(pins_from_many_threads_add_up),
        BOTH(many_threads_open_and_close_their_own),
        TEST(readers_order_by_themselves_where_membarrier_is_missing_or_forbidden),
        TEST(membarrier_is_used_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
