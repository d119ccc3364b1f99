/* Loops over a prange become patterns that may run on all cores.
 *
 * A marked loop (`cmp lt counter, prange n` at its head) turns into one PATTERN: space n, the body
 * as its lambda, what the body uses from outside as captures, and what iterations hand on to each
 * other as reductions (reduction.c). Anything else that is handed on is an error that names the
 * lines, and so is a loop that is left early. Memory: depend.c finds where iterations meet,
 * accumulate.c the arrays in which that does no harm.
 *
 * How it is turned: ploop.c.
 * Runs after bounds, so that checks are gone or stand in a version of their own. A prange
 * inside a prange stays a loop.
 * Cost: linear per loop; control flow is computed anew for each. */

#include <string.h>

#include "ir/alias.h"
#include "ir/nyi.h"
#include "ir/rtinfo.h"
#include "ir/sched.h"
#include "ir/summary.h"
#include "opt/prange/ploop.h"
#include "opt/emit.h"

/* --- what is said of it: TREADLE_DUMP=parallel --- */

static uint32_t line_of(const tr_fn *f, tr_val v) {
    return (uint32_t)tr_fn_place(f, tr_at(f, v)->loc).span.line;
}

static bool remarks_are_wanted(const tr_fn *f) {
    return !f->is_lambda &&
           (tr_remarks_wanted(f->ctx) || tr_dump_wants(&f->ctx->dump, TR_STAGE_PARALLEL, NULL, f->name));
}

/* parallel: it was asked for, so a report tells what came of it. */
static void say(const tr_fn *f, const char *subject, tr_val at, const char *what, bool parallel) {
    if (tr_dump_wants(&f->ctx->dump, TR_STAGE_PARALLEL, NULL, f->name))
        tr_sb_printf(&f->ctx->dump_text, "%s: %s of line %u: %s\n", f->name, subject, line_of(f, at), what);
    if (parallel)
        tr_remark_add(f->ctx, TR_REMARK_CORES, tr_fn_place(f, tr_at(f, at)->loc), "%s: %s", subject, what);
}

static void tell(const tr_ploop *l, const char *what) {
    if (remarks_are_wanted(l->f) && !tr_blk_at(l->f, l->header)->cold)
        say(l->f, "the loop", tr_blk_at(l->f, l->header)->last, what, true);
}

/* --- errors --- */

static tr_place place_of(const tr_fn *f, tr_val v) {
    return tr_fn_place(f, v == TR_NOVAL ? 0 : tr_at(f, v)->loc);
}

static void refuse(const tr_ploop *l, tr_nyi_id row, tr_val at, const char *text) {
    tr_ctx *c = l->f->ctx;
    tr_place place = place_of(l->f, at);
    if (place.span.line <= 0)
        place = place_of(l->f, tr_blk_at(l->f, l->header)->last);
    tr_err *e = tr_err_add(c, TR_ERR_UNSUPPORTED, place, "%s", text);
    e->nyi = tr_nyi_rows[row].id;
    e->hint = tr_nyi_rows[row].text;
}

static bool refuse_carried(const tr_ploop *l, tr_val p, const tr_preduction *r) {
    tr_arena *a = &l->f->ctx->arena;
    int read = (int)place_of(l->f, r->read).span.line, write = (int)place_of(l->f, r->write).span.line;
    const char *text = "a value";
    if (p < l->f->names.n && l->f->names.d[p])
        text = tr_arena_printf(a, "'%s'", l->f->names.d[p]);
    if (r->read == TR_NOVAL)
        text = tr_arena_printf(
            a, "%s is assigned in a prange loop and used after it: it would be any iteration's value", text);
    else
        text = tr_arena_printf(a, "%s is handed from one iteration of a prange loop to the next", text);
    if (r->read != TR_NOVAL && read > 0)
        text = tr_arena_printf(a, "%s: read in line %d", text, read);
    if (r->read != TR_NOVAL && read > 0 && write > 0)
        text = tr_arena_printf(a, "%s, made in line %d", text, write);
    refuse(l, TR_NYI_PRANGE_CARRIED, r->read == TR_NOVAL ? r->write : r->read, text);
    const char *name = p < l->f->names.n && l->f->names.d[p] ? l->f->names.d[p] : "a";
    if (r->read != TR_NOVAL && tr_at(l->f, p)->ty->kind == TR_TY_ARRAY)
        l->f->ctx->last_err->hint = tr_arena_printf(a,
                                                    "to accumulate, write into one array: `%s += x`, -=, *=, "
                                                    "/=, &=, |=, ^=, or np.maximum(%s, x, out=%s) and "
                                                    "np.minimum; else use range",
                                                    name, name, name);
    return false;
}

static const char *name_of(const tr_fn *f, tr_val v) {
    const char *name = v < f->names.n ? f->names.d[v] : NULL;
    return name ? tr_arena_printf(&f->ctx->arena, "'%s'", name) : "an array";
}

static const char *list_name(const tr_fn *f, tr_val v) {
    const char *name = v < f->names.n ? f->names.d[v] : NULL;
    return name ? tr_arena_printf(&f->ctx->arena, "'%s'", name) : "a list";
}

/* What is done to what v has, in the user's words: a variable that functions share is a list of one item
 * (lib/shared.c). */
