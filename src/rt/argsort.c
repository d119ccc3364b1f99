/* The places of a line's items in order, by a sort of words that hold a key and a place each (a packed sort).
 *
 * NumPy sorts numbers in vectors, but places one by one: ten to twenty times the time for a stable order. So
 * a key goes into the upper bits of a word, what its type has as an order of unsigned integers, less the
 * smallest; the item's number goes into the lower ones, and the words are sorted as plain numbers. No two are
 * equal, so the order is the stable one, which is one whatever the algorithm.
 * Where the keys have more bits than there is room for, those that begin alike come out side by
 * side and are sorted again among themselves, with the bits that follow: each time room is for
 * 32 bits or more, so three times at most.
 * Rows that rise or fall for long are left to the merge sort, which takes one pass. NaNs are
 * one key, behind all others, and zeros of both signs are one. Cost: a sort of as many
 * words, and two passes; 16 bytes an item. */
#include "rt/argsort.h"

#include <assert.h>
#include <string.h>

/* FEW: words that are sorted by insertion. PAIRS of neighbours, and where the order of equal items is not the
 * stable one SAMPLE of the keys, are looked at first, but no more than one of so many (SHARE); one fall of so
 * many pairs (ROWS) is next to none. */
enum { FEW = 16, PAIRS = 512, SAMPLE = 8192, SHARE = 8, ROWS = 64 };

typedef struct packed {
    const uint64_t *keys; /* of the items, in their order */
    uint64_t *words;
    tr_sort_fn *sort; /* of words */
    uint64_t mask;    /* the lower bits, which are an item's number */
    unsigned bits;    /* and how many those are */
    bool ties;        /* two keys are equal */
} packed;

static unsigned width(uint64_t x) {
    return x ? 64u - (unsigned)__builtin_clzll(x) : 0;
}

/* --- keys --- */

static uint64_t of_float(uint32_t bits, bool nan, bool zero) {
    return nan ? UINT32_MAX : zero ? 1u << 31 : bits >> 31 ? ~bits : bits | 1u << 31;
}

static uint64_t of_double(uint64_t bits, bool nan, bool zero) {
    return nan ? UINT64_MAX : zero ? UINT64_C(1) << 63 : bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static uint64_t key_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return of_float(bits, x != x, x == 0);
}

static uint64_t key_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return of_double(bits, x != x, x == 0);
}

#define KEY_SIGNED(x)   ((uint64_t)(x) ^ UINT64_C(1) << 63)
#define KEY_UNSIGNED(x) ((uint64_t)(x))
#define KEYS(T, KEY)                                       \
    for (int64_t i = 0; i < n; i++)                        \
        keys[i] = KEY(((const T *)items)[at ? at[i] : i]); \
    break

/* at: the items' places; NULL: as they lie. */
static void keys_of(int64_t type, const void *items, const intptr_t *at, int64_t n, uint64_t *keys) {
    switch (type) {
    case TR_SORT_I32: KEYS(int32_t, KEY_SIGNED);
    case TR_SORT_U32: KEYS(uint32_t, KEY_UNSIGNED);
    case TR_SORT_I64: KEYS(int64_t, KEY_SIGNED);
    case TR_SORT_U64: KEYS(uint64_t, KEY_UNSIGNED);
    case TR_SORT_F32: KEYS(float, key_f32);
    case TR_SORT_F64: KEYS(double, key_f64);
    default: assert(false); /* no other items have keys */
    }
}

/* --- words --- */

static uint64_t key_at(const packed *p, int64_t i) {
    return p->keys[p->words[i] & p->mask];
}

/* Few words whose numbers rise, by their keys. */
static void insert(packed *p, int64_t from, int64_t to) {
    for (int64_t i = from + 1; i < to; i++) {
        uint64_t word = p->words[i], key = key_at(p, i);
        int64_t j = i;
        for (; j > from && key < key_at(p, j - 1); j--)
            p->words[j] = p->words[j - 1];
        p->words[j] = word;
        p->ties |= j > from && key == key_at(p, j - 1);
    }
}

