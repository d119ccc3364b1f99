/* Sets and dicts: entries in the order in which they came, and an index of them, a hash table of open
 * addresses with linear probing.
 *
 * A table's keys are a list, so compiled code sees them as an array; a dict's values are another list, item
 * by item beside them. What finds a key gives its entry's number, and no value passes through here. A slot of
 * the index is 32 bits, 64 for tables that need them: empty, deleted, or an entry's number with bits of its
 * hash (the tag), so that a look-up touches one line of the index, and a key only where tags are equal. At
 * most 5/8 of all slots are taken.
 *
 * An entry that leaves is marked by a bit and stays until the table needs room: then entries move up if many
 * have left, else the index doubles. So the order survives, numbers of entries change only where one is
 * entered, and the last entry is always there: what leaves at the end takes the marked ones before it along.
 * A table is whole, or unchanged, when there is no memory. Strings may come from whom one does not trust, who
 * would choose many of one hash: theirs depend on a secret of the process, and no order on them.
 * Cost: amortised constant for each operation; a walk over the entries passes those that have left 64 at a
 * time. Without a key a table has no memory but its block. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/hash.h"
#include "rt/str.h"

enum { EMPTY = 0, GONE = 1, FIRST = 2 }; /* a slot: an entry's number comes after these */
enum { LEAST = 3, WIDE = 26, MOST = 40 };
static const uint64_t TAG_BITS = ~((UINT64_C(1) << MOST) - 1); /* of wide slots */

static size_t slot_bytes(unsigned lg) {
    return lg < WIDE ? 4 : 8;
}

static int64_t room_of(unsigned lg) {
    return (INT64_C(5) << lg) / 8;
}

static int64_t words_of(int64_t n) {
    return (n + 63) / 64;
}

static bool is_live(const tr_table *t, int64_t e) {
    return e >= 0 && e < t->keys.len && !(t->gone[e / 64] >> (e % 64) & 1);
}

static bool has_room(const tr_table *t) {
    return t->keys.len < t->keys.cap && t->taken < t->keys.cap;
}

static void place(tr_table *t, uint64_t h, int64_t e) {
    uint64_t mask = (UINT64_C(1) << t->lg) - 1, p = h >> (64 - t->lg);
    if (t->lg < WIDE) {
        uint32_t *index = t->index;
        while (index[p] > GONE)
            p = (p + 1) & mask;
        t->taken += index[p] == EMPTY;
        index[p] = ((uint32_t)h & ~(uint32_t)mask) | (uint32_t)(e + FIRST);
    } else {
        uint64_t *index = t->index;
        while (index[p] > GONE)
            p = (p + 1) & mask;
        t->taken += index[p] == EMPTY;
        index[p] = h << MOST | (uint64_t)(e + FIRST);
    }
}

static uint64_t slot_at(const tr_table *t, uint64_t p) {
    return t->lg < WIDE ? ((const uint32_t *)t->index)[p] : ((const uint64_t *)t->index)[p];
}

static void set_slot(tr_table *t, uint64_t p, unsigned what) {
    if (t->lg < WIDE)
        ((uint32_t *)t->index)[p] = what;
    else
        ((uint64_t *)t->index)[p] = what;
}

/* Where a chain ends behind the slot, it ends before it, and before deleted ones in front. */
static void remove_slot(tr_table *t, uint64_t h, int64_t e) {
    uint64_t mask = (UINT64_C(1) << t->lg) - 1, p = h >> (64 - t->lg);
    uint64_t number = t->lg < WIDE ? mask : ~TAG_BITS;
    while ((slot_at(t, p) & number) != (uint64_t)(e + FIRST)) {
        assert(slot_at(t, p) != EMPTY && "an entry has a slot");
        p = (p + 1) & mask;
    }
    set_slot(t, p, GONE);
    if (slot_at(t, (p + 1) & mask) != EMPTY)
        return;
    for (; slot_at(t, p) == GONE; p = (p - 1) & mask) {
        set_slot(t, p, EMPTY);
        t->taken--;
    }
}

/* Entries that are there move up over those that have left, keys and values alike. */
static int64_t move_up(tr_table *t, void *items, int64_t size) {
    char *at = items;
    int64_t n = 0;
    for (int64_t e = 0; e < t->keys.len; n++) {
        int64_t from = tr_rt_table_next(t, e);
        if (from < 0)
            break;
        if (from != n)
            memcpy(at + n * size, at + from * size, (size_t)size);
        e = from + 1;
    }
    return n;
}

