/* Words of 64 bits in order by some of their bits (radix sort), and keys of items.
 *
 * Where words are more than the caches hold, they go by their first digit to where those with that digit
 * begin, and each such part for itself from there on. What the caches hold is sorted by one digit after the
 * other, the last one first. A digit that all have in common costs no more than a look. Nothing depends on a
 * guessed branch. The order is stable.
 * Cost: a nanosecond and a half a word and digit in the caches (Zen 4). */
#include "rt/words.h"

#include <assert.h>
#include <string.h>

#include "rt/blocks.h"
#include "rt/layout.h"

/* FEW: words that are sorted by insertion. FIRST: bits of a digit at least. TOGETHER: digits that are counted
 * at once. */
enum {
    FEW = 16,
    FIRST = 4,
    TOGETHER = 4,
    DIGIT = TR_WORDS_DIGIT,
    DIGITS = TR_WORDS_DIGITS,
    CACHED = TR_WORDS_CACHED
};

static unsigned width(uint64_t x) {
    return tr_words_width(x);
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
#define KEY_INT(x)      ((uint32_t)(x) ^ UINT32_C(1) << 31)
#define KEY_UNSIGNED(x) ((uint64_t)(x))
#define KEY_HALF(x)     KEY_SIGNED(tr_half_key(x))
#define KEYS(T, KEY)                                                \
    if (at)                                                         \
        for (int64_t i = 0; i < n; i++)                             \
            keys[i] = KEY(((const T *)(const void *)items)[at[i]]); \
    else                                                            \
        for (int64_t i = 0; i < n; i++)                             \
            keys[i] = KEY(((const T *)(const void *)items)[i]);     \
    break

void tr_keys_of(const tr_keys *k, const intptr_t *at, int64_t first, int64_t n, uint64_t *keys) {
    const char *items = (const char *)k->items + (at ? 0 : first * tr_sort_size(k->type));
    switch (k->type) {
    case TR_SORT_F16: KEYS(tr_item_half, KEY_HALF);
    case TR_SORT_I32: KEYS(int32_t, KEY_INT);
    case TR_SORT_U32: KEYS(uint32_t, KEY_UNSIGNED);
    case TR_SORT_I64: KEYS(int64_t, KEY_SIGNED);
    case TR_SORT_U64: KEYS(uint64_t, KEY_UNSIGNED);
    case TR_SORT_F32: KEYS(float, key_f32);
    case TR_SORT_F64: KEYS(double, key_f64);
    default: assert(false); /* no other items have keys */
    }
    if (k->flip || k->begin || ~k->mask)
        for (int64_t i = 0; i < n; i++)
            keys[i] = (keys[i] ^ k->flip) >> k->begin & k->mask;
}

/* --- words by their digits --- */

/* Few words, by the bits of a mask. */
static void insert(uint64_t *words, int64_t n, uint64_t mask) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t word = words[i];
        int64_t j = i;
        for (; j > 0 && (word & mask) < (words[j - 1] & mask); j--)
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

/* How many words have each of `some` digits, which begin at those bits. */
static void count_digits(const uint64_t *words, int64_t n, const unsigned low[TOGETHER], unsigned digit,
                         unsigned some, uint32_t at[TOGETHER][DIGITS]) {
    const uint64_t mask = (UINT64_C(1) << digit) - 1;
    const unsigned a = low[0], b = low[1], c = low[2], d = low[3];
    memset(at, 0, some * sizeof *at);
    switch (some) {
#define COUNTED(k, bit) at[k][words[i] >> (bit)&mask]++
    case 1:
        for (int64_t i = 0; i < n; i++)
            COUNTED(0, a);
        break;
    case 2:
        for (int64_t i = 0; i < n; i++)
            COUNTED(0, a), COUNTED(1, b);
        break;
    case 3:
        for (int64_t i = 0; i < n; i++)
            COUNTED(0, a), COUNTED(1, b), COUNTED(2, c);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            COUNTED(0, a), COUNTED(1, b), COUNTED(2, c), COUNTED(3, d);
    }
}

/* Words that the caches hold, the last digit first; some digits are counted together. All have as many bits:
 * the first one ends where those end that count, and may share some with the next one. Where they are
 * then. */
static uint64_t *sort_cached(uint64_t *from, uint64_t *to, int64_t n, unsigned low, unsigned wide) {
    uint32_t at[TOGETHER][DIGITS];
    unsigned begins_at[TOGETHER] = {0}, most = width((uint64_t)n) - 1;
    most = most < FIRST ? FIRST : most > DIGIT ? DIGIT : most;
    unsigned digits = (wide + most - 1) / most, digit = digits ? (wide + digits - 1) / digits : 0;
    uint64_t mask = (UINT64_C(1) << digit) - 1;
    for (unsigned d = 0; d < digits; d++) {
        if (d % TOGETHER == 0) {
            unsigned some = digits - d < TOGETHER ? digits - d : TOGETHER;
            for (unsigned k = 0; k < some; k++)
                begins_at[k] = low + ((d + k + 1) * digit < wide ? (d + k) * digit : wide - digit);
            count_digits(from, n, begins_at, digit, some, at);
        }
        uint32_t *where = at[d % TOGETHER];
        unsigned shift = begins_at[d % TOGETHER];
        if (!begins_few(where, 1u << digit, n))
            continue;
        for (int64_t i = 0; i < n; i++)
            to[where[from[i] >> shift & mask]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
    return from;
}

void tr_words_sort(uint64_t *a, uint64_t *b, int64_t n, unsigned low, unsigned wide, bool into_b) {
    while (n > CACHED && wide) {
        int64_t at[DIGITS];
        unsigned digit = wide < DIGIT ? wide : DIGIT;
        wide -= digit;
        if (!by_digit(a, b, n, low + wide, digit, at))
            continue;
        int64_t begin = 0;
        for (unsigned d = 0; d < 1u << digit; begin = at[d++])
            tr_words_sort(b + begin, a + begin, at[d] - begin, low, wide, !into_b);
        return;
    }
    if (n <= FEW)
        insert(a, n, wide ? UINT64_MAX >> (64 - wide) << low : 0);
    const uint64_t *sorted = n <= FEW ? a : sort_cached(a, b, n, low, wide);
    if (sorted != (into_b ? b : a))
        memcpy(into_b ? b : a, sorted, (size_t)n * sizeof *a);
}

int64_t tr_words_parts(tr_words_part parts[TR_WORDS_DIGITS]) {
    int64_t sum = 0, most = 0;
    for (unsigned d = 0; d < DIGITS; d++) {
        int64_t count = parts[d].end;
        most = count > most ? count : most;
        parts[d].at = sum;
        parts[d].end = sum += count;
    }
    return most;
}

/* --- room --- */

uint64_t *tr_words_open(tr_words_room *r, int64_t n) {
    r->bytes = (uint64_t)n * sizeof(uint64_t);
    bool large = r->bytes >= TR_BLOCK_MIN;
    r->at = large ? tr_rt_blocks_get(NULL, r->bytes, &r->raw) : malloc(r->bytes ? r->bytes : 1);
    return r->at && large ? (uint64_t *)((char *)r->at + TR_MEM_ALIGN) : r->at;
}

void tr_words_close(tr_words_room *r) {
    if (r->bytes >= TR_BLOCK_MIN)
        tr_rt_blocks_put(NULL, r->at, r->bytes, r->raw);
    else
        free(r->at);
}
