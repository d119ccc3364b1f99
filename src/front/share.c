/* Variables that a function shares with those inside of it (CPython's cells), and functions that name
 * themselves.
 *
 * An inner function takes the variables around it by value when it is made, which costs nothing and lets a
 * loop's variables stay what they are. That is not enough where an inner function assigns to one
 * (`nonlocal`), or where one is assigned after a function that reads it was made: such a variable is
 * `shared`. It is one piece of memory then, made where its function starts (NEWVAR), which all take; reading
 * and assigning are operations on it, and the variable of SSA construction that stands for the memory never
 * changes. The instructions say so themselves from here on, so that what looks at them later needs to know
 * nothing.
 *
 * An inner function that names itself would hold itself. Where the variable is assigned once, by that very
 * definition, the function makes itself anew from what it holds, and has its defaults in place of itself.
 * Cost: one look at the code of inner functions, of functions that have some. */
#include "front/internal.h"

#include <assert.h>
#include <string.h>

static uint32_t variable_named(const tr_code *c, const char *name, unsigned kinds) {
    uint32_t v = 0;
    while (v < c->nlocalsplus && (!(c->kinds[v] & kinds) || strcmp(c->localsplus[v], name) != 0))
        v++;
    return v;
}

static tr_func *inner_of(const tr_prog *p, const tr_code *c, uint32_t k) {
    const tr_obj *o = c->consts[k];
    return o && o->kind == TR_OBJ_CODE && o->u.func < p->funcs.n ? &p->funcs.d[o->u.func] : NULL;
}

/* Does the code of an inner function, or one inside of it, assign to the variable of that name around it?
 * Bytecode of the user's nests as deep as his source, which CPython's compiler has a limit for. */
static bool assigns(tr_prog *p, const tr_code *c, const char *name) {
    uint32_t v = variable_named(c, name, KIND_FREE);
    tr_decoded d;
    if (v == c->nlocalsplus || !tr_front_decode(p->ctx, c, &d))
        return false;
    for (uint32_t i = 0; i < d.n; i++)
        if (d.ins[i].op == TR_N_STOREDEREF && d.ins[i].arg == (int32_t)v)
            return true;
    for (uint32_t k = 0; k < c->nconsts; k++) {
        const tr_func *g = inner_of(p, c, k);
        if (g && assigns(p, g->code, name))
            return true;
    }
    return false;
}

/* How often the variable is assigned; *last: the last instruction that does so. */
static uint32_t count_writes(const tr_decoded *d, uint32_t var, uint32_t *last) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        uint8_t op = d->ins[i].op;
        bool writes = op == TR_N_STOREDEREF || op == TR_N_STORE || op == TR_N_DEL || op == TR_N_LOADCLEAR;
        if (writes && d->ins[i].arg == (int32_t)var) {
            *last = i;
            n++;
        }
    }
    return n;
}

static bool goes_back_over(const tr_decoded *d, uint32_t at) {
    for (uint32_t i = at; i < d->n; i++)
        if ((d->ins[i].flags & BC_JUMP) && d->ins[i].arg <= (int32_t)at)
            return true;
    return false;
}

/* Where variable `var` is loaded for what the function made right before instruction `at` captures. */
static bool find_captured(tr_decoded *d, uint32_t makes, uint32_t var, tr_bc **out) {
    if (makes < 2 || d->ins[makes - 2].op != TR_N_TUPLE || d->ins[makes - 2].arg < 0)
        return false;
    uint32_t n = (uint32_t)d->ins[makes - 2].arg;
    for (uint32_t i = 0; i < n && i + 2 < makes; i++) {
        tr_bc *b = &d->ins[makes - 3 - i];
        if (b->op == TR_N_LOAD && b->arg == (int32_t)var) {
            *out = b;
            return true;
        }
    }
    return false;
}

/* `def f` that names f, which is what instruction `at` assigns: f makes itself, and reads nothing for that.
 * In a loop an older one means the newest, which holds the same, as what is assigned in the loop is shared;
 * but for defaults. */
