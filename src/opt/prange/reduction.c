/* Reductions of a prange loop (reduction recognition, and privatisation of scalars): which params of its
 * header only collect.
 *
 * A param p is a reduction when every value that is made from it is p joined with values that do not depend
 * on it, by one and the same operation: sums and products directly, through branches and inner loops; `if x >
 * p: p = x` and min(p, x); flags. So if p starts from the operation's neutral value, an iteration's last
 * value is its contribution, and the loop's body serves as it stands.
 *
 * The set of values made from p (`chain`) is grown first; then each use of one must be of a known form. */
#include <assert.h>
#include <float.h>
#include <string.h>

#include "opt/prange/ploop.h"

enum { MAX_WAYS = 8 };
enum { IN_CHAIN = 1, IS_TEST = 2 }; /* of a value: p and contributions; a comparison with such a value */

typedef struct seen_edge {
    tr_bid from;
    uint32_t succ, at;
} seen_edge;

typedef struct red {
    const tr_ploop *l;
    tr_fn *f;
    uint32_t index;
    uint8_t *is; /* per value */
    bool any;    /* kind is known */
    tr_redk kind;
    uint8_t fast;           /* of the operations seen so far */
    TR_VEC(seen_edge) fine; /* edges that pass another value where a chain value might be passed */
    tr_val bad;
} red;

static bool in_chain(const red *r, tr_val v) {
    return r->is[v] == IN_CHAIN;
}

static const tr_ty *type_of(const red *r, tr_val v) {
    return tr_at(r->f, v)->ty;
}

/* --- growing --- */

static bool is_joining(const tr_ins *in) {
    tr_redk k;
    return in->op == TR_OP_DIV || tr_reduction_of(in, true, &k);
}

static bool mark(red *r, tr_val v, uint8_t as) {
    if (r->is[v])
        return false;
    r->is[v] = as;
    return true;
}

static bool grow_ins(red *r, tr_val v) {
    const tr_ins *in = tr_at(r->f, v);
    bool changed = false;
    if (in->nargs == 2 && (in_chain(r, in->args[0]) || in_chain(r, in->args[1]))) {
        if (is_joining(in))
            changed = mark(r, v, IN_CHAIN);
        else if (in->op == TR_OP_CMP)
            changed = mark(r, v, IS_TEST);
    }
    if (in->op == TR_OP_SELECT && (in_chain(r, in->args[1]) || in_chain(r, in->args[2]) ||
                                   (in_chain(r, in->args[0]) && in->ty->kind == TR_TY_BOOL)))
        changed |= mark(r, v, IN_CHAIN);
    for (uint32_t s = 0; s < tr_nsucc(in); s++) {
        const tr_edge *e = &in->imm.succ[s];
        for (uint32_t k = 0; r->l->in[e->to] && e->to != r->l->header && k < e->n; k++)
            if (in_chain(r, e->args[k]))
                changed |= mark(r, tr_blk_at(r->f, e->to)->params.d[k], IN_CHAIN);
    }
    return changed;
}

static void grow(red *r) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < r->l->blks.n; i++)
            for (tr_val v = tr_blk_at(r->f, r->l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(r->f, v)->next)
                changed |= grow_ins(r, v);
    }
}

/* --- forms --- */

static bool set_kind(red *r, tr_redk k) {
    assert(k < TR_RED__COUNT);
    if (r->any && r->kind != k)
        return false;
    r->any = true;
    r->kind = k;
    return true;
}

bool tr_reduction_of(const tr_ins *in, bool left, tr_redk *out) {
    tr_op op = (tr_op)in->op;
    if (left &&
        (op == TR_OP_SUB || (op == TR_OP_DIV && (tr_ty_is_float(in->ty) || tr_ty_is_complex(in->ty)))))
        op = op == TR_OP_SUB ? TR_OP_ADD : TR_OP_MUL;
    for (*out = 0; *out < TR_RED__COUNT; (*out)++)
        if (tr_red_info[*out].op == op)
            return true;
    return false;
}

