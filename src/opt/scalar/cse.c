/* Common-subexpression elimination: equal pure operations are computed once, and a check that an equal one
 * has passed is dropped; behind a check its condition chooses nothing.
 *
 * Value numbering scoped by the dominator tree: a walk in its order keeps a hash table of what the blocks
 * above have computed, and forgets a block's entries when it leaves it.
 * Cost: linear. */
#include <assert.h>
#include <string.h>

#include "opt/priv.h"

typedef struct entry {
    uint64_t hash;
    tr_val v;
    uint32_t next; /* in its bucket */
} entry;

typedef struct table {
    tr_fn *f;
    tr_repl r;
    tr_domtree dom;
    uint32_t *bucket; /* index into entries, UINT32_MAX ends */
    uint32_t mask;
    TR_VEC(entry) entries;
    uint8_t *holds; /* per value: a condition that a check has passed */
    bool changed;
} table;

static bool ins_commutes(const tr_ins *in, const tr_fn *f) {
    if (in->nargs != 2 || !tr_at(f, in->args[0])->ty || !tr_opt_is_int_type(tr_at(f, in->args[0])->ty))
        return false;
    return in->op == TR_OP_CMP ? in->sub == TR_CMP_EQ || in->sub == TR_CMP_NE
                               : tr_opt_commutes((tr_op)in->op);
}

/* Checks leave the function or do nothing, so an equal one that has been passed says it all. */
static bool is_check(const tr_ins *in) {
    return in->op == TR_OP_CHECK || in->op == TR_OP_CHECKIDX || in->op == TR_OP_BCAST ||
           in->op == TR_OP_BCASTTO;
}

/* What a check shows in its message does not matter: only its condition. */
static uint32_t key_args(const tr_ins *in) {
    return in->op == TR_OP_CHECK ? 1 : in->op == TR_OP_BCAST || in->op == TR_OP_BCASTTO ? 2 : in->nargs;
}

static uint64_t hash_of(const tr_ins *in) {
    struct {
        uint64_t op;
        int64_t imm;
        const tr_ty *ty;
    } head = {(uint64_t)in->op << 8 | in->sub, tr_opt_imm(in), in->ty};
    return tr_hash_bytes(in->args, key_args(in) * sizeof *in->args, tr_hash_bytes(&head, sizeof head, 0));
}

static bool ins_are_equal(const tr_ins *a, const tr_ins *b) {
    assert(a->op != TR_OP_PARAM && b->op != TR_OP_PARAM);
    return a->op == b->op && a->sub == b->sub && a->ty == b->ty && key_args(a) == key_args(b) &&
           tr_opt_imm(a) == tr_opt_imm(b) && (a->flags & F_FAST) == (b->flags & F_FAST) &&
           tr_vals_same(a->args, b->args, key_args(a));
}

static tr_val find(const table *t, const tr_ins *in, uint64_t h) {
    for (uint32_t e = t->bucket[h & t->mask]; e != UINT32_MAX; e = t->entries.d[e].next)
        if (t->entries.d[e].hash == h && ins_are_equal(tr_at(t->f, t->entries.d[e].v), in))
            return t->entries.d[e].v;
    return TR_NOVAL;
}

static void add(table *t, tr_val v, uint64_t h) {
    entry e = {h, v, t->bucket[h & t->mask]};
    t->bucket[h & t->mask] = t->entries.n;
    tr_vec_push(&t->f->ctx->arena, &t->entries, e);
    if (tr_at(t->f, v)->op == TR_OP_CHECK)
        t->holds[tr_at(t->f, v)->args[0]] = true;
}

/* What was known of the last value that was added is no longer. */
static void forget(table *t) {
    const entry *e = &t->entries.d[--t->entries.n];
    t->bucket[e->hash & t->mask] = e->next;
    if (tr_at(t->f, e->v)->op == TR_OP_CHECK)
        t->holds[tr_at(t->f, e->v)->args[0]] = false;
}

/* `same` in place of v. */
static void put_for(table *t, tr_val v, tr_val same) {
    if (tr_at(t->f, v)->ty)
        tr_repl_set(t->f, &t->r, v, same);
    tr_ins_remove(t->f, v);
    t->changed = true;
}

/* What the instruction comes to where a condition holds that it asks for; TR_NOVAL: it asks for none. */
static tr_val behind_check(const table *t, const tr_ins *in) {
    bool either = in->op == TR_OP_OR && in->ty->kind == TR_TY_BOOL;
    if (in->op == TR_OP_SELECT && t->holds[in->args[0]])
        return in->args[1];
    for (uint32_t k = 0; either && k < 2; k++)
        if (t->holds[in->args[k]])
            return in->args[k];
    return TR_NOVAL;
}

static void number(table *t, tr_val v) {
    assert(tr_at(t->f, v)->blk != TR_NOBLK);
    tr_ins *in = tr_at(t->f, v);
    for (uint32_t i = 0; i < in->nargs; i++)
        in->args[i] = tr_repl_get(&t->r, in->args[i]);
    tr_val known = behind_check(t, in);
    if (known != TR_NOVAL) {
        put_for(t, v, known);
        return;
    }
    if ((!tr_opt_is_pure(in) || !in->nargs) && !is_check(in))
        return;
    /* one order for both ways round; constants stay right, as fold leaves them */
    if (ins_commutes(in, t->f) && in->args[0] > in->args[1] && !tr_is_const(tr_at(t->f, in->args[1]))) {
        tr_val x = in->args[0];
        in->args[0] = in->args[1];
        in->args[1] = x;
    }
    uint64_t h = hash_of(in);
    tr_val same = find(t, in, h);
    if (same == TR_NOVAL) {
        add(t, v, h);
        return;
    }
    tr_at(t->f, same)->flags &= in->flags; /* a promise holds for both only if both made it */
    put_for(t, v, same);
}

static void walk(table *t, tr_bid b) {
    assert(b < t->f->blks.n && tr_blk_at(t->f, b)->rpo != TR_NOBLK);
    uint32_t mark = t->entries.n;
    for (tr_val v = tr_blk_at(t->f, b)->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(t->f, v)->next;
        number(t, v);
    }
    for (tr_bid c = t->dom.first[b]; c != TR_NOBLK; c = t->dom.next[c])
        walk(t, c);
    while (t->entries.n > mark)
        forget(t);
}

bool tr_opt_cse(tr_prog *p, tr_fn *f) {
    (void)p;
    uint32_t n = 64;
    while (n < f->ins.n)
        n *= 2;
    table t = {.f = f, .r = tr_repl_new(f), .dom = tr_opt_domtree(f), .mask = n - 1};
    t.bucket = TR_NEW_N(&f->ctx->arena, uint32_t, n);
    t.holds = TR_NEW_N(&f->ctx->arena, uint8_t, n);
    memset(t.bucket, 0xff, n * sizeof *t.bucket);
    walk(&t, 0);
    tr_repl_apply(f, &t.r);
    return t.changed;
}
