/* One LLVM module from a typed program: types, attributes, metadata, which instances are needed, the entry.
 *
 * Shape of the module: the root instance is lowered straight into "tr_entry", which reads its arguments from
 * slots, so the common program is one LLVM function and needs no inliner. Instances that are called become
 * internal functions of convention fastcc, signature {i32 code, parts...}(frame, parts...). A root that calls
 * itself is both. User functions are named "py.NAME", so that no user can take the name of a C function.
 * Memory is described by two unrelated TBAA types: array data, and everything of ours (frame, slots). There
 * is none per dtype, because NumPy lets two arrays of different dtypes share memory (a.view(), a.real). */
#include "lower/internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bitset.h"

/* --- attributes, declarations, metadata --- */

static void init_attrs(tr_lm *m) {
    /* Values of "memory": two bits a location (arguments', inaccessible, other), 1 = may read, 2 = may
     * write. */
    static const struct {
        const char *name;
        uint64_t value;
    } rows[TR_LA__COUNT] = {
        [TR_LA_NOUNWIND] = {"nounwind", 0},
        [TR_LA_WILLRETURN] = {"willreturn", 0},
        [TR_LA_COLD] = {"cold", 0},
        [TR_LA_NOINLINE] = {"noinline", 0},
        [TR_LA_NOALIAS] = {"noalias", 0},
        [TR_LA_READONLY] = {"readonly", 0},
        [TR_LA_PURE] = {"memory", 0},
        [TR_LA_ARGWRITE] = {"memory", 2},
        [TR_LA_NOCAPTURE] = {TR_LLVM_NOCAPTURE, 0},
        [TR_LA_RUNTIME] = {"memory", 15},
        [TR_LA_SPECULATABLE] = {"speculatable", 0},
        [TR_LA_CONVERGENT] = {"convergent", 0},
    };
    for (int i = 0; i < TR_LA__COUNT; i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(rows[i].name, strlen(rows[i].name));
        m->attr[i] = LLVMCreateEnumAttribute(m->lc, kind, rows[i].value);
    }
}

void tr_lower_fn_attr(tr_lm *m, lv fn, tr_lattr a) {
    assert(a < TR_LA__COUNT && m->attr[a]);
    LLVMAddAttributeAtIndex(fn, L_ON_FUNCTION, m->attr[a]);
}

void tr_lower_param_attr(tr_lm *m, lv fn, unsigned i, tr_lattr a) {
    assert(i < LLVMCountParams(fn) && a < TR_LA__COUNT);
    LLVMAddAttributeAtIndex(fn, i + 1, m->attr[a]);
}

void tr_lower_vector_bits(lv fn, unsigned bits) {
    char text[16];
    snprintf(text, sizeof text, "%u", bits);
    LLVMAddTargetDependentFunctionAttr(fn, "prefer-vector-width", text);
}

void tr_lower_common_attrs(tr_lm *m, lv fn) {
    tr_lower_fn_attr(m, fn, TR_LA_NOUNWIND);
    if (m->want->vector_bits)
        tr_lower_vector_bits(fn, m->want->vector_bits);
    if (m->ctx->opts.debug)
        LLVMAddTargetDependentFunctionAttr(fn, "frame-pointer", "all");
}

lv tr_lower_declare(tr_lm *m, const char *name, lt type, bool *fresh) {
    lv fn = LLVMGetNamedFunction(m->mod, name);
    if (fresh)
        *fresh = !fn;
    return fn ? fn : LLVMAddFunction(m->mod, name, type);
}

lv tr_lower_intrinsic(tr_lf *w, const char *name, lt t, unsigned n, const lv *args) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    lv fn = LLVMGetIntrinsicDeclaration(w->m->mod, id, &t, t != NULL);
    lt type = LLVMIntrinsicGetType(w->m->lc, id, &t, t != NULL);
    return LLVMBuildCall2(w->b, type, fn, (lv *)args, n, "");
}

lv tr_lower_fast(tr_lf *w, lv x) {
    if (w->fmf && LLVMIsAInstruction(x) && LLVMCanValueUseFastMathFlags(x))
        LLVMSetFastMathFlags(x, w->fmf);
    return x;
}

