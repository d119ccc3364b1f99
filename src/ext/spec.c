/* Specialisations: finding one for the arguments of a call, compiling it, publishing it, dropping it.
 *
 * Threads: everything here runs under the GIL, and in the gate, but tr_compile itself. Whoever compiles puts
 * a tr_pending into the state's list; who wants the same waits for it without the GIL. A pending entry of
 * another process (fork) is ignored. Nothing is held while waiting, and a compile holds nothing where it asks
 * for the GIL (tr_ctx_stop), so there is no order of locks to get wrong.
 * Cost: a miss is a few microseconds
 * beside the compile. */
#include "ext/hands.h"
#include "ext/job.h"

#include <assert.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ext/lists.h"
#include "ext/pyerr.h"
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

/* The list changes only in the gate, which the caller is in, and nothing of Python's runs here. */
static const tr_pending *find_pending(const tr_state *st, const tr_function *f, const tr_argk *pats,
                                      uint32_t n) {
    const tr_pending *p = st->pending;
    while (p && !(p->f == f && p->pid == getpid() && p->n == n && same_pats(p->pats, pats, n)))
        p = p->next;
    return p;
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

/* Waits, without the GIL, until `p` has left the list, or another has, or for a moment: the caller looks
 * again anyway. */
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
    if (s->large)
        tr_module_unref(s->large);
    for (uint32_t i = 0; s->pats && i < s->nargs; i++)
        tr_argk_clear(&s->pats[i]);
    PyMem_Free(s->pats);
    PyMem_Free((void *)s->args);
    PyMem_Free((void *)s->takes);
    Py_XDECREF(s->types);
    Py_XDECREF(s->keep);
    Py_XDECREF(s->hands);
    Py_XDECREF(s->placed);
    PyMem_Free(s);
}

