/* A program's small helpers; see prog.h. */
#include "ir/prog.h"

#include <string.h>

#include "ir/internal.h"

void tr_prog_init(tr_prog *p, tr_ctx *ctx) {
    memset(p, 0, sizeof *p);
    p->ctx = ctx;
}

static uint32_t find_opts(tr_prog *p, const tr_opts *want) {
    for (uint32_t i = 0; i < p->opts.n; i++)
        if (!memcmp(p->opts.d[i], want, sizeof *want))
            return i;
    tr_vec_push(&p->ctx->arena, &p->opts, tr_arena_copy(&p->ctx->arena, want, sizeof *want));
    return p->opts.n - 1;
}

uint32_t tr_prog_opts(tr_prog *p, const tr_opts *own) {
    tr_opts o = p->ctx->opts;
    find_opts(p, &o);
#define X(field, type, dflt) o.field = own->field;
    TR_OWN_OPTS(X)
#undef X
    return find_opts(p, &o);
}

const tr_opts *tr_inst_opts(const tr_prog *p, const tr_inst *t) {
    return t->opts < p->opts.n ? p->opts.d[t->opts] : &p->ctx->opts;
}

static tr_fn *fn_at(const tr_prog *p, bool typed, uint32_t i) {
    return typed ? p->insts.d[i].fn : p->funcs.d[i].ssa;
}

void tr_prog_print(tr_sb *out, const tr_prog *p, bool typed) {
    uint32_t n = typed ? p->insts.n : p->funcs.n, left = 0;
    uint32_t *number = TR_NEW_N(&p->ctx->arena, uint32_t, n + 1u);
    for (uint32_t i = 0; i < n; i++) { /* those that were dropped have no place in the text */
        number[i] = left;
        left += fn_at(p, typed, i) != NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!fn_at(p, typed, i))
            continue;
        tr_sb_puts(out, number[i] ? "\n" : "");
        if (typed)
            tr_sb_puts(out, p->insts.d[i].late ? "late " : p->insts.d[i].piece ? "piece " : "");
        tr_ir_print_among(out, fn_at(p, typed, i), n, number);
    }
}

tr_place tr_fn_place(const tr_fn *f, uint32_t loc) {
    return loc < f->locs.n ? f->locs.d[loc].place : (tr_place){.file = f->file, .fn = f->name};
}

static uint64_t all_bases(uint32_t exc) {
    uint64_t all = UINT64_C(1) << exc, before = 0;
    while (before != all) {
        before = all;
        for (uint32_t k = 0; k < TR_EXC__COUNT; k++)
            all |= before >> k & 1 ? tr_exc_bases[k] : 0;
    }
    return all;
}

bool tr_prog_derives(const tr_prog *p, uint32_t exc, uint32_t base) {
    uint32_t own = exc - TR_EXC__COUNT, own_base = base - TR_EXC__COUNT;
    if (exc < TR_EXC__COUNT && base < TR_EXC__COUNT)
        return all_bases(exc) >> base & 1;
    if (exc < TR_EXC__COUNT)
        return own_base < p->own_excs.n && p->own_excs.d[own_base].derived >> exc & 1;
    if (base < TR_EXC__COUNT)
        return own < p->own_excs.n && p->own_excs.d[own].bases >> base & 1;
    bool found = exc == base;
    for (uint32_t i = 0; own < p->own_excs.n && i < p->own_excs.d[own].own_bases.n; i++)
        found = found || p->own_excs.d[own].own_bases.d[i] == own_base;
    return found;
}
