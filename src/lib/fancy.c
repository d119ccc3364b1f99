/* Arrays as indices: a[i], a[mask] and their assignment, with NumPy's rules.
 *
 * Arrays of integers (and integers beside them) broadcast together. Their axes in the result stand where the
 * first of them stands, when no slice, newaxis or Ellipsis comes between two of them, and first otherwise.
 * Slices are taken before, as a view that keeps the axes which arrays index. Reading is then one pattern over
 * the result that loads; assignment one that scatters, in C order, so the last of several values for one
 * place wins. Indices are checked before, in one pass, so nothing is stored when one is out of range.
 * A mask stands for the indices of its true items. As the only index, over all axes, it is a scan: the number
 * of true items so far is the place in the result.
 * Cost: a pass over the indices, and one over the result; masks are counted first, then read once more. */
#include "lib/fam.h"

#include <assert.h>

enum { MAX_PARTS = 4 * TR_MAX_NDIM };

static const tr_ty *i64_ty(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}
static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}

/* --- masks: counting and packing --- */

static bool lam_count(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    tr_tv t;
    (void)d;
    (void)idx;
    (void)caps;
    if (!tr_em_truth(e, elems[0], &t))
        return false;
    yields[0] = tr_em_conv(e, t, i64_ty(e));
    return true;
}

static tr_tv count_true(tr_em *e, tr_tv mask) {
    tr_tv shape[TR_MAX_NDIM], init = zero(e), n;
    tr_redk add = TR_RED_ADD;
    tr_fam_shape(e, mask, shape);
    tr_pdesc d = {.nspace = mask.ty->ndim,
                  .nin = 1,
                  .nred = 1,
                  .space = shape,
                  .in = &mask,
                  .reds = &add,
                  .init = &init,
                  .lam = lam_count};
    tr_em_pattern(e, &d, &n);
    return n;
}

/* A new 1-d array of n items with room for one more: packing stores where the next item
 * would go, wanted or not. */
static tr_tv room_for(tr_em *e, const tr_ty *elem, tr_tv n) {
    assert(tr_em_are_i64(e, 1, &n) && "a number of items");
    tr_tv more = tr_em_nsw(e, TR_OP_ADD, n, tr_em_i64(e, 1));
    return tr_em_alloc(e, elem, 1, TR_LAYOUT_C, &more);
}

/* in: mask, and an array whose items are packed, or none: the indices are, one array per axis. */
static bool lam_pack(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    for (uint32_t i = 0; i < d->nfilt; i++)
        yields[i] = d->nin > 1 ? elems[1] : idx[i];
    return lam_count(e, d, idx, elems, caps, yields + d->nfilt);
}

/* The rooms become what was packed into them: no more than they have room for, even when
 * another thread changes the mask meanwhile. */
static bool pack(tr_em *e, uint32_t nin, const tr_tv *in, uint32_t nfilt, tr_tv *rooms) {
    tr_tv shape[TR_MAX_NDIM], init = zero(e), n;
    tr_redk add = TR_RED_ADD;
    tr_fam_shape(e, in[0], shape);
    tr_pdesc d = {.nspace = in[0].ty->ndim,
                  .nin = nin,
                  .nred = 1,
                  .nscan = 1,
                  .nfilt = nfilt,
                  .space = shape,
                  .in = in,
                  .filt = rooms,
                  .reds = &add,
                  .init = &init,
                  .lam = lam_pack};
    if (!tr_em_pattern(e, &d, &n))
        return false;
    for (uint32_t i = 0; i < nfilt; i++)
        rooms[i] = tr_fam_part(e, rooms[i], 0, zero(e), n);
    return true;
}

bool tr_lib_nonzero(tr_em *e, tr_tv mask, tr_tv *out) {
    tr_tv n = count_true(e, mask);
    for (uint32_t i = 0; i < mask.ty->ndim; i++)
        out[i] = room_for(e, i64_ty(e), n);
    return pack(e, 1, &mask, mask.ty->ndim, out);
}

