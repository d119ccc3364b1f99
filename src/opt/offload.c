/* Patterns of a program whose arrays lie on a device: each becomes the launch of a kernel, and the rest stays
 * the host's.
 *
 * Loops of devices are written once, in Treadle's own kernel language (treadle/_library/device): skeletons,
 * whose hooks say what is done with an item. Here a skeleton is instantiated for the types of a pattern's
 * operands, like a call of it in compiled code, and its hooks, whose types follow from what they are written
 * as, get bodies that are made of the node: the lambda at one point (pattern/point.c), and how two values are
 * joined. Operands of the pattern that are no constants are items of a tuple, a kernel's last argument, so
 * numbers are the kernel's parameters.
 *
 *   map     map_points: a thread takes items a grid apart
 *   reduce  reduce_parts: each block leaves what its items give, by the tree of rt/sum.c; join_parts: one
 *           block joins these, and what the reduction begins with. The host reads the result, for which it
 *           waits: nothing else does.
 *
 * Reductions of floats so have a host's bits where these go by that tree. What else arrays are for on the
 * host (loops over items, functions of the runtime) is refused, with the line: nothing is copied there behind
 * anybody's back. Functions that the kernels call are compiled with these, and stay as they are. Cost: two
 * copies of a lambda at most; a kernel is inferred anew for each pattern. */
#include <assert.h>
#include <string.h>

#include "ir/loops.h"
#include "ir/nyi.h"
#include "ir/ports.h"
#include "ir/rtinfo.h"
#include "ir/summary.h"
#include "opt/emit.h"
#include "opt/pattern/point.h"
#include "opt/priv.h"

enum {
    THREADS = 256,      /* of a block: _library/device has the same */
    MOST_BLOCKS = 4096, /* of a grid: threads take several items each beyond them */
    LAUNCH_BLOCK = 3,   /* where a launch says how many threads a block has, x first */
    MAX_REDS = 16,      /* of a pattern, and */
    SHARED = 48 << 10   /* bytes that a block has for what its threads keep of them, on every GPU */
};

/* A component of what a reduction has so far. */
typedef struct part {
    const tr_ty *ty;
    unsigned red; /* of the pattern */
    bool place;   /* of an extreme: its place, which stands behind its value */
} part;

typedef struct off {
    tr_prog *p;
    tr_point root;        /* the pattern where it stands */
    tr_bld b;             /* before it */
    TR_VEC(tr_val) items; /* what kernels take of its operands, each once */
    bool unfit;           /* there is an operand that they do not take */
    part parts[2 * MAX_REDS];
    unsigned nparts;
} off;

static const tr_ty *i64_of(const off *s) {
    return tr_ty_scalar(s->p->ctx->types, TR_TY_I64);
}

/* --- refusals --- */

/* Where the user wrote it: what is inlined there are the library's functions, and his own. */
static bool refuse(tr_prog *p, const tr_fn *f, uint32_t loc, const char *what) {
    while (f->locs.d[loc].parent)
        loc = f->locs.d[loc].parent;
    tr_err *e = tr_err_add(p->ctx, TR_ERR_UNSUPPORTED, tr_fn_place(f, loc), "%s: not on a device yet", what);
    e->nyi = tr_nyi_rows[TR_NYI_DEVICE_GRAPH].id;
    e->hint = tr_nyi_rows[TR_NYI_DEVICE_GRAPH].text;
    return false;
}

/* Arrays without axes are numbers, and the host's: lowering makes them there. */
static bool is_number(const tr_fn *f, tr_val v) {
    const tr_ty *t = tr_at(f, v)->ty;
    return t && t->kind == TR_TY_ARRAY && t->ndim == 0;
}

