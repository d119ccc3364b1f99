/* Launches, and which functions run on a device.
 *
 * A launch is a call of a kernel whose first operands are the sizes of the grid and of a block, x first, and
 * the bytes of dynamic shared memory. What is launched becomes a kernel; what asks for its place in a block,
 * or calls what does, is a device's function, and no host's may be. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"
#include "ir/nyi.h"

/* An error at the kernel's own line; what launches it is not the user's. */
static bool returns_something(tr_em *e, const tr_func *fn, const char *what) {
    tr_place place = e->place;
    int32_t line = fn->code ? (int32_t)fn->code->firstline : 0;
    e->place = (tr_place){fn->file, fn->name, {line, -1, line, -1}};
    tr_em_error(e, "a kernel returns nothing, and %s() returns %s", fn->name, what);
    e->place = place;
    tr_err *err = e->dry ? NULL : e->ctx->last_err;
    if (!err)
        return false;
    err->where = fn->name;
    tr_em_hint(e, "store the result into an array that is an argument");
    tr_err_note(e->ctx, err, (tr_span){0, -1, 0, -1},
                "it is launched by the host, and no thread of it has anybody to return to");
    return false;
}

static bool kernel_takes_argument(tr_em *e, uint32_t k, const tr_ty *t) {
    return tr_ty_is_launchable(t) ||
           tr_em_error(e, "a kernel takes numbers, arrays and tuples of them, and argument %u is %s", k + 1,
                       tr_em_tyname(e, t));
}

bool tr_infer_launch(tr_em *e, tr_tv kernel, const tr_tv *sizes, const tr_args *args, tr_tv *out) {
    infer *f = e->infer;
    const tr_obj *o = kernel.ty->kind == TR_TY_LIT ? kernel.ty->lit : NULL;
    if (!o || o->kind != TR_OBJ_FUNC)
        return tr_em_error(e, "%s is no kernel", tr_em_tyname(e, kernel.ty));
    const tr_func *fn = &f->p->funcs.d[o->u.func];
    for (uint32_t k = 0; k < args->n; k++) {
        const tr_ty *t = tr_ty_strong(e->types, tr_em_strong(e, args->v[k]).ty);
        if (!kernel_takes_argument(e, k, t))
            return false;
    }
    if (!tr_infer_call(e, kernel, args, out))
        return false;
    if (out->ty && out->ty->kind != TR_TY_NONE && !tr_tv_is_none(*out)) {
        const char *what = tr_em_tyname(e, out->ty);
        return returns_something(e, fn, what);
    }
    if (!out->ty) /* the kernel has errors of its own */
        return true;
    *out = tr_em_none(e);
    if (e->dry)
        return true;
    if (fn->varargs)
        return tr_em_error(e, "a kernel takes a fixed number of arguments, and %s() has *args", fn->name);
    tr_val last = tr_blk_at(e->b.fn, e->b.blk)->last;
    tr_ins *call = tr_at(e->b.fn, last);
    assert(call->op == TR_OP_CALL && "what has a type was called");
    tr_val *v = TR_NEW_N(&e->ctx->arena, tr_val, call->nargs + TR_LAUNCH_SIZES);
    for (uint32_t k = 0; k < TR_LAUNCH_SIZES; k++)
        v[k] = sizes[k].v;
    memcpy(v + TR_LAUNCH_SIZES, call->args, call->nargs * sizeof *v);
    call->args = v;
    call->nargs += TR_LAUNCH_SIZES;
    f->st.d[call->imm.fn].launched = true;
    return true;
}

/* --- kinds --- */

static bool asks_for_place(const tr_prog *p, const tr_ins *in) {
    const tr_fn *to = in->op == TR_OP_CALL ? p->insts.d[in->imm.fn].fn : NULL;
    return tr_op_is_device(in->op) || in->op == TR_OP_ARRAYAT || (to && to->kind == TR_FN_DEVICE);
}

/* What is launched is also called: it reaches itself. */
static bool calls_kernel(const tr_prog *p, const tr_ins *in) {
    const tr_inst *to = in->op == TR_OP_CALL ? &p->insts.d[in->imm.fn] : NULL;
    return to && to->fn && to->fn->kind == TR_FN_KERNEL && in->nargs == to->nargs;
}

/* The first instruction of a function, its patterns' included, that is such a one. */
static const tr_ins *find(const tr_prog *p, const tr_fn *f, bool (*is)(const tr_prog *p, const tr_ins *in)) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v), *inner;
            if (is(p, in))
                return in;
            for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
                if ((inner = find(p, tr_pat_any(in->imm.pat, k), is)))
                    return inner;
        }
    return NULL;
}

/* The host asks for its place in a block. */
static bool report_host(infer *f, const tr_fn *fn, const tr_ins *in) {
    tr_place place = fn->locs.d[in->loc].place;
    if (in->op == TR_OP_ARRAYAT) {
        tr_err *err = tr_err_add(f->ctx, TR_ERR_TYPING, place,
                                 "an array of the device that is a global, or a variable of an enclosing "
                                 "function, is for kernels and functions that they call");
        if (err)
            err->hint = "hand its values over as an argument: a.copy_to_host()";
        return false;
    }
    tr_err *err =
        tr_err_add(f->ctx, TR_ERR_TYPING, place,
                   "this is for kernels and functions that they call: there are no threads of a block here");
    if (err)
        err->hint = "decorate the function with cuda.jit, and launch it: f[blocks, threads](...)";
    return false;
}

