/* SPDX-License-Identifier: MIT */
/*
 * The searches of search.h for many groups at once, one in each lane. Each lane does the operations
 * of search.h in the same order, so that it finds the same bits; where lanes part, all go on and a
 * mask says which results count.
 *
 * A search is a chain in which each step waits for the one before. So `turns` vectors of LANES
 * groups take turns at each step, and the waiting of one is the work of the others. x, w: elements
 * and weights, element i of vector t at [t * n + i] (lanes_load).
 */
#ifndef QKERN_COMMON_LANES_SEARCH_H
#define QKERN_COMMON_LANES_SEARCH_H

#include "lanes.h"
#include "search.h"

/* Vectors that take turns. */
#ifndef TURNS
#define TURNS 2
#endif

/*
 * What a search finds, and where: LANES floats for each vector. Codes are a function of s and lo
 * (lanes_codes), so that better ones need not be kept at each success.
 */
struct lanes_found {
    float *scale;
    float *min; /* not negative; unset without minimum */
    float *s;
    float *lo;
};

/* The extreme element with its sign, as signed_absmax; *empty: where it is tiny. */
ALWAYS_INLINE vf lanes_extreme(int n, const vf *x, vm *empty)
{
    vf lo = vf_set(0.0f), hi = vf_set(0.0f);
    for (int i = 0; i < n; i++) {
        lo = vf_min(x[i], lo);
        hi = vf_max(x[i], hi);
    }
    vf m = vf_select(vf_gt(-lo, hi), lo, hi);
    const vm tie = vm_and(vf_eq(hi, -lo), vf_gt(hi, vf_set(0.0f)));
    if (vm_any(tie)) /* both signs: the first decides */
        for (int i = n - 1; i >= 0; i--)
            m = vf_select(vm_and(tie, vf_eq(vf_abs(x[i]), hi)), x[i], m);
    *empty = vf_gt(vf_set(SEARCH_TINY), vf_abs(m));
    return m;
}

/* sum_in_order */
ALWAYS_INLINE vf lanes_sum_in_order(int n, const vf *terms)
{
    vf sum = vf_set(0.0f);
    for (int i = 0; i < n; i++)
        sum = sum + terms[i];
    return sum;
}

/* importance_weights, in place of the importance */
ALWAYS_INLINE void lanes_importance_weights(int n, const vf *x, vf sigma2, vf *w)
{
    for (int i = 0; i < n; i++)
        w[i] = w[i] * vf_sqrt(sigma2 + x[i] * x[i]);
}

struct lanes_fit {
    vf a;
    vf b;
};

/* fit_signed, without the codes. near: all |s * x| are <= RNE_LIMIT. */
ALWAYS_INLINE void lanes_fit_signed(int turns, int n, int N, bool near, const vf *x, const vf *w,
                                    const vf *wx, const vf *s, struct lanes_fit *fit)
{
    for (int t = 0; t < turns; t++)
        fit[t].a = fit[t].b = vf_set(0.0f);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < turns; t++) {
            const vf v = s[t] * x[t * n + i];
            const vf code =
                near ? lanes_near_clamped(v, -N, N - 1) : lanes_rne_clamped(v, -N, N - 1);
            fit[t].a = fit[t].a + wx[t * n + i] * code;
            fit[t].b = fit[t].b + w[t * n + i] * code * code;
        }
}

/*
 * search_qx. For finite elements |s * x| is N + 1 at most, but in empty groups, whose results do
 * not count: so all are near.
 */
ALWAYS_INLINE void lanes_qx(int turns, int n, int N, bool near, const vf *x, const vf *w,
                            struct lanes_found found)
{
    const vf zero = vf_set(0.0f);
    vf m[TURNS], s[TURNS], scale[TURNS], best[TURNS], best_s[TURNS];
    vm empty[TURNS];
    struct lanes_fit fit[TURNS];
    vf wx[TURNS * SEARCH_MAX];

    for (int i = 0; i < turns * n; i++)
        wx[i] = w[i] * x[i];
    for (int t = 0; t < turns; t++) {
        m[t] = lanes_extreme(n, x + t * n, &empty[t]);
        s[t] = vf_set(-(float)N) / m[t];
    }
    lanes_fit_signed(turns, n, N, near, x, w, wx, s, fit);
    for (int t = 0; t < turns; t++) {
        scale[t] = vf_select(vf_ne(fit[t].b, zero), fit[t].a / fit[t].b, zero);
        best[t] = scale[t] * fit[t].a;
        best_s[t] = s[t];
    }

