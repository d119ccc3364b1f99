/* Generalised ufuncs: a function over views of its operands, once for each outer index.
 *
 * The calls are one pattern, a region over the outer axes: compiled code and the inner loops that NumPy is
 * given (driver/kernel.c) both come here. Operands that the caller did not give are made; inputs of other
 * types are converted into new arrays; what an output, or an input that is stored to, may share memory with
 * is copied before.
 * Cost: a view of each operand per call of the function. */
#include <assert.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

/* --- one call per index --- */

/* Operand k at an outer index: an element where the function takes a number, else a view. One without axes
 * that the function takes as an array has one axis of length 1. */
static tr_tv at_index(tr_em *e, tr_tv a, uint32_t nouter, const tr_tv *idx, uint32_t ncore,
                      const tr_ty *want) {
    tr_axes x = {0};
    if (!tr_lib_is_array(a))
        return tr_em_conv(e, a, want);
    if (tr_ty_is_scalar(want))
        return tr_em_load(e, a, idx);
    for (uint32_t i = 0; i < nouter; i++)
        x.start[i] = idx[i];
    for (uint32_t i = 0; i < ncore; i++)
        tr_axes_own(e, &x, a, nouter + i);
    if (ncore == 0)
        tr_axes_new(e, &x, tr_em_i64(e, 1));
    return tr_em_view(e, want, a, &x);
}

typedef struct round {
    const tr_core *c;
    uint32_t nouter;
} round;

static bool one(tr_em *e, const round *r, const tr_tv *idx, const tr_tv *operands) {
    const tr_core *c = r->c;
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, c->n + 1u);
    for (uint32_t k = 0; k < c->n; k++)
        x[k] = at_index(e, operands[k], r->nouter, idx, c->ncore[k], c->want[k]);
    return c->fn(e, c->user, x);
}

static bool lam_round(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    (void)elems;
    (void)yields;
    return one(e, d->user, idx, caps);
}

bool tr_em_core(tr_em *e, const tr_core *c, uint32_t nouter, const tr_tv *space, const tr_tv *operands) {
    assert(c->n <= TR_MAX_OPERANDS && tr_em_are_i64(e, nouter, space) && "operands over a space");
    round r = {c, nouter};
    tr_tv none;
    if (nouter == 0)
        return one(e, &r, NULL, operands);
    tr_pdesc d = {
        .nspace = nouter, .ncap = c->n, .space = space, .caps = operands, .lam = lam_round, .user = &r};
    return tr_em_pattern(e, &d, &none);
}

/* --- operands, and which signature is theirs --- */

const tr_ty *tr_fam_strong_type(tr_em *e, tr_tv x) {
    return x.ty->kind == TR_TY_ARRAY ? x.ty->elem : tr_ty_strong(e->types, x.ty);
}

bool tr_fam_is_weak(tr_tv x) {
    return x.ty->weak ||
           (x.ty->kind == TR_TY_LIT && x.ty->lit->kind != TR_OBJ_SCALAR && x.ty->lit->kind != TR_OBJ_BOOL);
}

tr_operand tr_fam_operand_of(tr_em *e, tr_tv x) {
    tr_tyk k = (tr_tyk)tr_fam_strong_type(e, x)->kind;
    if (k == TR_TY_F16)
        return (tr_operand){.kind = TR_TY_F32, .half = true};
    return tr_operand_of(k, tr_fam_is_weak(x));
}

void tr_fam_operands_of(tr_em *e, uint32_t n, const tr_tv *x, tr_operand *out) {
    assert(n <= TR_MAX_OPERANDS && tr_em_are_whole(e, n, x) && "there is room for all operands");
    for (uint32_t i = 0; i < n; i++)
        out[i] = tr_fam_operand_of(e, x[i]);
}

static const tr_ty *const *signature(const void *self, uint32_t k) {
    const tr_ufn *u = self;
    return u->sigs + (size_t)k * tr_ufn_row(u);
}

