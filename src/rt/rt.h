/* The runtime: what generated code calls (rt.def) and what its callers need around a call. libc and libm
 * only. */
#ifndef TR_RT_RT_H
#define TR_RT_RT_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/layout.h"

typedef enum tr_rt {
#define X(id, symbol, sig, effects, where) TR_RT_##id,
#include "rt/rt.def"
#undef X
    TR_RT__COUNT
} tr_rt;

typedef struct tr_rtinfo {
    const char *name, *symbol, *sig;
    uint8_t effects, where; /* sets of E_*, W_* */
} tr_rtinfo;
enum { W_HOST = 1, W_TYPED = 2 }; /* where in rt.def */
/* Needs E_* of ir/ir.h's values; rt/ repeats none of them: the table is expanded in ir/rtinfo.c for the
 * compiler. */

void tr_rt_frame_init(tr_frame *f, const tr_host *host);
/* Frees what the call allocated and did not hand out, and pending text. Cheap when there is nothing. */
void tr_rt_frame_fini(tr_frame *f);
/* Blocks and counts of `from` become those of `into`. */
void tr_rt_frame_merge(tr_frame *into, tr_frame *from);
/* Hands text to the host; to standard output where there is none. */
void tr_rt_host_write(const tr_host *host, const char *s, size_t n);
/* Takes a result's block out of the frame: from now on its count is the caller's. */
void tr_rt_mem_detach(tr_frame *f, tr_mem *m);
/* Of a detached block, on any thread; frees at zero, and says whether it did. */
bool tr_rt_mem_unref(tr_mem *m);

#endif
