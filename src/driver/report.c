/* What the IR tells of the program's lines (base/remarks.h): the types that inference found, and of the
 * optimised program which lines a loop was made of, which checks are left, which arrays are made, what is
 * called and what is left for later.
 *
 * Nothing is computed here but which blocks lie in loops: all is read off what the passes left. A line is the
 * user's: what comes from a function of treadle/_library is told at the call of it.
 * Runs behind the back end, whose vectors are rows by then. Cost: linear, but for the lines of each loop. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bitset.h"
#include "driver/priv.h"
#include "ir/loops.h"
#include "ir/ports.h"
#include "ir/rtinfo.h"
#include "ir/sched.h"

enum { MAX_LINES = 8 }; /* lines of a loop that its text names */

typedef struct teller {
    tr_prog *p;
    tr_ctx *c;
    tr_smap library; /* its files */
    tr_smap checked; /* "file:line:array" of indices that are looked at in each round */
    tr_smap made;    /* "file:line:columns" of arrays that were told; "file:line": how many */
    bool cold;       /* now is the turn of code that hardly ever runs */
    bool vectors;    /* the back end looked for them */
} teller;

/* One function, or a lambda of `pat`, which stands in that of `outer`. */
typedef struct walk {
    teller *t;
    tr_fn *f;
    const struct walk *outer;
    const tr_ins *pat;
    tr_forest loops;
    tr_bits seen, told; /* places that were met; whose vectors were told */
    bool late;
} walk;

/* --- places --- */

static void find_library(teller *t) {
    for (uint32_t i = 0; i < t->p->funcs.n; i++) {
        const tr_func *f = &t->p->funcs.d[i];
        if (f->library && f->file)
            tr_smap_set(&t->c->arena, &t->library, f->file, strlen(f->file), t);
    }
}

static bool is_library(const teller *t, const char *file) {
    return file && tr_smap_get(&t->library, file, strlen(file));
}

/* The place among those that this one was inlined at, itself first, that is the user's; 0: there is none. */
static uint32_t users(const walk *w, uint32_t loc) {
    while (loc && loc < w->f->locs.n &&
           (w->f->locs.d[loc].place.span.line <= 0 || is_library(w->t, w->f->locs.d[loc].place.file)))
        loc = w->f->locs.d[loc].parent;
    return loc < w->f->locs.n ? loc : 0;
}

/* The user's place of an instruction; false: it has none. */
static bool place_of(const walk *w, tr_val v, tr_place *out) {
    uint32_t loc = users(w, tr_at(w->f, v)->loc);
    *out = tr_fn_place(w->f, loc);
    return loc != 0;
}

/* The line of the function itself that an instruction with a user's place came from. */
static tr_place outermost(const walk *w, uint32_t loc) {
    uint32_t at = users(w, loc);
    for (uint32_t up = at; up; up = users(w, w->f->locs.d[up].parent))
        at = up;
    return tr_fn_place(w->f, at);
}

/* --- names --- */

/* The user's name of a value in quotes, or NULL. A lambda's capture has that of what is captured, a view that
 * of its base. */
static const char *name_of(const walk *w, tr_val v) {
    const tr_ins *in = tr_at(w->f, v);
    if (v < w->f->names.n && w->f->names.d[v])
        return tr_arena_printf(&w->t->c->arena, "'%s'", w->f->names.d[v]);
    if (tr_is_view(in))
        return name_of(w, in->args[0]);
    if (!w->outer || in->op != TR_OP_PARAM || in->blk != 0)
        return NULL;
    const tr_pat *t = w->pat->imm.pat;
    uint32_t k = tr_param_index(w->f, v), first = tr_pat_cap(t, w->f);
    return k >= first ? name_of(w->outer, w->pat->args[tr_pat_at(t, P_CAP) + k - first]) : NULL;
}

/* Of the array that a size was asked of. */
static const char *sized(const walk *w, tr_val size) {
    const tr_ins *in = tr_at(w->f, size);
    const char *name = in->op == TR_OP_DIM ? name_of(w, in->args[0]) : NULL;
    return name ? tr_arena_printf(&w->t->c->arena, " of %s", name) : "";
}

static const char *func_name(const teller *t, const tr_inst *i) {
    return i->func < t->p->funcs.n ? t->p->funcs.d[i->func].qualname : i->fn ? i->fn->name : "?";
}

/* --- one instruction --- */

static bool is_cold(const walk *w, tr_val v) {
    return w->late || tr_blk_at(w->f, tr_at(w->f, v)->blk)->cold >= TR_COLD_CHECKED;
}

