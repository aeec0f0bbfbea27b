/* SPDX-License-Identifier: MIT */
/* Checks of arguments and data. */
#include "check.h"

#include <inttypes.h>
#include <string.h>

#include <qkern/blocks.h>

#include "error.h"

/* --- arguments -------------------------------------------------------------------------------- */

static bool spans_overlap(const struct span *a, const struct span *b)
{
    uintptr_t a_start = (uintptr_t)a->data, b_start = (uintptr_t)b->data;

    return a_start < b_start + b->bytes && b_start < a_start + a->bytes;
}

qkern_status spans_check(const struct span *spans, size_t count, const char *function,
                         qkern_error *error)
{
    const struct span *output = &spans[count - 1];

    for (size_t i = 0; i < count; i++) {
        const struct span *span = &spans[i];
        if (span->data == NULL)
            return error_set(error, QKERN_E_ARGUMENT, QKERN_NO_INDEX, "%s: %s is NULL", function,
                             span->name);
        if (span->bytes > UINTPTR_MAX - (uintptr_t)span->data)
            return error_set(error, QKERN_E_LIMIT, QKERN_NO_INDEX,
                             "%s: %s: %" PRIu64 " bytes reach beyond the end of memory", function,
                             span->name, span->bytes);
        if (span->floats && (uintptr_t)span->data % _Alignof(float) != 0)
            return error_set(error, QKERN_E_ALIGNMENT, QKERN_NO_INDEX,
                             "%s: %s is not aligned as a float: its address %p is not a multiple "
                             "of %zu",
                             function, span->name, span->data, _Alignof(float));
    }
    for (size_t i = 0; i + 1 < count; i++)
        if (spans_overlap(&spans[i], output))
            return error_set(error, QKERN_E_OVERLAP, QKERN_NO_INDEX, "%s: %s and %s overlap",
                             function, spans[i].name, output->name);
    return QKERN_OK;
}

qkern_status size_check(const char *function, const char *name, uint64_t needed, uint64_t found,
                        qkern_error *error)
{
    if (needed == found)
        return QKERN_OK;
    return error_set(error, QKERN_E_SIZE, QKERN_NO_INDEX,
                     "%s: %s is %" PRIu64 ", but the row takes %" PRIu64 " bytes", function, name,
                     found, needed);
}

qkern_status float_bytes(const char *function, uint64_t n, uint64_t *bytes, qkern_error *error)
{
    if (n > UINT64_MAX / sizeof(float))
        return error_set(error, QKERN_E_LIMIT, QKERN_NO_INDEX,
                         "%s: the size of %" PRIu64 " floats overflows 64 bits", function, n);
    *bytes = n * sizeof(float);
    return QKERN_OK;
}

/* --- floats ----------------------------------------------------------------------------------- */

/*
 * All comparisons are of bit patterns: the patterns of magnitudes are in the order of the
 * magnitudes, NaN above infinity, and integers leave the floating-point flags alone.
 */
#define MAGNITUDE 0x7fffffffu
#define INFINITE 0x7f800000u

static uint32_t float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The largest magnitude's pattern. Signed, because SSE2 and NEON both compare such lanes. */
static uint32_t floats_largest(uint64_t n, const float *x)
{
    int32_t largest = 0;

    for (uint64_t i = 0; i < n; i++) {
        int32_t bits = (int32_t)(float_bits(x[i]) & MAGNITUDE);
        largest = bits > largest ? bits : largest;
    }
    return (uint32_t)largest;
}

static const char *nonfinite_name(uint32_t bits)
{
    return (bits & MAGNITUDE) > INFINITE ? "NaN" : (bits >> 31) != 0 ? "-inf" : "inf";
}

qkern_status floats_check(const char *function, uint64_t n, const float *x, float *largest,
                          qkern_error *error)
{
    uint32_t bits = floats_largest(n, x);
    uint64_t i = 0;

    if (bits < INFINITE) {
        memcpy(largest, &bits, sizeof bits);
        return QKERN_OK;
    }
    while ((float_bits(x[i]) & MAGNITUDE) < INFINITE)
        i++;
    return error_set(error, QKERN_E_NONFINITE, i, "%s: x[%" PRIu64 "] is %s, not a finite number",
                     function, i, nonfinite_name(float_bits(x[i])));
}

/* -0.0 is not negative. */
static bool importance_good(float value)
{
    uint32_t bits = float_bits(value);

    return bits < INFINITE || bits == 0x80000000u;
}

qkern_status importance_check(const char *function, uint64_t n, const float *importance,
                              qkern_error *error)
{
    for (uint64_t i = 0; i < n; i++)
        if (!importance_good(importance[i]))
            return error_set(error, QKERN_E_ARGUMENT, i,
                             "%s: importance[%" PRIu64 "] is %g, not a finite number from 0 up",
                             function, i, (double)importance[i]);
    return QKERN_OK;
}

