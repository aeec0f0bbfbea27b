/* SPDX-License-Identifier: MIT */
/* Types, entry points and the kernels that everything is held to. */
#ifndef QKERN_VERIFY_FACTS_H
#define QKERN_VERIFY_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <qkern.h>

/* The scalar plugin as it is linked in: the definition of every kernel. */
extern const struct qkern_plugin qkern_plugin_scalar;

/* Its kernel of a type; NULL if there is none. */
const struct qkern_kernel *reference_kernel(uint32_t type);

/* "Q4_K"; "?" for a number that is no type. */
const char *type_name(uint32_t type);

/* An entry point of a kernel (QKERN_ENTRY_...) as a plain function; NULL if it is not there. */
typedef void (*entry_fn)(void);
entry_fn entry_of(const struct qkern_kernel *kernel, uint32_t entry);

/* Bytes of a row of n elements. */
static inline size_t row_size(const struct qkern_kernel *k, uint64_t n)
{
    return (size_t)(n / k->block_elements * k->block_bytes);
}

/* Whether the type's blocks hold codes and scales: all but the float types. */
static inline bool is_quantized(const struct qkern_kernel *k)
{
    return k->block_elements > 1;
}

#endif
