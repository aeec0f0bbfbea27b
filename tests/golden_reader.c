/* SPDX-License-Identifier: MIT */
/* See golden_reader.h. */
#include "golden_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_CHARS 520
#define ELEMENTS_MAX (1u << 20) /* of a case: a sane bound before anything is allocated */

__attribute__((format(printf, 2, 3))) static bool fail(struct golden_reader *r, const char *format,
                                                       ...)
{
    const int used = snprintf(r->error, sizeof r->error, "%s:%u: ", r->path, r->line);
    if (used < 0 || (size_t)used >= sizeof r->error)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(r->error + used, sizeof r->error - (size_t)used, format, args);
    va_end(args);
    return false;
}

/*
 * The next line that is neither empty nor a comment, without its newline, cut into key and value
 * ("" if there is none). 1, 0 at the end, -1 on an error.
 */
static int next_line(struct golden_reader *r, char line[LINE_MAX_CHARS + 2], char **value)
{
    while (fgets(line, LINE_MAX_CHARS + 2, r->file) != NULL) {
        r->line++;
        char *end = strchr(line, '\n');
        if (end == NULL && !feof(r->file)) {
            fail(r, "a line of at most %d characters expected", LINE_MAX_CHARS);
            return -1;
        }
        if (end != NULL)
            *end = '\0';
        if (line[0] == '\0' || line[0] == '#')
            continue;
        char *space = strchr(line, ' ');
        if (space != NULL)
            *space++ = '\0';
        *value = space != NULL ? space : line + strlen(line);
        return 1;
    }
    if (!ferror(r->file))
        return 0;
    fail(r, "cannot read: %s", strerror(errno));
    return -1;
}

static bool copy_text(struct golden_reader *r, const char *what, const char *text, char *to,
                      size_t size)
{
    if (*text == '\0' || strlen(text) >= size)
        return fail(r, "%s of 1 to %zu characters expected, found \"%s\"", what, size - 1, text);
    memcpy(to, text, strlen(text) + 1);
    return true;
}

static bool read_number(struct golden_reader *r, const char *text, uint64_t low, uint64_t high,
                        uint64_t *number)
{
    char *end;
    errno = 0;
    const unsigned long long v = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || v < low || v > high)
        return fail(r, "a number from %llu to %llu expected, found \"%s\"", (unsigned long long)low,
                    (unsigned long long)high, text);
    *number = v;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool append_hex(struct golden_reader *r, const char *text, struct golden_bytes *to)
{
    const size_t digits = strlen(text);
    if (digits == 0 || digits % 2 != 0)
        return fail(r, "an even number of hex digits expected, found %zu", digits);
    uint8_t *data = realloc(to->data, to->size + digits / 2);
    if (data == NULL)
        return fail(r, "out of memory");
    to->data = data;
    for (size_t i = 0; i < digits; i += 2) {
        const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0)
            return fail(r, "lower-case hex digits expected, found \"%.2s\"", text + i);
        to->data[to->size++] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static const struct golden_input *find_input(const struct golden_inputs *inputs, const char *name)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->list[i].name, name) == 0)
            return &inputs->list[i];
    return NULL;
}

/*
 * Copies count elements of the vector that reference names, NAME or NAME:N; repeated if it is
 * shorter and may be. count 0 means all of it.
 */
static bool copy_input(struct golden_reader *r, char *reference, uint64_t count, bool repeat,
                       struct golden_bytes *to)
{
    char *colon = strchr(reference, ':');
    uint64_t take = 0;
    if (colon != NULL) {
        *colon++ = '\0';
        if (!read_number(r, colon, 1, ELEMENTS_MAX, &take))
            return false;
    }
    const struct golden_input *input = find_input(r->inputs, reference);
    if (input == NULL)
        return fail(r, "no input is named \"%s\"", reference);
    if (take > input->n)
        return fail(r, "input \"%s\" has %llu elements, %llu wanted", reference,
                    (unsigned long long)input->n, (unsigned long long)take);
    if (to->data != NULL)
        return fail(r, "a second value for the same key");
    if (count == 0)
        count = take != 0 ? take : input->n;
    if (!repeat && count != (take != 0 ? take : input->n))
        return fail(r, "%llu elements wanted, the reference has %llu", (unsigned long long)count,
                    (unsigned long long)(take != 0 ? take : input->n));
    to->size = count * sizeof(float);
    to->data = malloc(to->size);
    if (to->data == NULL)
        return fail(r, "out of memory");
    for (uint64_t i = 0; i < count; i++)
        memcpy(to->data + 4 * i, input->x.data + 4 * (i % input->n), 4);
    return true;
}

/* Cuts the next word off *rest; NULL if there is none. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " ");
    if (*word == '\0')
        return NULL;
    char *end = word + strcspn(word, " ");
    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return word;
}

static bool has_prefix(char *word, const char *prefix, char **rest)
{
    const size_t length = strlen(prefix);
    *rest = word + length;
    return strncmp(word, prefix, length) == 0;
}

static bool check_size(struct golden_reader *r, const char *what, const struct golden_bytes *b,
                       uint64_t size)
{
    if (b->size == size)
        return true;
    return fail(r, "%s of %llu bytes expected, found %zu", what, (unsigned long long)size, b->size);
}

/* inputs.txt */

