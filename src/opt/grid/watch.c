/* Launches whose mistakes are looked for (tr_opts.watch): their code tells the runtime what
 * each thread does to memory (rt/watch.c).
 *
 * Works on kernels and on what they call, before `grid` makes loops over threads of them: there a thread's
 * place is an op, and a barrier an instruction. In front of each access of an element, and of each pattern
 * for the arrays that it goes over, stands a call with the address, kind, and place in the source; in front
 * of each barrier one that says where the thread waits. Which thread it is, is said once in each block that
 * has such a call or may raise, and again after a barrier, and a read that a branch depends on: what lies
 * between is one thread's, however loops over threads are made. Plain functions that a kernel calls run as
 * the thread that their caller named; they have no barriers.
 * Around the launch the runtime learns the sizes and the arrays, and is asked what it found; that ends the
 * call with an exception, which ext/watch.c words. Not seen: what packed and scattered arrays of patterns are
 * written at, which their rounds decide, and what functions of the runtime touch (a sort, a product, a loop
 * of another package). Memory that they may have written counts as written.
 * Without the option a kernel's arrays are named where an index leaves them, and the threads for which a
 * function of others gives a status that is an exception; nothing else is done. */
#include <string.h>

#include "opt/priv.h"
#include "opt/emit.h"
#include "rt/rt.h"

typedef struct watch {
    tr_prog *p;
    tr_fn *f;
    tr_bld b;
    const tr_ty *i64, *none;
    bool told;        /* in this block: who runs */
    uint8_t *decides; /* per value: a branch may depend on it, here or in a caller */
} watch;

static tr_arena *arena(const watch *s) {
    return &s->p->ctx->arena;
}

/* --- names and places --- */

static const char *name_of(const tr_fn *f, tr_val v) {
    return v < f->names.n && f->names.d[v] ? f->names.d[v] : NULL;
}

/* What the user calls the array: of a view without a name, what it is a view of. */
static const char *array_name(const tr_fn *f, tr_val v) {
    const char *name = name_of(f, v);
    while (!name && tr_is_view(tr_at(f, v))) {
        v = tr_at(f, v)->args[0];
        name = name_of(f, v);
    }
    return name ? name : "";
}

/* "line|column|array|function|file" of the instruction where the builder stands. */
static const char *site_text(const watch *s, const char *array) {
    tr_place p = s->f->locs.d[s->b.loc].place;
    const char *fn = p.fn ? p.fn : s->f->func < s->p->funcs.n ? s->p->funcs.d[s->f->func].name : s->f->name;
    return tr_arena_printf(arena(s), "%d|%d|%s|%s|%s", (int)p.span.line, (int)p.span.col, array, fn,
                           p.file       ? p.file
                           : s->f->file ? s->f->file
                                        : "");
}

/* --- who runs --- */

static tr_val place(watch *s, tr_op op, unsigned axis) {
    tr_val v = tr_emit0(&s->b, op, s->i64);
    tr_at(s->f, v)->imm.i = axis;
    return v;
}

/* x + n * (y + m * z), of places that fit. */
static tr_val count(watch *s, tr_op at, tr_op size) {
    tr_val n = place(s, at, 2);
    for (unsigned k = 2; k-- > 0;) {
        n = tr_emit2(&s->b, TR_OP_MUL, s->i64, n, place(s, size, k));
        n = tr_emit2(&s->b, TR_OP_ADD, s->i64, n, place(s, at, k));
    }
    return n;
}

static void tell_thread(watch *s) {
    if (s->told || s->f->is_lambda || s->f->kind == TR_FN_HOST)
        return;
    s->told = true;
    tr_val args[2];
    args[0] = count(s, TR_OP_BLOCKIDX, TR_OP_GRIDDIM);
    args[1] = count(s, TR_OP_THREADIDX, TR_OP_BLOCKDIM);
    tr_emit_rt(&s->b, TR_RT_WATCH_AT, s->none, 2, args, NULL);
}

/* `grid` may read a value for the block where a branch is the same for all threads, and
 * then its threads begin anew there. */
static void find_decisive(watch *s) {
    tr_fn *f = s->f;
    tr_u32s todo = {0};
    s->decides = TR_NEW_N(arena(s), uint8_t, f->ins.n + 1u);
    tr_cfg_compute(f);
    for (uint32_t k = 0; k < f->rpo.n; k++) {
        const tr_ins *t = tr_term(f, f->rpo.d[k]);
        for (uint32_t a = 0; a < t->nargs; a++)
            tr_vec_push(arena(s), &todo, t->args[a]);
    }
    while (todo.n) {
        tr_val v = todo.d[--todo.n];
        const tr_ins *in = tr_at(f, v);
        if (s->decides[v])
            continue;
        s->decides[v] = 1;
        for (uint32_t a = 0; a < in->nargs; a++)
            tr_vec_push(arena(s), &todo, in->args[a]);
        if (in->op == TR_OP_PARAM && in->blk)
            for (tr_way w = {0}; tr_next_way(f, in->blk, &w);)
                tr_vec_push(arena(s), &todo, w.edge->args[tr_param_index(f, v)]);
    }
}

