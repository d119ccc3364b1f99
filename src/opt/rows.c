/* Functions of the runtime as typed code, for targets that do not have its library: rows of rt.def marked
 * W_TYPED, and powers of integers and of complex numbers, which lowering computes by them.
 *
 * Each is text here, read into the program as an instance of its own when it is first met; inlining is
 * LLVM's. What each means is what its C in rt/ does, bit for bit (tests/ir/rows.ir holds one to the
 * other). */
#include <string.h>

#include "ir/rtinfo.h"
#include "opt/priv.h"
#include "opt/emit.h"

/* How both parts of frexp begin: what has none is told, and %c has the bits of x, which is made
 * larger where it is subnormal (%low). */
#define FREXP(none)                              \
    "b0(%x: f64):\n"                             \
    "  %b: i64 = bitcast %x\n"                   \
    "  %s: i64 = shr %b, 52\n"                   \
    "  %e: i64 = and %s, 2047\n"                 \
    "  %top: i1 = cmp eq %e, 2047\n"             \
    "  %zero: i1 = cmp eq %x, 0.0\n"             \
    "  %same: i1 = or %top, %zero\n"             \
    "  cbr %same, b1, b2\n"                      \
    "b1:\n"                                      \
    "  ret " none "\n"                           \
    "b2:\n"                                      \
    "  %low: i1 = cmp eq %e, 0\n"                \
    "  %up: f64 = mul %x, 18014398509481984.0\n" \
    "  %y: f64 = select %low, %up, %x\n"         \
    "  %c: i64 = bitcast %y\n"

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
    {TR_RT_FREXPM, "fn @rt.FREXPM -> f64 {\n" FREXP("%x") "  %kept: i64 = and %c, -9218868437227405313\n"
                                                          "  %m: i64 = or %kept, 4602678819172646912\n"
                                                          "  %r: f64 = bitcast %m\n"
                                                          "  ret %r\n"
                                                          "}\n"},
    {TR_RT_FREXPE, "fn @rt.FREXPE -> i64 {\n" FREXP("0") "  %t: i64 = shr %c, 52\n"
                                                         "  %f: i64 = and %t, 2047\n"
                                                         "  %bias: i64 = select %low, 1076, 1022\n"
                                                         "  %r: i64 = sub %f, %bias\n"
                                                         "  ret %r\n"
                                                         "}\n"},
    {TR_RT_LDEXP, "fn @rt.LDEXP -> f64 {\n"
                  "b0(%x: f64, %n: i64):\n"
                  "  %big: i1 = cmp gt %n, 1023\n"
                  "  cbr %big, b1, b3\n"
                  "b1:\n"
                  "  %x1: f64 = mul %x, 8.98846567431158e+307\n"
                  "  %n1: i64 = sub %n, 1023\n"
                  "  %more: i1 = cmp gt %n1, 1023\n"
                  "  cbr %more, b2, b6(%x1, %n1)\n"
                  "b2:\n"
                  "  %x2: f64 = mul %x1, 8.98846567431158e+307\n"
                  "  %n2: i64 = sub %n1, 1023\n"
                  "  %over: i1 = cmp gt %n2, 1023\n"
                  "  %n3: i64 = select %over, 1023, %n2\n"
                  "  br b6(%x2, %n3)\n"
                  "b3:\n"
                  "  %small: i1 = cmp lt %n, -1022\n"
                  "  cbr %small, b4, b6(%x, %n)\n"
                  "b4:\n"
                  "  %y1: f64 = mul %x, 2.004168360008973e-292\n"
                  "  %m1: i64 = add %n, 969\n"
                  "  %less: i1 = cmp lt %m1, -1022\n"
                  "  cbr %less, b5, b6(%y1, %m1)\n"
                  "b5:\n"
                  "  %y2: f64 = mul %y1, 2.004168360008973e-292\n"
                  "  %m2: i64 = add %m1, 969\n"
                  "  %under: i1 = cmp lt %m2, -1022\n"
                  "  %m3: i64 = select %under, -1022, %m2\n"
                  "  br b6(%y2, %m3)\n"
                  "b6(%v: f64, %k: i64):\n"
                  "  %w: i64 = add %k, 1023\n"
                  "  %u: i64 = shl %w, 52\n"
                  "  %p: f64 = bitcast %u\n"
                  "  %r: f64 = mul %v, %p\n"
                  "  ret %r\n"
                  "}\n"},
    {TR_RT_LCM, "fn @rt.LCM -> i64 {\n"
                "b0(%x: i64, %y: i64):\n"
                "  %p: i64 = abs %x\n"
                "  %q: i64 = abs %y\n"
                "  %u: u64 = conv %p\n"
                "  %v: u64 = conv %q\n"
                "  %zx: i1 = cmp eq %u, 0:u64\n"
                "  %zy: i1 = cmp eq %v, 0:u64\n"
                "  %none: i1 = or %zx, %zy\n"
                "  cbr %none, b1, b2(%u, %v)\n"
                "b1:\n"
                "  ret 0\n"
                "b2(%a: u64, %b: u64):\n"
                "  %more: i1 = cmp ne %b, 0:u64\n"
                "  cbr %more, b3, b4\n"
                "b3:\n"
                "  %r: u64 = rem %a, %b\n"
                "  br b2(%b, %r)\n"
                "b4:\n"
                "  %part: u64 = quot %u, %a\n"
                "  %most: u64 = quot 9223372036854775807:u64, %v\n"
                "  %over: i1 = cmp gt %part, %most\n"
                "  cbr %over, b5, b6\n"
                "b5:\n"
                "  ret -1\n"
                "b6:\n"
                "  %w: u64 = mul %part, %v\n"
                "  %z: i64 = conv %w\n"
                "  ret %z\n"
                "}\n"},
    {TR_RT_FACTORIAL, "fn @rt.FACTORIAL -> i64 {\n"
                      "b0(%n: i64):\n"
                      "  %over: i1 = cmp gt %n, 20\n"
                      "  cbr %over, b1, b2(1, 2)\n"
                      "b1:\n"
                      "  ret -1\n"
                      "b2(%r: i64, %i: i64):\n"
                      "  %more: i1 = cmp le %i, %n\n"
                      "  cbr %more, b3, b4\n"
                      "b3:\n"
                      "  %s: i64 = mul %r, %i\n"
                      "  %j: i64 = add %i, 1\n"
                      "  br b2(%s, %j)\n"
                      "b4:\n"
                      "  ret %r\n"
                      "}\n"},
    {TR_RT_PERM, "fn @rt.PERM -> i64 {\n"
                 "b0(%n: i64, %k: i64):\n"
                 "  %none: i1 = cmp gt %k, %n\n"
                 "  cbr %none, b1, b2(1, 0)\n"
                 "b1:\n"
                 "  ret 0\n"
                 "b2(%r: i64, %i: i64):\n"
                 "  %more: i1 = cmp lt %i, %k\n"
                 "  cbr %more, b3, b6\n"
                 "b3:\n"
                 "  %f: i64 = sub %n, %i\n"
                 "  %most: i64 = quot 9223372036854775807, %f\n"
                 "  %over: i1 = cmp gt %r, %most\n"
                 "  cbr %over, b4, b5\n"
                 "b4:\n"
                 "  ret -1\n"
                 "b5:\n"
                 "  %s: i64 = mul %r, %f\n"
                 "  %j: i64 = add %i, 1\n"
                 "  br b2(%s, %j)\n"
                 "b6:\n"
                 "  ret %r\n"
                 "}\n"},
    {TR_RT_ISQRT, "fn @rt.ISQRT -> i64 {\n"
                  "b0(%x: i64):\n"
                  "  %n: u64 = conv %x\n"
                  "  %d: f64 = conv %x\n"
                  "  %s: f64 = math sqrt %d\n"
                  "  %t: u64 = conv %s\n"
                  "  br b1(%t)\n"
                  "b1(%r: u64):\n"
                  "  %sq: u64 = mul %r, %r\n"
                  "  %over: i1 = cmp gt %sq, %n\n"
                  "  cbr %over, b2, b3(%r)\n"
                  "b2:\n"
                  "  %less: u64 = sub %r, 1:u64\n"
                  "  br b1(%less)\n"
                  "b3(%q: u64):\n"
                  "  %up: u64 = add %q, 1:u64\n"
                  "  %us: u64 = mul %up, %up\n"
                  "  %fits: i1 = cmp le %us, %n\n"
                  "  cbr %fits, b3(%up), b4\n"
                  "b4:\n"
                  "  %z: i64 = conv %q\n"
                  "  ret %z\n"
                  "}\n"},
    {TR_RT_CPOW, "fn @rt.CPOW -> c128 {\n"
                 "b0(%a: c128, %b: c128):\n"
                 "  %ar: f64 = re %a\n"
                 "  %ai: f64 = im %a\n"
                 "  %br: f64 = re %b\n"
                 "  %bi: f64 = im %b\n"
                 "  %one: c128 = cplx 1.0, 0.0\n"
                 "  %re0: i1 = cmp eq %br, 0.0\n"
                 "  %real: i1 = cmp eq %bi, 0.0\n"
                 "  %zero: i1 = and %re0, %real\n"
                 "  cbr %zero, b1, b2\n"
                 "b1:\n"
                 "  ret %one\n"
                 "b2:\n"
                 "  %nr: i1 = cmp eq %ar, 0.0\n"
                 "  %ni: i1 = cmp eq %ai, 0.0\n"
                 "  %nought: i1 = and %nr, %ni\n"
                 "  cbr %nought, b3, b4\n"
                 "b3:\n"
                 "  %up: i1 = cmp gt %br, 0.0\n"
                 "  %part: f64 = select %up, 0.0, nan\n"
                 "  %both: c128 = cplx %part, %part\n"
                 "  ret %both\n"
                 "b4:\n"
                 "  %fl: f64 = math floor %br\n"
                 "  %whole: i1 = cmp eq %fl, %br\n"
                 "  %mag: f64 = abs %br\n"
                 "  %few: i1 = cmp le %mag, 100.0\n"
                 "  %i1: i1 = and %whole, %few\n"
                 "  %i2: i1 = and %i1, %real\n"
                 "  cbr %i2, b5, b10\n"
                 "b5:\n"
                 "  %n: i64 = conv %mag\n"
                 "  br b6(%one, %a, %n)\n"
                 "b6(%r: c128, %p: c128, %u: i64):\n"
                 "  %more: i1 = cmp ne %u, 0\n"
                 "  cbr %more, b7, b8\n"
                 "b7:\n"
                 "  %bit: i64 = and %u, 1\n"
                 "  %odd: i1 = cmp ne %bit, 0\n"
                 "  %rp: c128 = mul %r, %p\n"
                 "  %rn: c128 = select %odd, %rp, %r\n"
                 "  %pp: c128 = mul %p, %p\n"
                 "  %h: i64 = shr %u, 1\n"
                 "  br b6(%rn, %pp, %h)\n"
                 "b8:\n"
                 "  %neg: i1 = cmp lt %br, 0.0\n"
                 "  cbr %neg, b9, b12\n"
                 "b9:\n"
                 "  %q: c128 = pydiv %one, %r\n"
                 "  ret %q\n"
                 "b10:\n"
                 "  %size: f64 = math hypot %ar, %ai\n"
                 "  %len: f64 = pow %size, %br\n"
                 "  %at: f64 = math atan2 %ai, %ar\n"
                 "  %phase: f64 = mul %at, %br\n"
                 "  cbr %real, b11(%len, %phase), b13\n"
                 "b11(%l: f64, %ph: f64):\n"
                 "  %c: f64 = math cos %ph\n"
                 "  %s: f64 = math sin %ph\n"
                 "  %x: f64 = mul %l, %c\n"
                 "  %y: f64 = mul %l, %s\n"
                 "  %z: c128 = cplx %x, %y\n"
                 "  ret %z\n"
                 "b12:\n"
                 "  ret %r\n"
                 "b13:\n"
                 "  %m: f64 = neg %at\n"
                 "  %mb: f64 = mul %m, %bi\n"
                 "  %ex: f64 = math exp %mb\n"
                 "  %l2: f64 = mul %len, %ex\n"
                 "  %lg: f64 = math log %size\n"
                 "  %turn: f64 = mul %bi, %lg\n"
                 "  %ph2: f64 = add %phase, %turn\n"
                 "  br b11(%l2, %ph2)\n"
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
        y = tr_emit2(&b, TR_OP_MUL, t, y, tr_emit_select(&b, odd, x, tr_const_int(f, t, 1)));
    }
    tr_ins_remove(f, v);
    tr_repl_set(f, r, v, y);
    return true;
}

/* x ** e of complex numbers, which lowering has in the runtime. */
static bool call_cpow(tr_prog *p, tr_fn *f, tr_repl *r, tr_val v) {
    uint32_t inst;
    if (!instance_of(p, TR_RT_CPOW, &inst))
        return false;
    const tr_ins in = *tr_at(f, v);
    const tr_ty *t = in.ty, *c128 = tr_ty_scalar(f->ctx->types, TR_TY_C128);
    tr_bld b = {.fn = f, .blk = in.blk, .before = v, .loc = in.loc};
    tr_val args[2];
    for (unsigned k = 0; k < 2; k++)
        args[k] = t == c128 ? in.args[k] : tr_emit1(&b, TR_OP_CONV, c128, in.args[k]);
    tr_val y = tr_emit_v(&b, TR_OP_CALL, c128, 2, args);
    tr_at(f, y)->imm.fn = inst;
    y = t == c128 ? y : tr_emit1(&b, TR_OP_CONV, t, y);
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
            else if (tr_at(f, v)->op == TR_OP_POW && tr_ty_is_complex(tr_at(f, v)->ty))
                changed |= call_cpow(p, f, &r, v);
        }
    tr_repl_apply(f, &r);
    return changed;
}
