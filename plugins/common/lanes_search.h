/* SPDX-License-Identifier: MIT */
/*
 * The searches of search.h for many groups at once, one in each lane, over the primitives of the
 * including plugin's vec.h. Each lane does the operations of search.h in the same order, so that it
 * finds the same bits; where lanes part, all go on and a mask says which results count.
 *
 * A search is a chain in which each step waits for the one before. So `turns` vectors of LANES
 * groups take turns at each step, and the waiting of one is the work of the others: x[i][t] holds
 * element i of LANES groups, for each t < turns. w are the weights, L the codes, which are whole
 * numbers here.
 */
#ifndef QKERN_COMMON_LANES_SEARCH_H
#define QKERN_COMMON_LANES_SEARCH_H

#include "search.h"

/* TURNS, from vec.h, is the greatest number of turns. */
typedef vf lanes_group[TURNS];

/* rne_clamped: the low 23 bits of the sum become the fraction of a float between 2^23 and 2^24,
 * whose value is theirs; clamp and offset are then float operations. */
ALWAYS_INLINE vf lanes_rne_clamped(vf v, int low, int high)
{
    const vi bits = vi_bits(v + vf_set(12582912.0f));
    vf code = vf_from_bits((bits & vi_set(0x007fffff)) | vi_set(0x4b000000));
    code = vf_max(code, vf_set(12582912.0f + (float)low));
    code = vf_min(code, vf_set(12582912.0f + (float)high));
    return code - vf_set(12582912.0f);
}

/* The extreme element with its sign, as signed_absmax; *empty: where it is tiny. */
ALWAYS_INLINE vf lanes_extreme_element(int n, const lanes_group *x, int t, vm *empty)
{
    vf m = vf_set(0.0f), magnitude = vf_set(0.0f);
    for (int i = 0; i < n; i++) {
        const vf a = vf_abs(x[i][t]);
        m = vf_select(vf_gt(a, magnitude), x[i][t], m);
        magnitude = vf_max(a, magnitude);
    }
    *empty = vf_gt(vf_set(SEARCH_TINY), magnitude);
    return m;
}

struct lanes_fit {
    vf a;
    vf b;
};

/* fit_signed */
ALWAYS_INLINE void lanes_fit_signed(int turns, int n, int N, const lanes_group *x,
                                    const lanes_group *w, const vf *s, lanes_group *l,
                                    struct lanes_fit *fit)
{
    for (int t = 0; t < turns; t++)
        fit[t].a = fit[t].b = vf_set(0.0f);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < turns; t++) {
            l[i][t] = lanes_rne_clamped(s[t] * x[i][t], -N, N - 1);
            fit[t].a = fit[t].a + w[i][t] * x[i][t] * l[i][t];
            fit[t].b = fit[t].b + w[i][t] * l[i][t] * l[i][t];
        }
}

ALWAYS_INLINE void lanes_take(int turns, int n, const vm *better, const lanes_group *l,
                              lanes_group *L)
{
    for (int i = 0; i < n; i++)
        for (int t = 0; t < turns; t++)
            L[i][t] = vf_select(better[t], l[i][t], L[i][t]);
}

/* The codes from 0; an empty group's are 0 as they stand. */
ALWAYS_INLINE void lanes_offset(int turns, int n, int N, const vm *empty, lanes_group *L)
{
    for (int i = 0; i < n; i++)
        for (int t = 0; t < turns; t++)
            L[i][t] = vf_select(empty[t], vf_set(0.0f), L[i][t] + vf_set((float)N));
}

