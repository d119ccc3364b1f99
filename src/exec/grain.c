/* Whether rows are worth several threads, and how many a thread takes at once: the one place where that is
 * decided for loops.
 *
 * It is decided by the clock: a trial on the calling thread tells what an item takes, the mean of what was
 * seen is kept with the loop.
 * Cost: two looks at the clock for a call that may be worth it, a load for one
 * that is known not to be. Results never depend on it. */
#include <assert.h>

#include "base/ctx.h"
#include "exec/priv.h"
#include "rt/pool.h"

/* What a thread must have to do before it is worth waking; what it does at most before it looks up
 * (Ctrl-C); and how long a trial runs before the time of an item is believed. */
static const double worth_ns = 10e3, most_ns = 2e6, trial_ns = 500;
static const double most_at_once = 1024; /* items that a trial begins with */
enum { LOOK = 32 };                      /* calls that are not worth it for one that is timed */

/* What loops that may run in parallel take for an item; the mean of what was seen, weighted towards the
 * last. What is far from it is taken at once: one of the two was a short run. */
static void learn(tr_exec *l, double ns, int64_t items) {
    assert(items > 0);
    float now = (float)(ns / (double)items), was = atomic_load_explicit(&l->item_ns, memory_order_relaxed);
    bool near = now < was * 4 && was < now * 4;
    atomic_store_explicit(&l->item_ns, near ? was * 0.75f + now * 0.25f : now, memory_order_relaxed);
}

/* How many rows a thread takes at once; 0: they are not worth several threads. */
static int64_t grain_of(const tr_exec *l, int64_t rows, int64_t per_row) {
    assert(rows >= 0 && per_row > 0);
    double row_ns = (double)atomic_load_explicit(&l->item_ns, memory_order_relaxed) * (double)per_row;
    int64_t fixed = tr_rt_fixed_grain();
    if (fixed)
        return rows > fixed ? fixed : 0;
    if (!(row_ns * (double)rows >= 2 * worth_ns) || tr_rt_num_threads() < 2)
        return 0;
    double grain = (double)rows / 256;
    grain = grain * row_ns > most_ns ? most_ns / row_ns : grain;
    grain = grain * row_ns < worth_ns ? worth_ns / row_ns : grain;
    return grain > 1 ? (int64_t)grain : 1;
}

/* With how many rows a trial begins: what is known to last is not done on one thread. What is believed to
 * be short is not in many pieces either, each of which is a call and a look at the clock; but it may be
 * wrong, so not in one of any length. */
static int64_t few_rows(const tr_exec *l, int64_t per_row) {
    assert(per_row > 0);
    double item = (double)atomic_load_explicit(&l->item_ns, memory_order_relaxed);
    double fit = item > 0 ? trial_ns / item : 1;
    int64_t items = fit < most_at_once ? (int64_t)fit : (int64_t)most_at_once;
    return items > per_row ? items / per_row : 1;
}

/* fn over the first rows, as many as it takes to see what an item takes. */
static int32_t trial(tr_exec *l, tr_frame *frame, tr_par_fn *fn, void *ctx, int64_t rows, int64_t per_row,
                     int64_t *done) {
    int32_t code = 0;
    int64_t m = few_rows(l, per_row);
    uint64_t start = tr_now_ns();
    for (double ns = 0; !code && ns < trial_ns && *done < rows; m *= 2) {
        int64_t from = *done, to = rows - from < m ? rows : from + m;
        code = fn(frame, ctx, from, to, 0);
        uint64_t end = tr_now_ns();
        ns = (double)(end - start);
        start = end;
        if (ns >= trial_ns || to == rows)
            learn(l, ns, (to - from) * per_row);
        *done = to;
    }
    return code;
}

/* It is known not to be worth it; now and then with a look at the clock, for it may depend on the data. A
 * call that another thread counts over is no loss. */
static bool is_short(tr_exec *l, int64_t rows, int64_t per_row) {
    if (atomic_load_explicit(&l->item_ns, memory_order_relaxed) == 0 || grain_of(l, rows, per_row))
        return false;
    unsigned calls = atomic_load_explicit(&l->calls, memory_order_relaxed);
    atomic_store_explicit(&l->calls, calls + 1, memory_order_relaxed);
    return calls % LOOK != 0;
}

/* Ranges of what a trial has left. */
typedef struct rest {
    tr_par_fn *fn;
    void *ctx;
    int64_t first;
} rest;

static int32_t range_of_rest(tr_frame *frame, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    assert(lo <= hi);
    const rest *r = ctx;
    return r->fn(frame, r->ctx, lo + r->first, hi + r->first, worker);
}

int32_t tr_exec_spread(tr_exec *l, tr_frame *frame, tr_par_fn *fn, void *ctx, int64_t rows, int64_t per_row) {
    assert(l->spreads && rows > 0 && per_row > 0);
    int64_t done = 0;
    if (!tr_rt_fixed_grain()) {
        if (is_short(l, rows, per_row))
            return fn(frame, ctx, 0, rows, 0);
        int32_t code = trial(l, frame, fn, ctx, rows, per_row, &done);
        if (code || done == rows)
            return code;
    }
    int64_t grain = grain_of(l, rows - done, per_row);
    rest r = {fn, ctx, done};
    return grain ? tr_rt_parallel(frame, range_of_rest, &r, rows - done, grain)
                 : fn(frame, ctx, done, rows, 0);
}