static const char *how_often(const walk *w, tr_val v) {
    return w->outer || tr_forest_in(&w->loops, tr_at(w->f, v)->blk) != TR_NOLOOP ? "in each round" : "once";
}

/* A copy of a loop checks what the loop checks, too. */
static void tell_index(const walk *w, tr_val v, tr_place at) {
    tr_ctx *c = w->t->c;
    const char *of = sized(w, tr_at(w->f, v)->args[1]);
    const char *key = tr_arena_printf(&c->arena, "%s:%d:%s", at.file ? at.file : "?", (int)at.span.line, of);
    if (!w->t->cold) {
        tr_smap_set(&c->arena, &w->t->checked, key, strlen(key), w->t);
        tr_remark_add(c, TR_REMARK_CHECK, at, "an index%s is compared with the size, %s", of,
                      how_often(w, v));
    } else if (!tr_smap_get(&w->t->checked, key, strlen(key))) {
        tr_remark_add(c, TR_REMARK_CHECK, at,
                      "an index%s: tested once before the loop, else a copy that looks at each one runs", of);
    }
}

static void tell_sizes(const walk *w, tr_val v, tr_place at) {
    if (w->t->cold)
        tr_remark_add(w->t->c, TR_REMARK_CHECK, at,
                      "sizes: found to agree before; other code runs where they do not");
    else
        tr_remark_add(w->t->c, TR_REMARK_CHECK, at, "sizes are compared, %s", how_often(w, v));
}

static void tell_check(const walk *w, tr_val v, tr_place at) {
    const tr_site *s = tr_at(w->f, v)->imm.site;
    char buf[16];
    if (!s)
        return;
    tr_remark_add(w->t->c, TR_REMARK_CHECK, at, "tested %s: %s%s%s", how_often(w, v),
                  tr_exc_text(s->exc, buf), s->text ? ": " : "", s->text ? s->text : "");
}

static void tell_overlap(const walk *w, tr_val v, tr_place at) {
    const tr_ins *in = tr_at(w->f, v);
    const char *x = name_of(w, in->args[0]), *y = name_of(w, in->args[1]);
    tr_remark_add(w->t->c, TR_REMARK_CHECK, at, "tested %s: does %s share memory with %s?", how_often(w, v),
                  x ? x : "an array", y ? y : "an array");
}

/* Versions of one expression make what it makes, so a place counts once; others of a line are numbered. */
static void tell_alloc(const walk *w, tr_val v, tr_place at) {
    tr_ctx *c = w->t->c;
    const char *name = name_of(w, v), *file = at.file ? at.file : "?";
    const char *place = tr_arena_printf(&c->arena, "%s:%d:%d-%d", file, (int)at.span.line, (int)at.span.col,
                                        (int)at.span.end_col),
               *line = tr_arena_printf(&c->arena, "%s:%d", file, (int)at.span.line);
    if (tr_smap_get(&w->t->made, place, strlen(place)))
        return;
    uintptr_t n = (uintptr_t)tr_smap_get(&w->t->made, line, strlen(line)) + 1;
    tr_smap_set(&c->arena, &w->t->made, place, strlen(place), w->t);
    tr_smap_set(&c->arena, &w->t->made, line, strlen(line), (void *)n);
    tr_remark_add(c, TR_REMARK_MEMORY, at, "%s is made, %s: %s%s%s",
                  n == 1   ? "an array"
                  : n == 2 ? "another array"
                           : tr_arena_printf(&c->arena, "array %u of this line", (unsigned)n),
                  how_often(w, v), name ? name : "", name ? ", " : "",
                  tr_ty_user(&c->arena, tr_at(w->f, v)->ty));
}

static void tell_call(const walk *w, tr_val v, tr_place at) {
    assert(tr_at(w->f, v)->imm.fn < w->t->p->insts.n);
    const tr_inst *to = &w->t->p->insts.d[tr_at(w->f, v)->imm.fn];
    if (to->late || to->piece || (to->func < w->t->p->funcs.n && w->t->p->funcs.d[to->func].library))
        return;
    tr_remark_add(w->t->c, TR_REMARK_CALL, at, "%s() is called", func_name(w->t, to));
}

/* What goes over arrays, and not what is small work beside the user's. */
static void tell_runtime(const walk *w, tr_val v, tr_place at) {
    const tr_ins *in = tr_at(w->f, v);
    const tr_rtinfo *row = &tr_rt_info[in->imm.rt->row];
    bool arrays = false;
    for (uint32_t k = 0; k < in->nargs; k++)
        arrays = arrays || tr_at(w->f, in->args[k])->ty->kind == TR_TY_ARRAY;
    if (!arrays || !(row->effects & E_WRITE))
        return;
    char name[32];
    snprintf(name, sizeof name, "%s", row->name);
    for (char *s = name; *s; s++)
        *s = (char)(*s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s);
    tr_remark_add(w->t->c, TR_REMARK_CALL, at, "%s of Treadle's runtime is called, %s", name,
                  how_often(w, v));
}