/* The mask must have the sizes of the axes that it stands for. */
static void check_mask(tr_em *e, tr_tv a, uint32_t first, tr_tv mask) {
    assert(first + mask.ty->ndim <= a.ty->ndim && "the mask is of axes that there are");
    for (uint32_t i = 0; i < mask.ty->ndim; i++) {
        tr_tv n = tr_em_dim(e, a, first + i), m = tr_em_dim(e, mask, i);
        tr_em_check(
            e, tr_em_cmp(e, TR_CMP_EQ, n, m), TR_EXC_INDEX,
            tr_arena_printf(&e->ctx->arena,
                            "boolean index did not match indexed array along axis %u; size of axis is "
                            "{0} but size of corresponding boolean axis is {1}",
                            first + i),
            2, (tr_tv[]){n, m});
    }
}

static bool is_whole_mask(tr_tv a, const tr_idx *it, uint32_t n) {
    return n == 1 && it[0].kind == 'm' && it[0].v.ty->ndim == a.ty->ndim;
}

static bool get_masked(tr_em *e, tr_tv a, tr_tv mask, tr_tv *out) {
    tr_tv in[2] = {mask, a};
    check_mask(e, a, 0, mask);
    *out = room_for(e, a.ty->elem, count_true(e, mask));
    return pack(e, 2, in, 1, out);
}

/* --- a block that runs where a condition holds --- */

typedef struct branch {
    tr_bid join;
} branch;

static branch begin_if(tr_em *e, tr_tv cond) {
    branch b = {0};
    if (e->dry)
        return b;
    tr_bid then = tr_blk_new(e->b.fn);
    b.join = tr_blk_new(e->b.fn);
    tr_cbr(&e->b, cond.v, then, 0, NULL, b.join, 0, NULL);
    e->b.blk = then;
    return b;
}

static void end_if(tr_em *e, branch b) {
    if (e->dry)
        return;
    tr_br(&e->b, b.join, 0, NULL);
    e->b.blk = b.join;
}

/* --- a[mask] = value --- */

/* caps: array, then a number, or an array of values and the step from one to the next (0
 * for a single one). */
static bool lam_put_masked(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems,
                           const tr_tv *caps, tr_tv *yields) {
    bool many = d->nscan > 0;
    tr_tv t, at;
    if (!tr_em_truth(e, elems[0], &t))
        return false;
    branch b = begin_if(e, t);
    if (many)
        at = tr_em_nsw(e, TR_OP_MUL, elems[1], caps[2]);
    tr_em_store(e, caps[0], idx, many ? tr_em_load(e, caps[1], &at) : caps[1]);
    end_if(e, b);
    if (many)
        yields[0] = tr_em_conv(e, t, i64_ty(e));
    return true;
}

static bool set_masked(tr_em *e, tr_tv a, tr_tv mask, tr_tv v) {
    tr_tv shape[TR_MAX_NDIM], init = zero(e), none, u, caps[3] = {a, v}, one = tr_em_i64(e, 1);
    tr_redk add = TR_RED_ADD;
    bool many = tr_lib_is_array(v);
    check_mask(e, a, 0, mask);
    if (!tr_lib_unaliased(e, a, mask, &mask))
        return false;
    if (many) {
        if (v.ty->ndim > 1)
            return tr_em_error(e,
                               "a[mask] = x, with a mask for all axes of a, takes a number or a 1-d array");
        if (!tr_lib_unaliased(e, a, v, &u))
            return false;
        tr_tv n = count_true(e, mask), m = tr_em_dim(e, u, 0), single = tr_em_cmp(e, TR_CMP_EQ, m, one);
        tr_em_check(
            e, tr_fam_or(e, single, tr_em_cmp(e, TR_CMP_EQ, n, m)), TR_EXC_VALUE,
            "NumPy boolean array indexing assignment cannot assign {0} input values to the {1} output "
            "values where the mask is true",
            2, (tr_tv[]){m, n});
        caps[1] = u;
        caps[2] = tr_em_select(e, single, zero(e), one);
    }
    tr_fam_shape(e, a, shape);
    tr_pdesc d = {.nspace = a.ty->ndim,
                  .nin = 1,
                  .nred = many,
                  .nscan = many,
                  .ncap = many ? 3 : 2,
                  .space = shape,
                  .in = &mask,
                  .reds = &add,
                  .init = &init,
                  .caps = caps,
                  .lam = lam_put_masked};
    return tr_em_pattern(e, &d, &none);
}

