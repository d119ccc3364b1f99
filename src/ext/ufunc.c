/* Making ufuncs, their loops, and looking into them. See ufunc.h. */
#include "ext/ufunc.h"

#include <assert.h>
#include <string.h>

#include "ext/job.h"
#include "ext/pyerr.h"
#include "ext/types.h"

tr_ufunc *tr_ufunc_of(tr_state *st, PyObject *o) {
    PyObject *rec = Py_IS_TYPE(o, st->np_ufunc) ? ((PyUFuncObject *)o)->obj : NULL;
    return rec && Py_IS_TYPE(rec, st->ufunc_type) ? (tr_ufunc *)rec : NULL;
}

/* --- compiling --- */

static void loop_free(tr_uloop *l) {
    for (tr_exec_variant *v = atomic_load(&l->exec.variants), *next; v; v = next) {
        next = v->next;
        tr_uvariant *own = (tr_uvariant *)v;
        tr_module_unref(own->module);
        Py_XDECREF(own->keep);
        PyMem_Free(own);
    }
    if (l->module)
        tr_module_unref(l->module);
    if (l->chain_module)
        tr_module_unref(l->chain_module);
    Py_XDECREF(l->keep);
    Py_XDECREF(l->chain_keep);
    PyMem_Free(l);
}

static tr_kernel kernel_of(const tr_ufunc *uf, tr_kernelk kind) {
    tr_kernel k = {.kind = (uint8_t)kind, .nin = (uint8_t)uf->nin, .nout = (uint8_t)(uf->nop - uf->nin)};
    memcpy(k.core, uf->ncore, sizeof k.core);
    return k;
}

static tr_kernelk main_kind(const tr_ufunc *uf) {
    return uf->core ? TR_KERNEL_CORE : TR_KERNEL_MAP;
}

static uint32_t nparams(const tr_ufunc *uf) {
    return uf->core ? uf->nop : uf->nin;
}

static tr_job *job_of(const tr_uloop *l, const tr_kernel *k) {
    if (!l->uf->fn) {
        PyErr_Format(PyExc_RuntimeError, "%U() is being destroyed", l->uf->name);
        return NULL;
    }
    tr_job *j = tr_job_new(l->uf->fn, NULL, l->args, nparams(l->uf), l->want_ret);
    if (j)
        j->rq.kernel = k;
    return j;
}

/* --- what a loop asks for while it runs: with or without the GIL --- */

static bool need_chain(tr_exec *exec) {
    tr_uloop *l = (tr_uloop *)exec;
    PyGILState_STATE g = PyGILState_Ensure();
    tr_py_section gate;
    tr_py_section_begin(&gate, l->uf->st->gate);
    tr_kernel k = kernel_of(l->uf, TR_KERNEL_CHAIN);
    tr_job *j = job_of(l, &k);
    bool ok = j && tr_job_run(j);
    PyObject *keep = ok ? tr_job_keep(j) : NULL;
    assert((!ok || j->out.module) && "a chain that was compiled is code");
    if (keep && !atomic_load(&exec->chain)) {
        l->chain_module = j->out.module;
        exec->chain_meta = tr_module_meta(l->chain_module);
        l->chain_keep = Py_NewRef(keep);
        atomic_store_explicit(&exec->chain, tr_module_entry(l->chain_module), memory_order_release);
    } else if (ok) { /* another thread was first, or there is no memory */
        tr_module_unref(j->out.module);
    }
    ok = keep != NULL;
    assert((ok || PyErr_Occurred()) && "where there is no chain there is an exception");
    Py_XDECREF(keep);
    if (j)
        tr_job_free(j);
    tr_py_section_end(&gate);
    PyGILState_Release(g);
    return ok;
}

/* There is none where compiling fails. False where it was interrupted, with the handler's exception set. */
static bool add_variant(tr_exec *exec, uint32_t once) {
    tr_uloop *l = (tr_uloop *)exec;
    PyGILState_STATE g = PyGILState_Ensure();
    tr_py_section gate;
    tr_py_section_begin(&gate, l->uf->st->gate);
    tr_kernel k = kernel_of(l->uf, TR_KERNEL_MAP);
    k.once = once;
    tr_uvariant *v = PyMem_Calloc(1, sizeof *v);
    tr_job *j = v ? job_of(l, &k) : NULL;
    bool made = j && tr_job_run(j);
    if (made && (v->keep = tr_job_keep(j))) {
        /* `next` is perhaps another thread's, for the same: the first one found is as good */
        v->v = (tr_exec_variant){.next = atomic_load(&exec->variants),
                                 .once = once,
                                 .entry = tr_module_entry(j->out.module),
                                 .meta = tr_module_meta(j->out.module)};
        v->module = j->out.module;
        atomic_store_explicit(&exec->variants, &v->v, memory_order_release);
        v = NULL;
    } else if (made) {
        tr_module_unref(j->out.module);
    }
    bool stopped = j && j->ctx.stopped;
    if (!stopped)
        PyErr_Clear(); /* the loop that there is does it as well */
    assert((!stopped || PyErr_Occurred()) && "who stops a compilation has raised");
    PyMem_Free(v);
    if (j)
        tr_job_free(j);
    tr_py_section_end(&gate);
    PyGILState_Release(g);
    return !stopped;
}