    for (int k = -9; k <= 9; k++) {
        if (k == 0)
            continue;
        for (int t = 0; t < turns; t++)
            s[t] = vf_set(-((float)N + 0.1f * (float)k)) / m[t];
        lanes_fit_signed(turns, n, N, near, x, w, wx, s, fit);
        for (int t = 0; t < turns; t++) {
            const vm better =
                vm_and(vf_gt(fit[t].b, zero), vf_gt(fit[t].a * fit[t].a, best[t] * fit[t].b));
            scale[t] = vf_select(better, fit[t].a / fit[t].b, scale[t]);
            best[t] = vf_select(better, scale[t] * fit[t].a, best[t]);
            best_s[t] = vf_select(better, s[t], best_s[t]);
        }
    }
    for (int t = 0; t < turns; t++) {
        /* The codes of an empty group are 0, not N: its elements are far below lo. */
        vf_store(found.scale + t * LANES, vf_select(empty[t], zero, scale[t]));
        vf_store(found.s + t * LANES, vf_select(empty[t], vf_set(1.0f), best_s[t]));
        vf_store(found.lo + t * LANES, vf_select(empty[t], vf_set(RNE_LIMIT), zero));
    }
}

/* A vector of groups in search_q3, element by element. */
struct lanes_q3 {
    vf l[SEARCH_MAX]; /* codes, with their sign */
    vf a[SEARCH_MAX]; /* what each adds to the fit */
    vf b[SEARCH_MAX];
    struct lanes_fit fit;
};

/* The first fit of search_q3. *empty: the groups that have none. |s * x| is N at most. */
ALWAYS_INLINE void lanes_q3_start(int n, int N, const vf *x, struct lanes_q3 *g, vm *empty)
{
    const vf s = vf_set(-(float)N) / lanes_extreme(n, x, empty);
    g->fit.a = g->fit.b = vf_set(0.0f);
#pragma GCC unroll 2
    for (int i = 0; i < n; i++) {
        const vf w = x[i] * x[i];
        g->l[i] = vf_min(vf_round(s * x[i]), vf_set((float)(N - 1)));
        g->a[i] = w * x[i] * g->l[i];
        g->b[i] = w * g->l[i] * g->l[i];
        g->fit.a = g->fit.a + g->a[i];
        g->fit.b = g->fit.b + g->b[i];
    }
}

/*
 * Where element i keeps its code for sure, with the sums a and b of the others: x * b / a is closer
 * to the code than a half, with room for the errors of these operations. That saves the division
 * for most elements, as most codes are where they belong.
 */
ALWAYS_INLINE vm lanes_q3_stays(vf x, vf l, vf a, vf b)
{
    return vf_gt(vf_set(0.4999f) * a, vf_abs(x * b - l * a));
}

/*
 * The groups in which a code may move from where lanes_q3_start puts it. None does where the sum of
 * the others is not positive, as in all groups whose extreme element is.
 */
ALWAYS_INLINE vm lanes_q3_may_move(int n, const vf *x, const struct lanes_q3 *g)
{
    vm moves = vf_gt(vf_set(0.0f), vf_set(0.0f));
#pragma GCC unroll 2
    for (int i = 0; i < n; i++) {
        const vf a = g->fit.a - g->a[i], b = g->fit.b - g->b[i];
        const vm stays = lanes_q3_stays(x[i], g->l[i], a, b);
        moves = vm_or(moves, vm_without(vf_gt(a, vf_set(0.0f)), stays));
    }
    return moves;
}

ALWAYS_INLINE vf lanes_q3_scale(const struct lanes_q3 *g, vm empty)
{
    const vm fits = vm_without(vf_gt(g->fit.b, vf_set(0.0f)), empty);
    return vf_select(fits, g->fit.a / g->fit.b, vf_set(0.0f));
}

/* A step of search_q3: the groups in which element i moved to another code. */
ALWAYS_INLINE vm lanes_q3_move(int i, int N, bool look, const vf *x, struct lanes_q3 *g)
{
    const vf zero = vf_set(0.0f);
    vf a = g->fit.a - g->a[i];
    vf b = g->fit.b - g->b[i];
    vm better = vf_gt(a, zero);
    if (look) {
        better = vm_without(better, lanes_q3_stays(x[i], g->l[i], a, b));
        if (!vm_any(better))
            return better;
    }

    const vf to = lanes_rne_clamped(x[i] * b / a, -N, N - 1);
    better = vm_and(better, vf_ne(to, g->l[i]));
    const vf w = x[i] * x[i], to_a = w * x[i] * to, to_b = w * to * to;
    a = a + to_a;
    b = b + to_b;
    better = vm_and(better, vf_gt(b, zero));
    better = vm_and(better, vf_gt(a * a * g->fit.b, g->fit.a * g->fit.a * b));
    g->l[i] = vf_select(better, to, g->l[i]);
    g->a[i] = vf_select(better, to_a, g->a[i]);
    g->b[i] = vf_select(better, to_b, g->b[i]);
    g->fit.a = vf_select(better, a, g->fit.a);
    g->fit.b = vf_select(better, b, g->fit.b);
    return better;
}

