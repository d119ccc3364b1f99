/* What each neutral instruction does to the variables, and the IR it makes.
 *
 * Bytecode that passed tr_front_flow is well formed in arguments and depths; what remains to
 * be checked here is what the stack holds: a place holder where a value belongs sets `bad`,
 * and the function ends as malformed. */
#include "front/ssa.h"

#include <assert.h>

static tr_val emit(tr_ssa *s, tr_op op, uint32_t n, const tr_val *args) {
    return tr_emit_v(&s->b, op, NULL, n, args);
}
static tr_val emit_sub(tr_ssa *s, tr_op op, int sub, uint32_t n, const tr_val *args) {
    tr_val v = emit(s, op, n, args);
    tr_at(s->ir, v)->sub = (uint8_t)sub;
    return v;
}
static tr_val none(tr_ssa *s) {
    return tr_const_obj(s->ir, tr_obj_none());
}
/* The first fault wins; a value to go on with is returned so that callers need no cases. */
static tr_val bad(tr_ssa *s, const char *what) {
    if (!s->bad)
        s->bad = what;
    return none(s);
}
static void refuse(tr_ssa *s, tr_nyi_id why) {
    if (!s->why.is)
        s->why = (tr_refusal){true, why, s->d->ins[s->at].off};
}

/* --- the stack --- */

static tr_val *slot(tr_ssa *s, uint32_t depth) {
    assert(depth < s->f->maxdepth && "a position that blocks.c has found room for");
    return &s->cur[tr_flow_slot(s->f, depth)];
}
static void push(tr_ssa *s, tr_val v) {
    tr_val *p = slot(s, s->depth++);
    p[0] = v;
    p[1] = p[2] = TR_NOVAL;
}
/* The value at a stack position; stored back, so that copies of a list are the same list. */
static tr_val value_at(tr_ssa *s, uint32_t depth) {
    tr_val *p = slot(s, depth);
    if (tr_front_is_note(*p))
        *p = tr_front_settle(s, *p);
    if (*p >= TR_NULLVAL)
        return bad(s, "a place holder is used as a value");
    return *p;
}
static tr_val pop(tr_ssa *s) {
    assert(s->depth > 0 && "blocks.c has counted what is there");
    return value_at(s, --s->depth);
}
/* The n topmost values, the deepest first. */
static tr_val *pop_n(tr_ssa *s, uint32_t n) {
    assert(n <= s->depth && "blocks.c has counted what is there");
    tr_val *args = TR_NEW_N(&s->ctx->arena, tr_val, n + 1);
    s->depth -= n;
    for (uint32_t i = 0; i < n; i++)
        args[i] = value_at(s, s->depth + i);
    return args;
}
static const tr_obj *obj_of(const tr_ssa *s, tr_val v) {
    return tr_at(s->ir, v)->op == TR_OP_OBJ ? tr_at(s->ir, v)->imm.obj : NULL;
}

/* --- variables --- */

tr_val tr_front_undef(tr_ssa *s, const char *name, tr_undef whose) {
    tr_val v = emit_sub(s, TR_OP_UNDEFVAR, (int)whose, 0, NULL);
    tr_at(s->ir, v)->imm.s = name;
    return v;
}

static void set_bound(tr_ssa *s, uint32_t var, bool bound) {
    if (tr_bits_get(&s->f->maybe_unbound, var))
        s->cur[tr_flow_bound(s->f, var)] = tr_const_obj(s->ir, tr_obj_bool(&s->ctx->arena, bound));
}

static bool op_reads_variable(const tr_bc *i, uint32_t var) {
    return (i->op == TR_N_LOAD || i->op == TR_N_LOADCLEAR || i->op == TR_N_DEL) && i->arg == (int32_t)var;
}

/* Did CPython's compiler write this read of a variable down more than once, where one of the
 * copies may find a value? It copies what leaves a function to the paths that come there,
 * conditions of loops, and `finally`. */
static bool is_copied(const tr_ssa *s, uint32_t var) {
    const tr_span *here = &s->spans[s->d->ins[s->at].off / 2];
    bool copied = false, assigned = false;
    for (uint32_t k = 0; here->line > 0 && k < s->d->n; k++) {
        const tr_bc *i = &s->d->ins[k];
        assigned |= i->op == TR_N_STORE && i->arg == (int32_t)var;
        copied |=
            k != s->at && op_reads_variable(i, var) && !memcmp(&s->spans[i->off / 2], here, sizeof *here);
    }
    return copied && (assigned || (!s->func->round && var < s->func->nargs));
}

static bool is_unset(const tr_ssa *s, tr_val v) {
    const tr_ins *d = tr_at(s->ir, v);
    return d->op == TR_OP_UNDEFVAR && d->sub == TR_UNDEF_UNSET;
}

static tr_val check_bound(tr_ssa *s, uint32_t var, tr_undef whose, tr_val flag) {
    tr_val check = emit(s, TR_OP_CHECKDEF, 1, &flag);
    tr_at(s->ir, check)->sub = (uint8_t)whose;
    tr_at(s->ir, check)->imm.s = s->c->localsplus[var];
    return check;
}

static tr_val unassigned(tr_ssa *s, uint32_t var, tr_undef whose) {
    bool free = s->c->kinds[var] & KIND_FREE;
    if (!free && is_copied(s, var))
        check_bound(s, var, whose, tr_const_obj(s->ir, tr_obj_bool(&s->ctx->arena, false)));
    return tr_front_undef(s, s->c->localsplus[var], free ? TR_UNDEF_FREE : whose);
}

/* Reading a variable that is unassigned here is an instruction of its own, so that the message points at it.
 * One that is assigned on some paths only is checked when the code runs; so is one read where the source has
 * one read for several paths and the bytecode one for each. */
static tr_val read_var_as(tr_ssa *s, uint32_t var, tr_undef whose) {
    assert(var < s->f->nlocals && "blocks.c has looked at arguments");
    tr_val v = s->cur[var];
    if (v == TR_NOVAL)
        return bad(s, "a variable has no value");
    if (is_unset(s, v))
        return unassigned(s, var, whose);
    if (!tr_bits_get(&s->f->maybe_unbound, var))
        return v;
    tr_val flag = s->cur[tr_flow_bound(s->f, var)];
    if (flag == TR_NOVAL)
        return bad(s, "a variable has no value");
    if (obj_of(s, flag))
        return obj_of(s, flag)->u.i ? v : unassigned(s, var, whose);
    check_bound(s, var, whose, flag);
    set_bound(s, var, true);
    return v;
}

