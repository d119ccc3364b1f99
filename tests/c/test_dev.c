/* The emulated device without Python: memory, copies, streams, events, failures, the
 * default stream, forks, the end. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dev/emu.h"
#include "rt/fns.h"
#include "rt/pool.h"
#include "rt/rt.h"

static tr_dev *d;
static const tr_dev_ops *ops;

static void nap(long us) {
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* --- memory --- */

enum { HELD = 300, ROUNDS = 20000 };

static void test_memory(void) {
    tr_dev_mem held[HELD];
    uint64_t seed = 7, left, total, first_left;
    int n = 0;
    ops->memory(d, &first_left, &total);
    for (int i = 0; i < ROUNDS; i++) {
        if (n < HELD && next(&seed) % 2) {
            static const uint64_t sizes[] = {0, 1, 255, 256, 257, 5000, 1 << 16, 3 << 20};
            uint64_t bytes = sizes[next(&seed) % 8];
            assert(ops->alloc(d, TR_DEV_LOCAL, NULL, bytes, &held[n]) == 0);
            assert((uintptr_t)held[n].at % 256 == 0 && ops->owns(d, held[n].at));
            for (int k = 0; k < n; k++)
                assert((char *)held[k].at + held[k].bytes <= (char *)held[n].at ||
                       (char *)held[n].at + bytes <= (char *)held[k].at);
            if (bytes)
                memset(held[n].at, n, bytes < 300 ? bytes : 300);
            n++;
        } else if (n) {
            uint64_t k = next(&seed) % (uint64_t)n;
            tr_dev_mem m;
            if (held[k].bytes)
                assert(*(uint8_t *)held[k].at == *((uint8_t *)held[k].at + (held[k].bytes - 1) % 300));
            assert(ops->find(d, (char *)held[k].at + held[k].bytes / 2, &m) && m.at == held[k].at &&
                   m.bytes == held[k].bytes);
            assert(!held[k].bytes || !ops->find(d, (char *)held[k].at + held[k].bytes, &m) ||
                   m.at != held[k].at);
            ops->free(d, &held[k]);
            assert(!ops->find(d, held[k].at, &m) || m.at != held[k].at);
            held[k] = held[--n];
        }
        if (i % 100 == 0)
            assert(!emu_mem_check(&((tr_emu *)d)->mem));
    }
    while (n)
        ops->free(d, &held[--n]);
    ops->memory(d, &left, &total);
    assert(left == first_left && !emu_mem_check(&((tr_emu *)d)->mem));
    tr_dev_mem all;
    assert(ops->alloc(d, TR_DEV_LOCAL, NULL, total + 1, &all) == TR_CODE_MEMORY &&
           ops->alloc(d, TR_DEV_LOCAL, NULL, UINT64_MAX, &all) == TR_CODE_MEMORY);
    assert(ops->alloc(d, TR_DEV_LOCAL, NULL, total, &all) == 0); /* in one piece again */
    assert(ops->alloc(d, TR_DEV_LOCAL, NULL, 1, &held[0]) == TR_CODE_MEMORY);
    ops->free(d, &all);
    assert(!ops->owns(d, &all) && !ops->find(d, &all, &held[0]));
}

/* --- copies --- */

