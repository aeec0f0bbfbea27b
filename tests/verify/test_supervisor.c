/* SPDX-License-Identifier: MIT */
/* Whatever becomes of the worker, the supervisor says what it was, in finite time. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run whose worker is a shell script; the worker's options are its arguments. */
static struct result *run_script(const char *script, double step_seconds)
{
    const char *const words[] = {"/bin/sh", "-c", script, "sh", NULL};
    struct verify_options options = VERIFY_OPTIONS_INIT;

    options.worker = words;
    options.step_seconds = step_seconds;
    return run_with(&options);
}

static void assert_error(struct result *r, qkern_status status, const char *part)
{
    if (r->status != status)
        fail_msg("expected %s, found %s: %s", qkern_status_name(status),
                 qkern_status_name(r->status), r->error.message);
    assert_int_equal(r->error.status, status);
    assert_part(r->error.message, part);
    free(r);
}

#define GREETING "printf 'qkern-verify\\t1\\n';"
#define LOADED GREETING "printf 'plugin\\ta\\t1\\t\\n';"
#define PLAN LOADED "printf 'kernel\\t0\\t8\\t2\\t\\nkernel\\t1\\t8\\t1\\t\\n';"
#define STEP PLAN "printf 'step\\t0\\tbits\\n';"

/* --- workers that cannot work ----------------------------------------------------------------- */

static void a_missing_worker_is_an_error_that_names_it(void **state)
{
    (void)state;
    const char *const words[] = {"/nonexistent/qkern-verify", NULL};
    struct verify_options options = VERIFY_OPTIONS_INIT;
    options.worker = words;
    assert_error(run_with(&options), QKERN_E_NOT_FOUND, "/nonexistent/qkern-verify");
}

static void a_worker_that_is_no_program_is_an_error(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/no-program", QKERN_TEST_BINARY_DIR);
    const int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    assert_true(file >= 0);
    close(file);
    const char *const words[] = {path, NULL};
    struct verify_options options = VERIFY_OPTIONS_INIT;
    options.worker = words;
    assert_error(run_with(&options), QKERN_E_IO, "cannot be started: Permission denied");
}

static void what_the_worker_says_on_its_way_out_is_in_the_error(void **state)
{
    (void)state;
    assert_error(run_script("echo 'libqkern.so.1: no such file' >&2; exit 127", 0), QKERN_E_IO,
                 "/bin/sh ended with status 127 before it checked anything: libqkern.so.1: no such "
                 "file");
    /* of much of it the beginning */
    assert_error(run_script("i=0; while [ $i -lt 3000 ]; do echo complaint $i >&2; "
                            "i=$((i + 1)); done; exit 1",
                            0),
                 QKERN_E_IO, "before it checked anything: complaint 0\ncomplaint 1\n");
}

static void rubbish_is_an_error_that_shows_it(void **state)
{
    (void)state;
    static const char *const rubbish[] = {
        "echo hello",
        "printf 'qkern-verify\\t2\\n'",
        "printf 'qkern-verify\\n'",
        GREETING "echo plugin",
        GREETING "printf 'what\\t1\\n'",
        GREETING "printf 'kernel\\t0\\t8\\t2\\t\\n'",
        GREETING "printf 'step\\t0\\tbits\\n'",
        GREETING "printf 'refused\\ta\\tb\\tx\\tc\\n'",
        GREETING "printf 'plugin\\t0123456789012345678901234567890123\\t1\\t\\n'",
        LOADED "printf 'kernel\\t1\\t8\\t2\\t\\n'",
        LOADED "printf 'kernel\\t0\\t99\\t2\\t\\n'",
        LOADED "printf 'kernel\\t0\\t8\\t5\\t\\n'",
        LOADED "printf 'kernel\\t-0\\t8\\t2\\t\\n'",
        PLAN "printf 'step\\t1\\tbits\\n'",
        PLAN "printf 'right\\t0\\t1\\tx\\n'",
        PLAN "printf 'right\\t2\\t1\\t1\\n'",
        STEP "printf 'wrong\\t0\\tkind=what\\n'",
        STEP "printf 'wrong\\t0\\tkind\\n'",
        STEP "printf 'wrong\\t0\\tkind=bits\\tcolour=red\\n'",
        STEP "printf 'wrong\\t0\\tkind=bits\\tn=-1\\n'",
        GREETING "printf 'end\\nend\\n'",
    };
    for (size_t i = 0; i < sizeof rubbish / sizeof rubbish[0]; i++) {
        struct result *r = run_script(rubbish[i], 0);
        if (r->status != QKERN_E_FORMAT)
            fail_msg("%s: %s: %s", rubbish[i], qkern_status_name(r->status), r->error.message);
        assert_error(r, QKERN_E_FORMAT, "does not keep to the protocol");
    }
    assert_error(run_script("printf 'a\\001b\\n'", 0), QKERN_E_FORMAT, "found 'a\\x01b'");
    assert_error(run_script(STEP "echo", 0), QKERN_E_FORMAT, "in Q8_0 vec_dot, step bits");
    assert_error(run_script("while :; do printf xxxxxxxxxxxxxxxx; done", 0), QKERN_E_FORMAT,
                 "a line of more than");
}

