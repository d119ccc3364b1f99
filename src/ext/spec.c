/* Specialisations: finding one for the arguments of a call, compiling it, publishing it, dropping it.
 *
 * Threads: everything here runs under the GIL but tr_compile itself. Whoever compiles puts a tr_pending
 * into the state's list; who wants the same waits for it without the GIL. A pending entry of another
 * process (fork) is ignored. Nothing is held while waiting, and a compile holds nothing where it asks for the GIL
 * (tr_ctx_stop), so there is no order of locks to get wrong. Cost: a miss is a few microseconds beside the compile. */
#include "ext/job.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ext/types.h"

/* A specialisation that some thread is compiling. On the stack of that thread; in the list while
 * `st->lock` says so. */
typedef struct tr_pending {
    struct tr_pending *next;
    const tr_function *f;
    const tr_argk *pats;
    uint32_t n;
    pid_t pid;
    unsigned long thread;
} tr_pending;

/* --- waiting for one another --- */

static bool same_pats(const tr_argk *a, const tr_argk *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!tr_argk_equal(&a[i], &b[i]))
            return false;
    return true;
}

static const tr_pending *find_pending(tr_state *st, const tr_function *f, const tr_argk *pats, uint32_t n) {
    for (const tr_pending *p = st->pending; p; p = p->next)
        if (p->f == f && p->pid == getpid() && p->n == n && same_pats(p->pats, pats, n))
            return p;
    return NULL;
}

static void pending_add(tr_state *st, tr_pending *p) {
    pthread_mutex_lock(&st->lock);
    p->next = st->pending;
    st->pending = p;
    pthread_mutex_unlock(&st->lock);
}

static void pending_remove(tr_state *st, tr_pending *p) {
    pthread_mutex_lock(&st->lock);
    for (tr_pending **at = &st->pending; *at; at = &(*at)->next) {
        if (*at == p) {
            *at = p->next;
            break;
        }
    }
    pthread_cond_broadcast(&st->done);
    pthread_mutex_unlock(&st->lock);
}

/* Waits, without the GIL, until `p` has left the list, or another has, or for a moment: the caller looks again anyway. */
static bool pending_wait(tr_state *st, const tr_function *f, const tr_pending *p) {
    if (p->thread == PyThread_get_thread_ident()) {
        PyErr_Format(PyExc_RuntimeError,
                     "%U() was called with the types it is being compiled for, by code that its "
                     "compilation runs",
                     f->qualname);
        return false;
    }
    struct timespec moment;
    clock_gettime(CLOCK_REALTIME, &moment);
    moment.tv_nsec += 100000000;
    moment.tv_sec += moment.tv_nsec / 1000000000;
    moment.tv_nsec %= 1000000000;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&st->lock);
    for (const tr_pending *q = st->pending; q; q = q->next) {
        if (q == p) {
            pthread_cond_timedwait(&st->done, &st->lock, &moment);
            break;
        }
    }
    pthread_mutex_unlock(&st->lock);
    Py_END_ALLOW_THREADS
    return PyErr_CheckSignals() == 0;
}

/* --- specs --- */

static void spec_free(tr_spec *s) {
    if (s->module)
        tr_module_unref(s->module);
    for (uint32_t i = 0; s->pats && i < s->nargs; i++)
        tr_argk_clear(&s->pats[i]);
    PyMem_Free(s->pats);
    PyMem_Free((void *)s->args);
    Py_XDECREF(s->types);
    Py_XDECREF(s->keep);
    PyMem_Free(s);
}

int tr_spec_visit(const tr_spec *s, visitproc visit, void *arg) {
    Py_VISIT(s->types);
    Py_VISIT(s->keep);
    for (uint32_t i = 0; s->pats && i < s->nargs; i++) {
        int r = tr_argk_visit(&s->pats[i], visit, arg);
        if (r)
            return r;
    }
    return 0;
}

