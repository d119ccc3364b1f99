/* Shapes: what is counted in the items of containers, for C that drops and copies them.
 *
 * Code names a shape by its contents, so the cache holds no address, and blocks of all modules have the same
 * one. A shape is never freed: a block may outlive the code that made it. There are as many as there are
 * types
 * of items in a process. The list only grows, at its head, by compare and exchange, so readers need no lock;
 * two threads that miss one at the same time make it twice, which does no harm.
 * Cost: linear in the number of shapes, when code is loaded. */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rt/fns.h"

typedef struct known {
    struct known *next;
    tr_shape shape;
    uint32_t at[];
} known;

static _Atomic(known *) first;

static bool is_shape(const tr_shape *s, uint32_t size, uint32_t n, const uint32_t *at) {
    return s->size == size && s->n == n && (!n || memcmp(s->at, at, n * sizeof *at) == 0);
}

const tr_shape *tr_rt_shape(uint32_t size, uint32_t n, const uint32_t *at) {
    assert(size > 0 && "items have a size");
    for (const known *k = atomic_load_explicit(&first, memory_order_acquire); k; k = k->next)
        if (is_shape(&k->shape, size, n, at))
            return &k->shape;
    known *new = malloc(sizeof *new + n * sizeof *at);
    if (!new)
        return NULL;
    if (n)
        memcpy(new->at, at, n * sizeof *at);
    new->shape = (tr_shape){size, n, new->at};
    new->next = atomic_load_explicit(&first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&first, &new->next, new, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return &new->shape;
}

/* The number behind the next '_'; false: there is none that fits. */
static bool next_number(const char **p, uint32_t *out) {
    char *end;
    if (**p != '_' || (*p)[1] < '0' || (*p)[1] > '9')
        return false;
    unsigned long long x = strtoull(*p + 1, &end, 10);
    *p = end;
    *out = (uint32_t)x;
    return x <= INT32_MAX;
}

const tr_shape *tr_rt_shape_named(const char *name) {
    const char *p = name + sizeof TR_SHAPE_NAME - 1;
    uint32_t n = 0, size, *at = NULL;
    if (strncmp(name, TR_SHAPE_NAME, sizeof TR_SHAPE_NAME - 1) != 0 || !next_number(&p, &size) || !size)
        return NULL;
    for (const char *c = p; *c; c++)
        n += *c == '_';
    at = malloc((n + 1) * sizeof *at);
    bool ok = at;
    for (uint32_t k = 0; ok && k < n; k++)
        ok = next_number(&p, &at[k]) && at[k] + sizeof(void *) <= size;
    const tr_shape *s = ok && !*p ? tr_rt_shape(size, n, at) : NULL;
    free(at);
    return s;
}
