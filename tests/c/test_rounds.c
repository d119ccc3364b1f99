/* Rounds of a prange that have containers of their own and read what all share: lists, dicts and strings of
 * the runtime from several threads at once, as compiled code calls it. `make sanitize` builds and runs it
 * under ThreadSanitizer too, which sees what is counted and grown without asking the others. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/fns.h"
#include "rt/pool.h"
#include "rt/rt.h"
#include "rt/str.h"

enum { ROUNDS = 400, WORDS = 6, ITEMS = 40, TIMES = 5 };

static const uint32_t string_at = 0;

typedef struct shared {
    const tr_shape *strings, *numbers;
    tr_str words[WORDS]; /* with room behind them, which the first to add something takes */
    void *table, *values;
    int64_t found[ROUNDS];
    uint64_t lengths[ROUNDS];
} shared;

#define PARTS(s) (s)->owner, (s)->data, (s)->bits

static tr_str text(const char *s) {
    return (tr_str){NULL, s, (int64_t)strlen(s) << TR_STR_LENGTH | TR_STR_ASCII};
}

/* A reference goes, as compiled code lets it go. */
static void drop(tr_frame *f, const tr_str *s) {
    if (s->owner && __atomic_sub_fetch(&((tr_mem *)s->owner)->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        __atomic_store_n(&((tr_mem *)s->owner)->refs, 1, __ATOMIC_RELAXED);
        tr_rt_free(f, s->owner);
    }
}

/* An item more; `shares`: the list has a reference of its own then, else it takes the one there is. */
static void append(tr_frame *f, void *list, const tr_str *s, bool shares) {
    tr_list *l = tr_list_of(list);
    int64_t n = l->len;
    assert(tr_rt_list_resize(f, list, n + 1));
    tr_str *at = (tr_str *)l->items + n;
    *at = *s;
    if (shares)
        tr_rt_items_keep(((const tr_mem *)list)->shape, at, 1);
}

/* Counts a word in a table. */
static void count(tr_frame *f, const tr_str *s, void *table, void *values) {
    int64_t e = tr_rt_dict_find_str(table, PARTS(s));
    (void)f;
    if (e < 0) {
        e = tr_rt_dict_enter_str(table, PARTS(s), values);
        assert(e >= 0);
        ((int64_t *)tr_list_of(values)->items)[e] = 0;
    }
    ((int64_t *)tr_list_of(values)->items)[e]++;
}

static int32_t body(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    shared *x = ctx;
    (void)worker;
    for (int64_t i = lo; i < hi; i++) {
        void *list = tr_rt_list_new(f, 0, x->strings), *copy = tr_rt_list_new(f, ITEMS, x->strings);
        void *table = tr_rt_dict_new(f, x->strings), *values = tr_rt_list_new(f, 0, x->numbers);
        tr_str all, upper, end = text("!"), comma = text(",");
        assert(list && copy && table && values);
        for (int64_t k = 0; k < ITEMS; k++) {
            const tr_str *word = &x->words[(i + k) % WORDS];
            if (k % 3 == 0) { /* behind a word of all: one thread has its room, the others make another one */
                tr_rt_str_concat(f, PARTS(word), PARTS(&end), &all);
                append(f, list, &all, false);
            } else {
                append(f, list, word, true);
            }
            count(f, (tr_str *)tr_list_of(list)->items + k, table, values);
        }
        tr_rt_list_fill(copy, 0, list, 0, 1, ITEMS);
        tr_rt_list_reverse(copy);
        tr_rt_list_cut(f, copy, 3, 1, 5);
        tr_rt_str_join(f, PARTS(&comma), copy, &all);
        tr_rt_str_case(f, TR_STR_UPPER, PARTS(&all), &upper);
        x->lengths[i] = (uint64_t)tr_str_len(&upper) << 32 | (uint64_t)tr_table_of(table)->live;
        for (int64_t k = 0; k < ITEMS; k++)
            x->found[i] += tr_rt_dict_find_str(x->table, PARTS((tr_str *)tr_list_of(list)->items + k)) >= 0;
        tr_rt_dict_leave_str(f, table, tr_rt_dict_find_str(table, PARTS(&x->words[(i + 1) % WORDS])), values);
        drop(f, &all);
        drop(f, &upper);
        tr_rt_free(f, table);
        tr_rt_free(f, values);
        tr_rt_free(f, list);
        tr_rt_free(f, copy);
    }
    return 0;
}

/* What one round comes to, counted by hand: a word and a word with a mark are two. */
static void check(const shared *x, int64_t i) {
    bool plain[WORDS] = {0}, marked[WORDS] = {0};
    int64_t length = ITEMS - 5 - 1, found = 0, live = -1;
    for (int64_t k = 0; k < ITEMS; k++) {
        int64_t w = (i + k) % WORDS, back = ITEMS - 1 - k;
        *(k % 3 == 0 ? &marked[w] : &plain[w]) = true;
        found += k % 3 != 0;
        if (back < 3 || back >= 8)
            length += tr_str_len(&x->words[w]) + (k % 3 == 0);
    }
    for (int64_t w = 0; w < WORDS; w++)
        live += plain[w] + marked[w];
    live++; /* it is asked for before one leaves */
    assert(x->found[i] == found && x->lengths[i] == ((uint64_t)length << 32 | (uint64_t)live));
}

int main(void) {
    char msg[200];
    assert(tr_rt_pool_configure("TREADLE_NUM_THREADS", "4", msg, sizeof msg));
    for (int64_t time = 0; time < TIMES; time++) {
        static shared x;
        tr_frame f;
        x = (shared){.strings = tr_rt_shape(sizeof(tr_str), 1, &string_at),
                     .numbers = tr_rt_shape(8, 0, NULL)};
        assert(x.strings && x.numbers);
        tr_rt_frame_init(&f, NULL);
        x.table = tr_rt_dict_new(&f, x.strings);
        x.values = tr_rt_list_new(&f, 0, x.numbers);
        assert(x.table && x.values);
        for (int64_t w = 0; w < WORDS; w++) {
            char part[2] = {(char)('a' + w), 0};
            tr_str a = text("word "), b = text(part);
            tr_rt_str_concat(&f, PARTS(&a), PARTS(&b), &x.words[w]);
            assert(x.words[w].bits > 0);
            count(&f, &x.words[w], x.table, x.values);
        }
        assert(tr_rt_parallel(&f, body, &x, ROUNDS, time % 3 + 1) == 0);
        for (int64_t i = 0; i < ROUNDS; i++)
            check(&x, i);
        for (int64_t w = 0; w < WORDS; w++) /* the table has one, and whoever reads the words here */
            assert(((const tr_mem *)x.words[w].owner)->refs == 2 && "each round gave back what it took");
        tr_rt_frame_fini(&f);
    }
    puts("rounds: ok");
    return 0;
}