static tr_list *values_of(void *values) {
    return values ? tr_list_of(values) : NULL;
}

static const tr_shape *shape_of(const void *block) {
    return ((const tr_mem *)block)->shape;
}

static char *item(void *block, int64_t i) {
    return (char *)tr_list_of(block)->items + i * shape_of(block)->size;
}

static void hold_nothing(tr_frame *f, void *block, int64_t e) {
    if (!shape_of(block)->n)
        return;
    tr_rt_items_drop(f, shape_of(block), item(block, e), 1);
    memset(item(block, e), 0, shape_of(block)->size);
}

/* What nobody outside can know: the system gives it to each process. */
static uint64_t make_secret(void) {
    const void *bytes = (const void *)getauxval(AT_RANDOM);
    uint64_t word[2] = {0};
    if (bytes)
        memcpy(word, bytes, sizeof word);
    return tr_hash_mix(word[0], word[1]);
}

/* Room for more entries: the index is made anew, twice as large where more than half of the entries are
 * there. */
static bool grow(tr_table *t, int64_t key, bool stored, void *values,
                 void (*place_all)(tr_table *t, int64_t n)) {
    tr_list *v = values_of(values);
    int64_t size = v ? shape_of(values)->size : 0;
    unsigned lg = !t->index ? LEAST : t->live > t->keys.cap / 2 ? t->lg + 1u : t->lg;
    int64_t cap = room_of(lg);
    if (lg > MOST)
        return false;
    size_t slots = slot_bytes(lg) << lg, bits = (size_t)words_of(cap) * 8;
    char *index = calloc(1, slots + bits + (stored ? (size_t)cap * 8 : 0));
    if (!index)
        return false;
    void *keys = cap > t->keys.cap ? realloc(t->keys.items, (size_t)(cap * key)) : t->keys.items;
    if (!keys) {
        free(index);
        return false;
    }
    t->keys.items = keys;
    if (v && v->cap < cap) {
        void *items = realloc(v->items, (size_t)(cap * size));
        if (!items) {
            free(index);
            return false;
        }
        v->items = items;
        v->cap = cap;
    }
    if (t->live < t->keys.len) {
        move_up(t, t->keys.items, key);
        if (stored)
            move_up(t, t->hashes, 8);
        if (v)
            v->len = move_up(t, v->items, size);
    }
    if (stored && t->index)
        memcpy(index + slots + bits, t->hashes, (size_t)t->live * 8);
    else if (stored)
        t->secret = make_secret();
    free(t->index);
    t->index = index;
    t->gone = (uint64_t *)(void *)(index + slots);
    t->hashes = stored ? (uint64_t *)(void *)(index + slots + bits) : NULL;
    t->lg = lg;
    t->taken = 0;
    t->keys.len = t->live;
    t->keys.cap = cap;
    place_all(t, t->live);
    return true;
}

static void entered(tr_table *t, void *values) {
    tr_list *v = values_of(values);
    assert((!v || (v->len == t->keys.len && v->cap >= t->keys.cap)) && "a value for each key");
    if (v)
        memset(item(values, v->len++), 0, shape_of(values)->size);
    t->keys.len++;
    t->live++;
}

/* The entry's slot is gone already. */
static void left(tr_frame *f, void *table, int64_t e, void *values) {
    tr_table *t = tr_table_of(table);
    hold_nothing(f, table, e);
    if (values)
        hold_nothing(f, values, e);
    t->gone[e / 64] |= UINT64_C(1) << (e % 64);
    t->live--;
    int64_t n = t->keys.len;
    for (; n && !is_live(t, n - 1); n--)
        t->gone[(n - 1) / 64] &= ~(UINT64_C(1) << ((n - 1) % 64));
    t->keys.len = n;
    if (values)
        values_of(values)->len = n;
}

int64_t tr_rt_table_next(const tr_table *t, int64_t e) {
    int64_t n = t->keys.len;
    if (e < 0 || e >= n)
        return -1;
    uint64_t w = ~t->gone[e / 64] & ~UINT64_C(0) << (e % 64);
    for (int64_t k = e / 64; k < words_of(n); w = ~t->gone[k]) {
        if (w) {
            int64_t at = k * 64 + __builtin_ctzll(w);
            return at < n ? at : -1;
        }
        if (++k == words_of(n))
            break;
    }
    return -1;
}

