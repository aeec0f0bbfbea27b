/* SPDX-License-Identifier: MIT */
#include "value.h"

#include <string.h>

#include "copy_out.h"
#include "error.h"

#define STRING_HEADER 8u /* u64 length */
#define ARRAY_HEADER 12u /* u32 element type, u64 count */

#define ROW(IDENTIFIER, NUMBER, TEXT, BYTES) [NUMBER] = {TEXT, BYTES},
static const struct value_kind {
    const char *name;
    uint32_t bytes; /* 0: they vary */
} kinds[QKERN_GGUF_VALUE_LIMIT] = {QKERN_GGUF_VALUES(ROW)};
#undef ROW

const char *qkern_gguf_value_name(uint32_t value_type)
{
    return value_type < QKERN_GGUF_VALUE_LIMIT ? kinds[value_type].name : NULL;
}

/* The fewest bytes that a value of the type takes. */
static uint32_t bytes_at_least(uint32_t value_type)
{
    if (value_type == QKERN_GGUF_STRING)
        return STRING_HEADER;
    if (value_type == QKERN_GGUF_ARRAY)
        return ARRAY_HEADER;
    return kinds[value_type].bytes;
}

static qkern_status type_check(uint32_t value_type, const char *what, fault *f)
{
    if (value_type >= QKERN_GGUF_VALUE_LIMIT)
        return fault_set(f, QKERN_E_FORMAT, "%s is %u, expected 0 to %u", what, value_type,
                         QKERN_GGUF_VALUE_LIMIT - 1);
    return QKERN_OK;
}

static qkern_status string_skip(cursor *c, fault *f)
{
    uint64_t length;
    const uint8_t *bytes;

    if (!cursor_u64(c, &length))
        return fault_set(f, QKERN_E_FORMAT, "ends within the length of a string");
    if (!cursor_take(c, length, &bytes))
        return fault_set(f, QKERN_E_FORMAT, "a string of %llu bytes, but only %llu bytes are left",
                         (unsigned long long)length, (unsigned long long)c->left);
    return QKERN_OK;
}

static qkern_status bools_check(const uint8_t *bytes, uint64_t count, fault *f)
{
    for (uint64_t i = 0; i < count; i++)
        if (bytes[i] > 1)
            return fault_set(f, QKERN_E_FORMAT, "a bool is %u, expected 0 or 1", bytes[i]);
    return QKERN_OK;
}

/* Values that are no arrays. */
static qkern_status plain_skip(cursor *c, uint32_t value_type, uint64_t count, fault *f)
{
    if (value_type == QKERN_GGUF_STRING) {
        qkern_status status = QKERN_OK;

        for (uint64_t i = 0; i < count && status == QKERN_OK; i++)
            status = string_skip(c, f);
        return status;
    }
    const uint8_t *bytes;
    /* The product cannot wrap: an array's count has been held against the bytes left. */
    if (!cursor_take(c, count * kinds[value_type].bytes, &bytes))
        return fault_set(f, QKERN_E_FORMAT, "%s takes %u bytes, but only %llu bytes are left",
                         kinds[value_type].name, kinds[value_type].bytes,
                         (unsigned long long)c->left);
    return value_type == QKERN_GGUF_BOOL ? bools_check(bytes, count, f) : QKERN_OK;
}

static qkern_status array_header_take(cursor *c, uint32_t *element_type, uint64_t *count, fault *f)
{
    if (!cursor_u32(c, element_type) || !cursor_u64(c, count))
        return fault_set(f, QKERN_E_FORMAT, "ends within the header of an array");
    qkern_status status = type_check(*element_type, "the element type of an array", f);
    if (status != QKERN_OK)
        return status;
    if (*count > c->left / bytes_at_least(*element_type))
        return fault_set(
            f, QKERN_E_FORMAT, "an array of %llu elements of type %s, but only %llu bytes are left",
            (unsigned long long)*count, kinds[*element_type].name, (unsigned long long)c->left);
    return QKERN_OK;
}

