/* The thread pool: partition, errors, nesting, blocks, text, chains, interrupts, limits and forks, alone and
 * from eight threads at once. `make sanitize` builds and runs it under ThreadSanitizer too. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rt/fns.h"
#include "rt/pool.h"
#include "rt/rt.h"

/* Children of this test start threads after a fork from many, which is the point of it. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "die_after_fork=0:halt_on_error=1";
}

enum { CALLERS = 8, THREADS = 4 };

static void configure(const char *text) {
    char msg[200];
    bool ok = tr_rt_pool_configure("TREADLE_NUM_THREADS", text, msg, sizeof msg);
    assert(ok);
}

static void nap(long us) {
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* --- partition --- */

enum { MOST = 5000 };
typedef struct cover {
    _Atomic uint8_t seen[MOST];
    int64_t end_of[MOST]; /* by first index; each is written by one thread */
    _Atomic uint32_t numbers;
} cover;

static int32_t cover_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    cover *c = ctx;
    assert(f->mems.next == &f->mems);
    assert(0 <= lo && lo < hi && hi <= MOST && worker < THREADS);
    assert((int64_t)worker == tr_rt_thread_id());
    for (int64_t i = lo; i < hi; i++)
        assert(atomic_fetch_add(&c->seen[i], 1) == 0);
    c->end_of[lo] = hi;
    atomic_fetch_or(&c->numbers, 1u << worker);
    return 0;
}

static void run_cover(cover *c, int64_t n, int64_t grain) {
    tr_frame f;
    memset(c, 0, sizeof *c);
    tr_rt_frame_init(&f, NULL);
    assert(tr_rt_parallel(&f, cover_body, c, n, grain) == 0);
    for (int64_t i = 0; i < MOST; i++)
        assert(c->seen[i] == (i < n));
    tr_rt_frame_fini(&f);
}

static void test_partition(void) {
    static cover one, many;
    static const int64_t sizes[][2] = {{0, 1},    {-5, 1},   {1, 1},    {2, 1},    {7, 3},      {1000, 1},
                                       {1000, 7}, {1000, 0}, {5000, 0}, {5000, 1}, {100, 1000}, {257, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert(tr_rt_threads_limit(1));
        run_cover(&one, sizes[i][0], sizes[i][1]);
        assert(one.numbers <= 1);
        for (unsigned limit = 2; limit <= THREADS; limit++) {
            assert(tr_rt_threads_limit(limit));
            run_cover(&many, sizes[i][0], sizes[i][1]);
            assert(!memcmp(one.end_of, many.end_of, sizeof one.end_of) && many.numbers < 1u << limit);
        }
    }
}

/* --- random numbers: of the range, not of the thread --- */

static int32_t draw_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    double *x = ctx;
    (void)f;
    (void)worker;
    for (int64_t i = lo; i < hi; i++)
        x[i] = tr_rt_np_random();
    return 0;
}

static int32_t draw_inner(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    (void)worker;
    for (int64_t i = lo; i < hi; i++)
        assert(tr_rt_parallel(f, draw_body, (double *)ctx + i * 10, 10, 5) == 0);
    return 0;
}

static void test_random(void) {
    static double x[3][MOST], y[3][MOST];
    for (unsigned limit = 1; limit <= 3; limit++) {
        tr_frame f;
        tr_rt_frame_init(&f, NULL);
        assert(tr_rt_threads_limit(limit));
        tr_rt_np_seed(5);
        assert(tr_rt_parallel(&f, draw_body, x[limit - 1], MOST, 50) == 0);
        assert(tr_rt_parallel(&f, draw_inner, y[limit - 1], MOST / 10, 7) == 0);
        assert(tr_rt_np_random() == 0.22199317108973948); /* the first, as if nothing had been between */
        assert(!memcmp(x[0], x[limit - 1], sizeof x[0]) && !memcmp(y[0], y[limit - 1], sizeof y[0]));
        tr_rt_frame_fini(&f);
    }
    for (int64_t i = 0; i < MOST; i++)
        for (int64_t j = 0; j < 100; j++)
            assert((i == j || x[0][i] != x[0][j]) && x[0][i] != y[0][j]);
}

/* Fails at once: only the arithmetic of sizes that nobody could run through counts. */
static int32_t first_fails(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    (void)worker;
    f->payload[0].i = lo;
    f->payload[1].i = hi;
    assert(lo >= 0 && lo < hi && hi <= *(int64_t *)ctx);
    return 5;
}