/* Tuple of Type objects, one per argument. */
static PyObject *types_tuple(tr_state *st, const tr_spec *s) {
    PyObject *t = PyTuple_New(s->nargs);
    for (uint32_t i = 0; t && i < s->nargs; i++) {
        PyObject *o = s->declared ? tr_types_object(st, s->args[i]) : tr_types_of_pattern(st, &s->pats[i]);
        if (!o)
            Py_CLEAR(t);
        else
            PyTuple_SET_ITEM(t, i, o);
    }
    return t;
}

static bool spec_fill(tr_spec *s, const tr_job *j, uint64_t started) {
    s->nargs = j->n;
    s->args = PyMem_Calloc(j->n + 1u, sizeof *s->args);
    s->pats = PyMem_Calloc(j->n + 1u, sizeof *s->pats);
    if (!s->args || !s->pats) {
        PyErr_NoMemory();
        return false;
    }
    for (uint32_t i = 0; i < j->n; i++) {
        /* A constant's type ends with the compilation; "none" has as many slots: none. */
        s->args[i] = j->pats && tr_argk_has_const(&j->pats[i])
                         ? tr_argk_type(j->st->types, &j->pats[i], NULL, NULL)
                         : j->args[i];
        if (j->pats && !tr_argk_copy(&j->pats[i], &s->pats[i]))
            return false;
    }
    s->declared = !j->pats;
    s->ret = j->out.ret;
    s->want_ret = j->rq.ret;
    s->nret = tr_ty_nparts(s->ret);
    s->from_cache = j->out.from_cache;
    s->total_ns = tr_now_ns() - started;
    memcpy(s->ns, j->ctx.stage_ns, sizeof s->ns);
    return (s->keep = tr_job_keep(j)) && (s->types = types_tuple(j->st, s));
}

/* *unbound: it failed for a name that is not bound. */
static tr_spec *spec_new(tr_function *f, const tr_argk *pats, const tr_ty *const *args, uint32_t n,
                         const tr_ty *ret, bool *unbound) {
    uint64_t started = tr_now_ns();
    tr_job *j = tr_job_new(f, pats, args, n, ret);
    *unbound = false;
    if (!j)
        return NULL;
    tr_spec *s = NULL;
    tr_job_for_python(j);
    if (tr_job_run(j)) {
        s = PyMem_Calloc(1, sizeof *s);
        if (s)
            s->module = j->out.module;
        else
            tr_module_unref(j->out.module);
        if (s && !spec_fill(s, j, started)) {
            spec_free(s);
            s = NULL;
        } else if (!s) {
            PyErr_NoMemory();
        }
    }
    if (s) {
        f->ncompiled += !s->from_cache;
        f->nloaded += s->from_cache;
        atomic_fetch_add(s->from_cache ? &f->st->loaded : &f->st->compiled, 1);
    }
    *unbound = j->ctx.unbound;
    tr_job_free(j);
    return s;
}

/* --- variants and their publication --- */

static uint8_t return_op(const tr_ty *ret) {
    switch (ret->kind) {
    case TR_TY_NONE: return TR_R_NONE;
    case TR_TY_F64: return TR_R_FLOAT;
    case TR_TY_I64: return TR_R_INT;
    case TR_TY_BOOL: return TR_R_BOOL;
    default: return TR_R_OTHER;
    }
}

/* The class of NumPy scalars of a kind that comes first in the state's table. */
static PyTypeObject *scalar_class(tr_state *st, uint32_t key) {
    for (unsigned i = 0; i < TR_NPTYPES; i++)
        if (tr_value_np_kind[i] == (uint8_t)tr_key_tyk(key))
            return st->np_scalar[i];
    return NULL;
}

