/* Threads of a block, blocks of a grid.
 *
 * Threads run one after the other until each has ended, waits, or has had its turn. Then whoever can go on
 * does: the lanes that a mask names when all of them, those that have ended aside, are at the same kind of
 * instruction with the same mask; those at one activemask when no lane of the warp runs otherwise; all
 * threads at a barrier when nobody else of the block is left. Blocks come one after the other too, unless the
 * kernel may wait for what others do: then a block that has had its turn makes room for the next, as long as
 * there is memory to keep it in. If nobody can go on, or for too long, the launch ends. */
#include "ptx_priv.h"

#include <stdlib.h>

enum { WARP = 32, TURN = 1 << 20, SHORT_TURN = 2000, PATIENCE = 64 };
#define MOST_STEPS  2000000000ull
#define MOST_MEMORY (512ull << 20)

/* --- lanes of a warp --- */

static uint32_t mask_of(const ptx_thread *t) {
    return t->at->op == PTX_ACTIVEMASK ? 0 : (uint32_t)t->r[t->at->c];
}

/* Does it read the lane that a shuffle names? The second result says so. */
static unsigned source(const ptx_thread *t, unsigned me, bool *within) {
    const ptx_ins *i = t->at;
    unsigned b = (unsigned)t->r[i->b] & 31, c = (unsigned)t->r[i->e], clamp = c & 31, segment = c >> 8 & 31;
    unsigned most = (me & segment) | (clamp & ~segment & 31), least = me & segment;
    int from;
    switch ((ptx_op)i->op) {
    case PTX_SHFL_UP:
        from = (int)me - (int)b;
        *within = from >= (int)most;
        break;
    case PTX_SHFL_DOWN:
        from = (int)(me + b);
        *within = from <= (int)most;
        break;
    case PTX_SHFL_BFLY:
        from = (int)(me ^ b);
        *within = from <= (int)most;
        break;
    default:
        from = (int)(least | (b & ~segment & 31));
        *within = from <= (int)most;
        break;
    }
    return *within ? (unsigned)from : me;
}

static uint32_t alike(const ptx_thread *w, uint32_t who, uint64_t value) {
    uint32_t out = 0;
    for (unsigned k = 0; k < WARP; k++)
        if (who >> k & 1 && w[k].value == value)
            out |= 1u << k;
    return out;
}

static uint64_t reduced(const ptx_thread *w, uint32_t who, ptx_op op) {
    uint32_t out = 0;
    bool first = true;
    for (unsigned k = 0; k < WARP; k++) {
        if (!(who >> k & 1))
            continue;
        uint32_t v = (uint32_t)w[k].value;
        switch (op) {
        case PTX_REDUX_ADD: out += v; break;
        case PTX_REDUX_MIN_U: out = first || v < out ? v : out; break;
        case PTX_REDUX_MAX_U: out = first || v > out ? v : out; break;
        case PTX_REDUX_MIN_S: out = first || (int32_t)v < (int32_t)out ? v : out; break;
        case PTX_REDUX_MAX_S: out = first || (int32_t)v > (int32_t)out ? v : out; break;
        case PTX_REDUX_AND: out = first ? v : out & v; break;
        case PTX_REDUX_OR: out |= v; break;
        default: out ^= v; break;
        }
        first = false;
    }
    return out;
}

/* What lane `me` gets; `also`: its second result. */
static uint64_t result(const ptx_thread *w, uint32_t who, unsigned me, bool *also) {
    uint32_t same;
    unsigned from;
    switch ((ptx_op)w[me].at->op) {
    case PTX_SHFL_IDX:
    case PTX_SHFL_UP:
    case PTX_SHFL_DOWN:
    case PTX_SHFL_BFLY: from = source(&w[me], me, also); return who >> from & 1 ? w[from].value : 0;
    case PTX_VOTE_ALL: return alike(w, who, 1) == who;
    case PTX_VOTE_ANY: return alike(w, who, 1) != 0;
    case PTX_VOTE_UNI: return alike(w, who, w[me].value) == who;
    case PTX_VOTE_BALLOT: return alike(w, who, 1);
    case PTX_MATCH_ANY_32:
    case PTX_MATCH_ANY_64: return alike(w, who, w[me].value);
    case PTX_MATCH_ALL_32:
    case PTX_MATCH_ALL_64:
        same = alike(w, who, w[me].value);
        *also = same == who;
        return *also ? who : 0;
    case PTX_ACTIVEMASK: return who;
    default: return reduced(w, who, (ptx_op)w[me].at->op);
    }
}

