/* Items in order with values beside them, by a radix sort.
 *
 * A word holds a key in its upper bits and what goes with it in the lower ones: keys of 32 bits with values
 * of 32 bits, with their items' numbers, or with the items themselves. Keys of 64 bits without values are
 * words of their own. These words are sorted (words.c), and items are made of keys again. Where a key does
 * not say which item it is of (zeros of both signs, NaNs) or no room is left beside it, places are sorted
 * (argsort.c), and items go to them. The first few of many are chosen without a sort (topk.c). Parts with one
 * first digit, and segments, go to the pool; no result depends on that.
 * Cost (Zen 4, one core): pairs of 32 bits 8 to 13 ns each, from 10,000 to 10 million of them. */
#include "rt/radix.h"

#include <assert.h>
#include <string.h>

#include "rt/argsort.h"
#include "rt/pool.h"
#include "rt/words.h"

/* SMALL: words that lie on the stack, twice. SHARE: up to one of so many is chosen, more are sorted. GRAIN:
 * parts that a thread takes at once. MANY: items that are worth two threads. */
enum { SMALL = 256, SHARE = 16, GRAIN = 16, MANY = 1 << 16, CHUNK = TR_WORDS_CHUNK };

static bool is_wide(const tr_radix *r) {
    return tr_sort_size(r->type) == 8;
}

static bool is_float(const tr_radix *r) {
    return r->type == TR_SORT_F32 || r->type == TR_SORT_F64;
}

static unsigned bits_of(const tr_radix *r) {
    return is_wide(r) ? 64 : 32;
}

/* Keys of all bits. */
static tr_keys whole_keys(const tr_radix *r) {
    tr_keys k = tr_keys_all(r->type, r->keys);
    k.flip = !r->down ? 0 : is_wide(r) ? UINT64_MAX : UINT32_MAX;
    return k;
}

static uint64_t low_bits(unsigned n) {
    return n ? UINT64_MAX >> (64 - n) : 0;
}

static tr_keys cut_keys(const tr_radix *r) {
    tr_keys k = whole_keys(r);
    k.begin = r->begin;
    k.mask = low_bits(r->end - r->begin);
    return k;
}

/* --- by places --- */

static void gather(char *at, const uint64_t *places, int64_t n, int64_t size, uint64_t *room) {
    if (size == 8) {
        for (int64_t i = 0; i < n; i++)
            memcpy(room + i, at + places[i] * 8, 8);
    } else {
        uint32_t *to = (uint32_t *)room;
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i, at + places[i] * 4, 4);
    }
    memcpy(at, room, (size_t)(n * size));
}

static void number(const tr_radix *r, const uint64_t *places, int64_t n) {
    for (int64_t i = 0; i < n && r->size == 8; i++)
        ((uint64_t *)r->vals)[i] = places[i];
    for (int64_t i = 0; i < n && r->size == 4; i++)
        ((uint32_t *)r->vals)[i] = (uint32_t)places[i];
}

/* The first n items and values become those of n places. */
static int32_t go_to(const tr_radix *r, const uint64_t *places, int64_t n) {
    tr_words_room room;
    uint64_t *words = tr_words_open(&room, n);
    if (!words)
        return TR_CODE_MEMORY;
    gather(r->keys, places, n, tr_sort_size(r->type), words);
    if (r->vals && !r->number)
        gather(r->vals, places, n, r->size, words);
    else if (r->vals)
        number(r, places, n);
    tr_words_close(&room);
    return 0;
}

static int32_t sort_places(const tr_radix *r, int64_t k) {
    tr_words_room room;
    tr_keys by = cut_keys(r);
    uint64_t *places = tr_words_open(&room, r->n);
    if (!places)
        return TR_CODE_MEMORY;
    int32_t code = tr_argsort_keys(&by, places, r->n) ? go_to(r, places, k) : TR_CODE_MEMORY;
    tr_words_close(&room);
    return code;
}

