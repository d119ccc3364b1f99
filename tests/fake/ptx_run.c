/* Runs a thread: one switch over the instructions of ptx_ops.def, until the thread ends, waits
 * for others, fails, or has had its turn.
 *
 * Steps are counted where the way turns, so a turn may be longer than it should by one stretch of code. An
 * instruction takes about two nanoseconds. */
#include "ptx_priv.h"

#include <math.h>

/* --- addresses --- */

static char *ill(ptx_grid *g, int status) {
    if (!g->status)
        g->status = status;
    return NULL;
}

char *ptx_at(ptx_grid *g, uint64_t at, unsigned bytes) {
    const ptx_memory *m = &g->l->memory;
    uint64_t off = at - m->at;
    if (off < m->bytes)
        return m->live[off >> PTX_GRAIN] ? m->host + off : ill(g, PTX_ILLEGAL_ADDRESS);
    const ptx_module *mod = g->fn->module;
    for (uint32_t k = 0; k < mod->nvars; k++) {
        uint64_t in = at - (uint64_t)(uintptr_t)mod->vars[k].data;
        if (in < mod->vars[k].bytes)
            return in + bytes <= mod->vars[k].bytes ? mod->vars[k].data + in : ill(g, PTX_ILLEGAL_ADDRESS);
    }
    char *p = m->other(m->self, at, bytes);
    return p ? p : ill(g, PTX_ILLEGAL_ADDRESS);
}

static char *at_shared(ptx_thread *t, uint64_t at, unsigned bytes, unsigned align) {
    if (at % align)
        return ill(t->block->grid, PTX_MISALIGNED);
    bool in = at < t->block->grid->shared && at + bytes <= t->block->grid->shared;
    return in ? t->block->shared + at : ill(t->block->grid, PTX_ILLEGAL_ADDRESS);
}

static char *at_local(ptx_thread *t, uint64_t at, unsigned bytes, unsigned align) {
    uint32_t room = t->block->grid->fn->stack_local;
    if (at % align)
        return ill(t->block->grid, PTX_MISALIGNED);
    return at < room && at + bytes <= room ? t->local + at : ill(t->block->grid, PTX_ILLEGAL_ADDRESS);
}

static char *elsewhere(ptx_thread *t, uint64_t at, unsigned bytes, unsigned align) {
    if (at % align)
        return ill(t->block->grid, PTX_MISALIGNED);
    switch (at >> 56) {
    case PTX_SHARED_WINDOW >> 56: return at_shared(t, at - PTX_SHARED_WINDOW, bytes, align);
    case PTX_LOCAL_WINDOW >> 56: return at_local(t, at - PTX_LOCAL_WINDOW, bytes, align);
    default: return ptx_at(t->block->grid, at, bytes);
    }
}

static inline char *at_generic(ptx_thread *t, uint64_t at, unsigned bytes, unsigned align) {
    const ptx_memory *m = &t->block->grid->l->memory;
    uint64_t off = at - m->at;
    if (off < m->bytes && m->live[off >> PTX_GRAIN] && !(at & (align - 1)))
        return m->host + off;
    return elsewhere(t, at, bytes, align);
}

char *ptx_at_space(ptx_thread *t, int space, uint64_t at, unsigned bytes) {
    return space == PTX_IN_SHARED  ? at_shared(t, at, bytes, bytes)
           : space == PTX_IN_LOCAL ? at_local(t, at, bytes, bytes)
                                   : at_generic(t, at, bytes, bytes);
}

/* --- values --- */

static uint64_t reversed(uint64_t x) {
    uint64_t out = 0;
    for (unsigned k = 0; k < 64; k++)
        out |= (x >> k & 1) << (63 - k);
    return out;
}

static uint64_t extracted(uint64_t x, unsigned at, unsigned n, unsigned width, bool is_signed) {
    unsigned top = at + n - 1 < width - 1 ? at + n - 1 : width - 1;
    uint64_t sign = is_signed && n ? x >> top & 1 : 0, out = sign ? UINT64_MAX : 0;
    for (unsigned k = 0; k < n && k < width; k++) {
        uint64_t bit = at + k < width ? x >> (at + k) & 1 : sign;
        out = (out & ~(1ull << k)) | bit << k;
    }
    return out;
}

