/* A function of the IR as an LLVM function: blocks, parameters, values by parts, control flow.
 *
 * Blocks are lowered in reverse post-order, so every operand but those of back edges has been made
 * before it is used; parameters of blocks become phis, one per part, whose incoming values are
 * added when the branch is lowered. A lambda is lowered into the function that is being filled;
 * its entry continues the current block. */
#include "base/plant.h"
#include "lower/internal.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

/* --- values --- */

void tr_lower_error(tr_lf *w, tr_val v, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const tr_fn *f = w->body->f;
    if (!w->m->failed)
        tr_err_add(w->m->ctx, TR_ERR_LOWERING, tr_fn_place(f, tr_at(f, v)->loc), "%s",
                   tr_arena_vprintf(&w->m->ctx->arena, fmt, ap));
    va_end(ap);
    w->m->failed = true;
}

void tr_lower_set(tr_lf *w, tr_val v, unsigned n, const lv *parts) {
    assert(v < w->body->f->ins.n && n == tr_ty_nparts(tr_at(w->body->f, v)->ty));
    lv *own = TR_NEW_N(&w->m->ctx->arena, lv, n + 1); /* never empty: NULL means "not made yet" */
    if (n)
        memcpy(own, parts, n * sizeof *own);
    w->body->vals[v] = own;
}

void tr_lower_set1(tr_lf *w, tr_val v, lv x) {
    tr_lower_set(w, v, 1, &x);
    if (w->m->want->names && v < w->body->f->names.n && w->body->f->names.d[v] && LLVMIsAInstruction(x))
        LLVMSetValueName2(x, w->body->f->names.d[v], strlen(w->body->f->names.d[v]));
}

/* Zero for every part: an undefined value is never looked at, and a fixed one cannot become LLVM's poison. */
static lv *zero_parts(tr_lf *w, const tr_ty *t) {
    unsigned n = tr_ty_nparts(t);
    tr_part *p = TR_NEW_N(&w->m->ctx->arena, tr_part, n + 1);
    lv *out = TR_NEW_N(&w->m->ctx->arena, lv, n + 1);
    tr_ty_parts(t, p);
    for (unsigned i = 0; i < n; i++)
        out[i] = LLVMConstNull(w->m->part[p[i]]);
    return out;
}

static lv *const_parts(tr_lf *w, const tr_ins *in) {
    tr_lm *m = w->m;
    lv *out = TR_NEW_N(&m->ctx->arena, lv, 2);
    switch (tr_ty_class(in->ty)) {
    case 'b': out[0] = l_int(m->i1, in->imm.i & 1); break;
    case 'i':
    case 'u': out[0] = l_int(tr_lower_elem(m, in->ty), in->imm.i); break;
    case 'f': out[0] = LLVMConstReal(tr_lower_elem(m, in->ty), in->imm.f); break;
    case 'c':
        for (int i = 0; i < 2; i++)
            out[i] = LLVMConstReal(tr_lower_elem(m, in->ty), in->imm.c[i]);
        break;
    default: return zero_parts(w, in->ty);
    }
    return out;
}

/* A frozen array: the data is a symbol that the loader binds, of a device part of the
 * module; shape and strides are known. */
static lv *constarr_parts(tr_lf *w, const tr_ins *in) {
    tr_lm *m = w->m;
    const tr_obj *o = in->imm.obj;
    unsigned nd = in->ty->ndim, n = 2;
    lv *out = TR_NEW_N(&m->ctx->arena, lv, 2 + 2 * nd);
    char *name = tr_arena_printf(&m->ctx->arena, "tr_arr_%u", o->u.a.index);
    lv g = tr_lower_is_flat(m) ? tr_lower_device_array(m, in, name) : LLVMGetNamedGlobal(m->mod, name);
    if (!g) {
        g = LLVMAddGlobal(m->mod, m->i8, name);
        LLVMSetAlignment(g, tr_ty_align(in->ty->elem));
    }
    out[0] = LLVMConstNull(m->ptr);
    out[1] = g;
    for (unsigned i = 0; i < nd; i++)
        out[n++] = l_int(m->i64, o->u.a.shape[i]);
    if (in->ty->layout == TR_LAYOUT_ANY)
        for (unsigned i = 0; i < nd; i++)
            out[n++] = l_int(m->i64, o->u.a.strides[i]);
    return out;
}