/* One operand is of the chain; the left one, where the order matters. */
static bool check_join(red *r, const tr_ins *in) {
    bool left = in_chain(r, in->args[0]), right = in_chain(r, in->args[1]);
    if (left && right)
        return false;
    r->fast &= tr_ins_fast(in);
    tr_redk k;
    return tr_reduction_of(in, left, &k) && set_kind(r, k);
}

/* `p = True`, `p = False` */
static bool is_flag(red *r, tr_val v) {
    int64_t k;
    return type_of(r, v)->kind == TR_TY_BOOL && tr_get_int(r->f, v, &k) &&
           set_kind(r, k ? TR_RED_OR : TR_RED_AND);
}

/* The choice between `other` and the chain's value, by a comparison of both: `taken` says whether the
 * comparison holds where `other` is chosen. */
static bool check_extreme(red *r, tr_val test, bool taken, tr_val chain, tr_val other) {
    const tr_ins *c = tr_at(r->f, test);
    bool left = in_chain(r, c->args[0]);
    if (r->is[test] != IS_TEST || (left && in_chain(r, c->args[1])) || c->args[left ? 0 : 1] != chain ||
        !tr_opt_same(r->f, c->args[left ? 1 : 0], other) || c->sub == TR_CMP_EQ || c->sub == TR_CMP_NE ||
        tr_ty_is_complex(type_of(r, chain)))
        return false;
    r->fast &= tr_ins_fast(c);
    bool less = c->sub == TR_CMP_LT || c->sub == TR_CMP_LE; /* args[0] is the smaller one when it holds */
    return set_kind(r, (less == !left) == taken ? TR_RED_MIN : TR_RED_MAX);
}

static bool check_select(red *r, const tr_ins *in) {
    tr_val c = in->args[0], x = in->args[1], y = in->args[2];
    int64_t k;
    if (r->is[c] == IS_TEST)
        return in_chain(r, x) != in_chain(r, y) &&
               (in_chain(r, y) ? check_extreme(r, c, true, y, x) : check_extreme(r, c, false, x, y));
    if (in_chain(r, c) && in->ty->kind != TR_TY_BOOL)
        return false;
    if (in_chain(r, c)) { /* `p or y`, `p and x` */
        if (!in_chain(r, y) && (x == c || (tr_get_int(r->f, x, &k) && k)))
            return set_kind(r, TR_RED_OR);
        return !in_chain(r, x) && (y == c || (tr_get_int(r->f, y, &k) && !k)) && set_kind(r, TR_RED_AND);
    }
    return (in_chain(r, x) || is_flag(r, x)) && (in_chain(r, y) || is_flag(r, y));
}

/* --- branches that depend on the chain --- */

/* A jump to where both ways meet. */
typedef struct way {
    tr_bid from, to;
    uint32_t succ;
    const tr_edge *e;
} way;

/* All jumps to which one side of a branch leads. */
typedef struct ways {
    way d[MAX_WAYS];
    uint32_t n;
    bool too_many;
} ways;

/* Is the block there for one way alone, and does it make no difference whether it runs? */
static bool is_passage(const red *r, tr_bid b, uint8_t effects) {
    const tr_fn *f = r->f;
    const tr_blk *blk = tr_blk_at(f, b);
    if (!r->l->in[b] || b == r->l->header || blk->preds.n != 1 || tr_nsucc(tr_at(f, blk->last)) == 0 ||
        (tr_nsucc(tr_at(f, blk->last)) == 2 && r->is[tr_arg(f, blk->last, 0)]))
        return false;
    for (tr_val v = blk->first; v != blk->last; v = tr_at(f, v)->next)
        if (tr_ins_effects(tr_at(f, v)) & ~effects)
            return false;
    return true;
}

