/* The places of a line's items in order, by a sort of words that hold a key and a place each (a packed sort).
 *
 * NumPy sorts numbers in vectors, but places one by one: ten to twenty times the time for a stable order. So
 * a key goes into the upper bits of a word, what its type has as an order of unsigned integers, less the
 * smallest; the item's number goes into the lower ones, and the words are sorted as plain numbers. No two are
 * equal, so the order is the stable one, which is one whatever the algorithm.
 *
 * Words are sorted by their digits (radix sort), so by what is in them and without a guessed branch. Where
 * they are more than the caches hold, they go by their first digit to where those with that digit begin, and
 * each such part for itself from there on. What the caches hold is sorted by one digit after the other, the
 * last one first. A digit that all have in common costs no more than a look. So each item goes through memory
 * twice, whatever there is of them, and for the rest through the caches. The words lie where their places are
 * asked for, so the only other room is for the largest part.
 *
 * A key of more bits than find room beside the number, or than would tell nearly all keys apart (SURE), is
 * cut, and what begins alike comes out side by side: few such are sorted by insertion, more again among
 * themselves, by the bits that follow. Rows that rise or fall for long are left to the merge sort, which
 * takes one pass. NaNs are one key, behind all others, and zeros of both signs are one. Cost: 6 ns an item
 * of 32 bits and 10 of 64 (Zen 4), from 10,000 to 10 million of them; room for the largest part. */
#include "rt/argsort.h"

#include <assert.h>
#include <string.h>

#include "rt/layout.h"
#include "rt/words.h"

/* FEW: words that are sorted by insertion. PAIRS of neighbours, and where the order of equal items is not the
 * stable one SAMPLE of the keys, are looked at first, but no more than one of so many (SHARE); one fall of so
 * many pairs (ROWS) is next to none. Of keys of more than WHOLE bits as many are taken as items have numbers,
 * and SURE more. */
enum { FEW = 16, PAIRS = 512, SAMPLE = 8192, SHARE = 8, ROWS = 64, WHOLE = 32, SURE = 18 };
enum { CHUNK = TR_WORDS_CHUNK, DIGIT = TR_WORDS_DIGIT, DIGITS = TR_WORDS_DIGITS };

static unsigned width(uint64_t x) {
    return tr_words_width(x);
}

/* --- words of items --- */

/* What is sorted: items, or those at some places. */
typedef struct packed {
    tr_keys by;
    const intptr_t *at; /* NULL: as they lie */
    uint64_t *words, *spare;
    uint64_t mask; /* the lower bits of a word, which are an item's number */
    unsigned bits; /* and how many those are */
    bool ties;     /* two keys are equal */
} packed;

/* Of some keys the smallest, how many bits tell them apart, and the lowest of those that words hold. */
typedef struct span {
    uint64_t least, most;
    unsigned wide, cut;
} span;

static const span no_span = {.least = UINT64_MAX};

static void span_keys(span *s, const uint64_t *keys, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        s->least = keys[i] < s->least ? keys[i] : s->least;
        s->most = keys[i] > s->most ? keys[i] : s->most;
    }
}

/* Of n keys, which differ in no more than `most` bits. */
static void cut_keys(const packed *p, span *s, int64_t n, unsigned most) {
    unsigned room = 64 - p->bits, sure = width((uint64_t)n) + SURE, wide = width(s->most - s->least);
    wide = wide < most ? wide : most;
    unsigned held = wide <= WHOLE || wide < sure ? wide : sure;
    held = held < room ? held : room;
    s->wide = held;
    s->cut = wide - held;
}

static uint64_t upper(const span *s, uint64_t key) {
    return (key - s->least) >> s->cut;
}

/* The keys of the next items, a chunk of them at most; how many. */
static int64_t chunk(const packed *p, int64_t first, int64_t n, uint64_t *keys) {
    int64_t len = n - first < CHUNK ? n - first : CHUNK;
    tr_keys_of(&p->by, p->at ? p->at + first : NULL, first, len, keys);
    return len;
}

/* The same of the items whose numbers are in some words. */
static int64_t chunk_of(const packed *p, const uint64_t *words, int64_t first, int64_t n, uint64_t *keys) {
    int64_t len = n - first < CHUNK ? n - first : CHUNK;
    intptr_t at[CHUNK];
    for (int64_t i = 0; i < len; i++) {
        intptr_t number = (intptr_t)(words[first + i] & p->mask);
        at[i] = p->at ? p->at[number] : number;
    }
    tr_keys_of(&p->by, at, 0, len, keys);
    return len;
}

