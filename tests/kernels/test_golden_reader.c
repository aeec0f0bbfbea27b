/* SPDX-License-Identifier: MIT */
/* The reader of golden files says what is wrong with a file, and where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "golden_reader.h"

#define INPUTS "input two n=2\nx 0000803f00000040\nend\n"
#define TYPE "type f16 id=1 block=1 bytes=2\n"
#define CASE TYPE "case c n=2 kind=quant via=ref\n"

static char path[64];

static void write_file(const char *text, size_t size)
{
    strcpy(path, "/tmp/qkern-golden-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    close(fd);
}

/* The error of a file of one type, "" if there is none. The caller removes nothing. */
static const char *error_of(const char *text, size_t size)
{
    static struct golden_reader reader;
    struct golden_inputs inputs;
    char error[512];
    write_file(INPUTS, strlen(INPUTS));
    assert_true(golden_inputs_read(path, &inputs, error));
    unlink(path);

    write_file(text, size);
    struct golden_case c;
    int got = -1;
    if (golden_open(&reader, path, &inputs)) {
        while ((got = golden_next(&reader, &c)) == 1)
            golden_case_free(&c);
        golden_close(&reader);
    }
    unlink(path);
    golden_inputs_free(&inputs);
    assert_int_equal(got < 0, reader.error[0] != '\0');
    if (got < 0) /* the message starts with the file */
        assert_memory_equal(reader.error, path, strlen(path));
    return got < 0 ? reader.error + strlen(path) : "";
}

static void a_malformed_file_is_refused_with_line_and_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } table[] = {
        {"", ":0: \"type NAME id=N block=N bytes=N\" expected"},
        {"# only a comment\n", ":1: \"type NAME id=N block=N bytes=N\" expected"},
        {"type f16 id=1 block=1\n", ":1: \"type NAME id=N block=N bytes=N\" expected"},
        {"type f16 id=1 block=1 bytes=2 more\n", ":1: \"type NAME id=N block=N bytes=N\" expected"},
        {"type f16 id=x block=1 bytes=2\n", ":1: a number from 0 to 1000 expected, found \"x\""},
        {"type f16 id=1 block=0 bytes=2\n", ":1: a number from 1 to 4096 expected, found \"0\""},
        {TYPE "end\n", ":2: \"case\" expected, found \"end\""},
        {TYPE "case\n", ":2: \"case NAME n=N kind=KIND\" expected"},
        {TYPE "case c kind=deq\n", ":2: a case needs n= and kind="},
        {TYPE "case c n=2\n", ":2: a case needs n= and kind="},
        {TYPE "case c n=-2 kind=deq\n", ":2: a number from 1 to 1048576 expected, found \"-2\""},
        {TYPE "case c n=99999999999999999999 kind=deq\n",
         ":2: a number from 1 to 1048576 expected, found \"99999999999999999999\""},
        {TYPE "case c n=2 kind=sum\n", ":2: kind quant, deq or dot expected, found \"sum\""},
        {TYPE "case c n=2 kind=deq via=magic\n", ":2: \"via=magic\" is not understood"},
        {TYPE "case c n=3 kind=deq rows=2\n", ":2: 3 elements are not 2 rows of whole blocks"},
        {CASE "x 00000000\n", ":3: the file ends inside case \"c\""},
        {CASE "z 00\nend\n", ":3: \"z\" is not understood"},
        {CASE "x 000\nend\n", ":3: an even number of hex digits expected, found 3"},
        {CASE "x\nend\n", ":3: an even number of hex digits expected, found 0"},
        {CASE "x 0G\nend\n", ":3: lower-case hex digits expected, found \"0G\""},
        {CASE "x 00000000\nq 00000000\nend\n", ":5: x of 8 bytes expected, found 4"},
        {CASE "xref two\nq 0000\nend\n", ":5: q of 4 bytes expected, found 2"},
        {CASE "q 00000000\nend\n", ":4: a quant case needs x and q"},
        {CASE "xref none\nend\n", ":3: no input is named \"none\""},
        {CASE "xref two:3\nend\n", ":3: input \"two\" has 2 elements, 3 wanted"},
        {CASE "xref two:0\nend\n", ":3: a number from 1 to 1048576 expected, found \"0\""},
        {CASE "xref two:1\nq 00000000\nend\n", ":5: x of 8 bytes expected, found 4"},
        {CASE "xref two\nxref two\nend\n", ":4: a second value for the same key"},
        {CASE "y 00\nxref two\nq 00000000\nend\n", ":6: y of 8 bytes expected, found 1"},
        {TYPE "case c n=1 kind=deq\nq 0000\nend\n", ":4: a deq case needs q and y"},
        {TYPE "case c n=1 kind=dot act=f16\nq 0000\na 0000\ndot 00\nend\n",
         ":5: dot of 4 bytes expected, found 1"},
        {TYPE "case c n=1 kind=dot act=f16\nq 0000\na 0000\ndotabs much\nend\n",
         ":5: a number expected, found \"much\""},
        {TYPE "case c n=1 kind=dot act=f16\nq 0000\na 0000\ndotabs 1\nend\n",
         ":6: a dot case needs q or xref, a or axref, act=, dot and dotabs"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_string_equal(error_of(table[i].text, strlen(table[i].text)), table[i].error);
}

static void a_line_that_is_too_long_is_refused(void **state)
{
    (void)state;
    static char text[4096];
    const size_t head = strlen(CASE);
    memcpy(text, CASE, head);
    memset(text + head, '0', 1000);
    text[head] = 'x';
    text[head + 1] = ' ';
    text[head + 1000] = '\n';
    assert_string_equal(error_of(text, head + 1001),
                        ":3: a line of at most 520 characters expected");
}

/* Whatever stands at the end: an error or a whole file, never a case that is cut. */
static void a_file_cut_anywhere_is_never_a_whole_one(void **state)
{
    (void)state;
    static const char text[] = CASE "x 0000803f\nx 00000040\nq 003c0040\nend\n";
    const size_t whole = sizeof text - 1;
    for (size_t size = 0; size <= whole; size++) {
        const char *error = error_of(text, size);
        const int fine =
            size == whole || size == whole - 1 || size == strlen(TYPE) || size == strlen(TYPE) - 1;
        assert_int_equal(error[0] == '\0', fine);
    }
}

static void a_missing_file_is_an_error_that_names_it(void **state)
{
    (void)state;
    struct golden_inputs inputs = {0};
    struct golden_reader reader;
    char error[512];
    assert_false(golden_inputs_read("/nonexistent/inputs.txt", &inputs, error));
    assert_string_equal(error, "/nonexistent/inputs.txt:0: cannot open: No such file or directory");
    assert_false(golden_open(&reader, "/nonexistent/f16.txt", &inputs));
    assert_string_equal(reader.error,
                        "/nonexistent/f16.txt:0: cannot open: No such file or directory");
}

static void malformed_inputs_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } table[] = {
        {"", ":0: no input found"},
        {"case c\n", ":1: \"input\" expected, found \"case\""},
        {"input\n", ":1: \"input NAME n=N\" expected"},
        {"input a n=0\n", ":1: a number from 1 to 1048576 expected, found \"0\""},
        {"input a n=1 b\n", ":1: \"input NAME n=N\" expected"},
        {"input a n=1\nx 00\nend\n", ":3: x of 4 bytes expected, found 1"},
        {"input a n=1\ny 00\nend\n", ":2: \"x\" or \"end\" expected, found \"y\""},
        {"input a n=1\nx 00000000\n", ":2: the file ends inside input \"a\""},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct golden_inputs inputs;
        char error[512];
        write_file(table[i].text, strlen(table[i].text));
        assert_false(golden_inputs_read(path, &inputs, error));
        unlink(path);
        assert_string_equal(error + strlen(path), table[i].error);
        assert_null(inputs.list);
    }
}