static tr_val read_var(tr_ssa *s, uint32_t var) {
    return read_var_as(s, var, TR_UNDEF_LOCAL);
}

static void unassign(tr_ssa *s, uint32_t var) {
    s->cur[var] = tr_front_undef(s, s->c->localsplus[var], TR_UNDEF_UNSET);
    set_bound(s, var, false);
}

/* Only what has a value can be deleted. */
static void delete (tr_ssa *s, uint32_t var) {
    read_var(s, var);
    unassign(s, var);
}

/* What an inner function takes, as of now. */
static void note_taken(tr_ssa *s, uint32_t var) {
    bool unbound = s->cur[var] == TR_NOVAL || is_unset(s, s->cur[var]),
         shared = tr_front_is_shared(s->func, var);
    tr_vec_push(&s->ctx->arena, &s->captures, (tr_capture){s->blk, s->at, var, unbound, shared, TR_NOVAL});
}

static tr_val captured(tr_ssa *s, uint32_t var) {
    assert(var < s->f->nlocals && "its function has the variable, or has it from one around");
    note_taken(s, var);
    if (s->cur[var] == TR_NOVAL) /* it is assigned before one of the kin loads it */
        return tr_front_undef(s, s->c->localsplus[var], TR_UNDEF_UNSET);
    return read_var_as(s, var, TR_UNDEF_FREE);
}

static void load(tr_ssa *s, const tr_bc *i) {
    uint32_t var = (uint32_t)i->arg;
    bool taken_along = i->op == TR_N_LOAD && (s->c->kinds[var] & (KIND_CELL | KIND_FREE));
    if (taken_along)
        note_taken(s, var);
    bool put_away = i->op == TR_N_LOADCLEAR && s->cur[var] != TR_NOVAL && is_unset(s, s->cur[var]);
    push(s, put_away ? s->cur[var] : read_var_as(s, var, taken_along ? TR_UNDEF_FREE : TR_UNDEF_LOCAL));
    if (i->op == TR_N_LOADCLEAR)
        unassign(s, var);
}

tr_val tr_front_declared(tr_ssa *s, uint32_t var, tr_val v) {
    const tr_obj *type = s->c->declared ? s->c->declared[var] : NULL;
    if (!type)
        return v;
    tr_val args[2] = {tr_const_obj(s->ir, type), v}, r = emit(s, TR_OP_CALLPY, 2, args);
    tr_at(s->ir, r)->imm.call = TR_NEW(&s->ctx->arena, tr_callinfo);
    return r;
}

static void store(tr_ssa *s, uint32_t var) {
    assert(var < s->f->nlocals && "blocks.c has looked at arguments");
    tr_val v = pop(s);
    if (is_unset(s, v)) {
        unassign(s, var); /* a comprehension puts back what it put away */
        return;
    }
    v = tr_front_declared(s, var, v);
    bool named = v < s->ir->names.n && s->ir->names.d[v];
    if (!named && !tr_is_const(tr_at(s->ir, v)))
        tr_val_name(s->ir, v, s->c->localsplus[var]);
    s->cur[var] = v;
    set_bound(s, var, true);
}

/* Of variables that functions share: what stands for one is memory. */
static tr_val on_shared(tr_ssa *s, tr_op op, uint32_t var, uint32_t n, tr_val x) {
    tr_val args[2] = {s->cur[var], x};
    assert(tr_front_is_shared(s->func, var) && args[0] != TR_NOVAL && "it is memory from the start");
    tr_val v = emit(s, op, n, args);
    tr_at(s->ir, v)->imm.s = s->c->localsplus[var];
    return v;
}

static void read_shared(tr_ssa *s, uint32_t var) {
    tr_val v = on_shared(s, TR_OP_READVAR, var, 1, TR_NOVAL);
    tr_at(s->ir, v)->sub = s->c->kinds[var] & KIND_FREE ? TR_UNDEF_FREE : TR_UNDEF_LOCAL;
    tr_val_name(s->ir, v, s->c->localsplus[var]);
    push(s, v);
}

static void write_shared(tr_ssa *s, uint32_t var) {
    tr_val v = tr_front_declared(s, var, pop(s));
    on_shared(s, TR_OP_WRITEVAR, var, 2, v);
}

static void load_global(tr_ssa *s, uint32_t name) {
    assert(name < s->c->nnames && "blocks.c has looked at arguments");
    const tr_obj *o = s->c->globals[name];
    push(s, o ? tr_const_obj(s->ir, o) : tr_front_undef(s, s->c->names[name], TR_UNDEF_GLOBAL));
}

static tr_val attr(tr_ssa *s, tr_val x, const char *name) {
    tr_val v = emit(s, TR_OP_GETATTR, 1, &x);
    tr_at(s->ir, v)->imm.s = name;
    return v;
}

static void load_attr(tr_ssa *s, uint32_t name) {
    push(s, attr(s, pop(s), s->c->names[name]));
}

static const tr_obj *exception_class(tr_ssa *s, tr_exc exc) {
    tr_obj *o = TR_NEW(&s->ctx->arena, tr_obj);
    o->kind = TR_OBJ_EXC;
    o->repr = tr_exc_name[exc];
    o->u.exc = exc;
    return o;
}

static const tr_obj *common(tr_ssa *s, tr_common id) {
    tr_arena *a = &s->ctx->arena;
    switch (id) {
    case TR_COMMON_ASSERTION_ERROR: return exception_class(s, TR_EXC_ASSERT);
    case TR_COMMON_NOT_IMPLEMENTED_ERROR: return exception_class(s, TR_EXC_NOTIMPL);
    case TR_COMMON_EMPTY_STRING: return tr_obj_str(a, "");
    case TR_COMMON_TRUE:
    case TR_COMMON_FALSE: return tr_obj_bool(a, id == TR_COMMON_TRUE);
    case TR_COMMON_MINUS_ONE: return tr_obj_int(a, -1);
    case TR_COMMON_NONE:
    case TR_COMMON_CONSUMER: /* refused by decode */
    case TR_COMMON__COUNT: break;
    }
    return tr_obj_none();
}

