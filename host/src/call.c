/* SPDX-License-Identifier: MIT */
/* The beginning of checked calls, and the rows that they read. */
#include "call.h"

#include <inttypes.h>

#include "check.h"
#include "error.h"
#include "plugin.h"

qkern_status call_begin(struct call *call, const char *function, qkern *q, uint32_t type,
                        uint64_t n, uint32_t entry, qkern_error *error)
{
    *call = (struct call){.function = function, .n = n};
    call->type.struct_size = (uint32_t)sizeof call->type;
    if (q == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: q is NULL", function);
    qkern_status status = qkern_type_get(type, &call->type, error);
    if (status == QKERN_OK)
        status = qkern_row_bytes(type, n, &call->row_bytes, error);
    if (status == QKERN_OK)
        status = float_bytes(function, n, &call->float_bytes, error);
    if (status != QKERN_OK)
        return status;

    pin_begin(&q->pins, &call->pin);
    call->kernel = call->pin.generation->kernels[type];
    if (!kernel_has(&call->kernel, entry))
        status = error_set(error, QKERN_E_TYPE, QKERN_NO_INDEX, "%s: no plugin has %s of %s",
                           function, qkern_entry_name(entry), call->type.name);
    else if (!layout_known(type))
        status = error_set(error, QKERN_E_TYPE, QKERN_NO_INDEX,
                           "%s: there is no check for %s in this version: use its kernel through "
                           "a pin",
                           function, call->type.name);
    if (status != QKERN_OK)
        qkern_pin_end(&call->pin);
    return status;
}

qkern_status call_activations(const struct call *call, uint64_t activations_bytes,
                              qkern_type_info *dot, qkern_error *error)
{
    uint64_t needed;

    *dot = (qkern_type_info){.struct_size = (uint32_t)sizeof *dot};
    qkern_status status = qkern_type_get(call->type.dot_type, dot, error);
    if (status == QKERN_OK)
        status = qkern_row_bytes(dot->type, call->n, &needed, error);
    if (status == QKERN_OK)
        status = size_check(call->function, "activations_bytes", needed, activations_bytes, error);
    return status;
}

qkern_status row_check(const char *function, const char *name, const qkern_type_info *type,
                       uint64_t n, const void *data, qkern_error *error)
{
    struct block_fault fault;
    qkern_status status = blocks_check(type->type, n / type->block_elements, data, &fault);

    if (status == QKERN_E_NONFINITE)
        return error_set(error, status, fault.block * type->block_elements,
                         "%s: %s: %s of %s block %" PRIu64 " is not a finite number", function,
                         name, fault.field, type->name, fault.block);
    if (status == QKERN_E_DATA)
        return error_set(error, status, fault.block * type->block_elements,
                         "%s: %s: %s %u of %s block %" PRIu64
                         " is stored as %d, but its codes add up to %d",
                         function, name, fault.field, fault.group, type->name, fault.block,
                         fault.found, fault.expected);
    return QKERN_OK;
}
