/* The places of a line's items in order, by a sort of words that hold a key and a place each (a packed sort).
 *
 * NumPy sorts numbers in vectors, but places one by one: ten to twenty times the time for a stable order. So
 * a key goes into the upper bits of a word, what its type has as an order of unsigned integers, less the
 * smallest; the item's number goes into the lower ones, and the words are sorted as plain numbers. No two are
 * equal, so the order is the stable one, which is one whatever the algorithm. Where all of a key finds room
 * in a word, of at most WIDE bits, and no more is asked for than the stable order, words go by their keys'
 * bytes, the lowest first, to where those with that byte begin (LSD radix sort): a pass for each byte, and
 * none for one that all have in common. Lines of the cache are filled before they are stored. Where the keys
 * have more bits than there is room for, those that begin alike come out side by side and are sorted again
 * among themselves, with the bits that follow: each time room is for 32 bits or more, so three times at most.
 * Rows that rise or fall for long are left to the merge sort, which takes one pass. NaNs are one key, behind
 * all others, and zeros of both signs are one. Cost: a sort of as many words, and two passes; 16 bytes an
 * item. */
#include "rt/argsort.h"

#include <assert.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "rt/blocks.h"
#include "rt/layout.h"

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

/* --- words by their bytes --- */

enum {
    DIGIT = 8,
    DIGITS = 1 << DIGIT,
    WIDE = 32,
    PASSES = WIDE / DIGIT,
    LINE = 8,
    CHUNK = 512,
    FAR = 1 << 17
};

/* The next line of each digit's words, and how far these have come. */
typedef struct radix {
    _Alignas(64) uint64_t line[DIGITS][LINE];
    uint64_t at[PASSES][DIGITS];
} radix;

/* A line, past the caches: nobody reads it soon. */
static void store_whole(uint64_t *to, const uint64_t *line) {
#ifdef __x86_64__
    for (unsigned k = 0; k < LINE; k += 2)
        _mm_stream_si128((__m128i *)(to + k), _mm_load_si128((const __m128i *)(line + k)));
#else
    memcpy(to, line, LINE * sizeof *to);
#endif
}

/* How many words have each digit, and then where these begin. False: all have one. */
static bool begins(uint64_t *at, int64_t n) {
    uint64_t sum = 0;
    for (unsigned d = 0; d < DIGITS; d++) {
        if (at[d] == (uint64_t)n)
            return false;
        uint64_t count = at[d];
        at[d] = sum;
        sum += count;
    }
    return true;
}

/* Words of a digit from `first` on, up to before `end`, from its line. */
static void store_part(const uint64_t *line, uint64_t *to, uint64_t first, uint64_t end) {
    for (uint64_t k = first; k < end; k++)
        to[k] = line[k % LINE];
}

/* One pass, of words that the caches hold. */
static void by_digit(uint64_t *at, const uint64_t *from, uint64_t *to, int64_t n, unsigned shift) {
    for (int64_t i = 0; i < n; i++)
        to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/* One of others: a digit's words are stored from its line when they fill one of `to`'s, and what is left at
 * the end. The first line may begin amid one of `to`'s: what lies before it there is another digit's. */
static void by_lines(radix *r, uint64_t *at, const uint64_t *from, uint64_t *to, int64_t n, unsigned shift) {
    uint64_t begin[DIGITS];
    memcpy(begin, at, sizeof begin);
    for (int64_t i = 0; i < n; i++) {
        uint64_t word = from[i];
        unsigned d = word >> shift & (DIGITS - 1);
        uint64_t k = at[d]++;
        uint64_t *line = r->line[d];
        line[k % LINE] = word;
        if (k % LINE < LINE - 1)
            continue;
        if (k + 1 - LINE < begin[d] || k + 1 < LINE)
            store_part(line, to, begin[d], k + 1);
        else
            store_whole(to + (k + 1 - LINE), line);
    }
    for (unsigned d = 0; d < DIGITS; d++) {
        uint64_t whole = at[d] - at[d] % LINE;
        store_part(r->line[d], to, whole < begin[d] ? begin[d] : whole, at[d]);
    }
#ifdef __x86_64__
    _mm_sfence();
#endif
}

static int64_t whole_lines(int64_t n) {
    return (n + LINE - 1) / LINE * LINE;
}

/* Items a chunk at a time, whose keys stay in the cache: the smallest and the largest; or the words, and how
 * many have each digit. */
typedef struct keyed {
    int64_t type;
    const void *items;
    const intptr_t *at;
    uint64_t least, most;
} keyed;

static int64_t chunk(const keyed *k, int64_t first, int64_t n, uint64_t *keys) {
    int64_t len = n - first < CHUNK ? n - first : CHUNK;
    const char *items = (const char *)k->items + (k->at ? 0 : first * tr_sort_size(k->type));
    keys_of(k->type, items, k->at ? k->at + first : NULL, len, keys);
    return len;
}

static void find_extremes(keyed *k, int64_t n, uint64_t *keys) {
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk(k, first, n, keys);
        for (int64_t i = 0; i < len; i++) {
            k->least = keys[i] < k->least ? keys[i] : k->least;
            k->most = keys[i] > k->most ? keys[i] : k->most;
        }
    }
}