static void test_copies(void) {
    enum { SIZE = 1 << 15, MID = SIZE / 2 };
    static uint8_t from[SIZE], to[SIZE], want[SIZE], was[SIZE];
    uint64_t seed = 11;
    for (int i = 0; i < SIZE; i++)
        from[i] = (uint8_t)next(&seed);
    for (int round = 0; round < 3000; round++) {
        static const uint64_t items[] = {1, 2, 4, 8, 16, 3};
        tr_dev_copy c = {.to = to + MID,
                         .from = from + MID,
                         .item = items[next(&seed) % 6],
                         .ndim = (uint32_t)(next(&seed) % 4)};
        uint64_t order = next(&seed), step = c.item, other = c.item;
        for (uint32_t k = 0; k < c.ndim; k++) { /* the target's axes lie apart; the source's may repeat */
            c.shape[k] = (int64_t)(next(&seed) % 5);
            c.to_stride[k] = (int64_t)(step * (1 + next(&seed) % 2)) * (order >> k & 1 ? 1 : -1);
            step = (uint64_t)llabs(c.to_stride[k]) * (uint64_t)(c.shape[k] ? c.shape[k] : 1);
            c.from_stride[k] = (int64_t)(other * (next(&seed) % 3)) * (order >> k & 8 ? 1 : -1);
            other = other * (uint64_t)(c.shape[k] ? c.shape[k] : 1);
        }
        memset(to, 0, SIZE);
        memset(want, 0, SIZE);
        int64_t i[4] = {0}, n = 1;
        for (uint32_t k = 0; k < c.ndim; k++)
            n *= c.shape[k];
        for (int64_t at = 0; at < n; at++) {
            int64_t rest = at, t = MID, f = MID;
            for (uint32_t k = 0; k < c.ndim; k++) {
                i[k] = rest % c.shape[k];
                rest /= c.shape[k];
                t += i[k] * c.to_stride[k];
                f += i[k] * c.from_stride[k];
            }
            memcpy(want + t, from + f, c.item);
        }
        uintptr_t lo, hi;
        tr_dev_copy_extent(&c, true, &lo, &hi);
        assert(lo >= (uintptr_t)to && hi <= (uintptr_t)to + SIZE && (n > 0) == (hi > lo));
        uint64_t bytes = (uint64_t)n * c.item;
        assert(tr_dev_copy_bytes(&c) == bytes);
        tr_dev_copy_plan(&c);
        assert(tr_dev_copy_bytes(&c) == bytes);
        assert(tr_dev_copy_here(&c) == 0);
        assert(memcmp(to, want, SIZE) == 0);
        memcpy(was, from, SIZE); /* within one array: what is written is what was read before */
        c.to = from + MID + (int64_t)(next(&seed) % 64) - 32;
        assert(tr_dev_copy_here(&c) == 0);
        c.from = was + MID;
        memcpy(want, was, SIZE);
        c.to = want + ((uint8_t *)c.to - from);
        assert(tr_dev_copy_here(&c) == 0 && memcmp(from, want, SIZE) == 0);
        memcpy(from, was, SIZE);
    }
}

/* --- jobs --- */

enum { LOG = 4096 };
static struct {
    _Atomic int n, released;
    _Atomic int what[LOG];
} said;

static _Atomic bool gate; /* what was put with CLOSED waits until it opens */
enum { CLOSED = -1 };

static void forget(void) {
    said.n = said.released = 0;
    gate = false;
}

typedef struct work {
    tr_dev_job job;
    tr_frame frame;
    tr_slot slots[3];
} work;

/* Writes down slot 0, after slot 1 microseconds, or when the gate opens, and ends with the code in slot 2. */
static int32_t entry(tr_frame *f, const tr_slot *args, tr_slot *ret) {
    (void)ret;
    assert(f->host);
    while (args[1].i == CLOSED && !gate)
        nap(100);
    nap(args[1].i < 0 ? 0 : (long)args[1].i);
    said.what[atomic_fetch_add(&said.n, 1)] = (int)args[0].i;
    f->payload[0] = args[0];
    return (int32_t)args[2].i;
}

static void released(tr_dev_job *j) {
    tr_rt_frame_fini(&((work *)j)->frame);
    atomic_fetch_add(&said.released, 1);
    free(j);
}

static work *make(int what, long us, int32_t code) {
    work *w = calloc(1, sizeof *w);
    tr_rt_frame_init(&w->frame, NULL);
    w->slots[0].i = what;
    w->slots[1].i = us;
    w->slots[2].i = code;
    w->job = (tr_dev_job){.op = TR_DEV_LAUNCH, .refs = 1, .release = released};
    w->job.u.launch = (tr_dev_launch){(void *)(uintptr_t)entry, w->slots, 3, 0, &w->frame};
    return w;
}

static void put(tr_dev_stream *s, int what, long us, int32_t code) {
    assert(ops->submit(d, s, &make(what, us, code)->job) == 0);
}

static void await(tr_dev_stream *s) {
    uint64_t ticket = 0;
    while (!ops->reached(d, s, &ticket, 10000000)) {}
}

static void test_order(void) {
    tr_dev_stream *s = ops->stream_new(d);
    uint64_t ticket = 0;
    forget();
    assert(ops->reached(d, s, &ticket, 0)); /* nothing is there */
    for (int i = 0; i < 100; i++)
        put(s, i, i ? i % 10 ? 0 : 500 : CLOSED, 0);
    ticket = 0;
    assert(!ops->reached(d, s, &ticket, 0));
    gate = true;
    await(s);
    assert(said.n == 100 && said.released == 100);
    for (int i = 0; i < 100; i++)
        assert(said.what[i] == i);
    for (int i = 0; i < 600 && ((tr_emu *)d)->threads; i++)
        nap(50000); /* its thread ends, soon */
    assert(((tr_emu *)d)->threads == 0);
    put(s, 100, 0, 0);
    await(s);
    assert(said.what[100] == 100);
    put(s, 101, 2000, 0);
    ops->stream_free(d, s); /* what was submitted is done */
    await(NULL);
    assert(said.what[101] == 101 && said.released == 102);
}

