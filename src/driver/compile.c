/* The pipeline: a snapshot goes in, a code module comes out.
 *
 *     cache? -> front -> infer -> opt -> back end -> load -> cache
 *
 * Each stage takes what the former made and reports errors into the context. The one handler for lack of
 * memory is here: the arena jumps to it, so nothing that must be freed is held where arena calls are made.
 * Needs no GIL; where the stack is short, it moves to a thread of its own (stack.c). */
#include "driver/driver.h"

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/priv.h"
#include "front/front.h"
#include "infer/infer.h"
#include "ir/nest.h"
#include "ir/summary.h"
#include "opt/opt.h"

/* --- dumps: text gathers in the context and goes out when a stage ends --- */

static bool stage_is_wanted(const tr_ctx *c, tr_stage s) {
    return c->dump.stages & 1u << s;
}

static void flush_dump(tr_ctx *c) {
    if (c->dump.keep)
        return;
    if (c->dump_text.n)
        fwrite(c->dump_text.d, 1, c->dump_text.n, stderr);
    tr_sb_reset(&c->dump_text);
}

static void head(tr_ctx *c, const char *stage, const char *name) {
    tr_sb_printf(&c->dump_text, "; --- %s: %s\n", stage, name);
}

static void dump_front(tr_prog *p) {
    tr_ctx *c = p->ctx;
    for (uint32_t i = 0; i < p->funcs.n; i++) {
        const tr_func *f = &p->funcs.d[i];
        tr_decoded d;
        if (f->code && !f->round && tr_dump_wants(&c->dump, TR_STAGE_CODE, NULL, f->name) &&
            tr_front_decode(c, f->code, &d)) {
            head(c, "code", f->name);
            tr_front_print_code(&c->dump_text, f->code, &d);
        }
        if (!tr_dump_wants(&c->dump, TR_STAGE_FRONT, NULL, f->name))
            continue;
        head(c, "front", f->name);
        if (f->ssa)
            tr_ir_print(&c->dump_text, f->ssa);
        else if (f->refused)
            tr_sb_printf(&c->dump_text, "; refused: %s\n", f->refused->text);
    }
}

static void dump_typed(tr_prog *p, tr_stage s, const char *stage) {
    tr_ctx *c = p->ctx;
    for (uint32_t i = 0; i < p->insts.n; i++) {
        const tr_fn *f = p->insts.d[i].fn;
        if (!f || !tr_dump_wants(&c->dump, s, NULL, f->name))
            continue;
        head(c, stage, f->name);
        tr_ir_print(&c->dump_text, f);
    }
}

static void dump_loops(tr_prog *p, bool pools) {
    tr_ctx *c = p->ctx;
    for (uint32_t i = 0; i < p->insts.n; i++) {
        const tr_fn *f = p->insts.d[i].late ? NULL : p->insts.d[i].fn;
        if (!f || !tr_dump_wants(&c->dump, TR_STAGE_LOOPS, NULL, f->name))
            continue;
        head(c, "loops", f->name);
        tr_nest_print_all(&c->dump_text, f, pools);
    }
}

static void dump_times(tr_ctx *c, const char *title) {
    static const char *const names[] = {
#define X(id, name, help) name,
        TR_STAGES(X)
#undef X
    };
    for (uint32_t s = 0; s < TR_STAGE__COUNT; s++)
        if (c->stage_ns[s])
            tr_sb_printf(&c->dump_text, "; time %s %-8s %9.3f ms\n", title, names[s],
                         (double)c->stage_ns[s] / 1e6);
}

static const char *type_text(tr_ctx *c, const tr_ty *t) {
    tr_sb b;
    tr_sb_init(&b);
    tr_ty_print_ir(&b, t);
    const char *s = tr_arena_strdup(&c->arena, b.d ? b.d : "");
    tr_sb_fini(&b);
    return s;
}

/* --- stages --- */

static bool end_stage(tr_ctx *c, tr_stage s, uint64_t start, bool ok) {
    c->stage_ns[s] += tr_now_ns() - start;
    flush_dump(c);
    return ok;
}

static bool verify(tr_prog *p, const char *stage) {
    tr_ctx *c = p->ctx;
    for (uint32_t i = 0; c->dump.verify && i < p->insts.n; i++) {
        tr_sb report;
        tr_sb_init(&report);
        bool ok = tr_ir_verify_in(p, p->insts.d[i].fn, &report);
        const char *text = ok ? NULL : tr_arena_printf(&c->arena, "%s made wrong IR:\n%s", stage, report.d);
        tr_sb_fini(&report);
        if (!ok)
            return tr_fail(c, TR_ERR_INTERNAL, "%s", text);
    }
    return true;
}