/*
 * Vectors of groups with moving codes that take turns. With sixteen lanes more than four would not
 * leave room on the stack.
 */
#define Q3_TURNS (LANES == 16 ? 4 : 8)

/* search_q3 for `turns` vectors of groups; the scales. */
ALWAYS_INLINE void lanes_q3(int turns, int n, int N, const vf *x, vf *scale)
{
    struct lanes_q3 g[Q3_TURNS];
    vm empty[Q3_TURNS];
    int moving[Q3_TURNS]; /* the vectors that have not come to rest */

    for (int t = 0; t < turns; t++) {
        lanes_q3_start(n, N, x + t * n, &g[t], &empty[t]);
        moving[t] = t;
    }
    for (int pass = 0, left = turns; pass < SEARCH_PASSES && left > 0; pass++) {
        vm changed[Q3_TURNS];
        for (int k = 0; k < left; k++)
            changed[k] = vf_gt(vf_set(0.0f), vf_set(0.0f));
        for (int i = 0; i < n; i++)
            for (int k = 0; k < left; k++) {
                const int t = moving[k];
                changed[k] = vm_or(changed[k], lanes_q3_move(i, N, pass > 0, x + t * n, &g[t]));
            }
        int still = 0;
        for (int k = 0; k < left; k++)
            if (vm_any(changed[k]))
                moving[still++] = moving[k];
        left = still;
    }
    for (int t = 0; t < turns; t++)
        scale[t] = lanes_q3_scale(&g[t], empty[t]);
}

/* A group of qkx: what does not change from candidate to candidate, and the best so far. */
struct lanes_qkx_group {
    vf least;
    vf greatest;
    vf sum_w;
    vf sum_x;
    vf scale;
    vf lo;
    vf s; /* with start, the lo from which the best codes come */
    vf start;
    vf error;
};

struct lanes_qkx_sums {
    vf l;
    vf l2;
    vf xl;
};

/* What is known of s * (x - lo) for all elements of all groups. */
enum lanes_range {
    RANGE_ANY,
    RANGE_NEAR,  /* the magnitude is RNE_LIMIT at most */
    RANGE_BELOW, /* and no code is above N */
};

/*
 * Rounding keeps the order of numbers, so that the bounds are at the least and the greatest
 * element.
 */
ALWAYS_INLINE enum lanes_range lanes_qkx_range(int turns, int N, const struct lanes_qkx_group *g,
                                               const vf *s)
{
    bool near = true, below = true;
    for (int t = 0; t < turns; t++) {
        const vf least = vf_abs(s[t] * (g[t].least - g[t].lo));
        const vf greatest = vf_abs(s[t] * (g[t].greatest - g[t].lo));
        const vm low_end = vf_gt(vf_set(RNE_LIMIT), least);
        near &= vm_all(vm_and(low_end, vf_gt(vf_set(RNE_LIMIT), greatest)));
        below &= vm_all(vf_gt(vf_set((float)N + 0.5f), greatest));
    }
    if (!near)
        return RANGE_ANY;
    return below ? RANGE_BELOW : RANGE_NEAR;
}

/* The codes l of the candidates s, and their sums. */
ALWAYS_INLINE void lanes_qkx_codes(int turns, int n, int N, enum lanes_range range, const vf *x,
                                   const vf *w, const struct lanes_qkx_group *g, const vf *s, vf *l,
                                   struct lanes_qkx_sums *sum)
{
    for (int t = 0; t < turns; t++)
        sum[t].l = sum[t].l2 = sum[t].xl = vf_set(0.0f);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < turns; t++) {
            const int e = t * n + i;
            const vf v = s[t] * (x[e] - g[t].lo);
            vf code;
            if (range == RANGE_BELOW)
                code = vf_max(vf_round(v), vf_set(0.0f));
            else if (range == RANGE_NEAR)
                code = lanes_near_clamped(v, 0, N);
            else
                code = lanes_rne_clamped(v, 0, N);
            const vf wl = w[e] * code;
            sum[t].l = sum[t].l + wl;
            sum[t].l2 = sum[t].l2 + wl * code;
            sum[t].xl = sum[t].xl + wl * x[e];
            l[e] = code;
        }
}