static bool input_read(struct golden_reader *r, char *header, struct golden_input *input)
{
    char *name = next_word(&header), *n = next_word(&header), *number;
    if (name == NULL || n == NULL || !has_prefix(n, "n=", &number) || next_word(&header) != NULL)
        return fail(r, "\"input NAME n=N\" expected");
    if (!copy_text(r, "a name", name, input->name, sizeof input->name) ||
        !read_number(r, number, 1, ELEMENTS_MAX, &input->n))
        return false;

    char line[LINE_MAX_CHARS + 2], *value;
    int got;
    while ((got = next_line(r, line, &value)) == 1) {
        if (strcmp(line, "end") == 0)
            return check_size(r, "x", &input->x, 4 * input->n);
        if (strcmp(line, "x") != 0)
            return fail(r, "\"x\" or \"end\" expected, found \"%s\"", line);
        if (!append_hex(r, value, &input->x))
            return false;
    }
    return got == 0 ? fail(r, "the file ends inside input \"%s\"", input->name) : false;
}

bool golden_inputs_read(const char *path, struct golden_inputs *inputs, char error[512])
{
    struct golden_reader r = {.path = path, .file = fopen(path, "r")};
    *inputs = (struct golden_inputs){0};
    if (r.file == NULL) {
        fail(&r, "cannot open: %s", strerror(errno));
        goto fail;
    }
    char line[LINE_MAX_CHARS + 2], *value;
    int got;
    while ((got = next_line(&r, line, &value)) == 1) {
        if (strcmp(line, "input") != 0) {
            fail(&r, "\"input\" expected, found \"%s\"", line);
            goto fail;
        }
        struct golden_input *list =
            realloc(inputs->list, (inputs->count + 1) * sizeof *inputs->list);
        if (list == NULL) {
            fail(&r, "out of memory");
            goto fail;
        }
        inputs->list = list;
        list[inputs->count] = (struct golden_input){0};
        if (!input_read(&r, value, &list[inputs->count++]))
            goto fail;
    }
    if (got < 0)
        goto fail;
    if (inputs->count == 0) {
        fail(&r, "no input found");
        goto fail;
    }
    fclose(r.file);
    return true;

fail:
    memcpy(error, r.error, sizeof r.error);
    golden_inputs_free(inputs);
    if (r.file != NULL)
        fclose(r.file);
    return false;
}

void golden_inputs_free(struct golden_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        free(inputs->list[i].x.data);
    free(inputs->list);
    *inputs = (struct golden_inputs){0};
}

/* A file of one type */

bool golden_open(struct golden_reader *r, const char *path, const struct golden_inputs *inputs)
{
    *r = (struct golden_reader){.path = path, .inputs = inputs, .file = fopen(path, "r")};
    if (r->file == NULL)
        return fail(r, "cannot open: %s", strerror(errno));

    char line[LINE_MAX_CHARS + 2], *rest, *id, *block, *bytes;
    const int got = next_line(r, line, &rest);
    if (got < 0)
        goto fail;
    char *name = got == 1 && strcmp(line, "type") == 0 ? next_word(&rest) : NULL;
    char *words[3] = {NULL};
    for (int i = 0; name != NULL && i < 3; i++)
        words[i] = next_word(&rest);
    if (name == NULL || words[2] == NULL || !has_prefix(words[0], "id=", &id) ||
        !has_prefix(words[1], "block=", &block) || !has_prefix(words[2], "bytes=", &bytes) ||
        next_word(&rest) != NULL) {
        fail(r, "\"type NAME id=N block=N bytes=N\" expected");
        goto fail;
    }
    if (copy_text(r, "a name", name, r->type, sizeof r->type) &&
        read_number(r, id, 0, 1000, &r->type_id) &&
        read_number(r, block, 1, 4096, &r->block_elements) &&
        read_number(r, bytes, 1, 4096, &r->block_bytes))
        return true;

fail:
    golden_close(r);
    return false;
}

void golden_close(struct golden_reader *r)
{
    if (r->file != NULL)
        fclose(r->file);
    r->file = NULL;
}