static bool run_front(tr_prog *p) {
    uint64_t start = tr_now_ns();
    bool ok = true;
    for (uint32_t i = 0; i < p->funcs.n && ok; i++)
        if (p->funcs.d[i].code && !p->funcs.d[i].ssa && !p->funcs.d[i].refused)
            ok = tr_front_build(p, i);
    if (stage_is_wanted(p->ctx, TR_STAGE_CODE) || stage_is_wanted(p->ctx, TR_STAGE_FRONT))
        dump_front(p);
    return end_stage(p->ctx, TR_STAGE_FRONT, start, ok);
}

/* Late code comes as text that has been through all passes but the one that comes after it was taken out. */
static bool read_late(tr_prog *p, const tr_request *rq, tr_compiled *out) {
    if (!tr_ir_parse(p->ctx, rq->late->text, "late code", p) || !verify(p, "reading late code"))
        return false;
    tr_driver_move_text(p, rq->of);
    tr_fn *root = p->insts.d[p->root].fn;
    p->is_late = true;
    out->ret = p->insts.d[p->root].ret;
    return tr_opt_run_named(p, root, "split");
}

/* A kernel of a program whose arrays lie on a device. */
static bool read_far(tr_prog *p, const tr_request *rq, tr_compiled *out) {
    if (!tr_ir_parse(p->ctx, rq->far, "a kernel", p) || !verify(p, "reading a kernel"))
        return false;
    tr_driver_move_text(p, rq->of);
    p->root_kind = rq->kind;
    out->ret = p->insts.d[p->root].ret;
    return tr_opt_run_for(p, rq->want.target);
}

/* The function as `large` kept it; it is called as any other. */
static bool read_large(tr_prog *p, const tr_request *rq, tr_compiled *out) {
    if (!tr_ir_parse(p->ctx, rq->large, "a function for large arrays", p) ||
        !verify(p, "reading a function for large arrays"))
        return false;
    tr_driver_move_text(p, rq->of);
    out->ret = p->insts.d[p->root].ret;
    return tr_opt_run_large(p);
}

/* On a device indices are looked at where the root says so, and nowhere else: whose function it is does not
 * matter. */
static void for_device(tr_prog *p, const tr_request *rq) {
    p->root_kind = rq->kind;
    for (uint32_t i = 0; i < p->opts.n; i++) {
        tr_opts *own = tr_arena_copy(&p->ctx->arena, p->opts.d[i], sizeof *own);
        own->boundscheck = p->ctx->opts.boundscheck;
        p->opts.d[i] = own;
    }
}

/* Notes what the root does to lists that it is given: what it puts into one may have made another type of it
 * than was asked for. */
static void tell_lists(tr_prog *p) {
    const tr_fn *f = p->insts.d[p->root].fn;
    const tr_blk *entry = tr_blk_at(f, 0);
    uint32_t n = entry->params.n;
    const tr_ty **types = TR_NEW_N(&p->ctx->arena, const tr_ty *, n + 1u);
    char *writes = TR_NEW_N(&p->ctx->arena, char, n + 1u);
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        const tr_ty *ty = tr_at(f, entry->params.d[i])->ty;
        bool has = tr_ty_has_lists(ty);
        types[i] = has ? ty : tr_ty_none(p->ctx->types);
        any = any || has;
    }
    if (!any)
        return;
    const tr_access *does = tr_params_summary(p, p->root);
    for (uint32_t i = 0; i < n; i++)
        writes[i] = does[i].grows ? 'g' : does[i].changes ? 'w' : '-';
    p->takes = type_text(p->ctx, tr_ty_tuple(p->ctx->types, n, types));
    p->writes = writes;
}

