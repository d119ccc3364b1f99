/* Generator expressions and comprehensions: their loops become functions (ir/prog.h: tr_round).
 *
 * They are loops within each other, and what stands between the heads of two has no other way out than
 * to the next item, to the loop within, or to the value: so it is a function of the item. Its
 * instructions are a copy of that stretch, which ends where it comes to the head of a loop. A generator
 * expression is a code object of its own, and so is a list comprehension before 3.12; later ones stand
 * in the code of their function, and one instruction takes their place. What does not look so is left
 * alone, and refused when blocks.c comes to it.
 * Cost: a copy of a loop's instructions for each loop around it, and itself. */
#include "front/internal.h"

#include <assert.h>
#include <string.h>

typedef struct cutter {
    tr_prog *p;
    const tr_func *of; /* whose code it is */
    tr_decoded *d;
    uint32_t lo, hi; /* the outermost loop: its head, and where it goes when it is over */
    tr_u32s loops;   /* heads, the outermost first */
    bool list;
    uint8_t makes;
    const tr_bits *own; /* variables of its own, where it stands in its function's code, or NULL */
    tr_nyi_id why;      /* what is not compiled in it; TR_NYI__COUNT: nothing */
} cutter;

/* --- one loop --- */

/* The instructions of loop k; false: there are none. `within`: what the next loop takes. */
static bool copy_loop(const cutter *c, uint32_t k, const tr_takes *within, tr_decoded *out) {
    tr_arena *a = &c->p->ctx->arena;
    uint32_t from = c->loops.d[k], n = c->hi - from;
    assert(k < c->loops.n && from < c->hi && c->hi <= c->d->n && "the loop lies within");
    tr_takes *takes = TR_NEW_N(a, tr_takes, c->d->ntakes + 1u);
    for (uint32_t i = 0; i < c->d->ntakes; i++)
        takes[i] = c->d->takes[i];
    if (within)
        takes[c->d->ntakes] = *within;
    *out = (tr_decoded){.n = n,
                        .ins = tr_arena_copy(a, c->d->ins + from, n * sizeof *out->ins),
                        .takes = takes,
                        .ntakes = c->d->ntakes + (within != NULL),
                        .first = 2, /* behind FORITER and FORNEXT, with the item on the stack */
                        .depth = 1,
                        .is_round = true};
    for (uint32_t i = 0; i < n; i++) {
        tr_bc *b = &out->ins[i];
        uint32_t to = (uint32_t)b->arg;
        bool next = within && from + i == c->loops.d[k + 1];
        if (b->op == TR_N_FORITER)
            *b =
                (tr_bc){next ? TR_N_RUNINNER : TR_N_LEAVEOUT, 0, 0, next ? (int32_t)c->d->ntakes : 0, b->off};
        else if (b->op == TR_N_YIELD || b->op == TR_N_COMPAPPEND)
            *b = (tr_bc){TR_N_YIELD, 0, 0, 0, b->off};
        else if ((b->flags & BC_JUMP) &&
                 (to < from || to >= c->hi)) /* of what is around this loop: not to be reached */
            *b = (tr_bc){TR_N_REFUSED, TR_NYI_COMPREHENSION, 0, 0, b->off};
        else if (b->flags & BC_JUMP)
            b->arg = (int32_t)(to - from);
    }
    return n > 2;
}

/* What has no value of its own there: a variable of an enclosing function is that wherever it is read. */
static bool is_frozen(const tr_code *c, uint32_t var) {
    return (c->kinds[var] & KIND_FREE) && c->free && c->free[var];
}

static tr_takes taken(const cutter *c, const tr_flow *f) {
    const tr_code *code = c->of->code;
    uint32_t *vars = TR_NEW_N(&c->p->ctx->arena, uint32_t, f->nlocals + 1u), n = 0;
    for (uint32_t v = 0; v < f->nlocals; v++)
        if (tr_bits_get(&f->blks[0].live, v) && !is_frozen(code, v))
            vars[n++] = v;
    return (tr_takes){0, n, vars};
}

static bool comes_to_start(const tr_flow *f) {
    for (uint32_t k = 0; k < f->nblks; k++)
        if (f->blks[k].start == 0)
            return true;
    return false;
}

/* Is what is given a list display? */
static bool gives_lists(const tr_decoded *cut) {
    for (uint32_t i = 1; i < cut->n; i++) {
        uint8_t before = cut->ins[i - 1].op;
        if (cut->ins[i].op == TR_N_YIELD &&
            (before == TR_N_LIST || before == TR_N_LISTEXTEND || before == TR_N_LISTAPPEND))
            return true;
    }
    return false;
}