/* The importance of a row: the first elements of a longer vector, a shorter one repeated. */
static void a_case_has_what_its_references_name(void **state)
{
    (void)state;
    static const char text[] =
        TYPE "case c n=6 kind=quant via=chunk rows=2\nx 000000000000000000000000000000000000000000"
             "000000\nimref two\nq 000000000000000000000000\nend\n";
    struct golden_inputs inputs;
    struct golden_reader reader;
    struct golden_case c;
    char error[512];
    write_file(INPUTS, strlen(INPUTS));
    assert_true(golden_inputs_read(path, &inputs, error));
    unlink(path);
    write_file(text, sizeof text - 1);
    assert_true(golden_open(&reader, path, &inputs));
    assert_int_equal(golden_next(&reader, &c), 1);
    unlink(path);
    assert_true(c.chunk && c.kind == GOLDEN_QUANT && c.rows == 2 && c.line == 2);
    const float expected[3] = {1.0f, 2.0f, 1.0f};
    assert_int_equal(c.importance.size, sizeof expected);
    assert_memory_equal(c.importance.data, expected, sizeof expected);
    golden_case_free(&c);
    assert_int_equal(golden_next(&reader, &c), 0);
    golden_close(&reader);
    golden_inputs_free(&inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_malformed_file_is_refused_with_line_and_reason),
        cmocka_unit_test(a_line_that_is_too_long_is_refused),
        cmocka_unit_test(a_file_cut_anywhere_is_never_a_whole_one),
        cmocka_unit_test(a_missing_file_is_an_error_that_names_it),
        cmocka_unit_test(malformed_inputs_are_refused),
        cmocka_unit_test(a_case_has_what_its_references_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
