/* Where the code of a program's functions stands, for what is kept of it: a key knows no first lines, so a
 * comment above a function finds the code that was made before, and its places move (code/meta.h: tr_mfunc).
 *
 * Late code comes as text, whose lines are those of its module's record; they move before it is compiled. A
 * hit costs one look at each function; lines are only counted for what is put into the cache. */
#include "driver/priv.h"
#include "front/front.h"

static bool of_module(tr_arena *a, const tr_meta *of, tr_lines *out) {
    out->n = of->nfuncs;
    out->root = of->root;
    out->funcs = TR_NEW_N(a, tr_mfunc, out->n + 1u);
    for (uint32_t i = 0; i < out->n; i++) {
        tr_mfunc f = of->funcs[i];
        out->funcs[i] = (tr_mfunc){f.file, f.fn, f.now, f.last + (f.now - f.first), f.now};
    }
    return true;
}

bool tr_driver_lines(tr_prog *p, const tr_request *rq, tr_lines *out) {
    if (rq->of)
        return of_module(&p->ctx->arena, rq->of, out);
    out->n = p->funcs.n;
    out->root = p->root_func;
    out->funcs = TR_NEW_N(&p->ctx->arena, tr_mfunc, out->n + 1u);
    for (uint32_t i = 0; i < out->n; i++) {
        const tr_func *f = &p->funcs.d[i];
        uint32_t line = f->code ? f->code->firstline : 0;
        if (line > TR_MAX_LINE)
            return false;
        out->funcs[i] = (tr_mfunc){f->file, f->name, (int32_t)line, (int32_t)line, (int32_t)line};
    }
    return out->n > 0;
}

void tr_driver_keep_lines(const tr_prog *p, const tr_request *rq, const tr_lines *lines, tr_meta *meta) {
    for (uint32_t i = 0; i < lines->n && !rq->of; i++) {
        int32_t last = p->funcs.d[i].code ? tr_front_last_line(p->funcs.d[i].code) : 0;
        if (last > lines->funcs[i].last)
            lines->funcs[i].last = last < TR_MAX_LINE ? last : TR_MAX_LINE;
    }
    meta->funcs = lines->funcs;
    meta->nfuncs = lines->n;
    meta->root = lines->root;
}

void tr_driver_move_text(tr_prog *p, const tr_meta *of) {
    for (uint32_t i = 0; i < p->insts.n; i++) {
        tr_fn *f = p->insts.d[i].fn;
        for (uint32_t l = 1; f && l < f->locs.n; l++)
            tr_place_move(of->funcs, of->nfuncs, &f->locs.d[l].place);
    }
}
