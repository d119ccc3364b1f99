/* Functions of the runtime as typed code, for targets that do not have its library: rows of rt.def marked
 * W_TYPED, and powers of integers, which lowering computes by one of them.
 *
 * Each is text here, read into the program as an instance of its own when it is first met; inlining is
 * LLVM's. What each means is what its C in rt/ does, bit for bit (tests/ir/rows.ir holds one to the
 * other). */
#include <string.h>

#include "ir/rtinfo.h"
#include "opt/priv.h"

static const struct {
    tr_rt row;
    const char *text;
} rows[] = {
    {TR_RT_IPOW, "fn @rt.IPOW -> i64 {\n"
                 "b0(%x: i64, %e: i64):\n"
                 "  %negative: i1 = cmp lt %e, 0\n"
                 "  cbr %negative, b1, b2(1, %x, %e)\n"
                 "b1:\n"
                 "  %one: i1 = cmp eq %x, 1\n"
                 "  %minus: i1 = cmp eq %x, -1\n"
                 "  %odd: i64 = and %e, 1\n"
                 "  %two: i64 = mul %odd, 2\n"
                 "  %sign: i64 = sub 1, %two\n"
                 "  %y: i64 = select %minus, %sign, 0\n"
                 "  %z: i64 = select %one, 1, %y\n"
                 "  ret %z\n"
                 "b2(%r: i64, %b: i64, %n: i64):\n"
                 "  %more: i1 = cmp ne %n, 0\n"
                 "  cbr %more, b3, b4\n"
                 "b3:\n"
                 "  %low: i64 = and %n, 1\n"
                 "  %is: i1 = cmp ne %low, 0\n"
                 "  %p: i64 = mul %r, %b\n"
                 "  %s: i64 = select %is, %p, %r\n"
                 "  %q: i64 = mul %b, %b\n"
                 "  %h: i64 = shr %n, 1\n"
                 "  br b2(%s, %q, %h)\n"
                 "b4:\n"
                 "  ret %r\n"
                 "}\n"},
    {TR_RT_GCDU, "fn @rt.GCDU -> u64 {\n"
                 "b0(%x: u64, %y: u64):\n"
                 "  br b1(%x, %y)\n"
                 "b1(%a: u64, %b: u64):\n"
                 "  %more: i1 = cmp ne %b, 0:u64\n"
                 "  cbr %more, b2, b3\n"
                 "b2:\n"
                 "  %r: u64 = rem %a, %b\n"
                 "  br b1(%b, %r)\n"
                 "b3:\n"
                 "  ret %a\n"
                 "}\n"},
    {TR_RT_GCD, "fn @rt.GCD -> i64 {\n"
                "b0(%x: i64, %y: i64):\n"
                "  %p: i64 = abs %x\n"
                "  %q: i64 = abs %y\n"
                "  %u: u64 = conv %p\n"
                "  %v: u64 = conv %q\n"
                "  br b1(%u, %v)\n"
                "b1(%a: u64, %b: u64):\n"
                "  %more: i1 = cmp ne %b, 0:u64\n"
                "  cbr %more, b2, b3\n"
                "b2:\n"
                "  %r: u64 = rem %a, %b\n"
                "  br b1(%b, %r)\n"
                "b3:\n"
                "  %z: i64 = conv %a\n"
                "  ret %z\n"
                "}\n"},
};

/* The row's instance in the program. False: it is not among those above, or its text is wrong, which is
 * reported. */
static bool instance_of(tr_prog *p, unsigned row, uint32_t *out) {
    const char *text = NULL, *name = tr_arena_printf(&p->ctx->arena, "rt.%s", tr_rt_info[row].name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        text = rows[i].row == row ? rows[i].text : text;
    for (*out = 0; *out < p->insts.n; ++*out)
        if (p->insts.d[*out].fn && !strcmp(p->insts.d[*out].fn->name, name))
            return true;
    tr_prog read;
    tr_prog_init(&read, p->ctx);
    if (!text || !tr_ir_parse(p->ctx, text, name, &read) || !read.insts.n)
        return false;
    tr_vec_push(&p->ctx->arena, &p->insts, read.insts.d[0]);
    return true;
}

static bool call_row(tr_prog *p, tr_ins *in) {
    uint32_t inst;
    if (!(tr_rt_info[in->imm.rt->row].where & W_TYPED) || !instance_of(p, in->imm.rt->row, &inst))
        return false;
    in->op = TR_OP_CALL;
    in->imm.fn = inst;
    return true;
}

/* x ** e in 64 bits, whose low ones are the narrow type's. A u64 exponent may look negative there, so it
 * is halved: x ** e = (x ** (e / 2)) ** 2 * (x if e is odd). */
static bool call_pow(tr_prog *p, tr_fn *f, tr_repl *r, tr_val v) {
    uint32_t inst;
    if (!instance_of(p, TR_RT_IPOW, &inst))
        return false;
    const tr_ins in = *tr_at(f, v);
    const tr_ty *t = in.ty, *i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    bool halved = t->kind == TR_TY_U64;
    tr_bld b = {.fn = f, .blk = in.blk, .before = v, .loc = in.loc};
    tr_val e = in.args[1], x = in.args[0];
    if (halved)
        e = tr_emit2(&b, TR_OP_SHR, t, e, tr_const_int(f, t, 1));
    tr_val args[2] = {t == i64 ? x : tr_emit1(&b, TR_OP_CONV, i64, x),
                      t == i64 ? e : tr_emit1(&b, TR_OP_CONV, i64, e)};
    tr_val y = tr_emit_v(&b, TR_OP_CALL, i64, 2, args);
    tr_at(f, y)->imm.fn = inst;
    y = t == i64 ? y : tr_emit1(&b, TR_OP_CONV, t, y);
    if (halved) {
        tr_val low = tr_emit2(&b, TR_OP_AND, t, in.args[1], tr_const_int(f, t, 1));
        tr_val odd = tr_emit1(&b, TR_OP_CONV, tr_ty_scalar(f->ctx->types, TR_TY_BOOL), low);
        y = tr_emit2(&b, TR_OP_MUL, t, y, y);
        y = tr_emit2(&b, TR_OP_MUL, t, y, tr_emit3(&b, TR_OP_SELECT, t, odd, x, tr_const_int(f, t, 1)));
    }
    tr_ins_remove(f, v);
    tr_repl_set(f, r, v, y);
    return true;
}

bool tr_opt_rows(tr_prog *p, tr_fn *f) {
    tr_repl r = tr_repl_new(f);
    bool changed = false;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(f, v)->next;
            if (tr_at(f, v)->op == TR_OP_CALLRT)
                changed |= call_row(p, tr_at(f, v));
            else if (tr_at(f, v)->op == TR_OP_POW && tr_ty_is_int(tr_at(f, v)->ty))
                changed |= call_pow(p, f, &r, v);
        }
    tr_repl_apply(f, &r);
    return changed;
}