lv *tr_lower_parts(tr_lf *w, tr_val v) {
    assert(v < w->body->f->ins.n);
    lv **slot = &w->body->vals[v];
    if (*slot)
        return *slot;
    const tr_ins *in = tr_at(w->body->f, v);
    switch (in->op) {
    case TR_OP_CONST: *slot = const_parts(w, in); break;
    case TR_OP_CONSTARR: *slot = constarr_parts(w, in); break;
    case TR_OP_UNDEF: *slot = zero_parts(w, in->ty); break;
    default:
        tr_lower_error(w, v, "value %%%u is used before it is defined", v);
        *slot = zero_parts(w, in->ty);
    }
    return *slot;
}

lb tr_lower_block(tr_lf *w, const char *name) {
    return LLVMAppendBasicBlockInContext(w->m->lc, w->fn, name);
}

/* --- leaving the function --- */

void tr_lower_exit(tr_lf *w, lv code) {
    assert(LLVMTypeOf(code) == w->m->i32);
    if (LLVMGetTypeKind(w->ret_type) ==
        LLVMVoidTypeKind) { /* a kernel's code is where the launch's exception is */
        LLVMBuildRetVoid(w->b);
        return;
    }
    if (LLVMGetTypeKind(w->ret_type) == LLVMIntegerTypeKind) {
        LLVMBuildRet(w->b, code);
        return;
    }
    lv r = LLVMBuildInsertValue(w->b, LLVMGetPoison(w->ret_type), code, 0, "");
    LLVMBuildRet(w->b, r);
}

static lv slot_of(tr_lf *w, lv slots, unsigned i) {
    lv o = l_int(w->m->i64, i);
    return LLVMBuildInBoundsGEP2(w->b, w->m->i64, slots, &o, 1, "");
}

static void leave_with(tr_lf *w, unsigned n, const lv *x) {
    lv zero = l_int(w->m->i32, 0);
    if (w->ret_slots) {
        for (unsigned i = 0; i < n; i++) {
            lv y = LLVMTypeOf(x[i]) == w->m->i1 ? LLVMBuildZExt(w->b, x[i], w->m->i8, "") : x[i];
            tr_lower_tag(w->m, LLVMBuildStore(w->b, y, slot_of(w, w->ret_slots, i)), true);
        }
        LLVMBuildRet(w->b, zero);
    } else if (!n) {
        tr_lower_leave(w, zero);
    } else {
        lv r = LLVMBuildInsertValue(w->b, LLVMGetPoison(w->ret_type), zero, 0, "");
        for (unsigned i = 0; i < n; i++)
            r = LLVMBuildInsertValue(w->b, r, x[i], i + 1, "");
        LLVMBuildRet(w->b, r);
    }
}

static void lower_ret(tr_lf *w, tr_val v) {
    leave_with(w, tr_ty_nparts(tr_lower_ty(w, v)), tr_lower_parts(w, v));
}

/* --- branches --- */

/* Adds the edge's arguments to the target's phis. `from`: the block that branches. */
static void feed(tr_lf *w, const tr_edge *e, lb from) {
    const tr_blk *to = tr_blk_at(w->body->f, e->to);
    for (uint32_t i = 0; i < e->n; i++) {
        const lv *x = tr_lower_parts(w, e->args[i]), *phi = w->body->vals[to->params.d[i]];
        unsigned n = tr_ty_nparts(tr_lower_ty(w, to->params.d[i]));
        for (unsigned k = 0; k < n; k++)
            l_incoming(phi[k], x[k], from);
    }
}