static const tr_exec_host loop_host = {need_chain, add_variant};

/* --- what a loop is --- */

/* float16 comes out where only such inputs, and types that do not widen them, went in. */
static bool result_is_half(const tr_uloop *l) {
    return l->ret->kind == TR_TY_F32 && !l->want_ret && tr_ufunc_common(l->uf, l->num).half;
}

/* What compiled code takes operand i for. */
static const tr_ty *operand_type(const tr_uloop *l, uint32_t i) {
    const tr_ufunc *uf = l->uf;
    const tr_ty *t = uf->core || i < uf->nin       ? l->args[i]
                     : l->ret->kind == TR_TY_TUPLE ? l->ret->items[i - uf->nin]
                                                   : l->ret;
    return t->kind == TR_TY_ARRAY ? t->elem : t;
}

static void fill_outputs(tr_uloop *l) {
    tr_ufunc *uf = l->uf;
    assert(l->ret && "outputs have the types that the function returns");
    for (uint32_t i = uf->nin; i < uf->nop; i++) {
        l->num[i] = tr_ufunc_npy_of((tr_tyk)operand_type(l, i)->kind);
        if (!uf->core && uf->nop == uf->nin + 1 && result_is_half(l))
            l->num[i] = NPY_HALF;
    }
}

static const tr_ty *type_of_num(tr_state *st, uint8_t num) {
    if (num == NPY_LONGLONG)
        return tr_ty_weak(st->types, TR_TY_I64);
    return tr_ty_scalar(st->types, num == NPY_HALF ? TR_TY_F32 : (tr_tyk)tr_value_npy_kind[num]);
}

/* For the executor. */
static void fill_exec(tr_uloop *l) {
    tr_ufunc *uf = l->uf;
    l->exec.nin = uf->nin;
    l->exec.nop = uf->nop;
    for (uint32_t i = 0; i < uf->nop; i++)
        l->exec.item[i] = operand_type(l, i)->kind == TR_TY_F16
                              ? tr_item_of(operand_type(l, i), false)
                              : tr_item_of(type_of_num(uf->st, l->num[i]), l->num[i] == NPY_HALF);
    l->exec.core = uf->core ? &uf->cores : NULL;
    l->exec.spreads = uf->parallel && !uf->python;
    l->exec.chains = uf->nin == 2 && uf->nop == 3 && !uf->core && !uf->python && l->num[0] == l->num[2];
    l->exec.host = &loop_host;
    l->exec.inner = uf->python ? tr_uloop_python : NULL;
    l->exec.self = l;
}

/* As the executor finds it: its operands are the ufunc's, and it has code. */
static __attribute__((unused)) bool can_run(const tr_uloop *l) {
    const tr_ufunc *uf = l->uf;
    return l->exec.nin == uf->nin && l->exec.nop == uf->nop && l->exec.self == l && l->ret && l->keep &&
           (uf->python ? l->exec.inner != NULL : l->exec.entry == tr_module_entry(l->module));
}

static tr_uloop *find(const tr_ufunc *uf, const uint8_t *num) {
    for (uint32_t k = 0; k < uf->nloops; k++)
        if (memcmp(uf->loops[k]->num, num, tr_ufunc_by_outputs(uf) ? uf->nop : uf->nin) == 0)
            return uf->loops[k];
    return NULL;
}

void *tr_ufunc_room_for(tr_ufunc *uf, size_t bytes) {
    void *room = PyMem_Calloc(1, bytes);
    void **retired = PyMem_Realloc(uf->retired, (uf->nretired + 1u) * sizeof *retired);
    if (retired)
        uf->retired = retired;
    if (!room || !retired) {
        PyMem_Free(room);
        PyErr_NoMemory();
        return NULL;
    }
    retired[uf->nretired++] = room;
    return room;
}

/* Whoever looks for a loop meanwhile, without the GIL, has the rows there were before: in the same array, or
 * in one that stays. */