/* From edge s of block b on. */
static void follow(const red *r, tr_bid b, uint32_t s, uint8_t effects, ways *out) {
    const tr_edge *e = &tr_term(r->f, b)->imm.succ[s];
    if (is_passage(r, e->to, effects)) {
        for (uint32_t k = 0; k < tr_nsucc(tr_term(r->f, e->to)); k++)
            follow(r, e->to, k, effects, out);
        return;
    }
    out->too_many = out->too_many || out->n == MAX_WAYS;
    if (!out->too_many)
        out->d[out->n++] = (way){b, e->to, s, e};
}

static void accept(red *r, const ways *w, uint32_t at) {
    for (uint32_t i = 0; i < w->n; i++)
        if (!in_chain(r, w->d[i].e->args[at]))
            tr_vec_push(&r->f->ctx->arena, &r->fine, ((seen_edge){w->d[i].from, w->d[i].succ, at}));
}

/* Does way w bring anything else than `first` but at one place, `at` (UINT32_MAX: none yet):
 * what the chain's value goes on with? */
static bool one_difference(const red *r, const way *first, const way *w, uint32_t *at) {
    if (w->to != first->to)
        return false;
    for (uint32_t k = 0; k < w->e->n; k++) {
        if (w->e->args[k] == first->e->args[k] || k == *at)
            continue;
        bool right = w->to == r->l->header ? k == r->index : in_chain(r, tr_blk_at(r->f, w->to)->params.d[k]);
        if (*at != UINT32_MAX || !right)
            return false;
        *at = k;
    }
    return true;
}

/* Both sides meet at once and differ in nothing but one value. */
static bool only_difference(const red *r, const ways *t, const ways *e, uint32_t *at) {
    *at = UINT32_MAX;
    if (t->too_many || e->too_many || !r->l->in[t->d[0].to])
        return false;
    for (uint32_t i = 0; i < t->n; i++)
        if (!one_difference(r, &t->d[0], &t->d[i], at))
            return false;
    for (uint32_t i = 0; i < e->n; i++)
        if (!one_difference(r, &t->d[0], &e->d[i], at))
            return false;
    return *at != UINT32_MAX;
}

/* The one value of the chain that the ways bring (TR_NOVAL: none, or several), and whether
 * they bring others. */
static tr_val of_chain(const red *r, const ways *w, uint32_t at, bool *others) {
    tr_val chain = TR_NOVAL;
    bool several = false;
    *others = false;
    for (uint32_t i = 0; i < w->n; i++) {
        tr_val v = w->d[i].e->args[at];
        if (!in_chain(r, v)) {
            *others = true;
            continue;
        }
        several = several || (chain != TR_NOVAL && chain != v);
        chain = v;
    }
    return several ? TR_NOVAL : chain;
}

/* `if x > p: p = x`, perhaps under further conditions: `if x > p and c: p = x` */
static bool check_test_branch(red *r, tr_bid b, tr_val c) {
    ways t = {.n = 0}, e = {.n = 0};
    uint32_t at;
    bool others[2];
    follow(r, b, 0, E_READ | E_RAISE, &t);
    follow(r, b, 1, E_READ | E_RAISE, &e);
    if (!only_difference(r, &t, &e, &at))
        return false;
    tr_val chain[2] = {of_chain(r, &t, at, &others[0]), of_chain(r, &e, at, &others[1])};
    if (others[0] == others[1])
        return false;
    const ways *taken = others[0] ? &t : &e; /* where the other value is chosen, or the chain's is kept */
    tr_val kept = chain[others[0] ? 1 : 0], there = chain[others[0] ? 0 : 1];
    bool mixed = false;
    for (uint32_t i = 0; i < taken->n; i++) {
        tr_val x = taken->d[i].e->args[at];
        if (in_chain(r, x))
            mixed = true;
        else if (!check_extreme(r, c, others[0], kept, x))
            return false;
    }
    if (kept == TR_NOVAL || (mixed && there != kept))
        return false;
    accept(r, taken, at);
    return true;
}

