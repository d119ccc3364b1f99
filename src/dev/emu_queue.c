/* Streams of the emulated device: queues, each served by a thread of its own, and events between them.
 *
 * A thread is started when a job comes to a stream that has none, and ends when nothing has come for a while.
 * All jobs have numbers in the order of submission; "all that was submitted so far" is a number, so whoever
 * waits is not kept by what comes later. A job that waits for an event stays at the head of its queue. An
 * event is a count of recordings: who waits for one waits for a recording that was submitted before, so
 * streams cannot wait for each other in a circle.
 *
 * The default stream has no queue. Its user takes `owner`; then no stream begins a job with a number
 * above `ahead`, and once those up to it have ended nothing is at work. Where no stream has anything
 * to do (`active` is 0) that costs a compare and exchange, a look, and a store: the owner writes
 * before it looks at `active`, and who submits counts `active` up before the stream's thread looks at
 * `owner`, so one of the two sees the other.
 *
 * A fork may come at any time. The child has none of the threads: what they had to do is not done
 * there, and their streams fail with LOST.
 * All under the device's lock but the jobs themselves. */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "dev/emu.h"
#include "rt/enter.h"
#include "rt/pool.h"

/* Of a thread: its address is the thread's number; the stream that it serves. */
static _Thread_local char self;
static _Thread_local tr_dev_stream *serving;

static const int64_t idle_ns = 200000000, nudge_ns = 4000000;
static const size_t stack_bytes = 8u << 20; /* as the pool's threads have */

/* --- waiting --- */

static void cond_init(pthread_cond_t *c) {
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(c, &a);
    pthread_condattr_destroy(&a);
}

/* False: it is `end` (of tr_rt_now). */
static bool wait_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t end) {
    const struct timespec t = {end / 1000000000, end % 1000000000};
    return pthread_cond_timedwait(c, lock, &t) == 0;
}

/* Who has the default stream and waits for others, as code that a launch calls may, would wait
 * for ever for jobs that it holds up. */
static void let_through(tr_emu *e, uint64_t number) {
    if (atomic_load(&e->owner) == (uintptr_t)&self && e->ahead < number) {
        e->ahead = number;
        pthread_cond_broadcast(&e->progress);
    }
}

/* --- failures --- */

static void keep(tr_emu *e, tr_dev_stream *s, int32_t code, tr_dev_job *j, uint64_t number) {
    if (s->failure.code)
        return;
    if (j)
        atomic_fetch_add(&j->refs, 1);
    s->failure = (tr_dev_failure){.code = code, .job = j};
    s->failed_at = number;
    atomic_fetch_add(&e->active, 1);
}

/* Nobody has it, it has nothing to do, and nothing to tell. */
static void free_if_over(tr_dev_stream *s) {
    if (!s->gone || s->served || s->head || s->failure.code)
        return;
    assert(!s->running && s->next->prev == s && s->prev->next == s && "a stream that goes does nothing");
    s->next->prev = s->prev;
    s->prev->next = s->next;
    pthread_cond_destroy(&s->more);
    free(s);
}

/* The stream's failure is told: what was submitted so far is not done. */
static void clear(tr_emu *e, tr_dev_stream *s) {
    assert(s->failure.code && e->active > 0 && "a failure that is told was kept, and counted");
    s->failure = (tr_dev_failure){0};
    s->skip = e->number;
    atomic_fetch_sub(&e->active, 1);
    free_if_over(s);
}

static bool failures_are_same(const tr_dev_failure *a, const tr_dev_failure *b) {
    return a->code == b->code && a->job == b->job;
}

/* Those that failed as s did; its reference goes to the caller. */
static void take_all(tr_emu *e, tr_dev_stream *s, tr_dev_failure *out) {
    *out = s->failure;
    for (tr_dev_stream *o = e->streams.next, *next; o != &e->streams; o = next) {
        next = o->next;
        if (!failures_are_same(&o->failure, out))
            continue;
        if (o != s)
            tr_dev_unref(out->job);
        clear(e, o);
    }
}