/* What a pattern is that no skeleton is for; NULL: one is. */
static const char *unfit(const off *s) {
    const tr_pat *p = s->root.p;
    uint64_t bytes = 0;
    if (p->nscan)
        return p->nfilt ? "a filter, or a mask as an index" : "a scan";
    if (p->ntop)
        return "the k best of a row";
    if (p->nscat)
        return "a scatter";
    if (p->keep)
        return "a reduction of some axes";
    if (p->nfold > MAX_REDS)
        return "so many reductions of one array";
    for (uint32_t k = 0; k < p->nfold; k++) {
        const tr_ins *y = tr_pat_yield(p->lam);
        if (tr_red_info[tr_pat_red(p, k)].joins)
            return "a reduction by a function of the user's";
        if (!y || !tr_ty_is_scalar(tr_at(p->lam, y->args[tr_pat_slot(p, TR_LAM, P_RED) + k])->ty))
            return "a reduction of what never is a number";
        const tr_ty *t = tr_at(p->lam, y->args[tr_pat_slot(p, TR_LAM, P_RED) + k])->ty;
        bytes += THREADS * (tr_ty_size(t) + (tr_red_info[tr_pat_red(p, k)].place ? sizeof(int64_t) : 0));
    }
    if (bytes > SHARED)
        return "so many reductions of one array";
    return s->unfit ? "a value that kernels do not take" : NULL;
}

/* What a lambda calls computes items, and is compiled into the kernel: it may hold no launches. */
static bool calls_loops(const tr_prog *p, const tr_fn *f) {
    for (uint32_t v = 0; v < f->ins.n; v++) {
        const tr_ins *in = tr_at(f, v);
        if (in->op != TR_OP_CALL || in->blk == TR_NOBLK)
            continue;
        const tr_fn *g = p->insts.d[in->imm.fn].fn;
        if (!g || g == f || g->kind == TR_FN_KERNEL || calls_loops(p, g))
            return true;
    }
    return false;
}

/* --- operands --- */

static tr_val extract(tr_bld *b, tr_val tuple, uint32_t k) {
    tr_val v = tr_emit1(b, TR_OP_EXTRACT, tr_at(b->fn, tuple)->ty->items[k], tuple);
    tr_at(b->fn, v)->imm.i = k;
    return v;
}

/* How a kernel has an operand: as it stands (a constant, what has no parts), as an item, or, of what a launch
 * does not take, such as a function with what it captures, its items, of which it is made again. */
typedef enum form { STANDS, ITEM, ITEMS, NONE } form;
static form form_of(const tr_fn *f, tr_val v) {
    const tr_ty *t = tr_at(f, v)->ty;
    return tr_is_const(tr_at(f, v)) || tr_ty_nparts(t) == 0     ? STANDS
           : is_number(f, v)                                    ? NONE
           : tr_ty_is_launchable(t)                             ? ITEM
           : t->kind == TR_TY_CLOSURE || t->kind == TR_TY_TUPLE ? ITEMS
                                                                : NONE;
}

/* Item k of it, which was taken out of it when that was noted: the block of the pattern has it. */
static tr_val item_of(const off *s, tr_val v, uint32_t k) {
    const tr_fn *f = s->root.f;
    for (tr_val x = tr_blk_at(f, s->root.in.blk)->first; x != TR_NOVAL; x = tr_at(f, x)->next)
        if (tr_at(f, x)->op == TR_OP_EXTRACT && tr_at(f, x)->args[0] == v && tr_at(f, x)->imm.i == k)
            return x;
    assert(false && "the items of such an operand are there");
    return TR_NOVAL;
}

/* Notes what is taken of an operand. */
static void put_item(off *s, tr_val v) {
    form how = form_of(s->root.f, v);
    const tr_ty *t = tr_at(s->root.f, v)->ty;
    s->unfit |= how == NONE;
    for (uint32_t k = 0; how == ITEMS && k < t->n; k++)
        put_item(s, extract(&s->b, v, k));
    if (how == ITEM && !tr_opt_among(v, s->items.d, s->items.n))
        tr_vec_push(&s->root.f->ctx->arena, &s->items, v);
}

static bool is_init(const off *s, uint32_t x) {
    uint32_t reds = tr_pat_at(s->root.p, P_RED);
    return x >= reds && x < reds + s->root.p->nfold;
}

