/* Launches of kernels on the host: the grid becomes a pattern whose rounds are blocks, with
 * loops over the threads of one inside.
 *
 * Without a barrier the kernel's body stands in the innermost loop. With barriers the body is cut at them
 * (loop fission): what lies between is a piece with loops over the threads of its own. Where all threads come
 * to the same barriers in the same order, which uniformity tells (uniform.c), the block goes from piece to
 * piece by branches of its own (level.c). Elsewhere it asks after each piece where its threads have come
 * to (rounds.c, continuation-based synchronisation as in pocl): any control flow is right, and threads
 * at two barriers are an error that names both. What a thread has in one piece and uses in another lies in
 * arrays over the threads (cross.c). A kernel's device functions are put in place of their calls first:
 * whatever asks for a thread's place must stand in the loops.
 * Blocks may run on all cores: they meet in memory only as a kernel's blocks do, by atomics, or the result is
 * open on any device. So may threads between two barriers run in any order.
 * Cost: a copy of the body for each piece that reaches it; loads and stores of what crosses a barrier. */
#include "opt/grid/grid.h"
#include "opt/emit.h"

#include <assert.h>
#include <string.h>

#include "opt/priv.h"

/* --- the kernel's body --- */

/* Where threads wait for each other first, or NOVAL: nowhere. */
static tr_val find_meeting(const tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            if (tr_op_meets(tr_at(f, v)->op) != TR_MEETING_NONE)
                return v;
    return TR_NOVAL;
}

static bool has_meetings(const tr_fn *f) {
    return find_meeting(f) != TR_NOVAL;
}

/* Do threads wait for all of the grid? */
static void find_stages(tr_grid *s) {
    s->stages = false;
    for (tr_bid b = 0; b < s->g->blks.n; b++)
        for (tr_val v = tr_blk_at(s->g, b)->dead ? TR_NOVAL : tr_blk_at(s->g, b)->first; v != TR_NOVAL;
             v = tr_at(s->g, v)->next) {
            if (tr_op_meets(tr_at(s->g, v)->op) != TR_MEETING_GRID)
                continue;
            s->stages = true;
        }
}

/* A pattern's functions are others' loops: no thread's place is known there. */
static bool asks_in_patterns(const tr_fn *f, bool inside) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (inside && tr_op_is_device(in->op))
                return true;
            for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
                if (asks_in_patterns(tr_pat_any(in->imm.pat, k), true))
                    return true;
        }
    return false;
}

/* Sizes of the launch that are constants, and places along axes of one thread. Where blocks may be run as
 * one, their length along x is none. */
static void put_constants(tr_grid *s) {
    tr_fn *g = s->g;
    bool wide = !tr_grid_seed(s) && tr_grid_may_widen(s);
    tr_repl r = tr_repl_new(g);
    for (tr_bid b = 0; b < g->blks.n; b++)
        for (tr_val v = tr_blk_at(g, b)->dead ? TR_NOVAL : tr_blk_at(g, b)->first, next; v != TR_NOVAL;
             v = next) {
            const tr_ins *in = tr_at(g, v);
            next = in->next;
            bool at = in->op == TR_OP_THREADIDX || in->op == TR_OP_BLOCKIDX;
            if (!at && in->op != TR_OP_BLOCKDIM && in->op != TR_OP_GRIDDIM)
                continue;
            bool block = in->op == TR_OP_THREADIDX || in->op == TR_OP_BLOCKDIM;
            int64_t n;
            tr_val size = tr_at(s->f, s->call)->args[(block ? TR_AXES : 0) + in->imm.i];
            if (wide && block && in->imm.i == TR_AXIS_X)
                continue;
            if (!tr_get_int(s->f, size, &n) || (at && n != 1))
                continue;
            tr_repl_set(g, &r, v, tr_const_int(g, s->i64, at ? 0 : n));
            tr_ins_remove(g, v);
        }
    tr_repl_apply(g, &r);
}