bool emu_take(tr_dev *d, tr_dev_stream *s, tr_dev_failure *out) {
    tr_emu *e = (tr_emu *)d;
    bool whole = !s;
    *out = (tr_dev_failure){0};
    if (!atomic_load(&e->active))
        return false;
    pthread_mutex_lock(&e->lock);
    for (tr_dev_stream *o = e->streams.next; whole && o != &e->streams; o = o->next)
        if (o->failure.code && (!s || o->failed_at < s->failed_at))
            s = o;
    if (s && s->failure.code && whole) {
        take_all(e, s, out);
    } else if (s && s->failure.code) {
        *out = s->failure;
        clear(e, s);
    }
    pthread_mutex_unlock(&e->lock);
    return out->code != 0;
}

/* --- events --- */

static void event_free_if_over(tr_dev_event *v) {
    assert(v->done <= v->recorded && "an event happens when it was recorded");
    if (v->gone && !v->users) {
        tr_dev_unref(v->failure.job);
        free(v);
    }
}

static void happen(tr_emu *e, tr_dev_event *v, uint64_t turn, const tr_dev_failure *why) {
    if (turn > v->done) {
        v->done = turn;
        v->when = tr_rt_now();
        tr_dev_unref(v->failure.job);
        v->failure = *why;
        if (why->job)
            atomic_fetch_add(&why->job->refs, 1);
    }
    pthread_cond_broadcast(&e->progress);
}

/* A job of our own has come to its turn, or will never. */
static void end_own(tr_emu *e, tr_dev_stream *s, tr_dev_job *j, int32_t lost) {
    tr_dev_event *v = j->u.own.event;
    assert(j->op == TR_DEV_OWN && v->users > 0 && "an event lives as long as jobs refer to it");
    const tr_dev_failure none = {.code = lost};
    if (!j->u.own.wait)
        happen(e, v, j->u.own.turn, s->failure.code ? &s->failure : &none);
    else if (!lost && v->failure.code && v->done == j->u.own.turn)
        keep(e, s, v->failure.code, v->failure.job, j->number);
    v->users--;
    event_free_if_over(v);
}

static void own_release(tr_dev_job *j) {
    free(j);
}

tr_dev_event *emu_event_new(tr_dev *d, bool timing) {
    (void)d;
    tr_dev_event *v = calloc(1, sizeof *v);
    if (v)
        v->timing = timing;
    return v;
}

void emu_event_free(tr_dev *d, tr_dev_event *v) {
    tr_emu *e = (tr_emu *)d;
    pthread_mutex_lock(&e->lock);
    assert(!v->gone && "an event is given back once");
    v->gone = true;
    event_free_if_over(v);
    pthread_mutex_unlock(&e->lock);
}

bool emu_happened(tr_dev *d, tr_dev_event *v, int64_t ns) {
    tr_emu *e = (tr_emu *)d;
    int64_t end = tr_rt_now() + ns;
    pthread_mutex_lock(&e->lock);
    let_through(e, e->number);
    uint64_t turn = v->recorded;
    v->users++;
    while (v->done < turn && wait_until(&e->progress, &e->lock, end)) {}
    bool yes = v->done >= turn;
    assert(v->users > 0 && "who waits counts as a user");
    v->users--;
    event_free_if_over(v);
    pthread_mutex_unlock(&e->lock);
    return yes;
}

bool emu_event_take(tr_dev *d, tr_dev_event *v, tr_dev_failure *out) {
    tr_emu *e = (tr_emu *)d;
    pthread_mutex_lock(&e->lock);
    *out = v->failure;
    v->failure = (tr_dev_failure){0};
    for (tr_dev_stream *o = e->streams.next; out->code && o != &e->streams; o = o->next)
        if (o == v->of && failures_are_same(&o->failure, out)) {
            tr_dev_unref(out->job);
            clear(e, o);
            break;
        }
    pthread_mutex_unlock(&e->lock);
    return out->code != 0;
}

bool emu_elapsed(tr_dev *d, tr_dev_event *a, tr_dev_event *b, double *ms) {
    tr_emu *e = (tr_emu *)d;
    pthread_mutex_lock(&e->lock);
    bool ok = a->timing && b->timing && a->recorded && b->recorded && a->done == a->recorded &&
              b->done == b->recorded;
    *ms = ok ? (double)(b->when - a->when) * 1e-6 : 0;
    pthread_mutex_unlock(&e->lock);
    return ok;
}

/* --- the thread of a stream --- */

