/* Lists, and sets, whose keys are one: what is said of the items is read and written where the list's block
 * has it (rt/layout.h); the runtime is called where there is no room, and for what a table's index says.
 *
 * The block has the tag of the frame, so that LLVM knows that no store to an item changes it, and hoists
 * the look-up out of loops in which the list stays as long as it is. The length is stored last, by one
 * instruction: code that is left before that leaves the list as it was. A slot's parts lie where ty/slot.c
 * says; what it holds is counted where an item is taken, and where another one is put into its place. */
#include "lower/internal.h"

#include <assert.h>

static lv field_at(tr_lf *w, lv list, size_t offset) {
    lv o = l_int(w->m->i64, (long long)(TR_MEM_ALIGN + offset));
    return LLVMBuildInBoundsGEP2(w->b, w->m->i8, list, &o, 1, "");
}

static lv load_field(tr_lf *w, lv list, size_t offset, lt t) {
    lv x = LLVMBuildLoad2(w->b, t, field_at(w, list, offset), "");
    LLVMSetAlignment(x, 8);
    tr_lower_tag(w->m, x, true);
    return x;
}

static void store_length(tr_lf *w, lv list, lv n) {
    lv st = LLVMBuildStore(w->b, n, field_at(w, list, offsetof(tr_list, len)));
    LLVMSetAlignment(st, 8);
    tr_lower_tag(w->m, st, true);
}

static void raise_no_room(tr_lf *w, tr_val v, lv n) {
    const tr_ty *i64 = tr_ty_scalar(w->m->ctx->types, TR_TY_I64);
    tr_lower_raise(w, v, tr_at(w->body->f, v)->imm.site, 1, &i64, (lv *[]){&n});
}

/* The shape of items of that type: a name that says all of it, which the loader knows (rt/shape.c). */
static lv shape_of(tr_lf *w, const tr_ty *item, bool keys) {
    tr_lm *m = w->m;
    unsigned np = tr_ty_nparts(item), n = tr_ty_owners(item, NULL);
    uint32_t *at = TR_NEW_N(&m->ctx->arena, uint32_t, np + 1u),
             *own = TR_NEW_N(&m->ctx->arena, uint32_t, n + 1u);
    char *name = tr_arena_printf(&m->ctx->arena, TR_SHAPE_NAME "_%u", tr_ty_lies(item, at, NULL));
    tr_ty_owners(item, own);
    for (unsigned k = 0; k < n; k++)
        name = tr_arena_printf(&m->ctx->arena, "%s_%u", name, at[own[k]]);
    if (keys) {
        tr_sb words;
        tr_sb_init(&words);
        tr_ty_key_words(item, &words);
        if (words.n)
            name = tr_arena_printf(&m->ctx->arena, "%s%s", name, words.d);
        tr_sb_fini(&words);
    }
    lv g = LLVMGetNamedGlobal(m->mod, name);
    return g ? g : LLVMAddGlobal(m->mod, m->i8, name);
}

/* The list has room for n items from here on. */
static void make_room(tr_lf *w, tr_val v, lv list, lv n) {
    lv cap = load_field(w, list, offsetof(tr_list, cap), w->m->i64), done;
    lb go_on = tr_lower_unless(w, l_icmp(w->b, LLVMIntSLE, n, cap));
    lv args[2] = {list, n};
    tr_lower_rt(w, TR_RT_LIST_ROOM, 2, args, NULL, &done);
    lb made = tr_lower_unless(w, done);
    raise_no_room(w, v, n);
    l_at_end(w->b, made);
    LLVMBuildBr(w->b, go_on);
    l_at_end(w->b, go_on);
}

static void lower_newlist(tr_lf *w, tr_val v, const tr_ins *in) {
    lv n = tr_lower_parts(w, in->args[0])[0], list;
    lv args[2] = {n, shape_of(w, in->ty->items[0], false)};
    tr_lower_rt(w, TR_RT_LIST_NEW, 2, args, NULL, &list);
    lb go_on = tr_lower_unless(w, LLVMBuildIsNotNull(w->b, list, ""));
    raise_no_room(w, v, n);
    l_at_end(w->b, go_on);
    tr_lower_set1(w, v, list);
}