int64_t tr_rt_dict_next(const void *table, int64_t e) {
    return tr_rt_table_next(tr_table_of(table), e);
}

void *tr_rt_dict_new(tr_frame *f, const tr_shape *shape) {
    tr_mem *m = tr_rt_cell(f, sizeof(tr_table));
    if (!m)
        return NULL;
    *tr_table_of(m) = (tr_table){0};
    m->shape = shape;
    return m;
}

void tr_rt_dict_clear(tr_frame *f, void *table, void *values) {
    tr_table *t = tr_table_of(table), was = *t;
    tr_list *v = values_of(values), had = v ? *v : (tr_list){0};
    *t = (tr_table){0};
    if (v)
        *v = (tr_list){0};
    tr_rt_items_drop(f, shape_of(table), was.keys.items, was.keys.len);
    if (v)
        tr_rt_items_drop(f, shape_of(values), had.items, had.len);
    free(was.keys.items);
    free(was.index);
    free(had.items);
}

#define NAME(x)    tr_rt_dict_##x##_bool
#define KEY        uint8_t
#define ARGS       uint8_t key
#define FROM_ARGS  key
#define HASH(k)    tr_hash_word(k)
#define SAME(a, b) ((a) == (b))
#define LOST(k)    ((void)(k), false)
#define STORED     0
#define BY_SHAPE   0
#include "rt/dict_type.h"

#define NAME(x)    tr_rt_dict_##x##_i64
#define KEY        uint64_t
#define ARGS       uint64_t key
#define FROM_ARGS  key
#define HASH(k)    tr_hash_word(k)
#define SAME(a, b) ((a) == (b))
#define LOST(k)    ((void)(k), false)
#define STORED     0
#define BY_SHAPE   0
#include "rt/dict_type.h"

/* -0.0 is 0.0 to whoever looks for it; the one that is there stays as it came. */
static uint64_t bits_of(double x) {
    uint64_t u;
    x += 0.0;
    memcpy(&u, &x, sizeof u);
    return u;
}

#define NAME(x)    tr_rt_dict_##x##_f64
#define KEY        double
#define ARGS       double key
#define FROM_ARGS  key
#define HASH(k)    tr_hash_word(bits_of(k))
#define SAME(a, b) ((a) == (b))
#define LOST(k)    ((k) != (k))
#define STORED     0
#define BY_SHAPE   0
#include "rt/dict_type.h"

typedef struct pair_f64 {
    double x, y;
} pair_f64;

#define NAME(x)    tr_rt_dict_##x##_c128
#define KEY        pair_f64
#define ARGS       double re, double im
#define FROM_ARGS  ((pair_f64){re, im})
#define HASH(k)    tr_hash_pair(bits_of((k).x), bits_of((k).y))
#define SAME(a, b) ((a).x == (b).x && (a).y == (b).y)
#define LOST(k)    ((k).x != (k).x || (k).y != (k).y)
#define STORED     0
#define BY_SHAPE   0
#include "rt/dict_type.h"

typedef struct pair_i64 {
    uint64_t x, y;
} pair_i64;

#define NAME(x)    tr_rt_dict_##x##_2i64
#define KEY        pair_i64
#define ARGS       uint64_t k0, uint64_t k1
#define FROM_ARGS  ((pair_i64){k0, k1})
#define HASH(k)    tr_hash_pair((k).x, (k).y)
#define SAME(a, b) ((a).x == (b).x && (a).y == (b).y)
#define LOST(k)    ((void)(k), false)
#define STORED     0
#define BY_SHAPE   0
#include "rt/dict_type.h"

/* By characters, three to a word, so a string has one hash in all widths; no word is what would make a
 * product zero (hash.h). */
#define MIX_CHARS(T)                                                       \
    for (int64_t i = 0; i < n; i += 3) {                                   \
        const T *c = (const T *)s->data + i;                               \
        h = tr_hash_mix(h, c[0] | (uint64_t)(i + 1 < n ? c[1] : 0) << 21 | \
                               (uint64_t)(i + 2 < n ? c[2] : 0) << 42);    \
    }

static uint64_t hash_string(uint64_t secret, const tr_str *s) {
    int64_t n = tr_str_len(s);
    uint64_t h = secret;
    if (tr_str_width(s) == 0)
        MIX_CHARS(uint8_t)
    else if (tr_str_width(s) == 1)
        MIX_CHARS(uint16_t)
    else
        MIX_CHARS(uint32_t)
    return tr_hash_mix(h, (uint64_t)n) & TR_HASH_KEPT;
}