static void gather_parts(off *s) {
    const tr_pat *p = s->root.p;
    const tr_ins *y = tr_pat_yield(p->lam);
    for (unsigned k = 0; k < p->nfold; k++) {
        const tr_ty *t = tr_at(p->lam, y->args[tr_pat_slot(p, TR_LAM, P_RED) + k])->ty;
        s->parts[s->nparts++] = (part){t, k, false};
        if (tr_red_info[tr_pat_red(p, k)].place)
            s->parts[s->nparts++] = (part){i64_of(s), k, true};
    }
}

static tr_val tuple_of(off *s, uint32_t n, const tr_val *items) {
    const tr_ty **t = TR_NEW_N(&s->root.f->ctx->arena, const tr_ty *, n + 1u);
    for (uint32_t k = 0; k < n; k++)
        t[k] = tr_at(s->root.f, items[k])->ty;
    return tr_emit_v(&s->b, TR_OP_TUPLE, tr_ty_tuple(s->p->ctx->types, n, t), n, items);
}

/* --- bodies of hooks --- */

typedef struct hook {
    off *s;
    tr_point at; /* the pattern's point, in the hook's function */
    tr_val params[4];
} hook;

/* The hook's function without a body: params of the types of its instance. */
static hook hook_begin(off *s, tr_inst *inst) {
    hook h = {.s = s, .at = s->root};
    tr_fn *f = tr_fn_new(s->p->ctx, inst->fn->name, S_T);
    assert(inst->nargs <= 4 && "a hook of _library/device");
    f->file = inst->fn->file;
    f->func = inst->fn->func;
    f->ret = inst->ret;
    f->kind = TR_FN_DEVICE;
    h.at.f = f;
    h.at.stood = &s->root;
    h.at.cold = 0;
    h.at.in.loc = 0;
    h.at.b = (tr_bld){.fn = f, .blk = tr_blk_new(f), .before = TR_NOVAL};
    for (uint32_t k = 0; k < inst->nargs; k++)
        h.params[k] = tr_blk_param(f, 0, inst->args[k], NULL);
    return h;
}

/* An operand there. */
static tr_val operand_in(hook *h, tr_val args, tr_val v) {
    const off *s = h->s;
    const tr_fn *from = s->root.f;
    const tr_ins *in = tr_at(from, v);
    const tr_ty *t = in->ty;
    switch (form_of(from, v)) {
    case STANDS: return tr_is_const(in) ? tr_const_import(h->at.f, in) : tr_const_undef(h->at.f, t);
    case ITEM:
        for (uint32_t k = 0; k < s->items.n; k++)
            if (s->items.d[k] == v)
                return extract(&h->at.b, args, k);
        break;
    case ITEMS: {
        tr_val *own = TR_NEW_N(&from->ctx->arena, tr_val, t->n + 1u);
        for (uint32_t k = 0; k < t->n; k++)
            own[k] = operand_in(h, args, item_of(s, v, k));
        return tr_emit_v(&h->at.b, TR_OP_TUPLE, t, t->n, own);
    }
    case NONE: break;
    }
    assert(false && "a pattern with such an operand is refused");
    return TR_NOVAL;
}

/* The pattern's operands, of the tuple that holds what is taken of them. */
static void take_operands(hook *h, tr_val args) {
    const off *s = h->s;
    uint32_t n = tr_pat_nargs(s->root.p);
    tr_val *own = TR_NEW_N(&h->at.f->ctx->arena, tr_val, n + 1u);
    for (uint32_t x = 0; x < n; x++)
        own[x] = is_init(s, x) ? TR_NOVAL : operand_in(h, args, s->root.in.args[x]);
    h->at.in.args = own;
}

/* The indices of the item of that number, in C order. */
static void take_place(hook *h, tr_val i) {
    tr_point *n = &h->at;
    for (unsigned k = n->p->nspace; k-- > 1;) {
        n->idx[k] = tr_emit2(&n->b, TR_OP_REM, n->i64, i, n->in.args[k]);
        i = tr_emit2(&n->b, TR_OP_QUOT, n->i64, i, n->in.args[k]);
    }
    n->idx[0] = i;
}