/* Who waits is not kept by what comes later. */
static void test_tickets(void) {
    tr_dev_stream *s = ops->stream_new(d);
    uint64_t ticket = 0;
    forget();
    put(s, 0, 1000, 0);
    ops->reached(d, s, &ticket, 0);
    for (int i = 0; i < 50; i++)
        put(s, 1, CLOSED, 0);
    while (!ops->reached(d, s, &ticket, 1000000)) {}
    assert(said.n == 1);
    gate = true;
    ops->stream_free(d, s);
    await(NULL);
}

/* --- events --- */

/* The place of this one among those that were done; LOG: it was not. */
static int place_of(int what) {
    for (int i = 0; i < said.n; i++)
        if (said.what[i] == what)
            return i;
    return LOG;
}

static void test_events(void) {
    tr_dev_stream *a = ops->stream_new(d), *b = ops->stream_new(d);
    tr_dev_event *v = ops->event_new(d, true), *w = ops->event_new(d, true),
                 *plain = ops->event_new(d, false);
    double ms;
    forget();
    assert(ops->happened(d, v, 0) && !ops->elapsed(d, v, w, &ms)); /* never recorded */
    put(a, 1, CLOSED, 0);
    assert(ops->record(d, a, v) == 0 && ops->wait(d, b, v) == 0);
    put(b, 2, 0, 0);
    assert(!ops->happened(d, v, 0));
    gate = true;
    put(a, 3, 5000, 0);
    assert(ops->record(d, a, w) == 0 && ops->record(d, a, plain) == 0);
    assert(ops->wait(d, b, w) == 0 && ops->record(d, a, v) == 0); /* recorded anew: b waits for what it was */
    put(b, 4, 0, 0);
    while (!ops->happened(d, w, 1000000)) {}
    await(NULL);
    assert(said.n == 4 && place_of(1) == 0 && place_of(2) < place_of(4) && place_of(3) < place_of(4));
    assert(ops->elapsed(d, w, v, &ms) && ms >= 0 && ms < 1000 && !ops->elapsed(d, w, plain, &ms));
    assert(ops->record(d, NULL, v) == 0 && ops->happened(d, v, 0));
    assert(ops->record(d, a, w) == 0 && ops->wait(d, b, w) == 0); /* both go while streams refer to them */
    ops->event_free(d, v);
    ops->event_free(d, w);
    ops->event_free(d, plain);
    ops->stream_free(d, a);
    ops->stream_free(d, b);
    await(NULL);
}

/* --- work of libraries --- */

static int32_t do_part(tr_frame *f, void *arg, int64_t lo, int64_t hi, uint32_t worker) {
    _Atomic int64_t *sum = arg;
    (void)f;
    (void)worker;
    for (int64_t i = lo; i < hi; i++)
        atomic_fetch_add(sum, i);
    return 0;
}

/* It may use the pool; what it gives is how it ended. */
static int32_t do_library(void *arg, const tr_dev_at *at) {
    tr_frame f;
    assert(at->device == d && at->host && !at->stream && at->gpu == 0);
    tr_rt_frame_init(&f, at->host);
    int32_t code = tr_rt_parallel(&f, do_part, arg, 1000, 10);
    tr_rt_frame_fini(&f);
    return code ? code : *(_Atomic int64_t *)arg > 499500 ? TR_CODE_LIBRARY : 0;
}

static void test_work(void) {
    _Atomic int64_t sum = 0;
    tr_dev_stream *s = ops->stream_new(d);
    tr_dev_job now = {.op = TR_DEV_WORK, .u.work = {do_library, &sum, TR_DEV_HERE}};
    tr_dev_failure f;
    forget();
    assert(ops->submit(d, NULL, &now) == 0 && sum == 499500);
    sum = 0;
    for (int k = 0; k < 3; k++) { /* the second ends the stream, so the third is not done */
        work *w = make(0, 0, 0);
        w->job.op = TR_DEV_WORK;
        w->job.u.work = (tr_dev_work){do_library, &sum, TR_DEV_HERE};
        assert(ops->submit(d, s, &w->job) == 0);
    }
    await(s);
    assert(sum == 2 * 499500 && ops->take(d, s, &f) && f.code == TR_CODE_LIBRARY);
    tr_dev_unref(f.job);
    assert(said.released == 3);
    ops->stream_free(d, s);
}

