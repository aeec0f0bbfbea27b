/* SPDX-License-Identifier: MIT */
/*
 * Converting a tensor from one element type to another, in pieces, on several threads.
 *
 * A piece is a fixed number of elements, whatever the rows and the number of threads: blocks are
 * independent of each other and a piece is whole blocks of every type. One step converts a batch of
 * pieces: the threads take them in any order, then the caller's thread writes them and adds up
 * their statistics in the order of the file. So neither the bytes nor the statistics depend on the
 * threads, and the memory in use is that of one batch.
 *
 * The conversion proper knows nothing of Lua; the second half of this file is its object.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

enum {
    PIECE_ELEMENTS = 1 << 16,               /* a multiple of every block: they all divide 256 */
    PIECE_BYTES_LIMIT = 8 * PIECE_ELEMENTS, /* no type takes more than 8 bytes an element */
    PIECES_PER_THREAD = 4, /* in a batch, so that no thread waits long for another */
    THREAD_LIMIT = 1024,
    RELEASE_OVERLAP = 1 << 16 /* at least a page: the one that two batches share goes, too */
};

struct piece {
    uint64_t first; /* element of the tensor */
    uint64_t elements;
    uint64_t out_bytes;
    uint8_t *out;
    double error_squares; /* sum over the elements of (written - source) squared */
    double squares;       /* sum over the elements of source squared */
    double error_maximum;
    qkern_error error;
};

/* A thread with its memory; number 0 is the caller's own. */
struct worker {
    struct conversion *c;
    pthread_t thread;
    float *source;  /* a piece, dequantized */
    float *written; /* the same after quantizing */
};

struct conversion {
    qkern *q;
    struct worker *workers;
    uint32_t worker_count;
    uint32_t threads_started;

    pthread_mutex_t lock; /* over the next three, and the hand-over of the pieces */
    pthread_cond_t work;
    pthread_cond_t done;
    uint32_t next;     /* the piece to take; piece_count if there is none */
    uint32_t finished; /* pieces of the batch */
    bool quit;

    struct piece *pieces;
    uint32_t piece_limit;
    uint32_t piece_count; /* in the batch */

    const uint8_t *data;
    qkern_type_info from;
    qkern_type_info to;
    uint64_t elements;
    uint64_t position; /* elements converted and written */
    double error_squares;
    double squares;
    double error_maximum;
};

static uint64_t bytes_of(const qkern_type_info *type, uint64_t elements)
{
    return elements / type->block_elements * type->block_bytes;
}

/* Four sums of each kind, so that no addition waits for the last one; always the same four. */
static void piece_measure(struct piece *p, const float *source, const float *written)
{
    double error_squares[4] = {0}, squares[4] = {0}, maximum[4] = {0};

    for (uint64_t i = 0; i < p->elements; i += 4)
        for (uint64_t k = 0; k < 4 && i + k < p->elements; k++) {
            const double value = (double)source[i + k];
            const double difference = fabs((double)written[i + k] - value);
            error_squares[k] += difference * difference;
            squares[k] += value * value;
            maximum[k] = difference > maximum[k] ? difference : maximum[k];
        }
    for (int k = 0; k < 4; k++) {
        p->error_squares += error_squares[k];
        p->squares += squares[k];
        if (maximum[k] > p->error_maximum)
            p->error_maximum = maximum[k];
    }
}

/* Dequantizes, quantizes, and dequantizes what was made, to measure its error. */
static void piece_convert(const struct worker *worker, struct piece *p)
{
    const struct conversion *c = worker->c;
    const uint8_t *in = c->data + bytes_of(&c->from, p->first);
    uint64_t in_bytes = bytes_of(&c->from, p->elements);
    qkern_status status;

    p->error = (qkern_error)QKERN_ERROR_INIT;
    p->out_bytes = bytes_of(&c->to, p->elements);
    p->error_squares = p->squares = p->error_maximum = 0;
    status =
        qkern_dequantize(c->q, c->from.type, p->elements, in, in_bytes, worker->source, &p->error);
    if (status == QKERN_OK)
        status = qkern_quantize(c->q, c->to.type, p->elements, worker->source, p->out, p->out_bytes,
                                &p->error);
    if (status == QKERN_OK)
        status = qkern_dequantize(c->q, c->to.type, p->elements, p->out, p->out_bytes,
                                  worker->written, &p->error);
    p->error.status = status;
    if (status == QKERN_OK)
        piece_measure(p, worker->source, worker->written);
}