static void hook_end(hook *h, tr_inst *inst, tr_val value) {
    tr_emit1(&h->at.b, TR_OP_RET, NULL, value == TR_NOVAL ? tr_const_undef(h->at.f, inst->ret) : value);
    tr_simplify_cfg(h->at.f);
    inst->fn = h->at.f;
}

/* All that the pattern does at one point, and what it contributes. */
static tr_val *put_point(hook *h, tr_val i, tr_val args) {
    tr_point *n = &h->at;
    const tr_pat *p = n->p;
    take_operands(h, args);
    take_place(h, i);
    tr_val *y = tr_point_yield(n);
    for (uint32_t k = 0; k < p->nout; k++)
        tr_point_store(n, tr_pat_at(p, P_OUT) + k, p->nspace, NULL, y[k]);
    return y + tr_pat_slot(p, TR_LAM, P_RED);
}

/* point(i, args) */
static void make_point(off *s, tr_inst *inst) {
    hook h = hook_begin(s, inst);
    put_point(&h, h.params[0], h.params[1]);
    hook_end(&h, inst, TR_NOVAL);
}

/* load(i, parts, args) */
static void make_load(off *s, tr_inst *inst) {
    hook h = hook_begin(s, inst);
    tr_val *y = put_point(&h, h.params[0], h.params[2]), all[2 * MAX_REDS];
    for (unsigned k = 0; k < s->nparts; k++)
        all[k] = s->parts[k].place ? h.params[0] : y[s->parts[k].red];
    hook_end(&h, inst, tr_emit_v(&h.at.b, TR_OP_TUPLE, inst->ret, s->nparts, all));
}

/* The first of two extremes that neither beats the other: places are not in order here. */
static tr_val second_is_taken(hook *h, tr_redk kind, const tr_ty *t, const tr_val *x, const tr_val *y) {
    tr_point *n = &h->at;
    tr_val not_first = tr_emit_not(&n->b, tr_point_wins(n, kind, t, y[0], x[0]));
    tr_val before = tr_emit_cmp(&n->b, TR_CMP_LT, y[1], x[1]);
    return tr_point_both(n, TR_OP_OR, tr_point_wins(n, kind, t, x[0], y[0]),
                         tr_point_both(n, TR_OP_AND, not_first, before));
}

/* combine(x, y, args); finish(first, x, args), where of extremes the second is taken. */
static void make_join(off *s, tr_inst *inst, bool last) {
    hook h = hook_begin(s, inst);
    tr_val x[2 * MAX_REDS], y[2 * MAX_REDS], all[2 * MAX_REDS];
    for (unsigned k = 0; k < s->nparts; k++) {
        x[k] = extract(&h.at.b, h.params[0], k);
        y[k] = extract(&h.at.b, h.params[1], k);
    }
    for (unsigned k = 0; k < s->nparts; k++) {
        const part *c = &s->parts[k];
        tr_redk kind = tr_pat_red(s->root.p, c->red);
        if (!tr_red_info[kind].place) {
            all[k] = tr_point_join(&h.at, kind, c->ty, x[k], y[k], tr_pat_fast(s->root.p, c->red));
            continue;
        }
        tr_val second = last ? TR_NOVAL : second_is_taken(&h, kind, c->ty, x + k, y + k);
        for (unsigned j = k; j < k + 2; j++)
            all[j] = last ? y[j] : tr_emit_select(&h.at.b, second, y[j], x[j]);
        k++;
    }
    hook_end(&h, inst, tr_emit_v(&h.at.b, TR_OP_TUPLE, inst->ret, s->nparts, all));
}

/* --- kernels --- */

static const char *name_of(const tr_prog *p, const tr_inst *t) {
    return t->func < p->funcs.n ? p->funcs.d[t->func].name : "";
}

