/* SPDX-License-Identifier: MIT */
/* The clock and the rounds, with a clock that the tests play. */
#include <math.h>

#include "bench/random.h"
#include "bench/trial.h"
#include "host/vetting/cmocka_all.h"

enum { COST = 7, LOG_LIMIT = 10000 };

/* A world in which time passes only when the clock is read and when tasks run. */
struct world {
    uint64_t now;
    int log[LOG_LIMIT]; /* the numbers of the tasks that ran */
    uint64_t counts[LOG_LIMIT];
    int logged;
    uint64_t slowness; /* of everything */
};

struct played_task {
    struct world *world;
    int number;
    uint64_t ns; /* of one run */
};

static uint64_t read_played_clock(void *context)
{
    struct world *world = context;
    world->now += COST;
    return world->now;
}

static struct bench_clock played_clock(struct world *world)
{
    struct bench_clock clock = {read_played_clock, world, 0, "played"};
    bench_clock_measure_cost(&clock);
    return clock;
}

static void run_played(void *context, uint64_t count)
{
    const struct played_task *task = context;
    struct world *world = task->world;
    world->now += count * task->ns * (world->slowness > 0 ? world->slowness : 1);
    if (world->logged < LOG_LIMIT) {
        world->log[world->logged] = task->number;
        world->counts[world->logged++] = count;
    }
}

static void set_played(struct bench_trial *trial, struct played_task *task, uint64_t batch_ns)
{
    bench_trial_set(trial, (uint32_t)task->number, (struct bench_task){run_played, task}, batch_ns);
}

static void assert_same(double found, double expected)
{
    if (!(fabs(found - expected) < 1e-9))
        fail_msg("expected %.12g, found %.12g", expected, found);
}

static void the_cost_of_the_clock_is_measured_and_taken_off(void **state)
{
    struct world world = {.now = 1000};
    const struct bench_clock clock = played_clock(&world);
    (void)state;
    assert_int_equal(clock.cost, COST);
    const uint64_t start = clock.now(clock.context);
    assert_int_equal(bench_clock_since(&clock, start), 0);
    world.now += 100;
    assert_int_equal(bench_clock_since(&clock, start), 100 + COST); /* two readings since start */
}

static void a_measurement_never_comes_out_below_nothing(void **state)
{
    struct world world = {.now = 0};
    struct bench_clock clock = played_clock(&world);
    (void)state;
    clock.cost = 1000; /* as if the clock had been slower when it was measured */
    assert_int_equal(bench_clock_since(&clock, clock.now(clock.context)), 0);
}

static void the_clock_of_this_machine_goes_on_and_has_a_cost(void **state)
{
    const struct bench_clock clock = bench_clock_open();
    const uint64_t start = clock.now(clock.context);
    (void)state;
    while (clock.now(clock.context) - start < 1000000) {
    }
    assert_true(bench_clock_since(&clock, start) + clock.cost >= 1000000);
    assert_true(clock.cost < 1000000);
    assert_non_null(clock.name);
}

static void a_timing_is_that_of_one_run_of_the_task(void **state)
{
    struct world world = {.now = 0};
    struct bench_trial trial;
    struct played_task a = {&world, 0, 13}, b = {&world, 1, 1000};
    (void)state;
    assert_true(bench_trial_init(&trial, played_clock(&world), 1, 2, 20));
    set_played(&trial, &a, 10000);
    set_played(&trial, &b, 10000);
    for (uint32_t c = 0; c < 2; c++)
        bench_trial_warm_up(&trial, c);
    while (bench_trial_round(&trial)) {
    }
    struct bench_summary s = bench_trial_summary(&trial, 0);
    assert_same(s.least, 13);
    assert_same(s.median, 13);
    s = bench_trial_summary(&trial, 1);
    assert_same(s.least, 1000);
    s = bench_trial_ratio(&trial, 1, 0);
    assert_same(s.median, 1000.0 / 13);
    s = bench_trial_difference(&trial, 1, 0);
    assert_same(s.median, 987);
    bench_trial_free(&trial);
}

static void batches_are_made_long_enough_and_not_much_longer(void **state)
{
    struct world world = {.now = 0};
    struct bench_trial trial;
    struct played_task quick = {&world, 0, 3}, slow = {&world, 1, 50000};
    (void)state;
    assert_true(bench_trial_init(&trial, played_clock(&world), 1, 2, 9));
    set_played(&trial, &quick, 10000);
    set_played(&trial, &slow, 10000);
    bench_trial_warm_up(&trial, 0);
    bench_trial_warm_up(&trial, 1);
    assert_true(trial.candidates[0].count * 3 >= 10000);
    assert_true(trial.candidates[0].count * 3 < 2 * 10000);
    assert_int_equal(trial.candidates[1].count, 1);
    /* The machine becomes ten times as fast: later batches are lengthened. */
    quick.ns = 1;
    assert_true(bench_trial_round(&trial));
    assert_true(bench_trial_round(&trial));
    assert_true(bench_trial_round(&trial));
    assert_true(trial.candidates[0].count >= 10000);
    bench_trial_free(&trial);
}