/* --- what it touches --- */

/* The element of an array as an array without axes: where it lies. idx NULL: the first one. */
static tr_val address(watch *s, tr_val a, const tr_val *idx) {
    const tr_ty *t = tr_at(s->f, a)->ty;
    tr_val *args = TR_NEW_N(arena(s), tr_val, t->ndim + 1u);
    args[0] = a;
    for (unsigned k = 0; k < t->ndim; k++)
        args[1 + k] = idx ? idx[k] : tr_emit_int(&s->b, 0);
    const tr_ty *to = tr_ty_array_as(s->p->ctx->types, t->elem, 0, TR_LAYOUT_C, t->readonly, t->sub);
    return tr_emit_v(&s->b, TR_OP_VIEW, to, t->ndim + 1u, args);
}

static void tell_touch(watch *s, tr_val a, const tr_val *idx, int how) {
    tr_val args[3] = {address(s, a, idx), tr_emit_int(&s->b, how),
                      tr_emit_int(&s->b, tr_ty_size(tr_at(s->f, a)->ty->elem))};
    tr_emit_rt(&s->b, TR_RT_WATCH_TOUCH, s->none, 3, args, site_text(s, array_name(s->f, a)));
}

/* All of an array: its axes, then the row's own; `what` and `text` are that row's. */
static void tell_array(watch *s, tr_rt row, tr_val a, int what, const char *text) {
    const tr_ty *t = tr_at(s->f, a)->ty;
    for (unsigned k = 0; k < t->ndim; k++) {
        tr_val axis[2] = {tr_emit1(&s->b, TR_OP_DIM, s->i64, a), tr_emit1(&s->b, TR_OP_STRIDE, s->i64, a)};
        tr_at(s->f, axis[0])->imm.i = tr_at(s->f, axis[1])->imm.i = k;
        tr_emit_rt(&s->b, TR_RT_WATCH_AXIS, s->none, 2, axis, NULL);
    }
    tr_val args[3] = {address(s, a, NULL), tr_emit_int(&s->b, what), tr_emit_int(&s->b, tr_ty_size(t->elem))};
    tr_emit_rt(&s->b, row, s->none, 3, args, text);
}

static void tell_span(watch *s, tr_val a, int how) {
    tell_array(s, TR_RT_WATCH_SPAN, a, how, site_text(s, array_name(s->f, a)));
}

static void tell_pattern(watch *s, tr_val v) {
    tr_ins in = *tr_at(s->f, v);
    const tr_pat *p = in.imm.pat;
    for (unsigned how = TR_MEM_READ; how <= TR_MEM_WRITE; how++)
        for (uint32_t k = 0; k < in.nargs; k++) {
            tr_role role = tr_pat_role(p, k);
            if (role != P_PACK && tr_role_info[role].memory == how)
                tell_span(s, in.args[k], how == TR_MEM_READ ? TR_TOUCH_READ : TR_TOUCH_WRITE);
        }
}

/* Arrays that the instruction may have written to, nobody says where. */
static void tell_unseen(watch *s, const tr_ins *in) {
    s->b.before = in->next;
    for (uint32_t k = 0; k < in->nargs; k++) {
        const tr_ty *t = tr_at(s->f, in->args[k])->ty;
        bool told = in->op == TR_OP_PATTERN && tr_pat_role(in->imm.pat, k) != P_PACK &&
                    tr_pat_role(in->imm.pat, k) != P_SCAT;
        if (t->kind == TR_TY_ARRAY && !t->readonly && !told)
            tell_span(s, in->args[k], TR_TOUCH_UNSEEN);
    }
}

/* Memory that is new: to the block, or to the thread. */
static void tell_new(watch *s, tr_val v) {
    tr_op op = (tr_op)tr_at(s->f, v)->op;
    tell_thread(s);
    tell_array(s, TR_RT_WATCH_ARRAY, v,
               op == TR_OP_SHARED || op == TR_OP_DYNSHARED ? TR_WATCHED_SHARED : TR_WATCHED_MADE,
               array_name(s->f, v));
}

/* --- one instruction --- */

/* The array that the check is for: its size is the second operand, or the first access with
 * the index is of it. */
