/* Displays and arguments while they are put together: `[a, *b]`, `(a, *b)`, `f(a, *b, k=v)`. Bytecode makes
 * each as a list, or a map, that grows. A note stands for it, as only who takes it says what it becomes: a
 * list, a sum of tuples, the arguments of a call.
 *
 * What has a star is read where it stands: what is evaluated behind it may change it. So it is spread into a
 * list of its own, unless nothing that could change it comes before the display is done. */
#include "front/ssa.h"

#include <assert.h>
#include <string.h>

static tr_val emit(tr_ssa *s, tr_op op, uint32_t n, const tr_val *args) {
    return tr_emit_v(&s->b, op, NULL, n, args);
}

tr_val tr_front_note(tr_ssa *s, tr_notek kind, tr_val prev, tr_val v) {
    tr_fnote n = {.kind = (uint8_t)kind, .prev = prev, .v = v, .off = s->d->ins[s->at].off, .loc = s->b.loc};
    tr_vec_push(&s->ctx->arena, &s->notes, n);
    return TR_NOTE | (s->notes.n - 1);
}

const tr_fnote *tr_front_note_at(const tr_ssa *s, tr_val v) {
    assert(tr_front_is_note(v) && (v & ~TR_NOTE) < s->notes.n && "a note that was taken");
    return &s->notes.d[v & ~TR_NOTE];
}

bool tr_front_is_map(const tr_ssa *s, tr_val v) {
    return tr_front_is_note(v) && tr_front_note_at(s, v)->kind == NOTE_MAP;
}

bool tr_front_is_tuple(const tr_ssa *s, tr_val v) {
    return tr_front_is_note(v) && tr_front_note_at(s, v)->kind == NOTE_TUPLE;
}

bool tr_front_is_list(const tr_ssa *s, tr_val v) {
    return tr_front_is_note(v) && tr_front_note_at(s, v)->kind <= NOTE_EXTEND;
}

/* Items of a growing list, in order: notes. */
static tr_val *list_items(const tr_ssa *s, tr_val list, uint32_t *n) {
    *n = 0;
    for (tr_val v = list; tr_front_note_at(s, v)->kind != NOTE_EMPTY; v = tr_front_note_at(s, v)->prev)
        ++*n;
    tr_val *items = TR_NEW_N(&s->ctx->arena, tr_val, *n + 1), *p = items + *n;
    for (tr_val v = list; tr_front_note_at(s, v)->kind != NOTE_EMPTY; v = tr_front_note_at(s, v)->prev)
        *--p = v;
    return items;
}

static bool is_starred(const tr_ssa *s, tr_val item) {
    return tr_front_note_at(s, item)->kind == NOTE_EXTEND;
}

tr_val tr_front_extend(tr_ssa *s, tr_val list, tr_val more) {
    const tr_ins *in = tr_at(s->ir, more);
    const tr_obj *o = in->op == TR_OP_OBJ ? in->imm.obj : NULL;
    if (o && o->kind == TR_OBJ_TUPLE) {
        for (uint32_t i = 0; i < o->u.t.n; i++)
            list = tr_front_note(s, NOTE_ITEM, list, tr_const_obj(s->ir, o->u.t.items[i]));
        return list;
    }
    tr_val v = emit(s, TR_OP_SPREAD, 1, &more);
    tr_at(s->ir, v)->sub = TR_SPREAD_COPY;
    return tr_front_note(s, NOTE_EXTEND, list, v);
}

/* The value of one with a star. The display is done: is there anything behind it that may change what it is
 * of? */
static tr_val spread(tr_ssa *s, tr_val item) {
    tr_val v = tr_front_note_at(s, item)->v;
    bool same = tr_at(s->ir, v)->blk == s->b.blk;
    for (tr_val i = tr_at(s->ir, v)->next; same && i != TR_NOVAL; i = tr_at(s->ir, i)->next)
        same = !(tr_op_info[tr_at(s->ir, i)->op].effects & (E_SIDE | E_WRITE));
    if (same)
        tr_at(s->ir, v)->sub = TR_SPREAD_AS_IS;
    return v;
}

static void call_method(tr_ssa *s, tr_val list, const char *name, tr_val x) {
    tr_val of[2] = {emit(s, TR_OP_GETATTR, 1, &list), x};
    tr_at(s->ir, of[0])->imm.s = name;
    tr_val v = emit(s, TR_OP_CALLPY, 2, of);
    tr_at(s->ir, v)->imm.call = TR_NEW(&s->ctx->arena, tr_callinfo);
}

/* [a, *b, c] is a list of what comes before a star; the rest is put behind it. */
static tr_val settle_list(tr_ssa *s, tr_val list) {
    uint32_t n, k = 0;
    tr_val *items = list_items(s, list, &n), *v = TR_NEW_N(&s->ctx->arena, tr_val, n + 1);
    for (uint32_t i = 0; i < n; i++)
        v[i] = is_starred(s, items[i]) ? spread(s, items[i]) : tr_front_note_at(s, items[i])->v;
    while (k < n && !is_starred(s, items[k]))
        k++;
    tr_val out = emit(s, TR_OP_BUILDLIST, k, v);
    for (uint32_t i = k; i < n; i++)
        call_method(s, out, is_starred(s, items[i]) ? "extend" : "append", v[i]);
    return out;
}

