/* Lists while types are found: which displays are lists, the cells of those that an instance makes, and how
 * what flows into a list crosses calls.
 *
 * An instance has cells of its own: for each place that makes a list, for each list among its arguments and
 * in what it is given by a call. Instances are known by what the items of their arguments' lists are, not by
 * cells. So a callee's parameter begins with what the caller's cell has; what the callee puts into it besides
 * flows back, and the next sweep asks for the instance of that. What a caller puts into a list that it was
 * given as a result is declared when the instance is asked for anew. Where nothing flows into a list in an
 * instance, its items are guessed, which nobody else hears of.
 *
 * A display that is only read where it stands is a tuple, as ever (ty/kinds.def); one that is changed,
 * returned, or handed to a function of the user's that does so is a list: all uses are looked at, also those
 * of what it may become on another path. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"

/* --- cells --- */

enum { MADE, PARAM, GIVEN, FLOWN }; /* which place a cell is of */

static uint64_t place_of(unsigned what, uint32_t n, uint32_t k) {
    return (uint64_t)what << 56 | (uint64_t)k << 28 | n;
}

/* The cell of a list of this place in the instance at work; `path` says which of several, by what it is an
 * item of. Values have other numbers in SSA in which a loop is written out (unroll.c); parameters stay the
 * same. */
static const tr_ty *cell(infer *f, uint64_t place, uint64_t path) {
    struct {
        uint64_t place, path;
        const tr_fn *src;
        uint64_t inst;
    } key = {place, path, place >> 56 == PARAM ? NULL : f->st.d[f->cur].src, f->cur};
    uint64_t h = tr_hash_bytes(&key, sizeof key, 0), at = 0;
    tr_arena *a = &f->ctx->arena;
    if (tr_map_get(&f->cells_of, h, &at))
        return f->cells.d[at].ty;
    tr_infer_cell c = {tr_ty_new_cell(f->ctx->types), f->cur};
    tr_map_set(a, &f->cells_of, h, f->cells.n);
    tr_vec_push(a, &f->cells, c);
    return c.ty;
}

const tr_ty *tr_infer_new_list(tr_em *e, uint32_t which) {
    infer *f = e->infer;
    const tr_ty *t = cell(f, place_of(MADE, f->at, which | (f->deep > 1 ? (f->deep & 255u) << 20 : 0)), 0);
    return e->cells ? t : tr_ty_closed(e->types, t);
}

/* How lists of another instance, or of a type without cells, become lists of the instance at work. */
typedef struct graft {
    infer *f;
    uint64_t place;
    int32_t line;
    bool numba;
    TR_VEC(const tr_ty *) seen; /* a list of the other instance, and what it became: in pairs */
} graft;

/* What is one list there, as two inner functions share, is one here. */
static void keep_together(graft *g, const tr_ty *from, const tr_ty *to) {
    tr_tytab *types = g->f->ctx->types;
    for (uint32_t i = 0; i < g->seen.n; i += 2)
        if (tr_ty_same_cell(types, g->seen.d[i], from)) {
            tr_ty_join(types, g->seen.d[i + 1], to, g->numba);
            return;
        }
    tr_vec_push(&g->f->ctx->arena, &g->seen, from);
    tr_vec_push(&g->f->ctx->arena, &g->seen, to);
}

/* `from` with lists of the instance at work: those that `mine`, its type for it so far (or NULL), has at the
 * same places, else new ones; what is known of the items flows into them. No list of the two instances is
 * ever one, or all callers of a function would share what they put into theirs. */
static const tr_ty *grafted(graft *g, const tr_ty *from, const tr_ty *mine, uint64_t path) {
    tr_tytab *types = g->f->ctx->types;
    enum { STEP = 1000003 };
    if (!tr_ty_has_lists(from) || tr_ty_is_fixed(from))
        return from;
    if (mine && (mine->kind == TR_TY_OPT) != (from->kind == TR_TY_OPT)) { /* the value is what has lists */
        bool mine_may = mine->kind == TR_TY_OPT;
        const tr_ty *of =
            grafted(g, mine_may ? from : from->items[1], mine_may ? mine->items[1] : mine, path * STEP + 3);
        return mine_may ? of : tr_ty_optional(types, of);
    }
    bool alike = mine && mine->kind == from->kind && mine->n == from->n;
    if (from->kind == TR_TY_LIST || from->kind == TR_TY_SET) {
        const tr_ty *to = alike ? mine : cell(g->f, g->place, path);
        if (from->kind == TR_TY_SET)
            to = tr_ty_set_like(types, to);
        keep_together(g, from, to);
        const tr_ty *item = tr_ty_list_item(types, from, false);
        if (item) {
            const tr_ty *now = tr_ty_list_item(types, to, false);
            tr_ty_list_takes(types, to, grafted(g, item, now, path * STEP + 1), g->line, g->numba);
        }
        return to;
    }
    const tr_ty **items = TR_NEW_N(&g->f->ctx->arena, const tr_ty *, from->n + 1u);
    for (uint32_t i = 0; i < from->n; i++)
        items[i] = grafted(g, from->items[i], alike ? mine->items[i] : NULL, path * STEP + 2 + i);
    return tr_ty_like(types, from, items);
}

const tr_ty *tr_infer_open_param(infer *f, uint32_t i, const tr_ty *t) {
    return grafted(&(graft){.f = f, .place = place_of(PARAM, i, 0)}, t, NULL, 0);
}

const tr_ty *tr_infer_open_result(infer *f, uint32_t func, const tr_ty *t) {
    return grafted(&(graft){.f = f, .place = place_of(GIVEN, f->at, func + 1u)}, t, NULL, 0);
}

void tr_infer_flow_lists(infer *f, const tr_ty *from, const tr_ty *to, int32_t line, bool numba) {
    grafted(&(graft){.f = f, .place = place_of(FLOWN, f->at, 0), .line = line, .numba = numba}, from, to,
            (uint64_t)to->id << 32);
}

bool tr_infer_guess_lists(infer *f, uint32_t inst) {
    bool any = false;
    for (uint32_t i = 0; i < f->cells.n; i++)
        if (f->cells.d[i].inst == inst)
            any |= tr_ty_list_guess(f->ctx->types, f->cells.d[i].ty);
    return any;
}

