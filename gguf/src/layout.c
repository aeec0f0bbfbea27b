/* SPDX-License-Identifier: MIT */
#include "layout.h"

#include "little_endian.h"

#define ALIGNMENT_LEAST 8u

qkern_status tensor_measure(tensor *t, fault *f)
{
    qkern_error error = QKERN_ERROR_INIT;
    uint64_t elements = 1;

    if (t->dimensions > QKERN_GGUF_DIMENSION_LIMIT)
        return fault_set(f, QKERN_E_LIMIT, "has %u dimensions, the limit is %u", t->dimensions,
                         QKERN_GGUF_DIMENSION_LIMIT);
    for (uint32_t i = 0; i < t->dimensions; i++) {
        if (t->shape[i] == 0)
            return fault_set(f, QKERN_E_FORMAT, "dimension %u is 0, expected at least 1", i);
        if (t->shape[i] > INT64_MAX / elements)
            return fault_set(f, QKERN_E_LIMIT,
                             "dimension %u is %llu: the number of elements does not fit 63 bits", i,
                             (unsigned long long)t->shape[i]);
        elements *= t->shape[i];
    }
    for (uint32_t i = t->dimensions; i < QKERN_GGUF_DIMENSION_LIMIT; i++)
        t->shape[i] = 1;
    t->rows = elements / t->shape[0];
    if (qkern_row_bytes(t->type, t->shape[0], &t->row_bytes, &error) != QKERN_OK)
        return fault_set(f, (qkern_status)error.status, "%s", error.message);
    if (t->row_bytes > INT64_MAX / t->rows)
        return fault_set(f, QKERN_E_LIMIT, "%llu rows of %llu bytes: the size does not fit 63 bits",
                         (unsigned long long)t->rows, (unsigned long long)t->row_bytes);
    t->bytes = t->rows * t->row_bytes;
    return QKERN_OK;
}

qkern_status alignment_read(uint32_t value_type, const uint8_t *encoded, uint64_t *alignment,
                            fault *f)
{
    if (value_type != QKERN_GGUF_UINT32)
        return fault_set(f, QKERN_E_FORMAT, "the value is %s, expected u32",
                         qkern_gguf_value_name(value_type));
    uint32_t value = bytes_le32(encoded);
    if (value < ALIGNMENT_LEAST || (value & (value - 1)) != 0)
        return fault_set(f, QKERN_E_FORMAT, "the value is %u, expected a power of two from %u",
                         value, ALIGNMENT_LEAST);
    if (value > QKERN_GGUF_ALIGNMENT_LIMIT)
        return fault_set(f, QKERN_E_LIMIT, "the value is %u, the limit is %u", value,
                         QKERN_GGUF_ALIGNMENT_LIMIT);
    *alignment = value;
    return QKERN_OK;
}