/* --- loops of array expressions --- */

typedef struct lines {
    tr_place all[MAX_LINES];
    uint32_t n, more;
    bool outermost; /* of what was inlined, the line of the call */
} lines;

static bool is_before(const tr_place *a, const tr_place *b) {
    int files = strcmp(a->file ? a->file : "", b->file ? b->file : "");
    return files ? files < 0 : a->span.line < b->span.line;
}

static void add_line(lines *l, tr_place at) {
    uint32_t k = 0;
    while (k < l->n && is_before(&l->all[k], &at))
        k++;
    if (k < l->n && !is_before(&at, &l->all[k]))
        return;
    if (l->n == MAX_LINES) {
        l->more++;
        return;
    }
    memmove(&l->all[k + 1], &l->all[k], (l->n - k) * sizeof *l->all);
    l->all[k] = at;
    l->n++;
}

static void add_lines_of(const walk *w, tr_fn *f, lines *l) {
    walk in = *w;
    in.f = f;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *i = tr_at(f, v);
            tr_place at;
            if (!tr_ins_ends(i) && place_of(&in, v, &at))
                add_line(l, l->outermost ? outermost(&in, i->loc) : at);
            for (unsigned k = 0; i->op == TR_OP_PATTERN && tr_pat_any(i->imm.pat, k); k++)
                add_lines_of(w, tr_pat_any(i->imm.pat, k), l);
        }
}

/* Lines of another file than the first one's are told with that. */
static const char *lines_text(teller *t, const lines *l) {
    tr_sb b;
    tr_sb_init(&b);
    for (uint32_t i = 0; i < l->n; i++) {
        const tr_place *at = &l->all[i];
        const char *slash = at->file ? strrchr(at->file, '/') : NULL;
        bool last = i + 1 == l->n && !l->more,
             own = i == 0 || !at->file || !l->all[0].file || !strcmp(at->file, l->all[0].file);
        tr_sb_printf(&b, "%s%d", i == 0 ? "" : last ? " and " : ", ", (int)at->span.line);
        if (!own)
            tr_sb_printf(&b, " of %s", slash ? slash + 1 : at->file);
    }
    if (l->more)
        tr_sb_puts(&b, " and more");
    const char *s = tr_arena_strdup(&t->c->arena, b.d ? b.d : "");
    tr_sb_fini(&b);
    return s;
}

static void put_count(tr_sb *b, const char *verb, uint32_t n) {
    if (n)
        tr_sb_printf(b, ", %s %u array%s", verb, (unsigned)n, n == 1 ? "" : "s");
}

static const char *loop_text(const walk *w, const tr_pat *t) {
    tr_sb b;
    tr_sb_init(&b);
    tr_sb_printf(&b, "over %u ax%s", (unsigned)t->nspace, t->nspace == 1 ? "is" : "es");
    put_count(&b, "reads", t->nin + (uint32_t)t->nein);
    put_count(&b, "writes", t->nout + (uint32_t)t->neout);
    put_count(&b, "keeps some elements in", t->nfilt);
    put_count(&b, "puts the best into", t->nbest);
    put_count(&b, "stores at computed places of", t->nscat);
    for (uint32_t k = 0; k < tr_pat_nred(t); k++)
        tr_sb_printf(&b, "%s%s%s", k ? ", " : "; reduces: ", k < t->nscan ? "scan by " : "",
                     tr_red_name[tr_pat_red(t, k)]);
    if (t->keep)
        tr_sb_printf(&b, ", along %u ax%s", (unsigned)(t->nspace - tr_pat_nkeep(t)),
                     t->nspace - tr_pat_nkeep(t) == 1 ? "is" : "es");
    const char *s = tr_arena_strdup(&w->t->c->arena, b.d ? b.d : "");
    tr_sb_fini(&b);
    return s;
}

