/* SPDX-License-Identifier: MIT */
/* Pins. */
#include <pthread.h>

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

#define TEST(FUNCTION) cmocka_unit_test_setup_teardown(FUNCTION, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pin_gives_the_kernels_of_its_generation),
        TEST(null_and_cleared_pins_are_harmless),
        TEST(closing_while_a_pin_is_held_does_nothing),
        TEST(pins_on_two_instances_are_independent),
        TEST(checked_calls_leave_no_pin),
        TEST(pins_from_many_threads_add_up),
        TEST(many_threads_open_and_close_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