int tr_spec_visit(const tr_spec *s, visitproc visit, void *arg) {
    Py_VISIT(s->types);
    Py_VISIT(s->keep);
    Py_VISIT(s->hands);
    Py_VISIT(s->placed);
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

bool tr_spec_has_const(const tr_spec *s) {
    bool has = false;
    for (uint32_t i = 0; !s->declared && !has && i < s->nargs; i++)
        has = tr_argk_has_const(&s->pats[i]);
    return has;
}

PyObject *tr_spec_types(tr_function *f, const tr_spec *s) {
    return s->types ? Py_NewRef(s->types) : types_tuple(f->st, s);
}

/* Patterns of a variant and a spec refer weakly to what the user passed. */
static bool keep_pattern(tr_function *f, const tr_argk *from, tr_argk *to) {
    if (!tr_argk_copy(from, to))
        return false;
    if (!tr_argk_has_const(to))
        return true;
    PyObject *died = tr_function_undertaker(f);
    bool ok = died && tr_argk_weaken(to, died);
    Py_XDECREF(died);
    return ok;
}

/* What the code takes in the place of lists. */
static bool fill_takes(tr_spec *s, const tr_job *j) {
    const char *text = tr_module_meta(s->module)->takes;
    if (!text || j->f->target)
        return true;
    const tr_ty *all = tr_ty_parse_ir(j->st->types, &text);
    assert(all && all->n == s->nargs && "a module names the types of its parameters with lists");
    s->takes = all ? PyMem_Calloc(s->nargs + 1u, sizeof *s->takes) : NULL;
    for (uint32_t i = 0; s->takes && i < s->nargs; i++)
        s->takes[i] = tr_ty_has_lists(all->items[i]) ? all->items[i] : NULL;
    if (!s->takes)
        PyErr_NoMemory();
    return s->takes != NULL;
}

static bool spec_fill(tr_spec *s, tr_job *j, uint64_t started) {
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
        assert(!s->args[i]->local && "a parameter's type outlives the compilation");
        if (j->pats && !keep_pattern(j->f, &j->pats[i], &s->pats[i]))
            return false;
    }
    assert(!j->out.ret->local && "a result's type outlives the compilation");
    s->declared = !j->pats;
    s->ret = j->out.ret;
    s->want_ret = j->rq.ret;
    s->nret = tr_ty_nparts(s->ret);
    s->from_cache = j->out.from_cache;
    s->lets_go = tr_job_lets_go(j);
    s->total_ns = tr_now_ns() - started;
    memcpy(s->ns, j->ctx.stage_ns, sizeof s->ns);
    if (!(s->keep = tr_job_keep(j)) || !fill_takes(s, j) || !tr_hands_fill(j, &s->hands))
        return false;
    s->placed = Py_XNewRef(j->frozen.placed);
    return tr_spec_has_const(s) || (s->types = types_tuple(j->st, s));
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
    if (tr_job_run(j) && (!f->target || tr_devcode_load(j))) {
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
    assert(tr_py_agrees(s != NULL) && "a spec that cannot be made has raised");
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
            va->op = ty->kind == TR_TY_F64 ? TR_U_FLOAT : ty->kind == TR_TY_F32 ? TR_U_FLOAT_F32 : TR_U_OTHER;
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
            assert(va->cls && "scalars that have a key have a class");
        }
        break;
    case TR_K_ARRAY:
        va->op = TR_U_ARRAY;
        assert(tr_key_ndim(va->key) == ty->ndim && "arrays are not reshaped on their way");
        va->ndim = ty->ndim;
        va->any = ty->layout == TR_LAYOUT_ANY;
        va->shift = (uint8_t)__builtin_ctz(tr_ty_unit(ty));
        break;
    case TR_K_LIST: va->op = TR_U_LIST; break;
    case TR_K_STR:
        if (ty->kind == TR_TY_STRING)
            va->op = TR_U_STRING;
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

static bool fill_arg(tr_function *f, tr_varg *va, const tr_argk *pat, const tr_ty *ty, char writes);

/* A tuple is taken item by item. One with named fields is not: its class is asked anew each time whether it
 * still has them. */
static bool fill_tuple(tr_function *f, tr_varg *va, const tr_argk *pat, const tr_ty *ty) {
    if (!(va->items = PyMem_Calloc(pat->n + 1u, sizeof *va->items))) {
        PyErr_NoMemory();
        return false;
    }
    assert(ty->n == pat->n && "a tuple's type has as many items as its pattern");
    va->op = TR_U_TUPLE;
    for (; va->n < pat->n; va->n++)
        if (!fill_arg(f, &va->items[va->n], &pat->items[va->n], ty->items[va->n], va->writes)) {
            va->n++;
            return false;
        }
    return true;
}

/* On failure what it has is for clear_arg. */
static bool fill_arg(tr_function *f, tr_varg *va, const tr_argk *pat, const tr_ty *ty, char writes) {
    *va = (tr_varg){.key = pat->key, .ty = ty, .writes = writes};
    choose_op(f->st, va, ty);
    unsigned kind = tr_key_kind(pat->key);
    if (kind == TR_K_TUPLE)
        return fill_tuple(f, va, pat, ty);
    if (kind < TR_K_DEEP || va->op == TR_U_STRING)
        return true;
    if (!(va->deep = PyMem_Calloc(1, sizeof *va->deep))) {
        PyErr_NoMemory();
        return false;
    }
    return tr_argk_copy(pat, va->deep);
}

static void variant_free(tr_variant *v) {
    for (uint32_t i = 0; i < v->nargs && !v->moved; i++)
        clear_arg(&v->arg[i]);
    PyMem_Free(v);
}

/* `pats` are keep_pattern's. Makes no Python object: a garbage collection could run code that drops s. */
static tr_variant *variant_new(tr_function *f, tr_spec *s, const tr_argk *pats) {
    tr_variant *v = PyMem_Calloc(1, sizeof *v + s->nargs * sizeof v->arg[0]);
    if (!v) {
        PyErr_NoMemory();
        return NULL;
    }
    tr_module *code = s->large ? s->large : s->module;
    v->entry = tr_module_entry(code);
    v->meta = tr_module_meta(code);
    v->code = tr_module_held(s->module);
    v->spec = s;
    v->lets_go = f->nogil || s->lets_go;
    v->nargs = s->nargs;
    v->nret = s->nret;
    v->ret = return_op(s->ret);
    for (uint32_t i = 0; i < s->nargs; i++) {
        v->nslots += tr_ty_nparts(s->args[i]);
        bool listed = s->takes && s->takes[i];
        if (!fill_arg(f, &v->arg[i], &pats[i], listed ? s->takes[i] : s->args[i],
                      listed ? v->meta->writes[i] : '-')) {
            variant_free(v);
            return NULL;
        }
    }
    v->plain = !s->takes && v->nslots <= TR_STACK_SLOTS && v->nret <= TR_STACK_SLOTS;
    return v;
}

/* Makes l the list; the one before it waits for the sweep. */
static void set_list(tr_function *f, tr_varlist *l) {
    tr_varlist *old = atomic_load_explicit(&f->list, memory_order_relaxed);
    assert(old != l && !l->retired && "a list is published once");
    atomic_store(&f->list, l);
    if (old) {
        old->retired = f->old_lists;
        f->old_lists = old;
        f->unswept = true;
    }
}

static tr_varlist *list_new(uint32_t n) {
    tr_varlist *l = PyMem_Calloc(1, sizeof *l + (n + 1u) * sizeof l->v[0]);
    if (!l)
        PyErr_NoMemory();
    return l;
}

static bool is_listed(const tr_function *f, const tr_spec *s) {
    uint32_t k = 0;
    while (k < f->nspecs && f->specs[k] != s)
        k++;
    return k < f->nspecs;
}

/* A spec is one of this function's, and says what its code takes and gives. */
static __attribute__((unused)) bool is_spec_of(const tr_function *f, const tr_spec *s) {
    return s->module && s->keep && s->nargs == f->nparams && s->nret == tr_ty_nparts(s->ret) &&
           (s->types || tr_spec_has_const(s)) && (!s->large || s->grown);
}

/* A variant that calls find runs code of a listed spec, which it has all slots of. */
static __attribute__((unused)) bool is_variant_of(const tr_function *f, const tr_variant *v) {
    const tr_spec *s = v->spec;
    bool own = v->entry == tr_module_entry(s->module);
    return is_listed(f, s) && !v->moved && v->nargs == f->nparams && v->nret == s->nret &&
           (own || (s->large && v->entry == tr_module_entry(s->large)));
}

/* The function's lists agree: what calls find is listed, and what was replaced is found no more and waits for
 * the sweep. In the gate. */
static __attribute__((unused)) bool lists_agree(const tr_function *f) {
    const tr_varlist *l = atomic_load_explicit(&f->list, memory_order_relaxed);
    bool ok = f->unswept || !(f->old_lists || f->old_variants || f->ndead);
    for (uint32_t k = 0; ok && k < f->nspecs; k++)
        ok = is_spec_of(f, f->specs[k]);
    for (uint32_t k = 0; ok && l && k < l->n; k++)
        ok = is_variant_of(f, l->v[k]);
    for (const tr_varlist *old = f->old_lists; ok && old; old = old->retired)
        ok = old != l;
    for (uint32_t k = 0; ok && k < f->ndead; k++)
        ok = !is_listed(f, f->dead[k]);
    return ok;
}

/* Publishes the list with v at its end. Takes v. */
static bool publish(tr_function *f, tr_variant *v) {
    assert(is_variant_of(f, v) && "a variant's spec is listed before it can be called");
    const tr_varlist *old = atomic_load_explicit(&f->list, memory_order_relaxed);
    uint32_t n = old ? old->n : 0;
    tr_varlist *l = list_new(n + 1);
    if (!l) {
        variant_free(v);
        return false;
    }
    if (n)
        memcpy(l->v, old->v, n * sizeof l->v[0]);
    l->v[n] = v;
    l->n = n + 1;
    set_list(f, l);
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

/* --- dropping specs --- */

/* The specs and variants that `gone` says are in no list from now on; they wait for the sweep. Needs memory
 * first, so it drops all or none. */
static bool drop_specs(tr_function *f, bool (*gone)(const tr_spec *s, const void *user), const void *user) {
    const tr_varlist *old = atomic_load_explicit(&f->list, memory_order_relaxed);
    tr_varlist *l = list_new(old ? old->n : 0);
    tr_spec **dead = l ? PyMem_Realloc(f->dead, (f->ndead + f->nspecs + 1u) * sizeof *dead) : NULL;
    if (!dead) {
        PyMem_Free(l);
        PyErr_NoMemory();
        return false;
    }
    f->dead = dead;
    for (uint32_t i = 0; old && i < old->n; i++) {
        if (gone(old->v[i]->spec, user)) {
            old->v[i]->dead = f->old_variants;
            f->old_variants = old->v[i];
        } else {
            l->v[l->n++] = old->v[i];
        }
    }
    uint32_t kept = 0;
    for (uint32_t k = 0; k < f->nspecs; k++) {
        if (gone(f->specs[k], user))
            f->dead[f->ndead++] = f->specs[k];
        else
            f->specs[kept++] = f->specs[k];
    }
    f->nspecs = kept;
    f->unswept = true;
    atomic_store_explicit(&f->last, 0, memory_order_relaxed);
    set_list(f, l);
    assert(lists_agree(f) && "specs and variants are dropped together");
    return true;
}

/* What is swept has left the list before `active` is read, and calls count themselves before they read the
 * list: so either the count is seen, or they see a list without it. */
static void sweep(tr_function *f) {
    if (atomic_load(&f->active) || !f->unswept)
        return;
    /* What goes may run code of the user's, which may come back here: taken off before it is freed. */
    tr_varlist *l = f->old_lists;
    tr_variant *v = f->old_variants;
    tr_spec **dead = f->dead;
    uint32_t n = f->ndead;
    PyObject *raised[3]; /* by the call that has just ended */
    PyErr_Fetch(&raised[0], &raised[1], &raised[2]);
    f->old_lists = NULL;
    f->old_variants = NULL;
    f->dead = NULL;
    f->ndead = 0;
    f->unswept = false;
    for (tr_varlist *next; l; l = next) {
        next = l->retired;
        PyMem_Free(l);
    }
    for (tr_variant *next; v; v = next) {
        next = v->dead;
        assert(v->nargs == f->nparams && "what is swept was this function's");
        variant_free(v);
    }
    for (uint32_t i = 0; i < n; i++)
        spec_free(dead[i]);
    PyMem_Free(dead);
    PyErr_Restore(raised[0], raised[1], raised[2]);
}

void tr_spec_sweep(tr_function *f) {
    tr_py_section gate;
    tr_py_section_begin(&gate, f->st->gate);
    sweep(f);
    tr_py_section_end(&gate);
}

/* 1: what s was made for lives, and is held. */
static int hold_constants(const tr_spec *s, PyObject *list) {
    int r = 1;
    for (uint32_t i = 0; r > 0 && i < s->nargs; i++)
        r = tr_argk_hold(&s->pats[i], list);
    return r;
}

static bool is_gone(const tr_spec *s, const void *unused) {
    (void)unused;
    return s->gone;
}

/* Which are gone is settled first, with the others held: were one to die in between, its variant would stay
 * while it goes. */
void tr_spec_bury(tr_function *f) {
    tr_py_section gate;
    bool any = false;
    tr_function_hold(f, &gate);
    PyObject *hold = PyList_New(0);
    for (uint32_t k = 0; hold && k < f->nspecs; k++) {
        f->specs[k]->gone = hold_constants(f->specs[k], hold) == 0;
        any = any || f->specs[k]->gone;
    }
    if (any)
        drop_specs(f, is_gone, NULL);
    PyErr_Clear(); /* no memory: with the next one, or when it is the one not used for longest */
    Py_XDECREF(hold);
    tr_function_release(f, &gate);
}

static bool fill_roll(const tr_function *f, tr_roll *r) {
    *r = (tr_roll){.hold = PyList_New(0)};
    uint32_t n = f->nspecs;
    int lives = 1;
    r->d = r->hold ? PyMem_Calloc(n + 1u, sizeof *r->d) : NULL;
    if (!r->d) {
        PyErr_NoMemory();
        return false;
    }
    if (n)
        memcpy(r->d, f->specs, n * sizeof *r->d);
    for (uint32_t i = 0; lives >= 0 && i < n; i++)
        if ((lives = hold_constants(r->d[i], r->hold)) > 0)
            r->d[r->n++] = r->d[i];
    return lives >= 0;
}

bool tr_spec_roll(tr_function *f, tr_roll *r) {
    tr_py_section gate;
    tr_function_enter(f);
    tr_py_section_begin(&gate, f->st->gate);
    bool ok = fill_roll(f, r);
    tr_py_section_end(&gate);
    return ok;
}

void tr_spec_unroll(tr_function *f, tr_roll *r) {
    assert((r->n == 0 || r->hold) && "what the specs were made for lived until now");
    Py_CLEAR(r->hold);
    PyMem_Free(r->d);
    tr_function_leave(f);
}

static bool is_this(const tr_spec *s, const void *user) {
    return s == user;
}

/* Room for one more spec of constants. */
static bool make_room(tr_function *f) {
    const tr_spec *oldest = NULL;
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->nspecs; k++) {
        const tr_spec *s = f->specs[k];
        if (!tr_spec_has_const(s))
            continue;
        n++;
        if (!oldest || s->used < oldest->used)
            oldest = s;
    }
    assert(n <= TR_VALUE_SPECS && "room was made for each that came");
    return n < TR_VALUE_SPECS || drop_specs(f, is_this, oldest);
}

/* Two threads at once may get the same time: then either is the one not used for longest. */
static void use_now(tr_function *f, tr_spec *s) {
    uint64_t now = atomic_load_explicit(&f->clock, memory_order_relaxed) + 1;
    atomic_store_explicit(&f->clock, now, memory_order_relaxed);
    atomic_store_explicit(&s->used, now, memory_order_relaxed);
}

void tr_spec_switch(tr_function *f, const tr_varlist *l, uint32_t from, uint32_t to) {
    if (l != atomic_load_explicit(&f->list, memory_order_relaxed))
        return; /* replaced meanwhile: the numbers mean others there */
    assert(to < l->n && "the variant that calls go over to is in the list");
    if (from < l->n)
        use_now(f, l->v[from]->spec);
    use_now(f, l->v[to]->spec);
    atomic_store_explicit(&f->last, to, memory_order_relaxed);
}

/* --- which spec --- */

static bool spec_is_exact(const tr_function *f, const tr_spec *s, const tr_argk *pats) {
    for (uint32_t i = 0; i < s->nargs; i++) {
        bool same = tr_argk_has_const(&s->pats[i]) || tr_argk_has_const(&pats[i])
                        ? tr_argk_equal(&s->pats[i], &pats[i])
                        : tr_argk_type(f->st->types, &pats[i], NULL, NULL) == s->args[i];
        if (!same)
            return false;
    }
    return true;
}

/* The spec for exactly these values' types. The type of a named tuple is asked of its class, which may run
 * code that drops specs: those are not freed before the caller leaves the function, but one that has gone
 * from the list is none. */
static tr_spec *find_exact(tr_function *f, const tr_argk *pats) {
    for (uint32_t k = 0; k < f->nspecs; k++) {
        tr_spec *s = f->specs[k];
        if (spec_is_exact(f, s, pats) && is_listed(f, s))
            return s;
    }
    return NULL;
}

typedef struct asked {
    tr_function *f;
    PyObject *const *args;
    const tr_argk *pats;
    tr_spec *const *specs;
} asked;

static int cost_of(void *user, uint32_t spec, uint32_t i) {
    const asked *a = user;
    return tr_value_cost(a->f->st, a->args[i], &a->pats[i], a->specs[spec]->args[i]);
}

/* *again: the one that fits was dropped meanwhile. */
static tr_spec *find_declared(tr_function *f, PyObject *const *args, const tr_argk *pats, bool *again) {
    tr_roll all;
    uint32_t k = UINT32_MAX;
    if (tr_spec_roll(f, &all))
        k = tr_ty_choose(all.n, f->nparams, cost_of, &(asked){f, args, pats, all.d});
    tr_spec *s = k == UINT32_MAX ? NULL : all.d[k];
    tr_spec_unroll(f, &all);
    assert((!s || s->nargs == f->nparams) && "the signature that was chosen is one of this function's");
    *again = s && !is_listed(f, s);
    return *again ? NULL : s;
}

/* TypeError for a function of declared signatures: what came, and what there is; or why a signature is
 * missing. Always NULL. */
static tr_spec *no_match(tr_function *f, const tr_argk *pats) {
    PyObject *why = tr_freeze_reason((PyObject *)f);
    bool says = why && PyExceptionInstance_Check(why);
    if (says)
        PyErr_SetObject((PyObject *)Py_TYPE(why), why);
    Py_XDECREF(why);
    if (says)
        return NULL;
    tr_roll all;
    bool ok = tr_spec_roll(f, &all);
    PyObject *got = ok ? PyTuple_New(f->nparams) : NULL, *list = got ? PyUnicode_FromString("") : NULL;
    for (uint32_t i = 0; got && i < f->nparams; i++) {
        PyObject *t = tr_types_of_pattern(f->st, &pats[i]);
        if (!t)
            Py_CLEAR(got);
        else
            PyTuple_SET_ITEM(got, i, t);
    }
    for (uint32_t k = 0; got && list && k < all.n && k < 6; k++) {
        PyObject *ret = tr_types_object(f->st, all.d[k]->ret);
        PyObject *types = ret ? tr_spec_types(f, all.d[k]) : NULL;
        PyObject *one = types ? tr_sig_text(ret, types) : NULL;
        PyObject *next = one ? PyUnicode_FromFormat("%U\n  %U", list, one) : NULL;
        Py_XDECREF(ret);
        Py_XDECREF(types);
        Py_XDECREF(one);
        Py_SETREF(list, next);
    }
    PyObject *types = got && list ? tr_sig_text(Py_None, got) : NULL;
    if (types)
        PyErr_Format(PyExc_TypeError, "%U() has no signature for arguments of types %U; it has%U%s",
                     f->qualname, types, list, all.n > 6 ? "\n  ..." : "");
    Py_XDECREF(types);
    tr_spec_unroll(f, &all);
    Py_XDECREF(got);
    Py_XDECREF(list);
    assert(PyErr_Occurred() && "why no signature fits is raised");
    return NULL;
}

/* Compiles for these values; another thread that does so already is waited for, then *again is set. */
static tr_spec *compile_for(tr_function *f, const tr_argk *pats, bool *again) {
    tr_state *st = f->st;
    assert(f->active > 0 && "nothing of the function is freed while it is compiled");
    /* It is of this function, so it stays in the list as long as this thread is in the gate. */
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
    if (s && ((tr_spec_has_const(s) && !make_room(f)) || !push_spec(&f->specs, &f->nspecs, s))) {
        spec_free(s);
        s = NULL;
    }
    if (s)
        s->used = ++f->clock; /* the call it is made for comes now */
    pending_remove(st, &mine);
    assert(tr_py_agrees(s != NULL) && "what is not compiled has raised");
    return s;
}

/* What the function puts into a list may be other numbers than those that are in it: so it cannot be where
 * others have the list, too. False with an exception. */
static bool suits_list(tr_function *f, tr_held *h, PyObject *o, const tr_argk *pat, const tr_ty *ty,
                       uint32_t i) {
    bool ok = true;
    unsigned kind = tr_key_kind(pat->key);
    if (kind == TR_K_LIST || kind == TR_K_LISTOF || kind == TR_K_TABLE)
        return tr_held_suits(h, o, ty, f->text, tr_function_param(f, i));
    for (uint32_t k = 0; ok && k < pat->n && PyTuple_Check(o); k++)
        ok = suits_list(f, h, PyTuple_GET_ITEM(o, k), &pat->items[k], ty->items[k], i);
    return ok;
}

static bool suits_lists(tr_function *f, const tr_spec *s, PyObject *const *args, const tr_argk *pats) {
    tr_held h;
    bool ok = true;
    tr_held_init(&h, f->st, NULL);
    for (uint32_t i = 0; s->takes && ok && i < s->nargs; i++)
        ok = !s->takes[i] || suits_list(f, &h, args[i], &pats[i], s->takes[i], i);
    tr_held_fini(&h);
    return ok;
}

/* `kept`: the patterns as a variant has them. From where the spec is found to where the variant is published
 * nothing runs that could drop it. */
static bool variant_for(tr_function *f, PyObject *const *args, const tr_argk *pats, const tr_argk *kept) {
    bool again = tr_spec_settle(f);
    tr_spec *s = NULL;
    while (!s && again) {
        again = false;
        s = find_exact(f, pats);
        if (s)
            break;
        bool sealed = f->sealed; /* which another thread may change while this one looks */
        s = sealed ? find_declared(f, args, pats, &again) : compile_for(f, pats, &again);
        if (!s && sealed && !again && !PyErr_Occurred())
            s = no_match(f, pats);
    }
    tr_variant *v = s && suits_lists(f, s, args, pats) ? variant_new(f, s, kept) : NULL;
    bool ok = v && publish(f, v);
    assert(tr_py_agrees(ok) && "where there is no variant there is an exception");
    return ok;
}

static bool has_lists(const tr_argk *k) {
    bool has = tr_key_kind(k->key) == TR_K_LIST || tr_key_kind(k->key) == TR_K_LISTOF ||
               tr_key_kind(k->key) == TR_K_TABLE;
    for (uint32_t i = 0; !has && i < k->n; i++)
        has = has_lists(&k->items[i]);
    return has;
}

/* Lists are the host's. */
static bool takes_lists(const tr_function *f, const tr_argk *k, uint32_t i) {
    if ((!f->target && !f->opts.offload && !f->plan) || !has_lists(k))
        return true;
    PyErr_Format(PyExc_TypeError,
                 "%U(): argument '%s' is a list, or has one, which code for a device does not take\n"
                 "  help: pass a NumPy array (np.array(x)) or a tuple",
                 f->qualname, tr_function_param(f, i));
    return false;
}

/* Code of this machine does not read a GPU's memory. */
static bool is_reachable(const tr_function *f, const PyObject *arg, uint32_t i) {
    if (f->target || f->opts.offload || !Py_IS_TYPE(arg, f->st->remote_type))
        return true;
    PyErr_Format(PyExc_TypeError,
                 "%U(): argument '%s' lies on a GPU, and the function runs on the host: copy_to_host()",
                 f->qualname, tr_function_param(f, i));
    return false;
}

/* A string is a value of the call, and one specialisation takes all. Where that cannot be compiled, as what a
 * string says chooses types there, strings are constants of the function's specialisations from then on. */
static bool variant_by_values(tr_function *f, PyObject *const *args, tr_argk *pats, tr_argk *kept) {
    uint32_t n = f->nparams;
    bool some = false, ok = true;
    tr_argk *any = f->target || f->keyed ? NULL : PyMem_Calloc(2 * (size_t)n + 1, sizeof *any);
    if (!any)
        return variant_for(f, args, pats, kept);
    for (uint32_t i = 0; ok && i < 2 * n; i++) {
        ok = tr_argk_copy(&pats[i], &any[i]);
        bool named = f->varkw && i % n == n - 1; /* names of **kwargs stay */
        some |= ok && tr_argk_forget_strings(named ? &any[i].items[1] : &any[i]);
    }
    ok = ok && variant_for(f, args, some ? any : pats, some ? any + n : kept);
    for (uint32_t i = 0; i < 2 * n; i++)
        tr_argk_clear(&any[i]);
    PyMem_Free(any);
    if (ok || !some || !PyErr_ExceptionMatches(PyExc_Exception))
        return ok;
    PyErr_Clear();
    f->keyed = variant_for(f, args, pats, kept);
    return f->keyed;
}

/* What is wrong with one of **kwargs is said under its own name. */
static bool named_are_values(tr_function *f, PyObject *named) {
    bool ok = true;
    PyObject *names = PyTuple_GET_ITEM(named, 0), *values = PyTuple_GET_ITEM(named, 1);
    for (Py_ssize_t k = 0; ok && k < PyTuple_GET_SIZE(names); k++) {
        tr_argk one = {0};
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, k));
        ok = name && tr_value_pattern(f->st, PyTuple_GET_ITEM(values, k), f->text, name, &one);
        tr_argk_clear(&one);
    }
    return ok;
}

