/* Memory of large arrays, and a cache of freed ones (blocks.c). */
#ifndef TR_RT_BLOCKS_H
#define TR_RT_BLOCKS_H

#include <stdint.h>

/* Smaller blocks are malloc's business: it serves them from its own lists, and they are never seen here. */
#define TR_BLOCK_MIN (UINT64_C(64) << 10)

typedef struct tr_blocks tr_blocks;

/* An empty cache that holds at most `limit` bytes, none unused for longer than `age_ms`. 0 for either is the
 * usual value. */
tr_blocks *tr_rt_blocks_new(uint64_t limit, uint64_t age_ms);
void tr_rt_blocks_free(tr_blocks *c); /* with all it holds; blocks that are out must be back */

/* TR_MEM_ALIGN bytes for the caller's own use and `bytes` more, aligned to TR_MEM_ALIGN; the content is
 * anything. `bytes` is at least TR_BLOCK_MIN. *raw goes back with the block. `c` may be NULL: no cache. NULL
 * without memory. */
void *tr_rt_blocks_get(tr_blocks *c, uint64_t bytes, void **raw);
/* Gives back what get returned for `bytes`. Any thread may. */
void tr_rt_blocks_put(tr_blocks *c, void *block, uint64_t bytes, void *raw);

uint64_t tr_rt_blocks_cached(const tr_blocks *c); /* bytes held now */
uint64_t tr_rt_blocks_empty(tr_blocks *c);        /* returns them to the system; how many */
void tr_rt_blocks_after_fork(tr_blocks *c);       /* in the child: it starts with none */

#endif