/* (a, *b, c) is the sum of its parts: (a,) + b + (c,). */
static tr_val settle_tuple(tr_ssa *s, tr_val list) {
    uint32_t n, from = 0;
    tr_val *items = list_items(s, list, &n), *v = TR_NEW_N(&s->ctx->arena, tr_val, n + 1), sum = TR_NOVAL;
    for (uint32_t i = 0; i <= n; i++) {
        bool starred = i < n && is_starred(s, items[i]);
        if (i < n && !starred) {
            v[i] = tr_front_note_at(s, items[i])->v;
            continue;
        }
        tr_val part[2] = {i > from || sum == TR_NOVAL ? emit(s, TR_OP_BUILDTUP, i - from, v + from)
                                                      : TR_NOVAL,
                          starred ? spread(s, items[i]) : TR_NOVAL};
        for (uint32_t k = 0; k < 2; k++) {
            tr_val both[2] = {sum, part[k]};
            if (part[k] == TR_NOVAL)
                continue;
            if (sum != TR_NOVAL) {
                part[k] = emit(s, TR_OP_BINARY, 2, both);
                tr_at(s->ir, part[k])->sub = TR_BIN_ADD;
            }
            sum = part[k];
        }
        from = i + 1;
    }
    return sum;
}

const tr_val *tr_front_starred(tr_ssa *s, tr_val tuple, uint32_t *n, const uint8_t **stars) {
    *stars = NULL;
    if (!tr_front_is_tuple(s, tuple)) {
        const tr_ins *t = tr_at(s->ir, tuple);
        tr_val *whole = TR_NEW(&s->ctx->arena, tr_val);
        bool apart = t->op == TR_OP_BUILDTUP; /* it was put together for this call */
        *whole = tuple;
        *n = apart ? t->nargs : 1;
        if (!apart)
            *stars = memset(TR_NEW(&s->ctx->arena, uint8_t), 1, 1);
        return apart ? t->args : whole;
    }
    tr_val *items = list_items(s, tr_front_note_at(s, tuple)->prev, n),
           *v = TR_NEW_N(&s->ctx->arena, tr_val, *n + 1);
    uint8_t *starred = TR_NEW_N(&s->ctx->arena, uint8_t, *n + 1);
    for (uint32_t i = 0; i < *n; i++) {
        starred[i] = is_starred(s, items[i]);
        v[i] = starred[i] ? spread(s, items[i]) : tr_front_note_at(s, items[i])->v;
        if (starred[i])
            *stars = starred;
    }
    return v;
}

tr_val tr_front_keyed(tr_ssa *s, uint32_t n, const tr_obj *const *keys, const tr_val *vals) {
    tr_val *names = TR_NEW_N(&s->ctx->arena, tr_val, n + 1), both[2];
    for (uint32_t i = 0; i < n; i++)
        names[i] = tr_const_obj(s->ir, keys[i]);
    both[0] = emit(s, TR_OP_BUILDTUP, n, names);
    both[1] = emit(s, TR_OP_BUILDTUP, n, vals);
    return emit(s, TR_OP_BUILDMAP, 2, both);
}

/* A display: with names for keys it is a record, as long as it is only read. A key that stands there again
 * gets the later value. */
static tr_val settle_map(tr_ssa *s, const tr_fnote *m) {
    const tr_obj **keys = TR_NEW_N(&s->ctx->arena, const tr_obj *, m->prev + 1);
    tr_val *vals = TR_NEW_N(&s->ctx->arena, tr_val, m->prev + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->prev; i++) {
        uint32_t k = 0;
        while (k < n && strcmp(keys[k]->u.s.d, m->keys[i]->u.s.d) != 0)
            k++;
        keys[k] = k < n ? keys[k] : m->keys[i];
        vals[k] = m->vals[i];
        n += k == n;
    }
    if (m->more != TR_NOVAL) {
        if (!s->why.is)
            s->why = (tr_refusal){true, TR_NYI_DICT, m->off};
        return tr_const_obj(s->ir, tr_obj_none());
    }
    if (n == 0)
        return emit(s, TR_OP_BUILDDICT, 0, NULL);
    return tr_front_keyed(s, n, keys, vals);
}

tr_val tr_front_settle(tr_ssa *s, tr_val v) {
    const tr_fnote *n = tr_front_note_at(s, v);
    uint32_t loc = s->b.loc;
    s->b.loc = n->loc;
    tr_val r = n->kind == NOTE_MAP      ? settle_map(s, n)
               : n->kind == NOTE_FORMAT ? emit(s, TR_OP_FORMAT, 1, &n->v)
               : n->kind == NOTE_TUPLE  ? settle_tuple(s, n->prev)
                                        : settle_list(s, v);
    s->b.loc = loc;
    return r;
}
