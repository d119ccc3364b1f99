/* The root of a ufunc's inner loop: a function over arrays that calls the user's function for each element.
 *
 * It is an instance like any other, put on top of a program whose types are known; the passes that follow see
 * no difference. A map is one pattern of elements, a gufunc's core a region over the outer indices, the same
 * that a call in compiled code makes (lib/npgufunc.c). Threads share a loop's range from outside
 * (exec/loop.c): NumPy hands over the range, and what a round costs is known by the clock alone. */
#include "driver/priv.h"
#include "infer/infer.h"
#include "lib/em.h"

typedef struct build {
    tr_prog *p;
    const tr_kernel *k;
    uint32_t callee;  /* the function's instance */
    const tr_ty *ret; /* what is stored; float64 of a function that never returns */
    bool never;
    tr_em e;
    tr_tv op[TR_MAX_OPERANDS]; /* the root's parameters */
} build;

static const tr_ty *array_of(build *b, const tr_ty *elem, uint32_t ndim, tr_layout layout) {
    return tr_ty_array(b->p->ctx->types, elem, ndim, layout, false);
}

static bool fail(build *b, const char *why) {
    const tr_fn *f = b->p->insts.d[b->callee].fn;
    const tr_func *fn = f->func < b->p->funcs.n ? &b->p->funcs.d[f->func] : NULL;
    int32_t line = fn && fn->code ? (int32_t)fn->code->firstline : 0;
    tr_err_add(b->p->ctx, TR_ERR_TYPING, (tr_place){f->file, f->name, {line, -1, line, -1}}, "%s", why);
    return false;
}

/* Type of output i as the function returns it. */
static const tr_ty *result(const build *b, uint32_t i) {
    return b->ret->kind == TR_TY_TUPLE ? b->ret->items[i] : b->ret;
}

static bool check_results(build *b) {
    if (b->k->kind == TR_KERNEL_CORE) {
        if (b->ret->kind != TR_TY_NONE)
            return fail(
                b, "the function of a gufunc stores its results into its last arguments and returns nothing");
        return tr_infer_check_outputs(b->p, b->p->insts.d[b->callee].func, b->k->nin, b->k->nout);
    }
    uint32_t n = b->ret->kind == TR_TY_TUPLE ? b->ret->n : b->never ? b->k->nout : 1;
    if (b->ret->kind == TR_TY_NONE)
        return fail(b, "the function returns nothing; a ufunc needs a number for each element");
    if (n != b->k->nout)
        return fail(b, tr_arena_printf(&b->p->ctx->arena, "the function returns %u value%s for %u output%s",
                                       n, n == 1 ? "" : "s", b->k->nout, b->k->nout == 1 ? "" : "s"));
    for (uint32_t i = 0; i < n; i++)
        if (!tr_ty_is_scalar(result(b, i)))
            return fail(b, tr_arena_printf(&b->p->ctx->arena,
                                           "the function returns %s; a ufunc needs a number for each element",
                                           tr_ty_user(&b->p->ctx->arena, result(b, i))));
    return true;
}

/* --- pieces of IR --- */

static tr_tv call(build *b, tr_em *e, uint32_t n, const tr_tv *x) {
    tr_val v[TR_MAX_OPERANDS];
    assert(n == b->p->insts.d[b->callee].nargs && "the function gets all of its arguments");
    for (uint32_t i = 0; i < n; i++)
        v[i] = x[i].v;
    tr_val r = tr_emit_v(&e->b, TR_OP_CALL, b->p->insts.d[b->callee].ret, n, v);
    tr_at(e->b.fn, r)->imm.fn = b->callee;
    return (tr_tv){b->ret, b->never ? tr_const_undef(e->b.fn, b->ret) : r};
}

static bool never_returns(const tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        if (!tr_blk_at(f, b)->dead && tr_term(f, b)->op == TR_OP_RET)
            return false;
    return true;
}