const tr_ty *const *tr_fam_declared_for(tr_em *e, const tr_ufn *u, const tr_tv *x) {
    tr_operand all[TR_MAX_OPERANDS];
    tr_fam_operands_of(e, u->nin, x, all);
    int64_t k = tr_operands_pick(all, u->nin, signature, u, u->nsigs);
    if (k >= 0)
        return signature(u, (uint32_t)k);
    const char *have = "";
    for (uint32_t i = 0; i < u->nin; i++)
        have = tr_arena_printf(&e->ctx->arena, "%s%s%s", have, i ? ", " : "", tr_em_tyname(e, x[i].ty));
    tr_em_error(e, "the ufunc %s() has no signature for (%s)", u->name, have);
    return NULL;
}

bool tr_fam_is_generalised(const tr_ufn *u) {
    for (uint32_t k = 0; u->core && k < u->nin + u->nout; k++)
        if (u->core->n[k])
            return true;
    return false;
}

/* out= and where=. */
static bool bind_keywords(tr_em *e, const tr_ufn *u, const tr_args *args, tr_tv *dst, tr_tv *where) {
    *dst = *where = (tr_tv){NULL, TR_NOVAL};
    for (uint32_t k = 0; k < args->nkw; k++) {
        bool is_out = !strcmp(args->kw[k], "out");
        if (!is_out && (tr_fam_is_generalised(u) || strcmp(args->kw[k], "where")))
            return tr_em_error(e, "%s() takes no keyword arguments but out=%s in compiled code", u->name,
                               tr_fam_is_generalised(u) ? "" : " and where=");
        *(is_out ? dst : where) = args->v[args->n - args->nkw + k];
    }
    return true;
}

bool tr_fam_bind_operands(tr_em *e, const tr_ufn *u, const tr_args *args, tr_tv *x, tr_tv *where) {
    assert(u->nin + u->nout <= TR_MAX_OPERANDS && args->nkw <= args->n && "there is room for all operands");
    uint32_t npos = args->n - args->nkw;
    tr_tv dst;
    if (!bind_keywords(e, u, args, &dst, where))
        return false;
    if (npos < u->nin || npos > u->nin + u->nout)
        return tr_em_error(e, "%s() takes %u argument%s and an optional out, not %u", u->name, u->nin,
                           u->nin == 1 ? "" : "s", npos);
    for (uint32_t i = 0; i < u->nin + u->nout; i++)
        x[i] = i < npos && (i < u->nin || !tr_tv_is_none(args->v[i])) ? args->v[i] : (tr_tv){NULL, TR_NOVAL};
    if (tr_fam_given(dst)) {
        bool several = dst.ty->kind == TR_TY_TUPLE;
        if (npos > u->nin || (several ? dst.ty->n : 1) != u->nout)
            return tr_em_error(e, "%s(): out must be %s", u->name,
                               u->nout == 1 ? "an array, given once" : "a tuple of an array for each output");
        for (uint32_t i = 0; i < u->nout; i++) {
            tr_tv o = several ? tr_em_item(e, dst, i) : dst;
            x[u->nin + i] = tr_tv_is_none(o) ? (tr_tv){NULL, TR_NOVAL} : o;
        }
    }
    for (uint32_t i = 0; i < u->nin; i++) {
        const tr_ty *t = tr_ty_strong(e->types, x[i].ty);
        if (t->kind != TR_TY_ARRAY && !tr_ty_is_scalar(t))
            return tr_em_error(e, "%s() takes numbers or arrays, not %s", u->name, tr_em_tyname(e, x[i].ty));
    }
    return true;
}

/* --- a call in compiled code --- */

typedef struct gcall {
    const tr_ufn *u;
    uint32_t nop, nouter;
    bool foreign; /* made by others: messages are NumPy's */
    tr_tv space[TR_MAX_NDIM];
    tr_tv size[TR_MAX_NDIM]; /* of the core axes, by tr_cores.which */
} gcall;

static bool is_writable(const gcall *g, uint32_t k) {
    return k >= g->u->nin || (g->u->core->writable >> k & 1u);
}

static uint32_t which(const gcall *g, uint32_t k, uint32_t d) {
    assert(k < g->nop && d < g->u->core->n[k] && "a core axis of an operand");
    return g->u->core->which[k * TR_MAX_NDIM + d];
}