static void swap(tr_ssa *s, uint32_t n) {
    assert(n >= 1 && n <= s->depth && "both are there");
    tr_val *a = slot(s, s->depth - 1), *b = slot(s, s->depth - n);
    for (int k = 0; k < 3; k++) {
        tr_val t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
}

/* --- operators --- */

static void operate(tr_ssa *s, tr_op op, int sub, uint32_t n) {
    push(s, emit_sub(s, op, sub, n, pop_n(s, n)));
}

/* A branch and `not` take the truth of any value, so only a TOBOOL whose value is used says
 * anything: not not x. */
static void to_bool(tr_ssa *s) {
    const tr_bc *next = s->at + 1 < s->d->n ? &s->d->ins[s->at + 1] : NULL;
    if (next && (next->op == TR_N_BRTRUE || next->op == TR_N_BRFALSE ||
                 (next->op == TR_N_UNOP && next->arg == TR_UN_NOT)))
        return;
    operate(s, TR_OP_UNARY, TR_UN_NOT, 1);
    operate(s, TR_OP_UNARY, TR_UN_NOT, 1);
}

static void store_item(tr_ssa *s) {
    tr_val *x = pop_n(s, 3), args[3] = {x[1], x[2], x[0]};
    emit(s, TR_OP_SETITEM, 3, args);
}

static void store_attr(tr_ssa *s, uint32_t name) {
    tr_val *x = pop_n(s, 2), args[2] = {x[1], x[0]}, v = emit(s, TR_OP_SETATTR, 2, args);
    tr_at(s->ir, v)->imm.s = s->c->names[name];
}

static void build_slice(tr_ssa *s, uint32_t n) {
    tr_val *x = pop_n(s, n), args[3] = {x[0], x[1], n == 3 ? x[2] : none(s)};
    push(s, emit(s, TR_OP_BUILDSLICE, 3, args));
}

static void unpack(tr_ssa *s, uint32_t n) {
    tr_val x = pop(s);
    assert(s->depth + n <= s->f->maxdepth && "there is room for the items");
    s->depth += n;
    for (uint32_t i = 0; i < n; i++) {
        tr_val v = emit(s, TR_OP_UNPACK, 1, &x), *p = slot(s, s->depth - 1 - i);
        tr_at(s->ir, v)->imm.i = (int64_t)i | (int64_t)n << 32;
        p[0] = v;
        p[1] = p[2] = TR_NOVAL;
    }
}

/* a, *b, c = x: the first item is on top. */
static void unpack_star(tr_ssa *s, uint32_t before, uint32_t after) {
    tr_val from = pop(s), x = emit_sub(s, TR_OP_SPREAD, TR_SPREAD_COUNTED, 1, &from);
    uint32_t n = before + after + 1;
    assert(s->depth + n <= s->f->maxdepth && "there is room for the items");
    s->depth += n;
    for (uint32_t i = 0; i < n; i++) {
        tr_val v = emit(s, TR_OP_UNPACKEX, 1, &x), *p = slot(s, s->depth - 1 - i);
        tr_at(s->ir, v)->imm.i = (int64_t)i | (int64_t)before << 32 | (int64_t)after << 40;
        p[0] = v;
        p[1] = p[2] = TR_NOVAL;
    }
}

/* --- displays --- */

static void build_list(tr_ssa *s, uint32_t n) {
    tr_val *items = pop_n(s, n), list = tr_front_note(s, NOTE_EMPTY, 0, 0);
    for (uint32_t i = 0; i < n; i++)
        list = tr_front_note(s, NOTE_ITEM, list, items[i]);
    push(s, list);
}

static void list_append(tr_ssa *s) {
    tr_val item = pop(s), list = *slot(s, --s->depth);
    if (!tr_front_is_list(s, list))
        bad(s, "an item is appended to no list");
    else
        push(s, tr_front_note(s, NOTE_ITEM, list, item));
}

static void list_extend(tr_ssa *s) {
    tr_val more = pop(s), list = *slot(s, --s->depth);
    if (!tr_front_is_list(s, list))
        bad(s, "no list is extended");
    else
        push(s, tr_front_extend(s, list, more));
}

static void list_to_tuple(tr_ssa *s) {
    tr_val list = *slot(s, --s->depth);
    if (!tr_front_is_list(s, list))
        bad(s, "no list becomes a tuple");
    else
        push(s, tr_front_note(s, NOTE_TUPLE, list, 0));
}

static void format_string(tr_ssa *s, uint32_t n) {
    tr_val *parts = TR_NEW_N(&s->ctx->arena, tr_val, n + 1);
    s->depth -= n;
    for (uint32_t i = 0; i < n; i++) {
        tr_val v = *slot(s, s->depth + i);
        parts[i] = tr_front_is_note(v) && tr_front_note_at(s, v)->kind == NOTE_FORMAT
                       ? tr_front_note_at(s, v)->v
                       : value_at(s, s->depth + i);
    }
    push(s, emit(s, TR_OP_FORMAT, n, parts));
}

/* What !s, !r and !a make of a value. */
static tr_val convert(tr_ssa *s, tr_val v, uint32_t how) {
    if (!how)
        return v;
    tr_val x = emit(s, how == 1 ? TR_OP_FORMAT : TR_OP_REPR, 1, &v);
    if (how == 3)
        tr_at(s->ir, x)->imm.i = 1;
    return x;
}

static void format_by(tr_ssa *s, uint32_t how) {
    tr_val both[2];
    both[1] = pop(s);
    both[0] = convert(s, pop(s), how);
    push(s, emit(s, TR_OP_SPEC, 2, both));
}

/* --- calls --- */

static void push_call(tr_ssa *s, uint32_t n, const tr_val *args, uint32_t nkw, const tr_obj *const *kw,
                      const uint8_t *stars, bool starstar) {
    tr_callinfo *info = TR_NEW(&s->ctx->arena, tr_callinfo);
    const char **names = TR_NEW_N(&s->ctx->arena, const char *, nkw + 1);
    for (uint32_t i = 0; i < nkw; i++) {
        if (kw[i]->kind != TR_OBJ_STR) {
            bad(s, "a keyword is no string");
            return;
        }
        names[i] = kw[i]->u.s.d;
    }
    *info = (tr_callinfo){.nkw = nkw, .kwnames = names, .stars = stars, .starstar = starstar};
    tr_val v = emit(s, TR_OP_CALLPY, n, args);
    tr_at(s->ir, v)->imm.call = info;
    push(s, v);
}

/* What runs over x and does what the closure says with each item. */
static void generate(tr_ssa *s, tr_val closure, tr_val x) {
    const tr_round *r = s->p->funcs.d[tr_at(s->ir, closure)->imm.fn].round;
    assert(r && "what is done with each item is a function of its own");
    tr_val args[2] = {closure, x};
    if (tr_at(s->ir, x)->op != TR_OP_ITER) /* from 3.15 on the expression's own code asks for it */
        args[1] = emit(s, TR_OP_ITER, 1, &x);
    push(s, emit_sub(s, TR_OP_GENERATE, r->makes, 2, args));
}

static bool is_round(const tr_ssa *s, tr_val v) {
    const tr_ins *i = tr_at(s->ir, v);
    return i->op == TR_OP_CLOSURE && s->p->funcs.d[i->imm.fn].round;
}

/* `n` arguments, the last ones by keyword if `kw` names them. Below them stand a callable and a null in the
 * version's order, or a callable and its first argument. */
static void call(tr_ssa *s, uint32_t n, const tr_obj *kw) {
    uint32_t nkw = kw && kw->kind == TR_OBJ_TUPLE ? kw->u.t.n : 0;
    assert(s->depth >= n + 2 && "a callable and a null, or itself, lie below the arguments");
    tr_val *args = TR_NEW_N(&s->ctx->arena, tr_val, n + 2);
    s->depth -= n + 2;
    tr_val below = *slot(s, s->depth), above = *slot(s, s->depth + 1);
    uint32_t first = below == TR_NULLVAL ? 1 : 0, count = 0;
    for (uint32_t i = first; i < n + 2; i++)
        if (!(i == 1 && first == 0 && above == TR_NULLVAL))
            args[count++] = value_at(s, s->depth + i);
    if (nkw > n || (kw && kw->kind != TR_OBJ_TUPLE))
        bad(s, "keyword names do not fit the call");
    else if (count == 2 && !nkw && is_round(s, args[0]))
        generate(s, args[0], args[1]);
    else
        push_call(s, count, args, nkw, nkw ? kw->u.t.items : NULL, NULL, false);
}

static void call_kw(tr_ssa *s, uint32_t n) {
    const tr_obj *kw = obj_of(s, pop(s));
    if (!kw)
        bad(s, "keyword names are not constant");
    else
        call(s, n, kw);
}

static tr_val *keys_and_values(tr_ssa *s, uint32_t n, const tr_obj *keys) {
    tr_val *x = pop_n(s, keys ? n : 2 * n), *both = TR_NEW_N(&s->ctx->arena, tr_val, 2 * n + 1);
    for (uint32_t i = 0; i < n; i++) {
        both[2 * i] = keys ? tr_const_obj(s->ir, keys->u.t.items[i]) : x[2 * i];
        both[2 * i + 1] = x[keys ? i : 2 * i + 1];
    }
    return both;
}

/* A display has all that an iterable gives, by its own method. */
static void update_display(tr_ssa *s) {
    tr_val *x = pop_n(s, 2), of[2], method = emit(s, TR_OP_GETATTR, 1, &x[0]);
    tr_at(s->ir, method)->imm.s = "update";
    of[0] = method;
    of[1] = x[1];
    tr_at(s->ir, emit(s, TR_OP_CALLPY, 2, of))->imm.call = NULL;
    push(s, x[0]);
}

/* {1, 2, 3}: an empty display, and what is known of it. */
static void update_set(tr_ssa *s) {
    tr_val more = value_at(s, s->depth - 1), set = value_at(s, s->depth - 2);
    const tr_obj *o = obj_of(s, more);
    if (!o || o->kind != TR_OBJ_TUPLE || tr_at(s->ir, set)->nargs) {
        update_display(s);
        return;
    }
    tr_val *items = TR_NEW_N(&s->ctx->arena, tr_val, o->u.t.n + 1);
    for (uint32_t i = 0; i < o->u.t.n; i++)
        items[i] = tr_const_obj(s->ir, o->u.t.items[i]);
    s->depth -= 2;
    push(s, emit(s, TR_OP_BUILDSET, o->u.t.n, items));
}

/* Keyword arguments on the way to a call with more of them than CALL takes; a dict display otherwise. */
static void build_map(tr_ssa *s, uint32_t n, const tr_obj *keys) {
    tr_val *both = keys_and_values(s, n, keys);
    for (uint32_t i = 0; i < n; i++) {
        const tr_obj *key = obj_of(s, both[2 * i]);
        if (!key || key->kind != TR_OBJ_STR) {
            push(s, emit(s, TR_OP_BUILDDICT, 2 * n, both));
            return;
        }
    }
    tr_val map = tr_front_note(s, NOTE_MAP, n, 0);
    tr_fnote m = *tr_front_note_at(s, map);
    m.more = TR_NOVAL;
    m.keys = TR_NEW_N(&s->ctx->arena, const tr_obj *, n + 1);
    m.vals = TR_NEW_N(&s->ctx->arena, tr_val, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        m.keys[i] = obj_of(s, both[2 * i]);
        m.vals[i] = both[2 * i + 1];
    }
    s->notes.d[map & ~TR_NOTE] = m;
    push(s, map);
}

static void build_keymap(tr_ssa *s, uint32_t n) {
    const tr_obj *keys = obj_of(s, pop(s));
    if (!keys || keys->kind != TR_OBJ_TUPLE || keys->u.t.n != n)
        bad(s, "the keys of a map are no tuple");
    else
        build_map(s, n, keys);
}

/* Two mappings, either of which may be several already: a tuple of all. */
static tr_val both_mappings(tr_ssa *s, tr_val a, tr_val b) {
    tr_val two[2] = {a, b},
           *all = TR_NEW_N(&s->ctx->arena, tr_val, tr_at(s->ir, a)->nargs + tr_at(s->ir, b)->nargs + 2u);
    uint32_t n = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const tr_ins *in = tr_at(s->ir, two[i]);
        for (uint32_t k = 0; in->op == TR_OP_BUILDTUP && k < in->nargs; k++)
            all[n++] = in->args[k];
        if (in->op != TR_OP_BUILDTUP)
            all[n++] = two[i];
    }
    return emit(s, TR_OP_BUILDTUP, n, all);
}