bool tr_spec_for(tr_function *f, PyObject *const *args) {
    tr_py_section gate;
    tr_function_hold(f, &gate);
    assert(lists_agree(f) && "lists agree when a call comes for a variant");
    uint32_t n = f->nparams;
    tr_argk *pats = PyMem_Calloc(2 * (size_t)n + 1, sizeof *pats), *kept = pats + n;
    bool ok = pats != NULL;
    if (!ok)
        PyErr_NoMemory();
    ok = ok && (!f->varkw || named_are_values(f, args[n - 1]));
    for (uint32_t i = 0; ok && i < n; i++)
        ok = is_reachable(f, args[i], i) &&
             tr_value_pattern(f->st, args[i], f->text, tr_function_param(f, i), &pats[i]) &&
             takes_lists(f, &pats[i], i) && keep_pattern(f, &pats[i], &kept[i]);
    ok = ok && variant_by_values(f, args, pats, kept);
    for (uint32_t i = 0; pats && i < 2 * n; i++)
        tr_argk_clear(&pats[i]);
    PyMem_Free(pats);
    assert(lists_agree(f) && "lists agree when it goes on");
    assert(tr_py_agrees(ok) && "arguments that are refused have raised");
    tr_function_release(f, &gate);
    return ok;
}

static void kind_of(const tr_ty *t, tr_kindof *out) {
    const tr_ty *of = t->kind == TR_TY_ARRAY ? t->elem : t;
    *out = (tr_kindof){.known = true,
                       .array = t->kind == TR_TY_ARRAY,
                       .tuple = t->kind == TR_TY_TUPLE,
                       .dtype = of->kind,
                       .ndim = t->kind == TR_TY_ARRAY ? t->ndim : 0,
                       .n = t->kind == TR_TY_TUPLE ? t->n : 0};
}

