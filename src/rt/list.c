/* Lists: a counted block that says where the items are, and memory of their own for these, which may move
 * when there are more.
 *
 * Compiled code reads and writes the block itself (lower/list.c); it comes here where there is no room. The
 * items' memory is the system's: large ones are mapped, and when they grow their pages are mapped elsewhere,
 * so that no item is copied. A list of n items that were appended one by one has moved log(n) times. Cost:
 * amortised constant for each item. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/fns.h"

/* Past what x86-64 can address there is no point in asking; it also keeps the products below from wrapping.
 * */
static const int64_t max_bytes = INT64_C(1) << 47;

/* Nothing in an item is counted. */
static const tr_shape numbers = {0};

static int64_t more(int64_t cap, int64_t n) {
    int64_t step = cap + cap / 2 + 8;
    return step > n ? step : n;
}

static bool give_room(tr_list *l, int64_t n, int64_t size) {
    assert(n > l->cap && size > 0 && "there is less room than that, and items have a size");
    if (n > max_bytes / size)
        return false;
    void *items = realloc(l->items, (size_t)(n * size));
    if (!items)
        return false;
    l->items = items;
    l->cap = n;
    return true;
}

void *tr_rt_list_new(tr_frame *f, int64_t n, int64_t size) {
    tr_mem *m = tr_rt_alloc(f, sizeof(tr_list));
    if (!m)
        return NULL;
    tr_list *l = tr_mem_data(m);
    *l = (tr_list){0};
    m->shape = &numbers;
    if (n > 0 && !give_room(l, n, size)) {
        tr_rt_free(f, m);
        return NULL;
    }
    l->len = n;
    return m;
}

bool tr_rt_list_room(void *list, int64_t n, int64_t size) {
    tr_list *l = tr_mem_data(list);
    assert(l->len >= 0 && l->len <= l->cap && "a list is whole");
    return n <= l->cap || give_room(l, more(l->cap, n), size);
}

void tr_rt_list_move(void *owner, void *items, int64_t n, int64_t to, int64_t from, int64_t size) {
    (void)owner;
    int64_t most = to > from ? to : from;
    assert(to >= 0 && from >= 0 && most <= n && size > 0 && "places in a list, or its end");
    if (most < n)
        memmove((char *)items + to * size, (char *)items + from * size, (size_t)((n - most) * size));
}
