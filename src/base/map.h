/* Hash maps in an arena: 64-bit keys to 64-bit values, and byte strings to pointers. Open addressing, no
 * removal. A zeroed map is an empty one. */
#ifndef TR_BASE_MAP_H
#define TR_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct tr_map {
    uint64_t *keys, *vals;
    uint8_t *used;
    uint32_t n, cap;
} tr_map;

typedef struct tr_smap {
    const char **keys;
    uint32_t *lens;
    void **vals;
    uint32_t n, cap;
} tr_smap;

uint64_t tr_hash_bytes(const void *p, size_t n, uint64_t seed);
bool tr_map_get(const tr_map *m, uint64_t key, uint64_t *val);
void tr_map_set(tr_arena *a, tr_map *m, uint64_t key, uint64_t val);
void *tr_smap_get(const tr_smap *m, const char *key, size_t len);
void tr_smap_set(tr_arena *a, tr_smap *m, const char *key, size_t len, void *val);

#endif
