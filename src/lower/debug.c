/* DWARF line tables (opts.debug): which line of the user's source each instruction comes from, through
 * inlined calls.
 *
 * Every LLVM function gets a subprogram; a function that our own passes inlined gets one too, which its
 * places name together with the place it was inlined at. A place that is unknown counts as line 0 of the
 * function, as LLVM demands one on every call. */
#include "lower/internal.h"

#include <assert.h>
#include <string.h>

struct tr_ldebug {
    LLVMDIBuilderRef b;
    LLVMMetadataRef unit, type;
    tr_smap files, inlined; /* by path; by "path:function" */
    LLVMMetadataRef fn;     /* subprogram of the LLVM function being filled */
};

static LLVMMetadataRef file_of(tr_lm *m, const char *path) {
    if (!path)
        path = "?";
    LLVMMetadataRef f = tr_smap_get(&m->dbg->files, path, strlen(path));
    if (!f) {
        f = LLVMDIBuilderCreateFile(m->dbg->b, path, strlen(path), "", 0);
        tr_smap_set(&m->ctx->arena, &m->dbg->files, path, strlen(path), f);
    }
    return f;
}

static LLVMMetadataRef subprogram(tr_lm *m, const char *name, const char *path, int32_t line) {
    LLVMMetadataRef file = file_of(m, path);
    unsigned at = line > 0 ? (unsigned)line : 0;
    return LLVMDIBuilderCreateFunction(m->dbg->b, file, name, strlen(name), "", 0, file, at, m->dbg->type, 1,
                                       1, at, LLVMDIFlagZero, 1);
}

void tr_lower_debug_open(tr_lm *m) {
    assert(!m->dbg);
    struct tr_ldebug *d = m->dbg = TR_NEW(&m->ctx->arena, struct tr_ldebug);
    static const char producer[] = "treadle";
    lv version = l_int(m->i32, LLVMDebugMetadataVersion()), dwarf = l_int(m->i32, 4);
    LLVMAddModuleFlag(m->mod, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18,
                      LLVMValueAsMetadata(version));
    LLVMAddModuleFlag(m->mod, LLVMModuleFlagBehaviorWarning, "Dwarf Version", 13, LLVMValueAsMetadata(dwarf));
    d->b = LLVMCreateDIBuilder(m->mod);
    LLVMMetadataRef file = file_of(m, m->prog->insts.d[m->prog->root].fn->file);
    /* of lines alone: LLVM's own DebugDirectivesOnly, which its C API does not name */
    LLVMDWARFEmissionKind kind = m->ctx->opts.debug ? LLVMDWARFEmissionFull : (LLVMDWARFEmissionKind)3;
    d->unit =
        LLVMDIBuilderCreateCompileUnit(d->b, LLVMDWARFSourceLanguagePython, file, producer,
                                       sizeof producer - 1, 1, "", 0, 0, "", 0, kind, 0, 1, 0, "", 0, "", 0);
    d->type = LLVMDIBuilderCreateSubroutineType(d->b, file, NULL, 0, LLVMDIFlagZero);
}

void tr_lower_debug_close(tr_lm *m) {
    LLVMDIBuilderFinalize(m->dbg->b);
    LLVMDisposeDIBuilder(m->dbg->b);
}

/* The function's place that comes first in the source: the IR does not say where its `def` stands. */
static const tr_place *first_place(const tr_fn *f) {
    const tr_place *first = NULL;
    for (uint32_t i = 1; i < f->locs.n; i++) {
        const tr_loc *l = &f->locs.d[i];
        if (!l->parent && l->place.span.line > 0 && (!first || l->place.span.line < first->span.line))
            first = &l->place;
    }
    return first;
}

LLVMMetadataRef tr_lower_debug_fn(tr_lm *m, lv fn, const tr_fn *f) {
    const tr_place *p = first_place(f);
    LLVMMetadataRef before = m->dbg->fn;
    const char *name = p && p->fn ? p->fn : f->name;
    m->dbg->fn = subprogram(m, name, f->file, p ? p->span.line : 0);
    LLVMSetSubprogram(fn, m->dbg->fn);
    return before;
}

void tr_lower_debug_back(tr_lm *m, LLVMMetadataRef before) {
    m->dbg->fn = before;
}

static LLVMMetadataRef inlined_fn(tr_lm *m, const tr_place *p) {
    const char *key = tr_arena_printf(&m->ctx->arena, "%s:%s", p->file ? p->file : "?", p->fn ? p->fn : "?");
    LLVMMetadataRef s = tr_smap_get(&m->dbg->inlined, key, strlen(key));
    if (!s) {
        s = subprogram(m, p->fn ? p->fn : "?", p->file, p->span.line);
        tr_smap_set(&m->ctx->arena, &m->dbg->inlined, key, strlen(key), s);
    }
    return s;
}

/* The location of place `loc` of f; `outside`: where f itself was inlined, or NULL. */
static LLVMMetadataRef location(tr_lm *m, const tr_fn *f, uint32_t loc, LLVMMetadataRef outside) {
    assert(loc < f->locs.n);
    const tr_loc *l = &f->locs.d[loc];
    LLVMMetadataRef at = loc && l->parent ? location(m, f, l->parent, outside) : outside;
    LLVMMetadataRef scope = at ? inlined_fn(m, &l->place) : m->dbg->fn;
    unsigned line = loc && l->place.span.line > 0 ? (unsigned)l->place.span.line : 0;
    unsigned col = loc && l->place.span.col >= 0 ? (unsigned)l->place.span.col + 1 : 0;
    return LLVMDIBuilderCreateDebugLocation(m->lc, line, col, scope, at);
}

static LLVMMetadataRef outside_of(tr_lm *m, const tr_lbody *b) {
    if (!b->outer || !b->at_loc)
        return NULL;
    uint32_t parent = b->outer->f->locs.d[b->at_loc].parent;
    LLVMMetadataRef beyond = outside_of(m, b->outer);
    return parent ? location(m, b->outer->f, parent, beyond) : beyond;
}

void tr_lower_debug_at(tr_lf *w, uint32_t loc) {
    const tr_fn *f = w->body->f;
    if (loc >= f->locs.n)
        loc = 0;
    if (!f->locs.n)
        LLVMSetCurrentDebugLocation2(w->b,
                                     LLVMDIBuilderCreateDebugLocation(w->m->lc, 0, 0, w->m->dbg->fn, NULL));
    else
        LLVMSetCurrentDebugLocation2(w->b, location(w->m, f, loc, outside_of(w->m, w->body)));
}