/* A product of sizes is no 0: that of a range's step needs no test. */
static void drop_tests(tr_grid *s) {
    tr_fn *g = s->g;
    for (tr_bid b = 0; b < g->blks.n; b++)
        for (tr_val v = tr_blk_at(g, b)->dead ? TR_NOVAL : tr_blk_at(g, b)->first, next; v != TR_NOVAL;
             v = next) {
            const tr_ins *in = tr_at(g, v);
            const tr_ins *c = in->op == TR_OP_CHECK ? tr_at(g, in->args[0]) : NULL;
            next = in->next;
            if (c && c->op == TR_OP_CMP && c->sub == TR_CMP_NE && tr_is_int(g, c->args[1], 0) &&
                tr_grid_is_count(g, c->args[0], 4))
                tr_ins_remove(g, v);
        }
}

/* Functions that the kernel calls are put in place of the calls, as later in any case: what they do decides
 * how its loops are run. Not where a `try` would come in, which cannot stand beside a barrier. */
static void inline_others(tr_grid *s) {
    tr_fn *whole = tr_fn_clone(s->g);
    tr_cfg_compute(whole);
    if (tr_opt_inline(s->p, whole) && (tr_fn_handles(s->g) || !tr_fn_handles(whole)))
        s->g = whole;
}

static bool take_body(tr_grid *s) {
    const tr_fn *kernel = s->p->insts.d[tr_at(s->f, s->call)->imm.fn].fn;
    s->g = tr_fn_clone(kernel);
    if (!tr_opt_inline_devices(s->p, s->g))
        return tr_grid_fail(s, TR_NOVAL, "a device function that calls itself cannot run in a kernel");
    if (asks_in_patterns(s->g, false))
        return tr_grid_fail(s, TR_NOVAL,
                            "a function that is applied to the items of an array cannot ask for its thread");
    if (has_meetings(s->g))
        inline_others(s);
    put_constants(s);
    drop_tests(s);
    if (has_meetings(s->g))
        tr_grid_take_tuples_apart(s);
    tr_simplify_cfg(s->g);
    find_stages(s);
    return true;
}

/* --- the block, and the pattern over them --- */

/* Sizes of memory of the kernel's: constants. */
static uint32_t sizes_of(const tr_grid *s, tr_val v, tr_val *sizes) {
    const tr_ins *in = tr_at(s->g, v);
    for (uint32_t k = 0; k < in->nargs; k++)
        sizes[k] = tr_const_import(s->lam, tr_at(s->g, in->args[k]));
    return in->nargs;
}

/* The block's bytes of dynamic shared memory as items of another type. */
static tr_val dynamic(tr_grid *s, tr_val *bytes, const tr_ty *t) {
    if (*bytes == TR_NOVAL)
        *bytes = tr_grid_room(s, tr_ty_scalar(s->p->ctx->types, TR_TY_U8), 1, &s->caps[6]);
    tr_val args[3] = {*bytes, tr_emit_int(&s->b, 0), TR_NOVAL};
    args[2] = tr_emit2(&s->b, TR_OP_QUOT, s->i64, s->caps[6], tr_emit_int(&s->b, tr_ty_size(t->elem)));
    return tr_emit_v(&s->b, TR_OP_RESTRIDE, t, 3, args);
}

/* `n` bytes from a multiple of `align` on, of a room of bytes with these sizes, which has `align` more: sizes
 * are constants and the number of threads, as of all rooms. */
static tr_val aligned_bytes(tr_grid *s, uint32_t nsizes, const tr_val *sizes, tr_val n, int64_t align) {
    const tr_ty *t =
        tr_ty_array(s->p->ctx->types, tr_ty_scalar(s->p->ctx->types, TR_TY_U8), 1, TR_LAYOUT_C, false);
    tr_val room = tr_grid_room(s, t->elem, nsizes, sizes), by = tr_emit_int(&s->b, align),
           all[3] = {room, tr_emit_int(&s->b, 0), tr_grid_op(s, TR_OP_ADD, n, by)},
           line = tr_emit_v(&s->b, TR_OP_RESTRIDE, t, 3, all), args[2] = {line, by},
           part[3] = {line, tr_emit_rt(&s->b, TR_RT_ALIGN, s->i64, 2, args, NULL), n};
    return tr_emit_v(&s->b, TR_OP_RESTRIDE, t, 3, part);
}