bool tr_spec_result(tr_function *f, const tr_argk *pats, tr_kindof *out) {
    tr_job *j = tr_job_new(f, pats, NULL, f->nparams, NULL);
    bool ok = j != NULL;
    if (ok) {
        j->rq.upto = TR_STAGE_INFER;
        ok = tr_job_run(j);
        const tr_ty *ret = ok ? j->prog.insts.d[j->prog.root].ret : NULL;
        if (ok && ret->kind == TR_TY_LIST) { /* refused: with its numbers known it may be a tuple */
            PyObject *cls = tr_pyerr_class("UnsupportedError");
            if (cls)
                PyErr_SetString(cls, "how many items there are is known only once they are computed");
            Py_XDECREF(cls);
            ok = false;
        } else if (ok) {
            kind_of(ret, out);
        }
        tr_job_free(j);
    }
    return ok;
}

/* --- larger arrays --- */

/* Puts a variant like the one at k, with the spec's code for large arrays, in its place. */
static void replace_variant(tr_function *f, uint32_t k) {
    tr_varlist *old = atomic_load_explicit(&f->list, memory_order_relaxed), *l = list_new(old->n);
    tr_variant *was = old->v[k];
    assert(was->spec->large && !was->moved && "a variant is replaced once, by code for large arrays");
    size_t bytes = sizeof *was + was->nargs * sizeof was->arg[0];
    tr_variant *v = l ? PyMem_Malloc(bytes) : NULL;
    if (!v) {
        PyMem_Free(l);
        PyErr_Clear(); /* it stays as it was */
        return;
    }
    memcpy(v, was, bytes);
    v->entry = tr_module_entry(was->spec->large);
    v->meta = tr_module_meta(was->spec->large);
    was->moved = true;
    was->dead = f->old_variants;
    f->old_variants = was;
    memcpy(l->v, old->v, old->n * sizeof l->v[0]);
    l->v[k] = v;
    l->n = old->n;
    set_list(f, l);
}