/* search_qx */
ALWAYS_INLINE void lanes_qx(int turns, int n, int N, const lanes_group *x, const lanes_group *w,
                            lanes_group *L, vf *scale)
{
    const vf zero = vf_set(0.0f);
    vf m[TURNS], s[TURNS], best[TURNS];
    vm empty[TURNS];
    struct lanes_fit fit[TURNS];
    lanes_group l[SEARCH_MAX];

    for (int t = 0; t < turns; t++) {
        m[t] = lanes_extreme_element(n, x, t, &empty[t]);
        s[t] = vf_set(-(float)N) / m[t];
    }
    lanes_fit_signed(turns, n, N, x, w, s, L, fit);
    for (int t = 0; t < turns; t++) {
        scale[t] = vf_select(vf_ne(fit[t].b, zero), fit[t].a / fit[t].b, zero);
        best[t] = scale[t] * fit[t].a;
    }

    for (int k = -9; k <= 9; k++) {
        if (k == 0)
            continue;
        for (int t = 0; t < turns; t++)
            s[t] = vf_set(-((float)N + 0.1f * (float)k)) / m[t];
        lanes_fit_signed(turns, n, N, x, w, s, l, fit);
        vm better[TURNS];
        int any = 0;
        for (int t = 0; t < turns; t++) {
            better[t] =
                vm_and(vf_gt(fit[t].b, zero), vf_gt(fit[t].a * fit[t].a, best[t] * fit[t].b));
            scale[t] = vf_select(better[t], fit[t].a / fit[t].b, scale[t]);
            best[t] = vf_select(better[t], scale[t] * fit[t].a, best[t]);
            any |= vm_any(better[t]);
        }
        if (any)
            lanes_take(turns, n, better, l, L);
    }
    lanes_offset(turns, n, N, empty, L);
    for (int t = 0; t < turns; t++)
        scale[t] = vf_select(empty[t], zero, scale[t]);
}

/* search_q3 */
ALWAYS_INLINE void lanes_q3(int turns, int n, int N, const lanes_group *x, lanes_group *L,
                            vf *scale)
{
    const vf zero = vf_set(0.0f);
    vf s[TURNS];
    vm empty[TURNS];
    struct lanes_fit fit[TURNS];
    lanes_group w[SEARCH_MAX];

    for (int i = 0; i < n; i++)
        for (int t = 0; t < turns; t++)
            w[i][t] = x[i][t] * x[i][t];
    for (int t = 0; t < turns; t++)
        s[t] = vf_set(-(float)N) / lanes_extreme_element(n, x, t, &empty[t]);
    lanes_fit_signed(turns, n, N, x, w, s, L, fit);

    for (int pass = 0; pass < SEARCH_PASSES; pass++) {
        vm changed = vf_gt(zero, zero);
        for (int i = 0; i < n; i++)
            for (int t = 0; t < turns; t++) {
                const vf from = L[i][t], wx = w[i][t] * x[i][t];
                vf a = fit[t].a - wx * from;
                vf b = fit[t].b - w[i][t] * from * from;
                const vf to = lanes_rne_clamped(x[i][t] * b / a, -N, N - 1);
                vm better = vm_and(vf_gt(a, zero), vf_ne(to, from));
                a = a + wx * to;
                b = b + w[i][t] * to * to;
                better = vm_and(better, vf_gt(b, zero));
                better = vm_and(better, vf_gt(a * a * fit[t].b, fit[t].a * fit[t].a * b));
                L[i][t] = vf_select(better, to, from);
                fit[t].a = vf_select(better, a, fit[t].a);
                fit[t].b = vf_select(better, b, fit[t].b);
                changed = vm_or(changed, better);
            }
        if (!vm_any(changed))
            break;
    }
    lanes_offset(turns, n, N, empty, L);
    for (int t = 0; t < turns; t++)
        scale[t] =
            vf_select(vm_without(vf_gt(fit[t].b, zero), empty[t]), fit[t].a / fit[t].b, zero);
}

/* qkx_error */
ALWAYS_INLINE void lanes_qkx_error(int turns, int n, const lanes_group *x, const lanes_group *w,
                                   const lanes_group *l, const vf *scale, const vf *minimum,
                                   bool absolute, vf *error)
{
    for (int t = 0; t < turns; t++)
        error[t] = vf_set(0.0f);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < turns; t++) {
            const vf e = scale[t] * l[i][t] + minimum[t] - x[i][t];
            if (absolute)
                error[t] = error[t] + w[i][t] * vf_abs(e);
            else
                error[t] = error[t] + w[i][t] * (e * e);
        }
}

