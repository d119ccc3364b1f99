/* One compilation: the snapshot under the GIL and in the gate, the compile without it, and the texts of
 * inspect_*(). */
#include "ext/generator.h"
#include "ext/hands.h"
#include "ext/job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/plant.h"
#include "ext/box.h"
#include "ext/lazy.h"
#include "ext/pyerr.h"
#include "ext/typed_items.h"
#include "ir/nyi.h"

/* What a constant argument is to the program. NULL with an exception. */
static const tr_obj *freeze_constant(tr_job *j, const tr_argk *k) {
    PyObject *value = tr_argk_constant(k);
    bool held = value && PyList_Append(j->frozen.keep, value) == 0;
    if (!value)
        PyErr_SetString(PyExc_ReferenceError, "a function or class that was an argument is gone");
    Py_XDECREF(value);
    return held ? tr_freeze_value(&j->frozen, value) : NULL;
}

static const tr_ty *constant_type(void *user, const tr_argk *k) {
    tr_job *j = user;
    const tr_obj *o = freeze_constant(j, k);
    return o ? tr_obj_type(&j->ctx.arena, j->ctx.types, o) : NULL;
}

/* Which function of the program a constant argument is: its type's text has only the name. */
static void hash_constants(tr_job *j, tr_hasher *h, const tr_argk *k) {
    if (tr_key_kind(k->key) == TR_K_IDENT) {
        const tr_obj *o = freeze_constant(j, k); /* there is one: it has a type */
        uint32_t id[3] = {o ? o->kind : 0};
        if (o && o->kind == TR_OBJ_BUILTIN)
            id[1] = o->u.builtin;
        if (o && o->kind == TR_OBJ_EXC)
            id[1] = o->u.exc;
        if (o && o->kind == TR_OBJ_FUNC) {
            id[1] = o->u.func;
            id[2] = o->u.contract ? o->u.contract->id + 1 : 0;
        }
        if (o && o->kind == TR_OBJ_UFUNC)
            tr_freeze_hash_ufunc(&j->frozen, h, o);
        tr_hasher_add(h, id, sizeof id);
    }
    for (uint32_t i = 0; i < k->n; i++)
        hash_constants(j, h, &k->items[i]);
}

/* Asks for the cache if the function wants it and everything it depends on can be told by content; says so
 * if not. False when the warning has become an exception. */
static bool use_cache(tr_job *j) {
    char why[256];
    tr_hasher *h =
        j->f->cache && !j->rq.text_only && !j->rq.want.llvm && !j->rq.want.llvmopt && !j->rq.want.assembly
            ? tr_hasher_new()
            : NULL;
    if (!h)
        return true;
    for (uint32_t i = 0; j->pats && i < j->n; i++)
        hash_constants(j, h, &j->pats[i]);
    bool ok = tr_freeze_hash(&j->frozen, h);
    tr_hasher_end(h, &j->rq.key);
    if (ok)
        j->rq.cache_dir = j->cache_dir = tr_cache_dir(why, sizeof why);
    if (j->frozen.placed && j->rq.device) {
        j->rq.cache_dir = NULL;
        j->frozen.why = "an array of the device that is a global of it has its address in the code";
        ok = false;
    }
    const char *reason = !ok ? j->frozen.why : !j->cache_dir ? why : NULL;
    return !reason ||
           PyErr_WarnFormat(PyExc_UserWarning, 1, "%U() is not cached: %s", j->f->qualname, reason) == 0;
}

/* Calls bind arguments as the function was when it was decorated; its __code__ may be another since. */
static bool same_parameters(const tr_function *f) {
    PyCodeObject *c = (PyCodeObject *)Py_NewRef(PyFunction_GET_CODE(f->py_func));
    bool star = (c->co_flags & CO_VARARGS) != 0, names = (c->co_flags & CO_VARKEYWORDS) != 0;
    uint32_t n = (uint32_t)(c->co_argcount + c->co_kwonlyargcount) + star + names;
    bool same = n == f->nparams && star == (f->varargs != 0) && names == (f->varkw != 0) &&
                (uint32_t)c->co_argcount == f->npos;
    Py_DECREF(c);
    if (same)
        return true;
    PyErr_Format(
        PyExc_TypeError,
        "%U(): its __code__ was replaced by code with other parameters\n  help: decorate the function anew",
        f->qualname);
    return false;
}