/* All variants of the spec. */
static void replace_variants(tr_function *f, const tr_spec *s) {
    const tr_varlist *l = atomic_load_explicit(&f->list, memory_order_relaxed);
    for (uint32_t k = 0; l && k < l->n; k++) /* a list that was replaced stays until the sweep */
        if (l->v[k]->spec == s)
            replace_variant(f, k);
}

/* Without the GIL: others call the function as it is meanwhile. */
static tr_module *compile_large(tr_function *f, const tr_spec *s, char *why, size_t n) {
    tr_module *m;
    Py_BEGIN_ALLOW_THREADS
    pthread_rwlock_rdlock(&f->st->fork);
    m = tr_driver_large(s->module, &f->st->dump, why, n);
    pthread_rwlock_unlock(&f->st->fork);
    Py_END_ALLOW_THREADS
    return m;
}

bool tr_spec_grow(tr_function *f, const tr_variant *v) {
    tr_py_section gate;
    tr_spec *s = v->spec;
    char why[256];
    bool ok = true;
    if (f->target || !tr_module_meta(s->module)->large)
        return true;
    tr_function_hold(f, &gate);
    if (!s->grown) {
        s->grown = true;
        s->large = compile_large(f, s, why, sizeof why);
        if (s->large && is_listed(f, s))
            replace_variants(f, s);
        else if (!s->large && why[0])
            ok = PyErr_WarnFormat(
                     PyExc_RuntimeWarning, 1,
                     "%U() stays as it is for large arrays, as code for them could not be compiled: %s",
                     f->qualname, why) == 0;
    }
    assert(lists_agree(f) && "lists agree when variants were replaced");
    tr_function_release(f, &gate);
    return ok;
}

