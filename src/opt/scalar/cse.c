/* Common-subexpression elimination: equal pure operations are computed once, and a check that an equal one
 * has passed is dropped; behind a check, or a branch, its condition chooses nothing, nor does its opposite.
 * What asks a list or a table is one with an equal question of before, where nothing can have changed any
 * list between: `if k in d: d[k] += 1` looks for k once, and enters it nowhere.
 *
 * Value numbering scoped by the dominator tree: a walk in its order keeps a hash table of what the blocks
 * above have computed, and forgets a block's entries when it leaves it. Questions have besides the number of
 * a time, in which lists do not change. It goes on into a block that has one way in, as an extended basic
 * block does; where ways meet another time begins.
 * Cost: linear. */
#include <assert.h>
#include <string.h>

#include "opt/priv.h"

typedef struct entry {
    uint64_t hash;
    tr_val v;
    uint32_t next; /* in its bucket */
    uint32_t time; /* of a question */
} entry;

typedef struct table {
    tr_fn *f;
    tr_repl r;
    tr_domtree dom;
    uint32_t *bucket; /* index into entries, UINT32_MAX ends */
    uint32_t mask;
    TR_VEC(entry) entries;
    uint32_t *holds;       /* per value: how many checks and branches say that this condition is true here, */
    uint32_t *fails;       /* and how many branches that it is not */
    tr_val truth[2];       /* the constants */
    uint32_t time, *ended; /* now, and per block where it ended */
    uint32_t times;        /* how many there were */
    bool changed;
} table;

/* Whether lists and tables are asked, and nothing else is done. */
static bool is_question(const tr_ins *in) {
    return tr_ins_effects(in) == E_LOOK;
}

/* Calls say that they do anything at all. */
static bool may_change_lists(const tr_ins *in) {
    return tr_ins_effects(in) & (E_GROW | E_SIDE);
}

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
        if (t->entries.d[e].hash == h && ins_are_equal(tr_at(t->f, t->entries.d[e].v), in) &&
            (!is_question(in) || t->entries.d[e].time == t->time))
            return t->entries.d[e].v;
    return TR_NOVAL;
}

static void add(table *t, tr_val v, uint64_t h) {
    entry e = {h, v, t->bucket[h & t->mask], t->time};
    t->bucket[h & t->mask] = t->entries.n;
    tr_vec_push(&t->f->ctx->arena, &t->entries, e);
    if (tr_at(t->f, v)->op == TR_OP_CHECK)
        t->holds[tr_at(t->f, v)->args[0]]++;
}

/* What was known of the last value that was added is no longer. */
static void forget(table *t) {
    const entry *e = &t->entries.d[--t->entries.n];
    t->bucket[e->hash & t->mask] = e->next;
    if (tr_at(t->f, e->v)->op == TR_OP_CHECK)
        t->holds[tr_at(t->f, e->v)->args[0]]--;
}

/* `same` in place of v. */
static void put_for(table *t, tr_val v, tr_val same) {
    if (tr_at(t->f, v)->ty)
        tr_repl_set(t->f, &t->r, v, same);
    tr_ins_remove(t->f, v);
    t->changed = true;
}

/* What condition v is here, where a check or a branch has said so of it, or of its opposite; of floats two
 * orders may both be false. TR_NOVAL: that is not known. */
static tr_val known_here(const table *t, tr_val v) {
    const tr_ins *in = tr_at(t->f, v);
    if (t->holds[v] || t->fails[v])
        return t->truth[t->holds[v] != 0];
    if (in->op != TR_OP_CMP || !tr_opt_is_int_type(tr_at(t->f, in->args[0])->ty))
        return TR_NOVAL;
    tr_ins opposite = *in;
    opposite.sub = (uint8_t)tr_cmp_inverse[in->sub];
    tr_val v2 = find(t, &opposite, hash_of(&opposite));
    return v2 == TR_NOVAL || (!t->holds[v2] && !t->fails[v2]) ? TR_NOVAL : t->truth[t->fails[v2] != 0];
}

/* What the instruction comes to where it is known what a condition is that it asks for; TR_NOVAL: it asks for
 * none. */
static tr_val behind_check(const table *t, const tr_ins *in) {
    bool either = (in->op == TR_OP_OR || in->op == TR_OP_AND) && in->ty->kind == TR_TY_BOOL;
    if (in->op == TR_OP_SELECT && (t->holds[in->args[0]] || t->fails[in->args[0]]))
        return in->args[t->holds[in->args[0]] ? 1 : 2];
    for (uint32_t k = 0; either && k < 2; k++) {
        const uint32_t *decides = in->op == TR_OP_OR ? t->holds : t->fails;
        const uint32_t *other = in->op == TR_OP_OR ? t->fails : t->holds;
        if (decides[in->args[k]])
            return in->args[k];
        if (other[in->args[k]])
            return in->args[1 - k];
    }
    return TR_NOVAL;
}

