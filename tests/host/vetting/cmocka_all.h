/* SPDX-License-Identifier: MIT */
/* cmocka with the headers that it wants included before it. */
#ifndef QKERN_TESTS_CMOCKA_ALL_H
#define QKERN_TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