static int64_t bytes_of(const tr_fn *g, const tr_ins *made) {
    int64_t bytes = tr_ty_size(made->ty->elem), n = 1;
    for (uint32_t k = 0; k < made->nargs; k++) {
        tr_get_int(g, made->args[k], &n); /* a constant: verify_ops.c */
        bytes *= n;
    }
    return bytes;
}

/* A thread's bytes of local memory that begins at multiples of some number, with those up to the next. */
static int64_t padded_bytes(const tr_fn *g, const tr_ins *made) {
    int64_t align = tr_align_of(made);
    return (bytes_of(g, made) + align - 1) / align * align;
}

/* Memory of the block's, or of the one thread's that runs. */
static tr_val storage(tr_grid *s, tr_val v) {
    const tr_ins *in = tr_at(s->g, v);
    tr_val args[TR_MAX_NDIM + 2];
    uint32_t n = sizes_of(s, v, args + 2);
    if (!in->sub)
        return tr_grid_room(s, in->ty->elem, n, args + 2);
    int64_t bytes = bytes_of(s->g, in);
    tr_val room = tr_emit_int(&s->b, bytes + tr_align_of(in));
    args[0] = aligned_bytes(s, 1, &room, tr_emit_int(&s->b, bytes), tr_align_of(in));
    args[1] = tr_emit_int(&s->b, 0);
    return tr_emit_v(&s->b, TR_OP_RESTRIDE, in->ty, 2 + n, args);
}

/* A param that the body got: an array over the threads, one cell, or local memory of each thread. */
static tr_val home_of(tr_grid *s, tr_val v) {
    const tr_ty *elem = tr_at(s->g, v)->ty->elem;
    tr_val sizes[TR_MAX_NDIM + 1] = {s->threads};
    for (uint32_t c = 0; c < s->cells.n; c++)
        if (s->cells.d[c] == v)
            sizes[0] = tr_emit_int(&s->b, 1);
    for (uint32_t k = 0; k < s->locals.n; k++)
        if (s->locals.d[k].home == v && tr_at(s->g, s->locals.d[k].made)->sub) {
            const tr_ins *made = tr_at(s->g, s->locals.d[k].made);
            int64_t each = padded_bytes(s->g, made);
            sizes[1] = tr_emit_int(&s->b, each + tr_align_of(made));
            return aligned_bytes(s, 2, sizes, tr_grid_op(s, TR_OP_MUL, s->threads, tr_emit_int(&s->b, each)),
                                 tr_align_of(made));
        } else if (s->locals.d[k].home == v)
            return tr_grid_room(s, elem, 1 + sizes_of(s, s->locals.d[k].made, sizes + 1), sizes);
    return tr_grid_room(s, elem, 1, sizes);
}

/* What the body finds of its own: the kernel's arguments, what lies in memory of the block's. */
static tr_val *known_values(tr_grid *s, uint32_t nargs) {
    tr_fn *g = s->g;
    tr_val *known = TR_NEW_N(tr_grid_arena(s), tr_val, g->ins.n + 1u), bytes = TR_NOVAL;
    memset(known, 0xff, g->ins.n * sizeof *known);
    const tr_blk *entry = tr_blk_at(g, 0);
    for (uint32_t k = 0; k < entry->params.n; k++)
        if (entry->params.d[k] != s->wide.span)
            known[entry->params.d[k]] =
                k < nargs ? s->caps[TR_LAUNCH_SIZES + k] : home_of(s, entry->params.d[k]);
    if (s->wide.yes)
        tr_grid_wide_known(s, known);
    for (tr_bid b = 0; b < g->blks.n; b++)
        for (tr_val v = tr_blk_at(g, b)->dead ? TR_NOVAL : tr_blk_at(g, b)->first, next; v != TR_NOVAL;
             v = next) {
            const tr_ins *in = tr_at(g, v);
            next = in->next;
            s->in_turn = s->in_turn || in->op == TR_OP_LOCAL;
            if (in->op == TR_OP_SHARED || in->op == TR_OP_LOCAL)
                known[v] = storage(s, v);
            else if (in->op == TR_OP_DYNSHARED)
                known[v] = dynamic(s, &bytes, in->ty);
            else
                continue;
            tr_ins_remove(g, v);
        }
    return known;
}

