/* SPDX-License-Identifier: MIT */
#include "facts.h"

const struct qkern_kernel *reference_kernel(uint32_t type)
{
    for (uint32_t i = 0; i < qkern_plugin_scalar.kernel_count; i++)
        if (qkern_plugin_scalar.kernels[i]->type == type)
            return qkern_plugin_scalar.kernels[i];
    return NULL;
}

const char *type_name(uint32_t type)
{
#define NAME(NAME, NUMBER, ELEMENTS, BYTES, DOT) [NUMBER] = #NAME,
    static const char *const names[QKERN_TYPE_LIMIT] = {QKERN_TYPES(NAME)};
#undef NAME
    return type < QKERN_TYPE_LIMIT && names[type] != NULL ? names[type] : "?";
}

entry_fn entry_of(const struct qkern_kernel *kernel, uint32_t entry)
{
    switch (entry) {
    case QKERN_ENTRY_QUANTIZE:
        return (entry_fn)kernel->quantize;
    case QKERN_ENTRY_DEQUANTIZE:
        return (entry_fn)kernel->dequantize;
    case QKERN_ENTRY_VEC_DOT:
        return (entry_fn)kernel->vec_dot;
    case QKERN_ENTRY_QUANTIZE_WEIGHTED:
        return (entry_fn)kernel->quantize_weighted;
    case QKERN_ENTRY_VEC_DOT_ROWS:
        return (entry_fn)kernel->vec_dot_rows;
    default:
        return NULL;
    }
}