static LLVMMetadataRef tbaa_type(tr_lm *m, LLVMMetadataRef of, const char *name) {
    LLVMMetadataRef zero = LLVMValueAsMetadata(l_int(m->i64, 0));
    LLVMMetadataRef type[3] = {LLVMMDStringInContext2(m->lc, name, strlen(name)), of, zero};
    return LLVMMDNodeInContext2(m->lc, type, 3);
}

static lv tbaa_tag(tr_lm *m, LLVMMetadataRef type) {
    LLVMMetadataRef tag[3] = {type, type, LLVMValueAsMetadata(l_int(m->i64, 0))};
    return LLVMMetadataAsValue(m->lc, LLVMMDNodeInContext2(m->lc, tag, 3));
}

static void init_metadata(tr_lm *m) {
    m->kind_prof = LLVMGetMDKindIDInContext(m->lc, "prof", 4);
    m->kind_loop = LLVMGetMDKindIDInContext(m->lc, "llvm.loop", 9);
    m->kind_apart = LLVMGetMDKindIDInContext(m->lc, "llvm.access.group", 17);
    m->kind_tbaa = LLVMGetMDKindIDInContext(m->lc, "tbaa", 4);
    LLVMMetadataRef likely[3] = {LLVMMDStringInContext2(m->lc, "branch_weights", 14),
                                 LLVMValueAsMetadata(l_int(m->i32, 1 << 20)),
                                 LLVMValueAsMetadata(l_int(m->i32, 1))};
    m->md_unlikely = LLVMMetadataAsValue(m->lc, LLVMMDNodeInContext2(m->lc, likely, 3));
    LLVMMetadataRef name = LLVMMDStringInContext2(m->lc, "treadle", 7);
    LLVMMetadataRef root = LLVMMDNodeInContext2(m->lc, &name, 1);
    LLVMMetadataRef data = tbaa_type(m, root, "array data");
    m->md_data = tbaa_tag(m, data);
    m->md_past = tbaa_tag(m, tbaa_type(m, data, "array data, stored past the caches"));
    m->md_frame = tbaa_tag(m, tbaa_type(m, root, "frame and slots"));
    m->md_random = tbaa_tag(m, tbaa_type(m, root, "state of a bit generator"));
}

void tr_lower_tag(tr_lm *m, lv access, bool frame) {
    assert(LLVMIsALoadInst(access) || LLVMIsAStoreInst(access) || LLVMIsAAtomicRMWInst(access) ||
           LLVMIsAAtomicCmpXchgInst(access) || LLVMIsACallInst(access));
    LLVMSetMetadata(access, m->kind_tbaa, frame ? m->md_frame : m->md_data);
}

static void init_types(tr_lm *m) {
    m->i1 = LLVMInt1TypeInContext(m->lc);
    m->i8 = LLVMInt8TypeInContext(m->lc);
    m->i16 = LLVMInt16TypeInContext(m->lc);
    m->i32 = LLVMInt32TypeInContext(m->lc);
    m->i64 = LLVMInt64TypeInContext(m->lc);
    m->f16 = LLVMHalfTypeInContext(m->lc);
    m->f32 = LLVMFloatTypeInContext(m->lc);
    m->f64 = LLVMDoubleTypeInContext(m->lc);
    m->ptr = LLVMPointerTypeInContext(m->lc, 0);
    m->void_ = LLVMVoidTypeInContext(m->lc);
    lt parts[] = {[TR_PART_I1] = m->i1,   [TR_PART_I8] = m->i8,   [TR_PART_I16] = m->i16,
                  [TR_PART_I32] = m->i32, [TR_PART_I64] = m->i64, [TR_PART_F16] = m->f16,
                  [TR_PART_F32] = m->f32, [TR_PART_F64] = m->f64, [TR_PART_PTR] = m->ptr};
    memcpy(m->part, parts, sizeof parts);
}

lt tr_lower_elem(const tr_lm *m, const tr_ty *t) {
    assert(tr_ty_is_scalar(t));
    switch (t->kind) {
    case TR_TY_BOOL:
    case TR_TY_I8:
    case TR_TY_U8: return m->i8;
    case TR_TY_I16:
    case TR_TY_U16: return m->i16;
    case TR_TY_I32:
    case TR_TY_U32: return m->i32;
    case TR_TY_F16: return m->f16;
    case TR_TY_F32:
    case TR_TY_C64: return m->f32;
    case TR_TY_F64:
    case TR_TY_C128: return m->f64;
    default: return m->i64;
    }
}