/* The same as share_locals for local memory that begins at multiples of some number: bytes, as many for each
 * thread. */
static void share_aligned(tr_grid *s, tr_bld *at, tr_val v, tr_repl *r) {
    tr_fn *g = s->g;
    tr_ins in = *tr_at(g, v);
    const tr_ty *t =
        tr_ty_array(s->p->ctx->types, tr_ty_scalar(s->p->ctx->types, TR_TY_U8), 1, TR_LAYOUT_C, false);
    tr_val home = tr_blk_param(g, 0, t, NULL), me = tr_grid_my_number(s, at), args[TR_MAX_NDIM + 2] = {home};
    args[1] = tr_emit2(at, TR_OP_MUL, s->i64, me, tr_emit_int(at, padded_bytes(g, &in)));
    args[2] = tr_emit_int(at, bytes_of(g, &in));
    args[0] = tr_emit_v(at, TR_OP_RESTRIDE, t, 3, args);
    args[1] = tr_emit_int(at, 0);
    for (uint32_t k = 0; k < in.nargs; k++)
        args[2 + k] = in.args[k];
    tr_repl_set(g, r, v, tr_emit_v(at, TR_OP_RESTRIDE, in.ty, 2u + in.nargs, args));
    tr_vec_push(tr_grid_arena(s), &s->locals, ((tr_local){home, v}));
    tr_ins_remove(g, v);
}

/* Local memory in a kernel whose threads wait for each other: a part of an array over the threads, looked at
 * anew in each piece. Elsewhere one thread after the other has the same. */
static void share_locals(tr_grid *s) {
    tr_fn *g = s->g;
    tr_repl r = tr_repl_new(g);
    for (tr_bid b = 0; b < g->blks.n; b++)
        for (tr_val v = tr_blk_at(g, b)->dead ? TR_NOVAL : tr_blk_at(g, b)->first, next; v != TR_NOVAL;
             v = next) {
            tr_ins in = *tr_at(g, v);
            next = in.next;
            if (in.op != TR_OP_LOCAL)
                continue;
            tr_bld at = {.fn = g, .blk = b, .before = v, .loc = in.loc};
            if (in.sub) {
                share_aligned(s, &at, v, &r);
                continue;
            }
            const tr_ty *t = tr_ty_array(s->p->ctx->types, in.ty->elem, in.ty->ndim + 1u, TR_LAYOUT_C, false);
            tr_val home = tr_blk_param(g, 0, t, NULL), args[3 * TR_MAX_NDIM + 2] = {home};
            args[1] = tr_grid_my_number(s, &at);
            uint32_t n = in.ty->ndim;
            int64_t along = 0;
            for (uint32_t k = 0; k < n; k++) {
                args[2 + k] = tr_const_int(g, s->i64, 0);
                args[2 + n + k] = in.args[k];
                args[2 + 2 * n + k] = tr_const_int(g, s->i64, 1);
                along |= tr_view_along(k, (int)k + 1);
            }
            tr_val view = tr_emit_v(&at, TR_OP_VIEW, in.ty, 2 + 3 * n, args);
            tr_at(g, view)->imm.i = along;
            tr_repl_set(g, &r, v, view);
            tr_vec_push(tr_grid_arena(s), &s->locals, ((tr_local){home, v}));
            tr_ins_remove(g, v);
        }
    tr_repl_apply(g, &r);
}