#define NAME(x)    tr_rt_dict_##x##_str
#define KEY        tr_str
#define ARGS       STR_PARTS(key)
#define FROM_ARGS  STR_OF(key)
#define HASH(k)    hash_string(secret, &(k))
#define SAME(a, b) tr_str_same(&(a), &(b))
#define LOST(k)    ((void)(k), false)
#define STORED     1
#define BY_SHAPE   0
#include "rt/dict_type.h"

/* --- all other keys: tuples, dates, and what may be None, by the parts that the shape names --- */

typedef struct any_key {
    const char *at;
    const tr_shape *shape;
} any_key;

static uint64_t word_at(const char *p) {
    uint64_t u;
    memcpy(&u, p, sizeof u);
    return u;
}

static double float_at(const char *p) {
    double x;
    memcpy(&x, p, sizeof x);
    return x;
}

static tr_str string_at(const char *p) {
    tr_str s;
    memcpy(&s, p, sizeof s);
    return s;
}

/* Of a value that may be None, and is, what would be in it is passed over. */
static uint32_t next_part(const any_key *k, uint32_t i) {
    const tr_keypart *p = &k->shape->parts[i];
    return p->is == TR_KEYPART_GIVEN && !k->at[p->at] ? i + 2 + p[1].at : i + 1;
}

static bool is_lost(any_key k) {
    for (uint32_t i = 0; i < k.shape->nparts; i = next_part(&k, i)) {
        const char *p = k.at + k.shape->parts[i].at;
        unsigned is = k.shape->parts[i].is;
        if ((is == TR_KEYPART_FLOAT && float_at(p) != float_at(p)) ||
            (is == TR_KEYPART_DATE && word_at(p) == (uint64_t)INT64_MIN))
            return true;
    }
    return false;
}

static uint64_t hash_any(uint64_t secret, any_key k) {
    uint64_t h = secret;
    for (uint32_t i = 0; i < k.shape->nparts; i = next_part(&k, i)) {
        const char *p = k.at + k.shape->parts[i].at;
        tr_str s;
        switch ((tr_keypart_is)k.shape->parts[i].is) {
        case TR_KEYPART_BYTE:
        case TR_KEYPART_GIVEN: h = tr_hash_mix(h, (uint8_t)*p); break;
        case TR_KEYPART_WORD:
        case TR_KEYPART_DATE: h = tr_hash_mix(h, word_at(p)); break;
        case TR_KEYPART_FLOAT: h = tr_hash_mix(h, bits_of(float_at(p))); break;
        case TR_KEYPART_STRING:
            s = string_at(p);
            h = hash_string(h, &s);
            break;
        case TR_KEYPART_VALUE: break;
        }
    }
    return tr_hash_mix(h, 0) & TR_HASH_KEPT;
}

/* Both have one shape. A part that says that there is a value is the same in both before the value is. */
static bool is_same(any_key a, any_key b) {
    for (uint32_t i = 0; i < a.shape->nparts; i = next_part(&a, i)) {
        const char *p = a.at + a.shape->parts[i].at, *q = b.at + a.shape->parts[i].at;
        tr_str s, t;
        bool same = true;
        switch ((tr_keypart_is)a.shape->parts[i].is) {
        case TR_KEYPART_BYTE:
        case TR_KEYPART_GIVEN: same = *p == *q; break;
        case TR_KEYPART_WORD:
        case TR_KEYPART_DATE: same = word_at(p) == word_at(q); break;
        case TR_KEYPART_FLOAT: same = float_at(p) == float_at(q); break;
        case TR_KEYPART_STRING:
            s = string_at(p);
            t = string_at(q);
            same = tr_str_same(&s, &t);
            break;
        case TR_KEYPART_VALUE: break;
        }
        if (!same)
            return false;
    }
    return true;
}

#define NAME(x)    tr_rt_dict_##x##_any
#define KEY        any_key
#define ARGS       const void *key
#define FROM_ARGS  ((any_key){key, shape_of(table)})
#define HASH(k)    hash_any(secret, k)
#define SAME(a, b) is_same(a, b)
#define LOST(k)    is_lost(k)
#define STORED     1
#define BY_SHAPE   1
#include "rt/dict_type.h"