static void test_huge(void) {
    static const int64_t grains[] = {1, 2, 1000, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX, 0};
    int64_t n = INT64_MAX;
    for (size_t i = 0; i < sizeof grains / sizeof *grains; i++) {
        tr_frame f;
        tr_rt_frame_init(&f, NULL);
        assert(tr_rt_parallel(&f, first_fails, &n, n, grains[i]) == 5 && f.payload[0].i == 0);
        assert(f.payload[1].i == (grains[i] ? grains[i] : n / 256 + 1));
    }
}

/* --- errors --- */

typedef struct failing {
    uint64_t bad[16]; /* a bit for each of 1,000 ranges */
    _Atomic uint64_t done[16];
} failing;

static int32_t fail_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    failing *t = ctx;
    (void)hi;
    uint64_t bit = UINT64_C(1) << lo % 64;
    if (worker && lo % 3 == 0)
        sched_yield();
    tr_rt_alloc(f, 10); /* stays in the frame */
    if (t->bad[lo / 64] & bit) {
        f->payload[0].i = lo * 10;
        f->trace[0] = (uint32_t)lo;
        f->ntrace = 1;
        return (int32_t)lo + 1;
    }
    atomic_fetch_or(&t->done[lo / 64], bit);
    return 0;
}

static void errors_once(uint64_t *seed) {
    failing t = {0};
    int64_t lowest = 1000;
    for (uint64_t k = next(seed) % 6; k--;) {
        int64_t at = (int64_t)(next(seed) % 1000);
        t.bad[at / 64] |= UINT64_C(1) << at % 64;
        lowest = at < lowest ? at : lowest;
    }
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    int32_t code = tr_rt_parallel(&f, fail_body, &t, 1000, 1);
    if (lowest == 1000) {
        assert(code == 0 && f.ntrace == 0 && f.nalloc == 1000);
    } else {
        assert(code == lowest + 1 && f.payload[0].i == lowest * 10);
        assert(f.ntrace == 1 && f.trace[0] == lowest && f.nalloc > (uint64_t)lowest);
    }
    for (int64_t i = 0; i < lowest; i++) /* what lies below has ended */
        assert(t.done[i / 64] >> i % 64 & 1);
    uint64_t held = 0;
    for (tr_mem *m = f.mems.next; m != &f.mems; m = m->next) {
        assert(m->next->prev == m);
        held++;
    }
    assert(held == f.nalloc && f.nfree == 0);
    tr_rt_frame_fini(&f);
    assert(f.nfree == f.nalloc);
}

static void test_errors(void) {
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 200; i++)
        errors_once(&seed);
}

/* --- nesting --- */

typedef struct nest {
    _Atomic int64_t sum;
    int64_t fail_at; /* outer * 100 + inner; -1 never */
} nest;
typedef struct inner {
    nest *nest;
    int64_t outer;
    pthread_t thread;
    int64_t id;
} inner;

static int32_t inner_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    const inner *in = ctx;
    /* Inline: the same thread, in order, number 0 of its own region, and the outer number for users. */
    assert(worker == 0 && pthread_equal(pthread_self(), in->thread) && tr_rt_thread_id() == in->id);
    assert(hi == lo + 1);
    int64_t at = in->outer * 100 + lo;
    atomic_fetch_add(&in->nest->sum, at);
    f->payload[0].i = at;
    return at == in->nest->fail_at ? 77 : 0;
}

static int32_t outer_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    inner in = {ctx, lo, pthread_self(), tr_rt_thread_id()};
    (void)hi;
    assert(in.id == (int64_t)worker);
    return tr_rt_parallel(f, inner_body, &in, 100, 1);
}

static void nest_once(int64_t fail_at) {
    nest t = {.fail_at = fail_at};
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    int32_t code = tr_rt_parallel(&f, outer_body, &t, 30, 1);
    if (fail_at < 0)
        assert(code == 0 && t.sum == 2999 * 3000 / 2);
    else
        assert(code == 77 && f.payload[0].i == fail_at);
    assert(tr_rt_thread_id() == 0);
    tr_rt_frame_fini(&f);
}

static void test_nesting(void) {
    nest_once(-1);
    nest_once(0);
    nest_once(1234);
    nest_once(2999);
}

/* --- text --- */

typedef struct page {
    pthread_t owner;
    char text[1 << 16];
    size_t n;
} page;