/* --- blocks ----------------------------------------------------------------------------------- */

enum field_format { FIELD_NONE, FIELD_F16, FIELD_BF16, FIELD_F32 };

struct field {
    const char *name;
    uint16_t offset;
    uint16_t format;
};

/*
 * The fields of a block that must be finite, and the magnitude up to which no input makes them
 * infinite. The bounds, with a for the largest magnitude in a block and 65504 the largest f16:
 *
 *  - F16, BF16, F32: the element itself must fit. 0x1.fep127 is the largest bf16.
 *  - Q4_0, Q5_0, Q8_0: d is a/8, a/16, a/127, a single correctly rounded division, so it is at most
 *    65504 for a at most that many times 65504.
 *  - Q4_1, Q5_1: m is an element; d is at most 2a/15.
 *  - Q8_1: s is the sum of 32 codes, each at most 127, times a/127: at most 32 a, up to rounding in
 *    the last places. 2000 leaves two percent.
 *  - Q8_K: d is the f32 |m|/127 up to rounding, finite for any finite m. But the element that is m
 *    gets the code -127, and d may be up to three units in the last place more than |m|/127: 127 d
 *    then rounds to infinity for the last few floats. The room left is seven units.
 *  - Q3_K, Q6_K: a group's scale is A/B with A = sum w*x*l and B = sum w*l*l over integers l, so
 *    |A| <= a * sum w*|l| <= a * B; d is at most a/32.
 *  - Q2_K, Q4_K, Q5_K: a group's scale and minimum come from a least-squares fit, whose exact
 *    solution has |scale| <= 2a and |minimum| <= 3a (the covariance of x with integers l is at most
 *    2a times their variance). Where the determinant cancels, both are quotients of rounding
 *    errors: the numerator's is at most some 2 * 70 roundings of 32-term sums relative to a times
 *    the unit in which the determinant, if not 0, is at least 1: less than 300a in all. d and dmin
 *    are at most a fifteenth of that, 20a; 1024 leaves a factor of three.
 *
 * Finite fields decode to finite values in all types but Q8_K, the only one whose scale is an f32:
 * no f16 scale times the largest factors (65504 * 63 * 31 and a minimum of the same size, in Q5_K)
 * comes near 2^128, and F16, BF16 and F32 are their values. Q8_K's values are checked too
 * (values_finite).
 *
 * Subnormal weights add whole units of 2^-149 to numerators of denominators of at least one such
 * unit: some units more on a scale, nothing against the room left.
 */
struct layout {
    float safe_magnitude;
    struct field fields[2];
};

#define F16_MAX 65504.0f
#define KQUANT_SAFE 1024.0f
#define OF(BLOCK, FIELD) (uint16_t) offsetof(struct qkern_block_##BLOCK, FIELD)
#define SCALE(BLOCK)                                                                               \
    {                                                                                              \
        "the scale d", OF(BLOCK, d), FIELD_F16                                                     \
    }
#define MINIMUM(BLOCK, FIELD)                                                                      \
    {                                                                                              \
        "the minimum " #FIELD, OF(BLOCK, FIELD), FIELD_F16                                         \
    }

static const struct layout layouts[QKERN_TYPE_LIMIT] = {
    [QKERN_TYPE_F32] = {0x1.fffffep127f, {{"the element", 0, FIELD_F32}}},
    [QKERN_TYPE_F16] = {F16_MAX, {{"the element", 0, FIELD_F16}}},
    [QKERN_TYPE_BF16] = {0x1.fep127f, {{"the element", 0, FIELD_BF16}}},
    [QKERN_TYPE_Q4_0] = {8 * F16_MAX, {SCALE(q4_0)}},
    [QKERN_TYPE_Q4_1] = {F16_MAX, {SCALE(q4_1), MINIMUM(q4_1, m)}},
    [QKERN_TYPE_Q5_0] = {16 * F16_MAX, {SCALE(q5_0)}},
    [QKERN_TYPE_Q5_1] = {F16_MAX, {SCALE(q5_1), MINIMUM(q5_1, m)}},
    [QKERN_TYPE_Q8_0] = {127 * F16_MAX, {SCALE(q8_0)}},
    [QKERN_TYPE_Q8_1] = {2000.0f, {SCALE(q8_1), {"the sum s", OF(q8_1, s), FIELD_F16}}},
    [QKERN_TYPE_Q2_K] = {KQUANT_SAFE, {SCALE(q2_K), MINIMUM(q2_K, dmin)}},
    [QKERN_TYPE_Q3_K] = {KQUANT_SAFE, {SCALE(q3_K)}},
    [QKERN_TYPE_Q4_K] = {KQUANT_SAFE, {SCALE(q4_K), MINIMUM(q4_K, dmin)}},
    [QKERN_TYPE_Q5_K] = {KQUANT_SAFE, {SCALE(q5_K), MINIMUM(q5_K, dmin)}},
    [QKERN_TYPE_Q6_K] = {KQUANT_SAFE, {SCALE(q6_K)}},
    [QKERN_TYPE_Q8_K] = {0x1.fffffp127f, {{"the scale d", OF(q8_K, d), FIELD_F32}}},
};

