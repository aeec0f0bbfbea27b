/* SPDX-License-Identifier: MIT */
/* Reads golden-vector files, whose format tests/golden/README.md describes. */
#ifndef QKERN_TESTS_GOLDEN_READER_H
#define QKERN_TESTS_GOLDEN_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum golden_kind { GOLDEN_QUANT, GOLDEN_DEQ, GOLDEN_DOT };

/* Bytes that belong to their struct; NULL and 0 where the file has none. */
struct golden_bytes {
    uint8_t *data;
    size_t size;
};

/* Vectors are little-endian f32; their storage is aligned for float. */
struct golden_case {
    char name[64];
    unsigned line; /* where it starts */
    enum golden_kind kind;
    bool chunk; /* via=chunk: by the general entry; otherwise by the _ref function */
    uint64_t n;
    uint64_t rows;
    char activation[16];            /* act=, "" if none */
    struct golden_bytes x;          /* the input: x or xref */
    struct golden_bytes importance; /* imref, as long as a row */
    struct golden_bytes q;
    struct golden_bytes y;
    struct golden_bytes a;
    struct golden_bytes a_input; /* axref: a is its quantization */
    float dot;
    bool has_dot;
    double dot_magnitude; /* dotabs */
    bool has_dot_magnitude;
};

struct golden_input {
    char name[64];
    uint64_t n;
    struct golden_bytes x;
};

struct golden_inputs {
    struct golden_input *list;
    size_t count;
};

struct golden_reader {
    FILE *file;
    const struct golden_inputs *inputs;
    const char *path; /* as given to golden_open; must outlive the reader */
    unsigned line;
    char error[512]; /* "FILE:LINE: what was expected and found", "" if none */
    char type[16];
    uint64_t type_id;
    uint64_t block_elements;
    uint64_t block_bytes;
};

/* Reads all vectors of inputs.txt. On failure returns false with a message in error. */
bool golden_inputs_read(const char *path, struct golden_inputs *inputs, char error[512]);
void golden_inputs_free(struct golden_inputs *inputs);

/*
 * Opens a file of one type and reads its `type` line. References go to inputs. On failure returns
 * false with reader->error set and nothing open.
 */
bool golden_open(struct golden_reader *reader, const char *path,
                 const struct golden_inputs *inputs);

/*
 * Reads the next case: 1, or 0 at the end of the file, or -1 with reader->error set. What a kind
 * must have is there after 1, with sizes that fit n. Free the case after 1.
 */
int golden_next(struct golden_reader *reader, struct golden_case *c);
void golden_case_free(struct golden_case *c);
void golden_close(struct golden_reader *reader);

#endif