void tr_lower_leave(tr_lf *w, lv code) {
    if (!w->handler) {
        tr_lower_exit(w, code);
        return;
    }
    tr_lbody *here = w->body;
    w->body = w->catcher;
    tr_lower_fly(w, code);
    feed(w, w->handler, l_here(w->b));
    LLVMBuildBr(w->b, w->body->blks[w->handler->to]);
    w->body = here;
}

static bool is_choice(lv c) {
    return LLVMIsAICmpInst(c) && LLVMGetICmpPredicate(c) <= LLVMIntNE &&
           LLVMIsAConstantInt(LLVMGetOperand(c, 1));
}

static void lower_cbr(tr_lf *w, const tr_ins *in) {
    assert(in->op == TR_OP_CBR);
    const tr_edge *t = &in->imm.succ[0], *e = &in->imm.succ[1];
    lv c = tr_lower_parts(w, in->args[0])[0];
    lb from = l_here(w->b), else_blk = w->body->blks[e->to];
    bool fits = tr_lower_asks_fit(w->body->f, in->args[0]);
    w->m->choices += !fits && is_choice(c);
    /* Two edges into one block with different arguments need a block of their own on one of them. */
    bool same = t->to == e->to && e->n > 0;
    lb via = same ? tr_lower_block(w, "edge") : else_blk;
    lv br = LLVMBuildCondBr(w->b, c, w->body->blks[t->to], via);
    if (fits)
        LLVMSetMetadata(br, w->m->kind_prof, w->m->md_unlikely);
    feed(w, t, from);
    if (same) {
        l_at_end(w->b, via);
        LLVMBuildBr(w->b, else_blk);
        from = via;
    }
    feed(w, e, from);
}

static void lower_yield(tr_lf *w, const tr_ins *in) {
    assert(in->op == TR_OP_YIELD && w->body->outer);
    tr_lbody *b = w->body;
    unsigned k = 0;
    for (uint32_t i = 0; i < in->nargs; i++) {
        const lv *x = tr_lower_parts(w, in->args[i]);
        for (unsigned j = 0; j < tr_ty_nparts(tr_lower_ty(w, in->args[i])); j++, k++) {
            if (b->yield_blk)
                l_incoming(b->yield[k], x[j], l_here(w->b));
            else
                b->yield[k] = x[j];
        }
    }
    if (b->yield_blk)
        LLVMBuildBr(w->b, b->yield_blk);
}

/* --- one instruction --- */

static void lower_tuple(tr_lf *w, tr_val v, const tr_ins *in) {
    unsigned n = tr_ty_nparts(in->ty), k = 0;
    lv *out = TR_NEW_N(&w->m->ctx->arena, lv, n + 1);
    for (uint32_t i = 0; i < in->nargs; i++) {
        const lv *x = tr_lower_parts(w, in->args[i]);
        unsigned np = tr_ty_nparts(tr_lower_ty(w, in->args[i]));
        if (k + np > n) {
            tr_lower_error(w, v, "a tuple's items do not fit its type");
            break;
        }
        memcpy(out + k, x, np * sizeof *x);
        k += np;
    }
    assert(k == n || w->m->failed);
    w->body->vals[v] = out;
}

static void lower_extract(tr_lf *w, tr_val v, const tr_ins *in) {
    const tr_ty *t = tr_lower_ty(w, in->args[0]);
    assert(in->imm.i >= 0 && in->imm.i < t->n);
    unsigned at = 0;
    for (int64_t i = 0; i < in->imm.i; i++)
        at += tr_ty_nparts(t->items[i]);
    tr_lower_set(w, v, tr_ty_nparts(in->ty), tr_lower_parts(w, in->args[0]) + at);
}