/* f(k=v, **m): what is merged is a map of keywords as well, or a mapping. */
static void merge_map(tr_ssa *s) {
    tr_val x = *slot(s, --s->depth), map = *slot(s, --s->depth);
    bool both = tr_front_is_map(s, map) && tr_front_is_map(s, x);
    const tr_fnote *a = tr_front_is_map(s, map) ? tr_front_note_at(s, map) : NULL,
                   *b = both ? tr_front_note_at(s, x) : NULL;
    if (!a) {
        refuse(s, TR_NYI_STARSTAR);
        return;
    }
    tr_fnote m = *a;
    if (b) {
        m.keys = TR_NEW_N(&s->ctx->arena, const tr_obj *, a->prev + b->prev + 1);
        m.vals = TR_NEW_N(&s->ctx->arena, tr_val, a->prev + b->prev + 1);
        for (uint32_t i = 0; i < a->prev + b->prev; i++) {
            m.keys[i] = i < a->prev ? a->keys[i] : b->keys[i - a->prev];
            m.vals[i] = i < a->prev ? a->vals[i] : b->vals[i - a->prev];
        }
        m.prev = a->prev + b->prev;
        m.more = a->more == TR_NOVAL   ? b->more
                 : b->more == TR_NOVAL ? a->more
                                       : both_mappings(s, a->more, b->more);
    } else {
        *slot(s, s->depth + 1) = x;
        m.more = value_at(s, s->depth + 1);
        if (a->more != TR_NOVAL)
            m.more = both_mappings(s, a->more, m.more);
    }
    tr_vec_push(&s->ctx->arena, &s->notes, m);
    push(s, TR_NOTE | (s->notes.n - 1));
}