/* --- declared signatures --- */

static bool same_args(const tr_function *f, const tr_ty *const *a, const tr_ty *const *b) {
    return memcmp((const void *)a, (const void *)b, f->nparams * sizeof *a) == 0;
}

/* Row k of the signatures that were announced. */
static const tr_ty **row_of(const tr_function *f, uint32_t k) {
    assert(k <= f->nsigs && "the row of a signature, or the end of them");
    return f->sigs + k * (f->nparams + (size_t)1);
}

static bool announce(tr_function *f, const tr_csig *c) {
    size_t row = f->nparams + (size_t)1;
    if (c->n != f->nparams) {
        PyErr_Format(PyExc_TypeError, "%U() has %u parameters, but its signature has %u argument types",
                     f->qualname, f->nparams, c->n);
        return false;
    }
    for (uint32_t k = 0; k < f->nsigs; k++)
        if (same_args(f, row_of(f, k), c->args))
            return true;
    const tr_ty **sigs = PyMem_Realloc((void *)f->sigs, (f->nsigs + 1u) * row * sizeof *sigs);
    if (!sigs) {
        PyErr_NoMemory();
        return false;
    }
    f->sigs = sigs;
    sigs = row_of(f, f->nsigs++);
    memcpy((void *)sigs, (const void *)c->args, c->n * sizeof *sigs);
    sigs[c->n] = c->ret;
    return true;
}