void tr_infer_close(infer *f, istate *s) {
    for (uint32_t v = 0; v < s->src->ins.n; v++)
        if (s->ty[v])
            s->ty[v] = tr_ty_closed(f->ctx->types, s->ty[v]);
    if (s->ret)
        s->ret = tr_ty_closed(f->ctx->types, s->ret);
}

/* That it would be an item of itself, at any depth. */
static void tell_itself(tr_em *e, tr_cell_role role) {
    bool dict = role >= TR_CELL_KEYS;
    tr_em_error(e, "a %s cannot be %s of itself, at any depth: there is no type for that",
                dict ? "dict" : "list", dict ? "a value" : "an item");
    tr_em_hint(e,
               dict ? "number the nodes, and keep one dict whose keys are tuples of a node's number and a key"
                    : "number the nodes, and keep a list of the numbers of each one's children");
}

bool tr_infer_tell_clashes(infer *f, tr_em *e, uint32_t inst) {
    static const char *const roles[] = {"the items of a list", "the items of a set", "the keys of a dict",
                                        "the values of a dict"};
    tr_tytab *types = f->ctx->types;
    bool any = false;
    for (uint32_t i = 0; i < f->cells.n && !any; i++) {
        tr_clash c;
        const tr_ty *list = f->cells.d[i].ty;
        if (f->cells.d[i].inst != inst || !tr_ty_list_clash(types, list, &c))
            continue;
        any = true;
        e->place.span = (tr_span){c.line[1], -1, 0, -1};
        if (c.why == TR_CLASH_ITSELF) {
            tell_itself(e, c.role);
        } else if (c.why == TR_CLASH_DEEP) {
            tr_em_error(e, "lists lie in lists, more than %d deep: there is no type for that", TR_MAX_LISTS);
        } else {
            tr_em_error(e, "%s have no type in common: %s, and %s in line %d", roles[c.role],
                        tr_em_tyname(e, tr_ty_closed(types, c.type[1])),
                        tr_em_tyname(e, tr_ty_closed(types, c.type[0])), (int)c.line[0]);
            tr_em_hint(e, tr_ty_is_scalar(c.type[0]) && tr_ty_is_scalar(c.type[1])
                              ? "convert what is put there, with int(x) or float(x)"
                              : "keep one for each type, or tuples that have an item of each type");
        }
    }
    return any;
}

/* --- which displays are lists, or dicts --- */

typedef struct looked_at {
    const tr_fn *f;
    tr_val v;
    uint32_t place;
} looked_at;

/* A value on the way, and by which of those before it was come to. */
typedef struct passed {
    tr_val v;
    uint32_t from;
} passed;

typedef struct walk {
    infer *f;
    const tr_fn *made_in; /* the function that makes the display */
    tr_map seen;
} walk;

/* Where a display is in a value: it is the value, it is somewhere in it; else the value is a tuple, or a
 * display that is read, which has it at that place. Two marks: the display is one of names and values (and
 * may become a dict), and what has it at the place is one (its values are counted). */
enum { PLACES = 0x3fffffff, ITSELF = PLACES, ANYWHERE = PLACES - 1 };
#define NAMES   (1u << 31)
#define BY_NAME (1u << 30)

static uint32_t itself(uint32_t place) {
    return ITSELF | (place & NAMES);
}

static bool value_changes(walk *w, const tr_fn *f, tr_val v, uint32_t place);

/* Does the function, one of the user's, change what it is given as its parameter k, captured values first? */
static bool param_changes(walk *w, uint32_t func, uint32_t k, uint32_t place) {
    const tr_func *fn = func < w->f->p->funcs.n ? &w->f->p->funcs.d[func] : NULL;
    if (!fn || !fn->ssa || fn->ufn || k >= tr_blk_at(fn->ssa, 0)->params.n)
        return false;
    return value_changes(w, fn->ssa, tr_blk_at(fn->ssa, 0)->params.d[k], place);
}

/* A constant, or what a module, or a class, has under a name; NULL: neither. */
static const tr_obj *constant_of(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    if (in->op == TR_OP_OBJ)
        return in->imm.obj;
    const tr_obj *has = in->op == TR_OP_GETATTR ? constant_of(f, in->args[0]) : NULL;
    if (has && has->kind != TR_OBJ_MODULE)
        has = has->member;
    return has ? tr_obj_attr(has, in->imm.s) : NULL;
}

static bool call_changes(walk *w, const tr_fn *f, const tr_ins *call, tr_val v, uint32_t place) {
    const tr_ins *callee = tr_at(f, call->args[0]);
    const tr_callinfo *ci = call->imm.call;
    bool closure = callee->op == TR_OP_CLOSURE;
    const tr_obj *o = constant_of(f, call->args[0]);
    if (!closure && (!o || o->kind != TR_OBJ_FUNC))
        return false;
    uint32_t func = closure ? callee->imm.fn : o->u.func;
    const tr_func *fn = &w->f->p->funcs.d[func];
    if (ci && ci->stars && !ci->starstar && (place & PLACES) != ITSELF) {
        for (uint32_t k = 0; k < fn->nargs; k++) /* which one an item of `*t` becomes is not asked */
            if (param_changes(w, func, tr_func_held(fn) + k, itself(place)))
                return true;
    }
    if (ci && (ci->stars || ci->starstar))
        return false;
    uint32_t nkw = ci ? ci->nkw : 0, npos = call->nargs - 1 - nkw;
    for (uint32_t k = 0; k + 1u < call->nargs; k++) {
        if (call->args[k + 1] != v)
            continue;
        uint32_t at = k;
        for (uint32_t n = 0; k >= npos && n < fn->nargs + fn->nkwonly; n++)
            if (strcmp(fn->argnames[n], ci->kwnames[k - npos]) == 0)
                at = n;
        bool rest = k >= fn->nargs && at == k && fn->varargs; /* an item of *args */
        if (rest && (place & PLACES) == ITSELF &&
            param_changes(w, func, tr_func_held(fn) + fn->nargs + fn->nkwonly,
                          (k - fn->nargs) | (place & NAMES)))
            return true;
        if (k >= npos && at == k && fn->varkw && (place & PLACES) == ITSELF) { /* a value of **names */
            if (param_changes(w, func, tr_func_held(fn) + fn->nargs + fn->nkwonly + fn->varargs,
                              ANYWHERE | (place & NAMES) | BY_NAME))
                return true;
            continue;
        }
        if (!rest && at < fn->nargs + fn->nkwonly && param_changes(w, func, tr_func_held(fn) + at, place))
            return true;
    }
    return false;
}