static void a_worker_that_ends_early_is_an_error(void **state)
{
    (void)state;
    assert_error(run_script("exit 0", 0), QKERN_E_IO, "ended with status 0");
    assert_error(run_script(PLAN, 0), QKERN_E_IO, "ended with status 0");
    assert_error(run_script(PLAN "printf 'end\\n'", 0), QKERN_E_IO, "has left out a kernel");
    /* asks for a restart without a reason */
    assert_error(run_script(STEP "exit 3", 0), QKERN_E_IO, "ended with status 3 in Q8_0 vec_dot");
}

static void a_worker_that_is_killed_from_outside_is_an_error_and_no_kernels_fault(void **state)
{
    (void)state;
    assert_error(run_script(STEP "kill -9 $$", 0), QKERN_E_IO,
                 "was ended by signal 9 (Killed), in Q8_0 vec_dot, step bits");
    assert_error(run_script(STEP "kill -15 $$", 0), QKERN_E_IO, "signal 15 (Terminated)");
    assert_error(run_script("kill -9 $$", 0), QKERN_E_IO, "before it checked anything");
}

static void the_real_worker_is_killed(void **state)
{
    (void)state;
    char script[512], file[256];
    snprintf(file, sizeof file, "%s/worker-pid", QKERN_TEST_BINARY_DIR);
    unlink(file);
    snprintf(script, sizeof script, "echo $$ >%s; exec \"$@\"", file);
    const char *words[16] = {"/bin/sh", "-c", script, "sh"};
    for (size_t i = 0; worker_words[i] != NULL; i++)
        words[4 + i] = worker_words[i];
    struct verify_options options = options_for("endless");
    options.worker = words;
    options.step_seconds = 100;
    verify_run *run = NULL;
    qkern_error error = QKERN_ERROR_INIT;
    struct verify_event event = {.kind = VERIFY_IDLE};
    assert_int_equal(verify_begin(&options, &run, &error), QKERN_OK);
    while (event.kind != VERIFY_STEP || event.entry != QKERN_ENTRY_DEQUANTIZE ||
           strcmp(event.text, "lengths") != 0)
        assert_int_equal(verify_next(run, &event, &error), QKERN_OK);
    char digits[16] = "";
    FILE *pid = fopen(file, "r");
    assert_non_null(pid);
    assert_non_null(fgets(digits, sizeof digits, pid));
    fclose(pid);
    const long number = strtol(digits, NULL, 10);
    assert_true(number > 1);
    kill((pid_t)number, SIGKILL);
    qkern_status status = QKERN_OK;
    while (status == QKERN_OK)
        status = verify_next(run, &event, &error);
    assert_int_equal(status, QKERN_E_IO);
    assert_part(error.message, "was ended by signal 9 (Killed), in Q8_0 dequantize, step lengths");
    verify_end(run);
}

/* --- workers that a kernel brings down -------------------------------------------------------- */

static void a_worker_that_crashes_without_a_word_gives_a_result(void **state)
{
    (void)state;
    /* the second worker begins with kernel 1; $@ ends with --first N */
    struct result *r = run_script(PLAN "for n; do :; done; if [ $n = 0 ]; then "
                                       "printf 'step\\t0\\tbits\\n'; kill -11 $$; fi; "
                                       "printf 'step\\t1\\tbits\\nright\\t1\\t5\\t6\\nend\\n'",
                                  0);
    assert_int_equal(r->status, QKERN_OK);
    assert_true(r->ended);
    const struct outcome *o = outcome_of(r, QKERN_TYPE_Q8_0, QKERN_ENTRY_VEC_DOT);
    assert_int_equal(o->kind, VERIFY_WRONG);
    assert_string_equal(o->failure.kind, "crash");
    assert_string_equal(o->failure.step, "bits");
    assert_part(o->failure.text, "Segmentation fault");
    o = outcome_of(r, QKERN_TYPE_Q8_0, QKERN_ENTRY_DEQUANTIZE);
    assert_int_equal(o->kind, VERIFY_RIGHT);
    assert_int_equal(o->calls, 5);
    free(r);
}

