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

#include "rt/blocks.h"
#include "rt/layout.h"

/* FEW: words that are sorted by insertion. PAIRS of neighbours, and where the order of equal items is not the
 * stable one SAMPLE of the keys, are looked at first, but no more than one of so many (SHARE); one fall of so
 * many pairs (ROWS) is next to none. Of keys of more than WHOLE bits as many are taken as items have numbers,
 * and SURE more. */
enum { FEW = 16, PAIRS = 512, SAMPLE = 8192, SHARE = 8, ROWS = 64, WHOLE = 32, SURE = 18 };
/* DIGIT: bits of one at most, FIRST at least. CACHED: words that are sorted where the second level of a cache
 * holds them twice. PART: of more, as many go into a part if keys lie evenly. CHUNK: keys at a time.
 * TOGETHER: digits that are counted at once. */
enum {
    DIGIT = 8,
    FIRST = 4,
    DIGITS = 1 << DIGIT,
    CACHED = 1 << 15,
    PART = 1 << 13,
    CHUNK = 512,
    TOGETHER = 4
};

static unsigned width(uint64_t x) {
    return x ? 64u - (unsigned)__builtin_clzll(x) : 0;
}

/* --- keys --- */

/* Signs are as good as random: no branch is made of them. */
#define KEY_OF_FLOAT(name, T, BITS, INF, MOST)                               \
    static uint64_t name(T x) {                                              \
        BITS bits, sign = (BITS)1 << (8 * sizeof bits - 1);                  \
        memcpy(&bits, &x, sizeof bits);                                      \
        bits = bits == sign ? 0 : bits;                                      \
        BITS key = bits ^ ((BITS) - (bits >> (8 * sizeof bits - 1)) | sign); \
        return (bits & ~sign) > (INF) ? (MOST) : key;                        \
    }
KEY_OF_FLOAT(key_f32, float, uint32_t, 0x7f800000u, UINT32_MAX)
KEY_OF_FLOAT(key_f64, double, uint64_t, UINT64_C(0x7ff0000000000000), UINT64_MAX)

#define KEY_SIGNED(x)   ((uint64_t)(x) ^ UINT64_C(1) << 63)
#define KEY_UNSIGNED(x) ((uint64_t)(x))
#define KEY_HALF(x)     KEY_SIGNED(tr_half_key(x))
#define KEYS(T, KEY)                                  \
    if (at)                                           \
        for (int64_t i = 0; i < n; i++)               \
            keys[i] = KEY(((const T *)items)[at[i]]); \
    else                                              \
        for (int64_t i = 0; i < n; i++)               \
            keys[i] = KEY(((const T *)items)[i]);     \
    break

/* at: the items' places; NULL: as they lie. */
static void keys_of(int64_t type, const void *items, const intptr_t *at, int64_t n, uint64_t *keys) {
    switch (type) {
    case TR_SORT_F16: KEYS(tr_item_half, KEY_HALF);
    case TR_SORT_I32: KEYS(int32_t, KEY_SIGNED);
    case TR_SORT_U32: KEYS(uint32_t, KEY_UNSIGNED);
    case TR_SORT_I64: KEYS(int64_t, KEY_SIGNED);
    case TR_SORT_U64: KEYS(uint64_t, KEY_UNSIGNED);
    case TR_SORT_F32: KEYS(float, key_f32);
    case TR_SORT_F64: KEYS(double, key_f64);
    default: assert(false); /* no other items have keys */
    }
}

/* --- words by their digits --- */

/* Words of which no two are equal, few. */
static void insert(uint64_t *words, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t word = words[i];
        int64_t j = i;
        for (; j > 0 && word < words[j - 1]; j--)
            words[j] = words[j - 1];
        words[j] = word;
    }
}

/* From how many words have each digit to where these begin. False: all have one. */
static bool begins(int64_t *at, unsigned digits, int64_t n) {
    int64_t sum = 0;
    for (unsigned d = 0; d < digits; d++) {
        int64_t count = at[d];
        if (count == n)
            return false;
        at[d] = sum;
        sum += count;
    }
    assert(sum == n && "each word has a digit");
    return true;
}

/* Words go to where those with their digit begin, in their order; then each begin is an end. False: all have
 * one digit, and nothing went. */
static bool by_digit(const uint64_t *from, uint64_t *to, int64_t n, unsigned shift, unsigned digit,
                     int64_t *at) {
    uint64_t mask = (UINT64_C(1) << digit) - 1;
    memset(at, 0, sizeof *at << digit);
    for (int64_t i = 0; i < n; i++)
        at[from[i] >> shift & mask]++;
    if (!begins(at, 1u << digit, n))
        return false;
    for (int64_t i = 0; i < n; i++)
        to[at[from[i] >> shift & mask]++] = from[i];
    return true;
}