static void lower_select(tr_lf *w, tr_val v, const tr_ins *in) {
    unsigned n = tr_ty_nparts(in->ty);
    lv c = tr_lower_parts(w, in->args[0])[0];
    const lv *x = tr_lower_parts(w, in->args[1]), *y = tr_lower_parts(w, in->args[2]);
    if (tr_plant(w->m->ctx, TR_PLANT_SELECT) && in->ty->kind == TR_TY_F32) {
        const lv *t = x;
        x = y;
        y = t;
    }
    lv *out = TR_NEW_N(&w->m->ctx->arena, lv, n + 1);
    for (unsigned i = 0; i < n; i++)
        out[i] = l_select(w->b, c, x[i], y[i]);
    w->body->vals[v] = out;
}

static void lower_op(tr_lf *w, tr_val v, const tr_ins *in) {
    const tr_target *t = w->m->want->target;
    if (!tr_target_has(t, (tr_op)in->op)) {
        tr_lower_error(w, v, "%s does not have '%s'", t->name, tr_op_info[in->op].name);
        tr_lower_set1(w, v, LLVMGetUndef(w->m->i64));
        return;
    }
    switch ((tr_op)in->op) {
    case TR_OP_BR:
        feed(w, &in->imm.succ[0], l_here(w->b));
        LLVMBuildBr(w->b, w->body->blks[in->imm.succ[0].to]);
        break;
    case TR_OP_TRY: /* the other edge is taken where something raises */
        LLVMBuildBr(w->b, w->body->blks[in->imm.succ[0].to]);
        break;
    case TR_OP_CBR: lower_cbr(w, in); break;
    case TR_OP_CATCH: tr_lower_catch(w, v); break;
    case TR_OP_RERAISE: tr_lower_reraise(w, v, in); break;
    case TR_OP_RET: lower_ret(w, in->args[0]); break;
    case TR_OP_UNREACH: LLVMBuildUnreachable(w->b); break;
    case TR_OP_YIELD: lower_yield(w, in); break;
    case TR_OP_TUPLE: lower_tuple(w, v, in); break;
    case TR_OP_EXTRACT: lower_extract(w, v, in); break;
    case TR_OP_SELECT: lower_select(w, v, in); break;
    case TR_OP_CONV: tr_lower_conv(w, v, in); break;
    case TR_OP_BITCAST: tr_lower_bitcast(w, v, in); break;
    case TR_OP_CMP:
        tr_lower_set1(w, v,
                      tr_lower_cmp(w, (tr_cmpop)in->sub, tr_lower_ty(w, in->args[0]),
                                   tr_lower_parts(w, in->args[0]), tr_lower_parts(w, in->args[1])));
        break;
    case TR_OP_CPLX:
        tr_lower_set(w, v, 2, (lv[]){tr_lower_parts(w, in->args[0])[0], tr_lower_parts(w, in->args[1])[0]});
        break;
    case TR_OP_RE: tr_lower_set1(w, v, tr_lower_parts(w, in->args[0])[0]); break;
    case TR_OP_IM: tr_lower_set1(w, v, tr_lower_parts(w, in->args[0])[1]); break;
    case TR_OP_PRANGE: tr_lower_set1(w, v, tr_lower_parts(w, in->args[0])[0]); break;
    case TR_OP_MATH: tr_lower_math(w, v, in); break;
    case TR_OP_CALL: tr_lower_call(w, v, in); break;
    case TR_OP_CALLRT:
        if (!tr_lower_device_print(w, in))
            tr_lower_callrt(w, v, in);
        break;
    case TR_OP_CALLX: tr_lower_callx(w, v, in); break;
    case TR_OP_PATTERN: tr_lower_pattern(w, v, in); break;
    default:
        if (tr_lower_array_op(w, v, in) || tr_lower_list_op(w, v, in) || tr_lower_string_op(w, v, in) ||
            tr_lower_check_op(w, v, in) || tr_lower_device_op(w, v, in))
            break;
        if (tr_op_info[in->op].stages & S_T)
            tr_lower_arith(w, v, in);
        else
            tr_lower_error(w, v, "'%s' cannot stand in typed code", tr_op_info[in->op].name);
    }
}

