/* Neutral instructions to basic blocks: reachability, stack depths, live variables.
 *
 * After tr_front_flow the bytecode can be trusted: every argument of a reachable instruction is in range, the
 * stack never runs under or over, depths agree where paths meet, and no path runs off the end.
 * Cost: linear in the instructions, but for liveness, which sweeps bit sets until they are
 * stable (2-3 sweeps). */
#include "front/internal.h"

#include <assert.h>

const char *const tr_nop_name[TR_N__COUNT] = {
#define X(id, name, pops, pushes, kind) name,
#include "front/nop.def"
#undef X
};

char tr_nop_kind(uint8_t op) {
    assert(op < TR_N__COUNT && "a row of nop.def");
    static const char kinds[TR_N__COUNT] = {
#define X(id, name, pops, pushes, kind) kind,
#include "front/nop.def"
#undef X
    };
    return kinds[op];
}

static uint32_t bits(uint32_t arg) {
    return (uint32_t)__builtin_popcount(arg);
}

void tr_nop_effect(const tr_bc *i, uint32_t *pops, uint32_t *pushes) {
    uint32_t arg = (uint32_t)i->arg;
    (void)arg;
    switch ((tr_nop)i->op) {
#define X(id, name, npop, npush, kind) \
    case TR_N_##id:                    \
        *pops = (npop);                \
        *pushes = (npush);             \
        break;
#include "front/nop.def"
#undef X
    case TR_N__COUNT: break;
    }
}

static bool is_branch(uint8_t op) {
    return op == TR_N_BRTRUE || op == TR_N_BRFALSE || op == TR_N_BRNONE || op == TR_N_BRNOTNONE ||
           op == TR_N_FORITER;
}
bool tr_nop_exits(uint8_t op) {
    return op == TR_N_RETURN || op == TR_N_RAISE || op == TR_N_RERAISE || op == TR_N_YIELD ||
           op == TR_N_LEAVEOUT || op == TR_N_RUNINNER;
}
static bool op_ends_block(uint8_t op) {
    return tr_nop_exits(op) || is_branch(op) || op == TR_N_JUMP;
}

/* A handler finds variables as they are at the start of the block in which something
 * raises: it ends where one is written. */
static bool op_writes_variable(uint8_t op) {
    return op == TR_N_STORE || op == TR_N_STOREDEREF || op == TR_N_DEL || op == TR_N_LOADCLEAR ||
           op == TR_N_PUSHEXC || op == TR_N_POPEXC || op == TR_N_FORNEXT;
}

/* All blocks, reachable or not, in the order of the code; blk_of[instruction] is its block. */
typedef struct raw {
    uint32_t *start, *blk_of, n; /* start[n] is the number of instructions */
} raw;

static raw find_leaders(tr_ctx *ctx, const tr_decoded *d) {
    raw r = {TR_NEW_N(&ctx->arena, uint32_t, (size_t)d->n + 1),
             TR_NEW_N(&ctx->arena, uint32_t, (size_t)d->n + 1), 0};
    tr_bits lead = tr_bits_new(&ctx->arena, d->n + 1);
    tr_bits_set(&lead, 0);
    tr_bits_set(&lead, d->first);
    for (uint32_t i = 0; i < d->n; i++) {
        if (d->ins[i].flags & BC_JUMP)
            tr_bits_set(&lead, (uint32_t)d->ins[i].arg);
        if (op_ends_block(d->ins[i].op) || (d->covered && d->covered[i] && op_writes_variable(d->ins[i].op)))
            tr_bits_set(&lead, i + 1);
    }
    for (uint32_t k = 0; k < d->nexc; k++) {
        tr_bits_set(&lead, d->exc[k].start);
        tr_bits_set(&lead, d->exc[k].end);
        tr_bits_set(&lead, d->exc[k].handler);
    }
    for (uint32_t i = 0; i < d->n; i++) {
        if (tr_bits_get(&lead, i))
            r.start[r.n++] = i;
        r.blk_of[i] = r.n - 1;
    }
    r.start[r.n] = d->n;
    return r;
}

/* The range that block b lies in, or NULL. */
static const tr_bcexc *range_of(const tr_decoded *d, uint32_t start) {
    return d->covered && d->covered[start] ? &d->exc[d->covered[start] - 1] : NULL;
}

/* Successors of a raw block: what follows, then the jump's target; *handler where what
 * raises goes, or TR_NOBLK. */