/* What cannot be compiled is no signature. */
static void withdraw(tr_function *f, const tr_csig *c) {
    for (uint32_t k = 0; c->n == f->nparams && k < f->nsigs; k++)
        if (same_args(f, row_of(f, k), c->args)) {
            const tr_ty **row = row_of(f, k), **next = row_of(f, k + 1);
            f->nsigs--;
            memmove((void *)row, (const void *)next,
                    (f->nsigs - k) * (f->nparams + (size_t)1) * sizeof *f->sigs);
            return;
        }
}

bool tr_spec_announce(tr_function *f, PyObject *sig) {
    tr_py_section gate;
    tr_csig c;
    if (!tr_types_csig(f->st, sig, &c))
        return false;
    tr_function_hold(f, &gate);
    bool ok = announce(f, &c);
    tr_function_release(f, &gate);
    tr_csig_clear(&c);
    return ok;
}

static bool is_compiled(const tr_function *f, const tr_csig *c) {
    for (uint32_t k = 0; k < f->nspecs; k++)
        if (same_args(f, f->specs[k]->args, c->args) && !tr_spec_has_const(f->specs[k]))
            return true;
    return false;
}

static bool declare(tr_function *f, const tr_csig *c, bool *unbound) {
    if (!announce(f, c))
        return false;
    if (is_compiled(f, c))
        return true;
    tr_spec *s = spec_new(f, NULL, c->args, c->n, c->ret, unbound);
    if (!s)
        return false;
    bool first = !is_compiled(f, c); /* another thread may have settled the function meanwhile */
    if (first && push_spec(&f->specs, &f->nspecs, s))
        return true;
    spec_free(s);
    return !first;
}