static bool push(tr_ufunc *uf, tr_uloop *l) {
    uint32_t n = uf->nloops;
    assert(can_run(l) && "a loop that others find can be run");
    if ((n & (n - 1)) == 0) { /* it is full */
        tr_uloop **p = tr_ufunc_room_for(uf, (n ? 2 * (size_t)n : 1) * sizeof *p);
        if (!p)
            return false;
        if (n)
            memcpy(p, uf->loops, n * sizeof *p);
        uf->loops = p;
    }
    uf->loops[n] = l;
    uf->nloops = n + 1;
    return true;
}

/* NumPy knows it. Where that fails, for lack of memory, the loop stays, as others may run it by now; whoever
 * needs it tries again. */
static tr_uloop *shown(tr_ufunc *uf, tr_uloop *l) {
    l->shown = l->shown || tr_ufunc_publish(uf, l);
    assert((l->shown || PyErr_Occurred()) && "what NumPy was not told of has raised");
    return l->shown ? l : NULL;
}

/* What the function returns: as declared, or as inference says. */
static bool find_result(tr_uloop *l, tr_job *j) {
    l->ret = l->uf->core ? tr_ty_none(l->uf->st->types) : l->want_ret;
    j->rq.upto = TR_STAGE_INFER;
    if (!l->ret && tr_job_run(j))
        l->ret = j->out.ret;
    if (j->out.module) /* from the cache */
        tr_module_unref(j->out.module);
    l->keep = l->ret ? tr_job_keep(j) : NULL;
    return l->keep != NULL;
}

static bool find_code(tr_uloop *l, tr_job *j) {
    if (!tr_job_run(j))
        return false;
    l->module = j->out.module;
    l->exec.entry = tr_module_entry(l->module);
    l->exec.meta = tr_module_meta(l->module);
    l->ret = j->out.ret;
    l->from_cache = j->out.from_cache;
    l->keep = tr_job_keep(j);
    atomic_fetch_add(l->from_cache ? &l->uf->st->loaded : &l->uf->st->compiled, 1);
    return l->keep != NULL;
}

/* Compiles l, whose args, want_ret and input numbers are set. Takes l; returns it, or the one that another
 * thread made meanwhile. *unbound: it failed for a name that is not bound. */
static tr_uloop *compile(tr_ufunc *uf, tr_uloop *l, bool *unbound) {
    uint64_t started = tr_now_ns();
    tr_kernel k = kernel_of(uf, main_kind(uf));
    tr_uloop *r = NULL;
    tr_job *j = job_of(l, &k);
    if (j && (uf->python ? find_result(l, j) : find_code(l, j))) {
        fill_outputs(l);
        fill_exec(l);
        l->lets_go = j->frozen.loops.n && (l->exec.spreads || tr_job_lets_go(j));
        l->exec.spreads &= !j->frozen.draws; /* there is one stream for all cores */
        l->ns = tr_now_ns() - started;
        r = find(uf, l->num);
        if (!r && push(uf, l))
            r = l;
    }
    *unbound = j && j->ctx.unbound;
    if (j)
        tr_job_free(j);
    if (r != l)
        loop_free(l);
    assert(tr_py_agrees(r != NULL) && "a loop that cannot be made has raised");
    return r ? shown(uf, r) : NULL;
}

static tr_uloop *loop_new(tr_ufunc *uf) {
    tr_uloop *l = PyMem_Calloc(1, sizeof *l);
    if (l)
        l->uf = uf;
    else
        PyErr_NoMemory();
    return l;
}

tr_uloop *tr_ufunc_loop(tr_ufunc *uf, const uint8_t *num) {
    uint8_t all[TR_MAX_OPERANDS];
    assert(uf->nop <= TR_MAX_OPERANDS && nparams(uf) <= uf->nop && "operands have room");
    memcpy(all, num, sizeof all);
    /* Outputs of a lazy gufunc have the type of all inputs together; a Python int (there is one only beside
     * other inputs) does not widen it. */
    for (uint32_t i = uf->nin; tr_ufunc_by_outputs(uf) && i < uf->nop; i++)
        if (num[i] == TR_UNUM_NONE)
            all[i] = tr_ufunc_npy_of((tr_tyk)tr_ufunc_common(uf, num).kind);
    tr_uloop *l = find(uf, all);
    if (l)
        return shown(uf, l);
    if (!uf->lazy || !(l = loop_new(uf)))
        return NULL;
    memcpy(l->num, all, nparams(uf));
    for (uint32_t i = 0; i < nparams(uf); i++) {
        const tr_ty *t = type_of_num(uf->st, all[i]);
        l->args[i] = uf->core ? tr_ty_core(uf->st->types, t, uf->ncore[i], i >= uf->nin) : t;
    }
    bool unbound;
    return compile(uf, l, &unbound);
}

