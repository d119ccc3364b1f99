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
    uint32_t callee; /* the function's instance */
    const tr_ty *ret;
    tr_em e;
    tr_tv op[TR_MAX_OPERANDS]; /* the root's parameters */
} build;

static const tr_ty *i64_ty(build *b) {
    return tr_ty_scalar(b->p->ctx->types, TR_TY_I64);
}

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
    uint32_t n = b->ret->kind == TR_TY_TUPLE ? b->ret->n : 1;
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
    for (uint32_t i = 0; i < n; i++)
        v[i] = x[i].v;
    tr_val r = tr_emit_v(&e->b, TR_OP_CALL, b->ret, n, v);
    tr_at(e->b.fn, r)->imm.fn = b->callee;
    return (tr_tv){b->ret, r};
}

static void ret_none(build *b) {
    const tr_ty *none = tr_ty_none(b->p->ctx->types);
    tr_emit1(&b->e.b, TR_OP_RET, NULL, tr_const_undef(b->e.b.fn, none));
}

/* for i in range(n), carrying one value: opens the body. */
typedef struct loop {
    tr_bid head, exit;
    tr_tv i, carry;
} loop;

static loop loop_begin(build *b, tr_tv n, tr_tv carry) {
    tr_fn *f = b->e.b.fn;
    loop l = {.head = tr_blk_new(f), .exit = TR_NOBLK};
    tr_br(&b->e.b, l.head, 2, (tr_val[]){tr_const_int(f, i64_ty(b), 0), carry.v});
    l.i = (tr_tv){i64_ty(b), tr_blk_param(f, l.head, i64_ty(b), "i")};
    l.carry = (tr_tv){carry.ty, tr_blk_param(f, l.head, carry.ty, NULL)};
    tr_bid body = tr_blk_new(f);
    l.exit = tr_blk_new(f);
    b->e.b.blk = l.head;
    tr_tv more = tr_em_cmp(&b->e, TR_CMP_LT, l.i, n);
    tr_cbr(&b->e.b, more.v, body, 0, NULL, l.exit, 0, NULL);
    b->e.b.blk = body;
    return l;
}

static void loop_end(build *b, const loop *l, tr_tv carry) {
    tr_tv next = tr_em_nsw(&b->e, TR_OP_ADD, l->i, tr_em_i64(&b->e, 1));
    tr_br(&b->e.b, l->head, 2, (tr_val[]){next.v, carry.v});
    b->e.b.blk = l->exit;
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
        else /* all have one length, so none repeats */
            in[nin++] = tr_em_view(e, b->op[k].ty, b->op[k], zero, &n, NULL);
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
    return tr_em_pattern(&b->e, &d, &none);
}

static bool build_chain(build *b) {
    tr_em *e = &b->e;
    tr_tv n = tr_em_dim(e, b->op[2], 0), zero = tr_em_i64(e, 0);
    loop l = loop_begin(b, n, tr_em_load(e, b->op[0], &zero));
    tr_tv x[2] = {l.carry, tr_em_load(e, b->op[1], &l.i)};
    tr_tv y = call(b, e, 2, x);
    tr_em_store(e, b->op[2], &l.i, y);
    loop_end(b, &l, tr_em_conv(e, y, l.carry.ty));
    return true;
}

static bool call_core(tr_em *e, const void *user, const tr_tv *x) {
    build *b = (build *)(uintptr_t)user;
    call(b, e, (uint32_t)b->k->nin + b->k->nout, x);
    return true;
}

static bool build_core(build *b) {
    tr_tv n = tr_em_dim(&b->e, b->op[0], 0);
    tr_core c = {(uint32_t)b->k->nin + b->k->nout, b->p->insts.d[b->callee].args, b->k->core, call_core, b};
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

bool tr_driver_kernel(tr_prog *p, const tr_kernel *k) {
    build b = {.p = p, .k = k, .callee = p->root, .ret = p->insts.d[p->root].ret};
    tr_inst *callee = &p->insts.d[b.callee];
    tr_arena *a = &p->ctx->arena;
    for (uint32_t i = 0; i < callee->nargs; i++) /* Python's numbers were weak until now */
        callee->args[i] = tr_ty_strong(p->ctx->types, callee->args[i]);
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