static void make_block(tr_grid *s, tr_level *level) {
    const tr_ins *call = tr_at(s->f, s->call);
    uint32_t n = call->nargs;
    s->lam = tr_fn_new(s->p->ctx, s->f->name, S_T);
    s->lam->is_lambda = true;
    s->lam->file = s->f->file;
    s->lam->func = s->f->func;
    s->b = (tr_bld){s->lam, tr_blk_new(s->lam), TR_NOVAL, 0};
    s->loc = tr_loc_add(s->lam, s->f->locs.d[call->loc].place, 0);
    s->b.loc = s->loc;
    tr_val index = tr_blk_param(s->lam, 0, s->i64, NULL);
    s->caps = TR_NEW_N(tr_grid_arena(s), tr_val, n + 1u);
    for (uint32_t k = 0; k < n; k++)
        s->caps[k] = tr_blk_param(s->lam, 0, tr_at(s->f, call->args[k])->ty, NULL);
    /* what everybody knows of sizes, said so that tests of what is made of them are not needed */
    for (uint32_t k = 0; k < 2 * TR_AXES; k++) {
        int64_t size;
        s->caps[k] = tr_get_int(s->f, call->args[k], &size)
                         ? tr_emit_int(&s->b, size)
                         : tr_grid_op(s, TR_OP_AND, s->caps[k], tr_emit_int(&s->b, INT32_MAX));
    }
    index = tr_grid_op(s, TR_OP_AND, index, tr_emit_int(&s->b, INT64_MAX >> 1));
    tr_val parts = s->caps[0];
    if (tr_grid_seed(s)) {
        tr_val all = tr_grid_op(s, TR_OP_MUL, tr_grid_op(s, TR_OP_MUL, s->caps[0], s->caps[1]), s->caps[2]);
        index = tr_grid_permuted(s, index, all, (uint64_t)tr_grid_seed(s) << 1 | 1);
    }
    if (s->wide.yes) {
        parts = tr_blk_param(s->lam, 0, s->i64, NULL);
        s->wide.each = tr_blk_param(s->lam, 0, s->i64, NULL);
    }
    if (s->stages)
        s->stage = tr_blk_param(s->lam, 0, s->i64, NULL);
    s->number = index;
    for (unsigned k = 0; k < TR_AXES; k++) {
        tr_val size = k == TR_AXIS_X ? parts : s->caps[k];
        s->block[k] = k == TR_AXIS_Z ? index : tr_grid_op(s, TR_OP_REM, index, size);
        index = k == TR_AXIS_Z ? index : tr_grid_op(s, TR_OP_QUOT, index, size);
    }
    if (s->wide.yes)
        tr_grid_wide_begin(s, s->block[TR_AXIS_X]);
    s->threads = tr_grid_op(s, TR_OP_MUL, tr_grid_op(s, TR_OP_MUL, tr_grid_extent(s, TR_AXIS_X), s->caps[4]),
                            s->caps[5]);
    tr_val *known = known_values(s, n - TR_LAUNCH_SIZES);
    if (level)
        tr_grid_level_put(s, level, known);
    else
        tr_grid_rounds_put(s, known);
    tr_emit_v(&s->b, TR_OP_YIELD, NULL, 0, NULL);
}

/* In place of the call. */
static void put_pattern(tr_grid *s) {
    tr_fn *f = s->f;
    tr_ins call = *tr_at(f, s->call);
    tr_bld b = {.fn = f, .blk = call.blk, .before = s->call, .loc = call.loc};
    tr_val *args = TR_NEW_N(tr_grid_arena(s), tr_val, call.nargs + 3u), n = call.args[0];
    uint32_t ncap = call.nargs;
    memcpy(args + 1, call.args, call.nargs * sizeof *args);
    if (s->wide.yes) {
        args[1 + ncap] = n = tr_grid_wide_count(s, &b, call.args, &args[2 + ncap]);
        ncap += 2;
    }
    n = tr_emit2(&b, TR_OP_MUL, s->i64, n, call.args[1]);
    args[0] = tr_emit2(&b, TR_OP_MUL, s->i64, n, call.args[2]);
    if (s->stages) {
        tr_grid_put_stages(s, args, ncap + 1);
        return;
    }
    tr_node m = tr_node_new(f);
    m.t = (tr_pat){.par = TR_PAR_PRANGE, .lam = s->lam};
    tr_node_put(&m, P_SPACE, args[0]);
    tr_node_put_all(&m, P_CAP, args + 1, ncap);
    tr_node_emit(&m, &b);
    tr_ins_remove(f, s->call);
}

