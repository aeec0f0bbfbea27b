/* SPDX-License-Identifier: MIT */
/* Dot products are the scalar kernels', bit for bit, for every byte of codes and activations. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <qkern/blocks.h>

#include "kernels/support.h"

#define BLOCKS_MAX 17
#define ROWS 9
#define ROW_BYTES (BLOCKS_MAX * sizeof(struct qkern_block_q8_K))

static uint8_t weights[ROWS * ROW_BYTES], activations[ROW_BYTES];

/* Scales that leave the integer sums to be seen; what else a block has stays as it is. */
static void set_scales(uint32_t type, uint64_t blocks, uint8_t *row)
{
    static const uint8_t half[2] = {0, 0x38}; /* 0.5 */
    static const float eighth = 0.125f;
    for (uint64_t b = 0; b < blocks; b++)
        switch (type) {
        case QKERN_TYPE_Q4_0:
        case QKERN_TYPE_Q5_0:
        case QKERN_TYPE_Q8_0:
            memcpy(row + b * kernel_of(type)->block_bytes, half, 2);
            break;
        case QKERN_TYPE_Q4_1:
        case QKERN_TYPE_Q5_1:
        case QKERN_TYPE_Q8_1:
        case QKERN_TYPE_Q4_K:
        case QKERN_TYPE_Q5_K:
            memcpy(row + b * kernel_of(type)->block_bytes, half, 2);
            memcpy(row + b * kernel_of(type)->block_bytes + 2, half, 2);
            break;
        case QKERN_TYPE_Q2_K:
            memcpy(((struct qkern_block_q2_K *)row)[b].d, half, 2);
            memcpy(((struct qkern_block_q2_K *)row)[b].dmin, half, 2);
            break;
        case QKERN_TYPE_Q3_K:
            memcpy(((struct qkern_block_q3_K *)row)[b].d, half, 2);
            break;
        case QKERN_TYPE_Q6_K:
            memcpy(((struct qkern_block_q6_K *)row)[b].d, half, 2);
            break;
        case QKERN_TYPE_Q8_K:
            memcpy(((struct qkern_block_q8_K *)row)[b].d, &eighth, 4);
            break;
        default:
            fail_msg("%s has no codes", type_name(type));
        }
}

static const struct qkern_kernel *scalar_of(uint32_t type)
{
    for (uint32_t i = 0; i < qkern_plugin_scalar.kernel_count; i++)
        if (qkern_plugin_scalar.kernels[i]->type == type)
            return qkern_plugin_scalar.kernels[i];
    return NULL;
}

static int has_codes(const struct qkern_kernel *k)
{
    return k->vec_dot != NULL && k->block_elements > 1;
}

/* Of the first rows of `weights`, and the first alone. */
static void check(const struct qkern_kernel *k, uint64_t blocks, uint64_t rows)
{
    const uint64_t n = blocks * k->block_elements, stride = row_size(k, n);
    const struct qkern_kernel *scalar = scalar_of(k->type);
    float found[ROWS], expected[ROWS];
    for (uint64_t r = 0; r < rows; r++) {
        set_scales(k->type, blocks, weights + r * stride);
        expected[r] = scalar->vec_dot(n, weights + r * stride, activations);
    }
    k->vec_dot_rows(n, rows, found, weights, stride, activations);
    for (uint64_t r = 0; r < rows; r++)
        if (!same_float(found[r], expected[r]))
            fail_msg("%s, %llu blocks, row %llu of %llu: %a, expected %a", type_name(k->type),
                     (unsigned long long)blocks, (unsigned long long)r, (unsigned long long)rows,
                     (double)found[r], (double)expected[r]);
    const float one = k->vec_dot(n, weights, activations);
    if (!same_float(one, expected[0]))
        fail_msg("%s, %llu blocks: %a, expected %a", type_name(k->type), (unsigned long long)blocks,
                 (double)one, (double)expected[0]);
}

/* All activations are the same byte; a byte of the weights takes each value, in each place. */
static void every_byte_of_weights_meets_every_activation(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        if (!has_codes(k))
            continue;
        const struct qkern_kernel *ka = kernel_of(k->dot_type);
        for (int x = 0; x < 256; x++) {
            memset(activations, x, row_size(ka, 4 * (uint64_t)k->block_elements));
            set_scales(ka->type, 4, activations);
            for (int first = 0; first < 256; first += 3) {
                for (size_t b = 0; b < row_size(k, 4 * (uint64_t)k->block_elements); b++)
                    weights[b] = (uint8_t)(first + 83 * (int)b);
                check(k, 4, 1);
            }
        }
    }
}

/* The extremes of int8 and of unsigned codes, mixed: where sums of int16 would overflow. */
static void extreme_bytes_do_not_saturate(void **state)
{
    (void)state;
    static const uint8_t extremes[] = {0x00, 0x01, 0x7f, 0x80, 0x81, 0xff, 0xf0, 0x0f, 0x88, 0x77};
    struct numbers r = {31};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        if (!has_codes(k))
            continue;
        const struct qkern_kernel *ka = kernel_of(k->dot_type);
        for (int round = 0; round < 400; round++) {
            /* All alike in the first rounds: the sums are largest then. */
            const uint64_t w = number_u64(&r) % 10, x = number_u64(&r) % 10;
            for (size_t b = 0; b < sizeof weights; b++)
                weights[b] = extremes[round < 100 ? w : number_u64(&r) % 10];
            for (size_t b = 0; b < sizeof activations; b++)
                activations[b] = extremes[round < 100 ? x : number_u64(&r) % 10];
            const uint64_t blocks = 1 + (uint64_t)round % 5;
            set_scales(ka->type, blocks, activations);
            check(k, blocks, 1 + (uint64_t)round % 2);
        }
    }
}

static void every_count_of_blocks_and_rows_gives_scalars_bits(void **state)
{
    (void)state;
    struct numbers r = {32};
    for (uint32_t i = 0; i < kernel_count(); i++) {
        const struct qkern_kernel *k = kernel_at(i);
        if (!has_codes(k))
            continue;
        const struct qkern_kernel *ka = kernel_of(k->dot_type);
        for (uint64_t blocks = 0; blocks <= BLOCKS_MAX; blocks++)
            for (uint64_t rows = 1; rows <= ROWS; rows++) {
                fill_bytes(&r, (size_t)(rows * row_size(k, blocks * k->block_elements)), weights);
                fill_bytes(&r, row_size(ka, blocks * k->block_elements), activations);
                set_scales(ka->type, blocks, activations);
                check(k, blocks, rows);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_of_weights_meets_every_activation),
        cmocka_unit_test(extreme_bytes_do_not_saturate),
        cmocka_unit_test(every_count_of_blocks_and_rows_gives_scalars_bits),
    };
    return RUN_KERNEL_TESTS(tests, NULL, NULL);
}