static void write_page(void *self, const char *s, size_t n) {
    page *p = self;
    assert(pthread_equal(p->owner, pthread_self())); /* never on a worker */
    assert(p->n + n < sizeof p->text);
    memcpy(p->text + p->n, s, n);
    p->n += n;
}

static int32_t print_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    (void)ctx, (void)hi, (void)worker;
    tr_rt_print_str(f, "line ");
    tr_rt_print_i64(f, lo);
    tr_rt_print_str(f, "\n");
    tr_rt_print_end(f);
    return 0;
}

static void test_text(void) {
    page *p = calloc(1, sizeof *p);
    p->owner = pthread_self();
    tr_host host = {.write = write_page, .self = p};
    tr_frame f;
    tr_rt_frame_init(&f, &host);
    assert(tr_rt_parallel(&f, print_body, NULL, 1000, 1) == 0);
    tr_rt_frame_fini(&f);
    bool seen[1000] = {0};
    int lines = 0;
    char *rest;
    for (char *s = strtok_r(p->text, "\n", &rest); s; s = strtok_r(NULL, "\n", &rest), lines++) {
        int at = -1, end = 0;
        assert(sscanf(s, "line %d%n", &at, &end) == 1 && s[end] == 0 && at >= 0 && at < 1000 && !seen[at]);
        seen[at] = true;
    }
    assert(lines == 1000);
    free(p);
}

/* --- chains --- */

typedef struct links {
    tr_chain *chain;
    int64_t grain;
    int64_t before[MOST]; /* by first index: the sum of what is below */
} links;

static tr_chain *new_chain(void) {
    tr_chain *c = calloc(1, sizeof *c + sizeof(tr_slot));
    assert(c);
    return c;
}

/* Range by range the sum of all indices below. */
static int32_t link_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    links *l = ctx;
    (void)f, (void)worker;
    if (lo % 7 == 0)
        sched_yield();
    int32_t code = tr_rt_chain_wait(l->chain, lo / l->grain);
    if (code)
        return code;
    l->before[lo] = l->chain->value[0].i;
    l->chain->value[0].i += (lo + hi - 1) * (hi - lo) / 2;
    tr_rt_chain_pass(l->chain, lo / l->grain);
    return 0;
}

static void chain_once(uint64_t *seed) {
    links *l = calloc(1, sizeof *l);
    assert(l);
    int64_t n = (int64_t)(next(seed) % MOST) + 1;
    l->grain = (int64_t)(next(seed) % 40) + 1;
    l->chain = new_chain();
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    assert(tr_rt_chain(&f, link_body, l, n, l->grain) == 0);
    for (int64_t lo = 0; lo < n; lo += l->grain)
        assert(l->before[lo] == lo * (lo - 1) / 2);
    tr_rt_frame_fini(&f);
    free(l->chain);
    free(l);
}

static void test_chains(void) {
    uint64_t seed = 5;
    for (int i = 0; i < 300; i++) {
        assert(tr_rt_threads_limit((unsigned)(i % THREADS) + 1));
        chain_once(&seed);
    }
    tr_rt_fix_grain(0, true); /* backwards: not where each needs the one before */
    chain_once(&seed);
    tr_rt_fix_grain(0, false);
}

/* --- interrupts --- */

typedef struct asked {
    pthread_t owner;
    int times, end_at;
} asked;

static bool poll_host(void *self) {
    asked *a = self;
    assert(pthread_equal(a->owner, pthread_self()));
    return ++a->times >= a->end_at;
}

static int32_t slow_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    (void)f, (void)lo, (void)hi, (void)worker;
    atomic_fetch_add((_Atomic int64_t *)ctx, 1);
    nap(1000);
    return 0;
}

/* One endless range: it asks by itself. */
static int32_t endless_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    (void)lo, (void)hi, (void)worker;
    atomic_fetch_add((_Atomic int64_t *)ctx, 1);
    for (;;) {
        int32_t code = tr_rt_stop(f);
        if (code)
            return code;
        nap(100);
    }
}

/* Links that come to no end: who waits for one hears of the interrupt, too. */
static int32_t endless_links(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    tr_chain *c = new_chain();
    int32_t code = lo ? tr_rt_chain_wait(c, lo) : endless_body(f, ctx, lo, hi, worker);
    atomic_fetch_add((_Atomic int64_t *)ctx, 1);
    free(c);
    return code;
}

static int32_t endless_nest(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    (void)lo, (void)hi, (void)worker;
    return tr_rt_parallel(f, slow_body, ctx, INT64_MAX, 1);
}