/* --- declared signatures --- */

static bool bad_operand(const tr_ufunc *uf, uint32_t i, const tr_ty *t, const char *why) {
    PyObject *o = tr_types_object(uf->st, t);
    if (o)
        PyErr_Format(PyExc_TypeError, "%U(): %s %u is declared %R: %s", uf->name,
                     i < uf->nin ? "argument" : "output", i < uf->nin ? i + 1 : i - uf->nin + 1, o, why);
    Py_XDECREF(o);
    return false;
}

static bool check_core(const tr_ufunc *uf, uint32_t i, const tr_ty *t) {
    char why[160];
    uint32_t want = uf->ncore[i], have = t->kind == TR_TY_ARRAY ? t->ndim : 0;
    if (t->kind == TR_TY_ARRAY && t->ndim > 1 && t->layout != TR_LAYOUT_ANY)
        return bad_operand(
            uf, i, t,
            "the operands of a gufunc may have any strides; declare plain axes, as in float64[:, :]");
    if (t->kind == TR_TY_ARRAY ? have == want || (have == 1 && want == 0)
                               : tr_ty_is_scalar(t) && want == 0 && i < uf->nin)
        return true;
    if (t->kind != TR_TY_ARRAY && want == 0 && i >= uf->nin)
        return bad_operand(uf, i, t, "an output is stored to; declare it as an array, as in float64[:]");
    snprintf(why, sizeof why, "the layout gives it %u %s, so it must be an array of as many", want,
             want == 1 ? "axis" : "axes");
    return bad_operand(uf, i, t, why);
}

static bool check_sig(const tr_ufunc *uf, const tr_csig *c) {
    if (c->n != nparams(uf)) {
        PyErr_Format(PyExc_TypeError, "%U() has %u %s%s, but its signature has %u argument type%s", uf->name,
                     nparams(uf), uf->core ? "operand" : "parameter", nparams(uf) == 1 ? "" : "s", c->n,
                     c->n == 1 ? "" : "s");
        return false;
    }
    if (uf->core && c->ret && c->ret->kind != TR_TY_NONE) {
        PyErr_Format(PyExc_TypeError, "%U(): the function of a gufunc returns nothing; declare it void(...)",
                     uf->name);
        return false;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        if (uf->core ? !check_core(uf, i, c->args[i])
                     : !tr_ty_is_scalar(c->args[i]) &&
                           !bad_operand(uf, i, c->args[i],
                                        "a ufunc's function takes one element of each array; declare its "
                                        "type alone, as in float64"))
            return false;
    }
    return true;
}

/* The declared loop, not compiled. NULL with an exception. */
static tr_uloop *declared(tr_ufunc *uf, const tr_csig *c) {
    tr_uloop *l = check_sig(uf, c) ? loop_new(uf) : NULL;
    for (uint32_t i = 0; l && i < c->n; i++) {
        const tr_ty *t = c->args[i], *elem = t->kind == TR_TY_ARRAY ? t->elem : t;
        l->args[i] =
            t->kind != TR_TY_ARRAY ? t : tr_ty_array(uf->st->types, elem, t->ndim, TR_LAYOUT_ANY, false);
        if (i < uf->nin)
            l->num[i] = tr_ufunc_npy_of((tr_tyk)elem->kind);
    }
    if (l)
        l->want_ret = uf->core ? NULL : c->ret;
    return l;
}

/* Compiles the loop that `of` describes, if there is none for its types. */
static bool settle(tr_ufunc *uf, const tr_uloop *of, bool *unbound) {
    *unbound = false;
    tr_uloop *l = find(uf, of->num);
    if (l)
        return shown(uf, l) != NULL;
    if (!(l = loop_new(uf)))
        return false;
    memcpy(l->args, of->args, sizeof l->args);
    memcpy(l->num, of->num, sizeof l->num);
    l->want_ret = of->want_ret;
    return compile(uf, l, unbound) != NULL;
}

static bool put_off(tr_ufunc *uf, tr_uloop *l) {
    tr_uloop **p = PyMem_Realloc(uf->waiting, (uf->nwaiting + 1u) * sizeof *p);
    if (!p) {
        loop_free(l);
        PyErr_NoMemory();
        return false;
    }
    uf->waiting = p;
    p[uf->nwaiting++] = l;
    return true;
}

/* Another thread may do the same meanwhile, so a loop counts as settled when it is compiled, and what
 * describes it stays. */
