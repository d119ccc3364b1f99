/* einsum: each operand is looked at as an array of all labels, those of the result first, by a view with new
 * axes for the labels that it lacks and a diagonal for one that it has twice. The product of these views,
 * summed over the last axes, is an expression as the user could write it, and fusion makes one pattern of it.
 * What is a product of matrices is one. */
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

enum {
    ELLIPSIS = 128,
    NLABELS = ELLIPSIS + TR_MAX_NDIM
}; /* labels are letters, and places counted from the right of '...' */

/* Labels of an operand or of the result. */
typedef struct term {
    uint32_t n;
    uint32_t rest; /* where '...' stands; or NONE */
    uint8_t label[TR_MAX_NDIM];
} term;

enum { NONE = UINT32_MAX };

static bool parse(tr_em *e, const char **s, term *t) {
    *t = (term){.rest = NONE};
    for (; **s && **s != ',' && **s != '-'; ++*s) {
        if (**s == ' ')
            continue;
        if (strncmp(*s, "...", 3) == 0 && t->rest == NONE) {
            t->rest = t->n;
            *s += 2;
        } else if ((**s | 32) < 'a' || (**s | 32) > 'z') {
            return tr_em_error(e, "einsum(): '%c' is no label", **s);
        } else if (t->n == TR_MAX_NDIM) {
            return tr_em_error(e, "einsum(): more than %d labels", TR_MAX_NDIM);
        } else {
            t->label[t->n++] = (uint8_t) * *s;
        }
    }
    return true;
}

/* Puts n labels in place of '...'. */
static bool fill_in(tr_em *e, term *t, uint32_t n) {
    if (t->n + n > TR_MAX_NDIM)
        return tr_em_error(e, "einsum(): more than %d dimensions", TR_MAX_NDIM);
    if (t->rest == NONE)
        return true;
    memmove(t->label + t->rest + n, t->label + t->rest, t->n - t->rest);
    for (uint32_t i = 0; i < n; i++)
        t->label[t->rest + i] = (uint8_t)(ELLIPSIS + n - 1 - i);
    t->n += n;
    return true;
}

static int place_of(const term *t, uint8_t label) {
    for (uint32_t i = 0; i < t->n; i++)
        if (t->label[i] == label)
            return (int)i;
    return -1;
}

/* Labels that are there once, in order, behind those of '...'. */
static void implied(const term *in, uint32_t n, term *out) {
    uint32_t count[NLABELS] = {0}, rest = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < in[i].n; k++) {
            count[in[i].label[k]]++;
            if (in[i].label[k] >= ELLIPSIS && in[i].label[k] - ELLIPSIS + 1u > rest)
                rest = in[i].label[k] - ELLIPSIS + 1u;
        }
    out->n = 0;
    while (rest > 0 && out->n < TR_MAX_NDIM)
        out->label[out->n++] = (uint8_t)(ELLIPSIS + --rest);
    for (uint32_t l = 0; l < ELLIPSIS && out->n < TR_MAX_NDIM; l++)
        if (count[l] == 1)
            out->label[out->n++] = (uint8_t)l;
}

/* One axis for each label: what has one twice is its diagonal. */
static void once_each(tr_em *e, tr_tv *a, term *t) {
    tr_tv n[TR_MAX_NDIM], st[TR_MAX_NDIM];
    term u = {.rest = NONE};
    for (uint32_t i = 0; i < t->n; i++) {
        int k = place_of(&u, t->label[i]);
        tr_tv size = tr_em_dim(e, *a, i), step = tr_em_stride(e, *a, i);
        if (k >= 0) {
            tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, size, n[k]), TR_EXC_VALUE,
                        "einsum(): axes of one operand with one label have sizes {0} and {1}", 2,
                        (tr_tv[]){n[k], size});
            st[k] = tr_em_nsw(e, TR_OP_ADD, st[k], step);
        } else {
            n[u.n] = size;
            st[u.n] = step;
            u.label[u.n++] = t->label[i];
        }
    }
    if (u.n < t->n)
        *a = tr_em_restride(
            e, tr_ty_array_as(e->types, a->ty->elem, u.n, TR_LAYOUT_ANY, a->ty->readonly, a->ty->sub), *a,
            tr_em_i64(e, 0), n, st);
    *t = u;
}

/* a with an axis for each label in the order of `space`. */
static tr_tv in_space(tr_em *e, tr_tv a, const term *t, const term *space) {
    uint32_t perm[TR_MAX_NDIM];
    tr_axes x = {0};
    for (uint32_t i = 0; i < space->n; i++) {
        int k = place_of(t, space->label[i]);
        perm[i] = (uint32_t)k;
        if (k >= 0)
            tr_axes_own(e, &x, a, (uint32_t)k);
        else
            tr_axes_new(e, &x, tr_em_i64(e, 1));
    }
    if (space->n == t->n)
        return tr_fam_permuted(e, a, perm);
    return tr_em_view(e, tr_ty_array(e->types, a.ty->elem, x.n, TR_LAYOUT_ANY, a.ty->readonly), a, &x);
}