static void test_interrupt(void) {
    static tr_par_fn *const bodies[] = {slow_body, endless_body, endless_nest, endless_links};
    for (unsigned limit = 1; limit <= THREADS; limit += THREADS - 1)
        for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
            asked a = {pthread_self(), 0, 2};
            _Atomic int64_t ran = 0;
            tr_host host = {.poll = poll_host, .self = &a};
            tr_frame f;
            assert(tr_rt_threads_limit(limit));
            tr_rt_frame_init(&f, &host);
            assert(tr_rt_parallel(&f, bodies[i], (void *)&ran, INT64_MAX, 1) == TR_CODE_HOST);
            assert(a.times == 2 && ran > 0 && f.ntrace == 0);
            tr_rt_frame_fini(&f);
        }
    assert(tr_rt_threads_limit(THREADS));
}

/* --- many callers --- */

typedef struct crowd {
    pthread_t thread;
    uint64_t seed;
    int rounds;
    bool frugal; /* allocates nothing */
} crowd;

static void cover_in_crowd(void) {
    cover *c = malloc(sizeof *c);
    uint64_t seed = (uintptr_t)c | 1;
    run_cover(c, 777, 5);
    chain_once(&seed);
    free(c);
}

static void *one_of_many(void *arg) {
    crowd *c = arg;
    for (int i = 0; i < c->rounds; i++)
        switch (next(&c->seed) % (c->frugal ? 2 : 6)) {
        case 0: nest_once((int64_t)(next(&c->seed) % 3000)); break;
        case 1: nest_once(-1); break;
        case 2: errors_once(&c->seed); break;
        case 3:
            assert(tr_rt_threads_limit((unsigned)(next(&c->seed) % THREADS) + 1));
            cover_in_crowd();
            break;
        case 4: test_text(); break;
        default: cover_in_crowd();
        }
    return NULL;
}

static void start_crowd(crowd *c, unsigned n, int rounds, bool frugal) {
    for (unsigned i = 0; i < n; i++) {
        c[i] = (crowd){.seed = 1000003u * (i + 1), .rounds = rounds, .frugal = frugal};
        assert(pthread_create(&c[i].thread, NULL, one_of_many, &c[i]) == 0);
    }
}

static void join_crowd(crowd *c, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        assert(pthread_join(c[i].thread, NULL) == 0);
}

static void test_crowd(void) {
    crowd c[CALLERS];
    start_crowd(c, CALLERS, 40, false);
    join_crowd(c, CALLERS);
}

/* --- fork --- */

static void expect_exit(pid_t pid, int code) {
    int status;
    assert(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code) {
        fprintf(stderr, "a child ended with status %#x\n", (unsigned)status);
        abort();
    }
}

/* What a child does: everything works, and so it does in its own child. */
static _Noreturn void child_life(int generations) {
    for (;;) {
        assert(tr_rt_thread_id() == 0);
        nest_once(-1);
        nest_once(1234);
        cover_in_crowd();
        pid_t pid = generations-- > 0 ? fork() : -1;
        if (pid == 0)
            continue;
        if (pid > 0)
            expect_exit(pid, 0);
        _exit(0);
    }
}

/* From a thread with no region of its own, while others are in the middle of theirs. */
static void test_fork_among_others(void) {
    crowd c[CALLERS - 1];
    /* Under a sanitizer a child cannot allocate if another thread was allocating when it
     * was forked: theirs do not lock. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    start_crowd(c, CALLERS - 1, 40, true);
#else
    start_crowd(c, CALLERS - 1, 25, false);
#endif
    for (int i = 0; i < 8; i++) {
        pid_t pid = fork();
        if (pid == 0)
            child_life(i == 0);
        expect_exit(pid, 0);
    }
    join_crowd(c, CALLERS - 1);
}

/* From within the region of the forking thread, as a signal's handler in Python could. */
typedef struct fork_inside {
    _Atomic pid_t pid;
    _Atomic int64_t entered;
} fork_inside;

static bool fork_in_poll(void *self) {
    fork_inside *t = self;
    if (t->pid < 0 && t->entered > 1) /* the worker is in */
        t->pid = fork();
    return false;
}

static int32_t meeting_body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    fork_inside *t = ctx;
    (void)lo, (void)hi;
    atomic_fetch_add(&t->entered, 1);
    while (worker != 0 && atomic_load(&t->pid) < 0) /* holds its range over the fork */
        nap(100);
    while (worker == 0 && t->pid < 0) {
        int32_t code = tr_rt_stop(f);
        if (code)
            return code;
        nap(100);
    }
    return 0;
}

