/* SPDX-License-Identifier: MIT */
/*
 * The searches for the scale of a group, element by element (docs/formats.md section 4).
 *
 * x are the n values, w their weights, L their codes. All sums run over the elements in ascending
 * order in f32. Each loop is split in two where that helps the compiler: the terms, which do not
 * depend on each other, then their sum, whose order is fixed.
 */
#ifndef QKERN_COMMON_SEARCH_H
#define QKERN_COMMON_SEARCH_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "extremes.h"
#include "round.h"

#define SEARCH_MAX 32 /* the largest group */
#define SEARCH_PASSES 5

/* Groups weaker than this are taken as zero. */
#define SEARCH_TINY 1e-15f

ALWAYS_INLINE float sum_in_order(int n, const float *terms)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += terms[i];
    return sum;
}

ALWAYS_INLINE void codes_clear(int n, int32_t *L)
{
    for (int i = 0; i < n; i++)
        L[i] = 0;
}

ALWAYS_INLINE float sum_of_squares(uint64_t n, const float *x)
{
    float sum = 0.0f;
    for (uint64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

/* The weights that importance gives; sigma2 is a mean square that the type defines. */
ALWAYS_INLINE void importance_weights(int n, const float *x, const float *importance, float sigma2,
                                      float *w)
{
    for (int i = 0; i < n; i++)
        w[i] = importance[i] * sqrtf(sigma2 + x[i] * x[i]);
}

/* A fit of x by scale * l: scale = a / b is the best for the codes l. */
struct search_fit {
    float a; /* sum of w * x * l */
    float b; /* sum of w * l * l */
};

/* The codes that 1 / scale = s gives, signed, and their sums. */
ALWAYS_INLINE struct search_fit fit_signed(int n, int N, const float *x, const float *w, float s,
                                           int32_t *l)
{
    float a[SEARCH_MAX], b[SEARCH_MAX];

    for (int i = 0; i < n; i++) {
        l[i] = rne_clamped(s * x[i], -N, N - 1);
        a[i] = w[i] * x[i] * (float)l[i];
        b[i] = w[i] * (float)l[i] * (float)l[i];
    }
    return (struct search_fit){sum_in_order(n, a), sum_in_order(n, b)};
}

/*
 * 4.1: symmetric codes 0 .. 2N - 1 with offset N. Tries 1 / scale around -N / m, so that m, the
 * extreme element, comes close to code 0. Returns the scale.
 */
ALWAYS_INLINE float search_qx(int n, int N, const float *x, const float *w, int32_t *L)
{
    const float m = signed_absmax(n, x);
    if (fabsf(m) < SEARCH_TINY) {
        codes_clear(n, L); /* 0, not N */
        return 0.0f;
    }

    int32_t l[SEARCH_MAX];
    struct search_fit fit = fit_signed(n, N, x, w, -(float)N / m, l);
    float scale = fit.b != 0.0f ? fit.a / fit.b : 0.0f;
    float best = scale * fit.a;
    for (int i = 0; i < n; i++)
        L[i] = l[i] + N;

    for (int k = -9; k <= 9; k++) {
        if (k == 0)
            continue;
        fit = fit_signed(n, N, x, w, -((float)N + 0.1f * (float)k) / m, l);
        if (!(fit.b > 0.0f && fit.a * fit.a > best * fit.b))
            continue;
        scale = fit.a / fit.b;
        best = scale * fit.a;
        for (int i = 0; i < n; i++)
            L[i] = l[i] + N;
    }
    return scale;
}

/*
 * 4.2: symmetric codes 0 .. 2N - 1 with offset N, weights x * x. Starts from 1 / scale = -N / m,
 * then moves one code at a time to where the other codes' best scale puts it. Returns the scale.
 */
ALWAYS_INLINE float search_q3(int n, int N, const float *x, int32_t *L)
{
    const float m = signed_absmax(n, x);
    if (fabsf(m) < SEARCH_TINY) {
        codes_clear(n, L);
        return 0.0f;
    }

    float w[SEARCH_MAX];
    for (int i = 0; i < n; i++)
        w[i] = x[i] * x[i];
    int32_t l[SEARCH_MAX];
    struct search_fit fit = fit_signed(n, N, x, w, -(float)N / m, l);

    for (int pass = 0; pass < SEARCH_PASSES; pass++) {
        bool changed = false;
        for (int i = 0; i < n; i++) {
            const float from = (float)l[i];
            float a = fit.a - w[i] * x[i] * from;
            if (!(a > 0.0f))
                continue;
            float b = fit.b - w[i] * from * from;
            const int32_t to = rne_clamped(x[i] * b / a, -N, N - 1);
            if (to == l[i])
                continue;
            a += w[i] * x[i] * (float)to;
            b += w[i] * (float)to * (float)to;
            if (!(b > 0.0f && a * a * fit.b > fit.a * fit.a * b))
                continue;
            l[i] = to;
            fit = (struct search_fit){a, b};
            changed = true;
        }
        if (!changed)
            break;
    }
    for (int i = 0; i < n; i++)
        L[i] = l[i] + N;
    return fit.b > 0.0f ? fit.a / fit.b : 0.0f;
}

/* The candidates of qkx: 1 / scale = (r0 + dr * k + N) / (hi - lo) for k = 0 .. steps. */
struct qkx_steps {
    float r0;
    float dr;
    int steps;
    bool absolute; /* the error of an element counts by its magnitude, not by its square */
};

/* The candidates with importance, for all types. */
static const struct qkx_steps importance_steps = {-0.9f, 0.05f, 36, false};

/* Of Q2_K, Q4_K and Q5_K without importance. */
static const struct qkx_steps q2_K_steps = {-0.5f, 0.1f, 15, true};
static const struct qkx_steps q4_K_steps = {-1.0f, 0.1f, 20, false};
static const struct qkx_steps q5_K_steps = {-0.5f, 0.1f, 15, false};

/* The error of x against scale * l + minimum. */
ALWAYS_INLINE float qkx_error(int n, const float *x, const float *w, const float *l, float scale,
                              float minimum, bool absolute)
{
    float terms[SEARCH_MAX];

    for (int i = 0; i < n; i++) {
        const float e = scale * l[i] + minimum - x[i];
        terms[i] = w[i] * (absolute ? fabsf(e) : e * e);
    }
    return sum_in_order(n, terms);
}

/*
 * 4.3 and 4.4: codes 0 .. N with a minimum that is not positive. Returns the scale; *minimum is the
 * negated minimum. (4.4 says hi <= lo where 4.3 says hi == lo. For numbers that is the same, as lo
 * is at most 0 or the least element, and for NaN both are false.)
 */
ALWAYS_INLINE float search_qkx(int n, int N, const float *x, const float *w, struct qkx_steps try,
                               float *minimum, int32_t *L)
{
    float lo, hi;
    min_max(n, x, &lo, &hi);
    float sum_w = 0.0f, sum_x = 0.0f;
    for (int i = 0; i < n; i++) {
        sum_w += w[i];
        sum_x += w[i] * x[i];
    }
    if (lo > 0.0f)
        lo = 0.0f;
    if (hi == lo) {
        codes_clear(n, L);
        *minimum = -lo;
        return 0.0f;
    }

    float l[SEARCH_MAX];
    const float s0 = (float)N / (hi - lo);
    float scale = 1.0f / s0;
    for (int i = 0; i < n; i++) {
        const int32_t code = rne_clamped(s0 * (x[i] - lo), 0, N);
        l[i] = (float)code;
        L[i] = code;
    }
    float best = qkx_error(n, x, w, l, scale, lo, try.absolute);

    for (int k = 0; k <= try.steps; k++) {
        /* lo is the best minimum so far: later candidates depend on earlier successes. */
        const float s = (try.r0 + try.dr * (float)k + (float)N) / (hi - lo);
        float wl[SEARCH_MAX], wll[SEARCH_MAX], wlx[SEARCH_MAX];
        for (int i = 0; i < n; i++) {
            l[i] = (float)rne_clamped(s * (x[i] - lo), 0, N);
            wl[i] = w[i] * l[i];
            wll[i] = w[i] * l[i] * l[i];
            wlx[i] = w[i] * l[i] * x[i];
        }
        float sum_l = 0.0f, sum_l2 = 0.0f, sum_xl = 0.0f;
        for (int i = 0; i < n; i++) {
            sum_l += wl[i];
            sum_l2 += wll[i];
            sum_xl += wlx[i];
        }
        /* The weighted least squares for scale and minimum. */
        const float det = sum_w * sum_l2 - sum_l * sum_l;
        if (!(det > 0.0f))
            continue;
        float this_scale = (sum_w * sum_xl - sum_x * sum_l) / det;
        float this_min = (sum_l2 * sum_x - sum_l * sum_xl) / det;
        if (this_min > 0.0f) {
            this_min = 0.0f;
            this_scale = sum_xl / sum_l2;
        }
        const float error = qkx_error(n, x, w, l, this_scale, this_min, try.absolute);
        if (!(error < best))
            continue;
        for (int i = 0; i < n; i++)
            L[i] = (int32_t)l[i];
        best = error;
        scale = this_scale;
        lo = this_min;
    }
    *minimum = -lo;
    return scale;
}

/* The error of x against codes of 1 / scale = s, clamped above only. */
ALWAYS_INLINE float qp_error(int n, int N, const float *x, const float *w, float s)
{
    const float c = 1.0f / s;
    float sum = 0.0f;

    for (int i = 0; i < n; i++) {
        const int32_t l = rne(s * x[i]);
        const float e = x[i] - c * (float)(l < N ? l : N);
        sum += w[i] * e * e;
    }
    return sum;
}

/*
 * 4.5: codes 0 .. N of values that are not negative, without minimum. Returns the scale. A code is
 * read back as the unsigned byte in which it is stored, so -1 is 255.
 */
ALWAYS_INLINE float search_qp(int n, int N, const float *x, const float *w, int32_t *L)
{
    float hi = 0.0f;
    for (int i = 0; i < n; i++)
        hi = x[i] > hi ? x[i] : hi;
    if (hi < SEARCH_TINY) {
        codes_clear(n, L);
        return 0.0f;
    }

    float s = (float)N / hi;
    const float c = 1.0f / s;
    float best = 0.0f;
    for (int i = 0; i < n; i++) {
        const float e = x[i] - c * (float)(rne(s * x[i]) & 255);
        best += w[i] * e * e;
    }
    for (int k = -4; k <= 4; k++) {
        if (k == 0)
            continue;
        const float try = (0.1f * (float)k + (float)N) / hi;
        const float error = qp_error(n, N, x, w, try);
        if (error < best) {
            best = error;
            s = try;
        }
    }

    struct search_fit fit = {0.0f, 0.0f};
    for (int i = 0; i < n; i++) {
        int32_t l = rne(s * x[i]);
        l = l < N ? l : N;
        L[i] = l & 255;
        fit.a += w[i] * x[i] * (float)l;
        fit.b += w[i] * (float)l * (float)l;
    }
    for (int pass = 0; pass < SEARCH_PASSES; pass++) {
        bool changed = false;
        for (int i = 0; i < n; i++) {
            const float from = (float)L[i];
            float a = fit.a - w[i] * x[i] * from;
            float b = fit.b - w[i] * from * from;
            if (!(a > 0.0f && b > 0.0f))
                continue;
            int32_t to = rne(x[i] * b / a);
            to = to < N ? to : N;
            if (to == L[i])
                continue;
            a += w[i] * x[i] * (float)to;
            b += w[i] * (float)to * (float)to;
            if (!(a * a * fit.b > fit.a * fit.a * b))
                continue;
            L[i] = to & 255;
            fit = (struct search_fit){a, b};
            changed = true;
        }
        if (!changed)
            break;
    }
    return fit.b > 0.0f ? fit.a / fit.b : 0.0f;
}

#endif