/* --- failures --- */

static int32_t take(tr_dev_stream *s, int *what) {
    tr_dev_failure f;
    *what = -1;
    if (!ops->take(d, s, &f))
        return 0;
    if (f.job)
        *what = (int)f.job->u.launch.frame->payload[0].i;
    tr_dev_unref(f.job);
    return f.code;
}

static void called(void *arg, int32_t code) {
    assert(tr_dev_is_called());
    *(int32_t *)arg = code ? code : 1000;
}

static void test_failures(void) {
    tr_dev_stream *a = ops->stream_new(d), *b = ops->stream_new(d);
    tr_dev_event *v = ops->event_new(d, false);
    tr_dev_failure f;
    int what;
    int32_t code = 0;
    forget();
    put(a, 1, 1000, 0);
    put(a, 2, 0, 7);
    put(a, 3, 0, 8); /* is not done */
    work *call = make(0, 0, 0);
    call->job.op = TR_DEV_CALL; /* comes nevertheless, and is told */
    call->job.u.call = (tr_dev_call){called, &code};
    assert(ops->submit(d, a, &call->job) == 0);
    await(a);
    assert(said.n == 2 && code == 7 && take(b, &what) == 0 && take(a, &what) == 7 && what == 2);
    assert(take(a, &what) == 0 && said.released == 4);
    put(a, 4, 0, 0); /* it goes on */
    await(a);
    assert(said.what[2] == 4);

    put(a, 5, 1000, 9); /* what waits for it fails with it */
    assert(ops->record(d, a, v) == 0 && ops->wait(d, b, v) == 0);
    put(b, 6, 0, 0);
    await(b);
    assert(said.n == 4 && take(a, &what) == 9 && what == 5 && take(b, &what) == 9 && what == 5);
    assert(ops->event_take(d, v, &f) && f.code == 9 && !take(NULL, &what));
    tr_dev_unref(f.job);
    assert(!ops->event_take(d, v, &f));

    put(b, 7, 2000, 11); /* the oldest first; those that share one at once */
    put(a, 8, 0, 10);
    await(a);
    assert(ops->record(d, a, v) == 0 && ops->wait(d, b, v) == 0);
    await(NULL);
    assert(take(NULL, &what) == 11 && what == 7 && take(NULL, &what) == 10 && what == 8 &&
           !take(NULL, &what));
    assert(ops->event_take(d, v, &f));
    tr_dev_unref(f.job);

    put(a, 9, 0, 12); /* an event's is its stream's */
    assert(ops->record(d, a, v) == 0);
    put(a, 10, 0, 0);
    while (!ops->happened(d, v, 1000000)) {}
    assert(ops->event_take(d, v, &f) && f.code == 12 && !take(a, &what));
    tr_dev_unref(f.job);
    await(a);
    int before = said.n;
    put(a, 11, 0, 13);
    ops->stream_free(d, a); /* nobody asked: it is told with the rest */
    await(NULL);
    assert(said.n == before + 1 && take(NULL, &what) == 13 && ((tr_emu *)d)->active == 0);
    ops->stream_free(d, b);
    ops->event_free(d, v);
}

/* --- the default stream --- */

static void begin(void) {
    uint64_t ticket = 0;
    while (!ops->begin(d, &ticket, 5000000)) {}
}

enum { THREADS = 3, TIMES = 300 };
static _Atomic int inside, jobs;
static tr_dev_stream *busy[2];

static int32_t alone_entry(tr_frame *f, const tr_slot *args, tr_slot *ret) {
    (void)f, (void)args, (void)ret;
    assert(atomic_load(&inside) == 0);
    atomic_fetch_add(&jobs, 1);
    assert(atomic_load(&inside) == 0);
    return 0;
}

static void *use_default(void *arg) {
    uint64_t seed = (uint64_t)(uintptr_t)arg + 1;
    for (int i = 0; i < TIMES; i++) {
        if (next(&seed) % 2) {
            work *w = make(0, 0, 0);
            w->job.u.launch.code = (void *)(uintptr_t)alone_entry;
            assert(ops->submit(d, busy[next(&seed) % 2], &w->job) == 0);
        }
        begin();
        assert(atomic_exchange(&inside, 1) == 0);
        if (i % 8 == 0)
            begin(); /* once more, as code that a launch calls may */
        if (i % 16 == 0)
            nap(20);
        if (i % 8 == 0)
            ops->end(d);
        assert(atomic_exchange(&inside, 0) == 1);
        ops->end(d);
    }
    return NULL;
}

