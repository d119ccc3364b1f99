/* Code of the CUDA device, and its launches.
 *
 * A kernel's code is loaded on the GPU that the thread uses, and on another one when it is launched there:
 * from its text, so that GPUs may differ. What it raises it writes into a record of its own (rt/layout.h),
 * which the host and all GPUs see. A launch packs its parameters on the stack; nothing is allocated. Code
 * that nobody has any more goes when all that was submitted has ended. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/cuda.h"

enum {
    FN_SHARED = 8,          /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    FREE_SHARED = 48 << 10, /* bytes that a kernel has without asking */
    LOG = 1024
};

/* --- code --- */

/* A record of exceptions. NULL: no memory. */
static tr_dev_error *take_record(tr_cuda *c) {
    cuda_records *r = c->records;
    while (r && r->taken == (UINT64_C(1) << CUDA_RECORDS) - 1)
        r = r->next;
    if (!r) {
        void *at = NULL;
        if (!(r = calloc(1, sizeof *r)) ||
            c->fn.host_alloc(&at, CUDA_RECORDS * sizeof(tr_dev_error), CUDA_HOST_SHARED)) {
            free(r);
            return NULL;
        }
        r->at = at;
        r->next = c->records;
        c->records = r;
    }
    int k = __builtin_ctzll(~r->taken);
    assert(k < CUDA_RECORDS && "a block of records that is not full has one left");
    r->taken |= UINT64_C(1) << k;
    memset(r->at + k, 0, sizeof *r->at);
    return r->at + k;
}

static void give_record(tr_cuda *c, const tr_dev_error *e) {
    for (cuda_records *r = c->records; e && r; r = r->next)
        if (e >= r->at && e < r->at + CUDA_RECORDS) {
            assert(r->taken >> (e - r->at) & 1 && "a record that is given back was taken");
            r->taken &= ~(UINT64_C(1) << (e - r->at));
        }
}