/* --- which instances are needed --- */

typedef struct graph {
    const tr_prog *p;
    /* per instance: those it calls that are in the module, directly or (after closing) at any distance */
    tr_bits *calls;
    uint32_t n;
    bool atomic, lists;
} graph;

/* `threads`: f is run by several. What it captures is theirs together, so counting its references must be
 * atomic then. */
static void add_calls(graph *g, uint32_t from, const tr_fn *f, bool threads) {
    for (uint32_t v = 0; v < f->ins.n; v++) {
        const tr_ins *in = tr_at(f, v);
        if (in->blk == TR_NOBLK)
            continue;
        if (in->op == TR_OP_CALL && in->imm.fn < g->n && !g->p->insts.d[in->imm.fn].late &&
            !g->p->insts.d[in->imm.fn].far)
            tr_bits_set(&g->calls[from], in->imm.fn);
        g->lists = g->lists || (in->ty && tr_ty_has_lists(in->ty));
        g->atomic = g->atomic || (threads && (in->op == TR_OP_CALL || in->op == TR_OP_RETAIN ||
                                              in->op == TR_OP_TAKE || in->op == TR_OP_PUT));
        for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
            add_calls(g, from, tr_pat_any(in->imm.pat, k), threads || tr_pat_is_parallel(in->imm.pat));
    }
}

static bool has_patterns(const tr_fn *f) {
    for (uint32_t v = 0; v < f->ins.n; v++)
        if (tr_at(f, v)->op == TR_OP_PATTERN && tr_at(f, v)->blk != TR_NOBLK)
            return true;
    return false;
}

static bool is_wanted(const tr_lm *m, uint32_t i) {
    return m->prog->insts.d[i].fn && (!m->want->wanted || m->want->wanted[i]);
}

static void add_called(tr_lm *m, const tr_bits *calls) {
    for (uint32_t i = 0; i < m->prog->insts.n; i++)
        m->insts[i].called |= tr_bits_get(calls, i);
}

/* Transitive closure by Warshall's method: a row operation per pair, cheap for the hundreds of instances a
 * program has. */
static void find_called(tr_lm *m) {
    graph g = {m->prog, TR_NEW_N(&m->ctx->arena, tr_bits, m->prog->insts.n), m->prog->insts.n,
               m->prog->atomic_counts, false};
    for (uint32_t i = 0; i < g.n; i++) {
        const tr_fn *f = m->prog->insts.d[i].fn;
        g.calls[i] = tr_bits_new(&m->ctx->arena, g.n);
        if (!f)
            continue;
        add_calls(&g, i, f, false);
        m->insts[i].large = has_patterns(f);
    }
    for (uint32_t k = 0; k < g.n; k++)
        for (uint32_t i = 0; i < g.n; i++)
            if (tr_bits_get(&g.calls[i], k)) {
                tr_bits_union(&g.calls[i], &g.calls[k]);
                m->insts[i].large |= m->insts[k].large;
            }
    m->atomic_counts = g.atomic;
    m->lists = g.lists;
    for (uint32_t i = 0; i < g.n; i++)
        m->insts[i].recursive = tr_bits_get(&g.calls[i], i);
    for (uint32_t i = 0; i < g.n; i++)
        if (tr_lower_is_flat(m) ? is_wanted(m, i) : i == m->prog->root)
            add_called(m, &g.calls[i]);
    for (uint32_t i = 0; i < g.n && tr_lower_is_flat(m); i++)
        m->insts[i].called |= is_wanted(m, i);
}

/* --- functions --- */

