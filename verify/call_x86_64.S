/* SPDX-License-Identifier: MIT */
/* call_enter for x86-64, System V: see call_frame.h. */
#include "call_frame.h"

        .text
        .globl  call_enter
        .hidden call_enter
        .type   call_enter, @function
call_enter:
        endbr64
        pushq   %rbx
        pushq   %rbp
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        subq    $8, %rsp
        stmxcsr (%rsp)
        fnstcw  4(%rsp)
        movq    %rdi, call_current(%rip)
        movq    %rsp, CALL_OWN_STACK(%rdi)

        testq   $UPPER_CLEAN, CALL_UPPER(%rdi)
        jz      1f
        vzeroupper
1:
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movdqu  CALL_JUNK(%rdi), %xmm\n
        .endr
        ldmxcsr CALL_FP_IN(%rdi)

        movq    CALL_SAVED_IN+0(%rdi), %rbx
        movq    CALL_SAVED_IN+8(%rdi), %rbp
        movq    CALL_SAVED_IN+16(%rdi), %r12
        movq    CALL_SAVED_IN+24(%rdi), %r13
        movq    CALL_SAVED_IN+32(%rdi), %r14
        movq    CALL_SAVED_IN+40(%rdi), %r15
        movq    CALL_STACK(%rdi), %rsp
        movq    CALL_FUNCTION(%rdi), %r11
        movq    CALL_JUNK(%rdi), %rax
        movq    CALL_JUNK(%rdi), %r10
        movq    CALL_ARGUMENTS+8(%rdi), %rsi
        movq    CALL_ARGUMENTS+16(%rdi), %rdx
        movq    CALL_ARGUMENTS+24(%rdi), %rcx
        movq    CALL_ARGUMENTS+32(%rdi), %r8
        movq    CALL_ARGUMENTS+40(%rdi), %r9
        movq    CALL_ARGUMENTS+0(%rdi), %rdi
        call    *%r11

        /* No register is trusted from here on, the stack pointer least of all. */
        movq    call_current(%rip), %r11
        movq    %rsp, CALL_STACK_OUT(%r11)
        movq    CALL_OWN_STACK(%r11), %rsp
        pushfq
        popq    CALL_FLAGS_OUT(%r11)
        cld
        movq    %rbx, CALL_SAVED_OUT+0(%r11)
        movq    %rbp, CALL_SAVED_OUT+8(%r11)
        movq    %r12, CALL_SAVED_OUT+16(%r11)
        movq    %r13, CALL_SAVED_OUT+24(%r11)
        movq    %r14, CALL_SAVED_OUT+32(%r11)
        movq    %r15, CALL_SAVED_OUT+40(%r11)
        movq    %xmm0, CALL_RESULT(%r11)
        stmxcsr CALL_FP_OUT(%r11)
        fnstenv CALL_X87_OUT(%r11)

        testq   $UPPER_IN_USE, CALL_UPPER(%r11)
        jz      2f
        movl    $1, %ecx
        xgetbv
        movl    %eax, CALL_IN_USE_OUT(%r11)
2:
        testq   $UPPER_READ_YMM, CALL_UPPER(%r11)
        jz      3f
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        vextractf128 $1, %ymm\n, CALL_UPPER_OUT+16*\n(%r11)
        .endr
3:
        testq   $UPPER_READ_ZMM, CALL_UPPER(%r11)
        jz      4f
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        vextractf64x4 $1, %zmm\n, CALL_UPPER_OUT+256+32*\n(%r11)
        .endr
4:
        testq   $UPPER_CLEAN, CALL_UPPER(%r11)
        jz      5f
        vzeroupper
5:
        fninit
        fldcw   4(%rsp)
        ldmxcsr (%rsp)
        addq    $8, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbp
        popq    %rbx
        ret
        .size   call_enter, . - call_enter

        .bss
        .balign 8
        .type   call_current, @object
        .size   call_current, 8
call_current:
        .zero   8

        .section .note.GNU-stack, "", @progbits
