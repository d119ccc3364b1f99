/* Tables of one class of keys: the code of find and enter, made by including this with
 *   NAME(x)   what functions are called
 *   KEY       the C type of a key in memory; ARGS, how it is handed over; FROM_ARGS, the key of them
 *   HASH(k)   of a key
 *   SAME(a,b) equality of keys
 *   LOST(k)   a key that is not equal to itself: it is never found, and placed by its entry's number, so that
 *             many of them are not all in one place
 * rt/dict.c says how tables work. */
#ifdef KEY

static uint64_t NAME(hash)(KEY k, int64_t entry) {
    return LOST(k) ? tr_hash_word((uint64_t)entry) : HASH(k);
}

static void NAME(place_all)(tr_table *t, int64_t n) {
    const KEY *keys = t->keys.items;
    enum { AHEAD = 16 };
    uint64_t ahead[AHEAD];
    for (int64_t i = 0; i < n && i < AHEAD; i++)
        ahead[i] = NAME(hash)(keys[i], i);
    for (int64_t i = 0; i < n; i++) {
        uint64_t h = ahead[i % AHEAD];
        if (i + AHEAD < n) {
            uint64_t next = ahead[i % AHEAD] = NAME(hash)(keys[i + AHEAD], i + AHEAD);
            __builtin_prefetch((const char *)t->index + (next >> (64 - t->lg)) * slot_bytes(t->lg), 1);
        }
        place(t, h, i);
    }
}

int64_t NAME(find)(const void *table, ARGS) {
    const tr_table *t = tr_table_of(table);
    KEY k = FROM_ARGS;
    if (!t->index || LOST(k))
        return -1;
    const KEY *keys = t->keys.items;
    uint64_t h = HASH(k), mask = (UINT64_C(1) << t->lg) - 1, p = h >> (64 - t->lg);
    if (t->lg < WIDE) {
        const uint32_t *index = t->index;
        uint32_t low = (uint32_t)mask, tag = (uint32_t)h & ~low;
        for (uint32_t s; (s = index[p]) != EMPTY; p = (p + 1) & mask)
            if ((s & ~low) == tag && (s & low) >= FIRST && SAME(keys[(s & low) - FIRST], k))
                return (s & low) - FIRST;
    } else {
        const uint64_t *index = t->index;
        uint64_t tag = h << MOST;
        for (uint64_t s; (s = index[p]) != EMPTY; p = (p + 1) & mask)
            if (((s ^ tag) & TAG_BITS) == 0 && (s & ~TAG_BITS) >= FIRST &&
                SAME(keys[(s & ~TAG_BITS) - FIRST], k))
                return (int64_t)((s & ~TAG_BITS) - FIRST);
    }
    return -1;
}

/* A key that is not there; its entry's number. */
int64_t NAME(enter)(void *table, ARGS, void *values) {
    tr_table *t = tr_table_of(table);
    KEY k = FROM_ARGS;
    if (!has_room(t) && !grow(t, sizeof(KEY), values, NAME(place_all)))
        return -1;
    int64_t e = t->keys.len;
    ((KEY *)t->keys.items)[e] = k;
    place(t, NAME(hash)(k, e), e);
    entered(t, values);
    return e;
}

/* Takes an entry out, which is there. */
void NAME(leave)(tr_frame *f, void *table, int64_t e, void *values) {
    tr_table *t = tr_table_of(table);
    assert(is_live(t, e) && "an entry leaves once");
    remove_slot(t, NAME(hash)(((const KEY *)t->keys.items)[e], e), e);
    left(f, table, e, values);
}

#undef NAME
#undef KEY
#undef ARGS
#undef FROM_ARGS
#undef HASH
#undef SAME
#undef LOST

#endif
