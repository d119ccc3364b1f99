/* Where threads of a block meet, as the interpreter has it: barriers, and what the lanes of
 * a warp do together.
 *
 * Threads run one after the other until each has ended or waits. Then whoever can go on does: the lanes that
 * a mask names when all of them, those that have ended aside, are at the same instruction with the same mask;
 * if no lane of a warp can, those at the same activemask, which so sees all that come there; if nobody in the
 * block can, all threads, when they are at barriers. */
#include "ir/interp_ops.h"

#include <string.h>

static uint32_t mask_of(const tr_iwait *w) {
    return w->at->op == TR_OP_ACTIVEMASK ? 0 : (uint32_t)w->arg[0].u;
}

static bool same_bits(const tr_iwait *a, const tr_iwait *b) {
    return !memcmp(&a->arg[1], &b->arg[1], a->bytes);
}

/* The lane whose value a shuffle gives; the thread's own number where a warp has no such lane. */
static unsigned source(const tr_iwait *w, unsigned me) {
    unsigned by = (unsigned)w->arg[2].u % TR_WARP, at = me;
    switch ((tr_shfl)w->at->sub) {
    case TR_SHFL_UP: at = me - by; break;
    case TR_SHFL_DOWN: at = me + by; break;
    case TR_SHFL_XOR: at = me ^ by; break;
    default: at = by; break;
    }
    return at < TR_WARP ? at : me;
}

static uint32_t ballot(const tr_iwait *w, uint32_t who) {
    uint32_t out = 0;
    for (unsigned k = 0; k < TR_WARP; k++)
        if (who >> k & 1 && w[k].arg[1].b)
            out |= 1u << k;
    return out;
}

static uint64_t vote(tr_vote how, uint32_t yes, uint32_t who) {
    switch (how) {
    case TR_VOTE_ALL: return yes == who;
    case TR_VOTE_ANY: return yes != 0;
    case TR_VOTE_EQ: return yes == 0 || yes == who;
    default: return yes;
    }
}

static uint32_t matches(const tr_iwait *w, uint32_t who, unsigned me) {
    uint32_t out = 0;
    for (unsigned k = 0; k < TR_WARP; k++)
        if (who >> k & 1 && same_bits(&w[k], &w[me]))
            out |= 1u << k;
    return out;
}

/* The lanes `who` of a warp go on. */
static void join(tr_iwait *w, uint32_t who) {
    tr_slot got[TR_WARP] = {0};
    for (unsigned k = 0; k < TR_WARP; k++) {
        if (!(who >> k & 1))
            continue;
        switch ((tr_op)w[k].at->op) {
        case TR_OP_SHFL: {
            unsigned from = source(&w[k], k);
            if (who >> from & 1) /* else zero, as GPUs have it: CUDA leaves that open */
                got[k] = w[from].arg[1];
            break;
        }
        case TR_OP_VOTE: got[k].u = vote((tr_vote)w[k].at->sub, ballot(w, who), who); break;
        case TR_OP_MATCH:
            got[k].u = matches(w, who, k);
            if (w[k].at->sub == TR_VOTE_ALL && got[k].u != who)
                got[k].u = 0;
            break;
        default: got[k].u = who; break; /* activemask; syncwarp gives nothing */
        }
    }
    for (unsigned k = 0; k < TR_WARP; k++) {
        if (!(who >> k & 1))
            continue;
        if (w[k].out)
            *w[k].out = got[k];
        w[k].at = NULL;
    }
}

/* The lanes that are at the instruction where lane `me` is; TR_WARP of them or fewer. */
static uint32_t beside(const tr_iwait *w, unsigned n, unsigned me) {
    uint32_t out = 0;
    for (unsigned k = 0; k < n; k++)
        if (w[k].at == w[me].at && mask_of(&w[k]) == mask_of(&w[me]))
            out |= 1u << k;
    return out;
}

static bool meet_warp(tr_iwait *w, unsigned n, const char **why) {
    uint32_t there = 0, moved = 0;
    for (unsigned k = 0; k < n; k++)
        there |= (uint32_t)!w[k].ended << k;
    for (unsigned k = 0; k < n && !*why; k++) {
        if (!w[k].at || tr_op_meets(w[k].at->op) != TR_MEETING_WARP || w[k].at->op == TR_OP_ACTIVEMASK)
            continue;
        uint32_t mask = mask_of(&w[k]), here = beside(w, n, k);
        if (!(mask >> k & 1))
            *why = "is reached by a lane that its mask does not name";
        else if ((mask & there) == (mask & here)) {
            join(w, mask & here);
            moved |= mask;
        }
    }
    for (unsigned k = 0; k < n && !moved; k++)
        if (w[k].at && w[k].at->op == TR_OP_ACTIVEMASK) {
            moved = beside(w, n, k);
            join(w, moved);
        }
    return moved;
}

/* Nobody else can go on. */
static bool meet_block(tr_iwait *w, size_t n, const char **why, size_t *who) {
    int64_t count = 0, all = 0;
    const tr_ins *at = NULL;
    for (size_t k = 0; k < n && !*why; k++) {
        if (!w[k].at)
            continue;
        *who = k;
        if (w[k].at->op == TR_OP_GRIDBARRIER)
            *why = "waits for other blocks, which the interpreter runs one after the other";
        else if (tr_op_meets(w[k].at->op) != TR_MEETING_BLOCK)
            *why = "waits for lanes that are elsewhere";
        else if (at && at != w[k].at && (at->op == TR_OP_BARVOTE || w[k].at->op == TR_OP_BARVOTE))
            *why = "counts threads that are at different barriers";
        at = w[k].at;
        all++;
        count += w[k].arg[0].b;
    }
    for (size_t k = 0; k < n && !*why; k++) {
        if (w[k].at && w[k].out)
            w[k].out->i = w[k].at->sub == TR_VOTE_COUNT ? count
                          : w[k].at->sub == TR_VOTE_ALL ? count == all
                                                        : count > 0;
        w[k].at = NULL;
    }
    return !*why;
}

bool tr_interp_meet(tr_iwait *w, size_t n, const char **why, size_t *who) {
    bool moved = false;
    *why = NULL;
    for (size_t k = 0; k < n && !*why; k += TR_WARP) {
        *who = k;
        moved |= meet_warp(w + k, (unsigned)(n - k < TR_WARP ? n - k : TR_WARP), why);
    }
    return !*why && (moved || meet_block(w, n, why, who));
}