static const char *checked_array(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v), *size = tr_at(f, in->args[1]);
    if (size->op == TR_OP_DIM)
        return array_name(f, size->args[0]);
    for (tr_val u = in->next; u != TR_NOVAL; u = tr_at(f, u)->next) {
        const tr_ins *at = tr_at(f, u);
        bool indexed = at->op == TR_OP_LOAD || at->op == TR_OP_STORE || at->op == TR_OP_ATOMIC ||
                       at->op == TR_OP_CAS || at->op == TR_OP_VIEW;
        for (uint32_t k = 1; indexed && k < at->nargs; k++)
            if (at->args[k] == in->args[0])
                return array_name(f, at->args[0]);
    }
    return "";
}

/* Tells it, and in kernels that are not watched how to learn more. */
static void name_array(watch *s, tr_val v) {
    const char *name = checked_array(s->f, v);
    tr_site *site = TR_NEW(arena(s), tr_site);
    *site = *tr_at(s->f, v)->imm.site;
    if (!*name || !site->text)
        return;
    site->text = tr_arena_printf(
        arena(s), "%s: array %s%s", site->text, name,
        s->p->ctx->opts.watch ? "" : "; with @cuda.jit(debug=True) the block and the thread are told");
    tr_at(s->f, v)->imm.site = site;
}

static void look_at(watch *s, tr_val v) {
    tr_ins in = *tr_at(s->f, v);
    unsigned memory = TR_WATCH_RACE | TR_WATCH_UNINIT;
    bool touches = s->p->ctx->opts.watch & memory, unseen = s->p->ctx->opts.watch & TR_WATCH_UNINIT;
    s->b = (tr_bld){s->f, in.blk, v, in.loc};
    if (in.op == TR_OP_CATCH) /* comes first in its block */
        return;
    if (tr_ins_raises(&in) || tr_op_meets(in.op) || (touches && tr_ins_effects(&in) & (E_READ | E_WRITE)))
        tell_thread(s);
    switch ((tr_op)in.op) {
    case TR_OP_CHECKIDX: name_array(s, v); break;
    case TR_OP_BARRIER:
    case TR_OP_BARVOTE: tr_emit_rt(&s->b, TR_RT_WATCH_BARRIER, s->none, 0, NULL, site_text(s, "")); break;
    case TR_OP_FENCE: tr_emit_rt(&s->b, TR_RT_WATCH_FENCE, s->none, 0, NULL, NULL); break;
    case TR_OP_SYNCWARP: {
        tr_val mask = tr_emit1(&s->b, TR_OP_CONV, s->i64, in.args[0]);
        tr_emit_rt(&s->b, TR_RT_WATCH_WARP, s->none, 1, &mask, NULL);
        break;
    }
    case TR_OP_LOAD:
        if (touches)
            tell_touch(s, in.args[0], in.args + 1, TR_TOUCH_READ);
        break;
    case TR_OP_STORE:
        if (touches)
            tell_touch(s, in.args[0], in.args + 1, TR_TOUCH_WRITE);
        break;
    case TR_OP_ATOMIC:
    case TR_OP_CAS:
        if (touches)
            tell_touch(s, in.args[0], in.args + 1,
                       in.op == TR_OP_ATOMIC && in.sub == TR_ATOMIC_XCHG ? TR_TOUCH_EXCH : TR_TOUCH_ATOMIC);
        break;
    case TR_OP_CALL: s->told = false; break; /* it may wait at barriers */
    case TR_OP_PATTERN:
        if (touches)
            tell_pattern(s, v);
        if (unseen)
            tell_unseen(s, &in);
        break;
    case TR_OP_CALLRT:
        if (unseen && tr_ins_effects(&in) & E_WRITE)
            tell_unseen(s, &in);
        break;
    case TR_OP_SHARED:
    case TR_OP_DYNSHARED:
    case TR_OP_LOCAL:
    case TR_OP_ALLOC:
        s->b.before = in.next;
        if (touches)
            tell_new(s, v);
        break;
    default: break;
    }
    s->told &= tr_op_meets(in.op) == TR_MEETING_NONE && !(in.op == TR_OP_LOAD && s->decides[v]);
}

/* --- the launch --- */