bool layout_known(uint32_t type)
{
    return type < QKERN_TYPE_LIMIT && layouts[type].fields[0].format != FIELD_NONE;
}

float layout_safe_magnitude(uint32_t type)
{
    return layouts[type].safe_magnitude;
}

/* Whether the exponent of what stands there is not all ones. Little endian, as all block data. */
static bool field_finite(const uint8_t *at, enum field_format format)
{
    static const struct {
        uint8_t high, low, low_at;
    } exponents[] = {
        [FIELD_F16] = {0x7c, 0, 0},
        [FIELD_BF16] = {0x7f, 0x80, 0},
        [FIELD_F32] = {0x7f, 0x80, 2},
    };
    const uint8_t low = exponents[format].low, high = exponents[format].high;
    const size_t low_at = exponents[format].low_at;

    return (at[low_at + 1] & high) != high || (at[low_at] & low) != low;
}

/* The first block in which a field is not finite; `blocks` if none. */
static uint64_t field_first_nonfinite(const struct field *field, uint32_t block_bytes,
                                      uint64_t blocks, const uint8_t *data)
{
    uint64_t block = 0;

    while (block < blocks &&
           field_finite(data + block * block_bytes + field->offset, field->format))
        block++;
    return block;
}

/*
 * Whether every d times code of a Q8_K block, whose d is finite, is finite. Only looked into where
 * d is so large that a code, at most 128, can make the difference; then the product in double is
 * exact, so that no floating-point flag is raised.
 */
static bool values_finite(const struct qkern_block_q8_K *block)
{
    static const float large = 0x1p120f;
    static const double beyond = 0x1.ffffffp127; /* half way from FLT_MAX to 2^128: becomes inf */
    uint32_t bits = (uint32_t)block->d[0] | (uint32_t)block->d[1] << 8 |
                    (uint32_t)block->d[2] << 16 | (uint32_t)block->d[3] << 24;
    int32_t largest = 0;
    float d;

    bits &= MAGNITUDE;
    if (bits < float_bits(large))
        return true;
    memcpy(&d, &bits, sizeof d);
    for (uint32_t i = 0; i < sizeof block->qs / sizeof block->qs[0]; i++) {
        int32_t code = block->qs[i] < 0 ? -block->qs[i] : block->qs[i];
        largest = code > largest ? code : largest;
    }
    return (double)d * (double)largest < beyond;
}

/* Whether the sums of a Q8_K block are those of its codes. */
static bool sums_agree(const struct qkern_block_q8_K *block, struct block_fault *fault)
{
    for (uint32_t group = 0; group < 16; group++) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < 16; i++)
            sum += block->qs[16 * group + i];
        uint32_t bits = (uint32_t)block->bsums[group][0] | (uint32_t)block->bsums[group][1] << 8;
        int32_t stored = (int32_t)(bits ^ 0x8000u) - 0x8000;
        if (sum == stored)
            continue;
        fault->field = "the sum of group";
        fault->group = group;
        fault->expected = sum;
        fault->found = stored;
        return false;
    }
    return true;
}

qkern_status blocks_check(uint32_t type, uint64_t blocks, const void *data,
                          struct block_fault *fault)
{
    qkern_type_info info = {.struct_size = (uint32_t)sizeof info};
    const struct layout *layout = &layouts[type];

    *fault = (struct block_fault){.block = blocks};
    qkern_type_get(type, &info, NULL);
    for (size_t i = 0; i < 2 && layout->fields[i].format != FIELD_NONE; i++) {
        uint64_t block =
            field_first_nonfinite(&layout->fields[i], info.block_bytes, fault->block, data);
        if (block == fault->block)
            continue;
        fault->block = block;
        fault->field = layout->fields[i].name;
    }
    for (uint64_t block = 0; type == QKERN_TYPE_Q8_K && block < fault->block; block++) {
        struct qkern_block_q8_K q8_k;

        memcpy(&q8_k, (const uint8_t *)data + block * sizeof q8_k, sizeof q8_k);
        if (!sums_agree(&q8_k, fault)) {
            fault->block = block;
            return QKERN_E_DATA;
        }
        if (!values_finite(&q8_k)) {
            fault->block = block;
            fault->field = "d times a code";
        }
    }
    return fault->block < blocks ? QKERN_E_NONFINITE : QKERN_OK;
}
