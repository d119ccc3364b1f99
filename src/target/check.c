/* What a program asks for that its target does not have, said before anything is lowered.
 *
 * Walks every instruction of the functions that are wanted, and of those they call. Cost: one look at
 * each instruction. */
#include <assert.h>
#include <string.h>

#include "ir/rtinfo.h"
#include "target/target.h"

typedef struct look {
    const tr_target *t;
    const tr_prog *p;
    uint8_t *state; /* per instance: 0 not seen, 1 being looked at, 2 fine, 3 refused */
    const tr_fn *f;
} look;

static bool refuse(const look *k, const tr_ins *i, const char *what, const char *of) {
    bool gpu = k->t->abi == TR_ABI_FLAT;
    tr_err *e =
        tr_err_add(k->p->ctx, TR_ERR_LOWERING, tr_fn_place(k->f, i->loc), "%s: %s%s%s does not have %s%s",
                   k->f->name, gpu ? "a GPU (" : "", k->t->name, gpu ? ")" : "", what, of);
    if (e &&
        (tr_op_info[i->op].effects & (E_LOOK | E_GROW) || i->op == TR_OP_NEWLIST || i->op == TR_OP_NEWSET))
        e->hint = "a device has no memory for lists, sets and dicts: pass an array in, or use "
                  "cuda.local.array and a count of "
                  "the items that are used";
    else if (e && i->op == TR_OP_ALLOC)
        e->hint = "a device has no memory for new arrays: pass one in, or use cuda.shared.array or "
                  "cuda.local.array";
    else if (e && gpu)
        e->hint = "docs/devices.md says what differs on a GPU; the emulated device has it (TREADLE_CUDA=emu)";
    return false;
}

static bool check_row(const look *k, const tr_ins *i) {
    const tr_rtinfo *r = &tr_rt_info[i->imm.rt->row];
    assert(i->op == TR_OP_CALLRT && "a row is of a call of the runtime");
    return k->t->runtime || (r->where & W_DEVICE) ||
           refuse(k, i, "the runtime's ", tr_arena_printf(&k->p->ctx->arena, "'%s'", r->name));
}

/* By the type of the first operand where that is a scalar and the table chooses by it. */
static bool check_type(const look *k, const tr_ins *i) {
    const tr_op op = (tr_op)i->op;
    const char *name = tr_op_info[op].name;
    tr_arena *a = &k->p->ctx->arena;
    if (!tr_target_has(k->t, op))
        return refuse(k, i, tr_arena_printf(a, "'%s'", name), "");
    uint32_t at = op == TR_OP_SELECT;
    const tr_ty *t = at < i->nargs ? tr_at(k->f, i->args[at])->ty : NULL;
    if (!strcmp(k->t->legal[op], "*") || !t || !tr_ty_is_scalar(t) ||
        tr_target_takes(k->t, op, (tr_tyk)t->kind))
        return true;
    const char *shown = op == TR_OP_MATH ? tr_math_info[i->sub].name : name;
    return refuse(k, i, tr_arena_printf(a, "'%s' ", shown), tr_arena_printf(a, "of %s", tr_ty_user(a, t)));
}

static bool look_at(look *k, uint32_t inst);

static bool check_call(look *k, const tr_ins *i) {
    const tr_fn *f = k->f;
    const char *name = k->p->insts.d[i->imm.fn].fn->name;
    if (k->p->insts.d[i->imm.fn].fn->kind == TR_FN_KERNEL)
        return refuse(k, i, "launches from compiled code: ", name);
    if (k->p->insts.d[i->imm.fn].late && !k->t->late)
        return refuse(k, i, "late code: ", name);
    if (k->state[i->imm.fn] == 1)
        return k->t->abi == TR_ABI_SLOTS || refuse(k, i, "functions that call themselves: ", name);
    bool ok = look_at(k, i->imm.fn);
    k->f = f;
    return ok || refuse(k, i, "what this calls: ", name);
}

static bool check_fn(look *k, const tr_fn *f) {
    k->f = f;
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (tr_blk_at(f, b)->dead)
            continue;
        for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *i = tr_at(f, v);
            if (!check_type(k, i) || (i->op == TR_OP_CALLRT && !check_row(k, i)) ||
                (i->op == TR_OP_CALL && !check_call(k, i)))
                return false;
            for (uint32_t n = 0; n < i->nargs; n++)
                if (tr_at(f, i->args[n])->op == TR_OP_CONSTARR && k->t->abi == TR_ABI_FLAT &&
                    !tr_at(f, i->args[n])->imm.obj->u.a.data)
                    return refuse(k, i, "frozen arrays whose items are not known here", "");
        }
    }
    return true;
}

static bool look_at(look *k, uint32_t inst) {
    assert(inst < k->p->insts.n && "what is called is of the program");
    assert(k->state[inst] != 1 && "what is looked at is not begun again");
    if (!k->state[inst]) {
        k->state[inst] = 1;
        k->state[inst] = check_fn(k, k->p->insts.d[inst].fn) ? 2 : 3;
    }
    return k->state[inst] == 2;
}

bool tr_target_check(const tr_target *t, const tr_prog *p, const bool *wanted) {
    look k = {.t = t, .p = p, .state = TR_NEW_N(&p->ctx->arena, uint8_t, p->insts.n + 1)};
    bool ok = true;
    for (uint32_t i = 0; i < p->insts.n; i++)
        if ((!wanted || wanted[i]) && p->insts.d[i].fn)
            ok = look_at(&k, i) && ok;
    return ok;
}