/* A device's products and sums are fused, as its own compilers do it, unless that is not wanted. */
static unsigned contracts(const tr_lm *m) {
    return tr_lower_is_flat(m) && !m->want->device.separate ? LLVMFastMathAllowContract : 0;
}

static void lower_ins(tr_lf *w, tr_val v) {
    const tr_ins *in = tr_at(w->body->f, v);
    unsigned outer = w->fmf; /* of a pattern around a lambda */
    const uint8_t *turns = w->body->turns;
    bool in_turn = w->in_turn;
    w->in_turn = turns && turns[in->blk] && in->op != TR_OP_PATTERN; /* a pattern has loops of its own */
    if (w->m->dbg)
        tr_lower_debug_at(w, in->loc);
    w->fmf = tr_lower_fmf(tr_ins_fast(in)) | contracts(w->m);
    lower_op(w, v, in);
    w->fmf = outer;
    w->in_turn = in_turn;
}

/* --- bodies --- */

/* The phis of a block's parameters, without incoming values yet. */
static void make_phis(tr_lf *w, tr_bid bid) {
    const tr_blk *blk = tr_blk_at(w->body->f, bid);
    l_at_end(w->b, w->body->blks[bid]);
    for (uint32_t i = 0; i < blk->params.n; i++) {
        const tr_ty *t = tr_lower_ty(w, blk->params.d[i]);
        unsigned n = tr_ty_nparts(t);
        tr_part *p = TR_NEW_N(&w->m->ctx->arena, tr_part, n + 1);
        lv *phi = TR_NEW_N(&w->m->ctx->arena, lv, n + 1);
        tr_ty_parts(t, p);
        const char *name = w->m->want->names && blk->params.d[i] < w->body->f->names.n
                               ? w->body->f->names.d[blk->params.d[i]]
                               : NULL;
        for (unsigned k = 0; k < n; k++)
            phi[k] = LLVMBuildPhi(w->b, w->m->part[p[k]], name ? name : "");
        w->body->vals[blk->params.d[i]] = phi;
    }
}

/* Lowers w->body; its entry's parameters have the given parts, and the builder stands where it begins. */
static void lower_body(tr_lf *w, const lv *params) {
    tr_lbody *b = w->body;
    tr_fn *f = b->f;
    tr_cfg_compute(f);
    b->vals = TR_NEW_N(&w->m->ctx->arena, lv *, f->ins.n);
    b->blks = TR_NEW_N(&w->m->ctx->arena, lb, f->blks.n);
    lb here = l_here(w->b);
    bool entry_is_target = f->blks.d[0].preds.n > 0;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid bid = f->rpo.d[i];
        if (bid == 0 && !entry_is_target) {
            b->blks[0] = here;
            continue;
        }
        b->blks[bid] = tr_lower_block(w, "");
        make_phis(w, bid);
    }
    tr_lower_loops(w);
    const tr_blk *entry = tr_blk_at(f, 0);
    for (uint32_t i = 0; i < entry->params.n; i++) {
        unsigned n = tr_ty_nparts(tr_lower_ty(w, entry->params.d[i]));
        if (!entry_is_target)
            tr_lower_set(w, entry->params.d[i], n, params);
        else
            for (unsigned k = 0; k < n; k++)
                l_incoming(b->vals[entry->params.d[i]][k], params[k], here);
        params += n;
    }
    l_at_end(w->b, here);
    if (entry_is_target)
        LLVMBuildBr(w->b, b->blks[0]);
    const tr_edge *outer = w->handler;
    tr_lbody *catcher = w->catcher;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid bid = f->rpo.d[i];
        const tr_edge *own = tr_handler(f, bid);
        w->handler = own ? own : outer;
        w->catcher = own ? b : catcher;
        l_at_end(w->b, b->blks[bid]);
        for (tr_val v = f->blks.d[bid].first; v != TR_NOVAL; v = tr_at(f, v)->next)
            lower_ins(w, v);
        if (b->loop_marks && b->loop_marks[bid])
            LLVMSetMetadata(LLVMGetBasicBlockTerminator(l_here(w->b)), w->m->kind_loop, b->loop_marks[bid]);
    }
    w->handler = outer;
    w->catcher = catcher;
}

