/* Scatters by blocks of rounds (privatisation, in the field's words): each block but the first collects in a
 * table like the target, which begins with what changes nothing, and tables are joined to the target in their
 * order. That needs one target, and rounds that only compute. Where the last value wins, a table knows which
 * of its places have one, and those replace the target's: the last block's last, whatever the blocks are.
 *
 * A function of the user's joins what it joins by such tables, too.
 *
 * Sums and products of floats, and what a function joins, depend on how they are grouped. Those go block by
 * block whoever walks them, and blocks are of rounds of the first axis, which is walked as such: within the
 * first block it is the plain sequence. */
#include "ir/summary.h"

#include "ir/ports.h"

bool tr_pat_scatter_regroups(const tr_pat *t) {
    const tr_ins *y = tr_pat_yield(t->lam);
    return t->nscat == 1 && tr_pat_scatter(t, 0) != TR_SCATTER_PUT && y && y->nargs &&
           tr_red_regroups((tr_redk)tr_pat_scatter(t, 0), tr_at(t->lam, y->args[y->nargs - 1])->ty);
}

bool tr_pat_spreads(const tr_pat *t) {
    return t->nscat == 1 && t->nspace && !t->keep &&
           tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(OUT) | P_(SCAT) | P_(CAP)) && tr_pat_only_computes(t);
}