static const char *told_of_list(const tr_ploop *l, tr_val at, tr_val v, tr_val other) {
    const tr_fn *f = l->f;
    const tr_ins *in = tr_at(f, v);
    const tr_site *s = in->op == TR_OP_NEWLIST ? in->imm.site : NULL;
    const char *name = list_name(f, v);
    int line = other == TR_NOVAL ? 0 : (int)place_of(f, other).span.line;
    if (line > 0 && tr_at(f, at)->op == TR_OP_PUT)
        return tr_arena_printf(&f->ctx->arena,
                               "items of %s are replaced in a prange loop, and line %d reaches others than "
                               "that at the iteration's own place",
                               name, line);
    if (line > 0)
        return tr_arena_printf(
            &f->ctx->arena,
            "%s is appended to in a prange loop, and line %d uses it, or a list that may be "
            "the same, in another way",
            name, line);
    return s && s->text && strcmp(s->text, TR_NO_VARIABLE) == 0
               ? tr_arena_printf(
                     &f->ctx->arena,
                     "%s is a variable that functions share, and assigned to in a prange loop that it "
                     "was made before",
                     name)
               : tr_arena_printf(&f->ctx->arena,
                                 "%s gets longer or shorter in a prange loop, and was made before it", name);
}

/* Both accesses in one sentence. */
static const char *dependence(const tr_ploop *l, const tr_pdepend *d) {
    tr_arena *a = &l->f->ctx->arena;
    const char *array = name_of(l->f, d->array), *verb = d->other_writes ? "writes" : "reads";
    int w = (int)place_of(l->f, d->write).span.line, o = (int)place_of(l->f, d->other).span.line;
    if (d->perhaps_one)
        return tr_arena_printf(
            a, "line %d writes an element of %s, and line %d %s one of perhaps the same array", w, array, o,
            verb);
    if (!d->sure && !d->decided)
        return tr_arena_printf(a,
                               "line %d writes an element of %s that line %d perhaps %s in another iteration",
                               w, array, o, verb);
    if (d->every && d->write == d->other)
        return tr_arena_printf(a, "line %d writes the same element of %s in every iteration", w, array);
    if (d->every)
        return tr_arena_printf(a,
                               "line %d writes the same element of %s in every iteration, and line %d %s it",
                               w, array, o, verb);
    if (!d->dist_known)
        return tr_arena_printf(a, "line %d writes an element of %s that line %d %s in other iterations", w,
                               array, o, verb);
    int64_t far = d->dist < 0 ? -d->dist : d->dist;
    return tr_arena_printf(a, "line %d writes an element of %s that line %d %s %lld iteration%s %s", w, array,
                           o, verb, (long long)far, far == 1 ? "" : "s", d->dist < 0 ? "earlier" : "later");
}

/* What to write instead of a loop whose iterations meet in an array in every iteration. */
static const char *advice(const tr_ploop *l, const tr_pdepend *d, const tr_paccum *accum) {
    tr_arena *a = &l->f->ctx->arena;
    const char *array = name_of(l->f, d->array);
    int line = (int)place_of(l->f, accum->bad).span.line;
    if (accum->bad != TR_NOVAL && accum->mixed)
        return tr_arena_printf(
            a,
            "%s is accumulated into by one operation, and line %d does it by another: use an "
            "array of its own for each",
            array, line);
    if (accum->bad != TR_NOVAL)
        return tr_arena_printf(
            a,
            "iterations accumulate into %s, and line %d uses it in another way, where it is not "
            "yet what all of them make of it: do that after the loop, or use range",
            array, line);
    return tr_arena_printf(
        a,
        "if %s is memory that an iteration works in, make it inside the loop; to accumulate, use "
        "+= -= *= /= &= |= ^= or out= of np.maximum and np.minimum, with values that are not made "
        "of %s; else write to an element of each iteration's own, sum up in a variable, or use "
        "range",
        array, array);
}

/* --- what is tested before the loop --- */

enum { MAX_TESTS = 8 };

/* The number that e is. As what it is made of wraps around at the size of an index, so does this. */
static tr_val emit_lin(tr_bld *b, const tr_lin *e) {
    const tr_ty *i64 = tr_ty_scalar(b->fn->ctx->types, TR_TY_I64);
    tr_val sum = tr_const_int(b->fn, i64, (int64_t)e->c);
    for (uint32_t i = 0; i < e->n; i++) {
        tr_val k = tr_const_int(b->fn, i64, e->t[i].k);
        sum = tr_emit2(b, TR_OP_ADD, i64, sum, tr_emit2(b, TR_OP_MUL, i64, e->t[i].v, k));
    }
    return sum;
}

static const tr_site *site_of(const tr_ploop *l, const tr_pdepend *d) {
    tr_arena *a = &l->f->ctx->arena;
    tr_site *s = TR_NEW(a, tr_site);
    const char *text = tr_arena_printf(
        a, "iterations of a prange loop depend on each other: %s, at a distance of {0}", dependence(l, d));
    *s = (tr_site){TR_EXC_UNSUPPORTED, text, -1, NULL};
    l->p->says_lines = true;
    return s;
}

/* Iterations that far from each other are none, or the same one. */
static tr_val is_none(const tr_ploop *l, tr_bld *b, tr_val by) {
    const tr_ty *i64 = tr_ty_scalar(b->fn->ctx->types, TR_TY_I64);
    tr_val zero = tr_const_int(b->fn, i64, 0), less = tr_emit2(b, TR_OP_SUB, i64, zero, l->length);
    tr_val far =
        tr_emit_either(b, tr_emit_cmp(b, TR_CMP_GE, by, l->length), tr_emit_cmp(b, TR_CMP_LE, by, less));
    return tr_emit_either(b, far, tr_emit_cmp(b, TR_CMP_EQ, by, zero));
}