bool tr_ufunc_settle(tr_ufunc *uf) {
    bool unbound;
    while (uf->nsettled < uf->nwaiting) {
        uint32_t k = uf->nsettled;
        assert(!uf->waiting[k]->module && "what describes a loop is no loop");
        if (!settle(uf, uf->waiting[k], &unbound))
            return false;
        if (uf->nsettled == k)
            uf->nsettled++;
    }
    return true;
}

static PyObject *in_gate(PyCFunction f, PyObject *module, PyObject *args) {
    tr_py_section gate;
    tr_py_section_begin(&gate, tr_ext_state(module)->gate);
    PyObject *r = f(module, args);
    tr_py_section_end(&gate);
    return r;
}

/* ufunc_compile(u, signature, may_wait): may_wait as in tr_spec_declare. */
static PyObject *compile_signature(PyObject *module, PyObject *args) {
    PyObject *u, *sig;
    int may_wait;
    tr_state *st = tr_ext_state(module);
    tr_csig c;
    if (!PyArg_ParseTuple(args, "OOp", &u, &sig, &may_wait))
        return NULL;
    tr_ufunc *uf = tr_ufunc_of(st, u);
    if (!uf)
        return PyErr_Format(PyExc_TypeError, "%R is no ufunc of Treadle's", u);
    if (!tr_types_csig(st, sig, &c))
        return NULL;
    tr_uloop *l = declared(uf, &c);
    tr_csig_clear(&c);
    if (!l)
        return NULL;
    bool unbound = true, ok = (!may_wait || uf->nsettled == uf->nwaiting) && settle(uf, l, &unbound);
    if (ok || !may_wait || !unbound) {
        loop_free(l);
    } else {
        PyErr_Clear();
        ok = put_off(uf, l);
    }
    return ok ? Py_NewRef(Py_None) : NULL;
}

static PyObject *py_compile(PyObject *module, PyObject *args) {
    return in_gate(compile_signature, module, args);
}

/* --- in compiled code --- */

static const tr_cores *describe_cores(const tr_ufunc *uf, tr_arena *a) {
    tr_cores *c = TR_NEW(a, tr_cores);
    *c = uf->cores;
    c->text = tr_arena_strdup(a, c->text);
    c->n = tr_arena_copy(a, uf->ncore, sizeof uf->ncore);
    c->which = tr_arena_copy(a, uf->core_axis, uf->nop * (size_t)TR_MAX_NDIM);
    c->sizes = tr_arena_copy(a, uf->core_size, sizeof uf->core_size);
    return c;
}

/* As compiled code may use it; NULL: as if it had none. */
static const tr_obj *describe_identity(PyObject *o, tr_arena *a) {
    int over = 0;
    if (PyFloat_Check(o))
        return tr_obj_float(a, PyFloat_AS_DOUBLE(o));
    long long v = PyLong_Check(o) ? PyLong_AsLongLongAndOverflow(o, &over) : (over = 1);
    return over ? NULL : tr_obj_int(a, v);
}

const tr_ufn *tr_ufunc_describe(const tr_ufunc *uf, tr_arena *a) {
    const char *name = PyUnicode_AsUTF8(uf->name);
    tr_ufn *u = TR_NEW(a, tr_ufn);
    *u = (tr_ufn){.name = tr_arena_strdup(a, name ? name : "?"),
                  .nin = uf->nin,
                  .nout = uf->nop - uf->nin,
                  .core = uf->core ? describe_cores(uf, a) : NULL,
                  .nsigs = uf->lazy ? 0 : uf->nloops + uf->nwaiting - uf->nsettled};
    uint32_t row = tr_ufn_row(u);
    const tr_ty **sigs = TR_NEW_N(a, const tr_ty *, (size_t)u->nsigs *row + 1);
    for (uint32_t k = 0; k < u->nsigs; k++) {
        const tr_uloop *l = k < uf->nloops ? uf->loops[k] : uf->waiting[uf->nsettled + k - uf->nloops];
        memcpy(sigs + (size_t)k * row, l->args, nparams(uf) * sizeof *sigs);
        if (!uf->core)
            sigs[(size_t)k * row + uf->nin] = l->want_ret;
    }
    assert((uf->lazy || uf->nsettled <= uf->nwaiting) && "what is settled was declared");
    u->sigs = sigs;
    u->identity = describe_identity(uf->identity, a);
    u->reorders = uf->identity != Py_None;
    return u;
}

/* --- class Ufunc: the record --- */