static void settle(packed *p, uint64_t *words, int64_t n, unsigned cut);

/* Words whose numbers rise, by their keys, which differ in so many bits. */
static void sort_again(packed *p, uint64_t *words, int64_t n, unsigned most) {
    uint64_t keys[CHUNK];
    span s = no_span;
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk_of(p, words, first, n, keys);
        span_keys(&s, keys, len);
    }
    cut_keys(p, &s, n, most);
    p->ties |= !s.wide;
    if (!s.wide)
        return;
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk_of(p, words, first, n, keys);
        for (int64_t i = 0; i < len; i++)
            words[first + i] = upper(&s, keys[i]) << p->bits | (words[first + i] & p->mask);
    }
    tr_words_sort(words, p->spare, n, p->bits, s.wide, false);
    settle(p, words, n, s.cut);
}

/* The same of few. */
static void insert_again(packed *p, uint64_t *words, int64_t n) {
    uint64_t keys[CHUNK];
    chunk_of(p, words, 0, n, keys);
    for (int64_t i = 1; i < n; i++) {
        uint64_t word = words[i], key = keys[i];
        int64_t j = i;
        for (; j > 0 && key < keys[j - 1]; j--) {
            words[j] = words[j - 1];
            keys[j] = keys[j - 1];
        }
        words[j] = word;
        keys[j] = key;
        p->ties |= j > 0 && key == keys[j - 1];
    }
}

/* Sorted words, of keys without that many bits: what they have alike, are those equal, and else in which
 * order? */
static void settle(packed *p, uint64_t *words, int64_t n, unsigned cut) {
    for (int64_t i = 0, next; i < n; i = next) {
        uint64_t key = words[i] >> p->bits;
        for (next = i + 1; next < n && words[next] >> p->bits == key; next++)
            ;
        if (next == i + 1)
            continue;
        if (!cut)
            p->ties = true;
        else if (next - i <= FEW)
            insert_again(p, words + i, next - i);
        else
            sort_again(p, words + i, next - i, cut);
    }
}

/* --- all of it --- */

/* Of some pairs of neighbours, is the first the larger one in next to none, or in next to all? Such rows a
 * merge sort has merged at once. */
static bool is_long_rows(const packed *p, int64_t n) {
    int64_t some = n / SHARE < PAIRS ? n / SHARE : PAIRS, falls = 0;
    uint64_t pair[CHUNK], keys[CHUNK];
    for (int64_t done = 0, len; done < some; done += len / 2) {
        len = 2 * (some - done) < CHUNK ? 2 * (some - done) : CHUNK;
        for (int64_t i = 0; i < len; i++)
            pair[i] = (uint64_t)(n / some * (done + i / 2) + i % 2);
        chunk_of(p, pair, 0, len, keys);
        for (int64_t i = 0; i < len; i += 2)
            falls += keys[i] > keys[i + 1];
    }
    return falls <= some / ROWS || falls >= some - some / ROWS;
}

/* Are two of some keys equal, or is there no memory to see? Then many may be. */
static bool some_tie(const packed *p, int64_t n) {
    int64_t some = n / SHARE < SAMPLE ? n / SHARE : SAMPLE;
    uint64_t *keys = malloc(2 * (size_t)some * sizeof *keys);
    bool tie = !keys;
    for (int64_t i = 0; i < some && keys; i++)
        keys[some + i] = (uint64_t)(n / some * i);
    for (int64_t first = 0; first < some && keys; first += CHUNK)
        chunk_of(p, keys + some, first, some, keys + first);
    if (keys)
        tr_words_sort(keys, keys + some, some, 0, 64, false);
    for (int64_t i = 1; i < some && !tie; i++)
        tie = keys[i] == keys[i - 1];
    free(keys);
    return tie;
}

/* The parts of all items' words; the size of the largest. */
static int64_t count_words(const packed *p, const span *s, int64_t n, unsigned shift,
                           tr_words_part parts[DIGITS]) {
    uint64_t keys[CHUNK];
    memset(parts, 0, DIGITS * sizeof *parts);
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk(p, first, n, keys);
        for (int64_t i = 0; i < len; i++)
            parts[upper(s, keys[i]) >> shift & (DIGITS - 1)].end++;
    }
    return tr_words_parts(parts);
}