/* They do not meet: the distance is 0, or more than all iterations; also where one index
 * counts from the end. */
static void emit_test(tr_ploop *l, tr_bld *b, const tr_pdepend *d) {
    const tr_ty *i64 = tr_ty_scalar(b->fn->ctx->types, TR_TY_I64);
    tr_val zero = tr_const_int(b->fn, i64, 0), far = emit_lin(b, &d->by), by = far, ok = is_none(l, b, by);
    for (unsigned k = 0; k < 2 && d->around != TR_NOVAL; k++) {
        tr_val other = tr_emit2(b, k ? TR_OP_SUB : TR_OP_ADD, i64, far, d->around);
        tr_val fine = is_none(l, b, other);
        by = tr_emit_select(b, fine, by, other);
        ok = tr_emit_both(b, ok, fine);
    }
    tr_val size =
        tr_emit_select(b, tr_emit_cmp(b, TR_CMP_LT, by, zero), tr_emit2(b, TR_OP_SUB, i64, zero, by), by);
    tr_val check = tr_emit2(b, TR_OP_CHECK, NULL, ok, size);
    tr_at(b->fn, check)->imm.site = site_of(l, d);
}

/* Is all that v is made of there before the loop of this head? */
static bool operands_are_made_before(const tr_fn *f, tr_val v, tr_bid head) {
    for (uint32_t i = 0; i < tr_at(f, v)->nargs; i++)
        if (!tr_loop_is_before(f, head, tr_arg(f, v, i)))
            return false;
    return true;
}

/* A block on all ways into the loop, and on no others: there, or made. */
static tr_bid before_loop(tr_fn *f, const tr_loop *l) {
    if (l->preheader != TR_NOBLK)
        return l->preheader;
    tr_bld b = {.fn = f, .blk = tr_opt_block_before(f, l->header), .before = TR_NOVAL};
    tr_br(&b, l->header, tr_blk_at(f, l->header)->params.n, tr_blk_at(f, b.blk)->params.d);
    tr_cfg_compute(f);
    tr_dom_compute(f);
    return b.blk;
}

/* Moves v to before the outermost loop whose rounds do not change what it is made of. */
static void leave_loops(tr_fn *f, tr_val v) {
    assert(tr_opt_is_pure(tr_at(f, v)));
    tr_forest loops = tr_forest_find(f);
    uint32_t out = TR_NOLOOP;
    for (uint32_t l = tr_forest_in(&loops, tr_at(f, v)->blk);
         l != TR_NOLOOP && operands_are_made_before(f, v, loops.all.d[l].header); l = loops.all.d[l].parent)
        out = l;
    if (out != TR_NOLOOP)
        tr_ins_move_end(f, v, before_loop(f, tr_forest_at(&loops, out)));
}

/* Arrays that were passed in may share memory, and then iterations might meet in it: they
 * go one after the other. */
static void test_shared(tr_ploop *l, tr_bld *b) {
    const tr_ty *i1 = tr_ty_scalar(l->f->ctx->types, TR_TY_BOOL);
    const tr_pshared *p = &l->shared;
    if (p->written == 0)
        return;
    tr_val meet = tr_emit_v(b, TR_OP_MEET, i1, p->arrays.n, p->arrays.d);
    tr_at(l->f, meet)->imm.i = (int64_t)(p->written | p->same << 8);
    l->when = tr_emit1(b, TR_OP_NOT, i1, meet);
    const char *text = "";
    for (uint32_t i = 0; i < p->arrays.n; i++)
        text =
            tr_arena_printf(&l->f->ctx->arena, "%s%s%s", text, i ? ", " : "", name_of(l->f, p->arrays.d[i]));
    tell(l, tr_arena_printf(&l->f->ctx->arena,
                            "runs on one core where arrays share memory, tested before the loop: %s", text));
}

/* Slices may lie upon each other: then iterations go one after the other. */
static void test_slices(tr_ploop *l, tr_bld *b) {
    if (l->spans.n == 0)
        return;
    tr_val apart = tr_spans_apart(l, b, site_of);
    l->when = tr_emit_both(b, l->when, apart);
}

/* Iterations may compute places that meet: then they go one after the other. */
static void test_computed(tr_ploop *l, tr_bld *b) {
    for (uint32_t i = 0; i < l->inspects.n; i++) {
        tr_val apart = tr_inspect_apart(l, b, &l->inspects.d[i], l->when);
        l->when = tr_emit_both(b, l->when, apart);
    }
}

enum { MORE_BLOCKS = 8 };

/* For blocks that are made beside the loop. */
static void make_room(tr_ploop *l) {
    uint32_t n = l->f->blks.n + MORE_BLOCKS;
    uint8_t *in = TR_NEW_N(&l->f->ctx->arena, uint8_t, n);
    for (uint32_t i = 0; i < l->blks.n; i++)
        in[l->blks.d[i]] = 1;
    l->in = in;
}