static bool has_waiting_signatures(const tr_function *f) {
    return f->waiting && PyList_GET_SIZE(f->waiting) > 0;
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
    tr_py_section gate;
    tr_csig c;
    bool unbound = false;
    if (!tr_types_csig(f->st, sig, &c))
        return false;
    tr_function_hold(f, &gate);
    bool behind = may_wait && c.n == f->nparams && has_waiting_signatures(f);
    bool ok = behind ? announce(f, &c) && put_off(f, sig) : declare(f, &c, &unbound);
    if (!ok && may_wait && unbound) {
        PyErr_Clear();
        ok = put_off(f, sig);
    }
    if (!ok && !has_waiting_signatures(f))
        withdraw(f, &c);
    assert(lists_agree(f) && "lists agree when a signature was declared");
    assert(tr_py_agrees(ok) && "a signature that is refused has raised");
    tr_function_release(f, &gate);
    tr_csig_clear(&c);
    return ok;
}

bool tr_spec_settle(tr_function *f) {
    tr_py_section gate;
    bool ok = true;
    tr_function_hold(f, &gate);
    while (ok && has_waiting_signatures(f)) {
        PyObject *sig = Py_NewRef(PyList_GET_ITEM(f->waiting, 0));
        ok = tr_spec_declare(f, sig, false);
        /* it stays in the list until it is compiled: another thread that comes now must not miss it */
        if (ok && has_waiting_signatures(f) && PyList_GET_ITEM(f->waiting, 0) == sig)
            ok = PyList_SetSlice(f->waiting, 0, 1, NULL) == 0;
        Py_DECREF(sig);
    }
    assert((!ok || !has_waiting_signatures(f)) && "nothing waits any more");
    tr_function_release(f, &gate);
    return ok;
}

/* --- the end of code --- */

static bool is_any(const tr_spec *s, const void *unused) {
    (void)s;
    (void)unused;
    return true;
}

/* Puts `fresh` in the place of all specs; what was there waits for the sweep. */
static bool replace_specs(tr_function *f, tr_spec **fresh, uint32_t n) {
    if (!drop_specs(f, is_any, NULL))
        return false;
    PyMem_Free(f->specs);
    f->specs = fresh;
    f->nspecs = n;
    return true;
}

bool tr_spec_recompile(tr_function *f) {
    tr_py_section gate;
    tr_py_section_begin(&gate, f->st->gate);
    tr_roll old; /* others may add and drop some while the GIL is away */
    uint32_t done = 0;
    bool ok = tr_spec_roll(f, &old), unbound;
    tr_spec **fresh = ok ? PyMem_Calloc(old.n + 1u, sizeof *fresh) : NULL;
    if (ok && !fresh)
        PyErr_NoMemory();
    ok = fresh != NULL;
    for (uint32_t k = 0; ok && k < old.n; k++) {
        const tr_spec *s = old.d[k];
        fresh[done] = spec_new(f, s->declared ? NULL : s->pats, s->args, s->nargs, s->want_ret, &unbound);
        ok = fresh[done] != NULL;
        done += ok;
    }
    ok = ok && replace_specs(f, fresh, done);
    for (uint32_t i = 0; !ok && i < done; i++)
        spec_free(fresh[i]);
    if (!ok)
        PyMem_Free(fresh);
    assert(lists_agree(f) && "lists agree when all was compiled anew, or nothing");
    assert(tr_py_agrees(ok) && "what cannot be compiled anew has raised");
    tr_spec_unroll(f, &old);
    tr_py_section_end(&gate);
    return ok;
}

/* Nobody else has the function any more. No gate: at the interpreter's end the module may be gone by now. */
void tr_spec_free_all(tr_function *f) {
    assert(f->active == 0 && "nobody calls what is freed");
    tr_varlist *l = atomic_exchange(&f->list, NULL);
    for (uint32_t i = 0; l && i < l->n; i++)
        variant_free(l->v[i]);
    PyMem_Free(l);
    f->unswept = true;
    sweep(f);
    tr_spec **specs = f->specs;
    uint32_t n = f->nspecs;
    f->specs = NULL;
    f->nspecs = 0;
    for (uint32_t i = 0; i < n; i++)
        spec_free(specs[i]);
    PyMem_Free(specs);
}