static void a_worker_that_is_restarted_must_have_the_same_plan(void **state)
{
    (void)state;
    assert_error(run_script(LOADED "for n; do :; done; printf \"kernel\\t0\\t$((8 - n))\\t2\\t\\n"
                                   "kernel\\t1\\t8\\t1\\t\\n\"; "
                                   "printf 'step\\t0\\tbits\\n'; kill -11 $$",
                            0),
                 QKERN_E_FORMAT, "does not keep to the protocol");
}

static void a_worker_that_does_nothing_is_ended(void **state)
{
    (void)state;
    assert_error(run_script("exec sleep 1000", 0.05), QKERN_E_IO, "for want of time");
    /* its output is closed, but it stays */
    assert_error(run_script(GREETING "exec >&-; exec sleep 1000", 0.05), QKERN_E_IO,
                 "for want of time");
}

static void a_step_that_ignores_the_polite_signal_is_a_hang(void **state)
{
    (void)state;
    struct result *r =
        run_script(PLAN "for n; do :; done; if [ $n = 0 ]; then printf 'step\\t0\\tbits\\n'; "
                        "trap '' XCPU; while :; do :; done; fi; "
                        "printf 'step\\t1\\tbits\\nright\\t1\\t5\\t6\\nend\\n'",
                   0.05);
    assert_int_equal(r->status, QKERN_OK);
    const struct outcome *o = outcome_of(r, QKERN_TYPE_Q8_0, QKERN_ENTRY_VEC_DOT);
    assert_string_equal(o->failure.kind, "hang");
    assert_string_equal(o->failure.text, "does not return");
    assert_int_equal(outcome_of(r, QKERN_TYPE_Q8_0, QKERN_ENTRY_DEQUANTIZE)->kind, VERIFY_RIGHT);
    free(r);
}

/* --- plugins that are not judged -------------------------------------------------------------- */

static void a_file_that_is_no_plugin_is_refused_as_by_any_host(void **state)
{
    (void)state;
    char path[512];
    struct verify_options options = options_for("prints");
    snprintf(path, sizeof path, "%s/no-plugin.so", QKERN_TEST_BINARY_DIR);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("not a plugin\n", file);
    fclose(file);
    assert_int_equal(chmod(path, 0644), 0);
    options.plugin = path;
    struct result *r = run_with(&options);
    assert_int_equal(r->status, QKERN_OK);
    assert_true(r->refused && r->ended);
    assert_int_equal(r->refused_status, QKERN_E_FORMAT);
    assert_int_equal(r->count, 0);
    free(r);
    assert_int_equal(chmod(path, 0666), 0); /* which others can write */
    r = run_with(&options);
    assert_true(r->refused);
    assert_int_equal(r->refused_status, QKERN_E_PERMISSION);
    free(r);
    options.plugin = "/nonexistent/plugin.so";
    r = run_with(&options);
    assert_true(r->refused);
    free(r);
}

static void a_plugin_for_a_masked_cpu_is_skipped_with_the_reason(void **state)
{
    (void)state;
    struct verify_options options = options_for("prints");
    assert_int_equal(setenv("QKERN_MAX_ISA", "scalar", 1), 0); /* the plugin's tier is 10 */
    struct result *r = run_with(&options);
    unsetenv("QKERN_MAX_ISA");
    assert_int_equal(r->status, QKERN_OK);
    assert_true(r->refused);
    assert_int_equal(r->refused_status, QKERN_E_FEATURE);
    assert_part(r->refused_text, "QKERN_MAX_ISA");
    free(r);
}

static void a_wrong_word_in_the_environment_is_the_workers_error(void **state)
{
    (void)state;
    struct verify_options options = options_for("prints");
    assert_int_equal(setenv("QKERN_FEATURES", "-nonsense", 1), 0);
    struct result *r = run_with(&options);
    unsetenv("QKERN_FEATURES");
    assert_error(r, QKERN_E_IO, "nonsense");
}

/* --- calls ------------------------------------------------------------------------------------ */

