/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with one thing, before anyone has said with which: the parts that check values,
 * shapes and names fill a fault, and the public calls make it a qkern_error by naming the file and
 * the key or tensor.
 */
#ifndef QKERN_GGUF_FAULT_H
#define QKERN_GGUF_FAULT_H

#include <qkern.h>

typedef struct fault {
    qkern_status status;
    char text[288];
} fault;

/* Fills *f and returns status. */
__attribute__((format(printf, 3, 4))) qkern_status fault_set(fault *f, qkern_status status,
                                                             const char *format, ...);

/* QKERN_E_IO, or QKERN_E_MEMORY for ENOMEM, with "what: " and the text of errno. */
qkern_status fault_errno(fault *f, const char *what);

/* QKERN_E_MEMORY, and what it was wanted for. */
qkern_status fault_memory(fault *f, const char *what);

/*
 * Bytes of a file in a form fit for a message: control characters, and all else beyond ASCII if the
 * bytes are not UTF-8, stand as \xNN; what does not fit the buffer becomes "...". Returns buffer.
 */
const char *quote(char *buffer, size_t size, const void *bytes, uint64_t count);

#define QUOTE_BYTES 96

/* A path for messages: quoted, and of a long one only the end. */
typedef struct label {
    char text[200];
} label;

void label_set(label *l, const char *path);

#endif