static void ret_none(build *b) {
    const tr_ty *none = tr_ty_none(b->p->ctx->types);
    tr_emit1(&b->e.b, TR_OP_RET, NULL, tr_const_undef(b->e.b.fn, none));
}

/* --- the three kinds --- */

static bool lam_map(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                    tr_tv *yields) {
    build *b = (build *)(uintptr_t)d->user;
    tr_tv x[TR_MAX_OPERANDS];
    (void)idx;
    for (uint32_t k = 0; k < b->k->nin; k++)
        x[k] = b->k->once >> k & 1 ? *caps++ : *elems++;
    tr_tv r = call(b, e, b->k->nin, x);
    for (uint32_t i = 0; i < b->k->nout; i++)
        yields[i] = tr_em_conv(e, b->ret->kind == TR_TY_TUPLE ? tr_em_item(e, r, i) : r, d->out[i].ty->elem);
    return true;
}

static bool build_map(build *b) {
    tr_em *e = &b->e;
    tr_tv n = tr_em_dim(e, b->op[b->k->nin + b->k->nout - 1], 0), zero = tr_em_i64(e, 0), none;
    tr_tv in[TR_MAX_OPERANDS], once[TR_MAX_OPERANDS];
    uint32_t nin = 0, nonce = 0;
    for (uint32_t k = 0; k < b->k->nin; k++)
        if (b->k->once >> k & 1)
            once[nonce++] = tr_em_load(e, b->op[k], &zero);
        else { /* all have one length, so none repeats */
            tr_axes all = {0};
            tr_axes_part(&all, 0, zero, n, tr_em_i64(e, 1));
            in[nin++] = tr_em_view(e, b->op[k].ty, b->op[k], &all);
        }
    tr_pdesc d = {.nspace = 1,
                  .nin = nin,
                  .nout = b->k->nout,
                  .ncap = nonce,
                  .space = &n,
                  .in = in,
                  .out = b->op + b->k->nin,
                  .caps = once,
                  .apart = true,
                  .lam = lam_map,
                  .user = b};
    assert(nin + nonce == b->k->nin && "an input is an array, or one item");
    return tr_em_pattern(&b->e, &d, &none);
}

/* elems: an item of the second operand, the result before it. */
static bool lam_chain(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    build *b = (build *)(uintptr_t)d->user;
    (void)idx;
    (void)caps;
    yields[0] = call(b, e, 2, (tr_tv[]){elems[1], elems[0]});
    yields[d->nout] = tr_em_conv(e, yields[0], d->init[0].ty);
    return true;
}

/* out[i] = f(out[i - 1], b[i]), from what the first operand has: a scan whose round makes the new value.
 * Where all results come to one place (reduce), it is the last one that does. */
static bool build_chain(build *b) {
    tr_em *e = &b->e;
    tr_tv out = b->op[2], n = tr_em_dim(e, out, 0), zero = tr_em_i64(e, 0),
          first = tr_em_load(e, b->op[0], &zero), r;
    tr_axes all = {0};
    tr_redk last = TR_RED_LAST;
    assert(b->k->nin == 2 && b->k->nout == 1 && "what is chained is a function of two");
    tr_axes_part(&all, 0, zero, n, tr_em_i64(e, 1));
    tr_tv in = tr_em_view(e, b->op[1].ty, b->op[1], &all);
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nred = 1,
                  .nscan = 1,
                  .space = &n,
                  .in = &in,
                  .out = &out,
                  .reds = &last,
                  .init = &first,
                  .lam = lam_chain,
                  .user = b};
    tr_bid fold = tr_blk_new(e->b.fn), all_of = tr_blk_new(e->b.fn), end = tr_blk_new(e->b.fn);
    tr_cbr(&e->b, tr_em_cmp(e, TR_CMP_EQ, tr_em_stride(e, out, 0), zero).v, fold, 0, NULL, all_of, 0, NULL);
    e->b.blk = fold;
    if (!tr_em_pattern(e, &d, &r))
        return false;
    tr_em_store(e, out, &zero, tr_em_conv(e, r, out.ty->elem));
    tr_br(&e->b, end, 0, NULL);
    e->b.blk = all_of;
    d.nout = 1;
    if (!tr_em_pattern(e, &d, &r))
        return false;
    tr_br(&e->b, end, 0, NULL);
    e->b.blk = end;
    return true;
}

