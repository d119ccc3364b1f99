/* Streams and events of the CUDA device, and how failures are found.
 *
 * A stream is the driver's. The jobs that it was given are kept in a list, with what they refer to, until
 * they are known to have ended: a marker, an event of the driver's, lies among them, and whoever waits looks,
 * too. Jobs on the default stream are the caller's, and the driver has taken what it needs of them.
 *
 * A kernel that raises writes into the record of its code, which the host sees (rt/layout.h); so does one
 * whose launch was long ago. Whoever has waited looks at all of them: the cost of a failure is its detection,
 * and a launch costs nothing for it. A failure of the driver's own ends the context; then the code that was
 * launched last is named. Failures are told once, oldest first, whichever stream is asked for. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dev/cuda.h"
#include "rt/pool.h"

enum { MARK_EVERY = 64, SPINS = 64 };
static const long nap_ns = 20000;

/* --- failures --- */

/* With the lock. */
static void fail(tr_cuda *c, const tr_dev_failure *f) {
    unsigned k = 0;
    while (k < CUDA_FAILURES && c->failure[k].code)
        k++;
    if (k == CUDA_FAILURES)
        return;
    assert(f->code && c->failures == k && "failures are counted, and come in their order");
    c->failure[k] = *f;
    atomic_fetch_add(&c->failures, 1);
}

bool cuda_look(tr_cuda *c) {
    pthread_mutex_lock(&c->lock);
    for (tr_dev_code *code = c->codes; code; code = code->next) {
        if (!code->record || !__atomic_load_n(&code->record->code, __ATOMIC_ACQUIRE))
            continue;
        if (!code->orphan)
            fail(c,
                 &(tr_dev_failure){.code = code->record->code, .owner = code->owner, .error = *code->record});
        memset(code->record, 0, sizeof *code->record);
    }
    pthread_mutex_unlock(&c->lock);
    return atomic_load(&c->failures) != 0;
}

/* The driver says that something failed. */
static void broken(tr_cuda *c, const char *what, int status) {
    int before = atomic_load(&c->lost);
    int32_t code = cuda_refused(c, what, status);
    if (before)
        return; /* that was told */
    pthread_mutex_lock(&c->lock);
    const tr_dev_code *latest = atomic_load(&c->latest);
    fail(c, &(tr_dev_failure){.code = code, .owner = latest ? latest->owner : NULL});
    pthread_mutex_unlock(&c->lock);
}