/* qkx_error */
ALWAYS_INLINE void lanes_qkx_error(int turns, int n, const vf *x, const vf *w, const vf *l,
                                   const vf *scale, const vf *minimum, bool absolute, vf *error)
{
    for (int t = 0; t < turns; t++)
        error[t] = vf_set(0.0f);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < turns; t++) {
            const int k = t * n + i;
            const vf e = scale[t] * l[k] + minimum[t] - x[k];
            vf term = e * e;
            if (absolute)
                term = vf_abs(e);
            error[t] = error[t] + w[k] * term;
        }
}

/* The first fit of search_qkx, from the least to the greatest element. */
ALWAYS_INLINE void lanes_qkx_start(int turns, int n, int N, const vf *x, const vf *w, bool absolute,
                                   struct lanes_qkx_group *g)
{
    vf l[TURNS * SEARCH_MAX], scale[TURNS], lo[TURNS], error[TURNS];

    for (int t = 0; t < turns; t++) {
        g[t].least = vf_set(FLT_MAX);
        g[t].greatest = vf_set(-FLT_MAX);
        g[t].sum_w = g[t].sum_x = vf_set(0.0f);
        for (int i = t * n; i < (t + 1) * n; i++) {
            g[t].least = vf_min(x[i], g[t].least);
            g[t].greatest = vf_max(x[i], g[t].greatest);
            g[t].sum_w = g[t].sum_w + w[i];
            g[t].sum_x = g[t].sum_x + w[i] * x[i];
        }
        lo[t] = vf_select(vf_gt(g[t].least, vf_set(0.0f)), vf_set(0.0f), g[t].least);
        const vf s = vf_set((float)N) / (g[t].greatest - lo[t]);
        for (int i = t * n; i < (t + 1) * n; i++)
            l[i] = lanes_rne_clamped(s * (x[i] - lo[t]), 0, N);
        scale[t] = vf_set(1.0f) / s;
        g[t].s = s;
        g[t].scale = scale[t];
        g[t].lo = g[t].start = lo[t];
    }
    lanes_qkx_error(turns, n, x, w, l, scale, lo, absolute, error);
    for (int t = 0; t < turns; t++)
        g[t].error = error[t];
}

/* search_qkx */
ALWAYS_INLINE void lanes_qkx(int turns, int n, int N, const vf *x, const vf *w,
                             struct qkx_steps try, struct lanes_found found)
{
    const vf zero = vf_set(0.0f);
    struct lanes_qkx_group g[TURNS];
    struct lanes_qkx_sums sum[TURNS];
    vf l[TURNS * SEARCH_MAX], s[TURNS], scale[TURNS], lo[TURNS], error[TURNS];
    vm better[TURNS];

    lanes_qkx_start(turns, n, N, x, w, try.absolute, g);
    for (int k = 0; k <= try.steps; k++) {
        const vf step = vf_set(try.r0 + try.dr * (float)k + (float)N);
        for (int t = 0; t < turns; t++)
            s[t] = step / (g[t].greatest - g[t].lo);
        const enum lanes_range range = lanes_qkx_range(turns, N, g, s);
        if (range == RANGE_BELOW)
            lanes_qkx_codes(turns, n, N, RANGE_BELOW, x, w, g, s, l, sum);
        else if (range == RANGE_NEAR)
            lanes_qkx_codes(turns, n, N, RANGE_NEAR, x, w, g, s, l, sum);
        else
            lanes_qkx_codes(turns, n, N, RANGE_ANY, x, w, g, s, l, sum);

        for (int t = 0; t < turns; t++) {
            const vf det = g[t].sum_w * sum[t].l2 - sum[t].l * sum[t].l;
            scale[t] = (g[t].sum_w * sum[t].xl - g[t].sum_x * sum[t].l) / det;
            lo[t] = (sum[t].l2 * g[t].sum_x - sum[t].l * sum[t].xl) / det;
            const vm above = vf_gt(lo[t], zero);
            if (vm_any(above)) {
                lo[t] = vf_select(above, zero, lo[t]);
                scale[t] = vf_select(above, sum[t].xl / sum[t].l2, scale[t]);
            }
            better[t] = vf_gt(det, zero);
        }
        lanes_qkx_error(turns, n, x, w, l, scale, lo, try.absolute, error);
        for (int t = 0; t < turns; t++) {
            better[t] = vm_and(better[t], vf_gt(g[t].error, error[t]));
            g[t].error = vf_select(better[t], error[t], g[t].error);
            g[t].scale = vf_select(better[t], scale[t], g[t].scale);
            g[t].s = vf_select(better[t], s[t], g[t].s);
            g[t].start = vf_select(better[t], g[t].lo, g[t].start);
            g[t].lo = vf_select(better[t], lo[t], g[t].lo);
        }
    }