/* --- by words --- */

typedef struct packed {
    const tr_radix *r;
    tr_keys by;
    unsigned low;    /* the bit of a word where a key begins: 32 or 0 */
    uint64_t differ; /* the bits in which some of the keys differ, of those that count */
    uint64_t *words;
    tr_words_part parts[TR_WORDS_DIGITS];
} packed;

/* Is it NaN, or a zero whose sign its key does not have? */
#define SEE_ODD(name, T, INF)                                       \
    static bool name(const T *bits, int64_t n) {                    \
        const T sign = (T)1 << (8 * sizeof(T) - 1);                 \
        T odd = 0;                                                  \
        for (int64_t i = 0; i < n; i++)                             \
            odd |= (bits[i] == sign) | ((bits[i] & ~sign) > (INF)); \
        return odd;                                                 \
    }
SEE_ODD(see_odd_32, uint32_t, 0x7f800000u)
SEE_ODD(see_odd_64, uint64_t, UINT64_C(0x7ff0000000000000))

/* The bits in which keys differ. False: words of them do not say which items they are of. */
static bool look(packed *p) {
    const tr_radix *r = p->r;
    uint64_t keys[CHUNK], differ = 0, first = 0;
    bool asks = is_float(r) && (r->vals || is_wide(r));
    for (int64_t at = 0, len; at < r->n; at += len) {
        len = r->n - at < CHUNK ? r->n - at : CHUNK;
        if (asks && (is_wide(r) ? see_odd_64((const uint64_t *)r->keys + at, len)
                                : see_odd_32((const uint32_t *)r->keys + at, len)))
            return false;
        tr_keys_of(&p->by, NULL, at, len, keys);
        first = at ? first : keys[0];
        for (int64_t i = 0; i < len; i++)
            differ |= keys[i] ^ first;
    }
    p->differ = differ & low_bits(r->end) & ~low_bits(r->begin);
    return true;
}

/* The words of the next items, a chunk of them at most; how many. */
static int64_t words_of(const packed *p, int64_t first, uint64_t *words) {
    const tr_radix *r = p->r;
    int64_t len = r->n - first < CHUNK ? r->n - first : CHUNK;
    tr_keys_of(&p->by, NULL, first, len, words);
    if (!p->low)
        return len;
    if (r->number && r->vals)
        for (int64_t i = 0; i < len; i++)
            words[i] = words[i] << 32 | (uint32_t)(first + i);
    else {
        const uint32_t *low = (const uint32_t *)(r->vals ? r->vals : r->keys) + first;
        for (int64_t i = 0; i < len; i++)
            words[i] = words[i] << 32 | low[i];
    }
    return len;
}

static uint32_t item_32(const packed *p, uint32_t key) {
    const uint32_t sign = UINT32_C(1) << 31;
    key ^= (uint32_t)p->by.flip;
    if (p->r->type == TR_SORT_F32)
        return key ^ (((key >> 31) - 1) | sign);
    return p->r->type == TR_SORT_I32 ? key ^ sign : key;
}

static uint64_t item_64(const packed *p, uint64_t key) {
    const uint64_t sign = UINT64_C(1) << 63;
    key ^= p->by.flip;
    if (p->r->type == TR_SORT_F64)
        return key ^ (((key >> 63) - 1) | sign);
    return p->r->type == TR_SORT_I64 ? key ^ sign : key;
}

/* Items and values of words, from place `first` on. */
static void unpack(const packed *p, const uint64_t *words, int64_t first, int64_t n) {
    const tr_radix *r = p->r;
    uint32_t *keys = (uint32_t *)r->keys + first, *vals = (uint32_t *)r->vals + (r->vals ? first : 0);
    if (!p->low) {
        for (int64_t i = 0; i < n; i++)
            ((uint64_t *)r->keys)[first + i] = item_64(p, words[i]);
    } else if (!r->vals) {
        for (int64_t i = 0; i < n; i++)
            keys[i] = (uint32_t)words[i];
    } else {
        for (int64_t i = 0; i < n; i++) {
            keys[i] = item_32(p, (uint32_t)(words[i] >> 32));
            vals[i] = (uint32_t)words[i];
        }
    }
}