static void a_task_that_takes_no_time_does_not_run_for_ever(void **state)
{
    struct world world = {.now = 0};
    struct bench_trial trial;
    struct played_task nothing = {&world, 0, 0};
    (void)state;
    assert_true(bench_trial_init(&trial, played_clock(&world), 1, 1, 9));
    set_played(&trial, &nothing, 10000);
    bench_trial_warm_up(&trial, 0);
    assert_true(bench_trial_round(&trial));
    assert_same(bench_trial_summary(&trial, 0).least, 0);
    bench_trial_free(&trial);
}

/* Runs rounds of four candidates; leaves the order of all runs in the world's log. */
static void play_rounds(struct world *world, uint64_t seed, uint32_t rounds)
{
    struct bench_trial trial;
    struct played_task tasks[4];
    assert_true(bench_trial_init(&trial, played_clock(world), seed, 4, rounds));
    for (int c = 0; c < 4; c++) {
        tasks[c] = (struct played_task){world, c, 100};
        set_played(&trial, &tasks[c], 100);
        bench_trial_warm_up(&trial, (uint32_t)c);
    }
    world->logged = 0;
    while (bench_trial_round(&trial)) {
    }
    assert_int_equal(trial.round_count, rounds);
    assert_int_equal(trial.spent_ns, rounds * 4 * 100);
    assert_false(bench_trial_round(&trial));
    bench_trial_free(&trial);
}

static void every_candidate_runs_once_a_round_and_anywhere_in_it(void **state)
{
    enum { ROUNDS = 400 };
    static struct world world;
    int places[4][4] = {{0}};
    (void)state;
    play_rounds(&world, 1, ROUNDS);
    assert_int_equal(world.logged, 4 * ROUNDS);
    for (int r = 0; r < ROUNDS; r++) {
        unsigned seen = 0;
        for (int place = 0; place < 4; place++) {
            const int c = world.log[4 * r + place];
            seen |= 1u << c;
            places[c][place]++;
        }
        assert_int_equal(seen, 15);
    }
    for (int c = 0; c < 4; c++)
        for (int place = 0; place < 4; place++) /* 100 expected; four standard deviations are 35 */
            assert_in_range(places[c][place], 65, 135);
}

static void the_order_depends_on_the_seed_alone(void **state)
{
    static struct world first, second, other;
    (void)state;
    play_rounds(&first, 5, 50);
    play_rounds(&second, 5, 50);
    play_rounds(&other, 6, 50);
    assert_memory_equal(first.log, second.log, 200 * sizeof first.log[0]);
    assert_memory_not_equal(first.log, other.log, 200 * sizeof first.log[0]);
}

static void what_slows_a_round_down_does_not_change_its_ratio(void **state)
{
    struct world world = {.now = 0};
    struct bench_trial trial;
    struct played_task a = {&world, 0, 20}, b = {&world, 1, 10};
    (void)state;
    assert_true(bench_trial_init(&trial, played_clock(&world), 1, 2, 30));
    set_played(&trial, &a, 1000);
    set_played(&trial, &b, 1000);
    bench_trial_warm_up(&trial, 0);
    bench_trial_warm_up(&trial, 1);
    for (world.slowness = 1; world.slowness <= 30; world.slowness++)
        assert_true(bench_trial_round(&trial));
    const struct bench_summary timing = bench_trial_summary(&trial, 0);
    const struct bench_summary ratio = bench_trial_ratio(&trial, 0, 1);
    assert_true(timing.high > 1.5 * timing.low);
    assert_same(ratio.low, 2);
    assert_same(ratio.median, 2);
    assert_same(ratio.high, 2);
    bench_trial_free(&trial);
}

static void a_random_order_is_a_permutation_of_any_size(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (uint32_t count = 0; count <= 20; count++) {
        uint32_t order[20], seen = 0;
        bench_random_order(&random, count, order);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(order[i] < count);
            seen |= 1u << order[i];
        }
        assert_int_equal(seen, (1u << count) - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_of_the_clock_is_measured_and_taken_off),
        cmocka_unit_test(a_measurement_never_comes_out_below_nothing),
        cmocka_unit_test(the_clock_of_this_machine_goes_on_and_has_a_cost),
        cmocka_unit_test(a_timing_is_that_of_one_run_of_the_task),
        cmocka_unit_test(batches_are_made_long_enough_and_not_much_longer),
        cmocka_unit_test(a_task_that_takes_no_time_does_not_run_for_ever),
        cmocka_unit_test(every_candidate_runs_once_a_round_and_anywhere_in_it),
        cmocka_unit_test(the_order_depends_on_the_seed_alone),
        cmocka_unit_test(what_slows_a_round_down_does_not_change_its_ratio),
        cmocka_unit_test(a_random_order_is_a_permutation_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
