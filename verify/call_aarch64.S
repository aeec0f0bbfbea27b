/* SPDX-License-Identifier: MIT */
/* call_enter for 64-bit Arm, AAPCS64: see call_frame.h. */
#include "call_frame.h"

        .text
        .balign 4
        .globl  call_enter
        .hidden call_enter
        .type   call_enter, %function
call_enter:
        hint    #34 /* bti c */
        stp     x29, x30, [sp, #-176]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mrs     x9, fpcr
        str     x9, [sp, #160]
        adrp    x9, call_current
        str     x0, [x9, #:lo12:call_current]
        mov     x9, sp
        str     x9, [x0, #CALL_OWN_STACK]

        ldr     q0, [x0, #CALL_JUNK]
        .irp    n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        mov     v\n\().16b, v0.16b
        .endr
        add     x9, x0, #CALL_SAVED_VECTOR_IN
        ldp     d8, d9, [x9, #0]
        ldp     d10, d11, [x9, #16]
        ldp     d12, d13, [x9, #32]
        ldp     d14, d15, [x9, #48]
        ldr     x9, [x0, #CALL_FP_IN]
        msr     fpcr, x9
        ldp     x19, x20, [x0, #CALL_SAVED_IN+0]
        ldp     x21, x22, [x0, #CALL_SAVED_IN+16]
        ldp     x23, x24, [x0, #CALL_SAVED_IN+32]
        ldp     x25, x26, [x0, #CALL_SAVED_IN+48]
        ldp     x27, x28, [x0, #CALL_SAVED_IN+64]
        ldr     x29, [x0, #CALL_SAVED_IN+80]
        ldr     x9, [x0, #CALL_STACK]
        mov     sp, x9
        ldr     x16, [x0, #CALL_FUNCTION]
        ldr     x9, [x0, #CALL_JUNK]
        mov     x6, x9
        mov     x7, x9
        mov     x8, x9
        ldp     x2, x3, [x0, #CALL_ARGUMENTS+16]
        ldp     x4, x5, [x0, #CALL_ARGUMENTS+32]
        ldp     x0, x1, [x0, #CALL_ARGUMENTS+0]
        blr     x16

        /* No register is trusted from here on, the stack pointer least of all. */
        adrp    x16, call_current
        ldr     x16, [x16, #:lo12:call_current]
        mov     x17, sp
        str     x17, [x16, #CALL_STACK_OUT]
        ldr     x17, [x16, #CALL_OWN_STACK]
        mov     sp, x17
        add     x17, x16, #CALL_SAVED_OUT
        stp     x19, x20, [x17, #0]
        stp     x21, x22, [x17, #16]
        stp     x23, x24, [x17, #32]
        stp     x25, x26, [x17, #48]
        stp     x27, x28, [x17, #64]
        str     x29, [x17, #80]
        add     x17, x16, #CALL_SAVED_VECTOR_OUT
        stp     d8, d9, [x17, #0]
        stp     d10, d11, [x17, #16]
        stp     d12, d13, [x17, #32]
        stp     d14, d15, [x17, #48]
        str     d0, [x16, #CALL_RESULT]
        mrs     x17, fpcr
        str     x17, [x16, #CALL_FP_OUT]

        ldr     x9, [sp, #160]
        msr     fpcr, x9
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp], #176
        ret
        .size   call_enter, . - call_enter

        .bss
        .balign 8
        .type   call_current, %object
        .size   call_current, 8
call_current:
        .zero   8

        .section .note.GNU-stack, "", %progbits