/* Python's numbers in a graph take the precision of what is beside them, as where they are written. */
static void weaken_numbers(tr_job *j) {
    const tr_ty **args = TR_NEW_N(&j->ctx.arena, const tr_ty *, j->n + 1u);
    for (uint32_t i = 0; i < j->n; i++) {
        unsigned kind = j->pats ? tr_key_kind(j->pats[i].key) : TR_K_OTHER;
        bool python = kind == TR_K_INT || kind == TR_K_FLOAT || kind == TR_K_COMPLEX;
        args[i] = python ? tr_ty_weak(j->ctx.types, (tr_tyk)j->args[i]->kind) : j->args[i];
    }
    j->rq.args = args;
}

/* **kwargs is a tuple of names, which are constants, and one of values (bind.c). */
static const tr_ty *as_keyed(tr_job *j, const tr_ty *t) {
    assert(t->kind == TR_TY_TUPLE && t->n == 2 && "names and values");
    return tr_ty_of(j->ctx.types, TR_TY_KEYED, 0, 2, t->items);
}

static bool take_snapshot(tr_job *j) {
    tr_prog_init(&j->prog, &j->ctx);
    if (!same_parameters(j->f))
        return false;
    if (!tr_freeze(&j->frozen, (PyObject *)j->f))
        return false;
    assert(j->prog.root_func < j->prog.funcs.n && "the function that was frozen is the root");
    if (j->f->plan && !tr_freeze_plan(&j->frozen, j->f->plan))
        return false;
    j->nroot = PyList_GET_SIZE(j->frozen.keep);
    for (uint32_t i = 0; i < j->n; i++) {
        if (j->pats)
            j->args[i] = tr_argk_type(j->ctx.types, &j->pats[i], constant_type, j);
        if (j->pats && j->args[i] && j->f->varkw && i + 1 == j->n)
            j->args[i] = as_keyed(j, j->args[i]);
        if (!j->args[i])
            return false;
    }
    if (j->f->plan && !tr_plant(&j->ctx, TR_PLANT_WEAK))
        weaken_numbers(j);
    return tr_freeze_links(&j->frozen, j->rq.device) && use_cache(j);
}

/* Takes the snapshot and types the arguments. Arena memory may run out here, under Python frames of our
 * own that hold nothing: no reference, and no section. */
static bool in_gate(tr_job *j) {
    assert(tr_py_is_held() && "a snapshot is taken with the GIL");
    assert(!j->ctx.arena.oom && "one handler for lack of memory at a time");
    j->ctx.arena.oom = &j->ctx.oom;
    if (setjmp(j->ctx.oom)) {
        j->ctx.arena.oom = NULL;
        PyErr_NoMemory();
        return false;
    }
    bool ok = take_snapshot(j);
    j->ctx.arena.oom = NULL;
    return ok;
}

static bool snapshot(tr_job *j) {
    tr_py_section gate;
    tr_py_section_begin(&gate, j->st->gate);
    bool ok = in_gate(j);
    tr_py_section_end(&gate);
    return ok;
}

void tr_job_free(tr_job *j) {
    assert(tr_py_is_held() && "what was frozen is let go with the GIL");
    tr_freeze_fini(&j->frozen);
    if (j->ctx.types)
        tr_tytab_free(j->ctx.types);
    tr_ctx_fini(&j->ctx);
    free(j->cache_dir);
    PyMem_Free((void *)j->args);
    PyMem_Free(j);
}

/* May the compile go on? Only the main thread is asked for signals. Their handlers run here, and whatever
 * they do must find the way free: a fork waits for compiles. */
static bool poll_host(void *self) {
    tr_job *j = self;
    pthread_rwlock_unlock(&j->st->fork);
    bool end = j->st->host.poll(j->st->host.self);
    pthread_rwlock_rdlock(&j->st->fork);
    return end;
}