static void lower_items(tr_lf *w, tr_val v, const tr_ins *in) {
    lv list = tr_lower_parts(w, in->args[0])[0];
    lv out[3] = {list, load_field(w, list, offsetof(tr_list, items), w->m->ptr),
                 load_field(w, list, offsetof(tr_list, len), w->m->i64)};
    assert(tr_ty_nparts(in->ty) == 3 && "an array of one axis of layout C");
    tr_lower_set(w, v, 3, out);
}

/* --- slots --- */

/* The address of each part of a slot. */
static void parts_at(tr_lf *w, const tr_ty *t, lv slot, uint32_t n, lv *out) {
    uint32_t *at = TR_NEW_N(&w->m->ctx->arena, uint32_t, n + 1u);
    tr_ty_lies(t, at, NULL);
    for (uint32_t k = 0; k < n; k++) {
        lv o = l_int(w->m->i64, at[k]);
        out[k] = at[k] ? LLVMBuildInBoundsGEP2(w->b, w->m->i8, slot, &o, 1, "") : slot;
    }
}

/* The parts of what is in a slot; of all, or (`owners`) those that count alone: the others are undefined. */
static lv *load_slot(tr_lf *w, const tr_ty *t, lv slot, bool owners) {
    tr_arena *a = &w->m->ctx->arena;
    uint32_t n = tr_ty_nparts(t), nown = tr_ty_owners(t, NULL), *own = TR_NEW_N(a, uint32_t, nown + 1u);
    tr_part *parts = TR_NEW_N(a, tr_part, n + 1u);
    lv *from = TR_NEW_N(a, lv, n + 1u), *out = TR_NEW_N(a, lv, n + 1u);
    tr_ty_parts(t, parts);
    tr_ty_owners(t, own);
    parts_at(w, t, slot, n, from);
    for (uint32_t k = 0, o = 0; k < n; k++) {
        bool is_bool = parts[k] == TR_PART_I1, is_owner = o < nown && own[o] == k;
        o += is_owner;
        if (owners && !is_owner) {
            out[k] = LLVMGetUndef(w->m->part[parts[k]]);
            continue;
        }
        out[k] = LLVMBuildLoad2(w->b, is_bool ? w->m->i8 : w->m->part[parts[k]], from[k], "");
        LLVMSetAlignment(out[k], tr_part_size(parts[k]));
        tr_lower_tag(w->m, out[k], false);
        if (is_bool)
            out[k] = l_icmp(w->b, LLVMIntNE, out[k], l_int(w->m->i8, 0));
    }
    return out;
}

static void store_slot(tr_lf *w, const tr_ty *t, lv slot, const lv *x) {
    tr_arena *a = &w->m->ctx->arena;
    uint32_t n = tr_ty_nparts(t);
    tr_part *parts = TR_NEW_N(a, tr_part, n + 1u);
    lv *to = TR_NEW_N(a, lv, n + 1u);
    tr_ty_parts(t, parts);
    parts_at(w, t, slot, n, to);
    for (uint32_t k = 0; k < n; k++) {
        lv y = parts[k] == TR_PART_I1 ? LLVMBuildZExt(w->b, x[k], w->m->i8, "") : x[k];
        lv st = LLVMBuildStore(w->b, y, to[k]);
        LLVMSetAlignment(st, tr_part_size(parts[k]));
        tr_lower_tag(w->m, st, false);
    }
}

/* What is dropped is dropped when the new item is in its place. */
static void lower_slot(tr_lf *w, tr_val v, const tr_ins *in) {
    const tr_ty *t = tr_lower_ty(w, in->args[0])->elem->items[0];
    lv slot = tr_lower_element_at(w, in->args[0], in->args + 1);
    if (in->op == TR_OP_PUT) {
        lv *old = tr_ty_is_counted(t) ? load_slot(w, t, slot, true) : NULL;
        store_slot(w, t, slot, tr_lower_parts(w, in->args[2]));
        if (old)
            tr_lower_owners(w, t, old, TR_COUNT_RELEASE);
        return;
    }
    lv *x = load_slot(w, t, slot, false);
    if (in->op == TR_OP_TAKE)
        tr_lower_owners(w, t, x, TR_COUNT_RETAIN);
    tr_lower_set(w, v, tr_ty_nparts(t), x);
}

/* --- longer and shorter --- */