static void make_words(const keyed *k, radix *r, uint64_t *words, int64_t n, unsigned low, uint64_t *keys) {
    memset(r->at, 0, sizeof r->at);
    for (int64_t first = 0, len; first < n; first += len) {
        len = chunk(k, first, n, keys);
        for (int64_t i = 0; i < len; i++) {
            uint64_t key = keys[i] - k->least;
            words[first + i] = key << low | (uint64_t)(first + i);
            for (unsigned d = 0; d < PASSES; d++)
                r->at[d][key >> d * DIGIT & (DIGITS - 1)]++;
        }
    }
}

/* All items' words in stable order, of which there is room for twice as many; NULL: their keys find no room
 * beside their numbers, or no memory. */
static uint64_t *by_bytes(keyed k, uint64_t *room, int64_t n, unsigned bits) {
    uint64_t keys[CHUNK], *words = room, *spare = room + whole_lines(n);
    find_extremes(&k, n, keys);
    unsigned wide = width(k.most - k.least);
    radix *r = wide > WIDE || wide + bits > 64 ? NULL : aligned_alloc(64, sizeof *r);
    if (!r)
        return NULL;
    make_words(&k, r, words, n, bits, keys);
    for (unsigned d = 0; d * DIGIT < wide; d++) {
        if (!begins(r->at[d], n))
            continue;
        if (n > FAR)
            by_lines(r, r->at[d], words, spare, n, bits + d * DIGIT);
        else
            by_digit(r->at[d], words, spare, n, bits + d * DIGIT);
        uint64_t *other = words;
        words = spare;
        spare = other;
    }
    free(r);
    return words;
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
    block b = {.bytes = 2 * (uint64_t)whole_lines(n) * sizeof *p.words};
    uint64_t *room = open_block(&b);
    if (!room)
        return false;
    p.keys = room;
    p.words = room + whole_lines(n);
    p.mask = (UINT64_C(1) << p.bits) - 1;
    bool done = false;
    const intptr_t *from = goes_on ? places : NULL;
    if (is_long_rows(type, items, from, n, room))
        goto end;
    keyed k = {.type = type, .items = items, .at = from, .least = UINT64_MAX};
    const uint64_t *words = stable ? by_bytes(k, room, n, p.bits) : NULL;
    if (!words) {
        keys_of(type, items, from, n, room);
        if (!stable && some_tie(&p, n))
            goto end;
        for (int64_t i = 0; i < n; i++)
            p.words[i] = (uint64_t)i;
        if (!order(&p, 0, n) || (!stable && p.ties))
            goto end;
        words = p.words;
    }
    done = true;
    if (goes_on) { /* the places that were there are asked for until the last one is known */
        for (int64_t i = 0; i < n; i++)
            p.words[i] = (uint64_t)places[words[i] & p.mask];
        memcpy(places, p.words, (size_t)n * sizeof *places);
    } else {
        for (int64_t i = 0; i < n; i++)
            places[i] = (intptr_t)(words[i] & p.mask);
    }
end:
    close_block(&b);
    return done;
}