static void test_default(void) {
    pthread_t t[THREADS];
    tr_dev_stream *s = busy[0] = ops->stream_new(d);
    uint64_t ticket = 0;
    forget();
    busy[1] = ops->stream_new(d);
    put(s, 1, CLOSED, 0);
    assert(!ops->begin(d, &ticket, 1000000)); /* not within a millisecond */
    gate = true;
    begin();
    assert(said.n == 1);
    put(s, 2, 0, 0);
    nap(5000);
    assert(said.n == 1); /* held up */
    ticket = 0;
    while (!ops->reached(d, s, &ticket, 1000000)) {} /* but not for the one who holds it up */
    assert(said.n == 2);
    put(s, 3, 0, 0);
    ops->end(d);
    await(s);
    assert(said.n == 3);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert(pthread_create(&t[i], NULL, use_default, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    await(NULL);
    assert(jobs > 100 && ((tr_emu *)d)->active == 0);
    ops->stream_free(d, busy[0]);
    ops->stream_free(d, busy[1]);
}

/* --- forks --- */

static void in_child(tr_dev_stream *s, tr_dev_stream *idle, tr_dev_event *v) {
    int what;
    tr_dev_failure f;
    await(NULL);
    assert(take(s, &what) == TR_CODE_LOST && !take(idle, &what));
    assert(ops->happened(d, v, 0) && ops->event_take(d, v, &f) && f.code == TR_CODE_LOST);
    forget();
    put(s, 1, 0, 0);
    put(idle, 1, 0, 0);
    await(NULL);
    assert(said.n == 2);
    begin();
    ops->end(d);
    assert(ops->stop(d, 1000000000));
}

static void test_fork(void) {
    tr_dev_stream *s = ops->stream_new(d), *idle = ops->stream_new(d);
    tr_dev_event *v = ops->event_new(d, false);
    forget();
    put(idle, 0, 0, 0);
    await(idle);
    for (int i = 0; i < 20; i++)
        put(s, i, CLOSED, 0);
    assert(ops->record(d, s, v) == 0 && ops->wait(d, s, v) == 0);
    nap(2500); /* one is at work, most likely */
    pid_t pid = fork();
    if (pid == 0) {
        in_child(s, idle, v);
        _exit(0);
    }
    gate = true;
    int status;
    assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    await(NULL); /* the parent's are done */
    assert(said.n == 21);
    ops->stream_free(d, s);
    ops->stream_free(d, idle);
    ops->event_free(d, v);
}

/* --- the end --- */

static void test_stop(void) {
    tr_dev_stream *s = ops->stream_new(d), *t = ops->stream_new(d);
    forget();
    enum { MANY = 3000 };
    for (int i = 0; i < MANY; i++)
        put(s, 1, 20000, 0);
    put(t, 3, 0, 0);
    nap(1000);
    assert(ops->stop(d, 20000000000));
    assert(said.released == MANY + 1 && said.n < MANY); /* what is not begun is not done */
    work *w = make(4, 0, 0);
    assert(ops->submit(d, s, &w->job) == TR_CODE_ENDED);
    released(&w->job);
    begin(); /* as ever */
    assert(ops->submit(d, NULL, &(tr_dev_job){.op = TR_DEV_FILL, .u.fill = {&s, 0, 0}}) == 0);
    ops->end(d);
    ops->stream_free(d, s);
    ops->stream_free(d, t);
}

int main(void) {
    char msg[200];
    tr_dev_host h = {0};
    assert(!tr_dev_open("none", &h, msg, sizeof msg) && strstr(msg, "'none'"));
    d = tr_dev_open("emu", &h, msg, sizeof msg);
    assert(d && d == tr_dev_open("emu", &h, msg, sizeof msg));
    ops = d->ops;
    for (int a = 0; a < TR_DEV_ATTR__COUNT; a++)
        assert(tr_dev_attr_name[a] && ops->attribute(d, TR_DEV_HERE, (tr_dev_attr)a) >= 0);
    test_memory();
    test_copies();
    test_order();
    test_tickets();
    test_events();
    test_work();
    test_failures();
    test_default();
    test_fork();
    test_stop();
    return 0;
}