static bool call_core(tr_em *e, const void *user, const tr_tv *x) {
    build *b = (build *)(uintptr_t)user;
    call(b, e, (uint32_t)b->k->nin + b->k->nout, x);
    return true;
}

static bool build_core(build *b) {
    tr_tv n = tr_em_dim(&b->e, b->op[0], 0);
    tr_core c = {
        (uint32_t)b->k->nin + b->k->nout, b->p->insts.d[b->callee].args, b->k->core, call_core, b, false};
    return tr_em_core(&b->e, &c, 1, &n, b->op);
}

/* --- the root --- */

static const tr_ty *param_type(build *b, uint32_t k) {
    const tr_inst *t = &b->p->insts.d[b->callee];
    if (b->k->kind == TR_KERNEL_CORE) {
        const tr_ty *elem = tr_ty_is_scalar(t->args[k]) ? t->args[k] : t->args[k]->elem;
        return array_of(b, elem, b->k->core[k] + 1u, TR_LAYOUT_ANY);
    }
    return array_of(b, k < b->k->nin ? t->args[k] : result(b, k - b->k->nin), 1,
                    b->k->kind == TR_KERNEL_MAP ? TR_LAYOUT_C : TR_LAYOUT_ANY);
}

bool tr_driver_kernel(tr_prog *p, const tr_kernel *k, const tr_ty **ret) {
    build b = {.p = p, .k = k, .callee = p->root, .ret = p->insts.d[p->root].ret};
    tr_inst *callee = &p->insts.d[b.callee];
    assert(k->nin + k->nout <= TR_MAX_OPERANDS && "operands have room");
    tr_arena *a = &p->ctx->arena;
    for (uint32_t i = 0; i < callee->nargs; i++) /* Python's numbers were weak until now */
        callee->args[i] = tr_ty_strong(p->ctx->types, callee->args[i]);
    b.never = k->kind != TR_KERNEL_CORE && b.ret->kind == TR_TY_NONE && never_returns(callee->fn);
    b.ret = b.never ? tr_ty_scalar(p->ctx->types, TR_TY_F64) : b.ret;
    *ret = b.ret;
    if (!check_results(&b))
        return false;
    uint32_t n = (uint32_t)k->nin + k->nout;
    tr_fn *f = tr_fn_new(p->ctx, tr_arena_printf(a, "%s.ufunc", callee->fn->name), S_T);
    f->file = callee->fn->file;
    f->func = callee->fn->func;
    f->ret = tr_ty_none(p->ctx->types);
    b.e = (tr_em){.ctx = p->ctx, .types = p->ctx->types, .prog = p, .opts = tr_inst_opts(p, callee)};
    b.e.b = (tr_bld){f, tr_blk_new(f), TR_NOVAL, 0};
    tr_inst root = {
        .func = UINT32_MAX, .nargs = n, .args = TR_NEW_N(a, const tr_ty *, n + 1u), .ret = f->ret, .fn = f};
    for (uint32_t i = 0; i < n; i++) {
        root.args[i] = param_type(&b, i);
        b.op[i] = (tr_tv){root.args[i], tr_blk_param(f, 0, root.args[i], NULL)};
    }
    bool ok = k->kind == TR_KERNEL_MAP     ? build_map(&b)
              : k->kind == TR_KERNEL_CHAIN ? build_chain(&b)
                                           : build_core(&b);
    ret_none(&b);
    p->root = p->insts.n;
    tr_vec_push(a, &p->insts, root);
    return ok;
}