/* Words whose numbers rise, and whose keys lie so far apart. False: no memory. */
static bool order(packed *p, int64_t from, int64_t to) {
    uint64_t least = UINT64_MAX, most = 0;
    for (int64_t i = from; i < to; i++) {
        uint64_t key = key_at(p, i);
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    unsigned wide = width(most - least), room = 64 - p->bits, cut = wide > room ? wide - room : 0;
    if (!wide) {
        p->ties = true;
        return true;
    }
    for (int64_t i = from; i < to; i++)
        p->words[i] = (key_at(p, i) - least) >> cut << p->bits | (p->words[i] & p->mask);
    if (p->sort(p->words + from, to - from, NULL) < 0)
        return false;
    for (int64_t i = from, next; i < to; i = next) {
        uint64_t upper = p->words[i] >> p->bits;
        for (next = i + 1; next < to && p->words[next] >> p->bits == upper; next++)
            ;
        if (next == i + 1)
            continue;
        if (!cut)
            p->ties = true;
        else if (next - i <= FEW)
            insert(p, i, next);
        else if (!order(p, i, next))
            return false;
    }
    return true;
}

/* --- all of it --- */

/* Of some pairs of neighbours, is the first the larger one in next to none, or in next to all? Such rows a
 * merge sort has merged at once. room: for a place and a key of each. */
static bool is_long_rows(int64_t type, const void *items, const intptr_t *places, int64_t n, uint64_t *room) {
    int64_t some = n / SHARE < PAIRS ? n / SHARE : PAIRS, falls = 0;
    intptr_t *at = (intptr_t *)room;
    uint64_t *keys = room + 2 * some;
    for (int64_t i = 0; i < 2 * some; i++) {
        intptr_t place = n / some * (i / 2) + i % 2;
        at[i] = places ? places[place] : place;
    }
    keys_of(type, items, at, 2 * some, keys);
    for (int64_t i = 0; i < some; i++)
        falls += keys[2 * i] > keys[2 * i + 1];
    return falls <= some / ROWS || falls >= some - some / ROWS;
}

/* Are two of some keys equal? Then many may be. */
static bool some_tie(packed *p, int64_t n) {
    int64_t some = n / SHARE < SAMPLE ? n / SHARE : SAMPLE;
    for (int64_t i = 0; i < some; i++)
        p->words[i] = p->keys[n / some * i];
    if (p->sort(p->words, some, NULL) < 0)
        return true;
    for (int64_t i = 1; i < some; i++)
        if (p->words[i] == p->words[i - 1])
            return true;
    return false;
}

bool tr_argsort_packed(int64_t type, const void *items, intptr_t *places, int64_t n, bool goes_on,
                       bool stable, tr_sort_fn *sort) {
    bool has_key = type >= TR_SORT_I32 && type <= TR_SORT_F64 && type != TR_SORT_F16;
    if (n < TR_ARGSORT_LEAST || !has_key || (!stable && tr_sort_size(type) < 8))
        return false;
    packed p = {.sort = sort, .bits = width((uint64_t)n - 1)};
    uint64_t *room = malloc(2 * (size_t)n * sizeof *room);
    if (!room)
        return false;
    p.keys = room;
    p.words = room + n;
    p.mask = (UINT64_C(1) << p.bits) - 1;
    bool done = false;
    const intptr_t *from = goes_on ? places : NULL;
    if (is_long_rows(type, items, from, n, room))
        goto end;
    keys_of(type, items, from, n, room);
    if (!stable && some_tie(&p, n))
        goto end;
    for (int64_t i = 0; i < n; i++)
        p.words[i] = (uint64_t)i;
    done = order(&p, 0, n) && (stable || !p.ties);
    if (!done)
        goto end;
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = p.words[i] & p.mask;
        p.words[i] = goes_on ? (uint64_t)places[at] : at;
    }
    memcpy(places, p.words, (size_t)n * sizeof *places);
end:
    free(room);
    return done;
}