static void join(ptx_thread *w, uint32_t who) {
    uint64_t got[WARP];
    bool also[WARP] = {0};
    for (unsigned k = 0; k < WARP; k++)
        if (who >> k & 1)
            got[k] = result(w, who, k, &also[k]);
    for (unsigned k = 0; k < WARP; k++) {
        if (!(who >> k & 1))
            continue;
        const ptx_ins *i = w[k].at;
        if (i->op != PTX_SYNCWARP)
            w[k].r[i->d] = got[k];
        if (i->imm) /* no second result is a slot of a frame's head */
            w[k].r[i->imm] = also[k];
        w[k].state = PTX_RUNS;
    }
}

/* Lanes that are where lane `me` is. */
static uint32_t beside(const ptx_thread *w, unsigned n, unsigned me) {
    bool exact = w[me].at->op == PTX_ACTIVEMASK; /* the very same instruction */
    uint32_t out = 0;
    for (unsigned k = 0; k < n; k++)
        if (w[k].state == PTX_AT_WARP &&
            (exact ? w[k].at == w[me].at && w[k].r[PTX_CALLER] == w[me].r[PTX_CALLER]
                   : w[k].at->op == w[me].at->op && mask_of(&w[k]) == mask_of(&w[me])))
            out |= 1u << k;
    return out;
}

static bool meet_actives(ptx_thread *w, unsigned n) {
    bool busy = false, moved = false;
    for (unsigned k = 0; k < n; k++)
        busy |= w[k].state == PTX_RUNS;
    for (unsigned k = 0; k < n; k++)
        if (w[k].state == PTX_AT_WARP && w[k].at->op == PTX_ACTIVEMASK &&
            (!busy || ++w[k].tried > PATIENCE)) {
            join(w, beside(w, n, k));
            moved = true;
        }
    return moved;
}

static bool meet_warp(ptx_thread *w, unsigned n) {
    uint32_t there = 0, waiting = 0;
    bool moved = false, active = false;
    for (unsigned k = 0; k < n; k++) {
        there |= (uint32_t)(w[k].state != PTX_ENDED) << k;
        waiting |= (uint32_t)(w[k].state == PTX_AT_WARP) << k;
    }
    for (unsigned k = 0; k < n; k++) {
        if (!(waiting >> k & 1) || w[k].state != PTX_AT_WARP)
            continue;
        if (w[k].at->op == PTX_ACTIVEMASK) {
            active = true;
            continue;
        }
        uint32_t mask = mask_of(&w[k]) & there, here = beside(w, n, k);
        if (!(mask >> k & 1)) {
            w->block->grid->status = PTX_ILLEGAL_INSTRUCTION;
            return false;
        }
        if ((mask & ~here) == 0) {
            join(w, mask);
            moved = true;
        }
    }
    return moved || (active && meet_actives(w, n));
}

/* --- a block --- */

/* bar.sync is barrier.sync.aligned: a warp's threads come to the same one, or a GPU waits for ever. */
static bool is_aligned(const ptx_thread *t, const ptx_thread *first) {
    return t->at == first->at && t->r[PTX_CALLER] == first->r[PTX_CALLER];
}