static uint64_t inserted(uint64_t x, uint64_t into, unsigned at, unsigned n, unsigned width) {
    for (unsigned k = 0; k < n && at + k < width; k++)
        into = (into & ~(1ull << (at + k))) | (x >> k & 1) << (at + k);
    return into;
}

static uint64_t permuted(uint64_t bytes, uint32_t how) {
    uint64_t out = 0;
    for (unsigned k = 0; k < 4; k++) {
        unsigned which = how >> 4 * k & 15;
        uint64_t byte = bytes >> 8 * (which & 7) & 0xff;
        if (which & 8)
            byte = byte & 0x80 ? 0xff : 0;
        out |= byte << 8 * k;
    }
    return out;
}

static uint64_t looked_up(uint64_t a, uint64_t b, uint64_t c, unsigned table) {
    uint64_t out = 0;
    for (unsigned k = 0; k < 8; k++)
        if (table >> k & 1)
            out |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return out;
}

/* The lesser or the larger; of a number and no number the number, unless `nan`; zeros have signs. */
#define EXTREMES(t, T)                                                        \
    static T least_##t(T a, T b, bool nan) {                                  \
        if (isnan(a) || isnan(b))                                             \
            return nan || (isnan(a) && isnan(b)) ? (T)NAN : isnan(a) ? b : a; \
        return a == b ? (signbit(a) ? a : b) : a < b ? a : b;                 \
    }                                                                         \
    static T largest_##t(T a, T b, bool nan) {                                \
        if (isnan(a) || isnan(b))                                             \
            return nan || (isnan(a) && isnan(b)) ? (T)NAN : isnan(a) ? b : a; \
        return a == b ? (signbit(a) ? b : a) : a > b ? a : b;                 \
    }
EXTREMES(f32, float)
EXTREMES(f64, double)

static uint64_t upper_half(double x) {
    if (fpclassify(x) == FP_SUBNORMAL)
        x = copysign(0, x);
    return ptx_of_f64(x) & ~(uint64_t)UINT32_MAX;
}

static uint64_t flushed(uint64_t x) {
    return x & 0x7f800000 ? x : x & 0x80000000;
}

static ptx_cvt how_of(const ptx_ins *i) {
    ptx_cvt how;
    memcpy(&how, &i->imm, sizeof how);
    return how;
}

static const ptx_fn *called(const ptx_ins *i) {
    return (const ptx_fn *)(uintptr_t)i->imm;
}

/* By the numbers of ptx_code.c's table. */
static uint64_t special(const ptx_thread *t, int which) {
    const ptx_launch *l = t->block->grid->l;
    unsigned lane = t->number % 32u;
    uint64_t upto = (1ull << lane) - 1, bit = 1ull << lane;
    if (which < 16) {
        const uint32_t *const from[] = {t->tid, l->block, t->block->id, l->grid};
        return which % 4 < 3 ? from[which / 4][which % 4] : 0;
    }
    switch (which) {
    case 16: return lane;
    case 17: return t->number / 32u;
    case 18: return (t->block->nthreads + 31) / 32;
    case 19: return bit;
    case 20: return upto | bit;
    case 21: return upto;
    case 22: return (uint32_t)~upto;
    case 23: return (uint32_t) ~(upto | bit);
    case 24: return l->shared;
    case 25: return t->block->grid->shared;
    case 26: return t->block->grid->steps; /* clocks */
    default: return 0;
    }
}

/* --- the loop --- */

#define D r[i->d]
#define X r[i->a]
#define Y r[i->b]
#define Z r[i->c]
#define W r[i->e]
#define END(how)                   \
    do {                           \
        t->state = (uint8_t)(how); \
        t->at = i;                 \
        goto out;                  \
    } while (0)
#define FAIL(status)                       \
    do {                                   \
        (void)ill(t->block->grid, status); \
        goto out;                          \
    } while (0)