static uint32_t outer_of(const gcall *g, uint32_t k, tr_tv x) {
    assert(k < g->nop && (!tr_lib_is_array(x) || x.ty->ndim >= g->u->core->n[k]) &&
           "an operand with its core axes");
    return tr_lib_is_array(x) ? x.ty->ndim - g->u->core->n[k] : 0;
}

static bool check_operands(tr_em *e, gcall *g, const tr_tv *x) {
    for (uint32_t k = 0; k < g->nop; k++) {
        uint32_t n = g->u->core->n[k];
        const char *what = k < g->u->nin ? "argument" : "output";
        uint32_t at = 1 + (k < g->u->nin ? k : k - g->u->nin);
        if (!x[k].ty)
            continue;
        bool array = tr_lib_is_array(x[k]);
        if (!array && (k >= g->u->nin || !tr_lib_scalar(e, x[k].ty)))
            return tr_em_error(e, "%s(): %s %u must be an array%s, not %s", g->u->name, what, at,
                               k < g->u->nin && !n ? " or a number" : "", tr_em_tyname(e, x[k].ty));
        if ((array ? x[k].ty->ndim : 0) < n)
            return tr_em_error(e, "%s(): %s %u has %u dimensions, but the layout '%s' wants %u", g->u->name,
                               what, at, array ? x[k].ty->ndim : 0u, g->u->core->text, n);
        if (array && x[k].ty->readonly && is_writable(g, k))
            return tr_em_error(e, "%s(): %s %u is stored to, but the array is read-only", g->u->name, what,
                               at);
        if (outer_of(g, k, x[k]) > g->nouter)
            g->nouter = outer_of(g, k, x[k]);
    }
    return true;
}

/* The sizes of the core axes: those of the layout, or of the first operand that has them; all others must
 * agree. */
static bool find_sizes(tr_em *e, gcall *g, const tr_tv *x) {
    const tr_cores *c = g->u->core;
    for (uint32_t i = 0; i < c->nsizes; i++)
        g->size[i] = c->sizes[i] < 0 ? (tr_tv){NULL, TR_NOVAL} : tr_em_i64(e, c->sizes[i]);
    for (uint32_t k = 0; k < g->nop; k++) {
        for (uint32_t d = 0; x[k].ty && d < c->n[k]; d++) {
            tr_tv n = tr_em_dim(e, x[k], outer_of(g, k, x[k]) + d), *size = &g->size[which(g, k, d)];
            const char *text = g->foreign
                                   ? tr_arena_printf(&e->ctx->arena,
                                                     "%s: %sput operand %u has a mismatch in its core "
                                                     "dimension %u, with gufunc signature %s (size {0} is "
                                                     "different from {1})",
                                                     g->u->name, k < g->u->nin ? "In" : "Out",
                                                     k < g->u->nin ? k : k - g->u->nin, d, c->text)
                                   : tr_arena_printf(&e->ctx->arena,
                                                     "%s(): operand %u has size {0} in core dimension %u, "
                                                     "where the layout '%s' and the "
                                                     "operands before it want {1}",
                                                     g->u->name, k, d, c->text);
            if (size->ty)
                tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, *size), TR_EXC_VALUE, text, 2, (tr_tv[]){n, *size});
            else
                *size = n;
        }
    }
    for (uint32_t k = g->u->nin; k < g->nop; k++)
        for (uint32_t d = 0; !x[k].ty && d < c->n[k]; d++)
            if (!g->size[which(g, k, d)].ty)
                return tr_em_error(
                    e,
                    "%s(): the size of core dimension %u of output %u follows from no operand; "
                    "give that output as out=",
                    g->u->name, d, k - g->u->nin + 1);
    return true;
}

