/* Open-addressing hash maps in an arena; see map.h. Load factor at most 3/4, linear probing. */
#include "base/map.h"

#include <string.h>

static uint64_t mix(uint64_t h) {
    h ^= h >> 33;
    h *= UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ (h >> 33);
}

static uint64_t word_at(const unsigned char *s) {
    uint64_t w;
    memcpy(&w, s, sizeof w);
    return w;
}

static uint64_t step(uint64_t lane, const unsigned char *s) {
    uint64_t w = (lane ^ word_at(s)) * UINT64_C(0x9e3779b97f4a7c15);
    return w << 29 | w >> 35;
}

/* Of many, whole rows, in lanes that do not wait for each other. */
enum { ROW = 32 };
static uint64_t hash_rows(const unsigned char *s, size_t n) {
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (; n >= ROW; n -= ROW, s += ROW) {
        a = step(a, s);
        b = step(b, s + 8);
        c = step(c, s + 16);
        d = step(d, s + 24);
    }
    return ((a * 3 ^ b) * 5 ^ c) * 7 ^ d;
}

uint64_t tr_hash_bytes(const void *p, size_t n, uint64_t seed) {
    const unsigned char *s = p;
    uint64_t h = seed ^ (n * UINT64_C(0x9e3779b97f4a7c15));
    if (n >= ROW) {
        h = mix(h ^ hash_rows(s, n));
        s += n / ROW * ROW;
        n %= ROW;
    }
    for (; n >= 8; n -= 8, s += 8)
        h = step(h, s) + UINT64_C(0x9e3779b97f4a7c15);
    uint64_t tail = 0;
    if (n)
        memcpy(&tail, s, n);
    return mix(h ^ tail);
}

static uint32_t map_slot(const tr_map *m, uint64_t key) {
    uint32_t i = (uint32_t)mix(key) & (m->cap - 1);
    while (m->used[i] && m->keys[i] != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

bool tr_map_get(const tr_map *m, uint64_t key, uint64_t *val) {
    if (!m->n)
        return false;
    uint32_t i = map_slot(m, key);
    if (!m->used[i])
        return false;
    *val = m->vals[i];
    return true;
}

static void map_grow(tr_arena *a, tr_map *m) {
    tr_map old = *m;
    m->cap = old.cap ? old.cap * 2 : 16;
    m->keys = TR_NEW_N(a, uint64_t, m->cap);
    m->vals = TR_NEW_N(a, uint64_t, m->cap);
    m->used = TR_NEW_N(a, uint8_t, m->cap);
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.used[i]) {
            uint32_t k = map_slot(m, old.keys[i]);
            m->used[k] = 1;
            m->keys[k] = old.keys[i];
            m->vals[k] = old.vals[i];
        }
}

void tr_map_set(tr_arena *a, tr_map *m, uint64_t key, uint64_t val) {
    if (m->n >= m->cap - m->cap / 4)
        map_grow(a, m);
    uint32_t i = map_slot(m, key);
    m->n += !m->used[i];
    m->used[i] = 1;
    m->keys[i] = key;
    m->vals[i] = val;
}

static uint32_t smap_slot(const tr_smap *m, const char *key, size_t len) {
    uint32_t i = (uint32_t)tr_hash_bytes(key, len, 0) & (m->cap - 1);
    while (m->keys[i] && (m->lens[i] != len || memcmp(m->keys[i], key, len) != 0))
        i = (i + 1) & (m->cap - 1);
    return i;
}

void *tr_smap_get(const tr_smap *m, const char *key, size_t len) {
    if (!m->n)
        return NULL;
    uint32_t i = smap_slot(m, key, len);
    return m->keys[i] ? m->vals[i] : NULL;
}

static void smap_grow(tr_arena *a, tr_smap *m) {
    tr_smap old = *m;
    m->cap = old.cap ? old.cap * 2 : 16;
    m->keys = TR_NEW_N(a, const char *, m->cap);
    m->lens = TR_NEW_N(a, uint32_t, m->cap);
    m->vals = TR_NEW_N(a, void *, m->cap);
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.keys[i]) {
            uint32_t k = smap_slot(m, old.keys[i], old.lens[i]);
            m->keys[k] = old.keys[i];
            m->lens[k] = old.lens[i];
            m->vals[k] = old.vals[i];
        }
}

void tr_smap_set(tr_arena *a, tr_smap *m, const char *key, size_t len, void *val) {
    if (m->n >= m->cap - m->cap / 4)
        smap_grow(a, m);
    uint32_t i = smap_slot(m, key, len);
    if (!m->keys[i]) {
        m->n++;
        m->keys[i] = tr_arena_strndup(a, key, len);
        m->lens[i] = (uint32_t)len;
    }
    m->vals[i] = val;
}