/* Do all ways bring p itself or the constant k? */
static bool all_are(const red *r, const ways *w, uint32_t at, tr_val p, int64_t k) {
    int64_t v;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->d[i].e->args[at] != p && !(tr_get_int(r->f, w->d[i].e->args[at], &v) && (v != 0) == (k != 0)))
            return false;
    return true;
}

static bool none_of_chain(const red *r, const ways *w, uint32_t at) {
    for (uint32_t i = 0; i < w->n; i++)
        if (in_chain(r, w->d[i].e->args[at]))
            return false;
    return true;
}

/* `p = p or x`, `p = p and x`, where x may have branches of its own: x is evaluated whatever p is. */
static bool check_flag_branch(red *r, tr_bid b, tr_val p) {
    ways t = {.n = 0}, e = {.n = 0};
    uint32_t at;
    follow(r, b, 0, E_READ | E_RAISE, &t);
    follow(r, b, 1, E_READ | E_RAISE, &e);
    if (!only_difference(r, &t, &e, &at))
        return false;
    bool is_or = none_of_chain(r, &e, at) && all_are(r, &t, at, p, 1) && set_kind(r, TR_RED_OR);
    if (!is_or && !(none_of_chain(r, &t, at) && all_are(r, &e, at, p, 0) && set_kind(r, TR_RED_AND)))
        return false;
    accept(r, &t, at);
    accept(r, &e, at);
    return true;
}

/* --- all uses --- */

static bool uses_any(const red *r, const tr_ins *in) {
    for (uint32_t k = 0; k < in->nargs; k++)
        if (r->is[in->args[k]])
            return true;
    return false;
}

static bool check_use(red *r, tr_val v) {
    const tr_ins *in = tr_at(r->f, v);
    if (!uses_any(r, in))
        return true;
    if (in->op == TR_OP_SELECT)
        return check_select(r, in);
    if (in->op == TR_OP_CBR)
        return r->is[in->args[0]] == IS_TEST ? check_test_branch(r, in->blk, in->args[0])
                                             : check_flag_branch(r, in->blk, in->args[0]);
    if (in->op == TR_OP_CMP) /* its own uses are looked at where they stand */
        return r->is[in->args[0]] != IS_TEST && r->is[in->args[1]] != IS_TEST;
    for (uint32_t k = 0; k < in->nargs; k++)
        if (r->is[in->args[k]] == IS_TEST)
            return false;
    return is_joining(in) && check_join(r, in);
}

static bool is_fine(const red *r, tr_bid from, uint32_t succ, uint32_t at) {
    for (uint32_t i = 0; i < r->fine.n; i++)
        if (r->fine.d[i].from == from && r->fine.d[i].succ == succ && r->fine.d[i].at == at)
            return true;
    return false;
}

/* Values that jumps pass: a chain value where one belongs and nowhere else. */
static bool check_edges(red *r, tr_bid b) {
    const tr_ins *t = tr_term(r->f, b);
    for (uint32_t s = 0; s < tr_nsucc(t); s++) {
        const tr_edge *e = &t->imm.succ[s];
        if (!r->l->in[e->to])
            continue;
        for (uint32_t k = 0; k < e->n; k++) {
            bool head = e->to == r->l->header;
            bool wants = head ? k == r->index : in_chain(r, tr_blk_at(r->f, e->to)->params.d[k]);
            bool has = in_chain(r, e->args[k]);
            if (r->is[e->args[k]] == IS_TEST || (has && !wants) ||
                (wants && !has && !is_fine(r, b, s, k) && !is_flag(r, e->args[k])))
                return false;
        }
    }
    return true;
}

static bool check(red *r) {
    for (uint32_t i = 0; i < r->l->blks.n; i++) {
        tr_bid b = r->l->blks.d[i];
        for (tr_val v = tr_blk_at(r->f, b)->first; v != TR_NOVAL; v = tr_at(r->f, v)->next)
            if (!check_use(r, v)) {
                r->bad = v;
                return false;
            }
    }
    for (uint32_t i = 0; i < r->l->blks.n; i++)
        if (!check_edges(r, r->l->blks.d[i])) {
            r->bad = tr_blk_at(r->f, r->l->blks.d[i])->last;
            return false;
        }
    return true;
}

