/* Compiling what was left out (opt/late.c), now that it is reached: by any thread, with or without the GIL,
 * from the middle of compiled code.
 *
 * The function lies with its module as text. Options are the module's; the cache is asked under a key of the
 * text.
 * Cost: one compile, once.
 *
 * Locks: of all late compiles (shared; a fork takes it alone), then the module's, then that of where code
 * lies (rt/enter.h). Whoever holds them waits for nobody who may wait for him: it asks for no GIL and looks
 * for no signals. The fork's is taken inside of fork(), not in the host's hooks before it: those run code
 * that may need the GIL of a thread that waits here. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "driver/priv.h"
#include "rt/enter.h"

/* --- forks: no late compile is half-way in the child --- */

static pthread_rwlock_t forks = PTHREAD_RWLOCK_INITIALIZER;

static void fork_before(void) {
    pthread_rwlock_wrlock(&forks);
}

static void fork_after(void) {
    pthread_rwlock_unlock(&forks);
}

/* Threads that waited for it are not here. */
static void fork_child(void) {
    pthread_rwlock_init(&forks, NULL);
}

static void watch_forks(void) {
    tr_rt_code_watch_forks(); /* inside of ours */
    pthread_atfork(fork_before, fork_after, fork_child);
}

void tr_driver_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
}

/* --- one compile --- */

#define LARGE UINT32_MAX /* as an index: no late code, but the whole function anew */

static bool compile(tr_ctx *c, const tr_module *m, uint32_t index, const tr_want *want, tr_compiled *out) {
    const tr_meta *meta = tr_module_meta(m);
    bool whole = index == LARGE;
    tr_prog p;
    tr_request rq = {.upto = TR_STAGE_TIME, .cache_dir = tr_module_cache(m)};
    if (whole)
        rq.large = meta->large;
    else
        rq.late = &meta->late[index];
    const char *text = whole ? meta->large : rq.late->text;
    assert(text && (whole || index < meta->nlate) && "what is compiled later was kept as text");
    rq.of = meta;
    rq.bind = tr_module_bindings(m, &rq.nbind);
    if (want)
        rq.want = *want;
    if (rq.cache_dir) {
        tr_hasher *h = tr_hasher_new();
        tr_hasher_add(h, &whole, sizeof whole);
        tr_hasher_add(h, text, strlen(text));
        tr_hasher_add(h, &meta->atomic_counts, sizeof meta->atomic_counts);
        tr_hasher_end(h, &rq.key);
    }
    c->opts = meta->opts;
    tr_prog_init(&p, c);
    p.atomic_counts = meta->atomic_counts;
    return tr_compile(&p, &rq, out);
}

tr_module *tr_driver_far(const tr_late *l, const char *device, tr_ctx *c, tr_prog *p) {
    const tr_module *m = l->module;
    const tr_meta *meta = tr_module_meta(m);
    tr_compiled out = {0};
    tr_request rq = {.upto = TR_STAGE_TIME,
                     .cache_dir = tr_module_cache(m),
                     .device = device,
                     .kind = TR_FN_KERNEL,
                     .far = meta->late[l->index].text,
                     .of = meta,
                     .want.device = {.separate = 1}};
    rq.bind = tr_module_bindings(m, &rq.nbind);
    if (rq.cache_dir) {
        tr_hasher *h = tr_hasher_new();
        tr_hasher_add(h, "kernel", sizeof "kernel");
        tr_hasher_add(h, rq.far, strlen(rq.far));
        tr_hasher_end(h, &rq.key);
    }
    c->opts = meta->opts;
    c->opts.offload = TR_OFFLOAD_NO;
    c->opts.parallel = 0;
    tr_prog_init(p, c);
    bool ok = tr_compile(p, &rq, &out);
    if (ok && out.from_cache) /* for its arguments */
        tr_ir_parse(c, rq.far, "a kernel", p);
    return ok ? out.module : NULL;
}

static bool begin(tr_ctx *c) {
    tr_ctx_init(c);
    c->types = tr_tytab_new(NULL);
    return c->types != NULL;
}

static void end(tr_ctx *c) {
    if (c->types)
        tr_tytab_free(c->types);
    tr_ctx_fini(c);
}

static void work(tr_late *l, const tr_dump *dump) {
    tr_ctx c;
    tr_compiled out;
    if (begin(&c)) {
        c.dump = *dump;
        if (compile(&c, l->module, l->index, NULL, &out))
            tr_module_add_late(l, out.module);
        else if (c.errs && c.errs->kind != TR_ERR_MEMORY)
            tr_module_no_late(l, c.errs->text);
    }
    end(&c);
}

void *tr_driver_late(tr_late *l, const tr_dump *dump) {
    pthread_rwlock_rdlock(&forks);
    tr_module_lock_late(l->module);
    void *entry = atomic_load(&l->entry);
    if (!entry) {
        work(l, dump);
        entry = atomic_load(&l->entry);
    }
    assert((!entry || l->meta) && "late code has what describes its raise sites");
    tr_module_unlock_late(l->module);
    pthread_rwlock_unlock(&forks);
    return entry;
}

tr_module *tr_driver_large(const tr_module *m, const tr_dump *dump, char *why, size_t n) {
    tr_ctx c;
    tr_compiled out = {0};
    why[0] = '\0';
    pthread_rwlock_rdlock(&forks);
    if (begin(&c)) {
        c.dump = *dump;
        bool ok = compile(&c, m, LARGE, NULL, &out);
        if (!ok && c.errs && c.errs->kind != TR_ERR_MEMORY)
            snprintf(why, n, "%s", c.errs->text);
    }
    end(&c);
    pthread_rwlock_unlock(&forks);
    return out.module;
}

/* --- texts --- */

static void head_of(tr_sb *to, char comment, uint32_t k) {
    if (to && k == LARGE)
        tr_sb_printf(to, "\n%c the function once it has made an array of %u bytes\n", comment,
                     (unsigned)TR_LARGE);
    else if (to)
        tr_sb_printf(to, "\n%c late code %u: compiled when it is first reached\n", comment, (unsigned)k);
}

static void head(const tr_want *want, uint32_t k) {
    head_of(want->llvm, ';', k);
    head_of(want->llvmopt, ';', k);
    head_of(want->assembly, '#', k);
}

bool tr_driver_late_texts(const tr_module *m, const tr_want *want, char *why, size_t n) {
    const tr_meta *meta = tr_module_meta(m);
    bool ok = true;
    for (uint32_t k = 0; ok && k < meta->nlate + (meta->large != NULL); k++) {
        tr_ctx c;
        tr_compiled out;
        uint32_t which = k < meta->nlate ? k : LARGE;
        head(want, which);
        ok = begin(&c) && compile(&c, m, which, want, &out);
        if (ok)
            tr_module_unref(out.module);
        else
            snprintf(why, n, "%s", c.errs ? c.errs->text : "out of memory");
        end(&c);
    }
    return ok;
}