/* No handler of the function sees what these raise: it is refused, as at compile time. */
static void test_before(tr_ploop *l) {
    tr_fn *f = l->f;
    l->when = TR_NOVAL;
    memset(l->alone, 0xff, sizeof l->alone);
    if (l->tests.n == 0 && l->shared.written == 0 && l->spans.n == 0 && l->inspects.n == 0)
        return;
    tr_bid before = tr_opt_block_before(f, l->header);
    tr_bld b = {.fn = f, .blk = before, .before = TR_NOVAL};
    for (uint32_t i = 0; i < l->tests.n; i++) {
        b.loc = tr_at(f, l->tests.d[i].write)->loc;
        emit_test(l, &b, &l->tests.d[i]);
        tell(l, tr_arena_printf(&f->ctx->arena, "%s, if a distance says so: tested before the loop",
                                dependence(l, &l->tests.d[i])));
    }
    b.loc = tr_term(f, l->header)->loc;
    test_shared(l, &b);
    tr_val shared = l->when;
    test_slices(l, &b);
    test_computed(l, &b);
    for (unsigned k = 0; k < TR_CUTS && l->alone[k] != TR_NOVAL; k++) /* in order it is one part */
        l->alone[k] = tr_emit_select(&b, l->when, l->alone[k], l->length);
    if (l->alone[0] != TR_NOVAL)
        tell(l, "one iteration that goes where others go runs by itself, between those before and those "
                "after it");
    b.loc = tr_term(f, l->header)->loc;
    tr_br(&b, l->header, tr_blk_at(f, l->header)->params.n, tr_blk_at(f, before)->params.d);
    tr_cfg_compute(f);
    tr_dom_compute(f);
    make_room(l);
    if (shared != TR_NOVAL) {
        leave_loops(f, tr_arg(f, shared, 0));
        leave_loops(f, shared);
    }
}

/* Arrays that the loop only accumulates into are set aside. What is only possible is told;
 * what is sure, refused. */
static bool check_memory(tr_ploop *l) {
    tr_pdepend d;
    tr_arena *a = &l->f->ctx->arena;
    l->apart = TR_NEW_N(a, uint8_t, l->f->ins.n + 1u);
    l->compared = TR_NEW_N(a, uint8_t, l->f->ins.n + 1u);
    l->inspected = TR_NEW_N(a, uint8_t, l->f->ins.n + 1u);
    l->in_order = tr_ploop_goes_in_order(l, &d);
    if (l->in_order) {
        tell(l, tr_arena_printf(
                    a, "runs on one core: %s, an item of a list whose place is not the iteration's own",
                    dependence(l, &d)));
        return true;
    }
    if (!tr_ploop_shared(l))
        tell(l, "it has too many accesses to arrays to say whether these share memory");
    while (tr_ploop_dependence(l, &d)) {
        tr_paccum accum = {.bad = TR_NOVAL};
        if (d.write == TR_NOVAL) {
            tell(l, "it has too many accesses to arrays to say whether iterations meet");
            return true;
        }
        if (d.decided && l->tests.n < MAX_TESTS && !tr_ploop_accumulates(l, &d, &accum)) {
            tr_vec_push(a, &l->tests, d);
            continue;
        }
        bool accumulates = !d.perhaps_one && tr_ploop_accumulates(l, &d, &accum);
        if (accumulates && accum.other) {
            refuse(
                l, TR_NYI_PRANGE_DEPENDS, d.write,
                tr_arena_printf(
                    a,
                    "iterations of a prange loop may depend on each other: line %d accumulates into %s, and "
                    "another array of the loop may be the same one",
                    (int)place_of(l->f, d.write).span.line, name_of(l->f, d.array)));
            return false;
        }
        if (accumulates) {
            tr_vec_push(a, &l->accums, accum);
        } else if (d.sure) {
            refuse(l, TR_NYI_PRANGE_DEPENDS, d.write,
                   tr_arena_printf(a, "iterations of a prange loop depend on each other: %s",
                                   dependence(l, &d)));
            if (d.every || accum.bad != TR_NOVAL)
                l->f->ctx->last_err->hint = advice(l, &d, &accum);
            return false;
        } else if (d.compares) {
            const char *name = name_of(l->f, d.array);
            tell(l, tr_ploop_compare(l, d.array)
                        ? tr_arena_printf(a,
                                          "runs on one core where slices of %s of several iterations meet, "
                                          "tested before the loop",
                                          name)
                        : "it has too many slices to say of all whether iterations meet");
            continue;
        } else if (d.computes) {
            tr_ploop_inspect(l, d.array);
            tell(l, tr_arena_printf(a,
                                    "runs on one core where places of %s that iterations compute may meet, "
                                    "looked at before the loop",
                                    name_of(l->f, d.array)));
            continue;
        } else {
            tell(l, dependence(l, &d));
        }
        l->apart[d.array] = 1;
    }
    return true;
}

/* --- lists --- */

static bool fn_grows(const tr_ploop *l, const tr_fn *f, uint8_t *seen);

/* Does it make a list longer or shorter, by what it calls too? */
static bool ins_grows(const tr_ploop *l, const tr_fn *f, const tr_ins *in, uint8_t *seen) {
    if (in->op == TR_OP_CALL && in->imm.fn < l->p->insts.n && !seen[in->imm.fn]) {
        seen[in->imm.fn] = 1;
        return l->p->insts.d[in->imm.fn].fn && fn_grows(l, l->p->insts.d[in->imm.fn].fn, seen);
    }
    for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
        if (fn_grows(l, tr_pat_any(in->imm.pat, k), seen))
            return true;
    /* what is dropped, and what is put there, is of an iteration's memory */
    bool puts = in->op == TR_OP_PUT && tr_ty_is_counted(tr_at(f, in->args[2])->ty);
    return puts || (tr_ins_effects(in) & E_GROW);
}