static int rec_traverse(PyObject *self, visitproc visit, void *arg) {
    tr_ufunc *uf = (tr_ufunc *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(uf->fn);
    Py_VISIT(uf->identity);
    for (uint32_t k = 0; k < uf->nloops; k++) {
        Py_VISIT(uf->loops[k]->keep);
        Py_VISIT(uf->loops[k]->chain_keep);
        for (tr_exec_variant *v = atomic_load(&uf->loops[k]->exec.variants); v; v = v->next)
            Py_VISIT(((tr_uvariant *)v)->keep);
    }
    return 0;
}

static int rec_clear(PyObject *self) {
    Py_CLEAR(((tr_ufunc *)self)->fn);
    return 0;
}

static void rec_dealloc(PyObject *self) {
    tr_ufunc *uf = (tr_ufunc *)self;
    PyTypeObject *tp = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    rec_clear(self);
    for (tr_uplan *p = uf->plans, *next; p; p = next) {
        next = p->next;
        PyMem_Free(p);
    }
    for (uint32_t k = 0; k < uf->nloops; k++)
        assert(uf->loops[k]->tellers == 0 && "nobody tells NumPy of loops of a ufunc that is gone");
    for (uint32_t k = 0; k < uf->nloops; k++)
        loop_free(uf->loops[k]);
    for (uint32_t k = 0; k < uf->nwaiting; k++)
        loop_free(uf->waiting[k]);
    PyMem_Free(uf->waiting);
    for (uint32_t k = 0; k < uf->nretired; k++)
        PyMem_Free(uf->retired[k]);
    PyMem_Free(uf->retired);
    Py_XDECREF(uf->name);
    Py_XDECREF(uf->doc);
    Py_XDECREF(uf->signature);
    Py_XDECREF(uf->identity);
    tp->tp_free(self);
    Py_DECREF(tp);
}

static PyType_Slot rec_slots[] = {
    {Py_tp_dealloc, rec_dealloc}, {Py_tp_traverse, rec_traverse}, {Py_tp_clear, rec_clear}, {0, NULL}};

static PyType_Spec rec_spec = {
    .name = "treadle._core.Ufunc",
    .basicsize = sizeof(tr_ufunc),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = rec_slots,
};

/* --- creation --- */

/* None: no identity, and no reordering; "reorderable"; else a number. */
static int identity_kind(PyObject *o) {
    if (o == Py_None)
        return PyUFunc_None;
    return PyUnicode_Check(o) ? PyUFunc_ReorderableNone : PyUFunc_IdentityValue;
}

/* The slot is taken over only where it is what we know: a call of NumPy's through the object's own
 * pointer. */
static bool slot_as_expected(const tr_state *st, const PyUFuncObject *u) {
    const PyTypeObject *t = Py_TYPE(u);
    return st->np_call && (t->tp_flags & Py_TPFLAGS_HAVE_VECTORCALL) &&
           t->tp_vectorcall_offset == (Py_ssize_t)offsetof(PyUFuncObject, vectorcall) &&
           u->vectorcall == st->np_call;
}

/* Before NumPy 2 a ufunc without any loop never asks its resolver, so one for raw memory stands there first.
 * The resolver refuses such arrays. */
static void never(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (void)args;
    (void)dims;
    (void)steps;
    (void)data;
}

static PyObject *make(tr_ufunc *uf) {
    static PyUFuncGenericFunction first_fn[1] = {never};
    static void *const first_data[1];
    static const char first_types[] = {[0 ... TR_MAX_OPERANDS - 1] = NPY_VOID};
    const char *name = PyUnicode_AsUTF8(uf->name), *doc = uf->doc ? PyUnicode_AsUTF8(uf->doc) : NULL,
               *sig = uf->signature ? PyUnicode_AsUTF8(uf->signature) : NULL;
    if (!name || (uf->doc && !doc) || (uf->signature && !sig))
        return NULL;
    int id = identity_kind(uf->identity);
    PyObject *u = PyUFunc_FromFuncAndDataAndSignatureAndIdentity(
        first_fn, first_data, first_types, tr_ufunc_has_promoters() ? 0 : 1, (int)uf->nin,
        (int)(uf->nop - uf->nin), id, name, doc, 0, sig, id == PyUFunc_IdentityValue ? uf->identity : NULL);
    if (!u)
        return NULL;
    if (((PyUFuncObject *)u)->core_num_dim_ix > TR_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%U(): the layout has more than %d different axes", uf->name,
                     TR_MAX_NDIM);
        Py_DECREF(u);
        return NULL;
    }
    uf->u = (PyUFuncObject *)u;
    uf->u->obj = Py_NewRef((PyObject *)uf);
    if (!tr_ufunc_attach(uf)) {
        Py_DECREF(u);
        return NULL;
    }
    /* A gufunc's calls are all NumPy's, but looked at for given outputs, and before NumPy 2 for Python's
     * numbers. */
    if (slot_as_expected(uf->st, uf->u)) {
        uf->numpy = uf->u->vectorcall;
        uf->u->vectorcall = tr_ufunc_call;
    }
    if (PyObject_IS_GC(u) && !PyObject_GC_IsTracked(u)) /* NumPy leaves that to whoever sets `obj` */
        PyObject_GC_Track(u);
    return u;
}