static uint32_t successors(const tr_decoded *d, const raw *r, uint32_t b, uint32_t *out, uint32_t *handler) {
    const tr_bc *last = &d->ins[r->start[b + 1] - 1];
    const tr_bcexc *e = range_of(d, r->start[b]);
    uint32_t n = 0;
    *handler = e ? r->blk_of[e->handler] : TR_NOBLK;
    if (last->op != TR_N_JUMP && !tr_nop_exits(last->op))
        out[n++] = b + 1; /* r->n: off the end, found by the caller */
    if (last->op == TR_N_JUMP || is_branch(last->op))
        out[n++] = r->blk_of[last->arg];
    return n;
}

/* Reverse post-order of the blocks that can be reached: order[0..n). False when a path runs off the end. */
static bool find_order(tr_ctx *ctx, const tr_decoded *d, const raw *r, uint32_t *order, uint32_t *n) {
    uint8_t *state = TR_NEW_N(&ctx->arena, uint8_t, r->n); /* 1 + number of successors visited */
    uint32_t *stack = TR_NEW_N(&ctx->arena, uint32_t, r->n), sp = 0, count = 0;
    stack[sp++] = r->blk_of[d->first];
    state[stack[0]] = 1;
    while (sp > 0) {
        uint32_t b = stack[sp - 1], succ[3], handler, ns = successors(d, r, b, succ, &handler);
        if (handler != TR_NOBLK)
            succ[ns++] = handler; /* before all others: it comes behind them */
        uint32_t seen = state[b] - 1u;
        if (seen == ns) {
            order[count++] = b;
            sp--;
            continue;
        }
        state[b]++;
        uint32_t to =
            succ[ns - 1 - seen]; /* the jump first: a loop's body then comes before what follows the loop */
        if (to >= r->n)
            return false;
        if (state[to] == 0) {
            state[to] = 1;
            stack[sp++] = to;
        }
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t t = order[i];
        order[i] = order[count - 1 - i];
        order[count - 1 - i] = t;
    }
    *n = count;
    return true;
}

static void add_pred(tr_ctx *ctx, tr_flow *f, uint32_t to, uint32_t from, uint32_t nth) {
    assert(to < f->nblks && from < f->nblks && nth <= 2 && "a successor, or the handler (2)");
    tr_vec_push(&ctx->arena, &f->blks[to].preds, from << 2 | nth);
    f->blks[to].header |= to <= from;
}

static bool make_blocks(tr_ctx *ctx, const tr_decoded *d, tr_flow *f) {
    raw r = find_leaders(ctx, d);
    uint32_t *order = TR_NEW_N(&ctx->arena, uint32_t, r.n), *number = TR_NEW_N(&ctx->arena, uint32_t, r.n);
    if (!find_order(ctx, d, &r, order, &f->nblks))
        return false;
    for (uint32_t i = 0; i < f->nblks; i++)
        number[order[i]] = i;
    f->blks = TR_NEW_N(&ctx->arena, tr_bcblk, f->nblks);
    for (uint32_t i = 0; i < f->nblks; i++) {
        tr_bcblk *b = &f->blks[i];
        b->start = r.start[order[i]];
        b->end = r.start[order[i] + 1];
        assert(b->start < b->end && b->end <= d->n && "a block has instructions");
        b->nsucc = successors(d, &r, order[i], b->succ, &b->handler);
        for (uint32_t k = 0; k < b->nsucc; k++) {
            b->succ[k] = number[b->succ[k]];
            add_pred(ctx, f, b->succ[k], i, k);
        }
        if (b->handler == TR_NOBLK)
            continue;
        b->handler = number[b->handler];
        add_pred(ctx, f, b->handler, i, 2);
        f->blks[b->handler].catches = true;
        f->blks[b->handler].lasti = range_of(d, b->start)->lasti;
    }
    return true;
}

/* --- checks --- */

static bool arg_in_range(const tr_code *c, const tr_decoded *d, const tr_bc *i) {
    uint32_t arg = (uint32_t)i->arg;
    switch (tr_nop_kind(i->op)) {
    case 'L': return arg < c->nlocalsplus;
    case 'C': return arg < c->nconsts;
    case 'N': return arg < c->nnames;
    case 'S': return arg >= 1;
    case 'J': return arg < d->n;
    default:
        if (arg > INT32_MAX / 4) /* so that stack effects cannot wrap */
            return i->op == TR_N_REFUSED;
        if (i->op == TR_N_MAKEFN || i->op == TR_N_SETFNATTR)
            return arg < 32;
        if (i->op == TR_N_COMMON)
            return arg < TR_COMMON__COUNT;
        if (i->op == TR_N_SLICE)
            return arg == 2 || arg == 3;
        if (i->op == TR_N_RAISE)
            return arg <= 2;
        if (i->op == TR_N_CALLEX)
            return arg <= 1;
        if (i->op == TR_N_COMPREHEND || i->op == TR_N_RUNINNER)
            return arg < d->ntakes;
        return true;
    }
}