static qkern_status array_skip(cursor *c, fault *f)
{
    uint64_t pending[QKERN_GGUF_NESTING_LIMIT] = {1}; /* arrays still to come, by depth */
    uint32_t depth = 0;

    for (;;) {
        while (pending[depth] == 0) {
            if (depth == 0)
                return QKERN_OK;
            depth--;
        }
        pending[depth]--;

        uint32_t element_type = 0;
        uint64_t count = 0;
        qkern_status status = array_header_take(c, &element_type, &count, f);
        if (status == QKERN_OK && element_type != QKERN_GGUF_ARRAY)
            status = plain_skip(c, element_type, count, f);
        if (status != QKERN_OK)
            return status;
        if (element_type == QKERN_GGUF_ARRAY) {
            if (depth + 1 == QKERN_GGUF_NESTING_LIMIT)
                return fault_set(f, QKERN_E_LIMIT, "arrays are nested deeper than %u",
                                 QKERN_GGUF_NESTING_LIMIT);
            pending[++depth] = count;
        }
    }
}

qkern_status value_skip(cursor *c, uint32_t value_type, fault *f)
{
    qkern_status status = type_check(value_type, "the value type", f);

    if (status != QKERN_OK)
        return status;
    if (value_type == QKERN_GGUF_ARRAY)
        return array_skip(c, f);
    return plain_skip(c, value_type, 1, f);
}

void value_view(uint32_t value_type, const uint8_t *encoded, uint64_t encoded_bytes,
                qkern_gguf_value *out)
{
    *out = (qkern_gguf_value){
        .struct_size = (uint32_t)sizeof *out,
        .value_type = value_type,
        .element_type = value_type,
        .count = 1,
        .bytes = encoded_bytes,
        .data = encoded,
    };
    if (value_type == QKERN_GGUF_STRING) {
        out->data += STRING_HEADER;
        out->bytes -= STRING_HEADER;
    } else if (value_type == QKERN_GGUF_ARRAY) {
        out->element_type = bytes_le32(encoded);
        out->count = bytes_le64(encoded + 4);
        out->data += ARRAY_HEADER;
        out->bytes -= ARRAY_HEADER;
    }
}

/* --- what a program does with values ---------------------------------------------------------- */

/* Whether a value given by the caller has all the fields that this file reads. */
static qkern_status value_argument(const qkern_gguf_value *value, const void *out, const char *call,
                                   qkern_error *error)
{
    if (value == NULL || out == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: %s is NULL", call,
                         value == NULL ? "the value" : "the output");
    if (value->struct_size < sizeof *value)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "%s: struct_size of the value is %u, expected %zu", call,
                         value->struct_size, sizeof *value);
    if (value->value_type >= QKERN_GGUF_VALUE_LIMIT)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "%s: %u is not the number of a value type", call, value->value_type);
    return QKERN_OK;
}

qkern_status qkern_gguf_array_next(const qkern_gguf_value *array, uint64_t *position,
                                   qkern_gguf_value *element, qkern_error *error)
{
    static const char call[] = "qkern_gguf_array_next";
    qkern_status status = value_argument(array, element, call, error);
    qkern_gguf_value view;
    fault f;

    if (status != QKERN_OK)
        return status;
    if (position == NULL)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: the position is NULL", call);
    if (array->value_type != QKERN_GGUF_ARRAY)
        return error_set(error, QKERN_E_TYPE, QKERN_NO_INDEX, "%s: the value is %s, not an array",
                         call, kinds[array->value_type].name);
    if (*position > array->bytes)
        return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX,
                         "%s: the position is %llu, beyond the %llu bytes of the array", call,
                         (unsigned long long)*position, (unsigned long long)array->bytes);
    if (*position == array->bytes)
        return error_set(error, QKERN_E_NOT_FOUND, QKERN_NO_INDEX, "%s: the array ends here", call);

    const uint8_t *encoded = array->data + *position;
    cursor c = {encoded, array->bytes - *position};
    status = value_skip(&c, array->element_type, &f);
    if (status != QKERN_OK)
        return error_set(error, status, QKERN_NO_INDEX, "%s: at byte %llu of the array: %s", call,
                         (unsigned long long)*position, f.text);
    value_view(array->element_type, encoded, (uint64_t)(c.at - encoded), &view);
    status = copy_out(&view, sizeof view, element, "qkern_gguf_value", error);
    if (status == QKERN_OK)
        *position = (uint64_t)(c.at - array->data);
    return status;
}

typedef struct number {
    enum { NOT_A_NUMBER, NOT_NEGATIVE, NEGATIVE, REAL } kind;
    uint64_t integer; /* of a negative one the two's complement */
    double real;
} number;

static number number_integer(int64_t value)
{
    return (number){value < 0 ? NEGATIVE : NOT_NEGATIVE, (uint64_t)value, 0};
}