/* The first job may not begin yet. */
static bool is_held(const tr_emu *e, const tr_dev_job *j) {
    if (atomic_load(&e->stopping))
        return false;
    if (j->op == TR_DEV_OWN && j->u.own.wait && j->u.own.event->done < j->u.own.turn)
        return true;
    return atomic_load(&e->owner) && j->number > e->ahead;
}

static int32_t do_job(tr_emu *e, tr_dev_stream *s, tr_dev_job *j) {
    bool stopping = atomic_load(&e->stopping), skipped = j->number <= s->skip;
    int32_t before = s->failure.code ? s->failure.code : skipped ? TR_CODE_STOPPED : 0;
    if (j->op == TR_DEV_OWN) {
        end_own(e, s, j, 0);
        return 0;
    }
    if (stopping || (before && j->op != TR_DEV_CALL))
        return 0;
    j->code = before;
    pthread_mutex_unlock(&e->lock);
    tr_rt_threads_limit(j->threads ? j->threads : tr_rt_pool_size());
    int32_t code = emu_do(e, j);
    pthread_mutex_lock(&e->lock);
    if (e->left) { /* what the job belongs to may be gone */
        pthread_mutex_unlock(&e->lock);
        for (;;)
            pause();
    }
    return j->code = code;
}

static void end_job(tr_emu *e, tr_dev_stream *s, tr_dev_job *j, int32_t code) {
    assert(s->running == j && e->active > 0 && "what ends was at work, and counted");
    if (code)
        keep(e, s, code, j, j->number);
    s->running = NULL;
    tr_dev_unref(j); /* before anybody sees that it has ended */
    atomic_fetch_sub(&e->active, 1);
    pthread_cond_broadcast(&e->progress);
}

static void *serve(void *arg) {
    tr_dev_stream *s = arg;
    tr_emu *e = s->device;
    serving = s;
    pthread_mutex_lock(&e->lock);
    for (;;) {
        tr_dev_job *j = s->head;
        if (!j) {
            int64_t end = tr_rt_now() + idle_ns;
            while (!s->head && !s->gone && !atomic_load(&e->stopping) &&
                   wait_until(&s->more, &e->lock, end)) {}
            if (!s->head)
                break;
        } else if (is_held(e, j)) {
            pthread_cond_wait(&e->progress, &e->lock);
        } else {
            assert(!s->running && (!j->next || j->next->number > j->number) && "jobs come in their order");
            s->head = j->next;
            s->running = j;
            end_job(e, s, j, do_job(e, s, j));
        }
    }
    assert(s->served && e->threads > 0 && "a thread that ends was counted");
    s->served = false;
    e->threads--;
    free_if_over(s);
    pthread_cond_broadcast(&e->progress);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* It takes no signals but faults and ticks, as the pool's threads. */
static bool start(tr_dev_stream *s) {
    sigset_t all, old;
    pthread_attr_t attr;
    sigfillset(&all);
    for (size_t i = 0; i < 5; i++)
        sigdelset(&all, (const int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}[i]);
    if (tr_rt_tick_signal())
        sigdelset(&all, tr_rt_tick_signal());
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, stack_bytes);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&s->thread, &attr, serve, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (failed)
        return false;
    pthread_setname_np(s->thread, "treadle-stream");
    s->served = true;
    s->device->threads++;
    return true;
}

/* --- streams --- */

tr_dev_stream *emu_stream_new(tr_dev *d) {
    tr_emu *e = (tr_emu *)d;
    tr_dev_stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    cond_init(&s->more);
    s->device = e;
    pthread_mutex_lock(&e->lock);
    s->next = &e->streams;
    s->prev = e->streams.prev;
    s->prev->next = s->next->prev = s;
    pthread_mutex_unlock(&e->lock);
    return s;
}

tr_dev_stream *emu_stream_wrap(tr_dev *d, uintptr_t handle) {
    (void)d, (void)handle;
    return NULL;
}

uintptr_t emu_stream_handle(const tr_dev *d, const tr_dev_stream *s) {
    (void)d;
    return (uintptr_t)s;
}

void emu_stream_free(tr_dev *d, tr_dev_stream *s) {
    tr_emu *e = (tr_emu *)d;
    pthread_mutex_lock(&e->lock);
    assert(!s->gone && "a stream is given back once");
    s->gone = true;
    pthread_cond_signal(&s->more);
    free_if_over(s);
    pthread_mutex_unlock(&e->lock);
}