static bool fn_grows(const tr_ploop *l, const tr_fn *f, uint8_t *seen) {
    for (tr_val v = 0; v < f->ins.n; v++)
        if (tr_at(f, v)->blk != TR_NOBLK && ins_grows(l, f, tr_at(f, v), seen))
            return true;
    return false;
}

/* A list from outside that gets longer or shorter would do so on several cores at once, unless that is all
 * that the loop does with it. */
static bool check_lists(tr_ploop *l) {
    const tr_fn *f = l->f;
    tr_val other;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            for (uint32_t k = 0; k < in->nargs; k++) {
                const tr_ty *t = k == tr_consumed(in) ? NULL : tr_at(f, in->args[k])->ty;
                uint8_t *seen = t && (tr_ty_has_lists(t) || tr_ty_is_slots(t))
                                    ? TR_NEW_N(&f->ctx->arena, uint8_t, l->p->insts.n + 1u)
                                    : NULL;
                if (!seen || !ins_grows(l, f, in, seen) || tr_ploop_lists_are_own(l, in->args[k]) ||
                    tr_ploop_appends(l, v, &other) || tr_ploop_puts(l, v, &other))
                    continue;
                refuse(l, TR_NYI_PRANGE_LIST, v, told_of_list(l, v, in->args[k], other));
                return false;
            }
        }
    return true;
}

/* --- finding the loop --- */

static bool in_natural_loop(const tr_ploop *l, tr_bid b) {
    return tr_forest_has(l->loops, tr_forest_number(l->loops, l->loop), b);
}

static bool loop_is_marked(tr_ploop *l) {
    const tr_fn *f = l->f;
    tr_loop_test t;
    if (!tr_loop_head_test(f, l->header, &t) || tr_at(f, t.bound)->op != TR_OP_PRANGE)
        return false;
    l->counter = t.counter;
    l->counter_at = tr_param_index(f, t.counter);
    l->length = tr_arg(f, t.bound, 0);
    l->body = t.body;
    l->exit = t.exit;
    return tr_forest_is_outside(l->loops, tr_forest_number(l->loops, l->loop), l->length) &&
           tr_loop_counts(f, l->header, l->counter) && in_natural_loop(l, l->body) && l->body != l->header &&
           !in_natural_loop(l, l->exit);
}

/* Does p lead to b by itself, not where it raises? */
static bool leads_without_raising(const tr_fn *f, tr_bid p, tr_bid b) {
    const tr_ins *t = tr_term(f, p);
    return t->op != TR_OP_TRY || t->imm.succ[0].to == b;
}

/* Blocks from which the function can return, or come to the loop again: all others end in
 * an exception, or never. */
static uint8_t *can_go_on(const tr_ploop *l) {
    const tr_fn *f = l->f;
    tr_arena *a = &f->ctx->arena;
    uint8_t *can = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    tr_u32s work = {0};
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        if (b == l->header || tr_term(f, b)->op == TR_OP_RET || tr_term(f, b)->op == TR_OP_YIELD) {
            can[b] = 1;
            tr_vec_push(a, &work, b);
        }
    }
    while (work.n) {
        tr_bid at = work.d[--work.n];
        const tr_blk *b = tr_blk_at(f, at);
        for (uint32_t i = 0; i < b->preds.n; i++)
            if (!can[b->preds.d[i]] && leads_without_raising(f, b->preds.d[i], at)) {
                can[b->preds.d[i]] = 1;
                tr_vec_push(a, &work, b->preds.d[i]);
            }
    }
    return can;
}

/* Does the code after the loop return there too? Then what leaves the loop is a `break`
 * whose way out was copied. */
static bool returns_after_loop(const tr_ploop *l, tr_val ret) {
    const tr_fn *f = l->f;
    tr_arena *a = &f->ctx->arena;
    uint8_t *seen = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    tr_u32s work = {0};
    tr_span at = place_of(f, ret).span;
    seen[l->exit] = 1;
    tr_vec_push(a, &work, l->exit);
    while (work.n) {
        const tr_ins *t = tr_term(f, work.d[--work.n]);
        tr_span here = tr_fn_place(f, t->loc).span;
        if (t->op == TR_OP_RET && here.line == at.line && here.col == at.col)
            return true;
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (!seen[t->imm.succ[s].to]) {
                seen[t->imm.succ[s].to] = 1;
                tr_vec_push(a, &work, t->imm.succ[s].to);
            }
    }
    return false;
}

static bool values_are_known(const tr_ploop *l, const tr_val *v, uint32_t n, const uint8_t *behind) {
    for (uint32_t i = 0; i < n; i++)
        if (!tr_loop_is_before(l->f, l->header, v[i]) && !behind[tr_at(l->f, v[i])->blk])
            return false;
    return true;
}