/* --- arrays of integers --- */

typedef struct plan {
    tr_tv view;            /* slices taken; axes that are indexed by arrays or integers are whole */
    int of[TR_MAX_NDIM];   /* per axis of view: number of its index, or -1 - axis of the result */
    uint32_t nix;          /* indices: arrays and integers */
    tr_tv ix[TR_MAX_NDIM]; /* arrays expanded to the rank of the result, once planned */
    uint32_t ndim;         /* of the result */
    tr_tv shape[TR_MAX_NDIM];
    tr_update u; /* assignment; a function that joins is the last capture */
} plan;

/* Masks become the indices of their true items. */
static bool without_masks(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_idx *out, uint32_t *nout) {
    uint32_t axis = 0;
    *nout = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (it[i].kind != 'm') {
            axis += it[i].kind != 'n' && it[i].kind != '.';
            out[(*nout)++] = it[i];
            continue;
        }
        tr_tv pos[TR_MAX_NDIM];
        check_mask(e, a, axis, it[i].v);
        if (!tr_lib_nonzero(e, it[i].v, pos))
            return false;
        for (uint32_t k = 0; k < it[i].v.ty->ndim; k++)
            out[(*nout)++] = (tr_idx){'a', pos[k]};
        axis += it[i].v.ty->ndim;
    }
    return true;
}

static bool lam_range(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    (void)d;
    (void)idx;
    (void)caps;
    tr_tv i = tr_em_conv(e, elems[0], i64_ty(e));
    if (elems[0].ty->kind == TR_TY_U64) /* those past int64 are past every axis */
        i = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, i, zero(e)), tr_em_i64(e, INT64_MAX), i);
    yields[0] = yields[1] = i;
    return true;
}

/* IndexError unless all indices are in [-n, n); of keys a ValueError where one is negative. */
static bool check_range(tr_em *e, tr_tv ix, tr_tv n, uint32_t axis, bool keys) {
    tr_tv shape[TR_MAX_NDIM], init[2] = {zero(e), tr_em_i64(e, -1)}, r;
    const tr_redk reds[2] = {TR_RED_MIN, TR_RED_MAX};
    if (!e->opts->boundscheck)
        return true;
    if (tr_lib_is_array(ix)) {
        tr_fam_shape(e, ix, shape);
        tr_pdesc d = {.nspace = ix.ty->ndim,
                      .nin = 1,
                      .nred = 2,
                      .space = shape,
                      .in = &ix,
                      .reds = reds,
                      .init = init,
                      .lam = lam_range};
        if (!tr_em_pattern(e, &d, &r))
            return false;
        init[0] = tr_em_item(e, r, 0);
        init[1] = tr_em_item(e, r, 1);
    } else {
        init[0] = init[1] = tr_em_conv(e, ix, i64_ty(e));
    }
    const char *text =
        tr_arena_printf(&e->ctx->arena, "index {0} is out of bounds for axis %u with size {1}", axis);
    tr_tv low = tr_em_cmp(e, TR_CMP_GE, init[0], keys ? zero(e) : tr_em_op1(e, TR_OP_NEG, n)),
          high = tr_em_cmp(e, TR_CMP_LT, init[1], n);
    if (keys)
        tr_em_check(e, low, TR_EXC_VALUE, "a key is negative: keys are places of a result of `size` rows", 0,
                    NULL);
    else
        tr_em_check(e, low, TR_EXC_INDEX, text, 2, (tr_tv[]){init[0], n});
    tr_em_check(e, high, TR_EXC_INDEX, text, 2, (tr_tv[]){init[1], n});
    return true;
}