static void wrong_options_are_refused(void **state)
{
    (void)state;
    qkern_error error = QKERN_ERROR_INIT;
    verify_run *run = NULL;
    const struct verify_options right = options_for("prints");
    struct verify_options options = right;
    const char *many[64];
    const uint32_t type = QKERN_TYPE_Q8_0;

    assert_int_equal(verify_begin(NULL, &run, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "options is NULL");
    assert_int_equal(verify_begin(&options, NULL, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "out is NULL");
    options.plugin = "plugin.so";
    assert_int_equal(verify_begin(&options, &run, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "'plugin.so' is not absolute");
    options = right;
    options.repeat = 0;
    assert_int_equal(verify_begin(&options, &run, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "repeat is 0");
    options = right;
    options.types = &type;
    assert_int_equal(verify_begin(&options, &run, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "list of types is empty");
    options = right;
    for (size_t i = 0; i < 63; i++)
        many[i] = "x";
    many[63] = NULL;
    options.worker = many;
    assert_int_equal(verify_begin(&options, &run, &error), QKERN_E_ARGUMENT);
    assert_part(error.message, "63 words");
    assert_null(run);
    verify_end(NULL);
}

static int descriptors_open(void)
{
    int count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) != -1;
    return count;
}

static bool stop_at_once(void *context, const struct verify_event *event)
{
    (void)event;
    ++*(int *)context;
    return false;
}

static void a_run_can_be_ended_at_any_time_and_leaves_nothing(void **state)
{
    (void)state;
    const struct verify_options options = options_for("endless");
    const int before = descriptors_open();
    qkern_error error = QKERN_ERROR_INIT;
    int told = 0;

    for (int events = 0; events < 6; events++) {
        verify_run *run = NULL;
        struct verify_event event;
        assert_int_equal(verify_begin(&options, &run, &error), QKERN_OK);
        for (int i = 0; i < events; i++)
            assert_int_equal(verify_next(run, &event, &error), QKERN_OK);
        verify_end(run);
    }
    assert_int_equal(verify_plugin(&options, stop_at_once, &told, &error), QKERN_OK);
    assert_int_equal(told, 1);
    assert_int_equal(descriptors_open(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void *judge_in_a_thread(void *context)
{
    struct verify_options options = VERIFY_OPTIONS_INIT;
    const uint32_t type = QKERN_TYPE_Q8_0;
    qkern_error error = QKERN_ERROR_INIT;
    uint32_t *right = context;
    verify_run *run = NULL;
    struct verify_event event = {.kind = VERIFY_IDLE};

    options.worker = worker_words;
    options.types = &type;
    options.type_count = 1;
    if (verify_begin(&options, &run, &error) != QKERN_OK)
        return NULL;
    while (event.kind != VERIFY_END && verify_next(run, &event, &error) == QKERN_OK)
        *right += event.kind == VERIFY_RIGHT;
    verify_end(run);
    return NULL;
}

static void runs_go_on_side_by_side(void **state)
{
    (void)state;
    pthread_t threads[4];
    uint32_t right[4] = {0};

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, judge_in_a_thread, &right[i]), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(right[i], 5);
    }
}

/* A host that ignores the ends of its children has no status to give. */
static void a_host_that_reaps_children_itself_is_no_hindrance(void **state)
{
    (void)state;
    uint32_t right = 0;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    assert_int_equal(sigaction(SIGCHLD, &ignore, &before), 0);
    judge_in_a_thread(&right);
    struct result *r = run_script(PLAN, 0);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
    assert_int_equal(right, 5);
    assert_error(r, QKERN_E_IO, "nobody knows how");
}

static void the_worker_beside_libqkern_is_found(void **state)
{
    (void)state;
    if (worker_words[1] != NULL) {
        print_message("skipped: a worker that needs an emulator cannot be started by its path\n");
        skip();
    }
    struct verify_options options = VERIFY_OPTIONS_INIT;
    const uint32_t type = QKERN_TYPE_F32;
    options.types = &type;
    options.type_count = 1;
    struct result *r = run_with(&options);
    assert_int_equal(r->status, QKERN_OK);
    assert_int_equal(r->count, 5);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_worker_is_an_error_that_names_it),
        cmocka_unit_test(a_worker_that_is_no_program_is_an_error),
        cmocka_unit_test(what_the_worker_says_on_its_way_out_is_in_the_error),
        cmocka_unit_test(rubbish_is_an_error_that_shows_it),
        cmocka_unit_test(a_worker_that_ends_early_is_an_error),
        cmocka_unit_test(a_worker_that_is_killed_from_outside_is_an_error_and_no_kernels_fault),
        cmocka_unit_test(the_real_worker_is_killed),
        cmocka_unit_test(a_worker_that_crashes_without_a_word_gives_a_result),
        cmocka_unit_test(a_worker_that_is_restarted_must_have_the_same_plan),
        cmocka_unit_test(a_worker_that_does_nothing_is_ended),
        cmocka_unit_test(a_step_that_ignores_the_polite_signal_is_a_hang),
        cmocka_unit_test(a_file_that_is_no_plugin_is_refused_as_by_any_host),
        cmocka_unit_test(a_plugin_for_a_masked_cpu_is_skipped_with_the_reason),
        cmocka_unit_test(a_wrong_word_in_the_environment_is_the_workers_error),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_run_can_be_ended_at_any_time_and_leaves_nothing),
        cmocka_unit_test(runs_go_on_side_by_side),
        cmocka_unit_test(a_host_that_reaps_children_itself_is_no_hindrance),
        cmocka_unit_test(the_worker_beside_libqkern_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