/* f(a, *x, b, k=v, **m) */
static void call_star(tr_ssa *s, bool with_map) {
    tr_val map = with_map ? *slot(s, --s->depth) : TR_NULLVAL;
    bool has_map = tr_front_is_map(s, map);
    tr_val more = has_map             ? tr_front_note_at(s, map)->more
                  : map == TR_NULLVAL ? TR_NOVAL
                                      : value_at(s, s->depth);
    tr_val tuple = *slot(s, --s->depth);
    if (!tr_front_is_tuple(s, tuple))
        tuple = value_at(s, s->depth);
    s->depth -= 2;
    tr_val callee = value_at(s, *slot(s, s->depth) == TR_NULLVAL ? s->depth + 1 : s->depth);
    uint32_t nkw = has_map ? tr_front_note_at(s, map)->prev : 0, npos;
    const uint8_t *stars;
    const tr_val *pos = tr_front_starred(s, tuple, &npos, &stars);
    tr_val *args = TR_NEW_N(&s->ctx->arena, tr_val, npos + nkw + 2);
    args[0] = callee;
    for (uint32_t i = 0; i < npos; i++)
        args[i + 1] = pos[i];
    for (uint32_t i = 0; i < nkw; i++)
        args[npos + 1 + i] = tr_front_note_at(s, map)->vals[i];
    args[npos + nkw + 1] = more;
    push_call(s, npos + nkw + 1 + (more != TR_NOVAL), args, nkw,
              has_map ? tr_front_note_at(s, map)->keys : NULL, stars, more != TR_NOVAL);
}

/* --- patterns --- */

static void match_class(tr_ssa *s, uint32_t npos) {
    tr_val v = emit(s, TR_OP_MATCHCLASS, 3, pop_n(s, 3));
    tr_at(s->ir, v)->imm.i = npos;
    push(s, v);
}

static void match_keys(tr_ssa *s) {
    tr_val *of = pop_n(s, 2), values = emit(s, TR_OP_MATCHKEYS, 2, of);
    push(s, of[0]);
    push(s, of[1]);
    push(s, values);
}

/* {'a': x, **rest}: what is copied first is dropped, decode.c has dropped what deletes its keys. */
static void match_rest(tr_ssa *s) {
    tr_val *x = pop_n(s, 2), of[2] = {x[1], x[0]};
    s->depth--;
    push(s, emit(s, TR_OP_MATCHREST, 2, of));
    push(s, x[0]);
}

/* --- inner functions --- */

/* The function that is made of the code `func`. A generator expression is one, and before 3.12
 * a comprehension: what they do with each item is what is called, and what is nothing of the
 * kind is refused as what the user wrote. */
static bool find_function(tr_ssa *s, uint32_t func, uint32_t *out) {
    const char *name = s->p->funcs.d[func].name;
    bool gen = !strcmp(name, "<genexpr>");
    tr_nyi_id why = TR_NYI__COUNT;
    *out = func;
    if (tr_front_is_expression(name) && !tr_front_rounds(s->p, func, out, &why)) {
        bad(s, "what an expression runs over is not to be seen");
        return false;
    }
    if (why != TR_NYI__COUNT)
        refuse(s, why);
    else if (gen && *out == UINT32_MAX)
        refuse(s, TR_NYI_GENERATOR);
    else if (*out == UINT32_MAX)
        refuse(s, TR_NYI_COMPREHENSION);
    return !s->why.is;
}

/* closure f, defaults, captured... */
static void push_closure(tr_ssa *s, uint32_t func, tr_val defaults, uint32_t n, const tr_val *captured) {
    assert(func < s->p->funcs.n && "a function of the program");
    tr_val *args = TR_NEW_N(&s->ctx->arena, tr_val, n + 1);
    args[0] = defaults;
    for (uint32_t i = 0; i < n; i++)
        args[i + 1] = captured[i];
    uint32_t itself = n ? s->p->funcs.d[func].itself : 0;
    if (itself && !s->p->funcs.d[func].kin)
        args[itself] = defaults; /* front/share.c */
    tr_val v = emit(s, TR_OP_CLOSURE, n + 1, args);
    tr_at(s->ir, v)->imm.fn = func;
    push(s, v);
}

/* Defaults by the parameters' names, where some are of parameters that go by keyword alone: what was given
 * for them, a map, and a tuple of the others, or None. */
static tr_val defaults_by_name(tr_ssa *s, uint32_t func, tr_val tuple, uint32_t nkw, const tr_obj *const *kw,
                               const tr_val *vals) {
    const tr_func *fn = &s->p->funcs.d[func];
    const tr_ins *t = tr_at(s->ir, tuple);
    const tr_obj *o = obj_of(s, tuple);
    uint32_t n = t->op == TR_OP_BUILDTUP ? t->nargs : o && o->kind == TR_OBJ_TUPLE ? o->u.t.n : 0;
    const tr_obj **keys = TR_NEW_N(&s->ctx->arena, const tr_obj *, n + nkw + 1);
    tr_val *x = TR_NEW_N(&s->ctx->arena, tr_val, n + nkw + 1);
    if (n > fn->nargs)
        return bad(s, "a function has more defaults than parameters");
    for (uint32_t i = 0; i < n; i++) {
        keys[i] = tr_obj_str(&s->ctx->arena, fn->argnames[fn->nargs - n + i]);
        x[i] = o ? tr_const_obj(s->ir, o->u.t.items[i]) : t->args[i];
    }
    for (uint32_t i = 0; i < nkw; i++) {
        keys[n + i] = kw[i];
        x[n + i] = vals[i];
    }
    return tr_front_keyed(s, n + nkw, keys, x);
}