lv *tr_lower_lambda(tr_lf *w, tr_fn *lam, uint32_t loc, const lv *params) {
    assert(lam->is_lambda && w->body);
    tr_lbody body = {.outer = w->body, .f = lam, .at_loc = loc};
    tr_val last = TR_NOVAL;
    uint32_t yields = 0;
    for (uint32_t v = 0; v < lam->ins.n; v++)
        if (lam->ins.d[v].op == TR_OP_YIELD && lam->ins.d[v].blk != TR_NOBLK) {
            last = v;
            yields++;
        }
    unsigned n = 0;
    for (uint32_t i = 0; last != TR_NOVAL && i < tr_at(lam, last)->nargs; i++)
        n += tr_ty_nparts(tr_at(lam, tr_arg(lam, last, i))->ty);
    body.yield = TR_NEW_N(&w->m->ctx->arena, lv, n + 1);
    w->body = &body;
    lb here = l_here(w->b);
    /* A single YIELD in the block lowered last leaves the builder where the caller goes on;
     * otherwise all meet in a block. */
    bool straight =
        yields == 1 && lam->blks.d[0].last == last; /* what other blocks there are nobody reaches */
    if (!straight) {
        body.yield_blk = tr_lower_block(w, "yield");
        l_at_end(w->b, body.yield_blk);
        unsigned k = 0;
        for (uint32_t i = 0; last != TR_NOVAL && i < tr_at(lam, last)->nargs; i++) {
            const tr_ty *t = tr_at(lam, tr_arg(lam, last, i))->ty;
            tr_part *p = TR_NEW_N(&w->m->ctx->arena, tr_part, tr_ty_nparts(t) + 1u);
            tr_ty_parts(t, p);
            for (unsigned j = 0; j < tr_ty_nparts(t); j++)
                body.yield[k++] = LLVMBuildPhi(w->b, w->m->part[p[j]], "");
        }
        l_at_end(w->b, here);
    }
    lower_body(w, params);
    if (body.yield_blk)
        l_at_end(w->b, body.yield_blk);
    w->body = body.outer;
    return body.yield;
}

/* --- functions --- */

/* Arguments of tr_entry: loaded from their slots. */
static lv *entry_args(tr_lf *w, lv slots) {
    tr_lm *m = w->m;
    const tr_fn *f = w->body->f;
    const tr_blk *entry = tr_blk_at(f, 0);
    unsigned n = 0, k = 0;
    for (uint32_t i = 0; i < entry->params.n; i++)
        n += tr_ty_nparts(tr_at(f, entry->params.d[i])->ty);
    lv *out = TR_NEW_N(&m->ctx->arena, lv, n + 1);
    tr_part *p = TR_NEW_N(&m->ctx->arena, tr_part, n + 1);
    for (uint32_t i = 0; i < entry->params.n; i++) {
        const tr_ty *t = tr_at(f, entry->params.d[i])->ty;
        tr_ty_parts(t, p);
        for (unsigned j = 0; j < tr_ty_nparts(t); j++, k++) {
            bool is_bool = p[j] == TR_PART_I1;
            out[k] = LLVMBuildLoad2(w->b, is_bool ? m->i8 : m->part[p[j]], slot_of(w, slots, k), "");
            tr_lower_tag(m, out[k], true);
            if (is_bool)
                out[k] = l_icmp(w->b, LLVMIntNE, out[k], l_int(m->i8, 0));
        }
    }
    return out;
}