tr_job *tr_job_new(tr_function *f, const tr_argk *pats, const tr_ty *const *args, uint32_t n,
                   const tr_ty *ret) {
    tr_job *j = PyMem_Calloc(1, sizeof *j);
    if (!j || !(j->args = PyMem_Calloc(n + 1u, sizeof *j->args))) {
        PyMem_Free(j);
        PyErr_NoMemory();
        return NULL;
    }
    j->st = f->st;
    j->f = f;
    j->pats = pats;
    j->n = n;
    if (!pats)
        memcpy((void *)j->args, (const void *)args, n * sizeof *args);
    tr_ctx_init(&j->ctx);
    j->ctx.opts = f->opts;
    j->ctx.dump = f->st->dump;
    j->ctx.poll = j->st->host.poll ? poll_host : NULL;
    j->ctx.poll_self = j;
    j->ctx.types = tr_tytab_new(f->st->types);
    j->rq = (tr_request){.nargs = n, .args = j->args, .ret = ret, .upto = TR_STAGE_TIME};
    if (f->target) {
        j->rq.device = f->target;
        j->rq.kind = TR_FN_KERNEL;
        j->rq.want.device = f->device;
    }
    if (j->ctx.types)
        tr_tytab_follow(j->ctx.types, &j->ctx.arena);
    else
        PyErr_NoMemory();
    if (!j->ctx.types || !tr_freeze_init(&j->frozen, &j->ctx, &j->prog, &f->st->freeze)) {
        tr_job_free(j);
        return NULL;
    }
    return j;
}

/* A graph's errors tell of its nodes by number: they are where the user wrote these. */
static void place_errors(tr_job *j) {
    const tr_graph *g = j->prog.funcs.n ? j->prog.funcs.d[j->prog.root_func].graph : NULL;
    for (tr_err *e = g ? j->ctx.errs : NULL; e; e = e->next) {
        tr_place p = tr_graph_written(g, e->place);
        if (p.file == e->place.file)
            continue;
        e->place = p;
        e->where = NULL; /* the graph's function is none of the user's */
        e->op_span.line = 0;
        for (tr_note *n = e->notes; n; n = n->next)
            n->span.line = 0;
    }
}

/* Snapshot and compile. On failure the exception is set. */
bool tr_job_run(tr_job *j) {
    bool ok = false;
    assert(!j->out.module && j->prog.funcs.n == 0 && "a job runs once");
    if (snapshot(j)) {
        j->rq.bind = j->frozen.bind;
        j->rq.nbind = j->frozen.nbind;
        Py_BEGIN_ALLOW_THREADS
        pthread_rwlock_rdlock(&j->st->fork);
        ok = tr_compile(&j->prog, &j->rq, &j->out);
        pthread_rwlock_unlock(&j->st->fork);
        Py_END_ALLOW_THREADS
    }
    if (!ok)
        place_errors(j);
    if (!ok)
        tr_pyerr_raise_ctx(&j->ctx, PyFunction_GetGlobals(j->f->py_func));
    assert(tr_py_agrees(ok) && "a job that fails has raised");
    assert((ok || !j->out.module) && "and has made no code");
    assert((!ok || j->out.module || j->rq.upto < TR_STAGE_TIME || j->rq.text_only) &&
           "or made what was asked");
    return ok;
}

bool tr_job_lets_go(const tr_job *j) {
    bool parallel = j->ctx.opts.parallel;
    for (uint32_t i = 0; i < j->prog.contracts.n && !parallel; i++)
        parallel = j->prog.opts.d[j->prog.contracts.d[i]->opts]->parallel;
    return parallel && j->frozen.loops.n > 0;
}

static bool is_constant(const tr_argk *k, const PyObject *o) {
    bool is = tr_key_kind(k->key) == TR_K_IDENT && tr_argk_is(k, o);
    for (uint32_t i = 0; !is && i < k->n; i++)
        is = is_constant(&k->items[i], o);
    return is;
}