static void lower_append(tr_lf *w, tr_val v, const tr_ins *in) {
    const tr_ty *item = tr_lower_ty(w, in->args[0])->items[0], *elem = tr_ty_as_elem(w->m->ctx->types, item);
    lv list = tr_lower_parts(w, in->args[0])[0];
    lv len = load_field(w, list, offsetof(tr_list, len), w->m->i64);
    lv n = LLVMBuildNSWAdd(w->b, len, l_int(w->m->i64, 1), "");
    make_room(w, v, list, n);
    tr_larr a = {.ty = tr_ty_array(w->m->ctx->types, elem, 1, TR_LAYOUT_C, false),
                 .data = load_field(w, list, offsetof(tr_list, items), w->m->ptr)};
    if (elem == item)
        tr_lower_store_at(w, &a, len, tr_lower_parts(w, in->args[1]));
    else
        store_slot(w, item, tr_lower_address(w, &a, len), tr_lower_parts(w, in->args[1]));
    store_length(w, list, n);
}

static void lower_resize(tr_lf *w, tr_val v, const tr_ins *in) {
    lv list = tr_lower_parts(w, in->args[0])[0], n = tr_lower_parts(w, in->args[1])[0];
    if (!tr_ty_is_counted(tr_lower_ty(w, in->args[0])->items[0])) {
        make_room(w, v, list, n);
        store_length(w, list, n);
        return;
    }
    lv args[2] = {list, n}, done;
    tr_lower_rt(w, TR_RT_LIST_RESIZE, 2, args, NULL, &done);
    lb go_on = tr_lower_unless(w, done);
    raise_no_room(w, v, n);
    l_at_end(w->b, go_on);
}

/* --- sets --- */

static const tr_rt find_row[] = {TR_RT_DICT_FIND_BOOL, TR_RT_DICT_FIND_I64,  TR_RT_DICT_FIND_F64,
                                 TR_RT_DICT_FIND_C128, TR_RT_DICT_FIND_2I64, TR_RT_DICT_FIND_STR,
                                 TR_RT_DICT_FIND_ANY};
static const tr_rt enter_row[] = {TR_RT_DICT_ENTER_BOOL, TR_RT_DICT_ENTER_I64,  TR_RT_DICT_ENTER_F64,
                                  TR_RT_DICT_ENTER_C128, TR_RT_DICT_ENTER_2I64, TR_RT_DICT_ENTER_STR,
                                  TR_RT_DICT_ENTER_ANY};
static const tr_rt leave_row[] = {TR_RT_DICT_LEAVE_BOOL, TR_RT_DICT_LEAVE_I64,  TR_RT_DICT_LEAVE_F64,
                                  TR_RT_DICT_LEAVE_C128, TR_RT_DICT_LEAVE_2I64, TR_RT_DICT_LEAVE_STR,
                                  TR_RT_DICT_LEAVE_ANY};

static unsigned class_of(tr_lf *w, const tr_ins *in) {
    return tr_ty_key_class(tr_lower_ty(w, in->args[0])->items[0]);
}

/* The set and the key, as the runtime takes them: one that has no class lies in memory. How many that are. */
static unsigned set_and_key(tr_lf *w, const tr_ins *in, lv *args) {
    const tr_ty *t = tr_lower_ty(w, in->args[1]);
    const lv *key = tr_lower_parts(w, in->args[1]);
    unsigned n = tr_ty_nparts(t);
    args[0] = tr_lower_parts(w, in->args[0])[0];
    if (class_of(w, in) == TR_KEYS_ANY) {
        unsigned align;
        uint32_t size = tr_ty_lies(t, NULL, &align);
        unsigned was = w->in_use; /* only the call has it */
        args[1] = tr_lower_buffer(w, size, align, "key");
        w->in_use = was;
        store_slot(w, t, args[1], key);
        return 2;
    }
    for (unsigned k = 0; k < n; k++)
        args[k + 1] = LLVMTypeOf(key[k]) == w->m->i1 ? LLVMBuildZExt(w->b, key[k], w->m->i8, "") : key[k];
    return n + 1;
}

/* The list of a dict's values, or NULL. */
static lv values_of(tr_lf *w, const tr_ins *in, uint32_t k) {
    return k < in->nargs ? tr_lower_parts(w, in->args[k])[0] : LLVMConstNull(w->m->ptr);
}