/* Does the code that a handler leads to use nothing that the loop makes? */
static bool handler_uses_no_value(const tr_ploop *l, const tr_edge *e) {
    const tr_fn *f = l->f;
    tr_arena *a = &f->ctx->arena;
    uint8_t *behind = TR_NEW_N(a, uint8_t, f->blks.n + 1u), *none = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    tr_u32s all = {0};
    behind[e->to] = 1;
    tr_vec_push(a, &all, e->to);
    for (uint32_t i = 0; i < all.n; i++) {
        const tr_ins *t = tr_term(f, all.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (!behind[t->imm.succ[s].to] && !in_natural_loop(l, t->imm.succ[s].to)) {
                behind[t->imm.succ[s].to] = 1;
                tr_vec_push(a, &all, t->imm.succ[s].to);
            }
    }
    bool ok = values_are_known(l, e->args, e->n, none);
    for (uint32_t i = 0; ok && i < all.n; i++)
        for (tr_val v = tr_blk_at(f, all.d[i])->first; ok && v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            ok = values_are_known(l, in->args, in->nargs, behind);
            for (uint32_t s = 0; ok && s < tr_nsucc(in); s++)
                ok = values_are_known(l, in->imm.succ[s].args, in->imm.succ[s].n, behind);
        }
    return ok;
}

/* A handler outside, which the iterations' exceptions come to when the loop is one pattern:
 * as the pattern's own. */
static bool handler_is_outer(tr_ploop *l, const tr_edge *e) {
    if (l->outer)
        return tr_edge_same(l->outer, e);
    if (l->inside || !handler_uses_no_value(l, e))
        return false;
    l->outer = e;
    return true;
}

/* Can code at `from` come to `to` without a turn of the loop? */
static bool reaches_in_one_turn(const tr_ploop *l, tr_bid from, tr_bid to) {
    const tr_fn *f = l->f;
    tr_arena *a = &f->ctx->arena;
    uint8_t *seen = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    tr_u32s work = {0};
    seen[l->header] = seen[from] = 1;
    tr_vec_push(a, &work, from);
    while (work.n) {
        const tr_ins *t = tr_term(f, work.d[--work.n]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid next = t->imm.succ[s].to;
            if (next == to)
                return true;
            if (!seen[next]) {
                seen[next] = 1;
                tr_vec_push(a, &work, next);
            }
        }
    }
    return false;
}

/* The handler around the loop. One inside that never goes on raises to it, so it is the one
 * that leads to no other. */
static const tr_edge *around(const tr_ploop *l) {
    const tr_fn *f = l->f;
    const tr_edge *out = NULL;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        const tr_ins *t = tr_term(f, f->rpo.d[i]);
        if (!in_natural_loop(l, f->rpo.d[i]) || t->op != TR_OP_TRY || in_natural_loop(l, t->imm.succ[1].to))
            continue;
        const tr_edge *e = &t->imm.succ[1];
        if (!out || (e->to != out->to && reaches_in_one_turn(l, out->to, e->to)))
            out = e;
    }
    return out;
}

/* Does all that raises in the loop come to a handler? Else the `try` is in an iteration and around a part of
 * it, and what else raises passes it by. */
static bool handler_is_around_all(const tr_ploop *l) {
    for (uint32_t i = 0; i < l->f->rpo.n; i++) {
        tr_bid b = l->f->rpo.d[i];
        if (l->in[b] && tr_blk_raises(l->f, b) && !tr_handler(l->f, b))
            return false;
    }
    return true;
}

/* Block b leaves the loop by way s. */
static void refuse_exit(const tr_ploop *l, tr_bid b, uint32_t s) {
    const tr_fn *f = l->f;
    const tr_ins *t = tr_term(f, b);
    tr_bid to = t->imm.succ[s].to;
    if (t->op == TR_OP_TRY && s == 1) {
        refuse(l, TR_NYI_PRANGE_EXIT, tr_blk_at(f, to)->last,
               "a prange loop cannot be left early, and here the handler of a `try` in it leaves it");
        return;
    }
    bool returns = tr_term(f, to)->op == TR_OP_RET && !returns_after_loop(l, tr_blk_at(f, to)->last);
    refuse(l, TR_NYI_PRANGE_EXIT, returns ? tr_blk_at(f, to)->last : tr_blk_at(f, b)->last,
           returns ? "a prange loop cannot be left early, and this `return` is inside of one"
                   : "a prange loop cannot be left early, and here a `break` leaves it");
}

/* What an iteration runs, into l->in, up to the handler outside; an error when a block of
 * it leaves the loop. */
static bool walk_iteration(tr_ploop *l, const uint8_t *can) {
    tr_fn *f = l->f;
    tr_arena *a = &f->ctx->arena;
    tr_u32s work = {0};
    l->tries.n = 0;
    l->in = TR_NEW_N(a, uint8_t, f->blks.n + MORE_BLOCKS);
    l->in[l->header] = l->in[l->body] = 1;
    tr_vec_push(a, &work, l->body);
    while (work.n) {
        tr_bid b = work.d[--work.n];
        const tr_ins *t = tr_term(f, b);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid to = t->imm.succ[s].to;
            if (l->in[to])
                continue;
            if (t->op == TR_OP_TRY && s == 1 && !in_natural_loop(l, to) &&
                handler_is_outer(l, &t->imm.succ[1])) {
                tr_vec_push(a, &l->tries, tr_blk_at(f, b)->last);
                continue;
            }
            if (t->op == TR_OP_TRY && s == 1 && !in_natural_loop(l, to) && can[to] && !l->inside) {
                refuse(l, TR_NYI_PRANGE_TRY, tr_blk_at(f, l->header)->last,
                       "the handler of a `try` around this prange loop uses what the loop computes");
                return false;
            }
            if (in_natural_loop(l, b) && !in_natural_loop(l, to) && can[to]) {
                refuse_exit(l, b, s);
                return false;
            }
            l->in[to] = 1;
            tr_vec_push(a, &work, to);
        }
    }
    return true;
}