static bool may_return_none(const tr_fn *f) {
    for (uint32_t i = 0; i < f->ins.n; i++) {
        const tr_ins *in = &f->ins.d[i], *x = in->op == TR_OP_RET && in->nargs ? tr_at(f, in->args[0]) : NULL;
        if (in->blk != TR_NOBLK && x && x->op == TR_OP_OBJ && x->imm.obj->kind == TR_OBJ_NONE)
            return true;
    }
    return false;
}

/* Does somebody get it who may change it? What a comprehension's round gives becomes a list where it is put
 * into one, which nobody else has if it was made in the round; what there may be or not has to be a list. */
static bool is_returned(const walk *w, const tr_fn *f, tr_val v) {
    const tr_func *fn = &w->f->p->funcs.d[f->func];
    tr_op op = (tr_op)tr_at(f, v)->op;
    return !fn->library &&
           (!fn->round || (op != TR_OP_BUILDLIST && op != TR_OP_BUILDTUP) || may_return_none(f));
}

/* Is it what a call gives where there is no entry: d.get(k, v), d.pop(k, v)? */
static bool is_instead(const tr_ins *callee, const tr_ins *in, tr_val v) {
    return in->nargs == 3 && in->args[2] == v && callee->op == TR_OP_GETATTR &&
           (strcmp(callee->imm.s, "get") == 0 || strcmp(callee->imm.s, "pop") == 0);
}

/* next(it, v): what it gives may be v. */
static bool is_next(const tr_fn *f, const tr_ins *in, tr_val v) {
    const tr_obj *o = in->nargs == 3 && in->args[2] == v ? constant_of(f, in->args[0]) : NULL;
    return o && o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_NEXT;
}

/* max(x, default=v): it may be v. */
static bool is_default(const tr_fn *f, const tr_ins *in, tr_val v) {
    const tr_obj *o = constant_of(f, in->args[0]);
    const tr_callinfo *ci = in->imm.call;
    uint32_t nkw = ci ? ci->nkw : 0;
    bool best = o && o->kind == TR_OBJ_BUILTIN && (o->u.builtin == TR_B_MAX || o->u.builtin == TR_B_MIN);
    for (uint32_t k = 0; best && k < nkw; k++)
        if (strcmp(ci->kwnames[k], "default") == 0)
            return in->args[in->nargs - nkw + k] == v;
    return false;
}

/* P(x, y), of a named tuple: its items are asked for by names, which are not followed. */
static bool makes_named(const tr_fn *f, const tr_ins *call) {
    const tr_obj *o = constant_of(f, call->args[0]);
    return o && o->kind == TR_OBJ_NTCLASS;
}

/* max(v, x), min(v, x): what they give may be v. Of one argument, or where v has the display, it may be an
 * item of v. */
static bool best_changes(walk *w, const tr_fn *f, const tr_ins *in, tr_val v, uint32_t place) {
    const tr_obj *o = constant_of(f, in->args[0]);
    if (!o || o->kind != TR_OBJ_BUILTIN || (o->u.builtin != TR_B_MAX && o->u.builtin != TR_B_MIN))
        return false;
    uint32_t npos = in->nargs - 1u - (in->imm.call ? in->imm.call->nkw : 0);
    bool one = npos == 1, whole = (place & PLACES) == ITSELF;
    for (uint32_t k = 1; k <= npos; k++)
        if (in->args[k] == v && one != whole &&
            value_changes(w, f, (tr_val)(in - f->ins.d), one ? itself(place) : place))
            return true;
    return false;
}

/* reduce(f, v, x): what f is given, and what it gives, may be v's items and x. */
static bool is_reduced(const tr_fn *f, const tr_ins *in, tr_val v, bool whole) {
    const tr_obj *o = constant_of(f, in->args[0]);
    return o && o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_REDUCE && in->nargs > 2 &&
           (in->args[2] == v ? !whole : whole);
}

/* operator.add(v, x) and its kin make a list, as `v + x` does, or change v. */
static bool is_operator(const tr_fn *f, const tr_ins *in) {
    const tr_obj *o = constant_of(f, in->args[0]);
    if (!o || o->kind != TR_OBJ_BUILTIN)
        return false;
    uint32_t row = o->u.builtin;
    return row == TR_B_O_ADD || row == TR_B_O_MUL || row == TR_B_O_IADD || row == TR_B_O_IMUL;
}

/* Is what a call or an assignment is given put into a container, or in the place of what is in one? */
static bool is_put(const tr_fn *f, const tr_ins *in, tr_val v) {
    const tr_ins *callee = in->op == TR_OP_CALLPY ? tr_at(f, in->args[0]) : NULL;
    if (callee &&
        (is_instead(callee, in, v) || is_next(f, in, v) || is_default(f, in, v) || makes_named(f, in)))
        return true;
    if (callee)
        return callee->op == TR_OP_GETATTR && tr_em_puts_in_list(callee->imm.s);
    return in->op == TR_OP_SETITEM && in->args[2] == v;
}

static bool is_slice(const tr_ins *i) {
    return i->op == TR_OP_BUILDSLICE || (i->op == TR_OP_OBJ && i->imm.obj->kind == TR_OBJ_SLICE);
}

/* A part of a display whose bounds are known is one; of others only the running program knows how long it
 * is. */
static bool has_known_bounds(const tr_fn *f, const tr_ins *slice) {
    for (uint32_t k = 0; slice->op == TR_OP_BUILDSLICE && k < slice->nargs; k++)
        if (tr_at(f, slice->args[k])->op != TR_OP_OBJ)
            return false;
    return true;
}