static int32_t put(tr_emu *e, tr_dev_stream *s, tr_dev_job *j) {
    if (atomic_load(&e->stopping))
        return TR_CODE_ENDED;
    if (!s->served && !start(s))
        return TR_CODE_THREAD;
    assert(j->refs > 0 && !s->gone && "a job comes with a reference, to a stream that somebody has");
    j->next = NULL;
    j->number = ++e->number;
    atomic_fetch_add(&e->active, 1);
    if (s->head)
        s->tail->next = j;
    else
        s->head = j;
    s->tail = j;
    pthread_cond_signal(&s->more);
    return 0;
}

int32_t emu_submit(tr_dev *d, tr_dev_stream *s, tr_dev_job *j) {
    tr_emu *e = (tr_emu *)d;
    if (!s)
        return emu_do(e, j);
    pthread_mutex_lock(&e->lock);
    int32_t code = put(e, s, j);
    pthread_mutex_unlock(&e->lock);
    return code;
}

static bool job_is_done(const tr_dev_stream *s, uint64_t number) {
    const tr_dev_job *first = s->running ? s->running : s->head;
    return !first || first->number > number;
}

static bool all_done(const tr_emu *e, uint64_t number) {
    for (const tr_dev_stream *s = e->streams.next; s != &e->streams; s = s->next)
        if (!job_is_done(s, number))
            return false;
    return true;
}

bool emu_reached(tr_dev *d, tr_dev_stream *s, uint64_t *ticket, int64_t ns) {
    tr_emu *e = (tr_emu *)d;
    bool done;
    if (!*ticket && !atomic_load(&e->active))
        return true;
    int64_t end = tr_rt_now() + ns;
    pthread_mutex_lock(&e->lock);
    *ticket = *ticket ? *ticket : e->number;
    let_through(e, *ticket);
    do
        done = s ? job_is_done(s, *ticket) : all_done(e, *ticket);
    while (!done && wait_until(&e->progress, &e->lock, end));
    pthread_mutex_unlock(&e->lock);
    return done;
}

static int32_t put_own(tr_emu *e, tr_dev_stream *s, tr_dev_event *v, uint64_t turn, bool wait) {
    tr_dev_job *j = calloc(1, sizeof *j);
    if (!j)
        return TR_CODE_MEMORY;
    j->op = TR_DEV_OWN;
    j->refs = 1;
    j->release = own_release;
    j->u.own.event = v;
    j->u.own.turn = turn;
    j->u.own.wait = wait;
    int32_t code = put(e, s, j);
    if (code)
        free(j);
    else
        v->users++;
    return code;
}

int32_t emu_record(tr_dev *d, tr_dev_stream *s, tr_dev_event *v) {
    static const tr_dev_failure none = {0};
    tr_emu *e = (tr_emu *)d;
    int32_t code = 0;
    pthread_mutex_lock(&e->lock);
    if (s)
        code = put_own(e, s, v, v->recorded + 1, false);
    if (!code) {
        v->recorded++;
        v->of = s;
    }
    if (!s)
        happen(e, v, v->recorded, &none);
    pthread_mutex_unlock(&e->lock);
    return code;
}

int32_t emu_wait(tr_dev *d, tr_dev_stream *s, tr_dev_event *v) {
    tr_emu *e = (tr_emu *)d;
    pthread_mutex_lock(&e->lock);
    int32_t code = v->done < v->recorded || v->failure.code ? put_own(e, s, v, v->recorded, true) : 0;
    pthread_mutex_unlock(&e->lock);
    return code;
}

/* --- the default stream --- */

/* Jobs up to that number have ended, and no other is at work. */
static bool all_quiet(const tr_emu *e, uint64_t number) {
    bool quiet = all_done(e, number);
    for (const tr_dev_stream *s = e->streams.next; quiet && s != &e->streams; s = s->next)
        quiet = !s->running;
    return quiet;
}

/* Takes the default stream. */
static bool take_over(tr_emu *e, int64_t end) {
    bool mine;
    do {
        uintptr_t none = 0;
        mine = atomic_compare_exchange_strong(&e->owner, &none, (uintptr_t)&self);
    } while (!mine && wait_until(&e->progress, &e->lock, end));
    return mine;
}