/* A program that came as typed text has its instances already. */
static bool run_infer(tr_prog *p, const tr_request *rq, tr_compiled *out) {
    uint64_t start = tr_now_ns();
    if (rq->want.target)
        for_device(p, rq);
    p->unroll = tr_front_unroll;
    bool ok = p->insts.n > 0 || tr_infer(p, rq->nargs, rq->args, rq->ret);
    if (ok && p->root < p->insts.n)
        out->ret = p->insts.d[p->root].ret;
    if (ok && rq->kernel)
        ok = tr_driver_kernel(p, rq->kernel, &out->ret);
    else if (ok && p->root < p->insts.n && !rq->want.target)
        tell_lists(p);
    if (stage_is_wanted(p->ctx, TR_STAGE_INFER))
        dump_typed(p, TR_STAGE_INFER, "infer");
    if (ok && tr_remarks_wanted(p->ctx))
        tr_driver_tell_types(p);
    return end_stage(p->ctx, TR_STAGE_INFER, start, ok && verify(p, "infer"));
}

static bool run_opt(tr_prog *p, const tr_request *rq) {
    uint64_t start = tr_now_ns();
    p->more = tr_infer_more;
    bool ok = (!p->ctx->opts.offload || tr_opt_run_offload(p)) &&
              (rq->want.target ? tr_opt_run_for(p, rq->want.target) : tr_opt_run(p));
    return end_stage(p->ctx, TR_STAGE_OPT, start, ok);
}

/* Texts that the dump asks for go straight into the dump; those of the request win where both want one. */
static bool run_backend(tr_prog *p, const tr_request *rq, tr_object *obj) {
    tr_ctx *c = p->ctx;
    char why[512];
    const tr_backend *be = tr_backend_load(NULL, why, sizeof why);
    if (!be)
        return tr_fail(c, TR_ERR_LOWERING, "%s", why);
    assert(p->root < p->insts.n && p->insts.d[p->root].fn && "a program that is compiled has a root");
    const char *name = p->insts.d[p->root].fn->name;
    tr_want want = rq->want;
    bool *root = TR_NEW_N(&c->arena, bool, p->insts.n + 1u);
    root[p->root] = true;
    if (want.target)
        want.functions = root;
    bool d[3] = {!want.llvm && tr_dump_wants(&c->dump, TR_STAGE_LLVM, NULL, name),
                 !want.llvmopt && tr_dump_wants(&c->dump, TR_STAGE_LLVMOPT, NULL, name),
                 !want.assembly && tr_dump_wants(&c->dump, TR_STAGE_ASM, NULL, name)};
    if (d[0])
        want.llvm = &c->dump_text;
    if (d[1])
        want.llvmopt = &c->dump_text;
    if (d[2])
        want.assembly = &c->dump_text;
    dump_loops(p, !want.target || want.target->pools);
    if (d[0] || d[1] || d[2])
        head(c, "back end", name);
    bool ok = be->compile(p, &want, obj);
    flush_dump(c);
    return ok;
}

static bool load(tr_prog *p, const tr_request *rq, const uint8_t *elf, size_t size, const tr_meta *meta,
                 char *why, size_t whyn, tr_compiled *out) {
    if (rq->device) {
        out->module = tr_module_keep(elf, size, meta, rq->bind, rq->nbind, why, whyn);
        return out->module != NULL;
    }
    out->module = tr_module_load(elf, size, meta, rq->bind, rq->nbind, p->ctx->opts.debug, why, whyn);
    if (!out->module || tr_module_set_cache(out->module, rq->cache_dir))
        return out->module != NULL;
    tr_module_unref(out->module);
    out->module = NULL;
    snprintf(why, whyn, "out of memory while loading code");
    return false;
}

/* --- the cache --- */

static bool use_cache(tr_prog *p, const tr_request *rq, tr_lines *lines) {
    uint32_t texts = p->ctx->dump.stages & ~(1u << TR_STAGE_TIME);
    return rq->cache_dir && rq->upto == TR_STAGE_TIME && !rq->text_only && !texts && !rq->want.llvm &&
           !rq->want.llvmopt && !rq->want.assembly && tr_driver_lines(p, rq, lines);
}

static bool request_accepts(const tr_request *rq, const tr_ty **ret, bool report) {
    return !rq->accept || rq->accept(rq->self, ret, report);
}

static bool from_cache(tr_prog *p, const tr_request *rq, const tr_hash *key, const tr_lines *lines,
                       tr_compiled *out) {
    uint8_t *elf;
    size_t size;
    tr_meta meta;
    char why[256];
    if (!tr_cache_get(rq->cache_dir, key, &p->ctx->arena, &elf, &size, &meta))
        return false;
    bool ok = meta.narrays <= rq->nbind && tr_meta_move(&meta, lines->funcs, lines->n) &&
              load(p, rq, elf, size, &meta, why, sizeof why, out);
    free(elf);
    const char *text = meta.ret;
    out->ret = ok && text ? tr_ty_parse_ir(p->ctx->types, &text) : NULL;
    /* no type: one that the text does not name, such as that of one program's object */
    if (ok && (!out->ret || !request_accepts(rq, &out->ret, false))) {
        tr_module_unref(out->module);
        out->module = NULL;
    }
    return out->from_cache = out->module != NULL;
}