/* From how many of few words have each digit to where these begin. False: all have one. */
static bool begins_few(uint32_t *at, unsigned digits, int64_t n) {
    uint32_t sum = 0, most = 0;
    for (unsigned d = 0; d < digits; d++) {
        uint32_t count = at[d];
        most = count > most ? count : most;
        at[d] = sum;
        sum += count;
    }
    assert(sum == n && "each word has a digit");
    return most < n;
}

/* How many words have each of the `some` digits from bit `low` on. */
static void count_digits(const uint64_t *words, int64_t n, unsigned low, unsigned digit, unsigned some,
                         uint32_t at[TOGETHER][DIGITS]) {
    uint64_t mask = (UINT64_C(1) << digit) - 1;
    memset(at, 0, some * sizeof *at);
    switch (some) {
#define COUNTED(k) at[k][words[i] >> (low + (k)*digit) & mask]++
    case 1:
        for (int64_t i = 0; i < n; i++)
            COUNTED(0);
        break;
    case 2:
        for (int64_t i = 0; i < n; i++)
            COUNTED(0), COUNTED(1);
        break;
    case 3:
        for (int64_t i = 0; i < n; i++)
            COUNTED(0), COUNTED(1), COUNTED(2);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            COUNTED(0), COUNTED(1), COUNTED(2), COUNTED(3);
    }
}

/* Words that the caches hold, the last digit first; some digits are counted together. Where they are then. */
static uint64_t *sort_cached(uint64_t *from, uint64_t *to, int64_t n, unsigned low, unsigned wide) {
    uint32_t at[TOGETHER][DIGITS];
    unsigned most = width((uint64_t)n) - 1;
    most = most < FIRST ? FIRST : most > DIGIT ? DIGIT : most;
    unsigned digits = (wide + most - 1) / most, digit = digits ? (wide + digits - 1) / digits : 0;
    uint64_t mask = (UINT64_C(1) << digit) - 1;
    for (unsigned d = 0, some = 0; d < digits; d++, low += digit) {
        if (d % TOGETHER == 0) {
            some = digits - d < TOGETHER ? digits - d : TOGETHER;
            count_digits(from, n, low, digit, some, at);
        }
        uint32_t *where = at[d % TOGETHER];
        if (!begins_few(where, 1u << digit, n))
            continue;
        for (int64_t i = 0; i < n; i++)
            to[where[from[i] >> low & mask]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
    return from;
}

/* n words, by `wide` bits from bit `low` on, into b or left in a. Those in a rise by the bits below, and are
 * alike in those above. Both are room for n. */
static void sort_words(uint64_t *a, uint64_t *b, int64_t n, unsigned low, unsigned wide, bool into_b) {
    while (n > CACHED && wide) {
        int64_t at[DIGITS];
        unsigned digit = wide < DIGIT ? wide : DIGIT;
        wide -= digit;
        if (!by_digit(a, b, n, low + wide, digit, at))
            continue;
        int64_t begin = 0;
        for (unsigned d = 0; d < 1u << digit; begin = at[d++])
            sort_words(b + begin, a + begin, at[d] - begin, low, wide, !into_b);
        return;
    }
    if (n <= FEW)
        insert(a, n);
    const uint64_t *sorted = n <= FEW ? a : sort_cached(a, b, n, low, wide);
    if (sorted != (into_b ? b : a))
        memcpy(into_b ? b : a, sorted, (size_t)n * sizeof *a);
}

/* --- words of items --- */

/* What is sorted: items, or those at some places. */
typedef struct packed {
    int64_t type;
    const void *items;
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
    const char *items = (const char *)p->items + (p->at ? 0 : first * tr_sort_size(p->type));
    keys_of(p->type, items, p->at ? p->at + first : NULL, len, keys);
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
    keys_of(p->type, p->items, at, len, keys);
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
    sort_words(words, p->spare, n, p->bits, s.wide, false);
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

/* --- room --- */

/* Large room lies on huge pages, where the system has them: of small ones each would be a fault. */
typedef struct block {
    uint64_t bytes;
    void *at, *raw;
} block;

static uint64_t *open_block(block *b) {
    bool large = b->bytes >= TR_BLOCK_MIN;
    b->at = large ? tr_rt_blocks_get(NULL, b->bytes, &b->raw) : malloc(b->bytes);
    return b->at && large ? (uint64_t *)((char *)b->at + TR_MEM_ALIGN) : b->at;
}

static void close_block(block *b) {
    if (b->bytes >= TR_BLOCK_MIN)
        tr_rt_blocks_put(NULL, b->at, b->bytes, b->raw);
    else
        free(b->at);
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
        sort_words(keys, keys + some, some, 0, 64, false);
    for (int64_t i = 1; i < some && !tie; i++)
        tie = keys[i] == keys[i - 1];
    free(keys);
    return tie;
}

/* The words of a digit: where the next one goes, and up to where. */
typedef struct part {
    int64_t at, end;
} part;

/* The parts of all items' words; the size of the largest. */
static int64_t count_words(const packed *p, const span *s, int64_t n, unsigned shift, part parts[DIGITS]) {
    uint64_t keys[CHUNK];
    int64_t counts[DIGITS] = {0}, sum = 0, most = 0;
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk(p, first, n, keys);
        for (int64_t i = 0; i < len; i++)
            counts[upper(s, keys[i]) >> shift & (DIGITS - 1)]++;
    }
    for (unsigned d = 0; d < DIGITS; d++) {
        most = counts[d] > most ? counts[d] : most;
        parts[d] = (part){.at = sum, .end = sum + counts[d]};
        sum += counts[d];
    }
    return most;
}

/* All items' words, each in its part. False: items have changed since they were counted. */
static bool make_words(const packed *p, const span *s, int64_t n, unsigned shift, part parts[DIGITS]) {
    uint64_t keys[CHUNK];
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk(p, first, n, keys);
        for (int64_t i = 0; i < len; i++) {
            uint64_t key = upper(s, keys[i]);
            part *to = &parts[key >> shift & (DIGITS - 1)];
            if (to->at == to->end)
                return false;
            p->words[to->at++] = key << p->bits | (uint64_t)(first + i);
        }
    }
    return true;
}

/* Sorted words of items, of keys of which so many bits are not told apart yet, are places. */
static void finish(packed *p, uint64_t *words, int64_t n, unsigned left, unsigned cut, bool stable) {
    sort_words(words, p->spare, n, p->bits, left, false);
    if (!stable || cut)
        settle(p, words, n, cut);
    for (int64_t i = 0; i < n; i++)
        words[i] &= p->mask;
}

/* Of items whose words the caches hold: these are their keys first. */
static bool sort_few(packed *p, int64_t n, bool stable) {
    block b = {.bytes = (uint64_t)n * sizeof *p->spare};
    p->spare = open_block(&b);
    if (!p->spare)
        return false;
    span s = no_span;
    keys_of(p->type, p->items, p->at, n, p->words);
    span_keys(&s, p->words, n);
    cut_keys(p, &s, n, 64);
    for (int64_t i = 0; i < n; i++)
        p->words[i] = upper(&s, p->words[i]) << p->bits | (uint64_t)i;
    finish(p, p->words, n, s.wide, s.cut, stable);
    close_block(&b);
    return true;
}

/* Of more. Another thread may change them at any time: then too, all that is written lies in its room. */
static bool sort_many(packed *p, int64_t n, bool stable) {
    uint64_t keys[CHUNK];
    part parts[DIGITS];
    span s = no_span;
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk(p, first, n, keys);
        span_keys(&s, keys, len);
    }
    cut_keys(p, &s, n, 64);
    unsigned digit = width((uint64_t)(n / PART));
    digit = digit < DIGIT ? digit : DIGIT;
    digit = digit < s.wide ? digit : s.wide;
    unsigned left = s.wide - digit;
    block b = {.bytes = (uint64_t)count_words(p, &s, n, left, parts) * sizeof *p->spare};
    p->spare = open_block(&b);
    bool made = p->spare && make_words(p, &s, n, left, parts);
    int64_t begin = 0;
    for (unsigned d = 0; d < DIGITS && made; begin = parts[d++].end)
        finish(p, p->words + begin, parts[d].end - begin, left, s.cut, stable);
    if (p->spare)
        close_block(&b);
    return made;
}