static void add(term *t, uint8_t label) {
    t->label[t->n++] = label;
}

/* A product of two matrices, or of stacks of them, as the operands are `turned` round or not. */
typedef struct plan {
    bool turned;
    term first, second, made; /* labels in order: those of the stack, then two */
} plan;

static bool is_product(const term *in, const term *out, plan *p) {
    term left = {.rest = NONE}, right = left, inner = left, both = left;
    for (uint32_t i = 0; i < in[0].n; i++) {
        uint8_t l = in[0].label[i];
        add(place_of(&in[1], l) < 0 ? &left : place_of(out, l) < 0 ? &inner : &both, l);
    }
    for (uint32_t i = 0; i < in[1].n; i++)
        if (place_of(&in[0], in[1].label[i]) < 0)
            add(&right, in[1].label[i]);
    if (left.n != 1 || right.n != 1 || inner.n != 1)
        return false;
    int row = place_of(out, left.label[0]), column = place_of(out, right.label[0]);
    if (row < 0 || column < 0)
        return false;
    p->turned = row > column;
    p->first = p->second = p->made = both;
    add(&p->first, p->turned ? right.label[0] : left.label[0]);
    add(&p->first, inner.label[0]);
    add(&p->second, inner.label[0]);
    add(&p->second, p->turned ? left.label[0] : right.label[0]);
    add(&p->made, p->first.label[both.n]);
    add(&p->made, p->second.label[both.n + 1]);
    return true;
}

/* Where the extent of an axis is 1, it stands for all n places. */
static bool stretch(tr_em *e, tr_tv *a, uint32_t axis, tr_tv n) {
    tr_tv shape[TR_MAX_NDIM];
    for (uint32_t i = 0; i < a->ty->ndim; i++)
        shape[i] = tr_em_dim(e, *a, i);
    tr_tv is_one = tr_em_cmp(e, TR_CMP_EQ, shape[axis], tr_em_i64(e, 1));
    shape[axis] = tr_em_select(e, is_one, n, shape[axis]);
    return tr_em_broadcast(e, *a, a->ty->ndim, shape, a);
}

/* Two operands whose product BLAS may have. */
static bool matrices(tr_em *e, const tr_tv *a, const term *in, const term *out, plan *p) {
    const tr_ty *t = tr_lib_common(e, a[0].ty->elem, a[1].ty->elem);
    return t->kind != TR_TY_F16 && (tr_ty_is_float(t) || tr_ty_is_complex(t)) && is_product(in, out, p);
}

/* Their product, its axes in the order of p->made. */
static bool multiply(tr_em *e, const tr_tv *a, const term *in, const plan *p, tr_tv *out) {
    tr_tv x = in_space(e, a[p->turned], &in[p->turned], &p->first),
          y = in_space(e, a[!p->turned], &in[!p->turned], &p->second);
    uint32_t inner = p->first.n - 1;
    tr_tv columns = tr_em_dim(e, x, inner), rows = tr_em_dim(e, y, inner - 1);
    return stretch(e, &x, inner, rows) && stretch(e, &y, inner - 1, columns) && tr_lib_matmul(e, x, y, out);
}

/* What of two operands' labels the result or another operand has. */
static term needed(const term *in, uint32_t n, uint32_t i, uint32_t j, const term *out) {
    term t = {.rest = NONE};
    const term *both[2] = {&in[i], &in[j]};
    for (uint32_t k = 0; k < 2 * TR_MAX_NDIM; k++) {
        const term *of = both[k / TR_MAX_NDIM];
        if (k % TR_MAX_NDIM >= of->n)
            continue;
        uint8_t l = of->label[k % TR_MAX_NDIM];
        bool stays = place_of(out, l) >= 0;
        for (uint32_t o = 0; o < n; o++)
            stays = stays || (o != i && o != j && place_of(&in[o], l) >= 0);
        if (stays && place_of(&t, l) < 0 && t.n < TR_MAX_NDIM)
            add(&t, l);
    }
    return t;
}

/* Of more than two operands those that are a product of matrices become one, from the left on: loops over all
 * labels at once take as many times longer as the label that goes has places. The type is that of all. */
static bool contract(tr_em *e, tr_tv *a, term *in, uint32_t *n, const term *out) {
    const tr_ty *t = a[0].ty->elem;
    for (uint32_t i = 1; i < *n; i++)
        t = tr_lib_common(e, t, a[i].ty->elem);
    for (uint32_t i = 0; *n > 2 && i + 1 < *n; i++)
        for (uint32_t j = i + 1; *n > 2 && j < *n; j++) {
            tr_tv two[2] = {a[i], a[j]};
            term terms[2] = {in[i], in[j]}, stay = needed(in, *n, i, j, out);
            plan p;
            if (tr_lib_common(e, two[0].ty->elem, two[1].ty->elem) != t ||
                !matrices(e, two, terms, &stay, &p))
                continue;
            if (!multiply(e, two, terms, &p, &a[i]))
                return false;
            in[i] = p.made;
            memmove(a + j, a + j + 1, (*n - j - 1) * sizeof *a);
            memmove(in + j, in + j + 1, (*n - j - 1) * sizeof *in);
            --*n;
            j = i;
        }
    return true;
}

