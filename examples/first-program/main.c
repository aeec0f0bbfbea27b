/* SPDX-License-Identifier: MIT */
/*
 * A first program with libqkern: quantizes a row of weights to Q4_K and a row of activations to
 * Q8_K, multiplies them with the checked call and through a pin, and says which plugin did it.
 * docs/using-libqkern.md explains it step by step.
 */
#include <math.h>
#include <stdio.h>

#include <qkern.h>

#define N 512 /* two blocks of 256 */

static int fail(const qkern_error *error)
{
    fprintf(stderr, "first-program: %s\n", error->message);
    return 1;
}

/* The checked calls: every argument and the data are verified before anything is written. */
static qkern_status multiply_checked(qkern *q, const float *w, const float *a, uint8_t *weights,
                                     uint64_t weights_bytes, uint8_t *activations,
                                     uint64_t activations_bytes, float *result, qkern_error *error)
{
    qkern_status status = qkern_quantize(q, QKERN_TYPE_Q4_K, N, w, weights, weights_bytes, error);
    if (status == QKERN_OK)
        status = qkern_quantize(q, QKERN_TYPE_Q8_K, N, a, activations, activations_bytes, error);
    if (status == QKERN_OK)
        status = qkern_vec_dot(q, QKERN_TYPE_Q4_K, N, weights, weights_bytes, activations,
                               activations_bytes, result, error);
    return status;
}

/* The kernel itself, for inner loops: one pin around the whole operation, nothing is checked. */
static float multiply_pinned(qkern *q, const uint8_t *weights, const uint8_t *activations)
{
    qkern_pin pin;

    if (qkern_pin_begin(q, &pin) != QKERN_OK)
        return NAN;
    const struct qkern_kernel *kernel = qkern_pin_kernel(&pin, QKERN_TYPE_Q4_K);
    float result = kernel->vec_dot(N, weights, activations);
    qkern_pin_end(&pin);
    return result;
}

int main(void)
{
    static uint8_t weights[N / 256 * QKERN_BLOCK_BYTES_Q4_K];
    static uint8_t activations[N / 256 * QKERN_BLOCK_BYTES_Q8_K];
    qkern_error error = QKERN_ERROR_INIT;
    float w[N], a[N], checked;
    double exact = 0;
    char why[1024];
    qkern *q;

    for (int i = 0; i < N; i++) {
        w[i] = sinf((float)i * 0.37f);
        a[i] = cosf((float)i * 0.11f) + w[i];
        exact += (double)w[i] * (double)a[i];
    }

    if (qkern_open(NULL, &q, &error) != QKERN_OK)
        return fail(&error);
    if (multiply_checked(q, w, a, weights, sizeof weights, activations, sizeof activations,
                         &checked, &error) != QKERN_OK)
        return fail(&error);
    float pinned = multiply_pinned(q, weights, activations);

    printf("exact   %10.4f\nchecked %10.4f\npinned  %10.4f\n", exact, (double)checked,
           (double)pinned);
    if (qkern_explain(q, QKERN_TYPE_Q4_K, QKERN_ENTRY_VEC_DOT, why, sizeof why, NULL, &error) !=
        QKERN_OK)
        return fail(&error);
    printf("%s", why);
    return qkern_close(q, &error) == QKERN_OK ? 0 : fail(&error);
}