static void test_fork_inside(void) {
    fork_inside t = {.pid = -1};
    tr_host host = {.poll = fork_in_poll, .self = &t};
    tr_frame f;
    tr_rt_frame_init(&f, &host);
    int32_t code = tr_rt_parallel(&f, meeting_body, &t, 2, 1);
    tr_rt_frame_fini(&f);
    if (t.pid == 0) { /* a worker held the other range: it is not here, and nobody may wait for it */
        if (code != TR_CODE_FORKED)
            _exit(1);
        child_life(0);
    }
    assert(code == 0);
    expect_exit(t.pid, 0);
}

/* --- settings --- */

static void *other_thread(void *arg) {
    (void)arg;
    assert(tr_rt_num_threads() == THREADS); /* limits are a thread's own */
    assert(tr_rt_set_num_threads(1) && tr_rt_num_threads() == 1);
    return NULL;
}

static void test_settings(void) {
    char msg[200];
    static const char *const bad[] = {"0", "-1", "two", "2x", "1025", "99999999999999999999", "1.5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert(!tr_rt_pool_configure("TREADLE_NUM_THREADS", bad[i], msg, sizeof msg));
        assert(strstr(msg, "TREADLE_NUM_THREADS='") && strstr(msg, "a whole number from 1 to 1024"));
    }
    configure("");
    assert(tr_rt_pool_size() >= 1 && tr_rt_pool_size() == tr_rt_cpus(""));
    configure(" 4 ");
    assert(tr_rt_pool_size() == THREADS && tr_rt_num_threads() == THREADS);
    assert(!tr_rt_set_num_threads(0) && !tr_rt_set_num_threads(5) && !tr_rt_set_num_threads(-1));
    assert(!tr_rt_set_num_threads((INT64_C(1) << 32) + 1));
    assert(tr_rt_set_num_threads(2) && tr_rt_num_threads() == 2);
    pthread_t t;
    assert(pthread_create(&t, NULL, other_thread, NULL) == 0 && pthread_join(t, NULL) == 0);
    assert(tr_rt_num_threads() == 2 && tr_rt_set_num_threads(4));
}

static void put_file(const char *root, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')); *s++ = '/') {
        *s = 0;
        assert(mkdir(path, 0700) == 0 || errno == EEXIST);
    }
    FILE *out = fopen(path, "w");
    assert(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

/* Processors under made-up groups; `most` is what the affinity mask allows. */
static void test_cpus(void) {
    char root[] = "/tmp/treadle-cpus-XXXXXX", command[100];
    assert(mkdtemp(root));
    unsigned most = tr_rt_cpus(root); /* no files: no limit */
    assert(most >= 1);
    put_file(root, "proc/self/cgroup", "0::/a/b\n");
    put_file(root, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert(tr_rt_cpus(root) == most);
    put_file(root, "sys/fs/cgroup/a/cpu.max",
             "50000 100000\n"); /* half a processor, of the group around it */
    assert(tr_rt_cpus(root) == 1);
    put_file(root, "sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    assert(tr_rt_cpus(root) == (most < 2 ? most : 2));
    put_file(root, "proc/self/cgroup", "3:memory:/m\n2:cpu,cpuacct:/c\n0::/\n");
    put_file(root, "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "-1\n");
    put_file(root, "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
    assert(tr_rt_cpus(root) == most);
    put_file(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
    put_file(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert(tr_rt_cpus(root) == 1);
    put_file(root, "proc/self/cgroup", "0::/../elsewhere\nnonsense\n");
    put_file(root, "sys/fs/cgroup/cpu.max", "nonsense\n");
    assert(tr_rt_cpus(root) == most);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert(system(command) == 0);
}

/* --- ends --- */

static void test_stop(void) {
    for (int i = 0; i < 3; i++) {
        tr_rt_pool_stop();
        nest_once(-1);
    }
    tr_rt_pool_stop();
    tr_rt_pool_stop();
}

int main(void) {
    test_settings();
    test_cpus();
    test_partition();
    test_random();
    test_huge();
    test_errors();
    test_nesting();
    test_text();
    test_chains();
    test_interrupt();
    test_crowd();
    test_fork_inside();
    test_fork_among_others();
    test_crowd();
    test_stop();
    return 0;
}
