/* What goes with the machine code: raise and call sites with their places, names for messages, GDB and perf.
 *
 * A site's places run from the operation outwards through the calls it was inlined at, so a traceback shows
 * the user's functions whatever was inlined. A lambda stands in the function of its pattern: its places go on
 * with the calls that the pattern was inlined at. */
#include "lower/internal.h"

#include <assert.h>
#include <string.h>

static void add_chain(tr_lm *m, const tr_fn *f, uint32_t loc, tr_msite *s) {
    assert(loc < f->locs.n);
    for (; loc; loc = f->locs.d[loc].parent) {
        tr_place *more = TR_NEW_N(&m->ctx->arena, tr_place, s->nplaces + 1);
        if (s->nplaces)
            memcpy(more, s->places, s->nplaces * sizeof *more);
        more[s->nplaces++] = f->locs.d[loc].place;
        s->places = more;
    }
}

static void add_places(tr_lf *w, tr_val v, tr_msite *s) {
    const tr_lbody *b = w->body;
    uint32_t loc = v == TR_NOVAL ? 0 : tr_at(b->f, v)->loc;
    add_chain(w->m, b->f, loc, s);
    for (; b->outer; b = b->outer) {
        const tr_fn *f = b->outer->f;
        /* The pattern's own place repeats the lambda's function unless the lambda knows none. */
        uint32_t at = s->nplaces && b->at_loc ? f->locs.d[b->at_loc].parent : b->at_loc;
        add_chain(w->m, f, at, s);
    }
}

static void complex_arg(const tr_obj *o, tr_marg *a) {
    a->kind = 'Z';
    a->d = o->u.c[0];
    memcpy(&a->i, &o->u.c[1], sizeof a->i);
}

/* A NumPy scalar leaves as Python's number, like a value of its type. */
static void scalar_arg(const tr_obj *o, tr_marg *a) {
    char cls = tr_ty_class(o->ty);
    if (cls == 'c') {
        complex_arg(o, a);
        a->kind = o->ty->kind == TR_TY_C64 ? 'z' : 'Z';
    } else if (cls == 'f') {
        a->kind = o->ty->kind == TR_TY_F32 ? 'F' : 'D';
        a->d = o->u.f;
    } else {
        a->kind = cls == 'b' ? 'B' : cls == 'u' ? 'U' : 'I';
        a->i = o->u.i;
    }
}

/* False: 64 bits do not hold it. */
static bool integer_arg(const tr_bigint *n, tr_marg *a) {
    uint64_t u;
    a->kind = 'I';
    if (tr_bigint_i64(n, &a->i))
        return true;
    a->kind = 'U';
    a->i = (int64_t)tr_bigint_wrapped(n);
    return tr_bigint_u64(n, &u);
}

static bool const_arg(const tr_obj *o, tr_marg *a) {
    switch ((tr_objk)o->kind) {
    case TR_OBJ_NONE: a->kind = 'N'; return true;
    case TR_OBJ_BOOL:
        a->kind = 'B';
        a->i = o->u.i;
        return true;
    case TR_OBJ_INT: return integer_arg(&o->u.n, a);
    case TR_OBJ_FLOAT:
        a->kind = 'D';
        a->d = o->u.f;
        return true;
    case TR_OBJ_COMPLEX: complex_arg(o, a); return true;
    case TR_OBJ_SCALAR: scalar_arg(o, a); return true;
    case TR_OBJ_TUPLE:
        a->kind = 'T';
        a->i = o->u.t.n;
        return true;
    case TR_OBJ_STR:
        a->kind = 'S';
        a->s = o->u.s.d;
        return true;
    default: return false;
    }
}

/* The next payload operand as an argument; false when its type has no form at run time. */
static bool payload_arg(const tr_ty *t, tr_marg *a) {
    if (t->kind == TR_TY_LIT)
        return const_arg(t->lit, a);
    if (t->kind == TR_TY_NONE) {
        a->kind = 'N';
        return true;
    }
    switch (t->kind) {
    case TR_TY_BOOL: a->kind = 'b'; return true;
    case TR_TY_F16: a->kind = 'h'; return true;
    case TR_TY_F32: a->kind = 'f'; return true;
    case TR_TY_F64: a->kind = 'd'; return true;
    case TR_TY_C64: a->kind = 'c'; return true;
    case TR_TY_C128: a->kind = 'C'; return true;
    case TR_TY_STRING: a->kind = 's'; return true;
    case TR_TY_BYTES: a->kind = 'y'; return true;
    default: a->kind = tr_ty_class(t); return tr_ty_is_int(t);
    }
}