/* Where the axes of the indices go: next to each other they stay in place. */
static bool are_adjacent(const tr_idx *it, uint32_t n) {
    int state = 0; /* before, among, after them */
    for (uint32_t i = 0; i < n; i++) {
        bool ix = it[i].kind == 'a' || it[i].kind == 'i';
        if (ix && state == 2)
            return false;
        state = ix ? 1 : state == 1 ? 2 : state;
    }
    return true;
}

static bool make_plan(tr_em *e, tr_tv a, const tr_idx *given, uint32_t ngiven, plan *p) {
    tr_idx it[MAX_PARTS], basic[MAX_PARTS] = {{0}};
    uint32_t n, nb = 0, axis = 0, nplain = 0;
    tr_tv common[TR_MAX_NDIM] = {{NULL, TR_NOVAL}};
    if (!without_masks(e, a, given, ngiven, it, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        bool ix = it[i].kind == 'a' || it[i].kind == 'i';
        basic[i] = ix ? (tr_idx){'f', it[i].v} : it[i];
        if (it[i].kind == 'a' && it[i].v.ty->ndim > nb)
            nb = it[i].v.ty->ndim;
        nplain += !ix && it[i].kind != '.';
    }
    if (nplain + nb > TR_MAX_NDIM)
        return tr_em_error(e, "more than %d dimensions", TR_MAX_NDIM);
    if (!tr_lib_index_view(e, a, basic, n, &p->view))
        return false;
    if (nplain == 0) /* all axes are whole: passes know the array better by its own name */
        p->view = a;
    bool placed = !are_adjacent(it, n); /* then they come first */
    uint32_t at = 0, next = placed ? nb : 0;
    p->nix = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (it[i].kind == '.')
            continue;
        if (it[i].kind != 'a' && it[i].kind != 'i') {
            p->of[axis] = -1 - (int)next;
            p->shape[next++] = tr_em_dim(e, p->view, axis++);
            continue;
        }
        if (!placed) {
            placed = true;
            at = next;
            next += nb;
        }
        if (!check_range(e, it[i].v, tr_em_dim(e, p->view, axis), axis, p->u.keys))
            return false;
        if (it[i].kind == 'a')
            tr_lib_merge_shape(
                e, it[i].v, nb, common, TR_EXC_INDEX,
                "shape mismatch: indexing arrays could not be broadcast together with shapes ");
        p->ix[p->nix] = it[i].v;
        p->of[axis++] = (int)p->nix++;
    }
    p->ndim = next;
    assert(axis == p->view.ty->ndim && p->ndim == nplain + nb &&
           "each axis has its index, or is one of the result");
    for (uint32_t i = 0; i < nb; i++)
        p->shape[at + i] = common[i];
    for (uint32_t i = 0; i < p->nix; i++)
        if (tr_lib_is_array(p->ix[i]))
            p->ix[i] = tr_lib_expand_at(e, p->ix[i], at + nb, p->ndim);
    return true;
}

/* The place in the view, of which the sizes are given, for a point of the result. caps: the integers. */
static void place_of(tr_em *e, const plan *p, const tr_tv *idx, const tr_tv *elems, const tr_tv *size,
                     const tr_tv *caps, tr_tv *at) {
    tr_tv ix[TR_MAX_NDIM];
    for (uint32_t i = 0; i < p->nix; i++)
        ix[i] = tr_lib_is_array(p->ix[i]) ? *elems++ : *caps++;
    for (uint32_t k = 0; k < p->view.ty->ndim; k++) {
        if (p->of[k] < 0) {
            at[k] = idx[-1 - p->of[k]];
            continue;
        }
        assert((uint32_t)p->of[k] < p->nix && "the axis has one of the indices");
        tr_tv x = ix[p->of[k]], i = tr_em_conv(e, x, i64_ty(e));
        if (tr_ty_class(tr_lib_scalar(e, x.ty)) == 'i' && !p->u.keys)
            i = tr_lib_wrap(e, i, size[k]);
        at[k] = i;
    }
}

