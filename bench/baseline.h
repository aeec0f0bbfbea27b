/* SPDX-License-Identifier: MIT */
/* baseline.tsv, built in: what others reach, and on what core. */
#ifndef QKERN_BENCH_BASELINE_H
#define QKERN_BENCH_BASELINE_H

/* The file's text. */
extern const char bench_baseline[];

#endif