/* Variables that are assigned in the expression, and captured. */
static void note_own(cutter *c, tr_round *r) {
    const tr_code *code = c->of->code;
    const char **names = TR_NEW_N(&c->p->ctx->arena, const char *, code->nlocalsplus + 1u);
    for (uint32_t v = 0; v < code->nlocalsplus; v++) {
        bool written = false;
        for (uint32_t i = c->lo; (code->kinds[v] & KIND_CELL) && !written && i < c->hi; i++)
            written = (c->d->ins[i].op == TR_N_STORE || c->d->ins[i].op == TR_N_STOREDEREF) &&
                      c->d->ins[i].arg == (int32_t)v;
        if (written)
            names[r->nown++] = code->localsplus[v];
    }
    r->own = names;
}

/* The function of loop k; *t, on the way in what the loop within takes, is what this one does. `captured`:
 * what the closure has, if that is settled. */
static bool make_round(cutter *c, uint32_t k, const tr_takes *captured, tr_takes *t) {
    tr_ctx *ctx = c->p->ctx;
    static const char *const names[] = {"item"};
    const tr_code *code = c->of->code;
    tr_bits bound = tr_bits_new(&ctx->arena, code->nlocalsplus);
    bool innermost = k + 1 == c->loops.n;
    assert((innermost || t->func < c->p->funcs.n) && "the loop within was made before");
    tr_decoded *cut = TR_NEW(&ctx->arena, tr_decoded);
    tr_round *r = TR_NEW(&ctx->arena, tr_round);
    tr_flow f;
    tr_refusal why = {0};
    *r =
        (tr_round){.inner = innermost ? UINT32_MAX : t->func, .list = c->list, .makes = c->makes, .cut = cut};
    if (!copy_loop(c, k, innermost ? NULL : t, cut) || !tr_front_flow(ctx, code, cut, &bound, &f, &why))
        return false;
    if (why.is) {
        c->why = why.why;
        return false;
    }
    r->skips = comes_to_start(&f);
    note_own(c, r);
    r->of_lists = gives_lists(cut);
    *t = captured ? *captured : taken(c, &f);
    for (uint32_t i = 0; k == 0 && c->own && i < t->n; i++)
        if (tr_bits_get(c->own, t->vars[i])) /* it has none yet */
            return false;
    t->func = c->p->funcs.n;
    tr_func fn = {.name = c->of->name,
                  .qualname = c->of->qualname,
                  .file = c->of->file,
                  .nargs = 1,
                  .nposonly = 1,
                  .argnames = names,
                  .nfree = t->n,
                  .freeidx = t->vars,
                  .shared = c->of->shared,
                  .code = code,
                  .round = r,
                  .library = c->of->library};
    tr_vec_push(&ctx->arena, &c->p->funcs, fn);
    return true;
}

/* --- all loops of one --- */

static bool is_loop(const tr_decoded *d, uint32_t i) {
    return d->ins[i].op == TR_N_FORITER && i + 1 < d->n && d->ins[i + 1].op == TR_N_FORNEXT;
}

static bool make_rounds(cutter *c, const tr_takes *captured, tr_takes *out) {
    if (c->hi > c->d->n || c->hi <= c->lo)
        return false;
    for (uint32_t i = c->lo; i < c->hi; i++)
        if (is_loop(c->d, i))
            tr_vec_push(&c->p->ctx->arena, &c->loops, i);
    uint32_t funcs = c->p->funcs.n;
    for (uint32_t k = c->loops.n; k-- > 0;)
        if (!make_round(c, k, k ? NULL : captured, out)) {
            c->p->funcs.n = funcs;
            return false;
        }
    return c->loops.n > 0;
}

/* What a comprehension makes, which begins by making an empty one; 0: nothing. */
static uint8_t made_by(const tr_bc *b) {
    if (b->arg != 0)
        return 0;
    return b->op == TR_N_LIST  ? TR_MAKES_LIST
           : b->op == TR_N_SET ? TR_MAKES_SET
           : b->op == TR_N_MAP ? TR_MAKES_DICT
                               : 0;
}