/* Does somebody else use the value besides, so that what is done to it is seen there? */
static bool is_used_elsewhere(const tr_fn *f, tr_val v) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->ins.n && n < 2; i++) {
        const tr_ins *in = &f->ins.d[i];
        for (uint32_t k = 0; in->blk != TR_NOBLK && k < in->nargs; k++)
            n += in->args[k] == v;
        for (uint32_t s = 0; in->blk != TR_NOBLK && s < tr_nsucc(in); s++)
            for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                n += in->imm.succ[s].args[k] == v;
    }
    return n > 1 || tr_at(f, v)->op != TR_OP_BUILDLIST;
}

static bool calls(const tr_fn *f, const tr_ins *in, uint32_t func) {
    const tr_ins *callee = in->op == TR_OP_CALLPY && in->blk != TR_NOBLK ? tr_at(f, in->args[0]) : NULL;
    const tr_obj *o = callee ? constant_of(f, in->args[0]) : NULL;
    return callee && (callee->op == TR_OP_CLOSURE ? callee->imm.fn == func
                                                  : o && o->kind == TR_OBJ_FUNC && o->u.func == func);
}

/* Is the function a value that is handed on, so that who calls it is not to be seen? */
static bool is_handed_on(const tr_fn *f, const tr_ins *in, uint32_t func) {
    for (uint32_t k = in->op == TR_OP_CALLPY; in->blk != TR_NOBLK && k < in->nargs; k++) {
        const tr_ins *x = tr_at(f, in->args[k]);
        if (x->op == TR_OP_CLOSURE && x->imm.fn == func)
            return true;
    }
    return false;
}

/* Does somebody who calls the function change what it gives? */
static bool callers_change(walk *w, uint32_t func, uint32_t place) {
    for (uint32_t n = 0; n < w->f->p->funcs.n; n++) {
        const tr_fn *f = w->f->p->funcs.d[n].ssa;
        for (uint32_t v = 0; f && v < f->ins.n; v++)
            if (is_handed_on(f, &f->ins.d[v], func) ||
                (calls(f, &f->ins.d[v], func) && value_changes(w, f, v, place)))
                return true;
    }
    return false;
}

/* What has the display is returned. One of names is a record for who asked, if that one only reads it, but an
 * item where a round gives it. */
static bool hands_on(walk *w, const tr_fn *f, tr_val v, uint32_t place) {
    if (!(place & NAMES))
        return is_returned(w, f, v);
    const tr_func *fn = &w->f->p->funcs.d[f->func];
    return !fn->library && callers_change(w, f->func, place);
}

/* What a round gives has the display in it: the value, which is put somewhere, or what the loop within runs
 * over, and what that takes. One that was made in the round nobody else has. */
static bool round_changes(walk *w, const tr_fn *f, tr_val v, uint32_t place) {
    const tr_round *r = w->f->p->funcs.d[f->func].round;
    bool anywhere = (place & PLACES) == ANYWHERE;
    if (r->inner == UINT32_MAX)
        return place & NAMES || w->made_in != f || is_returned(w, f, v);
    uint32_t held = tr_func_held(&w->f->p->funcs.d[r->inner]);
    for (uint32_t k = 0; k < held; k++)
        if ((anywhere || (place & PLACES) == k + 1) && (param_changes(w, r->inner, k, itself(place)) ||
                                                        (anywhere && param_changes(w, r->inner, k, place))))
            return true;
    return anywhere &&
           (param_changes(w, r->inner, held, itself(place)) || param_changes(w, r->inner, held, place));
}

/* What a generator expression or a comprehension runs over has the display in it: an item is that, or has. */
static bool item_changes(walk *w, const tr_fn *f, const tr_ins *generate, uint32_t place) {
    const tr_ins *closure = tr_at(f, generate->args[0]);
    if (closure->op != TR_OP_CLOSURE)
        return false;
    uint32_t func = closure->imm.fn, held = tr_func_held(&w->f->p->funcs.d[func]);
    return param_changes(w, func, held, itself(place)) ||
           ((place & PLACES) == ANYWHERE && param_changes(w, func, held, place));
}

/* The tuple v has the defaults of an inner function's parameters; which one is whose is not asked. */
static bool default_changes(walk *w, const tr_ins *closure, uint32_t place) {
    const tr_func *fn = &w->f->p->funcs.d[closure->imm.fn];
    for (uint32_t k = 0; k < fn->nargs + fn->nkwonly; k++)
        if (param_changes(w, closure->imm.fn, tr_func_held(fn) + k, itself(place)))
            return true;
    return false;
}

static bool capture_changes(walk *w, const tr_ins *closure, tr_val v, uint32_t place) {
    if (closure->nargs && closure->args[0] == v && (place & PLACES) != ITSELF && !(place & BY_NAME) &&
        default_changes(w, closure, place))
        return true;
    for (uint32_t k = 1; k < closure->nargs; k++)
        if (closure->args[k] == v && param_changes(w, closure->imm.fn, k - 1, place))
            return true;
    return false;
}

/* list(x): the items are a list's. */
static bool makes_list(const tr_fn *f, const tr_ins *call) {
    const tr_obj *o = constant_of(f, call->args[0]);
    return o && o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_LIST;
}

/* itertools.repeat() and its kin. */
static bool is_of_library(const tr_fn *f, const tr_ins *call) {
    const tr_obj *o = constant_of(f, call->args[0]);
    return o && o->kind == TR_OBJ_FUNC && o->u.contract && o->u.contract->library && !o->u.contract->arrays;
}

/* What is given is an item itself. */
static bool is_repeated(const walk *w, const tr_fn *f, const tr_ins *call) {
    return is_of_library(f, call) &&
           strcmp(w->f->p->funcs.d[constant_of(f, call->args[0])->u.func].name, "repeat") == 0;
}

/* zip(), enumerate(), list() and their kin: what they give has what they were given somewhere in it. */
static bool may_hold_arguments(const tr_fn *f, const tr_ins *call) {
    const tr_obj *o = constant_of(f, call->args[0]);
    return is_of_library(f, call) ||
           (o && o->kind == TR_OBJ_BUILTIN && strncmp(tr_builtins[o->u.builtin].path, "builtins.", 9) == 0);
}

