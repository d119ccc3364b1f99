/* What a pattern does to the memory that it is given, derived from its functions. Whether it may run on all
 * cores follows from this and from nothing else: opt/prange/prange.c sets `par` by it, ir/verify.c refuses a
 * `par` that does not follow, diagnostics repeat its words. */
#ifndef TR_IR_SUMMARY_H
#define TR_IR_SUMMARY_H

#include "ir/prog.h"

/* Which elements of an array the rounds of a pattern reach. */
typedef enum tr_reach {
    TR_REACH_NONE,
    TR_REACH_OWN, /* a round those that no other one reaches: its index names them, directly or by a view */
    TR_REACH_ANY  /* computed places, or any that a call or an inner pattern likes */
} tr_reach;

typedef struct tr_access {
    uint8_t reads, writes; /* tr_reach */
    bool changes;          /* writes are to a container of it, not only to arrays that are items of one */
    bool grows;            /* and make it longer or shorter */
} tr_access;

/* Inputs and outputs are not in it: they are reached at the index by the node's rule. Two operands that are
 * different values share memory only where the node's rule allows it (ir.h). */
typedef struct tr_summary {
    tr_access *caps; /* per capture */
    bool shows;      /* the order of the rounds is seen from outside: they print, or ask for their thread */
} tr_summary;

/* The program says what calls do; without it they may do anything. Computes the functions' control flow. */
tr_summary tr_pat_summary(const tr_prog *p, const tr_pat *t);

/* What an instance's function may do to what it is given: an access per param. */
const tr_access *tr_params_summary(const tr_prog *p, uint32_t inst);

/* Why the pattern runs on one core, as a phrase; NULL: it may run on all. tr_pat_form: as far as its parts
 * alone say; that is all there is to say of a loop over a prange, of whose body the user says the rest. */
const char *tr_pat_form(const tr_pat *t);
const char *tr_pat_one_core(const tr_prog *p, const tr_pat *t);

/* Scans (scans.c). regroups: the values depend on how they are grouped. in_blocks: they go block by block,
 * TR_SCAN_BLOCK elements each, or TR_JOIN_BLOCK. in_ranges: ranges of the elements can be walked at once, in
 * any order, once the totals of those before are known. */
bool tr_pat_scan_regroups(const tr_pat *t);
bool tr_pat_in_blocks(const tr_pat *t);
bool tr_pat_in_ranges(const tr_pat *t);
/* Of one in blocks. in_groups: the scan goes by groups of TR_SCAN_GROUP elements, too. after: its lambda,
 * with the values after the element as params behind the others; what a scan in groups has for one the
 * lambda does not add up itself. */
bool tr_pat_scan_in_groups(const tr_pat *t, uint32_t k);
tr_fn *tr_pat_scan_after(const tr_pat *t);

/* Scatters (scatters.c). spreads: blocks of rounds may collect in tables of their own, which are joined in
 * order. regroups: the values depend on how they are grouped, so that all go block by block. */
bool tr_pat_spreads(const tr_pat *t);
bool tr_pat_scatter_regroups(const tr_pat *t);

#endif