static void choose_op(tr_state *st, tr_varg *va, const tr_ty *ty) {
    char cls = tr_ty_class(ty);
    va->op = TR_U_OTHER;
    switch (tr_key_kind(va->key)) {
    case TR_K_FLOAT:
        if (tr_ty_is_float(ty))
            va->op = ty->kind == TR_TY_F64 ? TR_U_FLOAT : TR_U_FLOAT_F32;
        break;
    case TR_K_INT:
        va->op = ty->kind == TR_TY_I64 ? TR_U_INT : ty->kind == TR_TY_F64 ? TR_U_INT_F64 : TR_U_OTHER;
        if (va->op == TR_U_OTHER && tr_ty_is_int(ty)) {
            va->op = TR_U_INT_NARROW;
            va->shift = (uint8_t)(tr_ty_size(ty) * 8);
            va->any = cls == 'u';
        }
        break;
    case TR_K_BOOL:
        if (ty->kind == TR_TY_BOOL)
            va->op = TR_U_BOOL;
        break;
    case TR_K_SCALAR:
        if (ty->kind == (uint8_t)tr_key_tyk(va->key)) {
            va->op = TR_U_SCALAR;
            va->shift = (uint8_t)tr_ty_size(ty);
            va->any = cls == 'c';
            va->cls = scalar_class(st, va->key);
        }
        break;
    case TR_K_ARRAY:
        va->op = TR_U_ARRAY;
        va->ndim = ty->ndim;
        va->any = ty->layout == TR_LAYOUT_ANY;
        va->shift = (uint8_t)__builtin_ctz(tr_ty_size(ty->elem));
        break;
    default: break;
    }
}

static void clear_arg(tr_varg *va) {
    for (uint32_t i = 0; i < va->n; i++)
        clear_arg(&va->items[i]);
    PyMem_Free(va->items);
    if (va->deep)
        tr_argk_clear(va->deep);
    PyMem_Free(va->deep);
}

static bool fill_arg(tr_state *st, tr_varg *va, const tr_argk *pat, const tr_ty *ty);

/* A tuple is taken item by item. One with named fields is not: its class is asked anew each time whether it still has them. */
static bool fill_tuple(tr_state *st, tr_varg *va, const tr_argk *pat, const tr_ty *ty) {
    if (!(va->items = PyMem_Calloc(pat->n + 1u, sizeof *va->items))) {
        PyErr_NoMemory();
        return false;
    }
    va->op = TR_U_TUPLE;
    for (; va->n < pat->n; va->n++)
        if (!fill_arg(st, &va->items[va->n], &pat->items[va->n], ty->items[va->n])) {
            va->n++;
            return false;
        }
    return true;
}

/* On failure what it has is for clear_arg. */
static bool fill_arg(tr_state *st, tr_varg *va, const tr_argk *pat, const tr_ty *ty) {
    *va = (tr_varg){.key = pat->key, .ty = ty};
    choose_op(st, va, ty);
    unsigned kind = tr_key_kind(pat->key);
    if (kind == TR_K_TUPLE)
        return fill_tuple(st, va, pat, ty);
    if (kind < TR_K_DEEP)
        return true;
    if (!(va->deep = PyMem_Calloc(1, sizeof *va->deep))) {
        PyErr_NoMemory();
        return false;
    }
    return tr_argk_copy(pat, va->deep);
}

static void variant_free(tr_variant *v) {
    for (uint32_t i = 0; i < v->nargs; i++)
        clear_arg(&v->arg[i]);
    PyMem_Free(v);
}

static tr_variant *variant_new(tr_state *st, tr_spec *s, const tr_argk *pats) {
    tr_variant *v = PyMem_Calloc(1, sizeof *v + s->nargs * sizeof v->arg[0]);
    if (!v) {
        PyErr_NoMemory();
        return NULL;
    }
    v->entry = tr_module_entry(s->module);
    v->spec = s;
    v->nargs = s->nargs;
    v->nret = s->nret;
    v->ret = return_op(s->ret);
    for (uint32_t i = 0; i < s->nargs; i++) {
        v->nslots += tr_ty_nparts(s->args[i]);
        if (!fill_arg(st, &v->arg[i], &pats[i], s->args[i])) {
            variant_free(v);
            return NULL;
        }
    }
    return v;
}