/* The places of all items where their words are. False: no memory, or not to be known. */
static bool sort_items(packed *p, int64_t n, bool stable) {
    bool sorted = n > CACHED ? sort_many(p, n, stable) : sort_few(p, n, stable);
    return sorted && (stable || !p->ties);
}

bool tr_argsort_packed(int64_t type, const void *items, intptr_t *places, int64_t n, bool goes_on,
                       bool stable) {
    bool has_key = type >= TR_SORT_I32 && type <= TR_SORT_F64;
    if (n < TR_ARGSORT_LEAST || !has_key || (!stable && tr_sort_size(type) < 8))
        return false;
    packed p = {.type = type, .items = items, .at = goes_on ? places : NULL, .words = (uint64_t *)places};
    p.bits = width((uint64_t)n - 1);
    p.mask = (UINT64_C(1) << p.bits) - 1;
    if (is_long_rows(&p, n) || (!stable && some_tie(&p, n)))
        return false;
    if (!goes_on)
        return sort_items(&p, n, stable);
    block b = {.bytes = (uint64_t)n * sizeof *p.words};
    p.words = open_block(&b); /* the places that are there are asked for until the last one is known */
    if (!p.words)
        return false;
    bool done = sort_items(&p, n, stable);
    for (int64_t i = 0; i < n && done; i++)
        p.words[i] = (uint64_t)places[p.words[i]];
    if (done)
        memcpy(places, p.words, (size_t)n * sizeof *places);
    close_block(&b);
    return done;
}