/* Converts pieces while there are any to take. Called and left with the lock held. */
static void pieces_take(const struct worker *worker)
{
    struct conversion *c = worker->c;

    while (c->next < c->piece_count) {
        struct piece *p = &c->pieces[c->next++];
        pthread_mutex_unlock(&c->lock);
        piece_convert(worker, p);
        pthread_mutex_lock(&c->lock);
        if (++c->finished == c->piece_count)
            pthread_cond_signal(&c->done);
    }
}

static void *worker_run(void *argument)
{
    const struct worker *worker = argument;
    struct conversion *c = worker->c;

    pthread_mutex_lock(&c->lock);
    while (!c->quit) {
        pieces_take(worker);
        if (!c->quit)
            pthread_cond_wait(&c->work, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void conversion_free(struct conversion *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    c->quit = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (uint32_t i = 1; i <= c->threads_started; i++)
        pthread_join(c->workers[i].thread, NULL);
    for (uint32_t i = 0; c->workers != NULL && i < c->worker_count; i++) {
        free(c->workers[i].source);
        free(c->workers[i].written);
    }
    for (uint32_t i = 0; c->pieces != NULL && i < c->piece_limit; i++)
        free(c->pieces[i].out);
    free(c->workers);
    free(c->pieces);
    pthread_cond_destroy(&c->done);
    pthread_cond_destroy(&c->work);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static bool conversion_allocate(struct conversion *c)
{
    c->workers = calloc(c->worker_count, sizeof *c->workers);
    c->pieces = calloc(c->piece_limit, sizeof *c->pieces);
    if (c->workers == NULL || c->pieces == NULL)
        return false;
    for (uint32_t i = 0; i < c->worker_count; i++) {
        struct worker *worker = &c->workers[i];
        worker->c = c;
        worker->source = malloc(PIECE_ELEMENTS * sizeof(float));
        worker->written = malloc(PIECE_ELEMENTS * sizeof(float));
        if (worker->source == NULL || worker->written == NULL)
            return false;
    }
    for (uint32_t i = 0; i < c->piece_limit; i++) {
        c->pieces[i].out = malloc(PIECE_BYTES_LIMIT);
        if (c->pieces[i].out == NULL)
            return false;
    }
    return true;
}

/* The workers block all signals, so that these reach the application's own threads. */
static bool conversion_start_threads(struct conversion *c)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (c->threads_started + 1 < c->worker_count) {
        struct worker *worker = &c->workers[c->threads_started + 1];
        if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0)
            break;
        c->threads_started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return c->threads_started + 1 == c->worker_count;
}

/* NULL if there is no memory for it, or no threads. */
static struct conversion *conversion_new(qkern *q, uint32_t threads)
{
    struct conversion *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->done, NULL);
    c->q = q;
    c->worker_count = threads;
    c->piece_limit = threads * PIECES_PER_THREAD;
    if (!conversion_allocate(c) || !conversion_start_threads(c)) {
        conversion_free(c);
        return NULL;
    }
    return c;
}

/* Converts the next batch and returns when all of it is done. */
static void conversion_run_batch(struct conversion *c)
{
    uint64_t first = c->position;

    pthread_mutex_lock(&c->lock);
    c->piece_count = 0;
    while (c->piece_count < c->piece_limit && first < c->elements) {
        struct piece *p = &c->pieces[c->piece_count++];
        p->first = first;
        p->elements = c->elements - first < PIECE_ELEMENTS ? c->elements - first : PIECE_ELEMENTS;
        first += p->elements;
    }
    c->next = c->finished = 0;
    pthread_cond_broadcast(&c->work);
    pieces_take(&c->workers[0]);
    while (c->finished < c->piece_count)
        pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* --- what a failure says ---------------------------------------------------------------------- */

/* The values of the elements around number `element`, as far as both types' blocks reach. */
static uint64_t values_around(const struct conversion *c, uint64_t element, float values[256])
{
    uint64_t first = element - element % c->from.block_elements;
    uint64_t count = c->from.block_elements > c->to.block_elements ? c->from.block_elements
                                                                   : c->to.block_elements;
    qkern_pin pin = {0};
    const struct qkern_kernel *kernel = NULL;

    if (count > c->elements - first)
        count = c->elements - first;
    if (count > 256)
        return 0;
    if (qkern_pin_begin(c->q, &pin) == QKERN_OK)
        kernel = qkern_pin_kernel(&pin, c->from.type);
    if (kernel != NULL && kernel->dequantize != NULL)
        kernel->dequantize(count, c->data + bytes_of(&c->from, first), values);
    else
        count = 0;
    qkern_pin_end(&pin);
    return count;
}

/* Writes what was found there: the first value that is not finite, else the largest magnitude. */
static void describe_values(const struct conversion *c, uint64_t element, char *text, size_t size)
{
    float values[256];
    uint64_t count = values_around(c, element, values);
    float largest = 0;

    text[0] = '\0';
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            snprintf(text, size, "; found %s",
                     isnan(values[i]) ? "a NaN"
                     : values[i] > 0  ? "+Inf"
                                      : "-Inf");
            return;
        }
        largest = fmaxf(largest, fabsf(values[i]));
    }
    if (count > 0)
        snprintf(text, size, "; found magnitudes up to %g", (double)largest);
}

/* --- the object ------------------------------------------------------------------------------- */

struct converter {
    struct conversion *c; /* NULL once closed */
    const struct mapping *mapping;
    qkern_gguf_tensor tensor;
    const uint8_t *released; /* the tensor's data up to here will not be read again */
};

/* User values: what the conversion looks at. */
enum { INSTANCE_VALUE = 1, MAPPING_VALUE, USER_VALUES = MAPPING_VALUE };

static struct conversion *converter_check(lua_State *L, struct converter **out)
{
    *out = luaL_checkudata(L, 1, CONVERTER_CLASS);
    if ((*out)->c == NULL)
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "the converter is closed");
    return (*out)->c;
}