static bool fill_args(tr_msite *s, const tr_site *site, unsigned n, const tr_ty *const *ty) {
    assert(n <= TR_FRAME_PAYLOAD);
    unsigned next = 0;
    for (uint32_t i = 0; i < s->nargs; i++) {
        const tr_obj *o = !site->args ? NULL : site->args[i];
        bool ok = o ? const_arg(o, &s->args[i]) : next < n && payload_arg(ty[next++], &s->args[i]);
        if (!ok)
            return false;
    }
    return true;
}

/* Those that make texts of their own of several arguments are plain with one. */
static void says(const tr_prog *p, const tr_site *site, tr_msite *s) {
    uint32_t own = site->exc - TR_EXC__COUNT;
    bool is_own = site->exc >= TR_EXC__COUNT, several = site->nargs > 1;
    if (site->exc == TR_EXC_HOST) {
        s->says = TR_SAYS_KEPT;
        return;
    }
    s->name = !is_own ? tr_exc_name[site->exc] : own < p->own_excs.n ? p->own_excs.d[own].name : NULL;
    if ((is_own && (own >= p->own_excs.n || !p->own_excs.d[own].plain)) ||
        (several && tr_prog_derives(p, site->exc, TR_EXC_OSERROR)) ||
        (several && tr_prog_derives(p, site->exc, TR_EXC_AXIS)))
        return;
    if (site->exc == TR_EXC_UNIENCODE || site->exc == TR_EXC_UNIDECODE) { /* their arguments were looked at */
        s->says = TR_SAYS_CODEC;
        return;
    }
    s->says = tr_prog_derives(p, site->exc, TR_EXC_KEY) ? TR_SAYS_REPR : TR_SAYS_ARGS;
}

uint32_t tr_lower_site(tr_lf *w, tr_val v, const tr_site *site, unsigned n, const tr_ty *const *ty) {
    tr_lm *m = w->m;
    tr_msite s = {.text = site->text, .cls = (uint16_t)site->exc};
    if (site->exc < TR_EXC__COUNT)
        s.exc = (uint8_t)site->exc;
    else if (site->exc != TR_EXC_HOST)
        s.own = site->exc - TR_EXC__COUNT + 1;
    says(m->prog, site, &s);
    s.nargs = site->text && !site->args ? n : site->nargs > 0 ? (uint32_t)site->nargs : 0;
    s.args = TR_NEW_N(&m->ctx->arena, tr_marg, s.nargs + 1);
    if (!fill_args(&s, site, n, ty))
        tr_lower_error(w, v, "an argument of this exception cannot leave compiled code");
    add_places(w, v, &s);
    tr_vec_push(&m->ctx->arena, &m->sites, s);
    return m->sites.n - 1;
}

void tr_lower_meta(tr_lm *m, tr_meta *meta) {
    const tr_inst *root = &m->prog->insts.d[m->prog->root];
    const tr_fn *f = root->fn;
    tr_sb title, ret;
    tr_sb_init(&title);
    tr_sb_init(&ret);
    tr_sb_printf(&title, "%s(", f->name);
    for (uint32_t i = 0; i < f->blks.d[0].params.n; i++) {
        tr_sb_puts(&title, i ? ", " : "");
        tr_ty_print_user(&title, tr_at(f, f->blks.d[0].params.d[i])->ty);
    }
    tr_sb_putc(&title, ')');
    tr_ty_print_ir(&ret, f->ret);
    *meta = (tr_meta){
        .nsites = m->sites.n, .sites = m->sites.d, .narrays = m->prog->arrays.n, .entry = "tr_entry"};
    if (tr_lower_is_flat(m) && m->insts[m->prog->root].fn) { /* it may be left out */
        size_t n;
        meta->entry = tr_arena_strdup(&m->ctx->arena, LLVMGetValueName2(m->insts[m->prog->root].fn, &n));
    }
    meta->nlate = m->late.n;
    meta->late = m->late.d;
    meta->large = m->prog->large;
    meta->takes = m->prog->takes;
    meta->writes = m->prog->writes;
    meta->opts = m->ctx->opts;
    meta->atomic_counts = m->atomic_counts;
    meta->cooperative = m->cooperative;
    meta->says_lines = m->prog->says_lines;
    meta->ret = tr_arena_strdup(&m->ctx->arena, ret.d);
    meta->title = tr_arena_strdup(&m->ctx->arena, title.d);
    tr_sb_fini(&title);
    tr_sb_fini(&ret);
}