/* Publishes the list with v at its end. Takes v. */
static bool publish(tr_function *f, tr_variant *v) {
    tr_varlist *old = atomic_load_explicit(&f->list, memory_order_relaxed);
    uint32_t n = old ? old->n : 0;
    tr_varlist *l = PyMem_Calloc(1, sizeof *l + (n + 1u) * sizeof l->v[0]);
    if (!l) {
        variant_free(v);
        PyErr_NoMemory();
        return false;
    }
    if (n)
        memcpy(l->v, old->v, n * sizeof l->v[0]);
    l->v[n] = v;
    l->n = n + 1;
    l->retired = old;
    atomic_store_explicit(&f->list, l, memory_order_release);
    return true;
}

static bool push_spec(tr_spec ***list, uint32_t *n, tr_spec *s) {
    tr_spec **p = PyMem_Realloc(*list, (*n + 1u) * sizeof *p);
    if (!p) {
        PyErr_NoMemory();
        return false;
    }
    *list = p;
    p[(*n)++] = s;
    return true;
}

/* --- which spec --- */

/* The spec for exactly these values' types. */
static tr_spec *find_exact(tr_function *f, const tr_argk *pats) {
    for (uint32_t k = 0; k < f->nspecs; k++) {
        tr_spec *s = f->specs[k];
        uint32_t i = 0;
        for (; i < s->nargs; i++) {
            bool same = tr_argk_has_const(&s->pats[i]) || tr_argk_has_const(&pats[i])
                            ? tr_argk_equal(&s->pats[i], &pats[i])
                            : tr_argk_type(f->st->types, &pats[i], NULL, NULL) == s->args[i];
            if (!same)
                break;
        }
        if (i == s->nargs)
            return s;
    }
    return NULL;
}

/* The declared spec that asks for the least conversion; the first of equals. */
static tr_spec *find_declared(tr_function *f, PyObject *const *args, const tr_argk *pats) {
    tr_spec *best = NULL;
    int least = INT32_MAX;
    for (uint32_t k = 0; k < f->nspecs; k++) {
        tr_spec *s = f->specs[k];
        int total = 0;
        for (uint32_t i = 0; i < s->nargs && total >= 0; i++) {
            int c = tr_value_cost(f->st, args[i], &pats[i], s->args[i]);
            total = c < 0 ? -1 : total + c;
        }
        if (total >= 0 && total < least) {
            least = total;
            best = s;
        }
    }
    return best;
}

/* TypeError for a function of declared signatures: what came, and what there is; or why a signature is missing. Always NULL. */
static tr_spec *no_match(tr_function *f, const tr_argk *pats) {
    PyObject *why = f->dict ? PyDict_GetItemString(f->dict, TR_REASON_ATTR) : NULL;
    if (why && PyExceptionInstance_Check(why)) {
        PyErr_SetObject((PyObject *)Py_TYPE(why), why);
        return NULL;
    }
    PyObject *got = PyTuple_New(f->nparams), *list = PyUnicode_FromString("");
    for (uint32_t i = 0; got && i < f->nparams; i++) {
        PyObject *t = tr_types_of_pattern(f->st, &pats[i]);
        if (!t)
            Py_CLEAR(got);
        else
            PyTuple_SET_ITEM(got, i, t);
    }
    for (uint32_t k = 0; got && list && k < f->nspecs && k < 6; k++) {
        PyObject *ret = tr_types_object(f->st, f->specs[k]->ret);
        PyObject *next = ret ? PyUnicode_FromFormat("%U\n  %R%R", list, ret, f->specs[k]->types) : NULL;
        Py_XDECREF(ret);
        Py_SETREF(list, next);
    }
    if (got && list)
        PyErr_Format(PyExc_TypeError, "%U() has no signature for arguments of types %R; it has%U%s",
                     f->qualname, got, list, f->nspecs > 6 ? "\n  ..." : "");
    Py_XDECREF(got);
    Py_XDECREF(list);
    return NULL;
}

