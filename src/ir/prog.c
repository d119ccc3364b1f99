/* A program's small helpers; see prog.h. */
#include "ir/prog.h"

#include <string.h>

void tr_prog_init(tr_prog *p, tr_ctx *ctx) {
    memset(p, 0, sizeof *p);
    p->ctx = ctx;
}

void tr_prog_print(tr_sb *out, const tr_prog *p, bool typed) {
    uint32_t n = typed ? p->insts.n : p->funcs.n;
    bool first = true;
    for (uint32_t i = 0; i < n; i++) {
        const tr_fn *f = typed ? p->insts.d[i].fn : p->funcs.d[i].ssa;
        if (!f)
            continue;
        tr_sb_puts(out, first ? "" : "\n");
        first = false;
        tr_ir_print(out, f);
    }
}

tr_place tr_fn_place(const tr_fn *f, uint32_t loc) {
    return loc < f->locs.n ? f->locs.d[loc].place : (tr_place){.file = f->file, .fn = f->name};
}
