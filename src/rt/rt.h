/* The runtime: what generated code calls (rt.def) and what its callers need around a call. libc and libm
 * only. */
#ifndef TR_RT_RT_H
#define TR_RT_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
enum { W_HOST = 1, W_TYPED = 2, W_DEVICE = 4 }; /* where in rt.def */
/* Needs E_* of ir/ir.h's values; rt/ repeats none of them: the table is expanded in ir/rtinfo.c for the
 * compiler. */

/* Forgets an exception that was on its way, or how far it got: another reason to end comes first. */
static inline void tr_rt_frame_forget(tr_frame *f) {
    f->ntrace = f->ninner = f->linked = 0;
    f->inner = NULL;
    f->late = NULL;
}

static inline void tr_rt_frame_init(tr_frame *f, const tr_host *host) {
    f->mems.next = f->mems.prev = &f->mems; /* a head has no more */
    f->host = host;
    /* In two parts, which are written out: from 128 bytes on gcc takes `rep stos`, which is 7 ns a call. */
    memset((char *)f + offsetof(tr_frame, ntrace), 0, offsetof(tr_frame, out) - offsetof(tr_frame, ntrace));
    memset((char *)f + offsetof(tr_frame, out), 0, sizeof *f - offsetof(tr_frame, out));
}
/* Frees what the call allocated and did not hand out, and pending text. Cheap when there is nothing. */
void tr_rt_frame_fini(tr_frame *f);
/* Blocks and counts of `from` become those of `into`. */
void tr_rt_frame_merge(tr_frame *into, tr_frame *from);
/* What says which exception it is, beside the code, with what is linked to it. */
void tr_rt_copy_exception(tr_frame *to, const tr_frame *from);
/* The exception of that number; NULL when there is none, or it was forgotten. */
const tr_raised *tr_rt_linked(const tr_frame *f, uint64_t number);
/* Links that name no module are of this one (tr_frame.inner). */
void tr_rt_links_of(tr_frame *f, const void *module);
void tr_rt_links_fini(tr_frame *f);
/* Takes k: its number, or 0 where there is no memory, and it is dropped. */
uint64_t tr_rt_keep(tr_frame *f, tr_kept *k);
/* NULL: it is none of this frame's, or so many came after it that it was dropped. */
tr_kept *tr_rt_kept(const tr_frame *f, uint64_t number);
/* The text of a site that has one, with the payload's values in it (told.c). */
struct tr_msite;
struct tr_sb;
void tr_rt_site_text(const struct tr_msite *site, const tr_slot *payload, struct tr_sb *b);
/* A part of what tr_host.write is given: text; or an array, `ndim` axes with the items of all of them, in C
 * order and not aligned, to be written as str() or repr() do (`how` 's' or 'r'); or, of an array that there
 * was no memory for, the axes alone (neither). */
typedef struct tr_rt_piece {
    const char *text; /* or the items */
    size_t n;         /* bytes of it */
    char how;
    const char *dtype; /* its name */
    uint32_t ndim;
    const char *axes;
} tr_rt_piece;
bool tr_rt_piece_next(const char **at, const char *end, tr_rt_piece *p);
int64_t tr_rt_piece_axis(const tr_rt_piece *p, uint32_t axis);
/* Hands text to the host; to standard output where there is none. */
void tr_rt_host_write(const tr_host *host, const char *s, size_t n);
/* Takes a result's block out of the frame: from now on its count is the caller's. */
void tr_rt_mem_detach(tr_frame *f, tr_mem *m);
/* Of a detached block, on any thread; frees at zero, with what only that block held, and says how many. */
uint64_t tr_rt_mem_unref(tr_mem *m);

#endif
