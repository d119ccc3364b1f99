/* Items that lie any distance apart, moved side by side and back: what loops over chunks are fed with
 * (lower/chunk.c, exec/buffer.c).
 *
 * Steps are in bytes and may be 0 or negative; addresses need no alignment. No item is touched when n <= 0.
 * Cost: about a cycle an item; what repeats, a quarter of that. */
#include <assert.h>
#include <string.h>

#include "rt/enter.h"
#include "rt/fns.h"

/* Four at a time: the compiler's own loop counts after each. */
#define MOVE(bytes, to, to_step, from, from_step)                      \
    do {                                                               \
        int64_t i = 0;                                                 \
        for (; i + 4 <= n; i += 4) {                                   \
            memcpy(to, from, bytes);                                   \
            memcpy(to + (to_step), from + (from_step), bytes);         \
            memcpy(to + 2 * (to_step), from + 2 * (from_step), bytes); \
            memcpy(to + 3 * (to_step), from + 3 * (from_step), bytes); \
            to += 4 * (to_step);                                       \
            from += 4 * (from_step);                                   \
        }                                                              \
        for (; i < n; i++) {                                           \
            memcpy(to, from, bytes);                                   \
            to += (to_step);                                           \
            from += (from_step);                                       \
        }                                                              \
    } while (0)

/* Pairs of words fill a line in as few stores as any processor knows. */
typedef uint64_t pair __attribute__((vector_size(16)));

/* `word` is the item as often as it fits. */
static void fill(char *to, uint64_t word, int64_t bytes) {
    pair x = {word, word};
    for (; bytes >= 64; bytes -= 64, to += 64)
        for (int k = 0; k < 4; k++)
            memcpy(to + 16 * k, &x, 16);
    for (; bytes > 8; bytes -= 8, to += 8)
        memcpy(to, &word, 8);
    memcpy(to, &word, (size_t)bytes);
}

/* n times the item at `from`. */
static void repeat(char *to, const char *from, int64_t n, int64_t size) {
    uint64_t word = 0;
    if (size > 8) {
        MOVE(16, to, 16, from, 0);
        return;
    }
    for (int64_t k = 0; k < 8; k += size)
        memcpy((char *)&word + k, from, (size_t)size);
    fill(to, word, n * size);
}

void tr_rt_gather(void *to_, const void *from_, int64_t step, int64_t n, int64_t size) {
    assert(size > 0 && !(size & (size - 1)));
    char *to = to_;
    const char *from = from_;
    if (n <= 0)
        return;
    if (step == 0) {
        repeat(to, from, n, size);
        return;
    }
    switch (size) {
    case 1: MOVE(1, to, 1, from, step); break;
    case 2: MOVE(2, to, 2, from, step); break;
    case 4: MOVE(4, to, 4, from, step); break;
    case 8: MOVE(8, to, 8, from, step); break;
    default: MOVE(16, to, 16, from, step);
    }
}

/* Each row is one item n times. A row is filled in whole words: what goes beyond it is of the next one, which
 * comes after, but for the last rows. */
static void repeat_rows(char *to, const char *from, int64_t row_step, int64_t rows, int64_t n, int64_t size) {
    int64_t bytes = n * size, whole = (bytes + 31) / 32 * 32;
    int64_t safe = rows - (whole - bytes + bytes - 1) / bytes, r = 0;
    for (; size <= 8 && r < safe; r++, to += bytes, from += row_step) {
        uint64_t word = 0;
        switch (size) {
        case 1: word = *(const uint8_t *)from * UINT64_C(0x0101010101010101); break;
        case 2: memcpy(&word, from, 2), word *= UINT64_C(0x0001000100010001); break;
        case 4: memcpy(&word, from, 4), word |= word << 32; break;
        default: memcpy(&word, from, 8);
        }
        pair x = {word, word};
        for (int64_t k = 0; k < whole; k += 32) {
            memcpy(to + k, &x, 16);
            memcpy(to + k + 16, &x, 16);
        }
    }
    for (; r < rows; r++, to += bytes, from += row_step)
        repeat(to, from, n, size);
}

void tr_rt_gather_rows(void *to_, const void *from_, int64_t row_step, int64_t step, int64_t rows, int64_t n,
                       int64_t size) {
    assert(n > 0 && rows > 0);
    char *to = to_;
    const char *from = from_;
    if (step == 0 && row_step != 0) {
        repeat_rows(to, from, row_step, rows, n, size);
        return;
    }
    int64_t bytes = n * size, made = row_step ? 1 : rows;
    for (int64_t r = 0; r < rows; r += made, from += row_step)
        tr_rt_gather(to + r * bytes, from, step, n, size);
    for (int64_t r = 1; r < made; r += r) /* as many again as there are */
        memcpy(to + r * bytes, to, (size_t)((r < made - r ? r : made - r) * bytes));
}

void tr_rt_scatter(void *to_, int64_t step, const void *from_, int64_t n, int64_t size) {
    char *to = to_;
    const char *from = from_;
    switch (size) {
    case 1: MOVE(1, to, step, from, 1); break;
    case 2: MOVE(2, to, step, from, 2); break;
    case 4: MOVE(4, to, step, from, 4); break;
    case 8: MOVE(8, to, step, from, 8); break;
    default: MOVE(16, to, step, from, 16);
    }
}

/* --- what the code generator calls by itself --- */

/* Long ones fill a call's whole time, and nothing of the C library's asks. */
enum { LONG = 64 << 10 };

static void look_after(size_t n) {
    if (n >= LONG)
        tr_rt_look();
}

void *tr_rt_memset(void *to, int byte, size_t n) {
    memset(to, byte, n);
    look_after(n);
    return to;
}

void *tr_rt_memcpy(void *to, const void *from, size_t n) {
    memcpy(to, from, n);
    look_after(n);
    return to;
}

void *tr_rt_memmove(void *to, const void *from, size_t n) {
    memmove(to, from, n);
    look_after(n);
    return to;
}