    for (int t = 0; t < turns; t++) {
        const vf least = vf_select(vf_gt(g[t].least, zero), zero, g[t].least);
        const vm empty = vf_eq(g[t].greatest, least);
        vf_store(found.scale + t * LANES, vf_select(empty, zero, g[t].scale));
        vf_store(found.min + t * LANES, -vf_select(empty, least, g[t].lo));
        vf_store(found.s + t * LANES, vf_select(empty, zero, g[t].s));
        vf_store(found.lo + t * LANES, vf_select(empty, zero, g[t].start));
    }
}

/* qp_error */
ALWAYS_INLINE vf lanes_qp_error(int n, int N, const vf *x, const vf *w, vf s)
{
    const vf c = vf_set(1.0f) / s;
    vf sum = vf_set(0.0f);
    for (int i = 0; i < n; i++) {
        const vf e = x[i] - c * lanes_rne_clamped(s * x[i], RNE_LEAST, N);
        sum = sum + w[i] * e * e;
    }
    return sum;
}

/* The low 8 bits of a whole number, unsigned. */
ALWAYS_INLINE vf lanes_unsigned_byte(vf v)
{
    return vf_from_i32(vi_from_f32(v) & vi_set(255));
}

/* search_qp. L: the codes. */
ALWAYS_INLINE vf lanes_qp(int n, int N, const vf *x, const vf *w, vf *L)
{
    const vf zero = vf_set(0.0f);
    vf hi = zero;
    for (int i = 0; i < n; i++)
        hi = vf_max(x[i], hi);
    const vm empty = vf_gt(vf_set(SEARCH_TINY), hi);

    vf s = vf_set((float)N) / hi;
    const vf c = vf_set(1.0f) / s;
    vf best = zero;
    for (int i = 0; i < n; i++) {
        const vf code = lanes_rne_shifted(s * x[i]) - vf_set(RNE_SHIFT);
        const vf e = x[i] - c * lanes_unsigned_byte(code);
        best = best + w[i] * e * e;
    }
    for (int k = -4; k <= 4; k++) {
        if (k == 0)
            continue;
        const vf try = vf_set(0.1f * (float)k + (float)N) / hi;
        const vf error = lanes_qp_error(n, N, x, w, try);
        const vm better = vf_gt(best, error);
        best = vf_select(better, error, best);
        s = vf_select(better, try, s);
    }

    struct lanes_fit fit = {zero, zero};
    for (int i = 0; i < n; i++) {
        const vf code = lanes_rne_clamped(s * x[i], RNE_LEAST, N);
        L[i] = lanes_unsigned_byte(code);
        fit.a = fit.a + w[i] * x[i] * code;
        fit.b = fit.b + w[i] * code * code;
    }
    for (int pass = 0; pass < SEARCH_PASSES; pass++) {
        vm changed = vf_gt(zero, zero);
        for (int i = 0; i < n; i++) {
            const vf from = L[i], wx = w[i] * x[i];
            vf a = fit.a - wx * from;
            vf b = fit.b - w[i] * from * from;
            const vf to = lanes_rne_clamped(x[i] * b / a, RNE_LEAST, N);
            vm better = vm_and(vf_gt(a, zero), vf_gt(b, zero));
            better = vm_and(better, vf_ne(to, from));
            a = a + wx * to;
            b = b + w[i] * to * to;
            better = vm_and(better, vf_gt(a * a * fit.b, fit.a * fit.a * b));
            L[i] = vf_select(better, lanes_unsigned_byte(to), from);
            fit.a = vf_select(better, a, fit.a);
            fit.b = vf_select(better, b, fit.b);
            changed = vm_or(changed, better);
        }
        if (!vm_any(changed))
            break;
    }
    for (int i = 0; i < n; i++)
        L[i] = vf_select(empty, zero, L[i]);
    return vf_select(vm_without(vf_gt(fit.b, zero), empty), fit.a / fit.b, zero);
}

#endif