static void tell_loop(const walk *w, tr_val v, tr_place at) {
    const tr_pat *t = tr_at(w->f, v)->imm.pat;
    lines l = {.n = 0};
    if (t->nspace == 0 || tr_pat_is_region(t))
        return;
    add_line(&l, at);
    for (unsigned k = 0; tr_pat_any(t, k); k++)
        add_lines_of(w, tr_pat_any(t, k), &l);
    const char *text = loop_text(w, t), *of = l.n > 1 ? lines_text(w->t, &l) : NULL;
    for (uint32_t k = 0; k < l.n; k++)
        if (of)
            tr_remark_add(w->t->c, TR_REMARK_LOOP, l.all[k], "lines %s are one loop: %s", of, text);
        else
            tr_remark_add(w->t->c, TR_REMARK_LOOP, l.all[k], "a loop %s", text);
}

/* --- functions --- */

/* The body of a generator expression or a comprehension: no function that the user knows of. */
static bool is_inner_body(const char *fn) {
    return fn[0] == '<' && strcmp(fn, "<lambda>") != 0;
}

/* The functions that an instruction came from, each told at the line where it was inlined. */
static void tell_inlined(const walk *w, uint32_t loc) {
    for (uint32_t at = loc; at && at < w->f->locs.n; at = w->f->locs.d[at].parent) {
        uint32_t outer = users(w, w->f->locs.d[at].parent);
        const tr_place *in = &w->f->locs.d[at].place;
        const tr_place *to = &w->f->locs.d[outer].place;
        if (outer && in->fn && !is_inner_body(in->fn) && !is_library(w->t, in->file) &&
            !(to->fn && !strcmp(to->fn, in->fn)))
            tr_remark_add(w->t->c, TR_REMARK_CALL, *to, "%s() stands here in place of the call", in->fn);
    }
}

/* Does the block run in rounds that could be lanes of a vector, as no other loop lies in them? */
static bool is_innermost(const walk *w, tr_bid b) {
    uint32_t l = tr_forest_in(&w->loops, b);
    return l == TR_NOLOOP ? w->outer && !w->loops.all.n : tr_forest_is_innermost(&w->loops, l);
}

/* Work on numbers, whose line has no vectors. */
static bool could_be_vector(const tr_fn *f, const tr_ins *in) {
    return in->op == TR_OP_LOAD || in->op == TR_OP_STORE || in->op == TR_OP_MATH || tr_ins_is_real(f, in);
}

static void walk_fn(teller *t, tr_fn *f, const walk *outer, const tr_ins *pat, bool late);

/* What is told once of each place. */
static void tell_place(walk *w, tr_val v, tr_place at) {
    const tr_ins *in = tr_at(w->f, v);
    if (tr_bits_get(&w->told, in->loc))
        return;
    if (!tr_bits_get(&w->seen, in->loc))
        tell_inlined(w, in->loc);
    tr_bits_set(&w->seen, in->loc);
    if (!w->t->vectors || !is_innermost(w, in->blk) || !could_be_vector(w->f, in))
        return;
    if (!tr_remarks_have(w->t->c, TR_REMARK_VECTOR, at))
        tr_remark_add(w->t->c, TR_REMARK_VECTOR, at, "none: one number at a time");
    tr_bits_set(&w->told, in->loc);
}

static void tell_ins(walk *w, tr_val v) {
    const tr_ins *in = tr_at(w->f, v);
    bool cold = is_cold(w, v);
    tr_place at;
    for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
        walk_fn(w->t, tr_pat_any(in->imm.pat, k), w, in, cold);
    if (cold != w->t->cold || !place_of(w, v, &at))
        return;
    switch ((tr_op)in->op) {
    case TR_OP_CHECKIDX: tell_index(w, v, at); break;
    case TR_OP_BCAST:
    case TR_OP_BCASTTO: tell_sizes(w, v, at); break;
    default: break;
    }
    if (cold)
        return;
    tell_place(w, v, at);
    switch ((tr_op)in->op) {
    case TR_OP_CHECK: tell_check(w, v, at); break;
    case TR_OP_OVERLAP: tell_overlap(w, v, at); break;
    case TR_OP_ALLOC: tell_alloc(w, v, at); break;
    case TR_OP_CALL: tell_call(w, v, at); break;
    case TR_OP_CALLRT: tell_runtime(w, v, at); break;
    case TR_OP_PATTERN: tell_loop(w, v, at); break;
    default: break;
    }
}

static void walk_fn(teller *t, tr_fn *f, const walk *outer, const tr_ins *pat, bool late) {
    assert(!outer == !pat && f->is_lambda == (pat != NULL));
    walk w = {.t = t, .f = f, .outer = outer, .pat = pat, .late = late};
    tr_dom_compute(f);
    w.seen = tr_bits_new(&t->c->arena, f->locs.n + 1u);
    w.told = tr_bits_new(&t->c->arena, f->locs.n + 1u);
    w.loops = tr_forest_find(f);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            tell_ins(&w, v);
}