#define BRING(x)      t->value = (x)
#define AT_GENERIC(n) at_generic(t, X + (uint64_t)i->imm, n, i->aux)
#define AT_SHARED(n)  at_shared(t, X + (uint64_t)i->imm, n, i->aux)
#define AT_LOCAL(n)   at_local(t, X + (uint64_t)i->imm, n, i->aux)
#define AT_PARAM(n)   ((char *)r + i->imm)
#define AT_KERNEL(n)  (params + i->imm)
#define LOAD(S, T)                     \
    const char *p = AT_##S(sizeof(T)); \
    T v;                               \
    if (!p)                            \
        goto out;                      \
    memcpy(&v, p, sizeof v);           \
    D = (uint64_t)(int64_t)v
#define STORE(S, T)              \
    char *p = AT_##S(sizeof(T)); \
    T v = (T)Y;                  \
    if (!p)                      \
        goto out;                \
    memcpy(p, &v, sizeof v)
#define ATOMIC(T, get, put, ...)                                      \
    char *p = ptx_at_space(t, i->e, X + (uint64_t)i->imm, sizeof(T)); \
    T bits;                                                           \
    if (!p)                                                           \
        goto out;                                                     \
    memcpy(&bits, p, sizeof bits);                                    \
    __typeof__(get(bits)) was = get(bits), new = get((T)Y);           \
    (void)was;                                                        \
    T now = (T)put(__VA_ARGS__);                                      \
    memcpy(p, &now, sizeof now);                                      \
    D = bits
/* The way goes on elsewhere: what lay behind is counted. */
#define JUMP(to)                 \
    do {                         \
        steps -= i - from + 1;   \
        pc = from = code + (to); \
        if (steps <= 0)          \
            goto out;            \
    } while (0)
#define REST       \
    do {           \
        steps = 0; \
        goto out;  \
    } while (0)
#define JUMP_BY_TABLE                           \
    const int64_t *table = fn->tables + i->imm; \
    uint32_t which = (uint32_t)X;               \
    if ((int64_t)which >= table[0])             \
        FAIL(PTX_ILLEGAL_INSTRUCTION);          \
    JUMP(table[1 + which])
#define ENTER_CALL                                   \
    uint64_t *row = r + i->e;                        \
    row[PTX_BACK] = (uint64_t)(i - code + 1);        \
    row[PTX_CALLER] = (uint64_t)(uintptr_t)fn;       \
    row[PTX_LOCAL] = r[PTX_LOCAL] + fn->local_bytes; \
    fn = called(i);                                  \
    steps -= i - from + 1;                           \
    r = row;                                         \
    pc = from = code = fn->code
#define LEAVE_CALL                                 \
    if (!r[PTX_CALLER])                            \
        END(PTX_ENDED);                            \
    steps -= i - from + 1;                         \
    fn = (const ptx_fn *)(uintptr_t)r[PTX_CALLER]; \
    code = fn->code;                               \
    pc = from = code + r[PTX_BACK];                \
    r -= fn->nslots
#define PRINTS                                 \
    D = (uint64_t)(int64_t)ptx_print(t, X, Y); \
    if (t->block->grid->status)                \
    goto out

void ptx_step(ptx_thread *t, int64_t steps) {
    uint64_t *r = t->r;
    const ptx_fn *fn = t->fn;
    const ptx_ins *code = fn->code, *pc = t->pc, *from = pc, *i = pc;
    const char *params = (const char *)t->block->grid->l->params;
    int64_t given = steps;
    for (;;) {
        i = pc++;
        switch ((ptx_op)i->op) {
#define OP(id, names, operands, ...) \
    case PTX_##id: {                 \
        __VA_ARGS__;                 \
        break;                       \
    }
#include "ptx_ops.def"
#undef OP
        case PTX__COUNT: goto out;
        }
    }
out:
    t->r = r;
    t->pc = pc;
    t->fn = fn;
    t->block->grid->steps += (uint64_t)(given - steps) + (pc > from ? (uint64_t)(pc - from) : 0);
}