static bool is_display(const tr_ins *in) {
    return in->op == TR_OP_BUILDLIST || in->op == TR_OP_BUILDMAP;
}

/* Are two displays alike, as far as it shows: as long, of the same names, and what is in them, too? As what
 * is only read they have a type in common then, if their items have. */
static bool are_alike(const tr_fn *f, const tr_ins *a, const tr_ins *b) {
    bool displays = is_display(a) || is_display(b),
         tuples = a->op == TR_OP_BUILDTUP && b->op == TR_OP_BUILDTUP;
    if (a == b || (!displays && !(tuples && a->nargs == b->nargs)))
        return true;
    if (a->op != b->op || a->nargs != b->nargs)
        return false;
    const tr_ins *x = a, *y = b;
    if (a->op == TR_OP_BUILDMAP) {
        const tr_ins *p = tr_at(f, a->args[0]), *q = tr_at(f, b->args[0]);
        if (p->nargs != q->nargs)
            return false;
        for (uint32_t k = 0; k < p->nargs; k++)
            if (!tr_obj_equal(tr_at(f, p->args[k])->imm.obj, tr_at(f, q->args[k])->imm.obj))
                return false;
        x = tr_at(f, a->args[1]);
        y = tr_at(f, b->args[1]);
    }
    for (uint32_t k = 0; k < x->nargs; k++)
        if (!are_alike(f, tr_at(f, x->args[k]), tr_at(f, y->args[k])))
            return false;
    return true;
}

/* Is it a display, or a tuple that has one? */
static bool has_display(const tr_fn *f, const tr_ins *in) {
    if (in->op != TR_OP_BUILDTUP)
        return is_display(in);
    for (uint32_t k = 0; k < in->nargs; k++)
        if (has_display(f, tr_at(f, in->args[k])))
            return true;
    return false;
}

/* A display of displays that are not alike, or of displays and what else may be a list, or an iterator over
 * one: as tuples they would have no type in common. `for x in [...]` of constants and displays is a tuple, as
 * CPython compiles it. */
static bool is_ragged(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    bool any = false, differ = false;
    if (in->op == TR_OP_ITER)
        in = tr_at(f, in->args[0]);
    if (in->op != TR_OP_BUILDLIST && in->op != TR_OP_BUILDTUP)
        return false;
    for (uint32_t k = 0; k < in->nargs; k++) {
        const tr_ins *item = tr_at(f, in->args[k]);
        any = any || has_display(f, item);
        differ = differ || !are_alike(f, tr_at(f, in->args[0]), item);
    }
    return any && differ;
}

/* Is one item after the other asked for by the same code, or one at a place that is not known? */
static bool wants_one_type(const tr_fn *f, const tr_ins *in, tr_val v) {
    tr_val self = (tr_val)(in - f->ins.d);
    if (in->op == TR_OP_GETITEM)
        return in->args[0] == v && tr_at(f, in->args[1])->op != TR_OP_OBJ;
    if (in->op == TR_OP_GENERATE)
        return in->args[1] == v;
    if (in->op == TR_OP_CALLPY) {
        const tr_ins *callee = tr_at(f, in->args[0]);
        bool print = callee->op == TR_OP_OBJ && callee->imm.obj->kind == TR_OBJ_BUILTIN &&
                     callee->imm.obj->u.builtin == TR_B_PRINT;
        return in->args[0] != v && !print;
    }
    for (uint32_t i = 0; in->op == TR_OP_ITER && i < f->ins.n; i++)
        if (f->ins.d[i].op == TR_OP_GENERATE && f->ins.d[i].args[1] == self)
            return true;
    return false;
}

/* A tuple of displays that are not alike, which a comprehension goes through, or which is asked for an item
 * that only the running program knows: a call may take it apart. */
static bool is_ragged_tuple(const tr_fn *f, tr_val v) {
    for (uint32_t i = 0; tr_at(f, v)->op == TR_OP_BUILDTUP && i < f->ins.n; i++) {
        const tr_ins *in = &f->ins.d[i];
        if (in->blk != TR_NOBLK && in->nargs && (in->op == TR_OP_ITER || in->op == TR_OP_GETITEM) &&
            in->args[0] == v && wants_one_type(f, in, v))
            return is_ragged(f, v);
    }
    return false;
}

/* Item `place` of a tuple, or of a display that is read: it is asked for, or handed on with it. */
static bool tuple_changes(walk *w, const tr_fn *f, const tr_ins *in, tr_val v, uint32_t place) {
    const tr_ins *i = in->op == TR_OP_GETITEM ? tr_at(f, in->args[1]) : NULL;
    uint32_t k = place & PLACES, anywhere = ANYWHERE | (place & NAMES);
    bool library = w->f->p->funcs.d[f->func].library; /* which changes no item, and returns none */
    int64_t at = -1;
    if (in->op == TR_OP_RET)
        return w->f->p->funcs.d[f->func].round ? round_changes(w, f, v, place) : hands_on(w, f, v, place);
    if (in->op == TR_OP_GENERATE)
        return in->args[1] == v && (is_ragged(f, v) || item_changes(w, f, in, place));
    if (i && i->op == TR_OP_OBJ && i->imm.obj->kind == TR_OBJ_INT && tr_bigint_i64(&i->imm.obj->u.n, &at) &&
        at < 0)
        at = -1;
    if (in->op == TR_OP_UNPACK)
        at = in->imm.i & 0xffffffff;
    tr_val self = (tr_val)(in - f->ins.d);
    if (is_put(f, in, v) || in->op == TR_OP_BUILDDICT)
        return !library;
    if (in->op == TR_OP_ITER || in->op == TR_OP_SPREAD)
        return value_changes(w, f, self, place);
    if (in->op == TR_OP_UNPACKEX)
        return value_changes(w, f, self, itself(place)) || value_changes(w, f, self, anywhere);
    if (in->op == TR_OP_BUILDTUP)
        return is_ragged_tuple(f, self) || value_changes(w, f, self, anywhere);
    if (in->op == TR_OP_BINARY && (in->sub == TR_BIN_ADD || in->sub == TR_BIN_MUL)) /* of tuples */
        return value_changes(w, f, self, anywhere);
    if (in->op == TR_OP_BUILDLIST)
        return value_changes(w, f, self, ITSELF) || value_changes(w, f, self, anywhere);
    if (in->op == TR_OP_BUILDMAP) /* v has the values */
        return value_changes(w, f, self, itself(NAMES)) || value_changes(w, f, self, place | BY_NAME);
    if (in->op == TR_OP_CLOSURE)
        return capture_changes(w, in, v, place);
    if (in->op == TR_OP_CALLPY)
        return call_changes(w, f, in, v, place) || best_changes(w, f, in, v, place) ||
               is_reduced(f, in, v, false) || (place & NAMES && makes_list(f, in)) ||
               (!library && may_hold_arguments(f, in) && value_changes(w, f, self, anywhere));
    if (i && in->args[0] == v && is_slice(i)) /* a part has them, too */
        return value_changes(w, f, self, anywhere);
    bool asks = (in->op == TR_OP_UNPACK || ((i || in->op == TR_OP_ITERGET) && in->args[0] == v)) &&
                (at < 0 || at == k || k == ANYWHERE);
    return asks &&
           (value_changes(w, f, self, itself(place)) || (k == ANYWHERE && value_changes(w, f, self, place)));
}