static bool header_read(struct golden_reader *r, char *header, struct golden_case *c)
{
    static const char *const kinds[] = {"quant", "deq", "dot"};
    bool has_kind = false;
    char *word = next_word(&header), *value;
    if (word == NULL)
        return fail(r, "\"case NAME n=N kind=KIND\" expected");
    if (!copy_text(r, "a name", word, c->name, sizeof c->name))
        return false;

    while ((word = next_word(&header)) != NULL) {
        if (has_prefix(word, "n=", &value)) {
            if (!read_number(r, value, 1, ELEMENTS_MAX, &c->n))
                return false;
        } else if (has_prefix(word, "rows=", &value)) {
            if (!read_number(r, value, 1, ELEMENTS_MAX, &c->rows))
                return false;
        } else if (has_prefix(word, "act=", &value)) {
            if (!copy_text(r, "a type", value, c->activation, sizeof c->activation))
                return false;
        } else if (has_prefix(word, "kind=", &value)) {
            for (int k = 0; k < 3; k++)
                if (strcmp(value, kinds[k]) == 0) {
                    c->kind = (enum golden_kind)k;
                    has_kind = true;
                }
            if (!has_kind)
                return fail(r, "kind quant, deq or dot expected, found \"%s\"", value);
        } else if (strcmp(word, "via=chunk") == 0) {
            c->chunk = true;
        } else if (strcmp(word, "via=ref") != 0) {
            return fail(r, "\"%s\" is not understood", word);
        }
    }
    if (c->n == 0 || !has_kind)
        return fail(r, "a case needs n= and kind=");
    if (c->n % c->rows != 0 || c->n / c->rows % r->block_elements != 0)
        return fail(r, "%llu elements are not %llu rows of whole blocks", (unsigned long long)c->n,
                    (unsigned long long)c->rows);
    return true;
}

static bool item_read(struct golden_reader *r, const char *key, char *value, struct golden_case *c)
{
    if (strcmp(key, "x") == 0)
        return append_hex(r, value, &c->x);
    if (strcmp(key, "q") == 0)
        return append_hex(r, value, &c->q);
    if (strcmp(key, "y") == 0)
        return append_hex(r, value, &c->y);
    if (strcmp(key, "a") == 0)
        return append_hex(r, value, &c->a);
    if (strcmp(key, "xref") == 0)
        return copy_input(r, value, 0, false, &c->x);
    if (strcmp(key, "axref") == 0)
        return copy_input(r, value, 0, false, &c->a_input);
    if (strcmp(key, "imref") == 0)
        return copy_input(r, value, c->n / c->rows, true, &c->importance);
    if (strcmp(key, "dot") == 0) {
        struct golden_bytes bytes = {0};
        const bool fine = append_hex(r, value, &bytes) && check_size(r, "dot", &bytes, 4);
        if (fine)
            memcpy(&c->dot, bytes.data, 4);
        c->has_dot = fine;
        free(bytes.data);
        return fine;
    }
    if (strcmp(key, "dotabs") == 0) {
        char *end;
        c->dot_magnitude = strtod(value, &end);
        c->has_dot_magnitude = true;
        if (end == value || *end != '\0' || !(c->dot_magnitude >= 0))
            return fail(r, "a number expected, found \"%s\"", value);
        return true;
    }
    return fail(r, "\"%s\" is not understood", key);
}

static bool case_check(struct golden_reader *r, const struct golden_case *c)
{
    const uint64_t blocks_size = c->n / r->block_elements * r->block_bytes;
    const bool has_x = c->x.data != NULL, has_q = c->q.data != NULL;

    if (has_x && !check_size(r, "x", &c->x, 4 * c->n))
        return false;
    if (has_q && !check_size(r, "q", &c->q, blocks_size))
        return false;
    if (c->y.data != NULL && !check_size(r, "y", &c->y, 4 * c->n))
        return false;
    switch (c->kind) {
    case GOLDEN_QUANT:
        return (has_x && has_q) || fail(r, "a quant case needs x and q");
    case GOLDEN_DEQ:
        return (has_q && c->y.data != NULL) || fail(r, "a deq case needs q and y");
    case GOLDEN_DOT:
        if (!(has_x || has_q) || (c->a.data == NULL && c->a_input.data == NULL) || !c->has_dot ||
            !c->has_dot_magnitude || c->activation[0] == '\0')
            return fail(r, "a dot case needs q or xref, a or axref, act=, dot and dotabs");
        return c->a_input.data == NULL || check_size(r, "axref", &c->a_input, 4 * c->n);
    }
    return fail(r, "unknown kind");
}

int golden_next(struct golden_reader *r, struct golden_case *c)
{
    char line[LINE_MAX_CHARS + 2], *value;
    int got = next_line(r, line, &value);
    if (got <= 0)
        return got;
    *c = (struct golden_case){.rows = 1, .line = r->line};
    if (strcmp(line, "case") != 0) {
        fail(r, "\"case\" expected, found \"%s\"", line);
        return -1;
    }
    if (!header_read(r, value, c))
        return -1;
    while ((got = next_line(r, line, &value)) == 1) {
        if (strcmp(line, "end") == 0) {
            if (!case_check(r, c))
                break;
            return 1;
        }
        if (!item_read(r, line, value, c))
            break;
    }
    if (got == 0)
        fail(r, "the file ends inside case \"%s\"", c->name);
    golden_case_free(c);
    return -1;
}

void golden_case_free(struct golden_case *c)
{
    struct golden_bytes *const all[] = {&c->x, &c->importance, &c->q, &c->y, &c->a, &c->a_input};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]->data);
        *all[i] = (struct golden_bytes){0};
    }
}