static bool calls_anything(const tr_fn *f) {
    for (uint32_t v = 0; v < f->ins.n; v++)
        if (tr_at(f, v)->op == TR_OP_CALL && tr_at(f, v)->blk != TR_NOBLK)
            return true;
    return false;
}

/* A kernel for a device with code of its own is one function, with all that it calls, and a text until it is
 * launched. */
static bool leave_far(off *s, uint32_t first, uint32_t inst) {
    tr_prog *p = s->p;
    tr_fn *f = p->insts.d[inst].fn;
    for (uint32_t i = first; i < p->insts.n; i++)
        p->insts.d[i].fn->kind = i == inst ? TR_FN_KERNEL : TR_FN_DEVICE;
    if (!tr_opt_inline_devices(p, f))
        return refuse(p, s->root.f, s->root.in.loc, "a function that calls itself");
    for (unsigned rounds = 0; calls_anything(f) && rounds < 4; rounds++) {
        tr_cfg_compute(f);
        tr_opt_inline(p, f);
    }
    if (calls_anything(f))
        return refuse(p, s->root.f, s->root.in.loc, "a long function of the user's");
    tr_simplify_cfg(f);
    p->insts.d[inst].far = true;
    return true;
}

/* An instance of a skeleton for these arguments, whose hooks are the pattern's. */
static bool make_kernel(off *s, tr_skeleton which, uint32_t n, const tr_val *args, uint32_t *inst) {
    tr_prog *p = s->p;
    const tr_ty *types[4];
    uint32_t first = p->insts.n;
    for (uint32_t k = 0; k < n; k++)
        types[k] = tr_ty_strong(p->ctx->types, tr_at(s->root.f, args[k])->ty);
    uint8_t checks = p->ctx->opts.boundscheck; /* its own indices are in range; the lambda's tests stay */
    p->ctx->opts.boundscheck = 0;
    bool ok = p->more(p, p->skeletons[which], TR_FN_KERNEL, n, types, inst);
    p->ctx->opts.boundscheck = checks;
    for (uint32_t i = first; ok && i < p->insts.n; i++) {
        tr_inst *t = &p->insts.d[i];
        const char *name = name_of(p, t);
        if (strcmp(name, "point") == 0)
            make_point(s, t);
        else if (strcmp(name, "load") == 0)
            make_load(s, t);
        else if (strcmp(name, "combine") == 0 || strcmp(name, "finish") == 0)
            make_join(s, t, name[0] == 'f');
    }
    return ok && (p->ctx->opts.offload != TR_OFFLOAD_OWN || leave_far(s, first, *inst));
}

/* Launches it with so many blocks; its arguments come after the sizes. */
static bool launch(off *s, tr_skeleton which, tr_val blocks, uint32_t n, const tr_val *args) {
    uint32_t inst;
    tr_val all[TR_LAUNCH_SIZES + 4], one = tr_emit_int(&s->b, 1);
    if (!make_kernel(s, which, n, args, &inst))
        return false;
    for (unsigned k = 0; k < TR_LAUNCH_SIZES; k++)
        all[k] = one;
    all[0] = blocks;
    all[LAUNCH_BLOCK] = tr_emit_int(&s->b, THREADS);
    all[TR_LAUNCH_SIZES - 1] = tr_emit_int(&s->b, 0);
    memcpy(all + TR_LAUNCH_SIZES, args, n * sizeof *args);
    tr_val call = tr_emit_v(&s->b, TR_OP_CALL, s->p->insts.d[inst].ret, TR_LAUNCH_SIZES + n, all);
    tr_at(s->root.f, call)->imm.fn = inst;
    return true;
}

static tr_val blocks_for(off *s, tr_val parts) {
    tr_val n = tr_emit_least(&s->b, parts, tr_emit_int(&s->b, MOST_BLOCKS));
    return tr_emit_most(&s->b, n, tr_emit_int(&s->b, 1));
}

/* --- what the host does --- */

/* Of a program that keeps accounts, what it writes them to. */
static bool is_log(const tr_prog *p, const tr_fn *f, tr_val v) {
    const tr_blk *entry = tr_blk_at(f, 0);
    return p->ctx->opts.account && f == p->insts.d[p->root].fn && v == entry->params.d[entry->params.n - 1];
}