/* The defaults `kw`, a map of keywords, beside what there are of others. */
static tr_val with_kwdefaults(tr_ssa *s, uint32_t func, tr_val tuple, tr_val kw) {
    if (!tr_front_is_map(s, kw) || tr_front_note_at(s, kw)->more != TR_NOVAL)
        return bad(s, "defaults of keyword-only parameters are no map");
    const tr_fnote *m = tr_front_note_at(s, kw);
    return defaults_by_name(s, func, tuple, m->prev, m->keys, m->vals);
}

/* A tuple of defaults beside those of keyword-only parameters, if there are some. */
static tr_val with_defaults(tr_ssa *s, uint32_t func, tr_val had, tr_val tuple) {
    const tr_ins *m = tr_at(s->ir, had);
    if (m->op != TR_OP_BUILDMAP)
        return tuple;
    const tr_ins *names = tr_at(s->ir, m->args[0]), *vals = tr_at(s->ir, m->args[1]);
    const tr_obj **keys = TR_NEW_N(&s->ctx->arena, const tr_obj *, names->nargs + 1);
    for (uint32_t i = 0; i < names->nargs; i++)
        keys[i] = obj_of(s, names->args[i]);
    return defaults_by_name(s, func, tuple, names->nargs, keys, vals->args);
}

/* The n variables that were loaded last are what the function on top captures; one that names itself was not
 * loaded. */
static void note_captured(tr_ssa *s, uint32_t n) {
    const tr_ins *fn = tr_at(s->ir, *slot(s, s->depth - 1));
    assert(fn->op == TR_OP_CLOSURE && "a function is on top");
    const tr_func *of = &s->p->funcs.d[fn->imm.fn];
    uint32_t all = s->captures.n, loaded = n - (n && of->itself && !of->kin);
    for (uint32_t i = 0; n && of->kin && i < of->nfree; i++)
        loaded -= tr_front_kin_named(of->kin, of->code->localsplus[of->freeidx[i]]) < of->kin->n;
    for (uint32_t i = loaded < all ? all - loaded : 0; i < all; i++)
        s->captures.d[i].fn = *slot(s, s->depth - 1);
}

/* A function that computes annotations is never called: what it captures may change, or have no value yet. */
static void forget_annotate(tr_ssa *s, tr_val fn) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->captures.n; i++)
        if (s->captures.d[i].fn != fn)
            s->captures.d[n++] = s->captures.d[i];
    s->captures.n = n;
    const tr_ins *c = tr_at(s->ir, fn);
    for (uint32_t i = 0; c->op == TR_OP_CLOSURE && i < c->nargs; i++)
        if (tr_at(s->ir, c->args[i])->op == TR_OP_UNDEFVAR)
            tr_at(s->ir, c->args[i])->sub = TR_UNDEF_UNSET; /* so that it goes when nothing uses it */
}

/* What a function captures, those that `t` has and more that it holds for its kin, as if it were loaded. */
static const tr_val *all_held(tr_ssa *s, uint32_t func, const tr_ins *t, uint32_t *n) {
    const tr_func *fn = &s->p->funcs.d[func];
    *n = t ? t->nargs : 0;
    if (!t || fn->nmore == 0)
        return t ? t->args : NULL;
    tr_val *v = TR_NEW_N(&s->ctx->arena, tr_val, tr_func_held(fn));
    memcpy(v, t->args, t->nargs * sizeof *v);
    for (uint32_t i = 0; i < fn->nmore; i++)
        v[(*n)++] = captured(s, tr_front_variable(s->c, fn->more[i]));
    return v;
}

/* The tuple of what a function captures, or NULL. */
static const tr_ins *captured_tuple(tr_ssa *s, tr_val v, uint32_t func) {
    const tr_ins *t = tr_at(s->ir, v);
    if (t->op == TR_OP_BUILDTUP && t->nargs == s->p->funcs.d[func].nfree)
        return t;
    bad(s, "a closure is not the tuple its function needs");
    return NULL;
}

static void make_function(tr_ssa *s, uint32_t flags) {
    const tr_obj *code = obj_of(s, pop(s));
    if (!code || code->kind != TR_OBJ_CODE || code->u.func >= s->p->funcs.n) {
        bad(s, "a function is made of no code");
        return;
    }
    uint32_t func;
    if (!find_function(s, code->u.func, &func))
        return;
    tr_val captured = flags & FN_CLOSURE ? pop(s) : TR_NOVAL;
    if (flags & FN_ANNOTATE)
        forget_annotate(s, pop(s));
    if (flags & FN_ANNOTATIONS)
        pop(s);
    tr_val kw = flags & FN_KWDEFAULTS ? *slot(s, --s->depth) : TR_NOVAL;
    tr_val defaults = flags & FN_DEFAULTS ? pop(s) : none(s);
    if (kw != TR_NOVAL)
        defaults = with_kwdefaults(s, func, defaults, kw);
    const tr_ins *t = captured == TR_NOVAL ? NULL : captured_tuple(s, captured, func);
    uint32_t n;
    const tr_val *held = all_held(s, func, t, &n);
    push_closure(s, func, defaults, n, held);
    note_captured(s, n);
}

/* From 3.13 on a function gets its defaults and cells after it is made; its cells first. */
static void set_function_attr(tr_ssa *s, uint32_t flag) {
    tr_val fn = pop(s), map = *slot(s, s->depth - 1);
    tr_val x = flag == FN_KWDEFAULTS ? (s->depth--, TR_NOVAL) : pop(s);
    const tr_ins *i = tr_at(s->ir, fn);
    if (i->op != TR_OP_CLOSURE)
        bad(s, "an attribute is set on no function");
    else if (flag == FN_KWDEFAULTS) {
        tr_val all = with_kwdefaults(s, i->imm.fn, i->args[0], map);
        i = tr_at(s->ir, fn);
        push_closure(s, i->imm.fn, all, i->nargs - 1, i->args + 1);
    } else if (flag == FN_ANNOTATIONS)
        push(s, fn);
    else if (flag == FN_ANNOTATE) {
        forget_annotate(s, x);
        push(s, fn);
    } else if (flag == FN_DEFAULTS) {
        tr_val all = with_defaults(s, i->imm.fn, i->args[0], x);
        i = tr_at(s->ir, fn);
        push_closure(s, i->imm.fn, all, i->nargs - 1, i->args + 1);
    } else if (flag == FN_CLOSURE && captured_tuple(s, x, i->imm.fn)) {
        uint32_t n, func = i->imm.fn;
        tr_val defaults = i->args[0];
        const tr_val *held = all_held(s, func, tr_at(s->ir, x), &n);
        push_closure(s, func, defaults, n, held);
        note_captured(s, n);
    } else
        bad(s, "a function gets no known attribute");
}