static bool lam_take(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    tr_tv at[TR_MAX_NDIM], size[TR_MAX_NDIM];
    tr_fam_shape(e, caps[0], size);
    place_of(e, d->user, idx, elems, size, caps + 1, at);
    yields[0] = tr_em_load(e, caps[0], at);
    return true;
}

static uint32_t count_arrays(const plan *p) {
    assert(p->nix <= TR_MAX_NDIM && "there is room for all indices");
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->nix; i++)
        n += tr_lib_is_array(p->ix[i]);
    return n;
}

/* To scatter: caps are the sizes of the view, then the integers, then the value, if it is no array; at the
 * end the function that joins, if there is one. The value is the last element else. */
static bool lam_scatter(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                        tr_tv *yields) {
    const plan *p = d->user;
    uint32_t arrays = count_arrays(p), n = p->view.ty->ndim;
    assert(d->ncap >= n && (d->nin == arrays || d->nin == arrays + 1) && "indices, and maybe the value");
    place_of(e, p, idx, elems, caps, caps + n, yields);
    tr_tv v = d->nin > arrays ? elems[arrays] : caps[d->ncap - 1 - (p->u.by != NULL)];
    if (p->u.fn && !p->u.fn(e, p->u.user, &v, &v))
        return false;
    yields[n] = tr_em_conv(e, v, p->view.ty->elem);
    return true;
}

/* Two values of the target as one, by the function. */
static bool join_values(tr_em *e, const tr_pdesc *d, uint32_t k, tr_tv x, tr_tv y, const tr_tv *caps,
                        tr_tv *out) {
    const tr_ty *t = ((const plan *)d->user)->view.ty->elem;
    tr_tv r;
    (void)k;
    if (!tr_fam_call(e, caps[d->ncap - 1], 2, (tr_tv[]){x, y}, t, &r))
        return false;
    if (r.ty && (!tr_lib_scalar(e, r.ty) || !tr_fam_same_kind(tr_lib_scalar(e, r.ty), t)))
        return tr_em_error(e, "the function makes one value of two, not %s of %s", tr_em_tyname(e, r.ty),
                           tr_em_tyname(e, t));
    *out = r.ty ? tr_em_conv(e, r, t) : tr_lib_undef(e, t);
    return true;
}

/* The same as a region. caps: the view, then the integers. */
static bool lam_put(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                    tr_tv *yields) {
    const plan *p = d->user;
    tr_tv at[TR_MAX_NDIM], size[TR_MAX_NDIM];
    uint32_t arrays = count_arrays(p);
    (void)yields;
    tr_fam_shape(e, caps[0], size);
    place_of(e, p, idx, elems, size, caps + 1, at);
    tr_tv x[2] = {tr_em_load(e, caps[0], at), d->nin > arrays ? elems[arrays] : caps[d->ncap - 1]}, v;
    if (!p->u.fn(e, p->u.user, x, &v))
        return false;
    tr_em_store(e, caps[0], at, v);
    return true;
}

/* Inputs and captures that the plan's indices are. */
static void operands(const plan *p, tr_tv *in, uint32_t *nin, tr_tv *caps, uint32_t *ncap) {
    *nin = 0;
    for (uint32_t i = 0; i < p->nix; i++) {
        if (tr_lib_is_array(p->ix[i]))
            in[(*nin)++] = p->ix[i];
        else
            caps[(*ncap)++] = p->ix[i];
    }
}