static void declare_inst(tr_lm *m, uint32_t i) {
    assert(i < m->prog->insts.n && m->prog->insts.d[i].fn);
    const tr_inst *inst = &m->prog->insts.d[i];
    const tr_blk *entry = tr_blk_at(inst->fn, 0);
    unsigned n = 1, np = 0;
    for (uint32_t k = 0; k < entry->params.n; k++)
        np += tr_ty_nparts(tr_at(inst->fn, entry->params.d[k])->ty);
    unsigned nret = tr_ty_nparts(inst->fn->ret);
    lt *types = TR_NEW_N(&m->ctx->arena, lt, np + nret + 2);
    tr_part *parts = TR_NEW_N(&m->ctx->arena, tr_part, np + nret + 1);
    types[0] = m->ptr;
    for (uint32_t k = 0; k < entry->params.n; k++) {
        const tr_ty *t = tr_at(inst->fn, entry->params.d[k])->ty;
        tr_ty_parts(t, parts);
        for (unsigned j = 0; j < tr_ty_nparts(t); j++)
            types[n++] = m->part[parts[j]];
    }
    lt *ret = types + n;
    ret[0] = m->i32;
    tr_ty_parts(inst->fn->ret, parts);
    for (unsigned j = 0; j < nret; j++)
        ret[j + 1] = m->part[parts[j]];
    lt rt = nret ? LLVMStructTypeInContext(m->lc, ret, nret + 1, 0) : m->i32;
    m->insts[i].type = LLVMFunctionType(rt, types, n, 0);
    const char *name = tr_arena_printf(&m->ctx->arena, "py.%s", inst->fn->name);
    lv fn = m->insts[i].fn = LLVMAddFunction(m->mod, name, m->insts[i].type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMSetFunctionCallConv(fn, LLVMFastCallConv);
    tr_lower_common_attrs(m, fn);
    if (m->insts[i].recursive) /* as a loop it would never run out of stack */
        LLVMAddTargetDependentFunctionAttr(fn, "disable-tail-calls", "true");
    tr_lower_param_attr(m, fn, 0, TR_LA_NOALIAS);
    if (inst->piece)
        tr_lower_fn_attr(m, fn, TR_LA_NOINLINE);
}

/* Is there something to inline? */
static bool has_calls(const tr_lm *m) {
    unsigned n = 0, pieces = 0;
    for (lv f = LLVMGetFirstFunction(m->mod); f; f = LLVMGetNextFunction(f))
        n += !LLVMIsDeclaration(f);
    for (uint32_t i = 0; i < m->prog->insts.n; i++)
        pieces += m->insts[i].called && m->prog->insts.d[i].piece;
    return n - pieces > 1;
}

bool tr_lower_program(tr_prog *p, LLVMContextRef lc, LLVMModuleRef mod, const tr_lower_want *want,
                      tr_lower_made *made, tr_meta *meta) {
    tr_lm m = {.ctx = p->ctx, .prog = p, .want = want, .lc = lc, .mod = mod};
    m.insts = TR_NEW_N(&p->ctx->arena, tr_linst, p->insts.n);
    init_types(&m);
    init_attrs(&m);
    init_metadata(&m);
    find_called(&m);
    if (p->ctx->opts.debug || want->device.lines || tr_remarks_wanted(p->ctx))
        tr_lower_debug_open(&m);
    for (uint32_t i = 0; i < p->insts.n; i++)
        if (m.insts[i].called)
            (tr_lower_is_flat(&m) ? tr_lower_declare_flat : declare_inst)(&m, i);
    bool ok = true;
    for (uint32_t i = 0; i < p->insts.n && ok; i++)
        if (m.insts[i].called)
            ok = tr_lower_inst(&m, i, false);
    ok = ok &&
         (tr_lower_is_flat(&m) ||
          tr_lower_inst(&m, p->root, true)); /* it tells the frame of the stack if any of the others look */
    if (ok && want->device.plain)
        tr_lower_plain_entry(&m);
    tr_lower_end_math(&m);
    tr_lower_end_handlers(&m);
    if (m.dbg)
        tr_lower_debug_close(&m);
    tr_lower_meta(&m, meta);
    *made = (tr_lower_made){.calls = has_calls(&m),
                            .complex = m.complex,
                            .choices = m.choices > 1,
                            .nested = m.nested,
                            .powers = m.powers,
                            .carried = m.carried,
                            .externs = m.externs,
                            .wraps = m.wraps,
                            .past = m.nontemporal ? m.md_past : NULL};
    return ok && !m.failed;
}
