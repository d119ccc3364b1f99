/* Lists: a counted block that says where the items are, and memory of their own for these, which may move
 * when there are more.
 *
 * Compiled code reads and writes the block itself (lower/list.c); it comes here where there is no room, and
 * for what moves, copies or drops many items, whose size and references the block's shape tells. The
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

static int64_t more(int64_t cap, int64_t n) {
    int64_t step = cap + cap / 2 + 8;
    return step > n ? step : n;
}

static __attribute__((unused)) bool is_whole(const void *list) {
    const tr_list *l = tr_list_of(list);
    return l->len >= 0 && l->len <= l->cap && ((const tr_mem *)list)->shape;
}

static char *item(const void *list, int64_t i) {
    return (char *)tr_list_of(list)->items + i * ((const tr_mem *)list)->shape->size;
}

static size_t bytes(const void *list, int64_t n) {
    return (size_t)n * ((const tr_mem *)list)->shape->size;
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

/* Items from `from` on, which are not initialised, hold no references. */
static void hold_nothing(void *list, int64_t from, int64_t to) {
    if (((const tr_mem *)list)->shape->n && from < to)
        memset(item(list, from), 0, bytes(list, to - from));
}

void *tr_rt_list_new(tr_frame *f, int64_t n, const tr_shape *shape) {
    tr_mem *m = tr_rt_cell(f, sizeof(tr_list));
    if (!m)
        return NULL;
    tr_list *l = tr_mem_data(m);
    *l = (tr_list){0};
    m->shape = shape;
    if (n > 0 && !give_room(l, n, shape->size)) {
        tr_rt_free(f, m);
        return NULL;
    }
    hold_nothing(m, 0, n);
    l->len = n;
    return m;
}

bool tr_rt_list_room(void *list, int64_t n) {
    tr_list *l = tr_list_of(list);
    assert(is_whole(list) && "a list is whole");
    return n <= l->cap || give_room(l, more(l->cap, n), ((const tr_mem *)list)->shape->size);
}

bool tr_rt_list_resize(tr_frame *f, void *list, int64_t n) {
    tr_list *l = tr_list_of(list);
    if (!tr_rt_list_room(list, n))
        return false;
    int64_t was = l->len;
    if (n > was)
        hold_nothing(list, was, n);
    l->len = n;
    if (n < was)
        tr_rt_items_drop(f, ((const tr_mem *)list)->shape, item(list, n), was - n);
    return true;
}

void tr_rt_list_cut(tr_frame *f, void *list, int64_t start, int64_t step, int64_t n) {
    tr_list *l = tr_list_of(list);
    const tr_shape *s = ((const tr_mem *)list)->shape;
    assert(is_whole(list) && step > 0 && (n <= 0 || (start >= 0 && start + (n - 1) * step < l->len)) &&
           "places in a list");
    if (n <= 0)
        return;
    int64_t run = step == 1 ? n : 1; /* so many are dropped side by side */
    for (int64_t k = 0; k < n; k += run)
        tr_rt_items_drop(f, s, item(list, start + k * step), run);
    for (int64_t k = 0; k < n;
         k += run) { /* what lies behind them, up to the next ones or the end, closes up */
        int64_t from = start + k * step + run, to = k + run < n ? from + step - 1 : l->len;
        memmove(item(list, from - run - k), item(list, from), bytes(list, to - from));
    }
    l->len -= n;
}

void tr_rt_list_gap(void *list, int64_t at, int64_t n) {
    const tr_list *l = tr_list_of(list);
    assert(is_whole(list) && at >= 0 && n >= 0 && at + n <= l->len && "places in a list");
    if (n == 0)
        return;
    memmove(item(list, at + n), item(list, at), bytes(list, l->len - n - at));
    hold_nothing(list, at, at + n);
}

/* With their references, so nobody counts. */
int64_t tr_rt_list_gather(void *list, const void *parts) {
    tr_list *l = tr_list_of(list);
    void *const *from = tr_list_of(parts)->items;
    int64_t n = l->len;
    for (int64_t k = 0; k < tr_list_of(parts)->len; k++) {
        assert(from[k] && from[k] != list && is_whole(from[k]) && "lists of their own");
        n += tr_list_of(from[k])->len;
    }
    if (!tr_rt_list_room(list, n))
        return n;
    for (int64_t k = 0; k < tr_list_of(parts)->len; k++) {
        tr_list *part = tr_list_of(from[k]);
        if (part->len == 0)
            continue;
        memcpy(item(list, l->len), part->items, bytes(list, part->len));
        l->len += part->len;
        part->len = 0;
    }
    return 0;
}

void tr_rt_list_fill(void *list, int64_t at, const void *from, int64_t start, int64_t step, int64_t n) {
    assert(is_whole(list) && is_whole(from) && at >= 0 && (n <= 0 || at + n <= tr_list_of(list)->len) &&
           "places in two lists");
    const tr_shape *s = ((const tr_mem *)list)->shape;
    if (n <= 0)
        return;
    if (step == 1)
        memcpy(item(list, at), item(from, start), bytes(list, n));
    for (int64_t k = 0; k < n && step != 1; k++)
        memcpy(item(list, at + k), item(from, start + k * step), s->size);
    tr_rt_items_keep(s, item(list, at), n);
}

void tr_rt_list_repeat(void *list, int64_t at, const void *from, int64_t n) {
    int64_t all = tr_list_of(list)->len;
    for (; n && at + n <= all; at += n)
        tr_rt_list_fill(list, at, from, 0, 1, n);
}

void tr_rt_list_reverse(void *list) {
    size_t size = ((const tr_mem *)list)->shape->size;
    for (int64_t i = 0, k = tr_list_of(list)->len - 1; i < k; i++, k--) {
        char *a = item(list, i), *b = item(list, k), kept[64];
        for (size_t at = 0; at < size; at += sizeof kept) {
            size_t n = size - at < sizeof kept ? size - at : sizeof kept;
            memcpy(kept, a + at, n);
            memcpy(a + at, b + at, n);
            memcpy(b + at, kept, n);
        }
    }
}

bool tr_rt_same(const void *a, const void *b) {
    return a == b;
}

void tr_rt_list_move(void *owner, void *items, int64_t n, int64_t to, int64_t from, int64_t size) {
    (void)owner;
    int64_t most = to > from ? to : from;
    assert(to >= 0 && from >= 0 && most <= n && size > 0 && "places in a list, or its end");
    if (most < n)
        memmove((char *)items + to * size, (char *)items + from * size, (size_t)((n - most) * size));
}