bool tr_lib_fancy_get(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_tv *out) {
    tr_tv in[TR_MAX_NDIM], caps[TR_MAX_NDIM + 1], none;
    uint32_t nin, ncap;
    if (is_whole_mask(a, it, n))
        return get_masked(e, a, it[0].v, out);
    plan *p = TR_NEW(&e->ctx->arena, plan);
    p->u = (tr_update){.how = TR_SCATTER__COUNT};
    if (!make_plan(e, a, it, n, p))
        return false;
    caps[0] = p->view;
    ncap = 1;
    operands(p, in, &nin, caps, &ncap);
    *out = tr_em_alloc(e, a.ty->elem, p->ndim, TR_LAYOUT_C, p->shape);
    tr_pdesc d = {.nspace = p->ndim,
                  .nin = nin,
                  .nout = 1,
                  .ncap = ncap,
                  .space = p->shape,
                  .in = in,
                  .out = out,
                  .caps = caps,
                  .lam = lam_take,
                  .user = p};
    return tr_em_pattern(e, &d, &none);
}

/* A value to assign: a number, or an array; with its errors. */
static bool value_of(tr_em *e, tr_tv a, tr_tv *v) {
    tr_bcall c = {.row = TR_B_NP_ARRAY};
    if (v->ty->kind == TR_TY_TUPLE && !tr_fam_as_array(e, &c, *v, NULL, v))
        return false;
    if (tr_lib_is_array(*v) && v->ty->ndim == 0)
        *v = tr_em_load(e, *v, NULL);
    const tr_ty *s = tr_lib_is_array(*v) ? v->ty->elem : tr_lib_scalar(e, v->ty);
    if (!s || (tr_ty_is_complex(s) && !tr_ty_is_complex(a.ty->elem)))
        return tr_em_error(e, "cannot store %s in an array of %s", tr_em_tyname(e, v->ty),
                           tr_em_tyname(e, a.ty->elem));
    if (!tr_lib_is_array(*v))
        *v = tr_em_conv(e, *v, a.ty->elem);
    return true;
}

static bool put(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_tv v, const tr_update *u) {
    tr_tv in[TR_MAX_NDIM + 1], caps[2 * TR_MAX_NDIM + 2], none;
    uint32_t nin, ncap = 1;
    bool scatters = u->how != TR_SCATTER__COUNT;
    if (u->how == TR_SCATTER_PUT && is_whole_mask(a, it, n))
        return set_masked(e, a, it[0].v, v);
    plan *p = TR_NEW(&e->ctx->arena, plan);
    p->u = *u;
    if (!make_plan(e, a, it, n, p))
        return false;
    for (uint32_t i = 0; i < p->nix; i++)
        if (tr_lib_is_array(p->ix[i]) && !tr_lib_separate(e, a, p->ix[i], &p->ix[i]))
            return false;
    caps[0] = p->view;
    if (scatters) {
        tr_fam_shape(e, p->view, caps);
        ncap = p->view.ty->ndim;
    }
    operands(p, in, &nin, caps, &ncap);
    if (!tr_lib_is_array(v)) {
        caps[ncap++] = v;
    } else {
        if (!tr_lib_separate(e, a, v, &v) || tr_lib_too_many_axes(e, v, p->ndim))
            return false;
        tr_lib_check_broadcast(e, v, p->ndim, p->shape);
        in[nin++] = tr_lib_expand_at(e, v, p->ndim, p->ndim);
    }
    if (u->by)
        caps[ncap++] = *u->by;
    tr_pdesc d = {.nspace = p->ndim,
                  .nin = nin,
                  .nscat = scatters,
                  .ncap = ncap,
                  .space = p->shape,
                  .in = in,
                  .scat = &p->view,
                  .scats = &p->u.how,
                  .caps = caps,
                  .lam = scatters ? lam_scatter : lam_put,
                  .user = p,
                  .join = u->by ? join_values : NULL};
    return tr_em_pattern(e, &d, &none);
}

bool tr_lib_fancy_set(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_tv v) {
    return value_of(e, a, &v) && put(e, a, it, n, v, &(tr_update){.how = TR_SCATTER_PUT});
}

bool tr_lib_fancy_update(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_tv v, const tr_update *u) {
    if (u->by)
        return value_of(e, a, &v) && put(e, a, it, n, v, u);
    if (tr_lib_is_array(v) && v.ty->ndim == 0)
        v = tr_em_load(e, v, NULL);
    return put(e, a, it, n, v, u);
}