/* Compiles for these values; another thread that does so already is waited for, then *again is set. */
static tr_spec *compile_for(tr_function *f, const tr_argk *pats, bool *again) {
    tr_state *st = f->st;
    const tr_pending *other = find_pending(st, f, pats, f->nparams);
    if (other) {
        *again = pending_wait(st, f, other);
        return NULL;
    }
    tr_pending mine = {
        .f = f, .pats = pats, .n = f->nparams, .pid = getpid(), .thread = PyThread_get_thread_ident()};
    pending_add(st, &mine);
    bool unbound;
    tr_spec *s = spec_new(f, pats, NULL, f->nparams, NULL, &unbound);
    if (s && !push_spec(&f->specs, &f->nspecs, s)) {
        spec_free(s);
        s = NULL;
    }
    pending_remove(st, &mine);
    return s;
}

static const tr_variant *variant_for(tr_function *f, PyObject *const *args, const tr_argk *pats) {
    bool again = tr_spec_settle(f);
    tr_spec *s = NULL;
    while (!s && again) {
        again = false;
        s = find_exact(f, pats);
        if (!s && f->sealed)
            s = find_declared(f, args, pats);
        if (!s && f->sealed)
            s = no_match(f, pats);
        else if (!s)
            s = compile_for(f, pats, &again);
    }
    tr_variant *v = s ? variant_new(f->st, s, pats) : NULL;
    return v && publish(f, v) ? v : NULL;
}

const tr_variant *tr_spec_for(tr_function *f, PyObject *const *args) {
    tr_argk *pats = PyMem_Calloc(f->nparams + 1u, sizeof *pats);
    bool ok = pats != NULL;
    uint32_t n = 0;
    const tr_variant *v = NULL;
    if (!ok)
        PyErr_NoMemory();
    for (; ok && n < f->nparams; n++)
        ok = tr_value_pattern(f->st, args[n], f->text, tr_function_param(f, n), &pats[n]);
    if (ok)
        v = variant_for(f, args, pats);
    for (uint32_t i = 0; i < n; i++)
        tr_argk_clear(&pats[i]);
    PyMem_Free(pats);
    return v;
}

/* --- declared signatures --- */

static bool is_declared(const tr_function *f, const tr_csig *c) {
    for (uint32_t k = 0; k < f->nspecs; k++) {
        uint32_t i = 0;
        while (i < c->n && f->specs[k]->args[i] == c->args[i])
            i++;
        if (i == c->n)
            return true;
    }
    return false;
}

static bool declare(tr_function *f, const tr_csig *c, bool *unbound) {
    if (c->n != f->nparams) {
        PyErr_Format(PyExc_TypeError, "%U() has %u parameters, but its signature has %u argument types",
                     f->qualname, f->nparams, c->n);
        return false;
    }
    if (is_declared(f, c))
        return true;
    tr_spec *s = spec_new(f, NULL, c->args, c->n, c->ret, unbound);
    if (!s)
        return false;
    bool first = !is_declared(f, c); /* another thread may have settled the function meanwhile */
    if (first && push_spec(&f->specs, &f->nspecs, s))
        return true;
    spec_free(s);
    return !first;
}

static bool put_off(tr_function *f, PyObject *sig) {
    PyObject *o = tr_types_signature(f->st, sig);
    if (!f->waiting)
        f->waiting = PyList_New(0);
    bool ok = o && f->waiting && PyList_Append(f->waiting, o) == 0;
    Py_XDECREF(o);
    return ok;
}

bool tr_spec_declare(tr_function *f, PyObject *sig, bool may_wait) {
    tr_csig c;
    bool unbound = false;
    if (!tr_types_csig(f->st, sig, &c))
        return false;
    bool behind = may_wait && c.n == f->nparams && f->waiting && PyList_GET_SIZE(f->waiting) > 0;
    bool ok = !behind && declare(f, &c, &unbound);
    tr_csig_clear(&c);
    if (!behind && (ok || !may_wait || !unbound))
        return ok;
    PyErr_Clear();
    return put_off(f, sig);
}