/* A value of a display of names that is read: it is asked for, or handed on with it. */
static bool map_changes(walk *w, const tr_fn *f, const tr_ins *in, tr_val v, uint32_t place) {
    tr_val self = (tr_val)(in - f->ins.d);
    uint32_t anywhere = ANYWHERE | (place & NAMES);
    switch ((tr_op)in->op) {
    case TR_OP_RET: return hands_on(w, f, v, place);
    case TR_OP_GETITEM: return in->args[0] == v && value_changes(w, f, self, itself(place));
    case TR_OP_MATCHKEYS: return value_changes(w, f, self, anywhere);
    case TR_OP_MATCHREST: return value_changes(w, f, self, place);
    case TR_OP_BUILDTUP:
    case TR_OP_BUILDLIST: return value_changes(w, f, self, anywhere);
    case TR_OP_CALLPY: return is_put(f, in, v) || call_changes(w, f, in, v, place);
    case TR_OP_CLOSURE: return capture_changes(w, in, v, place);
    case TR_OP_GETATTR:
        for (uint32_t i = 0; i < f->ins.n; i++) { /* d.get(k), d.values(), d.items() */
            const tr_ins *call = &f->ins.d[i];
            if (call->blk != TR_NOBLK && call->op == TR_OP_CALLPY && call->args[0] == self &&
                value_changes(w, f, i, strcmp(in->imm.s, "get") == 0 ? itself(place) : anywhere))
                return true;
        }
        return false;
    default: return false;
    }
}

/* A display beside this one is a list, and one after the other is asked for by the same code: as a tuple this
 * one would have no type in common with it. */
static bool neighbour_changes(walk *w, const tr_fn *f, const tr_ins *holder, tr_val v) {
    tr_val self = (tr_val)(holder - f->ins.d);
    bool one_type = false;
    for (uint32_t i = 0; i < f->ins.n && !one_type; i++) {
        const tr_ins *in = &f->ins.d[i];
        for (uint32_t k = 0; in->blk != TR_NOBLK && k < in->nargs && !one_type; k++)
            one_type = in->args[k] == self && wants_one_type(f, in, self);
    }
    for (uint32_t k = 0; one_type && k < holder->nargs; k++)
        if (holder->args[k] != v && tr_at(f, holder->args[k])->op == TR_OP_BUILDLIST &&
            value_changes(w, f, holder->args[k], ITSELF))
            return true;
    return false;
}

/* What holds a display, or hands it on, and is itself looked at. */
static bool holder_changes(walk *w, const tr_fn *f, const tr_ins *in, tr_val v, uint32_t place) {
    tr_val self = (tr_val)(in - f->ins.d);
    if (is_ragged_tuple(f, self))
        return true;
    for (uint32_t k = 0; k < in->nargs; k++)
        if (in->args[k] == v && value_changes(w, f, self, k | (place & NAMES)))
            return true;
    if (!(place & NAMES) && neighbour_changes(w, f, in, v))
        return true;
    return in->op == TR_OP_BUILDLIST && value_changes(w, f, self, ITSELF);
}

/* `x is y`: a display that is only read is no object, but it is not None. */
static bool asks_identity(const tr_fn *f, const tr_ins *in) {
    for (uint32_t k = 0; k < 2; k++) {
        const tr_ins *x = tr_at(f, in->args[k]);
        if (x->op == TR_OP_OBJ && x->imm.obj->kind == TR_OBJ_NONE)
            return false;
    }
    return true;
}

/* d.keys(), d.values() or d.items() of a display of names: is it an operand, as a set is, or are the values
 * displays that are not alike, which a comprehension or a call goes through? */
static bool view_changes(const tr_fn *f, tr_val v, tr_val method) {
    const tr_ins *made = tr_at(f, v);
    bool ragged = made->op == TR_OP_BUILDMAP && is_ragged(f, made->args[1]);
    for (uint32_t i = 0; i < f->ins.n; i++) {
        const tr_ins *call = &f->ins.d[i];
        if (call->blk == TR_NOBLK || call->op != TR_OP_CALLPY || call->args[0] != method || call->nargs > 1)
            continue;
        for (uint32_t k = 0; k < f->ins.n; k++) {
            const tr_ins *in = &f->ins.d[k];
            bool uses = false;
            for (uint32_t n = 0; in->blk != TR_NOBLK && n < in->nargs; n++)
                uses = uses || in->args[n] == i;
            if (uses && (in->op == TR_OP_BINARY || in->op == TR_OP_COMPARE || in->op == TR_OP_GETATTR ||
                         (ragged && wants_one_type(f, in, i))))
                return true;
        }
    }
    return false;
}