bool cuda_take(tr_dev *d, tr_dev_stream *s, tr_dev_failure *out) {
    tr_cuda *c = (tr_cuda *)d;
    (void)s;
    *out = (tr_dev_failure){0};
    if (!atomic_load_explicit(&c->failures, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&c->lock);
    *out = c->failure[0];
    if (out->code) {
        memmove(c->failure, c->failure + 1, (CUDA_FAILURES - 1) * sizeof *c->failure);
        c->failure[CUDA_FAILURES - 1] = (tr_dev_failure){0};
        atomic_fetch_sub(&c->failures, 1);
    }
    pthread_mutex_unlock(&c->lock);
    return out->code != 0;
}

/* --- jobs that have ended --- */

/* Takes those up to that number out of the list, with the lock. */
static tr_dev_job *cut(cuda_stream *s, uint64_t number) {
    tr_dev_job *first = s->head, *j = first, *last = NULL;
    for (; j && j->number <= number; j = j->next)
        last = j;
    if (!last)
        return NULL;
    assert((!j || j->number > last->number) && "jobs of a stream end in their order");
    s->head = j;
    last->next = NULL;
    return first;
}

/* Without the lock: who is told may come back here. */
static void release(tr_dev_job *j) {
    for (tr_dev_job *next; j; j = next) {
        next = j->next;
        tr_dev_unref(j);
    }
}

/* A job that the driver has been given, and a marker behind each so many: without anybody
 * waiting they go, too. */
static void note(tr_cuda *c, cuda_stream *s, tr_dev_job *j) {
    tr_dev_job *ended = NULL;
    pthread_mutex_lock(&c->lock);
    assert(j->refs > 0 && !s->orphan && "a job comes with a reference, to a stream that somebody has");
    j->next = NULL;
    j->number = ++c->number;
    if (s->head)
        s->tail->next = j;
    else
        s->head = j;
    s->tail = j;
    s->since++;
    if (s->marked && c->fn.event_query(s->marker) == 0) {
        ended = cut(s, s->marked);
        s->marked = 0;
    }
    if (!s->marked && s->since >= MARK_EVERY) {
        if (!s->marker && c->fn.event_new(&s->marker, CUDA_NO_TIMING))
            s->marker = NULL;
        if (s->marker && c->fn.event_record(s->marker, s->handle) == 0) {
            s->marked = j->number;
            s->since = 0;
        }
    }
    pthread_mutex_unlock(&c->lock);
    release(ended);
}

/* The GPU on whose default stream a job is done: that of the memory. */
static int place_of(tr_cuda *c, const tr_dev_job *j) {
    int gpu = -1;
    if (j->op == TR_DEV_COPY && (gpu = cuda_lies_on(c, j->u.copy.to)) < 0)
        gpu = cuda_lies_on(c, j->u.copy.from);
    else if (j->op == TR_DEV_FILL)
        gpu = cuda_lies_on(c, j->u.fill.to);
    else if (j->op == TR_DEV_WORK)
        gpu = j->u.work.gpu;
    return gpu < 0 ? cuda_here() : gpu;
}

/* A job is in the list when the driver has it, so who finds the stream idle knows that all
 * of the list has ended. */
int32_t cuda_submit(tr_dev *d, tr_dev_stream *stream, tr_dev_job *j) {
    tr_cuda *c = (tr_cuda *)d;
    cuda_stream *s = (cuda_stream *)stream;
    if (atomic_load_explicit(&c->stopping, memory_order_relaxed))
        return TR_CODE_ENDED;
    j->code = 0;
    int gpu = s ? s->gpu : place_of(c, j);
    cuda_work *work = &c->gpus[gpu].work;
    uint64_t given = atomic_load(&work->given);
    int32_t code = cuda_do(c, gpu, s ? s->handle : NULL, j);
    if (!code && s) {
        note(c, s, j);
    } else if (!code && j->op == TR_DEV_COPY) { /* all before it has ended */
        cuda_work_ended(work, given);
        cuda_look(c);
    } else if (!code && !(j->op == TR_DEV_FILL && !j->u.fill.bytes)) { /* who waits gives nothing to do */
        atomic_fetch_add(&work->given, 1);
    }
    cuda_leave(c, gpu);
    return code;
}

/* --- waiting --- */

typedef bool ready_fn(tr_cuda *c, void *what);

static bool wait_until(tr_cuda *c, ready_fn *ready, void *what, int64_t ns) {
    int64_t end = tr_rt_now() + ns;
    for (unsigned spins = 0;; spins++) {
        if (ready(c, what))
            return true;
        if (tr_rt_now() >= end)
            return false;
        if (spins >= SPINS)
            nanosleep(&(struct timespec){0, nap_ns}, NULL);
    }
}

/* Have the default streams of all GPUs nothing to do? Leaves this thread's GPU entered. */
static int ask_defaults(tr_cuda *c) {
    int status = 0;
    for (int k = 0; k < c->ngpus && !status; k++) {
        if (!c->gpus[k].context)
            continue;
        uint64_t given = atomic_load(&c->gpus[k].work.given);
        status = c->ngpus > 1 && cuda_enter_on(c, k) ? cuda_refused_with() : c->fn.stream_query(NULL);
        if (!status)
            cuda_work_ended(&c->gpus[k].work, given);
    }
    if (c->ngpus > 1)
        cuda_enter(c);
    return status;
}

/* All jobs of these streams, which have ended, with the lock. */
static tr_dev_job *cut_all(tr_cuda *c, const cuda_stream *s) {
    tr_dev_job *ended = NULL;
    for (cuda_stream *o = c->streams.next; o != &c->streams; o = o->next) {
        tr_dev_job *first = s && o != s ? NULL : cut(o, UINT64_MAX), *last = first;
        while (last && last->next)
            last = last->next;
        if (last) {
            last->next = ended;
            ended = first;
        }
    }
    return ended;
}

/* Is the stream at work? Otherwise what the driver says of it, or 0. With the lock. */
static int ask(tr_cuda *c, cuda_stream *s) {
    uint64_t given = atomic_load(&s->work.given);
    int status = c->fn.stream_query(s->handle);
    if (!status)
        cuda_work_ended(&s->work, given);
    bool dead = s->foreign && status == TR_CUDA_UNKNOWN; /* it is waited for no more, and others are */
    atomic_store(&s->dead, dead);
    return dead ? 0 : status;
}

/* Has all that these streams were given been done? A failure ends the waiting, too, but not what is at work
 * unless the context has ended. `s` NULL: all streams, and the default ones. */
static bool are_idle(tr_cuda *c, void *s) {
    int status = c->lost || s ? 0 : ask_defaults(c);
    bool busy = status == TR_CUDA_NOT_READY;
    int wrong = busy ? 0 : status;
    pthread_mutex_lock(&c->lock);
    for (cuda_stream *o = c->streams.next; o != &c->streams && !c->lost; o = o->next) {
        status = o->dead || (s && o != s) ? 0 : ask(c, o);
        busy |= status == TR_CUDA_NOT_READY;
        wrong = status && status != TR_CUDA_NOT_READY && !wrong ? status : wrong;
    }
    tr_dev_job *ended = busy || wrong ? NULL : cut_all(c, s);
    pthread_mutex_unlock(&c->lock);
    release(ended);
    if (!wrong)
        return !busy;
    broken(c, "cuStreamQuery", wrong);
    pthread_mutex_lock(&c->lock);
    ended = c->lost ? cut_all(c, NULL) : NULL;
    pthread_mutex_unlock(&c->lock);
    release(ended);
    return true;
}

/* Gives back the streams that nobody has any more, and that have nothing to do. */
static void end_orphans(tr_cuda *c) {
    bool alive = cuda_gives_back(c, cuda_here());
    cuda_stream *gone = NULL;
    pthread_mutex_lock(&c->lock);
    for (cuda_stream *o = c->streams.next, *next; o != &c->streams; o = next) {
        bool ask = alive && !o->dead && (o->head || !o->foreign); /* others may have ended theirs */
        next = o->next;
        if (!o->orphan || (ask && c->fn.stream_query(o->handle) == TR_CUDA_NOT_READY))
            continue;
        assert(o->next->prev == o && o->prev->next == o && "a stream is in the list once");
        o->next->prev = o->prev;
        o->prev->next = o->next;
        o->next = gone;
        gone = o;
    }
    pthread_mutex_unlock(&c->lock);
    for (cuda_stream *next; gone; gone = next) {
        next = gone->next;
        release(cut(gone, UINT64_MAX));
        if (alive && gone->marker)
            c->fn.event_free(gone->marker);
        if (alive && !gone->foreign)
            c->fn.stream_free(gone->handle);
        free(gone);
    }
}

/* What kernels have printed lies with the driver until somebody waits by its own functions, which find that
 * all is done; from there it goes to C's standard output. */
static void show_printed(tr_cuda *c, const cuda_stream *s, const cuda_event *e) {
    if (!atomic_load_explicit(&c->prints, memory_order_relaxed) || tr_dev_is_called() || c->lost)
        return;
    int status = e ? c->fn.event_await(e->handle) : s ? c->fn.stream_await(s->handle) : 0;
    for (int k = 0; k < c->ngpus && !s && !e && !status; k++)
        if (c->gpus[k].context)
            status = cuda_enter_on(c, k) ? 0 : c->fn.await();
    if (!s && !e)
        cuda_enter(c);
    if (status)
        broken(c, e ? "cuEventSynchronize" : s ? "cuStreamSynchronize" : "cuCtxSynchronize", status);
    fflush(stdout);
}

bool cuda_reached(tr_dev *d, tr_dev_stream *s, uint64_t *ticket, int64_t ns) {
    tr_cuda *c = (tr_cuda *)d;
    *ticket = 1;
    if (cuda_enter(c)) /* nothing is at work any more */
        return true;
    if (!s)
        cuda_see_orphans(c);
    uint32_t before = atomic_load(&c->failures);
    bool done = wait_until(c, are_idle, s, ns);
    bool idle = done && atomic_load(&c->failures) == before; /* and not that the driver would not say */
    if (idle && !(s && ((cuda_stream *)s)->dead))
        show_printed(c, (cuda_stream *)s, NULL);
    if (done)
        cuda_look(c);
    if (idle && !s) {
        end_orphans(c);
        cuda_unload_orphans(c);
        cuda_free_put_off(c, !tr_dev_is_called());
    }
    return done;
}

/* The driver orders what is on the default stream by itself. */
bool cuda_begin(tr_dev *d, uint64_t *ticket, int64_t ns) {
    (void)d;
    (void)ticket;
    (void)ns;
    return true;
}

void cuda_end(tr_dev *d) {
    (void)d;
}

/* --- streams --- */

static tr_dev_stream *note_stream(tr_cuda *c, cuda_stream *s) {
    pthread_mutex_lock(&c->lock);
    s->next = &c->streams;
    s->prev = c->streams.prev;
    s->prev->next = s->next->prev = s;
    pthread_mutex_unlock(&c->lock);
    return (tr_dev_stream *)s;
}

tr_dev_stream *cuda_stream_new(tr_dev *d) {
    tr_cuda *c = (tr_cuda *)d;
    cuda_stream *s = calloc(1, sizeof *s);
    if (s && !cuda_enter(c) && !c->fn.stream_new(&s->handle, 0)) {
        s->gpu = cuda_here();
        return note_stream(c, s);
    }
    free(s);
    return NULL;
}

tr_dev_stream *cuda_stream_wrap(tr_dev *d, uintptr_t handle) {
    cuda_stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->handle = (void *)handle;
    s->gpu = cuda_here();
    s->foreign = true;
    return note_stream((tr_cuda *)d, s);
}

uintptr_t cuda_stream_handle(const tr_dev *d, const tr_dev_stream *s) {
    (void)d;
    return (uintptr_t)((const cuda_stream *)s)->handle;
}

/* What it was given is done first: jobs refer to memory that somebody must give back. */
void cuda_stream_free(tr_dev *d, tr_dev_stream *stream) {
    tr_cuda *c = (tr_cuda *)d;
    cuda_stream *s = (cuda_stream *)stream;
    pthread_mutex_lock(&c->lock);
    assert(!s->orphan && "a stream is given back once");
    s->orphan = true;
    pthread_mutex_unlock(&c->lock);
    end_orphans(c);
}

/* --- events --- */

tr_dev_event *cuda_event_new(tr_dev *d, bool timing) {
    tr_cuda *c = (tr_cuda *)d;
    cuda_event *e = calloc(1, sizeof *e);
    if (!e || cuda_enter(c) || c->fn.event_new(&e->handle, timing ? 0 : CUDA_NO_TIMING)) {
        free(e);
        return NULL;
    }
    e->gpu = cuda_here();
    e->timing = timing;
    return (tr_dev_event *)e;
}

void cuda_event_free(tr_dev *d, tr_dev_event *event) {
    tr_cuda *c = (tr_cuda *)d;
    cuda_event *e = (cuda_event *)event;
    if (cuda_gives_back(c, e->gpu))
        c->fn.event_free(e->handle);
    cuda_leave(c, e->gpu);
    free(e);
}

/* An event belongs to the GPU on whose streams it is recorded. The thread has entered that. */
static int move_event(tr_cuda *c, cuda_event *e, int gpu) {
    void *made;
    int status = c->fn.event_new(&made, e->timing ? 0 : CUDA_NO_TIMING);
    if (status)
        return status;
    c->fn.event_free(e->handle); /* who waits for it has been told when */
    e->handle = made;
    e->gpu = gpu;
    e->recorded = false;
    return 0;
}

int32_t cuda_record(tr_dev *d, tr_dev_stream *s, tr_dev_event *event) {
    tr_cuda *c = (tr_cuda *)d;
    cuda_event *e = (cuda_event *)event;
    int gpu = cuda_gpu_of((cuda_stream *)s);
    int32_t code = cuda_enter_on(c, gpu);
    int status = !code && e->gpu != gpu ? move_event(c, e, gpu) : 0;
    if (!code && !status)
        status = c->fn.event_record(e->handle, s ? ((cuda_stream *)s)->handle : NULL);
    cuda_leave(c, gpu);
    e->recorded |= !code && !status;
    return status ? cuda_refused(c, "cuEventRecord", status) : code;
}

int32_t cuda_wait(tr_dev *d, tr_dev_stream *s, tr_dev_event *event) {
    tr_cuda *c = (tr_cuda *)d;
    int gpu = cuda_gpu_of((cuda_stream *)s);
    int32_t code = cuda_enter_on(c, gpu);
    int status =
        code ? 0 : c->fn.stream_wait(s ? ((cuda_stream *)s)->handle : NULL, ((cuda_event *)event)->handle, 0);
    cuda_leave(c, gpu);
    return code ? code : status ? cuda_refused(c, "cuStreamWaitEvent", status) : 0;
}

static bool has_happened(tr_cuda *c, void *event) {
    const cuda_event *e = event;
    int status = e->recorded && !c->lost ? c->fn.event_query(e->handle) : 0;
    if (status && status != TR_CUDA_NOT_READY)
        broken(c, "cuEventQuery", status);
    return status != TR_CUDA_NOT_READY;
}

bool cuda_happened(tr_dev *d, tr_dev_event *e, int64_t ns) {
    tr_cuda *c = (tr_cuda *)d;
    if (cuda_enter(c))
        return true;
    bool yes = wait_until(c, has_happened, e, ns);
    if (yes && ((cuda_event *)e)->recorded)
        show_printed(c, NULL, (cuda_event *)e);
    if (yes)
        cuda_look(c);
    return yes;
}

bool cuda_event_take(tr_dev *d, tr_dev_event *e, tr_dev_failure *out) {
    (void)e;
    return cuda_take(d, NULL, out);
}

bool cuda_elapsed(tr_dev *d, tr_dev_event *a, tr_dev_event *b, double *ms) {
    tr_cuda *c = (tr_cuda *)d;
    const cuda_event *x = (cuda_event *)a, *y = (cuda_event *)b;
    float t = 0;
    bool ok = x->timing && y->timing && x->recorded && y->recorded && !cuda_enter(c) &&
              c->fn.event_elapsed(&t, x->handle, y->handle) == 0;
    *ms = (double)t;
    return ok;
}

/* --- the end --- */

bool cuda_stop(tr_dev *d, int64_t ns) {
    tr_cuda *c = (tr_cuda *)d;
    uint64_t ticket = 0;
    bool over = cuda_reached(d, NULL, &ticket, ns);
    atomic_store(&c->stopping, true);
    return over;
}

void cuda_queue_open(tr_cuda *c) {
    c->streams.next = c->streams.prev = &c->streams;
}