/* The outer axes broadcast; what is stored to does not. */
static bool find_space(tr_em *e, gcall *g, const tr_tv *x) {
    for (uint32_t i = 0; i < g->nouter; i++)
        g->space[i] = (tr_tv){NULL, TR_NOVAL};
    for (uint32_t k = 0; k < g->nop; k++) {
        uint32_t n = x[k].ty ? outer_of(g, k, x[k]) : 0;
        tr_tv outer[TR_MAX_NDIM];
        for (uint32_t i = 0; i < n; i++)
            outer[i] = tr_em_dim(e, x[k], i);
        tr_lib_merge_sizes(e, n, outer, g->nouter, g->space, TR_EXC_VALUE,
                           "operands could not be broadcast together with shapes ");
    }
    for (uint32_t k = 0; k < g->nop; k++) {
        if (!x[k].ty || !is_writable(g, k))
            continue;
        if (outer_of(g, k, x[k]) != g->nouter)
            return tr_em_error(
                e, "%s(): operand %u is stored to and cannot repeat, but the others have more dimensions",
                g->u->name, k);
        for (uint32_t i = 0; i < g->nouter; i++) {
            tr_tv n = tr_em_dim(e, x[k], i);
            tr_em_check(
                e, tr_em_cmp(e, TR_CMP_EQ, n, g->space[i]), TR_EXC_VALUE,
                "an operand that is stored to has size {0} where the others have {1}, and cannot repeat", 2,
                (tr_tv[]){n, g->space[i]});
        }
    }
    return true;
}

static bool number_as_array(tr_em *e, tr_tv x, tr_tv *out) {
    *out = tr_em_alloc(e, x.ty, 0, TR_LAYOUT_C, NULL);
    return tr_em_fill(e, *out, x);
}

static const tr_ty *elem_of(const tr_ty *want) {
    return want->kind == TR_TY_ARRAY ? want->elem : want;
}

/* Inputs in the function's types, apart from all that is stored to. */
static bool take_inputs(tr_em *e, const gcall *g, const tr_core *c, const tr_tv *x, tr_tv *v) {
    assert(c->n == g->nop && "a wanted type for each operand");
    for (uint32_t k = 0; k < g->u->nin; k++) {
        v[k] = x[k];
        if (!tr_lib_is_array(x[k])) {
            v[k] = tr_em_conv(e, x[k], elem_of(c->want[k]));
            if (c->want[k]->kind == TR_TY_ARRAY && !number_as_array(e, v[k], &v[k]))
                return false;
            continue;
        }
        for (uint32_t m = 0; m < g->nop; m++)
            if (m != k && x[m].ty && is_writable(g, m) && !is_writable(g, k) &&
                !tr_lib_unaliased(e, x[m], v[k], &v[k]))
                return false;
        const tr_ty *elem = elem_of(c->want[k]);
        if (v[k].ty->elem != elem && !tr_fam_copy_as(e, v[k], elem, TR_LAYOUT_C, &v[k]))
            return false;
    }
    return true;
}

/* Complex numbers become real ones by their real parts, as where NumPy converts. */
static bool copy_given(tr_em *e, tr_tv dst, tr_tv given) {
    tr_tv src = given;
    tr_bcall part = {.a = &given};
    if (!tr_ty_is_complex(dst.ty->elem) && !tr_lib_arr_part(e, &part, &src))
        return false;
    return tr_em_assign(e, dst, src);
}

/* Outputs: those given, where their type is the function's, else new ones, which begin as a copy of what was
 * given: the function may leave items as they are. */
static bool take_outputs(tr_em *e, const gcall *g, const tr_core *c, const tr_tv *x, tr_tv *v) {
    for (uint32_t k = g->u->nin; k < g->nop; k++) {
        tr_tv shape[2 * TR_MAX_NDIM];
        v[k] = x[k];
        if (x[k].ty && x[k].ty->elem == elem_of(c->want[k]))
            continue;
        for (uint32_t i = 0; i < g->nouter; i++)
            shape[i] = g->space[i];
        for (uint32_t d = 0; d < g->u->core->n[k]; d++)
            shape[g->nouter + d] = g->size[which(g, k, d)];
        v[k] = tr_em_alloc(e, elem_of(c->want[k]), g->nouter + g->u->core->n[k], TR_LAYOUT_C, shape);
        if (x[k].ty && !copy_given(e, v[k], x[k]))
            return false;
    }
    return true;
}