/* Threads at a barrier go on when all have come: those that have ended need not. */
static bool meet_barrier(ptx_block *b, int64_t number) {
    uint32_t come = 0, yes = 0, want = b->left;
    const ptx_thread *first = NULL;
    for (uint32_t k = 0; k < b->nthreads; k++) {
        const ptx_thread *t = &b->threads[k];
        if (k % WARP == 0)
            first = NULL;
        if (t->state != PTX_AT_BARRIER || t->at->imm != number)
            continue;
        first = first ? first : t;
        if (!is_aligned(t, first)) {
            b->grid->status = PTX_TIMEOUT;
            return false;
        }
        come++;
        yes += t->at->op != PTX_BAR && t->value;
        if (t->at->a >= PTX_FRAME)
            want = (uint32_t)t->r[t->at->a];
    }
    if (!come || come < want)
        return false;
    for (uint32_t k = 0; k < b->nthreads; k++) {
        ptx_thread *t = &b->threads[k];
        if (t->state != PTX_AT_BARRIER || t->at->imm != number)
            continue;
        switch ((ptx_op)t->at->op) {
        case PTX_BAR_AND: t->r[t->at->d] = yes == come; break;
        case PTX_BAR_OR: t->r[t->at->d] = yes != 0; break;
        case PTX_BAR_POPC: t->r[t->at->d] = yes; break;
        default: break;
        }
        t->state = PTX_RUNS;
    }
    return true;
}

static bool meet_barriers(ptx_block *b) {
    bool moved = false;
    uint32_t used = 0; /* a bit for each barrier */
    for (uint32_t k = 0; k < b->nthreads; k++)
        if (b->threads[k].state == PTX_AT_BARRIER)
            used |= 1u << b->threads[k].at->imm;
    for (int64_t number = 0; number < PTX_BARRIERS; number++)
        if (used >> number & 1)
            moved |= meet_barrier(b, number);
    return moved;
}

/* Each lane has a turn, as long as lanes meet; false: nothing has happened. */
static bool run_warp(ptx_block *b, ptx_thread *w, unsigned n) {
    bool moved = false, ran;
    int64_t turn = b->grid->fn->waits ? SHORT_TURN : TURN;
    do {
        ran = false;
        for (unsigned k = 0; k < n && !b->grid->status; k++) {
            if (w[k].state != PTX_RUNS)
                continue;
            ptx_step(&w[k], turn);
            b->left -= w[k].state == PTX_ENDED;
            ran = true;
        }
        moved |= ran;
    } while (!b->grid->status && meet_warp(w, n));
    return moved;
}

/* Runs the block until it ends or all that run have had a turn; false: nobody can go on. */
static bool run_block(ptx_block *b) {
    bool moved = false;
    for (;;) {
        bool busy = false;
        for (uint32_t k = 0; k < b->nthreads && !b->grid->status; k += WARP)
            moved |= run_warp(b, b->threads + k, b->nthreads - k < WARP ? b->nthreads - k : WARP);
        for (uint32_t k = 0; k < b->nthreads; k++)
            busy |= b->threads[k].state == PTX_RUNS;
        if (b->grid->status || !b->left)
            return true;
        if (!meet_barriers(b)) /* somebody runs on, later; or nobody can */
            return moved;
        moved = true;
        if (busy)
            return true;
    }
}

static void free_block(ptx_block *b) {
    if (b) {
        free(b->shared);
        free(b->locals);
        free(b->rows);
        free(b->threads);
        free(b);
    }
}

static size_t block_bytes(const ptx_grid *g, uint32_t threads) {
    return g->shared + threads * (g->fn->stack * sizeof(uint64_t) + g->fn->stack_local + sizeof(ptx_thread));
}

static void start_thread(ptx_block *b, uint32_t k) {
    const ptx_fn *fn = b->grid->fn;
    const unsigned *block = b->grid->l->block;
    ptx_thread *t = &b->threads[k];
    *t = (ptx_thread){.fn = fn,
                      .pc = fn->code,
                      .block = b,
                      .number = (uint16_t)k,
                      .r = b->rows + (size_t)k * fn->stack,
                      .local = b->locals + (size_t)k * fn->stack_local};
    t->tid[0] = k % block[0];
    t->tid[1] = k / block[0] % block[1];
    t->tid[2] = k / block[0] / block[1];
    memcpy(t->r, fn->image, fn->nslots * sizeof *t->r);
}

