/* rt/rt.def as data; and what passes ask of an instruction: its effects, its cost, whether a lambda has any
 * effect. */
#include "ir/rtinfo.h"

#include <assert.h>
#include <string.h>

#include "ir/ports.h"

const tr_rtinfo tr_rt_info[TR_RT__COUNT] = {
#define X(id, symbol, sig, effects, where) {#id, symbol, sig, effects, where},
#include "rt/rt.def"
#undef X
};

uint8_t tr_ins_effects(const tr_ins *i) {
    return i->op == TR_OP_CALLRT && i->imm.rt ? tr_rt_info[i->imm.rt->row].effects
                                              : tr_op_info[i->op].effects;
}

bool tr_ins_cuts(const tr_ins *i) {
    return (tr_ins_effects(i) & E_GROW) && i->op != TR_OP_APPEND && i->op != TR_OP_ENTER;
}

/* Where the letters of operand k begin in a row's signature: past those of the operands before. */
static const char *letters_of(const tr_fn *f, const tr_ins *in, uint32_t k) {
    const char *c = tr_rt_info[in->imm.rt->row].sig + 2;
    for (uint32_t i = 0; i < k; i++) {
        const tr_ty *t = tr_at(f, in->args[i])->ty;
        c += strspn(c, "Fs") + (t->kind == TR_TY_ARRAY ? tr_ty_nparts(t) : 1);
    }
    return c + strspn(c, "Fs");
}

bool tr_call_only_reads(const tr_fn *f, const tr_ins *in, uint32_t k) {
    return in->op == TR_OP_CALLRT && letters_of(f, in, k)[0] == 'r';
}

uint8_t tr_call_memory(const tr_fn *f, const tr_ins *in, uint32_t k) {
    assert((in->op == TR_OP_CALL || in->op == TR_OP_CALLRT) && k < in->nargs && "an operand of a call");
    uint8_t is = TR_MEM_READ;
    if (in->op == TR_OP_CALLRT && tr_at(f, in->args[k])->ty->kind != TR_TY_ARRAY)
        return TR_MEM_NONE;
    if (in->op == TR_OP_CALLRT) {
        char letter = letters_of(f, in, k)[1]; /* of its items */
        is = letter == 'w' ? TR_MEM_WRITE : letter == 'm' ? TR_MEM_UPDATE : TR_MEM_READ;
    }
    for (uint32_t i = 0; i < k; i++)
        if (in->args[i] == in->args[k])
            is &= (uint8_t)~tr_call_memory(f, in, i);
    return is;
}

uint8_t tr_pat_walked(const tr_pat *p, uint32_t cap) {
    const tr_fn *lam = p->lam;
    uint8_t memory = 0;
    for (tr_val v = 0; v < lam->ins.n; v++) {
        const tr_ins *in = tr_at(lam, v);
        if (in->blk == TR_NOBLK || (in->op != TR_OP_PATTERN && in->op != TR_OP_CALLRT))
            continue;
        for (uint32_t k = 0; k < in->nargs; k++) {
            uint8_t is = in->op == TR_OP_CALLRT ? tr_call_memory(lam, in, k)
                                                : tr_role_info[tr_pat_role(in->imm.pat, k)].memory;
            tr_val a = in->args[k];
            while ((is & TR_MEM_UPDATE) && tr_is_view(tr_at(lam, a)))
                a = tr_at(lam, a)->args[0];
            if ((is & TR_MEM_UPDATE) && a == tr_port_param(p, TR_LAM, cap))
                memory |= is;
            if (in->op == TR_OP_PATTERN && in->args[k] == tr_port_param(p, TR_LAM, cap) &&
                tr_pat_role(in->imm.pat, k) == P_CAP)
                memory |= tr_pat_walked(in->imm.pat, k);
        }
    }
    return memory;
}

int64_t tr_fn_moves(const tr_fn *f, tr_op op) {
    int64_t bytes = 0;
    if (op == TR_OP_STORE && tr_term(f, 0)->op != TR_OP_YIELD)
        return 0;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op == op)
                bytes += (int64_t)tr_ty_size(op == TR_OP_STORE ? tr_at(f, in->args[0])->ty->elem : in->ty);
        }
    return bytes;
}

unsigned tr_ins_cost(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    unsigned c = tr_op_info[in->op].cost;
    return tr_ins_is_real(f, in) && in->ty && tr_ty_is_complex(in->ty) ? 2 * c : c;
}

unsigned tr_fn_cost(const tr_fn *f) {
    unsigned n = 0;
    for (uint32_t v = 0; v < f->ins.n; v++)
        if (tr_at(f, v)->blk != TR_NOBLK)
            n += tr_ins_cost(f, v);
    return n;
}

uint32_t tr_pat_nyield(const tr_fn *f, const tr_ins *in) {
    assert(in->op == TR_OP_PATTERN);
    const tr_pat *p = in->imm.pat;
    uint32_t n = tr_pat_slot(p, TR_LAM, TR_ROLE__COUNT);
    for (uint32_t k = tr_pat_at(p, P_SCAT); k < tr_pat_at(p, P_SCAT + 1); k++)
        n += tr_at(f, in->args[k])->ty->ndim; /* an index per axis, besides */
    return n;
}

static bool has_no_effects_but(const tr_fn *f, uint8_t allowed) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            if (tr_ins_effects(tr_at(f, v)) & ~allowed)
                return false;
    return true;
}

bool tr_fn_is_scalar(const tr_fn *f) {
    return has_no_effects_but(f, E_TERM);
}

bool tr_fn_only_reads(const tr_fn *f) {
    return has_no_effects_but(f, E_TERM | E_READ);
}

bool tr_pat_only_computes(const tr_pat *p) {
    for (uint32_t k = 0; k < tr_pat_njoins(p); k++)
        if (p->joins[k].by && !tr_fn_is_scalar(p->joins[k].by))
            return false;
    return tr_fn_only_reads(p->lam);
}