bool tr_spec_settle(tr_function *f) {
    bool ok = true;
    while (ok && f->waiting && PyList_GET_SIZE(f->waiting) > 0) {
        PyObject *sig = Py_NewRef(PyList_GET_ITEM(f->waiting, 0));
        ok = tr_spec_declare(f, sig, false);
        /* it stays in the list until it is compiled: another thread that comes now must not miss it */
        if (ok && f->waiting && PyList_GET_SIZE(f->waiting) > 0 && PyList_GET_ITEM(f->waiting, 0) == sig)
            ok = PyList_SetSlice(f->waiting, 0, 1, NULL) == 0;
        Py_DECREF(sig);
    }
    return ok;
}

/* --- the end of code --- */

/* Frees l and all older lists. Each list holds the variants of the one before it and at most one more,
 * which is its own; an empty list starts afresh. */
static void free_lists(tr_varlist *l) {
    while (l) {
        tr_varlist *older = l->retired;
        for (uint32_t i = older ? older->n : 0; i < l->n; i++)
            variant_free(l->v[i]);
        PyMem_Free(l);
        l = older;
    }
}

void tr_spec_sweep(tr_function *f) {
    if (atomic_load(&f->active) || !f->ndead)
        return;
    tr_varlist *l = atomic_load(&f->list);
    while (l && l->n)
        l = l->retired;
    if (l) { /* the newest empty list: what is older is of dead specs */
        free_lists(l->retired);
        l->retired = NULL;
    }
    for (uint32_t i = 0; i < f->ndead; i++)
        spec_free(f->dead[i]);
    f->ndead = 0;
}

/* Puts `fresh` in the place of all specs; what was there waits for the sweep. */
static bool replace_specs(tr_function *f, tr_spec **fresh, uint32_t n) {
    tr_spec **dead = PyMem_Realloc(f->dead, (f->ndead + f->nspecs + 1u) * sizeof *dead);
    if (dead)
        f->dead = dead;
    tr_varlist *empty = PyMem_Calloc(1, sizeof *empty);
    if (!dead || !empty) {
        PyMem_Free(empty);
        PyErr_NoMemory();
        return false;
    }
    if (f->nspecs)
        memcpy(f->dead + f->ndead, f->specs, f->nspecs * sizeof *dead);
    f->ndead += f->nspecs;
    PyMem_Free(f->specs);
    f->specs = fresh;
    f->nspecs = n;
    empty->retired = atomic_load(&f->list);
    atomic_store_explicit(&f->list, empty, memory_order_release);
    return true;
}

bool tr_spec_recompile(tr_function *f) {
    uint32_t n = f->nspecs, done = 0;
    tr_spec **fresh = PyMem_Calloc(n + 1u, sizeof *fresh);
    bool ok = fresh != NULL, unbound;
    if (!ok)
        PyErr_NoMemory();
    tr_function_active(f, 1); /* keeps the old specs while the GIL is away */
    for (; ok && done < n && done < f->nspecs;
         done++) { /* another thread may add one while the GIL is away */
        const tr_spec *s = f->specs[done];
        fresh[done] = spec_new(f, s->declared ? NULL : s->pats, s->args, s->nargs, s->want_ret, &unbound);
        ok = fresh[done] != NULL;
    }
    tr_function_active(f, -1);
    ok = ok && replace_specs(f, fresh, done);
    if (!ok) {
        for (uint32_t i = 0; fresh && i < done; i++)
            if (fresh[i])
                spec_free(fresh[i]);
        PyMem_Free(fresh);
        return false;
    }
    tr_spec_sweep(f);
    return true;
}

void tr_spec_free_all(tr_function *f) {
    free_lists(atomic_exchange(&f->list, NULL));
    for (uint32_t i = 0; i < f->nspecs; i++)
        spec_free(f->specs[i]);
    for (uint32_t i = 0; i < f->ndead; i++)
        spec_free(f->dead[i]);
    PyMem_Free(f->specs);
    PyMem_Free(f->dead);
    f->specs = f->dead = NULL;
    f->nspecs = f->ndead = 0;
}