/* Late code, at the first of its lines. */
static void tell_late(teller *t, tr_fn *f) {
    walk w = {.t = t, .f = f};
    lines l = {.outermost = true};
    add_lines_of(&w, f, &l);
    if (l.n)
        tr_remark_add(t->c, TR_REMARK_LATE, l.all[0],
                      "line%s %s once more, for what tests in front do not let through: compiled when it is "
                      "first reached",
                      l.n > 1 ? "s" : "", lines_text(t, &l));
}

static void tell_code(teller *t) {
    for (uint32_t i = 0; i < t->p->insts.n; i++) {
        const tr_inst *it = &t->p->insts.d[i];
        if (it->fn && it->late && t->cold)
            tell_late(t, it->fn);
        if (it->fn)
            walk_fn(t, it->fn, NULL, NULL, it->late);
    }
}

/* --- types --- */

static void tell_function(teller *t, const tr_inst *it) {
    const tr_func *f = &t->p->funcs.d[it->func];
    tr_val first = tr_blk_at(it->fn, 0)->params.n ? tr_blk_at(it->fn, 0)->params.d[0] : TR_NOVAL;
    if (first < it->fn->names.n && it->fn->names.d[first] && it->fn->names.d[first][0] == '.')
        return; /* a launch, whose sizes come first */
    tr_place at = {.file = f->file, .fn = f->name, .span.line = (int32_t)f->code->firstline};
    tr_sb b;
    tr_sb_init(&b);
    tr_sb_printf(&b, "%s(", f->qualname);
    for (uint32_t k = tr_func_held(f); k < it->nargs; k++)
        tr_sb_printf(&b, "%s%s", k > tr_func_held(f) ? ", " : "", tr_ty_user(&t->c->arena, it->args[k]));
    tr_sb_printf(&b, ")%s%s", it->ret ? " -> " : "", it->ret ? tr_ty_user(&t->c->arena, it->ret) : "");
    tr_remark_add(t->c, TR_REMARK_FUNCTION, at, "%s", b.d ? b.d : "");
    tr_sb_fini(&b);
}

/* What has no place of its own, such as a param, is told where the function begins; not where ways meet: the
 * variable is told where it is assigned. A name that begins with a dot is none of the user's. */
static void tell_types(teller *t, const tr_inst *it, const tr_code *code) {
    const tr_fn *f = it->fn;
    for (uint32_t v = 0; v < f->ins.n && v < f->names.n; v++) {
        const tr_ins *in = tr_at(f, v);
        tr_place at = tr_fn_place(f, in->loc);
        bool meets = in->op == TR_OP_PARAM && in->blk != 0 && at.span.line <= 0;
        if (!f->names.d[v] || f->names.d[v][0] == '.' || !in->ty || in->blk == TR_NOBLK || meets)
            continue;
        if (at.span.line <= 0)
            at = (tr_place){.file = f->file, .span.line = code ? (int32_t)code->firstline : 0};
        tr_remark_add(t->c, TR_REMARK_TYPE, at, "%s: %s", f->names.d[v], tr_ty_user(&t->c->arena, in->ty));
    }
}

void tr_driver_tell_types(tr_prog *p) {
    teller t = {.p = p, .c = p->ctx};
    for (uint32_t i = 0; i < p->insts.n; i++) {
        const tr_inst *it = &p->insts.d[i];
        const tr_func *f = it->func < p->funcs.n ? &p->funcs.d[it->func] : NULL;
        if (!it->fn || (f && f->library))
            continue;
        if (f && f->code && !f->round)
            tell_function(&t, it);
        tell_types(&t, it, f ? f->code : NULL);
    }
}

/* --- together --- */

void tr_driver_report(tr_prog *p, bool vectors) {
    tr_ctx *c = p->ctx;
    teller t = {.p = p, .c = c, .vectors = vectors};
    find_library(&t);
    tell_code(&t);
    t.cold = true;
    tell_code(&t);
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->remarks.n; i++)
        if (!is_library(&t, c->remarks.d[i].file))
            c->remarks.d[n++] = c->remarks.d[i];
    c->remarks.n = n;
    static const char *const names[] = {
#define X(id, name, help) name,
        TR_STAGES(X)
#undef X
    };
    tr_place whole = {.file = p->insts.d[p->root].fn->file};
    for (uint32_t s = 0; s < TR_STAGE__COUNT; s++)
        if (c->stage_ns[s])
            tr_remark_add(c, TR_REMARK_TIME, whole, "%s: %.3f ms", names[s], (double)c->stage_ns[s] / 1e6);
    tr_remarks_print(c, &c->dump_text);
}
