/* Takes room for all that a filter may keep, in place of counting first what it keeps.
 *
 * `y[y > c]` counts what is kept, makes an array of so many items, and packs them: what the mask is made of
 * is read and computed twice, where it comes from memory half of the time. But no more is kept than there is.
 * So the room is for all, and what is not kept of it is not touched: what is fresh from the system is no
 * memory then, and what the cache of blocks hands out (rt/blocks.c) has been some before.
 *
 * Where the mask lies in memory it is counted: that reads a byte an item, and the room is what is kept. And
 * room is taken for no more than twice the bytes that the filter reads, so for what there is memory.
 * Cost: one look at each filter. */
#include "ir/nest.h"
#include "opt/emit.h"
#include "opt/priv.h"

enum { TIMES = 2 }; /* more bytes of room than the filter reads */

/* The count of what the filter cv keeps, of which its rooms are made, each for one more; TR_NOVAL: they are
 * made otherwise, or it is asked for elsewhere. */
static tr_val count_of(const tr_fn *f, const uint32_t *uses, tr_val cv) {
    const tr_ins *c = tr_at(f, cv);
    const tr_val *rooms = c->args + tr_pat_at(c->imm.pat, P_PACK);
    tr_val more = TR_NOVAL;
    for (uint32_t i = 0; i < c->imm.pat->nfilt; i++) {
        const tr_ins *a = tr_at(f, rooms[i]);
        if (a->op != TR_OP_ALLOC || a->nargs != 1 || a->sub || (i && a->args[0] != more))
            return TR_NOVAL;
        more = a->args[0];
    }
    const tr_ins *add = tr_at(f, more);
    if (add->op != TR_OP_ADD || !tr_is_int(f, add->args[1], 1) || uses[more] != c->imm.pat->nfilt)
        return TR_NOVAL;
    tr_val n = add->args[0];
    const tr_ins *q = tr_at(f, n);
    bool counts = q->op == TR_OP_PATTERN && q->blk == c->blk && uses[n] == 1 && tr_opt_is_count_of(f, n, cv);
    return counts && tr_is_int(f, c->args[tr_pat_at(c->imm.pat, P_SCAN)], 0) ? n : TR_NOVAL;
}

/* Bytes of an item of each array, those that are there twice once. */
static uint32_t bytes_of(const tr_fn *f, const tr_val *arrays, uint32_t n) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        bool again = false;
        for (uint32_t j = 0; j < k; j++)
            again |= arrays[j] == arrays[k];
        sum += again ? 0 : tr_ty_size(tr_at(f, arrays[k])->ty->elem);
    }
    return sum;
}

static bool try_filter(tr_fn *f, const uint32_t *uses, tr_val cv) {
    const tr_ins *c = tr_at(f, cv);
    const tr_pat *p = c->imm.pat;
    const tr_val *rooms = c->args + tr_pat_at(p, P_PACK);
    tr_val n = p->nspace == 1 ? count_of(f, uses, cv) : TR_NOVAL;
    if (n == TR_NOVAL || tr_pat_mask(p) < p->nin || /* is there */
        bytes_of(f, rooms, p->nfilt) > TIMES * bytes_of(f, c->args + tr_pat_at(p, P_IN), p->nin))
        return false;
    tr_at(f, tr_at(f, rooms[0])->args[0])->args[0] = c->args[0];
    tr_ins_remove(f, n);
    return true;
}

bool tr_opt_room(tr_prog *p, tr_fn *f) {
    (void)p;
    bool changed = false;
    const uint32_t *uses = NULL;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            if (tr_at(f, v)->op != TR_OP_PATTERN || !tr_at(f, v)->imm.pat->nfilt)
                continue;
            uses = uses ? uses : tr_use_counts(f);
            changed |= try_filter(f, uses, v);
        }
    return changed;
}
