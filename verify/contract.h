/* SPDX-License-Identifier: MIT */
/*
 * The numeric contract, evaluated a second time: one element after the other, from the formulas of
 * docs/formats.md, sharing nothing with the plugins.
 */
#ifndef QKERN_VERIFY_CONTRACT_H
#define QKERN_VERIFY_CONTRACT_H

#include <stdint.h>

float contract_f16(uint16_t h);
uint16_t contract_to_f16(float v); /* by exact comparison with the neighbours */

/* The value of element e of a block of the type. */
float contract_value(uint32_t type, const uint8_t *block, int e);

/* vec_dot of n weights and activations of the type's dot type. */
float contract_dot(uint32_t type, uint64_t n, const uint8_t *weights, const uint8_t *activations);

#endif
