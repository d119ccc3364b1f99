/* Specialisations: finding one for the arguments of a call, compiling it, publishing it, dropping it.
 *
 * Threads: everything here runs under the GIL but tr_compile itself. Whoever compiles puts a tr_pending into the state's list; who
 * wants the same waits for it without the GIL. A pending entry of another process (fork) is ignored. Nothing is
 * held while waiting, and a compile never asks for the GIL, so there is no order of locks to get wrong.
 * Cost: a miss is a few microseconds beside the compile. */
#include "ext/freeze.h"
#include "ext/pyerr.h"
#include "ext/box.h"
#include "ext/types.h"

#include <string.h>
#include <unistd.h>

/* A specialisation that some thread is compiling. On the stack of that thread; in the list while `st->lock` says so. */
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

/* Waits, without the GIL, until `p` has left the list (or another has: the caller looks again anyway). */
static bool pending_wait(tr_state *st, const tr_function *f, const tr_pending *p) {
    if (p->thread == PyThread_get_thread_ident()) {
        PyErr_Format(PyExc_RuntimeError, "%U() was called with the types it is being compiled for, by code that its "
                                         "compilation runs", f->qualname);
        return false;
    }
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&st->lock);
    for (const tr_pending *q = st->pending; q; q = q->next) {
        if (q == p) {
            pthread_cond_wait(&st->done, &st->lock);
            break;
        }
    }
    pthread_mutex_unlock(&st->lock);
    Py_END_ALLOW_THREADS
    return true;
}

/* --- one compilation --- */

typedef struct job {
    tr_state *st;
    tr_function *f;
    tr_ctx ctx;
    tr_prog prog;
    tr_frozen frozen;
    const tr_argk *pats;
    const tr_ty **args; /* in: process types, NULL where pats has a constant; out: all */
    uint32_t n;
    tr_request rq;
    tr_compiled out;
} job;

static const tr_ty *constant_type(void *user, PyObject *value) {
    job *j = user;
    const tr_obj *o = tr_freeze_value(&j->frozen, value);
    return o ? tr_obj_type(&j->ctx.arena, j->ctx.types, o) : NULL;
}

/* Takes the snapshot and types the arguments. Arena memory may run out here, under Python frames of our own that hold nothing. */
static bool snapshot(job *j) {
    j->ctx.arena.oom = &j->ctx.oom;
    if (setjmp(j->ctx.oom)) {
        PyErr_NoMemory();
        return false;
    }
    tr_prog_init(&j->prog, &j->ctx);
    if (!tr_freeze(&j->frozen, j->f->py_func))
        return false;
    for (uint32_t i = 0; i < j->n; i++) {
        if (!j->args[i])
            j->args[i] = tr_argk_type(j->ctx.types, &j->pats[i], constant_type, j);
        if (!j->args[i])
            return false;
    }
    return true;
}

static job *job_new(tr_function *f, const tr_argk *pats, const tr_ty *const *args, uint32_t n, const tr_ty *ret) {
    job *j = PyMem_Calloc(1, sizeof *j);
    if (!j || !(j->args = PyMem_Calloc(n + 1u, sizeof *j->args))) {
        PyMem_Free(j);
        PyErr_NoMemory();
        return NULL;
    }
    j->st = f->st;
    j->f = f;
    j->pats = pats;
    j->n = n;
    if (args)
        memcpy((void *)j->args, (const void *)args, n * sizeof *args);
    tr_ctx_init(&j->ctx);
    j->ctx.opts = f->opts;
    j->ctx.dump = f->st->dump;
    j->ctx.types = tr_tytab_new(f->st->types);
    tr_freeze_init(&j->frozen, f->st, &j->ctx, &j->prog);
    j->rq = (tr_request){.nargs = n, .args = j->args, .ret = ret, .upto = TR_STAGE_TIME};
    if (!j->ctx.types) {
        PyErr_NoMemory();
        return NULL;
    }
    return j;
}

static void job_free(job *j) {
    tr_freeze_fini(&j->frozen);
    if (j->ctx.types)
        tr_tytab_free(j->ctx.types);
    tr_ctx_fini(&j->ctx);
    PyMem_Free((void *)j->args);
    PyMem_Free(j);
}

/* Snapshot and compile. On failure the exception is set. */
static bool job_run(job *j) {
    bool ok = false;
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
        tr_pyerr_raise_ctx(j->st, &j->ctx, PyFunction_GetGlobals(j->f->py_func));
    return ok;
}