/* A branch whose way is known here; tr_opt_simplify makes a jump of it. */
static void decide(table *t, tr_ins *in) {
    tr_val known = known_here(t, in->args[0]);
    if (known != TR_NOVAL) {
        in->args[0] = known;
        t->changed = true;
    }
}

static void number(table *t, tr_val v) {
    assert(tr_at(t->f, v)->blk != TR_NOBLK);
    tr_ins *in = tr_at(t->f, v);
    for (uint32_t i = 0; i < in->nargs; i++)
        in->args[i] = tr_repl_get(&t->r, in->args[i]);
    tr_val known = behind_check(t, in);
    if (known != TR_NOVAL || (in->op == TR_OP_CHECK && t->holds[in->args[0]])) {
        put_for(t, v, known);
        return;
    }
    if (in->op == TR_OP_CBR)
        decide(t, in);
    if (may_change_lists(in))
        t->time = ++t->times;
    if ((!tr_opt_is_pure(in) || !in->nargs) && !is_check(in) && !is_question(in))
        return;
    /* one order for both ways round; constants stay right, as fold leaves them */
    if (ins_commutes(in, t->f) && in->args[0] > in->args[1] && !tr_is_const(tr_at(t->f, in->args[1]))) {
        tr_val x = in->args[0];
        in->args[0] = in->args[1];
        in->args[1] = x;
    }
    uint64_t h = hash_of(in);
    tr_val same = find(t, in, h);
    if (same == TR_NOVAL)
        same = known_here(t, v);
    if (same == TR_NOVAL) {
        add(t, v, h);
        return;
    }
    tr_at(t->f, same)->flags &= in->flags; /* a promise holds for both only if both made it */
    put_for(t, v, same);
}

/* The block that one comes from, and from its end alone: what raises comes from anywhere. */
static tr_bid only_way(const tr_fn *f, tr_bid b) {
    const tr_u32s *from = &tr_blk_at(f, b)->preds;
    return from->n == 1 && tr_at(f, tr_blk_at(f, from->d[0])->last)->op != TR_OP_TRY ? from->d[0] : TR_NOBLK;
}

/* The branch by which a block goes on in that one; NULL: by none, or whatever its condition is. */
static const tr_ins *chosen_by(const tr_fn *f, tr_bid from, tr_bid b) {
    const tr_ins *last = tr_at(f, tr_blk_at(f, from)->last);
    return last->op == TR_OP_CBR && (last->imm.succ[0].to == b) != (last->imm.succ[1].to == b) ? last : NULL;
}

static void walk(table *t, tr_bid b) {
    assert(b < t->f->blks.n && tr_blk_at(t->f, b)->rpo != TR_NOBLK);
    uint32_t mark = t->entries.n;
    tr_bid from = only_way(t->f, b);
    t->time = from == TR_NOBLK ? ++t->times : t->ended[from];
    const tr_ins *by = from == TR_NOBLK ? NULL : chosen_by(t->f, from, b);
    uint32_t *told = !by ? NULL : &(by->imm.succ[0].to == b ? t->holds : t->fails)[by->args[0]];
    if (told)
        ++*told;
    for (tr_val v = tr_blk_at(t->f, b)->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(t->f, v)->next;
        number(t, v);
    }
    t->ended[b] = t->time;
    for (tr_bid c = t->dom.first[b]; c != TR_NOBLK; c = t->dom.next[c])
        walk(t, c);
    while (t->entries.n > mark)
        forget(t);
    if (told)
        --*told;
}

bool tr_opt_cse(tr_prog *p, tr_fn *f) {
    (void)p;
    const tr_ty *truth = tr_ty_scalar(f->ctx->types, TR_TY_BOOL);
    tr_val known[2] = {tr_const_int(f, truth, 0), tr_const_int(f, truth, 1)};
    uint32_t n = 64;
    while (n < f->ins.n)
        n *= 2;
    table t = {.f = f, .r = tr_repl_new(f), .dom = tr_opt_domtree(f), .mask = n - 1};
    t.bucket = TR_NEW_N(&f->ctx->arena, uint32_t, n);
    t.ended = TR_NEW_N(&f->ctx->arena, uint32_t, f->blks.n);
    t.holds = TR_NEW_N(&f->ctx->arena, uint32_t, n);
    t.fails = TR_NEW_N(&f->ctx->arena, uint32_t, n);
    memcpy(t.truth, known, sizeof known);
    memset(t.bucket, 0xff, n * sizeof *t.bucket);
    walk(&t, 0);
    tr_repl_apply(f, &t.r);
    return t.changed;
}
