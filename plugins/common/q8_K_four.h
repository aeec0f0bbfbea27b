/* SPDX-License-Identifier: MIT */
/* Four blocks of Q8_K activations where they lie, and their scales. */
#ifndef QKERN_COMMON_Q8_K_FOUR_H
#define QKERN_COMMON_Q8_K_FOUR_H

#include <qkern/blocks.h>

#include "bytes.h"
#include "step.h"

struct q8_K_four {
    const struct qkern_block_q8_K *block[4];
    f4 d;
};

ALWAYS_INLINE struct q8_K_four q8_K_load(int count, const struct qkern_block_q8_K *const x[4])
{
    (void)count;
    return (struct q8_K_four){
        .block = {x[0], x[1], x[2], x[3]},
        .d = {load_f32(x[0]->d), load_f32(x[1]->d), load_f32(x[2]->d), load_f32(x[3]->d)}};
}

#endif