/* pytest puts calls of helpers in place of the asserts of a test module. Their names are
 * none that Python's grammar has. */
static bool is_of_pytest(const char *name) {
    return strncmp(name, "@py", strlen("@py")) == 0;
}

/* The row that an instruction runs into, or TR_NYI__COUNT. */
static tr_nyi_id refuses(const tr_code *c, const tr_decoded *d, uint32_t i) {
    const tr_bc *ins = &d->ins[i];
    switch (ins->op) {
    case TR_N_REFUSED: return (tr_nyi_id)ins->aux;
    case TR_N_STOREDEREF: return c->kinds[ins->arg] & KIND_FREE ? TR_NYI_NONLOCAL : TR_NYI__COUNT;
    case TR_N_YIELD: return d->is_round ? TR_NYI__COUNT : TR_NYI_GENERATOR;
    case TR_N_COMPAPPEND: return TR_NYI_COMPREHENSION;
    case TR_N_COMMON: return ins->arg == TR_COMMON_CONSUMER ? TR_NYI_GENERATOR : TR_NYI__COUNT;
    case TR_N_GLOBAL: return is_of_pytest(c->names[ins->arg]) ? TR_NYI_PYTEST_ASSERT : TR_NYI__COUNT;
    default: return TR_NYI__COUNT;
    }
}

static bool check_instructions(tr_ctx *ctx, const tr_code *c, const tr_decoded *d, const tr_flow *f,
                               tr_refusal *why) {
    uint32_t first = d->n;
    for (uint32_t k = 0; k < f->nblks; k++) {
        const tr_bcblk *b = &f->blks[k];
        for (uint32_t i = b->start; i < b->end; i++) {
            if (!arg_in_range(c, d, &d->ins[i]))
                return tr_front_malformed(ctx, c, "an argument is out of range");
            tr_nyi_id id = i < first ? refuses(c, d, i) : TR_NYI__COUNT;
            if (id != TR_NYI__COUNT) {
                first = i;
                *why = (tr_refusal){true, id, d->ins[i].off};
            }
        }
    }
    return true;
}

/* Only exceptions lead to a handler. */
static bool only_caught(const tr_flow *f) {
    for (uint32_t k = 0; k < f->nblks; k++)
        for (uint32_t i = 0; f->blks[k].catches && i < f->blks[k].preds.n; i++)
            if (k == 0 || (f->blks[k].preds.d[i] & 3) != 2)
                return false;
    return true;
}

/* The handler of block b finds the stack cut to a depth, maybe a number, and the exception. */
static bool check_handler(const tr_decoded *d, tr_flow *f, const tr_bcblk *b, uint32_t limit) {
    if (b->handler == TR_NOBLK)
        return true;
    const tr_bcexc *e = range_of(d, b->start);
    tr_bcblk *to = &f->blks[b->handler];
    uint32_t depth = e->depth + e->lasti + 1;
    if (e->depth > b->depth || depth > limit || to->lasti != e->lasti)
        return false;
    if (to->depth == UINT32_MAX)
        to->depth = depth;
    if (depth > f->maxdepth)
        f->maxdepth = depth;
    return to->depth == depth;
}

static bool looks_at_top(uint8_t op) {
    return op == TR_N_FORITER || op == TR_N_FORNEXT || op == TR_N_FORITEM || op == TR_N_LENOF ||
           op == TR_N_MATCHSEQ || op == TR_N_MATCHMAP;
}