/* The bits of words that keys are sorted by: from the lowest in which they differ up to `end`. */
static void sort_some(const packed *p, uint64_t *words, uint64_t *spare, int64_t n, unsigned end) {
    unsigned begin = (unsigned)__builtin_ctzll(p->differ);
    if (end > begin)
        tr_words_sort(words, spare, n, p->low + begin, end - begin, false);
}

static void sort_few(packed *p, uint64_t *words, uint64_t *spare) {
    const tr_radix *r = p->r;
    for (int64_t first = 0; first < r->n; first += CHUNK)
        words_of(p, first, words + first);
    sort_some(p, words, spare, r->n, tr_words_width(p->differ));
    unpack(p, words, 0, r->n);
}

typedef struct parts {
    packed *p;
    unsigned left; /* bits that the first digit leaves */
} parts;

static int32_t range_of_parts(tr_frame *f, void *arg, int64_t lo, int64_t hi, uint32_t worker) {
    const parts *c = arg;
    const packed *p = c->p;
    int64_t most = 0, begin = lo ? p->parts[lo - 1].end : 0;
    tr_words_room room;
    (void)f;
    (void)worker;
    for (int64_t d = lo, at = begin; d < hi; at = p->parts[d++].end)
        most = p->parts[d].end - at > most ? p->parts[d].end - at : most;
    uint64_t *spare = tr_words_open(&room, most);
    if (!spare)
        return TR_CODE_MEMORY;
    for (int64_t d = lo; d < hi; begin = p->parts[d++].end) {
        sort_some(p, p->words + begin, spare, p->parts[d].end - begin, c->left);
        unpack(p, p->words + begin, begin, p->parts[d].end - begin);
    }
    tr_words_close(&room);
    return 0;
}

/* All words, each in its part. False: items have changed since they were counted. */
static bool make_words(packed *p, unsigned shift, uint64_t mask) {
    uint64_t words[CHUNK];
    for (int64_t first = 0, len; first < p->r->n; first += len) {
        len = words_of(p, first, words);
        for (int64_t i = 0; i < len; i++) {
            tr_words_part *to = &p->parts[words[i] >> shift & mask];
            if (to->at == to->end)
                return false;
            p->words[to->at++] = words[i];
        }
    }
    return true;
}

static void count_words(packed *p, unsigned shift, uint64_t mask) {
    uint64_t keys[CHUNK];
    memset(p->parts, 0, sizeof p->parts);
    for (int64_t first = 0, len; first < p->r->n; first += len) {
        len = p->r->n - first < CHUNK ? p->r->n - first : CHUNK;
        tr_keys_of(&p->by, NULL, first, len, keys);
        for (int64_t i = 0; i < len; i++)
            p->parts[keys[i] >> shift & mask].end++;
    }
    tr_words_parts(p->parts);
}

/* The first digit ends at the highest bit in which keys differ, and has none that does not count. */
static int32_t sort_many(tr_frame *f, packed *p) {
    unsigned end = tr_words_width(p->differ), begin = (unsigned)__builtin_ctzll(p->differ);
    unsigned left = end - begin > TR_WORDS_DIGIT ? end - TR_WORDS_DIGIT : begin;
    uint64_t mask = low_bits(end - left);
    parts c = {p, left};
    int64_t fixed = tr_rt_fixed_grain();
    count_words(p, left, mask);
    if (!make_words(p, p->low + left, mask))
        return TR_CODE_MEMORY;
    return tr_rt_parallel(f, range_of_parts, &c, TR_WORDS_DIGITS, fixed ? fixed : GRAIN);
}