/* --- the whole way --- */

/* All that comes before the back end, or as much of it as was asked for. */
static bool make_ir(tr_prog *p, const tr_request *rq, tr_compiled *out) {
    if (rq->late)
        return read_late(p, rq, out);
    if (rq->large)
        return read_large(p, rq, out);
    if (rq->far)
        return read_far(p, rq, out);
    return run_front(p) && (rq->upto <= TR_STAGE_FRONT ||
                            (run_infer(p, rq, out) && (rq->upto == TR_STAGE_INFER || run_opt(p, rq))));
}

static bool compile_host(tr_prog *p, const tr_request *rq, tr_compiled *out) {
    tr_ctx *c = p->ctx;
    tr_hash key;
    tr_lines lines;
    bool cached = use_cache(p, rq, &lines);
    if (cached) {
        tr_driver_key(p, rq, &key);
        if (from_cache(p, rq, &key, &lines, out))
            return true;
    }
    if (!make_ir(p, rq, out))
        return false;
    if (rq->upto <= TR_STAGE_FRONT || rq->upto == TR_STAGE_INFER || rq->upto == TR_STAGE_OPT)
        return true;
    assert(out->ret && "a function that was inferred has a result's type");
    if (!request_accepts(rq, &out->ret, true))
        return false;

    tr_object obj = {0};
    if (!run_backend(p, rq, &obj))
        return false;
    if (rq->upto != TR_STAGE_TIME) {
        free(obj.elf);
        return true;
    }
    obj.meta.ret = type_text(c, out->ret);
    if (obj.meta.large)
        tr_remark_add(
            c, TR_REMARK_LATE, (tr_place){.file = p->insts.d[p->root].fn->file},
            "the whole function, with stores past the caches: compiled once it has made an array of "
            "%u MiB",
            (unsigned)(TR_LARGE >> 20));
    if (!obj.meta.title)
        obj.meta.title = p->insts.d[p->root].fn->name;
    if (cached)
        tr_driver_keep_lines(p, rq, &lines, &obj.meta);
    char why[256];
    if (tr_ctx_stop(c)) {
        free(obj.elf);
        return false;
    }
    bool ok = load(p, rq, obj.elf, obj.size, &obj.meta, why, sizeof why, out);
    if (ok && obj.foreign)
        tr_module_forbid(out->module);
    else if (ok && cached)
        tr_cache_put(rq->cache_dir, &key, obj.elf, obj.size, &obj.meta);
    free(obj.elf);
    if (ok && (rq->want.llvm || rq->want.llvmopt || rq->want.assembly) &&
        !tr_driver_late_texts(out->module, &rq->want, why, sizeof why)) {
        tr_module_unref(out->module);
        out->module = NULL;
        ok = false;
    }
    if (ok && stage_is_wanted(c, TR_STAGE_TIME)) {
        dump_times(c, obj.meta.title);
        flush_dump(c);
    }
    return ok || tr_fail(c, TR_ERR_LOWERING, "%s", why);
}

/* Code for a device, as text: who has the device loads it. */
static bool compile_device(tr_prog *p, const tr_request *asked, tr_compiled *out) {
    tr_ctx *c = p->ctx;
    tr_request rq = *asked;
    tr_hash key;
    rq.want.target = tr_target_find(c, rq.device, &rq.want.processor);
    if (!rq.want.target)
        return false;
    if (rq.upto == TR_STAGE_TIME)
        rq.want.libdevice = tr_driver_libdevice(c);
    tr_lines lines;
    bool cached = use_cache(p, &rq, &lines);
    if (cached) {
        tr_driver_key(p, &rq, &key);
        if (from_cache(p, &rq, &key, &lines, out))
            return true;
    }
    if (!make_ir(p, &rq, out))
        return false;
    if (rq.upto != TR_STAGE_TIME)
        return true;
    tr_object obj = {0};
    char why[256];
    bool ok = run_backend(p, &rq, &obj);
    if (ok && rq.code)
        tr_sb_write(rq.code, (const char *)obj.elf, obj.size);
    if (ok && !rq.text_only) {
        obj.meta.ret = type_text(c, out->ret);
        if (cached)
            tr_driver_keep_lines(p, &rq, &lines, &obj.meta);
        ok = load(p, &rq, obj.elf, obj.size, &obj.meta, why, sizeof why, out) ||
             tr_fail(c, TR_ERR_LOWERING, "%s", why);
    }
    if (ok && cached)
        tr_cache_put(rq.cache_dir, &key, obj.elf, obj.size, &obj.meta);
    free(obj.elf);
    if (ok && stage_is_wanted(c, TR_STAGE_TIME)) {
        dump_times(c, p->insts.d[p->root].fn->name);
        flush_dump(c);
    }
    return ok;
}