static bool load_module(tr_cuda *c, const char *text, const char *kernel, cuda_loaded *on, char *msg,
                        size_t room) {
    enum { ERROR_LOG = 5, ERROR_BYTES = 6 }; /* CU_JIT_ERROR_LOG_BUFFER, _SIZE_BYTES */
    char log[LOG] = "";
    int options[] = {ERROR_LOG, ERROR_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    void *function = NULL;
    int status = c->fn.load(&on->module, text, 2, options, values);
    log[sizeof log - 1] = 0;
    if (status) {
        cuda_refused(c, "cuModuleLoadDataEx", status);
        snprintf(msg, room, "the driver does not load the code of kernel %.60s: %s (%d)%s%s", kernel,
                 cuda_name_of(c, status), status, *log ? "\n" : "", log);
        return false;
    }
    status = c->fn.function(&function, on->module, kernel);
    if (!status) {
        on->shared = FREE_SHARED;
        on->function = function;
        return true;
    }
    cuda_refused(c, "cuModuleGetFunction", status);
    snprintf(msg, room, "the code of kernel %.60s lacks it: %s (%d)", kernel, cuda_name_of(c, status),
             status);
    c->fn.unload(on->module);
    return false;
}

static int allow_shared(tr_cuda *c, cuda_loaded *on, unsigned bytes) {
    int status = c->fn.function_set(on->function, FN_SHARED, (int)bytes);
    if (!status)
        on->shared = bytes;
    return status;
}

/* What that GPU, which the thread has entered, has loaded; NULL: it does not load it, as
 * cuda_refused was told. */
static cuda_loaded *loaded_on(tr_cuda *c, tr_dev_code *code, int gpu) {
    char msg[LOG + 200];
    cuda_loaded *on = &code->on[gpu];
    if (on->function)
        return on;
    pthread_mutex_lock(&c->loading);
    bool ok = on->function || load_module(c, code->text, code->name, on, msg, sizeof msg);
    pthread_mutex_unlock(&c->loading);
    return ok ? on : NULL;
}

void *cuda_assemble(tr_dev *d, const char *text, size_t *size) {
    enum { PTX = 1 }; /* CU_JIT_INPUT_PTX */
    tr_cuda *c = (tr_cuda *)d;
    void *state = NULL, *made = NULL, *copy = NULL;
    *size = 0;
    if (cuda_enter(c) || c->fn.link_new(0, NULL, NULL, &state))
        return NULL;
    if (!c->fn.link_add(state, PTX, text, strlen(text) + 1, "kernel.ptx", 0, NULL, NULL) &&
        !c->fn.link_end(state, &made, size) && (copy = malloc(*size)))
        memcpy(copy, made, *size);
    c->fn.link_free(state);
    return copy;
}

static void free_code(tr_dev_code *code) {
    free(code->on);
    free(code);
}

tr_dev_code *cuda_load(tr_dev *d, const tr_dev_image *im, char *msg, size_t room) {
    tr_cuda *c = (tr_cuda *)d;
    size_t parts = im->nparts * sizeof *im->parts;
    tr_dev_code *code = calloc(1, sizeof *code + parts);
    cuda_loaded *on = calloc((size_t)c->ngpus, sizeof *on);
    int here = cuda_here();
    int32_t reason = cuda_enter_on(c, here);
    if (reason && reason != TR_CODE_DEVICE)
        snprintf(msg, room, "a GPU that was used before a fork cannot be used after it");
    else if (reason)
        d->ops->explain(d, msg, room);
    if (!code || !on)
        snprintf(msg, room, "no memory for the code of kernel %.60s", im->name);
    if (reason || !code || !on || !load_module(c, im->text, im->name, &on[here], msg, room)) {
        free(on);
        free(code);
        return NULL;
    }
    if (im->source && strstr(im->source, "vprintf"))
        atomic_store(&c->prints, true);
    code->on = on;
    code->text = im->source;
    code->name = im->name;
    code->nparts = im->nparts;
    code->bytes = im->bytes;
    code->owner = im->owner;
    code->cooperative = im->cooperative;
    memcpy(code->parts, im->parts, parts);
    pthread_mutex_lock(&c->lock);
    bool ok = !im->raises || (code->record = take_record(c));
    if (ok) {
        code->next = c->codes;
        if (code->next)
            code->next->prev = code;
        c->codes = code;
    }
    pthread_mutex_unlock(&c->lock);
    if (ok)
        return code;
    c->fn.unload(on[here].module);
    free_code(code);
    snprintf(msg, room, "no memory for what kernel %.60s raises", im->name);
    return NULL;
}

/* In front of a question about blocks with so much shared memory: what the thread's GPU has
 * loaded. NULL with a reason. */
static cuda_loaded *enter_with(tr_cuda *c, tr_dev_code *code, uint32_t shared, int32_t *reason) {
    int here = cuda_here();
    *reason = cuda_enter_on(c, here);
    cuda_loaded *on = *reason ? NULL : loaded_on(c, code, here);
    int status = on && shared > on->shared ? allow_shared(c, on, shared) : 0;
    if (status)
        *reason = cuda_refused(c, "cuFuncSetAttribute", status);
    else if (!*reason && !on)
        *reason = TR_CODE_DEVICE;
    return *reason ? NULL : on;
}

int32_t cuda_takes(tr_dev *d, tr_dev_code *code, tr_dev_takes *out) {
    tr_cuda *c = (tr_cuda *)d;
    const struct {
        int which; /* CUfunction_attribute */
        int *value;
    } all[] = {
        {0, &out->threads}, {1, &out->shared}, {2, &out->constant}, {3, &out->local}, {4, &out->registers}};
    int32_t reason;
    cuda_loaded *on = enter_with(c, code, 0, &reason);
    for (size_t k = 0; k < sizeof all / sizeof *all && !reason; k++) {
        int status = c->fn.function_get(all[k].value, all[k].which, on->function);
        reason = status ? cuda_refused(c, "cuFuncGetAttribute", status) : 0;
    }
    return reason;
}

int32_t cuda_held(tr_dev *d, tr_dev_code *code, uint32_t threads, uint32_t shared, int *blocks) {
    tr_cuda *c = (tr_cuda *)d;
    int32_t reason;
    cuda_loaded *on = enter_with(c, code, shared, &reason);
    int status = on ? c->fn.occupancy(blocks, on->function, (int)threads, shared) : 0;
    return status ? cuda_refused(c, "cuOccupancyMaxActiveBlocksPerMultiprocessor", status) : reason;
}

int32_t cuda_suits(tr_dev *d, tr_dev_code *code, uint32_t shared, uint32_t limit, int *blocks, int *threads) {
    tr_cuda *c = (tr_cuda *)d;
    int32_t reason;
    cuda_loaded *on = enter_with(c, code, shared, &reason);
    int status = on ? c->fn.potential(blocks, threads, on->function, NULL, shared, (int)limit) : 0;
    return status ? cuda_refused(c, "cuOccupancyMaxPotentialBlockSize", status) : reason;
}

/* With the lock. */
static void drop_code(tr_cuda *c, tr_dev_code *code) {
    assert((code->prev ? code->prev->next : c->codes) == code && "code that goes was listed");
    *(code->prev ? &code->prev->next : &c->codes) = code->next;
    if (code->next)
        code->next->prev = code->prev;
    give_record(c, code->record);
}

void cuda_see_orphans(tr_cuda *c) {
    pthread_mutex_lock(&c->lock);
    for (tr_dev_code *code = c->codes; code; code = code->next)
        code->orphan = code->orphan ? 2 : 0;
    pthread_mutex_unlock(&c->lock);
}

void cuda_unload_orphans(tr_cuda *c) {
    tr_dev_code *gone = NULL;
    pthread_mutex_lock(&c->lock);
    for (tr_dev_code *code = c->codes, *next; code; code = next) {
        next = code->next;
        if (code->orphan == 2) {
            drop_code(c, code);
            code->next = gone;
            gone = code;
        }
    }
    pthread_mutex_unlock(&c->lock);
    for (tr_dev_code *next; gone; gone = next) {
        next = gone->next;
        for (int k = 0; k < c->ngpus; k++)
            if (gone->on[k].function && cuda_gives_back(c, k))
                c->fn.unload(gone->on[k].module);
        free_code(gone);
        cuda_gives_back(c, cuda_here());
    }
}

/* It may be at work, or wait for a call that waits for who is here: then it goes when nothing is. */
void cuda_unload(tr_dev *d, tr_dev_code *code) {
    tr_cuda *c = (tr_cuda *)d;
    uint64_t ticket = 0;
    bool idle = cuda_reached(d, NULL, &ticket, 0); /* what it raised is noted */
    pthread_mutex_lock(&c->lock);
    assert(!code->orphan && "code is given back once");
    code->orphan = idle ? 2 : 1;
    if (c->latest == code)
        c->latest = NULL;
    for (unsigned k = 0; k < CUDA_FAILURES; k++) /* nobody is left to whom it says something */
        if (c->failure[k].owner == code->owner)
            c->failure[k].owner = NULL;
    code->owner = NULL;
    pthread_mutex_unlock(&c->lock);
    if (idle)
        cuda_unload_orphans(c);
}

/* --- launches --- */

static void pack(const tr_dev_code *code, const tr_slot *slots, unsigned char *buf) {
    memcpy(buf, &code->record, sizeof code->record);
    for (uint32_t k = 0; k < code->nparts; k++) {
        const tr_dev_part *p = &code->parts[k];
        const tr_slot *s = &slots[p->slot];
        assert(p->offset + p->size <= code->bytes && "a part lies among the parameters");
        switch (p->size) { /* of a length that is known it is one instruction */
        case 8: memcpy(buf + p->offset, s, 8); break;
        case 4: memcpy(buf + p->offset, s, 4); break;
        case 2: memcpy(buf + p->offset, s, 2); break;
        default: memcpy(buf + p->offset, s, 1); break;
        }
    }
}

/* All blocks at once. This call has no form for a buffer: it takes the address of each parameter. */
static int launch_together(tr_cuda *c, const tr_dev_code *code, void *function, const unsigned n[7],
                           unsigned char *buf, void *stream) {
    void *params[CUDA_PARAMETERS];
    params[0] = buf;
    for (uint32_t k = 0; k < code->nparts; k++)
        params[k + 1] = buf + code->parts[k].offset;
    return c->fn.launch_together(function, n[0], n[1], n[2], n[3], n[4], n[5], n[6], stream, params);
}

int cuda_launch_on(tr_cuda *c, const tr_dev_launch *l, int gpu, void *stream) {
    enum { END, BUFFER, SIZE };
    _Alignas(16) unsigned char buf[CUDA_PARAMETERS];
    tr_dev_code *code = (tr_dev_code *)(uintptr_t)l->code;
    unsigned n[7];
    size_t bytes = code->bytes;
    assert(l->nsizes == 7 && bytes <= sizeof buf && "parameters fit what a launch may take");
    for (uint32_t k = 0; k < 7; k++)
        n[k] = (unsigned)l->slots[k].i;
    pack(code, l->slots + l->nsizes, buf);
    cuda_loaded *on = loaded_on(c, code, gpu);
    if (!on)
        return cuda_refused_with();
    int status = n[6] > on->shared ? allow_shared(c, on, n[6]) : 0;
    void *how[] = {(void *)BUFFER, buf, (void *)SIZE, &bytes, (void *)END};
    c->latest = code;
    if (!status && code->cooperative)
        return launch_together(c, code, on->function, n, buf, stream);
    return status ? status
                  : c->fn.launch(on->function, n[0], n[1], n[2], n[3], n[4], n[5], n[6], stream, NULL, how);
}

int32_t cuda_launch(tr_dev *d, tr_dev_stream *stream, const tr_dev_launch *l) {
    tr_cuda *c = (tr_cuda *)d;
    cuda_stream *s = (cuda_stream *)stream;
    int gpu = cuda_gpu_of(s);
    bool over = atomic_load_explicit(&c->stopping, memory_order_relaxed);
    int32_t code = over ? TR_CODE_ENDED : cuda_enter_on(c, gpu);
    int status = code ? 0 : cuda_launch_on(c, l, gpu, s ? s->handle : NULL);
    cuda_leave(c, gpu);
    atomic_fetch_add_explicit(s ? &s->work.given : &c->gpus[gpu].work.given, 1, memory_order_relaxed);
    return code ? code : status ? cuda_refused(c, "cuLaunchKernel", status) : 0;
}