/* An array with all outer axes of the space: those that it lacks, or has with extent 1, repeat. */
static tr_tv spread(tr_em *e, const gcall *g, uint32_t k, tr_tv a) {
    uint32_t n = g->u->core->n[k], have = outer_of(g, k, a), skip = g->nouter - have;
    tr_tv zero = tr_em_i64(e, 0), one_ = tr_em_i64(e, 1);
    tr_axes x = {0};
    if (!tr_lib_is_array(a) || g->nouter == 0 || is_writable(g, k))
        return a;
    for (uint32_t i = 0; i < skip; i++)
        tr_axes_new(e, &x, g->space[i]);
    for (uint32_t i = 0; i < have; i++) {
        tr_tv repeats = tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, a, i), one_);
        tr_axes_part(&x, i, zero, g->space[skip + i], tr_em_select(e, repeats, zero, one_));
    }
    for (uint32_t i = 0; i < n; i++)
        tr_axes_own(e, &x, a, have + i);
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, g->nouter + n, TR_LAYOUT_ANY, a.ty->readonly);
    return tr_em_view(e, ty, a, &x);
}

/* What the caller gets: the arrays it gave, new ones, or numbers where they have no axes. */
static bool deliver(tr_em *e, const gcall *g, const tr_tv *x, const tr_tv *v, tr_tv *out) {
    tr_tv *r = TR_NEW_N(&e->ctx->arena, tr_tv, g->u->nout + 1u);
    for (uint32_t k = 0; k < g->nop; k++) {
        bool given = x[k].ty && is_writable(g, k);
        if (given && x[k].ty->elem != v[k].ty->elem && !tr_em_assign(e, x[k], v[k]))
            return false;
        if (k >= g->u->nin)
            r[k - g->u->nin] = given ? x[k] : v[k].ty->ndim ? v[k] : tr_em_load(e, v[k], NULL);
    }
    *out = g->u->nout == 0 ? tr_em_none(e) : g->u->nout == 1 ? r[0] : tr_em_tuple(e, g->u->nout, r);
    return true;
}

bool tr_em_gufunc(tr_em *e, const tr_ufn *u, const tr_core *given, const tr_tv *x, tr_tv *out) {
    assert(u->core && given->n == u->nin + u->nout && "a generalised ufunc, with a type for each operand");
    gcall g = {.u = u, .nop = u->nin + u->nout, .foreign = given->whole};
    tr_core c = *given;
    const tr_ty **want = TR_NEW_N(&e->ctx->arena, const tr_ty *, g.nop + 1u);
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, g.nop + 1u);
    if (!check_operands(e, &g, x))
        return false;
    for (uint32_t k = 0; k < g.nop; k++) {
        if (g.nouter + u->core->n[k] > TR_MAX_NDIM)
            return tr_em_error(e, "%s(): more than %d dimensions", u->name, TR_MAX_NDIM);
        if (is_writable(&g, k) && x[k].ty && !tr_fam_same_kind(elem_of(c.want[k]), x[k].ty->elem))
            return tr_em_error(e, "%s(): cannot store a result of %s in an array of %s", u->name,
                               tr_em_tyname(e, elem_of(c.want[k])), tr_em_tyname(e, x[k].ty->elem));
    }
    if (!find_sizes(e, &g, x) || !find_space(e, &g, x) || !take_inputs(e, &g, &c, x, v) ||
        !take_outputs(e, &g, &c, x, v))
        return false;
    tr_tv *all = TR_NEW_N(&e->ctx->arena, tr_tv, g.nop + 1u);
    for (uint32_t k = 0; k < g.nop; k++) {
        const tr_ty *t = c.want[k];
        all[k] = spread(e, &g, k, v[k]);
        bool readonly = tr_lib_is_array(v[k]) && v[k].ty->readonly;
        want[k] =
            t->kind == TR_TY_ARRAY ? tr_ty_array(e->types, t->elem, t->ndim, TR_LAYOUT_ANY, readonly) : t;
    }
    if (c.whole)
        return c.fn(e, c.user, all) && deliver(e, &g, x, v, out);
    c.want = want;
    return tr_em_core(e, &c, g.nouter, g.space, all) && deliver(e, &g, x, v, out);
}