/* --- what runs over something --- */

/* The variables that it takes, behind `first`. */
static tr_val *taken(tr_ssa *s, const tr_takes *t, tr_val first) {
    tr_val *x = TR_NEW_N(&s->ctx->arena, tr_val, t->n + 1u);
    x[0] = first;
    for (uint32_t i = 0; i < t->n; i++)
        x[i + 1] = read_var(s, t->vars[i]);
    return x;
}

static void comprehend(tr_ssa *s, const tr_takes *t) {
    tr_val x = pop(s), *of = taken(s, t, none(s));
    push_closure(s, t->func, of[0], t->n, of + 1);
    generate(s, pop(s), x);
}

static void end_round(tr_ssa *s, uint32_t n, const tr_val *x) {
    tr_val t = emit(s, TR_OP_BUILDTUP, n, x);
    emit(s, TR_OP_RET, 1, &t);
}

/* --- control --- */

static void get_iter(tr_ssa *s) {
    tr_val x = pop(s), z = emit(s, TR_OP_ITER, 1, &x);
    push(s, z);
    tr_val *p = slot(s, s->depth - 1);
    p[1] = emit(s, TR_OP_ITERLEN, 1, &z);
    p[2] = tr_const_obj(s->ir, tr_obj_int(&s->ctx->arena, 0));
}

static const tr_val *iterator(tr_ssa *s) {
    const tr_val *p = slot(s, s->depth - 1);
    if (p[0] < TR_NOTE && p[1] < TR_NOTE && p[2] < TR_NOTE)
        return p;
    bad(s, "a loop runs over no iterator");
    return NULL;
}

static tr_bid succ(const tr_ssa *s, uint32_t k) {
    assert(k < s->f->blks[s->blk].nsucc && "the block has that way out");
    return s->bid[s->f->blks[s->blk].succ[k]];
}

static void for_next(tr_ssa *s) {
    const tr_val *p = iterator(s);
    if (!p)
        return;
    tr_val item = emit(s, TR_OP_ITERGET, 2, (tr_val[]){p[0], p[2]}); /* p[2]: the step that branch() made */
    slot(s, s->depth - 1)[2] = emit(s, TR_OP_ITERSTEP, 1, (tr_val[]){p[2]});
    push(s, item);
}

/* Of a loop that is written out. */
static void for_item(tr_ssa *s, uint32_t k) {
    tr_val z = value_at(s, s->depth - 1), nth = tr_const_obj(s->ir, tr_obj_int(&s->ctx->arena, k));
    push(s, emit(s, TR_OP_ITERGET, 2, (tr_val[]){z, nth}));
}

static void branch(tr_ssa *s, const tr_bc *i) {
    tr_val cond;
    bool jump_if_true = i->op == TR_N_BRTRUE || i->op == TR_N_BRNONE;
    if (i->op == TR_N_FORITER) {
        const tr_val *p = iterator(s);
        if (!p)
            return;
        cond = emit(s, TR_OP_NEXT, 3, p);
        slot(s, s->depth - 1)[2] = cond;
        s->depth--; /* as on the jump; the way on reads the slots as they are */
        tr_at(s->ir, cond)->imm.i = s->func->round ? 0 : (int64_t)s->at + 1; /* for tr_front_unroll */
    } else if (i->op == TR_N_BRNONE || i->op == TR_N_BRNOTNONE) {
        cond = emit(s, TR_OP_IS, 2, (tr_val[]){pop(s), none(s)});
    } else {
        cond = pop(s);
    }
    s->swapped[s->blk] = jump_if_true;
    tr_cbr(&s->b, cond, succ(s, jump_if_true), 0, NULL, succ(s, !jump_if_true), 0, NULL);
}

/* --- handlers --- */

static void push_exception(tr_ssa *s) {
    tr_val exc = pop(s);
    push(s, s->cur[s->f->handled]);
    push(s, exc);
    s->cur[s->f->handled] = exc;
}

static void match(tr_ssa *s) {
    tr_val classes = pop(s), args[2] = {value_at(s, s->depth - 1), classes};
    push(s, emit(s, TR_OP_EXCMATCH, 2, args));
}

/* A `with` is calls of two methods of its manager; whether an exception ends there is asked by excmatch. */
static void enter_with(tr_ssa *s) {
    tr_val manager = pop(s), enter = attr(s, manager, "__enter__");
    push(s, attr(s, manager, "__exit__"));
    push_call(s, 1, &enter, 0, NULL, NULL, false);
}

static void load_special(tr_ssa *s, uint32_t which) {
    push(s, attr(s, pop(s), which ? "__exit__" : "__enter__"));
    push(s, TR_NULLVAL);
}

static void exit_with(tr_ssa *s, uint32_t depth) {
    tr_val args[2] = {value_at(s, s->depth - 1), value_at(s, s->depth - depth)};
    push(s, emit(s, TR_OP_EXCMATCH, 2, args));
}

static void raise(tr_ssa *s, uint32_t n) {
    tr_val *x = pop_n(s, n);
    const tr_obj *handled = n ? NULL : obj_of(s, s->cur[s->f->handled]);
    if (handled && handled->kind == TR_OBJ_NONE)
        refuse(s, TR_NYI_RERAISE);
    if (!n) {
        emit(s, TR_OP_RERAISE, 1, &s->cur[s->f->handled]);
        return;
    }
    tr_val args[3] = {x[0], s->cur[s->f->handled], n == 2 ? x[1] : TR_NOVAL};
    const tr_obj *context = obj_of(s, args[1]);
    bool alone = context && context->kind == TR_OBJ_NONE;
    emit(s, TR_OP_RAISEPY, n == 2 ? 3 : alone ? 1 : 2, args);
}

