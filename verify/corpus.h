/* SPDX-License-Identifier: MIT */
/* Classes of failures that quantization kernels had in the field, each as a small input. */
#ifndef QKERN_VERIFY_CORPUS_H
#define QKERN_VERIFY_CORPUS_H

#include "judge.h"

/* The step "corpus" of each kind of entry point; false if a trial has failed. */
bool corpus_dot(struct judge *j);
bool corpus_dequantize(struct judge *j);
bool corpus_quantize(struct judge *j);

#endif