static int converter_close(lua_State *L)
{
    struct converter *converter = luaL_checkudata(L, 1, CONVERTER_CLASS);
    struct conversion *c = converter->c;

    converter->c = NULL;
    conversion_free(c);
    return 0;
}

/* qk.converter(threads) */
static int converter_new(lua_State *L)
{
    lua_Integer threads = luaL_optinteger(L, 1, 1);

    luaL_argcheck(L, threads >= 1 && threads <= THREAD_LIMIT, 1, "expected 1 to 1024 threads");
    struct converter *converter = lua_newuserdatauv(L, sizeof *converter, USER_VALUES);
    *converter = (struct converter){.c = NULL};
    luaL_setmetatable(L, CONVERTER_CLASS);
    qkern *q = instance_push(L);
    lua_setiuservalue(L, -2, INSTANCE_VALUE);
    converter->c = conversion_new(q, (uint32_t)threads);
    if (converter->c == NULL)
        error_raise_text(L, QKERN_E_MEMORY, QKERN_NO_INDEX,
                         "no memory or no threads for converting on %d thread%s", (int)threads,
                         threads == 1 ? "" : "s");
    return 1;
}

/* Raises the piece's error, with its element as a row and an element of the tensor. */
__attribute__((noreturn)) static void raise_failure(lua_State *L, const struct converter *converter,
                                                    const struct piece *p)
{
    const struct conversion *c = converter->c;
    const qkern_gguf_tensor *tensor = &converter->tensor;
    int name_bytes = tensor->name_bytes < 200 ? (int)tensor->name_bytes : 200;
    char found[64];

    if (p->error.index == QKERN_NO_INDEX || tensor->shape[0] == 0)
        error_raise_text(L, (qkern_status)p->error.status, QKERN_NO_INDEX,
                         "tensor %.*s (%s to %s): %s", name_bytes, tensor->name, c->from.name,
                         c->to.name, p->error.message);
    uint64_t element = p->first + p->error.index;
    describe_values(c, element, found, sizeof found);
    error_raise_text(L, (qkern_status)p->error.status, element,
                     "tensor %.*s (%s to %s): row %llu, element %llu (both from 0): %s%s",
                     name_bytes, tensor->name, c->from.name, c->to.name,
                     (unsigned long long)(element / tensor->shape[0]),
                     (unsigned long long)(element % tensor->shape[0]),
                     qkern_status_text((qkern_status)p->error.status), found);
}