bool emu_begin(tr_dev *d, uint64_t *ticket, int64_t ns) {
    tr_emu *e = (tr_emu *)d;
    uintptr_t me = (uintptr_t)&self, free = 0;
    if (atomic_load_explicit(&e->owner, memory_order_relaxed) == me) {
        e->depth++;
        return true;
    }
    bool mine = atomic_compare_exchange_strong(&e->owner, &free, me);
    if (mine && !atomic_load(&e->active))
        return true;
    int64_t end = tr_rt_now() + ns;
    pthread_mutex_lock(&e->lock);
    atomic_fetch_add(&e->wanted, 1);
    mine = mine || take_over(e, end);
    atomic_fetch_sub(&e->wanted, 1);
    bool quiet = false;
    if (mine) {
        e->ahead = *ticket = *ticket ? *ticket : e->number;
        pthread_cond_broadcast(&e->progress);
        while (!(quiet = all_quiet(e, *ticket)) && wait_until(&e->progress, &e->lock, end)) {}
        e->ahead = 0;
    }
    if (mine && !quiet) {
        atomic_store(&e->owner, 0);
        pthread_cond_broadcast(&e->progress);
    }
    pthread_mutex_unlock(&e->lock);
    return quiet;
}

void emu_end(tr_dev *d) {
    tr_emu *e = (tr_emu *)d;
    assert(atomic_load(&e->owner) == (uintptr_t)&self && "who ends the default stream's use has it");
    if (e->depth) {
        e->depth--;
        return;
    }
    atomic_store(&e->owner, 0);
    if (atomic_load(&e->active) || atomic_load(&e->wanted)) {
        pthread_mutex_lock(&e->lock);
        pthread_cond_broadcast(&e->progress);
        pthread_mutex_unlock(&e->lock);
    }
}

/* --- the end, and forks --- */

bool emu_stop(tr_dev *d, int64_t ns) {
    tr_emu *e = (tr_emu *)d;
    int64_t end = tr_rt_now() + ns, now;
    atomic_store(&e->stopping, true);
    pthread_mutex_lock(&e->lock);
    while (e->threads && (now = tr_rt_now()) < end) {
        for (tr_dev_stream *s = e->streams.next; s != &e->streams; s = s->next) {
            pthread_cond_signal(&s->more);
            if (s->served && s->running && tr_rt_tick_is_ours())
                pthread_kill(s->thread, tr_rt_tick_signal());
        }
        pthread_cond_broadcast(&e->progress);
        wait_until(&e->progress, &e->lock, now + nudge_ns);
    }
    bool over = !e->threads;
    e->left = !over;
    pthread_mutex_unlock(&e->lock);
    return over;
}

static void lose(tr_emu *e, tr_dev_stream *s, tr_dev_job *j) {
    if (j->op == TR_DEV_OWN)
        end_own(e, s, j, TR_CODE_LOST);
    tr_dev_unref(j);
}

void emu_queue_forked(tr_emu *e) {
    uint32_t failures = 0, busy = 0;
    cond_init(&e->progress);
    e->threads = 0;
    for (tr_dev_stream *s = e->streams.next, *next; s != &e->streams; s = next) {
        next = s->next;
        cond_init(&s->more);
        if (s == serving &&
            s->running) { /* a call of the host that forks: it goes on, and its thread with it */
            e->threads = 1;
            busy = 1;
        } else {
            s->served = false;
        }
        bool own = s->served;
        if ((s->running && !own) || s->head)
            keep(e, s, TR_CODE_LOST, NULL, e->number);
        if (s->running && !own)
            lose(e, s, s->running);
        for (tr_dev_job *j = s->head, *after; j; j = after) {
            after = j->next;
            lose(e, s, j);
        }
        s->running = own ? s->running : NULL;
        s->head = NULL;
        failures += s->failure.code != 0;
        free_if_over(s);
    }
    atomic_store(&e->active, failures + busy);
    if (atomic_load(&e->owner) != (uintptr_t)&self) {
        atomic_store(&e->owner, 0);
        e->depth = 0;
        e->ahead = 0;
    }
}

void emu_queue_open(tr_emu *e) {
    cond_init(&e->progress);
    e->streams.next = e->streams.prev = &e->streams;
}