/* search_qkx */
ALWAYS_INLINE void lanes_qkx(int turns, int n, int N, const lanes_group *x, const lanes_group *w,
                             struct qkx_steps try, lanes_group *L, vf *scale, vf *minimum)
{
    const vf zero = vf_set(0.0f);
    vf lo[TURNS], hi[TURNS], lowest[TURNS], sum_w[TURNS], sum_x[TURNS], best[TURNS];
    lanes_group l[SEARCH_MAX];

    for (int t = 0; t < turns; t++) {
        lo[t] = vf_set(FLT_MAX);
        hi[t] = vf_set(-FLT_MAX);
        sum_w[t] = sum_x[t] = zero;
    }
    for (int i = 0; i < n; i++)
        for (int t = 0; t < turns; t++) {
            lo[t] = vf_min(x[i][t], lo[t]);
            hi[t] = vf_max(x[i][t], hi[t]);
            sum_w[t] = sum_w[t] + w[i][t];
            sum_x[t] = sum_x[t] + w[i][t] * x[i][t];
        }
    for (int t = 0; t < turns; t++) {
        lo[t] = vf_select(vf_gt(lo[t], zero), zero, lo[t]);
        lowest[t] = lo[t];
        const vf s = vf_set((float)N) / (hi[t] - lo[t]);
        scale[t] = vf_set(1.0f) / s;
        for (int i = 0; i < n; i++)
            L[i][t] = lanes_rne_clamped(s * (x[i][t] - lo[t]), 0, N);
    }
    lanes_qkx_error(turns, n, x, w, L, scale, lo, try.absolute, best);

    for (int k = 0; k <= try.steps; k++) {
        const vf step = vf_set(try.r0 + try.dr * (float)k + (float)N);
        vf s[TURNS], sum_l[TURNS], sum_l2[TURNS], sum_xl[TURNS];
        for (int t = 0; t < turns; t++) {
            s[t] = step / (hi[t] - lo[t]);
            sum_l[t] = sum_l2[t] = sum_xl[t] = zero;
        }
        for (int i = 0; i < n; i++)
            for (int t = 0; t < turns; t++) {
                const vf code = lanes_rne_clamped(s[t] * (x[i][t] - lo[t]), 0, N);
                const vf wl = w[i][t] * code;
                sum_l[t] = sum_l[t] + wl;
                sum_l2[t] = sum_l2[t] + wl * code;
                sum_xl[t] = sum_xl[t] + wl * x[i][t];
                l[i][t] = code;
            }
        vf this_scale[TURNS], this_min[TURNS], error[TURNS];
        vm better[TURNS];
        for (int t = 0; t < turns; t++) {
            const vf det = sum_w[t] * sum_l2[t] - sum_l[t] * sum_l[t];
            this_scale[t] = (sum_w[t] * sum_xl[t] - sum_x[t] * sum_l[t]) / det;
            this_min[t] = (sum_l2[t] * sum_x[t] - sum_l[t] * sum_xl[t]) / det;
            const vm above = vf_gt(this_min[t], zero);
            this_min[t] = vf_select(above, zero, this_min[t]);
            this_scale[t] = vf_select(above, sum_xl[t] / sum_l2[t], this_scale[t]);
            better[t] = vf_gt(det, zero);
        }
        lanes_qkx_error(turns, n, x, w, l, this_scale, this_min, try.absolute, error);
        int any = 0;
        for (int t = 0; t < turns; t++) {
            better[t] = vm_and(better[t], vf_gt(best[t], error[t]));
            best[t] = vf_select(better[t], error[t], best[t]);
            scale[t] = vf_select(better[t], this_scale[t], scale[t]);
            lo[t] = vf_select(better[t], this_min[t], lo[t]);
            any |= vm_any(better[t]);
        }
        if (any)
            lanes_take(turns, n, better, l, L);
    }

    for (int t = 0; t < turns; t++) {
        const vm empty = vf_eq(hi[t], lowest[t]);
        for (int i = 0; i < n; i++)
            L[i][t] = vf_select(empty, zero, L[i][t]);
        scale[t] = vf_select(empty, zero, scale[t]);
        minimum[t] = -vf_select(empty, lowest[t], lo[t]);
    }
}

#endif