/* The body, cut, and how it is run. Where loops were made even in vain, once more without. */
static bool plan_body(tr_grid *s, tr_level **level) {
    bool failed = false, even = false;
    for (unsigned round = 0; round < 2; round++) {
        if (!take_body(s))
            return false;
        tr_val draw = tr_opt_draws(s->p, s->g);
        if (draw != TR_NOVAL)
            return tr_grid_fail(s, draw,
                                "threads cannot draw from one np.random.Generator: draw before the launch, "
                                "and pass the numbers in");
        bool handles = tr_fn_handles(s->g);
        tr_val meeting = find_meeting(s->g);
        if (handles && meeting != TR_NOVAL)
            return tr_grid_fail(s, meeting,
                                "a barrier, or what a warp does together, cannot stand in a kernel that has "
                                "a `try`");
        s->stops.n = s->cells.n = s->locals.n = s->strides.n = 0;
        s->wide = (tr_wide_blocks){.span = TR_NOVAL};
        if (!tr_grid_seed(s) && !s->stages)
            tr_grid_find_wide(s);
        even = round == 0 && !handles && !s->stages && tr_grid_even_loops(s);
        if (has_meetings(s->g))
            share_locals(s);
        tr_grid_cut_meetings(s);
        *level = s->stages ? NULL : tr_grid_level(s, &failed);
        if (*level || failed || !even)
            break;
    }
    if (!failed && !*level)
        tr_grid_number_arrays(s, NULL);
    if (failed || (!*level && !tr_grid_rounds_cut(s)))
        return false;
    tr_cfg_compute(s->g);
    tr_opt_dce(s->p, s->g); /* what is loaded for nobody would be a loop over the threads */
    return true;
}

static void tell(const tr_grid *s, const tr_level *level, uint32_t nargs) {
    uint32_t kept = tr_blk_at(s->g, 0)->params.n - nargs - s->wide.yes - s->cells.n;
    if (!s->stops.n && !s->strides.n)
        tr_grid_say(s, "threads wait for nobody");
    if (s->stages)
        tr_grid_say(s, "blocks run in stages, from one barrier of the grid to the next");
    if (s->wide.yes)
        tr_grid_say(s, "neighbouring blocks along x run as one");
    if (level)
        tr_grid_level_tell(s, level);
    else
        tr_grid_say(s, "the block asks after each piece where its threads have come to");
    if (!level && s->why[0])
        tr_grid_say(s,
                    "what they wait at in line %d stands under a test that differs between them, in line %d",
                    (int)s->why[0], (int)s->why[1]);
    for (uint32_t k = 0; k < s->stops.n; k++)
        if (s->stops.d[k].line)
            tr_grid_say(s, "threads meet in line %d", (int)s->stops.d[k].line);
    if (kept)
        tr_grid_say(s, "arrays over the threads, for values that are kept from piece to piece: %u",
                    (unsigned)kept);
}

static bool run_launch_here(tr_prog *p, tr_fn *f, tr_val call) {
    tr_grid s = {.p = p, .f = f, .call = call};
    tr_level *level = NULL;
    s.i64 = tr_ty_scalar(p->ctx->types, TR_TY_I64);
    s.i1 = tr_ty_scalar(p->ctx->types, TR_TY_BOOL);
    if (!plan_body(&s, &level))
        return false;
    tell(&s, level, tr_at(f, call)->nargs - TR_LAUNCH_SIZES);
    make_block(&s, level);
    put_pattern(&s);
    return true;
}

bool tr_opt_grid(tr_prog *p, tr_fn *f) {
    bool changed = false;
    if (f->is_lambda || f->kind != TR_FN_HOST)
        return false;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first, next; v != TR_NOVAL;
             v = next) {
            next = tr_at(f, v)->next;
            const tr_inst *of = tr_at(f, v)->op == TR_OP_CALL ? &p->insts.d[tr_at(f, v)->imm.fn] : NULL;
            if (!of || of->fn->kind != TR_FN_KERNEL || of->far)
                continue;
            if (!run_launch_here(p, f, v))
                return changed;
            changed = true;
        }
    return changed;
}