/* Of a display of names and values: what only a dict can do. */
static bool named_changes(walk *w, const tr_fn *f, const tr_ins *in, tr_val v, uint32_t place) {
    switch ((tr_op)in->op) {
    case TR_OP_GETATTR: return tr_em_changes_dict(in->imm.s) || view_changes(f, v, (tr_val)(in - f->ins.d));
    case TR_OP_COMPARE: return in->sub == TR_CMP_EQ || in->sub == TR_CMP_NE;
    case TR_OP_IS: return asks_identity(f, in);
    case TR_OP_SETITEM: return in->args[0] == v || in->args[2] == v;
    case TR_OP_DELITEM:
    case TR_OP_INPLACE: return in->args[0] == v;
    case TR_OP_BINARY: return in->sub == TR_BIN_OR;
    case TR_OP_RET: return hands_on(w, f, v, place);
    case TR_OP_BUILDTUP:
    case TR_OP_BUILDLIST: return holder_changes(w, f, in, v, place);
    case TR_OP_BUILDDICT:
    case TR_OP_NEWVAR: return true;
    case TR_OP_WRITEVAR: return in->args[1] == v;
    case TR_OP_CALLPY: return is_put(f, in, v) || call_changes(w, f, in, v, place);
    case TR_OP_CLOSURE: return capture_changes(w, in, v, place);
    default: return false;
    }
}

/* A function of the library takes a display for any sequence, but for those that work on lists in place, as
 * heapq's do. */
static bool library_changes(walk *w, const tr_fn *f, const tr_ins *in, tr_val v, uint32_t place) {
    switch ((tr_op)in->op) {
    case TR_OP_GETATTR: return tr_em_changes_list(in->imm.s) && strcmp(in->imm.s, "copy") != 0;
    case TR_OP_SETITEM:
    case TR_OP_DELITEM: return in->args[0] == v;
    case TR_OP_CALLPY: return call_changes(w, f, in, v, place);
    case TR_OP_CLOSURE: return capture_changes(w, in, v, place);
    default: return false;
    }
}

/* A display of displays is handed to a function of the library that goes through it: as tuples these would
 * have no type in common. */
static bool is_walked_rows(const tr_fn *f, const tr_ins *call, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    if (in->op == TR_OP_PARAM && in->blk) { /* one of several, `a if c else b` */
        uint32_t at = tr_param_index(f, v);
        for (tr_way way = {0}; tr_next_way(f, in->blk, &way);)
            if (tr_at(f, way.edge->args[at])->op != TR_OP_PARAM &&
                is_walked_rows(f, call, way.edge->args[at]))
                return true;
        return false;
    }
    bool walks = is_of_library(f, call), rows = false;
    while (in->op == TR_OP_GETITEM && is_slice(tr_at(f, in->args[1]))) /* a part of it has them, too */
        in = tr_at(f, in->args[0]);
    for (uint32_t k = 0; walks && in->op == TR_OP_BUILDLIST && k < in->nargs; k++)
        rows = rows || has_display(f, tr_at(f, in->args[k]));
    return rows;
}

/* partial(f, v): what f does with it is not looked for. */
static bool is_bound(const tr_fn *f, const tr_ins *call) {
    const tr_obj *o = constant_of(f, call->args[0]);
    return o && o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_PARTIAL;
}

static bool use_changes(walk *w, const tr_fn *f, const tr_ins *in, tr_val v, uint32_t place) {
    if (place == ITSELF && w->f->p->funcs.d[f->func].library)
        return library_changes(w, f, in, v, place);
    if (place & BY_NAME)
        return map_changes(w, f, in, v, place);
    if ((place & PLACES) != ITSELF)
        return tuple_changes(w, f, in, v, place);
    if (place & NAMES)
        return named_changes(w, f, in, v, place);
    if (is_ragged(f, v) && wants_one_type(f, in, v))
        return true;
    switch ((tr_op)in->op) {
    case TR_OP_GETATTR: return tr_em_changes_list(in->imm.s);
    case TR_OP_IS: return asks_identity(f, in);
    case TR_OP_GETITEM: /* a part of it is as it is */
        return in->args[0] == v && is_slice(tr_at(f, in->args[1])) &&
               (!has_known_bounds(f, tr_at(f, in->args[1])) ||
                value_changes(w, f, (tr_val)(in - f->ins.d), ITSELF));
    case TR_OP_SETITEM: return in->args[0] == v || (is_put(f, in, v) && is_used_elsewhere(f, v));
    case TR_OP_DELITEM:
    case TR_OP_INPLACE: return in->args[0] == v;
    case TR_OP_BINARY: return in->sub == TR_BIN_ADD || in->sub == TR_BIN_MUL; /* makes one */
    case TR_OP_RET: return is_returned(w, f, v);
    case TR_OP_BUILDTUP:
    case TR_OP_BUILDLIST: return holder_changes(w, f, in, v, place);
    case TR_OP_BUILDDICT:
    case TR_OP_NEWVAR: return true;
    case TR_OP_WRITEVAR: return in->args[1] == v;
    case TR_OP_CALLPY:
        return is_put(f, in, v) || is_walked_rows(f, in, v) || is_bound(f, in) || is_operator(f, in) ||
               is_reduced(f, in, v, true) || best_changes(w, f, in, v, place) ||
               call_changes(w, f, in, v, ITSELF) ||
               (is_repeated(w, f, in) && value_changes(w, f, (tr_val)(in - f->ins.d), ANYWHERE));
    case TR_OP_CLOSURE: return capture_changes(w, in, v, ITSELF);
    default: return false;
    }
}

/* A display of names may meet what is known by names, too. */
static bool may_be_names(const tr_fn *f, const tr_ins *in) {
    const tr_obj *o = in->op == TR_OP_CALLPY ? constant_of(f, in->args[0]) : NULL;
    if (in->op == TR_OP_CALLPY)
        return tr_at(f, in->args[0])->op == TR_OP_CLOSURE || (o && o->kind == TR_OBJ_FUNC);
    return in->op == TR_OP_OBJ && in->imm.obj->kind == TR_OBJ_DICT;
}