/* c:start(g, i, type): the next steps convert tensor number i of g to the type. */
static int converter_start(lua_State *L)
{
    qkern_error error = QKERN_ERROR_INIT;
    struct converter *converter;
    qkern_gguf_tensor tensor;
    qkern_type_info from = {.struct_size = sizeof from};
    qkern_type_info to;
    uint64_t row_bytes;
    struct conversion *c = converter_check(L, &converter);

    type_check(L, 4, &to);
    gguf_check_tensor(L, 2, 3, &tensor);
    if (qkern_type_get(tensor.type, &from, &error) != QKERN_OK ||
        qkern_row_bytes(to.type, tensor.shape[0], &row_bytes, &error) != QKERN_OK)
        error_raise(L, &error);
    if (PIECE_ELEMENTS % from.block_elements != 0 || PIECE_ELEMENTS % to.block_elements != 0)
        error_raise_text(L, QKERN_E_LIMIT, QKERN_NO_INDEX,
                         "blocks of %u and %u elements do not divide %d", from.block_elements,
                         to.block_elements, PIECE_ELEMENTS);
    converter->mapping = lua_touserdata(L, -1);
    lua_setiuservalue(L, 1, MAPPING_VALUE);
    converter->tensor = tensor;
    converter->released = tensor.data;
    c->data = tensor.data;
    c->from = from;
    c->to = to;
    c->elements = tensor.shape[0] * tensor.rows;
    c->position = 0;
    c->error_squares = c->squares = c->error_maximum = 0;
    return 0;
}

/* Tells the reader that the file will not be read again up to the current position. */
static void converter_release(struct converter *converter)
{
    const struct conversion *c = converter->c;
    const uint8_t *end = c->data + bytes_of(&c->from, c->position);
    const uint8_t *start = converter->released;

    if (start - c->data >= RELEASE_OVERLAP)
        start -= RELEASE_OVERLAP;
    else
        start = c->data;
    qkern_gguf_release(converter->mapping->file, start, (uint64_t)(end - start));
    converter->released = end;
}

/*
 * c:step(w): converts a batch and gives it to the writer. Returns the number of bytes read, or nil
 * when the tensor was already complete.
 */
static int converter_step(lua_State *L)
{
    struct converter *converter;
    struct conversion *c = converter_check(L, &converter);
    qkern_gguf_writer *w = writer_check(L, 2);
    uint64_t before = c->position;

    if (c->position == c->elements) {
        lua_pushnil(L);
        return 1;
    }
    instance_push(L); /* raises if it is closed, as the next line does for the file */
    if (converter->mapping->file == NULL)
        error_raise_text(L, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "the GGUF file is closed");
    conversion_run_batch(c);
    for (uint32_t i = 0; i < c->piece_count; i++) {
        const struct piece *p = &c->pieces[i];
        qkern_error error = QKERN_ERROR_INIT;
        if (p->error.status != QKERN_OK)
            raise_failure(L, converter, p);
        if (qkern_gguf_writer_write(w, p->out, p->out_bytes, &error) != QKERN_OK)
            error_raise(L, &error);
        c->position += p->elements;
        c->error_squares += p->error_squares;
        c->squares += p->squares;
        c->error_maximum = fmax(c->error_maximum, p->error_maximum);
    }
    converter_release(converter);
    lua_pushinteger(L, (lua_Integer)bytes_of(&c->from, c->position - before));
    return 1;
}

/*
 * c:result(): the relative root mean square error and the largest absolute error so far. Of zeros
 * that stayed zeros the first is 0.
 */
static int converter_result(lua_State *L)
{
    struct converter *converter;
    const struct conversion *c = converter_check(L, &converter);

    lua_pushnumber(L, c->error_squares > 0 ? sqrt(c->error_squares / c->squares) : 0);
    lua_pushnumber(L, c->error_maximum);
    return 2;
}

static const luaL_Reg metamethods[] = {
    {"__gc", converter_close}, {"__close", converter_close}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"start", converter_start},
                                   {"step", converter_step},
                                   {"result", converter_result},
                                   {"close", converter_close},
                                   {NULL, NULL}};
static const luaL_Reg functions[] = {{"converter", converter_new}, {NULL, NULL}};

void convert_register(lua_State *L)
{
    class_register(L, CONVERTER_CLASS, metamethods, methods);
    luaL_setfuncs(L, functions, 0);
}
