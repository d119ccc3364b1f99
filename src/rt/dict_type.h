/* Tables of one class of keys: the code of find and enter, made by including this with
 *   NAME(x)   what functions are called
 *   KEY       the C type of a key in memory; ARGS, how it is handed over; FROM_ARGS, the key of them
 *   HASH(k)   of a key
 *   SAME(a,b) equality of keys
 *   LOST(k)   a key that is not equal to itself: it is never found, and placed by its entry's number, so that
 *             many of them are not all in one place
 *   BY_SHAPE  0, or 1: a key in memory is as long as its shape says, and KEY is where it lies, with the shape
 *   STORED    0, or 1: hashes take long to make, so each entry has its key's, and keys hold references;
 *             HASH(k) uses the table's secret, `secret`
 * rt/dict.c says how tables work. */
#ifdef KEY

static KEY NAME(key_at)(const tr_table *t, int64_t entry) {
#if BY_SHAPE
    const tr_shape *s = shape_of((const char *)t - TR_MEM_ALIGN);
    return (KEY){(const char *)t->keys.items + entry * s->size, s};
#else
    return ((const KEY *)t->keys.items)[entry];
#endif
}

static uint64_t NAME(hash_at)(const tr_table *t, int64_t entry) {
#if STORED
    return t->hashes[entry];
#else
    KEY k = NAME(key_at)(t, entry);
    return LOST(k) ? tr_hash_word((uint64_t)entry) : HASH(k);
#endif
}

static bool NAME(is_at)(const tr_table *t, uint64_t entry, KEY k, uint64_t h) {
    (void)h;
    if (STORED && t->hashes[entry] != h)
        return false;
    KEY there = NAME(key_at)(t, (int64_t)entry);
    return SAME(there, k);
}

static void NAME(place_all)(tr_table *t, int64_t n) {
    enum { AHEAD = 16 };
    uint64_t ahead[AHEAD];
    for (int64_t i = 0; i < n && i < AHEAD; i++)
        ahead[i] = NAME(hash_at)(t, i);
    for (int64_t i = 0; i < n; i++) {
        uint64_t h = ahead[i % AHEAD];
        if (i + AHEAD < n) {
            uint64_t next = ahead[i % AHEAD] = NAME(hash_at)(t, i + AHEAD);
            __builtin_prefetch((const char *)t->index + (next >> (64 - t->lg)) * slot_bytes(t->lg), 1);
        }
        place(t, h, i);
    }
}

int64_t NAME(find)(const void *table, ARGS) {
#if STORED
    tr_rt_look(); /* a key may be long */
#endif
    const tr_table *t = tr_table_of(table);
    KEY k = FROM_ARGS;
    if (!t->index || LOST(k))
        return -1;
    unsigned down = 64u - t->lg;
    uint64_t secret = t->secret, h = HASH(k), mask = UINT64_MAX >> down, p = h >> down;
    (void)secret;
    /* what is asked first is what most often settles it */
    if (t->lg < WIDE) {
        const uint32_t *index = t->index;
        for (uint32_t low = (uint32_t)mask, s;; p = (p + 1) & mask) {
            s = index[p];
            if (((s ^ (uint32_t)h) & ~low) == 0 && (s & low) >= FIRST &&
                NAME(is_at)(t, (s & low) - FIRST, k, h))
                return (s & low) - FIRST;
            if (s == EMPTY)
                return -1;
        }
    }
    const uint64_t *index = t->index;
    for (uint64_t s, tag = h << MOST;; p = (p + 1) & mask) {
        s = index[p];
        if (((s ^ tag) & TAG_BITS) == 0 && (s & ~TAG_BITS) >= FIRST &&
            NAME(is_at)(t, (s & ~TAG_BITS) - FIRST, k, h))
            return (int64_t)((s & ~TAG_BITS) - FIRST);
        if (s == EMPTY)
            return -1;
    }
}

/* A key that is not there; its entry's number. */
int64_t NAME(enter)(void *table, ARGS, void *values) {
    tr_table *t = tr_table_of(table);
    KEY k = FROM_ARGS;
    if (!has_room(t) && !grow(t, shape_of(table)->size, STORED, values, NAME(place_all)))
        return -1;
    int64_t e = t->keys.len;
#if BY_SHAPE
    memcpy(item(table, e), k.at, k.shape->size);
#else
    ((KEY *)t->keys.items)[e] = k;
#endif
#if STORED
    uint64_t secret = t->secret;
    t->hashes[e] = LOST(k) ? tr_hash_word((uint64_t)e) : HASH(k);
    tr_rt_items_keep(shape_of(table), item(table, e), 1);
#endif
    place(t, NAME(hash_at)(t, e), e);
    entered(t, values);
    return e;
}

/* Takes an entry out, which is there. */
void NAME(leave)(tr_frame *f, void *table, int64_t e, void *values) {
    tr_table *t = tr_table_of(table);
    assert(is_live(t, e) && "an entry leaves once");
    remove_slot(t, NAME(hash_at)(t, e), e);
    left(f, table, e, values);
}

#undef NAME
#undef KEY
#undef ARGS
#undef FROM_ARGS
#undef HASH
#undef SAME
#undef LOST
#undef STORED
#undef BY_SHAPE

#endif