static number number_read(const qkern_gguf_value *value)
{
    const uint8_t *p = value->data;
    uint64_t bits64;
    uint32_t bits32;
    double f64;
    float f32;

    switch (value->value_type) {
    case QKERN_GGUF_UINT8:
    case QKERN_GGUF_BOOL:
        return (number){NOT_NEGATIVE, *p, 0};
    case QKERN_GGUF_INT8:
        return number_integer((int8_t)*p);
    case QKERN_GGUF_UINT16:
        return (number){NOT_NEGATIVE, bytes_le16(p), 0};
    case QKERN_GGUF_INT16:
        return number_integer((int16_t)bytes_le16(p));
    case QKERN_GGUF_UINT32:
        return (number){NOT_NEGATIVE, bytes_le32(p), 0};
    case QKERN_GGUF_INT32:
        return number_integer((int32_t)bytes_le32(p));
    case QKERN_GGUF_UINT64:
        return (number){NOT_NEGATIVE, bytes_le64(p), 0};
    case QKERN_GGUF_INT64:
        return number_integer((int64_t)bytes_le64(p));
    case QKERN_GGUF_FLOAT32:
        bits32 = bytes_le32(p);
        memcpy(&f32, &bits32, sizeof f32);
        return (number){REAL, 0, f32};
    case QKERN_GGUF_FLOAT64:
        bits64 = bytes_le64(p);
        memcpy(&f64, &bits64, sizeof f64);
        return (number){REAL, 0, f64};
    default:
        return (number){NOT_A_NUMBER, 0, 0};
    }
}

static qkern_status kind_error(const char *call, const char *expected,
                               const qkern_gguf_value *value, qkern_error *error)
{
    return error_set(error, QKERN_E_TYPE, QKERN_NO_INDEX, "%s: the value is %s, expected %s", call,
                     kinds[value->value_type].name, expected);
}

/* The number of an integer or a bool, for `call`. */
static qkern_status integer_read(const qkern_gguf_value *value, const void *out, const char *call,
                                 number *n, qkern_error *error)
{
    qkern_status status = value_argument(value, out, call, error);

    if (status != QKERN_OK)
        return status;
    *n = number_read(value);
    if (n->kind == NOT_A_NUMBER || n->kind == REAL)
        return kind_error(call, "an integer or a bool", value, error);
    return QKERN_OK;
}

qkern_status qkern_gguf_value_u64(const qkern_gguf_value *value, uint64_t *out, qkern_error *error)
{
    static const char call[] = "qkern_gguf_value_u64";
    number n;
    qkern_status status = integer_read(value, out, call, &n, error);

    if (status != QKERN_OK)
        return status;
    if (n.kind == NEGATIVE)
        return error_set(error, QKERN_E_LIMIT, QKERN_NO_INDEX, "%s: %lld is negative", call,
                         (long long)(int64_t)n.integer);
    *out = n.integer;
    return QKERN_OK;
}

qkern_status qkern_gguf_value_i64(const qkern_gguf_value *value, int64_t *out, qkern_error *error)
{
    static const char call[] = "qkern_gguf_value_i64";
    number n;
    qkern_status status = integer_read(value, out, call, &n, error);

    if (status != QKERN_OK)
        return status;
    if (n.kind == NOT_NEGATIVE && n.integer > INT64_MAX)
        return error_set(error, QKERN_E_LIMIT, QKERN_NO_INDEX, "%s: %llu does not fit 63 bits",
                         call, (unsigned long long)n.integer);
    *out = (int64_t)n.integer;
    return QKERN_OK;
}

qkern_status qkern_gguf_value_f64(const qkern_gguf_value *value, double *out, qkern_error *error)
{
    static const char call[] = "qkern_gguf_value_f64";
    const uint64_t exact = UINT64_C(1) << 53; /* integers up to here are doubles */
    qkern_status status = value_argument(value, out, call, error);

    if (status != QKERN_OK)
        return status;
    number n = number_read(value);
    if (n.kind == NOT_A_NUMBER)
        return kind_error(call, "a number or a bool", value, error);
    if (n.kind == REAL) {
        *out = n.real;
        return QKERN_OK;
    }
    uint64_t magnitude = n.kind == NEGATIVE ? 0 - n.integer : n.integer;
    if (magnitude > exact)
        return error_set(error, QKERN_E_LIMIT, QKERN_NO_INDEX,
                         "%s: %s%llu is beyond 2^53, where not every integer is a double", call,
                         n.kind == NEGATIVE ? "-" : "", (unsigned long long)magnitude);
    *out = n.kind == NEGATIVE ? -(double)magnitude : (double)magnitude;
    return QKERN_OK;
}