bool tr_front_is_expression(const char *name) {
    static const char *const names[] = {"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool tr_front_rounds(tr_prog *p, uint32_t func, uint32_t *first, tr_nyi_id *why) {
    const tr_func *fn = tr_arena_copy(&p->ctx->arena, &p->funcs.d[func], sizeof *fn);
    uint32_t errors = p->ctx->nerrs;
    tr_decoded d;
    *first = UINT32_MAX;
    *why = TR_NYI__COUNT;
    if (fn->round) {
        *first = fn->round->inner;
        return true;
    }
    if (!tr_front_decode(p->ctx, fn->code, &d))
        return false;
    tr_front_say_shared(p, func, &d);
    if (!tr_front_comprehensions(p, func, &d))
        return false;
    cutter c = {
        .p = p, .of = fn, .d = &d, .list = !(fn->code->flags & CO_GENERATOR_FLAG), .why = TR_NYI__COUNT};
    for (uint32_t i = 0; c.list && i < d.n && !c.makes; i++)
        c.makes = made_by(&d.ins[i]);
    while (c.lo < d.n && !is_loop(&d, c.lo))
        c.lo++;
    tr_takes captured = {0, fn->nfree, fn->freeidx}, t;
    if (c.lo == d.n || fn->nargs != 1 || fn->nkwonly || fn->varargs || fn->varkw ||
        (fn->code->flags & (CO_COROUTINE_FLAG | CO_ASYNC_GENERATOR_FLAG)))
        return true;
    c.hi = (uint32_t)d.ins[c.lo].arg;
    if (!make_rounds(&c, &captured, &t)) {
        *why = c.why;
        return p->ctx->nerrs == errors;
    }
    tr_round *r = TR_NEW(&p->ctx->arena, tr_round);
    *r = (tr_round){.inner = t.func, .list = c.list, .makes = c.makes};
    p->funcs.d[func].round = r;
    *first = t.func;
    return true;
}

/* --- comprehensions in the code of their function --- */

static bool is_swap(const tr_bc *b) {
    return b->op == TR_N_SWAP && b->arg == 2;
}

/* Where the list is made of which the loop at i makes the items: UINT32_MAX, there is none. An iterator that
 * has two places on the stack is asked for behind it. */
static uint32_t list_of(const tr_decoded *d, uint32_t i) {
    const tr_bc *b = d->ins;
    uint32_t at = i;
    if (at >= 5 && b[at - 1].op == TR_N_GETITER && is_swap(&b[at - 2]) && b[at - 3].op == TR_N_PUSHNULL)
        at -= 3;
    return at >= 2 && is_swap(&b[at - 1]) && made_by(&b[at - 2]) ? at - 2 : UINT32_MAX;
}

/* The iterator has two places on the stack. */
static bool has_pair(const tr_decoded *d, uint32_t list) {
    return d->ins[list + 2].op == TR_N_PUSHNULL;
}

/* How many variables have been put aside right before `list`. */
static uint32_t count_aside(const tr_decoded *d, uint32_t list, uint32_t *from) {
    uint32_t n = 0;
    for (*from = list; *from > 0; --*from) {
        uint8_t op = d->ins[*from - 1].op;
        if (op != TR_N_LOADCLEAR && op != TR_N_SWAP && op != TR_N_NOP)
            break;
        n += op == TR_N_LOADCLEAR;
    }
    return n;
}

/* The variables that a comprehension has put aside, right before or in it, are its own. */
static tr_bits find_own(tr_prog *p, const tr_decoded *d, uint32_t list, uint32_t hi, uint32_t nlocals) {
    tr_bits own = tr_bits_new(&p->ctx->arena, nlocals);
    uint32_t from;
    count_aside(d, list, &from);
    for (uint32_t i = from; i < hi; i++)
        if (d->ins[i].op == TR_N_LOADCLEAR && (uint32_t)d->ins[i].arg < nlocals)
            tr_bits_set(&own, (uint32_t)d->ins[i].arg);
    return own;
}

static bool is_write(const tr_bc *b) {
    return b->op == TR_N_STORE || b->op == TR_N_STOREDEREF || b->op == TR_N_DEL;
}

/* It assigns to its own alone. */
static bool writes_its_own(const tr_decoded *d, uint32_t list, uint32_t hi, const tr_bits *own,
                           uint32_t nlocals) {
    for (uint32_t i = list; i < hi; i++)
        if (is_write(&d->ins[i]) &&
            ((uint32_t)d->ins[i].arg >= nlocals || !tr_bits_get(own, (uint32_t)d->ins[i].arg)))
            return false;
    return true;
}

static void leave_out(tr_bc *b) {
    *b = (tr_bc){TR_N_POP, 0, 0, 0, b->off};
}

/* Behind the loop n variables get back what they had, which lies below the list: in any order, for CPython
 * may name the list, or throw it away, before that, and one that is assigned to at once gets nothing back.
 * True: all that is found there; with `drop` nothing comes back. */
static bool gets_back(tr_arena *a, tr_decoded *d, uint32_t at, uint32_t n, const tr_bits *own, bool drop) {
    uint8_t *is_list = TR_NEW_N(a, uint8_t, n + 1u);
    uint32_t depth = n + 1, left = n;
    is_list[n] = 1;
    for (; left && depth && at < d->n; at++) {
        tr_bc *b = &d->ins[at];
        uint32_t arg = (uint32_t)b->arg;
        if (b->op == TR_N_NOP)
            continue;
        if (b->op == TR_N_SWAP && arg >= 2 && arg <= depth) {
            uint8_t top = is_list[depth - 1];
            is_list[depth - 1] = is_list[depth - arg];
            is_list[depth - arg] = top;
            continue;
        }
        bool list = is_list[--depth], pops = b->op == TR_N_POP;
        if (!pops && !(list ? b->op == TR_N_STORE : is_write(b) && tr_bits_get(own, arg)))
            return false;
        left -= !list;
        if (drop && !list)
            leave_out(b);
    }
    return left == 0;
}

/* Where an exception goes they do, too. */
static bool gets_back_there(tr_decoded *d, uint32_t at, uint32_t n, const tr_bits *own, bool drop) {
    for (; n && at < d->n; at++) {
        tr_bc *b = &d->ins[at];
        if (b->op == TR_N_SWAP || b->op == TR_N_POP || b->op == TR_N_NOP)
            continue;
        if (!is_write(b) || !tr_bits_get(own, (uint32_t)b->arg))
            return false;
        n--;
        if (drop)
            leave_out(b);
    }
    return n == 0;
}

/* The variables of the function stay where they are, as if it had others of these names. */
static bool leave_in_place(tr_arena *a, tr_decoded *d, uint32_t list, uint32_t hi, const tr_bits *own) {
    uint32_t from, n = count_aside(d, list, &from), range = d->covered ? d->covered[list] : 0;
    assert(range <= d->nexc && from <= list && list < hi && "the comprehension stands before its end");
    const tr_bcexc *e = range ? &d->exc[range - 1] : NULL;
    bool handles = e && e->start >= from && e->end <= hi; /* its own clean-up, not one around it */
    hi += has_pair(d, list);                              /* whose second place goes first */
    if (!gets_back(a, d, hi, n, own, false) || (handles && !gets_back_there(d, e->handler, n, own, false)))
        return false;
    gets_back(a, d, hi, n, own, true);
    if (handles)
        gets_back_there(d, e->handler, n, own, true);
    for (uint32_t i = from; i < list; i++)
        if (d->ins[i].op == TR_N_LOADCLEAR)
            d->ins[i] = (tr_bc){TR_N_COMMON, 0, 0, TR_COMMON_NONE, d->ins[i].off};
    return true;
}

/* One instruction in place of the list, and past the loop. */
static void replace(tr_decoded *d, uint32_t list, uint32_t head, uint32_t row) {
    assert(list < head && d->ins[head].op == TR_N_FORITER && row < d->ntakes &&
           "a list, and the loop that fills it");
    bool pair = has_pair(d, list);
    uint32_t hi = (uint32_t)d->ins[head].arg;
    d->ins[list].op = TR_N_COMPREHEND;
    d->ins[list].arg = (int32_t)row;
    for (uint32_t i = list + 1; i < hi; i++)
        if (i != head)
            d->ins[i] = (tr_bc){TR_N_NOP, 0, 0, 0, d->ins[i].off};
    if (pair) /* the iterator's second place, which is cleared where the loop goes */
        d->ins[list + 1].op = TR_N_PUSHNULL;
    d->ins[head].op = TR_N_JUMP;
}

bool tr_front_comprehensions(tr_prog *p, uint32_t func, tr_decoded *d) {
    const tr_func *fn = NULL;
    uint32_t errors = p->ctx->nerrs;
    TR_VEC(tr_takes) takes = {0};
    for (uint32_t i = d->n; i-- > 0;) { /* those within others come later in the code, and first here */
        uint32_t list = is_loop(d, i) ? list_of(d, i) : UINT32_MAX, hi = (uint32_t)d->ins[i].arg;
        if (list == UINT32_MAX || hi <= i || hi > d->n)
            continue;
        if (!fn)
            fn = tr_arena_copy(&p->ctx->arena, &p->funcs.d[func], sizeof *fn);
        uint32_t nlocals = fn->code->nlocalsplus;
        tr_bits own = find_own(p, d, list, hi, nlocals);
        cutter c = {.p = p,
                    .of = fn,
                    .d = d,
                    .lo = i,
                    .hi = hi,
                    .list = true,
                    .own = &own,
                    .makes = made_by(&d->ins[list])};
        tr_takes t;
        if (!writes_its_own(d, list, hi, &own, nlocals))
            continue;
        if (!leave_in_place(&p->ctx->arena, d, list, hi, &own) || !make_rounds(&c, NULL, &t))
            continue;
        tr_vec_push(&p->ctx->arena, &takes, t);
        d->takes = takes.d;
        d->ntakes = takes.n;
        replace(d, list, i, takes.n - 1);
    }
    return p->ctx->nerrs == errors;
}
