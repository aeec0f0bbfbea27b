/* SPDX-License-Identifier: MIT */
/*
 * The limits of a core: how fast it reads, multiplies and copies when it does nothing else. Figures
 * of two machines, or of two hours, are compared through them.
 *
 * Each is compiled for its instruction set in a file of its own, and run only where libqkern
 * reports the features.
 */
#ifndef QKERN_BENCH_LIMITS_H
#define QKERN_BENCH_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qkern.h>

enum bench_limit_kind {
    BENCH_LIMIT_READ, /* all of `in` */
    BENCH_LIMIT_DOT,  /* `in` as u8 times `other` as i8, added up */
    BENCH_LIMIT_COPY  /* `in` to `other` */
};

/*
 * in and other are at multiples of 64; bytes is a multiple of 512 for dots and copies. A reader
 * takes any number and reads up to the next multiple of 64.
 *
 * Returns what depends on all of it, so that nothing can be left out: a reader all 64-bit words
 * or'ed together, a dot product the sum in its lower 32 bits, a copy some byte that was written.
 */
typedef uint64_t (*bench_limit_fn)(const uint8_t *in, uint8_t *other, size_t bytes);

struct bench_limit {
    const char *name; /* "read_avx2": in JSON and in baseline.tsv */
    const char *text; /* "read, AVX2 loads" */
    enum bench_limit_kind kind;
    const char *features[3]; /* that libqkern must report; NULL after the last */
    bench_limit_fn run;
};

/* What the bytes of a dot product or a copy are: those of 4096 elements. */
#define BENCH_LIMIT_DOT_BYTES 4096u
#define BENCH_LIMIT_COPY_BYTES (4096u * 4u)

/* Those of this architecture, kind by kind, the widest instructions last. */
extern const struct bench_limit bench_limits[];
extern const uint32_t bench_limit_count;

/* Whether libqkern reports what it needs as usable. */
bool bench_limit_usable(const struct bench_limit *limit, const qkern *q);

/* The bytes that one run of a dot or a copy takes from `in`. */
size_t bench_limit_bytes(const struct bench_limit *limit);

/* The parts for each instruction set. */
uint64_t bench_read_sse2(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_read_avx2(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_read_avx512(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_read_neon(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_dot_maddubs(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_dot_dpbusd_avxvnni(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_dot_dpbusd_256(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_dot_dpbusd_512(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_dot_sdot(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_copy_avx2(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_copy_avx512(const uint8_t *in, uint8_t *other, size_t bytes);
uint64_t bench_copy_neon(const uint8_t *in, uint8_t *other, size_t bytes);

#endif