static bool read_axes(tr_ufunc *uf, PyObject *axes) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axes); i++) {
        long n = PyLong_AsLong(PyTuple_GET_ITEM(axes, i));
        if (n < 0 || n >= TR_MAX_NDIM) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError, "an operand of %ld axes", n);
            return false;
        }
        uf->ncore[i] = (uint8_t)n;
    }
    return true;
}

/* What NumPy makes of operands that are read and written. A core may leave items of its outputs as they are,
 * so a copy that NumPy hands it begins as one of what was given. (For outputs these are all the flags, for
 * inputs some more.) */
enum {
    READ_AND_WRITTEN = NPY_ITER_READWRITE | NPY_ITER_UPDATEIFCOPY,
    CORE_OUTPUT = READ_AND_WRITTEN | NPY_ITER_ALIGNED | NPY_ITER_ALLOCATE | NPY_ITER_NO_BROADCAST |
                  NPY_ITER_NO_SUBTYPE | NPY_ITER_OVERLAP_ASSUME_ELEMENTWISE
};

static void fill_cores(tr_ufunc *uf) {
    const PyUFuncObject *u = uf->u;
    const char *text = PyUnicode_AsUTF8(uf->signature);
    assert(u->core_num_dim_ix <= TR_MAX_NDIM && "make() has looked at the layout");
    uf->cores = (tr_cores){text ? text : "?", uf->ncore, uf->core_axis, (uint32_t)u->core_num_dim_ix,
                           uf->core_size,     0};
    for (uint32_t k = 0; k < uf->nop; k++) {
        for (uint32_t d = 0; d < uf->ncore[k]; d++)
            uf->core_axis[k * TR_MAX_NDIM + d] = (uint8_t)u->core_dim_ixs[u->core_offsets[k] + (int)d];
        if (k < uf->nin && (u->op_flags[k] & NPY_ITER_READWRITE))
            uf->cores.writable |= 1u << k;
    }
    for (uint32_t i = 0; i < uf->cores.nsizes; i++)
        uf->core_size[i] = u->core_dim_sizes[i];
}

/* ufunc(function, nin, nout, name, doc, identity, signature, axes, lazy, parallel, writable, python) */
static PyObject *py_ufunc(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    PyObject *fn, *name, *doc, *identity, *signature, *axes, *writable;
    int nin, nout, lazy, parallel, python;
    if (!PyArg_ParseTuple(args, "O!iiUOOOO!ppO!p", st->fn_type, &fn, &nin, &nout, &name, &doc, &identity,
                          &signature, &PyTuple_Type, &axes, &lazy, &parallel, &PyTuple_Type, &writable,
                          &python))
        return NULL;
    if (nin < 1 || nout < 0 || nin + nout > TR_MAX_OPERANDS)
        return PyErr_Format(PyExc_ValueError, "%U(): a ufunc has at most %d inputs and outputs, not %d", name,
                            TR_MAX_OPERANDS, nin + nout);
    tr_ufunc *uf = (tr_ufunc *)st->ufunc_type->tp_alloc(st->ufunc_type, 0);
    if (!uf)
        return NULL;
    uf->st = st;
    uf->fn = (tr_function *)Py_NewRef(fn);
    uf->nin = (uint32_t)nin;
    uf->nop = (uint32_t)(nin + nout);
    uf->lazy = lazy;
    uf->parallel = parallel;
    uf->python = python;
    uf->core = signature != Py_None;
    uf->name = Py_NewRef(name);
    uf->doc = doc == Py_None ? NULL : Py_NewRef(doc);
    uf->signature = uf->core ? Py_NewRef(signature) : NULL;
    uf->identity = Py_NewRef(identity);
    PyObject *u = !uf->core || read_axes(uf, axes) ? make(uf) : NULL;
    for (Py_ssize_t i = 0; u && i < PyTuple_GET_SIZE(writable); i++)
        uf->u->op_flags[PyLong_AsLong(PyTuple_GET_ITEM(writable, i))] = READ_AND_WRITTEN;
    for (uint32_t k = uf->nin; u && uf->core && k < uf->nop; k++)
        uf->u->op_flags[k] = CORE_OUTPUT;
    if (u && uf->core)
        fill_cores(uf);
    Py_DECREF(uf);
    return u;
}

