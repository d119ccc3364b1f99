/* Memory of the CUDA device: blocks, and copies of items.
 *
 * Where the driver has pools, blocks come and go in the order of streams, and nobody waits. Memory that goes
 * must lie still until the launches that use it have ended, and of a launch only the stream is known: what
 * was given to a stream, and how much of it is known to have ended, is counted (cuda_work). So a block goes
 * in the order of the one stream that has something to do; where several have, in that of a stream of our
 * own, which waits for all of them; where none has, at once. It must not be the default stream's order unless
 * that has work: whatever is put there waits for all other streams, and they for it. A block that other
 * libraries were shown goes in its order all the same, for they may have used it there. Jobs hold what they
 * use until they have ended, so they do not count.
 *
 * An address does not say by itself whether it is ours: blocks are kept in order, and
 * looked for by bisection. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/cuda.h"

/* --- memory --- */

/* Where the block with this address is, or would be. */
static size_t place_of(const tr_cuda *c, uintptr_t at) {
    size_t lo = 0, hi = c->nblocks;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->blocks[mid].at <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool note_block(tr_cuda *c, const cuda_block *b) {
    if (c->nblocks == c->capblocks) {
        size_t cap = c->capblocks ? 2 * c->capblocks : 64;
        cuda_block *more = realloc(c->blocks, cap * sizeof *more);
        if (!more)
            return false;
        c->blocks = more;
        c->capblocks = cap;
    }
    size_t k = place_of(c, b->at);
    assert((k == 0 || c->blocks[k - 1].at + c->blocks[k - 1].bytes <= b->at) && "blocks do not overlap");
    memmove(c->blocks + k + 1, c->blocks + k, (c->nblocks - k) * sizeof *c->blocks);
    c->blocks[k] = *b;
    c->nblocks++;
    if (b->place == TR_DEV_LOCAL && b->at < c->lo)
        c->lo = b->at;
    if (b->place == TR_DEV_LOCAL && b->at + b->bytes > c->hi)
        c->hi = b->at + b->bytes;
    return true;
}

/* --- the order of memory --- */

/* Something that it was given before is not done. */
static bool is_at_work(tr_cuda *c, cuda_work *w, void *handle) {
    uint64_t given = atomic_load(&w->given);
    if (given == atomic_load(&w->ended))
        return false;
    if (c->fn.stream_query(handle))
        return true;
    cuda_work_ended(w, given);
    return false;
}

static bool stream_may_use_gpu(tr_cuda *c, cuda_stream *s, int gpu) {
    return s->gpu == gpu && !s->foreign && is_at_work(c, &s->work, s->handle);
}

/* `frees` waits for the streams that have work; false: not for all. With the lock. */
static bool wait_for_all(tr_cuda *c, int gpu) {
    const cuda_gpu *g = &c->gpus[gpu];
    for (cuda_stream *s = c->streams.next; s != &c->streams; s = s->next)
        if (stream_may_use_gpu(c, s, gpu) &&
            (c->fn.event_record(g->place, s->handle) || c->fn.stream_wait(g->frees, g->place, 0)))
            return false;
    return true;
}

/* The stream in whose order a block may go, with the lock. NULL: the default one, which is always right. */
static void *order_of(tr_cuda *c, int gpu, bool shown) {
    cuda_gpu *g = &c->gpus[gpu];
    cuda_stream *one = NULL;
    unsigned n = 0;
    if (shown || !g->frees || !g->place || is_at_work(c, &g->work, NULL))
        return NULL;
    for (cuda_stream *s = c->streams.next; s != &c->streams; s = s->next)
        if (stream_may_use_gpu(c, s, gpu)) {
            one = s;
            n++;
        }
    if (n == 1)
        return one->handle;
    return n == 0 || wait_for_all(c, gpu) ? g->frees : NULL;
}

/* A block in the order of the stream that uses it first; where that is not known it is
 * there for all of them. */
static int take_ordered(tr_cuda *c, uint64_t *at, uint64_t bytes, int gpu, cuda_stream *s) {
    cuda_gpu *g = &c->gpus[gpu];
    bool known = s && !s->foreign;
    int status;
    if (known || !g->allocs || is_at_work(c, &g->work, NULL)) {
        status = c->fn.alloc_on(at, bytes, known ? s->handle : NULL);
        atomic_fetch_add(known ? &s->work.given : &g->work.given, 1);
        return status;
    }
    status = c->fn.alloc_on(at, bytes, g->allocs);
    if (!status && c->fn.stream_query(g->allocs) == TR_CUDA_NOT_READY)
        status = c->fn.stream_await(g->allocs); /* it was given what another stream has not done with */
    return status;
}

/* What the pool keeps for later goes back: of a request that failed, too, as a pool grows
 * by parts of it before it fails. */
static void trim(tr_cuda *c, int gpu) {
    void *pool;
    if (c->fn.pool_trim && !c->fn.pool(&pool, c->gpus[gpu].device))
        c->fn.pool_trim(pool, 0);
}

/* What was freed may be all that is left, when its streams have come so far. */
static int take_pooled(tr_cuda *c, uint64_t *at, uint64_t bytes, int gpu, cuda_stream *s) {
    int status = take_ordered(c, at, bytes, gpu, s);
    if (status != TR_CUDA_NO_MEMORY || tr_dev_is_called() || c->fn.await())
        return status;
    trim(c, gpu);
    status = take_ordered(c, at, bytes, gpu, s);
    if (status == TR_CUDA_NO_MEMORY)
        trim(c, gpu);
    return status;
}

static int take_block(tr_cuda *c, cuda_block *b, cuda_stream *s, const char **what) {
    enum { FOR_ALL = 1 }; /* CU_MEM_ATTACH_GLOBAL */
    uint64_t at = 0;
    void *host = NULL;
    int status;
    if (b->place == TR_DEV_HOST) {
        *what = "cuMemHostAlloc";
        status = c->fn.host_alloc(&host, b->bytes, CUDA_HOST_SHARED);
        at = (uint64_t)(uintptr_t)host;
    } else if (b->place == TR_DEV_MANAGED) {
        *what = "cuMemAllocManaged";
        status = c->fn.managed(&at, b->bytes, FOR_ALL);
    } else if (c->gpus[b->gpu].pools) {
        *what = "cuMemAllocAsync";
        status = take_pooled(c, &at, b->bytes, b->gpu, s);
    } else {
        *what = "cuMemAlloc";
        status = c->fn.alloc(&at, b->bytes);
    }
    b->at = (uintptr_t)at;
    return status;
}

/* The stream lives while the lock is held. */
static void free_ordered(tr_cuda *c, const cuda_block *b) {
    pthread_mutex_lock(&c->lock);
    c->fn.free_on(b->at, order_of(c, b->gpu, b->shown));
    pthread_mutex_unlock(&c->lock);
}

/* All GPUs that may use the block have done what they were given; the thread has entered the block's then. */
static void await_users(tr_cuda *c, const cuda_block *b) {
    bool local = b->place == TR_DEV_LOCAL;
    uint32_t users = local ? atomic_load(&c->gpus[b->gpu].peers) : UINT32_MAX;
    for (int k = 0; k < c->ngpus; k++)
        if (users >> k & 1 && c->gpus[k].context && !cuda_enter_on(c, k))
            c->fn.await();
    cuda_enter_on(c, b->gpu);
}

/* What the host sees is not freed in the order of a stream: all work has ended first; nor
 * what another GPU may use. */
static void free_block(tr_cuda *c, const cuda_block *b) {
    if (b->place != TR_DEV_LOCAL || atomic_load(&c->gpus[b->gpu].peers))
        await_users(c, b);
    if (b->place == TR_DEV_HOST)
        c->fn.host_free((void *)b->at);
    else if (b->place == TR_DEV_LOCAL && c->gpus[b->gpu].pools)
        free_ordered(c, b);
    else
        c->fn.free(b->at);
}

static tr_dev_mem mem_of(tr_cuda *c, const cuda_block *b) {
    bool local = b->place == TR_DEV_LOCAL;
    return (tr_dev_mem){.at = (void *)b->at,
                        .bytes = b->bytes,
                        .place = b->place,
                        .number = local ? b->gpu : -1,
                        .users = local ? &c->gpus[b->gpu].peers : NULL};
}

int32_t cuda_alloc(tr_dev *d, tr_dev_place place, tr_dev_stream *s, uint64_t bytes, tr_dev_mem *out) {
    tr_cuda *c = (tr_cuda *)d;
    int gpu = cuda_gpu_of((cuda_stream *)s);
    int32_t code = cuda_enter_on(c, gpu);
    cuda_block b = {.bytes = bytes ? bytes : 1, .place = place, .gpu = gpu};
    const char *what;
    if (code)
        return code;
    int status = take_block(c, &b, (cuda_stream *)s, &what);
    if (status) {
        code = cuda_refused(c, what, status);
    } else {
        pthread_mutex_lock(&c->lock);
        bool ok = note_block(c, &b);
        pthread_mutex_unlock(&c->lock);
        *out = mem_of(c, &b);
        out->bytes = bytes;
        if (!ok) {
            free_block(c, &b);
            code = TR_CODE_MEMORY;
        }
    }
    cuda_leave(c, gpu);
    return code;
}

/* What another GPU may use goes when nothing is at work. A call of a stream's may not wait: what it
 * drops goes with what is dropped next. */
static bool free_must_wait(tr_cuda *c, const cuda_block *b) {
    bool local = b->place == TR_DEV_LOCAL;
    return (local && atomic_load(&c->gpus[b->gpu].peers)) ||
           (tr_dev_is_called() && (!local || !c->gpus[b->gpu].pools));
}

/* With the lock; false: there is no memory. */
static bool put_off(tr_cuda *c, const cuda_block *b) {
    cuda_block *all = realloc(c->later, (c->nlater + 1) * sizeof *all);
    if (!all)
        return false;
    all[c->nlater++] = *b;
    c->later = all;
    return true;
}

/* One that may go now: where something is at work (`idle` false) what only waits for it.
 * False: there is none. */
static bool next_put_off(tr_cuda *c, bool idle, cuda_block *out) {
    pthread_mutex_lock(&c->lock);
    size_t k = c->nlater;
    while (k > 0 && !idle && c->later[k - 1].place == TR_DEV_LOCAL && c->gpus[c->later[k - 1].gpu].pools)
        k--;
    if (k > 0) {
        *out = c->later[k - 1];
        c->later[k - 1] = c->later[--c->nlater];
    }
    pthread_mutex_unlock(&c->lock);
    return k > 0;
}

void cuda_free_put_off(tr_cuda *c, bool idle) {
    cuda_block b;
    while (c->nlater && next_put_off(c, idle, &b)) {
        if (cuda_gives_back(c, b.gpu))
            free_block(c, &b);
        cuda_leave(c, b.gpu);
    }
}

void cuda_free(tr_dev *d, const tr_dev_mem *m) {
    tr_cuda *c = (tr_cuda *)d;
    uintptr_t at = (uintptr_t)m->at;
    pthread_mutex_lock(&c->lock);
    size_t k = place_of(c, at);
    assert(k > 0 && c->blocks[k - 1].at == at && "what is given back was given out");
    cuda_block b = c->blocks[k - 1];
    c->nblocks--;
    memmove(c->blocks + k - 1, c->blocks + k, (c->nblocks - k + 1) * sizeof *c->blocks);
    bool later = free_must_wait(c, &b) && put_off(c, &b);
    pthread_mutex_unlock(&c->lock);
    if (!later && cuda_gives_back(c, b.gpu)) /* else it has gone with the context */
        free_block(c, &b);
    cuda_leave(c, b.gpu);
    if (!tr_dev_is_called())
        cuda_free_put_off(c, false);
}

/* The live block that holds an address, with the lock; NULL: none does. */
static cuda_block *block_at(tr_cuda *c, uintptr_t at) {
    size_t k = place_of(c, at);
    return k > 0 && at - c->blocks[k - 1].at < c->blocks[k - 1].bytes ? &c->blocks[k - 1] : NULL;
}

bool cuda_find(tr_dev *d, const void *at, tr_dev_mem *out) {
    tr_cuda *c = (tr_cuda *)d;
    pthread_mutex_lock(&c->lock);
    const cuda_block *b = block_at(c, (uintptr_t)at);
    if (b)
        *out = mem_of(c, b);
    pthread_mutex_unlock(&c->lock);
    return b != NULL;
}

void cuda_show(tr_dev *d, const void *at) {
    tr_cuda *c = (tr_cuda *)d;
    pthread_mutex_lock(&c->lock);
    cuda_block *b = block_at(c, (uintptr_t)at);
    if (b)
        b->shown = true;
    pthread_mutex_unlock(&c->lock);
}

int cuda_lies_on(tr_cuda *c, const void *at) {
    tr_dev_mem m;
    return c->ngpus > 1 && cuda_owns(&c->dev, at) && cuda_find(&c->dev, at, &m) ? m.number : -1;
}

bool cuda_owns(const tr_dev *d, const void *at) {
    const tr_cuda *c = (const tr_cuda *)d;
    return (uintptr_t)at >= c->lo && (uintptr_t)at < c->hi;
}

void cuda_memory(tr_dev *d, uint64_t *left, uint64_t *total) {
    tr_cuda *c = (tr_cuda *)d;
    size_t l = 0, t = 0;
    if (cuda_enter(c) || c->fn.memory(&l, &t))
        l = t = 0;
    *left = l;
    *total = t;
}

/* Whose memory an address is, the driver knows of all libraries of the process. */
int cuda_sees(tr_dev *d, const void *at) {
    enum { MEMORY_TYPE = 2 }; /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
    tr_cuda *c = (tr_cuda *)d;
    unsigned type = 0;
    bool known = !cuda_enter(c) && c->fn.pointer(&type, MEMORY_TYPE, (uint64_t)(uintptr_t)at) == 0;
    return known ? (int)type : 0;
}

int32_t cuda_pin(tr_dev *d, void *at, uint64_t bytes) {
    tr_cuda *c = (tr_cuda *)d;
    int32_t code = cuda_enter(c);
    int status = code ? 0 : c->fn.pin(at, bytes, CUDA_HOST_SHARED);
    return code ? code : status ? cuda_refused(c, "cuMemHostRegister", status) : 0;
}

int32_t cuda_unpin(tr_dev *d, void *at) {
    tr_cuda *c = (tr_cuda *)d;
    int32_t code = cuda_enter(c);
    int status = code ? 0 : c->fn.unpin(at);
    return code ? code : status ? cuda_refused(c, "cuMemHostUnregister", status) : 0;
}

/* --- copies --- */

static uint64_t number(const void *p) {
    return (uint64_t)(uintptr_t)p;
}

/* Rows of `width` bytes, either pitch at least that. */
static int copy_rows(tr_cuda *c, const tr_dev_copy *p, uint64_t width, int64_t rows, int64_t to_pitch,
                     int64_t from_pitch, void *stream) {
    tr_cuda_rows r = {.from_type = TR_CUDA_UNIFIED,
                      .to_type = TR_CUDA_UNIFIED,
                      .from = number(p->from),
                      .to = number(p->to),
                      .from_pitch = (size_t)from_pitch,
                      .to_pitch = (size_t)to_pitch,
                      .width = width,
                      .height = (size_t)rows};
    return c->fn.copy_rows(&r, stream);
}

/* The last axes in as few calls as there are, the others one place after the other. */
static int copy_part(tr_cuda *c, const tr_dev_copy *p, uint32_t axis, void *stream) {
    uint32_t left = p->ndim - axis;
    uint64_t width = p->item;
    uint32_t k = p->ndim;
    if (left && p->to_stride[k - 1] == (int64_t)p->item && p->from_stride[k - 1] == (int64_t)p->item) {
        k--;
        left--;
        width *= (uint64_t)p->shape[k];
    }
    if (left == 0)
        return c->fn.copy(number(p->to), number(p->from), width, stream);
    int64_t to = p->to_stride[k - 1], from = p->from_stride[k - 1];
    if (left == 1 && to >= (int64_t)width && from >= (int64_t)width)
        return copy_rows(c, p, width, p->shape[k - 1], to, from, stream);
    tr_dev_copy q = *p;
    for (int64_t i = 0; i < p->shape[axis]; i++) {
        int status = copy_part(c, &q, axis + 1, stream);
        if (status)
            return status;
        q.to = (char *)q.to + p->to_stride[axis];
        q.from = (const char *)q.from + p->from_stride[axis];
    }
    return 0;
}

/* The items one behind the other, as they come. */
static tr_dev_copy packed(const tr_dev_copy *p, void *at, bool to) {
    tr_dev_copy q = *p;
    int64_t step = (int64_t)p->item;
    for (uint32_t k = p->ndim; k-- > 0;) {
        (to ? q.to_stride : q.from_stride)[k] = step;
        step *= p->shape[k];
    }
    if (to)
        q.to = at;
    else
        q.from = at;
    return q;
}

/* Arrays that meet: all is read before anything is written. */
static int copy_by_way(tr_cuda *c, const tr_dev_copy *p, int gpu, void *stream) {
    bool ordered = c->gpus[gpu].pools;
    uint64_t at, bytes = tr_dev_copy_bytes(p);
    int status = ordered ? c->fn.alloc_on(&at, bytes, stream) : c->fn.alloc(&at, bytes);
    if (status)
        return status;
    tr_dev_copy out = packed(p, (void *)(uintptr_t)at, true), in = packed(p, (void *)(uintptr_t)at, false);
    status = copy_part(c, &out, 0, stream);
    status = status ? status : copy_part(c, &in, 0, stream);
    int after = ordered ? c->fn.free_on(at, stream) : c->fn.free(at); /* that waits */
    return status ? status : after;
}

/* Memory on a GPU, which the thread enters. */
static int take_room(tr_cuda *c, int gpu, uint64_t bytes, uint64_t *at) {
    return cuda_enter_on(c, gpu) ? TR_CUDA_NO_PEER : c->fn.alloc(at, bytes);
}

/* From one GPU to another: in one piece, so that what has gaps is packed there and unpacked
 * here. On a stream of the GPU `to`. */
static int copy_across(tr_cuda *c, const tr_dev_copy *p, int to, int from, void *stream) {
    uint64_t bytes = tr_dev_copy_bytes(p), there = 0, here = 0;
    int status = take_room(c, from, bytes, &there);
    tr_dev_copy out = packed(p, (void *)(uintptr_t)there, true);
    if (!status)
        status = copy_part(c, &out, 0, NULL);
    if (!status)
        status = c->fn.stream_await(NULL); /* what was to come before on that GPU has come, too */
    if (!status)
        status = take_room(c, to, bytes, &here);
    if (!status)
        status = c->fn.peer_copy(here, c->gpus[to].context, there, c->gpus[from].context, bytes, stream);
    tr_dev_copy in = packed(p, (void *)(uintptr_t)here, false);
    if (!status)
        status = copy_part(c, &in, 0, stream);
    if (!status)
        status = c->fn.stream_await(stream);
    if (here)
        c->fn.free(here);
    if (there && !cuda_enter_on(c, from))
        c->fn.free(there);
    return cuda_enter_on(c, to) ? TR_CUDA_NO_PEER : status;
}

/* What the stream is given from now on comes behind the default stream of the GPU `of`. The thread
 * has entered `gpu`, before and after. */
static int follow(tr_cuda *c, int of, int gpu, void *stream) {
    void *e;
    if (cuda_enter_on(c, of))
        return cuda_refused_with();
    int status = c->fn.event_new(&e, CUDA_NO_TIMING);
    if (!status) {
        status = c->fn.event_record(e, NULL);
        status = status ? status : c->fn.stream_wait(stream, e, 0);
        c->fn.event_free(e);
    }
    return cuda_enter_on(c, gpu) ? cuda_refused_with() : status;
}

int cuda_copy(tr_cuda *c, const tr_dev_copy *given, int gpu, void *stream) {
    tr_dev_copy p = *given;
    if (tr_dev_copy_bytes(&p) == 0)
        return 0;
    tr_dev_copy_plan(&p);
    int to = cuda_lies_on(c, p.to), from = cuda_lies_on(c, p.from);
    if (to >= 0 && from >= 0 && to != from)
        return tr_dev_is_called() ? TR_CUDA_NOT_PERMITTED
               : !c->fn.peer_copy ? TR_CUDA_NO_PEER
                                  : copy_across(c, &p, to, from, to == gpu ? stream : NULL);
    int on = to >= 0 ? to : from;
    if (stream && on >= 0 && on != gpu) {
        int status = follow(c, on, gpu, stream);
        if (status)
            return status;
    }
    bool one = p.ndim == 0 || (p.ndim == 1 && p.to_stride[0] == (int64_t)p.item &&
                               p.from_stride[0] == (int64_t)p.item && p.to == p.from);
    int status =
        !one && tr_dev_copy_meets(&p) ? copy_by_way(c, &p, gpu, stream) : copy_part(c, &p, 0, stream);
    if (!status && !stream) {
        status = c->fn.stream_await(NULL);
        if (atomic_load_explicit(&c->prints, memory_order_relaxed))
            fflush(stdout); /* the driver shows what kernels have printed where it waits */
    }
    return status;
}