/* A class that is there because it was passed: whoever calls the code has it. */
static bool is_passed(const tr_job *j, Py_ssize_t i) {
    bool is = false;
    assert(j->nroot <= PyList_GET_SIZE(j->frozen.keep) && "what the root reaches was frozen first");
    for (uint32_t k = 0; i >= j->nroot && j->pats && !is && k < j->n; k++)
        is = is_constant(&j->pats[k], PyList_GET_ITEM(j->frozen.keep, i));
    return is;
}

PyObject *tr_job_keep(const tr_job *j) {
    PyObject *l = PyList_New(0);
    for (Py_ssize_t i = 0; l && i < PyList_GET_SIZE(j->frozen.keep); i++) {
        PyObject *o = PyList_GET_ITEM(j->frozen.keep, i);
        if (!is_passed(j, i) &&
            (PyArray_Check(o) || PyType_Check(o) || PyExceptionInstance_Check(o) || tr_generator_is(o) ||
             tr_typed_is(j->st, o)) &&
            PyList_Append(l, o) < 0)
            Py_CLEAR(l);
    }
    return l;
}

static bool has_constant(const tr_ty *t) {
    bool any = tr_ty_is_fixed(t);
    for (uint32_t i = 0; !any && i < t->n; i++)
        any = has_constant(t->items[i]);
    return any;
}

/* Where the function returns; its first line where that is not known. Every `return` is as wrong: they have
 * one type. */
static tr_place place_of_return(const tr_job *j) {
    assert(j->prog.root < j->prog.insts.n && "the root was inferred");
    const tr_func *fn = &j->prog.funcs.d[j->prog.root_func];
    int32_t line = fn->code ? (int32_t)fn->code->firstline : 0;
    tr_fn *f = j->prog.insts.d[j->prog.root].fn;
    tr_cfg_compute(f);
    for (uint32_t k = 0; k < f->rpo.n; k++) {
        const tr_ins *t = tr_term(f, f->rpo.d[k]);
        if (t->op == TR_OP_RET && t->loc < f->locs.n && f->locs.d[t->loc].place.span.line > 0)
            return f->locs.d[t->loc].place;
    }
    return (tr_place){fn->file, fn->name, {line, -1, line, -1}};
}

/* It is an integer that 64 bits do not hold, or holds one. */
static bool has_integer(const tr_ty *t) {
    bool any = t->kind == TR_TY_LIT && t->lit->kind == TR_OBJ_INT;
    for (uint32_t i = 0; i < t->n && t->kind == TR_TY_TUPLE; i++)
        any = any || has_integer(t->items[i]);
    return any;
}

/* The error for a result that Python cannot be given. A constant is named as what it is: as a type it would
 * be hard to read. */
static void refuse_result(tr_job *j, const tr_ty *ret) {
    const tr_obj *o = ret->kind == TR_TY_LIT ? ret->lit : NULL;
    bool text = ret->kind == TR_TY_TEXT || (o && o->kind == TR_OBJ_STR);
    const char *what = text ? "a string" : o ? o->repr : NULL;
    const tr_ty *held = text || o ? NULL : tr_hands_misfit(j, ret);
    if (held) {
        const tr_nyi *row = tr_nyi_find("closure-result");
        tr_err *e = tr_err_add(&j->ctx, TR_ERR_UNSUPPORTED, place_of_return(j),
                               "Treadle does not compile a function as a result for Python that holds a "
                               "value of type %s",
                               tr_ty_user(&j->ctx.arena, held));
        e->nyi = row->id;
        e->hint = row->text;
        return;
    }
    if (!what)
        what = tr_arena_printf(&j->ctx.arena, "a value of type %s", tr_ty_user(&j->ctx.arena, ret));
    tr_err *e = tr_err_add(&j->ctx, TR_ERR_TYPING, place_of_return(j),
                           "the function returns %s, which compiled code cannot hand to Python", what);
    e->hint = text ? "return a number that stands for it, and choose the string outside"
              : has_constant(ret)
                  ? "a list, a dict or a set that is a global is a copy in compiled code: return list(x), "
                    "dict(x) or set(x), or read it outside"
              : has_integer(ret)
                  ? "integers have 64 bits in compiled code: return a float, or compute it outside"
                  : "return numbers, arrays, tuples of these, or None";
}