static bool check_depths(tr_ctx *ctx, const tr_code *c, const tr_decoded *d, tr_flow *f) {
    /* Expansion in decode needs at most one position more than the original. */
    uint32_t limit = (c->stacksize < 1u << 20 ? c->stacksize : 1u << 20) + 2;
    for (uint32_t k = 1; k < f->nblks; k++)
        f->blks[k].depth = UINT32_MAX;
    if (!only_caught(f))
        return tr_front_malformed(ctx, c, "an exception handler is entered without an exception");
    f->blks[0].depth = f->maxdepth = d->depth;
    for (uint32_t k = 0; k < f->nblks; k++) {
        tr_bcblk *b = &f->blks[k];
        uint32_t depth = b->depth;
        assert(depth != UINT32_MAX && "one before it has said how deep the stack is");
        if (!check_handler(d, f, b, limit))
            return tr_front_malformed(ctx, c, "the stack of an exception handler does not fit");
        for (uint32_t i = b->start; i < b->end; i++) {
            uint32_t pops = 0, pushes = 0;
            const tr_bc *ins = &d->ins[i];
            tr_nop_effect(ins, &pops, &pushes);
            if (tr_nop_kind(ins->op) == 'S' ? (uint32_t)ins->arg > depth : pops > depth)
                return tr_front_malformed(ctx, c, "the stack underflows");
            if (looks_at_top(ins->op) && depth < 1)
                return tr_front_malformed(ctx, c, "a loop has no iterator, or a pattern no value");
            if (ins->op == TR_N_EXCMATCH && depth < 2)
                return tr_front_malformed(ctx, c, "no exception is looked at");
            depth = depth - pops;
            if (pushes > limit || depth + pushes > limit)
                return tr_front_malformed(ctx, c, "the stack overflows");
            depth += pushes;
            if (depth > f->maxdepth)
                f->maxdepth = depth;
        }
        for (uint32_t s = 0; s < b->nsucc; s++) {
            uint32_t at = d->ins[b->end - 1].op == TR_N_FORITER && s == 1 ? depth - 1 : depth;
            tr_bcblk *to = &f->blks[b->succ[s]];
            if (to->depth == UINT32_MAX)
                to->depth = at;
            else if (to->depth != at)
                return tr_front_malformed(ctx, c, "stack depths differ where paths meet");
        }
    }
    return true;
}

/* --- liveness --- */

typedef struct uses {
    tr_bits *def, *use; /* of the block so far; use: read before written */
} uses;

static void use(uses *u, uint32_t var) {
    if (!tr_bits_get(u->def, var))
        tr_bits_set(u->use, var);
}
static void use3(uses *u, uint32_t slot) {
    for (uint32_t k = 0; k < 3; k++)
        use(u, slot + k);
}
static void def3(uses *u, uint32_t slot) {
    for (uint32_t k = 0; k < 3; k++)
        tr_bits_set(u->def, slot + k);
}

/* What one instruction reads and writes; `depth` before it. Must say what ssa.c does. */
static uint32_t touch(const tr_decoded *d, const tr_flow *f, const tr_bc *i, uint32_t depth, uses *u) {
    uint32_t pops = 0, pushes = 0, arg = (uint32_t)i->arg;
    tr_nop_effect(i, &pops, &pushes);
    assert(pops <= depth && depth - pops + pushes <= f->maxdepth && "check_depths() has seen it");
    for (uint32_t k = 1; k <= pops; k++)
        use(u, tr_flow_slot(f, depth - k));
    switch (i->op) {
    case TR_N_LOAD:
    case TR_N_LOADDEREF:
    case TR_N_READVAR:
    case TR_N_WRITEVAR: use(u, arg); break;
    case TR_N_LOADCLEAR:
    case TR_N_DEL:
        use(u, arg);
        tr_bits_set(u->def, arg);
        break;
    case TR_N_STORE:
    case TR_N_STOREDEREF: tr_bits_set(u->def, arg); break;
    case TR_N_COPY: use(u, tr_flow_slot(f, depth - arg)); break;
    case TR_N_LENOF:
    case TR_N_MATCHSEQ:
    case TR_N_MATCHMAP:
    case TR_N_FORITEM: use(u, tr_flow_slot(f, depth - 1)); break;
    case TR_N_SWAP:
        use3(u, tr_flow_slot(f, depth - 1));
        use3(u, tr_flow_slot(f, depth - arg));
        def3(u, tr_flow_slot(f, depth - 1));
        def3(u, tr_flow_slot(f, depth - arg));
        break;
    case TR_N_COMPREHEND:
    case TR_N_RUNINNER:
        for (uint32_t k = 0; k < d->takes[arg].n; k++)
            use(u, d->takes[arg].vars[k]);
        break;
    case TR_N_EXCMATCH: use(u, tr_flow_slot(f, depth - 2)); break;
    case TR_N_WITHEXIT:
        use(u, tr_flow_slot(f, depth - 1));
        use(u, tr_flow_slot(f, depth - arg));
        break;
    case TR_N_PUSHEXC:
        use(u, f->handled);
        tr_bits_set(u->def, f->handled);
        break;
    case TR_N_POPEXC: tr_bits_set(u->def, f->handled); break;
    case TR_N_RAISE: use(u, f->handled); break;
    case TR_N_FORITER:
    case TR_N_FORNEXT:
        use3(u, tr_flow_slot(f, depth - 1));
        if (i->op == TR_N_FORNEXT)
            tr_bits_set(u->def, tr_flow_slot(f, depth - 1) + 2);
        break;
    default: break;
    }
    depth -= pops;
    for (uint32_t k = 0; k < pushes; k++)
        def3(u, tr_flow_slot(f, depth + k));
    return depth + pushes;
}