static int32_t sort_words(tr_frame *f, packed *p) {
    const tr_radix *r = p->r;
    tr_words_room room;
    if (r->n <= SMALL) {
        uint64_t words[2 * SMALL];
        sort_few(p, words, words + SMALL);
        return 0;
    }
    bool many = r->n > TR_WORDS_CACHED;
    p->words = tr_words_open(&room, many ? r->n : 2 * r->n);
    if (!p->words)
        return TR_CODE_MEMORY;
    int32_t code = 0;
    if (many)
        code = sort_many(f, p);
    else
        sort_few(p, p->words, p->words + r->n);
    tr_words_close(&room);
    return code;
}

int32_t tr_rt_radix_sort(tr_frame *f, const tr_radix *r) {
    packed p = {.r = r, .by = whole_keys(r), .low = is_wide(r) ? 0 : 32};
    assert(r->begin <= r->end && r->end <= bits_of(r) && "bits of keys");
    if (r->n <= 0)
        return 0;
    bool holds = is_wide(r) ? !r->vals : !r->vals || r->size == 4;
    if (!holds || !look(&p))
        return sort_places(r, r->n);
    if (p.differ)
        return sort_words(f, &p);
    for (int64_t i = 0; i < r->n && r->vals && r->number; i++)
        ((uint32_t *)r->vals)[i] = (uint32_t)i;
    return 0;
}

/* --- the first k --- */

static int64_t top_of(const tr_radix *r) {
    static const uint8_t kinds[TR_SORT__TYPES] = {
        [TR_SORT_I32] = TR_TOP_I32, [TR_SORT_U32] = TR_TOP_U32, [TR_SORT_I64] = TR_TOP_I64,
        [TR_SORT_U64] = TR_TOP_U64, [TR_SORT_F32] = TR_TOP_F32, [TR_SORT_F64] = TR_TOP_F64};
    return kinds[r->type] | (r->down ? 0 : TR_TOP_DOWN | TR_TOP_NAN_LAST);
}

int32_t tr_rt_radix_select(tr_frame *f, const tr_radix *r, int64_t k) {
    (void)f;
    if (k <= 0)
        return 0;
    if (k > r->n / SHARE || r->begin || r->end < bits_of(r))
        return sort_places(r, k);
    void *top = malloc((size_t)tr_rt_top_room(k, r->n));
    if (!top)
        return TR_CODE_MEMORY;
    tr_rt_top_open(top, k, r->n, top_of(r));
    tr_rt_top_see(top, r->keys, r->n, 0);
    int32_t code = go_to(r, (const uint64_t *)tr_rt_top_end(top), k);
    free(top);
    return code;
}

/* --- segments --- */

typedef struct segments {
    const tr_radix *r;
    const int64_t *ends;
} segments;

static int32_t range_of_segments(tr_frame *f, void *arg, int64_t lo, int64_t hi, uint32_t worker) {
    const segments *c = arg;
    int32_t code = 0;
    (void)worker;
    for (int64_t s = lo; s < hi && !code; s++) {
        int64_t first = s ? c->ends[s - 1] : 0;
        tr_radix part = *c->r;
        part.n = c->ends[s] - first;
        part.keys = (char *)part.keys + first * tr_sort_size(part.type);
        part.vals = part.vals ? (char *)part.vals + first * part.size : NULL;
        code = part.n > 1 ? tr_rt_radix_sort(f, &part) : 0;
    }
    return code;
}

int32_t tr_rt_radix_segments(tr_frame *f, const tr_radix *r, const int64_t *ends, int64_t many) {
    segments c = {r, ends};
    int64_t fixed = tr_rt_fixed_grain(), grain = many / (1 + r->n / MANY);
    assert(!r->number && "numbers would be those of a segment's items");
    return tr_rt_parallel(f, range_of_segments, &c, many, fixed ? fixed : grain > 0 ? grain : 1);
}