static bool compile(tr_prog *p, const tr_request *rq, tr_compiled *out) {
    tr_ctx *c = p->ctx;
    bool ok = rq->device ? compile_device(p, rq, out) : compile_host(p, rq, out);
    if (ok && p->root < p->insts.n && rq->upto >= TR_STAGE_OPT &&
        tr_dump_wants(&c->dump, TR_STAGE_REPORT, NULL, p->insts.d[p->root].fn->name)) {
        tr_driver_report(p, !rq->device && rq->upto > TR_STAGE_OPT);
        flush_dump(c);
    }
    return ok;
}

/* Without a handler, or memory, to make an error from, it is a constant; it never becomes the list's tail
 * that others are hung on. */
static bool fail_with(tr_ctx *c, const tr_err *constant) {
    *(c->last_err ? &c->last_err->next : &c->errs) = (tr_err *)constant;
    c->nerrs++;
    return false;
}

static bool out_of_memory(tr_ctx *c) {
    static const tr_err error = {.kind = TR_ERR_MEMORY, .text = "out of memory while compiling"};
    c->arena.oom = NULL;
    return fail_with(c, &error);
}

typedef struct job {
    tr_prog *p;
    const tr_request *rq;
    tr_compiled *out;
    bool ok;
} job;

static void *work(void *arg) {
    job *j = arg;
    tr_ctx *c = j->p->ctx;
    assert(!c->arena.oom && "one handler for lack of memory at a time");
    if (setjmp(c->oom)) {
        j->ok = out_of_memory(c);
        return NULL;
    }
    c->arena.oom = &c->oom;
    j->ok = compile(j->p, j->rq, j->out);
    c->arena.oom = NULL;
    return NULL;
}

/* On a thread of its own nobody is asked whether to go on: the host answers its own threads. */
static bool work_elsewhere(job *j) {
    tr_ctx *c = j->p->ctx;
    bool (*poll)(void *) = c->poll;
    c->poll = NULL;
    bool ran = tr_driver_elsewhere(work, j);
    c->poll = poll;
    static const tr_err error = {
        .kind = TR_ERR_LOWERING,
        .text = "this thread's stack is too small for the compiler, and no other thread could be started"};
    return ran || fail_with(c, &error);
}

bool tr_compile(tr_prog *p, const tr_request *rq, tr_compiled *out) {
    job j = {p, rq, out, false};
    assert((!rq->late || !rq->large) && "it is one of the two that is compiled later");
    assert((rq->args || rq->nargs == 0) && "arguments that are counted have types");
    *out = (tr_compiled){0};
    if (tr_driver_has_room())
        work(&j);
    else if (!work_elsewhere(&j))
        return false;
    assert((j.ok || p->ctx->nerrs || p->ctx->stopped) && "a compilation that fails says why");
    return j.ok;
}

/* The first of these names, which commas separate, that is no pass's, and its length; NULL: there is none. */
static const char *unknown_pass(const char *names, size_t *n) {
    for (; *names; names += *n + (names[*n] == ',')) {
        *n = strcspn(names, ",");
        if (*n && !tr_opt_is_pass(names, *n))
            return names;
    }
    return NULL;
}

bool tr_driver_check_dump(const tr_dump *d, char *msg, unsigned size) {
    size_t n = 0;
    const char *names = tr_opt_pass_names(), *var = "TREADLE_SKIP", *bad = unknown_pass(d->skip, &n);
    if (!bad) {
        var = "TREADLE_DUMP";
        bad = unknown_pass(d->pass, &n);
    }
    if (bad)
        snprintf(msg, size, "%s: no pass is called '%.*s'; there are %.*s", var, (int)n, bad,
                 (int)strlen(names) - 2, names);
    return !bad;
}