/* What raises in the block leaves before anything is written, but for what was caught. */
static void leave_early(const tr_flow *f, const tr_bcblk *b, tr_bits *live) {
    assert(b->handler < f->nblks && f->blks[b->handler].catches && "what raises goes to a handler");
    tr_bits_union(live, &f->blks[b->handler].live);
    for (uint32_t n = 0; b->catches && n < 1u + b->lasti; n++)
        for (uint32_t k = 0; k < 3; k++)
            tr_bits_clear(live, tr_flow_slot(f, b->depth - 1 - n) + k);
}

static void find_live(tr_ctx *ctx, const tr_decoded *d, tr_flow *f) {
    tr_bits *use_of = TR_NEW_N(&ctx->arena, tr_bits, f->nblks), out = tr_bits_new(&ctx->arena, f->nvars);
    for (uint32_t k = 0; k < f->nblks; k++) {
        tr_bcblk *b = &f->blks[k];
        b->defs = tr_bits_new(&ctx->arena, f->nvars);
        b->live = tr_bits_new(&ctx->arena, f->nvars);
        use_of[k] = tr_bits_new(&ctx->arena, f->nvars);
        uses u = {&b->defs, &use_of[k]};
        uint32_t depth = b->depth;
        for (uint32_t n = 0; b->catches && n < 1u + b->lasti; n++)
            def3(&u, tr_flow_slot(f, depth - 1 - n));
        for (uint32_t i = b->start; i < b->end; i++)
            depth = touch(d, f, &d->ins[i], depth, &u);
        tr_bits_assign(&b->live, &use_of[k]);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = f->nblks; k-- > 0;) {
            tr_bcblk *b = &f->blks[k];
            tr_bits_zero(&out);
            for (uint32_t s = 0; s < b->nsucc; s++)
                tr_bits_union(&out, &f->blks[b->succ[s]].live);
            for (uint32_t w = 0; w < out.n; w++)
                out.w[w] &= ~b->defs.w[w];
            if (b->handler != TR_NOBLK)
                leave_early(f, b, &out);
            changed |= tr_bits_union(&b->live, &out);
        }
    }
}

/* Locals that are read where they may be unassigned get a second variable that says whether they are. It is
 * live and written where the local itself is. */
static void find_unbound(tr_ctx *ctx, const tr_decoded *d, const tr_bits *bound, tr_flow *f) {
    f->maybe_unbound = tr_bits_new(&ctx->arena, f->nlocals);
    for (uint32_t v = 0; v < f->nlocals; v++)
        if (tr_bits_get(&f->blks[0].live, v) && !tr_bits_get(bound, v))
            tr_bits_set(&f->maybe_unbound, v);
    for (uint32_t k = 0; k < f->nblks; k++)
        for (uint32_t i = f->blks[k].start; i < f->blks[k].end; i++)
            if (d->ins[i].op == TR_N_DEL || d->ins[i].op == TR_N_LOADCLEAR)
                tr_bits_set(&f->maybe_unbound, (uint32_t)d->ins[i].arg);
    for (uint32_t v = 0; v < f->nlocals; v++) {
        if (!tr_bits_get(&f->maybe_unbound, v))
            continue;
        for (uint32_t k = 0; k < f->nblks; k++) {
            if (tr_bits_get(&f->blks[k].live, v))
                tr_bits_set(&f->blks[k].live, tr_flow_bound(f, v));
            if (tr_bits_get(&f->blks[k].defs, v))
                tr_bits_set(&f->blks[k].defs, tr_flow_bound(f, v));
        }
    }
}

bool tr_front_flow(tr_ctx *ctx, const tr_code *c, const tr_decoded *d, const tr_bits *bound, tr_flow *f,
                   tr_refusal *why) {
    *f = (tr_flow){0};
    *why = (tr_refusal){0};
    if (!d->n || !make_blocks(ctx, d, f))
        return tr_front_malformed(ctx, c, "a path runs off the end");
    if (!check_instructions(ctx, c, d, f, why))
        return false;
    if (why->is)
        return true;
    if (!check_depths(ctx, c, d, f))
        return false;
    f->nlocals = c->nlocalsplus;
    f->handled = 2 * f->nlocals + 3 * f->maxdepth;
    f->nvars = f->handled + 1;
    find_live(ctx, d, f);
    find_unbound(ctx, d, bound, f);
    return true;
}