static void find_itself(tr_prog *p, const tr_code *c, tr_decoded *d, uint32_t var) {
    uint32_t at = 0, i;
    int32_t flags = 0;
    tr_bc *load;
    if (count_writes(d, var, &at) != 1 || d->ins[at].op != TR_N_STOREDEREF)
        return;
    for (i = at; i > 0 && (d->ins[i - 1].op == TR_N_SETFNATTR || d->ins[i - 1].op == TR_N_NOP); i--)
        flags |= d->ins[i - 1].op == TR_N_SETFNATTR ? d->ins[i - 1].arg : 0;
    if (i < 2 || d->ins[i - 1].op != TR_N_MAKEFN || d->ins[i - 2].op != TR_N_CONST ||
        (uint32_t)d->ins[i - 2].arg >= c->nconsts || !find_captured(d, i - 1, var, &load))
        return;
    flags |= d->ins[i - 1].arg;
    tr_func *fn = inner_of(p, c, (uint32_t)d->ins[i - 2].arg);
    if (!fn || ((flags & (FN_DEFAULTS | FN_KWDEFAULTS)) && goes_back_over(d, at)))
        return;
    for (uint32_t k = 0; k < fn->nfree; k++)
        if (strcmp(fn->code->localsplus[fn->freeidx[k]], c->localsplus[var]) == 0)
            fn->itself = k + 1;
    if (fn->itself)
        *load = (tr_bc){TR_N_COMMON, 0, 0, TR_COMMON_NONE, load->off};
}

bool tr_front_is_shared(const tr_func *fn, uint32_t var) {
    assert(var < fn->code->nlocalsplus && "a variable of the code");
    return fn->shared && fn->shared[var];
}

bool tr_front_share(tr_prog *p, uint32_t func, uint32_t var) {
    tr_func *fn = &p->funcs.d[func];
    const tr_code *c = fn->code;
    tr_decoded d;
    assert(var < c->nlocalsplus && "a variable of the code");
    if (fn->round || !tr_front_decode(p->ctx, c, &d))
        return false;
    for (uint32_t i = 0; i < d.n; i++)
        if (d.ins[i].op == TR_N_LOADCLEAR && d.ins[i].arg == (int32_t)var)
            return false; /* a comprehension's own, one piece of memory for each time that it runs */
    if (!fn->shared)
        fn->shared = TR_NEW_N(&p->ctx->arena, uint8_t, c->nlocalsplus);
    fn->shared[var] = 1;
    return true;
}

/* Inner functions share what is shared here. Their loops, if they are expressions, are cut out anew. */
static void hand_on(tr_prog *p, const tr_func *fn) {
    const tr_code *c = fn->code;
    for (uint32_t k = 0; k < c->nconsts; k++) {
        tr_func *g = inner_of(p, c, k);
        for (uint32_t i = 0; g && i < g->nfree; i++) {
            const tr_code *in = g->code;
            uint32_t v = variable_named(c, in->localsplus[g->freeidx[i]], KIND_CELL | KIND_FREE);
            if (v == c->nlocalsplus || !fn->shared[v])
                continue;
            if (!g->shared)
                g->shared = TR_NEW_N(&p->ctx->arena, uint8_t, in->nlocalsplus);
            g->shared[g->freeidx[i]] = 1;
            g->itself = g->itself == i + 1 ? 0 : g->itself;
            g->round = NULL;
        }
    }
}

static bool is_inner(const tr_prog *p, const tr_code *c) {
    for (uint32_t k = 0; k < c->nconsts; k++)
        if (inner_of(p, c, k))
            return true;
    return false;
}

void tr_front_find_shared(tr_prog *p, uint32_t func, tr_decoded *d) {
    tr_func *fn = &p->funcs.d[func];
    const tr_code *c = fn->code;
    if (fn->round || !is_inner(p, c))
        return;
    for (uint32_t v = 0; v < c->nlocalsplus; v++) {
        if (!(c->kinds[v] & KIND_CELL))
            continue;
        bool inside = false;
        for (uint32_t k = 0; k < c->nconsts && !inside; k++) {
            const tr_func *g = inner_of(p, c, k);
            inside = g && assigns(p, g->code, c->localsplus[v]);
        }
        if (inside)
            tr_front_share(p, func, v);
        else if (!tr_front_is_shared(fn, v))
            find_itself(p, c, d, v);
    }
}

void tr_front_say_shared(tr_prog *p, uint32_t func, tr_decoded *d) {
    const tr_func *fn = &p->funcs.d[func];
    if (!fn->shared)
        return;
    if (!fn->round)
        hand_on(p, fn);
    for (uint32_t i = 0; i < d->n; i++) {
        tr_bc *b = &d->ins[i];
        bool reads = b->op == TR_N_LOADDEREF, writes = b->op == TR_N_STOREDEREF;
        if ((reads || writes) && (uint32_t)b->arg < fn->code->nlocalsplus && fn->shared[b->arg])
            b->op = reads ? TR_N_READVAR : TR_N_WRITEVAR;
    }
}
