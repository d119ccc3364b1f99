/* Walks over a pattern's ports, and making nodes of them: the table of roles as data (ir/roles.def).
 * Cost: a walk looks at each role; an operand that comes or goes moves those behind it. */
#include "ir/ports.h"

#include <string.h>

const tr_roleinfo tr_role_info[TR_ROLE__COUNT] = {
#define X(id, count, most, word, mark, join, of, operand, lam, epi, gives, epi_gives, memory) \
    {word,                                                                                    \
     mark,                                                                                    \
     most,                                                                                    \
     TR_JOIN_##join,                                                                          \
     TR_PORT_##operand,                                                                       \
     of,                                                                                      \
     {TR_TAKES_##lam, TR_TAKES_##epi},                                                        \
     {TR_GIVES_##gives, TR_GIVES_##epi_gives},                                                \
     TR_MEM_##memory},
#include "ir/roles.def"
#undef X
};

/* Those that join stand side by side, as tr_pat_join has it. */
#define X(id, count, most, word, mark, join, ...) \
    _Static_assert((TR_JOIN_##join != TR_JOIN_NONE) == (P_##id >= P_SCAN && P_##id <= P_TABLE), #id);
#include "ir/roles.def"
#undef X

/* --- walks --- */

static void enter(const tr_pat *p, unsigned fn, tr_ports *g) {
    g->is = &tr_role_info[g->role];
    g->n = g->is->takes[fn] == TR_TAKES_INDEX ? tr_pat_nof(p, fn, g->role) : p->n[g->role];
}

tr_ports tr_ports_of(const tr_pat *p, unsigned fn) {
    tr_ports g = {.role = 0};
    enter(p, fn, &g);
    return g;
}

void tr_ports_next(const tr_pat *p, unsigned fn, tr_ports *g) {
    g->arg += p->n[g->role];
    g->param += g->is->takes[fn] ? g->n : 0;
    g->slot += g->is->gives[fn] ? g->n : 0;
    if (++g->role < TR_ROLE__COUNT)
        enter(p, fn, g);
}

tr_role tr_pat_role(const tr_pat *p, uint32_t operand) {
    unsigned r = 0;
    assert(operand < tr_pat_nargs(p) && "an operand of the node");
    while (operand >= p->n[r])
        operand -= p->n[r++];
    return (tr_role)r;
}

uint32_t tr_pat_with(const tr_pat *p, unsigned memory, uint32_t from) {
    uint32_t end = 0;
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++) {
        uint32_t first = end;
        end += p->n[r];
        if (p->n[r] && tr_role_info[r].memory & memory && from < end)
            return from > first ? from : first;
    }
    return end;
}

tr_fn *tr_pat_any(const tr_pat *p, unsigned i) {
    if (i == 0)
        return p->lam;
    if (p->epi && --i == 0)
        return p->epi;
    for (uint32_t k = 0; k < tr_pat_njoins(p); k++)
        if (p->joins[k].by && --i == 0)
            return p->joins[k].by;
    return NULL;
}

bool tr_pat_joins(const tr_pat *p) {
    for (uint32_t k = 0; k < tr_pat_nred(p); k++)
        if (p->joins[k].by)
            return true;
    return false;
}

tr_val tr_port_param(const tr_pat *p, unsigned fn, uint32_t operand) {
    unsigned r = tr_pat_role(p, operand);
    assert(r != P_SPACE && "an index is of an axis, not of its size");
    if (!tr_role_info[r].takes[fn])
        return TR_NOVAL;
    return tr_blk_at(tr_pat_fn(p, fn), 0)->params.d[tr_pat_param(p, fn, r) + operand - tr_pat_at(p, r)];
}

const char *const *tr_join_words(tr_portjoin join, unsigned *n) {
    static const struct {
        const char *const *words;
        unsigned n;
    } of[] = {[TR_JOIN_RED] = {tr_red_name, TR_RED__COUNT},
              [TR_JOIN_SCATTER] = {tr_scatter_name, TR_SCATTER__COUNT},
              [TR_JOIN_TOP] = {tr_top_name, TR_TOP__COUNT}};
    *n = of[join].n;
    return of[join].words;
}

const tr_ty *tr_pat_result(const tr_fn *f, const tr_pat *p, const tr_val *args) {
    uint32_t n = p->keep ? 0 : tr_pat_nred(p);
    const tr_val *init = args + tr_pat_at(p, P_SCAN);
    if (n == 0)
        return tr_ty_none(f->ctx->types);
    if (n == 1)
        return tr_at(f, init[0])->ty;
    const tr_ty **t = TR_NEW_N(&f->ctx->arena, const tr_ty *, n);
    for (uint32_t k = 0; k < n; k++)
        t[k] = tr_at(f, init[k])->ty;
    return tr_ty_tuple(f->ctx->types, n, t);
}

/* --- making one --- */

tr_node tr_node_new(tr_fn *f) {
    return (tr_node){.f = f};
}

uint32_t tr_node_put(tr_node *m, tr_role role, tr_val v) {
    tr_vec_push(&m->f->ctx->arena, &m->of[role], v);
    return m->of[role].n - 1;
}

uint32_t tr_node_once(tr_node *m, tr_role role, tr_val v) {
    for (uint32_t k = 0; k < m->of[role].n; k++)
        if (m->of[role].d[k] == v)
            return k;
    return tr_node_put(m, role, v);
}

uint32_t tr_node_join(tr_node *m, tr_role role, tr_val v, tr_join how) {
    assert(tr_role_info[role].join && "values of it come together");
    tr_vec_push(&m->f->ctx->arena, &m->joins[role], how);
    return tr_node_put(m, role, v);
}

void tr_node_put_all(tr_node *m, tr_role role, const tr_val *v, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        tr_node_put(m, role, v[k]);
}

void tr_node_take(tr_node *m, tr_role role, const tr_ins *from) {
    const tr_pat *p = from->imm.pat;
    uint32_t at = tr_pat_at(p, role);
    for (uint32_t k = at; k < at + p->n[role]; k++)
        if (tr_role_info[role].join)
            tr_node_join(m, role, from->args[k], *tr_pat_join(p, k));
        else
            tr_node_put(m, role, from->args[k]);
}

/* A role's, or nothing: memcpy must not be given NULL. */
static void put_bytes(void *to, const void *from, size_t bytes) {
    if (bytes)
        memcpy(to, from, bytes);
}

void tr_node_count(tr_node *m) {
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++) {
        assert(m->of[r].n <= tr_role_info[r].most && "as many as a role may have");
        assert(m->joins[r].n == (tr_role_info[r].join ? m->of[r].n : 0) && "each that joins says how");
        m->t.n[r] = (uint16_t)m->of[r].n;
    }
}

tr_pat *tr_node_make(tr_node *m, tr_val **args) {
    tr_arena *a = &m->f->ctx->arena;
    tr_node_count(m);
    tr_pat *p = tr_arena_copy(a, &m->t, sizeof *p);
    tr_val *v = *args = TR_NEW_N(a, tr_val, tr_pat_nargs(p) + 1u);
    tr_join *j = p->joins = TR_NEW_N(a, tr_join, tr_pat_njoins(p) + 1u);
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++) {
        put_bytes(v, m->of[r].d, m->of[r].n * sizeof *v);
        put_bytes(j, m->joins[r].d, m->joins[r].n * sizeof *j);
        v += m->of[r].n;
        j += m->joins[r].n;
    }
    return p;
}

tr_val tr_node_emit(tr_node *m, tr_bld *b) {
    tr_val *args;
    tr_pat *p = tr_node_make(m, &args);
    tr_val node = tr_emit_v(b, TR_OP_PATTERN, tr_pat_result(m->f, p, args), tr_pat_nargs(p), args);
    tr_at(m->f, node)->imm.pat = p;
    return node;
}

/* --- one comes or goes --- */

static void drop_slot(tr_fn *g, uint32_t slot) {
    for (tr_bid b = 0; b < g->blks.n; b++) {
        tr_ins *y = tr_blk_at(g, b)->dead ? NULL : tr_term(g, b);
        if (!y || y->op != TR_OP_YIELD)
            continue;
        y->nargs--;
        memmove(y->args + slot, y->args + slot + 1, (y->nargs - slot) * sizeof *y->args);
    }
}

void tr_port_drop(tr_fn *f, tr_val pattern, uint32_t operand) {
    tr_ins *i = tr_at(f, pattern);
    tr_pat *p = i->imm.pat;
    unsigned r = tr_pat_role(p, operand);
    uint32_t k = operand - tr_pat_at(p, r);
    for (unsigned fn = TR_LAM; tr_pat_fn(p, fn); fn++) {
        assert(tr_role_info[r].gives[fn] != TR_GIVES_PLACE && "not what has several of a function's values");
        if (tr_role_info[r].gives[fn])
            drop_slot(tr_pat_fn(p, fn), tr_pat_slot(p, fn, r) + k);
    }
    if (tr_role_info[r].join) {
        tr_join *j = tr_pat_join(p, operand);
        memmove(j, j + 1, (size_t)(p->joins + tr_pat_njoins(p) - (j + 1)) * sizeof *j);
    }
    i->nargs--;
    memmove(i->args + operand, i->args + operand + 1, (i->nargs - operand) * sizeof *i->args);
    p->n[r]--;
}

void tr_port_add(tr_fn *f, tr_val pattern, tr_role role, tr_val v) {
    tr_ins *i = tr_at(f, pattern);
    tr_pat *p = i->imm.pat;
    assert(tr_role_info[role].of == '-' && p->n[role] < tr_role_info[role].most &&
           "nothing else must change");
    uint32_t at = tr_pat_at(p, role) + p->n[role];
    tr_val *args = TR_NEW_N(&f->ctx->arena, tr_val, i->nargs + 1u);
    memcpy(args, i->args, at * sizeof *args);
    args[at] = v;
    memcpy(args + at + 1, i->args + at, (i->nargs - at) * sizeof *args);
    i->args = args;
    i->nargs++;
    p->n[role]++;
}