/* All blocks that an iteration runs. */
static bool collect_blocks(tr_ploop *l) {
    tr_fn *f = l->f;
    const uint8_t *can = can_go_on(l);
    const tr_edge *handler = around(l);
    if (handler && handler_uses_no_value(l, handler))
        l->outer = handler;
    if (!walk_iteration(l, can))
        return false;
    if (l->outer && !handler_is_around_all(l)) {
        l->outer = NULL;
        l->inside = true;
        if (!walk_iteration(l, can))
            return false;
    }
    for (uint32_t i = 0; i < f->rpo.n; i++)
        if (l->in[f->rpo.d[i]])
            tr_vec_push(&f->ctx->arena, &l->blks, f->rpo.d[i]);
    return true;
}

/* --- Generators: one stream of numbers cannot be drawn from on all cores --- */

static bool fn_draws_random(const tr_prog *p, const tr_fn *f, uint8_t *seen);

/* Does it, or what it calls, draw from a Generator? `seen`: instances that were looked at. */
static bool ins_draws_random(const tr_prog *p, const tr_ins *in, uint8_t *seen) {
    if (in->op == TR_OP_CALLRT)
        return tr_rt_draws(&tr_rt_info[in->imm.rt->row]);
    if (in->op == TR_OP_CALL && in->imm.fn < p->insts.n && !seen[in->imm.fn]) {
        seen[in->imm.fn] = 1;
        return p->insts.d[in->imm.fn].fn && fn_draws_random(p, p->insts.d[in->imm.fn].fn, seen);
    }
    for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
        if (fn_draws_random(p, tr_pat_any(in->imm.pat, k), seen))
            return true;
    return false;
}

static bool fn_draws_random(const tr_prog *p, const tr_fn *f, uint8_t *seen) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            if (ins_draws_random(p, tr_at(f, v), seen))
                return true;
    return false;
}

tr_val tr_opt_draws(const tr_prog *p, const tr_fn *f) {
    uint8_t *seen = TR_NEW_N(&f->ctx->arena, uint8_t, p->insts.n + 1u);
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            if (ins_draws_random(p, tr_at(f, v), seen))
                return v;
    return TR_NOVAL;
}

static bool check_generators(const tr_ploop *l) {
    uint8_t *seen = TR_NEW_N(&l->f->ctx->arena, uint8_t, l->p->insts.n + 1u);
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(l->f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(l->f, v)->next)
            if (ins_draws_random(l->p, tr_at(l->f, v), seen)) {
                refuse(l, TR_NYI_PRANGE_GENERATOR, v,
                       "iterations of a prange loop draw from one np.random.Generator, in no order");
                return false;
            }
    return true;
}

static void tell_reductions(const tr_ploop *l, const tr_preduction *red) {
    const tr_fn *f = l->f;
    const tr_blk *h = tr_blk_at(f, l->header);
    const tr_pextreme *x = &l->extreme;
    const char *text = "runs on all cores";
    for (uint32_t k = 0, any = 0; k < h->params.n; k++)
        if (k != l->counter_at && tr_extreme_of(x, k) < x->n) {
            uint32_t m = tr_extreme_of(x, k);
            text = tr_arena_printf(&f->ctx->arena, "%s%s %s (%s)", text,
                                   any++ ? "," : ", reductions:", name_of(f, h->params.d[k]),
                                   x->all[x->of[m]].best == m ? "extreme" : "of the extreme");
        } else if (k != l->counter_at && tr_extreme_of(x, k) == UINT32_MAX) {
            text = tr_arena_printf(&f->ctx->arena, "%s%s %s (%s)", text,
                                   any++ ? "," : ", reductions:", name_of(f, h->params.d[k]),
                                   tr_red_name[red[k].kind]);
        }
    for (uint32_t k = 0; k < l->accums.n; k++)
        text =
            tr_arena_printf(&f->ctx->arena, "%s%s %s (%s)", text,
                            k ? "," : ", copies for chunks of iterations:", name_of(f, l->accums.d[k].root),
                            tr_red_name[l->accums.d[k].kind]);
    for (uint32_t k = 0; k < l->lists.n; k++)
        text = tr_arena_printf(
            &f->ctx->arena, "%s%s %s", text,
            k ? "," : ", lists for chunks of iterations, joined in order:", list_name(f, l->lists.d[k].list));
    tell(l, text);
}

static bool turn_loop(tr_ploop *l) {
    tr_fn *f = l->f;
    uint32_t n = tr_blk_at(f, l->header)->params.n, nother = 0, nvals = f->ins.n;
    tr_preduction *red = TR_NEW_N(&f->ctx->arena, tr_preduction, n + 1u + TR_MAX_EXTREMES);
    uint32_t *others = TR_NEW_N(&f->ctx->arena, uint32_t, n + 1u);
    for (uint32_t k = 0; k < n; k++)
        if (k != l->counter_at && !tr_ploop_reduction(l, k, &red[k]))
            others[nother++] = k;
    if (nother && !tr_ploop_extreme(l, others, nother, &l->extreme))
        return refuse_carried(l, tr_blk_at(f, l->header)->params.d[others[0]], &red[others[0]]);
    if (l->extreme.raises) {
        tell(l, "runs on one core: what goes with an extreme may raise, where no iteration before has a "
                "better one");
        tr_ploop_unmark(f, l);
        return true;
    }
    if (l->in_order) {
        tr_ploop_unmark(f, l);
        return true;
    }
    tell_reductions(l, red);
    for (uint32_t i = 0; (l->accums.n || l->extreme.n || l->lists.n) && i < l->blks.n;
         i++) /* the loop stays, beside the pattern */
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_PATTERN)
                tr_vec_push(&f->ctx->arena, l->made, v);
    test_before(l);
    tr_ploop_turn(l, red, nvals);
    return true;
}