static void tell_launch(watch *s, tr_val v) {
    tr_ins in = *tr_at(s->f, v);
    const tr_fn *kernel = s->p->insts.d[in.imm.fn].fn;
    const tr_func *func = kernel->func < s->p->funcs.n ? &s->p->funcs.d[kernel->func] : NULL;
    s->b = (tr_bld){s->f, in.blk, v, in.loc};
    tr_val args[7] = {tr_emit_int(&s->b, s->p->ctx->opts.watch)};
    memcpy(args + 1, in.args, 6 * sizeof *args);
    tr_emit_rt(&s->b, TR_RT_WATCH_BEGIN, s->none, 7, args,
               tr_arena_printf(arena(s), "%d|%s|%s", func && func->code ? (int)func->code->firstline : 0,
                               func ? func->name : kernel->name, kernel->file ? kernel->file : ""));
    for (uint32_t k = TR_LAUNCH_SIZES; k < in.nargs; k++)
        if (tr_at(s->f, in.args[k])->ty->kind == TR_TY_ARRAY)
            tell_array(s, TR_RT_WATCH_ARRAY, in.args[k], TR_WATCHED_GIVEN,
                       array_name(kernel, tr_blk_at(kernel, 0)->params.d[k - TR_LAUNCH_SIZES]));
    s->b.before = in.next;
    tr_val found = tr_emit_rt(&s->b, TR_RT_WATCH_END, s->i64, 0, NULL, NULL);
    tr_val none = tr_emit_cmp(&s->b, TR_CMP_EQ, found, tr_emit_int(&s->b, 0));
    tr_site *site = TR_NEW(arena(s), tr_site);
    *site = (tr_site){TR_EXC_RUNTIME, "there is no memory to watch the launch", -1, NULL};
    tr_val check = tr_emit1(&s->b, TR_OP_CHECK, NULL, none);
    tr_at(s->f, check)->imm.site = site;
}

static bool is_kernel_launch(const watch *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    return in->op == TR_OP_CALL && s->p->insts.d[in->imm.fn].fn->kind == TR_FN_KERNEL;
}

/* --- who called a function of others --- */

/* It asks whether a function of others has given the status 0. */
static bool asks_status(const tr_fn *f, const tr_ins *in) {
    const tr_ins *x = in->op == TR_OP_CHECK ? tr_at(f, in->args[0]) : NULL;
    if (!x || x->op != TR_OP_CMP)
        return false;
    x = tr_at(f, x->args[0]);
    x = x->op == TR_OP_EXTRACT ? tr_at(f, x->args[0]) : x;
    return x->op == TR_OP_CALLX && tr_abi_x_numba(x->sub) && in->nargs == 2 && in->imm.site->text;
}

/* A status that is an exception is told with the thread, in what only threads run. */
static bool name_threads(watch *s) {
    tr_fn *f = s->f;
    bool changed = false;
    uint32_t n = f->kind == TR_FN_HOST ? 0 : f->ins.n;
    for (tr_val v = 0; v < n; v++) {
        tr_ins in = *tr_at(f, v);
        if (in.blk == TR_NOBLK || in.op == TR_OP_PARAM || !asks_status(f, &in))
            continue;
        s->b = (tr_bld){f, in.blk, v, in.loc};
        tr_val *args = TR_NEW_N(arena(s), tr_val, in.nargs + 6);
        memcpy(args, in.args, in.nargs * sizeof *args);
        for (uint32_t k = 0; k < 6; k++) {
            args[in.nargs + k] = tr_emit0(&s->b, k < 3 ? TR_OP_THREADIDX : TR_OP_BLOCKIDX, s->i64);
            tr_at(f, args[in.nargs + k])->imm.i = k % 3;
        }
        tr_site *site = TR_NEW(arena(s), tr_site);
        *site = *in.imm.site;
        site->text =
            tr_arena_printf(arena(s), "%s in thread ({1}, {2}, {3}) of block ({4}, {5}, {6})", site->text);
        tr_at(f, v)->args = args;
        tr_at(f, v)->nargs = in.nargs + 6;
        tr_at(f, v)->imm.site = site;
        changed = true;
    }
    return changed;
}

static bool is_of_launch(const tr_prog *p) {
    for (uint32_t i = 0; i < p->insts.n; i++)
        if (p->insts.d[i].fn && p->insts.d[i].fn->kind == TR_FN_KERNEL)
            return true;
    return false;
}

static bool name_arrays(watch *s) {
    const tr_fn *f = s->f;
    bool changed = false, some = is_of_launch(s->p);
    for (tr_val v = 0; some && v < f->ins.n; v++)
        if (tr_at(f, v)->op == TR_OP_CHECKIDX && tr_at(f, v)->blk != TR_NOBLK) {
            name_array(s, v);
            changed = true;
        }
    return changed;
}

bool tr_opt_watch(tr_prog *p, tr_fn *f) {
    bool changed = false, root = p->root < p->insts.n && p->insts.d[p->root].fn == f;
    watch s = {.p = p, .f = f};
    s.i64 = tr_ty_scalar(p->ctx->types, TR_TY_I64);
    changed = name_threads(&s);
    if (!p->ctx->opts.watch)
        return name_arrays(&s) || changed;
    s.none = tr_ty_none(p->ctx->types);
    find_decisive(&s);
    tr_bid n = f->blks.n;
    for (tr_bid b = 0; b < n; b++) {
        s.told = false;
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first, next; v != TR_NOVAL;
             v = next) {
            next = tr_at(f, v)->next;
            if (!root)
                look_at(&s, v);
            else if (is_kernel_launch(&s, v))
                tell_launch(&s, v);
            changed = true;
        }
    }
    return changed;
}