static void execute(tr_ssa *s, const tr_bc *i) {
    uint32_t arg = (uint32_t)i->arg;
    switch ((tr_nop)i->op) {
    case TR_N_CONST: push(s, tr_const_obj(s->ir, s->c->consts[arg])); break;
    case TR_N_INT: push(s, tr_const_obj(s->ir, tr_obj_int(&s->ctx->arena, arg))); break;
    case TR_N_COMMON: push(s, tr_const_obj(s->ir, common(s, (tr_common)arg))); break;
    case TR_N_LOAD:
    case TR_N_LOADCLEAR:
    case TR_N_LOADDEREF: load(s, i); break;
    case TR_N_STORE:
    case TR_N_STOREDEREF: store(s, arg); break;
    case TR_N_READVAR: read_shared(s, arg); break;
    case TR_N_WRITEVAR: write_shared(s, arg); break;
    case TR_N_DEL: delete (s, arg); break;
    case TR_N_GLOBAL: load_global(s, arg); break;
    case TR_N_ATTR: load_attr(s, arg); break;
    case TR_N_STOREATTR: store_attr(s, arg); break;
    case TR_N_PUSHNULL: push(s, TR_NULLVAL); break;
    case TR_N_POP: s->depth--; break;
    case TR_N_COPY: push(s, value_at(s, s->depth - arg)); break;
    case TR_N_SWAP: swap(s, arg); break;
    case TR_N_UNOP: operate(s, TR_OP_UNARY, i->arg, 1); break;
    case TR_N_TOBOOL: to_bool(s); break;
    case TR_N_BINOP: operate(s, i->aux ? TR_OP_INPLACE : TR_OP_BINARY, i->arg, 2); break;
    case TR_N_CMP: operate(s, TR_OP_COMPARE, i->arg, 2); break;
    case TR_N_IS: operate(s, TR_OP_IS, i->arg & 1, 2); break;
    case TR_N_IN: operate(s, TR_OP_IN, i->arg & 1, 2); break;
    case TR_N_SUBSCR: operate(s, TR_OP_GETITEM, 0, 2); break;
    case TR_N_STORESUBSCR: store_item(s); break;
    case TR_N_DELSUBSCR: emit(s, TR_OP_DELITEM, 2, pop_n(s, 2)); break;
    case TR_N_SLICE: build_slice(s, arg); break;
    case TR_N_TUPLE: operate(s, TR_OP_BUILDTUP, 0, arg); break;
    case TR_N_LIST: build_list(s, arg); break;
    case TR_N_LISTAPPEND: list_append(s); break;
    case TR_N_LISTEXTEND: list_extend(s); break;
    case TR_N_SET: push(s, emit(s, TR_OP_BUILDSET, arg, pop_n(s, arg))); break;
    case TR_N_SETUPDATE: update_set(s); break;
    case TR_N_MAPUPDATE: update_display(s); break;
    case TR_N_LISTTUPLE: list_to_tuple(s); break;
    case TR_N_MAP: build_map(s, arg, NULL); break;
    case TR_N_KEYMAP: build_keymap(s, arg); break;
    case TR_N_MAPMERGE: merge_map(s); break;
    case TR_N_STRING: format_string(s, arg); break;
    case TR_N_SPEC: format_by(s, arg); break;
    case TR_N_CONVERT: push(s, convert(s, pop(s), arg)); break;
    case TR_N_FORMAT: push(s, tr_front_note(s, NOTE_FORMAT, 0, pop(s))); break;
    case TR_N_UNPACK: unpack(s, arg); break;
    case TR_N_UNPACKEX: unpack_star(s, arg & 255, arg >> 8); break;
    case TR_N_KWNAMES: s->kwnames = s->c->consts[arg]; break;
    case TR_N_LENOF: push(s, emit(s, TR_OP_ITERLEN, 1, (tr_val[]){value_at(s, s->depth - 1)})); break;
    case TR_N_MATCHSEQ: push(s, emit(s, TR_OP_MATCHSEQ, 1, (tr_val[]){value_at(s, s->depth - 1)})); break;
    case TR_N_MATCHCLASS: match_class(s, arg); break;
    case TR_N_MATCHMAP: push(s, emit(s, TR_OP_MATCHMAP, 1, (tr_val[]){value_at(s, s->depth - 1)})); break;
    case TR_N_MATCHKEYS: match_keys(s); break;
    case TR_N_MATCHREST: match_rest(s); break;
    case TR_N_CALL:
        call(s, arg, s->kwnames);
        s->kwnames = NULL;
        break;
    case TR_N_CALLKW: call_kw(s, arg); break;
    case TR_N_CALLEX: call_star(s, arg == 1); break;
    case TR_N_MAKEFN: make_function(s, arg); break;
    case TR_N_SETFNATTR: set_function_attr(s, arg); break;
    case TR_N_COMPREHEND: comprehend(s, &s->d->takes[arg]); break;
    case TR_N_YIELD: end_round(s, 1, (tr_val[]){pop(s)}); break;
    case TR_N_RUNINNER: end_round(s, s->d->takes[arg].n + 1, taken(s, &s->d->takes[arg], pop(s))); break;
    case TR_N_LEAVEOUT: emit(s, TR_OP_RET, 1, (tr_val[]){none(s)}); break;
    case TR_N_COMPAPPEND: bad(s, "an item is appended to no list"); break;
    case TR_N_GETITER: get_iter(s); break;
    case TR_N_FORNEXT: for_next(s); break;
    case TR_N_FORITEM: for_item(s, arg); break;
    case TR_N_FORITER:
    case TR_N_BRTRUE:
    case TR_N_BRFALSE:
    case TR_N_BRNONE:
    case TR_N_BRNOTNONE: branch(s, i); break;
    case TR_N_JUMP: tr_br(&s->b, succ(s, 0), 0, NULL); break;
    case TR_N_RETURN: emit(s, TR_OP_RET, 1, (tr_val[]){pop(s)}); break;
    case TR_N_RAISE: raise(s, arg); break;
    case TR_N_RERAISE: emit(s, TR_OP_RERAISE, 1, (tr_val[]){pop(s)}); break;
    case TR_N_PUSHEXC: push_exception(s); break;
    case TR_N_POPEXC: s->cur[s->f->handled] = pop(s); break;
    case TR_N_EXCMATCH: match(s); break;
    case TR_N_WITHENTER: enter_with(s); break;
    case TR_N_SPECIAL: load_special(s, arg); break;
    case TR_N_WITHEXIT: exit_with(s, arg); break;
    case TR_N_NOP:
    case TR_N_ENDFOR: break;
    case TR_N_REFUSED:
    case TR_N__COUNT: bad(s, "an instruction out of place"); break;
    }
}

/* The stack is as deep as nop.def says of it, `before` the instruction so deep; a loop's head leaves as
 * on the jump. */
static __attribute__((unused)) bool has_its_effect(const tr_ssa *s, const tr_bc *i, uint32_t before) {
    uint32_t pops = 0, pushes = 0;
    tr_nop_effect(i, &pops, &pushes);
    return s->depth + (i->op == TR_N_FORITER) == before - pops + pushes;
}

void tr_front_exec(tr_ssa *s, const tr_bc *i) {
    uint32_t before = s->depth;
    (void)before;
    execute(s, i);
    assert((s->bad || s->why.is || has_its_effect(s, i, before)) && "an instruction does what its row says");
}