/* An instruction of the host's, where arrays are the device's. */
static void move_away(const tr_prog *p, tr_fn *f, tr_val v) {
    tr_ins *in = tr_at(f, v);
    if (in->op == TR_OP_ALLOC && !is_number(f, v))
        in->sub = TR_FAR;
    if (in->op == TR_OP_LOAD && !is_number(f, in->args[0]) && !is_log(p, f, in->args[0]) &&
        p->ctx->opts.offload == TR_OFFLOAD_OWN)
        in->sub = TR_LOAD_FAR;
}

/* --- a pattern --- */

static tr_val array_of_parts(off *s, const tr_ty *t, tr_val n) {
    tr_site *site = TR_NEW(&s->p->ctx->arena, tr_site);
    *site = (tr_site){TR_EXC_MEMORY, "cannot allocate an array of {0} bytes", -1, NULL};
    tr_val v = tr_emit_v(&s->b, TR_OP_ALLOC, tr_ty_array(s->p->ctx->types, t, 1, TR_LAYOUT_C, false), 1, &n);
    tr_at(s->root.f, v)->imm.site = site;
    move_away(s->p, s->root.f, v);
    return v;
}

/* What a reduction begins with, as its components. */
static tr_val first_of(off *s, const part *c) {
    tr_val init = s->root.in.args[tr_pat_at(s->root.p, P_RED) + c->red];
    bool value = tr_red_info[tr_pat_red(s->root.p, c->red)].place && !c->place;
    return value ? tr_red_identity(s->root.f, TR_RED_MAX, c->ty) : init;
}

static bool reduce(off *s, tr_val n, tr_val args, tr_val *result) {
    tr_val more = tr_emit_op(&s->b, TR_OP_ADD, n, tr_emit_int(&s->b, THREADS - 1));
    tr_val count = tr_emit_op(&s->b, TR_OP_QUOT, more, tr_emit_int(&s->b, THREADS)), rooms[2 * MAX_REDS];
    tr_val room = tr_emit_most(&s->b, count, tr_emit_int(&s->b, 1)), first[2 * MAX_REDS], out[MAX_REDS];
    for (unsigned k = 0; k < s->nparts; k++) {
        rooms[k] = array_of_parts(s, s->parts[k].ty, room);
        first[k] = first_of(s, &s->parts[k]);
    }
    tr_val parts = tuple_of(s, s->nparts, rooms), begin = tuple_of(s, s->nparts, first);
    if (!launch(s, TR_SKELETON_REDUCE, blocks_for(s, count), 3, (tr_val[]){n, parts, args}) ||
        !launch(s, TR_SKELETON_JOIN, tr_emit_int(&s->b, 1), 4, (tr_val[]){count, parts, begin, args}))
        return false;
    for (unsigned k = 0; k < s->nparts; k++) {
        tr_val at[2] = {rooms[k], tr_emit_int(&s->b, 0)};
        if (k + 1 == s->nparts || s->parts[k + 1].red != s->parts[k].red) {
            tr_val x = tr_emit_v(&s->b, TR_OP_LOAD, s->parts[k].ty, 2, at);
            move_away(s->p, s->root.f, x);
            out[s->parts[k].red] = x;
        }
    }
    *result =
        s->root.p->nfold == 1 ? out[0] : tr_emit_v(&s->b, TR_OP_TUPLE, s->root.in.ty, s->root.p->nfold, out);
    return true;
}