/* --- looking into one --- */

static PyObject *loop_types(const tr_uloop *l) {
    tr_state *st = l->uf->st;
    uint32_t n = nparams(l->uf);
    PyObject *t = PyTuple_New(n);
    for (uint32_t i = 0; t && i < n; i++) {
        PyObject *o = tr_types_object(st, tr_ty_strong(st->types, l->args[i]));
        if (!o)
            Py_CLEAR(t);
        else
            PyTuple_SET_ITEM(t, i, o);
    }
    return t;
}

static PyObject *loop_row(const tr_uloop *l) {
    PyObject *types = loop_types(l), *ret = types ? tr_types_object(l->uf->st, l->ret) : NULL;
    PyObject *row =
        ret ? Py_BuildValue("(OOdOK)", types, ret, (double)l->ns * 1e-9, l->from_cache ? Py_True : Py_False,
                            (unsigned long long)(l->module ? tr_module_bytes(l->module) : 0))
            : NULL;
    Py_XDECREF(types);
    Py_XDECREF(ret);
    return row;
}

/* ufunc_info(u): None, or (Function, lazy, parallel, generalized, loops); a loop is (argument types, result
 * type, seconds, loaded, bytes). */
static PyObject *info_of(PyObject *module, PyObject *u) {
    tr_ufunc *uf = tr_ufunc_of(tr_ext_state(module), u);
    if (!uf || !uf->fn)
        Py_RETURN_NONE;
    PyObject *rows = tr_ufunc_settle(uf) ? PyList_New(0) : NULL;
    for (uint32_t k = 0; rows && k < uf->nloops; k++) {
        PyObject *row = loop_row(uf->loops[k]);
        if (!row || PyList_Append(rows, row) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    if (!rows)
        return NULL;
    return Py_BuildValue("(OOOON)", (PyObject *)uf->fn, uf->lazy ? Py_True : Py_False,
                         uf->parallel ? Py_True : Py_False, uf->core ? Py_True : Py_False, rows);
}

static PyObject *py_info(PyObject *module, PyObject *u) {
    return in_gate(info_of, module, u);
}

/* ufunc_text(u, k, stage): text of a stage of loop k. */
static PyObject *text_of(PyObject *module, PyObject *args) {
    static const struct {
        const char *name;
        tr_stage stage;
    } rows[] = {{"infer", TR_STAGE_INFER},     {"opt", TR_STAGE_OPT}, {"llvm", TR_STAGE_LLVM},
                {"llvmopt", TR_STAGE_LLVMOPT}, {"asm", TR_STAGE_ASM}, {"report", TR_STAGE_REPORT}};
    PyObject *u;
    unsigned k;
    const char *name;
    if (!PyArg_ParseTuple(args, "OIs", &u, &k, &name))
        return NULL;
    tr_ufunc *uf = tr_ufunc_of(tr_ext_state(module), u);
    if (uf && !tr_ufunc_settle(uf))
        return NULL;
    if (!uf || k >= uf->nloops)
        return PyErr_Format(PyExc_IndexError, "no such loop");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        tr_kernel kernel = kernel_of(uf, main_kind(uf));
        tr_job *j = job_of(uf->loops[k], &kernel);
        PyObject *r = j ? tr_job_text(j, rows[i].stage) : NULL;
        if (j)
            tr_job_free(j);
        return r;
    }
    return PyErr_Format(PyExc_ValueError, "no stage '%s'", name);
}

static PyObject *py_text(PyObject *module, PyObject *args) {
    return in_gate(text_of, module, args);
}

static PyMethodDef functions[] = {
    {"_ufunc", py_ufunc, METH_VARARGS, NULL},
    {"_ufunc_compile", py_compile, METH_VARARGS, NULL},
    {"_ufunc_info", py_info, METH_O, NULL},
    {"_ufunc_text", py_text, METH_VARARGS, NULL},
    {0},
};

bool tr_ufunc_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    PyObject *add = NULL, *np = PyImport_ImportModule("numpy");
    add = np ? PyObject_GetAttrString(np, "add") : NULL;
    st->np_call = add && Py_IS_TYPE(add, st->np_ufunc) ? ((PyUFuncObject *)add)->vectorcall : NULL;
    Py_XDECREF(add);
    Py_XDECREF(np);
    st->ufunc_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &rec_spec, NULL);
    return np && add && st->ufunc_type && PyModule_AddFunctions(module, functions) == 0;
}