/* --- what only passes through --- */

/* Does the loop hand the param on as it is? */
static bool param_is_kept(const tr_ploop *l, uint32_t k) {
    const tr_fn *f = l->f;
    const tr_blk *h = tr_blk_at(f, l->header);
    for (tr_way w = {0}; tr_next_way(f, l->header, &w);)
        if (in_natural_loop(l, w.from) && w.edge->args[k] != h->params.d[k])
            return false;
    return true;
}

/* A value that is one of several before the loop and does not change in it, such as the sum of another loop
 * that has two copies: the choice gets a block of its own in front. */
static bool choose_before(tr_ploop *l) {
    tr_fn *f = l->f;
    uint32_t n = tr_blk_at(f, l->header)->params.n;
    bool any = false;
    for (uint32_t k = 0; k < n; k++)
        any = any || param_is_kept(l, k);
    if (!any)
        return false;
    tr_bld b = {.fn = f,
                .blk = tr_opt_block_before(f, l->header),
                .before = TR_NOVAL,
                .loc = tr_term(f, l->header)->loc};
    tr_br(&b, l->header, n, tr_blk_at(f, b.blk)->params.d);
    tr_remove_params(f);
    return true;
}

/* --- the pass --- */

/* The first marked loop, outermost: true when there was one, and it was turned or refused. */
static bool turn_one_loop(tr_prog *p, tr_fn *f, tr_u32s *made) {
    tr_cfg_compute(f);
    tr_dom_compute(f);
    tr_forest loops = tr_forest_find(f);
    for (uint32_t i = 0; i < loops.all.n; i++) {
        tr_ploop l = {.p = p,
                      .f = f,
                      .header = loops.all.d[i].header,
                      .loop = &loops.all.d[i],
                      .loops = &loops,
                      .made = made};
        if (!loop_is_marked(&l))
            continue;
        if (choose_before(&l))
            return true;
        if (!collect_blocks(&l))
            return false;
        if (tr_ploop_unbound(&l) || tr_ploop_switched(&l))
            return true;
        if (!check_generators(&l) || !check_lists(&l) || !check_memory(&l) || !turn_loop(&l))
            return false;
        tr_simplify_cfg(f);
        return true; /* blocks and values have moved: what is left is looked at anew */
    }
    return false;
}

/* Lambdas are settled now: which patterns may run on all cores, those inside of others too. */
static void decide(tr_prog *p, tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            tr_pat *t = tr_at(f, v)->op == TR_OP_PATTERN ? tr_at(f, v)->imm.pat : NULL;
            if (t && t->par == TR_PAR_WISH)
                t->par = tr_pat_one_core(p, t) ? TR_PAR_NO : TR_PAR_PROVEN;
            for (unsigned k = 0; t && tr_pat_any(t, k); k++)
                decide(p, tr_pat_any(t, k));
        }
}

/* Array expressions, as fusion has left them. Those in a prange loop run within its iterations. */
static void tell_patterns(tr_prog *p, tr_fn *f, const tr_u32s *made) {
    tr_cfg_compute(f);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op == TR_OP_PRANGE && !tr_blk_at(f, in->blk)->cold)
                say(f, "the prange", v, "runs on one core: no loop is over it alone", true);
            if (in->op != TR_OP_PATTERN || tr_blk_at(f, in->blk)->cold || tr_opt_among(v, made->d, made->n))
                continue;
            const tr_pat *t = in->imm.pat;
            const char *why = t->par == TR_PAR_WISH ? tr_pat_one_core(p, t) : NULL;
            bool all = t->par && !why;
            const char *when =
                all && tr_pat_spreads(t)
                    ? "where what it scatters to is small beside the values, or larger than a cache"
                    : why;
            say(f, tr_pat_is_region(t) ? "the loop over blocks" : "the array expression", v,
                tr_arena_printf(&f->ctx->arena, "runs on %s%s%s", all ? "all cores" : "one core",
                                when ? ": " : "", when ? when : ""),
                t->par != TR_PAR_NO);
        }
}

bool tr_opt_prange(tr_prog *p, tr_fn *f) {
    uint32_t errs = p->ctx->nerrs;
    bool marks = tr_opt_has(f, TR_OP_PRANGE);
    tr_u32s made = {0};
    if (marks)
        tr_remove_params(f);
    while (marks && !f->is_lambda && turn_one_loop(p, f, &made))
        ;
    if (p->ctx->nerrs > errs)
        return true;
    if (marks)
        tr_ploop_clean(p, f);
    if (remarks_are_wanted(f))
        tell_patterns(p, f, &made);
    if (!f->is_lambda)
        decide(p, f);
    if (marks)
        tr_ploop_drop_marks(f);
    return marks;
}
