/* Variables that a function shares with those inside of it (CPython's cells), and functions that name
 * themselves.
 *
 * An inner function takes the variables around it by value when it is made, which costs nothing and lets a
 * loop's variables stay what they are. That is not enough where an inner function assigns to one
 * (`nonlocal`), or where one is assigned after a function that reads it was made: such a variable is
 * `shared`. It is one piece of memory then, made where its function starts (NEWVAR), which all take;
 * reading and assigning are operations on it, and the variable of SSA construction that stands for the
 * memory never changes. The instructions say so themselves from here on, so that what looks at them later
 * needs to know nothing.
 *
 * An inner function that names itself would hold itself. Where the variable is assigned once, by that very
 * definition, the function makes itself anew from what it holds, and has its defaults in place of itself.
 *
 * So it is with inner functions that name each other, in a ring, or one that is assigned later: each is
 * assigned once, and nothing in between could call one of them. They are lifted: each holds what all of
 * them capture, but none of themselves, and makes those that it names of that. Their defaults have to be
 * constants. Cost: one look at the code of inner functions, of functions that have some. */
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

bool tr_front_is_given_memory(const tr_func *fn, const char *name) {
    for (uint32_t k = 0; k < fn->nmemory; k++)
        if (strcmp(fn->memory[k], name) == 0)
            return true;
    return false;
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

/* --- functions that name each other --- */

enum { MAX_KIN = 32 };

/* `def` of a variable that is assigned nowhere else. */
typedef struct single {
    uint32_t var, func, first, last; /* instructions: that makes the function; that assigns it */
    const tr_obj *defaults;
} single;

uint32_t tr_front_variable(const tr_code *c, const char *name) {
    return variable_named(c, name, KIND_CELL | KIND_FREE);
}

uint32_t tr_front_kin_named(const tr_kin *kin, const char *name) {
    uint32_t k = 0;
    while (k < kin->n && strcmp(kin->names[k], name) != 0)
        k++;
    return k;
}

static bool captures(const tr_func *fn, const char *name) {
    for (uint32_t k = 0; k < fn->nfree; k++)
        if (strcmp(fn->code->localsplus[fn->freeidx[k]], name) == 0)
            return true;
    return false;
}

/* Its defaults are none, or a constant before what it captures. */
static bool is_single(tr_prog *p, const tr_code *c, const tr_decoded *d, uint32_t var, single *out) {
    uint32_t at = 0, i;
    int32_t flags = 0;
    uint8_t store = c->kinds[var] & KIND_CELL ? TR_N_STOREDEREF : TR_N_STORE;
    if (count_writes(d, var, &at) != 1 || d->ins[at].op != store)
        return false;
    for (i = at; i > 0 && (d->ins[i - 1].op == TR_N_SETFNATTR || d->ins[i - 1].op == TR_N_NOP); i--)
        flags |= d->ins[i - 1].op == TR_N_SETFNATTR ? d->ins[i - 1].arg : 0;
    if (i < 3 || d->ins[i - 1].op != TR_N_MAKEFN || d->ins[i - 2].op != TR_N_CONST ||
        d->ins[i - 3].op != TR_N_TUPLE || d->ins[i - 3].arg < 0 || (uint32_t)d->ins[i - 3].arg + 3 > i ||
        (uint32_t)d->ins[i - 2].arg >= c->nconsts)
        return false;
    flags |= d->ins[i - 1].arg;
    const tr_func *fn = inner_of(p, c, (uint32_t)d->ins[i - 2].arg);
    uint32_t first = i - 3 - (uint32_t)d->ins[i - 3].arg;
    *out = (single){.var = var, .first = i - 1, .last = at};
    if (!fn || fn->nfree != (uint32_t)d->ins[i - 3].arg || (flags & FN_KWDEFAULTS))
        return false;
    out->func = (uint32_t)(fn - p->funcs.d);
    if (!(flags & FN_DEFAULTS))
        return true;
    const tr_bc *b = first ? &d->ins[first - 1] : NULL;
    out->defaults = b && b->op == TR_N_CONST && (uint32_t)b->arg < c->nconsts ? c->consts[b->arg] : NULL;
    return out->defaults && out->defaults->kind == TR_OBJ_TUPLE;
}

/* Nothing between the first of them and the last could see that not all of them are there yet, and none is
 * left out on a way. */
static bool are_together(const tr_code *c, const tr_decoded *d, const single *s, uint32_t n, uint32_t ring) {
    uint32_t first = d->n, last = 0;
    for (uint32_t k = 0; k < n; k++)
        if (ring >> k & 1) {
            first = s[k].first < first ? s[k].first : first;
            last = s[k].last > last ? s[k].last : last;
        }
    for (uint32_t i = 0; i < d->n; i++) {
        const tr_bc *b = &d->ins[i];
        bool in = i >= first && i <= last;
        bool to = (b->flags & BC_JUMP) && b->arg > (int32_t)first && b->arg <= (int32_t)last;
        if (to != in && (b->flags & BC_JUMP))
            if (to || i < last)
                return false;
        for (uint32_t k = 0; in && k < n; k++) {
            bool over = to && i < s[k].last && b->arg > (int32_t)s[k].last,
                 loads = b->op == TR_N_LOADDEREF ||
                         (b->op == TR_N_LOAD && !(c->kinds[s[k].var] & KIND_CELL)); /* else it captures */
            if ((ring >> k & 1) && (over || (loads && b->arg == (int32_t)s[k].var)))
                return false;
        }
    }
    return true;
}

static void lift(tr_prog *p, const tr_code *c, tr_decoded *d, const single *s, uint32_t n, uint32_t ring) {
    tr_arena *a = &p->ctx->arena;
    uint32_t *funcs = TR_NEW_N(a, uint32_t, MAX_KIN);
    const char **names = TR_NEW_N(a, const char *, MAX_KIN);
    const tr_obj **defaults = TR_NEW_N(a, const tr_obj *, MAX_KIN);
    tr_kin *kin = TR_NEW(a, tr_kin);
    TR_VEC(const char *) all = {0};
    tr_bc *load;
    *kin = (tr_kin){0, funcs, names, defaults};
    for (uint32_t k = 0; k < n; k++)
        if (ring >> k & 1) {
            funcs[kin->n] = s[k].func;
            defaults[kin->n] = s[k].defaults;
            names[kin->n++] = c->localsplus[s[k].var];
        }
    for (uint32_t v = 0; v < c->nlocalsplus; v++)
        for (uint32_t k = 0; k < kin->n && (c->kinds[v] & (KIND_CELL | KIND_FREE)); k++)
            if (tr_front_kin_named(kin, c->localsplus[v]) == kin->n &&
                captures(&p->funcs.d[funcs[k]], c->localsplus[v])) {
                tr_vec_push(a, &all, c->localsplus[v]);
                break;
            }
    for (uint32_t k = 0; k < kin->n; k++) {
        tr_func *fn = &p->funcs.d[funcs[k]];
        const char **more = TR_NEW_N(a, const char *, all.n + 1u);
        fn->kin = kin;
        fn->more = more;
        for (uint32_t i = 0; i < all.n; i++)
            if (!captures(fn, all.d[i]))
                more[fn->nmore++] = all.d[i];
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; (ring >> k & 1) && i < n; i++)
            if ((ring >> i & 1) && find_captured(d, s[k].first, s[i].var, &load))
                *load = (tr_bc){TR_N_COMMON, 0, 0, TR_COMMON_NONE, load->off};
}

typedef struct singles {
    uint32_t n, names[MAX_KIN]; /* of each, which it captures: a set */
    single d[MAX_KIN];
} singles;

static void find_singles(tr_prog *p, const tr_func *fn, const tr_decoded *d, singles *s) {
    const tr_code *c = fn->code;
    s->n = 0;
    for (uint32_t v = 0; v < c->nlocalsplus && s->n < MAX_KIN; v++)
        if (!(c->kinds[v] & KIND_FREE) && !tr_front_is_shared(fn, v) && is_single(p, c, d, v, &s->d[s->n]))
            s->n++;
    for (uint32_t k = 0; k < s->n; k++) {
        s->names[k] = 0;
        for (uint32_t i = 0; i < s->n; i++)
            s->names[k] |= (uint32_t)captures(&p->funcs.d[s->d[k].func], c->localsplus[s->d[i].var]) << i;
    }
}

/* Those that go with k: in a ring, or also where one names another that is assigned later, which would
 * have to be shared if it was not lifted. */
static uint32_t kin_of(const singles *s, uint32_t k, bool later) {
    uint32_t reach[MAX_KIN], kin = 0;
    for (uint32_t i = 0; i < s->n; i++)
        reach[i] = s->names[i];
    for (uint32_t m = 0; m < s->n; m++)
        for (uint32_t i = 0; i < s->n; i++)
            reach[i] |= reach[i] >> m & 1 ? reach[m] : 0;
    for (uint32_t more = 1u << k; more & ~kin;) {
        kin |= more;
        for (uint32_t a = 0; a < s->n; a++)
            for (uint32_t b = 0; b < s->n; b++) {
                bool ring = reach[a] >> b & reach[b] >> a & 1,
                     names = later && (s->names[a] >> b & 1) && s->d[b].last > s->d[a].last;
                if ((ring || names) && ((kin >> a | kin >> b) & 1))
                    more |= 1u << a | 1u << b;
            }
    }
    return kin;
}

static void find_kin(tr_prog *p, const tr_func *fn, tr_decoded *d) {
    const tr_code *c = fn->code;
    singles s;
    uint32_t done = 0;
    for (uint32_t k = 0; k < c->nconsts; k++) {
        tr_func *g = inner_of(p, c, k);
        if (g) {
            g->kin = NULL;
            g->nmore = 0;
        }
    }
    find_singles(p, fn, d, &s);
    for (uint32_t later = 1; later < 2; later--)
        for (uint32_t k = 0; k < s.n; k++) {
            uint32_t kin = kin_of(&s, k, later);
            if ((kin & done) || !(kin & (kin - 1)) || !are_together(c, d, s.d, s.n, kin))
                continue;
            lift(p, c, d, s.d, s.n, kin);
            done |= kin;
        }
}

void tr_front_find_shared(tr_prog *p, uint32_t func, tr_decoded *d) {
    tr_func *fn = &p->funcs.d[func];
    const tr_code *c = fn->code;
    if (fn->round || !is_inner(p, c))
        return;
    for (uint32_t v = 0; v < c->nlocalsplus; v++) {
        if (!(c->kinds[v] & KIND_CELL))
            continue;
        bool inside = tr_front_is_given_memory(fn, c->localsplus[v]);
        for (uint32_t k = 0; k < c->nconsts && !inside; k++) {
            const tr_func *g = inner_of(p, c, k);
            inside = g && assigns(p, g->code, c->localsplus[v]);
        }
        if (inside)
            tr_front_share(p, func, v);
    }
    find_kin(p, fn, d);
    for (uint32_t v = 0; v < c->nlocalsplus; v++)
        if ((c->kinds[v] & KIND_CELL) && !tr_front_is_shared(fn, v))
            find_itself(p, c, d, v);
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
