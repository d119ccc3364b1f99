/* Shapes: what is counted in the items of containers, for C that drops and copies them.
 *
 * Code names a shape by its contents, so the cache holds no address, and blocks of all modules have the same
 * one. A shape is never freed: a block may outlive the code that made it. There are as many as there are
 * types of items in a process. A key that the runtime has no class for is compared by what its shape says of
 * it. The list only grows, at its head, by compare and exchange, so readers need no lock; two threads that
 * miss one at the same time make it twice, which does no harm.
 * Cost: linear in the number of shapes, when code is loaded. */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rt/fns.h"
#include "rt/str.h"

typedef struct known {
    struct known *next;
    tr_shape shape;
    uint32_t at[]; /* then its key's parts */
} known;

static _Atomic(known *) first;

static bool is_shape(const tr_shape *s, const tr_shape *x) {
    return s->size == x->size && s->n == x->n && s->nparts == x->nparts &&
           (!x->n || memcmp(s->at, x->at, x->n * sizeof *x->at) == 0) &&
           (!x->nparts || memcmp(s->parts, x->parts, x->nparts * sizeof *x->parts) == 0);
}

static const tr_shape *shape_like(const tr_shape *x) {
    for (const known *k = atomic_load_explicit(&first, memory_order_acquire); k; k = k->next)
        if (is_shape(&k->shape, x))
            return &k->shape;
    known *new = malloc(sizeof *new + x->n * sizeof *x->at + x->nparts * sizeof *x->parts);
    if (!new)
        return NULL;
    tr_keypart *parts = (tr_keypart *)(void *)(new->at + x->n);
    if (x->n)
        memcpy(new->at, x->at, x->n * sizeof *x->at);
    if (x->nparts)
        memcpy(parts, x->parts, x->nparts * sizeof *parts);
    new->shape = (tr_shape){x->size, x->n, new->at, x->nparts, parts};
    new->next = atomic_load_explicit(&first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&first, &new->next, new, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return &new->shape;
}

const tr_shape *tr_rt_shape(uint32_t size, uint32_t n, const uint32_t *at) {
    assert(size > 0 && "items have a size");
    return shape_like(&(tr_shape){.size = size, .n = n, .at = at});
}

/* The number at *p; false: there is none that fits. */
static bool next_number(const char **p, uint32_t *out) {
    char *end;
    if (**p < '0' || **p > '9')
        return false;
    unsigned long long x = strtoull(*p, &end, 10);
    *p = end;
    *out = (uint32_t)x;
    return x <= INT32_MAX;
}

/* A part of a key, which lies in the item. */
static bool next_part(const char **p, uint32_t size, tr_keypart *out) {
    out->is = (uint8_t) * (*p)++;
    if (!next_number(p, &out->at))
        return false;
    switch ((tr_keypart_is)out->is) {
    case TR_KEYPART_BYTE:
    case TR_KEYPART_GIVEN: return out->at < size;
    case TR_KEYPART_WORD:
    case TR_KEYPART_FLOAT:
    case TR_KEYPART_DATE: return out->at + sizeof(int64_t) <= size;
    case TR_KEYPART_STRING: return out->at + sizeof(tr_str) <= size;
    case TR_KEYPART_VALUE: return true;
    default: return false;
    }
}

const tr_shape *tr_rt_shape_named(const char *name) {
    const char *p = name + sizeof TR_SHAPE_NAME;
    uint32_t most = 0, *at = NULL;
    tr_shape x = {0};
    if (strncmp(name, TR_SHAPE_NAME "_", sizeof TR_SHAPE_NAME) != 0 || !next_number(&p, &x.size) || !x.size)
        return NULL;
    for (const char *c = p; *c; c++)
        most += *c == '_';
    at = malloc((most + 1) * sizeof *at);
    tr_keypart *parts = malloc((most + 1) * sizeof *parts);
    bool ok = at && parts;
    while (ok && *p == '_' && p[1] >= '0' && p[1] <= '9') {
        p++;
        ok = next_number(&p, &at[x.n]) && at[x.n] + sizeof(void *) <= x.size;
        x.n++;
    }
    while (ok && *p == '_') {
        p++;
        ok = next_part(&p, x.size, &parts[x.nparts]);
        x.nparts++;
    }
    x.at = at;
    x.parts = parts;
    const tr_shape *s = ok && !*p ? shape_like(&x) : NULL;
    free(at);
    free(parts);
    return s;
}