/* All items' words, each in its part. False: items have changed since they were counted. */
static bool make_words(const packed *p, const span *s, int64_t n, unsigned shift,
                       tr_words_part parts[DIGITS]) {
    uint64_t keys[CHUNK];
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk(p, first, n, keys);
        for (int64_t i = 0; i < len; i++) {
            uint64_t key = upper(s, keys[i]);
            tr_words_part *to = &parts[key >> shift & (DIGITS - 1)];
            if (to->at == to->end)
                return false;
            p->words[to->at++] = key << p->bits | (uint64_t)(first + i);
        }
    }
    return true;
}

/* Sorted words of items, of keys of which so many bits are not told apart yet, are places. */
static void finish(packed *p, uint64_t *words, int64_t n, unsigned left, unsigned cut, bool stable) {
    tr_words_sort(words, p->spare, n, p->bits, left, false);
    if (!stable || cut)
        settle(p, words, n, cut);
    for (int64_t i = 0; i < n; i++)
        words[i] &= p->mask;
}

/* Of items whose words the caches hold: these are their keys first. */
static bool sort_few(packed *p, int64_t n, bool stable) {
    tr_words_room r;
    p->spare = tr_words_open(&r, n);
    if (!p->spare)
        return false;
    span s = no_span;
    tr_keys_of(&p->by, p->at, 0, n, p->words);
    span_keys(&s, p->words, n);
    cut_keys(p, &s, n, 64);
    for (int64_t i = 0; i < n; i++)
        p->words[i] = upper(&s, p->words[i]) << p->bits | (uint64_t)i;
    finish(p, p->words, n, s.wide, s.cut, stable);
    tr_words_close(&r);
    return true;
}

/* Of more. Another thread may change them at any time: then too, all that is written lies in its room. */
static bool sort_many(packed *p, int64_t n, bool stable) {
    uint64_t keys[CHUNK];
    tr_words_part parts[DIGITS];
    span s = no_span;
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk(p, first, n, keys);
        span_keys(&s, keys, len);
    }
    cut_keys(p, &s, n, 64);
    unsigned digit = width((uint64_t)(n / TR_WORDS_PART));
    digit = digit < DIGIT ? digit : DIGIT;
    digit = digit < s.wide ? digit : s.wide;
    unsigned left = s.wide - digit;
    tr_words_room r;
    p->spare = tr_words_open(&r, count_words(p, &s, n, left, parts));
    bool made = p->spare && make_words(p, &s, n, left, parts);
    int64_t begin = 0;
    for (unsigned d = 0; d < DIGITS && made; begin = parts[d++].end)
        finish(p, p->words + begin, parts[d].end - begin, left, s.cut, stable);
    if (p->spare)
        tr_words_close(&r);
    return made;
}

/* The places of all items where their words are. False: no memory, or not to be known. */
static bool sort_items(packed *p, int64_t n, bool stable) {
    bool sorted = n > TR_WORDS_CACHED ? sort_many(p, n, stable) : sort_few(p, n, stable);
    return sorted && (stable || !p->ties);
}

static void begin_packed(packed *p, tr_keys by, int64_t n) {
    *p = (packed){.by = by, .bits = width((uint64_t)n - 1)};
    p->mask = (UINT64_C(1) << p->bits) - 1;
}

bool tr_argsort_packed(int64_t type, const void *items, intptr_t *places, int64_t n, bool goes_on,
                       bool stable) {
    bool has_key = type >= TR_SORT_I32 && type <= TR_SORT_F64;
    if (n < TR_ARGSORT_LEAST || !has_key || (!stable && tr_sort_size(type) < 8))
        return false;
    packed p;
    begin_packed(&p, tr_keys_all(type, items), n);
    p.at = goes_on ? places : NULL;
    p.words = (uint64_t *)places;
    if (is_long_rows(&p, n) || (!stable && some_tie(&p, n)))
        return false;
    if (!goes_on)
        return sort_items(&p, n, stable);
    tr_words_room r;
    p.words = tr_words_open(&r, n); /* the places that are there are asked for until the last one is known */
    if (!p.words)
        return false;
    bool done = sort_items(&p, n, stable);
    for (int64_t i = 0; i < n && done; i++)
        p.words[i] = (uint64_t)places[p.words[i]];
    if (done)
        memcpy(places, p.words, (size_t)n * sizeof *places);
    tr_words_close(&r);
    return done;
}

bool tr_argsort_keys(const tr_keys *by, uint64_t *places, int64_t n) {
    packed p;
    if (n == 1)
        *places = 0;
    if (n <= 1)
        return true;
    begin_packed(&p, *by, n);
    p.words = places;
    return sort_items(&p, n, true);
}