static bool holds_array(const tr_ty *t) {
    bool yes = t && t->kind == TR_TY_ARRAY;
    for (uint32_t k = 0; t && tr_ty_is_items(t) && !yes && k < t->n; k++)
        yes = holds_array(t->items[k]);
    return yes;
}

/* A local array ends with the call that made it, so a function that has one returns no arrays: which
 * one it would be is known when it runs. */
static bool keeps_locals(infer *f, const tr_fn *fn) {
    for (tr_val v = fn->kind == TR_FN_DEVICE && holds_array(fn->ret) ? tr_blk_at(fn, 0)->first : TR_NOVAL;
         v != TR_NOVAL; v = tr_at(fn, v)->next)
        if (tr_at(fn, v)->op == TR_OP_LOCAL) {
            tr_err *err =
                tr_err_add(f->ctx, TR_ERR_TYPING, fn->locs.d[tr_at(fn, v)->loc].place,
                           "a function with a local array cannot return an array: it may be this one, "
                           "which ends with the call");
            if (err)
                err->hint = "make the array in the kernel, and pass it in";
            return false;
        }
    return true;
}

/* A root that is a kernel takes and returns what a launched one does. */
static bool check_root(infer *f, tr_em *e, uint32_t root) {
    tr_inst *inst = &f->p->insts.d[root];
    const tr_func *fn = &f->p->funcs.d[inst->func];
    const tr_ty *ret = f->st.d[root].ret;
    if (fn->varargs)
        return tr_em_error(e, "a kernel takes a fixed number of arguments, and %s() has *args", fn->name);
    for (uint32_t k = 0; k < inst->nargs; k++)
        if (!kernel_takes_argument(e, k, inst->args[k]))
            return false;
    return !ret || ret->kind == TR_TY_NONE || (ret->kind == TR_TY_LIT && ret->lit->kind == TR_OBJ_NONE) ||
           returns_something(e, fn, tr_em_tyname(e, ret));
}

static bool is_of_lists(const tr_prog *p, const tr_ins *in) {
    (void)p;
    return in->op == TR_OP_NEWLIST || in->op == TR_OP_NEWSET || in->op == TR_OP_TAKE;
}

static void reach(const tr_prog *p, const tr_fn *f, uint8_t *reached, tr_u32s *work) {
    for (tr_val v = 0; v < f->ins.n; v++) {
        const tr_ins *in = tr_at(f, v);
        if (in->blk == TR_NOBLK)
            continue;
        for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
            reach(p, tr_pat_any(in->imm.pat, k), reached, work);
        if (in->op == TR_OP_CALL && !reached[in->imm.fn] && p->insts.d[in->imm.fn].fn) {
            reached[in->imm.fn] = 1;
            tr_vec_push(&f->ctx->arena, work, in->imm.fn);
        }
    }
}

/* No kernel makes lists or has one that is a constant, and nothing that one calls does. */
static bool no_lists_on_devices(infer *f) {
    const tr_prog *p = f->p;
    uint8_t *reached = TR_NEW_N(&f->ctx->arena, uint8_t, p->insts.n + 1u);
    tr_u32s work = {0};
    for (uint32_t i = 0; i < p->insts.n; i++)
        if (p->insts.d[i].fn && p->insts.d[i].fn->kind != TR_FN_HOST) {
            reached[i] = 1;
            tr_vec_push(&f->ctx->arena, &work, i);
        }
    for (uint32_t i = 0; i < work.n; i++) {
        const tr_fn *fn = p->insts.d[work.d[i]].fn;
        const tr_ins *in = find(p, fn, is_of_lists);
        if (in) {
            tr_err *err = tr_err_add(f->ctx, TR_ERR_UNSUPPORTED, fn->locs.d[in->loc].place,
                                     "Treadle does not compile lists in kernels and what they call");
            err->nyi = tr_nyi_rows[TR_NYI_LIST_KERNEL].id;
            err->hint = tr_nyi_rows[TR_NYI_LIST_KERNEL].text;
            return false;
        }
        reach(p, fn, reached, &work);
    }
    return true;
}

bool tr_infer_kinds(infer *f, tr_em *e, uint32_t root) {
    tr_prog *p = f->p;
    if (p->root_kind == TR_FN_KERNEL && !check_root(f, e, root))
        return false;
    if (p->insts.d[root].fn)
        p->insts.d[root].fn->kind = p->root_kind;
    for (uint32_t i = 0; i < p->insts.n; i++)
        if (p->insts.d[i].fn && f->st.d[i].launched)
            p->insts.d[i].fn->kind = TR_FN_KERNEL;
    for (uint32_t i = 0; i < p->insts.n; i++) {
        const tr_fn *fn = p->insts.d[i].fn;
        const tr_ins *in = fn ? find(p, fn, calls_kernel) : NULL;
        if (in) {
            tr_err_add(f->ctx, TR_ERR_TYPING, fn->locs.d[in->loc].place,
                       "a kernel cannot call itself, by way of other functions either");
            return false;
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < p->insts.n; i++) {
            tr_fn *fn = p->insts.d[i].fn;
            const tr_ins *in = fn && fn->kind == TR_FN_HOST ? find(p, fn, asks_for_place) : NULL;
            if (!in)
                continue;
            if (i == root)
                return report_host(f, fn, in);
            fn->kind = TR_FN_DEVICE;
            changed = true;
        }
    }
    for (uint32_t i = 0; i < p->insts.n; i++)
        if (p->insts.d[i].fn && !keeps_locals(f, p->insts.d[i].fn))
            return false;
    return no_lists_on_devices(f);
}