/* What a block's parameter is on the ways to the block, each once. */
static void add_ways(walk *w, const tr_fn *f, tr_val param, uint8_t *seen, tr_u32s *work) {
    uint32_t at = tr_param_index(f, param);
    for (tr_way way = {0}; tr_next_way(f, tr_at(f, param)->blk, &way);)
        if (!seen[way.edge->args[at]]) {
            seen[way.edge->args[at]] = 1;
            tr_vec_push(&w->f->ctx->arena, work, way.edge->args[at]);
        }
}

/* What meets a display in a block's parameter: one that is not alike or is changed, or no display, which what
 * is only read has no type in common with. `made`: the display, or a part of one, of a length that is not
 * looked for; or a parameter, which may be given a display of names. */
static bool meets_other(walk *w, const tr_fn *f, tr_val param, const tr_ins *made, uint32_t place) {
    bool names = place & NAMES;
    uint8_t *seen = TR_NEW_N(&w->f->ctx->arena, uint8_t, f->ins.n + 1u);
    tr_u32s work = {0};
    tr_vec_push(&w->f->ctx->arena, &work, param);
    seen[param] = 1;
    for (uint32_t i = 0; i < work.n; i++) {
        const tr_ins *p = tr_at(f, work.d[i]);
        if (p == made || p->op == TR_OP_UNDEFVAR || (names && may_be_names(f, p)))
            continue;
        if (p->op == (names ? TR_OP_BUILDMAP : TR_OP_BUILDLIST)) {
            if (p->op != made->op || !are_alike(f, p, made) || value_changes(w, f, work.d[i], place))
                return true;
            continue;
        }
        if (p->op != TR_OP_PARAM || !p->blk)
            return true;
        add_ways(w, f, work.d[i], seen, &work);
    }
    return false;
}

/* A tuple with a display in it meets, in a block's parameter, what the function was given: that has lists and
 * dicts. */
static bool meets_given(walk *w, const tr_fn *f, tr_val param) {
    uint8_t *seen = TR_NEW_N(&w->f->ctx->arena, uint8_t, f->ins.n + 1u);
    tr_u32s work = {0};
    tr_vec_push(&w->f->ctx->arena, &work, param);
    seen[param] = 1;
    for (uint32_t i = 0; i < work.n; i++) {
        const tr_ins *p = tr_at(f, work.d[i]);
        if (p->op != TR_OP_PARAM)
            continue;
        if (!p->blk)
            return true;
        add_ways(w, f, work.d[i], seen, &work);
    }
    return false;
}

static bool is_seen(walk *w, looked_at x) {
    uint64_t key = tr_hash_bytes(&x, sizeof x, 0), at;
    bool seen = tr_map_get(&w->seen, key, &at);
    tr_map_set(&w->f->ctx->arena, &w->seen, key, 1);
    return seen;
}

/* Blocks' parameters that a value becomes wait in a list, not on the stack: a chain of them may be as long as
 * the function. What a change was found behind is known to change for all who come by later. */
static bool value_changes(walk *w, const tr_fn *f, tr_val v, uint32_t place) {
    tr_arena *a = &w->f->ctx->arena;
    TR_VEC(passed) work = {0};
    tr_vec_push(a, &work, ((passed){v, 0}));
    for (uint32_t at = 0; at < work.n; at++) {
        tr_val x = work.d[at].v;
        uint64_t known;
        bool changes = tr_map_get(&w->f->changed,
                                  tr_hash_bytes(&(looked_at){f, x, place}, sizeof(looked_at), 0), &known);
        if (!changes && is_seen(w, (looked_at){f, x, place}))
            continue;
        const tr_ins *made = tr_at(f, v);
        bool part = made->op == TR_OP_GETITEM && is_slice(tr_at(f, made->args[1]));
        bool given = made->op == TR_OP_PARAM && !made->blk && !w->f->p->funcs.d[f->func].library;
        bool display = (place & PLACES) == ITSELF && !(place & BY_NAME) &&
                       (place & NAMES || made->op == TR_OP_BUILDLIST || part || given);
        bool in_tuple = !(place & BY_NAME) && (place & PLACES) != ITSELF && made->op == TR_OP_BUILDTUP &&
                        !w->f->p->funcs.d[f->func].library;
        for (uint32_t i = 0; i < f->ins.n && !changes; i++) {
            const tr_ins *in = &f->ins.d[i];
            bool uses = false;
            for (uint32_t k = 0; in->blk != TR_NOBLK && k < in->nargs; k++)
                uses = uses || in->args[k] == x;
            changes = uses && use_changes(w, f, in, x, place);
            for (uint32_t s = 0; in->blk != TR_NOBLK && s < tr_nsucc(in) && !changes; s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n && !changes; k++) {
                    if (in->imm.succ[s].args[k] != x)
                        continue;
                    tr_val p = tr_blk_at(f, in->imm.succ[s].to)->params.d[k];
                    tr_vec_push(a, &work, ((passed){p, at}));
                    changes = display ? meets_other(w, f, p, made, place) : in_tuple && meets_given(w, f, p);
                }
        }
        for (uint32_t k = at; changes; k = work.d[k].from) {
            looked_at found = {f, work.d[k].v, place};
            tr_map_set(a, &w->f->changed, tr_hash_bytes(&found, sizeof found, 0), 1);
            if (k == 0)
                return true;
        }
    }
    return false;
}

static bool is_made(infer *f, const tr_fn *src, tr_val v, uint32_t place) {
    walk w = {.f = f, .made_in = src};
    struct {
        const tr_fn *src;
        uint64_t v;
    } of = {src, v};
    uint64_t key = tr_hash_bytes(&of, sizeof of, 0), known;
    if (tr_map_get(&f->displays, key, &known))
        return known;
    known = value_changes(&w, src, v, place);
    tr_map_set(&f->ctx->arena, &f->displays, key, known);
    return known;
}

bool tr_infer_makes_list(infer *f, const tr_fn *src, tr_val v) {
    return is_made(f, src, v, ITSELF);
}

bool tr_infer_makes_dict(infer *f, const tr_fn *src, tr_val v) {
    return is_made(f, src, v, itself(NAMES));
}