/* What nobody has written holds what nobody expects. */
static ptx_block *start_block(ptx_grid *g, uint64_t number) {
    enum { JUNK = 0xa5 };
    const unsigned *block = g->l->block, *grid = g->l->grid;
    ptx_block *b = calloc(1, sizeof *b);
    uint32_t n = block[0] * block[1] * block[2];
    size_t rows = (size_t)n * g->fn->stack * sizeof(uint64_t), locals = (size_t)n * g->fn->stack_local;
    if (!b)
        return NULL;
    b->grid = g;
    b->id[0] = (uint32_t)(number % grid[0]);
    b->id[1] = (uint32_t)(number / grid[0] % grid[1]);
    b->id[2] = (uint32_t)(number / grid[0] / grid[1]);
    b->nthreads = b->left = n;
    b->shared = aligned_alloc(64, (g->shared + 64) / 64 * 64);
    b->locals = aligned_alloc(64, (locals + 64) / 64 * 64);
    b->rows = malloc(rows + 8);
    b->threads = malloc(n * sizeof *b->threads);
    if (!b->shared || !b->locals || !b->rows || !b->threads) {
        free_block(b);
        return NULL;
    }
    memset(b->shared, JUNK, g->shared);
    memset(b->locals, JUNK, locals);
    memset(b->rows, JUNK, rows);
    for (uint32_t k = 0; k < n; k++)
        start_thread(b, k);
    return b;
}

/* --- a grid --- */

/* Blocks that have begun, in the order of their turns. */
typedef struct waiting {
    ptx_block **at;
    size_t n, cap;
} waiting;

static bool keep(waiting *w, ptx_block *b) {
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 16;
        ptx_block **at = realloc(w->at, cap * sizeof *at);
        if (!at)
            return false;
        w->at = at;
        w->cap = cap;
    }
    w->at[w->n++] = b;
    return true;
}

/* A turn of each block that has begun; those that end leave. False: nothing has happened. */
static bool turn_of_all(waiting *w) {
    bool moved = false;
    size_t kept = 0;
    for (size_t k = 0; k < w->n; k++) {
        ptx_block *b = w->at[k];
        if (!b->grid->status)
            moved |= run_block(b);
        if (b->grid->status || !b->left)
            free_block(b);
        else
            w->at[kept++] = b;
    }
    w->n = kept;
    return moved;
}

static void run_grid(ptx_grid *g, uint64_t blocks, size_t most) {
    waiting w = {0};
    for (uint64_t next = 0; (next < blocks || w.n) && !g->status;) {
        bool moved = false;
        if (next < blocks && w.n < most) {
            ptx_block *b = start_block(g, next++);
            moved = true;
            if (!b || !keep(&w, b)) {
                free_block(b);
                g->status = 2;
                break;
            }
        }
        moved |= turn_of_all(&w);
        if (!g->status && (!moved || g->steps > MOST_STEPS))
            g->status = PTX_TIMEOUT;
    }
    for (size_t k = 0; k < w.n; k++)
        free_block(w.at[k]);
    free(w.at);
}

size_t ptx_params(const ptx_fn *f) {
    return f->param_bytes;
}

bool ptx_fits(const ptx_fn *f, const ptx_launch *l) {
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    return l->bytes >= f->param_bytes && threads && threads <= (f->threads ? f->threads : 1024) &&
           l->grid[0] && l->grid[1] && l->grid[2];
}

int ptx_run(const ptx_fn *f, const ptx_launch *l, uint64_t *steps) {
    ptx_grid g = {.fn = f, .l = l, .shared = f->module->shared + l->shared};
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    size_t most = f->waits ? MOST_MEMORY / (block_bytes(&g, threads) + 1) : 0;
    run_grid(&g, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], most ? most : 1);
    if (steps)
        *steps = g.steps;
    return g.status;
}