static bool python_can_hold(void *self, const tr_ty **ret, bool report) {
    const tr_ty *t = tr_hands_type(self, *ret);
    bool can = t && tr_box_can(t);
    if (!can && report)
        refuse_result(self, *ret);
    if (can)
        *ret = t;
    return can;
}

void tr_job_for_python(tr_job *j) {
    j->rq.accept = python_can_hold;
    j->rq.self = j;
}

/* --- texts --- */

PyObject *tr_job_text(tr_job *j, tr_stage stage) {
    tr_sb b;
    tr_sb_init(&b);
    tr_dump asked = j->ctx.dump;
    j->ctx.dump = (tr_dump){0};
    bool back = stage >= TR_STAGE_LLVM,
         said = stage == TR_STAGE_PARALLEL || stage == TR_STAGE_EMULATION || stage == TR_STAGE_REPORT;
    if (said) {
        j->ctx.dump.stages = 1u << stage | (stage == TR_STAGE_PARALLEL ? 1u << TR_STAGE_FUSE : 0);
        j->ctx.dump.keep = true;
    }
    if (stage == TR_STAGE_REPORT) /* it tells of the code that runs */
        memcpy(j->ctx.dump.skip, asked.skip, sizeof asked.skip);
    j->rq.upto = back ? TR_STAGE_TIME : said ? TR_STAGE_OPT : stage;
    j->rq.want.llvm = stage == TR_STAGE_LLVM ? &b : NULL;
    j->rq.want.llvmopt = stage == TR_STAGE_LLVMOPT ? &b : NULL;
    j->rq.want.assembly = stage == TR_STAGE_ASM ? &b : NULL;
    PyObject *r = NULL;
    if (tr_job_run(j)) {
        if (said)
            tr_sb_puts(&b, j->ctx.dump_text.n ? j->ctx.dump_text.d : "");
        else if (!back)
            tr_prog_print(&b, &j->prog, true);
        if (j->out.module)
            tr_module_unref(j->out.module);
        r = PyUnicode_DecodeUTF8(b.d ? b.d : "", (Py_ssize_t)b.n, "replace");
    }
    tr_sb_fini(&b);
    return r;
}

PyObject *tr_spec_text(tr_function *f, const tr_spec *s, tr_stage stage) {
    tr_job *j = tr_job_new(f, s->declared ? NULL : s->pats, s->args, s->nargs, s->want_ret);
    PyObject *r = j ? tr_job_text(j, stage) : NULL;
    if (j)
        tr_job_free(j);
    return r;
}

/* (line, name, type) of the named values of f. */
static bool add_variables(PyObject *list, const tr_fn *f) {
    tr_sb b;
    bool ok = true;
    tr_sb_init(&b);
    for (uint32_t v = 0; ok && v < f->ins.n && v < f->names.n; v++) {
        const tr_ins *in = &f->ins.d[v];
        if (!f->names.d[v] || !in->ty)
            continue;
        tr_sb_reset(&b);
        tr_ty_print_user(&b, in->ty);
        PyObject *row = Py_BuildValue("(iss)", in->loc < f->locs.n ? f->locs.d[in->loc].place.span.line : 0,
                                      f->names.d[v], b.d);
        ok = row && PyList_Append(list, row) == 0;
        Py_XDECREF(row);
    }
    tr_sb_fini(&b);
    return ok;
}

PyObject *tr_spec_variables(tr_function *f, const tr_spec *s) {
    tr_job *j = tr_job_new(f, s->declared ? NULL : s->pats, s->args, s->nargs, s->want_ret);
    if (!j)
        return NULL;
    j->ctx.dump = (tr_dump){0};
    j->rq.upto = TR_STAGE_INFER;
    PyObject *r = tr_job_run(j) ? PyList_New(0) : NULL;
    if (r && !add_variables(r, j->prog.insts.d[j->prog.root].fn))
        Py_CLEAR(r);
    tr_job_free(j);
    return r;
}