static bool put_launches(tr_prog *p, tr_fn *f, tr_val v, tr_repl *r) {
    off s = {.p = p, .b = tr_bld_before(f, v)};
    s.root = (tr_point){.f = f, .in = *tr_at(f, v), .p = tr_at(f, v)->imm.pat};
    s.root.i1 = tr_ty_scalar(p->ctx->types, TR_TY_BOOL);
    s.root.i64 = i64_of(&s);
    for (uint32_t x = 0; x < tr_pat_nargs(s.root.p); x++)
        if (!is_init(&s, x))
            put_item(&s, s.root.in.args[x]);
    const char *why = calls_loops(p, s.root.p->lam) ? "a loop within an item's function" : unfit(&s);
    if (why)
        return refuse(p, f, s.root.in.loc, why);
    if (s.root.p->nfold)
        gather_parts(&s);
    tr_val n = tr_emit_int(&s.b, 1), args = tuple_of(&s, s.items.n, s.items.d), result;
    n = s.root.p->nspace ? tr_emit_times(&s.b, s.root.in.args[0], s.root.in.args + 1, s.root.p->nspace - 1u)
                         : n;
    if (s.root.p->nfold) {
        if (!reduce(&s, n, args, &result))
            return false;
    } else {
        tr_val parts =
            tr_emit_op(&s.b, TR_OP_QUOT, tr_emit_op(&s.b, TR_OP_ADD, n, tr_emit_int(&s.b, THREADS - 1)),
                       tr_emit_int(&s.b, THREADS));
        if (!launch(&s, TR_SKELETON_MAP, blocks_for(&s, parts), 2, (tr_val[]){n, args}))
            return false;
        result = tr_const_undef(f, s.root.in.ty);
    }
    tr_repl_set(f, r, v, result);
    tr_ins_remove(f, v);
    return true;
}

/* --- the rest --- */

/* The host calls it, from the root on: what lambdas call is the kernels'. */
static bool host_reaches(const tr_prog *p, const tr_fn *from, const tr_fn *f, uint8_t *seen) {
    if (from == f)
        return true;
    for (uint32_t v = 0; v < from->ins.n; v++) {
        const tr_ins *in = tr_at(from, v);
        if (in->op != TR_OP_CALL || in->blk == TR_NOBLK || seen[in->imm.fn])
            continue;
        const tr_fn *g = p->insts.d[in->imm.fn].fn;
        seen[in->imm.fn] = 1;
        if (g && g->kind == TR_FN_HOST && host_reaches(p, g, f, seen))
            return true;
    }
    return false;
}

/* What an instruction does to arrays that the host does not do; NULL: nothing. An item is fetched, not one
 * after the other in a loop. */
static const char *on_host(const tr_prog *p, const tr_fn *f, const tr_ins *in) {
    bool load = in->op == TR_OP_LOAD, store = in->op == TR_OP_STORE;
    if (in->op == TR_OP_CALL || in->op == TR_OP_PATTERN || !(tr_ins_effects(in) & (E_READ | E_WRITE)) ||
        ((load || store) && (is_number(f, in->args[0]) || is_log(p, f, in->args[0]))))
        return NULL;
    if (load && !in->sub && tr_forest_in(f->forest, in->blk) == TR_NOLOOP)
        return NULL;
    return load    ? "a loop of the host's over items"
           : store ? "an item that the host writes"
                   : "what is no loop over items";
}

bool tr_opt_offload(tr_prog *p, tr_fn *f) {
    tr_arena *a = &p->ctx->arena;
    tr_u32s found = {0};
    uint8_t *seen = TR_NEW_N(a, uint8_t, p->insts.n + 1u);
    if (!p->ctx->opts.offload)
        return false;
    assert(p->more && "who runs inference and passes has said where more instances come from");
    if (f->is_lambda || f->kind != TR_FN_HOST || !host_reaches(p, p->insts.d[p->root].fn, f, seen))
        return false;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const char *why = on_host(p, f, tr_at(f, v));
            if (why)
                return refuse(p, f, tr_at(f, v)->loc, why);
            if (tr_at(f, v)->op == TR_OP_PATTERN)
                tr_vec_push(a, &found, v);
            move_away(p, f, v);
        }
    tr_repl r = tr_repl_new(f);
    for (uint32_t i = 0; i < found.n; i++)
        if (!put_launches(p, f, found.d[i], &r))
            return false;
    tr_repl_apply(f, &r);
    return found.n > 0;
}
