/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"

#define LINE_BYTES 8192

struct line {
    size_t size;
    char bytes[LINE_BYTES];
};

static int output = -1;

static void put_character(struct line *line, char c)
{
    if (line->size < LINE_BYTES - 1) /* the last one is the line's end */
        line->bytes[line->size++] = c;
}

static void put_text(struct line *line, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *special = strchr("\t\n\\", *text);
        if (special != NULL) {
            put_character(line, '\\');
            put_character(line, (char)(*special == '\t' ? 't' : *special == '\n' ? 'n' : '\\'));
        } else {
            put_character(line, *text);
        }
    }
}

static void put_field(struct line *line, const char *text)
{
    put_character(line, '\t');
    put_text(line, text);
}

static void put_number(struct line *line, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    put_field(line, digits);
}

static struct line line_begin(const char *what)
{
    struct line line = {.size = 0};
    put_text(&line, what);
    return line;
}

/* Nobody listens any more: there is nothing left to do. */
static void line_end(struct line *line)
{
    size_t written = 0;

    line->bytes[line->size++] = '\n';
    while (written < line->size) {
        ssize_t size = write(output, line->bytes + written, line->size - written);
        if (size < 0 && errno != EINTR)
            _exit(WORKER_FAILED);
        written += size > 0 ? (size_t)size : 0;
    }
}

void report_open(int descriptor)
{
    output = descriptor;
    struct line line = line_begin(PROTOCOL_NAME);
    put_field(&line, PROTOCOL_REVISION);
    line_end(&line);
}

void report_plugin(const qkern_record *record)
{
    struct line line = line_begin("plugin");
    put_field(&line, record->name);
    put_field(&line, record->version);
    put_field(&line, record->path);
    line_end(&line);
}

void report_refused(const qkern_record *record)
{
    struct line line = line_begin("refused");
    put_field(&line, record->name);
    put_field(&line, record->version);
    put_number(&line, record->status);
    put_field(&line, record->text);
    line_end(&line);
}

void report_note(const char *text)
{
    struct line line = line_begin("note");
    put_field(&line, text);
    line_end(&line);
}

void report_kernel(uint32_t number, uint32_t type, uint32_t entry, const char *reason)
{
    struct line line = line_begin("kernel");
    put_number(&line, number);
    put_number(&line, type);
    put_number(&line, entry);
    put_field(&line, reason);
    line_end(&line);
}

void report_step(uint32_t number, const char *name)
{
    struct line line = line_begin("step");
    put_number(&line, number);
    put_field(&line, name);
    line_end(&line);
}

void report_right(uint32_t number, uint64_t calls, uint64_t stack)
{
    struct line line = line_begin("right");
    put_number(&line, number);
    put_number(&line, calls);
    put_number(&line, stack);
    line_end(&line);
}

static void put_pair(struct line *line, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    put_field(line, key);
    put_character(line, '=');
    put_text(line, text);
}

static void put_count(struct line *line, const char *key, uint64_t number)
{
    char digits[24];

    if (number == VERIFY_NONE)
        return;
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    put_pair(line, key, digits);
}

void report_wrong(uint32_t number, const struct verify_failure *failure)
{
    struct line line = line_begin("wrong");
    put_number(&line, number);
#define PUT(NAME) put_pair(&line, #NAME, failure->NAME);
    VERIFY_TEXTS(PUT)
#undef PUT
#define PUT(NAME) put_count(&line, #NAME, failure->NAME);
    VERIFY_NUMBERS(PUT)
#undef PUT
    line_end(&line);
}

void report_end(void)
{
    struct line line = line_begin("end");
    line_end(&line);
}

struct verify_failure failure_none(void)
{
    struct verify_failure failure = {.kind = ""};
#define CLEAR(NAME) failure.NAME = VERIFY_NONE;
    VERIFY_NUMBERS(CLEAR)
#undef CLEAR
    return failure;
}

void failure_say(char text[VERIFY_TEXT_BYTES], const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, VERIFY_TEXT_BYTES - used, format, arguments);
    va_end(arguments);
}