static void lower_newset(tr_lf *w, tr_val v, const tr_ins *in) {
    lv set, shape = shape_of(w, in->ty->items[0], true);
    tr_lower_rt(w, TR_RT_DICT_NEW, 1, &shape, NULL, &set);
    lb go_on = tr_lower_unless(w, LLVMBuildIsNotNull(w->b, set, ""));
    raise_no_room(w, v, l_int(w->m->i64, 0));
    l_at_end(w->b, go_on);
    tr_lower_set1(w, v, set);
}

static void lower_find(tr_lf *w, tr_val v, const tr_ins *in) {
    lv args[4], e;
    unsigned n = set_and_key(w, in, args);
    tr_lower_rt(w, find_row[class_of(w, in)], n, args, NULL, &e);
    tr_lower_set1(w, v, e);
}

static void lower_enter(tr_lf *w, tr_val v, const tr_ins *in) {
    lv args[5], e;
    unsigned n = set_and_key(w, in, args);
    args[n++] = values_of(w, in, 2);
    tr_lower_rt(w, enter_row[class_of(w, in)], n, args, NULL, &e);
    lb go_on = tr_lower_unless(w, l_icmp(w->b, LLVMIntSGE, e, l_int(w->m->i64, 0)));
    raise_no_room(w, v, load_field(w, args[0], offsetof(tr_table, live), w->m->i64));
    l_at_end(w->b, go_on);
    tr_lower_set1(w, v, e);
}

/* Where no entry has left, each number is one. */
static void lower_walkon(tr_lf *w, tr_val v, const tr_ins *in) {
    lv set = tr_lower_parts(w, in->args[0])[0], from = tr_lower_parts(w, in->args[1])[0], e;
    lv n = load_field(w, set, offsetof(tr_table, keys.len), w->m->i64);
    lv all = l_icmp(w->b, LLVMIntEQ, n, load_field(w, set, offsetof(tr_table, live), w->m->i64));
    lv none = l_int(w->m->i64, -1);
    lv at = LLVMBuildSelect(w->b, l_icmp(w->b, LLVMIntSLT, from, n), from, none, "");
    lb before = LLVMGetInsertBlock(w->b), go_on = tr_lower_unless(w, all);
    tr_lower_rt(w, TR_RT_DICT_NEXT, 2, (lv[]){set, from}, NULL, &e);
    lb asked = LLVMGetInsertBlock(w->b);
    LLVMBuildBr(w->b, go_on);
    l_at_end(w->b, go_on);
    lv phi = LLVMBuildPhi(w->b, w->m->i64, "");
    LLVMAddIncoming(phi, (lv[]){at, e}, (lb[]){before, asked}, 2);
    tr_lower_set1(w, v, phi);
}

static bool lower_set_op(tr_lf *w, tr_val v, const tr_ins *in) {
    lv none;
    switch ((tr_op)in->op) {
    case TR_OP_NEWSET: lower_newset(w, v, in); break;
    case TR_OP_LIVE:
        tr_lower_set1(w, v,
                      load_field(w, tr_lower_parts(w, in->args[0])[0], offsetof(tr_table, live), w->m->i64));
        break;
    case TR_OP_FIND: lower_find(w, v, in); break;
    case TR_OP_WALKON: lower_walkon(w, v, in); break;
    case TR_OP_ENTER: lower_enter(w, v, in); break;
    case TR_OP_LEAVE:
        tr_lower_rt(
            w, leave_row[class_of(w, in)], 3,
            (lv[]){tr_lower_parts(w, in->args[0])[0], tr_lower_parts(w, in->args[1])[0], values_of(w, in, 2)},
            NULL, &none);
        break;
    case TR_OP_EMPTY:
        tr_lower_rt(w, TR_RT_DICT_CLEAR, 2, (lv[]){tr_lower_parts(w, in->args[0])[0], values_of(w, in, 1)},
                    NULL, &none);
        break;
    default: return false;
    }
    return true;
}

bool tr_lower_list_op(tr_lf *w, tr_val v, const tr_ins *in) {
    switch ((tr_op)in->op) {
    case TR_OP_NEWLIST: lower_newlist(w, v, in); break;
    case TR_OP_ITEMS: lower_items(w, v, in); break;
    case TR_OP_APPEND: lower_append(w, v, in); break;
    case TR_OP_RESIZE: lower_resize(w, v, in); break;
    case TR_OP_TAKE:
    case TR_OP_PEEK:
    case TR_OP_PUT: lower_slot(w, v, in); break;
    default: return lower_set_op(w, v, in);
    }
    return true;
}