static bool operand(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    const tr_ty *s = tr_lib_scalar(e, x.ty);
    if (!s)
        return tr_fam_as_array(e, c, x, NULL, out);
    *out = tr_em_alloc(e, tr_ty_strong(e->types, s), 0, TR_LAYOUT_C, NULL);
    tr_em_store(e, *out, NULL, x);
    return true;
}

static bool sum_last(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t n, tr_tv *out) {
    tr_tv args[6] = {{NULL, TR_NOVAL}}, ax[TR_MAX_NDIM];
    for (uint32_t i = 0; i < n; i++)
        ax[i] = tr_em_lit(e, tr_obj_int(&e->ctx->arena, (int64_t)i - n));
    args[0] = a;
    args[1] = tr_em_tuple(e, n, ax);
    return tr_em_getattr(e, a, "dtype", &args[2]) &&
           tr_lib_arr_sum(e, &(tr_bcall){.row = c->row, .aux = TR_RED_ADD, .n = 6, .a = args}, out);
}

/* Parameters: subscripts, *operands, optimize, which is not looked at. */
bool tr_lib_np_einsum(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const char *s;
    uint32_t n = c->nvar, rest = 0;
    tr_tv *a = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    term *in = TR_NEW_N(&e->ctx->arena, term, n + 1u), r = {.rest = NONE}, space;
    if (!tr_tv_lit_str(c->a[0], &s))
        return tr_em_error(e, "einsum(): the subscripts must be a constant string");
    for (uint32_t i = 0; i < n; i++) {
        if (!operand(e, c, c->var[i], &a[i]) || !parse(e, &s, &in[i]))
            return false;
        if (tr_ty_is_packed(a[i].ty) && !tr_em_copy(e, a[i], TR_LAYOUT_C, &a[i]))
            return false;
        if ((*s == ',') != (i + 1 < n))
            return tr_em_error(e, "einsum(): %u operands, which are not as many as there are subscripts", n);
        s += *s == ',';
        uint32_t nd = a[i].ty->ndim;
        if (in[i].rest == NONE ? in[i].n != nd : in[i].n > nd)
            return tr_em_error(e, "einsum(): an operand of %u dimensions has %u labels", nd, in[i].n);
        if (in[i].rest != NONE && nd - in[i].n > rest)
            rest = nd - in[i].n;
        if (!fill_in(e, &in[i], nd - in[i].n))
            return false;
    }
    if (n == 0)
        return tr_em_error(e, "einsum() takes operands behind the subscripts");
    if (strncmp(s, "->", 2) == 0) {
        s += 2;
        if (!parse(e, &s, &r))
            return false;
        if (r.rest == NONE && rest)
            return tr_em_error(e, "einsum(): the output must have '...', too");
        if (!fill_in(e, &r, r.rest == NONE ? 0 : rest))
            return false;
    } else {
        implied(in, n, &r);
    }
    if (*s)
        return tr_em_error(e, "einsum(): the subscripts do not end where they should: '%s'", s);
    space = r;
    for (uint32_t i = 0; i < r.n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < n; k++)
            found = found || place_of(&in[k], r.label[i]) >= 0;
        if (!found || place_of(&r, r.label[i]) != (int)i)
            return tr_em_error(e, "einsum(): the output's '%c' is there twice, or in no operand", r.label[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        once_each(e, &a[i], &in[i]);
        for (uint32_t k = 0; k < in[i].n; k++) {
            if (place_of(&space, in[i].label[k]) >= 0)
                continue;
            if (space.n == TR_MAX_NDIM)
                return tr_em_error(e, "einsum(): more than %d labels", TR_MAX_NDIM);
            space.label[space.n++] = in[i].label[k];
        }
    }
    bool is_view = n == 1 && space.n == r.n;
    for (uint32_t i = 0; i < n; i++)
        if (!is_view && tr_ty_is_loose(a[i].ty) && !tr_em_copy(e, a[i], TR_LAYOUT_C, &a[i]))
            return false;
    plan p;
    if (!contract(e, a, in, &n, &r))
        return false;
    if (n == 2 && matrices(e, a, in, &r, &p)) {
        if (!multiply(e, a, in, &p, out))
            return false;
        *out = in_space(e, *out, &p.made, &r);
        return true;
    }
    space = r;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < in[i].n; k++)
            if (place_of(&space, in[i].label[k]) < 0)
                add(&space, in[i].label[k]);
    *out = in_space(e, a[0], &in[0], &space);
    for (uint32_t i = 1; i < n; i++)
        if (!tr_em_binary(e, TR_BIN_MUL, *out, in_space(e, a[i], &in[i], &space), out))
            return false;
    return space.n == r.n || sum_last(e, c, *out, space.n - r.n, out);
}