static lv make_entry(tr_lm *m) {
    lt params[3] = {m->ptr, m->ptr, m->ptr};
    lv fn = LLVMAddFunction(m->mod, "tr_entry", LLVMFunctionType(m->i32, params, 3, 0));
    tr_lower_common_attrs(m, fn);
    for (unsigned i = 0; i < 3; i++)
        tr_lower_param_attr(m, fn, i, TR_LA_NOALIAS);
    tr_lower_param_attr(m, fn, 1, TR_LA_READONLY);
    return fn;
}

/* tr_entry of a function that calls itself: one call of the internal one. */
static void call_self(tr_lf *w, lv *args) {
    const tr_linst *inst = &w->m->insts[w->inst];
    unsigned n = LLVMCountParams(inst->fn), nret = tr_ty_nparts(w->body->f->ret);
    lv *all = TR_NEW_N(&w->m->ctx->arena, lv, n), *out = TR_NEW_N(&w->m->ctx->arena, lv, nret + 1);
    all[0] = w->frame;
    memcpy(all + 1, args, (n - 1) * sizeof *all);
    lv r = LLVMBuildCall2(w->b, inst->type, inst->fn, all, n, "");
    LLVMSetInstructionCallConv(r, LLVMFastCallConv);
    lv code = nret ? LLVMBuildExtractValue(w->b, r, 0, "") : r;
    lb go_on = tr_lower_unless(w, l_icmp(w->b, LLVMIntEQ, code, l_int(w->m->i32, 0)));
    tr_lower_leave(w, code);
    l_at_end(w->b, go_on);
    for (unsigned i = 0; i < nret; i++)
        out[i] = LLVMBuildExtractValue(w->b, r, i + 1, "");
    leave_with(w, nret, out);
}

bool tr_lower_inst(tr_lm *m, uint32_t inst, bool as_entry) {
    assert(inst < m->prog->insts.n && m->prog->insts.d[inst].fn);
    tr_fn *f = m->prog->insts.d[inst].fn;
    tr_lbody body = {.f = f};
    tr_lf w = {.m = m, .inst = (int32_t)inst, .body = &body};
    if (f->kind != TR_FN_HOST && !tr_lower_is_flat(m))
        return tr_fail(m->ctx, TR_ERR_LOWERING, "%s is a %s function: %s does not run those", f->name,
                       tr_fnkind_name[f->kind], m->want->target->name);
    bool late = as_entry && m->prog->is_late;
    lv *args;
    w.fn = late ? tr_lower_late_entry(m, &w, &args) : as_entry ? make_entry(m) : m->insts[inst].fn;
    w.ret_type = LLVMGetReturnType(LLVMGlobalGetValueType(w.fn));
    w.frame = LLVMGetParam(w.fn, 0);
    w.b = LLVMCreateBuilderInContext(m->lc);
    w.ab = LLVMCreateBuilderInContext(m->lc);
    if (m->dbg)
        tr_lower_debug_fn(m, w.fn, f);
    l_at_end(w.b, tr_lower_block(&w, "entry"));
    if (m->dbg)
        tr_lower_debug_at(&w, f->locs.n > 1 ? 1 : 0);
    if (as_entry && !late) {
        w.ret_slots = LLVMGetParam(w.fn, 2);
        args = entry_args(&w, LLVMGetParam(w.fn, 1));
    } else if (tr_lower_is_flat(m)) {
        args = tr_lower_flat_args(&w);
    } else if (!late) {
        unsigned n = LLVMCountParams(w.fn);
        args = TR_NEW_N(&m->ctx->arena, lv, n + 1);
        LLVMGetParams(w.fn, args);
        args++;
    }
    bool passes_on = as_entry && m->insts[inst].called;
    if (passes_on)
        call_self(&w, args);
    else
        lower_body(&w, args);
    if (!tr_lower_is_flat(m))
        tr_lower_look_for_room(&w, as_entry, !passes_on);
    LLVMDisposeBuilder(w.ab);
    LLVMDisposeBuilder(w.b);
    return !m->failed;
}
