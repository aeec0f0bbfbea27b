/* SPDX-License-Identifier: MIT */
/*
 * What call_enter (call_x86_64.S, call_aarch64.S) reads and writes, for C and for the assembler.
 *
 * call_enter fills every callee-saved register and the vector registers, changes to another stack,
 * calls, and notes what it finds afterwards, before it restores everything for its own caller.
 */
#ifndef QKERN_VERIFY_CALL_FRAME_H
#define QKERN_VERIFY_CALL_FRAME_H

/* In */
#define CALL_FUNCTION 0
#define CALL_ARGUMENTS 8
#define CALL_STACK 56
#define CALL_SAVED_IN 64         /* general registers that the function must keep */
#define CALL_SAVED_VECTOR_IN 160 /* vector registers that it must keep (Arm: d8 to d15) */
#define CALL_FP_IN 224           /* MXCSR or FPCR */
#define CALL_UPPER 232           /* how the upper halves are looked at, see below */
#define CALL_JUNK 240            /* 16 bytes for the other registers */

/* Out */
#define CALL_STACK_OUT 256
#define CALL_SAVED_OUT 264
#define CALL_SAVED_VECTOR_OUT 360
#define CALL_FP_OUT 424
#define CALL_FLAGS_OUT 432  /* x86: RFLAGS */
#define CALL_IN_USE_OUT 440 /* x86: XCR0 & XINUSE after the call */
#define CALL_RESULT 448     /* the float in the first vector register */
#define CALL_X87_OUT 456    /* x86: what FNSTENV stores, 28 bytes */
#define CALL_UPPER_OUT 488  /* x86: upper halves of ymm0 to ymm15, then of zmm0 to zmm15 */
#define CALL_OWN_STACK 1256
#define CALL_FRAME_BYTES 1264

/* CALL_UPPER: bits. Without AVX there is nothing to look at. */
#define UPPER_CLEAN 1    /* AVX: make them zero before the call */
#define UPPER_IN_USE 2   /* ask the CPU: XGETBV with ECX = 1 */
#define UPPER_READ_YMM 4 /* read them */
#define UPPER_READ_ZMM 8

#define CALL_SAVED_COUNT 12
#define CALL_SAVED_VECTOR_COUNT 8

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct call_frame {
    uint64_t function;
    uint64_t arguments[6];
    uint64_t stack;
    uint64_t saved_in[CALL_SAVED_COUNT];
    uint64_t saved_vector_in[CALL_SAVED_VECTOR_COUNT];
    uint64_t fp_in;
    uint64_t upper;
    uint64_t junk[2];

    uint64_t stack_out;
    uint64_t saved_out[CALL_SAVED_COUNT];
    uint64_t saved_vector_out[CALL_SAVED_VECTOR_COUNT];
    uint64_t fp_out;
    uint64_t flags_out;
    uint64_t in_use_out;
    uint64_t result;
    uint8_t x87_out[32];
    uint8_t upper_out[768];
    uint64_t own_stack;
};

#define FRAME_CHECK(FIELD, OFFSET)                                                                 \
    _Static_assert(offsetof(struct call_frame, FIELD) == (OFFSET), #FIELD)
FRAME_CHECK(arguments, CALL_ARGUMENTS);
FRAME_CHECK(stack, CALL_STACK);
FRAME_CHECK(saved_in, CALL_SAVED_IN);
FRAME_CHECK(saved_vector_in, CALL_SAVED_VECTOR_IN);
FRAME_CHECK(fp_in, CALL_FP_IN);
FRAME_CHECK(upper, CALL_UPPER);
FRAME_CHECK(junk, CALL_JUNK);
FRAME_CHECK(stack_out, CALL_STACK_OUT);
FRAME_CHECK(saved_out, CALL_SAVED_OUT);
FRAME_CHECK(saved_vector_out, CALL_SAVED_VECTOR_OUT);
FRAME_CHECK(fp_out, CALL_FP_OUT);
FRAME_CHECK(flags_out, CALL_FLAGS_OUT);
FRAME_CHECK(in_use_out, CALL_IN_USE_OUT);
FRAME_CHECK(result, CALL_RESULT);
FRAME_CHECK(x87_out, CALL_X87_OUT);
FRAME_CHECK(upper_out, CALL_UPPER_OUT);
FRAME_CHECK(own_stack, CALL_OWN_STACK);
_Static_assert(sizeof(struct call_frame) == CALL_FRAME_BYTES, "size");
#undef FRAME_CHECK

/* Calls frame->function. One call at a time in a process. */
void call_enter(struct call_frame *frame);
#endif

#endif