/* --- what to say when it is none --- */

/* The first instruction that takes p or a chain value for something. */
static tr_val reader(const red *r) {
    tr_val p = tr_blk_at(r->f, r->l->header)->params.d[r->index];
    for (uint32_t i = 0; i < r->l->blks.n; i++)
        for (tr_val v = tr_blk_at(r->f, r->l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(r->f, v)->next) {
            const tr_ins *in = tr_at(r->f, v);
            for (uint32_t k = 0; k < in->nargs; k++)
                if (in->args[k] == p)
                    return v;
        }
    return r->bad != TR_NOVAL && uses_any(r, tr_at(r->f, r->bad)) ? r->bad : TR_NOVAL;
}

/* What makes the value of the next iteration: through arguments of blocks to an instruction. */
static tr_val writer(const red *r, tr_val v, uint8_t *met) {
    const tr_ins *in = tr_at(r->f, v);
    if (met[v] || tr_is_const(in) || !r->l->in[in->blk])
        return TR_NOVAL;
    met[v] = 1;
    if (in->op != TR_OP_PARAM)
        return v;
    const tr_blk *b = tr_blk_at(r->f, in->blk);
    uint32_t at = 0;
    while (b->params.d[at] != v)
        at++;
    for (uint32_t i = 0; i < b->preds.n && in->blk != r->l->header; i++) {
        const tr_ins *t = tr_term(r->f, b->preds.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_val w = t->imm.succ[s].to == in->blk ? writer(r, t->imm.succ[s].args[at], met) : TR_NOVAL;
            if (w != TR_NOVAL)
                return w;
        }
    }
    return TR_NOVAL;
}

static tr_val find_writer(const red *r) {
    uint8_t *met = TR_NEW_N(&r->f->ctx->arena, uint8_t, r->f->ins.n + 1u);
    const tr_blk *h = tr_blk_at(r->f, r->l->header);
    for (uint32_t i = 0; i < h->preds.n; i++) {
        const tr_ins *t = tr_term(r->f, h->preds.d[i]);
        for (uint32_t s = 0; r->l->in[h->preds.d[i]] && s < tr_nsucc(t); s++) {
            tr_val w =
                t->imm.succ[s].to == r->l->header ? writer(r, t->imm.succ[s].args[r->index], met) : TR_NOVAL;
            if (w != TR_NOVAL)
                return w;
        }
    }
    return TR_NOVAL;
}

bool tr_ploop_reduction(const tr_ploop *l, uint32_t index, tr_preduction *out) {
    assert(index < tr_blk_at(l->f, l->header)->params.n && index != l->counter_at);
    tr_val p = tr_blk_at(l->f, l->header)->params.d[index];
    red r = {.l = l, .f = l->f, .index = index, .fast = TR_FM_ALL, .bad = TR_NOVAL};
    r.is = TR_NEW_N(&l->f->ctx->arena, uint8_t, l->f->ins.n + 1u);
    r.is[p] = IN_CHAIN;
    grow(&r);
    bool ok = check(&r) && r.any && tr_red_takes(r.kind, type_of(&r, p));
    for (tr_val v = 0; v < l->f->ins.n; v++) /* comparisons are no part of the chain */
        if (r.is[v] == IS_TEST && ok)
            r.is[v] = 0;
    char c = tr_ty_class(type_of(&r, p));
    *out = (tr_preduction){.kind = r.kind,
                           .fast = c == 'f' || c == 'c' ? r.fast : 0,
                           .read = TR_NOVAL,
                           .write = TR_NOVAL,
                           .chain = r.is};
    if (!ok) {
        out->read = reader(&r);
        out->write = find_writer(&r);
    }
    return ok;
}
